"""A program as the planner reads it: a block of steps, which are op records with names of values.

Not here: what is sent for it (`walk.py`), programs of IR as blocks.

>>> def step(reads: str, makes: str, *blocks: Block) -> PlannedOp:
...     return PlannedOp(OpRecord("stablehlo.if", (), (), {}), (*reads,), (*makes,), (), blocks)
>>> inner = Block((), (step("ab", "x"), step("xb", "y")), ("c",), ())
>>> outer = Block((), (step("d", "b"), step("b", "z", inner)), ("z",), ())
>>> inner.captured, inner.awaited, outer.captured
(('a', 'b', 'c'), ('a', 'b', 'x', 'c'), ('d', 'a', 'c'))
>>> reads_of(outer.steps[1])
('b', 'a', 'b', 'c')
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import field
from functools import cached_property
from itertools import chain

from shardy_py.base.records import dataclass
from shardy_py.ops import OpRecord, TensorType
from shardy_py.xla.spmd.tiling import Tiling

Name = Hashable
"""The name of a value, unique in the program."""


@dataclass(frozen=True, slots=True)
class TiledValue:
    """A tensor with its tiling; another value (a token) without a type."""

    name: Name
    type: TensorType | None
    tiling: Tiling | None


@dataclass(slots=True, eq=False)  # not frozen, which would triple the time to make it
class PlannedOp:
    """One op; never changed.

    operands, results: names of values; operands of a manual computation are in its in-shardings.
    targets: the tilings of the results, None for other values than tensors. blocks: its regions. times: how
    often they run. source: the op, for those who made the step. is_unreduced: the first result has unreduced
    axes, along which its parts are summed by a later op. reads_in_order: no operand has dimensions in another
    order in memory, as far as XLA knows before it assigns layouts.
    """

    record: OpRecord
    operands: tuple[Name, ...]
    results: tuple[Name, ...]
    targets: tuple[Tiling | None, ...]
    blocks: tuple[Block, ...] = ()
    times: int = 1
    source: object = None
    is_unreduced: bool = False
    reads_in_order: bool = True
    tensors: tuple[Name, ...] = field(init=False)
    """The names of the results that are tensors."""
    plan_key: Hashable = field(init=False)
    """The facts its plan depends on, beside its operands and which results are used; by identities."""

    def __post_init__(self) -> None:
        targets = self.targets
        self.tensors = self.results
        if len(targets) == 1 and targets[0] is not None:  # nearly all
            self.plan_key = id(self.record), self.is_unreduced, id(targets[0])
            return
        self.plan_key = id(self.record), self.is_unreduced, *map(id, targets)
        for target in targets:
            if target is None:
                pairs = zip(self.results, targets, strict=True)
                self.tensors = tuple([name for name, target in pairs if target is not None])
                return


def alike(
    step: PlannedOp, operands: tuple[Name, ...], results: tuple[Name, ...], source: object
) -> PlannedOp:
    """Returns a step with the facts of an equal one; fast, as most steps of a program equal others.

    Both make the same number of tensors, and nothing else.
    """
    made = _new(PlannedOp)
    made.record, made.operands, made.results, made.targets = step.record, operands, results, step.targets
    made.blocks, made.times, made.source = step.blocks, step.times, source
    made.is_unreduced, made.reads_in_order = step.is_unreduced, step.reads_in_order
    made.tensors, made.plan_key = results, step.plan_key
    return made


_new = object.__new__


def edited(
    step: PlannedOp,
    record: OpRecord | None = None,
    *,
    operands: tuple[Name, ...] | None = None,
    results: tuple[Name, ...] | None = None,
    targets: tuple[Tiling | None, ...] | None = None,
    blocks: tuple[Block, ...] | None = None,
) -> PlannedOp:
    """Returns a step with other facts; faster than `replace`."""
    if record is None and targets is None and blocks is None and step.tensors is step.results:
        own = step.operands if operands is None else operands
        return alike(step, own, step.results if results is None else results, step.source)
    return PlannedOp(
        record or step.record,
        step.operands if operands is None else operands,
        step.results if results is None else results,
        step.targets if targets is None else targets,
        step.blocks if blocks is None else blocks,
        step.times,
        step.source,
        step.is_unreduced,
        step.reads_in_order,
    )


@dataclass(frozen=True)
class Block:
    """The steps of a function or region, each after those it uses; results are resharded to `targets`."""

    arguments: tuple[TiledValue, ...]
    steps: tuple[PlannedOp, ...]
    results: tuple[Name, ...]
    targets: tuple[Tiling | None, ...]

    @property
    def captured(self) -> tuple[Name, ...]:
        """The values from outside that it reads, in the order of their first use."""
        return self._read[0]

    @property
    def awaited(self) -> tuple[Name, ...]:
        """As `captured`, with one value from inside, that whose first use is the last; none if it has none.

        It stands for the tuple of what a region reads, which XLA makes before the op of the region.
        """
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[tuple[Name, ...], tuple[Name, ...]]:
        inside = {value.name for value in self.arguments}.union(*[step.results for step in self.steps])
        read: dict[Name, None] = {}
        for step in self.steps:
            read.update(dict.fromkeys(step.operands))
            for inner in step.blocks:
                read.update(dict.fromkeys(inner.awaited))
                inside.update({*inner.awaited}.difference(inner.captured))
        read.update(dict.fromkeys(self.results))
        last = next((name for name in reversed(read) if name in inside), None)
        captured = tuple([name for name in read if name not in inside])
        return captured, tuple([name for name in read if name is last or name not in inside])


def reads_of(step: PlannedOp) -> tuple[Name, ...]:
    """Returns the values that a step reads, also those that its regions read from outside."""
    if not step.blocks:
        return step.operands
    return (*step.operands, *chain.from_iterable([inner.captured for inner in step.blocks]))


def used(block: Block) -> Iterable[Name]:
    """The names that a block uses, each as often as it does, and those that blocks inside use."""
    for step in block.steps:
        yield from step.operands
        for inner in step.blocks:
            yield from used(inner)
    yield from block.results
