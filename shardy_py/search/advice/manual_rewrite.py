"""An op inside of a `shard_map`: where each device computes its part alone, and XLA gathers operands first.

    scores, experts = jax.shard_map(lambda x: lax.top_k(x, 2), in_specs=P("data"), ...)(gates)

The op is sharded along dimensions that it computes element by element of: batches of `top_k`, `sort` and
`cholesky`, groups of a convolution. Not here: whether that helps (`adviser.py` tries it).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
from math import prod

from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from shardy_py import ops
from shardy_py.base.records import dataclass
from shardy_py.mlir.cloning import clone_region_into
from shardy_py.mlir.dialects.sdy import ManualComputationOp, ReturnOp
from shardy_py.mlir.ir import build_operation, operands_of, written_name
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.typed import element_type_of, integer_of
from shardy_py.propagation.rules import derive_from_maps, derive_rule
from shardy_py.search.advice.pasting import parsed_call, spec_text
from shardy_py.search.advice.replacing import SuggestedRewrite, at, replace_op
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, ShardingRule, TensorSharding
from shardy_py.sharding.axis_lists import total_size
from shardy_py.sharding.rule import FactorType, TensorMapping
from shardy_py.sharding.slices import local_shape

_GROUPS = "feature_group_count"
_SENT_WELL = (ops.Family.ELEMENTWISE, ops.Family.PRODUCT, ops.Family.MOVEMENT)
"""Families that XLA's partitioner computes by parts itself, where annotations agree."""


