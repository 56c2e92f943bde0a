"""Gather and scatter on the parts that devices hold.

Indices count from the start of the whole operand; a device that holds a part subtracts its offset. Indices
of other parts: a gather selects the identity of the all-reduce that follows instead of what it finds, a
scatter skips them, because they are out of bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, IntegerType, Signedness, i1, i64
from xdsl.ir import Attribute, Operation

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.errors import ShardyError
from shardy_py.localize.identities import identity, identity_data
from shardy_py.localize.local_collectives import reduction_of
from shardy_py.localize.localizer import (
    Localizer,
    Site,
    Whole,
    not_local,
    renewed,
    replace_result,
)
from shardy_py.mlir import ir
from shardy_py.mlir.dialects.encoding import integers
from shardy_py.mlir.dialects.sdy import AllReduceOp, ReduceScatterOp
from shardy_py.mlir.movements import replace_by_values
from shardy_py.mlir.record import combiner_of, record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, element_of, resized, shape_of
from shardy_py.mlir.text.dense import store_integer
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.mlir.typed import integers_of
from shardy_py.mlir.value_shardings import set_sharding
from shardy_py.ops import COMBINERS
from shardy_py.ops.dimensions import GatherDimensions, ScatterDimensions
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.axis_lists import Axes


class _Indices:
    """The indices of a gather or scatter, and the dimensions of the operand that they select.

    map: by component of an index, the dimension of the operand. vector: the dimension of the components.
    """

    def __init__(
        self,
        local: Localizer,
        build: StablehloBuilder,
        value: Value,
        operand: Whole,
        numbers: tuple[Sequence[int], int],
    ) -> None:
        self._local, self._build, self._operand = local, build, operand
        self.map, self.vector = numbers
        element: Any = element_of(value)
        largest = max((operand.shape[dim] or 1) - 1 for dim in self.map) if self.map else 0
        if largest > _largest(element):
            value = build.convert(value, i64)
        self.value = value

    def _splat(self, value: int, shape: Sequence[int] = ()) -> Value:
        element = element_of(self.value)
        return self._build.dense(ranked_tensor(tuple(shape), element), store_integer(value, element))

    def clamped(self) -> Value:
        """The indices within the whole operand, as a gather clamps them."""
        shape = shape_of(self.value)
        low = self._splat(0, shape)
        highest = [(self._operand.shape[dim] or 1) - 1 for dim in self.map]
        if self.vector < len(shape) and len(highest) > 1:
            element = element_of(self.value)
            data = b"".join(store_integer(value, element) for value in highest)
            bounds = self._build.dense(ranked_tensor((len(highest),), element), data)
            high = self._build.broadcast(bounds, shape, (self.vector,))
        else:
            high = self._splat(highest[0], shape)
        return self._build.one("clamp", (low, self.value, high), self.value.type)

    def bounds(self, dimensions: Sequence[int], *, with_last: bool) -> tuple[list[Value], list[Value]]:
        """The first and the last index of the device's part along `dimensions`, of all along the others."""
        element = element_of(self.value)
        first: list[Value] = []
        last: list[Value] = []
        for dim in self.map:
            size = self._operand.shape[dim] or 1
            if dim not in dimensions:
                first.append(self._splat(0))
                if with_last:
                    last.append(self._splat(size - 1))
                continue
            part = size // self._operand.parts(dim)
            offset = self._local.offset(self._build, self._operand.mesh, self._operand.axes(dim), part)
            offset = self._build.one("convert", (offset,), ranked_tensor((), element))
            first.append(offset)
            if with_last:
                last.append(self._build.binary("add", offset, self._splat(part - 1)))
        return first, last

    def spread(self, components: Sequence[Value]) -> Value:
        """A scalar for each component, with the shape of the indices."""
        shape = shape_of(self.value)
        if self.vector >= len(shape) or shape[self.vector] == 1:
            spread = self._build.broadcast(components[0], shape)
        else:
            parts = [self._build.reshape(component, (1,)) for component in components]
            vector = self._build.concatenate(parts, 0) if len(parts) > 1 else parts[0]
            spread = self._build.broadcast(vector, shape, (self.vector,))
        is_shardy = Behaviour.OFFSETS_OF_INDICES_HAVE_SHARDINGS.holds and not (
            self._local.options.device_id_arithmetic
        )
        if is_shardy and self._operand.sharding is not None:
            set_sharding(spread, TensorSharding.fully_closed(self._operand.sharding.mesh, len(shape)))
        return spread


def _largest(element: IntegerType) -> int:
    bits = element.width.data
    return (1 << bits if element.signedness.data is Signedness.UNSIGNED else 1 << (bits - 1)) - 1


# ---------------------------------------------------------------------- gather


