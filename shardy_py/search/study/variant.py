"""A program after propagation, from its skeleton and the shardings decided: a block for the planner of XLA.

Emulates the passes behind propagation: equal constants of equal sharding are merged, shardings are closed,
and results of dots get reshards. The values of a variant are slots, and numbers above them for reshards.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from math import prod

from shardy_py.mlir.dialects.sdy import ReshardOp
from shardy_py.ops import OpRecord, TensorType
from shardy_py.reshard import reshard_plan as plans
from shardy_py.reshard.boundary import closed_like, evenly_divided, without_sub_axes
from shardy_py.search.study.base import Base, Decided, Unsupported
from shardy_py.search.study.making import Links, MadeVariant, Variant, made_variant
from shardy_py.search.study.skeleton import Skeleton, StudiedOp, skeleton_of
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of, mesh_to_work_in, resolve
from shardy_py.xla.spmd.planned import the_tiling
from shardy_py.xla.spmd.program import PlannedOp, TiledValue
from shardy_py.xla.spmd.step_plans import StepPlans
from shardy_py.xla.spmd.tiling import Tiling

_UNREDUCED = -1
_Line = tuple[tuple[int, ...], tuple[int, ...]]
"""The values that an op of a variant reads, and those that it makes."""


class Variants:
    """Makes the variants of one prepared program."""

    def __init__(self, base: Base) -> None:
        self.base = base
        self.meshes: Mapping[str, Mesh] = base.program.meshes
        self.shardings: list[TensorSharding | None] = [None]
        """Closed shardings by number; 0: none."""
        self.plans = StepPlans()
        """The plans of steps in earlier variants."""
        self._numbers: dict[TensorSharding, int] = {}
        self.closed_numbers: list[int] = [0]
        self._tilings: dict[tuple[int, int], Tiling] = {}
        self._dots: dict[tuple[Hashable, ...], tuple[int, int] | None] = {}
        self._reshards: dict[TensorType, OpRecord] = {}
        self._last: MadeVariant | None = None
        self.steps: dict[int, tuple[PlannedOp, _Line, tuple[int, ...]]] = {}
        """By the key of an op, its step and values in the last variant, and the numbers of its results."""
        self._boundary: dict[tuple[int, tuple[int | None, ...]], int] = {}
        self._arguments: dict[tuple[int, int], TiledValue] = {}
        self._devices = max((mesh.device_count for mesh in self.meshes.values()), default=1)

    @cached_property
    def skeleton(self) -> Skeleton:
        """The nodes that all variants share."""
        return skeleton_of(self.base)

    @cached_property
    def links(self) -> Links:
        """The nodes, and how they are linked."""
        return Links(self.skeleton)

    def variant(self, decided: Decided) -> Variant:
        """Returns the program with these shardings.

        Raises:
            Unsupported: a pass would change it in a way that is not emulated here.
        """
        self._last = made = made_variant(self, self.links, decided, self._last)
        return made.variant

    def closed(self, decided: Decided) -> list[int]:
        """Returns the number of the closed sharding of each slot."""
        skeleton, raw = self.skeleton, decided.numbers
        self.closed_number(max(raw), decided)
        numbers = [*map(self.closed_numbers.__getitem__, raw)]
        for slot in (*skeleton.arguments, *skeleton.targets):
            numbers[slot] = self.boundary_number(raw[slot], skeleton.types[slot], decided)
        if _UNREDUCED in numbers:
            raise _has_unreduced_axes()
        return numbers

    def closed_number(self, number: int, values: Decided) -> int:
        """The number of the closed form of a sharding; `_UNREDUCED` for one with unreduced axes.

        Shardings have numbers for all programs on equal meshes, so that this program need not have it.
        """
        known = self.closed_numbers
        while len(known) <= number:
            sharding = values.values[len(known)]
            assert sharding is not None
            known.append(_UNREDUCED if sharding.unreduced_axes else self.number(closed_like(sharding)))
        return known[number]

    def boundary_number(self, number: int, type_: TensorType | None, values: Decided) -> int:
        """The number of the closed form of the sharding of an argument or result, which divides it evenly."""
        sharding = values.values[number]
        if not self.base.is_divided or sharding is None or type_ is None or None in type_.shape:
            return self.closed_number(number, values)
        key = number, type_.shape
        if key not in self._boundary:
            shape = tuple(size or 0 for size in type_.shape)
            even = evenly_divided(sharding, shape, mesh_of(sharding, self.meshes))
            self._boundary[key] = self.number(closed_like(without_sub_axes(even)))
        return self._boundary[key]

    def number(self, sharding: TensorSharding) -> int:
        """The number of a closed sharding."""
        number = self._numbers.get(sharding)
        if number is None:
            if sharding.unreduced_axes:
                raise _has_unreduced_axes()
            number = self._numbers[sharding] = len(self.shardings)
            self.shardings.append(sharding)
        return number

    def tiling(self, number: int, rank: int) -> Tiling:
        """The tiling of a tensor with this closed sharding."""
        key = number, rank
        if key not in self._tilings:
            sharding = self.shardings[number]
            mesh = None if sharding is None else mesh_of(sharding, self.meshes)
            if mesh is None or sharding is None or mesh.is_maximal or mesh.device_count != self._devices:
                found = Tiling.replicated(rank, self._devices)
            else:
                found = Tiling.of_sharding(sharding, mesh)
            self._tilings[key] = the_tiling(found)
        return self._tilings[key]

    def argument(self, slot: int, number: int) -> TiledValue:
        """The argument of a slot with this closed sharding."""
        key = slot, number
        known = self._arguments.get(key)
        if known is None:
            type_ = self.skeleton.types[slot]
            tiling = None if type_ is None else self.tiling(number, len(type_.shape))
            known = self._arguments[key] = TiledValue(slot, type_, tiling)
        return known

    def reshard_of_dot(self, node: StudiedOp, numbers: tuple[int, ...]) -> tuple[int, int] | None:
        """The shardings in which a dot makes its result and to which that is resharded, if they differ."""
        key = id(node.record), id(node.rule), numbers
        if key not in self._dots:
            self._dots[key] = self._decide(node, numbers)
        return self._dots[key]

    def _decide(self, node: StudiedOp, numbers: tuple[int, ...]) -> tuple[int, int] | None:
        rule = node.rule
        if rule is None or rule.is_custom:
            return None
        operands = tuple([self.shardings[number] for number in numbers[:-1]])
        results = (self.shardings[numbers[-1]],)
        name = mesh_to_work_in(operands + results, self.meshes)
        if name is None:
            return None
        sizes = tuple(_size(type_) for type_ in (*node.record.operands, *node.record.results))
        tensors = plans.OpShardings(rule, operands, results, sizes, name, resolve(name, self.meshes))
        found = plans.dot_result_reshard(tensors)
        if found is None:
            return None
        (wanted,) = found.seen
        return self.number(found.made), self.number(wanted)

    def step(
        self,
        key: int,
        record: OpRecord,
        line: _Line,
        types: Sequence[TensorType | None],
        numbers: tuple[int, ...],
        source: object,
    ) -> PlannedOp:
        """The step of an op: that of an earlier variant, if it is the same.

        types, numbers: of its results.
        """
        known = self.steps.get(key)
        if known is not None and known[2] == numbers and known[1] == line:
            return known[0]
        targets = tuple(
            [
                None if type_ is None else self.tiling(number, len(type_.shape))
                for type_, number in zip(types, numbers, strict=True)
            ]
        )
        step = PlannedOp(record, line[0], line[1], targets, source=source)
        self.steps[key] = step, line, numbers
        return step

    def reshard_record(self, type_: TensorType) -> OpRecord:
        """The record of a reshard of a tensor."""
        record = self._reshards.get(type_)
        if record is None:
            record = self._reshards[type_] = OpRecord(ReshardOp.name, (type_,), (type_,))
        return record


def _size(type_: TensorType | None) -> int:
    if type_ is None or None in type_.shape:
        return 0
    return prod(size or 0 for size in type_.shape)


def _has_unreduced_axes() -> Unsupported:
    return Unsupported("values have unreduced axes")
