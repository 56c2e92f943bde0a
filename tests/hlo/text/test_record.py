"""Every opcode as a record: names the op table knows, attributes under StableHLO's names."""

from __future__ import annotations

from typing import Any

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.hlo.text import OPCODES, Shape, read_module, record_of, tensor_type
from shardy_py.ops import TABLE, OpRecord, TensorType, output_to_input
from tests.hlo.text.test_maps import record


def test_every_opcode_has_a_row_in_the_op_table() -> None:
    assert {row.name for row in OPCODES.values()} <= set(TABLE)


CONVERTED: list[tuple[str, tuple[str, ...], str, dict[str, Any]]] = [
    (
        "f32[1,4,4,8] convolution(p0, p1), window={size=3x3 pad=1_1x1_1 rhs_reversal=1x1}, "
        "dim_labels=b01f_01io->b01f, feature_group_count=2",
        ("f32[1,4,4,6]", "f32[3,3,3,8]"),
        "stablehlo.convolution",
        {
            "dimension_numbers": {
                "input_batch_dimension": 0,
                "input_feature_dimension": 3,
                "output_batch_dimension": 0,
                "output_feature_dimension": 3,
                "kernel_input_feature_dimension": 2,
                "kernel_output_feature_dimension": 3,
                "input_spatial_dimensions": (1, 2),
                "kernel_spatial_dimensions": (0, 1),
                "output_spatial_dimensions": (1, 2),
            },
            "feature_group_count": 2,
            "batch_group_count": 1,
            "padding": ((1, 1), (1, 1)),
            "window_reversal": (1, 1),
        },
    ),
    (
        "f32[8] scatter(p0, p1, p2), update_window_dims={}, inserted_window_dims={0}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
        ("f32[8]", "s32[3,1]", "f32[3]"),
        "stablehlo.scatter",
        {
            "scatter_dimension_numbers": {
                "update_window_dims": (),
                "inserted_window_dims": (0,),
                "scatter_dims_to_operand_dims": (0,),
                "index_vector_dim": 1,
            },
            "context.combiner": "stablehlo.add",
        },
    ),
    (
        "f32[8] all-gather(p0), dimensions={0}, replica_groups={{0,1}}",
        ("f32[4]",),
        "stablehlo.all_gather",
        {"all_gather_dim": 0},
    ),
    (
        "(f32[4], f32[4]) all-to-all(p0, p1), replica_groups={{0,1}}",
        ("f32[4]", "f32[4]"),
        "stablehlo.collective_permute",
        {},
    ),
    (
        "f32[2,4] triangular-solve(p0, p1), left_side=true, lower=true, transpose_a=NO_TRANSPOSE",
        ("f32[2,2]", "f32[2,4]"),
        "stablehlo.triangular_solve",
        {"left_side": True, "lower": True, "unit_diagonal": False, "transpose_a": "NO_TRANSPOSE"},
    ),
    (
        "f32[8] all-to-all(p0), dimensions={0}, replica_groups=[2,4]<=[8]",
        ("f32[8]",),
        "stablehlo.all_to_all",
        {"split_dimension": 0, "concat_dimension": 0, "split_count": 4},
    ),
    ("f32[4,4] cholesky(p0), lower=true", ("f32[4,4]",), "stablehlo.cholesky", {"lower": True}),
    ("f32[4,4] cholesky(p0)", ("f32[4,4]",), "stablehlo.cholesky", {"lower": False}),
    (
        'f32[4] custom-call(p0), custom_call_target="tpu_thing"',
        ("f32[4]",),
        "stablehlo.custom_call",
        {"call_target_name": "tpu_thing"},
    ),
    (
        'f32[4] custom-call(p0), custom_call_target="Sharding", sharding={replicated}',
        ("f32[4]",),
        "hlo.copy",
        {"call_target_name": "Sharding"},
    ),
    (
        "f32[8,4]{1,0} bitcast(p0)",
        ("f32[4,8]{0,1}",),
        "hlo.bitcast",
        {"operand_layout": (0, 1), "result_layout": (1, 0)},
    ),
    (
        "f32[4] fft(p0), fft_type=FFT, fft_length={4}",
        ("c64[4]",),
        "stablehlo.fft",
        {"fft_type": "FFT", "fft_length": (4,)},
    ),
    ("f32[4] sort(p0), dimensions={0}, to_apply=add", ("f32[4]",), "stablehlo.sort", {"dimension": 0}),
]


@pytest.mark.parametrize(("instruction", "operands", "name", "attributes"), CONVERTED)
def test_attributes(
    instruction: str, operands: tuple[str, ...], name: str, attributes: dict[str, Any]
) -> None:
    made = record(instruction, operands)
    assert (made.name, made.attributes) == (name, attributes)
    assert output_to_input(made)


def test_element_types() -> None:
    found = [tensor_type(Shape(e)) for e in ("pred", "s32", "u8", "c64", "bf16", "f8e4m3fn", "token")]
    assert [t.element if t else None for t in found] == [
        "i1",
        "i32",
        "ui8",
        "complex<f32>",
        "bf16",
        "f8e4m3fn",
        None,
    ]


def test_tuples_are_flattened() -> None:
    made = record('(f32[2], (s32[])) custom-call(p0), custom_call_target="x"', ("(f32[2], f32[3])",))
    assert made == OpRecord(
        "stablehlo.custom_call",
        (TensorType((2,)), TensorType((3,))),
        (TensorType((2,)), TensorType((), "i32")),
        {"call_target_name": "x"},
    )


def test_misfits_are_the_inputs_mistake() -> None:
    text = """HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  k = f32[4] parameter(1)
  ROOT c = f32[4] convolution(p, k), dim_labels=b0f_0io->bf0, window={size=1}
}"""
    module = read_module(text.replace("b0f_0io", "bb00_0i0o"))
    main = module.entry_computation
    with pytest.raises(
        ShardyError, match=r"-:5:8: error: 'convolution' of c: attributes do not match the shapes"
    ):
        record_of(main.by_name["c"], main)


def test_custom_calls_keep_the_attributes_of_their_frontend() -> None:
    main = read_module("""HloModule m
ENTRY main {
  p = f32[8,4,4] parameter(0)
  ROOT c = f32[8,4,4] custom-call(p), custom_call_target="f", frontend_attributes={num_batch_dims="1",a="b"}
}""").entry_computation
    record = record_of(main.by_name["c"], main)
    assert record.attributes["mhlo.frontend_attributes"] == {"num_batch_dims": "1", "a": "b"}
