"""Optimizers of torch in a traced step: the user's own object, on other parameters and states.

    states = initial_states(optimizer, names, parameters)
    run_step(optimizer, names, parameters, gradients, states)

The optimizer's own code runs: any subclass of `torch.optim.Optimizer` that computes with tensors, without its
`foreach` and `fused` versions. Not here: the step (`training.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from shardy_py.api import ShardyError
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import TorchOptimizer, TorchTensor
from shardy_py.frontends.torch.trace import compiling

States = dict[str, dict[str, TorchTensor]]
"""The tensors of an optimizer by the name of the parameter and their own (`exp_avg`)."""


def check_optimizer(optimizer: TorchOptimizer, names: Mapping[int, str]) -> None:
    """Raises `ShardyError` unless it is an optimizer of torch for parameters of the model.

    names: of the parameters, by identity.
    """
    kind = torch_module("torch.optim").Optimizer
    if not isinstance(optimizer, kind):
        raise ShardyError.unexpected(
            "optimizer", expected="a torch.optim.Optimizer, or None", got=type(optimizer).__name__
        )
    if isinstance(optimizer, torch_module("torch.optim").LBFGS):
        raise ShardyError.unsupported(
            "LBFGS, which evaluates the model several times a step,", remedy="use another optimizer"
        )
    foreign = [p for group in optimizer.param_groups for p in group["params"] if id(p) not in names]
    if foreign:
        raise ShardyError(
            f"the optimizer has a parameter of shape {tuple(foreign[0].shape)} that the model lacks; "
            "pass an optimizer of model.parameters()"
        )


def updated_names(optimizer: TorchOptimizer, names: Mapping[int, str]) -> tuple[str, ...]:
    """The names of the optimizer's parameters that have gradients."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    return tuple(names[id(p)] for p in params if p.requires_grad)


def run_step(
    optimizer: TorchOptimizer,
    names: Mapping[int, str],
    parameters: Mapping[str, TorchTensor],
    gradients: Mapping[str, TorchTensor],
    states: States,
    rates: Mapping[int, object] | None = None,
) -> States:
    """Runs `optimizer.step()` on other parameters, which it changes, and returns their states.

    names: of the optimizer's own parameters, by identity.
    rates: learning rates by number of the group, in place of the group's own.
    """
    copy: Any = object.__new__(type(optimizer))
    copy.__dict__.update(optimizer.__dict__)
    copy.__dict__.pop("step", None)  # a scheduler replaces it by one of the original
    copy.param_groups = [
        _group(group, names, parameters, (rates or {}).get(number))
        for number, group in enumerate(optimizer.param_groups)
    ]
    kept: dict[TorchTensor, dict[str, TorchTensor]] = defaultdict(dict)
    copy.state = kept
    for name, parameter in parameters.items():
        parameter.grad = gradients.get(name)
        if name in states:
            kept[parameter] = dict(states[name])
    with compiling():
        copy.step()
    return {name: dict(kept[p]) for name, p in parameters.items() if p in kept}


def _group(
    group: Mapping[str, Any], names: Mapping[int, str], parameters: Mapping[str, object], rate: object
) -> dict[str, object]:
    plain = {key: False for key in ("foreach", "fused", "differentiable") if key in group}
    tensors = {"capturable": True} if "capturable" in group else {}  # step counts stay tensors
    own = [parameters[names[id(p)]] for p in group["params"] if names[id(p)] in parameters]
    rates = {} if rate is None else {"lr": rate}
    return {**group, **plain, **tensors, **rates, "params": own}


def initial_states(
    optimizer: TorchOptimizer, names: Mapping[int, str], parameters: Mapping[str, TorchTensor]
) -> States:
    """The states after a first step on fake tensors like `parameters`: tensors by parameter and own name."""
    torch = torch_module("torch")
    fake = torch_module("torch._subclasses").FakeTensorMode(allow_non_fake_inputs=True)
    with fake, torch.no_grad():
        copies = {name: torch.empty_like(p, requires_grad=True) for name, p in parameters.items()}
        gradients = {name: torch.zeros_like(p) for name, p in copies.items()}
        states = run_step(optimizer, names, copies, gradients, {})
    return {
        name: {key: value for key, value in own.items() if isinstance(value, torch.Tensor)}
        for name, own in states.items()
    }
