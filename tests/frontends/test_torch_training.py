"""Training steps: numbers against torch, names, donated states, shardings, places, errors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import Mesh, P, Program, ShardyError, propagate
from shardy_py.frontends.torch import FullyShard, launches, placements_of, trace
from shardy_py.frontends.torch.programs import annotated
from tests.frontends import training_models
from tests.frontends.torch_models import F, Transformer, nn
from tests.frontends.training import Compared, adamw, compare
from tests.frontends.training_models import SOURCES, Example

types = pytest.importorskip("torch.distributed.tensor.placement_types")

pytestmark = pytest.mark.torch
Shard, Replicate = types.Shard, types.Replicate
MESH = Mesh.of(dp=2, tp=4)
X, Y = torch.randn(8, 4, 16), torch.randn(8, 4, 16)


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, x: Any) -> Any:
        return self.down(torch.relu(self.up(x)))


def mlp_step(model: Any = None, make: Any = adamw, **options: Any) -> Program:
    model = MLP() if model is None else model
    optimizer = None if make is None else make(model.parameters())
    return Program.from_torch_training(model, F.mse_loss, optimizer, (X,), targets=(Y,), **options)


def with_momentum(parameters: Any) -> Any:
    """An optimizer of few ops, with a state."""
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


@functools.cache
def plain_step() -> Program:
    """The step of AdamW with gradients as results, without a mesh; traced once for the tests that read it."""
    return mlp_step(gradients=True)


# ---------------------------------------------------------------------- numbers


def assert_equal(found: Compared) -> None:
    """In f64, but optimizers count steps in f32."""
    assert max(found.loss, found.gradients) < 1e-5
    assert found.results < 1e-4


FAST = (
    "mlp",
    "rotary",
    "resnet",
    "unet",
    "pools",
    "discriminator",
    "generator",
    "tied",
    "dlrm",
    "experts",
    "windows",
    "encoder",
)


LONG = ("resnet", "unet", "pools", "encoder", "windows", "rotary", "generator", "dlrm")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in FAST]
)
def test_steps_compute_what_torch_computes(name: str) -> None:
    torch.manual_seed(0)
    found = compare(SOURCES["torch"]()[name]())
    assert_equal(found)


@pytest.mark.parametrize("name", [pytest.param("discriminator", marks=pytest.mark.slow), "experts"])
def test_a_step_of_distinct_calls_is_that_which_torch_traces_again(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[bool] = []
    plain = trace.decomposed_step

    def watched(*given: Any) -> Any:
        found = plain(*given)
        used.append(found is not None)
        return found

    def text() -> str:
        torch.manual_seed(0)
        example = SOURCES["torch"]()[name]()
        optimizer = adamw(example.model.parameters())
        given = (example.model.train(), example.loss, optimizer, example.inputs)
        return Program.from_torch_training(*given, targets=example.targets).text()

    monkeypatch.setattr(trace, "decomposed_step", watched)
    found = text()
    assert used == [True]
    monkeypatch.setattr(trace, "decomposed_step", lambda *_: None)
    assert text() == found


def test_gradients_on_the_device_meta_are_those_on_a_cpu() -> None:
    def loss(output: Any, target: Any) -> Any:
        kept = torch.where(output > 0, output, 2.0).std(1) + F.selu(output).var(1)
        spectrum = torch.fft.rfft(output).abs().mean()
        return F.cross_entropy(output, target) + kept.mean() + spectrum

    texts: list[str] = []
    for device in ("cpu", "meta"):
        with torch.device(device):
            model, x, y = torch.nn.Linear(8, 16), torch.zeros(4, 8), torch.zeros(4, dtype=torch.int64)
        program = Program.from_torch_training(model, loss, None, (x,), targets=(y,))
        assert [value.label for value in program.values.results()] == [
            "loss",
            "weight gradient",
            "bias gradient",
        ]
        texts.append(program.text())
    assert texts[0] == texts[1]


def test_targets_on_another_device_than_the_model_are_named() -> None:
    with torch.device("meta"):
        model, x = torch.nn.Linear(8, 16), torch.zeros(4, 8)
    target = torch.zeros(4, dtype=torch.int64)
    with pytest.raises(ShardyError, match=r"the model is on the device meta: make .* targets .* x\.to"):
        Program.from_torch_training(model, F.cross_entropy, None, (x,), targets=(target,))


def test_autocast_computes_in_bfloat16() -> None:
    torch.manual_seed(0)
    found = compare(SOURCES["torch"]()["autocast"](), with_momentum)
    assert max(found.loss, found.gradients, found.results) < 6e-2
    products = found.program.values.of_op("dot_general")
    assert {value.element_type for value in products} == {"bf16"}


@pytest.mark.parametrize(
    ("package", "name"),
    [
        pytest.param("torchvision", "torchvision squeezenet1_1", marks=pytest.mark.slow),
        pytest.param("transformers", "hf llama", marks=pytest.mark.slow),
        ("transformers", "hf mixtral"),
        pytest.param("timm", "timm test_vit", marks=pytest.mark.slow),
    ],
)
def test_steps_of_packages_compute_what_torch_computes(package: str, name: str) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    torch.manual_seed(0)
    examples = SOURCES[package]()
    if name not in examples:
        pytest.skip(f"{name} needs a newer release of {package}")
    assert_equal(compare(examples[name]()))


class Lion(torch.optim.Optimizer):
    """Chen et al., "Symbolic Discovery of Optimization Algorithms", as users write optimizers."""

    def __init__(self, params: Any, lr: float = 0.01) -> None:
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["momentum"] = torch.zeros_like(p)
                update = state["momentum"].mul(0.9).add(p.grad, alpha=0.1).sign_()
                p.mul_(1 - group["lr"] * 0.1).add_(update, alpha=-group["lr"])
                state["momentum"].lerp_(p.grad, 0.01)


def groups(parameters: Any) -> Any:
    first, *others = parameters
    return torch.optim.AdamW(
        [{"params": [first], "lr": 0.1, "weight_decay": 0.0}, {"params": others}], lr=0.01
    )


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": partial(torch.optim.SGD, lr=0.1),
    "nesterov": partial(torch.optim.SGD, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "dampened": partial(torch.optim.SGD, lr=0.1, momentum=0.9, dampening=0.5, maximize=True),
    "adam": partial(torch.optim.Adam, lr=0.1, weight_decay=0.01, amsgrad=True),
    "adamax": partial(torch.optim.Adamax, lr=0.1),
    "nadam": partial(torch.optim.NAdam, lr=0.1),
    "radam": partial(torch.optim.RAdam, lr=0.1),
    "adagrad": partial(torch.optim.Adagrad, lr=0.1, lr_decay=0.1),
    "adadelta": partial(torch.optim.Adadelta, lr=0.1),
    "rmsprop": partial(torch.optim.RMSprop, lr=0.1, momentum=0.9, centered=True),
    "lion": Lion,
    "groups": groups,
}


ALIKE = ("dampened", "adamax", "radam", "adadelta", "rmsprop")
"""Optimizers whose code has no other kinds of states and numbers than that of the rest."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in ALIKE else name for name in OPTIMIZERS]
)
def test_optimizers_update_as_torch_does(name: str) -> None:
    torch.manual_seed(0)
    found = compare(Example(nn.Linear(16, 16), F.mse_loss, (X,), (Y,)), OPTIMIZERS[name])
    assert_equal(found)


