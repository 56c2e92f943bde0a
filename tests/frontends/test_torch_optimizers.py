"""Optimizers as people write them: states of any kind, wrappers, numbers read from tensors; errors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# ruff: noqa: E402
from shardy_py import Program, ShardyError
from tests.frontends.optimizers import converted, difference, model, step_of_torch

pytestmark = pytest.mark.torch


class Written(torch.optim.Optimizer):
    """The frame of an optimizer; `update` changes a parameter."""

    def __init__(self, params: Any, update: Callable[..., None]) -> None:
        super().__init__(params, {"lr": 0.1})
        self.update = update

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            group["rounds"] = group.get("rounds", 0) + 1
            for p in group["params"]:
                if p.grad is not None:
                    self.update(p, p.grad, self.state[p], group)


def counted(p: Any, grad: Any, state: Any, group: Any) -> None:
    """A number of steps, and one of the options of the group."""
    state["step"] = state.get("step", 0) + 1
    p.add_(grad, alpha=-group["lr"] / math.sqrt(state["step"] + group["rounds"]))


def compared(p: Any, grad: Any, state: Any, group: Any) -> None:
    """Numbers that are compared are what they are in the second step."""
    state["step"] = state.get("step", 0) + 1
    p.sub_(grad * (group["lr"] if state["step"] == 1 else 0.5 if group["rounds"] < 3 else 0.7))


def nested(p: Any, grad: Any, state: Any, group: Any) -> None:
    """Lists and None."""
    if not state:
        state["moments"] = [torch.zeros_like(p), {"square": torch.zeros_like(p)}]
        state["mask"] = None
    first, second = state["moments"]
    first.lerp_(grad, 0.1)
    second["square"].mul_(0.9).addcmul_(grad, grad, value=0.1)
    p.addcdiv_(first, second["square"].sqrt().add_(1e-3), value=-group["lr"])


def by_norm(p: Any, grad: Any, state: Any, group: Any) -> None:
    """A state without dimensions that each parameter has its own of, and numbers read from tensors."""
    if not state:
        state["norm"] = torch.zeros(())
        state["size"] = 0.0
    state["norm"].mul_(0.9).add_(grad.norm().item(), alpha=0.1)
    state["size"] = p.norm().item()
    scale = min(1.0, max(0.01, state["size"])) / max(1e-3, state["norm"].item())
    p.add_(grad, alpha=-group["lr"] * scale)


def by_lists(p: Any, grad: Any, state: Any, group: Any) -> None:
    """Functions of lists of tensors."""
    if not state:
        state["average"] = torch.zeros_like(p)
    torch._foreach_lerp_([state["average"]], [grad], 0.1)
    (size,) = torch._foreach_norm([grad])
    torch._foreach_addcdiv_([p], [state["average"]], [grad.abs() + 1.0], -group["lr"])
    torch._foreach_add_([p], torch._foreach_mul([grad], -0.01), alpha=size.item())


def branched(p: Any, grad: Any, state: Any, group: Any) -> None:
    """Branches on elements, within each other, also of a state; parameters take different sides."""
    if not state:
        state["largest"] = torch.zeros(())
    state["largest"].copy_(torch.maximum(state["largest"], grad.abs().max()))
    if grad.abs().max() > 0.6 * state["largest"] and p.ndim > 1:
        p.sub_(grad, alpha=group["lr"])
        if grad.flatten()[0] > 0:
            state["largest"].mul_(0.5)
            return
    elif p.sum() < 1:
        p.mul_(1.25)
    else:
        p.add_(grad.flatten()[grad.argmax()])  # an index that is a tensor
    p.mul_(0.75)


class Clipped(torch.optim.SGD):
    """A branch on the gradients of all parameters, and a number of the group that it changes."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        (group,) = self.param_groups
        total = torch.stack([p.grad.square().sum() for p in group["params"]]).sum()
        group.setdefault("clipped", torch.zeros(()))
        if total > 1e-3:
            group["clipped"].add_(total)
            for p in group["params"]:
                p.grad.div_(total.sqrt())
        super().step()


