"""Explanations as plain values: why a value is sharded as it is, from the user's annotations on; their text.

    explanation.axes[0].chains[0].annotation     the annotation that the axis comes from
    explanation.axes[0].chains[0].links          its way to the value, one link a tensor, in order

    %3 = stablehlo.dot_general : tensor<8x8xf32>  [model.py:7]
      sharding <@mesh, [{"x"}, {}]>
      dim 0 is sharded along x
        from the argument sharding of %arg0 (a) <@mesh, [{"x"}, {?}]>  [model.py:3]
          -> %3 = stablehlo.dot_general dim 0  (pass_through_factors, aggressive)  [model.py:7]
             i: dim 0 of operand 0 -> dim 0 of result 0 of <([i, k], [k, j])->([i, j]) {i=8, j=8, k=8}>

The first chain of an axis is shown link by link, other chains by their values. Reasons why a value is not
sharded along an axis come with remedies. Not here: finding chains (`explaining.py`), reasons (`why_not.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Literal, Self

from xdsl.dialects.func import FuncOp

from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass
from shardy_py.base.terminal import lines_text
from shardy_py.report.explain import shown as showing
from shardy_py.sharding import AxisRef

CHAINS_SHOWN = 4
"""Chains of an axis in the text; `to_json` has all."""

LONGEST_TEXT = 80
"""Lines of the text of several values with each step; a longer one is replaced by an outline."""


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A value or op under the name that users know.

    name: `%3`, `@f:%3`, `result 0`; "" for a value that the final program does not have.
    op: the op that defines it; "func.func" for arguments and results of functions.
    location: `file:line:column name`, "" if unknown.
    label: JAX's name of an argument or result; "" if there is none.
    """

    name: str
    op: str
    location: str = ""
    label: str = ""

    @property
    def bracketed_location(self) -> str:
        """The location as lines of a text end with it; "" for a value whose name contains it."""
        return f"  [{self.location}]" if self.location and self.name else ""

    def __str__(self) -> str:
        """One phrase: `%arg0 (x)`, `%3 = stablehlo.add`; `stablehlo.add [model.py:7]` of an erased value."""
        if self.op == FuncOp.name:
            return f"{self.name} ({self.label})" if self.label else self.name
        if self.name:
            return f"{self.name} = {self.op}"
        return f"{self.op} [{self.location}]" if self.location else self.op


@dataclass(frozen=True, slots=True)
class Annotation:
    """A sharding that the user wrote.

    kind: "argument sharding", "result sharding", "sharding constraint", "in_shardings", "out_shardings", ...
    place: the annotated value. sharding: as written. priority: the user priority of the dimension.
    """

    kind: str
    place: NamedPlace
    sharding: str
    dimension: int
    priority: int | None = None

    def __str__(self) -> str:
        """One phrase: `the argument sharding of %arg0 (x)`."""
        return f"the {self.kind} of {self.place}"

    @property
    def line(self) -> str:
        """The annotation with its sharding, priority and location."""
        priority = "" if self.priority is None else f", priority {self.priority}"
        text = f" {self.sharding}" if self.sharding else ""
        return f"{self}{text}{priority}{self.place.bracketed_location}"


@dataclass(frozen=True, slots=True)
class ChainLink:
    """One step of an axis from tensor to tensor.

    kind: "op" (propagation through an op), "result" (between a returned value and the function's result),
        "group" (from a member of a sharding group), "pass" (a pass copied, changed or moved the sharding).
    target: the tensor that has the axis after the step, along `dimension`, as `axis`.
    through: the op that the axis propagates through, or that the pass served.
    factor: `k: dim 1 of operand 0 -> dim 0 of operand 1`; "" for passes.
    rule: the sharding rule of the op; "" for passes.
    strategy, user_priority, op_priority: the round of propagation; "" for passes and groups.
    pass_name: "" for propagation. note: any further remark.
    """

    kind: str
    target: NamedPlace
    dimension: int
    axis: str
    through: NamedPlace
    factor: str = ""
    rule: str = ""
    strategy: str = ""
    user_priority: str = ""
    op_priority: str = ""
    pass_name: str = ""
    note: str = ""

    def lines(self, axis: str) -> Iterator[str]:
        """The text of a link in a chain of `axis`."""
        dimension = "" if self.dimension < 0 else f" dim {self.dimension}"
        part = "" if self.axis == axis else f" {self.axis}"
        priority = self.user_priority and f"user priority {self.user_priority}"
        when = ", ".join(filter(None, (priority, self.op_priority, self.strategy)))
        when = f"  ({when})" if when else ""
        yield f"      -> {self.target}{dimension}{part}{self._how()}{when}{self.through.bracketed_location}"
        if self.factor:
            yield f"         {self.factor}" + (f" of {self.rule}" if self.rule else "")

    def _how(self) -> str:
        through = "" if self.through.name == self.target.name else f" through {self.through}"
        note = f", {self.note}" if self.note else ""
        match self.kind:
            case "pass":
                return f" by {self.pass_name}{note or through}"
            case "group":
                return f" like {self.through}: {self.note}"
            case "result":
                return f" as the returned value{note}"
            case _:
                return through + note


