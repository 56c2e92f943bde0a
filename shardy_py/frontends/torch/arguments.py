"""The arguments of a training step: parameters, buffers, states, learning rates, inputs, with their names.

    named_inputs(model, ({"image": x},))      [("batch_image", x)] if forward's parameter is `batch`

Not here: the step (`training.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from shardy_py.api import ShardyError
from shardy_py.base.narrowing import is_mapping, is_sequence
from shardy_py.base.records import dataclass
from shardy_py.frontends.aten.elements import check_dense
from shardy_py.frontends.torch.optimizers import PreparedOptimizer
from shardy_py.frontends.torch.placements import is_tensor, torch_module
from shardy_py.frontends.torch.protocols import TorchModule, TorchOptimizer, TorchTensor
from shardy_py.frontends.torch.traced import Traced


@dataclass(frozen=True, slots=True)
class StepArgument:
    """An argument of the step: a tensor with its name.

    kind: `parameter`, `buffer`, `state`, `rate` (of learning) or `input`.
    owner: the parameter that a state belongs to; "" for a state of all parameters.
    """

    kind: str
    name: str
    tensor: TorchTensor
    owner: str = ""

    @property
    def is_changed(self) -> bool:
        """Returns whether a step may change it; these arguments come first."""
        return self.kind in ("parameter", "buffer", "state")


def check_model(model: Traced) -> None:
    """Raises `ShardyError` for anything but a module whose parameters and buffers are plain tensors."""
    if not isinstance(model, torch_module("torch").nn.Module):
        raise ShardyError.unexpected("", expected="a torch.nn.Module", got=type(model).__name__)
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        check_whole(tensor, name)
        check_dense(tensor, name)


def check_whole(tensor: Traced, name: str) -> None:
    """Raises `ShardyError` for a DTensor, of which a device has a part."""
    if (placements := getattr(tensor, "placements", None)) is not None:
        raise ShardyError.unexpected(
            name,
            expected="a plain tensor",
            got=f"{type(tensor).__name__} with placements {placements}",
            remedy="pass the model before parallelize_module and fully_shard, and these as plan=",
        )


def state_slots(optimizer: PreparedOptimizer) -> list[StepArgument]:
    """The optimizer's states."""
    return [StepArgument("state", leaf.name, leaf.tensor, leaf.owner) for leaf in optimizer.leaves]


def rate_slots(optimizer: TorchOptimizer) -> list[StepArgument]:
    """The learning rates: `lr`, of later groups `lr 1`, ..."""
    torch = torch_module("torch")
    numbers = range(len(optimizer.param_groups))
    return [StepArgument("rate", f"lr {number}" if number else "lr", torch.zeros(())) for number in numbers]


def part_name(name: str, part: int) -> str:
    """The name of an input of a part of the batch: `x`, `x 1`, ..."""
    return f"{name} {part}" if part else name


def call_of(example_inputs: object) -> tuple[tuple[object, ...], dict[str, object]]:
    """Positional arguments and keywords."""
    if is_mapping(example_inputs):
        return (), dict(example_inputs)
    if not is_sequence(example_inputs):
        expected = "a tuple of the model's arguments, or a mapping of its keywords"
        raise _not_a_tuple("example_inputs", expected, example_inputs)
    return tuple(example_inputs), {}


def targets_of(given: object) -> tuple[object, ...]:
    """The arguments of the loss after the output. Raises `ShardyError` for anything but a tuple or list."""
    if not is_sequence(given):
        raise _not_a_tuple("targets", "a tuple of the loss's arguments after the output", given)
    return tuple(given)


def _not_a_tuple(name: str, expected: str, given: object) -> ShardyError:
    remedy = f"pass {name}=(x,)" if is_tensor(given) else ""
    return ShardyError.unexpected(name, expected=expected, got=type(given).__name__, remedy=remedy)


def named_inputs(model: TorchModule, example_inputs: object) -> list[tuple[str, TorchTensor]]:
    """The tensors in the arguments of a model, with the names of `forward`'s parameters."""
    positional, keywords = call_of(example_inputs)
    names = _parameter_names(model.forward, len(positional))
    return _leaves([*zip(names, positional, strict=True), *keywords.items()])


def named_targets(loss: Any, targets: tuple[object, ...]) -> list[tuple[str, TorchTensor]]:
    """The tensors in the arguments of a loss after the output, with the names of its parameters."""
    if not targets:
        return []
    function = getattr(loss, "forward", loss)
    return _leaves(list(zip(_parameter_names(function, len(targets) + 1)[1:], targets, strict=True)))


def _parameter_names(function: Callable[..., object], count: int) -> list[str]:
    """The names of the first parameters of a function; those of `*args` are `args_0`, ..."""
    names: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}_{number}" for number in range(count - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    return [*names, *(f"input_{number}" for number in range(len(names), count))][:count]


def _leaves(named: Iterable[tuple[str, object]]) -> list[tuple[str, TorchTensor]]:
    """The tensors in nested inputs, named by their path as torch.export names them: `batch_image`."""
    torch, pytree = torch_module("torch"), torch_module("torch.utils._pytree")
    found: list[tuple[str, TorchTensor]] = []
    for name, value in named:
        for place, leaf in pytree.tree_flatten_with_path(value)[0]:
            if isinstance(leaf, torch.Tensor):
                keys = [
                    str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))) for key in place
                ]
                path = "_".join([name, *keys])
                check_dense(leaf, path)
                found.append((path, leaf))
    return found
