"""Each reason why an axis is not there, on the smallest program that has it."""

from __future__ import annotations

from collections import Counter

import pytest

from shardy_py import Program, propagate
from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module
from shardy_py.propagation.graph.run_record import Record
from shardy_py.report.explain import Explainer, Reason, WhyNot
from shardy_py.report.explain.explanation import KINDS
from tests.report.explain.removing import explained

MESH = 'sdy.mesh @mesh = <["x"=2, "y"=2, "z"=3]>\n'
OPEN = "[{?}, {?}]"
T = "tensor<8x8xf32>"


def function(arguments: str, body: str, result: str = T) -> str:
    return f"{MESH}func.func @main({arguments}) -> {result} {{\n{body}\n}}\n"


def argument(number: int, sharding: str, type_: str = T, more: str = "") -> str:
    return f"%arg{number}: {type_} {{sdy.sharding = #sdy.sharding<@mesh, {sharding}{more}>}}"


def arguments(*shardings: str) -> str:
    return ", ".join(argument(number, sharding) for number, sharding in enumerate(shardings))


def reasons(text: str, value: str, dimension: int, axis: str) -> tuple[Reason, ...]:
    module = parse_module(text)
    explainer = explained(module)
    return WhyNot(explainer).reasons(explainer.names.table.find(value), dimension, axis)


ADD = f"  %0 = stablehlo.add %arg0, %arg1 : {T}\n  return %0 : {T}"

