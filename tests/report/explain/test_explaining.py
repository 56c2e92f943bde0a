"""Chains by hand: from each kind of annotation, through each kind of move."""

from __future__ import annotations

import json

import pytest

from shardy_py.base import releases
from shardy_py.mlir.dialects import parse_module
from shardy_py.passes import pipelines
from shardy_py.passes.pipeline_options import PropagationPipelineOptions
from shardy_py.passes.runner import recording, run_passes
from shardy_py.report.explain import Explainer, Explanation, WhyNot
from shardy_py.report.explain.explaining import spot_of
from tests.propagation.random_programs import random_program
from tests.report.explain.removing import explained, pairs_of
from tests.report.explain.test_why_not import OPEN, T, argument, arguments, function

X = '[{"x"}, {?}]'


def explanation(text: str, value: str) -> Explanation:
    explainer = explained(parse_module(text))
    return explainer.explain(explainer.names.table.find(value))


def chain(text: str, value: str, *, number: int = 0) -> tuple[str, list[str]]:
    """The annotation of a chain of the first axis, and what the axis moved to, with the kind of the move."""
    found = explanation(text, value).axes[0].chains[number]
    annotation = f"{found.annotation.kind} of {found.annotation.place}"
    return annotation, [f"{link.kind} {link.target.name}" for link in found.links]


def test_forward_through_an_op() -> None:
    text = function(argument(0, X), f"  %0 = stablehlo.abs %arg0 : {T}\n  return %0 : {T}")
    assert chain(text, "%0") == ("argument sharding of %arg0", ["op %0"])
    (link,) = explanation(text, "%0").axes[0].chains[0].links
    assert link.factor == "i: dim 0 of operand 0 -> dim 0 of result 0"
    assert link.rule == "<([i, j])->([i, j]) {i=8, j=8}>"
    assert (link.strategy, link.op_priority, link.user_priority) == (
        *("aggressive", "pass_through_single_use"),
        "0",
    )
    assert (link.through.op, link.through.location) == ("stablehlo.abs", "-:3:8")


def test_backward_and_sideways() -> None:
    body = f"  %0 = stablehlo.abs %arg0 : {T}\n  %1 = stablehlo.add %0, %arg1 : {T}\n  return %1 : {T}"
    text = function(arguments(OPEN, X), body)
    assert chain(text, "%arg0") == ("argument sharding of %arg1", ["op %0", "op %arg0"])


def test_function_result() -> None:
    body = f"  %0 = stablehlo.abs %arg0 : {T}\n  return %0 : {T}"
    text = function(argument(0, X), body)
    assert chain(text, "result 0") == ("argument sharding of %arg0", ["op %0", "result result 0"])
    result = f"({T} {{sdy.sharding = #sdy.sharding<@mesh, {X}>}})"
    assert chain(function(f"%arg0: {T}", body, result), "%arg0") == (
        "result sharding of result 0",
        ["result %0", "op %arg0"],
    )


def test_dictated_by_a_constraint() -> None:
    body = (
        f"  %0 = stablehlo.abs %arg0 : {T}\n"
        f'  %1 = sdy.sharding_constraint %0 <@mesh, [{{"x"}}, {{}}]> : {T}\n  return %1 : {T}'
    )
    text = function(f"%arg0: {T}", body)
    assert chain(text, "%0") == ("sharding constraint of %1 = sdy.sharding_constraint", [])
    assert chain(text, "%arg0") == ("sharding constraint of %1 = sdy.sharding_constraint", ["op %arg0"])
    assert chain(text, "%1") == ("sharding constraint of %1 = sdy.sharding_constraint", [])


MANUAL = (
    '  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y"}, {}]>] '
    'out_shardings=[<@mesh, [{"x"}, {?}]>] manual_axes={"x"} (%arg1: tensor<4x8xf32>) {\n'
    "    %1 = stablehlo.abs %arg1 : tensor<4x8xf32>\n"
    f"    sdy.return %1 : tensor<4x8xf32>\n  }} : ({T}) -> {T}\n  return %0 : {T}"
)


