"""Collectives grouped by what causes them: one source line in all layers and passes of a model.

Of a Python file, the collectives of a line in one module are one group; without such lines, those of ops
that are alike: of one name, types and axes. Not here: what to change (`shardy_py.search.verdicts`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from xdsl.ir import Attribute, Operation

from shardy_py.base.errors import Position
from shardy_py.base.records import dataclass
from shardy_py.base.source_files import SourceFiles
from shardy_py.hardware.cost import Cost
from shardy_py.mlir.ir import operands_of, written_name
from shardy_py.mlir.location_names import name_stack
from shardy_py.mlir.plain import tensor_type
from shardy_py.report.communication import CollectiveUse, CommunicationReport
from shardy_py.report.communication.report import by_cause
from shardy_py.report.explain import Side
from shardy_py.report.tables import type_text
from shardy_py.report.training_step import FORWARD
from shardy_py.report.verdict.model import CostCause
from shardy_py.report.verdict.repeats import family_name, layer_count, module_of, phases

_ORIGINS = 3
"""Annotations of a cause: more than two seldom meet at an op."""


@dataclass(frozen=True, eq=False)
class CostGroup:
    """Collectives with one cause, the most expensive first.

    numbers: of those that send, in the order of the report, the positions of these.
    """

    uses: tuple[CollectiveUse, ...]
    numbers: tuple[int, ...]

    @property
    def first(self) -> CollectiveUse:
        """The most expensive collective."""
        return self.uses[0]

    @property
    def cost(self) -> Cost:
        """The cost of all runs of all."""
        return sum((use.total for use in self.uses), Cost())

    def described(
        self,
        total: Cost,
        sides: Sequence[Side],
        sources: SourceFiles | None,
        passes: Mapping[Operation, str] = MappingProxyType({}),
    ) -> CostCause:
        """Returns the cause in words.

        total: of the program. sides: the annotations that meet at the most expensive. sources: the files of
        its lines, None if they are not at hand. passes: of ops that have no names, by their structure.
        """
        first, cost = self.first, self.cost
        scopes = [_scope(use) for use in self.uses]
        whole, own = (total.seconds, cost.seconds) if total.seconds else (total.bytes, cost.bytes)
        kinds = Counter(
            f"{use.kind} along {', '.join(n for n, _ in use.axes) or 'no axis'}" for use in self.uses
        )
        return CostCause(
            first.cause.location,
            first.cause.position,
            _line(first.cause.position, sources) or _signature(first.cause.made_for),
            tuple(dict.fromkeys(use.cause.op for use in self.uses)),
            dict(kinds.most_common()),
            len(self.uses),
            layer_count(scopes),
            phases(scopes) or _passes_of((use.cause.made_for for use in self.uses), passes),
            cost,
            own / whole if whole else 0.0,
            first.cause.reason,
            origins_of(sides),
        )


def _passes_of(ops: Iterable[Operation | None], passes: Mapping[Operation, str]) -> dict[str, int]:
    """Returns how many ops are of each pass, that of the op around counts; {} if they are all forward."""
    found: Counter[str] = Counter()
    for op in ops if passes else ():
        while op is not None and op not in passes:
            op = op.parent_op()
        found[FORWARD if op is None else passes[op]] += 1
    return dict(found) if set(found) != {FORWARD} else {}


def cost_groups(report: CommunicationReport) -> tuple[CostGroup, ...]:
    """Returns the causes of the collectives of a report, most expensive first."""
    groups: dict[Hashable, list[tuple[int, CollectiveUse]]] = {}
    signatures = _Signatures()
    for number, use in enumerate(report.sending):
        for part in by_cause(use):
            groups.setdefault(_key(part, signatures), []).append((number, part))
    made = (_group(parts) for parts in groups.values())
    return tuple(sorted(made, key=lambda group: (-group.cost.seconds, -group.cost.bytes)))


def _group(parts: Iterable[tuple[int, CollectiveUse]]) -> CostGroup:
    ordered = sorted(parts, key=lambda part: _expense(part[1]))
    return CostGroup(tuple(use for _, use in ordered), tuple(dict.fromkeys(number for number, _ in ordered)))


def _expense(use: CollectiveUse) -> tuple[float, int]:
    return -use.total.seconds, -use.total.bytes


class _Signatures:
    """Numbers of the types of ops, equal for equal ones: each op of many operands has many collectives."""

    def __init__(self) -> None:
        self._of_ops: dict[Operation, int] = {}
        self._numbers: dict[tuple[Attribute, ...], int] = {}

    def of(self, op: Operation) -> int:
        """The number of the types of the operands and results of an op."""
        known = self._of_ops.get(op)
        if known is None:
            types = tuple([value.type for value in (*operands_of(op), *op.results)])
            known = self._of_ops[op] = self._numbers.setdefault(types, len(self._numbers))
        return known


def _key(use: CollectiveUse, signatures: _Signatures) -> Hashable:
    cause = use.cause
    place, op = cause.position, cause.made_for
    if place is not None and place.file.endswith(".py"):
        return place.file, place.line, module_of(_scope(use))
    if op is None:
        return use.kind, use.axes, cause.op, cause.location
    return use.kind, use.axes, cause.op, cause.operand, signatures.of(op), module_of(_scope(use))


def _scope(use: CollectiveUse) -> str:
    op = use.cause.made_for
    return "" if op is None else name_stack(op.location)


def _line(place: Position | None, sources: SourceFiles | None) -> str:
    """The text of a line of a source file; "" if it cannot be read."""
    if place is None or sources is None:
        return ""
    lines = sources.lines(place.file)
    return lines[place.line - 1].strip() if 0 < place.line <= len(lines) else ""


def _signature(op: Operation | None) -> str:
    """An op with the types of its tensors: `dot_general(8x16xf32, 16x4xf32)`."""
    if op is None:
        return ""
    found = (tensor_type(value.type) for value in operands_of(op))
    types = (type_text(each.shape, each.element) for each in found if each is not None)
    return f"{written_name(op).rpartition('.')[2]}({', '.join(types)})"


def origins_of(sides: Iterable[Side]) -> tuple[str, ...]:
    """Returns the annotations that axes come from, a phrase each: `"x" is from ... sharding of w`."""
    axes: dict[str, dict[str, None]] = {}
    for side in sides:
        axes.setdefault(_origin(side), {})[f'"{side.axis}"'] = None
    return tuple(
        f"{' and '.join(names)} {'are' if len(names) > 1 else 'is'} from {origin}"
        for origin, names in [*axes.items()][:_ORIGINS]
    )


def _origin(side: Side) -> str:
    annotation = side.annotation
    place = annotation.place
    if place.label:
        named = replace(place, name=family_name(place.label), label="")
        return str(replace(annotation, place=named))
    at = f" [{place.location}]" if place.location else ""
    return f"{annotation}{at}"
