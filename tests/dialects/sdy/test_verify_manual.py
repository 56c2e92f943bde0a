"""The invariants of manual computations that a program may break until its manual axes are cleaned up."""

from __future__ import annotations

from shardy_py.dialects import parse_module
from shardy_py.dialects.verification import find_faults

PROGRAM = """
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @f(%arg0: tensor<8xf32>) {{
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{{"a"}}]{ins}>]
      out_shardings=[<@mesh, [{{"a"}}]{outs}>]
      manual_axes={{{axes}}} (%arg1: tensor<4xf32>) {{
    sdy.return %arg1 : tensor<4xf32>
  }} : (tensor<8xf32>) -> tensor<8xf32>
  return
}}
"""
REPLICATED = ', replicated={"b"}'


def _messages(axes: str, ins: str = REPLICATED, outs: str = REPLICATED) -> list[str]:
    module = parse_module(PROGRAM.format(axes=axes, ins=ins, outs=outs))
    assert find_faults(module) == ()
    found = find_faults(module, every=True, normal_form=True)
    return [fault.message.removeprefix("'sdy.manual_computation' op ") for fault in found]


def test_normal_form() -> None:
    assert _messages('"a", "b"') == []


def test_manual_axes_stand_in_mesh_order() -> None:
    assert _messages('"b", "a"') == [
        'manual axes must be in mesh order, each once: expected {"a", "b"}, got {"b", "a"}'
    ]


def test_manual_axes_are_listed_once() -> None:
    assert _messages('"a", "b", "a"') == [
        'manual axes must be in mesh order, each once: expected {"a", "b"}, got {"a", "b", "a"}'
    ]


def test_every_sharding_names_every_manual_axis() -> None:
    assert _messages('"a", "b"', outs="") == [
        'result sharding at index 0 must name all manual axes: expected {"b"} in a dimension or as '
        'replicated axes, got <@mesh, [{"a"}]>'
    ]
