"""Arguments of modules in plans, in the order of calls; batches that no axis of `fully_shard` divides."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
tensors = pytest.importorskip("torch.distributed.tensor")
parallel = pytest.importorskip("torch.distributed.tensor.parallel")

# ruff: noqa: E402
from shardy_py import Mesh, P, Program
from shardy_py.frontends.torch import FullyShard, TensorParallel, from_module

pytestmark = pytest.mark.torch
nn, Shard, Replicate = torch.nn, tensors.Shard, tensors.Replicate
MESH = Mesh.of(dp=2, tp=2)
X, TURNS = torch.randn(8, 4, 16), torch.randn(8, 4, 16)


class Block(nn.Module):
    """Uses its second argument first, and the third not at all."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Linear(16, 16)

    def forward(self, x: Any, turns: Any, mask: Any = None, *, shift: Any = None) -> Any:
        return self.w(shift * 3 + turns * 2 + x)


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = Block()

    def forward(self, x: Any, turns: Any, shift: Any) -> Any:
        return self.block(self.block(x, turns, None, shift=shift), turns, None, shift=shift)


def converted(kind: str, **options: Any) -> Program:
    given = (X, TURNS, X + 1)
    options = {"mesh": MESH} | options
    if kind == "exported":
        return from_module(Twice(), given, **options)
    return Program.from_torch_training(Twice(), lambda out: out.square().mean(), None, given, **options)


def constrained(program: Program) -> list[str]:
    """The names of the arguments of the program that a constraint takes."""
    labels = {value.name: value.label for value in program.values.arguments()}
    lines = [line for line in str(program).splitlines() if "sdy.sharding_constraint %arg" in line]
    return [labels[line.partition("sdy.sharding_constraint ")[2].split()[0]] for line in lines]


@pytest.mark.parametrize("kind", ["exported", "training"])
def test_inputs_count_as_arguments(kind: str) -> None:
    both = {"input_layouts": (Shard(1), None, None), "desired_input_layouts": (Replicate(), None, None)}
    plan = TensorParallel("tp", {"block": parallel.PrepareModuleInput(**both)})
    program = converted(kind, plan=plan)
    assert constrained(program) == ["x"]
    # Of both calls of the module.
    assert str(program).count('[{?}, {"tp", ?}, {?}]') >= 2
    second = {"input_layouts": (None, Shard(1), None), "desired_input_layouts": (None, Replicate(), None)}
    plan = TensorParallel("tp", {"block": parallel.PrepareModuleInput(**second)})
    assert set(constrained(converted(kind, plan=plan))) == {"turns"}


@pytest.mark.parametrize("kind", ["exported", "training"])
def test_keywords_count_by_name(kind: str) -> None:
    named = {
        "input_kwarg_layouts": {"shift": Shard(1)},
        "desired_input_kwarg_layouts": {"shift": Replicate()},
    }
    plan = TensorParallel("tp", {"block": parallel.PrepareModuleInput(**named)})
    assert set(constrained(converted(kind, plan=plan))) == {"shift"}


@pytest.mark.parametrize("kind", ["exported", "training"])
def test_whole_batches_are_said(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    def said(plan: Any, **shardings: P) -> str:
        caplog.clear()
        converted(kind, plan=plan, shardings=shardings)
        own = [record for record in caplog.records if record.name == "shardy_py"]
        return " ".join(record.getMessage() for record in own)

    one = r'fully_shard along "dp": no input is sharded along it, so its devices compute the same batch; '
    assert f'{one}shard the batch: shardings={{"x": P("dp")}}' in said(FullyShard("dp"))
    both = said(FullyShard("dp", replicate="tp"))
    assert 'fully_shard along "dp", "tp": no input' in both
    assert 'shardings={"x": P(("dp", "tp"))}' in both
    assert 'fully_shard along "tp"' in said(FullyShard("dp", replicate="tp"), x=P("dp"))
    assert said(FullyShard("dp"), x=P("dp"), turns=P("dp"), shift=P("dp")) == ""
    caplog.clear()
    converted(kind, plan=FullyShard("whole"), mesh=Mesh.of(dp=2, whole=1))
    assert "fully_shard" not in caplog.text
    assert said(TensorParallel("tp", {"block.w": parallel.ColwiseParallel()})) == ""


def test_parameters_outside_of_modules_that_are_fully_sharded_are_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16))
    options: dict[str, Any] = {"mesh": MESH, "shardings": {"input": P("dp")}}
    plan = FullyShard("dp", ("1",))
    Program.from_torch_training(model, lambda y: y.sum(), None, (X,), plan=plan, **options)
    (record,) = [record for record in caplog.records if record.name == "shardy_py"]
    message = record.getMessage()
    assert 'fully_shard along "dp": torch does not reduce gradients of parameters outside of its ' in message
    assert "(0.weight, 0.bias, 2.weight, ...)" in message
    assert 'add the model itself, "", to the modules' in message
