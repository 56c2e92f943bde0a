"""Copies of an optimizer, and of those that it wraps, for other parameters and states.

    copies = OptimizerCopies.of(Originals.of(optimizer, names, model), parameters)
    copies.fill(states), copies.step()

What they share stays shared: a wrapper often has the groups of the optimizer in it.

Not here: which states are arguments of a step (`optimizers.py`).
"""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from shardy_py.base.records import dataclass
from shardy_py.frontends.torch.optimizer_attributes import OwnPlace, replaced
from shardy_py.frontends.torch.placements import is_tensor, torch_module
from shardy_py.frontends.torch.protocols import TorchModule, TorchOptimizer, TorchTensor
from shardy_py.frontends.torch.traced import Traced

Options = dict[str, Any]
"""The options of a group, or the state of a parameter."""
OwnState = list[Options]
"""The state of one parameter in each dictionary of states."""
Groups = list[Options]
"""The options of each group, without its parameters."""
_PLAIN = ("foreach", "fused", "differentiable")
"""Options of torch's own optimizers that choose how they compute, not what."""
_STATE = "state"
_OWN = (_STATE, "param_groups")


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
class Originals:
    """The user's optimizer, with those in it, and the model that it trains.

    optimizers: the first is the one whose step is made. names: of the model's parameters, by identity.
    """

    optimizers: Sequence[TorchOptimizer]
    names: Mapping[int, str]
    model: Traced

    @staticmethod
    def of(optimizer: TorchOptimizer, names: Mapping[int, str], model: TorchModule) -> Originals:
        """The optimizer and those that its attributes hold."""
        return Originals(optimizers_in(optimizer), names, model)

    @property
    def tensors(self) -> dict[str, TorchTensor]:
        """The parameters and buffers of the model by name."""
        return dict((*self.model.named_parameters(), *self.model.named_buffers()))

    def states(self, parameters: Mapping[str, TorchTensor]) -> dict[str, OwnState]:
        """The states that the user's optimizers have, by the name of their parameter."""
        every = {id(original.state): original.state for original in self.optimizers}.values()
        named = [{self.names.get(id(key), ""): value for key, value in state.items()} for state in every]
        found = {name: [state.get(name, {}) for state in named] for name in parameters}
        return {name: own for name, own in found.items() if any(own)}

    @contextmanager
    def replaced(self, parameters: Mapping[str, TorchTensor]) -> Generator[None]:
        """Within it, the modules of the model have these parameters: an optimizer may hold modules."""
        before = [(module, dict(module._parameters)) for module in self.model.modules()]
        try:
            for module, own in before:
                found = {key: parameters.get(self.names.get(id(value), "")) for key, value in own.items()}
                module._parameters.update({k: value for k, value in found.items() if value is not None})
            yield
        finally:
            for module, own in before:
                module._parameters.update(own)


