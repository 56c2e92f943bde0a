"""Rules of batch normalization: one number a feature beside tensors of one shape."""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.dialects.stablehlo.verify.tensors import Tensor, fail, same_shape, same_size, size_text
from shardy_py.dialects.stablehlo.verify.view import View


def _check(view: View, whole: Sequence[Tensor], features: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The shapes of the whole tensor and of what there is one of a feature."""
    for name, tensors in (("multi", whole), ("single", features)):
        if not all(same_shape(a.sizes, b.sizes) for a in tensors for b in tensors):
            fail(f"expects {name}-dimensional operands to have compatible shapes.")
    first, index = whole[0], view.integer("feature_index")
    if index >= first.rank:
        fail(
            "expects featureIndex to be smaller than the rank of multi-dimensional operands; got "
            f"featureIndex {index}, and rank {first.rank}."
        )
    count, size = first.sizes[index], features[0].sizes[0]
    if not same_size(size, count):
        fail(
            "expects the size of single-dimensional operands to be compatible with feature count, but the "
            f"size of single-dimensional operands is {size_text(size)} and the feature count is "
            f"{size_text(count)}."
        )
    bounds = (first.bound(index),) if first.bounds else ()
    return first, Tensor((count,), first.element, bounds)


def infer_training(view: View) -> Sequence[Tensor]:
    """The tensor, and mean and variance a feature."""
    whole, feature = _check(view, view.operands[:1], view.operands[1:])
    return (whole, feature, feature)


def infer_inference(view: View) -> Sequence[Tensor]:
    """The tensor."""
    return _check(view, view.operands[:1], view.operands[1:])[:1]


def infer_gradient(view: View) -> Sequence[Tensor]:
    """The gradients of the tensor, and of scale and offset."""
    operand, *features, gradient = view.operands
    whole, feature = _check(view, (operand, gradient), features)
    return (whole, feature, feature)
