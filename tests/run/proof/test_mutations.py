"""Programs that are broken on purpose are not proven: one change of each kind here, each in another program.

More, also in random programs: `python -m tests.run.proof.mutations`.
"""

from __future__ import annotations

from functools import cache
from itertools import cycle, islice

import pytest

from tests.run.proof.mutations.broken import KINDS, Subject, chosen
from tests.run.proof.mutations.campaign import PROOFS, outcome
from tests.run.proof.mutations.difference import DIFFERENT, EQUAL, Runs
from tests.run.proof.mutations.reasons import why_equal

QUICK = ("embedding", "convolution", "branches", "scan", "layouts", "pooling", "layer_norm", "calls")
STRICT = tuple(name for name in PROOFS if name != "floats")
KNOWN = {"floats": ("branches", "constant", "mask shifted", "pairs", "replica", "rounding")}
"""Programs and kinds of which a proof may miss some: it runs in f64, takes one branch, has small
integers, and compares the first of equal parts."""
TIMES = 40


@cache
def subject(name: str) -> Subject:
    return Subject.named(name)


@cache
def runs(name: str) -> Runs:
    return Runs.of(subject(name).whole, TIMES)


def _program_of(kind: str, number: int) -> str | None:
    """The program of a kind: another one for each, that has a place for it."""
    order = islice(cycle(QUICK), number, number + len(QUICK))
    return next((name for name in order if subject(name).sites(kind)), None)


@pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
def test_mutants_are_caught(number: int) -> None:
    kind = KINDS[number]
    name = _program_of(kind, number)
    assert name is not None
    mutants = (subject(name).broken(kind, at) for at in chosen(subject(name), kind, 0, 0))
    mutant = next(mutant for mutant in mutants if mutant is not None)
    proofs = {proof: PROOFS[proof] for proof in STRICT or ("floats",)}
    found = outcome(subject(name), runs(name), mutant, proofs)
    for proof, text in found.rejections.items():
        assert text or found.difference.kind != DIFFERENT or {name, kind} & {*KNOWN.get(proof, ())}, str(
            found
        )
        assert not text or found.difference.kind != EQUAL, str(found)


@pytest.mark.parametrize(
    ("name", "kind", "number", "reason"),
    [
        ("embedding", "result sharding", 0, "equal parts"),
        ("convolution", "pad value", 0, "not read"),
    ],
)
def test_equal_mutants_have_a_reason(name: str, kind: str, number: int, reason: str) -> None:
    mutant = subject(name).broken(kind, number)
    assert mutant is not None
    found = runs(name).compare(mutant)
    assert found.kind == EQUAL
    assert why_equal(runs(name), mutant).startswith(reason)


SOLVE = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<2x2xf32>,
                %b: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<2x4xf32> {
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false,
      transpose_a = #stablehlo<transpose NO_TRANSPOSE>}>
      : (tensor<2x2xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}"""


def test_functions_of_whole_operands_depend_on_their_attributes() -> None:
    solve = Subject("solve", SOLVE)
    mutants = [solve.broken("attribute", number) for number in range(solve.sites("attribute"))]
    changed = [mutant for mutant in mutants if mutant is not None]
    assert any("unit_diagonal" in mutant.what for mutant in changed)
    assert not PROOFS["exact"](solve.whole)
    for mutant in changed:
        assert PROOFS["exact"](mutant.partitioned), mutant.what


def test_right_programs_are_proven() -> None:
    for name in QUICK:
        assert not {proof: text for proof in PROOFS if (text := PROOFS[proof](subject(name).whole))}
