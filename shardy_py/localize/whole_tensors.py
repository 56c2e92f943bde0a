"""`sdy-gather-whole-tensors`: replicates tensors of ops that reshards along factors cannot make local.

    before  %0 = stablehlo.custom_call @unknown(%a) {... [<@mesh, [{"x"}]>]}         %a: [{"x"}]
    after   %0 = sdy.reshard %a <@mesh, [{}]>
            %1 = stablehlo.custom_call @unknown(%0) {... [<@mesh, [{}]>]}
            %2 = sdy.reshard %1 <@mesh, [{"x"}]>

Those are ops without a sharding rule, unless they compute each element by itself (`chlo.erf`), regions of ops
through which shardings do not propagate, generators of
random numbers without known counters (each device would generate its own), and tensors of other meshes than
that of the result of the op.
Custom rules, whose reshards Shardy leaves to its partitioner, become rules like any other; composites become
their decompositions. Runs before `sdy-insert-explicit-reshards`.

`sdy-split-mesh-changes`, after it, makes reshards between meshes with different axes a gather and a slice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.localize.arithmetic.unreduced_terms import without_unreduced
from shardy_py.localize.composites import inline_composites
from shardy_py.localize.facet import LocalRow, local_row
from shardy_py.localize.fallbacks import warn_whole
from shardy_py.localize.manual_borders import align_manual_borders
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.dialects.sdy import OpShardingRuleAttr
from shardy_py.mlir.dialects.traits import data_flow, is_terminator
from shardy_py.mlir.holders import RULE
from shardy_py.mlir.ir import (
    find_ops,
    operands_of,
    operands_set_together,
    replace_operand,
    terminator_of,
    walk_pre_order,
)
from shardy_py.mlir.movements import Movement, note, replace_by_values
from shardy_py.mlir.op_errors import errors_at
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder
from shardy_py.mlir.symbols import meshes_of
from shardy_py.mlir.value_shardings import ShardingReader, set_value_shardings
from shardy_py.passes.export.communication_ops import chain_after_result, chain_before_use, sizes_of
from shardy_py.passes.options import GatherWholeTensorsOptions
from shardy_py.propagation.rules import pointwise_rule, rule_of
from shardy_py.reshard.compound_dimensions import Shardings, compound_factors, evenly_divided
from shardy_py.reshard.reshard_plan import OpShardings, reshard_plan
from shardy_py.reshard.steps import Reshard
from shardy_py.sharding import Mesh, ShardingRule, TensorSharding
from shardy_py.sharding.axis_lists import total_size
from shardy_py.sharding.meshes import (
    Meshes,
    is_single_device,
    mesh_of,
    mesh_to_work_in,
    meshes_with_axes,
    resolve,
)
from shardy_py.sharding.rule import FactorType

_PASSED_OVER = (FuncOp, CallOp, sdy.MeshOp)
_Change = tuple[OpResult, TensorSharding, TensorSharding]
"""A result with its old and its new sharding."""


def gather_whole_tensors(module: ModuleOp, options: GatherWholeTensorsOptions) -> None:
    """Replicates the tensors of all such ops, with a warning each."""
    for barrier in find_ops(module, sdy.PropagationBarrierOp.name):
        replace_by_values(barrier, operands_of(barrier))
    inline_composites(module)
    gathering = _Gathering(module, options)
    for op in list(walk_pre_order(module, include_root=False)):
        if isinstance(op, sdy.ManualComputationOp):
            align_manual_borders(op, gathering.meshes)
        is_sdy = op.name.startswith("sdy.") and not isinstance(op, sdy.ConstantOp)
        if not (is_sdy or isinstance(op, _PASSED_OVER) or is_terminator(op) or data_flow(op) is not None):
            gathering.visit(op)


@dataclass(frozen=True, slots=True)
class _Rule:
    """The sharding rule that an op is partitioned by.

    attribute: the rule for the op, if it is not the one the op has. compound: see `compound_dimensions.py`.
    """

    rule: ShardingRule
    attribute: OpShardingRuleAttr | None
    compound: frozenset[int]

    @staticmethod
    def of(given: ShardingRule | None, row: LocalRow) -> _Rule | None:
        """The corrected rule; None for an op without one."""
        if given is None:
            return None
        rule = _corrected(given, row)
        return _Rule(rule, None if rule is given else OpShardingRuleAttr(rule), compound_factors(rule))


class _Gathering:
    def __init__(self, module: ModuleOp, options: GatherWholeTensorsOptions) -> None:
        self.meshes = meshes_of(module)
        self._reader = ShardingReader()
        self._keeps_random = options.rng_bit_generator_unsafe
        self._has_single_devices = any(mesh.is_maximal for mesh in self.meshes.values())
        self._has_meshes = len(set(meshes_with_axes(self.meshes).values())) > 1
        self._rules: dict[tuple[int, int], tuple[_Rule | None, object]] = {}

    def visit(self, op: Operation) -> None:
        for region in op.regions:
            terminator = terminator_of(region)
            if terminator is not None:
                count = len(operands_of(terminator))
                self._replicate(terminator, range(count), "values of its region are whole")
        values = (*operands_of(op), *op.results)
        shardings = tuple(map(self._reader.of, values))
        if not any(s is not None and not s.is_fully_replicated for s in shardings):
            return
        if self._has_single_devices and any(is_single_device(s, self.meshes) for s in shardings):
            return
        row = local_row(op)
        if row.unsupported is not None:
            reason = row.unsupported(op)
            if reason and not self._keeps_random:
                self._gather(op, reason)
        elif (rule := self._rule(op, row)) is None:
            if operands_of(op):  # constants and iotas are local as they are
                self._gather(op, "the op has no sharding rule")
        elif self._has_meshes and mesh_to_work_in(shardings, self.meshes) is None:
            self._bring_to_one_mesh(op)
        else:
            if row.whole_operands is not None:
                indices, reason = row.whole_operands
                self._replicate(op, indices(op), reason)
            if row.whole is not None:
                whole, reason = row.whole
                self._reshard(op, tuple(map(_without_axes, self._shardings(op), whole(op))), reason)
            unreduced = shardings[-1].unreduced_axes if op.results and shardings[-1] is not None else ()
            if unreduced:
                operands = self._shardings(op)[: len(operands_of(op))]
                found = without_unreduced(rule.rule, operands, unreduced)
                self._reshard(op, found, "the result is unreduced along the axes of a dimension")
            if rule.compound and not row.is_uneven:
                shardings = self._shardings(op)
                mesh = mesh_to_work_in(shardings, self.meshes)
                if mesh is not None:
                    found = evenly_divided(rule.rule, shardings, rule.compound, resolve(mesh, self.meshes))
                    self._reshard(op, found, "its compound dimensions are uneven")
            if not row.is_looked_through:
                self._warn_of_factors(op, rule.rule)

    def _shardings(self, op: Operation) -> Shardings:
        """The shardings of the operands, then of the results."""
        return tuple(map(self._reader.of, (*operands_of(op), *op.results)))

    def _reshard(self, op: Operation, shardings: Sequence[TensorSharding | None], reason: str) -> None:
        """Gives the operands, then the results, these shardings, with a warning if any changes."""
        values, gathered = operands_of(op), list[SSAValue]()
        for index, (value, new) in enumerate(zip(values, shardings, strict=False)):
            if new is not None and new != self._reader.of(value):
                chain_before_use(op, index, (Reshard(new),))
                gathered.append(value)
        news = zip(op.results, shardings[len(values) :], strict=False)
        for result, old, _ in self._changed((result, new) for result, new in news if new is not None):
            chain_after_result(result, (Reshard(old),), op)
            gathered.append(result)
        if gathered:
            warn_whole(op, reason, gathered)

    def _changed(self, news: Iterable[tuple[OpResult, TensorSharding]]) -> list[_Change]:
        """Gives results these shardings; returns those that differ, with the old and the new one."""
        given = [(result, self._reader.of(result), new) for result, new in news]
        changes = [(result, old, new) for result, old, new in given if old is not None and new != old]
        set_value_shardings((result, new) for result, _, new in changes)
        return changes

    def _warn_of_factors(self, op: Operation, rule: ShardingRule) -> None:
        """Warns of operands that explicit reshards gather, as a factor of the rule must be whole.

        They move its axes to another factor where they can; then no device has more of the operand.
        """
        whole = {n for n, factor in enumerate(rule.factors) if factor.type is FactorType.NEED_REPLICATION}
        shardings = self._shardings(op) if whole else ()
        name = mesh_to_work_in(shardings, self.meshes)
        if name is None:
            return
        values = operands_of(op)
        sizes = tuple(map(_elements, (*values, *op.results)))
        mesh = resolve(name, self.meshes)
        tensors = OpShardings(rule, shardings[: len(values)], shardings[len(values) :], sizes, name, mesh)
        planned = dict(reshard_plan(tensors, self.meshes).operands)
        gathered = [
            value
            for number, value in enumerate(values)
            if (given := shardings[number]) is not None
            and any(
                by.axes and not whole.isdisjoint(factors)
                for by, factors in zip(given.dimensions, rule.operands[number], strict=True)
            )
            and _parts(planned.get(number, (given,))[-1], mesh) < _parts(given, mesh)
        ]
        if gathered:
            warn_whole(op, "each part needs whole dimensions", gathered)

    def _rule(self, op: Operation, row: LocalRow) -> _Rule | None:
        """The sharding rule of an op; the op gets the corrected one, unless that is the derived one."""
        given = op.attributes.get(RULE)
        record = record_of(op)
        key = id(record), id(given)
        known = self._rules.get(key)
        if known is None:
            if isinstance(given, OpShardingRuleAttr):
                rule = given.data
            else:
                with errors_at(op):
                    rule = rule_of(record)
            if rule is None and (own := pointwise_rule(record)) is not None:
                found = replace(cast(_Rule, _Rule.of(own, row)), attribute=OpShardingRuleAttr(own))
            else:
                found = _Rule.of(rule, row)
            known = self._rules[key] = found, (record, given)
        rule, _ = known
        if rule is not None and rule.attribute is not None:
            op.attributes[RULE] = rule.attribute
        return rule

    def _gather(self, op: Operation, reason: str) -> None:
        gathered = self._replicate_operands(op, range(len(operands_of(op))))
        wholes = (
            (result, TensorSharding.fully_closed(sharding.mesh, sharding.rank))
            for result in op.results
            if (sharding := self._reader.of(result)) is not None and not sharding.is_fully_replicated
        )
        for result, old, whole in self._changed(wholes):
            note(Movement(result, result, _PASS, op, old=old, new=whole))
            chain_after_result(result, (Reshard(old),), op)
            gathered.append(result)
        warn_whole(op, reason, gathered)

    def _bring_to_one_mesh(self, op: Operation) -> None:
        """Replicates operands that are sharded on other meshes than the first result, or operand."""
        values = (*op.results, *operands_of(op))
        first = next(s for s in map(self._reader.of, values) if s is not None and not s.is_fully_replicated)
        mesh = mesh_of(first, self.meshes)
        gathered: list[SSAValue] = []
        for index, value in enumerate(operands_of(op)):
            sharding = self._reader.of(value)
            if sharding is not None and mesh_of(sharding, self.meshes).axes != mesh.axes:
                steps = (Reshard(TensorSharding.fully_closed(first.mesh, sharding.rank)),)
                chain_before_use(op, index, steps)
                gathered.append(value)
        others = (
            (result, TensorSharding.fully_closed(first.mesh, sharding.rank))
            for result in op.results
            if (sharding := self._reader.of(result)) is not None
            and mesh_of(sharding, self.meshes).axes != mesh.axes
        )
        for result, old, _ in self._changed(others):
            chain_after_result(result, (Reshard(old),), op)
            gathered.append(result)
        warn_whole(op, "its tensors are on several meshes", gathered)

    def _replicate(self, op: Operation, indices: Iterable[int], reason: str) -> None:
        """Replicates operands, with a warning if any was sharded."""
        gathered = self._replicate_operands(op, indices)
        if gathered:
            warn_whole(op, reason, gathered)

    def _replicate_operands(self, op: Operation, indices: Iterable[int]) -> list[SSAValue]:
        """Returns the operands that were sharded; those that were unreduced only are summed."""
        gathered: list[SSAValue] = []
        with operands_set_together():
            for index in indices:
                value = operands_of(op)[index]
                sharding = self._reader.of(value)
                if sharding is None or (sharding.is_fully_replicated and not sharding.unreduced_axes):
                    continue
                if not sharding.is_fully_replicated:
                    gathered.append(value)
                whole = TensorSharding.fully_closed(sharding.mesh, sharding.rank)
                chain_before_use(op, index, (Reshard(whole),))
        return gathered


def _corrected(rule: ShardingRule, row: LocalRow) -> ShardingRule:
    """The rule, in which factors must be whole that Shardy leaves to its partitioner or shards wrongly.

    Those of custom rules and of searches that are in no operand, or in no result, and the last dimension of
    a selection.
    """
    is_one_sided = rule.is_custom or row.searches
    if not is_one_sided and not row.selects:
        return rule
    sides = [
        {factor for tensor in side for dimension in tensor for factor in dimension}
        for side in (rule.operands, rule.results)
    ]
    whole = set(range(len(rule.factors))) - (sides[0] & sides[1]) if is_one_sided else set[int]()
    if row.selects:
        whole |= set(rule.operands[0][-1])
    factors = tuple(
        replace(factor, type=FactorType.NEED_REPLICATION)
        if index in whole and factor.type is FactorType.PASS_THROUGH
        else factor
        for index, factor in enumerate(rule.factors)
    )
    return replace(rule, factors=factors, is_custom=False)


def _elements(value: SSAValue) -> int:
    return prod(sizes_of(value)) if tensor_type(value.type) else 0


def _parts(sharding: TensorSharding, mesh: Mesh) -> int:
    return prod(total_size(dimension.axes, mesh) for dimension in sharding.dimensions)


def _without_axes(old: TensorSharding | None, whole: Collection[int]) -> TensorSharding | None:
    """The sharding in which the dimensions `whole` have no axes."""
    if old is None or not whole:
        return old
    gathered = {*whole}
    kept = tuple(replace(d, axes=()) if i in gathered else d for i, d in enumerate(old.dimensions))
    return replace(old, dimensions=kept)


_PASS = "sdy-gather-whole-tensors"


def split_mesh_changes(module: ModuleOp) -> None:
    """`sdy-split-mesh-changes`: gathers tensors on one mesh before they are sharded on another.

    before  %1 = sdy.reshard %0 <@b, [{"y"}]>          %0: <@a, [{"x"}]>
    after   %1 = sdy.reshard %0 <@a, [{}]>
            %2 = stablehlo.reshape %1 {... <@b, [{}]>}
            %3 = sdy.reshard %2 <@b, [{"y"}]>

    The reshape to the same shape stands for a replicated tensor that is seen on another mesh. A tensor that
    moves to a single device is gathered, too.
    """
    meshes, reader = meshes_of(module), ShardingReader()
    for op in find_ops(module, sdy.ReshardOp.name):
        source, target = reader.of(operands_of(op)[0]), reader.of(op.results[0])
        if source is None or target is None or not _changes_mesh(source, target, meshes):
            continue
        if not source.is_fully_replicated:
            whole = TensorSharding.fully_closed(source.mesh, source.rank)
            warn_whole(op, "its meshes have other axes", operands_of(op))
            chain_before_use(op, 0, (Reshard(whole),))
        if mesh_of(target, meshes).is_maximal:
            continue
        build = StablehloBuilder(op, TensorSharding.fully_closed(target.mesh, target.rank))
        value = build.reshape(operands_of(op)[0], sizes_of(op.results[0]))
        if target.is_fully_replicated:
            replace_by_values(op, (value,))
        else:
            replace_operand(op, 0, value)


def _changes_mesh(source: TensorSharding, target: TensorSharding, meshes: Meshes) -> bool:
    mine, its = mesh_of(source, meshes), mesh_of(target, meshes)
    return mine.axes != its.axes and not mine.is_maximal
