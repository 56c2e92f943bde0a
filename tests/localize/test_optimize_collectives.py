"""Permutes before all-to-alls: what replaces them computes the same on all devices, and sends less."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

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