def test_manual_computation() -> None:
    text = function(argument(0, OPEN), MANUAL)
    computation = "%0 = sdy.manual_computation"
    assert chain(text, "%1")[1] == ["op %1"]
    assert explanation(text, "%1").axes[0].axis == "y"
    assert chain(text, "%0") == (f"out_shardings of {computation}", [])
    assert chain(text, "%arg0") == (f"manual computation of {computation}", [])
    with releases.of("0.10"):  # where the open sharding of the argument stays until propagation
        annotation, links = chain(text, "%arg0")
    assert annotation == "in_shardings of %arg1 = sdy.manual_computation"
    assert links == ["op %arg0"]


def test_sharding_group() -> None:
    body = (
        f"  %0 = stablehlo.abs %arg0 : {T}\n  %1 = stablehlo.abs %arg1 : {T}\n"
        f"  sdy.sharding_group %0 group_id=0 : {T}\n  sdy.sharding_group %1 group_id=0 : {T}\n"
        f"  return %0, %1 : {T}, {T}"
    )
    text = function(f"{argument(0, X)}, %arg1: {T}", body, f"({T}, {T})")
    assert chain(text, "%arg1") == ("argument sharding of %arg0", ["op %0", "group %1", "op %arg1"])


CALLS = (
    f"  %0 = call @f(%arg0) : ({T}) -> {T}\n  return %0 : {T}\n}}\n"
    f"func.func private @f(%arg0: {T}) -> {T} {{\n"
    f"  %0 = stablehlo.abs %arg0 : {T}\n  return %0 : {T}"
)


def test_through_a_call() -> None:
    text = function(argument(0, X), CALLS)
    assert chain(text, "@f:%0") == ("argument sharding of %arg0", ["op @f:%arg0", "op @f:%0"])
    in_callee = ["op @f:%arg0", "op @f:%0", "pass @f:result 0"]
    assert chain(text, "%0")[1] == [*in_callee, "pass %0"]
    assert chain(text, "@f:result 0")[1] == in_callee


def test_result_sharding_of_a_callee() -> None:
    text = function(f"%arg0: {T}", CALLS).replace(
        f"private @f(%arg0: {T}) -> {T}",
        f"private @f(%arg0: {T}) -> ({T} {{sdy.sharding = #sdy.sharding<@mesh, {X}>}})",
    )
    annotation, links = chain(text, "%0")
    assert annotation == "result sharding of @f:result 0"
    assert links[0] == "pass %0"


def test_while_loop() -> None:
    body = (
        "  %c = stablehlo.constant dense<3> : tensor<i32>\n"
        f"  %0:2 = stablehlo.while(%i = %arg0, %j = %c) : {T}, tensor<i32>\n"
        "    cond {\n"
        "      %2 = stablehlo.compare LT, %j, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "      stablehlo.return %2 : tensor<i1>\n"
        "    } do {\n"
        f"      %3 = stablehlo.abs %i : {T}\n"
        f"      stablehlo.return %3, %j : {T}, tensor<i32>\n"
        f"    }}\n  return %0#0 : {T}"
    )
    text = function(argument(0, X), body)
    assert chain(text, "%1#0") == ("argument sharding of %arg0", ["op %1#0"])


def test_user_priority() -> None:
    body = f"  %0 = stablehlo.abs %arg0 : {T}\n  return %0 : {T}"
    found = explanation(function(argument(0, '[{"x"}p2, {?}]'), body), "%0").axes[0].chains[0]
    assert found.annotation.priority == 2
    assert found.links[0].user_priority == "2"


def test_reduced_at_the_boundary() -> None:
    type_ = "tensor<6x8xf32>"
    mesh = 'sdy.mesh @mesh = <["x"=4]>\n'
    body = f"  %0 = stablehlo.abs %arg0 : {type_}\n  return %0 : {type_}\n}}\n"
    text = f"{mesh}func.func @main({argument(0, X, type_)}) -> {type_} {{\n{body}"
    found = explanation(text, "%arg0").axes[0]
    assert found.axis == "x:(1)2"
    (link,) = found.chains[0].links
    assert link.pass_name == "sdy-update-non-divisible-input-output-shardings"
    assert link.note == 'changed from <@mesh, [{"x"}, {?}]>'


