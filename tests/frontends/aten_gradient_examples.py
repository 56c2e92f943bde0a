"""Calls of ATen's gradients, and of other ops of training steps, that have rows; as in `aten_examples.py`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from shardy_py.frontends.torch.whole_ops import dot_general_op
from tests.frontends.aten_operands import Call, f

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def gradient_calls() -> Iterator[Call]:
    """All examples; random numbers from torch's generator."""
    for name, *arguments in (*_convolutions(), *_pools(), *_upsamplings(), *_others()):
        yield f"aten.{name}", tuple(arguments), {}
    yield "aten.addcmul.default", (f(3, 4), f(3, 4), f(4)), {"value": 0.5}
    yield "aten.addcdiv.default", (f(3, 4), f(3, 4), f(3, 4).exp()), {"value": -0.1}
    yield "prims.copy_strided.default", (f(3, 4), [4, 1]), {}
    for family in (_attentions, _samplings, _distances, _bags, _segments):
        yield from family()
    dot_general_op()
    product = "shardy_py.dot_general.default"
    yield product, (f(2, 3, 4, 5), f(5, 2, 6, 3), [3, 1], [0, 3], [0], [1]), {}
    yield product, (f(3, 4), f(5), [], [], [], []), {}


def _convolutions() -> Iterator[tuple[Any, ...]]:
    name, mask = "convolution_backward.default", [True, True, True]
    for shape, weight, stride, padding, dilation, transposed, more, groups in (
        ((2, 4, 9, 8), (6, 4, 3, 2), [2, 3], [1, 0], [2, 1], False, [0, 0], 1),
        ((2, 4, 7, 8), (6, 2, 3, 3), [1], [1], [1], False, [0], 2),
        ((2, 4, 7, 8), (8, 1, 3, 3), [2], [0], [1], False, [0], 4),
        ((2, 4, 5, 6), (4, 3, 3, 2), [2, 3], [1, 0], [1, 2], True, [1, 0], 1),
        ((2, 4, 5, 6), (4, 3, 3, 3), [2], [1], [1], True, [0], 2),
        ((2, 4, 11), (6, 4, 3), [2], [3], [3], False, [0], 1),
        ((2, 2, 4, 5, 6), (4, 1, 2, 3, 2), [1, 2, 1], [1], [1], False, [0], 2),
    ):
        x, w = f(*shape), f(*weight)
        out = torch.convolution(x, w, None, stride, padding, dilation, transposed, more, groups)
        bias = [out.shape[1]]
        yield name, f(*out.shape), x, w, bias, stride, padding, dilation, transposed, more, groups, mask
    x, w = f(2, 4, 6, 6), f(6, 4, 3, 3)
    plain = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    yield name, f(2, 6, 4, 4), x, w, None, *plain, [False, True, False]


