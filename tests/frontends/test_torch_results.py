"""Exported models in use: lines of packages named like torch, CHLO ops, joint graphs, warnings."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import Mesh, Options, Program, ShardyError, propagate
from shardy_py.base import releases
from shardy_py.frontends.torch import from_exported, placements_of
from shardy_py.frontends.torch.nodes import position_of
from shardy_py.ops import names
from shardy_py.testing import assert_sharding
from tests.frontends.test_torch_nodes import Call
from tests.frontends.torch_models import exported

types = pytest.importorskip("torch.distributed.tensor.placement_types")

pytestmark = pytest.mark.torch
Replicate, Shard = types.Replicate, types.Shard
MESH = Mesh.of(dp=2, tp=4)
X = torch.zeros(8, 16)
BOTH = (Shard(0), Shard(1))


def program_of(function: Any, **shardings: Any) -> Program:
    return from_exported(exported(Call(function), (X,)), MESH, shardings)


def test_packages_whose_names_begin_with_torch_have_lines() -> None:
    inside = Path(torch.__file__).parent
    frames = [("model.py", 3), (f"{inside}vision/ops.py", 7), (inside / "nn" / "functional.py", 9)]
    trace = "".join(f'  File "{file}", line {line}, in f\n' for file, line in frames)
    place = position_of(SimpleNamespace(meta={"stack_trace": trace}))
    assert str(place) == f"{inside}vision/ops.py:7:1"


@pytest.mark.parametrize(
    "name", names("acos acosh asin asinh atan atanh cosh digamma erfc erfinv lgamma sinh")
)
def test_unary_ops_that_xla_expands_keep_their_shardings(name: str) -> None:
    result = propagate(program_of(getattr(torch, name), x=BOTH))
    assert placements_of(result)["output"] == BOTH


@pytest.mark.parametrize(("release", "placements"), [("0.10", (Replicate(), Replicate())), ("0.12", BOTH)])
def test_erf_has_a_rule_where_xla_has_one(release: str, placements: Any) -> None:
    with releases.of(release):
        result = propagate(program_of(torch.erf, x=BOTH))
    assert placements_of(result)["output"] == placements


class Training(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(16, 8)
        self.register_buffer("steps", torch.zeros(1))

    def forward(self, x: Any) -> Any:
        self.steps.add_(1)
        y = self.layer(x)
        return (y * y).sum(), y.detach()


def test_results_of_joint_graphs_are_named_by_what_they_are() -> None:
    experimental = pytest.importorskip("torch.export.experimental")
    joint = experimental._export_forward_backward(torch.export.export(Training(), (X,)))
    labels = [value.label for value in from_exported(joint).values.results()]
    gradients = ["layer.weight gradient", "layer.bias gradient"]
    assert labels == ["steps after", "output[0]", "output[1]", *gradients]


def test_a_placement_that_does_not_divide_evenly_is_a_warning() -> None:
    model = exported(torch.nn.Linear(16, 30, bias=False), (X,))
    program = from_exported(model, MESH, {"weight": [Replicate(), Shard(0)]})
    (warning,) = propagate(program).warnings
    assert str(warning).startswith(
        'warning: weight: the annotation <@mesh, [{"tp"}, {}]> is not kept: dimension 0 of size 30 is not '
        "divisible by 4; choose other axes"
    )
    assert not propagate(program, Options(update_non_divisible_input_output_shardings=False)).warnings


class Tied(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(32, 16)
        self.head = torch.nn.Linear(16, 32, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x: Any) -> Any:
        return self.head(self.embed(x))


def test_tied_weights_with_two_shardings_are_a_warning_with_their_names() -> None:
    tokens = torch.zeros(4, 8, dtype=torch.long)
    shardings = {"embed.weight": [Replicate(), Shard(0)], "head.weight": [Replicate(), Shard(1)]}
    (warning,) = propagate(from_exported(exported(Tied(), (tokens,)), MESH, shardings)).warnings
    assert 'embed.weight <@mesh, [{"tp"}, {}]>' in str(warning)
    assert 'head.weight <@mesh, [{}, {"tp"}]>' in str(warning)


def test_placements_are_annotations_everywhere() -> None:
    program = program_of(torch.tanh).annotate({"x": BOTH})
    result = propagate(program)
    assert_sharding(result, "x", list(BOTH))
    assert_sharding(result, "output", BOTH)
    compared = result.what_if({"x": [Replicate(), Shard(0)]})
    assert_sharding(compared.after, "output", [Replicate(), Shard(0)])
    with pytest.raises(AssertionError, match="sharding of %arg0 \\(x\\)"):
        assert_sharding(result, "x", [Replicate(), Shard(0)])
    with pytest.raises(
        ShardyError, match="annotation of %arg0 \\(x\\): Shard\\(dim=5\\) for a tensor of rank 2"
    ):
        result.what_if({"x": [Replicate(), Shard(5)]})