def test_others_that_agree_come_last() -> None:
    text = function(arguments(X, X), f"  %0 = stablehlo.add %arg0, %arg1 : {T}\n  return %0 : {T}")
    chains = explanation(text, "%0").axes[0].chains
    assert [(c.annotation.place.name, c.happened) for c in chains] == [("%arg0", True), ("%arg1", True)]
    body = (
        f"  %0 = stablehlo.abs %arg0 : {T}\n  %1 = stablehlo.tanh %arg1 : {T}\n"
        f"  %2 = stablehlo.add %0, %1 : {T}\n  return %2 : {T}"
    )
    chains = explanation(function(arguments(X, X), body), "%0").axes[0].chains
    assert [(c.annotation.place.name, c.happened) for c in chains] == [("%arg0", True), ("%arg1", False)]
    assert [link.target.name for link in chains[1].links] == ["%1", "%0"]


def test_inserted_reshards() -> None:
    text = function(
        arguments(X, '[{"y"}, {?}]'),
        f"  %0 = stablehlo.add %arg0, %arg1 : {T}\n  return %0 : {T}",
    )
    module = parse_module(text)
    with recording() as record:
        run_passes(
            module,
            pipelines.propagation_passes(PropagationPipelineOptions(enable_insert_explicit_collectives=True)),
        )
    explainer = Explainer(record, module)
    entries = [e for e in explainer.names.table.entries if e.op.name == "sdy.collective_permute"]
    assert entries
    for entry in entries:
        (found,) = explainer.explain(entry).axes
        annotation, *_ = found.chains
        assert annotation.annotation.place.name == {"x": "%arg0", "y": "%arg1"}[found.axis]


def test_names_and_text() -> None:
    text = function(argument(0, X), f"  %0 = stablehlo.abs %arg0 : {T}\n  return %0 : {T}")
    module = parse_module(text)
    with recording() as record:
        run_passes(module, pipelines.propagation_passes())
    (found,) = Explainer(record, module).explain_named("%0")
    assert str(found) == (
        "%0 = stablehlo.abs : tensor<8x8xf32>  [-:3:8]\n"
        '  sharding <@mesh, [{"x"}, {}]>\n'
        "  dim 0 is sharded along x\n"
        '    from the argument sharding of %arg0 <@mesh, [{"x"}, {?}]>  [-:2:17]\n'
        "      -> %0 = stablehlo.abs dim 0  "
        "(user priority 0, pass_through_single_use, aggressive)  [-:3:8]\n"
        "         i: dim 0 of operand 0 -> dim 0 of result 0 of <([i, j])->([i, j]) {i=8, j=8}>"
    )
    assert json.loads(json.dumps(found.to_json()))["axes"][0]["chains"][0]["links"][0]["dimension"] == 0


@pytest.mark.parametrize("value", ["%arg0", "%0"])
def test_not_sharded(value: str) -> None:
    text = function(f"%arg0: {T}", f"  %0 = stablehlo.abs %arg0 : {T}\n  return %0 : {T}")
    found = explanation(text, value)
    assert found.axes == ()
    assert "no axis shards it" in str(found)


def test_nothing_was_propagated() -> None:
    module = parse_module(function(f"%arg0: {T}", f"  return %arg0 : {T}"))
    with recording() as record:
        pass
    explainer = Explainer(record, module)
    (found,) = explainer.explain_named("%arg0")
    assert str(found).endswith("no axis shards it: no propagation pass ran; run sdy-propagation-pipeline")
    (reason,) = WhyNot(explainer).reasons(explainer.names.table.find("%arg0"), 0, "x")
    assert (reason.kind, reason.remedy) == ("not recorded", "run sdy-propagation-pipeline")


