"""A program after propagation, from its skeleton and the shardings decided: a block for the planner of XLA.

Emulates the passes behind propagation: equal constants of equal sharding are merged, shardings are closed,
and results of dots get reshards. The values of a variant are slots, and numbers above them for reshards.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from math import prod
from typing import NamedTuple

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import ReshardOp
from shardy_py.ops import OpRecord, TensorType
from shardy_py.reshard import reshard_plan as plans
from shardy_py.reshard.boundary import closed_like, evenly_divided, without_sub_axes
from shardy_py.search.study.base import Base, Decided, Unsupported
from shardy_py.search.study.skeleton import Around, Skeleton, StudiedOp, skeleton_of
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of, mesh_to_work_in, resolve
from shardy_py.xla.spmd.planned import the_tiling
from shardy_py.xla.spmd.program import Block, PlannedOp, TiledValue
from shardy_py.xla.spmd.step_plans import StepPlans
from shardy_py.xla.spmd.tiling import Tiling


class Line(NamedTuple):
    """The values of one op of a variant."""

    operands: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """A program with decided shardings.

    block: for the planner; names are values. numbers: of closed shardings, by value.
    """

    block: Block
    numbers: Sequence[int]


class Variants:
    """Makes the variants of one prepared program."""

    def __init__(self, base: Base) -> None:
        self.base = base
        self.meshes: Mapping[str, Mesh] = base.program.meshes
        self.closed: list[TensorSharding | None] = [None]
        """Closed shardings by number; 0: none."""
        self.plans = StepPlans()
        """The plans of steps in earlier variants."""
        self._numbers: dict[TensorSharding, int] = {}
        self.closed_numbers: list[int] = [0]
        self._tilings: dict[tuple[int, int], Tiling] = {}
        self._dots: dict[tuple[Hashable, ...], tuple[int, int] | None] = {}
        self._reshards: dict[TensorType, OpRecord] = {}
        self.steps: dict[int, tuple[PlannedOp, Line, tuple[int, ...]]] = {}
        """By the key of an op, its step and values in the last variant, and the numbers of its results."""
        self._boundary: dict[tuple[int, tuple[int | None, ...]], int] = {}
        self._devices = max((mesh.device_count for mesh in self.meshes.values()), default=1)

    @cached_property
    def skeleton(self) -> Skeleton:
        """The nodes that all variants share."""
        return skeleton_of(self.base)

    def variant(self, decided: Decided) -> Variant:
        """Returns the program with these shardings.

        Raises:
            Unsupported: a pass would change it in a way that is not emulated here.
        """
        return _Maker(self, decided).make()

    def closed_number(self, number: int, values: Decided) -> int:
        """The number of the closed form of a sharding."""
        known = self.closed_numbers
        while len(known) <= number:
            sharding = values.values[len(known)]
            assert sharding is not None
            known.append(self.number(closed_like(sharding)))
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
                raise Unsupported("values have unreduced axes")
            number = self._numbers[sharding] = len(self.closed)
            self.closed.append(sharding)
        return number

    def tiling(self, number: int, rank: int) -> Tiling:
        """The tiling of a tensor with this closed sharding."""
        key = number, rank
        if key not in self._tilings:
            sharding = self.closed[number]
            mesh = None if sharding is None else mesh_of(sharding, self.meshes)
            if mesh is None or sharding is None or mesh.is_maximal or mesh.device_count != self._devices:
                found = Tiling.replicated(rank, self._devices)
            else:
                found = Tiling.of_sharding(sharding, mesh)
            self._tilings[key] = the_tiling(found)
        return self._tilings[key]

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
        operands = tuple([self.closed[number] for number in numbers[:-1]])
        results = (self.closed[numbers[-1]],)
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
        line: Line,
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
        step = PlannedOp(record, line.operands, line.results, targets, source=source)
        self.steps[key] = step, line, numbers
        return step

    def reshard_record(self, type_: TensorType) -> OpRecord:
        """The record of a reshard of a tensor."""
        record = self._reshards.get(type_)
        if record is None:
            record = self._reshards[type_] = OpRecord(ReshardOp.name, (type_,), (type_,))
        return record


@dataclass(eq=False)
class _Maker:
    """Makes one variant.

    same: values by those that they replace. numbers: of closed shardings, by value.
    """

    variants: Variants
    decided: Decided
    same: dict[int, int] = field(default_factory=dict[int, int])
    steps: list[PlannedOp] = field(default_factory=list[PlannedOp])

    def make(self) -> Variant:
        variants, decided = self.variants, self.decided
        skeleton = variants.skeleton
        self.types = list(skeleton.types)
        variants.closed_number(max(decided.numbers), decided)
        self.numbers = [*map(variants.closed_numbers.__getitem__, decided.numbers)]
        for slot in (*skeleton.arguments, *skeleton.targets):
            self.numbers[slot] = variants.boundary_number(decided.numbers[slot], self.types[slot], decided)
        merged: dict[Hashable, int] = {}
        raw, same, numbers = decided.numbers, self.same, self.numbers
        known_steps, add_step = variants.steps, self.steps.append
        for index, node in enumerate(skeleton.nodes):
            operands = node.operands
            if same and not same.keys().isdisjoint(operands):
                operands = tuple([same.get(value, value) for value in operands])
            if node.is_plain:
                # The most frequent case: an op as it was in the variant before.
                known = known_steps.get(2 * index)
                if known is not None:
                    step, line, (number,) = known
                    if number == numbers[node.results[0]] and line[0] == operands:
                        add_step(step)
                        continue
            elif node.merge_key is not None:
                (value,) = node.results
                first = merged.setdefault((node.merge_key, operands, raw[value]), value)
                if first != value:
                    same[value] = first
                    continue
            self._add(index, node, operands)
        arguments = tuple(
            [TiledValue(slot, self.types[slot], self._tiling(slot)) for slot in skeleton.arguments]
        )
        returned = tuple([same.get(value, value) for value in skeleton.returned])
        targets = tuple([self.numbers[slot] for slot in skeleton.targets])
        tilings = tuple(
            [self._tiling(v, number or self.numbers[v]) for v, number in zip(returned, targets, strict=True)]
        )
        return Variant(Block(arguments, tuple(self.steps), returned, tilings), self.numbers)

    def _tiling(self, value: int, number: int | None = None) -> Tiling | None:
        type_ = self.types[value]
        number = self.numbers[value] if number is None else number
        return None if type_ is None else self.variants.tiling(number, len(type_.shape))

    def _add(self, index: int, node: StudiedOp, operands: tuple[int, ...]) -> None:
        numbers = self.numbers
        if node.around is Around.CONCATENATE:
            made = numbers[node.results[0]]
            if any(numbers[value] != made for value in operands):
                raise Unsupported("operands of a concatenate are resharded")
        elif node.around is Around.DOT:
            found = self.variants.reshard_of_dot(
                node, tuple([numbers[value] for value in (*operands, *node.results)])
            )
            if found is not None:
                self._add_with_reshard(index, node, operands, found)
                return
        self._append(2 * index, node.record, operands, node.results, node.op)

    def _add_with_reshard(
        self, index: int, node: StudiedOp, operands: tuple[int, ...], found: tuple[int, int]
    ) -> None:
        """Adds a dot and the reshard of its result, which takes the place of the result."""
        (value,) = node.results
        new, type_ = len(self.types), self.types[value]
        assert type_ is not None
        self.numbers[value] = found[0]
        self.numbers.append(found[1])
        self.types.append(type_)
        self.same[value] = new
        self._append(2 * index, node.record, operands, (value,), node.op)
        record = self.variants.reshard_record(type_)
        self._append(2 * index + 1, record, (value,), (new,), node.op)

    def _append(
        self,
        key: int,
        record: OpRecord,
        operands: tuple[int, ...],
        results: tuple[int, ...],
        source: object,
    ) -> None:
        if len(results) == 1:
            (value,) = results
            types, numbers = (self.types[value],), (self.numbers[value],)
        else:
            types = tuple([self.types[value] for value in results])
            numbers = tuple([self.numbers[value] for value in results])
        self.steps.append(self.variants.step(key, record, Line(operands, results), types, numbers, source))


def _size(type_: TensorType | None) -> int:
    if type_ is None or None in type_.shape:
        return 0
    return prod(size or 0 for size in type_.shape)
