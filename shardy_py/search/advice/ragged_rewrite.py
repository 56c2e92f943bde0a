"""Experts of a `ragged_dot` on their devices: rows are sent to them, and back, by ragged all-to-alls.

    rows [m, k] sorted by expert, weights [g, k, n] sharded along "ep", sizes of groups [g]

XLA gathers the rows and the weights of all experts, as groups may end within a shard. In a `shard_map` each
device sends the rows of its shard to the devices of their experts: those that are in its interval of rows,
and in that of their experts. Axes that shard the rows before "ep" divide them into blocks, in each of which
the same is done. Not here: whether it helps (`adviser.py` tries it), other ops (`manual_rewrite.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, IntegerType, Signedness, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.chlo import RaggedDotOp
from shardy_py.mlir.dialects.sdy import ManualComputationOp, ReturnOp
from shardy_py.mlir.ir import attach_operands, build_operation, operands_of, place_before
from shardy_py.mlir.record import record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, element_of, resized, shape_of
from shardy_py.mlir.text.dense import make_dense
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.ops import RAGGED
from shardy_py.ops.reads import integers, structure
from shardy_py.reshard.device_groups import replica_groups, shard_indices
from shardy_py.search.advice.pasting import parsed_call, spec_text
from shardy_py.search.advice.replacing import SuggestedRewrite, at, replace_op
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import total_size
from shardy_py.sharding.slices import local_shape
from shardy_py.sharding.spelling import string_literal

_DEVICE = IntegerType(32, Signedness.UNSIGNED)
_NUMBERS = "ragged_dot_dimension_numbers"
_GROUPED = {
    "lhs_batching_dimensions": [],
    "lhs_contracting_dimensions": [1],
    "rhs_contracting_dimensions": [1],
    "lhs_ragged_dimensions": [0],
    "rhs_group_dimensions": [0],
}
"""The dimensions of `lax.ragged_dot`: [m, k] x [g, k, n] -> [m, n]."""
_CODE = '''\
def to_experts(x, w, sizes):
    """Rows x [m, k], sorted by expert, times the weights w [g, k, n] of the experts on this device."""
    me, devices, rows = jax.lax.axis_index({axis}), jax.lax.axis_size({axis}), x.shape[0]
    ends = jax.numpy.cumsum(sizes)
    first = (jax.lax.axis_index({rows}) - me) * rows
    block = jax.numpy.clip(jax.numpy.stack([ends - sizes, ends]) - first, 0, devices * rows)
    sizes = block[1] - block[0]
    starts, ends = block[0, :: w.shape[0]], block[1, w.shape[0] - 1 :: w.shape[0]]
    places = jax.numpy.arange(devices) * rows
    begin = jax.numpy.maximum(starts, me * rows)
    sent = jax.numpy.maximum(jax.numpy.minimum(ends, (me + 1) * rows) - begin, 0)
    came = jax.numpy.maximum(places, starts[me])
    received = jax.numpy.maximum(jax.numpy.minimum(places + rows, ends[me]) - came, 0)
    here = jax.numpy.clip(begin - me * rows, 0, rows), jax.numpy.maximum(begin - starts, 0)
    there = jax.numpy.maximum(came - starts[me], 0), jax.numpy.clip(came - places, 0, rows)
    buffer = jax.numpy.zeros((devices * rows, x.shape[1]), x.dtype)
    x = jax.lax.ragged_all_to_all(x, buffer, here[0], sent, here[1], received, axis_name={axis})
    own = jax.lax.dynamic_slice(sizes, (me * w.shape[0],), (w.shape[0],))
    y = jax.lax.ragged_dot(x, w, own)
    result = jax.numpy.zeros((rows, y.shape[1]), y.dtype)
    return jax.lax.ragged_all_to_all(y, result, there[0], received, there[1], sent, axis_name={axis})
'''


@dataclass(frozen=True)
class _Layout:
    """The shardings of rows, weights and result; axis: of the experts. rows: those of the rows, it last."""

    mesh: Mesh
    ins: tuple[TensorSharding, TensorSharding, TensorSharding]
    out: TensorSharding
    axis: AxisRef
    rows: tuple[AxisRef, ...]

    @property
    def specs(self) -> str:
        """The specs of a `shard_map`."""
        ins = ", ".join(map(spec_text, self.ins))
        return f"in_specs=({ins}), out_specs={spec_text(self.out)}"

    def code(self, text: str) -> str:
        """The function and its call instead of an expression; "" unless that is a call of three operands."""
        call = parsed_call(text)
        if call is None or len(call.args) != 3 or call.keywords:
            return ""
        given = ", ".join(map(ast.unparse, call.args))
        return f"jax.shard_map(to_experts, {self.specs})({given})"

    @property
    def definition(self) -> str:
        """The function to paste."""
        names = ", ".join(string_literal(axis.name) for axis in self.rows)
        return _CODE.format(
            axis=string_literal(self.axis.name), rows=names if len(self.rows) == 1 else f"({names})"
        )


def ragged_rewrite(
    op: Operation, shardings: Sequence[TensorSharding | None], mesh_name: str, mesh: Mesh
) -> SuggestedRewrite | None:
    """Returns the rewrite of a `ragged_dot` whose experts are sharded along an axis; None of others."""
    layout = _layout(op, shardings, mesh_name, mesh)
    if layout is None:
        return None
    words = f"send rows to their experts and back, in jax.shard_map around ragged_dot{at(op)}: {layout.specs}"
    name = f"experts {layout.specs}"
    return SuggestedRewrite(
        name, lambda _: words, partial(_apply, layout=layout), layout.code, layout.definition
    )


def _layout(
    op: Operation, shardings: Sequence[TensorSharding | None], mesh_name: str, mesh: Mesh
) -> _Layout | None:
    if not isinstance(op, RaggedDotOp) or not record_of(op).is_static or len(shardings) != 3:
        return None
    numbers = structure(record_of(op), _NUMBERS)
    if any([*integers(numbers, name)] != wanted for name, wanted in _GROUPED.items()):
        return None
    rows, weights = shardings[0], shardings[1]
    axes = () if weights is None else weights.dimensions[0].axes
    if weights is None or len(axes) != 1 or axes[0].sub_axis is not None or _sums(rows, weights):
        return None
    columns = weights.dimensions[2].axes
    used = {axes[0], *columns}
    given = () if rows is None else rows.dimensions[0].axes
    split = (*(axis for axis in given if axis not in used and axis.sub_axis is None), axes[0])
    count, groups = (shape_of(operands_of(op)[n])[0] for n in (0, 1))
    if count % total_size(split, mesh) or groups % total_size(axes, mesh):
        return None

    def closed(*dimensions: tuple[AxisRef, ...]) -> TensorSharding:
        return TensorSharding(
            mesh_name, tuple(DimensionSharding(each, is_closed=True) for each in dimensions)
        )

    ins = closed(split, ()), closed(axes, (), columns), closed(())
    return _Layout(mesh, ins, closed(split, columns), axes[0], split)


def _sums(rows: TensorSharding | None, weights: TensorSharding) -> bool:
    """Returns whether the contracted dimension is sharded, which needs a sum."""
    return bool(weights.dimensions[1].axes or (rows is not None and rows.dimensions[1].axes))


def _apply(op: Operation, layout: _Layout) -> None:
    mesh, operands = layout.mesh, operands_of(op)
    types = [
        resized(value, local_shape(sharding, mesh, shape_of(value)))
        for value, sharding in zip(operands, layout.ins, strict=True)
    ]
    body = Block(arg_types=types)
    end = build_operation(ReturnOp, [], [], {}, {}, op.location, body)
    build = StablehloBuilder(end, location=op.location)
    attach_operands(end, [_Experts(build, layout, op).product(*body.args)])
    axes = tuple(
        dict.fromkeys(a.name for s in (*layout.ins, layout.out) for d in s.dimensions for a in d.axes)
    )
    result = [op.results[0].type]
    manual = ManualComputationOp([*operands], layout.ins, [layout.out], axes, Region(body), result)
    manual.location = op.location
    replace_op(op, manual)


class _Experts:
    """Inserts the body of the `shard_map`, which computes what `_CODE` does."""

    def __init__(self, build: StablehloBuilder, layout: _Layout, op: Operation) -> None:
        self.build, self.layout, self.op = build, layout, op
        self.devices = total_size((layout.axis,), layout.mesh)
        self.type: Attribute = element_of(operands_of(op)[2])

    def product(self, x: Value, w: Value, sizes: Value) -> Value:
        """The rows of the result on this device."""
        build, rows, per = self.build, shape_of(x)[0], shape_of(w)[0]
        me, all_rows = self.position((self.layout.axis,)), self.devices * rows
        count = shape_of(sizes)[0]
        sizes, starts, ends = self.in_block(sizes, all_rows)
        starts = build.slice(starts, [0], [count], [per])
        ends = build.slice(ends, [per - 1], [count], [per])
        places = self.times(build.iota((self.devices,), 0, self.type), rows)
        own = self.all(self.times(me, rows), self.devices)
        begin = build.binary("maximum", starts, own)
        sent = self.length(begin, build.binary("minimum", ends, self.plus(own, rows)))
        first, last = (self.all(self.at(each, me), self.devices) for each in (starts, ends))
        came = build.binary("maximum", places, first)
        received = self.length(came, build.binary("minimum", self.plus(places, rows), last))
        here = self.within(begin, own, rows), self.within(begin, starts, all_rows)
        there = self.within(came, first, all_rows), self.within(came, places, rows)
        x = self.exchange(x, all_rows, here[0], sent, here[1], received)
        of_own = build.dynamic_slice(sizes, [self.times(me, per)], [per])
        type_ = resized(self.op.results[0], (all_rows, shape_of(w)[2]))
        properties = dict(self.op.properties)
        local = build_operation(
            type(self.op), [x, w, of_own], [type_], properties, {}, self.op.location, None
        )
        place_before(local, build.anchor)
        return self.exchange(local.results[0], rows, there[0], received, there[1], sent)

    def in_block(self, sizes: Value, all_rows: int) -> tuple[Value, Value, Value]:
        """The sizes, begins and ends of groups within the block of rows that this device has a part of."""
        build, count = self.build, shape_of(sizes)[0]
        square = build.broadcast(sizes, (count, count), (1,))
        at_, of = (build.iota((count, count), n, self.type) for n in (0, 1))
        zero = build.integer(0, self.type)
        none = build.broadcast(zero, (count, count))
        kept = build.select(build.compare("LE", of, at_), square, none)
        region = build.combining_region("add", self.type)
        ends = build.insert("reduce", (kept, zero), (sizes.type,), (region,), dimensions=(1,)).results[0]
        first = self.all(self.times(self.position(self.layout.rows[:-1]), all_rows), count)
        begins = self.within(build.binary("subtract", ends, sizes), first, all_rows)
        ends = self.within(ends, first, all_rows)
        return build.binary("subtract", ends, begins), begins, ends

    def position(self, axes: tuple[AxisRef, ...]) -> Value:
        """The position of this device along axes."""
        build = self.build
        table = build.integers(shard_indices(self.layout.mesh, axes), i64)
        device = build.convert(build.one("partition_id", (), ranked_tensor((), _DEVICE)), i32)
        return build.convert(self.at(table, device), self.type)

    def at(self, value: Value, index: Value) -> Value:
        """The element of a vector at an index."""
        return self.build.reshape(self.build.dynamic_slice(value, [index], [1]), ())

    def all(self, scalar: Value, count: int) -> Value:
        """A vector of equal elements."""
        return self.build.broadcast(scalar, (count,))

    def number(self, like: Value, number: int) -> Value:
        """A tensor of equal numbers, of the shape of another."""
        return self.build.broadcast(self.build.integer(number, self.type), shape_of(like))

    def times(self, value: Value, number: int) -> Value:
        """A product with a number."""
        return self.build.binary("multiply", value, self.number(value, number))

    def plus(self, value: Value, number: int) -> Value:
        """A sum with a number."""
        return self.build.binary("add", value, self.number(value, number))

    def length(self, begin: Value, end: Value) -> Value:
        """The number of rows from one to another; none if there are no such."""
        return self.build.binary("maximum", self.build.binary("subtract", end, begin), self.number(end, 0))

    def within(self, rows: Value, first: Value, most: int) -> Value:
        """Places of rows counted from a first one, from 0 to at most `most`."""
        build = self.build
        found = build.binary("maximum", build.binary("subtract", rows, first), self.number(rows, 0))
        return build.binary("minimum", found, self.number(rows, most))

    def exchange(self, value: Value, rows: int, *offsets: Value) -> Value:
        """Slices of a value in a buffer of so many rows."""
        build = self.build
        shape = rows, *shape_of(value)[1:]
        zero = build.convert(build.integer(0, i32), element_of(value))
        buffer, type_ = build.broadcast(zero, shape), resized(value, shape)
        groups = replica_groups(self.layout.mesh, (self.layout.axis,))
        dense = make_dense(ranked_tensor(groups.shape, i64), groups.tobytes())
        config = DictionaryAttr({"channel_id": IntegerAttr(1, i64), "replica_groups": dense})
        call = build.insert(
            "custom_call", (value, buffer, *offsets), (type_,), call_target_name=RAGGED, api_version=4
        )
        call.properties["backend_config"] = config
        return call.results[0]