@pytest.mark.parametrize("make", [adamw, partial(torch.optim.SGD, lr=0.1)])
def test_clipped_gradients_and_a_learning_rate_that_is_an_argument(make: Any) -> None:
    torch.manual_seed(0)
    found = compare(Example(MLP(), F.mse_loss, (X,), (Y,)), make, max_norm=0.01, learning_rate=True)
    assert_equal(found)
    assert "lr" in [value.label for value in found.program.values.arguments()]


# ---------------------------------------------------------------------- names and donation


def test_arguments_and_results_have_names() -> None:
    program = plain_step()
    parameters = ["up.weight", "up.bias", "down.weight", "down.bias"]
    states = [f"{key} of {name}" for name in parameters for key in ("exp_avg", "exp_avg_sq")]
    arguments = [value.label for value in program.values.arguments()]
    assert arguments[:4] == parameters
    assert sorted(arguments[4:-2]) == sorted(["step", *states])
    assert arguments[-2:] == ["input", "target"] or arguments[-2:] == ["x", "target"]
    results = [value.label for value in program.values.results()]
    after = [f"{name} after" for name in arguments[:-2]]
    assert results == ["loss", *after, *(f"{name} gradient" for name in parameters)]


def test_replaced_arguments_are_donated_and_their_memory_is_reused() -> None:
    program = plain_step()
    text = program.text()
    results = [value.label for value in program.values.results()]
    for number, value in enumerate(program.values.arguments()):
        place = text.split(f"%arg{number}: ")[1].split(", %arg")[0]
        if f"{value.label} after" in results:
            assert f"tf.aliasing_output = {results.index(f'{value.label} after')} : i32" in place
        else:
            assert "tf.aliasing_output" not in place
    kept = Program.parse(text.replace("tf.aliasing_output", "tf.other"))
    reused, copied = (propagate(each).memory().entries[0].peak.bytes.padded_bytes for each in (program, kept))
    assert reused < copied


