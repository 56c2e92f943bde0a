"""Placements and module paths where shardings are taken: annotate, what_if, suggest, asserts."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
tensors = pytest.importorskip("torch.distributed.tensor")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import Mesh, P, Program, ShardyError, propagate
from shardy_py.frontends.torch import from_exported, placements_of
from shardy_py.testing import assert_sharding
from tests.frontends.planned_models import Decoder
from tests.frontends.torch_models import exported

pytestmark = pytest.mark.torch

Shard, Replicate = tensors.Shard, tensors.Replicate
MESH = Mesh.of(dp=2, tp=4)
COLUMNS, ROWS = [Replicate(), Shard(0)], [Replicate(), Shard(1)]
BATCH, LENGTH = [Shard(0), Replicate()], [Replicate(), Shard(1)]
DOWN = "layers.0.feed_forward.w2"
TEXT = '<@mesh, [{}, {"tp"}, {}]>'


@pytest.fixture(scope="module")
def program() -> Program:
    return from_exported(exported(Decoder(), (torch.randint(0, 32, (8, 8)),)), MESH)


def test_annotate_takes_placements_by_module_path(program: Program) -> None:
    annotated = program.annotate({DOWN: LENGTH, f"{DOWN}.weight": ROWS, "tokens": BATCH})
    assert str(annotated[f"{DOWN}.weight"].sharding) == '<@mesh, [{}, {"tp"}]>'
    assert str(annotated[DOWN].sharding) == TEXT
    assert placements_of(annotated)["tokens"] == tuple(BATCH)


def test_what_if_takes_placements_by_module_path(program: Program) -> None:
    answer = propagate(program).what_if({DOWN: LENGTH, "tokens": BATCH})
    assert str(answer.after[DOWN].sharding) == TEXT
    assert placements_of(answer.after)["output"][0] == Shard(0)


def test_assert_sharding_takes_placements_by_module_path(program: Program) -> None:
    result = propagate(program.annotate({DOWN: LENGTH}))
    assert_sharding(result, DOWN, LENGTH)
    with pytest.raises(AssertionError, match=r"layers\.0\.feed_forward\.w2"):
        assert_sharding(result, DOWN, BATCH)


def suggested(program: Program, keep: Any, **options: Any) -> list[Program]:
    """The programs of all plans of a short search."""
    suggestion = program.suggest(tries=8, time_limit=20, progress=False, keep=keep, **options)
    return [suggestion.program(plan) for plan in suggestion.plans]


def test_suggest_keeps_placements_by_module_path(program: Program) -> None:
    keep = {DOWN: LENGTH, "layers.1.feed_forward.w1.weight": COLUMNS, "tokens": BATCH}
    for found in suggested(program, keep):
        assert str(found[DOWN].sharding) == TEXT
        assert placements_of(found)["layers.1.feed_forward.w1.weight"] == tuple(COLUMNS)
        assert placements_of(found)["tokens"] == tuple(BATCH)


def test_suggest_keeps_annotations_of_modules_by_path(program: Program) -> None:
    annotated = program.annotate({DOWN: LENGTH, f"{DOWN}.weight": ROWS, "layers.0.norm1": LENGTH})
    for found in suggested(annotated, [DOWN, f"{DOWN}.weight"]):
        assert str(found[DOWN].sharding) == TEXT
        assert placements_of(found)[f"{DOWN}.weight"] == tuple(ROWS)
    dropped = [placements_of(found)[f"{DOWN}.weight"] for found in suggested(annotated, [DOWN])]
    assert set(dropped) != {tuple(ROWS)}


def test_suggest_keeps_placements_on_the_mesh_that_is_tried() -> None:
    plain = from_exported(exported(Decoder(), (torch.randint(0, 32, (8, 8)),)))
    for found in suggested(plain, {"tokens": BATCH}, meshes=[MESH]):
        assert placements_of(found)["tokens"] == tuple(BATCH)
    assert not plain.meshes


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        ({"layers.0.nothing": BATCH}, "layers.0.nothing"),
        ({"tokens": [Shard(0)]}, "expected one mesh of 1 dimensions"),
        ({"tokens": P("x")}, "x"),
        (["layers.0.nothing"], "layers.0.nothing"),
    ],
)
def test_invalid_values_and_placements_to_keep(program: Program, keep: Any, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        program.suggest(tries=1, progress=False, keep=keep)