def _pools() -> Iterator[tuple[Any, ...]]:
    for shape, kernel, stride, padding, dilation, ceil in (
        ((2, 3, 9, 8), [3, 3], [2, 2], [1, 1], [1, 1], False),
        ((2, 3, 9, 8), [3, 2], [2, 3], [1, 1], [1, 1], True),
        ((2, 3, 4, 4), [2], [], [0], [1], False),
        ((3, 4, 4), [2], [], [0], [1], False),
    ):
        x = f(*shape)
        out, at = torch.ops.aten.max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil)
        yield (
            "max_pool2d_with_indices_backward.default",
            f(*out.shape),
            x,
            kernel,
            stride,
            padding,
            dilation,
            ceil,
            at,
        )
    x = f(2, 3, 9, 8)
    dilated = ([3, 2], [2, 1], [1, 0], [2, 3], False)
    out, at = torch.ops.aten.max_pool2d_with_indices(x, *dilated)
    yield "max_pool2d_with_indices_backward.default", f(*out.shape), x, *dilated, at
    x = f(2, 3, 4, 5, 4)
    out, at = torch.ops.aten.max_pool3d_with_indices(x, [2, 3, 2], [2, 1, 2])
    same = ([2, 3, 2], [2, 1, 2], [0, 0, 0], [1, 1, 1], False)
    yield "max_pool3d_with_indices_backward.default", f(*out.shape), x, *same, at
    for shape, arguments in (
        ((2, 3, 9, 8), ([3], [2], [1], False, True, None)),
        ((2, 3, 9, 8), ([3, 2], [2, 3], [1, 1], True, False, None)),
        ((2, 3, 9, 8), ([3, 3], [2, 2], [1, 1], True, True, None)),
        ((2, 3, 9, 8), ([2, 3], [], [0, 0], False, True, 5)),
        ((2, 3, 4, 5, 4), ([2], [2, 1, 2], [0], False, True, None)),
    ):
        x = f(*shape)
        dims = len(shape) - 2
        out = getattr(torch.ops.aten, f"avg_pool{dims}d")(x, *arguments)
        yield f"avg_pool{dims}d_backward.default", f(*out.shape), x, *arguments
    for shape, size in (((2, 3, 9, 8), (4, 3)), ((3, 9, 8), (3, 8)), ((2, 3, 4, 6, 5), (2, 4, 3))):
        x, dims = f(*shape), len(size)
        out, at = getattr(torch.ops.aten, f"adaptive_max_pool{dims}d")(x, size)
        yield f"adaptive_max_pool{dims}d_backward.default", f(*out.shape), x, at
    for dims, shape, size in ((2, (2, 3, 9, 8), (4, 3)), (3, (2, 2, 5, 6, 4), (2, 3, 2))):
        x, samples = f(*shape), torch.rand(*shape[:2], dims)
        name, arguments = f"fractional_max_pool{dims}d", ([2] * dims, size)
        out, at = getattr(torch.ops.aten, name)(x, *arguments, samples)
        yield f"{name}_backward.default", f(*out.shape), x, *arguments, at
    for size in ((3, 4), (4, 3), (1, 1), (9, 1)):
        yield "_adaptive_avg_pool2d_backward.default", f(2, 3, *size), f(2, 3, 9, 8)
    yield "_adaptive_avg_pool3d_backward.default", f(2, 3, 2, 3, 1), f(2, 3, 4, 5, 2)


def _upsamplings() -> Iterator[tuple[Any, ...]]:
    for dims, (given, wanted) in {1: ((5,), (8,)), 2: ((5, 6), (8, 6)), 3: ((2, 3, 2), (4, 5, 2))}.items():
        shape = [2, 3, *given]
        for name in (f"upsample_nearest{dims}d_backward", f"_upsample_nearest_exact{dims}d_backward"):
            yield f"{name}.default", f(2, 3, *wanted), list(wanted), shape
            doubled = [2 * size + 1 for size in given]
            yield f"{name}.default", f(2, 3, *doubled), doubled, shape, *(2.5,) * dims
    for name, given, wanted in (
        ("upsample_linear1d", (5,), (8,)),
        ("upsample_bilinear2d", (5, 6), (8, 4)),
        ("upsample_bicubic2d", (5, 6), (8, 4)),
        ("upsample_trilinear3d", (2, 3, 4), (4, 5, 2)),
    ):
        for aligned in (False, True):
            yield f"{name}_backward.default", f(2, 3, *wanted), list(wanted), [2, 3, *given], aligned
        tripled = [3 * size for size in given]
        factors = (3.2,) * len(given)
        yield f"{name}_backward.default", f(2, 3, *tripled), tripled, [2, 3, *given], False, *factors

    for name in ("bilinear", "bicubic", "lanczos"):
        for aligned, factors in ((False, (None, None)), (True, (None, None)), (False, (0.7, 1.6))):
            shape = (4, 13) if factors[0] is None else (6, 12)
            arguments = (list(shape), [2, 3, 9, 8], aligned, *factors)
            yield f"_upsample_{name}2d_aa_backward.default", f(2, 3, *shape), *arguments


