"""Optimizers that hold the model, hooks of parameters and optimizers, states that differ by parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# ruff: noqa: E402
from shardy_py import ShardyError
from tests.frontends.optimizers import converted, difference, model

pytestmark = pytest.mark.torch


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


def by_size(net: Any) -> Any:
    return BySize(net.parameters())


@pytest.mark.parametrize("make", [OfModel, by_size, by_model_of_hook, by_masked_gradient])
def test_the_second_step_is_that_of_torch(make: Callable[[Any], Any]) -> None:
    net = model()
    own = {name: parameter.clone() for name, parameter in net.named_parameters()}
    optimizer = make(net)
    program = converted(net, optimizer)
    assert all(torch.equal(own[name], parameter) for name, parameter in net.named_parameters())
    assert all(type(parameter) is torch.nn.Parameter for parameter in net.parameters())
    assert difference(program, net, optimizer) < 2e-6


def test_states_are_shared_if_they_are_equal() -> None:
    net = model()
    labels = [value.label for value in converted(net, by_size(net)).values.arguments()]
    assert {"steps", "size of 0.weight", "root of 3.bias", "rank of 0.bias"} <= set(labels)


def test_parameters_that_a_step_holds_are_errors() -> None:
    net = model()
    message = r"cannot be traced: the step uses the parameter or buffer 0.weight itself, .* param_groups"
    with pytest.raises(ShardyError, match=message):
        converted(net, OfModel(net, [*net.parameters()]))


def test_updates_in_the_backward_pass_are_errors() -> None:
    net = model()
    net[0].bias.register_post_accumulate_grad_hook(lambda p: None)
    with pytest.raises(ShardyError, match=r"hook of .*bias that runs after .* is unsupported; .* LOMO,"):
        converted(net, torch.optim.SGD(net.parameters()))
