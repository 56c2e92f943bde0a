"""A study gives the figures and changes of propagating from scratch."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.func import FuncOp

from shardy_py import Mesh, Options, P, Program, Result, Sharding, ShardyError, Study, propagate
from shardy_py.hardware import placement_of
from shardy_py.ops import OpRecord, Storage
from shardy_py.report.difference import Figures
from shardy_py.search.studies import step_cost
from shardy_py.search.study.base import Decided
from shardy_py.search.study.making import Links, MadeVariant, Passes, made_variant
from shardy_py.search.study.skeleton import Skeleton, StudiedOp
from shardy_py.xla.spmd.program import Block
from shardy_py.xla.spmd.step_plans import StepPlans
from shardy_py.xla.spmd.walk import ProgramPlan, plan_program
from tests.conftest import CORPUS

TRAIN = Path(__file__).parents[2] / "examples" / "transformer_train.mlir"
SMALL = """
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x16xf32>,
                %b: tensor<16x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>},
                %c: tensor<12x6xf32>, %d: tensor<8x6xf32> {tf.aliasing_output = 0 : i32})
    -> (tensor<8x6xf32>, tensor<16x12xf32>, tensor<8x12xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8x12xf32>
  %table = stablehlo.constant dense<2.0> : tensor<8x12xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<8x16xf32>, tensor<16x12xf32>) -> tensor<8x12xf32>
  %1 = stablehlo.maximum %0, %zeros : tensor<8x12xf32>
  %2 = stablehlo.multiply %1, %table : tensor<8x12xf32>
  %3 = stablehlo.optimization_barrier %2 : tensor<8x12xf32>
  %4 = stablehlo.dot_general %3, %c, contracting_dims = [1] x [0]
    : (tensor<8x12xf32>, tensor<12x6xf32>) -> tensor<8x6xf32>
  %5 = stablehlo.add %4, %d : tensor<8x6xf32>
  %6 = stablehlo.compare GT, %0, %zeros : (tensor<8x12xf32>, tensor<8x12xf32>) -> tensor<8x12xi1>
  %7 = stablehlo.select %6, %table, %zeros : tensor<8x12xi1>, tensor<8x12xf32>
  %8 = stablehlo.dot_general %a, %7, contracting_dims = [0] x [0]
    : (tensor<8x16xf32>, tensor<8x12xf32>) -> tensor<16x12xf32>
  %9 = stablehlo.slice %7 [0:4, 0:12] : (tensor<8x12xf32>) -> tensor<4x12xf32>
  %10 = stablehlo.concatenate %9, %9, dim = 0 : (tensor<4x12xf32>, tensor<4x12xf32>) -> tensor<8x12xf32>
  return %5, %8, %10 : tensor<8x6xf32>, tensor<16x12xf32>, tensor<8x12xf32>
}
"""

TABLE = f"stablehlo.constant dense<[{', '.join(['[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]'] * 8)}]>"
PRODUCTS = f"""
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>, %d: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {{
  %0 = stablehlo.tanh %a : tensor<8x8xf32>
  %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0]
    : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %first = {TABLE} : tensor<8x8xf32>
  %3 = stablehlo.add %first, %a : tensor<8x8xf32>
  %second = {TABLE} : tensor<8x8xf32>
  %4 = stablehlo.dot_general %second, %c, contracting_dims = [1] x [0]
    : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = stablehlo.add %1, %2 : tensor<8x8xf32>
  %third = {TABLE} : tensor<8x8xf32>
  %6 = stablehlo.reshape %third : (tensor<8x8xf32>) -> tensor<4x2x8xf32>
  %7 = stablehlo.tanh %6 : tensor<4x2x8xf32>
  %8 = stablehlo.reshape %7 : (tensor<4x2x8xf32>) -> tensor<8x8xf32>
  %9 = stablehlo.add %8, %d : tensor<8x8xf32>
  return %3, %4, %5, %9 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}}