@dataclass(frozen=True, eq=False)
class OptimizerCopies:
    """Copies of optimizers. main: the one whose step is made. groups: of all. states: their dictionaries.

    parameters: by name. copies: all of them. places: what is their own in attributes.
    """

    main: TorchOptimizer
    groups: Groups
    states: Sequence[dict[TorchTensor, Options]]
    parameters: Mapping[str, TorchTensor]
    copies: Sequence[TorchOptimizer]
    places: Mapping[OwnPlace, object]

    @staticmethod
    def of(
        originals: Originals,
        parameters: Mapping[str, TorchTensor],
        rates: Mapping[int, object] | None = None,
    ) -> OptimizerCopies:
        """Copies optimizers.

        parameters: those that take the place of the model's. rates: of learning, by number of the group.
        """
        optimizers, names = originals.optimizers, originals.names
        copies: dict[int, Any] = {id(each): object.__new__(type(each)) for each in optimizers}
        moved = {number: parameters[name] for number, name in names.items() if name in parameters}
        made: dict[int, Options] = {}
        lists: dict[int, Groups] = {}
        states: dict[int, dict[TorchTensor, Options]] = {}
        for original in optimizers:
            copy = copies[id(original)]
            is_torch = type(original).__module__.startswith("torch.")
            for group in original.param_groups:
                made.setdefault(id(group), _group(group, moved, is_torch=is_torch))
            listed = [made[id(group)] for group in original.param_groups]
            groups = lists.setdefault(id(original.param_groups), listed)
            state = states.setdefault(id(original.state), defaultdict(Options))
            # A wrapper may have those of another one by properties.
            given = {"param_groups": groups, "state": state}.items()
            copy.__dict__.update({name: value for name, value in given if name in vars(original)})
        own: dict[int, object] = {**copies, **moved, **made, **lists, **states}
        addresses = {number: id(parameter) for number, parameter in moved.items()}

        def copied(value: object) -> object:
            return addresses.get(value, value) if isinstance(value, int) else own.get(id(value), value)

        for original in optimizers:
            copies[id(original)].__dict__.update(replaced(_attributes(original), copied))
            state = copies[id(original)].__dict__.get(_STATE, {})
            state.update(replaced(_of_no_parameter(original), copied))
        main = copies[id(optimizers[0])]
        for number, rate in (rates or {}).items():
            main.param_groups[number]["lr"] = rate
        others = [*copies.values(), *made.values(), *lists.values(), *states.values()]
        places: dict[OwnPlace, object] = {
            OwnPlace(f"@{number}"): value for number, value in enumerate(others)
        }
        places |= {OwnPlace(name): parameter for name, parameter in parameters.items()}
        return OptimizerCopies(
            main, [*made.values()], [*states.values()], parameters, [*copies.values()], places
        )

    def fill(self, states: Mapping[str, OwnState]) -> None:
        """Sets the states of parameters and groups, and attributes of optimizers, by name."""
        groups = {group_name(number): group for number, group in enumerate(self.groups)}
        optimizers = {optimizer_name(number): vars(copy) for number, copy in enumerate(self.copies)}
        for name, own in states.items():
            if name in groups:
                groups[name].update(own[0])
                continue
            if name in optimizers:
                attributes: Options = replaced(own[0], self._object)
                optimizers[name].get(_STATE, {}).update(attributes.pop(_STATE, {}))
                optimizers[name].update(attributes)
                continue
            for state, value in zip(self.states, own, strict=True):
                if value:
                    state[self.parameters[name]] = value

    def filled(self, before: Groups) -> dict[str, OwnState]:
        """Returns the states of parameters and groups that have some, and attributes of optimizers, by name.

        before: the options of groups at first; those that are others now are their states.
        """
        found = {name: [state.get(p) or {} for state in self.states] for name, p in self.parameters.items()}
        for number, (group, old) in enumerate(zip(self.options(), before, strict=True)):
            found[group_name(number)] = [{k: v for k, v in group.items() if k not in old or v is not old[k]}]
        return {name: own for name, own in found.items() if any(own)} | self.attributes()

    def attributes(self) -> dict[str, OwnState]:
        """Returns the attributes of each optimizer; what is its own in them is at its place."""
        places = {id(value): place for place, value in self.places.items()}
        addresses = {id(p): OwnPlace(name, is_address=True) for name, p in self.parameters.items()}

        def placed(value: object) -> object:
            return addresses.get(value, value) if isinstance(value, int) else places.get(id(value), value)

        found: dict[str, OwnState] = {}
        for number, copy in enumerate(self.copies):
            is_first = all(vars(other).get(_STATE) is not copy.state for other in self.copies[:number])
            shared = {_STATE: _of_no_parameter(copy)} if is_first and _STATE in vars(copy) else {}
            attributes = replaced(_attributes(copy), placed)
            found[optimizer_name(number)] = [{**attributes, **shared}]
        return found

    def _object(self, value: object) -> object:
        """The object at a place; any other as it is."""
        if isinstance(value, OwnPlace) and value.is_address:
            return id(self.parameters[value.name])
        return self.places.get(value, value) if isinstance(value, OwnPlace) else value

    def options(self) -> Groups:
        """Returns the options of the groups."""
        return [{key: value for key, value in group.items() if key != "params"} for group in self.groups]


def paths_of(own: OwnState) -> list[tuple[str, object]]:
    """Returns the leaves of the state of a parameter, each with its path: `exp_avg`, `buffers.0`."""
    return list(zip(_paths(own), torch_module("torch.utils._pytree").tree_leaves(own), strict=True))


def _paths(own: OwnState) -> list[str]:
    """The paths of leaves; of an optimizer in another one with its number, if that has the same."""
    found: dict[str, None] = {}
    for (number, *keys), _ in torch_module("torch.utils._pytree").tree_flatten_with_path(own)[0]:
        path = ".".join(str(getattr(key, "key", getattr(key, "idx", key))) for key in keys)
        found[path if path not in found else f"{path} {number.idx}"] = None
    return [*found]


def with_leaves(own: OwnState, replaced: Callable[[str, object], object]) -> OwnState:
    """The state of a parameter with other leaves."""
    pytree = torch_module("torch.utils._pytree")
    leaves, structure = pytree.tree_flatten(own)
    return pytree.tree_unflatten([*map(replaced, _paths(own), leaves)], structure)


def group_name(number: int) -> str:
    """Returns the name of a group among states; no parameter has it."""
    return f"group {number}"


def optimizer_name(number: int) -> str:
    """Returns the name of an optimizer among states, for its attributes; no parameter has it."""
    return f"optimizer {number}"


def _group(options: Options, moved: Mapping[int, TorchTensor], *, is_torch: bool) -> Options:
    """A group of other parameters; torch's own optimizers keep counts of steps tensors if capturable."""
    plain = {key: False for key in _PLAIN if key in options}
    capturable = {"capturable": True} if is_torch and "capturable" in options else {}
    own = [moved[id(p)] for p in options["params"] if id(p) in moved]
    return {**options, **plain, **capturable, "params": own}


def _of_no_parameter(optimizer: TorchOptimizer) -> dict[object, object]:
    """The states that are of no parameter, as `self.state["step"]`."""
    return {key: value for key, value in optimizer.state.items() if not is_tensor(key)}


def _attributes(optimizer: TorchOptimizer) -> Options:
    """The attributes of an optimizer, but for what all have, and for the `step` that a scheduler sets."""
    return {name: value for name, value in vars(optimizer).items() if name not in (*_OWN, "step")}