def test_frozen_and_unused_parameters_are_not_updated() -> None:
    model = MLP()
    model.up.requires_grad_(False)
    model.unused = nn.Linear(3, 3)
    program = mlp_step(model, with_momentum)
    results = [value.label for value in program.values.results()]
    assert [name for name in results if name.startswith(("up", "unused"))] == []
    assert "down.weight after" in results
    assert "unused.weight" in [value.label for value in program.values.arguments()]


def test_without_an_optimizer_gradients_are_the_results() -> None:
    program = mlp_step(make=None)
    assert [value.label for value in program.values.results()] == [
        "loss", "up.weight gradient", "up.bias gradient", "down.weight gradient", "down.bias gradient",
    ]  # fmt: skip


# ---------------------------------------------------------------------- shardings


@functools.cache
def transformer_step() -> Program:
    """Without shardings: each test adds its own."""
    model = Transformer(layers=1)
    return Program.from_torch_training(
        model,
        training_models.square,
        with_momentum(model.parameters()),
        (torch.randint(0, 32, (4, 6)),),
        mesh=MESH,
        gradients=True,
    )


def test_states_and_gradients_are_sharded_as_their_parameter() -> None:
    shardings = {
        **{f"layers.*.attention.{name}.weight": P("tp", "dp") for name in "qkv"},
        "layers.*.mlp.up.weight": P("tp"),
        "tokens": P("dp"),
    }
    result = propagate(annotated(transformer_step(), MESH, shardings))
    placements = placements_of(result)
    both = (Shard(1), Shard(0))
    for name in ("layers.0.attention.q.weight", "layers.0.attention.v.weight"):
        own = (
            name,
            f"{name} after",
            f"{name} gradient",
            f"momentum_buffer of {name}",
            f"momentum_buffer of {name} after",
        )
        assert {placements[each] for each in own} == {both}
    assert (
        placements["momentum_buffer of layers.0.mlp.down.weight"]
        == placements["layers.0.mlp.down.weight"]
        == (Replicate(), Shard(1))
    )


def test_states_with_their_own_sharding() -> None:
    """ZeRO: states sharded where parameters are not."""
    program = mlp_step(
        mesh=MESH,
        shardings={"*weight": P(None, None), "exp_avg* of *.weight": P("dp"), "x": P("dp", None, None)},
    )
    placements = placements_of(propagate(program))
    assert placements["up.weight"] == placements["up.weight after"] == (Replicate(), Replicate())
    assert (
        placements["exp_avg of up.weight"]
        == placements["exp_avg_sq of up.weight after"]
        == (Shard(0), Replicate())
    )


def test_gradients_of_data_parallel_models_are_reduced_once() -> None:
    shardings = {"x": P("dp"), "*": None, "target": P("dp")}
    result = propagate(mlp_step(make=with_momentum, mesh=MESH, shardings=shardings))
    uses = [use for use in result.communication().collectives if use.kind != "all_gather"]
    assert {use.kind for use in uses} == {"all_reduce"}
    assert len(uses) == 5  # four gradients and the loss


def test_products_keep_their_dimensions_apart() -> None:
    """Batch and heads of attention, and what linear layers contract for the gradients of weights."""
    shardings = {f"layers.*.attention.{name}.weight": P("tp") for name in "qkv"} | {"tokens": P("dp")}
    result = propagate(annotated(transformer_step(), MESH, shardings))
    assert not [use for use in result.communication().collectives if use.kind in ("all_gather", "all_to_all")]


def test_tied_weights_are_one_argument_with_either_name() -> None:
    words = torch.randint(0, 20, (4, 6))
    model = training_models.small.Loss()
    program = Program.from_torch_training(
        model,
        None,
        adamw(model.parameters()),
        (words, words),
        mesh=MESH,
        shardings={"head.weight": P(None, "tp")},
    )
    assert placements_of(propagate(program))["exp_avg of embed.weight"] == (Replicate(), Shard(1))


def test_convolutions_are_sharded_by_batch_forward_and_backward() -> None:
    model = training_models.small.ResNet()
    program = Program.from_torch_training(
        model, F.cross_entropy, with_momentum(model.parameters()), (torch.randn(4, 3, 32, 32),), mesh=MESH,
        targets=(torch.zeros(4, dtype=torch.long),), shardings={"image": P("dp"), "target": P("dp")},
    )  # fmt: skip
    result = propagate(program)
    convolutions = result.values.of_op("convolution")
    assert len(convolutions) == 3 + 5
    assert {use.kind for use in result.communication().collectives} == {"all_reduce"}


# ---------------------------------------------------------------------- places