CASES: dict[str, tuple[str, str, int, str, str, str]] = {
    # kind: program, value, dimension, axis, part of the message, part of the remedy
    "closed": (
        function(arguments('[{"x"}, {}]', "[{}, {}]"), ADD),
        *("%arg1", 0, "x"),
        "dimension 0 of %arg1 is closed, set by the argument sharding of %arg1",
        "open dimension 0 of %arg1",
    ),
    "conflict": (
        function(arguments('[{"x"}, {?}]', '[{"y"}, {?}]'), ADD),
        *("%0", 0, "y"),
        "",
        "sharding_constraint",
    ),
    "used": (
        function(argument(0, '[{"x"}, {?}]'), f"  %0 = stablehlo.abs %arg0 : {T}\n  return %0 : {T}"),
        *("%0", 1, "x"),
        'dimension 0 of %0 = stablehlo.abs is already sharded along "x", set by the argument sharding of',
        'remove "x" from %arg0',
    ),
    "replicated": (
        function(
            ", ".join((argument(0, '[{"x"}, {?}]'), argument(1, OPEN, T, ', replicated={"x"}'))),
            ADD,
        ),
        *("%arg1", 0, "x"),
        '%arg1 is explicitly replicated along "x"',
        "replicated={...} of %arg1",
    ),
    "unreduced": (
        function(argument(0, OPEN, T, ', unreduced={"x"}'), f"  return %arg0 : {T}"),
        *("%arg0", 0, "x"),
        '%arg0 is unreduced along "x"',
        "unreduced={...} of %arg0",
    ),
    "manual": (
        function(
            argument(0, '[{"x"}, {?}]'),
            f'  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{{"x"}}, {{?}}]>] '
            f'out_shardings=[<@mesh, [{{"x"}}, {{?}}]>] manual_axes={{"x"}} (%arg1: tensor<4x8xf32>) {{\n'
            f"    %1 = stablehlo.abs %arg1 : tensor<4x8xf32>\n"
            f"    sdy.return %1 : tensor<4x8xf32>\n  }} : ({T}) -> {T}\n  return %0 : {T}",
        ),
        *("%1", 1, "x"),
        'which is manual along "x"',
        'remove "x" from manual_axes',
    ),
    "priority": (
        function(arguments('[{"x"}p0, {?}]', '[{"y"}p1, {?}]'), ADD),
        *("%0", 0, "y"),
        'of %arg0 with priority 0; "y" comes from %arg1 with priority 1',
        "give %arg0 a priority value above 1",
    ),
    "non-divisible": (
        function(
            argument(0, '[{"z"}, {?}]'),
            f"  %0 = stablehlo.abs %arg0 : {T}\n  return %0 : {T}",
        ),
        *("%arg0", 0, "z"),
        "8 is not divisible by 3",
        "pad the dimension to a multiple of 3",
    ),
    "barrier": (
        function(
            argument(0, '[{"x"}, {?}]'),
            f"  %0 = sdy.propagation_barrier %arg0 allowed_direction=BACKWARD : {T}\n"
            f"  %1 = stablehlo.abs %0 : {T}\n  return %1 : {T}",
        ),
        *("%1", 0, "x"),
        "allows direction BACKWARD only",
        "remove the barrier",
    ),
    "no rule": (
        function(
            argument(0, '[{"x"}, {?}]'),
            f"  %0 = stablehlo.custom_call @mine(%arg0) : ({T}) -> {T}\n  return %0 : {T}",
        ),
        *("%0", 0, "x"),
        '%arg0 is sharded along "x", but %0 = stablehlo.custom_call has no sharding rule',
        "sdy.sharding_rule",
    ),
    "blocked": (
        function(
            argument(0, '[{"x"}, {?}]'),
            "  %0 = stablehlo.custom_call @mine(%arg0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->"
            "([i, j]) {i=8, j=8} permutation={i} blocked_propagation={i}, custom>} "
            f": ({T}) -> {T}\n  return %0 : {T}",
        ),
        *("%0", 0, "x"),
        "blocks propagation along i, a permutation factor",
        "sharding_constraint",
    ),
    "no factor": (
        function(
            argument(0, '[{"x"}, {?}]') + ", %arg1: tensor<8x8xf32>",
            "  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] "
            f": ({T}, {T}) -> {T}\n"
            f"  %1 = stablehlo.custom_call @mine(%0) {{sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->"
            f"([i, k]) {{i=8, j=8, k=8}}, custom>}} : ({T}) -> {T}\n  return %1 : {T}",
        ),
        *("%1", 1, "y"),
        "does not map dimension 1 of %1 = stablehlo.custom_call to others",
        "sharding_constraint",
    ),
    "not sent": (
        function(argument(0, '[{"x"}, {?}]'), f"  %0 = stablehlo.abs %arg0 : {T}\n  return %0 : {T}"),
        *("%0", 1, "y"),
        'no tensor related to dimension 1 of %0 = stablehlo.abs by sharding rules is sharded along "y"',
        'sharding_constraint with "y"',
    ),
    "mesh": (
        'sdy.mesh @other = <["v"=2]>\n'
        + function(
            argument(0, '[{"x"}, {?}]')
            + f", %arg1: {T} {{sdy.sharding = #sdy.sharding<@other, [{{?}}, {{"
            + '"v"}]>}',
            ADD,
        ),
        *("%0", 1, "v"),
        "on different meshes: %arg0 on @mesh, %arg1 on @other",
        "one mesh",
    ),
    "stride": (
        function(
            argument(0, '[{?}, {"x"}]'),
            f"  %0 = stablehlo.reshape %arg0 : ({T}) -> tensor<64xf32>\n  return %0 : tensor<64xf32>",
            "tensor<64xf32>",
        ),
        *("%0", 0, "x"),
        "a more major factor of the dimension of %0 = stablehlo.reshape is not fully sharded",
        "sharding_constraint",
    ),
    "maximal": (
        "sdy.mesh @one = <[], device_ids=[0]>\n"
        + function(
            f"%arg0: {T}",
            f"  %0 = stablehlo.custom_call @mine(%arg0) {{has_side_effect = true, sdy.sharding = "
            f"#sdy.sharding_per_value<[<@one, []>]>}} : ({T}) -> {T}\n  return %0 : {T}",
        ),
        *("%1", 0, "x"),
        "on a single device",
        "a mesh of several devices",
    ),
    "dead": (
        function(
            arguments('[{"x"}, {?}]', OPEN),
            f"  %0 = stablehlo.add %arg0, %arg1 : {T}\n  %1 = stablehlo.abs %arg1 : {T}\n  return %1 : {T}",
        ),
        *("%arg1", 0, "x"),
        "the results of stablehlo.add [-:3:8] are unused, so propagation erases it",
        "return or use the results of stablehlo.add [-:3:8]",
    ),
    "size one": (
        function(arguments('[{"x"}, {?}]', OPEN), ADD).replace('"z"=3', '"z"=1'),
        *("%arg1", 0, "z"),
        '"z" has size 1',
        'increase the size of "z" in the mesh',
    ),
    "sharded": (
        function(argument(0, '[{"x"}, {?}]'), f"  return %arg0 : {T}"),
        *("%arg0", 0, "x"),
        "is sharded along",
        "",
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_reason(kind: str) -> None:
    text, value, dimension, axis, message, remedy = CASES[kind]
    found = reasons(text, value, dimension, axis)
    reason = next((r for r in found if r.kind == kind), None)
    assert reason is not None, found
    assert message in reason.message
    assert remedy in reason.remedy
    assert reason.kind in KINDS


def test_the_stop_is_found_where_the_axis_was_lost() -> None:
    text = function(
        arguments('[{"x"}, {?}]', OPEN),
        f"  %0 = stablehlo.abs %arg0 : {T}\n"
        f"  %1 = sdy.propagation_barrier %0 allowed_direction=NONE : {T}\n"
        f"  %2 = stablehlo.abs %1 : {T}\n  %3 = stablehlo.add %2, %arg1 : {T}\n  return %3 : {T}",
    )
    (reason,) = reasons(text, "%3", 0, "x")
    assert reason.kind == "barrier"
    assert reason.op is not None
    assert (reason.op.op, reason.op.location, reason.distance) == ("sdy.propagation_barrier", "-:4:8", 3)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("closed", "[{}, {}]", "[{?}, {}]"),
        ("replicated", ', replicated={"x"}', ""),
        ("barrier", "=BACKWARD", "=FORWARD"),
        ("blocked", " permutation={i} blocked_propagation={i}", ""),
        ("used", '[{"x"}, {?}]', '[{?}, {"x"}]'),
        ("priority", '[{"x"}p0, {?}]', '[{"x"}p2, {?}]'),
        ("dead", "return %1", "return %0"),
    ],
)
def test_the_remedy_helps(kind: str, old: str, new: str) -> None:
    """The remedy applied by hand: the axis arrives, or the reason is another."""
    text, value, dimension, axis, _, _ = CASES[kind]
    assert old in text
    found = reasons(text.replace(old, new), value, dimension, axis)
    assert kind not in {reason.kind for reason in found}
    assert found[0].kind == "sharded"