class Ahead(torch.optim.Optimizer):
    """Lookahead, which wraps another optimizer and has its groups."""

    def __init__(self, base: Any) -> None:
        super().__init__(base.param_groups, {})
        self.base, self.param_groups = base, base.param_groups

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        self.base.step()
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                slow = state.setdefault("slow", p.clone())
                slow.lerp_(p, 0.5)
                p.copy_(slow)


class Listed(torch.optim.Optimizer):
    """Lookahead that counts and keeps the slow parameters in attributes, as many are written."""

    def __init__(self, base: Any) -> None:
        super().__init__(base.param_groups, {})
        self.base, self.param_groups = base, base.param_groups
        self.count = 0
        self.slow = [[p.detach().clone() for p in group["params"]] for group in self.param_groups]

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        self.base.step()
        self.count += 1
        if self.count % 2 == 0:
            for group, slow in zip(self.param_groups, self.slow, strict=True):
                for p, each in zip(group["params"], slow, strict=True):
                    p.copy_(each.lerp_(p, 0.5))


class Tabled(torch.optim.Optimizer):
    """Parameters in a list of its own, tensors by parameter, a number and a tensor of all, and a constant."""

    def __init__(self, params: Any) -> None:
        self.params = list(params)
        super().__init__(self.params, {"lr": 0.1})
        self.velocity: dict[Any, Any] = {}
        self.most: Any = None
        self.count, self.scale = 0, torch.tensor(0.5)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        self.count += 1
        total = sum(p.grad.square().sum() for p in self.params)
        self.most = total if self.most is None else torch.maximum(self.most, total)
        for p in self.params:
            velocity = self.velocity.setdefault(p, torch.zeros_like(p))
            velocity.mul_(0.9).add_(p.grad / (1 + self.most.sqrt()))
            p.sub_(velocity * self.scale, alpha=min(1.0, self.count / 10))


class Averaged(torch.optim.SGD):
    """Averages of parameters, by their names."""

    def __init__(self, named: Any) -> None:
        self.named = dict(named)
        super().__init__(self.named.values(), 0.1)
        self.average = {name: p.detach().clone() for name, p in self.named.items()}

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        super().step()
        for name, p in self.named.items():
            self.average[name].lerp_(p, 0.1)
            p.lerp_(self.average[name], 0.01)


MADE: dict[str, Callable[[Any], Any]] = {
    **{
        each.__name__: lambda p, e=each: Written(p, e)
        for each in (counted, compared, nested, by_norm, by_lists, branched)
    },
    "ahead": lambda p: Ahead(torch.optim.SGD(p, 0.1, momentum=0.9)),
    "ahead_adam": lambda p: Ahead(torch.optim.AdamW(p, 0.1)),
    "clipped": lambda p: Clipped(p, 0.1),
    "listed": lambda p: Listed(torch.optim.SGD(p, 0.1)),
    "tabled": Tabled,
    "averaged": lambda p: Averaged(zip(NAMES, p, strict=True)),
    "adafactor": torch.optim.Adafactor,
    "rprop": torch.optim.Rprop,
    "asgd": torch.optim.ASGD,
}


NAMES = [name for name, _ in model().named_parameters()]


@functools.cache
def made(name: str) -> tuple[Any, Any, Program]:
    """A model, an optimizer, and their step; traced once for all tests."""
    net = model()
    optimizer = MADE[name](net.parameters())
    return net, optimizer, converted(net, optimizer)


