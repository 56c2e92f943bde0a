"""Optimizers of torch, timm and transformers: the second step of each by our program and by torch.

    python -m tests.frontends.optimizers [part of a name ...]

Prints a row for each that can be constructed here: the largest difference of a parameter, or the error; then
how many convert, and how many are equal. Those that differ as they compute in bf16 are compared again in f32,
so that rounding hides nothing. The gradients of the small network have fewer ranks than columns, so their
eigenvectors are rounding; those that differ by that are compared again on one whose gradients have all ranks,
from states that are not those of one gradient. Those whose first steps update nothing are converted and
compared after some. Of those that draw random numbers, the shapes are compared.
Not here: optimizers written for tests (`test_torch_optimizers.py`).
"""

from __future__ import annotations

import argparse
import inspect
import sys
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np

from shardy_py import Program, ShardyError
from tests.frontends.torch_models import torch

Make = Callable[[Any], Any]
X = torch.randn(4, 8, generator=torch.Generator().manual_seed(0))
ROWS = torch.randn(64, 8, generator=torch.Generator().manual_seed(0))
TOLERANCE = 1e-5
WARM_UP = 12
"""The steps after which optimizers update that do not at first."""
KINDS = (
    "equal",
    "equal in f32",
    "equal at full rank",
    "equal later",
    "random",
    "different",
    "error",
    "not constructed",
)
"""The outcomes. random: parameters are finite, and not compared."""


def model() -> Any:
    """A small network."""
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.Tanh(), nn.Linear(16, 4))


def of_full_rank() -> Any:
    """A network of two matrices, whose gradients have all ranks for `ROWS`."""
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(nn.Linear(8, 4, bias=False), nn.Linear(4, 8, bias=False))


def loss(output: Any) -> Any:
    """The loss of a step."""
    return output.square().mean()


def converted(net: Any, optimizer: Any, inputs: Any = X) -> Program:
    """The step as a program."""
    return Program.from_torch_training(net, loss, optimizer, (inputs,))


def difference(
    program: Program,
    net: Any,
    optimizer: Any,
    inputs: Any = X,
    *,
    change_states: bool = False,
    has_states: bool = False,
) -> float:
    """The largest difference of a parameter after the second step; infinite if one has no result.

    change_states: elements of states are others than the first step made, in the second of both. has_states:
    whether the optimizer has its states, so that the step is the next one.
    """
    if not has_states:
        step_of_torch(net, optimizer, inputs)
    if change_states:
        _change(torch.utils._pytree.tree_leaves([*optimizer.state.values()]))
    leaves = torch.utils._pytree.tree_leaves(vars(optimizer))
    every = [optimizer, *(each for each in leaves if isinstance(each, torch.optim.Optimizer))]
    arguments = program.values.arguments()
    values = {value.name: _value(value.label, net, every) for value in arguments if value.label != "input"}
    values |= {value.name: inputs for value in arguments if value.label == "input"}
    found = program.run({name: _array(value) for name, value in values.items()})
    step_of_torch(net, optimizer, inputs)
    results = dict(zip((value.label for value in program.values.results()), found.arrays, strict=True))
    trained = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    return max(
        float(np.abs(results[f"{name} after"] - _array(parameter)).max())
        if f"{name} after" in results
        else np.inf
        for name, parameter in net.named_parameters()
        if id(parameter) in trained
    )


def step_of_torch(net: Any, optimizer: Any, inputs: Any = X) -> None:
    """A step of training."""
    optimizer.zero_grad()
    loss(net(inputs)).backward()
    optimizer.step()


def _change(states: list[Any]) -> None:
    generator = torch.Generator().manual_seed(1)
    for state in states:
        if isinstance(state, torch.Tensor) and state.is_floating_point() and state.ndim:
            state.mul_(1 + 0.3 * torch.rand(state.shape, generator=generator)).add_(3e-3)


