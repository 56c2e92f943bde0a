"""Permutes before all-to-alls: what replaces them computes the same on all devices, and sends less."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from tests.differential.modes import run_ours

PROGRAM = """
sdy.mesh @mesh = <["a"=2, "b"=2, "c"=3]>
func.func @main(%arg0: tensor<24x12x12xf32> {{sdy.sharding = #sdy.sharding<@mesh, {source}>}})
    -> (tensor<24x12x12xf32> {{sdy.sharding = #sdy.sharding<@mesh, {target}>}}) {{
  return %arg0 : tensor<24x12x12xf32>
}}
"""


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ('[{"a", "b"}, {}, {}]', '[{}, {"b"}, {"a"}]'),
        ('[{"a", "b"}, {}, {}]', '[{"b"}, {}, {"a"}]'),
        ('[{}, {"a", "b", "c"}, {}]', '[{"a"}, {"b"}, {"c"}]'),
        ('[{"c", "a", "b"}, {}, {}]', '[{"c"}, {"a"}, {"b"}]'),
    ],
)
def test_axes_leave_a_dimension_in_any_order(source: str, target: str) -> None:
    local = propagate(Program.parse(PROGRAM.format(source=source, target=target))).partition()
    assert local.communication().counts.keys() == {"all_to_all"}
    local.prove().check()


PERMUTED = """sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%arg0: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}, {}]>})
    -> tensor<8x3xf32> {
  %0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"b", "a"}, {}]> : tensor<8x3xf32>
  %1 = sdy.all_to_all [AXES: 0->1] %0 out_sharding=<@mesh, [LEFT, AXES]> : tensor<8x3xf32>
  return %1 : tensor<8x3xf32>
}
"""


@pytest.mark.parametrize(("axes", "left", "is_kept"), [('{"a"}', '{"b"}', False), ('{"b", "a"}', "{}", True)])
def test_axes_that_move_as_one_keep_their_permute(axes: str, left: str, is_kept: bool) -> None:
    """To a dimension that they need not divide, as in the C++ of JAX 0.12."""
    text = PERMUTED.replace("AXES", axes).replace("LEFT", left)
    assert ("collective_permute" in run_ours(text, (("sdy-optimize-collectives", ""),))) is is_kept
