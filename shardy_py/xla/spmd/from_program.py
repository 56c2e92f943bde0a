"""A propagated program of IR as blocks of the planner of XLA's SPMD partitioner, with what it plans.

Values are named by numbers, in the order in which they are met. Operands of a manual computation are
resharded on entry. The program has no calls: XLA inlines them before. Not here: how it is planned
(`xla/spmd/walk.py`), the report on it (`by_xla.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block as IrBlock
from xdsl.ir import Operation, SSAValue

from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.mlir.dialects.chlo import RaggedDotOp
from shardy_py.mlir.dialects.sdy import AllReduceOp, ManualComputationOp, ReduceScatterOp, ReshardOp
from shardy_py.mlir.dialects.stablehlo.structs import ReplicaGroupMeshAxes
from shardy_py.mlir.dialects.traits import is_constant, is_dead_when_unused
from shardy_py.mlir.holders import SHARDING, attribute_list_shardings
from shardy_py.mlir.ir import blocks_of, next_op, operands_of, type_of
from shardy_py.mlir.loops import iterations, run_counts
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of, signature_of
from shardy_py.mlir.scalars import Scalars
from shardy_py.mlir.symbols import MAIN, Symbols, function_name, functions_of
from shardy_py.mlir.typed import of_kind
from shardy_py.mlir.value_shardings import ShardingReader, holds_its_own
from shardy_py.mlir.value_table import ValueTable
from shardy_py.ops import TABLE, Control, OpRecord, TensorType
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of
from shardy_py.xla.spmd.device_groups import axes_of_devices
from shardy_py.xla.spmd.planned import the_tiling
from shardy_py.xla.spmd.program import alike
from shardy_py.xla.spmd.ragged_products import agreement
from shardy_py.xla.spmd.step_plans import StepPlans
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.spmd.walk import Block, Name, PlannedOp, ProgramPlan, TiledValue, plan_program

_RUN = frozenset(Control) - {Control.NONE, Control.CALL, Control.DEFINITION}
"""Ops with these run their regions; those of others combine elements."""
_REDUCTIONS = (AllReduceOp, ReduceScatterOp)
_OTHERS = frozenset(op.name for op in (*_REDUCTIONS, RaggedDotOp))
"""The ops without regions whose steps need more than their records."""


def source_op(step: PlannedOp | None) -> Operation | None:
    """Returns the op of the program that a step is made from; None if there is none."""
    return None if step is None or step.source is None else of_kind(step.source, Operation)


def has_effects(step: PlannedOp) -> bool:
    """Returns whether a step does more than to make values, so that it runs where it is, and as often."""
    op = source_op(step)
    return op is not None and not is_dead_when_unused(op)


def entered_operand(step: PlannedOp, operand: int) -> int:
    """Returns the operand of the source of a step: that of a reshard before the op is the one it reshards."""
    name = step.results[0] if step.results else None
    return name[1] if isinstance(name, tuple) and isinstance(name[1], int) else operand


Again = Callable[[Callable[[ModuleOp], ModuleOp]], ModuleOp]


@releases.following
@dataclass(eq=False)
class SpmdProgram:
    """A propagated program without calls as XLA partitions it, for all reports on it.

    originals: for ops of inlined functions, those of the program with calls. is_planned: whether collectives
    are planned; otherwise the program has them all. table: the values, for those who have them; see `values`.
    release: whose XLA partitions it. again: propagates what another function makes of the program
    that it was made from, in place, and returns the propagated module; None: that program is not known.
    The module must not change while this is in use.
    """

    module: ModuleOp
    originals: Mapping[Operation, Operation] = field(default_factory=dict[Operation, Operation])
    is_planned: bool = True
    table: ValueTable | None = None
    release: releases.Release = field(default_factory=releases.current)
    again: Again | None = None

    @cached_property
    def meshes(self) -> dict[str, Mesh]:
        """The meshes by name."""
        return Symbols(self.module).meshes()

    @cached_property
    def values(self) -> ValueTable:
        """All values."""
        return self.table or ValueTable(self.module)

    @cached_property
    def runs(self) -> Callable[[Operation], tuple[int, bool]]:
        """How often an op runs, and whether that is certain; see `run_counts`."""
        has_calls = self.table is None or CallOp in self.table.op_classes
        return run_counts(self.module, has_calls=has_calls)

    @cached_property
    def entries(self) -> tuple[FuncOp, ...]:
        """The function @main; without one, all functions."""
        functions = functions_of(self.module)
        return tuple([f for f in functions if function_name(f) == MAIN] or functions)

    def planned(self, function: FuncOp) -> tuple[Block, ProgramPlan]:
        """The block of a function, and what is sent for it.

        Raises:
            ShardyError: a mesh has too many devices to list them, or a tensor has a dynamic shape.
        """
        if function not in self._known:
            block = self.block(function)
            plan = plan_program(block, self.step_plans(function)) if self.is_planned else ProgramPlan((), ())
            self._known[function] = block, plan
        return self._known[function]

    def block(self, function: FuncOp) -> Block:
        """The block of a function.

        Raises:
            ShardyError: a mesh has too many devices to list them.
        """
        if function not in self._blocks:
            self._blocks[function] = block_of(function, self.meshes)
        return self._blocks[function]

    def own(self, function: FuncOp) -> FuncOp:
        """The function of this program that a function of the one that it was made from became."""
        return function

    def names(self, op: Operation) -> tuple[str, str]:
        """The name of the first result of an op in the program that reports are on, and of its function."""
        return self.values.names_of(op)

    def result_sharding(self, step: PlannedOp) -> TensorSharding | None:
        """Returns the sharding of the first result of a step that an op of the program is."""
        return self._shardings.of(of_kind(step.source, Operation).results[0])

    @cached_property
    def _shardings(self) -> ShardingReader:
        return ShardingReader()

    def step_plans(self, function: FuncOp) -> StepPlans:
        """Returns the plans of the steps of a function, for programs that share these."""
        return self._step_plans.setdefault(function, StepPlans())

    @cached_property
    def _step_plans(self) -> dict[FuncOp, StepPlans]:
        return {}

    @cached_property
    def kept(self) -> dict[Hashable, object]:
        """Values that are made of the program for several reports on it, each under a key of its maker."""
        return {}

    @cached_property
    def _blocks(self) -> dict[FuncOp, Block]:
        return {}

    @cached_property
    def _known(self) -> dict[FuncOp, tuple[Block, ProgramPlan]]:
        return {}


def _is_plain(op_name: str) -> bool:
    """True if ops of a name run no regions, and their records say all."""
    return TABLE[op_name].control is Control.NONE and op_name not in _OTHERS


def block_of(function: FuncOp, meshes: Mapping[str, Mesh]) -> Block:
    """Returns the block of a function without calls; meshes: by name.

    Raises:
        ShardyError: a mesh has too many devices to list them.
    """
    devices = max((mesh.device_count for mesh in meshes.values()), default=1)
    return _Reader(meshes, devices).function(function)


def _with_number(op: Operation, record: OpRecord) -> OpRecord:
    """The record of an op; constants that are scalars of integers have their value, as XLA reads it."""
    if not is_constant(op):
        return record
    number = Scalars().of(op.results[0])
    return _constant(record.name, record.results, number) if isinstance(number, int) else record


@SESSION.cache(1024)
def _constant(name: str, results: tuple[TensorType | None, ...], number: int) -> OpRecord:
    """The same record for equal constants, so that their plans are made once."""
    return OpRecord(name, (), results, {"value": number})


@dataclass(frozen=True)
class _Reader:
    meshes: Mapping[str, Mesh]
    devices: int
    shardings: ShardingReader = field(default_factory=ShardingReader)
    known: dict[tuple[int, int], tuple[Tiling | None, object, object]] = field(
        default_factory=dict[tuple[int, int], tuple[Tiling | None, object, object]]
    )
    """Tilings by the identities of a type and a sharding, which are kept with them."""
    records: dict[tuple[Hashable, ...], OpRecord] = field(
        default_factory=dict[tuple[Hashable, ...], OpRecord]
    )
    """Records by signatures of identities, which live as long as the module."""
    equal: dict[Hashable, PlannedOp] = field(default_factory=dict[Hashable, PlannedOp])
    """The first of the steps of one tensor with equal facts, by signatures and identities of shardings."""
    names: dict[int, int] = field(default_factory=dict[int, int])
    """The numbers of values, by their identities."""
    plain: dict[type[Operation], bool] = field(default_factory=dict[type[Operation], bool])
    """The classes of ops that were met: true for those that run no regions, and whose records say all."""

    def function(self, function: FuncOp) -> Block:
        """Results are resharded to the shardings of the function."""
        (block, *_) = blocks_of(function)
        returned = self._returned(block)
        given = attribute_list_shardings(function.properties.get("res_attrs")) or (None,) * len(returned)
        pairs = zip(returned, given, strict=True)
        targets = [self._tiling(value, sharding or self.shardings.of(value)) for value, sharding in pairs]
        return self._block(block, targets)

    def _block(self, block: IrBlock, targets: Sequence[Tiling | None] | None = None) -> Block:
        """targets: of the results, by default as the returned values have them."""
        names = self._named(block.args)
        types = (tensor_type(type_of(value)) for value in block.args)
        arguments = tuple(map(TiledValue, names, types, map(self._own, block.args)))
        returned = self._returned(block)
        targets = [self._own(value) for value in returned] if targets is None else targets
        steps: list[PlannedOp] = []
        op, last = block.first_op, block.last_op
        is_plain, add = self.plain, steps.append
        while op is not last and op is not None:
            plain = is_plain.get(op.__class__)
            if plain is None:
                plain = is_plain[op.__class__] = _is_plain(op.name)
            if plain:
                add(self._plain_step(op))
            else:
                steps += self._steps(op)
            op = next_op(op)
        return Block(arguments, tuple(steps), self._named(returned), tuple(targets))

    def _named(self, values: Iterable[SSAValue]) -> tuple[Name, ...]:
        names = self.names
        return tuple([names.setdefault(id(value), len(names)) for value in values])

    def _returned(self, block: IrBlock) -> Sequence[SSAValue]:
        return () if block.last_op is None else operands_of(block.last_op)

    def _steps(self, op: Operation) -> Iterator[PlannedOp]:
        control = TABLE[op.name].control
        if isinstance(op, RaggedDotOp):
            yield from self._ragged_product(op)
            return
        names = self._named(operands_of(op))
        if isinstance(op, ManualComputationOp):
            entering = tuple(self._entering(op, op.in_shardings.data))
            yield from entering
            names = tuple(step.results[0] for step in entering)
        targets = tuple(map(self._own, op.results))
        blocks = tuple(self._blocks(op, control, targets))
        times = iterations(op)[0] if control is Control.LOOP else 1
        record, is_unreduced = self._with_devices(op), self._is_unreduced(op)
        yield PlannedOp(record, names, self._named(op.results), targets, blocks, times, op, is_unreduced)

    def _plain_step(self, op: Operation) -> PlannedOp:
        """The step of an op that runs no regions: nearly all are such."""
        names, results = self.names, op.results
        try:
            operands = tuple([names[id(value)] for value in operands_of(op)])
        except KeyError:  # of a value that is not made yet
            operands = self._named(operands_of(op))
        signature = signature_of(op)
        key = signature, id(op.attributes.get(SHARDING))
        if len(results) == 1 and (known := self.equal.get(key)) is not None:
            (result,) = results
            return alike(known, operands, (names.setdefault(id(result), len(names)),), op)
        made = self._named(results)
        record = self.records.get(signature)
        if record is None:
            record = self.records[signature] = _with_number(op, self._with_groups(op))
        shardings = [*map(self.shardings.of, results)]
        targets = (*map(self._tiling, results, shardings),)
        is_unreduced = bool(shardings and shardings[0] is not None and shardings[0].unreduced_axes)
        step = PlannedOp(record, operands, made, targets, (), 1, op, is_unreduced)
        if len(results) == 1 and targets[0] is not None and holds_its_own(op.__class__):
            self.equal[key] = step
        return step

    def _is_unreduced(self, op: Operation) -> bool:
        sharding = self.shardings.of(op.results[0]) if op.results else None
        return sharding is not None and bool(sharding.unreduced_axes)

    def _with_devices(self, op: Operation) -> OpRecord:
        """The record of an op; reductions of unreduced axes name groups of devices, as they do in XLA."""
        record = self._with_groups(op)
        if not isinstance(op, _REDUCTIONS):
            return record
        before, after = (self.shardings.of(value) for value in (op.operands[0], op.results[0]))
        if before is None:
            return record
        mesh = mesh_of(before, self.meshes)
        kept = prod(axis.size(mesh) for axis in after.unreduced_axes) if after else 1
        size = prod(axis.size(mesh) for axis in before.unreduced_axes) // kept
        return _in_groups_of(record, size)

    def _with_groups(self, op: Operation) -> OpRecord:
        """The record of an op; groups along the axes of a mesh are a group of as many devices."""
        record = record_of(op)
        named = getattr(op.properties.get("replica_groups"), "data", None)
        if not isinstance(named, ReplicaGroupMeshAxes):
            return record
        return _in_groups_of(record, prod(size for _, size in axes_of_devices(op, self.meshes)))

    def _blocks(self, op: Operation, control: Control, targets: Sequence[Tiling | None]) -> Iterator[Block]:
        """The regions that the op runs; those whose results are its own return them in its tilings."""
        blocks = [region.blocks[0] for region in op.regions] if control in _RUN else []
        for number, block in enumerate(blocks):
            is_condition = control is Control.LOOP and number == 0
            has_results = control in (Control.LOOP, Control.BRANCHES) and not is_condition
            yield self._block(block, targets if has_results else None)

    def _ragged_product(self, op: Operation) -> Iterator[PlannedOp]:
        """The op with operands that agree, and the reshard of its result."""
        given, made = ([*map(self.shardings.of, values)] for values in (operands_of(op), op.results))
        agreed = agreement(record_of(op), tuple(given), tuple(made), self.meshes)
        if agreed is None:
            yield self._plain_step(op)
            return
        targets = [own if new is None else new for own, new in zip(given, agreed.operands, strict=True)]
        entering = tuple(self._entering(op, targets))
        yield from entering
        names = tuple(step.results[0] for step in entering)
        record = replace(record_of(op), attributes={**record_of(op).attributes, "group": agreed.group})
        (result,), (sharding,) = op.results, made
        named, target = self._named(op.results), self._tiling(result, sharding)
        if agreed.result is None:
            yield PlannedOp(record, names, named, (target,), source=op)
            return
        between: Name = (op, "made")
        yield PlannedOp(record, names, (between,), (self._tiling(result, agreed.result),), source=op)
        copied = OpRecord(ReshardOp.name, record.results, record.results)
        yield PlannedOp(copied, (between,), named, (target,), source=op)

    def _entering(self, op: Operation, shardings: Sequence[TensorSharding | None]) -> Iterator[PlannedOp]:
        """The reshards of operands to the shardings with which their parts go in."""
        for i, (value, sharding) in enumerate(zip(operands_of(op), shardings, strict=True)):
            type_ = tensor_type(type_of(value))
            record = OpRecord(ReshardOp.name, (type_,), (type_,))
            (name,) = self._named((value,))
            yield PlannedOp(record, (name,), ((op, i),), (self._tiling(value, sharding),), source=op)

    def _own(self, value: SSAValue) -> Tiling | None:
        return self._tiling(value, self.shardings.of(value))

    def _tiling(self, value: SSAValue, sharding: TensorSharding | None) -> Tiling | None:
        """The tiling of a value with this sharding; None for other values than tensors."""
        type_ = type_of(value)
        key = id(type_), id(sharding)
        known = self.known.get(key)
        if known is None:
            tensor = tensor_type(type_)
            tiling = None if tensor is None else the_tiling(self._tiling_of(sharding, len(tensor.shape)))
            known = self.known[key] = tiling, type_, sharding
        return known[0]

    def _tiling_of(self, sharding: TensorSharding | None, rank: int) -> Tiling:
        """Without a sharding, and on meshes of fewer devices, every device holds the whole tensor."""
        if sharding is not None:
            mesh = mesh_of(sharding, self.meshes)
            if mesh.device_count == self.devices and not mesh.is_maximal:
                return Tiling.of_sharding(sharding, mesh)
        return Tiling.replicated(rank, self.devices)


_MOST_IN_GROUP = 1 << 20
"""Devices of a group that are listed."""


def _in_groups_of(record: OpRecord, size: int) -> OpRecord:
    if size > _MOST_IN_GROUP:
        expected, got = f"groups of at most {_MOST_IN_GROUP:,} devices", f"{size:,}"
        raise ShardyError.unexpected(record.name, expected=expected, got=got, remedy="use a smaller mesh")
    return replace(record, attributes={**record.attributes, "replica_groups": (tuple(range(size)),)})
