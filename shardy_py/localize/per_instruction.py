"""`sdy-per-instruction-partitioning`: partitions single ops, each within a manual computation.

    before  %0 = stablehlo.dot %a, %b {... [<@mesh, [{"x"}, {"y"}]>]} : ... -> tensor<8x16xf32>
    after   %0 = sdy.manual_computation(%a, %b) in_shardings=... out_shardings=... manual_axes={"x", "y"}
                (%arg0: tensor<4x32xf32>, %arg1: tensor<32x8xf32>) {
              %1 = stablehlo.dot %arg0, %arg1 : ... -> tensor<4x8xf32>
              sdy.return %1
            }

The rest of the program stays global: to find the op that is partitioned wrongly, partition half of them.
An all-reduce of what a convolution leaves unreduced belongs to the convolution; calls are partitioned with
copies of their callees (`outlined_calls.py`). Other ops of sdy than reshards, constants and collectives are
left as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from typing import Any, cast

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from shardy_py.base.behaviours import Behaviour, at_least
from shardy_py.base.errors import ShardyError
from shardy_py.localize.identities import identity_data, is_constant_of
from shardy_py.localize.instruction_filter import Filter
from shardy_py.localize.outlined_calls import callees_of, move_callees, unused_name
from shardy_py.localize.padded_ops import sized_result
from shardy_py.localize.padding_masks import scalar
from shardy_py.mlir import ir
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.dialects.stablehlo import ConvolutionOp, ReduceOp, ReshapeOp, SliceOp
from shardy_py.mlir.dialects.traits import constant_of, is_terminator
from shardy_py.mlir.holders import Holder, Place, write_all
from shardy_py.mlir.ir import find_ops, operands_of, place_at_end, place_before, terminator_of, walk_pre_order
from shardy_py.mlir.nesting import free_values
from shardy_py.mlir.op_errors import errors_at
from shardy_py.mlir.plain import plain, tensor_type
from shardy_py.mlir.record import combiners_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, shape_of
from shardy_py.mlir.symbols import functions_of, meshes_of, top_level_ops
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.mlir.typed import of_kind, op_of
from shardy_py.mlir.value_shardings import ShardingReader, rank_of
from shardy_py.ops import Identity
from shardy_py.passes import pass_call
from shardy_py.passes.options import PerInstructionOptions
from shardy_py.reshard.divisible import divisible_shape
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.axis_lists import total_size
from shardy_py.sharding.meshes import Meshes, common_mesh, resolve

_SDY = (sdy.ReshardOp, sdy.ConstantOp)
_REDUCTIONS = (sdy.AllReduceOp.name, sdy.ReduceScatterOp.name)
_COLLECTIVES = (
    sdy.AllGatherOp,
    sdy.AllSliceOp,
    sdy.AllToAllOp,
    sdy.CollectivePermuteOp,
    sdy.AllReduceOp,
    sdy.ReduceScatterOp,
)
_GSPMD_TARGETS = ("Sharding", "mhlo.sharding")


def per_instruction_partitioning(module: ModuleOp, options: PerInstructionOptions) -> None:
    """Partitions the ops that the filter names.

    Raises:
        ShardyError: the filter is invalid, an op has tensors on several meshes, or it cannot be partitioned.
    """
    wanted = Filter.parse(options.filter)
    partitioning = _Partitioning(module, options)
    number = 0
    chosen: list[Operation] = []
    for function in _partitioned_functions(module):
        if wanted.function and function.sym_name.data != wanted.function:
            continue
        for op in [op for block in function.body.blocks for op in block.ops]:
            if partitioning.is_candidate(op):
                if wanted.accepts(op, number):
                    chosen.append(op)
                number += 1
    for op in chosen:
        with errors_at(op), at_least(Behaviour.PARTS_ARE_EXCHANGED):
            partitioning.partition(op, _sum_of(op) or op)


def _partitioned_functions(module: ModuleOp) -> list[FuncOp]:
    """The functions whose ops are partitioned."""
    functions = list(functions_of(module))
    if not Behaviour.OPS_ARE_PADDED_INSIDE.holds:
        return functions
    named = [function for function in functions if function.sym_name.data == "main"]
    return (named or functions)[:1]


class _Partitioning:
    def __init__(self, module: ModuleOp, options: PerInstructionOptions) -> None:
        self._module = module
        self._options = options
        self._meshes: Meshes = meshes_of(module)
        self._mesh_ops = [op for op in top_level_ops(module) if isinstance(op, sdy.MeshOp)]
        self._reader = ShardingReader()

    def is_candidate(self, op: Operation) -> bool:
        """True if the op has a sharded operand or result, and is one that can be partitioned alone."""
        if is_terminator(op) or (isinstance(op, CallOp) and not _partitions_all()):
            return False
        if op.name.startswith("sdy.") and not isinstance(op, _SDY) and not _is_partitioned_collective(op):
            return False
        target = op.properties.get("call_target_name")
        if target is not None and plain(target) in _GSPMD_TARGETS:
            return False
        shardings = map(self._reader.of, (*op.results, *operands_of(op)))
        return any(s is not None and not s.is_fully_replicated for s in shardings)

    def partition(self, op: Operation, last: Operation) -> None:
        """Replaces `op` by a manual computation, with padding around it where dimensions are uneven.

        last: the only user of `op`, which is replaced with it, or `op`.
        """
        captured = dict.fromkeys(free_values(op)) if op.regions else ()
        values = (*operands_of(op), *captured)
        given = [self._reader.of(value) for value in (*values, *last.results)]
        mesh = common_mesh(given, self._meshes)
        if mesh is None:
            raise ShardyError.unexpected("shardings", expected="one mesh", got="several meshes")
        shardings = [
            TensorSharding.fully_closed(mesh, rank_of(v.type)) if s is None else s
            for v, s in zip((*values, *last.results), given, strict=True)
        ]
        ins, outs = shardings[: len(values)], shardings[len(values) :]
        shape = self._reshard_shape(op, shardings) if isinstance(op, sdy.ReshardOp) else None
        padded_types = [
            self._padded(v.type, s) if shape is None else ranked_tensor(shape, element_of(v))
            for v, s in zip((*values, *last.results), shardings, strict=True)
        ]
        is_inside, hands_on = _is_padded_inside(op), Behaviour.PADDED_RESULTS_ARE_HANDED_ON.holds
        operands = [
            (_before_slice(value, type_) if hands_on else None) or self._pad(value, type_, sharding, op)
            for value, type_, sharding in zip(values, padded_types, ins, strict=False)
        ]
        is_padded = is_inside or _computes_with_padding(op)
        is_padded |= bool(values) and _with_own_size(op, padded_types[0]) is not None
        types = padded_types if is_padded else [v.type for v in (*values, *last.results)]
        ops = (op,) if op is last else (op, last)
        try:
            local = self._local_function(ops, values, types, ins, outs)
        except (Fault, ShardyError):  # the op is invalid with padding, as a grouped convolution is
            local = self._local_function(ops, values, types, ins, outs, gathers=True)
        axes = [axis.name for axis in resolve(mesh, self._meshes).axes]
        body = _body_of(local)
        manual = sdy.ManualComputationOp(operands, ins, outs, axes, body, padded_types[len(values) :])
        manual.location = op.location
        place_before(manual, op)
        for old, new, sharding in zip(last.results, manual.results, outs, strict=True):
            build = StablehloBuilder(op, sharding)
            if new.type is not old.type and new.type != old.type:
                ir.replace_uses(old, build.slice(new, (0,) * sharding.rank, shape_of(old)))
            else:
                ir.replace_uses(old, new)
        for replaced in reversed(ops):
            ir.erase(replaced)

    def _padded(self, type_: Attribute, sharding: TensorSharding) -> Attribute:
        tensor = tensor_type(type_)
        if tensor is None or None in tensor.shape:
            return type_
        mesh = resolve(sharding.mesh, self._meshes)
        shape = divisible_shape(cast("tuple[int, ...]", tensor.shape), sharding, mesh)
        return type_ if shape == tensor.shape else ranked_tensor(shape, type_.element_type)  # pyright: ignore

    def _reshard_shape(self, op: Operation, shardings: Sequence[TensorSharding]) -> tuple[int, ...]:
        """The shape that both shardings of a reshard divide: its operand and result have one type."""
        counts = [
            [total_size(d.axes, resolve(s.mesh, self._meshes)) for d in s.dimensions] for s in shardings
        ]
        steps = [lcm(*pair) for pair in zip(*counts, strict=True)]
        return tuple(-(-size // n) * n for size, n in zip(shape_of(op.results[0]), steps, strict=True))

    def _pad(
        self, value: SSAValue, type_: Attribute, sharding: TensorSharding, before: Operation
    ) -> SSAValue:
        if value.type == type_:
            return value
        build = StablehloBuilder(before, sharding)
        new = cast("tuple[int, ...]", cast("object", tensor_type(type_)).shape)  # pyright: ignore
        high = [large - small for large, small in zip(new, shape_of(value), strict=True)]
        zero = scalar(build, Identity.ZERO, element_of(value))
        return build.pad(value, zero, (0,) * len(high), high)

    def _local_function(
        self,
        ops: Sequence[Operation],
        values: Sequence[SSAValue],
        types: Sequence[Attribute],
        ins: Sequence[TensorSharding],
        outs: Sequence[TensorSharding],
        *,
        gathers: bool = False,
    ) -> FuncOp:
        """The function that runs `ops`, each on the results of that before, on parts, in a module of its own.

        values: the operands of the first, and what its regions use. The results are those of the last.
        gathers: whether tensors are gathered first that no reshard along factors makes local.
        """
        op = ops[0]
        inputs, outputs = types[: len(values)], types[len(values) :]
        block = Block()
        arguments = ir.append_arguments(block, [(type_, op.location) for type_ in inputs])
        count, is_inside = len(operands_of(op)), _is_padded_inside(op)
        copy = clone(op, dict(zip(values[count:], arguments[count:], strict=True)))
        for index, argument in enumerate(arguments[:count]):
            ir.replace_operand(copy, index, argument)
        place_at_end(copy, block)
        last = copy
        for after in ops[1:]:
            last = clone(after, dict(zip(operands_of(after), last.results, strict=True)))
            place_at_end(last, block)
        place_at_end(FuncReturnOp(*last.results), block)
        if is_inside:
            cuts = list(zip(arguments, values, ins, strict=True))
            for argument, value, sharding in (*cuts[count:], *cuts[:count]):  # in the order of Shardy
                _cut(copy, argument, value.type, sharding)
            self._pad_results(last, outputs, outs)
        elif inputs and (sized := _with_own_size(op, inputs[0])) is not None:
            ir.set_type(copy.results[0], sized)
            self._pad_results(last, outputs, outs)
        else:
            for result, type_ in zip(copy.results, outputs, strict=True):
                ir.set_type(result, type_)
        initial = _with_constants(copy, op) if _starts_from_nothing(op) else ()
        callees = callees_of(op, self._module)
        name = unused_name("partitioned", callees)
        function = FuncOp(name, FunctionType.from_lists(inputs, outputs), Region(block))
        for side, shardings in ((Place.ARGUMENT, ins), (Place.FUNCTION_RESULT, outs)):
            write_all((Holder(side, function, index), s) for index, s in enumerate(shardings))
        module = ModuleOp([*(clone(mesh, {}) for mesh in self._mesh_ops), function, *callees])
        for inner in (function, terminator_of(function.body), module):
            of_kind(inner, Operation).location = op.location
        is_reduced = any(True for _ in find_ops(module, *_REDUCTIONS))
        counts = {name: getattr(self._options, name) for name in ("replica_count", "partition_count")}
        halo, is_inner = self._options.enable_halo_exchange, Behaviour.OPS_ARE_PADDED_INSIDE.holds
        masks = not (is_inner or _computes_with_padding(op))
        reshards = pass_call(
            "sdy-insert-explicit-reshards", enable_full_version=True, keep_reductions=is_reduced
        )
        # Reshards first, which later would take a reversed mesh for one with other devices. But convolutions,
        # and reshapes whose dimensions are split in another way, are resharded while they are resolved.
        is_first = not (isinstance(op, ReshapeOp | ConvolutionOp) and is_inside)
        for call in (
            *((pass_call("sdy-gather-whole-tensors"),) if gathers else ()),
            *((reshards,) if is_first else ()),
            *(() if initial else (pass_call("sdy-resolve-reduction-factors"),)),
            pass_call("sdy-resolve-permutation-factors", enable_halo_exchange=halo, **counts),
            *(() if is_first else (reshards,)),
            pass_call("sdy-reshard-to-collectives"),
            *((pass_call("sdy-optimize-collectives"),) if Behaviour.EXPORT_OPTIMIZES.holds else ()),
            *((pass_call("canonicalize", enable_patterns=("sdy-collective",)),) if is_inner else ()),
            pass_call("sdy-pad-for-divisibility", pad_inputs_and_outputs=True, mask_all_padding=masks),
            pass_call("sdy-convert-global-to-local", **counts),
            *((pass_call("sdy-drop-sharding-and-mesh"),) if callees else ()),
        ):
            call.run(module)
        _without_constants(function, initial)
        move_callees(function, module, self._module)
        return function

    def _pad_results(
        self, op: Operation, types: Sequence[Attribute], shardings: Sequence[TensorSharding]
    ) -> None:
        """Pads the results of `op` to `types` before its function returns them."""
        end = of_kind(of_kind(op.parent, Block).last_op, Operation)
        for index, (result, type_, sharding) in enumerate(zip(op.results, types, shardings, strict=True)):
            ir.replace_operand(end, index, self._pad(result, type_, sharding, end))


def _cut(op: Operation, argument: SSAValue, type_: Attribute, sharding: TensorSharding) -> None:
    """Lets `op` and its regions use the part of an argument that has that type: all but its padding."""
    if argument.type == type_:
        return
    shape = cast("tuple[int, ...]", cast("Any", tensor_type(type_)).shape)
    part = StablehloBuilder(op, sharding).slice(argument, (0,) * sharding.rank, shape)
    ir.replace_uses(argument, part)
    ir.replace_operand(op_of(part), 0, argument)


def _partitions_all() -> bool:
    """True if calls are partitioned, too, and all-reduces with the convolutions before them."""
    return Behaviour.CALLS_AND_SUMS_ARE_PARTITIONED.holds


def _sum_of(op: Operation) -> Operation | None:
    """The all-reduce that is the only user of a convolution's unreduced result: it is partitioned with it."""
    use = op.results[0].get_user_of_unique_use() if isinstance(op, ConvolutionOp) else None
    if not isinstance(use, sdy.AllReduceOp) or not _partitions_all():
        return None
    sharding = ShardingReader().of(op.results[0])
    return use if sharding is not None and sharding.unreduced_axes else None


