"""The operations of products and convolutions, by the types of what they read and make on a device."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from shardy_py.ops import TensorType
from shardy_py.ops.dimensions import ConvolutionDimensions, DotDimensions
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.parts import shape_of


def flops(step: PlannedOp, types: Mapping[Name, TensorType]) -> int:
    """Returns the operations of a product or convolution: two for each pair of elements; 0 of others."""
    form = COMPILED.of(step.record.name).form
    if form not in (NodeForm.PRODUCT, NodeForm.CONVOLUTION):
        return 0
    read, made = [types.get(name) for name in step.operands[:2]], types.get(step.results[0])
    left, right = read if len(read) == 2 else (None, None)
    if left is None or right is None or made is None:
        return 0
    if form is NodeForm.PRODUCT:
        summed = [shape_of(left)[d] for d in DotDimensions.of(step.record.attributes).contracting[0]]
    else:
        numbers, kernel = ConvolutionDimensions.of(step.record.attributes), shape_of(right)
        summed = [kernel[d] for d in (*numbers.kernel_spatial, numbers.in_feature)]
    return 2 * prod(shape_of(made)) * prod(summed)
