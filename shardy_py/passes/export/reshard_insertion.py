"""Walks functions and inserts the reshards and reductions that `reshard/` determines.

Decisions are memoised by the record of an op, its rule and the identities of its shardings.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.errors import Diagnostic, ShardyError, located, warn
from shardy_py.mlir.data_flow import argument_owners, edge_sources, result_owners
from shardy_py.mlir.dialects.sdy import AllReduceOp, OpShardingRuleAttr, ReduceScatterOp, ReshardOp
from shardy_py.mlir.dialects.sdy.interfaces import manual_axes
from shardy_py.mlir.dialects.stablehlo import (
    ConcatenateOp,
    DotGeneralOp,
    DotOp,
    ReduceOp,
    ReshapeOp,
    ScatterOp,
)
from shardy_py.mlir.dialects.traits import data_flow, is_terminator, required_data_flow
from shardy_py.mlir.holders import RULE, attribute_list_shardings, read
from shardy_py.mlir.ir import (
    erase,
    operands_of,
    operands_set_together,
    replace_uses,
    terminator_of,
    walk_post_order,
)
from shardy_py.mlir.movements import Movement, is_recording, note, note_copies
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import name_of, record_of
from shardy_py.mlir.sharding_walk import survey
from shardy_py.mlir.stablehlo_builder import shape_of
from shardy_py.mlir.symbols import Symbols, functions_of, meshes_of
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.value_shardings import (
    ShardingReader,
    function_argument_shardings,
    own_holder,
    rank_of,
    set_sharding,
    set_value_shardings,
)
from shardy_py.passes.export.body_reductions import body_reduction, reduction_after
from shardy_py.passes.export.communication_ops import RESHARDING, chain_after_result, chain_before_use
from shardy_py.passes.export.kept_reductions import keep_reductions
from shardy_py.passes.options import InsertExplicitReshardsOptions
from shardy_py.propagation.rules import rule_of
from shardy_py.reshard import reshard_plan as plans
from shardy_py.reshard.reshape_groups import has_same_parts
from shardy_py.reshard.steps import (
    Shardings,
    Step,
    before_reduction,
    reducing_steps,
    steps_along,
    steps_between,
    unreducing_steps,
)
from shardy_py.sharding import ShardingRule, TensorSharding
from shardy_py.sharding.meshes import Meshes, is_single_device, mesh_of, mesh_to_work_in, resolve
from shardy_py.sharding.tensor_sharding import with_free_axes, without_manual_axes

CALL = CallOp.name
RESHARD = ReshardOp.name
_REDUCTIONS = (AllReduceOp, ReduceScatterOp)
RAGGED_DOT = "mhlo.ragged_dot"
CONCATENATE = ConcatenateOp.name
RESHAPE = ReshapeOp.name
DOTS = frozenset({DotOp.name, DotGeneralOp.name})
UNREGISTERED = "builtin.unregistered"
COMBINING = frozenset({ReduceOp.name, ScatterOp.name})
_OPERATORS = Behaviour.ALL_REDUCES_HAVE_OPERATORS
_LEFT_TO_PARTITIONER = (
    "needs communication that is neither inserted nor counted: its sharding rule is custom, so that Shardy "
    "leaves reshards to its partitioner; a rule that is not custom (is_custom=False) has them inserted"
)


class ReshardInsertion:
    """Inserts into the functions of one module.

    is_full: the full version, for every op.
    keeps_reductions: an `sdy.all_reduce` or `sdy.reduce_scatter` of the program is the reduction of its
        operand. Shardy inserts a second one. And reshapes are never left to communicate by themselves.
    marks_partial: results before their all-reduce are unreduced along its axes.
    """

    def __init__(
        self,
        symbols: Symbols,
        meshes: Meshes,
        *,
        is_full: bool,
        keeps_reductions: bool = False,
        marks_partial: bool = False,
    ) -> None:
        self._marks_partial = marks_partial
        self._symbols = symbols
        self._meshes = meshes
        self._is_full = is_full
        self._keeps_reductions = keeps_reductions
        self._reductions = _REDUCTIONS if keeps_reductions else ()
        self._reader = ShardingReader()
        self._plans: dict[tuple[int | str | None, ...], tuple[plans.ReshardPlan, bool, object]] = {}
        self._takes_reductions = _OPERATORS.holds and not keeps_reductions
        self._keeps_equal_parts = Behaviour.RESHAPE_KEEPS_EQUAL_PARTS.holds and not keeps_reductions
        is_minimal_too = Behaviour.SINGLE_DEVICE_TENSORS_ARE_RESHARDED.holds
        self._has_single_devices = (
            (keeps_reductions or Behaviour.SINGLE_DEVICE_OPS_ARE_RESHARDED.holds)
            and any(mesh.is_maximal for mesh in meshes.values())
            and (is_full or (is_minimal_too and plans.global_mesh(meshes) is not None))
        )
        self._survey = survey(symbols.module, CALL, CONCATENATE, *DOTS, UNREGISTERED)
        self._unreduced = self._survey.any_sharding(lambda s: bool(s.unreduced_axes))

    def run(self, functions: Iterable[Operation]) -> None:
        """Inserts into all functions: around all ops if any may need it, else around those of the survey."""
        if not (self._is_full or self._unreduced or self._has_single_devices):
            for op in self._survey.ops:
                self._visit(op)
            return
        for function in functions:
            if self._has_single_devices:
                self._check_border(function)
            for op in walk_post_order(function, include_root=False):
                if not is_terminator(op):
                    self._visit(op)
            terminator = terminator_of(function.regions[0])
            if terminator is not None:
                self._visit_return(function, terminator)

    def _visit_return(self, function: Operation, terminator: Operation) -> None:
        targets = attribute_list_shardings(function.properties.get("res_attrs"))
        with operands_set_together():
            for index, value in enumerate(operands_of(terminator)):
                target = targets[index] if targets else None
                try:
                    steps = self._steps(value, target, self._is_full)
                except ShardyError as error:
                    raise _placed(terminator, error) from error
                chain_before_use(terminator, index, steps)

    def _check_border(self, function: Operation) -> None:
        for kind, name in (("argument", "arg_attrs"), ("result", "res_attrs")):
            shardings = attribute_list_shardings(function.properties.get(name))
            for index, sharding in enumerate(shardings):
                if is_single_device(sharding, self._meshes):
                    word = "" if Behaviour.SINGLE_DEVICE_IS_THE_WORD.holds else " (maximal)"
                    fact = f"cannot have a single-device{word} sharding attribute"
                    raise _error(function, f"'func.func' op function {kind} {index} {fact}")

    def _visit(self, op: Operation) -> None:
        try:
            self._bring_together(op)
        except ShardyError as error:
            raise _placed(op, error) from error

    def _bring_together(self, op: Operation) -> None:
        is_full = self._is_full or self._needs_full(op)
        if data_flow(op) is not None:
            self._visit_data_flow(op, is_full)
        elif op.name == CALL:
            self._visit_call(op)
        elif op.name != RESHARD or not self._convert_reshard(op):
            if self._unreduced and not isinstance(op, self._reductions):
                self._reduce_operands(op)
            operands = tuple(map(self._reader.through_barriers, operands_of(op)))
            results = tuple(map(self._reader.through_barriers, op.results))
            plan = self._plan(op, operands, results, is_full)
            insert_reshards(op, plan, self._reader, self._meshes)
            if self._marks(op):
                set_value_shardings(
                    (result, before_reduction(all_reduce, mesh_of(all_reduce.sharding, self._meshes)))
                    for result, all_reduce in zip(op.results, plan.all_reduces, strict=False)
                )

    def _marks(self, op: Operation) -> bool:
        """Returns whether results of `op` are unreduced before their all-reduce."""
        if not self._marks_partial or Behaviour.ALL_PARTIAL_SUMS_ARE_MARKED.holds:
            return self._marks_partial
        return op.name not in COMBINING or body_reduction(op.regions[0]) is not None

    def _needs_full(self, op: Operation) -> bool:
        """Returns whether the minimal version treats `op` as the full one does."""
        if op.name == CONCATENATE:
            made = self._reader.of(op.results[0])
            return any(self._reader.of(value) != made for value in operands_of(op))
        return op.name == UNREGISTERED and name_of(op) == RAGGED_DOT

    def _steps(self, value: SSAValue, target: TensorSharding | None, with_reshard: bool) -> tuple[Step, ...]:
        return steps_between(self._reader.of(value), target, self._meshes, with_reshard=with_reshard)

    def _visit_data_flow(self, op: Operation, is_full: bool) -> None:
        """Reshards the sources of each edge to the sharding of its owner, as seen from the source."""
        axes = manual_axes(op)
        for owner in (*result_owners(op), *argument_owners(op)):
            holder = own_holder(owner)
            target = read(holder) if holder is not None else None
            if target is not None and axes:
                if isinstance(owner, OpResult):
                    target = without_manual_axes(target, axes)
                else:
                    outer = required_data_flow(op).outer_sharding(op, owner)
                    assert outer is not None
                    target = with_free_axes(outer, target, axes)
            for user, index in edge_sources(owner):
                steps = self._steps(operands_of(user)[index], target, is_full)
                chain_before_use(user, index, steps, after_maker=True)

    def _visit_call(self, call: Operation) -> None:
        targets = function_argument_shardings(self._symbols.callee(call), self._symbols)
        if targets is None:
            given = [self._reader.of(value) for value in operands_of(call)]
            mesh = next((s.mesh for s in given if s and not mesh_of(s, self._meshes).is_maximal), None)
            if mesh is None:
                return
            targets = tuple(TensorSharding.fully_closed(mesh, rank_of(v.type)) for v in operands_of(call))
        for index, target in enumerate(targets):
            steps = self._steps(operands_of(call)[index], target, True)
            chain_before_use(call, index, steps, after_maker=True)

    def _convert_reshard(self, op: Operation) -> bool:
        """Replaces a reshard that makes axes unreduced by the ops for that; returns whether it does."""
        source, target = self._reader.of(operands_of(op)[0]), self._reader.of(op.results[0])
        steps = unreducing_steps(source, target, self._meshes)
        if steps:
            chain_before_use(op, 0, steps)
            replace_uses(op.results[0], operands_of(op)[0])
            erase(op)
        return bool(steps)

    def _reduce_operands(self, op: Operation) -> None:
        """Reduces operands along the unreduced axes that the results do not have."""
        sources = tuple(map(self._reader.of, operands_of(op)))
        targets = tuple(map(self._reader.of, op.results))
        if not targets:
            if any(map(plans.unreduced_axes, sources)):
                raise ShardyError("Some operands have unreduced axes but the operation has no results. ")
            return
        if len(set(map(plans.unreduced_axes, targets))) > 1:
            raise ShardyError("Unreduced axes mismatch between results for multi-result op.")
        for index, source in enumerate(sources):
            chain_before_use(op, index, reducing_steps(source, targets[0], self._meshes))

    def _plan(
        self, op: Operation, operands: Shardings, results: Shardings, is_full: bool
    ) -> plans.ReshardPlan:
        if self._has_single_devices and plans.is_single_device_op(results, self._meshes):
            tensors = (tensor_type(value.type) for value in (*operands_of(op), *op.results))
            ranks = [None if tensor is None else tensor.rank for tensor in tensors]
            return plans.single_device_plan(operands, results, ranks, self._meshes)
        if not is_full and op.name not in DOTS and not (results and plans.unreduced_axes(results[0])):
            return plans.NOTHING
        given = op.attributes.get(RULE)
        record = record_of(op)
        reduction = reduction_after(op) if self._takes_reductions and op.name in COMBINING else ""
        own = self._own_sharding(op)
        key = (id(record), id(given), is_full, reduction, id(own), *map(id, operands), *map(id, results))
        known = self._plans.get(key)
        if known is None:
            with located(position_of(op.location)):
                rule = given.data if isinstance(given, OpShardingRuleAttr) else rule_of(record)
            is_custom = rule is not None and rule.is_custom
            plan = (
                plans.NOTHING
                if is_custom and not is_full
                else self._decide(op, rule, operands, results, is_full, reduction)
            )
            known = self._plans[key] = (plan, is_custom, (given, own, operands, results))
        plan, is_custom, _ = known
        if is_custom and plan != plans.NOTHING:
            warn(f"'{name_of(op)}' op {_LEFT_TO_PARTITIONER}", position_of(op.location))
            return plans.NOTHING
        return plan

    def _own_sharding(self, op: Operation) -> TensorSharding | None:
        """The sharding of a reshape's operand, which Shardy compares without looking through barriers."""
        if op.name != RESHAPE:
            return None
        read = self._reader.through_barriers if self._keeps_reductions else self._reader.of
        return read(operands_of(op)[0])

    def _decide(
        self,
        op: Operation,
        rule: ShardingRule | None,
        operands: Shardings,
        results: Shardings,
        is_full: bool,
        reduction: str | None,
    ) -> plans.ReshardPlan:
        if rule is None:
            return plans.NOTHING
        name = mesh_to_work_in(operands + results, self._meshes)
        if name is None:
            return plans.NOTHING
        sizes = tuple(_size(value.type) for value in (*operands_of(op), *op.results))
        mesh = resolve(name, self._meshes)
        tensors = plans.OpShardings(rule, operands, results, sizes, name, mesh, reduction, self._marks(op))
        if not is_full:
            return plans.minimal_plan(tensors, plans.dot_result_reshard(tensors) if op.name in DOTS else None)
        if op.name == RESHAPE and plans.has_overflow(tensors.project()):
            is_kept = self._keeps_equal_parts and _has_same_parts(op, tensors)
            return (
                plans.NOTHING
                if is_kept
                else plans.overflow_plan(tensors, self._own_sharding(op), self._meshes)
            )
        return plans.reshard_plan(tensors, self._meshes)


