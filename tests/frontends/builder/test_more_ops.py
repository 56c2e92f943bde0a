"""Collectives, ops on tokens and on sizes known at run time: each op's text and inferred types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shardy_py.api import Mesh, P, Program, ShardyError
from shardy_py.frontends import builder
from shardy_py.frontends.builder import build, ops, tensor
from shardy_py.mlir.dialects.stablehlo.structs import GatherDimensionNumbers

X = tensor((8, 16))
SIZES = tensor((2,), "i32")
DYNAMIC = tensor((None, 16))
SCALAR = tensor(())
GROUPS = ((0, 1), (2, 3))
FEATURES = tensor((16,))


def _token() -> Any:
    return ops.create_token()


EXAMPLES: tuple[tuple[Callable[..., Any], tuple[Any, ...], str], ...] = (
    (lambda x: ops.all_gather(x, -1, GROUPS), (X,), "(tensor<8x16xf32>) -> tensor<8x32xf32>"),
    (lambda x: ops.all_reduce(x, GROUPS, channel=1), (X,), "#stablehlo.channel_handle<handle = 1, type = 1>"),
    (
        lambda x: ops.reduce_scatter(x, 0, GROUPS, lambda a, b: ops.maximum(a, b)),
        (X,),
        "(tensor<8x16xf32>) -> tensor<4x16xf32>",
    ),
    (lambda x: ops.all_to_all(x, 0, 1, GROUPS), (X,), "(tensor<8x16xf32>) -> tensor<4x32xf32>"),
    (lambda x: ops.collective_permute(x, ((0, 1), (1, 0))), (X,), "dense<[[0, 1], [1, 0]]>"),
    (lambda x: ops.collective_broadcast(x, GROUPS), (X,), '"stablehlo.collective_broadcast"'),
    (lambda x: ops.collective_reduce(x, GROUPS), (X,), '"stablehlo.collective_reduce"'),
    (
        lambda x: ops.async_done(ops.async_start(lambda y: ops.all_gather(y, 0, GROUPS), x)),
        (X,),
        "(!stablehlo.future<tensor<16x16xf32>>) -> tensor<16x16xf32>",
    ),
    (lambda: ops.partition_id(), (), "stablehlo.partition_id : tensor<ui32>"),
    (lambda: ops.replica_id(), (), "stablehlo.replica_id : tensor<ui32>"),
    (lambda: ops.infeed(ops.after_all(_token()), [X])[0], (), "tensor<8x16xf32>, !stablehlo.token)"),
    (lambda x: ops.outfeed([x], _token(), "there"), (X,), 'outfeed_config = "there"'),
    (lambda x: ops.send([x], _token(), 3, to_host=True), (X,), "handle = 3, type = 2"),
    (lambda: ops.recv(_token(), [X], 4, from_host=True)[0], (), "handle = 4, type = 3"),
    (
        lambda x: ops.get_tuple_element(ops.tuple_(x, _token()), 0),
        (X,),
        "stablehlo.get_tuple_element %1[0] : (tuple<tensor<8x16xf32>, !stablehlo.token>) -> tensor<8x16xf32>",
    ),
    (lambda x: ops.get_dimension_size(x, -1), (X,), "dim = 1 : (tensor<8x16xf32>) -> tensor<i32>"),
    (
        lambda x, n: ops.set_dimension_size(x, n, 0),
        (X, tensor((), "i32")),
        "tensor<?x16xf32, #stablehlo.bounds<8, ?>>",
    ),
    (
        lambda x, n: ops.dynamic_broadcast_in_dim(x, n, (1,), DYNAMIC),
        (FEATURES, SIZES),
        "(tensor<16xf32>, tensor<2xi32>) -> tensor<?x16xf32>",
    ),
    (lambda n: ops.dynamic_iota(n, 0, DYNAMIC), (SIZES,), "stablehlo.dynamic_iota %arg0, dim = 0"),
    (lambda x, n: ops.dynamic_reshape(x, n, DYNAMIC), (X, SIZES), "-> tensor<?x16xf32>"),
    (
        lambda x, n: ops.dynamic_pad(x, ops.constant(0.0, "f32"), n, n, n, tensor((None, None))),
        (X, SIZES),
        "stablehlo.dynamic_pad",
    ),
    (lambda x, n: ops.real_dynamic_slice(x, n, n, n, DYNAMIC), (X, SIZES), "stablehlo.real_dynamic_slice"),
    (
        lambda x, i: ops.dynamic_gather(
            x,
            i,
            ops.constant([1, 16], "i32"),
            GatherDimensionNumbers((1,), (0,), (), (), (0,), 1),
        ),
        (X, tensor((3, 1), "i32")),
        "-> tensor<3x16xf32>",
    ),
    (lambda x: ops.bitcast_convert(x, "i32"), (X,), "(tensor<8x16xf32>) -> tensor<8x16xi32>"),
    (lambda x: ops.bitcast_convert(x, "i8", (8, 16, 4)), (X,), "-> tensor<8x16x4xi8>"),
    (lambda x: ops.reduce_precision(x, 5, 10), (X,), "format = e5m10"),
    (
        lambda a, b, n: ops.rng(a, b, n, "NORMAL"),
        (SCALAR, SCALAR, tensor((2,), "i64")),
        "stablehlo.rng %arg0, %arg1, %arg2, distribution = NORMAL",
    ),
    (
        lambda s: ops.rng_bit_generator(s, tensor((8,), "ui32"), "THREE_FRY"),
        (tensor((2,), "ui64"),),
        "(tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)",
    ),
    (lambda a, b: ops.triangular_solve(a, b, lower=True), (tensor((8, 8)), X), "lower = true"),
    (
        lambda x, s: ops.batch_norm_training(x, s, s, 1e-3, -1),
        (X, FEATURES),
        "-> (tensor<8x16xf32>, tensor<16xf32>, tensor<16xf32>)",
    ),
    (
        lambda x, s: ops.batch_norm_inference(x, s, s, s, s, 1e-3, 1),
        (X, FEATURES),
        '"stablehlo.batch_norm_inference"',
    ),
    (
        lambda x, s: ops.batch_norm_grad(x, s, s, s, x, 1e-3, 1),
        (X, FEATURES),
        '"stablehlo.batch_norm_grad"',
    ),
    (lambda x: ops.squeeze(x), (tensor((1, 3, 1)),), "(tensor<1x3x1xf32>) -> tensor<3xf32>"),
    (lambda x: ops.squeeze(x, (-1,)), (tensor((1, 3, 1)),), "(tensor<1x3x1xf32>) -> tensor<1x3xf32>"),
    (
        lambda x: builder.composite("my.gelu", ops.tanh, x, attributes={"kind": "tanh"}, version=2),
        (X,),
        'stablehlo.composite "my.gelu" %arg0 {composite_attributes = {kind = "tanh"}, decomposition = @tanh',
    ),
    (
        lambda x, s: builder.select_and_scatter(
            x, s, 0, lambda a, b: a >= b, lambda a, b: a + b, window_dimensions=(2, 2), window_strides=(2, 2)
        ),
        (X, tensor((4, 8))),
        '"stablehlo.select_and_scatter"',
    ),
)


@pytest.mark.parametrize("example", EXAMPLES, ids=[text for _, _, text in EXAMPLES])
def test_ops(example: tuple[Callable[..., Any], tuple[Any, ...], str]) -> None:
    function, types, text = example
    program = build(function, *types)
    assert text in program.text()
    assert Program.parse(program.text()).text() == program.text()


def test_collectives_inside_manual_computations() -> None:
    def local(x: Any) -> Any:
        return ops.all_reduce(x, ((0, 1),), channel=1)

    def whole(x: Any) -> Any:
        return builder.manual_computation(local, [x], [P("x")], [P()], ["x"])

    program = build(whole, X, mesh=Mesh.of(x=2))
    assert program["result 0"].shape == (4, 16)


def test_parts_that_do_not_fit() -> None:
    with pytest.raises(ShardyError, match=r"dimension 0 of tensor<8x16xf32> is not divisible by 3"):
        build(lambda x: ops.reduce_scatter(x, 0, ((0, 1, 2),)), X)
    with pytest.raises(ShardyError, match=r"expected groups of devices as rows of numbers, got \(\)"):
        build(lambda x: ops.all_gather(x, 0, ()), X)
