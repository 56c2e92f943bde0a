"""A line like one read before is made from memory, unless it only looks alike."""

from __future__ import annotations

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module, print_module

FIRST = "  %0 = stablehlo.add %a, %b : tensor<f32>\n"
SECOND = FIRST.replace("%0", "%8")
HEAD = "func.func @f(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f64>) {\n" + FIRST + SECOND
TAIL = "\n" + FIRST.replace("%0", "%9") + "  return\n}"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%1 = stablehlo.add %, %b : tensor<f32>", "invalid SSA name"),
        ("%1 = stablehlo.add %a, % : tensor<f32>", "invalid SSA name"),
        (
            "%1 = stablehlo.add %a, %c : tensor<f32>",
            "use of value '%c' expects different type than prior uses",
        ),
        ("%0 = stablehlo.add %a, %b : tensor<f32>", "redefinition of SSA value '%0'"),
        ("%1 = stablehlo.add %a, %b : tensor<f32> }", ""),
    ],
)
def test_what_only_looks_alike_is_refused(line: str, message: str) -> None:
    with pytest.raises(ShardyError) as error:
        parse_module(HEAD + line + TAIL)
    diagnostic = error.value.diagnostics[0]
    assert message in diagnostic.message
    assert diagnostic.where is not None
    assert diagnostic.where.line in (4, 6)


def test_what_is_alike_is_an_op_of_its_own() -> None:
    module = parse_module(HEAD + "  %1 = stablehlo.add %0, %0 : tensor<f32>" + TAIL)
    first, second, third, _ = [op for op in module.walk() if op.name == "stablehlo.add"]
    assert list(third.operands) == [first.results[0]] * 2
    assert second.properties is not first.properties
    assert "%2 = stablehlo.add %0, %0 : tensor<f32>" in print_module(module)
