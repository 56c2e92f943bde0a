"""Programs that a rule must speak about, and such that look alike and that it must not."""

from __future__ import annotations

import pytest

from shardy_py.api import Program, Result, propagate
from shardy_py.check import Choice, Finding, Limits, check
from shardy_py.hardware.cost import cost_model

MESH = 'sdy.mesh @mesh = <["x"=2, "slow"=2]>\n'
LIMITS = Limits(1, 1, cost_model("tpu-v5p,slow=tpu-dcn"), padding_bytes=1)


def function(
    body: str,
    argument: str = "",
    result: str = '<@mesh, [{"x"}, {"slow"}]>',
    type_: str = "tensor<8x8xf32>",
    mesh: str = MESH,
) -> str:
    given, made = (f" {{sdy.sharding = #sdy.sharding{s}}}" if s else "" for s in (argument, result))
    return (
        f"{mesh}func.func @main(%a: {type_}{given}) -> ({type_}{made}) {{\n{body}\n  return %0 : {type_}\n}}"
    )


def manual(
    body: str, inside: str = "4x4", shardings: str = '[{"x"}, {"slow"}]', axes: str = '"x", "slow"'
) -> str:
    return (
        f"  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, {shardings}>]"
        f" out_shardings=[<@mesh, {shardings}>] manual_axes={{{axes}}} (%b: tensor<{inside}xf32>) {{\n"
        f"    {body}\n    sdy.return %1 : tensor<{inside}xf32>\n"
        "  } : (tensor<8x8xf32>) -> tensor<8x8xf32>"
    )


TANH = "  %0 = stablehlo.tanh %a : tensor<8x8xf32>"
CALL = "  %0 = stablehlo.custom_call @f(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>"
CUT = '<@mesh, [{"x"}, {"slow"}]>'
WHOLE = "<@mesh, [{}, {}]>"
LOOP = """
  %n = stablehlo.constant dense<3> : tensor<i32>
  %1:2 = stablehlo.while(%i = %n, %t = %a) : tensor<i32>, tensor<8x8xf32>
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %u = stablehlo.tanh %t : tensor<8x8xf32>
    stablehlo.return %i, %u : tensor<i32>, tensor<8x8xf32>
  }
  %0 = sdy.sharding_constraint %1#1 <@mesh, [{}, {}]> : tensor<8x8xf32>"""
PSUM = """%1 = "stablehlo.all_reduce"(%b) <{
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = dense<[[0, GROUP], [A, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%c: tensor<f32>, %d: tensor<f32>):
      %s = stablehlo.add %c, %d : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>"""
OVER_SLOW = PSUM.replace("GROUP", "1").replace("A", "2")
OVER_X = PSUM.replace("GROUP", "2").replace("A", "1")
UNEVEN = '  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<SIZEx8xf32>'
PRODUCT = "  %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]" + (
    " : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>"
)

