"""Notes of propagation: beside C++ on random programs, and where C++ has none to compare with."""

from __future__ import annotations

import re

import pytest

from shardy_py.base import releases
from shardy_py.cli.pass_text import build_step
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes import pass_call
from shardy_py.passes.pipelines import import_passes
from shardy_py.passes.runner import run_passes
from tests.differential.reference_process import ReferenceProcess
from tests.propagation.random_programs import random_program

BOTH = "debug-sharding-origins=true debug-propagation-edge-sharding=true"
STEPS = (
    *((call.row.name, "") for call in import_passes()),
    ("sdy-apply-sharding-constraints", BOTH),
    ("sdy-user-priority-propagate", BOTH),
    ("sdy-sink-data-flow-edges", " ".join(f"sink-{option}" for option in BOTH.split())),
)


def propagated(text: str, *, is_noted: bool = True) -> str:
    module = parse_module(text)
    for name, options in STEPS:
        run_passes(module, build_step(name, options if is_noted else "").calls, verify="each")
    return print_module(module)


def notes(text: str) -> list[str]:
    return re.findall(r"sdy.\w*sharding_origins = (?:\[.*?\}\]|\{.*?\})", text)


@pytest.mark.parametrize("seed", [1, 2, 5, 6, 7, 8, 12])
def test_random_program(seed: int, process: ReferenceProcess) -> None:
    """No loops, whose notes C++ finds invalid; no axes without origin, at which it stops."""
    text = random_program(seed)
    calls = [call for step in STEPS for call in build_step(*step).calls]
    assert propagated(text) == process.output(text, ",".join(map(str, calls)))


@pytest.mark.parametrize("seed", range(20, 40))
def test_notes_change_nothing_else(seed: int) -> None:
    """In JAX 0.10: Shardy cannot read the empty notes that it writes since."""
    text = random_program(seed)
    with releases.of("0.10"):
        module = parse_module(propagated(text))
        run_passes(module, (pass_call("sdy-remove-propagation-debug-info"),))
        without = re.sub(r"( \{|, )sdy.sharding_origin_name = \"\w+\"\}?", "", print_module(module))
        assert without == propagated(text, is_noted=False)


GROUP = """
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}]>}, %arg1: tensor<8xf32>)
    -> tensor<8xf32> {
  %0 = stablehlo.abs %arg0 : tensor<8xf32>
  %1 = stablehlo.tanh %arg1 : tensor<8xf32>
  sdy.sharding_group %0 group_id=0 : tensor<8xf32>
  sdy.sharding_group %1 group_id=0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
"""


def test_members_of_a_group_have_origins() -> None:
    text = propagated(GROUP)
    assert notes(text) == [
        'sdy.sharding_origins = {a = "self"}',
        'sdy.sharding_origins = {a = "input: 0"}',
        'sdy.sharding_origins = {a = "input: 0"}',
        'sdy.sharding_origins = [{a = "input: 0"}]',
        'sdy.sharding_origins = [{a = "input: 0"}]',
    ]


def test_a_sharding_on_an_op_has_no_origin() -> None:
    text = propagated(
        """
        sdy.mesh @mesh = <["a"=2]>
        func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
          %0 =
              stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}]>]>} : tensor<8xf32>
          return %0 : tensor<8xf32>
        }
        """
    )
    assert notes(text) == []
    assert 'step-1 = [{"a" = result-0 -> [operand-0]}]' in text


def test_steps_are_counted_from_those_that_are_noted() -> None:
    text = propagated(
        """
        sdy.mesh @mesh = <["a"=2]>
        func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
          %0 = sdy.sharding_constraint %arg0 <@mesh, [{"a"}]> : tensor<8xf32>
          return %0 : tensor<8xf32>
        }
        """
    )
    assert re.findall(r"step-\d+", text) == ["step-1", "step-0"]
