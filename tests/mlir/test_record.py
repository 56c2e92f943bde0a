from __future__ import annotations

import pytest
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DenseArrayBase, StringAttr, i1, i64
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineMap

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.mlir.plain import plain, tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.ops import TensorType


def ops(body: str, name: str) -> list[Operation]:
    module = parse_module(f"func.func @main(%a: tensor<8x4xf32>, %i: tensor<i32>) {{\n{body}\nreturn\n}}")
    return [op for op in walk_pre_order(module) if op.name == name]


def test_a_record_is_plain() -> None:
    (op,) = ops("%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>",
                "stablehlo.transpose")  # fmt: skip
    record = record_of(op)
    assert record.name == "stablehlo.transpose"
    assert (record.operands, record.results) == ((TensorType((8, 4)),), (TensorType((4, 8)),))
    assert record.attributes == {"permutation": (1, 0)}


def test_alike_ops_share_a_record_whatever_their_shardings() -> None:
    body = """
    %0 = stablehlo.tanh %a : tensor<8x4xf32>
    %1 = stablehlo.tanh %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<8x4xf32>
    %2 = stablehlo.tanh %a {mine = 1 : i32} : tensor<8x4xf32>"""
    first, second, third = ops(body, "stablehlo.tanh")
    assert record_of(first) is record_of(second)
    assert record_of(third) is not record_of(first)
    assert record_of(third).attributes == {"mine": 1}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("%s", "%s2", True), ("%s", "%t", False), ("%t", "%t", False)],
)
def test_concatenations_know_whether_they_join_slices(first: str, second: str, expected: bool) -> None:
    body = f"""
    %n = stablehlo.negate %a : tensor<8x4xf32>
    %s = stablehlo.slice %n [0:8, 0:2] : (tensor<8x4xf32>) -> tensor<8x2xf32>
    %s2 = stablehlo.slice %a [0:8, 0:2] : (tensor<8x4xf32>) -> tensor<8x2xf32>
    %t = stablehlo.tanh %s : tensor<8x2xf32>
    %c = stablehlo.concatenate {first}, {second}, dim = 1
        : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x4xf32>"""
    (op,) = ops(body, "stablehlo.concatenate")
    assert record_of(op).attributes["context.concatenates_slices"] is expected


def test_a_value_may_be_joined_with_slices_of_itself() -> None:
    body = """
    %s = stablehlo.slice %a [0:8, 0:2] : (tensor<8x4xf32>) -> tensor<8x2xf32>
    %c = stablehlo.concatenate %s, %a, dim = 1 : (tensor<8x2xf32>, tensor<8x4xf32>) -> tensor<8x6xf32>"""
    (op,) = ops(body, "stablehlo.concatenate")
    assert record_of(op).attributes["context.concatenates_slices"] is True


@pytest.mark.parametrize(("index", "expected"), [("%c", True), ("%i", False)])
def test_updates_know_whether_their_place_is_constant(index: str, expected: bool) -> None:
    body = f"""
    %c = stablehlo.constant dense<0> : tensor<i32>
    %u = stablehlo.slice %a [0:2, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
    %0 = stablehlo.dynamic_update_slice %a, %u, %c, {index}
        : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>"""
    (op,) = ops(body, "stablehlo.dynamic_update_slice")
    assert record_of(op).attributes["context.constant_indices"] is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%2 = stablehlo.add %x, %y : tensor<f32>", "stablehlo.add"),
        ("%2 = stablehlo.maximum %y, %x : tensor<f32>", "stablehlo.maximum"),
        ("%2 = stablehlo.subtract %x, %y : tensor<f32>", None),
        ("%2 = stablehlo.add %x, %x : tensor<f32>", None),
    ],
)
def test_scatters_know_their_combiner(body: str, expected: str | None) -> None:
    text = f"""
    %idx = stablehlo.constant dense<0> : tensor<3x1xi32>
    %upd = stablehlo.constant dense<0.0> : tensor<3x4xf32>
    %0 = "stablehlo.scatter"(%a, %idx, %upd) <{{
        scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
            scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      {body}
      stablehlo.return %2 : tensor<f32>
    }}) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>"""
    (op,) = ops(text, "stablehlo.scatter")
    assert record_of(op).attributes["context.combiner"] == expected


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        (DenseArrayBase.from_list(i64, [1, 2]), (1, 2)),
        (DenseArrayBase.from_list(i1, [1, 0]), (True, False)),
        (ArrayAttr([StringAttr("x")]), ("x",)),
        (AffineMapAttr(AffineMap.from_callable(lambda i, j: (j, i))), "(d1, d0)"),
    ],
)
def test_attributes_become_plain(attribute: Attribute, expected: object) -> None:
    value = plain(attribute)
    if isinstance(expected, str):
        value = "(" + ", ".join(map(str, value.results)) + ")"
    assert value == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>", ((1, 2), (3, 4))),
        ("dense<5> : tensor<2x2xi64>", ((5, 5), (5, 5))),
        ("dense<true> : tensor<3xi1>", (True, True, True)),
        ("dense<[true, false]> : tensor<2xi1>", (True, False)),
        ("dense<> : tensor<0x2xi64>", ()),
        ("dense<5> : tensor<2x2x2xi64>", None),
        ("dense<5> : tensor<5000xi64>", None),
    ],
)
def test_dense_attributes_become_tuples(text: str, expected: object) -> None:
    (op,) = ops(f"stablehlo.custom_call @f() {{mine = {text}}} : () -> ()", "stablehlo.custom_call")
    assert plain(op.attributes["mine"]) == expected


def test_types_that_are_no_tensors() -> None:
    assert tensor_type(i64) is None