@dataclass(frozen=True, slots=True)
class Chain:
    """The links from the user's annotation to the value.

    happened: whether the axis propagated along them; if not, it arrived earlier along another chain, and this
        annotation would have given it too.
    """

    annotation: Annotation
    links: tuple[ChainLink, ...]
    happened: bool = True


AxisRole = Literal["sharded", "replicated", "unreduced"]


@dataclass(frozen=True, slots=True)
class AxisExplanation:
    """An axis of one dimension with the chains that gave it, shortest first.

    role: what the tensor is along the axis; unless sharded, `dimension` is -1 and there is at most one chain,
        none if a pass decided it.
    """

    dimension: int
    axis: str
    chains: tuple[Chain, ...]
    role: AxisRole = "sharded"

    def lines(self, shown: set[str] | None = None) -> Iterator[str]:
        """The text of the axis and of its first chains; links that are in `shown` already are summed up."""
        shown = set[str]() if shown is None else shown
        subject = f"dim {self.dimension}" if self.role == "sharded" else "it"
        yield f"  {subject} is {self.role} along {self.axis}"
        for number, chain in enumerate(self.chains[:CHAINS_SHOWN]):
            opening = "from" if number == 0 else "also from" if chain.happened else "otherwise from"
            yield f"    {opening} {chain.annotation.line}"
            if number and chain.links:
                yield f"      -> {' -> '.join(link.target.name or link.target.op for link in chain.links)}"
            if number == 0:
                yield from _links_text(chain.links, self.axis, shown)
        if len(self.chains) > CHAINS_SHOWN:
            yield f"    ... and {len(self.chains) - CHAINS_SHOWN} other annotations that agree"


_ALIKE_SHOWN = 4
_FEW = 2
"""So many links that repeat lines of the source are shown."""
_NUMBER = re.compile(r"\d+")


def _links_text(links: Sequence[ChainLink], axis: str, shown: set[str]) -> Iterator[str]:
    """The text of a chain, without links that are in `shown`, or repeat lines of it in other layers."""
    places: set[tuple[str, ...]] = set()
    left_out: list[ChainLink] = []
    for link in links:
        first, *_ = link.lines(axis)
        place = link.target.op, _NUMBER.sub("#", link.target.location.partition(" ")[2])
        line = link.target.location.partition(" ")[0]
        is_known = first in shown or (bool(line) and (line, *place) in places)
        if is_known and link is not links[-1]:
            left_out.append(link)
            continue
        yield from _left_out_text(left_out, axis)
        left_out = []
        shown.add(first)
        places.add((line, *place))
        yield from link.lines(axis)


