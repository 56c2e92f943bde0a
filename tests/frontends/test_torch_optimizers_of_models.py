"""Optimizers that hold the model, hooks of parameters and optimizers, states that differ by parameter."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# ruff: noqa: E402
from shardy_py import ShardyError
from tests.frontends.optimizers import converted, difference, model, step_of_torch
from tests.frontends.test_torch_optimizers import Written

pytestmark = pytest.mark.torch


class Transposed(torch.nn.Module):
    """Its weight's gradient is a transposed product."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8, 16))

    def forward(self, x: Any) -> Any:
        return (self.weight.t() @ x.t()).t()


class OfModel(torch.optim.Optimizer):
    """Takes the model itself, and its parameters by their names in each step."""

    def __init__(self, net: Any, others: list[Any] | None = None) -> None:
        super().__init__(net.parameters(), {"lr": 0.1})
        self.model, self.others = net, lambda: others or ()

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for name, p in self.model.named_parameters():
            p.sub_(p.grad * (0.2 if name.endswith("weight") else 0.1))
        for p, other in zip(self.param_groups[0]["params"], self.others(), strict=False):
            p.sub_(other * 0.01)


class BySize(torch.optim.Optimizer):
    """States without dimensions that depend on no elements, but differ by parameter."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["size"], state["rank"] = torch.tensor(float(p.numel())), float(p.ndim)
                    state["root"], state["steps"] = torch.full((), p.numel()).sqrt(), torch.zeros(())
                state["steps"] += 1
                rate = group["lr"] * state["rank"] / (state["root"] + state["size"])
                p.sub_(p.grad * rate * state["steps"])


class Kept(torch.optim.Optimizer):
    """States made when it is constructed, of no parameter, and by the address of a parameter."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {"lr": 0.1})
        self.sums: dict[int, Any] = {}
        for p in self.param_groups[0]["params"]:
            self.state[p]["average"] = torch.full_like(p, 0.5)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        count = self.state.setdefault("count", torch.tensor([0]))
        for p in self.param_groups[0]["params"]:
            if id(p) not in self.sums:
                self.sums[id(p)] = torch.zeros_like(p)
            self.sums[id(p)].add_(p.grad, alpha=math.pow(count + 1, 0.5))
            self.state[p]["average"].lerp_(p.grad, 0.1)
            rows = self.sums[id(p)].view(-1)
            assert rows.data_ptr() == self.sums[id(p)].data_ptr()
            p.sub_((self.state[p]["average"] + rows.view_as(p)) * p.grad.view(p.shape), alpha=0.1)
        count.add_(1)


class InObjects(torch.optim.SGD):
    """Keeps a tensor in an object, which a step does not look into."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, lr=0.1)
        self.kept = SimpleNamespace(average=None)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        p = self.param_groups[0]["params"][0]
        before = p.grad if self.kept.average is None else self.kept.average
        self.kept.average = before * 0.5 + p.grad
        p.sub_(self.kept.average)


def kept(net: Any) -> Any:
    return Kept(net.parameters())


def by_model_of_hook(net: Any) -> Any:
    """A hook of an optimizer that changes a parameter of the model."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    @torch.no_grad()
    def clamp(*_: object) -> None:
        net[0].weight.clamp_(-0.1, 0.1)

    optimizer.register_step_post_hook(clamp)
    return optimizer


def by_masked_gradient(net: Any) -> Any:
    """A hook of a parameter that changes its gradient."""
    mask = torch.arange(net[0].weight.numel()).reshape(net[0].weight.shape) % 2
    net[0].weight.register_hook(lambda gradient: gradient * mask)
    return torch.optim.SGD(net.parameters(), lr=0.1)


class Late(torch.optim.Optimizer):
    """Updates from its fourth step on."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for p in self.param_groups[0]["params"]:
            seen = self.state[p].setdefault("seen", [])
            if len(seen) < 3:
                seen.append(p.grad.clone())
            else:
                p.sub_(seen[0] + p.grad, alpha=0.1)


def by_size(net: Any) -> Any:
    return BySize(net.parameters())


@pytest.mark.parametrize("make", [OfModel, by_size, kept, by_model_of_hook, by_masked_gradient])
def test_the_second_step_is_that_of_torch(make: Callable[[Any], Any]) -> None:
    net = model()
    own = {name: parameter.clone() for name, parameter in net.named_parameters()}
    optimizer = make(net)
    program = converted(net, optimizer)
    assert all(torch.equal(own[name], parameter) for name, parameter in net.named_parameters())
    assert all(type(parameter) is torch.nn.Parameter for parameter in net.parameters())
    assert difference(program, net, optimizer) < 2e-6


@pytest.mark.parametrize("kind", ["Adam", "Adafactor", "SGD"])
def test_an_optimizer_goes_on_from_its_states(kind: str) -> None:
    net = model()
    optimizer = getattr(torch.optim, kind)(net.parameters(), lr=0.01)
    own = Late(net.parameters())
    for each in (optimizer, own):
        for _ in range(3):
            step_of_torch(net, each)
        assert difference(converted(net, each), net, each) < 2e-6


def test_states_are_shared_if_they_are_equal() -> None:
    net = model()
    labels = [value.label for value in converted(net, by_size(net)).values.arguments()]
    assert {"steps", "size of 0.weight", "root of 3.bias", "rank of 0.bias"} <= set(labels)


def test_parameters_that_a_step_holds_are_errors() -> None:
    net = model()
    message = r"cannot be traced: the step uses the parameter or buffer 0.weight itself, .* param_groups"
    with pytest.raises(ShardyError, match=message):
        converted(net, OfModel(net, [*net.parameters()]))


def test_what_no_step_finds_again_is_an_error() -> None:
    net = model()
    with pytest.raises(
        ShardyError, match=r"keeps a tensor of shape \(16, 8\) in an object, .* optimizer.state"
    ):
        converted(net, InObjects(net.parameters()))
    with pytest.raises(ShardyError, match=r"step of Late changes no parameter; .* pass it after them"):
        converted(net, Late(net.parameters()))
    seen = torch.zeros(16)
    net[0].register_forward_hook(lambda module, inputs, output: seen.add_(output.detach().sum(0)))
    with pytest.raises(ShardyError, match=r"changes a tensor of shape \(16,\) in place, .* buffer of the"):
        converted(net, torch.optim.SGD(net.parameters()))


def test_gradients_have_the_strides_of_parameters() -> None:
    def viewed(p: Any, grad: Any, state: Any, group: Any) -> None:
        p.sub_(grad.view(-1).view(p.shape), alpha=0.1)

    net = torch.nn.Sequential(Transposed(), torch.nn.Linear(16, 4))
    optimizer = Written(net.parameters(), viewed)
    assert difference(converted(net, optimizer), net, optimizer) < 2e-6


def test_updates_in_the_backward_pass_are_errors() -> None:
    net = model()
    net[0].bias.register_post_accumulate_grad_hook(lambda p: None)
    with pytest.raises(ShardyError, match=r"hook of .*bias that runs after .* is unsupported; .* LOMO,"):
        converted(net, torch.optim.SGD(net.parameters()))
