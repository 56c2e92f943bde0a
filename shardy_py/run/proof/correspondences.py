"""Which value of the local program is the part of which value of the whole program, with which sharding.

Read from the events of the passes (`mlir/movements.py`): copies and replacements of values, reshards
inserted, and the sharding with which a value became local.

Not here: the comparison (`comparison.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import AllReduceOp
from shardy_py.mlir.dialects.sdy.interfaces import manual_axes
from shardy_py.mlir.ir import blocks_of, operands_of, owning_op, type_of, walk_pre_order
from shardy_py.mlir.movements import Copies, Localized, Merger, Movement
from shardy_py.mlir.plain import plain
from shardy_py.mlir.value_shardings import rank_of
from shardy_py.ops import REDUCTIONS, TABLE, Control
from shardy_py.sharding import AxisRef, TensorSharding
from shardy_py.sharding.tensor_sharding import without_manual_axes


@dataclass(frozen=True, slots=True)
class Pending:
    """A reduction that is still to be done: devices along `axes` hold its terms.

    reduction: as in `sdy.all_reduce`: "sum", "max", "min", ...
    """

    axes: tuple[AxisRef, ...]
    reduction: str = "sum"


@dataclass(frozen=True, slots=True, eq=False)
class Counterpart:
    """A value of the local program.

    whole: the values of the whole program that it stands for: several if functions were merged.
    sharding: of the whole value; None: no pass made it local.
    pending: the reduction still to be done, None: none.
    series: counterparts of one series execute the same computations of the whole program one after the
        other, as the copies of a function for each of its calls do.
    """

    value: SSAValue
    whole: tuple[SSAValue, ...]
    sharding: TensorSharding | None
    pending: Pending | None
    series: tuple[int, int]


def counterparts(
    whole: ModuleOp, local: ModuleOp, origin: Mapping[SSAValue, SSAValue], events: Sequence[object]
) -> dict[SSAValue, Counterpart]:
    """Returns the counterparts among the values of the local program.

    whole: the program before. local: a copy of it, after passes. origin: from values of `whole` to those of
    the copy, before the passes. events: of the passes, in order.
    """
    trace = _Trace(origin)
    for event in events:
        trace.follow(event)
    values = {id(value) for value in _executed_values(whole)}
    found: dict[SSAValue, Counterpart] = {}
    numbers: dict[tuple[int, int], int] = {}
    for value in _executed_values(local):
        wholes = tuple(w for w in trace.stands.get(value, ()) if id(w) in values)
        if not wholes or value in trace.superseded:
            continue
        sharding = trace.shardings.get(value)
        if sharding is not None and sharding.rank != rank_of(type_of(wholes[0])):
            continue  # collectives on a reshape of the tensor
        first = id(wholes[0])
        place = (first, id(_function_of(value)))
        number = numbers[place] = numbers.get(place, -1) + 1
        if sharding is not None:
            sharding = without_manual_axes(sharding, _manual_axes_around(wholes[0]))
        pending = trace.pending.get(value)
        if pending is None and sharding is not None and sharding.unreduced_axes:
            pending = Pending(sharding.unreduced_axes, sharding.reduction)
        found[value] = Counterpart(value, wholes, sharding, pending, (first, number))
    return found


def all_values(root: Operation) -> Iterator[SSAValue]:
    """Returns all values in `root`, in program order: results, and arguments of blocks."""
    for op in walk_pre_order(root):
        yield from op.results
        for block in blocks_of(op):
            yield from block.args


def _executed_values(root: Operation) -> Iterator[SSAValue]:
    """Returns the values, without those in regions that are applied to elements."""
    elementwise: set[Operation] = set()
    for op in walk_pre_order(root):
        around = op.parent_op()
        if around in elementwise:
            elementwise.add(op)
            continue
        yield from op.results
        if op.regions and op.name in TABLE and TABLE[op.name].control is Control.NONE:
            elementwise.add(op)
            continue
        for block in blocks_of(op):
            yield from block.args


def through_clone(
    found: Mapping[SSAValue, Counterpart],
    whole: Mapping[SSAValue, SSAValue],
    local: Mapping[SSAValue, SSAValue],
) -> dict[SSAValue, Counterpart]:
    """Returns the counterparts among copies of both programs."""
    return {
        local[value]: replace(entry, value=local[value], whole=tuple(whole[w] for w in entry.whole))
        for value, entry in found.items()
    }


class _Trace:
    """Follows values through events."""

    def __init__(self, origin: Mapping[SSAValue, SSAValue]) -> None:
        self.stands: dict[SSAValue, tuple[SSAValue, ...]] = {copy: (old,) for old, copy in origin.items()}
        self.shardings: dict[SSAValue, TensorSharding] = {}
        self.pending: dict[SSAValue, Pending] = {}
        self.superseded: set[SSAValue] = set()

    def follow(self, event: object) -> None:
        match event:
            case Copies(values=values):
                self._copy(values.items())
            case Merger(values=values, kept_values=kept):
                for old, new in zip(values, kept, strict=True):
                    also = tuple(w for w in self.stands.get(old, ()) if w not in self.stands.get(new, ()))
                    if also:
                        self.stands[new] = (*self.stands.get(new, ()), *also)
            case Movement(target=target, source=source, new=TensorSharding()) if target is not source:
                if isinstance(target, SSAValue) and isinstance(source, SSAValue):
                    self._move(event, target, source)
            case Localized(value=value, sharding=sharding):
                self.shardings[value] = sharding
            case _:
                pass

    def _copy(self, pairs: Iterable[tuple[SSAValue, SSAValue]]) -> None:
        for old, new in pairs:
            if old is new or old not in self.stands:
                continue
            if isinstance(new, OpResult) and old in operands_of(new.op):
                self.superseded.add(old)  # a local op and what corrects its result, as the offset of an iota
            if new in self.stands:
                continue  # an existing value that equals the old one keeps what it stands for
            self.stands[new] = self.stands[old]
            if old in self.shardings:
                self.shardings[new] = self.shardings[old]
            if old in self.pending:
                self.pending[new] = self.pending[old]

    def _move(self, event: Movement, target: SSAValue, source: SSAValue) -> None:
        """A value that a pass inserted behind another one: a reshard, or a step of it."""
        if source in self.stands:
            self.stands.setdefault(target, self.stands[source])
        maker = target.owner
        if isinstance(maker, AllReduceOp) and event.op is source.owner and event.index < 0:
            axes = plain(maker.properties["reduction_axes"])
            self.pending[source] = Pending(tuple(axes), _reduction(maker))


def _reduction(op: AllReduceOp) -> str:
    given = op.properties.get("reduction_op")
    return REDUCTIONS[0 if given is None else plain(given)]


def _function_of(value: SSAValue) -> Operation | None:
    """The outermost op but the module around a value."""
    op = owning_op(value)
    while op is not None and (parent := op.parent_op()) is not None and parent.parent_op() is not None:
        op = parent
    return op


def _manual_axes_around(value: SSAValue) -> tuple[str, ...]:
    """The axes that are manual where the value is defined."""
    op = value.op.parent_op() if isinstance(value, OpResult) else owning_op(value)
    axes: tuple[str, ...] = ()
    while op is not None:
        axes += tuple(manual_axes(op))
        op = op.parent_op()
    return axes
