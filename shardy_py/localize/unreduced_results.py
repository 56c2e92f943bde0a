"""Unreduced results of ops that do not sum along the axes: they come from one device.

    before  %0 = stablehlo.add %a, %b {... [<@mesh, [{}], unreduced={"x"}>]}        %a, %b: [{}]
    after   %0 = stablehlo.add %a, %b {... [<@mesh, [{}]>]}
            %1 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{}], unreduced={"x"}>

Shardy leaves the result as it is, and its sum counts every device. Operands that are unreduced themselves are
reduced before an op that is not linear in them. Maxima and minima of equal values need nothing. Part of
`sdy-resolve-reduction-factors`.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from shardy_py.localize.arithmetic.unreduced_terms import common_axes, is_linear, reduced_axes
from shardy_py.localize.identities import encoded, is_constant_of
from shardy_py.mlir.dialects.sdy import OpShardingRuleAttr
from shardy_py.mlir.holders import RULE
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import name_of, record_of
from shardy_py.mlir.stablehlo_builder import element_of
from shardy_py.mlir.value_shardings import ShardingReader, set_value_shardings
from shardy_py.ops import Identity
from shardy_py.passes.export.communication_ops import chain_after_result, chain_before_use
from shardy_py.propagation.rules import rule_of
from shardy_py.reshard.steps import ReplicatedToUnreduced, reducing_steps
from shardy_py.sharding import Axes, Mesh
from shardy_py.sharding.axis_lists import difference
from shardy_py.sharding.meshes import Meshes, mesh_of

_SUM = "sum"


def resolve_unreduced_results(op: Operation, reader: ShardingReader, meshes: Meshes) -> None:
    """Lets results be unreduced along axes that the op sums along, and makes them so along others."""
    first = reader.of(op.results[0]) if op.results else None
    if first is None or not first.unreduced_axes or first.reduction != _SUM:
        return
    mesh = mesh_of(first, meshes)
    made = _summed_axes(op, first.unreduced_axes, reader, mesh)
    missing = difference(first.unreduced_axes, made, mesh)
    if not missing:
        return
    last = op
    given = [(result, reader.of(result)) for result in op.results]
    olds = [(result, old) for result, old in given if old is not None]
    set_value_shardings(
        (result, replace(old, unreduced_axes=difference(old.unreduced_axes, missing, mesh)))
        for result, old in olds
    )
    for result, old in olds:
        last = chain_after_result(result, (ReplicatedToUnreduced(old, missing),), last)
    for index, value in enumerate(operands_of(op)):
        chain_before_use(op, index, reducing_steps(reader.of(value), reader.of(op.results[0]), meshes))


def _is_zero(value: SSAValue) -> bool:
    """True if it is a scalar that is the sum of itself on all devices."""
    tensor = tensor_type(value.type)
    if tensor is None or tensor.shape:
        return False
    data = encoded(Identity.ZERO, element_of(value))
    return data is not None and is_constant_of(value, data)


def _summed_axes(op: Operation, wanted: Axes, reader: ShardingReader, mesh: Mesh) -> Axes:
    """The axes among `wanted` along which devices compute terms of the results."""
    operands = tuple(map(reader.of, operands_of(op)))
    given = op.attributes.get(RULE)
    rule = given.data if isinstance(given, OpShardingRuleAttr) else rule_of(record_of(op))
    found = () if rule is None else common_axes(wanted, reduced_axes(rule, operands), mesh)
    for axis in difference(wanted, found, mesh):
        unreduced = [
            sharding is not None and not difference((axis,), sharding.unreduced_axes, mesh)
            for sharding in operands
        ]
        pairs = zip(unreduced, operands_of(op), strict=True)
        flags = [is_unreduced or _is_zero(value) for is_unreduced, value in pairs]
        name = name_of(op)
        if any(unreduced) and (is_linear(name, unreduced) or is_linear(name, flags)):
            found += (axis,)
    return found
