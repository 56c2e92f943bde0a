"""Custom calls: JAX's linear algebra against XLA, the functions of users, and what the rest compute."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pytest

from shardy_py.api.pipeline import read
from shardy_py.base.errors import ShardyError
from shardy_py.ops import OpRecord
from shardy_py.ops.compute import COMPUTED, Array, compute_of, register_custom_call
from shardy_py.run.interpret import Executable
from tests.ops.compute.against_jax import compare, run_text
from tests.ops.compute.test_linear_algebra import random_array
from tests.ops.examples import call, t


def functions() -> dict[str, Any]:
    """Functions of a square matrix, a tall one, and a matrix of three columns with the rows of the former."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    pytest.importorskip("scipy", reason="scipy is not installed")
    from jax.scipy import linalg as scipy

    numpy, lax = jax.numpy.linalg, jax.lax.linalg
    return {
        "det": lambda a, b, c: numpy.det(a),
        "eig": lambda a, b, c: lax.eig(a, compute_left_eigenvectors=True),
        "eigh": lambda a, b, c: numpy.eigh(a),
        "hessenberg": lambda a, b, c: scipy.hessenberg(a, calc_q=True),
        "lu of a tall matrix": lambda a, b, c: lax.lu(b)[:2],
        "lu of a wide matrix": lambda a, b, c: lax.lu(b.T)[:2],
        "cholesky": lambda a, b, c: lax.cholesky(a @ a.T.conj()),
        "ormqr": lambda a, b, c: [
            lax.ormqr(h.swapaxes(0, 1), factors, c if left else c.T, left=left, transpose=transpose)
            for h, factors in [numpy.qr(b, mode="raw")]
            for left in (True, False)
            for transpose in (True, False)
        ],
        "pivoting": lambda a, b, c: scipy.qr(a, pivoting=True),
        "qr": lambda a, b, c: numpy.qr(b, mode="complete"),
        "schur": lambda a, b, c: scipy.schur(a),
        "solve": lambda a, b, c: numpy.solve(a, c[:5]),
        "svd": lambda a, b, c: [numpy.svd(b), numpy.svd(b, full_matrices=False), numpy.svdvals(b)],
        "svd by qr": lambda a, b, c: lax.svd(b, algorithm=lax.SvdAlgorithm.QR),
        "tridiagonal": lambda a, b, c: lax.tridiagonal(a)[:4],
        "tridiagonal solve": lambda a, b, c: lax.tridiagonal_solve(a[0], a[1] + 5, a[2], c[:5]),
    }


