"""Elementwise ops and CHLO: against XLA on a CPU, against Python's integers, and lane by lane."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.indexing.layout.element_types import element_type_of
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.compute import (
    Array,
    chlo,
    compute_of,
    conversion,
    elementwise,
    quantization,
    special,
)
from shardy_py.ops.compute.precision import NARROW, kind_of

WIDE = (np.dtype(np.float32), np.dtype(np.float64))
REALS = (*WIDE, np.dtype(ml_dtypes.bfloat16))
FLOATS = (*REALS, np.dtype(np.float16), np.dtype(ml_dtypes.float8_e4m3fn))
COMPLEX = (np.dtype(np.complex64), np.dtype(np.complex128))
INTEGERS = (
    *map(np.dtype, ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")),
    *map(np.dtype, (ml_dtypes.int4, ml_dtypes.uint4)),
)
BOOL = (np.dtype(np.bool_),)
SPECIAL = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-8, 88.8, -88.8, 0.49999997, -7]
SPECIAL += [np.inf, -np.inf, np.nan]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    with np.errstate(all="ignore"):
        yield


def values(dtype: np.dtype[Any], count: int, seed: int = 0) -> list[Array]:
    """Operands of an op, without lanes: all pairs of special numbers, and random ones."""
    random = np.random.default_rng(seed)
    kind = kind_of(dtype)
    if kind == "b":
        return [random.random(64) < 0.5 for _ in range(count)]
    if kind in "iu":
        info = ml_dtypes.iinfo(dtype)
        few = np.array([info.min, info.max, 0, 1, 2, 3, 4, 7], object)
        pairs = np.meshgrid(few, few)[:count]
        wide = np.dtype(f"{kind}8")
        drawn = random.integers(int(info.min), int(info.max), (count, 200), wide, endpoint=True).astype(
            object
        )
        both = zip(pairs, drawn, strict=True)
        return [np.concatenate([pair.ravel(), more]).astype(dtype) for pair, more in both]
    if kind == "c":
        parts = random.standard_normal((count, 2, 300))
        return [(x + 1j * y).astype(dtype) for x, y in parts]
    drawn_floats = random.standard_normal((count, 300)) * np.exp(random.uniform(-6, 4, (count, 300)))
    pairs = np.meshgrid(SPECIAL, SPECIAL)[:count]
    return [np.concatenate([p.ravel(), d]).astype(dtype) for p, d in zip(pairs, drawn_floats, strict=True)]


def record(
    name: str, operands: list[Array], results: tuple[str, ...] = ("f32",), **attributes: Any
) -> OpRecord:
    """The record of an op on operands with lanes."""
    types = tuple(TensorType(x.shape[1:], getattr(element_type_of(x.dtype), "mlir", "f32")) for x in operands)
    return OpRecord(name, types, tuple(TensorType((), result) for result in results), attributes)


def run(name: str, *operands: Array, results: tuple[str, ...] = ("f32",), **attributes: Any) -> Any:
    """Applies an op to operands with lanes."""
    found = record(name, list(operands), results, **attributes)
    return compute_of(found)(found, *operands)


def assert_close(got: Array, expected: Array, exact: bool, name: str, operands: list[Array]) -> None:
    """Equal values and signs of zeros; else the errors of both, which for XLA are up to 2000 units."""
    assert got.dtype == expected.dtype, name
    kind = kind_of(got.dtype)
    if exact:
        wide = NARROW.get(got.dtype, got.dtype)
        got, expected = got.astype(wide), expected.astype(wide)
        same = got == expected
        same &= kind != "f" or np.signbit(got) == np.signbit(expected)
        same |= (got != got) & (expected != expected)
    else:
        unit = float(ml_dtypes.finfo(got.dtype).eps)
        least = 4e-5 if kind == "c" else {np.float32: 1e-5, np.float64: 1e-12}.get(got.dtype.type, 0)
        relative = max(4 * unit, least)
        wide = np.complex128 if kind == "c" else np.float64
        x, y = got.astype(wide), expected.astype(wide)
        # XLA's processes flush numbers below the normal ones to zero.
        tiny = max(float(ml_dtypes.finfo(got.dtype).tiny), relative)
        same = (np.abs(x - y) <= relative * np.abs(y) + tiny) | (x == y) | (np.isnan(x) & np.isnan(y))
    wrong = np.flatnonzero(~same)
    shown = [([str(x[k]) for x in operands], str(got[k]), str(expected[k])) for k in wrong[:5]]
    assert not len(wrong), f"{name} of {operands[0].dtype}: operands, result, expected: {shown}"


NUMBERS = FLOATS + COMPLEX + INTEGERS
EXACT: dict[str, tuple[str, tuple[Any, ...]]] = {
    "abs": ("abs", FLOATS + INTEGERS[:8:2]),
    "add": ("add", NUMBERS),
    "and": ("bitwise_and", INTEGERS + BOOL),
    "ceil": ("ceil", FLOATS),
    "complex": ("complex", WIDE),
    "count_leading_zeros": ("clz", INTEGERS),
    "divide": ("div", FLOATS + INTEGERS),
    "floor": ("floor", FLOATS),
    "imag": ("imag", COMPLEX),
    "is_finite": ("is_finite", FLOATS),
    "maximum": ("max", NUMBERS + BOOL),
    "minimum": ("min", NUMBERS + BOOL),
    "multiply": ("mul", FLOATS + INTEGERS),
    "negate": ("neg", NUMBERS),
    "not": ("bitwise_not", INTEGERS + BOOL),
    "or": ("bitwise_or", INTEGERS + BOOL),
    # XLA counts the sign of a negative i4 in all eight bits.
    "popcnt": ("population_count", INTEGERS[:8]),
    "real": ("real", COMPLEX),
    "remainder": ("rem", FLOATS + INTEGERS),
    "round_nearest_afz": ("round", FLOATS),
    "shift_left": ("shift_left", INTEGERS),
    "shift_right_arithmetic": ("shift_right_arithmetic", INTEGERS),
    "shift_right_logical": ("shift_right_logical", INTEGERS),
    "sign": ("sign", FLOATS + INTEGERS),
    "subtract": ("sub", NUMBERS),
    "xor": ("bitwise_xor", INTEGERS + BOOL),
    "chlo.next_after": ("nextafter", REALS),
    "chlo.conj": ("conj", COMPLEX),
}
CLOSE: dict[str, tuple[str, tuple[Any, ...]]] = {
    "atan2": ("atan2", REALS),
    "cbrt": ("cbrt", REALS),
    "cosine": ("cos", REALS + COMPLEX),
    "divide": ("div", COMPLEX),
    "exponential": ("exp", REALS + COMPLEX),
    "exponential_minus_one": ("expm1", REALS + COMPLEX),
    "log": ("log", REALS + COMPLEX),
    "log_plus_one": ("log1p", REALS + COMPLEX),
    # In f8, XLA overflows in exp(-x).
    "logistic": ("logistic", REALS + COMPLEX),
    "multiply": ("mul", COMPLEX),
    "power": ("pow", REALS + COMPLEX),
    "rsqrt": ("rsqrt", REALS + COMPLEX),
    "sign": ("sign", COMPLEX),
    "sine": ("sin", REALS + COMPLEX),
    "sqrt": ("sqrt", REALS + COMPLEX),
    "tan": ("tan", REALS + COMPLEX),
    "tanh": ("tanh", REALS + COMPLEX),
    "chlo.acos": ("acos", REALS + COMPLEX),
    "chlo.acosh": ("acosh", REALS + COMPLEX),
    "chlo.asin": ("asin", REALS + COMPLEX),
    "chlo.asinh": ("asinh", REALS + COMPLEX),
    "chlo.atan": ("atan", REALS + COMPLEX),
    "chlo.atanh": ("atanh", REALS + COMPLEX),
    "chlo.bessel_i1e": ("bessel_i1e", REALS),
    "chlo.cosh": ("cosh", REALS + COMPLEX),
    "chlo.digamma": ("digamma", REALS),
    "chlo.erf": ("erf", REALS),
    "chlo.erf_inv": ("erf_inv", REALS),
    "chlo.erfc": ("erfc", REALS),
    "chlo.lgamma": ("lgamma", REALS),
    "chlo.sinh": ("sinh", REALS + COMPLEX),
    "chlo.square": ("square", REALS + COMPLEX),
}
BINARY = {
    *(
        "add",
        "and",
        "atan2",
        "complex",
        "divide",
        "maximum",
        "minimum",
        "multiply",
        "next_after",
        "or",
        "power",
    ),
    *("power", "remainder", "shift_left", "shift_right_arithmetic", "shift_right_logical", "subtract", "xor"),
    "chlo.next_after",
}


ALIKE = {np.dtype(name) for name in ("int16", "uint16", "uint32", "int64", "complex128")}
"""Integers of other widths than those that tests try each time, and the wide complex numbers."""


@pytest.mark.reference
@pytest.mark.parametrize("alike", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["", "alike"])
@pytest.mark.parametrize(("name", "exact"), [(n, True) for n in EXACT] + [(n, False) for n in CLOSE])
def test_results_are_those_of_xla(name: str, exact: bool, alike: bool) -> None:
    jax: Any = pytest.importorskip("jax", reason="JAX is not installed")
    function, every = (EXACT if exact else CLOSE)[name]
    types = [dtype for dtype in every if (dtype in ALIKE) == alike]
    apply: Callable[..., Any] = getattr(jax.lax, function)
    operands = [values(dtype, 2 if name in BINARY else 1) for dtype in types]
    with jax.enable_x64(True):
        expected = jax.jit(lambda all_: [apply(*given) for given in all_])(operands)
    for given, right in zip(operands, map(np.asarray, expected), strict=True):
        (got,) = run(name if "." in name else f"stablehlo.{name}", *(x[None] for x in given))
        assert_close(got, right, exact, name, given)


def test_compare_and_reduce_precision_are_those_of_xla() -> None:
    jax: Any = pytest.importorskip("jax", reason="JAX is not installed")
    directions = ("NE", "LT", "GE")
    formats = ((5, 10), (4, 3), (2, 1), (8, 23), (11, 52))
    types = REALS + INTEGERS[:4] + BOOL
    with jax.enable_x64(True):
        pairs = [values(dtype, 2) for dtype in types]
        compared = jax.jit(lambda x: [[getattr(jax.lax, d.lower())(*p) for d in directions] for p in x])(
            pairs
        )
        floats = [values(dtype, 1)[0] for dtype in REALS]
        reduced = jax.jit(lambda x: [[jax.lax.reduce_precision(f, *form) for form in formats] for f in x])(
            floats
        )
    for pair, results in zip(pairs, compared, strict=True):
        for direction, result in zip(directions, results, strict=True):
            (got,) = run("stablehlo.compare", *(x[None] for x in pair), comparison_direction=direction)
            assert_close(got, np.asarray(result), True, direction, pair)
    for given, results in zip(floats, reduced, strict=True):
        for (exponent, mantissa), result in zip(formats, results, strict=True):
            (got,) = run(
                "stablehlo.reduce_precision", given[None], exponent_bits=exponent, mantissa_bits=mantissa
            )
            assert_close(got, np.asarray(result), True, f"e{exponent}m{mantissa}", [given])


@pytest.mark.parametrize(
    ("dtype", "exponent", "mantissa", "given", "expected"),
    [
        (ml_dtypes.float8_e4m3b11fnuz, 3, 1, [1, 1.375, 20, 0.1], [1, 1.5, np.nan, 0]),
        (ml_dtypes.float8_e5m2fnuz, 6, 0, [1.5, 3, 1024], [2, 2, 1024]),
        (ml_dtypes.float8_e4m3fn, 3, 4, [0.125, 15, 256], [0, 15, np.nan]),
        (ml_dtypes.float4_e2m1fn, 5, 0, [0.5, -1.5, 6], [0.5, -2, 6]),
        (ml_dtypes.float8_e8m0fnu, 2, 3, [1, 2, 4], [1, 2, np.nan]),
        (np.float16, 5, 0, [1.5, 3, np.nan], [2, 2, np.inf]),
    ],
)
def test_precision_is_reduced_by_value(
    dtype: Any, exponent: int, mantissa: int, given: list[float], expected: list[float]
) -> None:
    """Formats whose biases are not those of IEEE, and that have no infinity: overflow gives NaN."""
    operand = np.array([given]).astype(dtype)
    (got,) = run("stablehlo.reduce_precision", operand, exponent_bits=exponent, mantissa_bits=mantissa)
    np.testing.assert_array_equal(got.astype(np.float64), expected)


def test_top_k_is_that_of_xla() -> None:
    jax: Any = pytest.importorskip("jax", reason="JAX is not installed")
    cases = [(dtype, k) for dtype in (*REALS, *INTEGERS[:8], *BOOL) for k in (1, 5, 50)]
    with jax.enable_x64(True):
        operands = [values(dtype, 1)[0] for dtype, _ in cases]
        every = jax.jit(lambda xs: [jax.lax.top_k(x, k) for x, (_, k) in zip(xs, cases, strict=True)])(
            operands
        )
    for operand, (_, k), expected in zip(operands, cases, every, strict=True):
        for got, right in zip(run("chlo.top_k", operand[None, None], k=k), expected, strict=True):
            np.testing.assert_array_equal(got[0, 0].astype(np.float64), np.asarray(right).astype(np.float64))


def test_integers_wrap_as_those_of_python() -> None:
    for dtype in INTEGERS:
        left, right = values(dtype, 2)
        bits = getattr(element_type_of(dtype), "bits", 0)
        products = [int(a) * int(b) for a, b in zip(left, right, strict=True)]
        (high,) = run("chlo.mulhi", left[None], right[None])
        assert [int(x) for x in high] == [product >> bits for product in products]
        (power,) = run("stablehlo.power", left[None], right[None])
        expected = [
            pow(int(a), int(b), 1 << bits) if b >= 0 else {1: 1, -1: (-1) ** (int(b) & 1)}.get(int(a), 0)
            for a, b in zip(left, right, strict=True)
        ]
        assert [int(x) % (1 << bits) for x in power] == [x % (1 << bits) for x in expected]
    (ones,) = run("stablehlo.popcnt", np.array([[-1, -8, 7]], ml_dtypes.int4))
    assert ones.astype(int).tolist() == [4, 1, 3]


def test_total_order() -> None:
    order = np.array([-np.nan, -np.inf, -1, -0.0, 0.0, 1e-45, 1, np.inf, np.nan])
    for dtype in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2):
        operand = order.astype(dtype)[None]
        attributes = {"compare_type": "TOTALORDER", "comparison_direction": "LE"}
        assert run("stablehlo.compare", operand[:, :-1], operand[:, 1:], **attributes).all()


def test_precision_in_f64_is_that_of_the_c_library() -> None:
    pytest.importorskip("scipy", reason="scipy is not installed")
    x = np.linspace(0.1, 5, 301)
    for name, function in (("erf", math.erf), ("erfc", math.erfc), ("lgamma", math.lgamma)):
        (got,) = run(f"chlo.{name}", x[None])
        np.testing.assert_allclose(got, [function(value) for value in x], rtol=2e-14, atol=2e-15)
    (zeta,) = run("chlo.zeta", np.float64([[2, 4, 1, 3]]), np.float64([[1, 1, 1, 0]]))
    np.testing.assert_allclose(zeta, [math.pi**2 / 6, math.pi**4 / 90, np.inf, np.nan])
    (trigamma,) = run("chlo.polygamma", np.float64([[1, 2, 0.5]]), np.float64([[1, 1, 1]]))
    np.testing.assert_allclose(trigamma, [math.pi**2 / 6, -2.404113806319188, np.nan])


@pytest.mark.parametrize("name", ["sinh", "cosh"])
def test_hyperbolic_functions_are_off_as_those_of_xla(name: str) -> None:
    jax: Any = pytest.importorskip("jax", reason="JAX is not installed")
    x = np.linspace(1, 20, 4001, dtype=np.float32) * np.float32([[1], [-1]])
    (got,) = run(f"chlo.{name}", x[None])
    expected = np.asarray(jax.jit(getattr(jax.lax, name))(x))
    assert np.abs(got.view(np.int32) - expected.view(np.int32)).max() <= 3


def test_missing_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    special._scipy_special.cache_clear()  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(ShardyError, match=r"pip install 'shardy_py\[interpret\]'"):
        run("chlo.erf", np.float32([[1]]))


class Doubling:
    """A region that adds its arguments."""

    combiner, terms, lanes = "", (), 1

    def __call__(self, *arguments: Array) -> tuple[Array, ...]:
        return (arguments[0] + arguments[-1],)


SPECIAL_OPERANDS: dict[str, Callable[[Array, Array], tuple[Array, ...]]] = {
    "stablehlo.clamp": lambda x, y: (x[:, 0], y, x[:, 0] + 2),
    "stablehlo.select": lambda x, y: (x[:, 0] > 0, x, y),
    "chlo.broadcast_select": lambda x, y: (x > 0, x[:, :1], y),
    **{f"chlo.{name}": lambda x, y: (x, y) for name in ("next_after", "polygamma", "zeta")},
}
ON_INTEGERS = {
    *("and", "count_leading_zeros", "mulhi", "not", "or", "popcnt", "xor"),
    *("shift_left", "shift_right_arithmetic", "shift_right_logical"),
}
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "stablehlo.compare": {"comparison_direction": "LT"},
    "chlo.broadcast_compare": {"comparison_direction": "LT"},
    "stablehlo.reduce_precision": {"exponent_bits": 5, "mantissa_bits": 3},
    "chlo.constant_like": {"value": 2.5},
    "chlo.top_k": {"k": 2},
}


def lane_operands(name: str, lanes: int) -> tuple[Array, ...]:
    """Operands of any op of this family."""
    short = name.split(".")[1].removeprefix("broadcast_")
    x, y = np.random.default_rng(1).standard_normal((2, lanes, 6)) * 3
    dtype = (
        np.int32 if short in ON_INTEGERS else np.complex128 if short == "_asin_acos_kernel" else np.float32
    )
    x, y = x.astype(dtype), y.astype(dtype)
    if name in SPECIAL_OPERANDS:
        return SPECIAL_OPERANDS[name](x, y)
    return (x, y) if short in BINARY | {"compare", "polygamma", "zeta", "mulhi", "map"} else (x,)


ROWS = {**elementwise.COMPUTE, **conversion.COMPUTE, **chlo.COMPUTE, **quantization.COMPUTE}


@pytest.mark.parametrize("name", sorted(ROWS))
def test_lanes_are_independent(name: str) -> None:
    operands = lane_operands(name, 3)
    quantized = "!quant.uniform<i8:f32:0, {0.1:2, 0.2, 0.1, 0.1, 0.1:-3, 0.1}>"
    result = {"stablehlo.uniform_quantize": quantized}.get(name, "f32" if "bitcast" in name else "i32")
    found = record(name, list(operands), (result,), **ATTRIBUTES.get(name, {}))
    if name == "stablehlo.uniform_dequantize":
        operands = (operands[0].astype(np.int8),)
        found = OpRecord(name, (TensorType((6,), quantized),), (TensorType((6,)),))
    bodies = (Doubling(),) if name == "stablehlo.map" else ()

    def apply(*arrays: Array) -> tuple[Array, ...]:
        results = ROWS[name](found, *bodies, *arrays)
        return results if isinstance(results, tuple) else (results,)

    try:
        together = apply(*operands)
    except ShardyError as error:
        if special.INSTALL not in str(error):
            raise
        pytest.skip("scipy is not installed")
    for lane in range(3):
        alone = apply(*(x[lane : lane + 1] for x in operands))
        mixed = apply(operands[0][lane : lane + 1], *operands[1:])
        for whole, part, partly in zip(together, alone, mixed, strict=True):
            assert len(part) == 1
            np.testing.assert_array_equal(whole[min(lane, len(whole) - 1)], part[0])
            np.testing.assert_array_equal(partly[min(lane, len(partly) - 1)], part[0])
