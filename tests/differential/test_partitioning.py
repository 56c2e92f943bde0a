"""The partitioner's passes against C++; more: `python -m tests.differential.partitioning`."""

from __future__ import annotations

from itertools import product

import pytest

from shardy_py.base import releases
from shardy_py.base.behaviours import Behaviour
from shardy_py.ops import TABLE, Family
from tests.differential import single_ops
from tests.differential.modes import DIFFERENT, REFUSED, SAME, Mode, Outcome, Step, compare
from tests.differential.partitioning import LOCAL, PAD, PASSES, RESOLVE, explained, outcome_of, random_cases
from tests.differential.reference_process import ReferenceProcess

CALL = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @f(%x) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>}
    : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
"""


def test_random_programs_are_the_same_or_differ_for_a_cause(process: ReferenceProcess) -> None:
    if releases.current() is not releases.JAX_0_10:
        pytest.skip("the causes are those of JAX 0.10")
    outcomes = [(name, step, outcome_of(step, text, process)) for name, step, text in random_cases(6)]
    assert {step[0] for _, step, _ in outcomes} == {*PASSES}
    assert sum(outcome.kind == SAME for _, _, outcome in outcomes) > 5
    for name, step, outcome in outcomes:
        assert outcome.kind != DIFFERENT or outcome.cause, f"{name}, {step}\n{outcome.detail}"


def test_calls_lose_their_shardings(process: ReferenceProcess) -> None:
    step: Step = (LOCAL, "")
    assert compare(Mode(LOCAL, lambda rng: "", (step,)), CALL, process) == Outcome(SAME)


EMPTY = """sdy.mesh @mesh = <["a"=3, "c"=2, "d"=3]>
func.func @main(%a: tensor<9x0xi32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"a"}}]>}}) {{
  %0 = sdy.{0} : tensor<9x0xi32>
  return
}}
"""


@pytest.mark.parametrize(
    "collective",
    [
        'all_slice [{}, {"c"}] %a out_sharding=<@mesh, [{}, {"a", "c"}]>',
        'all_gather [{}, {"a"}] %a out_sharding=<@mesh, [{}, {}]>',
        'all_reduce {"c"} %a out_sharding=<@mesh, [{}, {"a"}]>',
        'collective_permute %a out_sharding=<@mesh, [{}, {"d"}]>',
        'all_to_all [{"a"}: 1->0] %a out_sharding=<@mesh, [{"a"}, {}]>',
        'reduce_scatter [{}, {"c"}] %a out_sharding=<@mesh, [{}, {"a", "c"}]>',
    ],
)
def test_collectives_of_nothing(collective: str, process: ReferenceProcess) -> None:
    """They stay; those along the dimension of size zero are refused by both."""
    mode = Mode(LOCAL, lambda rng: "", ((LOCAL, ""),))
    outcome = compare(mode, EMPTY.format(collective), process).kind
    is_along_nothing = collective.startswith(("all_gather", "reduce_scatter"))
    assert outcome == (REFUSED if is_along_nothing else SAME)


def test_causes() -> None:
    def outcome(ours: str, theirs: str, program: str = "") -> Outcome:
        return Outcome(DIFFERENT, "", program, f"ours: {ours}\ntheirs: {theirs}")

    assert explained(PAD, outcome("module {}", "module { }")).cause == ""
    assert explained(PAD, Outcome(DIFFERENT, "a cause", "", "")).cause == "a cause"
    assert "casts" in explained(PAD, outcome("module {}", "module {unrealized_conversion_cast}")).cause
    assert explained(RESOLVE, outcome("module {}", "module { }", "stablehlo.pad %0")).cause == ""
    assert explained(LOCAL, outcome("-:1:1: error: a", "error: b")).kind == REFUSED


PADDED = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<3x{0}>) -> tensor<3x{1}> {{
  %b = sdy.all_slice [{{"x"}}] %a out_sharding=<@mesh, [{{"x"}}]> : tensor<3x{0}>
  %0 = "{2}"({3}) {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"x"}}]>]>}} : ({4}) -> tensor<3x{1}>
  %1 = sdy.all_gather [{{"x"}}] %0 out_sharding=<@mesh, [{{}}]> : tensor<3x{1}>
  return %1 : tensor<3x{1}>
}}
"""
ELEMENTS = (("f32", "f32"), ("f32", "i1"), ("i32", "i32"), ("f32", "complex<f32>"), ("complex<f32>",) * 2)