"""
"""Equal constants, one if they are sharded alike, that products and other ops read."""

LOOP = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32>, %c: tensor<i1>) -> tensor<8xf32> {
  %0 = stablehlo.while(%i = %a) : tensor<8xf32>
   cond { stablehlo.return %c : tensor<i1> } do {
    %1 = stablehlo.add %i, %i : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
"""


def from_scratch(program: Program, edits: dict[str, object]) -> tuple[Figures, Result]:
    """The figures of the annotated program, propagated with all passes."""
    result = propagate(program.annotate(edits), progress=False)
    return Figures.of(result.communication(partitioner="xla"), result.memory(partitioner="xla")), result


def random_edits(program: Program, seed: int) -> Iterator[dict[str, object]]:
    """Shardings of some arguments and results, along any axes, also such as do not divide."""
    rng = random.Random(seed)
    axes = list(next(iter(program.meshes.values())).order)
    values = [v for v in program.values if v.role in ("argument", "result") and v.shape]
    while True:
        edits: dict[str, object] = {}
        for value in rng.sample(values, min(len(values), rng.choice([1, 1, 2, 4]))):
            free = rng.sample(axes, len(axes))
            dims = [
                tuple(free.pop() for _ in range(min(rng.choice([0, 0, 1, 2]), len(free))))
                for _ in value.shape or ()
            ]
            edits[value.name] = rng.choice([P(*(dim or None for dim in dims)), None])
        yield edits


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 9))]
)
def test_random_edits_of_a_small_program(seed: int) -> None:
    program = Program.parse(SMALL)
    study = Study(program)
    for _, edits in zip(range(12), random_edits(program, seed), strict=False):
        scored = study.score(edits)
        assert scored.figures == from_scratch(program, edits)[0], (edits, scored)


def test_most_edits_are_scored_without_propagating_from_scratch() -> None:
    program = Program.parse(SMALL)
    study = Study(program)
    scored = [study.score(edits) for _, edits in zip(range(40), random_edits(program, 1), strict=False)]
    assert sum(not each.from_scratch for each in scored) >= 30
    assert len({each.figures.bytes for each in scored}) > 10


def sent_in(plan: ProgramPlan) -> list[object]:
    """All that is sent, also what does not count for equality."""
    found = [(each.collective, each) for each in (*plan.sent, *plan.merged)]
    return [
        (
            one.key,
            one.group,
            one.made_shape,
            one.pairs,
            one,
            id(each.step),
            each.operand,
            each.roots,
            each.number,
        )
        for one, each in found
    ]


def test_variants_after_others_are_those_of_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0

    def both(passes: Passes, links: Links, decided: Decided, last: MadeVariant | None) -> MadeVariant:
        nonlocal made
        after, alone = (made_variant(passes, links, decided, before) for before in (last, None))
        block, other = after.variant.block, alone.variant.block
        assert [*map(id, block.steps)] == [*map(id, other.steps)]
        assert (block.arguments, block.results, block.targets) == (
            *(other.arguments, other.results, other.targets),
        )
        assert after.variant.numbers == alone.variant.numbers
        assert (after.merged, after.reshards) == (alone.merged, alone.reshards)
        made += last is not None
        return after

    monkeypatch.setattr("shardy_py.search.study.variant.made_variant", both)
    for text in (SMALL, PRODUCTS):
        program = Program.parse(text)
        study = Study(program)
        for _, edits in zip(range(40), random_edits(program, 6), strict=False):
            study.score(edits)
    assert made >= 60


