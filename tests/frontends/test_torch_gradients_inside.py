"""Losses that compute gradients inside, several optimizers in a step, opaque tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# ruff: noqa: E402
from shardy_py import Program, ShardyError
from shardy_py.frontends.torch import from_module
from tests.frontends.optimizers import MuonWithAdamW as Both
from tests.frontends.optimizers import X, converted, difference, in_f32, loss, model

pytestmark = pytest.mark.torch
nn, functional = torch.nn, torch.nn.functional


class OfModule(nn.Module):
    """A loss that is a function of a module and inputs."""

    def __init__(self, net: Any, function: Callable[..., Any]) -> None:
        super().__init__()
        self.net, self.function = net, function

    def forward(self, x: Any) -> Any:
        return self.function(self.net, x)


def net(activation: Any = nn.Tanh) -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), activation(), nn.Linear(16, 1))


def penalty(net: Any, x: Any) -> Any:
    """The gradient penalty of WGAN-GP."""
    x = x.detach().requires_grad_()
    out = net(x)
    (slope,) = torch.autograd.grad(out, x, torch.ones_like(out), create_graph=True, retain_graph=True)
    return out.mean() + 10 * (slope.flatten(1).norm(2, dim=1) - 1).square().mean()


def by_learned_step(net: Any, x: Any) -> Any:
    """The loss after a step of gradient descent (MAML)."""
    inner = net(x).square().mean()
    gradients = torch.autograd.grad(inner, [*net.parameters()], create_graph=True)
    named = zip(net.named_parameters(), gradients, strict=True)
    return torch.func.functional_call(net, {n: p - 0.1 * g for (n, p), g in named}, (x,)).square().mean()


def by_backward(net: Any, x: Any) -> Any:
    """Gradients that `backward` accumulates in parameters, which are part of theirs."""
    x = x.detach().requires_grad_()
    net(x).sum().backward(create_graph=True)
    return x.grad.square().mean()


def convolutions() -> Any:
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    return nn.Sequential(*layers, nn.Linear(128, 1))


EXAMPLES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "penalty": lambda: (OfModule(net(), penalty), X),
    "penalty, leaky": lambda: (OfModule(net(nn.LeakyReLU), penalty), X),
    "penalty, gelu": lambda: (OfModule(net(nn.GELU), penalty), X),
    "penalty, convolutions": lambda: (OfModule(convolutions(), penalty), torch.randn(2, 3, 8, 8)),
    "inner step": lambda: (OfModule(net(), by_learned_step), X),
    "backward": lambda: (OfModule(net(), by_backward), X),
}


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=pytest.mark.slow) if each == "penalty, leaky" else each for each in EXAMPLES],
)
def test_gradients_are_those_of_torch(name: str) -> None:
    module, x = EXAMPLES[name]()
    program = Program.from_torch_training(module, None, None, (x,))
    known = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    values = [known.get(value.label, x).detach().numpy().copy() for value in program.values.arguments()]
    labels = (value.label for value in program.values.results())
    found = dict(zip(labels, program.run(values).arrays, strict=True))
    module(x).backward()
    for label, parameter in module.named_parameters():
        if parameter.grad is not None and f"{label} gradient" in found:
            expected = parameter.grad.detach().numpy()
            np.testing.assert_allclose(found[f"{label} gradient"], expected, rtol=1e-4, atol=2e-5)
    learned = {f"{name} gradient" for name, p in module.named_parameters() if p.grad is not None}
    assert learned == {label for label in found if label.endswith("gradient")}


def both(net: Any) -> list[Any]:
    matrices, others = Both.parts(net)
    return [torch.optim.Muon(matrices, lr=1e-2), torch.optim.AdamW(others, lr=1e-2)]


def test_several_optimizers_are_a_list() -> None:
    """Muon multiplies in bf16, so its step is compared in f32."""
    if not hasattr(torch.optim, "Muon"):
        pytest.skip("this release has no Muon")
    own = model()
    program = Program.from_torch_training(own, loss, both(own), (X,), learning_rate=True)
    assert {"lr", "lr 1", "momentum_buffer of 0.weight", "exp_avg of 0.bias"} <= {
        value.label for value in program.values.arguments()
    }
    own = model()
    optimizer = Both(own)
    in_bf16 = difference(converted(own, optimizer), own, optimizer)
    assert str(Program.from_torch_training(own, loss, both(own), (X,))) == str(
        Program.from_torch_training(own, loss, Both(own), (X,))
    )
    with in_f32():
        own = model()
        optimizer = Both(own)
        assert difference(converted(own, optimizer), own, optimizer) < 2e-6
    # The steps of bf16 are those of 1/256 of an update of size 1e-2 * 0.2 * sqrt(16).
    assert 1e-5 < in_bf16 < 5e-3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda net: [], "optimizer: expected optimizers of torch in the list, got none"),
        (lambda net: [net], "optimizer: expected optimizers of torch in the list, got Sequential"),
        (
            lambda net: [torch.optim.SGD(net.parameters())] * 2,
            "two of the optimizers have one parameter",
        ),
    ],
)
def test_lists_of_others_are_errors(make: Callable[[Any], Any], message: str) -> None:
    own = model()
    with pytest.raises(ShardyError, match=message):
        Program.from_torch_training(own, loss, make(own), (X,))


class Opaque(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.to_mkldnn().to_dense()


@pytest.mark.parametrize(
    "convert",
    [
        lambda: from_module(nn.Linear(8, 4), (X.to_mkldnn(),)),
        lambda: from_module(Opaque(), (X,)),
        lambda: Program.from_torch_training(nn.Sequential(nn.Linear(8, 8), Opaque()), loss, None, (X,)),
    ],
)
def test_opaque_tensors_are_errors(convert: Callable[[], Any]) -> None:
    with pytest.raises(ShardyError, match=r"oneDNN.*x.to_dense\(\)"):
        convert()
