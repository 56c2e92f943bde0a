"""StableHLO's attributes: their plain values, their text in ours and in xDSL's parser and printer."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.printer import Printer

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import chlo, parse_module, stablehlo
from shardy_py.mlir.text.attribute_writer import attribute_text

CASES: list[tuple[str, Any]] = [
    ("#stablehlo<precision HIGH>", "HIGH"),
    ("#chlo<comparison_type SIGNED>", "SIGNED"),
    ("#stablehlo.result_accuracy_mode<HIGHEST>", "HIGHEST"),
    (
        "#stablehlo.dot<lhs_batching_dimensions = [0], lhs_contracting_dimensions = [2, 1]>",
        {
            "lhs_batching_dimensions": (0,),
            "rhs_batching_dimensions": (),
            "lhs_contracting_dimensions": (2, 1),
            "rhs_contracting_dimensions": (),
        },
    ),
    (
        "#stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>",
        {
            "offset_dims": (1,),
            "collapsed_slice_dims": (),
            "operand_batching_dims": (),
            "start_indices_batching_dims": (),
            "start_index_map": (0,),
            "index_vector_dim": 1,
        },
    ),
    (
        "#stablehlo.conv<[b, 0, f]x[i, 0, o]->[f, b, 0]>",
        {
            "input_batch_dimension": 0,
            "input_feature_dimension": 2,
            "input_spatial_dimensions": (1,),
            "kernel_input_feature_dimension": 0,
            "kernel_output_feature_dimension": 2,
            "kernel_spatial_dimensions": (1,),
            "output_batch_dimension": 1,
            "output_feature_dimension": 0,
            "output_spatial_dimensions": (2,),
        },
    ),
    ("#stablehlo.channel_handle<handle = 5, type = 1>", {"handle": 5, "type": 1}),
    (
        "#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 0, "
        "operand_tuple_indices = []>",
        {"output_tuple_indices": (1,), "operand_index": 0, "operand_tuple_indices": ()},
    ),
    (
        "#stablehlo.result_accuracy<atol = 2.500000e-01, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>",
        {"atol": 0.25, "rtol": 0.0, "ulps": 0, "mode": "TOLERANCE"},
    ),
    (
        "#stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, "
        "accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
        "num_primitive_operations = 6, allow_imprecise_accumulation = true>",
        {
            "lhs_precision_type": "bf16",
            "rhs_precision_type": "bf16",
            "accumulation_type": "f32",
            "lhs_component_count": 1,
            "rhs_component_count": 1,
            "num_primitive_operations": 6,
            "allow_imprecise_accumulation": True,
        },
    ),
    (
        '#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>',
        {"name": "x", "sub_axis_info": {"pre_size": 1, "size": 2}},
    ),
    (
        '#stablehlo.mesh<axes=[<name = "x", size = 2>]>',
        {"axes": ({"name": "x", "size": 2},), "device_ids": None},
    ),
]


def read(text: str) -> Any:
    return parse_module(f"module attributes {{a.b = {text}}} {{}}").attributes["a.b"]


@pytest.mark.parametrize(("text", "value"), CASES, ids=range(len(CASES)))
def test_text_and_plain_value(text: str, value: Any) -> None:
    attribute = read(text)
    assert attribute_text(attribute) == text
    assert attribute.plain() == value


@pytest.mark.parametrize("text", [text for text, _ in CASES] + ["#stablehlo.bounds<4, ?>"])
def test_xdsl_reads_and_prints_the_same(text: str) -> None:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(stablehlo.xdsl_dialect())
    context.load_dialect(chlo.xdsl_dialect())
    attribute = Parser(context, text).parse_attribute()
    stream = StringIO()
    Printer(stream).print_attribute(attribute)
    assert stream.getvalue() == text
    assert attribute == read(text)


@pytest.mark.parametrize(
    ("spelling", "normal"),
    [
        ("#stablehlo.type_extensions<bounds = [4, ?]>", "#stablehlo.bounds<4, ?>"),
        ("#stablehlo<bounds<4, ?>>", "#stablehlo.bounds<4, ?>"),
        (
            "#stablehlo.channel_handle<type = 1, handle = 2>",
            "#stablehlo.channel_handle<handle = 2, type = 1>",
        ),
        ("#stablehlo.dot<rhs_batching_dimensions=[1],lhs_batching_dimensions=[]>",
         "#stablehlo.dot<rhs_batching_dimensions = [1]>"),
        (
            "#stablehlo.conv<raw output_feature_dimension = 1, input_feature_dimension = 1, "
            "kernel_output_feature_dimension = 1>",
            "#stablehlo.conv<[b, f]x[i, o]->[b, f]>",
        ),
        ("#stablehlo.conv<raw input_batch_dimension = 7>", "#stablehlo.conv<raw input_batch_dimension = 7>"),
    ],
)  # fmt: skip
def test_other_spellings(spelling: str, normal: str) -> None:
    assert attribute_text(read(spelling)) == normal


def test_types() -> None:
    text = "func.func private @f(!stablehlo.token, !stablehlo.future<tensor<2xf32>, tensor<i32>>)"
    (function,) = parse_module(text).body.block.ops
    types: Any = function.properties["function_type"]
    assert [attribute_text(t) for t in types.inputs] == [
        "!stablehlo.token",
        "!stablehlo.future<tensor<2xf32>, tensor<i32>>",
    ]


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        ("tensor<3xf32, #stablehlo.bounds<3>>", "Static dimension 0 cannot have a bound"),
        ("tensor<?xf32, #stablehlo.bounds<3, 4>>", "Bounds length is 2, expected to be equal to rank(1)"),
        ("!stablehlo.future<f32>", "future element type must be a ranked tensor, but got 'f32'"),
    ],
)
def test_refused_types(type_: str, message: str) -> None:
    with pytest.raises(ShardyError) as error:
        parse_module(f"func.func private @f({type_})")
    diagnostic = error.value.diagnostics[0]
    assert diagnostic.message.startswith(message)
    assert diagnostic.where is not None
    assert diagnostic.where.line == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#stablehlo.mesh<axes=[<name = "x">]>', "expected ','"),
        ("#stablehlo.mesh<axes=[<size = 2, size = 2>]>", "duplicate or unknown struct parameter name: size"),
        ("#stablehlo.axis_ref<sub_axis_info = (1)2>", "struct is missing required parameter: name"),
    ],
)
def test_refused_meshes(text: str, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        read(text)
