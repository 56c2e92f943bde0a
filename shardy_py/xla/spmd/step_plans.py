"""Plans of the steps of a program, kept for walks through other forms of it: other shardings, or other ops.

Not here: the walk (`walk.py`), plans of equal ops of any program (`planned.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import field

from shardy_py.base.records import dataclass
from shardy_py.ops import OpRecord
from shardy_py.xla.spmd.facet import SentRow, sent_row
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.patterns import PatternRole
from shardy_py.xla.spmd.planned import Planned, tensor_held
from shardy_py.xla.spmd.program import Name, PlannedOp, TiledValue


@dataclass(slots=True, eq=False)  # not frozen, which would triple the time to make it
class PlanFacts:
    """The plan that equal steps share; never changed.

    used: for which of their results it is. operands, held: the operands and results as devices hold them.
    silent: whether it sends nothing, and is not a slice that may stand for others. is_passed: whether a walk
    that holds its operands as the last one did need not look at a step of it.
    """

    used: Hashable
    operands: Sequence[HeldTensor]
    results: tuple[Planned, ...]
    held: tuple[HeldTensor, ...]
    silent: bool
    is_passed: bool

    @staticmethod
    def of(
        used: Hashable, operands: Sequence[HeldTensor], results: tuple[Planned, ...], row: SentRow
    ) -> PlanFacts:
        """The facts that follow from the results of a plan, of a step of a row."""
        is_slice = row.part is PatternRole.SLICE
        silent = not any(
            each.needed or each.rematerialized or (is_slice and each.made is not None) for each in results
        )
        held = tuple([each.held for each in results])
        is_passed = silent and not row.is_product and len(results) == 1
        return PlanFacts(used, operands, results, held, silent, is_passed)


@dataclass(slots=True, eq=False)
class StepPlan:
    """The plan of a step. names: of its operands that are tensors. walk: the last walk that met it."""

    step: PlannedOp
    names: Sequence[Name]
    facts: PlanFacts
    walk: int = -1


@dataclass(eq=False)
class Walked:
    """A walk that is over: its number, the values as their steps made them, and the products that ran.

    has_loops: whether products could become loops.
    """

    number: int = -2
    made: dict[Name, HeldTensor] = field(default_factory=dict[Name, HeldTensor])
    products: dict[int, PlannedOp] = field(default_factory=dict[int, PlannedOp])
    has_loops: bool = False


@dataclass(eq=False)
class StepPlans:
    """The plans of the steps of forms of one function, whose values have the same names.

    A walk need not look into steps that were in the last one, if that held their operands alike.
    known: by the identity of a step.
    """

    known: dict[int, StepPlan] = field(default_factory=dict[int, StepPlan])
    _held: dict[int, tuple[TiledValue, HeldTensor | None]] = field(
        default_factory=dict[int, "tuple[TiledValue, HeldTensor | None]"]
    )
    """By the identity of a value, which is kept, how it is held."""
    _last: list[Walked] = field(default_factory=list[Walked])

    def held(self, value: TiledValue) -> HeldTensor | None:
        """Returns a value of a program as it is held; None for other values than tensors."""
        known = self._held.get(id(value))
        if known is None:
            held = None
            if value.type is not None and value.tiling is not None:
                shape = tuple([size or 0 for size in value.type.shape])
                held = tensor_held(HeldTensor.of(shape, value.tiling, value.type.element))
            known = self._held[id(value)] = value, held
        return known[1]

    def take(self) -> Walked:
        """Returns the last walk; an empty one for all who ask before another one is over."""
        try:
            return self._last.pop()
        except IndexError:
            return Walked()

    def keep(self, walked: Walked) -> None:
        """Keeps the last walk."""
        self._last[:] = [walked]


@dataclass
class Rows:
    """The rows of the records of a program, each looked up once."""

    known: dict[int, tuple[OpRecord, SentRow]] = field(default_factory=dict[int, "tuple[OpRecord, SentRow]"])
    """By the identity of a record, which is kept."""

    def of(self, record: OpRecord) -> SentRow:
        """The row of a record."""
        known = self.known.get(id(record))
        if known is None:
            known = self.known[id(record)] = record, sent_row(record)
        return known[1]

    def of_all(self, steps: Iterable[PlannedOp]) -> list[SentRow]:
        """The row of each step."""
        records = [step.record for step in steps]
        numbers = [*map(id, records)]
        distinct = dict(zip(numbers, records, strict=True))
        rows = {number: self.of(record) for number, record in distinct.items()}
        return [*map(rows.__getitem__, numbers)]
