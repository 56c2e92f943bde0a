"""Roles, schemes and suggestions of small programs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shardy_py import P, Program, ShardyError, Study, propagate
from shardy_py.cli.suggest import main
from shardy_py.hardware import placement_of
from shardy_py.report.tables import seconds_text
from shardy_py.search.study import StepCost
from shardy_py.search.suggest import Code, Row, schemes
from shardy_py.search.suggest.moves import AnnotationMove
from shardy_py.search.suggest.search import Budget
from shardy_py.search.suggest.suggestion import pareto
from shardy_py.search.suggest_code import NUMBER, own_constraints, removed_constraints
from shardy_py.search.suggest_scoring import Scorer
from shardy_py.search.suggest_variables import variables_of
from shardy_py.search.suggesting import factorizations
from shardy_py.sharding import Mesh

TEXT = """
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(%x: tensor<1024x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data", "model"}]>},
                %w: tensor<2048x8192xbf16>, %v: tensor<8192x2048xbf16>) -> tensor<1024x2048xbf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<1024x2048xbf16>, tensor<2048x8192xbf16>) -> tensor<1024x8192xbf16>
  %1 = stablehlo.tanh %0 : tensor<1024x8192xbf16>
  %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0]
      : (tensor<1024x8192xbf16>, tensor<8192x2048xbf16>) -> tensor<1024x2048xbf16>
  %3 = stablehlo.add %2, %x : tensor<1024x2048xbf16>
  return %3 : tensor<1024x2048xbf16>
}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return Program.parse(TEXT)


def test_roles_come_from_rules(program: Program) -> None:
    roles = program.suggest(tries=1, progress=False).best.roles
    kinds = [tuple(map(roles.kind, own)) for own in roles.classes]
    assert kinds[0][0] == "batch"
    assert [*kinds[1]].count("inner") == 1
    assert kinds[1] == kinds[2][::-1]


def test_features_of_a_chain_are_those_of_the_data() -> None:
    chain = TEXT.replace("%3 = stablehlo.add %2, %x : tensor<1024x2048xbf16>\n  return %3", "return %2")
    suggestion = Program.parse(chain).suggest(tries=12, progress=False)
    megatron = next(plan for plan in suggestion.schemes if plan.name == "Megatron 1D")
    assert megatron.choice[1:3] == (((), ("model",)), (("model",), ()))


def test_schemes_by_name(program: Program) -> None:
    roles = program.suggest(tries=1, progress=False).best.roles
    found = schemes(roles, Mesh.of(data=4, model=2))
    both = ("data", "model")
    assert found["data parallel"][:3] == ((both, ()), ((), ()), ((), ()))
    assert found["FSDP"][:3] == ((both, ()), ((), both), (both, ()))
    assert found["Megatron 1D"][:3] == ((("data",), ()), ((), ("model",)), (("model",), ()))
    assert found["Megatron 2D"][1:3] == ((("data",), ("model",)), (("model",), ("data",)))


def test_the_best_plan_is_no_slower_than_the_schemes_and_costs_what_it_says(program: Program) -> None:
    suggestion = program.suggest(tries=30, progress=False)
    best = suggestion.best.cost
    assert suggestion.current is not None
    assert best.serial < suggestion.current.serial
    assert all(best.serial <= plan.cost.serial for plan in suggestion.schemes)
    result = propagate(suggestion.program(), progress=False)
    assert result.time("tpu-v5p", partitioner="xla").seconds == (best.overlapped, best.serial)
    assert result.memory("tpu-v5p").estimate.total_bytes == best.memory_bytes


def test_it_is_deterministic(program: Program) -> None:
    first, second = (program.suggest(tries=20, seed=3, progress=False) for _ in range(2))
    assert str(first) == str(second)


def test_kept_annotations_stay(program: Program) -> None:
    annotated = program.annotate({"%arg1": P("model")})
    changed = annotated.suggest(tries=12, keep=["%arg1"], progress=False).program()
    assert str(changed["%arg1"].sharding) == str(annotated["%arg1"].sharding)


