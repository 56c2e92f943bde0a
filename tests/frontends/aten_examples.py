"""A call, or several, of every ATen op that has a row: full name, arguments, keywords."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.frontends.aten_function_examples import function_calls
from tests.frontends.aten_gradient_examples import gradient_calls
from tests.frontends.aten_operands import Call, b, c, call, f, n, nonzero, positive, within

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def calls() -> list[Call]:
    """All examples, always with the same numbers."""
    state = torch.random.get_rng_state()
    torch.manual_seed(0)
    try:
        families = (_pointwise, _shapes, _scatters, _products, _reductions, _pools)
        own = [each for family in families for each in family()]
        return [*own, *function_calls(), *gradient_calls()]
    finally:
        torch.random.set_rng_state(state)


FLOAT = """
abs asinh atan ceil cos cosh erf erfc exp exp2 expm1 floor neg relu round sigmoid sign sin sinh tan tanh trunc
"""
POSITIVE = "digamma lgamma log log10 log1p log2 reciprocal rsqrt sqrt"
COMPARISONS = "eq ne lt le gt ge"


def _pointwise() -> Iterator[Call]:
    for name in FLOAT.split():
        yield call(f"{name}.default", 2 * f(3, 5))
    for name in POSITIVE.split():
        yield call(f"{name}.default", positive(3, 5))
    for name in ("acos", "asin", "atanh", "erfinv"):
        yield call(f"{name}.default", within(3, 5))
    for name in COMPARISONS.split():
        yield call(f"{name}.Scalar", n(3, 5), 2)
        yield call(f"{name}.Tensor", n(3, 5), f(5))
    yield call("le.Scalar", n(3, 5), 0.5)
    yield call("exp.default", n(4))
    yield call("round.default", n(4))
    yield call("round.decimals", 90 * f(3, 5), decimals=2)
    yield call("round.decimals", 900 * f(3, 5), decimals=-1)
    odd = torch.tensor([0.0, -0.0, -1.5, float("nan"), 2.0])
    yield call("copysign.Tensor", f(5), odd)
    yield call("copysign.Scalar", n(5), -2.0)
    yield call("signbit.default", odd)
    yield call("signbit.default", n(5))
    for name in ("fmax", "fmin"):
        yield call(f"{name}.default", odd, f(3, 5))
        yield call(f"{name}.default", n(5), n(3, 5))
    yield call("nextafter.default", f(3, 5), f(5))
    yield call("hypot.default", f(3, 5), torch.tensor([0.0, 1e30, float("inf"), -2.0, 3.0]))
    yield call(
        "hypot.default", torch.tensor([float("nan"), 1.0]), torch.tensor([-float("inf"), float("nan")])
    )
    for name in ("gcd", "lcm"):
        yield call(f"{name}.default", n(3, 5), n(5))
    yield call("special_ndtri.default", torch.rand(3, 5))
    for order in (0, 1, 3):
        yield call("polygamma.default", order, positive(3, 5))
    yield call("special_zeta.default", positive(3, 5) + 1, positive(5))
    yield call("bitwise_not.default", n(4))
    yield call("logical_not.default", n(4, high=2, low=-1))
    for name in ("and", "or", "xor"):
        yield call(f"bitwise_{name}.Tensor", n(3, 5), n(5))
        yield call(f"logical_{name}.default", b(3, 5), n(5, low=0, high=2))
    yield call("add.Tensor", f(3, 1), n(5), alpha=2)
    yield call("add.Tensor", f(3, 5), torch.tensor(2.5, dtype=torch.float64))
    yield call("sub.Tensor", f(3, 5), f(5), alpha=0.5)
    yield call("mul.Tensor", f(3, 5).bfloat16(), f(5).bfloat16())
    yield call("mul.Scalar", f(3, 5), 0.5)
    yield call("atan2.default", f(3, 5), f(3, 5))
    yield call("div.Tensor", n(3, 5), nonzero(5))
    for mode in (None, "floor", "trunc"):
        yield call("div.Tensor_mode", 9 * f(3, 5), f(5), rounding_mode=mode)
        yield call("div.Tensor_mode", n(3, 5), nonzero(3, 5), rounding_mode=mode)
    yield call("fmod.Tensor", n(3, 5), nonzero(3, 5))
    yield call("remainder.Tensor", n(3, 5), nonzero(3, 5))
    yield call("remainder.Scalar", 9 * f(3, 5), -2.5)
    for power in (-0.5, 0.5, 2, 3, 1.7):
        yield call("pow.Tensor_Scalar", positive(3, 5), power)
    yield call("pow.Tensor_Tensor", positive(3, 5), f(5))
    yield call("pow.Scalar", 2.0, f(3, 5))
    yield call("maximum.default", f(3, 5), f(5))
    yield call("minimum.default", n(3, 5), n(5))
    yield call("where.self", b(3, 1), f(3, 5), torch.tensor(2.0))
    yield call("clamp.default", f(3, 5), -0.5, 0.5)
    yield call("clamp.default", f(3, 5), None, 0.5)
    yield call("clamp.Tensor", f(3, 5), f(5) - 2, f(5) + 2)
    yield call("hardtanh.default", 2 * f(3, 5))
    yield call("gelu.default", f(3, 5))
    yield call("gelu.default", f(3, 5), approximate="tanh")
    yield call("leaky_relu.default", f(3, 5), 0.1)
    yield call("elu.default", f(3, 5), 1.5, 2, 0.5)
    strange = torch.tensor([0.0, -1.0, float("inf"), -float("inf"), float("nan")])
    for name in ("isnan", "isinf", "sign"):
        yield call(f"{name}.default", strange)
    yield call("sign.default", n(5))
    for divisor in (2.0, -0.3, 0.0, float("inf")):
        values = torch.cat([strange, torch.tensor([0.9, -0.9, 7.5])])
        yield call("div.Tensor_mode", values, torch.tensor(divisor), rounding_mode="floor")
    yield call("isinf.default", n(4))
    yield call("acosh.default", positive(3, 5) + 1)
    for name in ("bitwise_left_shift.Tensor_Scalar", "__lshift__.Scalar", "__rshift__.Scalar"):
        yield call(name, n(3, 5), 2)
    yield call("bitwise_right_shift.Tensor", n(3, 5).byte(), n(5, low=0, high=8).byte())
    for name in ("abs", "angle", "_conj", "_conj_physical", "exp", "neg"):
        yield call(f"{name}.default", c(3, 5))
    yield call("mul.Tensor", c(3, 5), c(5))
    yield call("complex.default", f(3, 1), f(5))
    yield call("polar.default", positive(3, 5), f(3, 5))


def _shapes() -> Iterator[Call]:
    yield call("view.default", f(4, 6), [2, -1, 3])
    yield call("unsqueeze.default", f(4, 6), -1)
    yield call("squeeze.dims", f(1, 6, 1), [0, 2])
    for name in ("clone", "alias"):
        yield call(f"{name}.default", f(4, 6))
    yield call("_to_copy.default", f(4, 6), dtype=torch.int32)
    yield call("_to_copy.default", n(4, 6), dtype=torch.bool)
    yield call("full.default", [2, 3], 2.5)
    yield call("full_like.default", n(2, 3), 2)
    yield call("scalar_tensor.default", 2.5)
    yield call("arange.default", 5)
    yield call("arange.start", 2, 7)
    yield call("arange.start_step", 2, 11, 3, dtype=torch.float32)
    yield call("split_with_sizes.default", f(2, 7), [3, 4], -1)
    yield call("cat.default", [f(2, 3), f(2, 4), torch.zeros(0)], -1)
    yield call("cat.default", [f(3), n(2)])
    yield call("constant_pad_nd.default", f(2, 3, 4), [1, 2, -1, 0], 1.5)
    yield call("copy.default", f(2, 3), n(3))
    yield call("embedding.default", f(7, 3), n(2, 4, low=0, high=7))
    yield call("expand.default", f(3, 1), [2, 3, 4])
    yield call("flip.default", f(2, 3), [-1])
    yield call("gather.default", f(4, 5), 1, n(3, 6, low=0, high=5))
    yield call("gather.default", f(4), 0, torch.tensor(3))
    yield call("index.Tensor", f(4, 5, 6), [None, n(2, 3, low=-5, high=5)])
    yield call("index.Tensor", f(4, 5, 6), [n(2, 1, low=0, high=4), n(3, low=0, high=5)])
    yield call("index.Tensor", f(4, 5), [n(3, low=0, high=4), n(3, low=0, high=5).int()])
    yield call("index_select.default", f(4, 5), 1, n(3, low=0, high=5))
    yield call("index_select.default", f(4, 5), 1, torch.tensor(3))
    yield call("index.Tensor", f(4, 5, 6), [n(2, low=0, high=4), None, n(3, 1, low=0, high=6)])
    yield call("diagonal.default", f(4, 5))
    yield call("diagonal.default", f(2, 5, 4), 1, -1, 1)
    yield call("diagonal.default", f(5, 4, 2), -2)
    yield call("diagonal_scatter.default", f(4, 5), f(4))
    yield call("diagonal_scatter.default", f(2, 5, 4), f(2, 4), 1, -1, 1)
    yield call("diagonal_scatter.default", f(5, 4, 2), f(2, 3), -2)
    for name in ("as_strided", "as_strided_copy"):
        yield call(f"{name}.default", f(4, 6), [6, 4], [1, 6])
    yield call("as_strided.default", f(4, 6), [2, 3, 2], [1, 2, 12], 3)
    yield call("as_strided.default", f(4, 6), [3, 5, 2], [6, 0, 2], 1)
    yield call("as_strided.default", f(24), [5, 4], [3, 1], 2)
    yield call("as_strided.default", f(24), [2, 3], [9, 2], 1)
    yield call("as_strided_scatter.default", f(4, 6), f(2, 3), [2, 3], [9, 2], 1)
    yield call("view.dtype", f(4, 6), torch.int32)
    yield call("view.dtype", f(4, 6), torch.uint8)
    yield call("view.dtype", n(4, 6).to(torch.int16), torch.int32)
    yield call("unfold.default", f(2, 9, 3), 1, 4, 2)
    yield call("unfold.default", f(7), -1, 3, 1)
    yield call("view_as_complex.default", f(3, 4, 2))
    yield call("view_as_real.default", c(3, 4))
    yield call("permute.default", f(2, 3, 4), [0, -1, 1])
    yield call("repeat.default", f(2, 3), [2, 1, 3])
    yield call("roll.default", f(3, 5), [2])
    yield call("roll.default", f(3, 5, 4), [-2, 9], [1, -1])
    yield call("select.int", f(2, 3, 4), 1, -1)
    yield call("stack.default", [f(3, 5), f(3, 5)], 1)
    yield call("stack.default", [f(3), n(3)], -1)
    yield call("unbind.int", f(2, 3, 4), -2)
    yield call("slice.Tensor", f(5, 9), 1, 1, 9223372036854775807, 3)
    yield call("slice.Tensor", f(5, 9), 0, -3, -1)


def _scatters() -> Iterator[Call]:
    places = torch.stack([torch.randperm(5)[:3] for _ in range(4)])
    yield call("scatter.src", f(4, 5), 1, places, f(4, 6))
    yield call("scatter.value", f(6, 5), -1, places, 2.5)
    yield call("scatter.value", f(4), 0, torch.tensor(3), 2.5)
    yield call("scatter.src", f(4), 0, torch.tensor(3), torch.tensor(2.5))
    yield call("scatter_add.default", f(4, 5), 0, n(2, 5, low=0, high=4), f(2, 5))
    for reduction in ("sum", "prod", "amax", "amin"):
        yield call("scatter_reduce.two", f(4, 5), 1, n(4, 7, low=0, high=5), f(4, 7), reduction)
    for reduction in ("sum", "prod", "amax", "amin", "mean"):
        index = n(4, 3, low=0, high=5)
        yield call("scatter_reduce.two", f(4, 5), 1, index, f(4, 3), reduction, include_self=False)
    yield call("scatter_reduce.two", f(4, 5), 1, n(4, 7, low=0, high=5), f(4, 7), "mean")
    yield call("scatter_reduce.two", n(4, 5), 1, n(4, 7, low=0, high=5), n(4, 7), "mean")
    yield call("scatter.reduce", f(4, 5), 0, n(2, 5, low=0, high=4), f(2, 5), reduce="add")
    yield call("scatter.value_reduce", f(4, 5), 1, places, 2.0, reduce="multiply")
    for reduction in ("prod", "mean", "amax", "amin"):
        for include in (True, False):
            slices = f(4, 3, 2), 1, n(5, low=0, high=3), f(4, 5, 2)
            yield call("index_reduce.default", *slices, reduction, include_self=include)
    yield call("put.default", f(4, 5), torch.tensor([[3, -1], [7, 11]]), f(2, 2))
    yield call("put.default", f(4, 5), n(6, low=0, high=3), f(6), True)
    for size in (3, 9):
        yield call("nonzero_static.default", b(2, 3), size=size, fill_value=-7)
    yield call("nonzero_static.default", n(5, low=0, high=2), size=5)
    yield call("masked_scatter.default", f(4, 5), b(4, 1), f(4, 5))
    yield call("index_put.default", f(4, 5), [b(4, 5)], torch.tensor(2.0))
    yield call("index_put.default", f(4, 5, 6), [None, b(5)], f(6), True)
    yield call("index_put.default", f(4, 5, 6), [b(4, 5)], f(1, 6))
    yield call("index_put.default", f(4, 5, 6), [n(3, low=0, high=4), None, torch.tensor([5, 0, 2])], f(3, 5))
    yield call("index_put.default", f(4, 5), [torch.tensor([2, -1])], f(5))
    yield call(
        "index_put.default",
        f(3, 4, 5, 2),
        [None, n(6, 1, low=0, high=4), n(2, low=0, high=5)],
        f(6, 2, 2),
        True,
    )
    yield call("slice_scatter.default", f(4, 5), f(4, 2), 1, -3, -1)
    yield call("slice_scatter.default", f(4, 9), f(4, 3), 1, 1, -1, 3)
    yield call("slice_scatter.default", f(4, 9), f(2, 9), 0, 0, None, 2)


def _products() -> Iterator[Call]:
    yield call("mm.default", f(3, 4), f(4, 5))
    yield call("bmm.default", f(2, 3, 4), f(2, 4, 5))
    yield call("addmm.default", f(5), f(3, 4), f(4, 5), beta=2, alpha=0.5)
    yield call("addmm.default", f(5), f(3, 4), f(4, 5), beta=0)
    yield call("addbmm.default", f(3, 5), f(2, 3, 4), f(2, 4, 5), beta=2, alpha=0.5)
    for equation, *shapes in (
        ("bsnd,btnd->bnst", (2, 3, 4, 5), (2, 6, 4, 5)),
        ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
        ("...ij,...jk", (7, 2, 3), (3, 4)),
        ("ii->i", (3, 3)),
        ("iij,j->", (3, 3, 2), (2,)),
        ("b i, b j -> i j", (2, 3), (2, 4)),
        ("i,j", (2,), (3,)),
        ("ba", (2, 3)),
        ("ij,ij->ij", (2, 3), (1, 3)),
        ("ia,ja->ij", (2, 1), (3, 1)),
    ):
        yield call("einsum.default", equation, [f(*shape) for shape in shapes])
    yield call("tensordot.default", f(2, 3, 4), f(4, 5, 3), [1, -1], [2, 0])
    yield call("tensordot.default", f(2, 3, 1), f(4, 3, 5), [1, 2], [1, 0])
    yield call("addmv.default", f(3), f(3, 4), f(4))
    yield call("linear.default", f(2, 3, 4), f(5, 4), f(5))
    yield call("linear.default", f(4), f(5, 4))
    for lhs, rhs in (
        ((4,), (4,)),
        ((3, 4), (4,)),
        ((4,), (2, 4, 3)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (7, 1, 4, 5)),
    ):
        yield call("matmul.default", f(*lhs), f(*rhs))
    weight, two = f(6, 2, 3, 3), [2, 2]
    one, none = [1, 1], [0, 0]
    yield call("convolution.default", f(2, 4, 9, 8), weight, f(6), two, one, [2, 1], False, none, 2)
    yield call("convolution.default", f(2, 6, 5, 4), weight, None, two, one, [1, 2], True, one, 3)
    yield call("convolution.default", f(2, 3, 9), f(4, 3, 3), f(4), [1], [1], [1], False, [0], 1)
    yield call("convolution.default", f(2, 3, 5, 5, 5), f(4, 3, 2, 2, 2), None, [1], [0], [1], False, [0], 1)
    ends = torch.tensor([2, 2, 7], dtype=torch.int32)
    half = [t.bfloat16() for t in (f(7, 8), f(3, 8, 16), f(3, 4, 8), f(16, 32), f(32, 8), f(16, 32))]
    yield call("_grouped_mm.default", half[0], half[1], ends)
    yield call("_grouped_mm.default", half[2], half[1])
    ends = torch.tensor([8, 8, 32], dtype=torch.int32)
    yield call("_grouped_mm.default", half[3], half[4], ends)
    yield call("_grouped_mm.default", f(3, 8, 16).bfloat16(), half[5], ends)
    yield call("_cdist_forward.default", f(2, 3, 4), f(5, 4), 2.0, None)
    yield call("_cdist_forward.default", f(30, 4), f(2, 5, 4), 2.0, None)
    for p in (0.0, 1.0, 2.5, float("inf")):
        yield call("_cdist_forward.default", f(3, 4), f(5, 4), p, None)
    yield call("_pdist_forward.default", f(4, 3), 2.0)
    yield call("_trilinear.default", f(2, 3), f(5, 3, 4), f(2, 4), [1, 3], [0], [1, 2], [2, 3])
    for mode in (0, 1, 2):
        bags = torch.tensor([0, 3, 3, 5])
        yield call("_embedding_bag.default", f(9, 4), n(7, low=0, high=9), bags, False, mode)
        yield call(
            "_embedding_bag_forward_only.default",
            f(9, 4),
            n(7, low=0, high=3),
            bags,
            False,
            mode,
            False,
            None,
            False,
            2,
        )
    bags = torch.tensor([0, 2, 7])
    yield call("_embedding_bag.default", f(9, 4), n(7, low=0, high=9), bags, False, 0, False, f(7), True)
    attention = "scaled_dot_product_attention.default"
    q, k, v = f(2, 4, 5, 8), f(2, 4, 6, 8), f(2, 4, 6, 3)
    yield call(attention, q, k, v)
    yield call(attention, q, k, v, None, 0.0, True, scale=0.3)
    yield call(attention, q, k, v, f(5, 6))
    yield call(attention, q.bfloat16(), k.bfloat16(), v.bfloat16(), None, 0.0, True)
    mask = b(2, 1, 5, 6)
    mask[0, 0, 2] = False
    yield call(attention, q, k, v, mask)
    yield call(attention, q.bfloat16(), k.bfloat16(), v.bfloat16(), f(5, 6))
    yield call(attention, q, k[:, :2], v[:, :2], enable_gqa=True)


def _reductions() -> Iterator[Call]:
    for name in ("sum.dim_IntList", "mean.dim", "amax.default", "amin.default"):
        yield call(name, f(2, 3, 4), [0, -1])
        yield call(name, f(2, 3, 4), [1], True)
    yield call("sum.default", n(2, 3))
    yield call("mean.default", f(2, 3))
    yield call("amax.default", n(2, 3))
    yield call("prod.default", f(2, 3))
    yield call("prod.dim_int", f(2, 3), 1)
    yield call("any.default", b(2, 3))
    yield call("any.dim", n(4, 3, low=0, high=2), 1, True)
    yield call("any.dims", b(4, 3, 2), [0, 2])
    for name in ("_is_all_true.default", "_is_any_true.default"):
        yield call(name, b(2, 3))
        yield call(name, torch.ones(4, dtype=torch.bool))
    for name in ("argmax", "argmin"):
        yield call(f"{name}.default", n(4, 9, low=0, high=4), 1)
        yield call(f"{name}.default", f(4, 9), None, True)
    for name in ("max", "min"):
        yield call(f"{name}.default", f(4, 9))
        yield call(f"{name}.dim", f(4, 9), 0, True)
    for name in ("argmax.default", "argmin.default", "sort.default", "max.dim", "min.dim"):
        yield call(name, torch.tensor([[1.0, float("nan"), 3.0, float("nan")], [2.0, 0.0, 2.0, 1.0]]), 1)
    yield call("cumsum.default", f(3, 5), 1)
    yield call("logcumsumexp.default", 3 * f(3, 5), 1)
    yield call("logcumsumexp.default", torch.tensor([-float("inf"), 1.0, 1.0, 200.0]), 0)
    for name in ("cummax", "cummin"):
        yield call(f"{name}.default", n(3, 9, low=0, high=4), 1)
        yield call(f"{name}.default", f(5, 3), 0)
    line = torch.tensor([1.0, 3.0, 3.0, 5.0])
    for right in (False, True):
        yield call("searchsorted.Tensor", line, n(2, 3, low=0, high=7).float(), right=right)
        yield call("bucketize.Tensor", n(2, 3, low=0, high=7).float(), line, right=right)
    loose = f(2, 6)
    yield call("searchsorted.Tensor", loose, f(2, 3), sorter=loose.argsort())
    yield call("searchsorted.Tensor", torch.sort(f(2, 6)).values, f(2, 3), out_int32=True, side="right")
    yield call("histc.default", n(4, 5, low=0, high=8).float(), 8, 0, 7)
    yield call("histc.default", f(40), 5)
    yield call("repeat_interleave.Tensor", torch.tensor([2, 0, 3]), output_size=5)
    yield call("cumprod.default", f(3, 5), 0)
    yield call("mean.default", torch.full((300,), 1000.0, dtype=torch.float16))
    yield call("var.correction", torch.full((300,), 1000.0, dtype=torch.float16), None)
    yield call("sort.default", f(3, 5), 0)
    yield call("sort.default", f(3, 5), -1, True)
    yield call("topk.default", f(3, 5), 2)
    yield call("topk.default", f(5, 3), 2, 0, False)
    yield call("var.correction", f(3, 5), [1])
    yield call("var.correction", f(3, 5), None, correction=0, keepdim=True)
    yield call("var_mean.correction", f(3, 5), [0], correction=0, keepdim=True)
    some = torch.tensor([[1.0, float("nan"), 3.0, 0.0], [2.0, 0.0, 2.0, 1.0]])
    for name in ("median", "nanmedian"):
        for tensor in (some, f(3, 4), n(3, 5, low=0, high=4)):
            yield call(f"{name}.default", tensor)
            yield call(f"{name}.dim", tensor + 0 * tensor, -1, True)
    for dim in (0, 1):
        yield call("mode.default", n(4, 7, low=0, high=4), dim)
    yield call("kthvalue.default", f(3, 5), 2)
    yield call("kthvalue.default", f(3, 5), 3, 0, True)
    bare = torch.tensor(2.5)
    for name in ("_softmax", "_log_softmax"):
        yield call(f"{name}.default", bare, 0, False)
        yield call(f"{name}.default", 5 * f(3, 4, 5), 1, False)
    for name in ("max.dim", "min.dim", "sort.default"):
        yield call(name, bare, 0)
    yield call("topk.default", bare, 1)
    yield call("sum.dim_IntList", bare, [0])
    yield call("prod.dim_int", bare, -1)
    yield call("index_select.default", bare, 0, torch.tensor([0]))
    yield call("unfold.default", bare, 0, 1, 1)
    yield call("scatter_add.default", bare, 0, torch.tensor(0), torch.tensor(1.5))
    yield call("native_layer_norm.default", f(3, 4, 5), [5], f(5), None, 1e-5)
    instances = f(2, 6, 3, 3), f(6), f(6)
    yield call("instance_norm.default", *instances, None, None, True, 0.1, 1e-5, False)
    yield call("instance_norm.default", *instances, f(6), positive(6), False, 0.1, 1e-5, False)
    yield call("native_group_norm.default", f(2, 6, 3, 3), f(6), f(6), 2, 6, 9, 3, 1e-5)
    norm = "_native_batch_norm_legit_no_training.default"
    yield call(norm, f(2, 6, 3, 3), f(6), f(6), f(6), positive(6), 0.1, 1e-5)
    yield call(norm, f(2, 6, 3, 3).bfloat16(), f(6), f(6), f(6), positive(6), 0.1, 1e-5)
    half = [f(5).bfloat16(), f(5).bfloat16()]
    yield call("native_layer_norm.default", f(3, 4, 5).bfloat16(), [5], *half, 1e-5)
    yield call("native_layer_norm.default", f(3, 4, 5).bfloat16(), [5], f(5), f(5), 1e-5)
    yield call("native_group_norm.default", f(2, 4, 3).bfloat16(), f(4), None, 2, 4, 3, 2, 1e-5)
    for name in ("_softmax", "_log_softmax"):
        yield call(f"{name}.default", f(3, 4).bfloat16(), 1, False)


def _pools() -> Iterator[Call]:
    yield call("max_pool2d_with_indices.default", f(2, 3, 9, 8), [3, 3], [2, 2], [1, 1], [2, 1])
    yield call("max_pool2d_with_indices.default", n(2, 3, 9, 8).float(), [3, 2], [1, 2])
    for name in ("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa"):
        yield call(f"{name}.default", f(2, 3, 9, 8), [4, 13], False, None, None)
        yield call(f"{name}.default", f(1, 2, 9, 8), [5, 5], True, None, None)
    yield call("adaptive_max_pool2d.default", f(2, 3, 9, 8), [4, 3])
    yield call("adaptive_max_pool3d.default", n(2, 3, 4, 6, 5).float(), [2, 4, 3])
    yield call("max_pool3d_with_indices.default", f(2, 3, 4, 4, 4), [2, 2, 2])
    yield call("avg_pool2d.default", f(2, 3, 9, 8), [3], [2], [1])
    yield call("avg_pool2d.default", f(2, 3, 9, 8), [3], [2], [1], True, False)
    yield call("avg_pool2d.default", f(2, 3, 9, 8), [3, 3], [2, 2], [1, 1], True, True)
    yield call("avg_pool2d.default", f(2, 3, 9, 8), [3, 3], [2, 2], [1, 1], False, True, 5)
    yield call("avg_pool3d.default", f(2, 3, 4, 4, 4), [2])
    yield call("_adaptive_avg_pool2d.default", f(2, 3, 9, 8), [3, 4])
    yield call("_adaptive_avg_pool2d.default", f(2, 3, 9, 8), [4, 3])
    yield call("_adaptive_avg_pool3d.default", f(2, 3, 4, 6, 2), [2, 3, 1])
