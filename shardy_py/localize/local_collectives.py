"""The collectives of sdy as those of StableHLO, on the parts that devices hold.

    before  %0 = sdy.all_gather [{"y"}, {}] %arg0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x16xf32>
    after   %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0, replica_groups = ...}>
                : (tensor<1x16xf32>) -> tensor<4x16xf32>

A collective without axes is erased. Not here: which collectives a reshard needs (`reshard/collectives.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Attribute, Operation

from shardy_py.base.deferred import np
from shardy_py.base.errors import ShardyError
from shardy_py.localize.device_ids import table_entry
from shardy_py.localize.localizer import Localizer, Site, replace_result
from shardy_py.mlir.dialects.sdy import TensorShardingAttr
from shardy_py.mlir.dialects.sdy.attributes import AllToAllParam
from shardy_py.mlir.movements import Localized, is_recording, note
from shardy_py.mlir.plain import plain
from shardy_py.mlir.stablehlo_builder import (
    StablehloBuilder,
    Value,
    element_of,
    resized,
    shape_of,
)
from shardy_py.mlir.typed import of_kind, property_of
from shardy_py.ops import COMBINERS, REDUCTIONS
from shardy_py.reshard.compare import is_equivalent
from shardy_py.reshard.device_groups import shard_indices, source_target_pairs
from shardy_py.sharding import Axes, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import split_like, total_size
from shardy_py.sharding.meshes import mesh_of

AxesByDimension = Sequence[Axes]


def reduction_of(op: Operation) -> str:
    """The reduction of an all-reduce or reduce-scatter."""
    kind: Any = op.properties.get("reduction_op")
    return REDUCTIONS[kind.value.data if kind is not None else 0]


def target_of(local: Localizer, op: Operation) -> tuple[TensorSharding, Mesh]:
    """The sharding of the result, and its mesh."""
    sharding = property_of(op, "out_sharding", TensorShardingAttr).data
    return sharding, mesh_of(sharding, local.meshes)


def data_of(op: Operation, name: str) -> Any:
    """The value of a property."""
    return plain(op.properties[name])


def _factors(by_dimension: AxesByDimension, mesh: Mesh) -> dict[int, int]:
    """The parts of each dimension that has axes."""
    return {dim: total_size(axes, mesh) for dim, axes in enumerate(by_dimension) if axes}


def _flat(by_dimension: AxesByDimension) -> Axes:
    return tuple(axis for axes in by_dimension for axis in axes)


# ---------------------------------------------------------------------- gathering


def all_gather(local: Localizer, site: Site) -> None:
    """One all_gather, along a new dimension if several dimensions are gathered, or one each."""
    by_dimension: AxesByDimension = data_of(site.op, "gathering_axes")
    sharding, mesh = target_of(local, site.op)
    factors = _factors(by_dimension, mesh)
    value = site.values[0]
    build = StablehloBuilder(site.op)
    is_static = None not in site.results[0].shape

    def gathered(value: Value, dimension: int, axes: Axes, type_: Attribute) -> Value:
        groups, channel = local.groups(sharding, mesh, axes), local.channel()
        return build.one(
            "all_gather",
            (value,),
            type_,
            all_gather_dim=dimension,
            replica_groups=groups,
            channel_handle=channel,
            use_global_device_ids=True,
        )

    if len(factors) == 1:
        ((dim, _),) = factors.items()
        value = gathered(value, dim, by_dimension[dim], site.op.results[0].type)
    elif local.options.per_dim_all_gather or not is_static:
        for dim in reversed(factors):
            shape = list(of_kind(value.type, ShapedType).get_shape())
            shape[dim] *= factors[dim] if shape[dim] >= 0 else 1
            value = gathered(value, dim, by_dimension[dim], resized(value, shape))
    elif factors:
        shape = shape_of(value)
        value = build.reshape(value, (1, *shape))
        type_ = resized(value, (prod(factors.values()), *shape))
        value = gathered(value, 0, _flat(by_dimension), type_)
        value = _merge_leading(build, value, factors, shape, tuple(factors))
    replace_result(site.op, value)


def _merge_leading(
    build: StablehloBuilder,
    value: Value,
    factors: Mapping[int, int],
    shape: Sequence[int],
    into: Sequence[int],
) -> Value:
    """Splits dimension 0 into `factors` and merges each, as the major part, with a dimension of `shape`.

    into: for each factor in order, the dimension that it becomes part of.
    """
    sizes = list(factors.values())
    value = build.reshape(value, (*sizes, *shape))
    order: list[int] = []
    for dim in range(len(shape)):
        order += [number for number, target in enumerate(into) if target == dim]
        order.append(dim + len(sizes))
    value = build.transpose(value, order)
    merged = list(shape)
    for size, dim in zip(sizes, into, strict=True):
        merged[dim] *= size
    return build.reshape(value, merged)


def _split_to_leading(
    build: StablehloBuilder, value: Value, factors: Mapping[int, int], what: str
) -> tuple[Value, tuple[int, ...]]:
    """Splits the major `factors` off dimensions and moves them into a new dimension 0.

    Returns the value and the sizes that are left. Raises ShardyError if a factor does not divide its size.
    """
    shape = list(shape_of(value))
    split: list[int] = []
    leading: list[int] = []
    for dim, size in enumerate(shape):
        factor = factors.get(dim)
        if factor is not None:
            if size % factor:
                raise _indivisible(what, dim, size, factor)
            leading.append(len(split))
            split.append(factor)
            shape[dim] = size // factor
        split.append(shape[dim])
    value = build.reshape(value, split)
    order = [*leading, *(position for position in range(len(split)) if position not in leading)]
    value = build.transpose(value, order)
    return build.reshape(value, (prod(factors.values()), *shape)), tuple(shape)


def _indivisible(what: str, dimension: int, size: int, parts: int) -> ShardyError:
    return ShardyError.unexpected(
        f"dimension {dimension} of the {what}",
        expected=f"a size divisible by {parts}",
        got=str(size),
        remedy="run sdy-pad-for-divisibility before",
    )


# ---------------------------------------------------------------------- moving


def all_slice(local: Localizer, site: Site) -> None:
    """A dynamic_slice at the position of the device."""
    by_dimension: AxesByDimension = data_of(site.op, "slicing_axes")
    mesh = target_of(local, site.op)[1]
    value = site.values[0]
    if any(by_dimension):
        value = local.slice_along(
            StablehloBuilder(site.op), value, mesh, by_dimension, shape_of(site.op.results[0])
        )
    replace_result(site.op, value)


def all_to_all(local: Localizer, site: Site) -> None:
    """One all_to_all, along a new dimension if axes move between several pairs of dimensions."""
    params: Sequence[AllToAllParam] = sorted(data_of(site.op, "params"), key=lambda param: param[2])
    sharding, mesh = target_of(local, site.op)
    value = site.values[0]
    build = StablehloBuilder(site.op)
    axes = _flat([param[0] for param in params])
    count = total_size(axes, mesh)

    def exchanged(value: Value, split: int, concat: int, type_: Attribute) -> Value:
        if local.counts.is_grid:
            return _exchange_by_gather(local, build, value, (sharding, mesh, axes), split, concat)
        return build.one(
            "all_to_all",
            (value,),
            type_,
            split_dimension=split,
            concat_dimension=concat,
            split_count=count,
            replica_groups=local.groups(sharding, mesh, axes),
            channel_handle=local.partition_channel,
        )

    if len(params) == 1:
        ((_, source, target),) = params
        size = shape_of(value)[target]
        if size % count:
            raise _indivisible("operand", target, size, count)
        value = exchanged(value, target, source, site.op.results[0].type)
    elif params:
        factors = {target: total_size(along, mesh) for along, _, target in params}
        value, shape = _split_to_leading(build, value, factors, "operand")
        value = exchanged(value, 0, 0, value.type)
        value = _merge_leading(build, value, factors, shape, [source for _, source, _ in params])
    replace_result(site.op, value)


def _exchange_by_gather(
    local: Localizer,
    build: StablehloBuilder,
    value: Value,
    along: tuple[TensorSharding, Mesh, Axes],
    split: int,
    concat: int,
) -> Value:
    """An all_to_all among the processes of a grid, for which StableHLO has no groups: gather and slice."""
    sharding, mesh, axes = along
    shape = shape_of(value)
    count = total_size(axes, mesh)
    gathered = build.one(
        "all_gather",
        (value,),
        resized(value, [size * (count if dim == concat else 1) for dim, size in enumerate(shape)]),
        all_gather_dim=concat,
        replica_groups=local.groups(sharding, mesh, axes),
        channel_handle=local.channel(),
        use_global_device_ids=True,
    )
    if split != concat:
        sizes = list(shape_of(gathered))
        sizes[split] //= count
        by_dimension = [axes if dim == split else () for dim in range(len(shape))]
        return local.slice_along(build, gathered, mesh, by_dimension, sizes)
    part = shape[split] // count
    inner = build.reshape(gathered, (count, count, part, *shape[1:]))
    by_dimension = [(), axes, *((),) * len(shape)]
    sizes = (count, 1, part, *shape[1:])
    return build.reshape(local.slice_along(build, inner, mesh, by_dimension, sizes), shape)


def collective_permute(local: Localizer, site: Site) -> None:
    """A collective_permute from each device to the one that has the part in the new sharding."""
    target, mesh = target_of(local, site.op)
    given = site.operands[0]
    value = site.values[0]
    if not is_equivalent(given.sharding, target):
        source = given.sharding or TensorSharding.fully_closed(target.mesh, target.rank)
        as_shardy = not local.options.device_id_arithmetic
        pairs = source_target_pairs(source, mesh_of(source, local.meshes), target, mesh, as_shardy=as_shardy)
        local.counts.check(mesh)
        value = _permuted(local, StablehloBuilder(site.op), value, pairs, (target, mesh))
    replace_result(site.op, value)


def _permuted(
    local: Localizer,
    build: StablehloBuilder,
    value: Value,
    pairs: np.ndarray[Any, np.dtype[np.int64]],
    on: tuple[TensorSharding, Mesh],
) -> Value:
    if not local.counts.is_grid:
        channel = local.partition_channel
        return build.one(
            "collective_permute",
            (value,),
            value.type,
            source_target_pairs=local.tables.of(pairs),
            channel_handle=channel,
        )
    # Among the processes of a grid: every device gathers all parts and takes the one of its source.
    sharding, mesh = on
    everywhere = split_like((), mesh)
    shape = shape_of(value)
    gathered = build.one(
        "all_gather",
        (build.reshape(value, (1, *shape)),),
        resized(value, (mesh.device_count, *shape)),
        all_gather_dim=0,
        replica_groups=local.groups(sharding, mesh, everywhere),
        channel_handle=local.channel(),
        use_global_device_ids=True,
    )
    sources = np.empty(len(pairs), np.int64)
    sources[pairs[:, 1]] = shard_indices(mesh, everywhere)[pairs[:, 0]]
    starts = [table_entry(build, sources, local.counts), *(local.position(build, 0) for _ in shape)]
    return build.reshape(build.dynamic_slice(gathered, starts, (1, *shape)), shape)


# ---------------------------------------------------------------------- reducing


def _note_terms(site: Site, axes: Axes) -> None:
    """Records that the operand has terms along `axes`, which no sharding says."""
    if not is_recording():
        return
    target = property_of(site.op, "out_sharding", TensorShardingAttr).data
    given = site.operands[0].sharding or TensorSharding.fully_closed(target.mesh, target.rank)
    terms = replace(given, unreduced_axes=tuple(axes), reduction=reduction_of(site.op))
    note(Localized(site.values[0], terms))


def reduced(
    local: Localizer,
    build: StablehloBuilder,
    name: str,
    value: Value,
    type_: Attribute,
    on: tuple[TensorSharding, Mesh, Axes],
    reduction: str,
    **attributes: object,
) -> Value:
    """An `all_reduce` or `reduce_scatter` along axes."""
    groups, channel = local.groups(*on), local.channel()
    body = build.combining_region(COMBINERS[reduction].mnemonic, element_of(value))
    op = build.insert(
        name,
        (value,),
        (type_,),
        (body,),
        replica_groups=groups,
        channel_handle=channel,
        use_global_device_ids=True,
        **attributes,
    )
    return op.results[0]


def all_reduce(local: Localizer, site: Site) -> None:
    """An all_reduce."""
    axes: Axes = data_of(site.op, "reduction_axes")
    _note_terms(site, axes)
    value = site.values[0]
    if axes:
        on = (*target_of(local, site.op), axes)
        build = StablehloBuilder(site.op)
        value = reduced(local, build, "all_reduce", value, value.type, on, reduction_of(site.op))
    replace_result(site.op, value)


def reduce_scatter(local: Localizer, site: Site) -> None:
    """A reduce_scatter; of several dimensions: along a new one, or an all_reduce and a dynamic_slice."""
    by_dimension: AxesByDimension = data_of(site.op, "reduce_scatter_axes")
    axes = _flat(by_dimension)
    _note_terms(site, axes)
    sharding, mesh = target_of(local, site.op)
    factors = _factors(by_dimension, mesh)
    value, type_ = site.values[0], site.op.results[0].type
    build = StablehloBuilder(site.op)
    on, reduction = (sharding, mesh, axes), reduction_of(site.op)
    if len(factors) == 1:
        value = reduced(
            local, build, "reduce_scatter", value, type_, on, reduction, scatter_dimension=next(iter(factors))
        )
    elif factors and local.options.combine_multi_dimension_reduce_scatter:
        value, shape = _split_to_leading(build, value, factors, "operand")
        part = resized(value, (1, *shape))
        value = reduced(local, build, "reduce_scatter", value, part, on, reduction, scatter_dimension=0)
        value = build.reshape(value, shape)
    elif factors:
        value = reduced(local, build, "all_reduce", value, value.type, on, reduction)
        value = local.slice_along(build, value, mesh, by_dimension, shape_of(site.op.results[0]))
    replace_result(site.op, value)
