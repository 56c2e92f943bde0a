"""Reductions that a program has as collectives, of values that it does not mark unreduced."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from shardy_py import Program, propagate
from shardy_py.mlir.dialects import parse_module
from shardy_py.passes import pass_call
from shardy_py.passes.runner import run_passes
from shardy_py.run.interpret import Executable


def sharded(axes: str, unreduced: str = "") -> str:
    return f"<@mesh, [{axes}]{unreduced and f', unreduced={unreduced}'}>"


def on_op(sharding: str) -> str:
    return f"{{sdy.sharding = #sdy.sharding_per_value<[{sharding}]>}}"


def border(sharding: str) -> str:
    return f"{{sdy.sharding = #sdy.sharding{sharding}}}"


ROW = '{"y"}, {}'


def summed(combiner: str = "add", start: str = "0.0", mark: str = "") -> str:
    return f"""  %c = stablehlo.constant dense<{start}> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.{combiner} across dimensions = [0]
    {on_op(sharded(ROW, mark))} : (tensor<4x4x4xf32>, tensor<f32>) -> tensor<4x4xf32>"""


def all_reduced(value: str, axes: str, operator: str = "", left: str = "") -> str:
    target = sharded(ROW, left)
    return f"  %1 = sdy.all_reduce {operator}{{{axes}}} {value} out_sharding={target} : tensor<4x4xf32>"


def scattered(value: str, axes: str) -> str:
    target = sharded(f'{{"y"}}, {{{axes}}}')
    return f"  %1 = sdy.reduce_scatter [{{}}, {{{axes}}}] {value} out_sharding={target} : tensor<4x4xf32>"


NEGATED = summed() + f"\n  %n = stablehlo.negate %0 {on_op(sharded(ROW))} : tensor<4x4xf32>"
BODIES = {
    "a sum": (summed() + "\n" + all_reduced("%0", '"x"'), 1),
    "a marked sum": (summed(mark='{"x"}') + "\n" + all_reduced("%0", '"x"'), 1),
    "a maximum": (summed("maximum", "-1.0e30") + "\n" + all_reduced("%0", '"x"', "max "), 1),
    "other axes, too": (summed() + "\n" + all_reduced("%0", '"x", "z"'), 1),
    "other axes, a marked sum": (summed(mark='{"x"}') + "\n" + all_reduced("%0", '"x", "z"'), 1),
    "other axes only": (summed() + "\n" + all_reduced("%0", '"z"'), 1),
    "fewer axes": (summed(mark='{"x"}') + "\n" + all_reduced("%0", ""), 1),
    "an op between": (NEGATED + "\n" + all_reduced("%n", '"x"'), 1),
    "a part of the sum": (summed() + "\n" + scattered("%0", '"x"'), 1),
    "a part of a marked sum": (summed(mark='{"x"}') + "\n" + scattered("%0", '"x"'), 1),
    "a part along other axes": (summed(mark='{"x"}') + "\n" + scattered("%0", '"x", "z"'), 1),
    "a part along other axes only": (summed() + "\n" + scattered("%0", '"z"'), 1),
}
"""The body of a function, and how many reductions its partition has."""


def program(body: str, *, is_called: bool) -> str:
    row = '{"y"}, {"x"}' if '{"x"}]' in body else '{"y"}, {"z"}' if '{"z"}]' in body else ROW
    row = '{"y"}, {"x", "z"}' if '{"x", "z"}]' in body else row
    given, made = border(sharded('{"x"}, {"y"}, {}')), sharded(row)
    function = f"(%a: tensor<4x4x4xf32> {given}) -> (tensor<4x4xf32> {border(made)}) {{"
    text = f'sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>\nfunc.func @main{function}\n'
    if not is_called:
        return f"{text}{body}\n  return %1 : tensor<4x4xf32>\n}}\n"
    call = f"  %0 = call @f(%a) {on_op(made)} : (tensor<4x4x4xf32>) -> tensor<4x4xf32>"
    return (
        f"{text}{call}\n  return %0 : tensor<4x4xf32>\n}}\nfunc.func private @f{function}\n"
        f"{body}\n  return %1 : tensor<4x4xf32>\n}}\n"
    )


CASES = list(product(BODIES, (False, True)))
EVERYWHERE = pytest.mark.parametrize(("name", "is_called"), CASES)


@EVERYWHERE
def test_each_device_has_its_part_of_the_sum(name: str, is_called: bool) -> None:
    body, count = BODIES[name]
    local = propagate(Program.parse(program(body, is_called=is_called))).partition()
    assert local.prove().is_equal
    counts = local.communication().counts
    assert counts.get("all_reduce", 0) + counts.get("reduce_scatter", 0) == count, counts


@EVERYWHERE
@pytest.mark.filterwarnings("ignore")
def test_single_ops_compute_what_the_program_does(name: str, is_called: bool) -> None:
    text = program(BODIES[name][0], is_called=is_called)
    given = np.random.default_rng(0).normal(size=(1, 4, 4, 4)).astype(np.float32)
    whole = Executable(parse_module(text)).run([given])
    partitioned = run_passes(parse_module(text), [pass_call("sdy-per-instruction-partitioning")])
    np.testing.assert_allclose(Executable(partitioned).run([given])[0], whole[0], rtol=1e-5)


def test_axes_that_are_manual_are_reduced() -> None:
    """There, devices have values of their own."""
    text = f"""sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xf32> {border(sharded('{"x"}'))}) -> tensor<2xf32> {{
  %0 = sdy.manual_computation(%a) in_shardings=[{sharded('{"x"}')}] out_shardings=[{sharded("{}")}]
      manual_axes={{"x"}} (%b: tensor<2xf32>) {{
    %1 = sdy.all_reduce {{"x", "y"}} %b out_sharding={sharded("{}")} : tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  }} : (tensor<4xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}}
"""
    local = propagate(Program.parse(text)).partition()
    assert [use.axes for use in local.communication().sending] == [(("x", 2),)], local.communication()