def test_an_op_without_a_rule_is_not_blamed_for_another_dimension() -> None:
    """Whatever rule the op had, an axis of dimension 0 would not come to dimension 1 of the same shape."""
    text, value, *_ = CASES["no rule"]
    assert [reason.kind for reason in reasons(text, value, 1, "x")] == ["not sent"]


def test_an_axis_behind_one_that_stops() -> None:
    """`%arg0` has "y" behind "x", which %arg1 keeps on its other dimension."""
    found = reasons(function(arguments('[{"x", "y"}, {?}]', '[{?}, {"x"}]'), ADD), "%arg1", 0, "y")
    assert found[0].message == (
        '%arg0 is sharded along "y" after "x", but "x" does not propagate through %0 = stablehlo.add: '
        'dimension 1 of %arg1 is already sharded along "x", set by the argument sharding of %arg1'
    )


def test_axes_that_do_not_align_with_factors() -> None:
    """An axis of size 3 on a dimension of factors 2 and 4: nothing can follow on the open dimension."""
    type_ = "tensor<2x4xf32>"
    body = f"  %0 = stablehlo.reshape %arg0 : (tensor<8xf32>) -> {type_}\n  return %0 : {type_}"
    result = f'({type_} {{sdy.sharding = #sdy.sharding<@mesh, [{{?}}, {{"x"}}]>}})'
    text = function(argument(0, '[{"z", ?}]', "tensor<8xf32>"), body, result)
    (found,) = reasons(text, "%arg0", 0, "x")
    assert found.kind == "non-divisible"
    assert '"z" on dimension 0 of %arg0 does not align with its factors, set by the argument' in found.message
    assert found.remedy == "shard it along axes that divide i=2, j=4"


def test_a_closed_dimension_with_axes_of_another_factor() -> None:
    """The remedy has the dimension as written, not the axes along the factor only."""
    type_ = "tensor<2x4xf32>"
    body = f"  %0 = stablehlo.reshape %arg0 : (tensor<8xf32>) -> {type_}\n  return %0 : {type_}"
    result = f'({type_} {{sdy.sharding = #sdy.sharding<@mesh, [{{?}}, {{"y"}}]>}})'
    found = reasons(function(argument(0, '[{"x"}]', "tensor<8xf32>"), body, result), "%arg0", 0, "y")
    remedies = {reason.remedy for reason in found if reason.kind == "closed"}
    assert remedies == {'open dimension 0 of %arg0: {"x", ?} instead of {"x"}'}


def test_a_tensor_that_meets_itself() -> None:
    """Contracted with itself, a matrix has one factor along both dimensions: what stops there is found."""
    body = (
        f"  %0 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0] : ({T}, {T}) -> {T}\n"
        f"  return %0 : {T}"
    )
    (found, *_) = reasons(function(argument(0, '[{"x"}, {?}]'), body), "%arg0", 1, "x")
    assert found.kind == "used"
    assert found.distance == 1


GROUP = (
    f"  sdy.sharding_group %arg0 group_id=0 : {T}\n  sdy.sharding_group %arg1 group_id=0 : {T}\n"
    f"  %0 = sdy.propagation_barrier %arg2 allowed_direction=NONE : {T}\n"
    f"  %1 = stablehlo.add %0, %arg0 : {T}\n  return %1 : {T}"
)


def test_through_a_sharding_group() -> None:
    shardings = arguments(OPEN, OPEN, '[{"x"}, {?}]')
    assert reasons(function(shardings, GROUP), "%arg1", 0, "x")[0].kind == "barrier"