def test_padding_takes_no_elementwise_op_of_chlo(process: ReferenceProcess) -> None:
    """Each of them is the cause of its refusal, and none of those of StableHLO."""
    if not Behaviour.POSITIONS_ARE_NARROW.holds:
        pytest.skip("the causes are those of JAX 0.12")
    mode = Mode(PAD, lambda rng: "", ((PAD, ""),))
    names = [n for n, row in TABLE.items() if n.startswith("chlo.") and row.kind is Family.ELEMENTWISE]
    found = {name: str(compare(mode, text, process)) for name in names if (text := _padded(name, process))}
    assert len(found) > 40
    refused = "C++ refuses (its padding leaves casts: {})"
    assert found == {name: refused.format(name) for name in found}
    assert compare(mode, _padded("stablehlo.negate", process), process) == Outcome(SAME)


def _padded(name: str, reference: ReferenceProcess) -> str:
    """A program with an op of an uneven dimension, empty if it has another number or type of operands."""
    for arity, (given, made) in product((1, 2), ELEMENTS):
        operands, types = (", ".join([each] * arity) for each in ("%b", f"tensor<3x{given}>"))
        text = PADDED.format(given, made, name, operands, types)
        if not reference.run(text, "")[0]:
            return text
    return ""


PROGRAMS = {
    "it leaves shapes in operands, and iotas of such a shape, as those of the whole": (
        LOCAL,
        """func.func @main(%s: tensor<1xi32>) -> tensor<4xf32> {
  %0 = stablehlo.dynamic_iota %s, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
    : (tensor<1xi32>) -> tensor<4xf32>
  %1 = sdy.all_gather [{"x"}] %0 out_sharding=<@mesh, [{}]> : tensor<4xf32>
  return %1 : tensor<4xf32>
}""",
    ),
    "it leaves partition_id and channels of the program as they are among replicas": (
        f"{LOCAL}{{replica-count=2}}",
        """func.func @main(%a: tensor<4xf32>) -> tensor<ui32> {
  %0 = stablehlo.partition_id : tensor<ui32>
  return %0 : tensor<ui32>
}""",
    ),
    "it takes the size of a dimension from the part of a device": (
        LOCAL,
        """func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<i32> {
  %0 = stablehlo.get_dimension_size %a, dim = 0 : (tensor<4xf32>) -> tensor<i32>
  return %0 : tensor<i32>
}""",
    ),
    "it drops updates that lie in the parts of two devices": (
        LOCAL,
        """func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    %u: tensor<4xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %u, %i {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
    : (tensor<8xf32>, tensor<4xf32>, tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}""",
    ),
    "its scatters fill the inputs of other devices with values that are not neutral": (
        LOCAL,
        """func.func @main(%a: tensor<4xf32>,
    %i: tensor<8x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %u: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%b: tensor<f32>, %c: tensor<f32>):
    %1 = stablehlo.maximum %b, %c : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}], unreduced=max{"x"}>]>}
    : (tensor<4xf32>, tensor<8x1xi32>, tensor<8xf32>) -> tensor<4xf32>
  return
}""",
    ),
    "its all-reduces sum along axes that their operand is not unreduced along": (
        "sdy-per-instruction-partitioning",
        """func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>})
    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  %0 = sdy.all_reduce {"x"} %a out_sharding=<@mesh, [{"y"}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}""",
    ),
}


@pytest.mark.parametrize("cause", PROGRAMS)
def test_each_cause_of_a_difference_has_a_program(cause: str, process: ReferenceProcess) -> None:
    if not Behaviour.POSITIONS_ARE_NARROW.holds:
        pytest.skip("the causes are those of JAX 0.12")
    step, body = PROGRAMS[cause]
    name, _, options = step.removesuffix("}").partition("{")
    axes = '"x"=2, "y"=2' if '"y"' in body else '"x"=2'
    found = compare(
        Mode(name, lambda rng: "", ((name, options),)), f"sdy.mesh @mesh = <[{axes}]>\n{body}\n", process
    )
    assert str(found) == f"different ({cause})", found.detail


