"""A program as the planner reads it: a block of steps, which are op records with names of values.

Not here: what is sent for it (`walk.py`), programs of IR as blocks.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property

from shardy_py.ops import OpRecord, TensorType
from shardy_py.spmd.tiling import Tiling

Name = Hashable
"""The name of a value, unique in the program."""


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor with its tiling; another value (a token) without a type."""

    name: Name
    type: TensorType | None
    tiling: Tiling | None


@dataclass(frozen=True)
class Step:
    """One op.

    operands, results: names of values; operands of a manual computation are in its in-shardings.
    targets: the tilings of the results, None for other values than tensors. blocks: its regions. times: how
    often they run. source: the op, for those who made the step. is_unreduced: the first result has unreduced
    axes, along which its parts are summed by a later op.
    """

    record: OpRecord
    operands: tuple[Name, ...]
    results: tuple[Name, ...]
    targets: tuple[Tiling | None, ...]
    blocks: tuple[Block, ...] = ()
    times: int = 1
    source: object = None
    is_unreduced: bool = False

    @cached_property
    def tensors(self) -> tuple[Name, ...]:
        """The names of the results that are tensors."""
        return tuple([n for n, target in zip(self.results, self.targets, strict=True) if target is not None])

    @cached_property
    def plan_key(self) -> Hashable:
        """What its plan depends on, beside its operands and which results are used; by identities."""
        return id(self.record), self.is_unreduced, *map(id, self.targets)


@dataclass(frozen=True)
class Block:
    """The steps of a function or region, each after those it uses; results are resharded to `targets`."""

    arguments: tuple[Value, ...]
    steps: tuple[Step, ...]
    results: tuple[Name, ...]
    targets: tuple[Tiling | None, ...]


def used(block: Block) -> Iterable[Name]:
    """The names that a block uses, also of values from outside."""
    yield from block.results
    for step in block.steps:
        yield from step.operands
        for inner in step.blocks:
            yield from used(inner)
