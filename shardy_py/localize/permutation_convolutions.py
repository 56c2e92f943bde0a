"""Convolutions along sharded spatial dimensions: of the image and its windows, or of image and kernel.

`window_exchange.py` exchanges what `convolution_windows` describes; `with_whole_kernels` gathers the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.localize.arithmetic.windows import WindowReads
from shardy_py.localize.fallbacks import warn_whole
from shardy_py.localize.halo_exchange import LocalBuilder, Manual, manual_computation, zero_of
from shardy_py.localize.permutation_windows import NOT_SHARDED, Description, inserted
from shardy_py.localize.resolution import Resolution, cut_to, padded_high
from shardy_py.localize.window_exchange import Operand, Parts, Windowed
from shardy_py.mlir import ir
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.movements import note_copies
from shardy_py.mlir.record import record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, resized, shape_of
from shardy_py.ops.dimensions import ConvolutionDimensions, Window, windows_of
from shardy_py.passes.export.communication_ops import identity_op
from shardy_py.sharding import AxisRef, FactorType, Mesh, ShardingRule, TensorSharding
from shardy_py.sharding.axis_lists import Axes, total_size

_NOT_DESCRIBED = (
    "it is sharded along both windows and kernel, along a reversed kernel, or along the kernel and its groups"
)
_GROUPS_ALONG_SUB_AXES = "its groups are sharded along sub-axes of the same axes"


@dataclass(frozen=True, slots=True)
class Sides:
    """A sharded convolution: image, kernel and result, in this order.

    dimensions: the spatial ones of each. windows: along them. groups: of features and of the batch.
    """

    mesh: Mesh
    shardings: Sequence[TensorSharding]
    dimensions: Sequence[Sequence[int]]
    windows: Sequence[Window]
    groups: int = 1

    @staticmethod
    def of(op: Operation, state: Resolution) -> Sides | None:
        """The sides of `op`; None if neither image, kernel nor result is sharded."""
        image, kernel = operands_of(op)
        found = state.sharded(image) or state.sharded(kernel) or state.sharded(op.results[0])
        if found is None:
            return None
        shardings = [
            state.reader.of(value) or TensorSharding.fully_closed(found[0].mesh, len(shape_of(value)))
            for value in (image, kernel, op.results[0])
        ]
        attributes = record_of(op).attributes
        numbers = ConvolutionDimensions.of(attributes)
        dimensions = [numbers.spatial, numbers.kernel_spatial, numbers.result_spatial]
        windows = windows_of(attributes, numbers.window(shape_of(kernel)))
        groups = numbers.feature_groups * numbers.batch_groups
        return Sides(found[1], shardings, dimensions, windows, groups)

    def along(self, number: int) -> tuple[list[int], list[Axes]]:
        """The dimensions of a spatial dimension on the sides, and their axes."""
        places = [listed[number] for listed in self.dimensions]
        pairs = zip(self.shardings, places, strict=True)
        return places, [sharding.dimensions[place].axes for sharding, place in pairs]

    def is_described(self, number: int) -> bool:
        """True if an exchange does along a spatial dimension: sharded along windows, or along the kernel."""
        image, kernel, result = self.along(number)[1]
        along_kernel = image == kernel and not result and not self.windows[number].is_reversed
        along_kernel = along_kernel and not self.has_groups_along(image)
        return (image == result and not kernel) or along_kernel

    def has_groups_along(self, axes: Iterable[AxisRef]) -> bool:
        """True if groups are sharded along sub-axes of these axes."""
        names = {axis.name for axis in axes}
        outside = _outside_windows(self.shardings, self.dimensions)
        return self.groups > 1 and any(axis.name in names for axis in outside)


def with_whole_kernels(op: Operation, rule: ShardingRule, state: Resolution) -> Operation:
    """Gathers spatial dimensions sharded in a way that no exchange does (`_NOT_DESCRIBED`).

    Their products are not partial sums any more, but they are still reduced: all devices but the first along
    the axes of the kernel contribute zeros. Returns the convolution on gathered operands, or `op`.

    rule: kernel dimensions without a reduction factor are gathered alone, and not reduced.
    """
    sides = Sides.of(op, state)
    if sides is None:
        return op
    reduced = [any(rule.factors[f].type is FactorType.REDUCTION for f in found) for found in rule.operands[1]]
    gathered: list[set[int]] = [set(), set(), set()]
    summed: list[AxisRef] = []
    for number in range(len(sides.windows)):
        places, (image, kernel, result) = sides.along(number)
        is_reduced = reduced[places[1]]
        if kernel and not is_reduced:
            gathered[1].add(places[1])
        if image == result if not (kernel and is_reduced) else sides.is_described(number):
            continue
        for listed, place in zip(gathered, places, strict=True):
            listed.add(place)
        summed += kernel if is_reduced else ()
    if not any(gathered):
        return op
    sharded = [v for v, listed in zip(operands_of(op), gathered, strict=False) if listed]
    warn_whole(op, _NOT_DESCRIBED, sharded)
    whole = [
        replace(
            sharding,
            dimensions=tuple(
                replace(d, axes=()) if number in listed else d for number, d in enumerate(sharding.dimensions)
            ),
        )
        for sharding, listed in zip(sides.shardings, gathered, strict=True)
    ]
    operands: list[Value] = []
    for value, sharding in zip(operands_of(op), whole, strict=False):
        operands.append(_resharded(op, value, sharding))
    regions = [op.detach_region(0) for _ in op.regions]
    name, result = op.name.removeprefix("stablehlo."), op.results[0]
    build = StablehloBuilder(op, whole[2])
    made = build.insert(name, operands, (result.type,), regions, **op.properties)
    value = _of_first(op, made.results[0], whole[2], tuple(summed), sides.mesh, state)
    ir.replace_uses(result, _resharded(op, value, sides.shardings[2]))
    note_copies({result: value})
    ir.erase(op)
    return made


def convolution_windows(op: Operation, state: Resolution) -> Description:
    """`convolution`: the image along windows, or along the kernel, whose products are then reduced.

    In the second case tap k of the kernel is what window i was in the first: it reads element
    i * stride + k * dilation for all i, so strides and dilations change places, and sizes.
    """
    found = Sides.of(op, state)
    if found is None:
        return NOT_SHARDED
    mesh, shardings, dimensions, windows = found.mesh, found.shardings, found.dimensions, found.windows
    image, kernel = operands_of(op)
    reads: dict[int, WindowReads] = {}
    for number, window in enumerate(windows):
        places, axes = found.along(number)
        size, windows_count = shape_of(image)[places[0]], shape_of(op.results[0])[places[2]]
        parts = total_size(axes[0], mesh)
        if axes[0] == axes[2] and not axes[1]:
            read = WindowReads(parts, size, windows_count, window)
        else:
            along = replace(window, size=windows_count, stride=window.dilation, dilation=window.stride)
            read = WindowReads(parts, size, window.size, along)
        if parts > 1 and not read.is_elementwise:
            reads[places[0]] = read
    if not reads:
        return NOT_SHARDED
    if found.has_groups_along([axis for d in reads for axis in shardings[0].dimensions[d].axes]):
        return _GROUPS_ALONG_SUB_AXES

    def local(inner: LocalBuilder, parts: Parts) -> Sequence[Value]:
        changed = list(windows)
        for number, dimension in enumerate(dimensions[0]):
            if dimension in parts.exchanges[0]:
                own = parts.exchanges[0][dimension].window
                changed[number] = replace(
                    changed[number], low=own.low, high=own.high, base_dilation=own.base_dilation
                )
        properties = {
            **op.properties,
            "padding": [(window.low, window.high) for window in changed],
            "lhs_dilation": [window.base_dilation for window in changed],
        }
        return inserted(op, inner, parts.gathered, [shardings[2]], properties)

    operands = [Operand(image, shardings[0], reads), Operand(kernel, shardings[1])]
    sums = any(shardings[1].dimensions[d].axes for d in dimensions[1])
    return Windowed(mesh, operands, [(op.results[0], shardings[2])], local, must_exchange=sums)


def _outside_windows(
    shardings: Sequence[TensorSharding], windowed: Sequence[Sequence[int]]
) -> Iterator[AxisRef]:
    """The axes of the dimensions that no window moves along."""
    for sharding, without in zip(shardings, windowed, strict=True):
        for number, dimension in enumerate(sharding.dimensions):
            if number not in without:
                yield from dimension.axes


def _resharded(op: Operation, value: Value, sharding: TensorSharding) -> Value:
    reshard = identity_op(sdy.ReshardOp, value, sharding, op.location)
    ir.place_before(reshard, op)
    return reshard.results[0]


def _of_first(
    op: Operation, value: Value, sharding: TensorSharding, axes: Axes, mesh: Mesh, state: Resolution
) -> Value:
    """The value on the first devices along `axes`, zeros on the others."""
    if not axes:
        return value
    manual = Manual.of(mesh, axes, (sharding,))
    even = manual.even_shape(sharding, shape_of(value))

    def body(inner: LocalBuilder, arguments: list[Value]) -> Sequence[Value]:
        (local,) = arguments
        shape = shape_of(local)
        is_first = inner.plain.compare("EQ", inner.part(axes), inner.plain.integer(0))
        zeros = inner.build.broadcast(zero_of(inner.plain, local), shape)
        return [inner.build.select(inner.build.broadcast(is_first, shape), local, zeros)]

    build = StablehloBuilder(op, sharding)
    operand = padded_high(build, value, even, None)
    made = manual_computation(
        op, manual, state.devices, [(operand, sharding)], [(resized(value, even), sharding)], body
    )
    return cut_to(build, made[0], value.type)