CONSTANT = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
  %0 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} dense<1.0> : tensor<3xf32>
  %1 = sdy.all_slice [{"x"}] %a out_sharding=<@mesh, [{"x"}]> : tensor<3xf32>
  %2 = stablehlo.add %0, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<3xf32>
  return %2 : tensor<3xf32>
}
"""
SQUARES = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<3xf32>) {
  %0 = sdy.reshard %a <@mesh, [{"x"}]> : tensor<3xf32>
  %1 = stablehlo.cosine %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<3xf32>
  %2 = stablehlo.dot_general %1, %1, contracting_dims = [0] x [0]
    {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced={"x"}>]>}
    : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  return
}
"""
COMPLEX = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<3xcomplex<f32>>) {
  %0 = sdy.all_slice [{"x"}] %a out_sharding=<@mesh, [{"x"}]> : tensor<3xcomplex<f32>>
  return
}
"""
OVERLAP = """sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2]>
func.func @main(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"c", "b"}]>}) {
  %0 = sdy.all_to_all [{"a"}: 0->1] %a out_sharding=<@mesh, [{}, {"c", "b", "a"}]> : tensor<4x8xf32>
  %1 = sdy.collective_permute %0 out_sharding=<@mesh, [{}, {"a", "c", "b"}]> : tensor<4x8xf32>
  %2 = sdy.all_to_all [{"c", "b"}: 1->0] %1 out_sharding=<@mesh, [{"c", "b"}, {"a"}]> : tensor<4x8xf32>
  return
}
"""
GATHERED = """sdy.mesh @mesh = <["x"=2]>
func.func private @f(%a: tensor<3xf32>) -> tensor<3xf32> {
  %0 = sdy.all_slice [{"x"}] %a out_sharding=<@mesh, [{"x"}]> : tensor<3xf32>
  %1 = sdy.all_gather [{"x"}] %0 out_sharding=<@mesh, [{}]> : tensor<3xf32>
  return %1 : tensor<3xf32>
}
"""
SUMMED = """sdy.mesh @mesh = <["a"=2, "c"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "c"}]>}, %z: tensor<f32>) {
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0]
    {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced={"a"}>]>}
    : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}
"""
CARRIED = """sdy.mesh @mesh = <["x"=3]>
func.func @main(%a: tensor<4xf32>, %i: tensor<i32>) {
  %0 = sdy.all_slice [{"x"}] %a out_sharding=<@mesh, [{"x"}]> : tensor<4xf32>
  %1:2 = stablehlo.while(%b = %0, %n = %i) : tensor<4xf32>, tensor<i32>
    attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, []>]>}
  cond {
    %2 = stablehlo.compare LT, %n, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %2 = stablehlo.reshape %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}
      : (tensor<4xf32>) -> tensor<4x1xf32>
    stablehlo.return %b, %n : tensor<4xf32>, tensor<i32>
  }
  return
}
"""
CUT = """sdy.mesh @mesh = <["a"=2, "b"=4, "d"=2]>
func.func @main(%a: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = sdy.all_slice [{}, {"a", "b"}] %a out_sharding=<@mesh, [{}, {"a", "b"}]> : tensor<4x2xf32>
  %1 = sdy.all_slice [{"d"}, {}] %0 out_sharding=<@mesh, [{"d"}, {"a", "b"}]> : tensor<4x2xf32>
  %2 = sdy.collective_permute %1 out_sharding=<@mesh, [{"a"}, {"b", "d"}]> : tensor<4x2xf32>
  %3 = sdy.all_to_all [{"d"}: 1->0] %2 out_sharding=<@mesh, [{"a", "d"}, {"b"}]> : tensor<4x2xf32>
  return
}
"""
OUTCOMES = {
    "C++ crashes (a sum along several axes that is unreduced along some of them)": (
        "sdy-convert-global-to-local",
        SUMMED,
        ("0.12",),
    ),
    "C++ crashes (padding of a reshape of what a loop carries)": (PAD, CARRIED, ("0.12",)),
    "C++ crashes (its padding takes its own slice after a collective for another one)": (
        PAD,
        CUT,
        ("0.12",),
    ),
    "C++ refuses (its optimized collectives move two dimensions to one)": (
        "sdy-optimize-collectives",
        OVERLAP,
        ("0.11", "0.12"),
    ),
    "different (its padding slices what is gathered in other functions than main without a sharding)": (
        PAD,
        GATHERED,
        ("0.11",),
    ),
    "different (its padding leaves ops that it has no types for, which end the next pass)": (
        PAD,
        CONSTANT,
        ("0.10", "0.11"),
    ),
    "different (its per-instruction partitioning leaves what is in the padding that it hands on)": (
        "sdy-per-instruction-partitioning",
        SQUARES,
        ("0.11",),
    ),
    "C++ crashes (padding of complex numbers, of which it makes no zero)": (PAD, COMPLEX, ("0.10", "0.11")),
}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_outcome_has_its_cause(outcome: str, process: ReferenceProcess) -> None:
    step, text, names = OUTCOMES[outcome]
    if releases.current().name not in names:
        pytest.skip(f"met with {names} only")
    found = compare(Mode(step, lambda rng: "", ((step, ""),)), text, process)
    assert str(found) == outcome, found.detail


def test_results_of_chlo_that_are_not_padded_end_it(process: ReferenceProcess) -> None:
    if not Behaviour.POSITIONS_ARE_NARROW.holds:
        pytest.skip("the causes are those of JAX 0.12")
    text = """sdy.mesh @mesh = <["x"=3]>
