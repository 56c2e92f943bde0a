"""Programs with smaller sizes: they verify, compute, and are partitioned as the large ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from shardy_py import Program, propagate
from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.passes.partitioned import Partitioned
from shardy_py.run.proof import ProofOptions, Shapes, plan, prove, shrinking
from shardy_py.run.proof.as_made import check_as_made
from shardy_py.run.proof.case import Case
from shardy_py.run.proof.plan import largest_work
from shardy_py.run.proof.resizing import Resizing
from shardy_py.run.proof.shrinking import WHOLE, shrunk
from shardy_py.run.proof.work import MOST_ELEMENTS, ProofWork, work_of
from tests.run.interpret.custom_functions import register
from tests.run.proof.mutations.broken import Subject
from tests.run.proof.mutations.campaign import PROOFS

MESH = 'sdy.mesh @mesh = <["x"=4, "y"=2]>\n'
ROWS = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
T = "tensor<1024x768xf32>"

BODIES = {
    "reshape": (
        "%0 = stablehlo.reshape %a : (tensor<1024x768xf32>) -> tensor<1024x12x64xf32>\n"
        "%1 = stablehlo.reshape %0 : (tensor<1024x12x64xf32>) -> tensor<12288x64xf32>",
        "tensor<12288x64xf32>",
    ),
    "slices": (
        "%0 = stablehlo.slice %a [1:1024, 0:384] : (tensor<1024x768xf32>) -> tensor<1023x384xf32>\n"
        "%2 = stablehlo.slice %a [0:1023, 384:768] : (tensor<1024x768xf32>) -> tensor<1023x384xf32>\n"
        "%1 = stablehlo.concatenate %0, %2, dim = 1 : "
        "(tensor<1023x384xf32>, tensor<1023x384xf32>) -> tensor<1023x768xf32>",
        "tensor<1023x768xf32>",
    ),
    "pad": (
        "%0 = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%1 = stablehlo.pad %a, %0, low = [1, 0], high = [3, 768], interior = [0, 0] : "
        "(tensor<1024x768xf32>, tensor<f32>) -> tensor<1028x1536xf32>",
        "tensor<1028x1536xf32>",
    ),
    "windows": (
        "%0 = stablehlo.constant dense<0.0> : tensor<f32>\n"
        '%1 = "stablehlo.reduce_window"(%a, %0) <{window_dimensions = array<i64: 3, 1>, '
        "window_strides = array<i64: 2, 1>, padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>}> ({\n"
        "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "  %s = stablehlo.add %x, %y : tensor<f32>\n  stablehlo.return %s : tensor<f32>\n"
        "}) : (tensor<1024x768xf32>, tensor<f32>) -> tensor<512x768xf32>",
        "tensor<512x768xf32>",
    ),
    "rows": (
        "%0 = stablehlo.iota dim = 0 : tensor<40xi32>\n"
        '%1 = "stablehlo.gather"(%a, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], '
        "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, "
        "slice_sizes = array<i64: 1, 768>}> : (tensor<1024x768xf32>, tensor<40xi32>) -> tensor<40x768xf32>",
        "tensor<40x768xf32>",
    ),
    "spectrum": (
        "%1 = stablehlo.fft %a, type = RFFT, length = [768] : (tensor<1024x768xf32>) -> "
        "tensor<1024x385xcomplex<f32>>",
        "tensor<1024x385xcomplex<f32>>",
    ),
    "best": (
        "%1, %0 = chlo.top_k(%a, k = 20) : "
        "tensor<1024x768xf32> -> (tensor<1024x20xf32>, tensor<1024x20xi32>)",
        "tensor<1024x20xf32>",
    ),
    "loop": (
        "%c = stablehlo.constant dense<0> : tensor<i32>\n"
        "%r:2 = stablehlo.while(%i = %c, %x = %a) : tensor<i32>, tensor<1024x768xf32> cond {\n"
        "  %n = stablehlo.constant dense<768> : tensor<i32>\n"
        "  %t = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "  stablehlo.return %t : tensor<i1>\n} do {\n"
        "  %o = stablehlo.constant dense<1> : tensor<i32>\n  %z = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %s = stablehlo.dynamic_slice %x, %z, %i, sizes = [1024, 1] : "
        "(tensor<1024x768xf32>, tensor<i32>, tensor<i32>) -> tensor<1024x1xf32>\n"
        "  %q = stablehlo.cosine %s : tensor<1024x1xf32>\n"
        "  %u = stablehlo.dynamic_update_slice %x, %q, %z, %i : "
        "(tensor<1024x768xf32>, tensor<1024x1xf32>, tensor<i32>, tensor<i32>) -> tensor<1024x768xf32>\n"
        "  %j = stablehlo.add %i, %o : tensor<i32>\n"
        "  stablehlo.return %j, %u : tensor<i32>, tensor<1024x768xf32>\n}\n"
        "%1 = stablehlo.negate %r#1 : tensor<1024x768xf32>",
        T,
    ),
}


def case_of(text: str) -> Case:
    return Case.of(propagate(Program.parse(text)).partition().partitioned)


def program(body: str, result: str) -> str:
    return f"{MESH}func.func @main(%a: {T} {ROWS}) -> {result} {{\n{body}\nreturn %1 : {result}\n}}"


@pytest.mark.parametrize("name", BODIES)
def test_each_kind_of_op_gets_smaller(name: str) -> None:
    case = case_of(program(*BODIES[name]))
    smaller = shrunk(case)
    assert smaller is not None
    assert smaller.same_ops
    verify_module(smaller.partitioned.whole)
    sizes = dict(smaller.sizes)
    assert sizes[1024] <= 100
    assert sizes[768] <= 100
    answer = prove(case.partitioned, ProofOptions(shapes="small"))
    assert answer.is_equal
    assert answer.sizes == smaller.sizes
    assert "768 -> " in str(answer)


def test_loops_end_where_the_smaller_dimension_does() -> None:
    smaller = shrunk(case_of(program(*BODIES["loop"])))
    assert smaller is not None
    text = str(Program(smaller.partitioned.whole))
    assert f"dense<{dict(smaller.sizes)[768]}> : tensor<i32>" in text


def test_constants_keep_their_first_elements() -> None:
    values = np.arange(768)
    body = (
        f"%0 = stablehlo.constant dense<{values.tolist()}> : tensor<768xi32>\n"
        "%1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<768xi32>) -> tensor<1024x768xi32>"
    )
    smaller = shrunk(case_of(program(body, "tensor<1024x768xi32>")))
    assert smaller is not None
    made = Program(smaller.partitioned.whole).run(
        [np.zeros((dict(smaller.sizes)[1024], dict(smaller.sizes)[768]), np.float32)]
    )
    np.testing.assert_array_equal(made.arrays[0][0], values[: dict(smaller.sizes)[768]])


def test_uneven_dimensions_stay_uneven() -> None:
    both = ROWS.replace("{}", '{"y"}')
    text = f"""{MESH}func.func @main(%a: tensor<1001x5000xf32> {both}) -> tensor<1001x5000xf32> {{
  %0 = stablehlo.tanh %a : tensor<1001x5000xf32>
  return %0 : tensor<1001x5000xf32>
}}"""
    smaller = shrunk(case_of(text))
    assert smaller is not None
    sizes = dict(smaller.sizes)
    assert sizes[1001] % 4
    assert sizes[5000] % 2 == 0


def test_large_programs_are_proven_with_smaller_sizes_unless_asked_not_to() -> None:
    text = program("%1 = stablehlo.tanh %a : tensor<1024x768xf32>", T)
    partitioned = propagate(Program.parse(text)).partition().partitioned
    assert work_of(partitioned.whole).elements == 1024 * 768
    assert not largest_work(partitioned).exceeds(1)
    large = propagate(Program.parse(text.replace("768", "1048576"))).partition()
    assert largest_work(large.partitioned).exceeds(1)
    answer = large.prove()
    assert answer.is_equal
    assert dict(answer.sizes)[1048576] <= 16
    assert answer.tally.elements < 10_000
    assert propagate(Program.parse(text)).partition().prove(shapes="own").sizes == ()


def test_inputs_are_of_the_own_shapes() -> None:
    local = propagate(Program.parse(program("%1 = stablehlo.tanh %a : tensor<1024x768xf32>", T))).partition()
    with pytest.raises(Exception, match="expected none for smaller shapes"):
        local.prove(inputs=[np.zeros((1024, 768), np.float32)], shapes="small")


@pytest.mark.parametrize(
    "name",
    [
        *("mlp_train", "explicit_axes", "custom_rules"),
        *(
            pytest.param(n, marks=pytest.mark.slow)
            for n in ("moe", "transformer_forward", "embedding_scatter")
        ),
    ],
)
def test_corpus_programs_are_equal_with_smaller_sizes(name: str, corpus: Callable[[str], str]) -> None:
    register()
    local = propagate(Program.parse(corpus(name), name)).partition()
    answer = local.prove(shapes="small")
    assert answer.is_equal, str(answer)
    assert answer.same_ops
    assert answer.sizes


def test_sizes_that_no_verifier_accepts_stay() -> None:
    case = case_of(program("%1 = stablehlo.tanh %a : tensor<1024x768xf32>", T))
    resizing = Resizing(case.whole, {})
    for op in walk_pre_order(case.whole):
        if op.name == "stablehlo.tanh":
            resizing.pin(op)
    assert resizing.resized() is None


@pytest.mark.parametrize("same_ops", [True, False])
def test_a_program_whose_ops_change_with_its_sizes_runs_as_it_is(
    monkeypatch: pytest.MonkeyPatch, *, same_ops: bool
) -> None:
    local = propagate(Program.parse(program("%1 = stablehlo.tanh %a : tensor<1024x768xf32>", T))).partition()
    smaller = shrunk(Case.of(local.partitioned))
    assert smaller is not None
    monkeypatch.setattr(plan, "largest_work", lambda partitioned: ProofWork(MOST_ELEMENTS + 1, 0))
    monkeypatch.setattr(plan, "shrunk", lambda case: replace(smaller, same_ops=same_ops))
    answer = local.prove()
    assert answer.is_equal
    assert bool(answer.sizes) == same_ops


LARGE = f"""{MESH}func.func @main(%x: tensor<262145x1024xf32> {ROWS}) -> tensor<262144x1024xf32> {{
  %a = stablehlo.tanh %x : tensor<262145x1024xf32>
  %s = stablehlo.slice %a [1:262145, 0:1024] : (tensor<262145x1024xf32>) -> tensor<262144x1024xf32>
  return %s : tensor<262144x1024xf32>
}}"""


@pytest.mark.parametrize("kind", ["slice start", "pairs", "halo", "results"])
@pytest.mark.parametrize("shapes", ["auto", "small", "ops"])
def test_smaller_sizes_are_no_proof_of_a_local_program_that_was_changed(kind: str, shapes: Shapes) -> None:
    """Smaller sizes are about what the passes make, and a changed program may have the same ops."""
    mutant = Subject("large", LARGE).broken(kind, 0)
    assert mutant is not None
    with pytest.raises(ShardyError, match="the local program is not what its passes make"):
        prove(mutant.partitioned, ProofOptions(shapes=shapes))


WINDOWS = f"""{MESH}func.func @main(%x: tensor<16x40xf32> {ROWS}, %i: tensor<i32>, %w: tensor<40x4xf32>)
    -> (tensor<16x20xf32>, tensor<16x43xf32>, tensor<16x4xf32>) {{
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %j = stablehlo.add %i, %one : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %low) <{{window_dimensions = array<i64: 1, 7>,
      window_strides = array<i64: 1, 2>, padding = dense<[[0, 0], [3, 2]]> : tensor<2x2xi64>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) : (tensor<16x40xf32>, tensor<f32>) -> tensor<16x20xf32>
  %1 = stablehlo.dynamic_slice %x, %zero, %j, sizes = [16, 20] :
      (tensor<16x40xf32>, tensor<i32>, tensor<i32>) -> tensor<16x20xf32>
  %2 = stablehlo.add %0, %1 : tensor<16x20xf32>
  %3 = stablehlo.slice %x [0:16, 37:40] : (tensor<16x40xf32>) -> tensor<16x3xf32>
  %4 = stablehlo.concatenate %3, %x, dim = 1 : (tensor<16x3xf32>, tensor<16x40xf32>) -> tensor<16x43xf32>
  %5 = stablehlo.dot %x, %w : (tensor<16x40xf32>, tensor<40x4xf32>) -> tensor<16x4xf32>
  return %2, %4, %5 : tensor<16x20xf32>, tensor<16x43xf32>, tensor<16x4xf32>
}}"""


@dataclass(frozen=True, eq=False)
class Smallest(Subject):
    """A program with the smallest sizes that a large one gets, to be broken there."""

    def partitioned(self) -> Partitioned:
        smaller = shrunk(Case.of(super().partitioned()))
        assert smaller is not None
        return smaller.partitioned


@pytest.mark.parametrize("whole", WHOLE)
def test_faults_along_dimensions_that_are_sharded_nowhere_show_at_the_smallest_sizes(
    monkeypatch: pytest.MonkeyPatch, whole: int
) -> None:
    """A fault of a pass is one at all sizes: with windows larger than the dimension, too."""
    monkeypatch.setattr(shrinking, "LARGE", 0)
    monkeypatch.setattr(shrinking, "WHOLE", (whole,))
    smallest = Smallest("windows", WINDOWS)
    assert not PROOFS["exact"](smallest.whole)
    places = {
        "slice start": 0,
        "dynamic slice start": 4,
        "concatenation": 0,
        "order of parts": 0,
        "attribute": 21,
    }
    mutants = [smallest.broken(kind, number) for kind, number in places.items() if smallest.sites(kind)]
    assert len(mutants) >= len(places) - 1
    for mutant in mutants:
        assert mutant is not None
        assert PROOFS["exact"](mutant.partitioned), mutant.what


def test_a_local_program_is_what_its_passes_make() -> None:
    made = Subject("large", LARGE).partitioned()
    check_as_made(made)
    assert prove(made).is_equal


def test_types_of_many_arguments_are_those_that_passes_make() -> None:
    """The type of @main has more data than attributes that share a number."""
    count, row = 400, "tensor<262144x8xf32>"
    arguments = ", ".join(f"%a{i}: {row} {ROWS}" for i in range(count))
    body = "\n".join(f"%{i} = stablehlo.tanh %a{i} : {row}" for i in range(count))
    results, types = (", ".join(each) for each in ([f"%{i}" for i in range(count)], [row] * count))
    text = f"{MESH}func.func @main({arguments}) -> ({types}) {{\n{body}\nreturn {results} : {types}\n}}"
    made = Subject("many", text).partitioned()
    check_as_made(made)
    assert prove(made, ProofOptions(shapes="small")).is_equal