def _is_partitioned_collective(op: Operation) -> bool:
    """True if `op` is a collective that is partitioned by itself."""
    if not isinstance(op, _COLLECTIVES) or not Behaviour.COLLECTIVES_ARE_PARTITIONED.holds:
        return False
    maker = operands_of(op)[0].owner
    return not isinstance(maker, Operation) or _sum_of(maker) is not op


def _is_padded_inside(op: Operation) -> bool:
    """True if padding is cut off and added within the computation of `op`, rather than given to the op."""
    return Behaviour.OPS_ARE_PADDED_INSIDE.holds and not isinstance(op, _SDY)


def _computes_with_padding(op: Operation) -> bool:
    """True if `op` takes the padding of its operands for elements, and has it replaced nowhere."""
    return isinstance(op, sdy.ReshardOp)


def _with_own_size(op: Operation, operand: Attribute) -> Attribute | None:
    """The result of an op with sizes of its own, which is padded within the computation; None of others.

    Before JAX 0.12, which does so with all ops but those of sdy, others get their results padded.
    """
    is_inside = Behaviour.OPS_ARE_PADDED_INSIDE.holds
    return (
        sized_result(op, operand) if Behaviour.PADDED_RESULTS_ARE_HANDED_ON.holds and not is_inside else None
    )