def test_ops_of_both_passes_know_module_and_line() -> None:
    program = plain_step()
    lines, start = inspect.getsourcelines(MLP.forward)
    line = start + next(i for i, text in enumerate(lines) if "self.down" in text)
    places = [value.location for value in program.values.of_op("dot_general")]
    here = f"{__file__}:{line}:1"
    assert places == [
        f"{here} up/dot_general",
        f"{here} down/dot_general",
        f"{here} down/dot_general backward",
        f"{here} down/dot_general backward",
        f"{here} up/dot_general backward",
    ]
    assert any(value.location.endswith("optimizer/sqrt") for value in program.values.of_op("sqrt"))


class Checkpointed(MLP):
    def forward(self, x: Any) -> Any:
        checkpoint = torch.utils.checkpoint.checkpoint
        return checkpoint(
            self.up_and_down, checkpoint(self.up_and_down, x, use_reentrant=False), use_reentrant=False
        )

    def up_and_down(self, x: Any) -> Any:
        return self.down(torch.relu(self.up(x)))


def test_checkpoints_are_recomputed_in_the_backward_pass() -> None:
    torch.manual_seed(0)
    found = compare(Example(Checkpointed(), F.mse_loss, (X,), (Y,)), with_momentum)
    assert_equal(found)
    again = len(found.program.values.of_op("dot_general"))
    assert again > 4 + 7


# ---------------------------------------------------------------------- errors


class Selects(MLP):
    def forward(self, x: Any) -> Any:
        return self.up(x[x > 0][:16])


class Branches(MLP):
    def forward(self, x: Any) -> Any:
        y = self.up(x)
        return y if y.sum() > 0 else -y


class Chooses(MLP):
    def forward(self, x: Any) -> Any:
        y = self.up(x)
        return torch.cond(y.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (y,))


IS_SCALAR = r"loss: expected a scalar that depends on parameters, got a tensor of shape"
NAMES = {"mesh": MESH, "shardings": {"exp_avg of up": P()}}
NO_MESH = {"shardings": {"up.weight": [Shard(0)]}}


@pytest.mark.parametrize(
    ("model", "loss", "make", "options", "message"),
    [
        (3, None, None, {}, r"expected a torch\.nn\.Module, got int"),
        (MLP(), None, adamw, {}, rf"{IS_SCALAR} \(8, 4, 16\); pass loss\("),
        (MLP(), lambda y: y.detach().sum(), adamw, {}, IS_SCALAR),
        (MLP(), torch.sum, lambda _: 3, {}, r"optimizer: expected a torch\.optim\.Optimizer, .* got int"),
        (
            MLP(),
            torch.sum,
            lambda _: adamw(MLP().parameters()),
            {},
            r"of shape \(64, 16\) that the model lacks",
        ),
        (MLP(), torch.sum, torch.optim.LBFGS, {}, "LBFGS, which evaluates the model several times"),
        (MLP().requires_grad_(False), torch.sum, None, {}, "no parameter requires a gradient"),
        (Selects(), torch.sum, adamw, {}, r"test_torch_training\.py:\d+:1: error: .* depends on elements"),
        (
            Branches(),
            torch.sum,
            adamw,
            {},
            r"test_torch_training\.py:\d+:1: error: .*unsupported in a step.*pass specialize=True",
        ),
        (
            Chooses(),
            torch.sum,
            adamw,
            {},
            r"\.py:\d+:1: error: cond runs graphs of its own, which is unsupported in a step",
        ),
        (MLP(), torch.sum, with_momentum, NAMES, "'exp_avg of up'; the model has"),
        (MLP(), torch.sum, None, NO_MESH, "up.weight: placements without a mesh"),
    ],
)
def test_invalid_steps(model: Any, loss: Any, make: Any, options: Any, message: str) -> None:
    optimizer = None if make is None or model == 3 else make(list(model.parameters()))
    with pytest.raises(ShardyError, match=message):
        Program.from_torch_training(model, loss, optimizer, (X,), **options)


def test_a_plan_shards_parameters_gathers_them_and_keeps_states_with_them() -> None:
    plan = FullyShard("dp", ["up", "down", ""])
    shardings = {"x": P("dp"), "target": P("dp")}
    program = mlp_step(make=with_momentum, mesh=Mesh.of(dp=8), plan=plan, shardings=shardings)
    result = propagate(program)
    for name in ("up.weight", "momentum_buffer of up.weight", "up.weight after"):
        assert placements_of(result)[name] == (Shard(0),)
    report = result.communication(partitioner="shardy")
    assert launches(report, plan)["all_gather"] >= 3  # both modules forward, the second backward


class Reads(MLP):
    def forward(self, x: Any) -> Any:
        return self.down(self.up(x)) * self.up.bias.sum().item()


def test_numbers_read_from_tensors_are_values_of_the_step() -> None:
    assert_equal(compare(Example(Reads(), lambda output: (output**2).sum(), (X,)), with_momentum))