SILENT = {
    "closed by the program": ("SDY001", function("", WHOLE, WHOLE).replace("return %0", "return %a")),
    "replicated by the program": (
        "SDY001",
        function("", '<@mesh, [{?}, {?}], replicated={"x", "slow"}>', WHOLE).replace(
            "return %0", "return %a"
        ),
    ),
    "out of a manual computation": (
        "SDY001",
        function(manual("%1 = stablehlo.tanh %b : tensor<8x8xf32>", "8x8", "[{}, {}]"), WHOLE, WHOLE),
    ),
    "a constant": (
        "SDY001",
        function("  %0 = stablehlo.constant dense<1.0> : tensor<8x8xf32>", WHOLE, WHOLE),
    ),
    "partial sums": (
        "SDY001",
        function("", '<@mesh, [{}, {}], unreduced={"x"}>', '<@mesh, [{}, {}], unreduced={"x"}>').replace(
            "return %0", "return %a"
        ),
    ),
    "a mesh of one device": ("SDY001", function(TANH, "", "", mesh='sdy.mesh @mesh = <["x"=1]>\n')),
    "divisible by the part of an axis": (
        "SDY002",
        function(
            '  %0 = sdy.sharding_constraint %a <@mesh, [{"x":(1)2}, {}]> : tensor<6x8xf32>',
            "",
            "",
            "tensor<6x8xf32>",
            'sdy.mesh @mesh = <["x"=4]>\n',
        ),
    ),
    "no elements at all": ("SDY002", function(UNEVEN.replace("SIZE", "0"), "", "", "tensor<0x8xf32>")),
    "a written constraint": (
        "SDY003",
        function("  %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x8xf32>", CUT, WHOLE),
    ),
    "a sum": (
        "SDY003",
        function(PRODUCT, '<@mesh, [{}, {"x"}]>', WHOLE)
        .replace("%a, %a", "%a, %b")
        .replace(
            ") -> (", ', %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (', 1
        ),
    ),
    "a reversal": (
        "SDY003",
        function("  %0 = stablehlo.reverse %a, dims = [0] : tensor<8x8xf32>", CUT),
    ),
    "a slice of what is whole": ("SDY003", function(TANH, WHOLE)),
    "a mesh that nothing is on": ("SDY004", 'sdy.mesh @other = <["x"=4]>\n' + function(TANH, CUT)),
    "an axis of one device": ("SDY004", function(TANH, CUT, mesh=MESH.replace('["x"', '["one"=1, "x"'))),
    "a manual axis that cuts nothing": (
        "SDY004",
        function(manual("%1 = stablehlo.tanh %b : tensor<8x8xf32>", "8x8", "[{}, {}]"), WHOLE, WHOLE),
    ),
    "a kernel on parts": (
        "SDY005",
        function(
            manual("%1 = stablehlo.custom_call @kernel(%b) : (tensor<4x4xf32>) -> tensor<4x4xf32>"), CUT
        ),
    ),
    "a call on scalars": (
        "SDY005",
        function(CALL.replace("8x8x", ""), "", "", "tensor<f32>"),
    ),
    "a call without a mesh": ("SDY005", function(CALL, "", "", mesh="")),
    "open, and replicated": ("SDY006", function(TANH, "", "")),
    "nothing was propagated to the open dimension": (
        "SDY006",
        function(TANH, '<@mesh, [{"x"}, {?}]>', WHOLE),
    ),
    "a scalar": ("SDY006", function(TANH.replace("8x8x", ""), "", "", "tensor<f32>")),
    "a function of the program's own": (
        "SDY006",
        function("  %0 = call @f(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>", CUT)
        + "\nfunc.func private @f(%a: tensor<8x8xf32>) -> tensor<8x8xf32> { return %a : tensor<8x8xf32> }",
    ),
    "a sum over fast links": ("SDY007", function(manual(OVER_X), CUT)),
}