def _samplings() -> Iterator[Call]:
    """Grids with points inside and outside of the image."""
    for shape, modes in (((2, 3, 5, 6), (0, 1, 2)), ((2, 2, 3, 4, 5), (0, 1))):
        dims = len(shape) - 2
        image, grid = f(*shape), 2.5 * torch.rand(2, *(4, 3, 2)[:dims], dims) - 1.25
        for interpolation, padding, aligned in itertools.product(modes, (0, 1, 2), (False, True)):
            options = (interpolation, padding, aligned)
            yield f"aten.grid_sampler_{dims}d.default", (image, grid, *options), {}
            grad = f(2, shape[1], *grid.shape[1:-1])
            name = f"aten.grid_sampler_{dims}d_backward.default"
            yield name, (grad, image, grid, *options, [True, True]), {}
    yield "aten.grid_sampler_2d.default", (f(2, 3, 1, 6), 3 * f(2, 4, 5, 2), 0, 2, True), {}
    only = (f(2, 3, 2, 2), f(2, 3, 5, 6), f(2, 2, 2, 2), 0, 0, False, [False, True])
    yield "aten.grid_sampler_2d_backward.default", only, {}


def _distances() -> Iterator[Call]:
    x, y, z = f(2, 5, 3), f(6, 3), f(5, 3)
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")):
        found = torch.ops.aten._cdist_forward(x, y.expand(2, 6, 3), p, None)
        yield "aten._cdist_backward.default", (f(2, 5, 6), x, y.expand(2, 6, 3).contiguous(), p, found), {}
        pairs = torch.ops.aten._pdist_forward(z, p)
        yield "aten._pdist_backward.default", (f(10), z, p, pairs), {}
    same = torch.cat([z, z])
    for p in (0.5, 1.0, 2.0, float("inf")):
        found = torch.ops.aten._cdist_forward(z, same, p, None)
        yield "aten._cdist_backward.default", (f(5, 10), z, same, p, found), {}


COUNTS_ARE_RIGHT = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 14)
"""On CPUs, torch 2.13 divides gradients of bags by the counts of other indices (`scale_grad_by_freq`)."""


def _bags() -> Iterator[Call]:
    weight, indices, factors = f(10, 4), torch.randint(0, 10, (12,)), f(12)
    for offsets in ([0, 3, 3, 9], [0, 4, 8]):
        starts, bags = torch.tensor(offsets), len(offsets)
        for mode, freq, weighted, padding in (
            *((0, False, False, -1), (0, True, False, -1), (0, False, True, 2), (0, False, False, 2)),
            *((1, False, False, -1), (1, True, False, 2), (2, False, False, -1), (2, False, False, 2)),
        ):
            given = factors if weighted else None
            freq = freq and COUNTS_ARE_RIGHT
            forward = (weight, indices, starts, freq, mode, False, given, False, padding)
            _, *saved = torch.ops.aten._embedding_bag(*forward)
            grad = f(bags, 4)
            backward = (grad, indices, starts, *saved, 10, freq, mode, False, given, padding)
            yield "aten._embedding_bag_backward.default", backward, {}
            if mode == 0:
                name = "aten._embedding_bag_per_sample_weights_backward.default"
                yield name, (grad, weight, indices, starts, saved[0], mode, padding), {}