def test_a_limit_of_memory_comes_before_time(program: Program) -> None:
    free = program.suggest(tries=40, progress=False)
    needed = min(plan.cost.memory_bytes for plan in free.plans)
    tight = program.suggest(tries=40, memory=needed + 1, progress=False)
    assert tight.memory_limit == needed + 1
    assert tight.best.cost.memory_bytes <= free.best.cost.memory_bytes


def test_a_search_that_time_ends_is_not_complete(program: Program) -> None:
    assert program.suggest(progress=False).is_complete
    assert not program.suggest(tries=8, progress=False).is_complete
    budget = Budget(0, 10)
    assert not budget.take()
    assert budget.spent


def test_devices_give_all_meshes() -> None:
    assert len(factorizations(12)) == 6


def test_a_program_without_a_mesh_needs_one() -> None:
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n"
    with pytest.raises(ShardyError, match="expected a mesh"):
        Program.parse(text).suggest(progress=False)


def test_plans_that_another_beats_are_left_out(program: Program) -> None:
    roles = program.suggest(tries=1, progress=False).plans[0]
    costs = [StepCost(1, 1, 10, 0), StepCost(1, 2, 20, 0), StepCost(1, 3, 5, 0)]
    plans = [replace(roles, cost=cost) for cost in costs]
    assert [plan.cost for plan in pareto(plans, None)] == [costs[0], costs[2]]
    assert [plan.cost for plan in pareto(plans, 9)] == [costs[2]]
    assert [plan.cost for plan in pareto(plans, 2)] == [costs[2]]


def test_a_move_takes_the_axis_from_where_it_was() -> None:
    assert AnnotationMove("x", ((0, 1),)).applied(((("x",), ()),)) == (((), ("x",)),)
    assert AnnotationMove("x", ((0, 1),), rank=2).applied((None,)) == (((), ("x",)),)
    assert AnnotationMove("", ((0, None),)).applied(((("x",), ()),)) == (None,)


def test_the_command_writes_the_program_and_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output, code = tmp_path / "in.mlir", tmp_path / "out.mlir", tmp_path / "specs.py"
    source.write_text(TEXT)
    outputs = ["-o", str(output), "--code", str(code)]
    assert main([str(source), "--mesh", "data=2,model=4", "--tries", "12", *outputs]) == 0
    assert "why the schemes lose to plan 1" in capsys.readouterr().out
    assert str(Program.load(output).meshes["mesh"]) == '<["data"=2, "model"=4]>'
    mesh = "mesh = jax.make_mesh((2, 4), ('data', 'model'), axis_types=(AxisType.Auto,) * 2)"
    assert f"\n{mesh}\nin_specs = (" in code.read_text()


