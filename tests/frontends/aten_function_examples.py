"""Examples of ATen's special functions, segments, transforms, matrices and random numbers; as in
`aten_examples.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.frontends.aten_operands import Call, c, call, f, n, positive, spd

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def function_calls() -> Iterator[Call]:
    """All examples of this file."""
    for family in (_special, _segments, _transforms, _matrices, _quantized, _losses, _drawn):
        yield from family()


def _special() -> Iterator[Call]:
    wide = torch.cat([20 * f(8), f(8), torch.tensor([0.0, -0.0, 2.0, 8.0, -8.0, 60.0])])
    for name in ("i0", "special_i0e", "special_i1", "special_i1e", "special_bessel_j0", "special_bessel_j1"):
        yield call(f"{name}.default", wide)
        yield call(f"{name}.default", wide.double())
    for name in ("special_spherical_bessel_j0", "special_modified_bessel_i0", "special_modified_bessel_i1"):
        yield call(f"{name}.default", wide)
    for name in ("bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1"):
        yield call(f"special_{name}.default", wide.abs())
        yield call(f"special_{name}.default", wide.abs().double())
    for order in (0, 1):
        yield call(f"special_scaled_modified_bessel_k{order}.default", wide.abs())
    yield call("special_erfcx.default", torch.cat([f(9), 30 * torch.rand(5), torch.tensor([0.0, 1e9])]))
    yield call("special_erfcx.default", f(9).double())
    ends = torch.tensor([float("inf"), -float("inf"), float("nan"), 0.0, 50.0])
    yield call("special_airy_ai.default", torch.cat([torch.linspace(-30, 12, 43), ends]))
    yield call("special_airy_ai.default", torch.linspace(-9, 5, 29).double())
    a = torch.tensor([0.5, 1.0, 3.0, 30.0, 0.0, 2.0, -1.0, 0.0, 2.0, 80.0, float("inf"), 0.1])
    x = torch.tensor([0.3, 4.0, 2.5, 45.0, 2.0, 0.0, 2.0, 0.0, float("inf"), 70.0, 3.0, 9.0])
    for name in ("igamma", "igammac"):
        yield call(f"{name}.default", a, x)
        yield call(f"{name}.default", 5 * positive(3, 5).double(), 9 * positive(5).double())
    numbers = torch.tensor([0.0, -0.0, 1.0, -3.5, 1e-42, float("inf"), float("nan"), -1e30, 0.25])
    for given in (numbers, numbers.double(), torch.tensor([1e-310, 3.0]).double(), f(5).bfloat16()):
        yield call("frexp.Tensor", given)
    degrees = torch.tensor([-1, 0, 1, 2, 5, 3], dtype=torch.float32)
    families = [f"{given}chebyshev_polynomial_{name}" for given in ("", "shifted_") for name in "tuvw"]
    others = (
        "hermite_polynomial_h",
        "hermite_polynomial_he",
        "laguerre_polynomial_l",
        "legendre_polynomial_p",
    )
    for name in (*families, *others):
        yield call(f"special_{name}.default", f(4, 6), degrees)
        yield call(f"special_{name}.n_scalar", f(4), 4)


def _segments() -> Iterator[Call]:
    data, lengths = f(9, 3), torch.tensor([2, 0, 4, 3])
    for reduce in ("sum", "mean", "max", "min", "prod"):
        yield call("segment_reduce.default", data, reduce, lengths=lengths)
        offsets = torch.tensor([0, 2, 2, 6, 9])
        yield call("segment_reduce.default", data, reduce, offsets=offsets, initial=1.0)
    x, weight = f(4, 6), positive(4, 6)
    yield call("histogram.bin_ct", x, 5)
    yield call("histogram.bin_ct", x, 4, range=[-1.0, 1.5], weight=weight, density=True)
    yield call("histogram.bins_tensor", x, torch.tensor([-2.0, -0.5, 0.1, 2.0]), weight=weight)
    yield call("histogram.bin_ct", torch.ones(5), 3)
    points, edges = positive(2, 9, 2), [torch.tensor([0.1, 0.5, 1.1]), torch.tensor([0.3, 0.5, 0.7, 0.9])]
    for options in ({}, {"range": [0.2, 0.9, 0.3, 0.8], "weight": positive(2, 9), "density": True}):
        yield call("_histogramdd_bin_edges.default", points, [3, 2], **options)
        yield call("_histogramdd_from_bin_cts.default", points, [3, 2], **options)
    yield call("_histogramdd_from_bin_tensors.default", points, edges, density=True)
    for size in ([2, 3], [4, 6]):
        yield call("resize.default", x, size)
    yield call("resize_as.default", x, f(3, 8))
    for power in (1.0, 2.0):
        yield call("embedding_renorm.default", f(8, 4), torch.tensor([[1, 3], [3, 6]]), 1.5, power)
    square = f(2, 4, 4)
    for matrix in (square, 9 * square.double(), c(3, 3), torch.zeros(2, 2), f(0, 0)):
        yield call("linalg_matrix_exp.default", matrix)
    yield call("linalg_matrix_exp.default", torch.stack([f(3, 3), 40 * torch.eye(3)]))
    yield call("linalg_matrix_sqrth.default", spd(2, 4, 4))
    yield call("linalg_polar.default", f(2, 5, 3))
    for shape, kernel, size in (((2, 3, 9, 8), [3, 2], [4, 3]), ((3, 9, 8), [2, 2], [1, 5])):
        samples = torch.rand(shape[0] if len(shape) > 3 else 1, 3, 2)
        yield call("fractional_max_pool2d.default", f(*shape), kernel, size, samples)
    yield call("fractional_max_pool3d.default", f(2, 2, 6, 9, 8), [2, 3, 2], [3, 4, 3], torch.rand(2, 2, 3))


def _transforms() -> Iterator[Call]:
    for normalization in (0, 1, 2):
        yield call("_fft_r2c.default", f(3, 6), [1], normalization, True)
        yield call("_fft_r2c.default", f(3, 6), [0], normalization, False)
        yield call("_fft_c2c.default", c(3, 6), [0], normalization, True)
        yield call("_fft_c2c.default", c(3, 6, 2), [0, 1], normalization, False)
        yield call("_fft_c2r.default", c(3, 6), [1], normalization, 10)
    yield call("_fft_r2c.default", f(2, 3, 4, 2, 3), [0, 1, 2, 4], 0, True)
    yield call("_fft_c2r.default", c(2, 3, 4, 2), [0, 1, 2, 3], 2, 3)


def _matrices() -> Iterator[Call]:
    square, tall, wide = f(2, 4, 4), f(2, 5, 3), f(3, 5)
    lower = torch.linalg.cholesky(spd(2, 4, 4))
    for upper in (False, True):
        factor = lower.mT.contiguous() if upper else lower
        yield call("cholesky.default", spd(4, 4), upper)
        yield call("linalg_cholesky_ex.default", spd(2, 4, 4), upper=upper)
        yield call("cholesky_solve.default", tall[:, :4], factor, upper)
        yield call("cholesky_inverse.default", factor, upper)
        yield call("linalg_solve_triangular.default", square, f(4, 3), upper=upper)
        yield call("triangular_solve.default", f(4, 3), square[0], upper, True)
    yield call("linalg_solve_triangular.default", square, f(3, 4), upper=True, left=False, unitriangular=True)
    for matrix in (square, tall, wide, c(3, 3)):
        yield call("linalg_lu_factor_ex.default", matrix)
        yield call("linalg_lu.default", matrix)
    factors, pivots = torch.linalg.lu_factor(square)
    yield call("lu_unpack.default", factors, pivots)
    for left in (True, False):
        for adjoint in (True, False):
            right = f(2, 4, 3) if left else f(2, 3, 4)
            yield call("linalg_lu_solve.default", factors, pivots, right, left=left, adjoint=adjoint)
    yield call("_linalg_solve_ex.default", square, f(4, 3))
    yield call("_linalg_solve_ex.default", square, f(2, 4))
    yield call("_linalg_solve_ex.default", square[0], f(3, 4), left=False)
    yield call("linalg_inv_ex.default", square)
    for name in ("_linalg_det", "_linalg_slogdet"):
        yield call(f"{name}.default", square)
    # Without diagonals, most blocks have two rows; batches have their blocks at different rows.
    for matrix, hermitian in (
        (f(2, 7, 7), False),
        (f(4, 4).double(), True),
        (c(2, 5, 5), False),
        (c(5, 5), True),
    ):
        hollow = matrix.tril(-1)
        for given in (matrix, hollow):
            yield call("linalg_ldl_factor_ex.default", given, hermitian=hermitian)
            factors, pivots = torch.linalg.ldl_factor(given, hermitian=hermitian)
            right = matrix[..., :3]
            yield call("linalg_ldl_solve.default", factors, pivots, right, hermitian=hermitian)
    yield call("geqrf.default", tall)
    vectors, scales = torch.geqrf(tall)
    yield call("linalg_householder_product.default", vectors, scales)
    yield call("ormqr.default", vectors, scales, f(2, 5, 2))
    yield call("ormqr.default", vectors, scales, f(2, 2, 5), False, True)
    for matrix in (tall, wide):
        for mode in ("reduced", "complete"):
            yield call("linalg_qr.default", matrix, mode)
    yield call("linalg_pinv.atol_rtol_tensor", tall, atol=torch.tensor(0.1), rtol=torch.tensor(1e-6))
    yield call("_linalg_eigh.default", spd(2, 4, 4))
    yield call("_linalg_eigh.default", square, "U", False)
    yield call("_linalg_svd.default", f(3, 3))
    yield call("_linalg_svd.default", tall, False, False)
    yield call("linalg_eig.default", square)
    yield call("_linalg_eigvals.default", square)


def _quantized() -> Iterator[Call]:
    x, scale, zero = 3 * f(3, 5), torch.tensor([0.1]), torch.tensor([3], dtype=torch.int32)
    scales, zeros = positive(5), n(5, low=-3, high=4).int()
    yield call("fake_quantize_per_tensor_affine_cachemask.default", x, 0.1, 3, -20, 20)
    tensors = "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default"
    for enabled in (0, 1):
        yield call(tensors, x, scale, zero, torch.tensor([enabled]), -20, 20)
    yield call("fake_quantize_per_channel_affine_cachemask.default", x, scales, zeros, 1, -20, 20)
    lhs, rhs = (n(*shape, low=-128, high=128).to(torch.int8) for shape in ((32, 16), (24, 16)))
    yield call("_int_mm.default", lhs, rhs.t())
    yield call("_weight_int8pack_mm.default", f(4, 16).bfloat16(), rhs, positive(24).bfloat16())
    small, other = (f(*shape).to(torch.float8_e4m3fn) for shape in ((16, 32), (48, 32)))
    for one, two, more in (
        (positive(), positive(), {"bias": f(48)}),
        (positive(16, 1), positive(1, 48), {}),
    ):
        yield call("_scaled_mm.default", small, other.t(), one, two, out_dtype=torch.float32, **more)
    if hasattr(torch.ops.aten, "_scaled_mm_v2"):  # torch.nn.functional.scaled_mm of torch 2.10 and newer
        for recipe, one, two in ((0, positive(1), positive(1)), (1, positive(16, 1), positive(1, 48))):
            scales = [one], [recipe], [], [two], [recipe], []
            yield call("_scaled_mm_v2.default", small, other.t(), *scales, None, torch.bfloat16)


def _losses() -> Iterator[Call]:
    entries = torch.tensor([[1, -1, 2, 0, 0], [0, 1, 2, 3, 4], [4, 3, -1, 0, 1], [-1, 0, 0, 0, 0]])
    for x, target in ((f(4, 5), entries), (f(5), entries[2])):
        for reduction in (0, 1, 2):
            loss, among = torch.ops.aten.multilabel_margin_loss_forward(x, target, reduction)
            yield call("multilabel_margin_loss_forward.default", x, target, reduction)
            grad = torch.randn_like(loss)
            yield call("multilabel_margin_loss_backward.default", grad, x, target, reduction, among)
    yield call("conv_tbc.default", f(7, 2, 3), f(2, 3, 4), f(4), 1)


def _drawn() -> Iterator[Call]:
    """Random numbers: only types are compared."""
    x = f(3, 5)
    for name in ("rand", "randn"):
        yield call(f"{name}.default", [3, 5])
        yield call(f"{name}_like.default", x.double())
    yield call("randint.default", 7, [3, 5])
    yield call("randint.low", -2, 7, [3, 5])
    yield call("randint_like.default", x, 7)
    yield call("randperm.default", 9)
    yield call("bernoulli.default", torch.rand(3, 5))
    yield call("bernoulli.p", x, 0.25)
    for train in (True, False):
        yield call("native_dropout.default", x, 0.5, train)
    yield call("multinomial.default", torch.rand(3, 5), 2)
    yield call("multinomial.default", torch.rand(5), 9, True)
    yield call("normal.float_float", 1.0, 2.0, [3, 5])
    yield call("normal.Tensor_Tensor", x, positive(3, 5))
    yield call("normal_functional.default", x, 1.0, 2.0)
    yield call("uniform.default", x, -1.0, 2.0)
    for name in ("cauchy", "exponential", "log_normal"):
        yield call(f"{name}.default", x)
    yield call("geometric.default", x, 0.3)
    for training in (True, False):
        yield call("rrelu_with_noise_functional.default", x, torch.zeros(3, 5), 0.1, 0.3, training)