def _left_out_text(links: Sequence[ChainLink], axis: str) -> Iterator[str]:
    if len(links) > _FEW:
        yield f"      -> ... {len(links)} tensors on lines above, up to {links[-1].target}"
    else:
        for link in links:
            yield from link.lines(axis)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a value is sharded as it is; no `axes` if it is not.

    sharding: the final one, "" if there is none. is_propagated: whether any of the passes propagated.
    alike: the names of other values of the same line, type and sharding, in layers with other numbers.
    """

    place: NamedPlace
    type: str
    sharding: str
    axes: tuple[AxisExplanation, ...]
    is_propagated: bool = True
    alike: tuple[str, ...] = ()

    def __str__(self) -> str:
        return lines_text(self._lines())

    def __repr__(self) -> str:
        return showing.short_explanation(self)

    def _repr_html_(self) -> str:
        return showing.explanations_html((self,))

    def _lines(self, above: set[str] | None = None) -> Iterator[str]:
        type_ = f" : {self.type}" if self.type else ""
        yield f"{self.place}{type_}{self.place.bracketed_location}"
        yield f"  sharding {self.sharding or 'none'}"
        if self.alike:
            shown, more = ", ".join(self.alike[:_ALIKE_SHOWN]), len(self.alike) - _ALIKE_SHOWN
            others = f"{shown} and {more} more" if more > 0 else shown
            yield f"  x{len(self.alike) + 1}: alike in other layers are {others}"
        if not self.axes:
            remedy = "" if self.is_propagated else ": no propagation pass ran; run sdy-propagation-pipeline"
            yield f"  no axis shards it{remedy}"
        for axis in self.axes:
            yield from axis.lines(above)

    def text(self, shown: set[str]) -> str:
        """The text without links that are in `shown`, to which those of this one are added."""
        return lines_text(self._lines(shown))

    def to_json(self) -> JsonObject:
        """The explanation as dictionaries, lists, strings and numbers."""
        return asdict(self)


class Explanations(tuple[Explanation, ...]):
    """The explanation of each value of one name, in program order.

    The text of many values has a line for each axis and one for its way; of few, each step.
    """

    __slots__ = ()

    def __str__(self) -> str:
        shown: set[str] = set()
        text = "\n\n".join([each.text(shown) for each in self])
        is_long = len(self) > 1 and text.count("\n") > LONGEST_TEXT
        return "\n".join(showing.outline(self)) if is_long else text

    def __repr__(self) -> str:
        return showing.short_explanations(self)

    def _repr_html_(self) -> str:
        return showing.explanations_html(self)


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason why a dimension of a value is not sharded along an axis.

    kind: a key of `KINDS`.
    message: the fact, in a sentence. remedy: what to write to change it.
    op: the op at which the axis stopped. rule, factor: those of the op, "" where they do not matter.
    blame: the value responsible; None if there is no single one.
    distance: the number of ops between the value and the tensor that has the axis; 0: the value itself.
    """

    kind: str
    message: str
    remedy: str
    op: NamedPlace | None = None
    rule: str = ""
    factor: str = ""
    blame: NamedPlace | None = None
    distance: int = 0

    def to_json(self) -> JsonObject:
        """The reason as dictionaries, lists, strings and numbers."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" + (f"; {self.remedy}" if self.remedy else "")

    def __repr__(self) -> str:
        return showing.short_reason(self)


class Reasons(tuple[Reason, ...]):
    """All reasons, nearest first; the text has the question as its title.

    tried: finds remedies that have been tried, a line each, which the text has instead of those of reasons;
    None: the text has the remedies of reasons.
    """

    title: str
    tried: Callable[[], Sequence[str]] | None

    def __new__(cls, title: str, reasons: Iterable[Reason]) -> Self:
        """Returns the reasons that answer the question `title`."""
        answer = super().__new__(cls, reasons)
        answer.title, answer.tried = title, None
        return answer

    def __str__(self) -> str:
        lines, tried = [self.title], () if self.tried is None else self.tried()
        for reason in self:
            place = f"[{reason.op.location}]" if reason.op is not None and reason.op.location else ""
            suffix = f"  {place}" if place and place not in reason.message else ""
            lines.append(f"  {reason.kind}: {reason.message}{suffix}")
            if reason.factor:
                lines.append(f"    along {reason.factor}" + (f", rule {reason.rule}" if reason.rule else ""))
            if reason.remedy and not tried:
                lines.append(f"    to change that: {reason.remedy}")
        return lines_text([*lines, *(f"  to change that: {line}" for line in tried)])

    def __repr__(self) -> str:
        return showing.short_reasons(self)

    def _repr_html_(self) -> str:
        return showing.reasons_html(self)


KINDS: dict[str, str] = {
    "sharded": "the dimension is sharded along the axis",
    "pass": "a pass removed the axis after propagation, or moved the data",
    "used": "another dimension of the tensor uses the axis",
    "replicated": "the tensor is explicitly replicated along the axis",
    "unreduced": "the tensor is unreduced along the axis",
    "manual": "the tensor is inside a manual computation along the axis",
    "closed": "a dimension on the way is closed",
    "conflict": "a tensor on the way is sharded along other axes in the factor",
    "priority": "axes of a higher user priority were propagated first",
    "non-divisible": "the axis does not divide the dimension, or its factor",
    "barrier": "a propagation barrier blocks that direction",
    "blocked": "the rule of an op blocks propagation along the factor",
    "size one": "the axis has size 1",
    "dead": "the results of an op on the way are unused, so propagation erases it",
    "no factor": "the rule of an op does not map the dimension to any other",
    "not taken": "propagation does not revisit an op after the axis arrives",
    "maximal": "the value is on a single device",
    "no rule": "an op on the way has no sharding rule",
    "mesh": "tensors on the way are on different meshes",
    "stride": "the axis would shard the dimension with a stride",
    "not sent": "no related tensor is sharded along the axis",
    "not shardable": "the value cannot have a sharding",
    "not recorded": "the value was not part of propagation",
    "unknown": "the record does not contain the reason",
}
"""The kinds of reasons, each in a phrase."""


def constrained(axis: AxisRef, place: NamedPlace | None) -> str:
    """Returns the remedy that always applies: a sharding constraint on the value."""
    return f"add a sharding_constraint with {axis} on {place}"