def _has_same_parts(reshape: Operation, tensors: plans.OpShardings) -> bool:
    source, target = tensors.operands[0], tensors.results[0]
    if source is None or target is None:
        return False
    shapes = shape_of(operands_of(reshape)[0]), shape_of(reshape.results[0])
    return has_same_parts(source, shapes[0], target, shapes[1], tensors.mesh)


def insert_reshards(op: Operation, plan: plans.ReshardPlan, reader: ShardingReader, meshes: Meshes) -> None:
    """Inserts the reshards and all-reduces of a plan around `op`, and changes its result shardings."""
    operands = operands_of(op)
    with operands_set_together():
        for index, chain in plan.operands:
            steps = steps_along(reader.of(operands[index]), chain, meshes)
            chain_before_use(op, index, steps)
    last = op
    for index, reshard in plan.results:
        result = op.results[index]
        old = reader.of(result) if is_recording() else None
        set_sharding(result, reshard.made)
        last = chain_after_result(result, steps_along(reshard.made, reshard.seen, meshes), last)
        if op.name == RESHARD and last is not op:  # the two become one, which is the second
            note_copies({result: last.results[0]})
        note(Movement(result, result, RESHARDING, op, old=old, new=reshard.made))
    last = op
    for result, all_reduce in zip(op.results, plan.all_reduces, strict=False):
        last = chain_after_result(result, (all_reduce,), last)