def _value(label: str, net: Any, optimizers: list[Any]) -> Any:
    """The value of an argument of the step, after the first step of torch."""
    parameters = dict(net.named_parameters())
    if label in parameters:
        return parameters[label]
    path, _, owner = label.partition(" of ")
    addresses = {id(parameter): name for name, parameter in parameters.items()}
    of = parameters.get(owner)
    for optimizer in optimizers:
        states = [optimizer.state.get(each) for each in (parameters.values() if of is None else (of,))]
        for found in (_at(each, path.split("."), addresses) for each in (*states, vars(optimizer))):
            if isinstance(found, dict):  # a table of the optimizer, by parameters, addresses or names
                return next(value for key, value in found.items() if _name(key, addresses) == owner)
            if found is not None:
                return found
    number = int(owner.removeprefix("group ") or 0)
    return optimizers[0].param_groups[number][path]


def _name(key: Any, addresses: Mapping[int, str]) -> str:
    """A key as names of states have it."""
    return str(addresses.get(id(key) if isinstance(key, torch.Tensor) else key, key))


def _at(found: Any, keys: list[str], addresses: Mapping[int, str]) -> Any:
    """What is at a path in a state, in which `id(parameter)` is the name of it; None if nothing is."""
    while keys and found and isinstance(found, list | deque | dict):
        if not isinstance(found, dict):
            found, keys = found[int(keys[0])], keys[1:]
            continue
        named = {_name(key, addresses): value for key, value in found.items()}
        length = next((n for n in range(len(keys), 0, -1) if ".".join(keys[:n]) in named), len(keys))
        found, keys = named.get(".".join(keys[:length])), keys[length:]
    return None if keys else found