SPEAKING = {
    "an open argument": ("SDY001", ["%arg0", "%0", "result 0"], function(TANH, "", "")),
    "sharded over one device": (
        "SDY001",
        ["%arg0"],
        function("", '<@mesh, [{"one", ?}, {?}]>', WHOLE, mesh=MESH.replace('["x"', '["one"=1, "x"')).replace(
            "return %0", "return %a"
        ),
    ),
    "a loop, once a value": ("SDY001", ["%arg0", "%1#1", "%3"], function(LOOP, "", WHOLE)),
    "along the axes that are left": (
        "SDY001",
        ["%1"],
        function(
            manual("%1 = stablehlo.tanh %b : tensor<4x8xf32>", "4x8", '[{"x"}, {}]', '"x"'),
            '<@mesh, [{"x"}, {}]>',
            '<@mesh, [{"x"}, {}]>',
        ),
    ),
    "an uneven constraint": (
        "SDY002",
        ["%0"],
        function(UNEVEN.replace("SIZE", "7"), "", "", "tensor<7x8xf32>"),
    ),
    "an uneven argument": (
        "SDY002",
        ["%arg0"],
        function("", '<@mesh, [{"x"}, {}]>', WHOLE.replace("8", "7"), "tensor<7x8xf32>").replace(
            "return %0", "return %a"
        ),
    ),
    "two shardings that meet": ("SDY003", ["func.return"], function(TANH, CUT, WHOLE)),
    "the arguments of a manual computation": (
        "SDY003",
        ["sdy.manual_computation"],
        function(manual("%1 = stablehlo.tanh %b : tensor<4x4xf32>"), '<@mesh, [{"slow"}, {"x"}]>'),
    ),
    "nothing over any axis": ("SDY004", ["@mesh", "@mesh"], function(TANH, "", "")),
    "only replicated over it": (
        "SDY004",
        ["@mesh"],
        function(TANH, '<@mesh, [{"x"}, {}]>', '<@mesh, [{"x"}, {}]>'),
    ),
    "only on another mesh": (
        "SDY004",
        ["@mesh"],
        'sdy.mesh @other = <["slow"=4]>\n'
        + function(TANH, '<@mesh, [{"x"}, {}]>', '<@mesh, [{"x"}, {}]>').replace(
            "  %0 = stablehlo.tanh %a",
            "  %c = stablehlo.constant dense<1.0> : tensor<8x8xf32>\n"
            '  %d = sdy.sharding_constraint %c <@other, [{"slow"}, {}]> : tensor<8x8xf32>\n'
            "  %0 = stablehlo.tanh %a",
        ),
    ),
    "a call": ("SDY005", ["%0"], function(CALL, CUT)),
    "a call with axes left": (
        "SDY005",
        ["%1"],
        function(
            manual(
                "%1 = stablehlo.custom_call @kernel(%b) : (tensor<4x8xf32>) -> tensor<4x8xf32>",
                "4x8",
                '[{"x"}, {?}]',
                '"x"',
            ),
            CUT,
        ),
    ),
    "half open": ("SDY006", ["%arg0"], function(TANH, '<@mesh, [{"x"}, {"slow", ?}]>')),
    "an open result": ("SDY006", ["result 0"], function(TANH, CUT, "")),
    "every public function": (
        "SDY006",
        ["result 0", "result 0"],
        function(TANH, CUT, "")
        + '\nfunc.func @g(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})'
        " -> tensor<8x8xf32> { return %a : tensor<8x8xf32> }",
    ),
    "a sum over slow links": ("SDY007", ["stablehlo.all_reduce"], function(manual(OVER_SLOW), CUT)),
    "a product over slow links": (
        "SDY007",
        ["stablehlo.dot_general"],
        function(PRODUCT, '<@mesh, [{}, {"slow"}]>', WHOLE)
        .replace("%a, %a", "%a, %b")
        .replace(
            ") -> (", ', %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"slow"}, {}]>}) -> (', 1
        ),
    ),
}


def found_in(result: Result, code: str) -> tuple[Finding, ...]:
    limits = (
        LIMITS
        if "slow" in {axis for mesh in result.program.meshes.values() for axis in mesh.sizes}
        else (Limits(1, 1))
    )
    return check(result, Choice(selected=(code,)), limits)


@pytest.mark.parametrize("name", SILENT)
def test_no_false_alarms(name: str) -> None:
    code, text = SILENT[name]
    assert found_in(propagate(Program.parse(text)), code) == ()


@pytest.mark.parametrize("name", SPEAKING)
def test_nothing_is_missed(name: str) -> None:
    code, subjects, text = SPEAKING[name]
    assert sorted(finding.subject for finding in found_in(propagate(Program.parse(text)), code)) == sorted(
        subjects
    )


def test_annotations_that_were_not_imported() -> None:
    text = function(CALL.replace("@f(%a)", '@Sharding(%a) {mhlo.sharding = "{replicated}"}'), CUT)
    (finding,) = found_in(propagate(Program.parse(text)), "SDY005")
    assert finding.message == "custom call @Sharding is a GSPMD annotation that has not been imported"
    assert "--xla-sdy-stablehlo-import-pipeline" in finding.remedy
