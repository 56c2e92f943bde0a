"""Proofs of single ops, and the smallest part of a program that fails."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from xdsl.ir import OpResult

from shardy_py import Program, propagate
from shardy_py.api.local_program import LocalProgram, register_partitioner
from shardy_py.base.errors import ShardyError
from shardy_py.localize.facet import LOCAL
from shardy_py.localize.localizer import Localizer, Site
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.dialects.traits import is_constant
from shardy_py.mlir.stablehlo_builder import StablehloBuilder
from shardy_py.mlir.symbols import meshes_of
from shardy_py.run.proof.case import Case, main_of
from shardy_py.run.proof.composition import Composition
from shardy_py.run.proof.cutting import Cutting
from shardy_py.run.proof.options import Shapes
from shardy_py.run.proof.pieces import Numbers, Piece, Pieces
from shardy_py.run.proof.signatures import first_of_each
from tests.run.proof.mutations.broken import KINDS, Subject, chosen

TEXT = """
sdy.mesh @mesh = <["x"=4]>
func.func private @gelu(%x: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %0 = stablehlo.tanh %x : tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<8x8xf32>)
    -> tensor<64x8xf32> {
  %0 = stablehlo.constant dense<2.0> : tensor<64x8xf32>
  %1 = stablehlo.dot %a, %b : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %2 = stablehlo.multiply %1, %0 : tensor<64x8xf32>
  %3 = stablehlo.multiply %2, %0 : tensor<64x8xf32>
  %4 = func.call @gelu(%3) : (tensor<64x8xf32>) -> tensor<64x8xf32>
  %5 = stablehlo.dot %4, %b : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  return %5 : tensor<64x8xf32>
}
"""


def partitioned(text: str = TEXT) -> LocalProgram:
    return propagate(Program.parse(text, "net.mlir")).partition()


@pytest.fixture
def wrong_tanh() -> Iterator[None]:
    """A conversion that negates the result of each tanh."""

    def convert(local: Localizer, site: Site) -> None:
        result = site.op.results[0]
        following = site.op.next_op
        assert following is not None
        negated = StablehloBuilder(following, location=site.op.location).unary("negate", result)
        result.replace_uses_with_if(negated, lambda use: use.operation is not negated.owner)

    register_partitioner("stablehlo.tanh", convert)
    yield
    del LOCAL.rows["stablehlo.tanh"]


def test_each_op_is_proven_once() -> None:
    answer = partitioned().prove(shapes="ops")
    assert answer.is_equal
    assert (answer.parts, answer.left) == (3, ())
    assert "3 ops, each as a program of its own" in str(answer)


def test_shardings_make_ops_differ() -> None:
    text = TEXT.replace(
        "%5 = stablehlo.dot %4, %b",
        '%6 = sdy.sharding_constraint %4 <@mesh, [{}, {"x"}]> : tensor<64x8xf32>\n%5 = stablehlo.dot %6, %b',
    )
    assert partitioned(text).prove(shapes="ops").parts > 3


@pytest.mark.usefixtures("wrong_tanh")
def test_the_smallest_part_is_one_op() -> None:
    answer = partitioned().prove(bisect=True)
    assert not answer.untaken
    assert answer.smallest is not None
    assert answer.smallest.ops == 1
    assert "stablehlo.dot" not in answer.smallest.text
    assert 'sdy.sharding<@mesh, [{"x"}, {}]>' in answer.smallest.text
    again = propagate(Program(parse_module(answer.smallest.text))).partition().prove()
    assert again.fault is not None
    assert "call" not in answer.smallest.text
    with pytest.raises(ShardyError, match=r"wrong value"):
        answer.check()


BRANCHES = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<64x8xf32> {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  %1 = "stablehlo.case"(%0) ({
    %2 = stablehlo.tanh %a : tensor<64x8xf32>
    stablehlo.return %2 : tensor<64x8xf32>
  }, {
    %2 = stablehlo.sine %a : tensor<64x8xf32>
    stablehlo.return %2 : tensor<64x8xf32>
  }) : (tensor<i32>) -> tensor<64x8xf32>
  return %1 : tensor<64x8xf32>
}
"""


def test_exact_runs_take_all_branches() -> None:
    answer = partitioned(BRANCHES).prove()
    assert answer.is_equal
    assert (len(answer.untaken), answer.branches) == (0, 0)
    assert "2 branches of conditionals" in str(answer)


def test_ops_of_branches_that_are_not_taken_are_proven_alone() -> None:
    answer = partitioned(BRANCHES).prove(floats=True)
    assert answer.is_equal
    assert (len(answer.untaken), answer.branches) == (1, 1)
    assert "1 values are in branches that were not taken" in str(answer)


@pytest.mark.usefixtures("wrong_tanh")
def test_a_wrong_op_in_a_branch_that_is_not_taken_is_found() -> None:
    for floats, line in ((True, 6), (False, 5)):  # all branches run in exact runs
        fault = partitioned(BRANCHES).prove(floats=floats).fault
        assert fault is not None
        assert fault.where is not None
        assert fault.where.line == line


