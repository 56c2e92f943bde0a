"""When a constraint dictates, and which chain of constraints has a tail."""

from __future__ import annotations

import re

import pytest

from shardy_py.base import releases
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.ir import find_ops
from shardy_py.passes import pass_call
from shardy_py.passes.import_.constraints import is_dictated, tail_of_chain
from shardy_py.passes.runner import run_passes
from shardy_py.sharding import AxisRef, DimensionSharding, TensorSharding

X = TensorSharding("mesh", (DimensionSharding((AxisRef("x"),), is_closed=True),))
TO_X = '<@mesh, [{"x"}]>'
TO_Y = '<@mesh, [{"y"}]>'


def program(body: str, attributes: str = ""):
    text = f"""
    sdy.mesh @mesh = <["x"=2, "y"=2]>
    func.func @main(%a: tensor<8xf32>{attributes}) {{
      {body}
      return
    }}"""
    return parse_module(text)


def constraint(name: str, source: str, sharding: str = TO_X) -> str:
    return f"%{name} = sdy.sharding_constraint %{source} {sharding} : tensor<8xf32>\n"


@pytest.mark.parametrize(
    ("expected", "attributes", "body", "sharding"),
    [
        (True, "", constraint("0", "a"), X),
        (True, "", constraint("0", "a") + constraint("1", "a"), X),
        (False, "", constraint("0", "a") + constraint("1", "a", TO_Y), X),
        (False, f" {{sdy.sharding = #sdy.sharding{TO_Y}}}", constraint("0", "a"), X),
        (False, "", constraint("0", "a", "<@mesh, [{?}]>"), TensorSharding.fully_open("mesh", 1)),
    ],
    ids=["alone", "agreed", "contradicted", "has-sharding", "open"],
)
def test_is_dictated(expected: bool, attributes: str, body: str, sharding: TensorSharding) -> None:
    first, *_ = find_ops(program(body, attributes), "sdy.sharding_constraint")
    assert is_dictated(first.operands[0], sharding) is expected


@pytest.mark.parametrize(
    ("tail", "body"),
    [
        (None, constraint("0", "a")),
        (1, constraint("0", "a") + constraint("1", "0")),
        (2, constraint("0", "a") + constraint("1", "0") + constraint("2", "1")),
        (None, constraint("0", "a") + constraint("1", "0") + constraint("2", "a")),
        (1, constraint("0", "a") + constraint("1", "0") + "%2 = stablehlo.negate %1 : tensor<8xf32>"),
        (None, constraint("0", "a") + constraint("1", "0") + "%2 = stablehlo.negate %0 : tensor<8xf32>"),
        (None, constraint("0", "a") + constraint("1", "0") + constraint("2", "1") + constraint("3", "1")),
    ],
    ids=["one", "two", "three", "input-constrained", "used-at-end", "used-inside", "forked"],
)
def test_tail_of_chain(tail: int | None, body: str) -> None:
    constraints = find_ops(program(body), "sdy.sharding_constraint")
    assert tail_of_chain(constraints[0]) is (None if tail is None else constraints[tail])


def test_only_the_head_has_a_tail() -> None:
    module = program(constraint("0", "a") + constraint("1", "0") + constraint("2", "1"))
    assert tail_of_chain(find_ops(module, "sdy.sharding_constraint")[1]) is None


CHAINS = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.abs %0 : tensor<8xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}]> : tensor<8xf32>
  %3 = sdy.sharding_constraint %2 <@mesh, [{}]> : tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.abs %a : tensor<8xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<8xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


@pytest.mark.parametrize(("release", "returned"), [("0.10", ["%1", "%0"]), ("0.12", ["%1", "%2"])])
def test_what_functions_return_instead_of_the_input_of_a_chain(release: str, returned: list[str]) -> None:
    with releases.of(release):
        module = run_passes(parse_module(CHAINS), (pass_call("sdy-apply-sharding-constraints"),))
        assert re.findall(r"return (%\d+)", print_module(module)) == returned