def _segments() -> Iterator[Call]:
    """With equal extremes, zeros alone and together, an empty segment, and rows behind the last."""
    data = torch.tensor([2.0, 0.0, 3.0, 3.0, 0.0, 0.0, 5.0, 4.0])
    data = torch.stack([data, data.flip(0), f(8)], 1)
    for reduce, initial in itertools.product(("max", "min", "mean", "prod", "sum"), (None, 1.0)):
        for bounds in ({"lengths": torch.tensor([2, 0, 4, 2])}, {"offsets": torch.tensor([0, 2, 2, 6, 8])}):
            options = {**bounds, "axis": 0, "initial": initial}
            found = torch.ops.aten.segment_reduce(data, reduce, **options)
            yield "aten._segment_reduce_backward.default", (f(4, 3), found, data, reduce), options
    mask = torch.tensor([True, False, True, True])
    for given, shape in ((mask, [3, 3]), (mask.expand(3, 4), [10])):
        yield "aten.masked_scatter_backward.default", (f(3, 4), given, shape), {}


def _attentions() -> Iterator[Call]:
    name = "_scaled_dot_product_flash_attention_for_cpu"
    q, k, v, grad = f(2, 3, 5, 4), f(2, 3, 6, 4), f(2, 3, 6, 4), f(2, 3, 5, 4)
    for options in ((0.0, False), (0.0, True)):
        out, lengths = getattr(torch.ops.aten, name)(q, k, v, *options)
        yield f"aten.{name}.default", (q, k, v, *options), {"scale": 0.3}
        yield f"aten.{name}_backward.default", (grad, q, k, v, out, lengths, *options), {}


def _others() -> Iterator[tuple[Any, ...]]:
    for shape, pads in (
        ((2, 3, 5), (1, 2)),
        ((3, 5), (0, 3)),
        ((2, 3, 1), (2, 1)),
        ((2, 3, 2), (1, 0)),
        ((3, 5), (-1, 2)),
    ):
        x, name = f(*shape), "replication_pad1d"
        grad = f(*getattr(torch.ops.aten, name)(x, pads).shape)
        yield f"{name}_backward.default", grad, x, list(pads)
    for shape, pads in (
        ((2, 3, 5), (1, 2)),
        ((3, 5), (0, 4)),
        ((2, 3, 5), (4, 4)),
        ((2, 3, 1), (0, 0)),
        ((3, 5), (-1, 2)),
    ):
        x, name = f(*shape), "reflection_pad1d"
        grad = f(*getattr(torch.ops.aten, name)(x, pads).shape)
        yield f"{name}_backward.default", grad, x, list(pads)
    yield "reflection_pad2d_backward.default", f(2, 3, 6, 8), f(2, 3, 4, 5), [1, 2, 2, 0]
    yield "reflection_pad3d_backward.default", f(2, 3, 3, 6, 5), f(2, 3, 2, 3, 4), [1, 0, 1, 2, 0, 1]
    yield "replication_pad2d_backward.default", f(2, 3, 7, 8), f(2, 3, 4, 5), [1, 2, 3, 0]
    yield "replication_pad3d_backward.default", f(2, 3, 3, 6, 5), f(2, 3, 2, 3, 4), [1, 0, 1, 2, 0, 1]
    for name in ("hardshrink", "softshrink"):
        yield f"{name}_backward.default", f(3, 4), f(3, 4), 0.5
    for dim, shape in ((0, (3, 1, 1)), (2, (1, 1, 5))):
        v, g = f(3, 4, 5), f(*shape)
        w, norms = torch.ops.aten._weight_norm_interface(v, g, dim)
        yield "_weight_norm_interface_backward.default", f(*w.shape), v, g, norms, dim
    yield "select_backward.default", f(3, 5), [3, 4, 5], 1, -2
    yield "slice_backward.default", f(3, 2, 5), [3, 7, 5], 1, 1, 5, 2
    yield "slice_backward.default", f(3, 2), [3, 7], -1, -2, 9223372036854775807, 1
    yield "slice_backward.default", f(3, 0), [3, 2], 1, 2, 9223372036854775807, 2
    yield "lerp.Scalar", f(3, 4), f(3, 4), 0.1
    yield "lerp.Scalar", f(3, 4), f(3, 4), 0.75
    yield "lerp.Tensor", f(3, 4), f(3, 4), f(4)
