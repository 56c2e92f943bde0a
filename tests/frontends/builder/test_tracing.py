"""Python's operators, dimensions from the end, and misuse of tensors, numbers and functions."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shardy_py.api import Mesh, P, Sharding, ShardyError
from shardy_py.frontends import builder
from shardy_py.frontends.builder import Argument, build, ops, tensor
from shardy_py.frontends.builder.broadcasting import dimension

X, I8 = tensor((8, 16)), tensor((4,), "i8")
LEAKED: list[Any] = []
THREE: Any = 3
SPLIT = Sharding(Mesh.of(a=3), P(None, "a"))

OPERATORS: tuple[tuple[Callable[..., Any], Any, str], ...] = (
    (lambda x: x == 1, X, "stablehlo.compare EQ, %arg0"),
    (lambda x: x != x, X, "stablehlo.compare NE, %arg0"),
    (lambda x: abs(x), X, "stablehlo.abs"),
    (lambda x: 2.0**x, X, "stablehlo.power %cst, %arg0"),
    (lambda x: 7 % x, I8, "stablehlo.remainder %c, %arg0"),
    (lambda x: 1 | (2 & (4 ^ x)), I8, "stablehlo.or %c_1, %1"),
    (lambda x: (x << 1) >> 2, I8, "stablehlo.shift_right_arithmetic"),
    (lambda x: x >> 1, tensor((4,), "ui8"), "stablehlo.shift_right_logical"),
    (lambda x: np.ones((8, 16), np.float32) - x, X, "stablehlo.subtract %cst, %arg0"),
    (lambda x: np.float32(2) * x, X, "stablehlo.multiply %cst, %arg0"),
    (lambda x: x @ np.ones((16, 3)), X, "tensor<16x3xf32>) -> tensor<8x3xf32>"),
    (lambda x: np.ones((3, 8)) @ x, X, "(tensor<3x8xf32>, tensor<8x16xf32>) -> tensor<3x16xf32>"),
    (lambda x: x @ x, tensor((None, 4, 4)), "batching_dims = [0] x [0]"),
    (lambda x: ops.transpose(x, (-1, 0)), X, "dims = [1, 0]"),
    (lambda x: ops.concatenate((x, x), -1), X, "dim = 1"),
    (lambda x: ops.reverse(x, -2), X, "dims = [0]"),
    (lambda x: builder.sort((x,))[0], X, "dimension = 1 : i64"),
    (lambda x: builder.dot_general(x, x, ((-1,), (1,))), X, "contracting_dims = [1] x [1]"),
    (lambda x: builder.reduce_sum(x), X, "across dimensions = [0, 1]"),
    (lambda x: builder.reduce_sum(x, -1), X, "across dimensions = [1]"),
    (lambda x: builder.reduce_prod(x, (0,)), X, "dense<1.000000e+00> : tensor<f32>"),
    (lambda x: builder.reduce_max(x), tensor((4,), "i4"), "dense<-8> : tensor<i4>"),
    (lambda x: builder.reduce_max(x), tensor((4,), "f8E4M3FN"), "dense<-4.480000e+02> : tensor<f8E4M3FN>"),
    (lambda x: builder.reduce_max(x), tensor((4,), "bf16"), "dense<0xFF80> : tensor<bf16>"),
    (lambda x: builder.reduce_min(x), tensor((4,), "ui8"), "dense<255> : tensor<ui8>"),
    (lambda x: builder.reduce_min(x), tensor((4,), "i1"), "dense<true> : tensor<i1>"),
    (lambda x: x + 2.0, I8, "dense<2> : tensor<4xi8>"),
    (
        lambda x: ops.clamp(ops.constant(0.0, "f32"), x, 1),
        X,
        "(tensor<f32>, tensor<8x16xf32>, tensor<8x16xf32>)",
    ),
    (lambda x: x + np.arange(-2, 2), tensor((4,), "i2"), "dense<[-2, -1, 0, 1]> : tensor<4xi2>"),
    (lambda x: x + 15, tensor((4,), "ui4"), "dense<15> : tensor<4xui4>"),
)


@pytest.mark.parametrize("case", OPERATORS, ids=[text for _, _, text in OPERATORS])
def test_operators(case: tuple[Callable[..., Any], Any, str]) -> None:
    function, types, text = case
    assert text in build(function, types).text()


INDEXES: tuple[Any, ...] = (
    0,
    -1,
    (3, 4, 5),
    slice(1, 3),
    (slice(None), slice(None, None, 2)),
    (..., 2),
    (0, ..., slice(-2, None)),
    (None, 1, ..., None),
    (slice(3, 1), 0),
    (),
    ...,
)


@pytest.mark.parametrize("key", INDEXES, ids=str)
def test_parts_have_numpy_s_shape(key: Any) -> None:
    whole = np.zeros((4, 5, 6), np.float32)
    assert build(lambda x: x[key], whole)["result 0"].shape == whole[key].shape


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (9, "index 9 is out of range for a dimension of size 8"),
        ((0, 0, 0), r"invalid index \[0, 0, 0\] of a tensor of rank 2"),
        ((..., ...), r"invalid index \[..., ...\] of a tensor of rank 2"),
        (slice(None, None, -1), "::-1 has a negative step; use ops.reverse"),
        ("a", "index: expected integers, slices, ... or None, got 'a'"),
    ],
)
def test_parts_that_there_are_not(key: Any, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        build(lambda x: x[key], X)


@pytest.mark.parametrize("number", [-3, 2, 1.0])
def test_dimensions_that_there_are_not(number: Any) -> None:
    with pytest.raises(ShardyError, match=r"has no dimension|expected the number of a dimension"):
        dimension(number, 2)


def _leak(x: Any) -> Any:
    LEAKED.append(x)
    return x


def _of_ended_region(x: Any) -> Any:
    inside: list[Any] = []

    def branch() -> Any:
        inside.append(x + 1)
        return inside[0]

    builder.if_(ops.constant(True), branch, lambda: x)
    return inside[0] + 1


def _recurring(x: Any) -> Any:
    return builder.call(_recurring, x)


@pytest.mark.parametrize(
    ("function", "type_", "message"),
    [
        (lambda x: x + 1.5, I8, "1.5 cannot be elements of i8"),
        (lambda x: x + 300, I8, "300 cannot be elements of i8"),
        (lambda x: x - (-1), tensor((4,), "ui64"), "-1 cannot be elements of ui64"),
        (lambda x: x + 2, tensor((4,), "i1"), "2 cannot be elements of i1"),
        (lambda x: x + 1j, X, "1j cannot be elements of f32"),
        (lambda x: ops.constant(2**70, "i64"), X, "cannot be elements of i64"),
        (lambda x: ops.constant([[1], [1, 2]]), X, "expected a number or an array"),
        (
            lambda x: ops.convert(x, "bf16") + x,
            X,
            "one element type, got tensor<8x16xbf16> and .*convert one",
        ),
        (lambda x: ops.convert(x, "bf16") @ x.T, X, "one element type, got tensor<8x16xbf16> and "),
        (lambda x: x if x == 0 else -x, X, "cannot branch on a traced tensor"),
        (_of_ended_region, X, "or of a finished region is used"),
        (lambda x: builder.call(lambda y: y + x, x), X, "of another function, .* pass it to `call`"),
        (_recurring, X, "'_recurring' is recursive; use while_loop"),
        (lambda x, y: x, X, "cannot be called with 1 tensors: missing a required argument: 'y'"),
        (lambda x: x, (8, 16), r"expected the type of an argument, as tensor\(\(8, 16\)\)"),
        (lambda x: x + 1, tensor((None, 2)), "expected static sizes, got .*; ops.dynamic_"),
        (lambda x: builder.manual_computation(lambda: x, [], [], [P()], ["x"]), X, "pass it to .*manual_com"),
        (
            lambda x: builder.manual_computation(ops.tanh, [x], [SPLIT], [SPLIT], ["a"]),
            X,
            "dimension 1 of input 0, a tensor<8x16xf32>, is not divisible by 3",
        ),
        (
            lambda x: builder.manual_computation(builder.reduce_sum, [x], [SPLIT], [SPLIT], []),
            X,
            "sharding of result 0: .*: expected at most 0 dimensions, the rank of the tensor, got 2",
        ),
        (lambda x: builder.while_loop(lambda: True, lambda y: y, (x,)), X, "cannot be called with 1 tensors"),
        (lambda x: builder.call(THREE, x), X, "expected a function of 1 tensors, got 3"),
        (lambda x: builder.sharding_constraint(THREE, P()), X, "expected a tensor of .*, got 3"),
        (lambda x: builder.sharding_group([x], THREE / 2), X, "expected int, got 1.5"),
        (lambda x: ops.broadcast_to(x, (16,)), X, r"tensor<8x16xf32> cannot be broadcast to shape \(16,\)"),
        (lambda x: ops.reshape(x, (-2, -64)), X, "expected integers from 0 on, None if dynamic"),
        (lambda x: ops.all_gather(x, 0, THREE), X, "expected Sequence\\[Sequence\\[int\\]\\], got 3"),
        (lambda x: x @ x, X, "sizes must match for lhs/rhs; got stablehlo.dot_general of tensor<8x16xf32>"),
    ],
)
def test_misuse(function: Callable[..., Any], type_: Any, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        build(function, type_)


def test_tensors_of_another_program() -> None:
    build(_leak, X)
    for use in (lambda x: x + LEAKED[0], lambda x: LEAKED[0]):
        with pytest.raises(ShardyError, match="of another program is used"):
            build(use, X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": ""}, "expected the name of the function, got ''"),
        ({"name": 3}, "expected the name of the function, got 3"),
        ({"mesh": "m"}, "expected a mesh, as Mesh.of"),
        ({"mesh": {"m": 3}}, "expected a mesh, as Mesh.of"),
        ({"out_shardings": P()}, r"expected out_shardings=\[...\], one a result"),
    ],
)
def test_options_that_do_not_fit(options: Any, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        build(lambda x: x, X, **options)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((-3,), "expected integers from 0 on, None if dynamic"),
        ((3.0,), "expected the sizes of a tensor"),
        (3, "expected the sizes"),
    ],
)
def test_types_that_there_are_not(shape: Any, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        tensor(shape)
    with pytest.raises(ShardyError, match="unknown element type"):
        tensor((2,), "tensor<2xf32>")


@pytest.mark.parametrize("bounds", [(8,), (8, 4), (None, 4)])
def test_bounds_that_do_not_fit(bounds: Any) -> None:
    with pytest.raises(ShardyError, match="expected the bounds of the dynamic sizes of"):
        tensor((None, 2), bounds=bounds)


def test_a_method_is_one_function() -> None:
    class Layer:
        def apply(self, x: Any) -> Any:
            return x * 2.0

    first, second = Layer(), Layer()
    program = build(
        lambda x: builder.call(second.apply, builder.call(first.apply, builder.call(first.apply, x))), X
    )
    assert program.functions == ("main", "apply", "apply_0")


def test_a_function_called_main_and_one_tuple_results() -> None:
    def main(x: Any) -> Any:
        return (x + 1,)

    def whole(x: Any) -> Any:
        (y,) = builder.call(main, x)
        return y

    assert build(whole, X).functions == ("main", "main_0")
    with pytest.raises(ShardyError, match="both named @main"):
        build(whole, X, mesh={"main": Mesh.of(x=2)})


def test_failures_inside_a_region_leave_nothing() -> None:
    def whole(x: Any) -> Any:
        with pytest.raises(ZeroDivisionError):
            builder.if_(ops.constant(True), lambda: 1 / 0, lambda: x)
        with pytest.raises(ShardyError):
            builder.while_loop(lambda y: y, lambda y: y, (x,))
        return x * x

    program = build(whole, X)
    assert [value.op_name for value in program.values.of_op("multiply")] == ["stablehlo.multiply"]
    assert not program.values.of_op("while")


def test_equal_signatures_keep_their_own_attributes_types_and_lines() -> None:
    def whole(x: Any, y: Any) -> Any:
        first = [ops.transpose(x, (1, 0)), ops.transpose(x, (0, 1)), ops.transpose(y, (1, 0))]
        second = [ops.transpose(x, (1, 0)), ops.convert(x, "bf16"), ops.convert(x, "f16")]
        return (*first, *second)

    program = build(whole, X, tensor((2, 3)))
    shapes = [(v.shape, v.element_type) for v in program.values.results()]
    assert shapes[:4] == [((16, 8), "f32"), ((8, 16), "f32"), ((3, 2), "f32"), ((16, 8), "f32")]
    assert [element for _, element in shapes[4:]] == ["bf16", "f16"]
    places = [value.location for value in program.values.of_op("transpose")]
    assert places[0] == places[1] == places[2] != places[3]
    assert [
        str(op.properties["permutation"]) for op in program.module.walk() if "permutation" in op.properties
    ][1] == "array<i64: 0, 1>"


def test_regions_do_not_nest_without_end() -> None:
    def branch(x: Any) -> Any:
        return builder.if_(ops.constant(True), lambda: branch(x), lambda: x)[0]

    with pytest.raises(ShardyError, match="regions nest deeper than 100 levels; use a loop or `call`"):
        build(branch, X)


def test_arguments_from_arrays_and_shardings() -> None:
    array = SimpleNamespace(shape=(4, 2), dtype=np.dtype("float16"))
    program = build(lambda x, y: (x, y), array, Argument(X, P("x")), mesh=Mesh.of(x=2))
    assert program["x"].element_type == "f16"
    assert str(program["y"].sharding) == '<@mesh, [{"x"}, {}]>'