def _array(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return np.asarray(value, np.float32 if isinstance(value, float) else np.int64)
    if str(value.dtype) == "torch.bfloat16":
        return value.detach().float().numpy().astype(ml_dtypes.bfloat16)
    return value.detach().numpy().copy()


class MuonWithAdamW(torch.optim.Optimizer):
    """Muon for matrices, AdamW for the rest, as one optimizer."""

    def __init__(self, net: Any) -> None:
        matrices, others = self.parts(net)
        self.each = [torch.optim.Muon(matrices, lr=1e-2), torch.optim.AdamW(others, lr=1e-2)]
        super().__init__([{"params": matrices}, {"params": others}], {})
        self.param_groups = [group for optimizer in self.each for group in optimizer.param_groups]

    @staticmethod
    def parts(net: Any) -> tuple[list[Any], list[Any]]:
        """Matrices, and other parameters."""
        every = [*net.parameters()]
        return [p for p in every if p.ndim == 2], [p for p in every if p.ndim != 2]

    def step(self, closure: Any = None) -> None:
        for optimizer in self.each:
            optimizer.step()


def packages() -> Iterator[tuple[str, Make]]:
    """The optimizers of the packages that are installed, by name."""
    optim, base = torch.optim, torch.optim.Optimizer
    for name, each in inspect.getmembers(optim, inspect.isclass):
        if issubclass(each, base) and each is not base:
            yield f"torch.{name}", partial(_of_torch, each)
    if hasattr(optim, "Muon"):
        yield "torch.Muon with AdamW", MuonWithAdamW
    try:
        factory: Any = import_module("timm.optim")
    except ImportError:
        print("timm is not installed")
    else:
        for name in factory.list_optimizers():
            yield f"timm.{name}", partial(factory.create_optimizer_v2, opt=name, lr=1e-2)
    try:
        adafactor: Any = import_module("transformers.optimization").Adafactor
    except ImportError:
        print("transformers is not installed")
    else:
        yield "transformers.Adafactor", lambda net: adafactor(net.parameters())
        options = {"lr": 1e-3, "relative_step": False, "scale_parameter": False}
        yield "transformers.Adafactor (fixed rate)", lambda net: adafactor(net.parameters(), **options)
    try:
        others: Any = import_module("pytorch_optimizer")
    except ImportError:
        print("pytorch_optimizer is not installed")
    else:
        for name in others.get_supported_optimizers():
            yield f"pytorch_optimizer.{name}", partial(_of_model_or_parameters, others.load_optimizer(name))


def _of_torch(kind: Any, net: Any) -> Any:
    """An optimizer of torch; Muon takes matrices only."""
    chosen = [p for p in net.parameters() if kind.__name__ != "Muon" or p.ndim == 2]
    return kind(chosen, lr=1e-2)


def _of_model_or_parameters(kind: Any, net: Any) -> Any:
    """An optimizer that takes parameters, the model itself, or groups that say what are matrices."""
    if "model" in inspect.signature(kind.__init__).parameters:
        return kind(net, lr=1e-2)
    try:
        return kind(net.parameters(), lr=1e-2)
    except Exception:  # of the package
        groups = [(True, [p for p in net.parameters() if p.ndim == 2])]
        groups += [(False, [p for p in net.parameters() if p.ndim != 2])]
        return kind([{"params": params, "use_muon": is_matrix} for is_matrix, params in groups])


def outcome(make: Make) -> tuple[str, str]:
    """The outcome, one of `KINDS`; with a figure or a message."""
    found = _outcome(make)
    if found[0] == "error" and "changes no parameter" in found[1]:
        again = _outcome(make, steps=WARM_UP)
        return ("equal later", again[1]) if again[0] == "equal" else again
    if found[0] != "different":
        return found
    with in_f32():
        again = _outcome(make)
    if again[0] == "equal":
        return "equal in f32", f"{again[1]}, in bf16 {found[1]}"
    again = _outcome(make, at_full_rank=True)
    return ("equal at full rank", f"{again[1]}, else {found[1]}") if again[0] == "equal" else found


@contextmanager
def in_f32() -> Iterator[None]:
    """What is computed in bf16 is computed in f32, by default arguments too."""
    kind, method = torch.bfloat16, torch.Tensor.bfloat16
    modules = [module for name, module in sys.modules.items() if ".optim" in name]
    each = {function: function.__defaults__ or () for m in modules for function in _functions(m)}
    torch.bfloat16, torch.Tensor.bfloat16 = torch.float32, torch.Tensor.clone
    for function, defaults in each.items():
        function.__defaults__ = tuple(torch.float32 if value is kind else value for value in defaults)
    try:
        yield
    finally:
        torch.bfloat16, torch.Tensor.bfloat16 = kind, method
        for function, defaults in each.items():
            function.__defaults__ = defaults


def _functions(module: Any) -> list[Any]:
    return [each for each in vars(module).values() if inspect.isfunction(each)]


def _outcome(make: Make, *, at_full_rank: bool = False, steps: int = 0) -> tuple[str, str]:
    net, inputs = (of_full_rank(), ROWS) if at_full_rank else (model(), X)
    try:
        optimizer = make(net)
    except Exception as error:  # of the package
        return "not constructed", f"{type(error).__name__}: {error}"
    for _ in range(steps):
        step_of_torch(net, optimizer, inputs)
    try:
        program = converted(net, optimizer, inputs)
    except ShardyError as error:
        return "error", str(error)
    try:
        found = difference(
            program, net, optimizer, inputs, change_states=at_full_rank, has_states=bool(steps)
        )
    except Exception as error:  # of the package, or a state that is not found
        return "different", f"{type(error).__name__}: {error}"
    if found < TOLERANCE:
        return "equal", f"{found:.1e}"
    is_random = np.isfinite(found) and [*program.values.of_op("rng_bit_generator")]
    return ("random" if is_random else "different"), f"{found:.1e}"


def main(arguments: list[str]) -> int:
    """Prints the table; returns 1 if a program differs from torch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wanted", nargs="*")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    counts = Counter[str]()
    for name, make in packages():
        if not options.wanted or any(part in name for part in options.wanted):
            kind, text = outcome(make)
            counts[kind] += 1
            print(f"{name:32} {kind:18} {' '.join(text.split())[:160]}")
    made = counts.total() - counts["not constructed"]
    print(f"{made} constructed: " + ", ".join(f"{counts[kind]} {kind}" for kind in KINDS))
    return int(counts["different"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
