"""Programs of the builder give what numpy gives for the same expression: run by the compiler that JAX has.

Not in `tests/frontends/builder`: once JAX has compiled in a process, the C++ reference crashes on invalid
text there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from shardy_py.frontends import builder
from shardy_py.frontends.builder import build, ops
from tests.frontends.run_stablehlo import run

_random = np.random.default_rng(0)
X = _random.standard_normal((4, 5, 6)).astype(np.float32)
Y = _random.standard_normal((5, 6)).astype(np.float32)
M = _random.standard_normal((3, 6, 7)).astype(np.float32)
ROWS = np.array([[0, 3], [1, 1], [4, 2]], np.int32)
I8 = np.array([-7, -3, 0, 3, 7], np.int8)
SCATTER = {
    "update_window_dims": [1],
    "inserted_window_dims": [0],
    "scatter_dims_to_operand_dims": [0],
    "index_vector_dim": 1,
}

SAME: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "parts": (lambda x: x[1, ..., 2:6:2, None], (X,)),
    "parts from the end": (lambda x: x[-1, :, None, -2], (X,)),
    "empty parts": (lambda x: x[3:1, 1:], (X,)),
    "broadcast": (lambda x, y: x + y * 2.0, (X, Y)),
    "numbers first": (lambda x: 1 - 2 / x + 2.0**x, (X,)),
    "comparisons": (lambda x: (x > 0) & ~(x <= 0.5) | (x == x) ^ (x < 0), (X,)),
    "arithmetic shift": (lambda a: (a << 1) >> 2, (I8,)),
    "logical shift": (lambda a: a >> 1, (I8.astype(np.uint8),)),
    "bits": (lambda a: 1 | (2 & (4 ^ a)), (I8,)),
    "transposed": (lambda x: x.T, (X,)),
    "batches": (lambda x, m: x[:3] @ m, (X, M)),
    "broadcast batches": (lambda x, m: x[:1] @ m, (X, M)),
    "matrix by batches": (lambda y, m: y @ m, (Y, M)),
    "vector by batches": (lambda y, m: y[0] @ m, (Y, M)),
    "batches by vector": (lambda x, y: x @ y[0], (X, Y)),
}
PAIRS: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
    "division": (lambda a: a / 2, lambda a: np.trunc(a / 2), (I8,)),
    "remainder": (lambda a: 7 % (a * 2 + 1), lambda a: np.fmod(np.int8(7), a * 2 + 1), (I8,)),
    "einsum": (
        lambda x, m: builder.einsum("bik,ckj->jbic", x, m),
        lambda x, m: np.einsum("bik,ckj->jbic", x, m),
        (X, M),
    ),
    "sum": (lambda x: builder.reduce_sum(x, (0, -1)), lambda x: x.sum((0, 2)), (X,)),
    "max": (lambda a: builder.reduce_max(a), lambda a: a.max(), (I8,)),
    "min": (lambda x: builder.reduce_min(x, 1), lambda x: x.min(1), (X,)),
    "prod": (lambda x: builder.reduce_prod(x, 0), lambda x: x.prod(0), (X,)),
    "take": (ops.take, lambda y, rows: y[rows], (Y, ROWS)),
    "clamp": (lambda x: ops.clamp(0, x, 0.5), lambda x: np.clip(x, 0, 0.5), (X,)),
    "select": (lambda x: ops.select(x > 0, x, -1), lambda x: np.where(x > 0, x, -1), (X,)),
    "pad": (
        lambda y: ops.pad(y, 1, (1, 0), (0, 2)),
        lambda y: np.pad(y, ((1, 0), (0, 2)), constant_values=1),
        (Y,),
    ),
    "reverse": (lambda y: ops.reverse(y, -1), lambda y: y[:, ::-1], (Y,)),
    "sort": (lambda y: builder.sort((y,), lambda a, b: a > b, dimension=0), lambda y: -np.sort(-y, 0), (Y,)),
    "argsort": (lambda y: builder.sort((y, ops.iota((5, 6), 1)))[1], lambda y: np.argsort(y), (Y,)),
    "concatenate": (lambda y: ops.concatenate([y, -y], -2), lambda y: np.concatenate([y, -y]), (Y,)),
    "broadcast_to": (lambda y: ops.broadcast_to(y, (2, 5, 6)), lambda y: np.broadcast_to(y, (2, 5, 6)), (Y,)),
    "dynamic_slice": (lambda y: ops.dynamic_slice(y, [1, 2], (2, 3)), lambda y: y[1:3, 2:5], (Y,)),
    "while": (
        lambda y: builder.while_loop(
            lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), (ops.constant(0, "i32"), y)
        )[1],
        lambda y: y * 8,
        (Y,),
    ),
    "case": (lambda y: builder.case(ops.constant(7, "i32"), lambda: y, lambda: -y), lambda y: -y, (Y,)),
    "if": (lambda y: builder.if_(ops.constant(True), lambda: y, lambda: -y), lambda y: y, (Y,)),
    "call": (lambda y: builder.call(lambda a, b: a - b, y, -y), lambda y: y * 2, (Y,)),
    "reduce_window": (
        lambda y: builder.reduce_window((y,), (0,), ops.add, (1, 3), padding=((0, 0), (2, 0))),
        lambda y: np.stack([y[:, max(0, i - 2) : i + 1].sum(1) for i in range(6)], 1),
        (Y,),
    ),
    "scatter": (
        lambda y: builder.scatter(
            (ops.constant(0.0, "f32", (6, 6)),),
            ops.constant([[3], [0], [3], [5], [1]], "i32"),
            (y,),
            SCATTER,
            ops.add,
        ),
        lambda y: np.stack([y[1], y[4], 0 * y[0], y[0] + y[2], 0 * y[0], y[3]]),
        (Y,),
    ),
    "narrow constants": (lambda: ops.convert(ops.constant([-8, 7], "i4"), "i32"), lambda: [-8, 7], ()),
    "narrow floats": (lambda: ops.convert(ops.constant([1.5, -6], "f4E2M1FN"), "f32"), lambda: [1.5, -6], ()),
    "many bools": (lambda: ops.constant(np.arange(300) % 3 == 0), lambda: np.arange(300) % 3 == 0, ()),
    "strided constants": (lambda: ops.constant(Y.astype(">f4")[::2, ::-1]), lambda: Y[::2, ::-1], ()),
    "iota": (lambda: ops.iota((3, 4), -1), lambda: np.broadcast_to(np.arange(4), (3, 4)), ()),
}
CASES = PAIRS | {name: (function, function, arrays) for name, (function, arrays) in SAME.items()}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    function, numpy_function, arrays = CASES[name]
    found = run(build(function, *arrays), arrays)[0]
    expected = np.asarray(numpy_function(*arrays))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.astype(expected.dtype), expected, rtol=1e-5, atol=1e-5)