@pytest.mark.parametrize("seed", range(30))
def test_merged_constants_and_what_is_computed_of_them(seed: int) -> None:
    """With any shardings: what is merged is found from what is if all are equal."""
    draw = random.Random(seed)
    nodes: list[StudiedOp] = []
    op, record = FuncOp.from_region("f", [], []), OpRecord("stablehlo.constant", (), ())
    for value in range(24):
        operands = tuple(draw.sample(range(value), draw.randrange(min(value, 2) + 1)))
        key = None if draw.random() < 0.1 else (draw.randrange(2), len(operands))
        nodes.append(StudiedOp(op, record, operands, (value,), Storage.NEW, key))
    links = Links(Skeleton(tuple(nodes), [None] * len(nodes), (), (), ()))
    for numbers in ([0] * 24, *([int(draw.random() < part) for _ in nodes] for part in (0.05, 0.1, 0.5))):
        same: dict[int, int] = {}
        first: dict[object, int] = {}
        for node in nodes:
            (value,), operands = node.results, tuple(same.get(each, each) for each in node.operands)
            if node.merge_key is not None:
                known = first.setdefault((node.merge_key, operands, numbers[value]), value)
                same |= {value: known} if known != value else {}
        assert links.merged(numbers) == same


def test_plans_after_others_are_those_of_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0

    def both(block: Block, plans: StepPlans | None = None) -> ProgramPlan:
        nonlocal made
        after, alone = plan_program(block, plans), plan_program(block)
        assert sent_in(after) == sent_in(alone)
        assert after.rematerialized == alone.rematerialized
        made += 1
        return after

    monkeypatch.setattr("shardy_py.search.study.figures.plan_program", both)
    for text in (SMALL, PRODUCTS):
        program = Program.parse(text)
        study = Study(program)
        for _, edits in zip(range(40), random_edits(program, 5), strict=False):
            study.score(edits)
    assert made >= 60


@pytest.mark.parametrize(
    "name", ["mlp_train", "moe", "convnet_train", "embedding_scatter", "lowered_for_tpu", "linalg"]
)
def test_random_edits_of_the_corpus(name: str) -> None:
    path = CORPUS / f"{name}.mlir"
    if not path.exists():
        pytest.skip("the corpus is not there")
    program = Program.load(path, as_compiled=True)
    study = Study(program)
    for _, edits in zip(range(3), random_edits(program, 3), strict=False):
        assert study.score(edits).figures == from_scratch(program, edits)[0], edits


def test_changes_are_those_of_propagation() -> None:
    program = Program.load(TRAIN, as_compiled=True)
    study, before = Study(program), propagate(program, progress=False)
    edits: dict[str, object] = {program.values[2].name: P("tensor"), "result 0": None}
    edited = program.annotate(edits)
    after = propagate(edited, progress=False)
    found: dict[object, set[Any]] = {}
    for change in study.changes(edits):
        found.setdefault(change.value.name, set()).add((change.before, change.after))
    expected: dict[object, set[Any]] = {}
    for value in program.values:
        old = [before.values[i].sharding for i in before.copy_numbers(value)]
        new = [after.values[i].sharding for i in after.copy_numbers(edited.counterpart(value, edited.origin))]
        if old and new:
            pairs = {(a or old[-1], b or new[-1]) for a, b in zip_longest(old, new)}
            if moved := {(a, b) for a, b in pairs if a != b}:
                expected[value.name] = moved
    assert found == expected
    assert expected


def test_programs_with_loops_are_propagated_from_scratch() -> None:
    program = Program.parse(LOOP)
    study, edits = Study(program), {"%arg0": P("x")}
    scored = study.score(edits)
    assert scored.from_scratch == "it has stablehlo.while"
    assert scored.figures == from_scratch(program, dict(edits))[0]
    with pytest.raises(ShardyError, match=r"propagating from scratch: it has stablehlo\.while"):
        study.changes(edits)


def test_edits_of_values_inside_are_exact_too() -> None:
    program = Program.parse(SMALL)
    edits: dict[str, object] = {"%1": P("x", "y")}
    scored = Study(program).score(edits)
    assert scored.from_scratch == "a value inside is annotated"
    assert scored.figures == from_scratch(program, edits)[0]


def test_a_mesh_that_the_program_lacks() -> None:
    program = Program.parse(SMALL)
    study = Study(program)
    edits: dict[str, object] = {"%arg2": Sharding(Mesh.of(z=8), P("z"))}
    for _ in range(2):
        scored = study.score(edits)
        assert scored.from_scratch
        assert scored.figures == from_scratch(program, edits)[0]
    assert not study.score({"%arg2": P("x")}).from_scratch


