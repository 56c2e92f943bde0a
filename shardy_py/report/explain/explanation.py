"""Explanations as plain values: why a value is sharded as it is, from the user's annotations on.

    explanation.axes[0].chains[0].annotation     where the axis began
    explanation.axes[0].chains[0].links          how it came here, one link a tensor, in order

Not here: finding them (`tracing.py`), their text (`text.py`) and JSON (`to_json`, below).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from shardy_py.report.explain.text import explanation_text


@dataclass(frozen=True, slots=True)
class Place:
    """A value as people know it.

    name: `%3`, `@f:%3`, `result 0`; "" for a value that the final program does not have.
    op: the op that makes it; "func.func" for arguments and results of functions.
    location: `file:line:column name`, "" if unknown.
    label: JAX's name of an argument or result; "" if there is none.
    """

    name: str
    op: str
    location: str = ""
    label: str = ""

    def __str__(self) -> str:
        """One phrase: `%arg0 (x)`, `%3 = stablehlo.add`; of what is gone `stablehlo.add [model.py:7]`."""
        if self.op == "func.func":
            return f"{self.name} ({self.label})" if self.label else self.name
        if self.name:
            return f"{self.name} = {self.op}"
        return f"{self.op} [{self.location}]" if self.location else self.op


@dataclass(frozen=True, slots=True)
class Annotation:
    """What the user wrote.

    kind: "argument sharding", "result sharding", "sharding constraint", "in_shardings", "out_shardings", ...
    place: the value it was written for. sharding: as written. priority: the user priority of the dimension.
    """

    kind: str
    place: Place
    sharding: str
    dimension: int
    priority: int | None = None

    def __str__(self) -> str:
        """One phrase: `the argument sharding of %arg0 (x)`."""
        return f"the {self.kind} of {self.place}"


@dataclass(frozen=True, slots=True)
class Link:
    """One move of the axis.

    kind: "op" (propagation through an op), "result" (between a returned value and the function's result),
        "group" (from a member of a sharding group), "pass" (a pass copied, cut or moved it).
    target: what has the axis after the move, along `dimension`, as `axis`.
    through: the op it moved through, or for whose sake.
    factor: `k: dim 1 of operand 0 -> dim 0 of operand 1`; "" for passes.
    rule: the sharding rule of the op; "" for passes.
    strategy, user_priority, op_priority: when it moved; "" where that does not apply.
    pass_name: of passes. note: what else there is to say.
    """

    kind: str
    target: Place
    dimension: int
    axis: str
    through: Place
    factor: str = ""
    rule: str = ""
    strategy: str = ""
    user_priority: str = ""
    op_priority: str = ""
    pass_name: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Chain:
    """From the user's annotation to the value.

    happened: whether the axis took this way; else it was there first and this would have given it too.
    """

    annotation: Annotation
    links: tuple[Link, ...]
    happened: bool = True


Role = Literal["sharded", "replicated", "unreduced"]


@dataclass(frozen=True, slots=True)
class AxisExplanation:
    """An axis of one dimension with the chains that gave it, shortest first.

    role: how the tensor has the axis; where that is not along a dimension, `dimension` is -1 and there is at
        most one chain, none if a pass decided it.
    """

    dimension: int
    axis: str
    chains: tuple[Chain, ...]
    role: Role = "sharded"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a value is sharded as it is; no `axes` if it is not.

    sharding: the final one, "" if there is none. is_propagated: whether any pass that ran propagates.
    """

    place: Place
    type: str
    sharding: str
    axes: tuple[AxisExplanation, ...]
    is_propagated: bool = True

    def __str__(self) -> str:
        return explanation_text(self).rstrip("\n")

    def to_json(self) -> dict[str, Any]:
        """The same as dictionaries, lists, strings and numbers."""
        return asdict(self)