NAMES = (
    *("det", "eig", "eigh", "hessenberg", "lu of a tall matrix", "lu of a wide matrix", "cholesky", "ormqr"),
    *("pivoting", "qr", "schur", "solve", "svd", "svd by qr", "tridiagonal", "tridiagonal solve"),
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_lapack(name: str, dtype: Any) -> None:
    """Vectors have JAX's signs: both call LAPACK's routines."""
    arrays = [random_array((2, *shape), dtype) for shape in ((5, 5), (8, 5), (8, 3))]
    compare(functions()[name], *arrays, rtol=1e-3, atol=1e-3)


def test_failure_is_nan() -> None:
    """A matrix that is not positive definite, one that is singular; in one lane only."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    matrices = np.stack([np.eye(3), np.diag([1, -1, 0])]).astype(np.float32)
    compare(lambda a: [jax.numpy.linalg.cholesky(a), jax.lax.linalg.lu(a)[:2]], matrices)


@pytest.fixture
def registered() -> Any:
    """Removes what a test registers."""
    before = dict(COMPUTED.rows)
    yield
    COMPUTED.rows.clear()
    COMPUTED.rows.update(before)


TEXT = """func.func @main(%x: tensor<3xf32>, %y: tensor<f32>) -> (tensor<3xf32>, tensor<i32>) {
  %0:2 = stablehlo.custom_call @mine(%x, %y) {mhlo.backend_config = {factor = 3 : i64}}
    : (tensor<3xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<i32>)
  return %0#0, %0#1 : tensor<3xf32>, tensor<i32>
}"""


@pytest.mark.usefixtures("registered")
def test_registered_function_runs_on_each_device() -> None:
    def mine(call: Any, x: Array, y: Array) -> Any:
        assert x.shape == (3,)
        return x * call.attributes["factor"] + y, np.int32(len(call.results))

    register_custom_call("mine", mine)
    x, y = np.array([[1, 2, 3]], np.float32), np.array([10, 20], np.float32)
    first, second = run_text(TEXT, x, y)
    assert first.tolist() == [[13, 16, 19], [23, 26, 29]]
    assert second.tolist() == [2, 2]
    register_custom_call("mine", lambda call, x, y: (x + y[:, None], np.zeros(1, np.int32)), lanes=True)
    assert run_text(TEXT, x, y)[0].tolist() == [[11, 12, 13], [21, 22, 23]]


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros(3), "the function of custom call @mine: expected 2 results, got 1"),
        (
            (np.zeros(3), np.int32(1)),
            "result 0 of the function of custom call @mine: expected shape (3,) of float32, got",
        ),
        (
            (np.array([1], np.float32), np.int32(1)),
            "expected shape (3,) of float32, got shape (1,) of float32",
        ),
    ],
)
def test_results_that_do_not_fit(given: Any, message: str) -> None:
    register_custom_call("mine", lambda call, x, y: given)
    with pytest.raises(ShardyError) as error:
        run_text(TEXT, np.zeros((1, 3), np.float32), np.zeros(1, np.float32))
    assert message in str(error.value)


def compute(record: OpRecord, *operands: Any) -> Any:
    return compute_of(record)(record, *map(np.asarray, operands))


def test_other_targets() -> None:
    pytest.importorskip("scipy", reason="scipy is not installed")
    matrix = np.array([[[2, 1], [1, 3]]], np.float32)
    lu, pivots, rows = compute(call("LuDecomposition", (), ()), matrix[:, ::-1])
    assert (pivots.tolist(), rows.tolist()) == ([[1, 1]], [[1, 0]])
    assert lu.tolist() == [[[2, 1], [0.5, 2.5]]]
    vectors, values = compute(call("Eigh", (), ()), matrix)
    np.testing.assert_allclose(vectors * values[:, None] @ vectors.swapaxes(1, 2), matrix, rtol=1e-5)
    packed, factors = compute(call("Qr", (), ()), matrix)
    product = compute(call("ProductOfElementaryHouseholderReflectors", (), ()), packed, factors)
    np.testing.assert_allclose(product @ np.triu(packed), matrix, rtol=1e-5)
    pivots = compute(call("cu_lu_pivots_to_permutation", (), (t(4, element="i32"),)), [[1, 3], [0, 1]])
    assert pivots.tolist() == [[1, 3, 2, 0], [0, 1, 2, 3]]
    low, high = np.array([[1]], np.uint32), np.array([[2]], np.uint32)
    whole = compute(call("X64Combine", (), (t(1, element="ui64"),)), low, high)
    assert whole.tolist() == [[(2 << 32) + 1]]
    assert compute(call("X64SplitHigh", (), (t(1, element="ui32"),)), whole).tolist() == [[2]]
    assert compute(call("X64SplitLow", (), (t(1, element="ui32"),)), whole).tolist() == [[1]]


def test_best_elements() -> None:
    numbers = np.array([[[3, 1, 3, 2]]], np.float32)
    for largest, expected in ((True, ([3, 3], [0, 2])), (False, ([1, 2], [1, 3]))):
        nested = {"k": 2, "largest": largest}
        record = OpRecord(
            "stablehlo.custom_call",
            (),
            (t(1, 2), t(1, 2)),
            {"call_target_name": "mhlo.topk", "mhlo.attributes": nested},
        )
        values, indices = compute(record, numbers)
        assert (values.tolist(), indices.tolist()) == ([[expected[0]]], [[expected[1]]])
    lax: Any = pytest.importorskip("jax.lax", reason="JAX is not installed")
    array = random_array((2, 4, 9), np.float32)
    compare(
        lambda x: [lax.approx_max_k(x, 3), lax.approx_min_k(x, 2, reduction_dimension=0)],
        array,
        rtol=0,
        atol=0,
    )


def test_shape_assertion_names_values() -> None:
    attributes = {"call_target_name": "shape_assertion", "error_message": "expected {0} to be even"}
    record = OpRecord("stablehlo.custom_call", (), (), attributes)
    assert compute(record, [True], [4]) == ()
    with pytest.raises(ShardyError, match="expected 3 to be even"):
        compute(record, [True, False], [4, 3])


@pytest.mark.parametrize("target", ["SPMDFullToShardShape", "Sharding", "MoveToHost"])
def test_calls_that_change_shapes_are_refused_before_the_run(target: str) -> None:
    """GSPMD's wrappers of manual code are the identity on one device."""
    text = f"""func.func @main(%x: tensor<4xf32>) -> RESULT {{
  %0 = stablehlo.custom_call @{target}(%x) : (tensor<4xf32>) -> RESULT
  return %0 : RESULT
}}"""
    x = np.float32([[1, 2, 3, 4]])
    assert run_text(text.replace("RESULT", "tensor<4xf32>"), x)[0].tolist() == x.tolist()
    with pytest.raises(ShardyError, match=rf"custom call @{target} from 4xf32 to 2xf32 is unsupported"):
        Executable(read(text.replace("RESULT", "tensor<2xf32>")))


@pytest.mark.parametrize("target", ["ApproxTopK", "PartialReduce", "stablehlo.dynamic_approx_top_k"])
def test_approximate_top_k_is_exact(target: str) -> None:
    options = {"reduction_dim": 1, "aggregate_to_topk": True}
    is_text, is_dynamic = target == "PartialReduce", "dynamic" in target
    config = {"backend_config": json.dumps(options)} if is_text else {"mhlo.backend_config": options}
    size = None if is_dynamic else 2
    record = OpRecord(
        "stablehlo.custom_call", (), (t(2, size), t(2, size)), {"call_target_name": target, **config}
    )
    x = np.float32([[[3, 1, 4], [1, 5, 9]]])
    indices = np.broadcast_to(np.int32([0, 1, 2]), x.shape)
    given = (x, indices, np.float32([-np.inf]), np.int32([-1]), *((np.int32([2]),) if is_dynamic else ()))
    values, places = compute(record, *given)
    assert values.tolist() == [[[4, 3], [9, 5]]]
    assert places.tolist() == [[[2, 0], [2, 1]]]


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_tridiagonal_solve_with_tiny_pivots(dtype: Any) -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    pytest.importorskip("scipy", reason="scipy is not installed")
    lower, diagonal, upper = (random_array((2, 6), dtype, seed) for seed in (1, 2, 3))
    right = random_array((2, 6, 3), dtype, 4)
    solve = partial(jax.lax.linalg.tridiagonal_solve, perturb_singular=True)
    compare(solve, lower, diagonal, upper, right, rtol=2e-3, atol=1e-3)
    # A singular matrix: its last two rows are equal. The direction is that of the null space.
    lower[:, 5], diagonal[:, 5], lower[:, 4] = diagonal[:, 4] * 0 + 1, 1, 0
    diagonal[:, 4], upper[:, 4] = 1, 1

    def direction(*operands: Any) -> Any:
        found = solve(*operands)
        return found / abs(found).max(-2, keepdims=True)

    compare(direction, lower, diagonal, upper, right, rtol=2e-3, atol=1e-3)
    packed = call("cusparse_gtsv2_ffi", (), ())
    diagonal = diagonal + 5
    whole = np.stack(
        [
            np.diag(d) + np.diag(a[1:], -1) + np.diag(b[:-1], 1)
            for a, d, b in zip(lower, diagonal, upper, strict=True)
        ]
    )
    np.testing.assert_allclose(whole @ compute(packed, lower, diagonal, upper, right), right, atol=1e-4)


DYNAMIC_WINDOW = """
func.func @main(%x: tensor<5xi32>, %y: tensor<5xf32>) -> (tensor<?xi32>, tensor<?xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %size = stablehlo.constant dense<3> : tensor<1xi32>
  %stride = stablehlo.constant dense<2> : tensor<1xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %pad = stablehlo.constant dense<[[1, 1]]> : tensor<1x2xi32>
  %0:2 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(
    %x, %y, %zero, %low, %size, %stride, %one, %one, %pad) {called_computations = [@both]}
    : (tensor<5xi32>, tensor<5xf32>, tensor<i32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>,
       tensor<1xi32>, tensor<1x2xi32>) -> (tensor<?xi32>, tensor<?xf32>)
  return %0#0, %0#1 : tensor<?xi32>, tensor<?xf32>
}
func.func private @both(%a: tensor<i32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<f32>)
    -> (tensor<i32>, tensor<f32>) {
  %0 = stablehlo.add %a, %c : tensor<i32>
  %1 = stablehlo.maximum %b, %d : tensor<f32>
  return %0, %1 : tensor<i32>, tensor<f32>
}"""


def test_dynamic_reduce_window() -> None:
    x, y = np.int32([[1, 2, 3, 4, 5]]), np.float32([[3, 1, 4, 1, 5]])
    sums, largest = run_text(DYNAMIC_WINDOW, x, y)
    assert sums.tolist() == [[3, 9, 9]]
    assert largest.tolist() == [[3, 4, 5]]
    with pytest.raises(ShardyError, match="has windows that do not fit 1 dimensions"):
        run_text(DYNAMIC_WINDOW.replace("dense<2>", "dense<0>"), x, y)


@pytest.mark.parametrize(
    ("target", "operand", "result"),
    [("X64SplitLow", "2x2xf32", "2x2xf32"), ("X64SplitLow", "2xui64", "3xui32"), ("Qr", "4xf32", "4xf32")],
)
def test_types_that_a_target_cannot_take(target: str, operand: str, result: str) -> None:
    """No verifier knows the types of custom calls."""
    module = read(f"""func.func @main(%a: tensor<{operand}>) -> tensor<{result}> {{
  %0 = stablehlo.custom_call @{target}(%a) : (tensor<{operand}>) -> tensor<{result}>
  return %0 : tensor<{result}>
}}""")
    shape = tuple(map(int, operand.split("x")[:-1]))
    with pytest.raises(ShardyError, match=f"custom call @{target} from"):
        Executable(module).run([np.ones(shape, np.float32 if "f32" in operand else np.uint64)])
