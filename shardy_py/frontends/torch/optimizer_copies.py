"""Copies of an optimizer, and of those that it wraps, for other parameters and states.

    copies = OptimizerCopies.of(optimizer, parameters)
    copies.fill(states), copies.step()

What they share stays shared: a wrapper often has the groups of the optimizer in it.

Not here: which states are arguments of a step (`optimizers.py`).
"""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from copy import copy as shallow
from random import Random
from types import ModuleType
from typing import Any

from shardy_py.base.records import dataclass
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import TorchOptimizer, TorchTensor

Options = dict[str, Any]
"""The options of a group, or the state of a parameter."""
OwnState = list[Options]
"""The state of one parameter in each dictionary of states."""
Groups = list[Options]
"""The options of each group, without its parameters."""
_PLAIN = ("foreach", "fused", "differentiable")
"""Options of torch's own optimizers that choose how they compute, not what."""
_CHANGED = (dict, list, set, Random)
_OWN = ("state", "param_groups")


def optimizers_in(optimizer: TorchOptimizer) -> list[TorchOptimizer]:
    """Returns the optimizer, and those that its attributes hold."""
    kind = torch_module("torch.optim").Optimizer
    pytree = torch_module("torch.utils._pytree")
    found: dict[int, TorchOptimizer] = {id(optimizer): optimizer}
    left = [optimizer]
    while left:
        values = {name: value for name, value in vars(left.pop()).items() if name not in _OWN}
        for leaf in pytree.tree_leaves(values):
            if isinstance(leaf, kind) and id(leaf) not in found:
                found[id(leaf)] = leaf
                left.append(leaf)
    return [*found.values()]


def modules_of(optimizers: Sequence[TorchOptimizer]) -> list[ModuleType]:
    """Returns the modules with the code of optimizers, but for what torch's have in common."""
    common = torch_module("torch.optim.optimizer").Optimizer
    classes = dict.fromkeys(each for optimizer in optimizers for each in type(optimizer).__mro__)
    functions = (
        inspect.unwrap(value)
        for each in classes
        if each not in (common, object)
        for value in vars(each).values()
        if inspect.isfunction(value)
    )
    names = dict.fromkeys(function.__module__ for function in functions)
    return [sys.modules[name] for name in names if name in sys.modules]


@dataclass(frozen=True, eq=False)
class OptimizerCopies:
    """Copies of optimizers. main: the one whose step is made. groups: of all. states: their dictionaries.

    parameters: by name.
    """

    main: TorchOptimizer
    groups: Groups
    states: Sequence[dict[TorchTensor, Options]]
    parameters: Mapping[str, TorchTensor]

    @staticmethod
    def of(
        optimizers: Sequence[TorchOptimizer],
        names: Mapping[int, str],
        parameters: Mapping[str, TorchTensor],
        rates: Mapping[int, object] | None = None,
    ) -> OptimizerCopies:
        """Copies optimizers; the first is the one whose step is made.

        names: of their parameters, by identity. parameters: those that take their place.
        rates: of learning, by number of the group.
        """
        copies: dict[int, Any] = {id(each): object.__new__(type(each)) for each in optimizers}
        moved = {number: parameters[name] for number, name in names.items() if name in parameters}
        made: dict[int, Options] = {}
        lists: dict[int, Groups] = {}
        states: dict[int, dict[TorchTensor, Options]] = {}
        for original in optimizers:
            copy = copies[id(original)]
            others = {name: value for name, value in vars(original).items() if name not in _OWN}
            copy.__dict__.update(_replaced(_apart(others), copies))
            copy.__dict__.pop("step", None)  # a scheduler replaces it by one of the original
            is_torch = type(original).__module__.startswith("torch.")
            for group in original.param_groups:
                made.setdefault(id(group), _group(group, moved, is_torch=is_torch))
            listed = [made[id(group)] for group in original.param_groups]
            copy.param_groups = lists.setdefault(id(original.param_groups), listed)
            copy.state = states.setdefault(id(original.state), defaultdict(Options))
        main = copies[id(optimizers[0])]
        for number, rate in (rates or {}).items():
            main.param_groups[number]["lr"] = rate
        return OptimizerCopies(main, [*made.values()], [*states.values()], parameters)

    def fill(self, states: Mapping[str, OwnState]) -> None:
        """Sets the states of parameters and groups, by name."""
        groups = {group_name(number): group for number, group in enumerate(self.groups)}
        for name, own in states.items():
            if name in groups:
                groups[name].update(own[0])
                continue
            for state, value in zip(self.states, own, strict=True):
                if value:
                    state[self.parameters[name]] = value

    def filled(self, before: Groups) -> dict[str, OwnState]:
        """Returns the states of the parameters and groups that have some, by name.

        before: the options of groups at first; those that are others now are their states.
        """
        found = {name: [state.get(p) or {} for state in self.states] for name, p in self.parameters.items()}
        for number, (group, old) in enumerate(zip(self.options(), before, strict=True)):
            found[group_name(number)] = [{k: v for k, v in group.items() if k not in old or v is not old[k]}]
        return {name: own for name, own in found.items() if any(own)}

    def options(self) -> Groups:
        """Returns the options of the groups."""
        return [{key: value for key, value in group.items() if key != "params"} for group in self.groups]


def group_name(number: int) -> str:
    """Returns the name of a group among states; no parameter has it."""
    return f"group {number}"


def _group(options: Options, moved: Mapping[int, TorchTensor], *, is_torch: bool) -> Options:
    """A group of other parameters; torch's own optimizers keep counts of steps tensors if capturable."""
    plain = {key: False for key in _PLAIN if key in options}
    capturable = {"capturable": True} if is_torch and "capturable" in options else {}
    own = [moved[id(p)] for p in options["params"] if id(p) in moved]
    return {**options, **plain, **capturable, "params": own}


def _apart(values: Options) -> Options:
    """Attributes, those that code may change in place copied: the user's stay as they are."""
    return {name: shallow(value) if type(value) in _CHANGED else value for name, value in values.items()}


def _replaced(values: Options, copies: Mapping[int, object]) -> Options:
    """Attributes with the copies of optimizers in the places of these."""
    pytree = torch_module("torch.utils._pytree")
    replace: Callable[[object], object] = lambda leaf: copies.get(id(leaf), leaf)  # noqa: E731
    return {
        name: pytree.tree_map(replace, value)
        if any(id(leaf) in copies for leaf in pytree.tree_leaves(value))
        else value
        for name, value in values.items()
    }