def test_what_a_barrier_keeps_away_does_not_agree() -> None:
    body = (
        f"  %0 = stablehlo.abs %arg0 : {T}\n"
        f"  %1 = sdy.propagation_barrier %arg1 allowed_direction={{}} : {T}\n"
        f"  %2 = stablehlo.tanh %1 : {T}\n  %3 = stablehlo.add %0, %2 : {T}\n  return %3 : {T}"
    )
    agreeing: dict[str, list[str]] = {}
    for direction in ("FORWARD", "BACKWARD"):
        text = function(arguments(X, X), body.format(direction))
        chains = explanation(text, "%0").axes[0].chains
        agreeing[direction] = [c.annotation.place.name for c in chains]
    assert agreeing == {"FORWARD": ["%arg0", "%arg1"], "BACKWARD": ["%arg0"]}


@pytest.mark.parametrize("seed", range(100, 130))
def test_first_chains_go_forward_in_time(seed: int) -> None:
    """Each move comes after the one before it; members of a group follow in the same entry."""
    explainer = explained(parse_module(random_program(seed)))
    for pair in pairs_of(explainer):
        for path in explainer.tracer.paths(spot_of(pair.entry), pair.dimension, pair.axis):
            last = -1
            for _, cause in path.transitions:
                if cause.arrival is not None:
                    is_group = cause.arrival.step is None
                    assert cause.arrival.entry > last or (is_group and cause.arrival.entry == last)
                    last = cause.arrival.entry


def test_later_arrivals_are_not_the_origin() -> None:
    """The first half of "x" is on %1 since priority 0; that %0 has all of it since priority 1 is no cause."""
    type_ = "tensor<8xf32>"
    first, second = argument(0, '[{"x":(1)2, ?}p0]', type_), argument(1, '[{"x"}p1]', type_)
    text = (
        'sdy.mesh @mesh = <["x"=4]>\n'
        f"func.func @main({first}, {second}) -> (tensor<2x4xf32>, {type_}) {{\n"
        f"  %0 = stablehlo.abs %arg0 : {type_}\n"
        f"  %1 = stablehlo.reshape %0 : ({type_}) -> tensor<2x4xf32>\n"
        f"  %2 = stablehlo.add %0, %arg1 : {type_}\n"
        f"  return %1, %2 : tensor<2x4xf32>, {type_}\n}}\n"
    )
    found = explanation(text, "%1").axes[0]
    assert (found.dimension, found.axis) == (0, "x:(1)2")
    assert [(c.annotation.place.name, c.happened) for c in found.chains] == [
        ("%arg0", True),
        ("%arg1", False),
    ]


CONCATENATED = "tensor<8x16xf32>"
CONCATENATION = (
    f"  %0 = stablehlo.concatenate %arg0, %arg1, dim = 1 : ({T}, {T}) -> {CONCATENATED}\n"
    f"  return %0 : {CONCATENATED}"
)


def test_an_axis_that_a_pass_puts_on_another_dimension() -> None:
    """A concatenation cannot keep the axes of its dimension: the operands get them along the other one."""
    result = f'({CONCATENATED} {{sdy.sharding = #sdy.sharding<@mesh, [{{?}}, {{"x"}}]>}})'
    explainer = explained(parse_module(function(arguments("[{}, {}]", "[{}, {}]"), CONCATENATION, result)))
    reshards = [e for e in explainer.names.table.entries if e.op.name == "sdy.reshard"]
    assert [e.op.result_types[0] for e in reshards][:2] == [reshards[0].type] * 2
    for entry in reshards[:2]:
        (axis,) = explainer.explain(entry).axes
        assert (axis.dimension, axis.axis) == (0, "x")
        first = axis.chains[0]
        assert (first.annotation.place.name, first.annotation.dimension) == ("result 0", 1)
        assert first.links[-1].pass_name == "sdy-insert-explicit-reshards"