@dataclass(frozen=True)
class _Layout:
    """The shardings of the operands and results of an op that each device computes its part of.

    parts: into how many the groups of a convolution are divided.
    """

    ins: tuple[TensorSharding, ...]
    outs: tuple[TensorSharding, ...]
    parts: int

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of all axes, of the first operand first."""
        found = (axis.name for s in (*self.ins, *self.outs) for d in s.dimensions for axis in d.axes)
        return tuple(dict.fromkeys(found))


def manual_rewrite(
    op: Operation, shardings: Sequence[TensorSharding | None], mesh_name: str, mesh: Mesh
) -> SuggestedRewrite | None:
    """Returns the rewrite of an op whose operands are sharded so; None if it cannot be computed by parts."""
    layout = _layout(op, shardings, mesh_name, mesh)
    if layout is None:
        return None
    given = f"in_specs={_specs(layout.ins)}, out_specs={_specs(layout.outs)}"
    groups = f", with feature_group_count // {layout.parts}" if layout.parts > 1 else ""
    return SuggestedRewrite(
        f"shard_map {given}",
        lambda found: f"jax.shard_map around {written_name(found)}{at(found)}: {given}{groups}",
        partial(_apply, layout=layout, mesh=mesh),
        lambda text: _code(text, given, len(layout.ins), layout.parts),
    )


def _layout(
    op: Operation, shardings: Sequence[TensorSharding | None], mesh_name: str, mesh: Mesh
) -> _Layout | None:
    record = record_of(op)
    row = ops.row_of(record)
    is_sent_well = row.kind in _SENT_WELL and _GROUPS not in op.properties
    if is_sent_well or row.maps is None or None in (*record.operands, *record.results):
        return None
    rule = derive_rule(record) or derive_from_maps(row.maps(record), record, policy=row.policy)
    axes = {} if rule is None else _axes(rule, shardings, mesh)
    if rule is None or not axes:
        return None
    found = [_sharding(mapping, axes, mesh_name) for mapping in rule.tensors]
    count, parts = len(rule.operands), _parts(op, rule, axes, mesh)
    if parts > 1 and integer_of(op, _GROUPS) % parts:
        return None  # the groups are those of the batch
    return _Layout(tuple(found[:count]), tuple(found[count:]), parts)


def _axes(
    rule: ShardingRule, shardings: Sequence[TensorSharding | None], mesh: Mesh
) -> dict[int, tuple[AxisRef, ...]]:
    """The axes of each factor along which the op is computed by parts: those that shard an operand."""
    found: dict[int, tuple[AxisRef, ...]] = {}
    taken: set[str] = set()
    free = _free_factors(rule)
    for mapping, sharding in zip(rule.operands, shardings, strict=False):
        for factors, dimension in zip(mapping, () if sharding is None else sharding.dimensions, strict=False):
            axes = tuple(axis for axis in dimension.axes if axis.sub_axis is None)
            if not factors or not axes or axes != dimension.axes or taken & {axis.name for axis in axes}:
                continue
            factor = factors[0]
            if (
                factor not in found
                and factor in free
                and not (rule.factors[factor].size % total_size(axes, mesh))
            ):
                found[factor] = axes
                taken |= {axis.name for axis in axes}
    return found


def _free_factors(rule: ShardingRule) -> set[int]:
    """Returns the factors whose parts are computed alone: in all results, and major in each dimension."""
    found = {i for i, factor in enumerate(rule.factors) if factor.type is FactorType.PASS_THROUGH}
    for mapping in rule.results:
        found &= {factor for factors in mapping for factor in factors}
    return found - {factor for mapping in rule.tensors for factors in mapping for factor in factors[1:]}


def _sharding(mapping: TensorMapping, axes: dict[int, tuple[AxisRef, ...]], mesh_name: str) -> TensorSharding:
    dimensions = (axes.get(factors[0], ()) if factors else () for factors in mapping)
    return TensorSharding(mesh_name, tuple(DimensionSharding(each, is_closed=True) for each in dimensions))


def _parts(op: Operation, rule: ShardingRule, axes: dict[int, tuple[AxisRef, ...]], mesh: Mesh) -> int:
    """Into how many parts the groups of a convolution are divided: a factor of image, kernel and result."""
    if _GROUPS not in op.properties:
        return 1
    grouped = (f for f in axes if all(any(f in d for d in mapping) for mapping in rule.tensors))
    return prod(total_size(axes[factor], mesh) for factor in grouped)


def _apply(op: Operation, layout: _Layout, mesh: Mesh) -> None:
    sides = zip(operands_of(op), layout.ins, strict=True), zip(op.results, layout.outs, strict=True)
    arguments, results = ([_local(v.type, sharding, mesh) for v, sharding in side] for side in sides)
    body = Block(arg_types=arguments)
    properties = dict(op.properties)
    if layout.parts > 1:
        properties[_GROUPS] = IntegerAttr(integer_of(op, _GROUPS) // layout.parts, i64)
    regions = [_copy(region) for region in op.regions]
    given: Sequence[SSAValue] = body.args
    local = build_operation(type(op), given, results, properties, {}, op.location, body, regions)
    build_operation(ReturnOp, local.results, [], {}, {}, op.location, body)
    types = [value.type for value in op.results]
    manual = ManualComputationOp(
        [*operands_of(op)], layout.ins, layout.outs, layout.axes, Region(body), types
    )
    manual.location = op.location
    replace_op(op, manual)


def _copy(region: Region) -> Region:
    made = Region()
    clone_region_into(region, made, {})
    return made


def _local(type_: Attribute, sharding: TensorSharding, mesh: Mesh) -> Attribute:
    tensor = tensor_type(type_)
    assert tensor is not None
    sizes = local_shape(sharding, mesh, tuple(size or 0 for size in tensor.shape))
    return TensorType(element_type_of(type_), sizes)


def _code(text: str, given: str, operands: int, parts: int) -> str:
    """The call of an expression in a `shard_map`; "" unless its first arguments are the operands."""
    call = parsed_call(text)
    if call is None or len(call.args) < operands:
        return ""
    groups = [keyword for keyword in call.keywords if keyword.arg == _GROUPS]
    if parts > 1 and not groups:
        return ""
    for keyword in groups if parts > 1 else ():
        keyword.value = ast.BinOp(keyword.value, ast.FloorDiv(), ast.Constant(parts))
    outer = [ast.unparse(each) for each in call.args[:operands]]
    names = ["x", "y", "z", *(f"x{n}" for n in range(3, operands))][:operands]
    call.args[:operands] = [ast.Name(name) for name in names]
    inner = f"lambda {', '.join(names)}: {ast.unparse(call)}"
    return f"jax.shard_map({inner}, {given})({', '.join(outer)})"


def _specs(shardings: Sequence[TensorSharding]) -> str:
    """One spec for all if they are equal, whatever structure they have; else a tuple."""
    texts = [*map(spec_text, shardings)]
    return texts[0] if len(set(texts)) == 1 else f"({', '.join(texts)})"
