"""Training steps under plans: collectives as torch launches them, gradients at the boundaries of modules."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
fake = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
fsdp = pytest.importorskip("torch.distributed.fsdp")
parallel = pytest.importorskip("torch.distributed.tensor.parallel")
tensors = pytest.importorskip("torch.distributed.tensor")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import Mesh, Program, propagate
from shardy_py.frontends.torch import FullyShard, TensorParallel, launches, launches_by_axes, under_plan
from tests.frontends import dtensor_training
from tests.frontends.dtensor_collectives import device_mesh as mesh_of_devices
from tests.frontends.planned_models import (
    LAYERS,
    ON_SEQUENCES,
    STEPS,
    Checkpointed,
    Decoder,
    column,
    row,
    tokens,
)
from tests.frontends.planned_others import OTHERS
from tests.frontends.planned_variants import VARIANTS
from tests.frontends.torch_models import MLP

pytestmark = pytest.mark.torch

Shard, Replicate = tensors.Shard, tensors.Replicate
nn, F = torch.nn, torch.nn.functional
MESH = Mesh.of(dp=2, tp=4)
BATCH = [Shard(0), Replicate()]
EVERY = {**STEPS, **VARIANTS, **OTHERS}
EQUAL = (
    "MLP",
    "row after column, scattered",
    "decoder, sequences",
    "decoder, HSDP",
    "decoder, FSDP x TP",
    "convolutions, HSDP",
    "checkpoints, FSDP x TP",
    "MLP, FSDP of each layer",
    "MLP, FSDP x TP",
    "plain layer behind scattered rows",
    "fewer rows than devices",
)
"""Of the models of `dtensor_training`, those that are compared here; the command compares all."""


@pytest.fixture(scope="module")
def device_mesh() -> Iterator[Any]:
    with mesh_of_devices() as mesh:
        yield mesh


def theirs(name: str, device_mesh: Any) -> Any:
    """The collectives of torch, which warns of inputs without gradients."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dtensor_training.theirs(EVERY[name], device_mesh)