def test_a_sharding_from_a_pass_is_not_an_annotation() -> None:
    """The operands of the concatenation disagree, so propagation leaves it without; a pass decides for it."""
    found = explanation(function(arguments('[{"x"}, {}]', '[{"y"}, {}]'), CONCATENATION, CONCATENATED), "%1")
    (chain_,) = found.axes[0].chains
    assert (found.place.op, found.axes[0].axis) == ("stablehlo.concatenate", "y")
    assert (chain_.annotation.kind, chain_.annotation.place.name) == ("argument sharding", "%arg1")
    assert chain_.links[0].pass_name == "sdy-insert-explicit-reshards"


def test_a_call_of_a_constant_is_copied_with_what_it_has_from_its_function() -> None:
    body = (
        f"  %c = stablehlo.constant dense<0.0> : {T}\n  %0 = call @f(%c) : ({T}) -> {T}\n"
        f"  %1 = stablehlo.abs %0 : {T}\n  %2 = stablehlo.tanh %0 : {T}\n  return %1, %2 : {T}, {T}\n}}\n"
        f"func.func private @f(%arg0: {T}) -> ({T} {{sdy.sharding = #sdy.sharding<@mesh, {X}>}}) {{\n"
        f"  return %arg0 : {T}"
    )
    explainer = explained(parse_module(function(f"%arg0: {T}", body, f"({T}, {T})")))
    calls = [e for e in explainer.names.table.entries if e.op.name == "func.call"]
    assert len(calls) == 2
    for entry in calls:
        (axis,) = explainer.explain(entry).axes
        annotation = axis.chains[0].annotation
        assert (annotation.kind, annotation.sharding) == ("result sharding", f"<@mesh, {X}>")


def test_the_words_of_an_annotation_that_a_group_handed_on() -> None:
    body = (
        f"  %0 = stablehlo.abs %arg0 : {T}\n  %1 = stablehlo.abs %arg1 : {T}\n"
        f"  %2 = sdy.sharding_constraint %1 <@mesh, {X}> : {T}\n"
        f"  sdy.sharding_group %0 group_id=0 : {T}\n  sdy.sharding_group %2 group_id=0 : {T}\n"
        f"  return %0, %2 : {T}, {T}"
    )
    text = function(f"%arg0: {T}, %arg1: {T}", body, f"({T}, {T})")
    annotation = explanation(text, "%0").axes[0].chains[0].annotation
    assert (annotation.kind, annotation.sharding) == ("sharding constraint", f"<@mesh, {X}>")


def test_chains_that_agree_end_at_the_value_too() -> None:
    """`%0` is a reshard of `%arg1`, which had "y" itself, as `%arg0` has."""
    text = function(arguments('[{"x", "y"}, {}]', '[{"y"}, {}]'), CONCATENATION, CONCATENATED)
    chains = explanation(text, "%0").axes[1].chains
    assert [c.annotation.place.name for c in chains] == ["%arg1", "%arg0"]
    assert [c.links[-1].target.name for c in chains] == ["%0", "%0"]


@pytest.mark.parametrize(
    ("size", "pass_name"),
    [
        (5, "sdy-update-non-divisible-input-output-shardings"),
        (6, "sdy-remove-sub-axes-in-input-output-shardings"),
    ],
)
def test_an_axis_that_a_tensor_on_the_way_does_not_keep(size: int, pass_name: str) -> None:
    type_ = f"tensor<{size}x8xf32>"
    body = (
        f"  %0 = stablehlo.abs %arg0 : {type_}\n  %1 = sdy.sharding_constraint %0 <@mesh, {X}> : {type_}\n"
        f"  %2 = stablehlo.tanh %arg0 : {type_}\n  return %1, %2 : {type_}, {type_}\n}}\n"
    )
    text = f'sdy.mesh @mesh = <["x"=4]>\nfunc.func @main(%arg0: {type_}) -> ({type_}, {type_}) {{\n{body}'
    found = explanation(text, "%2")
    (link,) = [link for link in found.axes[0].chains[0].links if link.target.name == "%arg0"]
    assert link.note == f"later removed by {pass_name}"
    assert "-> %arg0 dim 0 through %0 = stablehlo.abs, later removed by" in str(found)
