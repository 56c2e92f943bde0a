"""When the short form of a reduction tells its region, and when it cannot."""

from __future__ import annotations

from typing import Any

import pytest

from shardy_py.mlir.dialects import parse_module, print_module

ADD = "%1 = stablehlo.add %x, %y : tensor<f32>\n"
RETURN = "stablehlo.return %1 : tensor<f32>\n"
REGIONS: dict[str, tuple[str, bool]] = {
    "one commutative op": (ADD + RETURN, True),
    "attributes on the op, which the short form drops": (ADD.replace(" :", " {note} :") + RETURN, True),
    "not commutative": (ADD.replace("add", "subtract") + RETURN, False),
    "operands swapped": (ADD.replace("%x, %y", "%y, %x") + RETURN, False),
    "one operand twice": (ADD.replace("%x, %y", "%x, %x") + RETURN, False),
    "an operand from outside": (ADD.replace("%y", "%a1") + RETURN, False),
    "two ops": (ADD + ADD.replace("%1", "%2") + RETURN, False),
    "an argument returned": (ADD + RETURN.replace("%1", "%x"), False),
    "no op": (RETURN.replace("%1", "%x"), False),
    "of another dialect": (
        "%1 = chlo.broadcast_add %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>\n" + RETURN,
        False,
    ),
}


def program(body: str) -> str:
    return (
        "func.func @f(%a0: tensor<4x8xf32>, %a1: tensor<f32>) {\n"
        "  %0 = stablehlo.reduce(%a0 init: %a1) across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>)"
        f" -> tensor<4xf32> reducer(%x: tensor<f32>, %y: tensor<f32>) {{\n{body}}}\n  return\n}}"
    )


@pytest.mark.parametrize("case", REGIONS)
def test_short_where_it_tells_all(case: str, reference: Any) -> None:
    body, is_short = REGIONS[case]
    printed = print_module(parse_module(program(body)))
    assert ("applies" in printed) is is_short
    assert ("reducer" in printed) is not is_short
    assert printed == reference.run(program(body))


def test_further_reductions_of_a_signature_have_regions_of_their_own() -> None:
    lines = [
        f"%{index} = stablehlo.reduce(%a0 init: %a1) applies stablehlo.maximum across dimensions = [0, 1]"
        " : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>"
        for index in range(3)
    ]
    module = parse_module(
        "func.func @f(%a0: tensor<4x8xf32>, %a1: tensor<f32>) {\n" + "\n".join(lines) + "\nreturn\n}"
    )
    reductions = [op for op in module.walk() if op.name == "stablehlo.reduce"]
    regions = [op.regions[0] for op in reductions]
    assert len({id(region) for region in regions}) == 3
    for op, region in zip(reductions, regions, strict=True):
        assert region.parent is op
        assert [inner.name for inner in region.block.ops] == ["stablehlo.maximum", "stablehlo.return"]
        assert region.block.first_op is not None
        assert list(region.block.first_op.operands) == list(region.block.args)
    module.verify()
    assert print_module(module).count("applies stablehlo.maximum") == 3
    assert print_module(module, generic=True).count('"stablehlo.maximum"') == 3