def _starts_from_nothing(op: Operation) -> bool:
    """True if all initial values of a reduction are neutral, so that each device may start from them."""
    if not isinstance(op, ReduceOp):
        return False
    initial = operands_of(op)[len(op.results) :]
    return all(
        name is not None
        and (data := identity_data(name, element_of(value))) is not None
        and is_constant_of(value, data)
        for name, value in zip(combiners_of(op), initial, strict=True)
    )


def _with_constants(copy: Operation, op: Operation) -> tuple[SSAValue, ...]:
    """Starts a copy of a reduction from the constants that `op` starts from; returns what it started from.

    What passes see of an argument is not whether it is neutral.
    """
    first = len(op.results)
    given = tuple(operands_of(copy)[first:])
    for index, value in enumerate(operands_of(op)[first:], first):
        constant = clone(of_kind(constant_of(value), Operation), {})
        place_before(constant, copy)
        ir.replace_operand(copy, index, constant.results[0])
    return given


def _without_constants(function: FuncOp, initial: Sequence[SSAValue]) -> None:
    """Lets the reduction start from `initial` again."""
    for op in [op for op in function.body.block.ops if isinstance(op, ReduceOp)] if initial else ():
        for index, value in enumerate(initial, len(op.results)):
            constant = operands_of(op)[index]
            ir.replace_operand(op, index, value)
            if isinstance(constant.owner, Operation) and constant not in initial:
                ir.replace_uses(constant, value)
                ir.erase(constant.owner)


def _before_slice(value: SSAValue, type_: Attribute) -> SSAValue | None:
    """The padded value of that type whose first elements are `value`; None without one or padding."""
    maker = value.owner
    if value.type == type_ or not isinstance(maker, SliceOp) or operands_of(maker)[0].type != type_:
        return None
    starts, steps = (plain(maker.properties[name]) for name in ("start_indices", "strides"))
    is_first = not any(starts) and all(step == 1 for step in steps)  # pyright: ignore
    return operands_of(maker)[0] if is_first else None


def _body_of(function: FuncOp) -> Region:
    """A copy of the body of a function, as that of a manual computation."""
    block, new = function.body.block, Block()
    types = [(argument.type, argument.location) for argument in block.args]
    mapping: dict[SSAValue, SSAValue] = dict(zip(block.args, ir.append_arguments(new, types), strict=True))
    for op in block.ops:
        if is_terminator(op):
            copy: Operation = sdy.ReturnOp(*(mapping[value] for value in operands_of(op)))
            copy.location = op.location
        else:
            copy = clone(op, mapping)
            for inner in walk_pre_order(copy):
                inner.attributes.pop("sdy.sharding", None)
        place_at_end(copy, new)
    return Region(new)
