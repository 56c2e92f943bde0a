"""Random programs partition and prove equal: a few here, more by `python -m tests.reshard.random`."""

from __future__ import annotations

import random

import pytest

from tests.differential import running_flow, running_ops
from tests.differential.flow_ops import Family
from tests.differential.meshes import Width
from tests.differential.writer import Scope, Value, Writer
from tests.reshard.coverage import counts
from tests.reshard.random import EQUAL, REJECTED, found, program

FAMILIES: dict[Family, tuple[int, tuple[str, ...]]] = {
    **running_ops.FAMILIES,
    **running_flow.IN_REGIONS,
    **running_flow.AT_TOP,
}

SHARDED = {
    "free": (
        "concatenate",
        "convolution",
        "dot_general",
        "gather",
        "reshape",
        "scatter",
        "select_and_scatter",
    ),
    "reduced": ("convolution", "dot_general", "gather", "reduce"),
    "permuted": ("convolution", "pad", "reduce_window", "reverse", "select_and_scatter", "slice"),
    "whole": ("dynamic_slice", "fft", "rng_bit_generator", "sort"),
    "no rule": ("iota",),
    "flow": ("case", "while"),
}
"""Ops by the kind of factors that shard them in random programs."""


def _of_family(family: Family, seed: int) -> str:
    """A program of ops of one family, some of them sharded."""
    w = Writer(random.Random(seed), Width(runs=True, annotated=0.5, meshes=False))
    given = [Value("%x", w.kind(2, 3))]
    scope = Scope([*given], w.mesh, given)
    for _ in range(2):
        family(w, scope)
    results = [value for value in scope.values if value not in given] or given
    takes = ", ".join(f"{v.name}: {v.kind}{w.place(v.kind, 0.7)}" for v in given)
    gives, names = ", ".join(str(v.kind) for v in results), ", ".join(v.name for v in results)
    head = f"func.func @main({takes}) -> ({gives}) {{"
    body = [*w.lines, f"return {names} : {gives}\n}}"]
    return "\n".join([w.shardings.declarations(), head, *body])


@pytest.mark.parametrize(
    "proven", [range(2), pytest.param(range(2, 8), marks=pytest.mark.slow)], ids=["few", "more"]
)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_ops_of_a_family_partition(family: Family, proven: range) -> None:
    missing = set(FAMILIES[family][1])
    for seed in range(20):
        text = _of_family(family, seed)
        missing -= {name for name in missing if name in text}
        if seed in proven:
            assert found(text, seed).kind == EQUAL, text
    assert not missing


@pytest.mark.slow
def test_programs_shard_what_is_hard_to_partition() -> None:
    found = counts(range(90))
    wanted = {(f"stablehlo.{name}", kind) for kind, names in SHARDED.items() for name in names}
    wanted |= {("func.call", "flow"), ("sdy.manual_computation", "flow")}
    assert not {(*row, is_uneven) for row in wanted for is_uneven in (False, True)} - found.keys()


@pytest.mark.parametrize(
    "seeds", [range(3), pytest.param(range(3, 12), marks=pytest.mark.slow)], ids=["few", "more"]
)
def test_programs_partition(seeds: range) -> None:
    kinds = {seed: found(program(seed), seed) for seed in seeds}
    assert not {seed: str(one) for seed, one in kinds.items() if one.kind not in (EQUAL, REJECTED)}
    assert [one.kind for one in kinds.values()].count(REJECTED) <= 1