LONG = ("checkpoints, FSDP x TP", "decoder, sequences", "decoder, FSDP x TP", "decoder, HSDP")
"""Those whose rules smaller models have, too."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in EQUAL]
)
def test_collectives_of_a_step_and_their_bytes_are_those_of_torch(device_mesh: Any, name: str) -> None:
    expected = theirs(name, device_mesh)
    assert expected.found
    report, found = dtensor_training.ours(EVERY[name], device_mesh)
    assert found == expected.found
    assert dtensor_training.bytes_of(report, EVERY[name].plan) == expected.bytes


@pytest.mark.parametrize("name", ["embedding by columns", "gated MLP, inputs and outputs"])
def test_a_sum_that_is_whole_and_sliced_at_once_is_an_all_reduce_of_torch(
    device_mesh: Any, name: str
) -> None:
    expected, planned = theirs(name, device_mesh), EVERY[name]
    report, found = dtensor_training.ours(planned, device_mesh)
    assert found == expected.found
    assert dtensor_training.bytes_of(report, planned.plan) == expected.bytes
    assert (report.counts["reduce_scatter"], report.counts["all_reduce"]) == (1, 1)


@pytest.mark.parametrize(
    "name", ["batch norm, FSDP", pytest.param("batch norm, HSDP", marks=pytest.mark.slow)]
)
def test_only_statistics_of_the_batch_differ_from_those_of_a_device(device_mesh: Any, name: str) -> None:
    expected, planned = theirs(name, device_mesh), EVERY[name]
    parts = dtensor_training.batch_parts(planned, device_mesh)
    report, found = dtensor_training.ours(planned, device_mesh, parts=parts)
    assert found == expected.found
    assert dtensor_training.bytes_of(report, planned.plan) == expected.bytes


def step(model: Any, plan: Any, *, gradients: bool = False, optimizer: Any = None) -> Program:
    return Program.from_torch_training(
        model,
        lambda y: (y * y).mean(),
        optimizer or torch.optim.SGD(model.parameters(), lr=1e-3),
        (tokens(),),
        mesh=MESH,
        shardings={"tokens": BATCH},
        plan=plan,
        gradients=gradients,
    )


def test_fsdp_gathers_a_layer_in_each_pass_and_scatters_its_gradients_once() -> None:
    plan = FullyShard("dp", LAYERS)
    result = propagate(step(Decoder(layers=1), plan, gradients=True))
    report = result.communication(partitioner="shardy")
    assert not result.warnings
    gathers = [use for use in report.sending if use.cause.location.startswith("layers.0/fully_shard")]
    assert {use.cause.location for use in gathers} == {
        "layers.0/fully_shard",
        "layers.0/fully_shard backward",
    }
    kinds = {use.kind for use in report.sending if "backward" in use.cause.location}
    assert kinds == {"all_gather", "reduce_scatter"}
    assert launches(report, plan) == {"all_gather": 3, "all_reduce": 1, "reduce_scatter": 2}
    name = "layers.0.attention.wq.weight"
    assert str(result[f"{name} gradient"].sharding) == str(result[name].sharding) == '<@mesh, [{"dp"}, {}]>'


def test_checkpoints_gather_for_the_backward_pass_once() -> None:
    plan = FullyShard("dp", LAYERS)
    report = propagate(step(Checkpointed(layers=1), plan)).communication(partitioner="shardy")
    assert launches(report, plan) == {"all_gather": 3, "all_reduce": 1, "reduce_scatter": 2}
    sums = [use.cause.location for use in report.sending if use.kind == "reduce_scatter"]
    for module in ("layers.0.attention.wq", "layers.0.feed_forward.w1", "tok_embeddings"):
        assert any(f" {module}/" in place and place.endswith(" backward") for place in sums)


def test_a_step_under_a_plan_computes_what_it_computed() -> None:
    model = Decoder(layers=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    plan = [TensorParallel("tp", ON_SEQUENCES), FullyShard("dp", LAYERS)]
    plain, planned = (step(model, given, gradients=True, optimizer=optimizer) for given in (None, plan))
    assert "shardy_py.boundary" not in planned.text()
    given = [argument(value, np.random.default_rng(0)) for value in plain.values.arguments()]
    expected, found = plain.run(given), planned.run(given)
    names = [value.label for value in plain.values.results()]
    assert len([name for name in names if name.endswith("gradient")]) > 10
    for name in names:  # autograd may add gradients in another order
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-6, err_msg=name)


def argument(value: Any, random: Any) -> Any:
    shape = tuple(value.shape)
    if value.element_type == "f32":
        return np.asarray(random.uniform(0.5, 1.5, shape), np.float32)
    return random.integers(0, 32, shape)


class Outer(nn.Module):
    """A module with a keyword and two results."""

    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(16, 32), nn.Linear(32, 16)

        def forward(self, x: Any, *, mask: Any) -> Any:
            y = self.b(F.relu(self.a(x) * mask))
            return y, 2 * y

    def __init__(self) -> None:
        super().__init__()
        self.first, self.inner = nn.Linear(16, 16), Outer.Inner()

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        return sum(self.inner(x, mask=x.sum(-1, keepdim=True)))


def test_gradients_of_keywords_and_of_all_results_get_their_layouts() -> None:
    style = parallel.PrepareModuleInputOutput(
        input_layouts=(Shard(1),),
        desired_input_layouts=(Replicate(),),
        input_kwarg_layouts={"mask": Shard(1)},
        desired_input_kwarg_layouts={"mask": Replicate()},
        output_layouts=(Replicate(), Replicate()),
        desired_output_layouts=(Shard(1), Shard(1)),
    )
    model = Outer()
    program = Program.from_torch_training(
        model,
        lambda y: y.square().mean(),
        None,
        (torch.randn(8, 4, 16),),
        mesh=MESH,
        plan=TensorParallel("tp", {"inner": style, "inner.a": column(), "inner.b": row()}),
    )
    report = propagate(program).communication(partitioner="shardy")
    found = [(use.kind, use.cause.location.split()[-2]) for use in report.sending]
    backward = [each for each in found if each[1] != "loss/mean" and "backward" not in each[1]]
    gathered = [place for kind, place in backward if kind == "all_gather"]
    assert gathered.count("inner/output_layouts") == 1  # the gradients of both results are one tensor
    assert [kind for kind, _ in backward].count("reduce_scatter") == 2


class InPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.act, self.down = nn.Linear(16, 32), nn.ReLU(inplace=True), nn.Linear(32, 16)

    def forward(self, x: Any) -> Any:
        return self.down(self.act(self.up(x)))


def test_outputs_that_are_changed_in_place_keep_their_gradients() -> None:
    model, x = InPlace(), torch.randn(8, 16)
    y = model(x)
    y.square().mean().backward()
    program = Program.from_torch_training(
        model,
        lambda y: y.square().mean(),
        None,
        (x,),
        mesh=MESH,
        plan=TensorParallel("tp", {"up": column(), "down": row()}),
    )
    found = program.run([p.detach().numpy() for p in model.parameters()] + [x.numpy()])
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(found[f"{name} gradient"], parameter.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_a_plan_on_a_step_at_hand_has_no_boundaries_for_gradients() -> None:
    model = MLP()
    plan = TensorParallel("tp", {"up": column(), "down": row(output_layouts=Shard(1))})
    inputs = (torch.randn(8, 16),)
    given = (model, lambda y: y.square().mean(), None, inputs)
    late = under_plan(Program.from_torch_training(*given, mesh=MESH), model, MESH, plan)
    early = Program.from_torch_training(*given, mesh=MESH, plan=plan)
    counts = [launches_by_axes(propagate(each).communication(partitioner="shardy")) for each in (late, early)]
    assert counts[0] != counts[1]


def test_the_output_of_the_whole_model_is_what_the_loss_uses(device_mesh: Any) -> None:
    """torch gathers for both layouts; its gradients of slices are all-reduces, ours reduce-scatters."""
    planned = VARIANTS["gated MLP, inputs and outputs"]
    expected = theirs("gated MLP, inputs and outputs", device_mesh).found
    found = dtensor_training.ours(planned, device_mesh)[1]
    assert found["all_gather", ("tp",)] == expected["all_gather", ("tp",)] == 2
    assert sum(found.values()) == sum(expected.values())


class Twice(torch.nn.Module):
    """A layer that is registered at two paths."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
        self.whole = torch.nn.Sequential(self.layer, torch.nn.BatchNorm1d(2))

    def forward(self, x: Any) -> Any:
        return self.whole(x)


@pytest.mark.parametrize("specialize", [False, True])
def test_a_model_keeps_its_tensors(specialize: bool) -> None:
    model, x = Twice(), torch.ones(4, 3)
    before = [*model.parameters(), *model.buffers()]
    Program.from_torch_training(model, lambda y: y.sum(), None, (x,), specialize=specialize)
    after = [*model.parameters(), *model.buffers()]
    assert all(ours is theirs for ours, theirs in zip(after, before, strict=True))