def gather(local: Localizer, site: Site) -> None:
    """A gather from the part; sharded dimensions are sliced whole, or one index at a time and masked.

    Raises ShardyError if a sharded dimension is sliced in another way.
    """
    op, operand = site.op, site.operands[0]
    numbers = GatherDimensions.of(record_of(op).attributes)
    sizes = list(integers_of(op, "slice_sizes"))
    single: list[int] = []
    for dim in operand.sharded:
        if dim in numbers.batching:
            continue
        if sizes[dim] == 1:
            single.append(dim)
        elif sizes[dim] == operand.shape[dim]:
            sizes[dim] //= operand.parts(dim)
        else:
            fact = f"slices of {sizes[dim]} of {operand.shape[dim]} elements along sharded dimension {dim}"
            raise not_local(fact, "run sdy-insert-explicit-reshards with enable-full-version before")
    mask = None
    if single:
        mask = _localize_indices(local, site, numbers, single)
    op.properties["slice_sizes"] = integers(tuple(sizes))
    if operand.sharded:
        _spell_out(op, "indices_are_sorted")
    if mask is not None:
        _select_found(op, mask, numbers)


def _spell_out(op: Operation, *flags: str) -> None:
    """Sets flags that are absent to false, as Shardy does in ops that it builds anew."""
    for flag in flags:
        op.properties.setdefault(flag, IntegerAttr(0, i1))


def _localize_indices(
    local: Localizer, site: Site, numbers: GatherDimensions, single: Sequence[int]
) -> Value:
    """Makes indices count from the start of the part; returns which of them, or whether all, are in it."""
    build, operand = StablehloBuilder(site.op), site.operands[0]
    dims = (numbers.index_map, numbers.vector)
    mask: Value | None = None
    if any(dim in numbers.index_map for dim in single):
        indices = _Indices(local, build, site.values[1], operand, dims)
        clamped = indices.clamped()
        first, last = indices.bounds(single, with_last=True)
        low, high = indices.spread(first), indices.spread(last)
        ir.replace_operand(site.op, 1, build.binary("subtract", clamped, low))
        mask = build.binary("and", build.compare("GE", clamped, low), build.compare("LE", clamped, high))
    fixed = [operand.axes(dim) for dim in single if dim not in numbers.index_map]
    if not fixed:
        assert mask is not None
        return mask
    holds = _holds_first(local, build, operand, single, numbers.index_map)
    if mask is None:
        return holds
    return build.binary("and", mask, build.broadcast(holds, shape_of(mask)))


def _holds_first(
    local: Localizer, build: StablehloBuilder, operand: Whole, dims: Sequence[int], indexed: Sequence[int]
) -> Value:
    """True if the part begins at index 0 along those of `dims` that are not indexed."""
    holds: Value | None = None
    for dim in dims:
        if dim not in indexed:
            part = (operand.shape[dim] or 1) // operand.parts(dim)
            offset = local.offset(build, operand.mesh, operand.axes(dim), part)
            is_zero = build.compare("EQ", offset, local.position(build, 0))
            holds = is_zero if holds is None else build.binary("and", holds, is_zero)
    assert holds is not None
    return holds


def _select_found(op: Operation, mask: Value, numbers: GatherDimensions) -> None:
    """Replaces what a gather found at indices of other parts."""
    build = StablehloBuilder(op)
    result = renewed(op).results[0]
    shape = shape_of(result)
    reduced = shape_of(mask)
    if reduced and numbers.vector < len(reduced):
        init = build.dense(ranked_tensor((), i1), b"\x01")
        rest = [size for dim, size in enumerate(reduced) if dim != numbers.vector]
        body = build.combining_region("and", i1)
        reduce = build.insert(
            "reduce", (mask, init), (resized(mask, rest),), (body,), dimensions=(numbers.vector,)
        )
        mask = reduce.results[0]
    batch = numbers.outer(len(shape))
    mask = build.broadcast(mask, shape, batch if shape_of(mask) else ())
    rest = identity(build, COMBINERS[_reduction_after(op)].op, result.type)
    replace_result(op, build.select(mask, result, rest))


def _reduction_after(op: Operation) -> str:
    """The reduction of the collective that uses the result of `op`."""
    for use in op.results[0].uses:
        if isinstance(use.operation, AllReduceOp | ReduceScatterOp):
            return reduction_of(use.operation)
    return "sum"


# ---------------------------------------------------------------------- scatter