LONG = ("rprop", "asgd", "adafactor", "ahead_adam", "nested")
"""Those whose states others have, too, and torch's own, as `test_torch_optimizers_of_models.py`."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in MADE]
)
def test_the_second_step_is_that_of_torch(name: str) -> None:
    net, optimizer, program = made(name)
    assert not optimizer.state  # of the user's own, untouched
    assert difference(program, net, optimizer) < 2e-6


def labels(update: Callable[..., None]) -> list[str]:
    return [value.label for value in made(update.__name__)[2].values.arguments()]


def test_numbers_are_arguments_unless_they_are_compared() -> None:
    assert {"step", "rounds"} <= set(labels(counted))
    assert {"step", "rounds"}.isdisjoint(labels(compared))


@pytest.mark.parametrize("steps", [1, 3])
def test_the_next_step_of_an_optimizer_with_states_is_that_of_torch(steps: int) -> None:
    net = model()
    optimizer = Written(net.parameters(), compared)
    for _ in range(steps):
        step_of_torch(net, optimizer)
    program = converted(net, optimizer)
    assert difference(program, net, optimizer, has_states=True) < 2e-6


def test_what_depends_on_a_parameter_is_its_own() -> None:
    found = labels(by_norm)
    assert {"norm of 0.weight", "norm of 3.bias", "size of 0.weight"} <= set(found)
    assert {"moments.0 of 0.weight", "moments.1.square of 3.bias"} <= set(labels(nested))


def test_attributes_that_a_step_changes_are_states() -> None:
    _, optimizer, program = made("listed")
    found = [value.label for value in program.values.arguments()]
    assert "slow.0.0 of 0.weight" in found
    assert "count" not in found  # it is compared
    assert optimizer.count in (0, 2)  # of the user's own, untouched; 2 behind the test above
    found = [value.label for value in made("tabled")[2].values.arguments()]
    assert {"velocity of 0.weight", "velocity of 3.bias", "count", "most"} <= set(found)
    assert "scale" not in found
    assert "average of 3.bias" in [value.label for value in made("averaged")[2].values.arguments()]


def without_effect(p: Any, grad: Any, state: Any, group: Any) -> None:
    state["seen"] = grad.clone()


def by_count(p: Any, grad: Any, state: Any, group: Any) -> None:
    if not state:
        state["count"] = torch.zeros(())
    state["count"].add_(1.0)
    if state["count"] > 3:
        p.sub_(grad)


def by_many(p: Any, grad: Any, state: Any, group: Any) -> None:
    for limit in (0.0, 0.1):
        if grad.sum() > limit:
            p.sub_(grad)


def failing(p: Any, grad: Any, state: Any, group: Any) -> None:
    p.sub_(state["never made"])


@pytest.mark.parametrize(
    ("update", "message"),
    [
        (without_effect, "error: the step of Written changes no parameter; an optimizer that wraps"),
        (by_many, "error: a step with more than 2 paths through branches on elements of tensors"),
        (
            by_count,
            r"test_torch_optimizers.py:\d+:1: .* Written.step\(\) cannot be traced: .*; keep it a tensor$",
        ),
        (failing, r"test_torch_optimizers.py:\d+:1: error: .* cannot be traced: KeyError: 'never made'"),
    ],
)
def test_errors(monkeypatch: pytest.MonkeyPatch, update: Callable[..., None], message: str) -> None:
    monkeypatch.setattr("shardy_py.frontends.torch.branches.MOST", 2)
    net = model()
    with pytest.raises(ShardyError, match=message):
        converted(net, Written(net.parameters(), update))


def test_functions_of_python_are_put_back() -> None:
    made("by_norm")
    assert math.sqrt(4) == 2
    assert "max" not in globals()
    assert isinstance(math, type(np))


class HalfUsed(torch.nn.Module):
    """The loss does not depend on the first of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.idle, self.used = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)

    def forward(self, x: Any) -> Any:
        return self.used(x) + self.idle(x).detach()


@pytest.mark.parametrize(
    ("make", "idle"),
    [
        (torch.optim.AdamW, set[str]()),
        (torch.optim.Adagrad, {"sum of idle.weight", "sum of idle.bias"}),  # made with the optimizer
    ],
)
def test_parameters_without_gradients_have_the_states_that_torch_makes(make: Any, idle: set[str]) -> None:
    used = HalfUsed()
    optimizer, x = make(used.parameters(), lr=0.1), torch.randn(4, 3)
    program = Program.from_torch_training(used, lambda y: y.square().sum(), optimizer, (x,))
    arguments = program.values.arguments()
    names = {value.label for value in arguments}
    assert {name for name in names if "of idle" in name} == idle
    assert {"idle.weight", "used.weight", "step", "x"} <= names
    found = program.run([np.full(value.shape, 2, np.float32) for value in arguments])
    assert found["step after"] == 3