func.func @main(%a: tensor<16xf32>) {
  %values, %indices = chlo.top_k(%a, k = 1) {sdy.sharding = #sdy.sharding_per_value<[
    <@mesh, [{}]>, <@mesh, [{"x"}]>]>} : tensor<16xf32> -> (tensor<1xf32>, tensor<1xi32>)
  return
}
"""
    found = compare(Mode(LOCAL, lambda rng: "", ((LOCAL, ""),)), text, process)
    assert str(found) == "C++ crashes (results of CHLO that it does not pad)"


def test_explicit_reshards_look_through_barriers(process: ReferenceProcess) -> None:
    """A product of parts of 8 and of 4 elements is refused; without the barrier both have 4."""
    if not Behaviour.POSITIONS_ARE_NARROW.holds:
        pytest.skip("the causes are those of JAX 0.12")
    text = """sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>},
    %b: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %0 = sdy.propagation_barrier %a allowed_direction=BACKWARD
    {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<16xf32>
  %1 = stablehlo.dot_general %0, %b, batching_dims = [0] x [0], contracting_dims = [] x []
    {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", "y"}, {}]>]>}
    : (tensor<16xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
  return
}
"""
    name = "sdy-per-instruction-partitioning"
    found = compare(Mode(name, lambda rng: "", ((name, "filter=dot"),)), text, process)
    assert found.kind == "C++ refuses"
    assert "look through barriers" in found.cause


CHAIN = """sdy.mesh @mesh = <["x"=3]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<16xf32> {
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<16xf32>
  %1 = chlo.acos %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
    : tensor<16xf32> -> tensor<16xf32>
  %2 = sdy.reshard %1 <@mesh, [{}]> : tensor<16xf32>
  return %2 : tensor<16xf32>
}
"""


def test_a_refusal_hides_no_other_op(process: ReferenceProcess) -> None:
    if not Behaviour.POSITIONS_ARE_NARROW.holds:
        pytest.skip("JAX 0.12 has the pass")
    found = [(mode.name, str(outcome)) for mode, outcome in single_ops.outcomes(CHAIN, process)]
    refused = "C++ refuses (its padding leaves casts: chlo.acos)"
    assert found == [("op 0", SAME), ("op 1", refused), ("op 2", SAME)]


def test_what_both_say_of_an_op_is_compared_without_places_and_numbers() -> None:
    detail = "ours: -:4:10: error: 'x' op has 8\ntheirs: Failure\nerror: \"-\":4:10: 'x' op has 6\n note: y"
    assert single_ops.facts(Outcome(REFUSED, "", "", detail)) == ("'x' op has n", "'x' op has n")