def scatter(local: Localizer, site: Site) -> None:
    """A scatter into the part; of terms that an all-reduce adds, only one begins with the input."""
    op = site.op
    numbers = ScatterDimensions.of(record_of(op).attributes)
    count = len(op.results)
    operand, updates = site.operands[0], site.operands[count + 1]
    if not operand.sharded and not updates.sharded:
        return
    reduced = _reduced_axes(operand, updates, numbers)
    build = StablehloBuilder(op)
    if reduced:
        _keep_input_once(local, build, site, reduced, updates)
    indexed = [dim for dim in operand.sharded if _is_shifted(dim, operand, updates, numbers)]
    if indexed:
        dims = (numbers.index_map, numbers.vector)
        indices = _Indices(local, build, site.values[count], operand, dims)
        first, _ = indices.bounds(indexed, with_last=False)
        value = build.binary("subtract", indices.value, indices.spread(first))
        ir.replace_operand(op, count, value)
    if indexed or reduced:
        _spell_out(op, "indices_are_sorted", "unique_indices")
    fixed = [dim for dim in operand.sharded if dim in numbers.collapsed]
    fixed = [dim for dim in fixed if dim not in numbers.index_map]
    if fixed:
        _keep_others(local, site, fixed)


def _is_shifted(dim: int, operand: Whole, updates: Whole, numbers: ScatterDimensions) -> bool:
    """True if indices along a sharded dimension count from the start of the part.

    Not if updates cover the dimension: then index 0 is the only one within bounds, on each device.
    """
    if dim not in numbers.index_map:
        return False
    if dim in numbers.collapsed:
        return True
    return not updates.axes(dict(numbers.windowed(len(operand.shape)))[dim])


def _reduced_axes(operand: Whole, updates: Whole, numbers: ScatterDimensions) -> Axes:
    """The axes along which devices hold different updates of the same part."""
    used = {axis for dim in range(len(operand.shape)) for axis in operand.axes(dim)}
    return tuple(
        axis for dim in numbers.outer(len(updates.shape)) for axis in updates.axes(dim) if axis not in used
    )


def _keep_input_once(
    local: Localizer, build: StablehloBuilder, site: Site, axes: Axes, updates: Whole
) -> None:
    """Replaces the inputs by the identity of the combiner on all but the first device along `axes`."""
    combiner = combiner_of(site.op)
    count = len(site.op.results)
    inputs = site.values[:count]
    elements = [element_of(value) for value in inputs]
    if combiner is None or any(identity_data(combiner, element) is None for element in elements):
        raise ShardyError.unexpected(
            "combiner of updates that are sharded along a dimension of indices",
            expected="an op with an identity, such as stablehlo.add, of the values of one input",
            got=combiner or "another region",
            remedy="replicate the indices and updates",
        )
    scalars = {e: identity(build, combiner, ranked_tensor((), e)) for e in dict.fromkeys(elements)}
    if local.counts.is_narrow:
        _keep_where_leader(local, build, site, axes, updates, scalars)
        return
    is_first, dimensions = _is_leader(local, build, updates, axes)
    masks: dict[tuple[int, ...], Value] = {}
    rests: dict[Attribute, Value] = {}
    for value in inputs:
        shape = shape_of(value)
        if shape not in masks:
            masks[shape] = build.broadcast(is_first, shape, dimensions)
        if value.type not in rests:
            rests[value.type] = build.broadcast(scalars[element_of(value)], shape)
    for index, value in enumerate(inputs):
        selected = build.select(masks[shape_of(value)], value, rests[value.type])
        ir.replace_operand(site.op, index, selected)


def _keep_where_leader(
    local: Localizer,
    build: StablehloBuilder,
    site: Site,
    axes: Axes,
    updates: Whole,
    scalars: Mapping[Attribute, Value],
) -> None:
    """As Shardy does since JAX 0.12: one scalar mask, after the first filler."""
    rests: dict[Attribute, Value] = {}
    leader: Value | None = None
    for index, value in enumerate(site.values[: len(site.op.results)]):
        if value.type not in rests:
            rests[value.type] = build.broadcast(scalars[element_of(value)], shape_of(value))
        if leader is None:
            leader = build.reshape(_is_leader(local, build, updates, axes)[0], ())
        ir.replace_operand(site.op, index, build.select(leader, value, rests[value.type]))


def _is_leader(
    local: Localizer, build: StablehloBuilder, updates: Whole, axes: Axes
) -> tuple[Value, tuple[int, ...]]:
    """True if the device is the first one along `axes`, and the dimensions of that value in a broadcast."""
    if local.options.device_id_arithmetic:
        return local.is_first(build, updates.mesh, axes), ()
    return local.is_first_by_table(build, updates.mesh, axes), (0,)


def _keep_others(local: Localizer, site: Site, dims: Sequence[int]) -> None:
    """Keeps the inputs on devices without index 0 along `dims`, where all updates are."""
    build, made = StablehloBuilder(site.op), renewed(site.op)
    holds = _holds_first(local, build, site.operands[0], dims, ())
    pairs = zip(made.results, ir.operands_of(made), strict=False)
    replace_by_values(site.op, [build.select(holds, result, given) for result, given in pairs])
