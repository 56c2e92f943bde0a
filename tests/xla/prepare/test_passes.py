"""XLA's steps before propagation, one by one; that they are what XLA does: `test_compiled.py`."""

from __future__ import annotations

import pytest

from shardy_py import propagate
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes import pass_call
from shardy_py.passes.runner import run_passes
from tests.xla.prepare.running import after

CALLS = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<8xf32>, tensor<8xf32>) {
  %0:2 = call @outer(%arg0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %1 = call @inner(%0#1) : (tensor<8xf32>) -> tensor<8xf32>
  return %0#0, %1 : tensor<8xf32>, tensor<8xf32>
}
func.func private @outer(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = call @inner(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %arg0 : tensor<8xf32>, tensor<8xf32>
}
func.func private @inner(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %arg0 : tensor<8xf32> loc("negate")
  return %0 : tensor<8xf32>
}
"""


def test_calls_are_inlined() -> None:
    program = after("xla-inline-calls", CALLS)
    assert program.functions == ("main",)
    first, second = program.values.of_op("negate")
    assert [first.entry.op.operands[0], second.entry.op.operands[0]] == [
        program["%arg0"].entry.value,
        program["%arg0"].entry.value,
    ]
    returned = program["%0"].entry.op.parent.last_op  # pyright: ignore
    assert list(returned.operands) == [first.entry.value, second.entry.value]


def test_inlined_ops_have_the_location_of_the_call() -> None:
    text = CALLS.replace(
        "%1 = call @inner(%0#1) : (tensor<8xf32>) -> tensor<8xf32>",
        '%1 = call @inner(%0#1) : (tensor<8xf32>) -> tensor<8xf32> loc("model.py":7:3)',
    )
    assert [value.location for value in after("xla-inline-calls", text).values.of_op("negate")][1] == (
        "model.py:7:3 negate"
    )


def test_calls_that_are_not_inlineable() -> None:
    kept = '{mhlo.frontend_attributes = {inlineable = "false"}}'
    text = CALLS.replace("call @inner(%0#1) :", f"call @inner(%0#1) {kept} :")
    program = after("xla-inline-calls", text)
    assert program.functions == ("main", "inner")
    assert len(program.values.of_op("func.call")) == 1


def test_calls_of_declared_functions_stay() -> None:
    text = CALLS.split("func.func private @outer")[0].replace("call @inner", "call @declared")
    text = (
        text.replace("%0:2 = call @outer(%arg0)", "%0:2 = call @pair(%arg0)")
        + """
func.func private @pair(tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
func.func private @declared(tensor<8xf32>) -> tensor<8xf32>
"""
    )
    assert len(after("xla-inline-calls", text).values.of_op("func.call")) == 3


def test_composites_are_their_decomposition() -> None:
    program = after(
        "xla-inline-calls",
        """
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.composite "a.b" %arg0 {decomposition = @impl, version = 1 : i32}
      : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @impl(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}
""",
    )
    assert [value.op_name for value in program.values] == ["func.func", "stablehlo.negate", "func.func"]


def test_values_without_elements_become_constants() -> None:
    program = after(
        "xla-fold xla-fold-empty-values xla-erase-dead-ops xla-order-ops",
        """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<0x4xf32>, tensor<8x4xf32>) {
  %0 = stablehlo.slice %arg0 [0:0, 0:4] : (tensor<8x4xf32>) -> tensor<0x4xf32>
  %1 = stablehlo.concatenate %0, %arg0, dim = 0 : (tensor<0x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<0x4xf32>, tensor<8x4xf32>
}
""",
    )
    assert [value.op_name for value in program.values if value.role == "intermediate"] == [
        "stablehlo.constant"
    ]
    result = propagate(program)
    assert result["result 0"].sharding is None
    assert str(result["result 1"].sharding) == '<@mesh, [{}, {"x"}]>'


def test_dead_ops_are_erased() -> None:
    program = after(
        "xla-erase-dead-ops",
        """
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %arg0 : tensor<8xf32>
  %1 = stablehlo.sine %0 : tensor<8xf32>
  %2 = stablehlo.custom_call @effect(%arg0) {has_side_effect = true} : (tensor<8xf32>) -> tensor<8xf32>
  return %arg0 : tensor<8xf32>
}
""",
    )
    assert [value.op_name for value in program.values] == ["func.func", "stablehlo.custom_call", "func.func"]


APPROXIMATE = """
%0:2 = stablehlo.custom_call @ApproxTopK(%arg0, %arg1, %arg2, %arg3)
  {called_computations = [], mhlo.backend_config = {is_fallback = IS_FALLBACK, reduction_dim = 1 : i64}}
  : (tensor<8x16xf32>, tensor<8x16xi32>, tensor<f32>, tensor<i32>) -> (tensor<8x4xf32>, tensor<8x4xi32>)
"""


@pytest.mark.parametrize(
    ("op", "rule"),
    [
        (
            "%0 = chlo.lgamma %arg0 : tensor<8x16xf32> -> tensor<8x16xf32>",
            "<([i, j])->([i, j]) {i=8, j=16}>",
        ),
        (
            "%0 = chlo.next_after %arg0, %arg0 : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x16xf32>",
            "<([i, j], [i, j])->([i, j]) {i=8, j=16}>",
        ),
        (
            "%0:2 = chlo.top_k(%arg0, k = 4) : tensor<8x16xf32> -> (tensor<8x4xf32>, tensor<8x4xi32>)",
            "<([i, j])->([i, j], [i, j]) {i=8, j=16} need_replication={j} blocked_propagation={j}>",
        ),
        (
            "%0 = chlo.erf %arg0 : tensor<8x16xf32> -> tensor<8x16xf32>",
            "<([i, j])->([i, j]) {i=8, j=16}>",
        ),
        ("%0 = stablehlo.sine %arg0 : tensor<8x16xf32>", ""),
        (
            APPROXIMATE.replace("IS_FALLBACK", "true"),
            "<([i, j], [i, j], [], [])->([i, j], [i, j]) {i=8, j=16} need_replication={j}>",
        ),
        (APPROXIMATE.replace("IS_FALLBACK", "false"), ""),
    ],
)
def test_rules_of_ops_that_xla_expands(op: str, rule: str) -> None:
    arguments = "%arg0: tensor<8x16xf32>, %arg1: tensor<8x16xi32>, %arg2: tensor<f32>, %arg3: tensor<i32>"
    program = after("xla-populate-expanded-op-rules", f"func.func @main({arguments}) {{\n{op}\nreturn\n}}")
    made = next(value for value in program.values if value.role == "intermediate")
    given = made.entry.op.attributes.get("sdy.sharding_rule")
    assert (str(given.data) if given is not None else "") == rule  # pyright: ignore


LOOP = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32>,
                %arg2: tensor<i32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%iterArg = %arg2, %iterArg_0 = %arg1) : tensor<i32>, tensor<8xf32>
   cond {
    %1 = stablehlo.compare LT, %iterArg, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %arg0, %arg1 : tensor<8xf32>
    %2 = stablehlo.multiply %1, %arg0 : tensor<8xf32>
    stablehlo.return %iterArg, %2 : tensor<i32>, tensor<8xf32>
  }
  %3 = stablehlo.add %0#1, %arg0 : tensor<8xf32>
  return %3 : tensor<8xf32>
}
"""


def test_sharded_values_enter_loops_open() -> None:
    program = after("xla-open-free-loop-values", LOOP)
    (opened,) = program.values.of_op("sdy.sharding_constraint")
    assert str(opened.sharding) == "<@mesh, [{?}]>"
    assert opened.entry.op.operands[0] is program["%arg0"].entry.value
    users = [use.operation.name for use in opened.entry.value.uses]  # pyright: ignore
    assert users == ["stablehlo.multiply", "stablehlo.add"]
    (after_the_loop,) = [v for v in program.values.of_op("add") if v.entry.op.parent_op().name == "func.func"]  # pyright: ignore
    assert after_the_loop.entry.op.operands[1] is program["%arg0"].entry.value


def test_ops_have_the_order_of_hlo() -> None:
    program = after(
        "xla-order-ops",
        """
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.sine %arg0 : tensor<8xf32>
  %1 = stablehlo.cosine %arg0 : tensor<8xf32>
  %2 = stablehlo.tan %arg0 : tensor<8xf32>
  %3 = "stablehlo.case"(%arg1) ({
    %5 = stablehlo.negate %1 : tensor<8xf32>
    %6 = stablehlo.abs %2 : tensor<8xf32>
    %7 = stablehlo.add %6, %5 : tensor<8xf32>
    stablehlo.return %7 : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  %4 = stablehlo.custom_call @effect(%2) {has_side_effect = true} : (tensor<8xf32>) -> tensor<8xf32>
  return %3, %0 : tensor<8xf32>, tensor<8xf32>
}
""",
    )
    made = [value.op_name for value in program.values if value.role == "intermediate"]
    names = ["tan", "custom_call", "cosine", "case", "abs", "negate", "add", "sine"]
    assert made == [f"stablehlo.{name}" for name in names]


@pytest.mark.parametrize(
    ("results", "names"),
    [
        (["%0"], ["sine", "cosine", "@early", "@inlined"]),
        (["%0", "%1"], ["cosine", "@early", "sine", "@inlined"]),
    ],
)
def test_effects_have_the_order_of_hlo(results: list[str], names: list[str]) -> None:
    """A single result stands where it is made; several are one op, at the end; what is inlined comes last."""
    types = ", ".join(["tensor<8xf32>"] * len(results))
    program = after(
        "xla-inline-calls xla-order-ops",
        f"""
func.func @main(%arg0: tensor<8xf32>) -> ({types}) {{
  call @effect(%arg0) : (tensor<8xf32>) -> ()
  %0 = stablehlo.sine %arg0 : tensor<8xf32>
  %1 = stablehlo.cosine %arg0 : tensor<8xf32>
  stablehlo.custom_call @early(%1) {{has_side_effect = true}} : (tensor<8xf32>) -> ()
  return {", ".join(results)} : {types}
}}
func.func private @effect(%arg0: tensor<8xf32>) {{
  stablehlo.custom_call @inlined(%arg0) {{has_side_effect = true}} : (tensor<8xf32>) -> ()
  return
}}
""",
    )
    lines = program.text().splitlines()
    assert [name for line in lines for name in names if f"{name}(" in line or f".{name} " in line] == names
    assert "shardy_py" not in program.text()


def test_loops_do_not_carry_invariant_values() -> None:
    program = after(
        "xla-drop-invariant-loop-values",
        """
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<i32>) {
  %0:3 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1, %iterArg_1 = %arg0)
      : tensor<8xf32>, tensor<i32>, tensor<8xf32>
   cond {
    %1 = stablehlo.compare LT, %iterArg_0, %iterArg_0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %iterArg, %iterArg_1 : tensor<8xf32>
    stablehlo.return %iterArg, %iterArg_0, %1 : tensor<8xf32>, tensor<i32>, tensor<8xf32>
  }
  return %0#0, %0#2, %0#1 : tensor<8xf32>, tensor<8xf32>, tensor<i32>
}
""",
    )
    loop = program.text().split("stablehlo.while")[1]
    assert loop.startswith("(%iterArg = %arg0) : tensor<8xf32>")
    assert "compare LT, %arg1, %arg1" in loop
    assert "stablehlo.add %arg0, %iterArg" in loop
    assert "return %arg0, %0, %arg1" in loop


def test_meshes_of_the_same_devices_become_one() -> None:
    program = after(
        "xla-merge-meshes",
        """
sdy.mesh @flat = <["all"=8]>
sdy.mesh @grid = <["x"=2, "y"=4]>
sdy.mesh @other = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@flat, [{"all", ?}p1]>},
                %arg1: tensor<8xf32>
                  {sdy.sharding = #sdy.sharding<@flat, [{"all":(2)2}], replicated={"all":(1)2}>},
                %arg2: tensor<8xf32> {sdy.sharding = #sdy.sharding<@other, [{"x"}]>},
                %arg3: tensor<8xf32> {sdy.sharding = #sdy.sharding<@flat, [{}], unreduced={"all"}>}) {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@flat, [{"all"}]>] out_shardings=[<@flat, [{"all"}]>]
      manual_axes={"all"} (%arg4: tensor<1xf32>) {
    sdy.return %arg4 : tensor<1xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}
""",
    )
    assert [str(value.sharding) for value in program.values.arguments()] == [
        '<@grid, [{"x", "y", ?}p1]>',
        '<@grid, [{"y":(1)2}], replicated={"x"}>',
        '<@other, [{"x"}]>',
        '<@grid, [{}], unreduced={"x", "y"}>',
    ]
    assert 'in_shardings=[<@grid, [{"x", "y"}]>]' in program.text()
    assert 'manual_axes={"x", "y"}' in program.text()


def test_expanded_ops_of_dynamic_shape_get_no_rule() -> None:
    text = """
func.func @main(%arg0: tensor<?xf32>, %arg1: tensor<8xf32>) -> (tensor<?xf32>, tensor<8xf32>) {
  %0 = chlo.asin %arg0 : tensor<?xf32> -> tensor<?xf32>
  %1 = chlo.asin %arg1 : tensor<8xf32> -> tensor<8xf32>
  return %0, %1 : tensor<?xf32>, tensor<8xf32>
}
"""
    dynamic, static = after("xla-populate-expanded-op-rules", text).values.of_op("chlo.asin")
    assert "sdy.sharding_rule" not in dynamic.entry.op.attributes
    assert "sdy.sharding_rule" in static.entry.op.attributes


def test_constants_get_no_rule() -> None:
    text = "func.func @main() -> tensor<8xf32> {\n%0 = chlo.constant dense<1.0> : tensor<8xf32>\n"
    program = after("xla-populate-expanded-op-rules", f"{text}return %0 : tensor<8xf32>\n}}")
    (constant,) = program.values.of_op("chlo.constant")
    assert "sdy.sharding_rule" not in constant.entry.op.attributes


def test_order_of_empty_blocks_and_nested_modules() -> None:
    text = 'module {\n  module {\n  }\n  "t.x"() ({\n  ^bb0:\n  }, {\n  }) : () -> ()\n}\n'
    module = run_passes(parse_module(text, allow_unregistered=True), [pass_call("xla-order-ops")])
    assert print_module(module) == text