def _size(type_: Attribute) -> int:
    tensor = tensor_type(type_)
    if tensor is None or None in tensor.shape:
        return 0
    return prod(size or 0 for size in tensor.shape)


def _placed(op: Operation, error: ShardyError) -> ShardyError:
    fault = error.diagnostics[0]
    return error if fault.where else _error(op, f"'{name_of(op)}' op {fault.message}")


def _error(op: Operation, message: str) -> ShardyError:
    return ShardyError(Diagnostic(message, position_of(op.location)))


def insert_explicit_reshards(module: ModuleOp, options: InsertExplicitReshardsOptions) -> None:
    """`sdy-insert-explicit-reshards`: inserts reshards where the shardings around an op are incompatible.

    %lhs: [{"x"}, {"y"}], %rhs: [{"y"}, {"x"}]
    before  %0 = stablehlo.dot %lhs, %rhs {... [<@mesh, [{"x"}, {}]>]}
    after   %0 = sdy.reshard %rhs <@mesh, [{"y"}, {}]>
        %1 = stablehlo.dot %lhs, %0 {... [<@mesh, [{"x"}, {}]>]}

    Without `enable-full-version` only for calls, concatenations of tensors with different shardings, dot
    products that benefit, and unreduced axes; a later partitioner handles all others.
    """
    if options.keep_reductions:
        keep_reductions(module)
    insertion = ReshardInsertion(
        Symbols(module),
        meshes_of(module),
        is_full=options.enable_full_version,
        keeps_reductions=options.keep_reductions,
        marks_partial=options.mark_partial_result_with_unreduced_axes,
    )
    insertion.run(function for function in functions_of(module) if function.body.blocks)
