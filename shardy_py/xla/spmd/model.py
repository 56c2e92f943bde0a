"""The parts of a plan: the collectives that XLA's SPMD partitioner emits, with what each device sends.

Not here: shardings by tiles (`tiling.py`), the planners, one module per handler of XLA.

>>> gather = PlannedCollective("all_gather", 4, "f32", (16, 128), "lhs of dot_general")
>>> gather.held_bytes, gather.bytes
(8192, 24576)
>>> CollectivePlan((gather, PlannedCollective("all_reduce", 2, "bf16", (64,), times=3))).bytes_by_kind
{'all_gather': 24576, 'all_reduce': 384}
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field, replace
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.hardware.cost import DEFAULT
from shardy_py.indexing.layout import element_type

KINDS = ("all_gather", "all_reduce", "all_to_all", "collective_permute", "reduce_scatter")
"""The collectives of XLA, each a method of `CostModel`."""

Pairs = tuple[tuple[int, int], ...]
"""Devices that send, each with the one that receives."""


@dataclass(frozen=True, slots=True)
class PlannedCollective:
    """One collective in the program of a device.

    kind: one of `KINDS`.
    group_size: the devices that communicate with each other; at least 2. For a permute: any number.
    element_type: in the spelling of XLA or MLIR.
    held_shape: of the operand on each device.
    reason: why XLA emits it, as a phrase.
    times: how often it runs: the product of the trip counts of the loops around it.
    group: the devices of the mesh in the first group that communicates; of a permute pairs of neighbours,
        one behind the other; () if they are not known.
    made_shape: of what each device has after it; () if it is not known.
    key: equal for equal collectives of one value, which XLA merges; None if it has no equal.
    pairs: of a permute, all devices that send, each with the one that receives, in XLA's order; those of the
        first group of devices, if there are several.
    start: of a permute of a part, where it begins on a device, along its dimension; -1: it is not known.
    instead: of the permutes of a loop that a product became, the collective that it would need otherwise.
    continues: whether it sums along one more dimension what the one before it summed, in one request.
    """

    kind: str
    group_size: int
    element_type: str
    held_shape: tuple[int, ...]
    reason: str = ""
    times: int = 1
    key: Hashable = field(default=None, compare=False, repr=False)
    group: tuple[int, ...] = field(default=(), compare=False, repr=False)
    made_shape: tuple[int, ...] = field(default=(), compare=False, repr=False)
    pairs: Pairs = field(default=(), compare=False, repr=False)
    instead: PlannedCollective | None = field(default=None, compare=False, repr=False)
    start: int = field(default=-1, compare=False, repr=False)
    continues: bool = field(default=False, compare=False, repr=False)

    def sent(self, times: int, reason: str, key: Hashable) -> PlannedCollective:
        """Returns the collective as a program sends it; faster than `replace`."""
        what = self.kind, self.group_size, self.element_type, self.held_shape
        how = self.group, self.made_shape, self.pairs, self.instead, self.start, self.continues
        return PlannedCollective(*what, reason, times, key, *how)

    @property
    def held_bytes(self) -> int:
        """The bytes of the operand on each device."""
        return -(-prod(self.held_shape) * element_type(self.element_type).bits // 8)

    @property
    def is_strided(self) -> bool:
        """True if an all-gather puts together parts that are not one behind the other in row-major order."""
        grows = [made > held for held, made in zip(self.held_shape, self.made_shape, strict=False)]
        first = grows.index(True) if True in grows else 0
        return self.kind == "all_gather" and prod(self.held_shape[:first]) > 1

    @property
    def bytes(self) -> int:
        """The bytes that each device sends in all runs, by the formulas of `hardware/cost.py`."""
        cost = getattr(DEFAULT, self.kind)((("devices", self.group_size),), self.held_bytes)
        return self.times * cost.bytes


@dataclass(frozen=True, slots=True)
class CollectivePlan:
    """The collectives of an op, or of a program, in the order of XLA."""

    collectives: tuple[PlannedCollective, ...] = ()

    def __add__(self, other: CollectivePlan) -> CollectivePlan:
        return CollectivePlan(self.collectives + other.collectives)

    def repeated(self, times: int) -> CollectivePlan:
        """The plan of a loop whose body has this plan."""
        return CollectivePlan(tuple(replace(each, times=each.times * times) for each in self.collectives))

    @property
    def bytes(self) -> int:
        """The bytes that each device sends."""
        return sum(each.bytes for each in self.collectives)

    @property
    def bytes_by_kind(self) -> dict[str, int]:
        """The bytes that each device sends, by kind."""
        found: dict[str, int] = {}
        for each in self.collectives:
            found[each.kind] = found.get(each.kind, 0) + each.bytes
        return found
