"""What the rules on loops must not speak about."""

from __future__ import annotations

import pytest

from tests.check.test_rules import BAD, CLEAN, found_in

T = "tensor<8x8xf32>"


def test_sums_that_are_used_in_the_loop_are_not_reported() -> None:
    text = BAD["SDY008"].replace("stablehlo.add %sum, %d", "stablehlo.multiply %sum, %d")
    assert found_in(BAD["SDY008"], "SDY008")
    assert found_in(text, "SDY008") == ()


@pytest.mark.parametrize(
    ("between", "is_found"),
    [
        ("%l = stablehlo.multiply %arg2, %d : tensor<8x8xf32>", True),
        ("%l = stablehlo.multiply %sum, %d : tensor<8x8xf32>", False),
        ("%l = stablehlo.multiply %d, %d : tensor<8x8xf32>", False),
        ("%l = stablehlo.divide %d, %arg2 : tensor<8x8xf32>", True),
        ("%l = stablehlo.divide %arg2, %d : tensor<8x8xf32>", False),
        ("%b, %l = stablehlo.optimization_barrier %arg2, %d : tensor<8x8xf32>, tensor<8x8xf32>", True),
        ("%b, %k = stablehlo.optimization_barrier %d, %arg2 : tensor<8x8xf32>, tensor<8x8xf32>", False),
        (f"%l = stablehlo.dot_general %d, %arg2, contracting_dims = [1] x [0] : ({T}, {T}) -> {T}", True),
        ("%l = stablehlo.tanh %d : tensor<8x8xf32>", False),
    ],
)
def test_linear_functions_of_a_sum_are_followed(between: str, *, is_found: bool) -> None:
    added = f"{between}\n    %t = stablehlo.add %sum, %l"
    if "%l" not in between:
        added = f"{between}\n    %t = stablehlo.add %sum, %k"
    assert bool(found_in(BAD["SDY008"].replace("%t = stablehlo.add %sum, %d", added), "SDY008")) is is_found


def test_values_that_change_are_not_invariant() -> None:
    text = BAD["SDY009"].replace("dot_general %x, %arg1", "dot_general %x, %x")
    assert found_in(BAD["SDY009"], "SDY009")
    assert found_in(text, "SDY009") == ()


def test_slices_of_whole_shards_are_not_reported() -> None:
    text = BAD["SDY010"].replace("[0:8, 8:16]", "[0:8, 6:18]").replace("tensor<8x8xf32>", "tensor<8x12xf32>")
    assert found_in(text, "SDY010") == ()


def test_operands_that_follow_the_rule_are_not_reported() -> None:
    text = BAD["SDY011"].replace('[{}, {"x"}]', '[{"x"}, {}]')
    assert found_in(text, "SDY011") == ()


def test_sizes_of_one_are_not_padding() -> None:
    text = BAD["SDY002"].replace("10x4", "1x4")
    assert found_in(BAD["SDY002"], "SDY002")
    assert found_in(text, "SDY002") == ()


def test_open_ends_of_jax_name_its_arguments() -> None:
    head = "module @jit_f attributes {mhlo.num_partitions = 2 : i32} {\n"
    text = CLEAN.replace('[{"x"}, {}]>})', '[{"x", ?}, {?}]>})')
    found = found_in(f"{head}{text}}}", "SDY006")
    remedies = {finding.subject: finding.remedy for finding in found}
    start = "pass the sharding that was propagated to jax.jit to keep it: "
    assert remedies["%arg0"] == f'{start}in_shardings= of %arg0: P("x", None)'
    assert remedies["result 0"] == f'{start}out_shardings= of result 0: P("x", None)'
