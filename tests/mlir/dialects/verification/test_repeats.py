# ruff: noqa: E501  the lines are the subject
"""Programs that are verified as they are read have the faults that a verification of the module finds."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from xdsl.ir import Region

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module, syntax_table
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.mlir.dialects.verification.rules import rules
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.mlir.text.module_reader import read_module

HEAD = 'sdy.mesh @mesh = <["x"=2]>\nfunc.func @{0}(%v0: tensor<8xf32>, %v1: tensor<8xf32>, %c: tensor<f32>) -> tensor<8xf32> {{\n'
LINES = (
    "%{0} = stablehlo.add %{1}, %{2} : tensor<8xf32>",
    "%{0} = stablehlo.tanh %{1} : tensor<8xf32>",
    '%{0} = stablehlo.tanh %{1} {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"x"}}]>]>}} : tensor<8xf32>',
    "%{0} = stablehlo.reverse %{1}, dims = [0] : tensor<8xf32>",
    '%{0} = sdy.sharding_constraint %{1} <@mesh, [{{"x"}}]> : tensor<8xf32>',
    "%{0}r = stablehlo.reduce(%{1} init: %c) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>",
    "%{0} = call @callee(%{1}) : (tensor<8xf32>) -> tensor<8xf32>",
)
FAULTY = (
    '%{0} = stablehlo.tanh %{1} {{sdy.sharding = #sdy.sharding_per_value<[<@other, [{{"x"}}]>]>}} : tensor<8xf32>',
    "%{0} = stablehlo.reverse %{1}, dims = [3] : tensor<8xf32>",
    '%{0} = sdy.sharding_constraint %{1} <@mesh, [{{"y"}}]> : tensor<8xf32>',
    "%{0}r = stablehlo.reduce(%{1} init: %c) applies stablehlo.add across dimensions = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>",
    "%{0} = call @nowhere(%{1}) : (tensor<8xf32>) -> tensor<8xf32>",
    "%{0}:2 = stablehlo.optimization_barrier %{1}, %{1} : tensor<8xf32>, tensor<8xf32>",
    "%{0} = stablehlo.optimization_barrier %later : tensor<8xf32>",
)


def lines_of(rng: random.Random, faults: int) -> Iterator[str]:
    """Many repetitions of few lines, in which `faults` lines have a fault; several regions."""
    count, number = rng.randrange(5, 30), 2
    faulty = {rng.randrange(count) for _ in range(faults)}
    for place in range(count):
        names = [f"v{number}", f"v{rng.randrange(number)}", f"v{rng.randrange(number)}"]
        line = rng.choice(FAULTY if place in faulty else LINES)
        if "{0}r" not in line and "{0}:" not in line:
            number += 1
        yield "  " + line.format(*names)
    yield f"  %later = stablehlo.tanh %v{number - 1} : tensor<8xf32>"
    yield "  return %later : tensor<8xf32>"


def program(seed: int) -> str:
    rng = random.Random(seed)
    callee = "func.func @callee(%a: tensor<8xf32>) -> tensor<8xf32> {\n  return %a : tensor<8xf32>\n}\n"
    bodies = ["\n".join(lines_of(rng, rng.choice([0, 0, 0, 0, 1, 2]))) for _ in range(3)]
    heads = [HEAD.format(f"f{i}") for i in range(3)]
    heads[1:] = [head.partition("\n")[2] for head in heads[1:]]
    return callee + "".join(f"{head}{body}\n}}\n" for head, body in zip(heads, bodies, strict=True))


def outcome(text: str, *, verified: bool) -> str:
    try:
        module = parse_module(text, verified=verified)
        if not verified:
            verify_module(module)
    except ShardyError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("seed", range(80))
def test_faults_are_the_same(seed: int) -> None:
    text = program(seed)
    assert outcome(text, verified=True) == outcome(text, verified=False)


def test_the_programs_have_repetitions_and_faults() -> None:
    texts = [program(seed) for seed in range(80)]
    assert 20 < sum(bool(outcome(text, verified=True)) for text in texts) < 70
    assert sum(map(repetitions, texts)) > 400


def repetitions(text: str) -> int:
    try:
        _, found = read_module(text, "-", syntax=syntax_table(), allow_unregistered=False, first_line=1)
    except ShardyError:
        return 0
    return sum(map(len, found.values()))


def test_a_repetition_in_another_region_is_looked_at() -> None:
    """Axes that are manual in one region are not in the next."""
    line = '%{0} = sdy.sharding_constraint %{1} <@mesh, [{{"x"}}]> : tensor<8xf32>\n'
    region = (
        'sdy.manual_computation({0}) in_shardings=[<@mesh, [{{}}]>] out_shardings=[<@mesh, [{{}}]>] manual_axes={{"x"}} '
        "(%m: tensor<8xf32>) {{\n{1}sdy.return %m : tensor<8xf32>\n}} : (tensor<8xf32>) -> tensor<8xf32>\n"
    )
    text = HEAD.format("f") + line.format("a", "v0") + line.format("b", "v0")
    text += "%r = " + region.format("%b", line.format("n", "m")) + "return %r : tensor<8xf32>\n}\n"
    found = outcome(text, verified=True)
    assert found == outcome(text, verified=False)
    assert "manual" in found


def test_ops_in_short_regions_have_no_verifier_beside_their_signature() -> None:
    """The contract of `OpParts.remake`, for its only user."""
    line = "%r{0} = stablehlo.reduce(%v0 init: %c) applies stablehlo.{0} across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>\n"
    names = ("add", "multiply", "maximum", "minimum")
    text = HEAD.format("f") + "".join(map(line.format, names)) + "return %v0 : tensor<8xf32>\n}\n"
    inner = [op for op in walk_pre_order(parse_module(text)) if _is_in_reduce(op.parent_region())]
    assert len(inner) == 2 * len(names)
    assert not {op.name for op in inner} & (rules().structure.keys() | rules().uses.keys())


def _is_in_reduce(region: Region | None) -> bool:
    return region is not None and region.parent is not None and region.parent.name == "stablehlo.reduce"