def test_an_argument_with_a_constraint() -> None:
    used = "stablehlo.dot_general %a, %b"
    constrained = '%k = sdy.sharding_constraint %a <@mesh, [{}, {"y"}]> : tensor<8x16xf32>'
    text = SMALL.replace(f"  %0 = {used}", f"  {constrained}\n  %0 = {used.replace('%a', '%k')}")
    program = Program.parse(text)
    for edits in ({"%arg0": P("x")}, {"%arg2": P("x")}, {"%arg1": None}):
        scored = Study(program).score(edits)
        assert bool(scored.from_scratch) == ("%arg0" in edits)
        assert scored.figures == from_scratch(program, dict(edits))[0]


FAULTY = (
    {"%arg0": P("z")},
    {"%arg0": P("x", "x")},
    {"%nothing": P("x")},
    {"%arg0": 3},
)


UNREDUCED = """
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"y"}>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"y"}>}) {
  return %a : tensor<8xf32>
}
"""


def test_shardings_of_other_programs_do_not_count() -> None:
    program = Program.parse(SMALL)
    assert not Study(program).score({"%arg2": P("x")}).from_scratch
    propagate(Program.parse(UNREDUCED), progress=False)  # on an equal mesh
    assert not Study(program).score({"%arg2": P("y")}).from_scratch
    assert Study(Program.parse(UNREDUCED)).score().from_scratch == "values have unreduced axes"


@pytest.mark.parametrize("edits", FAULTY)
def test_faults_are_those_of_annotate(edits: dict[str, object]) -> None:
    program = Program.parse(SMALL)
    with pytest.raises(ShardyError) as expected:
        program.annotate(edits)
    with pytest.raises(ShardyError) as raised:
        Study(program).score(edits)
    assert str(raised.value) == str(expected.value)


def test_options_that_add_passes() -> None:
    program = Program.parse(SMALL)
    study = Study(program, Options(enable_insert_explicit_collectives=True))
    assert study.score({}).from_scratch.startswith("options add ")
    conservative = Study(program, Options(conservative_propagation=True))
    assert not conservative.score({"%arg0": P("x")}).from_scratch


def test_axes_of_size_one() -> None:
    text = SMALL.replace('"x"=2', '"one"=1, "x"=2')
    program = Program.parse(text)
    edits = {"%arg0": P(("one", "x"), "y"), "%arg2": P("one")}
    assert Study(program).score(edits).figures == from_scratch(program, dict(edits))[0]


@pytest.mark.parametrize("hardware", ["tpu-v5p", "h100", pytest.param("cpu", marks=pytest.mark.slow)])
def test_steps_cost_what_reports_from_scratch_say(hardware: str) -> None:
    """Reports on TPUs propagate again what XLA:TPU simplifies, which variants do not: here it is nothing."""
    placement = placement_of(hardware)
    for text in (SMALL,) if hardware == "tpu-v5p" else (SMALL, TRAIN.read_text()):
        program = Program.parse(text, as_compiled=text != SMALL)
        study = Study(program)
        for _, edits in zip(range(6 if text == SMALL else 1), random_edits(program, 5), strict=False):
            expected = step_cost(propagate(program.annotate(edits), progress=False), placement)
            assert study.step(edits, placement) == expected, edits
            assert study.step(edits, placement, at_most=expected.serial) == expected
            assert study.step(edits, placement, at_most=0.99 * expected.serial) is None


def test_steps_of_programs_with_loops_are_those_of_their_reports() -> None:
    program = Program.parse(LOOP)
    edits = {"%arg0": P("x")}
    expected = step_cost(propagate(program.annotate(edits), progress=False), placement_of("h100"))
    assert Study(program).step(edits, "h100") == expected
    assert Study(program).step(edits, "h100", at_most=0.5 * expected.serial) is None
