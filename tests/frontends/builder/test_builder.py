"""Programs built from Python: each op's text, inferred types, mistakes at the line that made them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from shardy_py.api import Mesh, P, Program, ShardyError, propagate
from shardy_py.frontends import builder
from shardy_py.frontends.builder import Argument, build, ops, tensor
from shardy_py.mlir.dialects.stablehlo import OPS

X, W, B = tensor((8, 16)), tensor((16, 4)), tensor((16,))
INDICES = tensor((3,), "i32")
PRED = tensor((8, 16), "i1")
CONV = {
    "input_batch_dimension": 0,
    "input_feature_dimension": 3,
    "input_spatial_dimensions": (1, 2),
    "kernel_input_feature_dimension": 2,
    "kernel_output_feature_dimension": 3,
    "kernel_spatial_dimensions": (0, 1),
    "output_batch_dimension": 0,
    "output_feature_dimension": 3,
    "output_spatial_dimensions": (1, 2),
}
SCATTER = {
    "inserted_window_dims": (0,),
    "update_window_dims": (1,),
    "scatter_dims_to_operand_dims": (0,),
    "index_vector_dim": 1,
}

EXAMPLES: tuple[tuple[Callable[..., Any], tuple[Any, ...], str], ...] = (
    (lambda x: x + 1, (X,), "stablehlo.add %arg0, %cst : tensor<8x16xf32>"),
    (lambda x, b: x * b, (X, B), "stablehlo.multiply %arg0, %0 : tensor<8x16xf32>"),
    (lambda x: 2 / x, (X,), "stablehlo.divide %cst, %arg0"),
    (lambda x: 1 - x, (X,), "stablehlo.subtract %cst, %arg0"),
    (lambda x: x - np.ones(16), (X,), "dense<1.000000e+00> : tensor<16xf32>"),
    (lambda x: x**2.0, (X,), "stablehlo.power"),
    (lambda x: x % 3.0, (X,), "stablehlo.remainder"),
    (lambda x: (x > 0) & ~(x <= 1), (X,), "stablehlo.and %0, %2 : tensor<8x16xi1>"),
    (lambda x: (x >= 0) | (x < 1) ^ (x < 2), (X,), "stablehlo.xor"),
    (lambda x: -x, (X,), "stablehlo.negate %arg0 : tensor<8x16xf32>"),
    (
        lambda x: x.T,
        (X,),
        "stablehlo.transpose %arg0, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>",
    ),
    (
        lambda x, w: x @ w,
        (X, W),
        "contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>",
    ),
    (lambda x, b: x @ b, (X, B), "(tensor<8x16xf32>, tensor<16xf32>) -> tensor<8xf32>"),
    (
        lambda b, w: b @ w,
        (B, W),
        "contracting_dims = [0] x [0] : (tensor<16xf32>, tensor<16x4xf32>) -> tensor<4xf32>",
    ),
    (
        lambda x, y: x @ y,
        (tensor((5, 2, 3)), tensor((3, 4))),
        "contracting_dims = [2] x [0] : (tensor<5x2x3xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>",
    ),
    (
        lambda x, y: x @ y,
        (tensor((2, 3)), tensor((5, 3, 4))),
        "batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<5x2x3xf32>, tensor<5x3x4xf32>)",
    ),
    (
        lambda x, y: builder.einsum("bij,bjk->kbi", x, y),
        (tensor((5, 2, 3)), tensor((5, 3, 4))),
        "dims = [2, 0, 1] : (tensor<5x2x4xf32>) -> tensor<4x5x2xf32>",
    ),
    (lambda x: ops.convert(x, ml_dtypes.bfloat16), (X,), "(tensor<8x16xf32>) -> tensor<8x16xbf16>"),
    (lambda x: ops.compare(x, 1.0, "EQ", "FLOAT"), (X,), "stablehlo.compare EQ, %arg0, %cst, FLOAT"),
    (lambda p, x: ops.select(p, x, 0), (PRED, X), "stablehlo.select %arg0, %arg1, %cst"),
    (lambda x: ops.clamp(0, x, 1), (X,), "stablehlo.clamp %cst, %arg0, %cst_0"),
    (lambda x: ops.is_finite(x), (X,), "(tensor<8x16xf32>) -> tensor<8x16xi1>"),
    (lambda x: ops.real(ops.complex(x, x)), (X,), "(tensor<8x16xcomplex<f32>>) -> tensor<8x16xf32>"),
    (lambda x: ops.reshape(x, (4, -1)), (X,), "(tensor<8x16xf32>) -> tensor<4x32xf32>"),
    (
        lambda x: ops.broadcast_in_dim(x, (16, 3), (0,)),
        (B,),
        "dims = [0] : (tensor<16xf32>) -> tensor<16x3xf32>",
    ),
    (
        lambda x: ops.slice_(x, (0, 2), (8, 16), (2, 7)),
        (X,),
        "[0:8:2, 2:16:7] : (tensor<8x16xf32>) -> tensor<4x2xf32>",
    ),
    (lambda x: ops.dynamic_slice(x, [ops.constant(0, "i32")] * 2, (2, 3)), (X,), "sizes = [2, 3]"),
    (
        lambda x, u: ops.dynamic_update_slice(x, u, [ops.constant(0, "i32")] * 2),
        (X, tensor((1, 1))),
        "stablehlo.dynamic_update_slice",
    ),
    (
        lambda x: ops.concatenate([x, x], 1),
        (X,),
        "dim = 1 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>",
    ),
    (
        lambda x: ops.pad(x, 0, (1, 0), (0, 2)),
        (X,),
        "low = [1, 0], high = [0, 2], interior = [0, 0] : (tensor<8x16xf32>, tensor<f32>)",
    ),
    (lambda x: ops.reverse(x, (0,)), (X,), "stablehlo.reverse %arg0, dims = [0]"),
    (lambda x, i: ops.take(x, i), (X, INDICES), "-> tensor<3x16xf32>"),
    (
        lambda x: ops.fft(x, "RFFT", (16,)),
        (X,),
        "type = RFFT, length = [16] : (tensor<8x16xf32>) -> tensor<8x9xcomplex<f32>>",
    ),
    (lambda x: ops.cholesky(x, lower=True), (tensor((4, 4)),), "stablehlo.cholesky %arg0, lower = true"),
    (lambda x: ops.optimization_barrier(x, x), (X,), "stablehlo.optimization_barrier %arg0, %arg0"),
    (
        lambda x: ops.custom_call("f", [x], [B], has_side_effect=True),
        (X,),
        "stablehlo.custom_call @f(%arg0) {has_side_effect = true}",
    ),
    (lambda: ops.iota((4, 2), 1), (), "stablehlo.iota dim = 1 : tensor<4x2xi32>"),
    (lambda: ops.constant([[1, 2]], "ui8"), (), "dense<[[1, 2]]> : tensor<1x2xui8>"),
    (
        lambda: ops.constant(0, "f32", (1 << 20, 1 << 20)),
        (),
        "dense<0.000000e+00> : tensor<1048576x1048576xf32>",
    ),
    (lambda x: builder.reduce_sum(x, (1,)), (X,), "applies stablehlo.add across dimensions = [1]"),
    (lambda x: builder.reduce_max(x, (0, 1)), (tensor((2, 2), "i8"),), "dense<-128> : tensor<i8>"),
    (
        lambda x: builder.reduce_window((x,), (0,), lambda a, b: a + b, (2, 2), window_strides=(2, 2))[0],
        (X,),
        "-> tensor<4x8xf32>",
    ),
    (
        lambda x: builder.sort((x,), dimension=0),
        (X,),
        '"stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = false}>',
    ),
    (lambda x: builder.map_((x, x), lambda a, b: a * b), (X,), '"stablehlo.map"'),
    (
        lambda x, i, u: builder.scatter((x,), ops.reshape(i, (3, 1)), (u,), SCATTER, lambda a, b: a + b),
        (X, INDICES, tensor((3, 16))),
        '"stablehlo.scatter"',
    ),
    (
        lambda x, k: builder.convolution(x, k, CONV, window_strides=(2, 2), padding=((1, 1), (1, 1))),
        (tensor((1, 8, 8, 3)), tensor((3, 3, 3, 7))),
        "-> tensor<1x4x4x7xf32>",
    ),
    (
        lambda x: builder.if_(x[...] if False else ops.constant(True), lambda: x, lambda: -x),
        (X,),
        '"stablehlo.if"',
    ),
    (lambda x: builder.case(ops.constant(1, "i32"), lambda: x, lambda: -x), (X,), '"stablehlo.case"'),
    (
        lambda x: builder.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), (ops.constant(0, "i32"), x)
        ),
        (X,),
        "stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0)",
    ),
    (
        lambda x, k: builder.convolution(x, k, CONV | {"input_spatial_dimensions": [1, 2]}),
        (tensor((None, 8, 8, 3)), tensor((3, 3, 3, 7))),
        "-> tensor<?x6x6x7xf32>",
    ),
    (
        lambda x, y: builder.dot_general(x, y, ((1,), (1,)), ((0,), (0,)), "f32"),
        (tensor((None, 16, 4), "bf16"), tensor((5, 16, None), "bf16")),
        "-> tensor<5x4x?xf32>",
    ),
    (
        lambda x: (ops.convert(x, "bf16"), ops.bitcast_convert(x, "i32")),
        (tensor((None, 16), bounds=(8, None)),),
        "-> tensor<?x16xi32, #stablehlo.bounds<8, ?>>",
    ),
    (
        lambda x: builder.reduce_window((x,), (0,), lambda a, b: a + b, (), padding=())[0],
        (tensor(()),),
        "padding = dense<> : tensor<0x2xi64>",
    ),
    (lambda x: ops.dynamic_slice(x, [], ()), (tensor(()),), "return %arg0 : tensor<f32>"),
    (lambda x, i: ops.dynamic_slice(x, [i, 0], (2, 3)), (X, tensor((), "i64")), "dense<0> : tensor<i64>"),
    (lambda x: x + 1.5, (tensor((4,), "f4E2M1FN"),), "dense<1.500000e+00> : tensor<4xf4E2M1FN>"),
    (
        lambda x: builder.emit("dot", x, x.T, results=tensor((8, 8))) and x,
        (X,),
        "stablehlo.dot %arg0, %0",
    ),
)


@pytest.mark.parametrize("example", EXAMPLES, ids=[text for _, _, text in EXAMPLES])
def test_ops(example: tuple[Callable[..., Any], tuple[Any, ...], str]) -> None:
    function, types, text = example
    program = build(function, *types)
    assert text in program.text()
    assert Program.parse(program.text()).text() == program.text()


def test_every_op_has_a_function(root: Path) -> None:
    named = {"while": "while_loop"}
    legacy = {"broadcast", "cross-replica-sum", "dot", "einsum", "torch_index_select", "unary_einsum"}
    ends_regions = {"return"}
    missing = {
        name
        for name in OPS.rows.keys() - legacy - ends_regions
        if not any(
            hasattr(place, known)
            for place in (ops, builder)
            for known in (name, f"{name}_", named.get(name, name))
        )
    }
    assert missing == set()
    page = (root / "docs" / "builder.md").read_text()
    assert not [name for name in legacy if f"`{name}`" not in page]


def test_arguments_have_names_shardings_and_lines() -> None:
    def layer(x: Any, w: Any) -> Any:
        return ops.tanh(x @ w)

    program = build(
        layer, X, Argument(W, P(None, "y"), "weights"), mesh=Mesh.of(x=2, y=2), out_shardings=[P("x")]
    )
    assert program["weights"].name == "%arg1"
    assert str(program["weights"].sharding) == '<@mesh, [{}, {"y"}]>'
    assert str(program["result 0"].sharding) == '<@mesh, [{"x"}, {}]>'
    line = layer.__code__.co_firstlineno + 1
    assert program.values.of_op("tanh")[0].location == f"{__file__}:{line}:1"
    assert build(layer, X, W)["x"].name == "%arg0"


def test_functions_are_built_once_a_type() -> None:
    def double(x: Any) -> Any:
        return x * 2.0

    program = build(
        lambda x, b: (builder.call(double, x), builder.call(double, -x), builder.call(double, b)), X, B
    )
    assert program.functions == ("main", "double", "double_0")
    assert program.text().count("call @double(") == 2


def test_manual_computation() -> None:
    def local(x: Any) -> Any:
        assert x.shape == (4, 16)
        return x + 1

    def whole(x: Any) -> Any:
        return builder.manual_computation(local, [x], [P("x")], [P("x")], ["x"])

    program = build(whole, X, mesh=Mesh.of(x=2, y=2))
    assert 'manual_axes={"x"} (%arg1: tensor<4x16xf32>)' in program.text()
    assert program["result 0"].shape == (8, 16)


def test_constraints_groups_and_barriers_propagate() -> None:
    def whole(x: Any) -> Any:
        y = builder.sharding_constraint(x, P("x", None))
        z = builder.propagation_barrier(ops.tanh(y), "FORWARD")
        builder.sharding_group([y, z], 0)
        return z

    result = propagate(build(whole, X, mesh=Mesh.of(x=2)))
    assert str(result["result 0"].sharding) == '<@mesh, [{"x"}, {}]>'


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x + np.zeros((3,)), r"shapes \(8, 16\) and \(3,\) cannot be broadcast together"),
        (lambda x: x @ x, "contracting dimension sizes must match for lhs/rhs"),
        (lambda x: ops.reshape(x, (3, -1)), "cannot be reshaped to"),
        (lambda x: ops.transpose(x, (0, 0)), "must be a permutation of"),
        (lambda x: builder.einsum("ij,j->i", x, x), "'j' in 'ij,j->i' has 1 letters"),
        (lambda x: builder.einsum("ij,kl->i", x, x), "must be in the result or on both sides"),
        (lambda x: ops.compare(x, x, "ABOVE"), "got 'ABOVE'"),
        (
            lambda x: builder.emit("tanh", x, speed=1),
            "stablehlo.tanh: unknown attribute 'speed': expected 'result_accuracy'",
        ),
        (
            lambda x: builder.emit("tanhh", x),
            "unknown StableHLO op 'tanhh': expected one of .*; name ops of other dialects",
        ),
        (lambda x: builder.emit("reshape", x), "is not inferred; pass results="),
        (
            lambda x: x if x else -x,
            "cannot branch on a traced tensor; use select, if_ or case",
        ),
        (lambda x: x + "a", "expected a tensor, a number or an array, got 'a'"),
        (lambda x: 3, "expected a tensor of the program under construction, got 3"),
        (
            lambda x: builder.sharding_constraint(x, P("x")),
            "expected one mesh with these axes in the program, got none",
        ),
        (lambda x: ops.convert(x, "f33"), "unknown element type 'f33'"),
    ],
)
def test_mistakes_are_placed(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(ShardyError, match=message) as caught:
        build(function, X)
    position = caught.value.diagnostics[0].where
    assert position is not None
    assert Path(position.file) == Path(__file__)


def test_ops_need_a_program() -> None:
    with pytest.raises(ShardyError, match="no program is under construction"):
        ops.iota((3,))