def test_manual_axes_that_an_argument_keeps_whole() -> None:
    text = (
        CASES["manual"][0]
        .replace(
            'in_shardings=[<@mesh, [{"x"}, {?}]>]', 'in_shardings=[<@mesh, [{?}, {?}], replicated={"x"}>]'
        )
        .replace("tensor<4x8xf32>", T)
        .replace(
            'out_shardings=[<@mesh, [{"x"}, {?}]>]', 'out_shardings=[<@mesh, [{?}, {?}], replicated={"x"}>]'
        )
    )
    found = next(r for r in reasons(text, "%0", 0, "x") if r.kind == "replicated")
    assert 'add "x" to dimension 0 in the out_shardings of %0' in found.remedy


PART = "sub-axis of 'x': expected (M)N where 1 < N < 2 and M * N divides 2, got {}"


@pytest.mark.parametrize(
    ("dimension", "axis", "message"),
    [
        (2, "x", "%arg0: expected a dimension from 0 to 1, got 2"),
        (0, "w", "unknown axis 'w': expected one of 'x', 'y', 'z'"),
        (0, "x:(1)", "expected an axis such as 'x' or 'x:(1)2', got 'x:(1)'"),
        (0, "x:(1)3", PART.format("(1)3")),
        (0, "x:(1)2", PART.format("(1)2")),
        (0, "x:(2)2", PART.format("(2)2")),
        (0, "x:(0)2", PART.format("(0)2")),
    ],
)
def test_unknown_dimensions_and_axes(dimension: int, axis: str, message: str) -> None:
    text = function(argument(0, OPEN), f"  return %arg0 : {T}")
    with pytest.raises(ShardyError) as error:
        reasons(text, "%arg0", dimension, axis)
    assert error.value.diagnostics[0].message == message


def test_a_scalar_has_no_dimension() -> None:
    with pytest.raises(ShardyError, match="%arg0 has no dimensions: its type is tensor<f32>"):
        reasons(
            function("%arg0: tensor<f32>", "  return %arg0 : tensor<f32>", "tensor<f32>"), "%arg0", 0, "x"
        )


def test_a_name_with_commas_and_one_that_two_values_have() -> None:
    """MLIR gives values of regions one after the other the same names; JAX keys may hold commas."""
    loop = (
        "  %{n}:2 = stablehlo.while(%i = %arg0, %j = %arg1) : {T}, tensor<i1>\n"
        "    cond {{\n      stablehlo.return %j : tensor<i1>\n    }} do {{\n"
        "      %1 = stablehlo.abs %i : {T}\n      stablehlo.return %1, %j : {T}, tensor<i1>\n    }}\n"
    )
    loops = loop.format(n=0, T=T) + loop.format(n=5, T=T)
    first = argument(0, '[{"x"}, {?}]') + " loc(\"p['a', 'b']\")"
    text = function(f"{first}, %arg1: tensor<i1>", f"{loops}  return %0#0, %5#0 : {T}, {T}", f"({T}, {T})")
    module = parse_module(text)
    explainer = explained(module)
    record = Record([*explainer.tracer.events])
    answers = WhyNot(Explainer(record, module))
    (found,) = answers.named("p['a', 'b'],1,x").values()
    assert found.title == "why is dimension 1 of %arg0 (p['a', 'b']) not sharded along x?"
    twice = Counter(str(entry) for entry in explainer.names.table.entries if entry.op.name == "stablehlo.abs")
    ((name, count),) = twice.items()
    assert count == 2
    assert len(answers.named(f"{name},1,x")) == 2
    with pytest.raises(ShardyError, match=rf"@main:{name} .*, @main:{name} "):
        explainer.names.table.find(name)


def test_an_axis_with_quotes_in_its_name() -> None:
    text = function(argument(0, "[{}, {}]"), f"  return %arg0 : {T}").replace('"x"', '"x\\"y,0"')
    named = WhyNot(explained(parse_module(text))).named
    for axis in ('"x\\"y,0"', '"x\\22y,0"'):
        assert [reason.kind for reason in next(iter(named(f"%arg0,0,{axis}").values()))]


@pytest.mark.parametrize(("size", "remedy"), [(6, "pad it to 8 or shard it along"), (8, "use full axes")])
def test_sub_axes_removed_at_a_result(size: int, remedy: str) -> None:
    """Full axes are proposed only where they divide the size; otherwise the divisor is named."""
    text = f"""
sdy.mesh @mesh = <["x"=4]>
func.func public @main(
    %a: tensor<{size}x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x":(1)2, ?}}, {{}}]>}})
    -> tensor<{size}x8xf32> {{
  %0 = stablehlo.tanh %a : tensor<{size}x8xf32>
  return %0 : tensor<{size}x8xf32>
}}"""
    (reason,) = propagate(Program.parse(text)).why_not("result 0", 0, "x")
    assert remedy in reason.remedy
    assert ("6 is not divisible by 4" in reason.remedy) == (size == 6)
