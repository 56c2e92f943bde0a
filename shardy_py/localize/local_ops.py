"""Ops whose attributes or operands hold sizes and positions, on the parts that devices hold.

Not here: gather and scatter (`local_indexed.py`), collectives (`local_collectives.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Operation

from shardy_py.base.deferred import np
from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.localize.device_ids import id_for_tables, table_entry
from shardy_py.localize.identities import identity, identity_data
from shardy_py.localize.localizer import (
    Localizer,
    Site,
    Whole,
    forget_sharding,
    not_local,
    renewed,
    replace_result,
)
from shardy_py.mlir import ir
from shardy_py.mlir.dialects import chlo
from shardy_py.mlir.dialects.encoding import integers
from shardy_py.mlir.dialects.stablehlo import ConstantOp
from shardy_py.mlir.dialects.traits import constant_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import combiner_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, element_of, shape_of
from shardy_py.mlir.text.builtin_attributes import is_integer
from shardy_py.mlir.text.dense import is_splat, make_dense, store_integer
from shardy_py.mlir.text.float_formats import FORMATS
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.mlir.typed import integer_of
from shardy_py.ops import TABLE
from shardy_py.reshard.device_groups import table_indices
from shardy_py.sharding.slices import listed

PERMUTE = "run sdy-resolve-permutation-factors before"
RESHARD = "run sdy-insert-explicit-reshards with enable-full-version before"


def ints_of(op: Operation, name: str, rank: int, default: int) -> list[int]:
    """The values of an attribute by dimension; `default` for each if it is absent."""
    attribute: Any = op.properties.get(name)
    return [default] * rank if attribute is None else list(attribute.get_values())


def _set_ints(op: Operation, **lists: Sequence[int]) -> None:
    for name, values in lists.items():
        op.properties[name] = integers(tuple(values))


def _check_same_axes(
    given: Whole, other: Whole, dimensions: Sequence[int], where: str = "the operand and the result"
) -> None:
    """Raises ShardyError if two tensors are sharded differently along a dimension."""
    for dim in dimensions:
        if given.axes(dim) != other.axes(dim):
            first, second = (", ".join(map(str, whole.axes(dim))) for whole in (given, other))
            raise ShardyError.unexpected(
                f"dimension {dim}",
                expected=f"the same axes in {where}",
                got=f"{{{first}}} and {{{second}}}",
                remedy=RESHARD,
            )


# ---------------------------------------------------------------------- values of their own


def constant(local: Localizer, site: Site) -> None:
    """A smaller splat, or the part of the whole constant."""
    op, whole, result = site.op, site.results[0], site.op.results[0]
    given: Any = op.properties["value"]
    is_whole = result.type == whole.type
    if is_whole and op.name == chlo.ConstantOp.name and local.counts.is_narrow:
        return
    build = StablehloBuilder(op)
    if is_whole or is_splat(given):
        value = given if is_whole else make_dense(result.type, given.data.data)
        if isinstance(op, ConstantOp):
            op.properties["value"] = value
            return
        replace_result(op, build.one("constant", (), result.type, value=value))
        return
    dense = build.one("constant", (), whole.type, value=given)
    axes = [whole.axes(dim) for dim in range(len(whole.shape))]
    replace_result(op, local.slice_along(build, dense, whole.mesh, axes, shape_of(result)))


def iota(local: Localizer, site: Site) -> None:
    """An iota of the part; along a sharded dimension the offset of the part is added.

    Floats that have not all the numbers are counted as integers: a sum of rounded ones is another number.
    """
    op, whole = site.op, site.results[0]
    if not whole.sharded:
        return
    dim: int = integer_of(op, "iota_dimension")
    forget_sharding(op)
    if not whole.axes(dim):
        return
    build, result = StablehloBuilder(op), op.results[0]
    shape, element = shape_of(result), element_of(result)
    is_exact = _has_integers_to(result, (whole.shape[dim] or 1) - 1)
    part = renewed(op).results[0] if is_exact else build.iota(shape, dim, local.counts.integer)
    offset = local.offset(build, whole.mesh, whole.axes(dim), shape[dim])
    if is_exact:
        offset = build.one("convert", (offset,), ranked_tensor((), element))
    numbers = build.binary("add", part, build.broadcast(offset, shape))
    replace_result(op, numbers if is_exact else build.one("convert", (numbers,), ir.type_of(result)))


def _has_integers_to(value: Value, last: int) -> bool:
    """True if elements of a tensor can be each number from 0 to `last`; integers wrap as their sum does."""
    type_ = tensor_type(value.type)
    form = type_ and FORMATS.get(type_.element.removeprefix("complex<").removesuffix(">"))
    return form is None or last <= 1 << form.precision


# ---------------------------------------------------------------------- movement


def slice_(local: Localizer, site: Site) -> None:
    """A slice of the part, if that has all that the part of the result needs.

    Raises ShardyError if not.
    """
    if site.is_whole:
        return
    op, given, result = site.op, site.operands[0], site.results[0]
    rank = len(given.shape)
    _check_same_axes(given, result, range(rank))
    starts, limits, strides = (
        ints_of(op, f"{name}", rank, 1) for name in ("start_indices", "limit_indices", "strides")
    )
    parts, sizes = (shape_of(value) for value in (site.values[0], op.results[0]))
    for dim in given.sharded:
        last = starts[dim] + strides[dim] * (sizes[dim] - 1)
        if sizes[dim] * strides[dim] != parts[dim] or last >= parts[dim]:
            fact = f"a slice of sharded dimension {dim} that needs elements of other devices"
            raise not_local(fact, PERMUTE)
        limits[dim] = parts[dim] if limits[dim] == given.shape[dim] else last + 1
    _set_ints(op, start_indices=starts, limit_indices=limits)
    forget_sharding(op)


def dynamic_slice(local: Localizer, site: Site) -> None:
    """Sharded dimensions are sliced whole. Raises ShardyError for one that is not."""
    op, given = site.op, site.operands[0]
    sizes = ints_of(op, "slice_sizes", len(given.shape), 1)
    for dim in given.sharded:
        if sizes[dim] != given.shape[dim]:
            raise not_local(f"a dynamic slice of sharded dimension {dim}", RESHARD)
        sizes[dim] = shape_of(op.results[0])[dim]
    _set_ints(op, slice_sizes=sizes)
    if given.sharded and local.counts.is_narrow:
        forget_sharding(op)


def dynamic_update_slice(local: Localizer, site: Site) -> None:
    """An update of what the part has of the slice: of a part with room for the whole slice on both sides.

    Raises ShardyError if the update is sharded along a dimension that it does not cover, or otherwise than
    the operand along one that it does.
    """
    given, update = site.operands[:2]
    sliced = [dim for dim, size in enumerate(update.shape) if size != given.shape[dim]]
    if any(update.parts(dim) > 1 for dim in sliced):
        raise not_local(f"an update sharded along sliced dimensions {sliced}", RESHARD)
    covered = [dim for dim in range(len(update.shape)) if dim not in sliced]
    _check_same_axes(given, update, covered, "the operand and the update")
    partial = [dim for dim in sliced if given.parts(dim) > 1]
    if not partial:
        return
    build = StablehloBuilder(site.op)
    value, slice_, *indices = site.values
    sizes, shape = shape_of(slice_), shape_of(value)
    starts = [build.convert(index, local.counts.integer) for index in indices]
    room = [sizes[dim] if dim in partial else 0 for dim in range(len(shape))]
    for dim in partial:
        last = local.position(build, (given.shape[dim] or 0) - sizes[dim])
        start = build.one("clamp", (local.position(build, 0), starts[dim], last), last.type)
        offset = local.offset(build, given.mesh, given.axes(dim), shape[dim])
        start = build.binary("subtract", start, offset)
        starts[dim] = build.binary("add", start, local.position(build, room[dim]))
    filler = build.reshape(build.slice(value, [0] * len(shape), [1] * len(shape)), ())
    wide = build.pad(value, filler, room, room)
    wide = build.one("dynamic_update_slice", (wide, slice_, *starts), wide.type)
    limits = [before + size for before, size in zip(room, shape, strict=True)]
    replace_result(site.op, build.slice(wide, room, limits))


def concatenate(local: Localizer, site: Site) -> None:
    """The other dimensions may be sharded. Raises ShardyError if that of the concatenation is."""
    result = site.results[0]
    dim = integer_of(site.op, "dimension")
    if result.axes(dim):
        fact = f"dimension {dim} is sharded but the concatenation is on this dimension."
        raise ShardyError(Diagnostic(fact, remedy=PERMUTE))
    others = [other for other in range(len(result.shape)) if other != dim]
    for index, given in enumerate(site.operands):
        if given.axes(dim):
            raise not_local(f"operand {index} sharded along the dimension of concatenation, {dim}", PERMUTE)
        if given.sharded:
            _check_same_axes(given, result, others)


def pad(local: Localizer, site: Site) -> None:
    """A pad of the part; devices whose parts begin at other places pad more and slice.

    Raises ShardyError if the part lacks elements that its part of the result needs.
    """
    op, given, result = site.op, site.operands[0], site.results[0]
    if not given.sharded and not result.sharded:
        return
    rank = len(given.shape)
    _check_same_axes(given, result, range(rank))
    lows, interiors = (ints_of(op, name, rank, 0) for name in ("edge_padding_low", "interior_padding"))
    parts, sizes = (shape_of(value) for value in (site.values[0], op.results[0]))
    steps = [0] * rank  # how much farther to the left each next part begins within its part of the result
    for dim in given.sharded:
        _check_pad(dim, given.parts(dim), parts[dim], sizes[dim], lows[dim], interiors[dim])
        steps[dim] = sizes[dim] - parts[dim] * (interiors[dim] + 1)
    last = [
        low - step * (given.parts(dim) - 1) for dim, (low, step) in enumerate(zip(lows, steps, strict=True))
    ]
    widths = [max((size - 1) * (inner + 1) + 1, 0) for size, inner in zip(parts, interiors, strict=True)]
    forget_sharding(op)
    if not any(steps):
        highs = [size - width - low for size, width, low in zip(sizes, widths, lows, strict=True)]
        _set_ints(op, edge_padding_low=lows, edge_padding_high=highs)
        return
    before = [max(0, *pair) for pair in zip(lows, last, strict=True)]
    after = [
        max(0, size - min(pair) - width)
        for size, width, pair in zip(sizes, widths, zip(lows, last, strict=True), strict=True)
    ]
    build = StablehloBuilder(op)
    wide = build.pad(site.values[0], site.values[1], before, after, interiors)
    starts = _pad_starts(local, build, given, steps, [b - low for b, low in zip(before, lows, strict=True)])
    replace_result(op, build.dynamic_slice(wide, starts, sizes))


def _pad_starts(
    local: Localizer, build: StablehloBuilder, given: Whole, steps: Sequence[int], firsts: Sequence[int]
) -> list[Value]:
    """The start of the part of the result: by dimension, `first + step * index of the part`."""
    starts: list[Value] = []
    device: Value | None = None
    for dim, (step, first) in enumerate(zip(steps, firsts, strict=True)):
        if not step:
            starts.append(local.position(build, first))
        elif local.options.device_id_arithmetic:
            offset = local.offset(build, given.mesh, given.axes(dim), step)
            starts.append(build.binary("add", offset, local.position(build, first)) if first else offset)
        else:
            if device is None:
                device = id_for_tables(build, local.counts)
            table = first + step * table_indices(given.mesh, given.axes(dim))
            starts.append(table_entry(build, table, local.counts, device))
    return starts


def _check_pad(dim: int, count: int, part: int, size: int, low: int, interior: int) -> None:
    """Raises ShardyError unless each part of the result needs elements of its own part only."""
    index = listed(count)
    first = np.maximum(-((low - index * size) // (interior + 1)), 0)
    last = np.minimum(((index + 1) * size - 1 - low) // (interior + 1), count * part - 1)
    needs_others = (first < index * part) | (last >= (index + 1) * part)
    if (needs_others & (first <= last)).any():
        raise not_local(f"a pad of sharded dimension {dim} that needs elements of other devices", PERMUTE)


def broadcast(local: Localizer, site: Site) -> None:
    """The sizes of the new dimensions are those of the part of the result."""
    new = len(site.results[0].shape) - len(site.operands[0].shape)
    _set_ints(site.op, broadcast_sizes=shape_of(site.op.results[0])[:new])


# ---------------------------------------------------------------------- reductions


def reduce(local: Localizer, site: Site) -> None:
    """Terms of a sum: only the first device along the axes starts from an initial value that is not zero."""
    op = site.op
    dims = ints_of(op, "dimensions", 0, 0)
    axes = tuple(axis for dim in dims for axis in site.operands[0].axes(dim))
    combiner = combiner_of(op)
    row = None if combiner is None else TABLE[combiner].combiner
    if not axes or combiner is None or row is None or row.is_idempotent:
        return
    count = len(op.results)
    build: StablehloBuilder | None = None
    for index, value in enumerate(site.values[count:], count):
        rest = identity_data(combiner, element_of(value))
        if rest is None or _is_constant(value, rest):
            continue
        build = build or StablehloBuilder(op)
        first = local.is_first(build, site.operands[0].mesh, axes)
        ir.replace_operand(op, index, build.select(first, value, identity(build, combiner, value.type)))


def _is_constant(value: Value, data: bytes) -> bool:
    """True if a scalar is a constant with these bytes, or the negative zero."""
    owner = constant_of(value)
    given: Any = None if owner is None else owner.properties["value"]
    if given is None:
        return False
    is_float = not is_integer(element_of(value))
    is_zero = is_float and given.data.data == bytes(len(data) - 1) + b"\x80" and not any(data)
    return is_zero or given.data.data == data


# ---------------------------------------------------------------------- sizes as values


def sized_by_operand(position: int) -> Callable[[Localizer, Site], None]:
    """The conversion of an op whose operand at `position` is the shape of the result."""

    def convert(local: Localizer, site: Site) -> None:
        whole, sizes = site.results[0], site.values[position]
        if not whole.sharded:
            return
        build = StablehloBuilder(site.op)
        local_shape = tensor_type(site.op.results[0].type)
        assert local_shape is not None
        is_static = None not in local_shape.shape
        numbers = local_shape.shape if is_static else [whole.parts(dim) for dim in range(len(whole.shape))]
        data = b"".join(store_integer(number or 0, element_of(sizes)) for number in numbers)
        numbers_value = build.dense(sizes.type, data)
        value = numbers_value if is_static else build.binary("divide", sizes, numbers_value)
        ir.replace_operand(site.op, position, value)

    return convert


_SHAPED = sized_by_operand(0)


def dynamic_iota(local: Localizer, site: Site) -> None:
    """An iota of the part. Raises ShardyError if it counts along a sharded dimension of dynamic size."""
    dim = integer_of(site.op, "iota_dimension")
    if site.results[0].axes(dim) and site.results[0].shape[dim] is None:
        raise not_local(f"an iota along sharded dimension {dim} of dynamic size", RESHARD)
    _SHAPED(local, site)
    iota(local, site)


def get_dimension_size(local: Localizer, site: Site) -> None:
    """The size of the whole dimension."""
    parts = site.operands[0].parts(integer_of(site.op, "dimension"))
    if parts > 1:
        build, part = StablehloBuilder(site.op), renewed(site.op).results[0]
        replace_result(site.op, build.binary("multiply", part, build.integer(parts, element_of(part))))
