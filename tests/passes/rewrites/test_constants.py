"""Where constants go, beside what `-canonicalize` of C++ does in filecheck/passes/canonicalize.mlir."""

from __future__ import annotations

import re

from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes import pass_call
from shardy_py.passes.runner import run_passes


def canonical(text: str) -> list[str]:
    """The ops of the only function, by name and constant."""
    module = parse_module(text)
    run_passes(module, (pass_call("canonicalize"),), verify="never")
    found = re.findall(r"(stablehlo\.\w+|sdy\.\w+|return)(?:.*dense<(\d)\.)?", print_module(module))
    return [name + (f" {value}" if value else "") for name, value in found]


def constant(name: str, value: int) -> str:
    return f"{name} = stablehlo.constant dense<{value}.0> : tensor<f32>\n"


def test_later_constants_go_before_earlier_ones() -> None:
    ops = canonical(
        f"func.func @f() -> tensor<f32> {{ {constant('%0', 1)} %1 = stablehlo.negate %0 : tensor<f32>\n"
        f"{constant('%2', 2)} {constant('%3', 3)} %4 = stablehlo.add %1, %2 : tensor<f32>\n"
        "%5 = stablehlo.add %4, %3 : tensor<f32> return %5 : tensor<f32> }"
    )
    assert ops[:3] == ["stablehlo.constant 3", "stablehlo.constant 2", "stablehlo.constant 1"]


def test_equal_constants_merge_but_not_those_of_sdy() -> None:
    ops = canonical(
        f"func.func @f() -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {{"
        f"{constant('%0', 1)} {constant('%1', 1)}"
        "%2 = sdy.constant dense<1.0> : tensor<f32>\n%3 = sdy.constant dense<1.0> : tensor<f32>\n"
        "return %0, %1, %2, %3 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32> }"
    )
    assert ops == ["stablehlo.constant 1", "sdy.constant 1", "sdy.constant 1", "return"]


def test_chains_of_dead_ops_go_at_once() -> None:
    ops = canonical(
        f"func.func @f(%arg0: tensor<f32>) -> tensor<f32> {{ {constant('%0', 1)}"
        "%1 = stablehlo.negate %0 : tensor<f32>\n%2 = stablehlo.add %1, %1 : tensor<f32>\n"
        "return %arg0 : tensor<f32> }"
    )
    assert ops == ["return"]
