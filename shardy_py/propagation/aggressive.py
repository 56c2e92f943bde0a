"""The aggressive strategy: when factors compete for an axis, the larger source tensor wins.

    dot: [{"a", ?}, {?}], [{?}, {"a", ?}] -> [{?}, {?}]      "a" goes to the factor of the larger operand
                                                             (the first if they are equal)

Not here: joining the axes along one factor (`basic.py`).
"""

from __future__ import annotations

from math import prod

from shardy_py.propagation.basic import (
    StepOptions,
    compatible_axes,
    prefix_across_factors,
    prefix_within_factor,
    truncate,
)
from shardy_py.sharding.axes import AxisRef
from shardy_py.sharding.axis_lists import Axes, Prefix, is_strict_prefix, prefix_status, total_size
from shardy_py.sharding.mesh import Mesh
from shardy_py.sharding.projection import Projection, TensorProjection


def aggressive(projection: Projection, options: StepOptions, mesh: Mesh) -> Projection:
    """Propagate axes tensor by tensor, results first; factors in the order of `_preference`."""
    wanted = {
        factor: axes
        for factor in range(len(options.factor_sizes))
        if (axes := compatible_axes(projection, factor, options.directions[factor]))
    }
    if not wanted:
        return projection
    order = _preference(projection, wanted, options, mesh)
    results: list[TensorProjection] = []
    for tensor in projection.results:
        for factor in order:
            tensor = tensor.expanded(factor, _fitting(tensor, factor, wanted[factor], options, mesh))
        results.append(tensor)
    operands: list[TensorProjection] = []
    for tensor in projection.operands:
        for factor in order:
            axes = _fitting(tensor, factor, wanted[factor], options, mesh)
            if axes and options.is_elementwise:
                axes = _truncate_to_results(axes, results, factor)
            tensor = tensor.expanded(factor, axes)
        operands.append(tensor)
    return Projection((*operands, *results), projection.operand_count)


def _preference(
    projection: Projection, wanted: dict[int, Axes], options: StepOptions, mesh: Mesh
) -> list[int]:
    """The factors, ordered by decreasing size of the tensor that their axes come from.

    Ties: the more sharded factor (elementwise ops only), then the earlier tensor, then the earlier factor.
    """
    sources: dict[int, tuple[int, int]] = dict.fromkeys(wanted, (-1, -1))
    for index, tensor in enumerate(projection.tensors):
        size = prod(s for s, f in zip(options.factor_sizes, tensor.factors, strict=True) if f is not None)
        for factor, axes in wanted.items():
            along = tensor.factors[factor]
            is_source = along is not None and prefix_status(axes, along.axes) is not Prefix.NONE
            if is_source and size > sources[factor][0]:
                sources[factor] = (size, index)

    def rank(factor: int) -> tuple[int, int, int, int]:
        size, index = sources[factor]
        parts = total_size(wanted[factor], mesh) if options.is_elementwise else 0
        return (-size, -parts, index, factor)

    return sorted(wanted, key=rank)


def _fitting(tensor: TensorProjection, factor: int, axes: Axes, options: StepOptions, mesh: Mesh) -> Axes:
    """The prefix of `axes` that `tensor` can currently have along `factor`; () if that adds nothing."""
    along = tensor.factors[factor]
    if along is None:
        return ()
    size = options.factor_sizes[factor]

    def within(axis: AxisRef, sharded: int) -> AxisRef | None:
        return prefix_within_factor(axis, tensor, along, sharded, size, mesh)

    def across(axis: AxisRef, sharded: int) -> AxisRef | None:
        return prefix_across_factors(axis, tensor, factor)

    axes = truncate(axes, within, mesh, conservative_propagation=options.conservative_propagation)
    if not is_strict_prefix(along.axes, axes):
        return ()
    return truncate(axes, across, mesh, conservative_propagation=options.conservative_propagation)


def _truncate_to_results(axes: Axes, results: list[TensorProjection], factor: int) -> Axes:
    """Truncate axes that propagate between operands to those that the results have, too."""
    for result in results:
        along = result.factors[factor]
        if along is not None and is_strict_prefix(along.axes, axes):
            axes = along.axes
    return axes