@pytest.mark.parametrize(
    "wrong", [["--mesh", "data"], ["--memory", "0%"], ["--mesh", "a=2", "--devices", "4"]]
)
def test_invalid_arguments(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-", *wrong]) == 1
    assert capsys.readouterr().err.startswith("sdy-suggest: ")


def test_it_explains_by_bills_and_changes(program: Program) -> None:
    suggestion = program.suggest(tries=14, progress=False)
    bills, changes = suggestion.explain().split("\n\n")
    lines = bills.splitlines()
    assert lines[1].split()[:3] == ["yours", "plan", "1"]
    assert seconds_text(suggestion.best.cost.serial) in lines[2]
    assert "all_reduce" in bills
    assert changes.splitlines()[2].split("  ")[0] == "%arg0 of 1024x2048xbf16"
    assert "P(None, ('data', 'model'))" in changes


LAYERS = """
sdy.mesh @mesh = <["data"=2, "model"=2]>
func.func @main(%x: tensor<64x256xf32>, %a: tensor<256x1024xf32>, %b: tensor<1024x256xf32>,
                %c: tensor<256x1024xf32>, %d: tensor<1024x256xf32>) -> tensor<64x256xf32> {
  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0]
      : (tensor<64x256xf32>, tensor<256x1024xf32>) -> tensor<64x1024xf32>
  %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0]
      : (tensor<64x1024xf32>, tensor<1024x256xf32>) -> tensor<64x256xf32>
  %2 = stablehlo.add %1, %x : tensor<64x256xf32>
  %3 = stablehlo.dot_general %2, %c, contracting_dims = [1] x [0]
      : (tensor<64x256xf32>, tensor<256x1024xf32>) -> tensor<64x1024xf32>
  %4 = stablehlo.dot_general %3, %d, contracting_dims = [1] x [0]
      : (tensor<64x1024xf32>, tensor<1024x256xf32>) -> tensor<64x256xf32>
  %5 = stablehlo.add %4, %2 : tensor<64x256xf32>
  return %5 : tensor<64x256xf32>
}
"""


def test_values_of_repeated_blocks_are_points() -> None:
    variables = variables_of(Program.parse(LAYERS))
    roles = variables.roles
    points = [tensor for tensor in roles.tensors if tensor.is_point]
    assert [(each.shape, len(each.values)) for each in points] == [((64, 1024), 2), ((64, 256), 2)]
    assert points[0].values[0][0] == "%0"
    found = schemes(roles, Mesh.of(data=2, model=2))
    assert found["FSDP"][-2:] == ((("data", "model"), ()),) * 2
    assert found["Megatron 2D"][-2:] == ((("data",), ("model",)), (("data",), ()))
    assert found["data parallel"][-2:] == (None, None)


def test_plans_with_constraints_cost_what_propagation_says() -> None:
    program = Program.parse(LAYERS)
    suggestion = program.suggest(tries=30, progress=False)
    plans = [*suggestion.plans, *suggestion.schemes]
    assert any(plan.choice[-1] is not None for plan in plans)
    for plan in plans:
        result = propagate(suggestion.program(plan), progress=False)
        assert result.time("tpu-v5p", partitioner="xla").seconds == (
            plan.cost.overlapped,
            plan.cost.serial,
        ), plan.name
    fsdp = next(plan for plan in plans if plan.name == "FSDP")
    made = "x = jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(("
    assert f"# add to the program, for 2 values of 64x1024xf32: {made}" in fsdp.code()


def test_the_coarse_model_folds_layers_and_is_proved() -> None:
    pytest.importorskip("highspy")
    # Three groups of arguments; the first product reads an argument, those of both layers are one otherwise.
    for text, nodes in ((LAYERS, 3 + 3), (TEXT, 3 + 2)):
        suggestion = Program.parse(text).suggest(tries=30, progress=False)
        (outcome,) = suggestion.coarse
        assert outcome.is_optimal
        assert "solved exactly" in str(suggestion)
        assert outcome.nodes == nodes


def test_a_limit_in_bytes_that_nothing_is_within(program: Program) -> None:
    suggestion = program.suggest(tries=14, memory=1000, progress=False)
    assert not suggestion.fits
    assert "plan 1 exceeds it least" in str(suggestion)


def test_an_interrupt_gives_the_best_so_far(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    step, calls = Study.step, 0

    def interrupted(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return step(*arguments, **options)

    monkeypatch.setattr(Study, "step", interrupted)
    suggestion = program.suggest(progress=False)
    assert not suggestion.is_complete
    assert suggestion.plans


INTERRUPTED = """
import sys, time
from shardy_py import Study
from shardy_py.cli.commands import sdy_suggest

step, calls = Study.step, 0

def slow(*arguments, **options):
    global calls
    calls += 1
    if calls == 4:
        print("ready", flush=True)
        time.sleep(60)
    return step(*arguments, **options)

Study.step = slow
sys.exit(sdy_suggest())
"""


@pytest.mark.usefixtures("interruptible")
def test_a_signal_gives_the_best_so_far(tmp_path: Path, root: Path) -> None:
    source = tmp_path / "in.mlir"
    source.write_text(TEXT)
    command = [sys.executable, "-c", INTERRUPTED, str(source)]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        run.send_signal(signal.SIGINT)
        text = run.stdout.read()
    assert run.returncode == 0
    title = "Suggested shardings for tpu-v5p, as partitioned: 4 candidates evaluated; interrupted"
    assert text.splitlines()[2] == title
    assert "\nplan 1: from " in text


def test_an_interrupt_while_plans_are_scored_again_shows_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    program, step = Program.parse(LAYERS), Study.step

    def interrupted(*given: Any, **options: Any) -> Any:
        if options.get("exact"):
            raise KeyboardInterrupt
        return step(*given, **options)

    monkeypatch.setattr(Study, "step", interrupted)
    suggestion = program.suggest(tries=12, progress=False)
    assert not suggestion.is_complete
    shown = [*suggestion.plans, *suggestion.schemes]
    assert {"data parallel", "Megatron 1D"} <= {plan.name for plan in shown}
    assert all(own is None for plan in shown for own in plan.choice[-2:])


STEP = """
sdy.mesh @mesh = <["data"=2, "model"=2]>
func.func @main(%w: tensor<256x512xf32>, %v: tensor<512x128xf32>, %m: tensor<256x512xf32>,
                %x: tensor<64x256xf32>)
    -> (tensor<256x512xf32>, tensor<512x128xf32>, tensor<256x512xf32>, tensor<64x128xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<64x256xf32>, tensor<256x512xf32>) -> tensor<64x512xf32>
  %1 = stablehlo.dot_general %0, %v, contracting_dims = [1] x [0]
      : (tensor<64x512xf32>, tensor<512x128xf32>) -> tensor<64x128xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [0] x [0]
      : (tensor<64x512xf32>, tensor<64x128xf32>) -> tensor<512x128xf32>
  %3 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [1]
      : (tensor<64x128xf32>, tensor<512x128xf32>) -> tensor<64x512xf32>
  %4 = stablehlo.dot_general %x, %3, contracting_dims = [0] x [0]
      : (tensor<64x256xf32>, tensor<64x512xf32>) -> tensor<256x512xf32>
  %5 = stablehlo.add %m, %4 : tensor<256x512xf32>
  %6 = stablehlo.subtract %w, %5 : tensor<256x512xf32>
  %7 = stablehlo.subtract %v, %2 : tensor<512x128xf32>
  return %6, %7, %5, %1 : tensor<256x512xf32>, tensor<512x128xf32>, tensor<256x512xf32>, tensor<64x128xf32>
}
"""
"""A step of training: new weights %w and %v, a new state %m, and what the products make of %x."""


def test_results_that_replace_arguments_get_their_shardings() -> None:
    program = Program.parse(STEP)
    roles = variables_of(program).roles
    assert [each.of for each in roles.returned] == [0, 1, 2, 4]
    assert roles.tensors[4].is_result
    suggestion = program.suggest(tries=40, progress=False)
    for plan in (*suggestion.plans, *suggestion.schemes):
        result = propagate(suggestion.program(plan), progress=False)
        for argument, number in (("%arg0", 0), ("%arg1", 1), ("%arg2", 2)):
            assert result[argument].sharding == result[f"result {number}"].sharding, plan.name
    assert "out_specs = (" in suggestion.best.code()


def test_a_donated_argument_is_replaced_by_the_result_in_its_memory() -> None:
    text = STEP.replace("%m: tensor<256x512xf32>", "%m: tensor<256x512xf32> {tf.aliasing_output = 0 : i32}")
    assert [each.of for each in variables_of(Program.parse(text)).roles.returned][:3] == [2, 1, 0]


def test_code_keeps_the_donation_of_arguments() -> None:
    """Without it the promised memory is that of another program."""
    text = STEP.replace("%m: tensor<256x512xf32>", "%m: tensor<256x512xf32> {jax.buffer_donor = true}")
    suggestion = Program.parse(text).suggest(tries=2, progress=False)
    donating = "# The program donates arguments: with its own donate_argnums."
    assert donating in suggestion.best.code().splitlines()
    assert donating not in Program.parse(STEP).suggest(tries=2, progress=False).best.code()
    rows = [
        Row("%a", "p[*]", "p[0]", "4xf32", ((),)),
        Row("%b", "m[*]", "m[0]", "4xf32", ((),), is_donated=True),
        Row("%c", "m[*]", "m[1]", "4xf32", ((),), is_donated=True),
        Row("%d", "v", "v", "4xf32", ((),), is_donated=True),
    ]
    made = "# jitted = jax.jit(function, in_shardings=in_shardings, donate_argnames=('m', 'v'))"
    assert made in [*Code(Mesh.of(d=2), tuple(rows), ()).lines()]


def test_the_programs_own_constraints_may_stay() -> None:
    annotated = Program.parse(LAYERS).annotate({"%arg0": P("data"), "%2": P("data")})
    suggestion = annotated.suggest(tries=80, progress=False)
    assert suggestion.current is not None
    assert suggestion.best.cost.serial <= suggestion.current.serial
    kept = Scorer(annotated, "mesh", Mesh.of(data=2, model=2), placement_of("tpu-v5p"), frozenset(), print)
    kept.constraints = own_constraints(annotated)
    own = kept.own_choice()
    assert own is not None
    cost = kept.score(own, name="own")
    assert cost is not None
    assert cost.serial == suggestion.current.serial
    assert "# stays in the program, 64x256xf32 constrained to P('data'):" in kept.plan(own, "own").code()
    removing = next(plan for plan in suggestion.schemes if not plan.kept)
    assert "# remove from the program, 64x256xf32 constrained to P('data'):\n#   " in removing.code()


def test_each_of_the_programs_own_constraints_is_a_variable() -> None:
    annotated = Program.parse(LAYERS).annotate({"%arg0": P("data"), "%1": P(None, "data"), "%2": P("data")})
    suggestion = annotated.suggest(tries=30, progress=False)
    wide = next(plan for plan in suggestion.schemes if plan.name == "Megatron 2D")
    assert [t.own for t in wide.roles.tensors if t.own] == [((), ("data",)), (("data",), ())]
    text = wide.code()
    assert "# stays in the program, 64x256xf32 constrained to P('data'):\n#   " in text
    made = "x = jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P('data')))"
    assert f"# change in the program, 64x256xf32 constrained to P(None, 'data'): {made}\n#   " in text
    result = propagate(suggestion.program(wide), progress=False)
    assert result.time("tpu-v5p", partitioner="xla").seconds == (wide.cost.overlapped, wide.cost.serial)


def test_what_the_program_has_is_exact_before_the_search() -> None:
    annotated = Program.parse(LAYERS).annotate({"%arg0": P("data"), "%1": P(None, "data")})
    scorer = Scorer(annotated, "mesh", Mesh.of(data=2, model=2), placement_of("tpu-v5p"), frozenset(), print)
    own = scorer.own_choice()
    assert own is not None
    assert scorer.score(own, name="own") is not None
    assert scorer.exact(own) == Study(annotated).step({})
    assert "# stays in the program, 64x256xf32 constrained to P(None, 'data'):" in scorer.plan(own, "").code()


@pytest.mark.parametrize("spec", ['[{?}, {"data"}]', '[{}, {"data":(1)2}]', '[{}, {}], replicated={"data"}'])
def test_constraints_that_a_plan_cannot_say_stay_or_go_together(spec: str) -> None:
    mesh = LAYERS.replace('"data"=2', '"data"=4')
    annotated = Program.parse(mesh).annotate({"%1": f"<@mesh, {spec}>"})
    size = Mesh.of(data=4, model=2)
    scorer = Scorer(annotated, "mesh", size, placement_of("tpu-v5p"), frozenset(), print)
    assert scorer.own == ()
    assert "# remove from the program" in annotated.suggest(tries=8, progress=False).schemes[0].code()


def test_the_first_line_says_what_to_change(program: Program) -> None:
    suggestion = program.suggest(tries=14, progress=False)
    first, second, title = str(suggestion).splitlines()[:3]
    assert first.startswith(
        "Change %arg0 of 1024x2048xbf16: P(None, ('data', 'model')) -> P(('data', 'model'))"
    )
    assert second.startswith(f"a step takes {seconds_text(suggestion.best.cost.serial)} instead of ")
    assert title.startswith("Suggested shardings for tpu-v5p")
    assert f"plan 1: {suggestion.changes()}:" in str(suggestion)
    again = suggestion.program().suggest(tries=14, progress=False)
    assert str(again).startswith("Nothing to change: no plan that was found beats the program's annotations")


def test_plans_for_a_target_are_judged_as_its_compiler_leaves_them() -> None:
    suggestion = Program.parse(LAYERS).suggest(tries=10, target="h100", progress=False)
    for plan in (*suggestion.plans, *suggestion.schemes):
        result = propagate(suggestion.program(plan), progress=False)
        time = result.time("h100", target="h100", partitioner="xla")
        assert time.seconds == (plan.cost.overlapped, plan.cost.serial), plan.name
        assert result.communication(target="h100", partitioner="xla").total.bytes == plan.cost.received_bytes


def test_constraints_that_ask_for_nothing_are_not_to_be_removed() -> None:
    annotated = Program.parse(LAYERS).annotate({"%2": "<@mesh, [{?}, {?}]>", "%3": P("data")})
    assert [each.spec for each in own_constraints(annotated)] == [(("data",), ())]
    assert [each.spec for each in removed_constraints(annotated, ())] == [(("data",), ())]


def test_code_folds_layers_and_halves() -> None:
    layer = [Row(f"%a{i}", "", "", f"{i % 3}", ((),)) for i in range(12)]
    rows = (Row("%x", "", "", "x", (("d",),)), *layer)
    lines = _specs(Code(Mesh.of(d=2), (*rows, *rows), ()))
    assert [line.strip().split("#")[0].strip() for line in lines[1:]] == [
        *("*(", "P('d'),", "*(", "P(),", "P(),", "P(),", ") * 4,", ") * 2,", ")")
    ]
    namespace: dict[str, Any] = {"P": lambda *axes: axes}
    exec("\n".join(lines), namespace)
    assert namespace["in_specs"] == (("d",), *[()] * 12) * 2


def test_code_by_path_has_each_path_once() -> None:
    specs = [((),), ((),), (("d",),)]
    rows = [
        Row("%x", f"{n}[*]", f"{n}[{i}]", "4xf32", s) for n in "ab" for i, s in enumerate(specs[n == "b" :])
    ]
    lines = _specs(Code(Mesh.of(d=2), tuple(rows), ()))
    assert [line.split("#")[0].strip() for line in lines[1:]] == [
        *("'a[0]': P(),", "'a[1]': P(),", "'a[2]': P('d'),", "'b[0]': P(),", "'b[1]': P('d'),", "}")
    ]


def _specs(code: Code) -> list[str]:
    lines = [*code.lines()]
    start = lines.index("in_specs = {" if "in_specs = {" in lines else "in_specs = (")
    return lines[start : next(n for n in range(start, len(lines)) if lines[n] in ("}", ")")) + 1]


@pytest.mark.parametrize(
    ("labels", "count"),
    [
        (["w[0]", "w[1]", "w[2]"], 1),
        (["w[1]", "w[2]"], 1),
        (["w[0]", "w[2]"], 2),
        (["l[0]['w'][1]", "l[0]['w'][2]", "l[1]['w'][1]", "l[1]['w'][2]"], 1),
        (["l[0]['w'][0]", "l[1]['w'][1]"], 2),
        (["m['layer_0'].a", "m['layer_1'].a"], 1),
        (["m['layer_00'].a", "m['layer_01'].a"], 2),
        (["m['{x}'][0]", "m['{x}'][1]"], 1),
        (["w"], 1),
    ],
)
def test_layers_have_one_line_which_has_their_paths(labels: list[str], count: int) -> None:
    rows = tuple(
        Row(f"%{n}", NUMBER.sub("*", each), each, "4xf32", (("d",),)) for n, each in enumerate(labels)
    )
    lines = _specs(Code(Mesh.of(d=2), rows, ()))
    assert len(lines) == count + 2
    namespace: dict[str, Any] = {"P": lambda *axes: axes}
    exec("\n".join(lines), namespace)
    assert namespace["in_specs"] == dict.fromkeys(labels, ("d",))


def test_names_that_are_no_paths_of_jax_get_no_functions_of_jax() -> None:
    rows = tuple(Row("%x", name, name, "4xf32", (("d",),)) for name in ("layers.0.weight", "exp_avg of w"))
    text = Code(Mesh.of(d=2), rows, ()).text()
    assert "'exp_avg of w': P('d')" in text
    assert "jit" not in text
    assert "def " not in text
    assert "def sharded" in Code(Mesh.of(d=2), (replace(rows[0], label="layers[0].weight"),), ()).text()


def test_the_diff_leads_from_the_programs_annotations_to_a_plan(program: Program, tmp_path: Path) -> None:
    suggestion = program.suggest(tries=14, progress=False)
    lines = suggestion.diff().splitlines()
    assert lines[:2] == ["--- the program's annotations", "+++ plan 1"]
    assert "-    P(None, ('data', 'model')),  # %arg0: 1024x2048xbf16" in lines
    assert "+    P(('data', 'model')),  # %arg0: 1024x2048xbf16" in lines
    source = tmp_path / "in.mlir"
    source.write_text(TEXT)
    assert main([str(source), "--tries", "14", "--output-dir", str(tmp_path / "plans")]) == 0
    written = sorted(path.name for path in (tmp_path / "plans").iterdir())
    numbers = range(1, len(suggestion.plans) + 1)
    assert written == sorted(f"plan-{n}.{ending}" for n in numbers for ending in ("mlir", "py", "diff"))
    for number, plan in enumerate(suggestion.plans, 1):
        made = Program.load(tmp_path / "plans" / f"plan-{number}.mlir")
        assert made.text() == suggestion.program(plan).text()


def test_schemes_that_do_not_apply_are_named(program: Program) -> None:
    suggestion = program.suggest(tries=12, progress=False)
    assert "expert parallel: no weights that are batched in products with data" in str(suggestion)
    names = {plan.name for plan in suggestion.schemes} | {*suggestion.absent}
    assert {
        "data parallel",
        "FSDP",
        "Megatron 1D",
        "Megatron 2D",
        "sequence parallel",
        "expert parallel",
    } <= names


SUB_AXES = """
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {}]>},
    %b: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>},
    %c: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> tensor<64x64xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.dot_general %0, %c, contracting_dims = [1] x [0]
    : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
"""


def test_changes_name_arguments_without_labels() -> None:
    line = Program.parse(SUB_AXES).suggest(tries=6, progress=False).changes()
    assert line.startswith("%arg0 of 64x64xf32: P('x:(1)2') -> ")
    assert "; %arg1, %arg2 of 64x64xf32: P('y') -> " in line


def test_several_meshes_are_an_error_with_its_place() -> None:
    other = SUB_AXES.replace("\nfunc", '\nsdy.mesh @other = <["z"=8]>\nfunc', 1)
    with pytest.raises(ShardyError, match=r"got 2 meshes \(@mesh, @other\); write the shardings") as raised:
        Program.parse(other, "two.mlir").suggest(progress=False)
    assert str(raised.value).startswith("two.mlir:3:")
