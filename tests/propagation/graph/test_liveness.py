from __future__ import annotations

import pytest

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.propagation.graph.liveness import dead_ops, is_dead


def dying(body: str) -> list[str]:
    module = parse_module(f"""func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {{
      {body}
      return %a : tensor<8xf32>
    }}""")
    ops = [op for op in walk_pre_order(module) if op.name.startswith(("stablehlo", "sdy"))]
    return [op.name.partition(".")[2] for op in dead_ops(ops).values()]


def test_what_feeds_only_dead_ops_dies() -> None:
    assert dying("""
      %0 = stablehlo.tanh %a : tensor<8xf32>
      %1 = stablehlo.negate %0 : tensor<8xf32>
      %2 = stablehlo.abs %1 : tensor<8xf32>""") == ["abs", "negate", "tanh"]


def test_what_feeds_others_too_does_not() -> None:
    assert dying("""
      %0 = stablehlo.tanh %a : tensor<8xf32>
      %1 = stablehlo.negate %0 : tensor<8xf32>
      %2 = sdy.sharding_constraint %0 <@mesh, [{}]> : tensor<8xf32>""") == ["negate"]


IN, OUT = "(tensor<8xf32>)", "tensor<8xf32>"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"%0 = stablehlo.custom_call @f(%a) : {IN} -> {OUT}", True),
        (f"%0 = stablehlo.custom_call @f(%a) {{has_side_effect = true}} : {IN} -> {OUT}", False),
        (f"%0 = sdy.reshard %a <@mesh, [{{}}]> : {OUT}", True),
        (f"%0 = sdy.sharding_constraint %a <@mesh, [{{}}]> : {OUT}", False),
        (f"%0 = sdy.data_flow_edge %a : {OUT}", False),
        (f"sdy.sharding_group %a group_id=0 : {OUT}", False),
    ],
)
def test_effects(body: str, expected: bool) -> None:
    assert bool(dying(body)) == expected


@pytest.mark.parametrize(
    ("inner", "expected"), [("stablehlo.tanh %b", True), ("sdy.sharding_constraint %b <@mesh, [{}]>", False)]
)
def test_regions_count(inner: str, expected: bool) -> None:
    module = parse_module(f"""func.func @main(%a: tensor<8xf32>) {{
      %0 = sdy.named_computation<"f">(%a) (%b: tensor<8xf32>) {{
        %1 = {inner} : tensor<8xf32>
        sdy.return %1 : tensor<8xf32>
      }} : (tensor<8xf32>) -> tensor<8xf32>
      return
    }}""")
    (op,) = (op for op in walk_pre_order(module) if op.name == "sdy.named_computation")
    assert is_dead(op) == expected