def test_reshards_of_arguments_are_compared() -> None:
    text = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = sdy.sharding_constraint %a <@mesh, [{}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""
    answer = partitioned(text).prove()
    assert answer.is_equal
    assert not answer.tally.unmatched
    assert len(answer.tally.compared) == answer.local_values > 0


@pytest.mark.usefixtures("wrong_tanh")
def test_an_op_alone_is_found_wrong() -> None:
    answer = partitioned().prove(shapes="ops")
    assert answer.fault is not None
    assert answer.fault.where is not None
    assert answer.fault.where.line == 4


def test_equal_programs_have_no_smallest_part() -> None:
    assert partitioned().prove(bisect=True).smallest is None


LAYERS = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<8x8xf32>,
                %n: tensor<i32>) -> tensor<64x8xf32> {
  %0 = stablehlo.dot %a, %b : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %1 = stablehlo.tanh %0 : tensor<64x8xf32>
  %2 = stablehlo.dot %1, %b : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %3 = stablehlo.tanh %2 : tensor<64x8xf32>
  %4 = stablehlo.multiply %3, %3 : tensor<64x8xf32>
  %5 = stablehlo.multiply %4, %3 : tensor<64x8xf32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %6:2 = stablehlo.while(%w = %5, %k = %i) : tensor<64x8xf32>, tensor<i32>
  cond {
    %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %d = stablehlo.dot %w, %b : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %d, %next : tensor<64x8xf32>, tensor<i32>
  }
  return %6#0 : tensor<64x8xf32>
}
"""


def test_a_local_program_is_made_of_proven_ops() -> None:
    """A square is an op of its own, beside a product of two values; a dot is proven once."""
    answer = partitioned(LAYERS).prove(shapes="ops")
    assert answer.is_equal
    assert answer.is_complete, answer
    assert answer.parts == 6
    assert "the local program is made of them: 11 computations\n" in str(answer)


def test_changes_of_a_local_program_are_seen_without_a_run() -> None:
    """One of each kind; the reasons are others than those of the program as it is: there are none."""
    subject = Subject.named("mlp_train")
    case = Case.of(subject.whole)
    cutting, proven = Cutting(case), set[Piece]()
    numbers: Numbers = {}
    values = {value for entry in case.found.values() for value in entry.whole}
    ops = dict.fromkeys(value.op for value in values if isinstance(value, OpResult))
    for op in first_of_each([op for op in ops if not is_constant(op)], cutting):
        alone = Case.of(subject.whole.again(cutting.program([op])))
        proven.update(piece for _, piece in Pieces(alone, numbers).all())
    assert Composition.of(case, proven, numbers).left == ()
    count = 0
    for kind in KINDS:
        mutants = (subject.broken(kind, at) for at in chosen(subject, kind, 0, 0))
        mutant = next((mutant for mutant in mutants if mutant is not None), None)
        if mutant is not None:
            count += 1
            assert Composition.of(Case.of(mutant.partitioned), proven, numbers).left, mutant.what
    assert count > 10


def test_loops_connect_values_of_one_sharding() -> None:
    """A body that returns what it was given differs from that of the whole program's loop."""
    local = partitioned(LAYERS).partitioned
    (loop,) = (op for op in local.local.walk() if op.name == "stablehlo.while")
    end = loop.regions[1].blocks[0].last_op
    assert end is not None
    numbers: Numbers = {}
    proven = {piece for _, piece in Pieces(Case.of(local), numbers).all()}
    assert Composition.of(Case.of(local), proven, numbers).left == ()
    end.operands[0] = loop.regions[1].blocks[0].args[0]
    assert Composition.of(Case.of(local), proven, numbers).left == ("stablehlo.while (1)",)


def test_pieces_are_small_whatever_the_number_of_results() -> None:
    def size(count: int) -> int:
        names, types = (", ".join([each] * count) for each in ("%a", "tensor<8xf32>"))
        text = f"""
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}) -> tensor<8xf32> {{
  %0:{count} = stablehlo.optimization_barrier {names} : {types}
  return %0#0 : tensor<8xf32>
}}
"""
        return max(len(repr(piece)) for _, piece in Pieces(Case.of(partitioned(text).partitioned), {}).all())

    assert size(90) < 2 * size(10)


MESHES = """
sdy.mesh @other = <["z"=4]>
sdy.mesh @mesh = <["x"=4]>
sdy.mesh @third = <["y"=2, "z"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.tanh %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


def test_parts_have_the_meshes_that_they_name() -> None:
    """And the default one, so that a proof of n parts does not copy n meshes each time."""
    case = Case.of(propagate(Program.parse(MESHES)).partition().partitioned)
    (op,) = (op for op in main_of(case.whole).walk() if op.name == "stablehlo.tanh")
    assert [*meshes_of(Cutting(case).program([op]))] == ["other", "mesh"]


@pytest.mark.parametrize("shapes", ["own", "ops"])
def test_meshes_of_other_numbers_of_devices_are_an_error_that_names_them(shapes: Shapes) -> None:
    text = MESHES.replace('"z"=4', '"z"=8')
    local = propagate(Program.parse(text)).partition()
    with pytest.raises(ShardyError, match=r'mesh <\["x"=4\]>: expected 8 devices, got 4; programs are run'):
        local.prove(shapes=shapes)
