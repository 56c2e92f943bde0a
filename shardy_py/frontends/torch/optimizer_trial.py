"""Steps of an optimizer on fake tensors, which make its states and tell what depends on what.

    trial = Trial(originals, parameters)
    first = trial.step()
    second = trial.step(first.with_tensors(), first)

Not here: which states are arguments of the traced step (`optimizers.py`), copies (`optimizer_copies.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from shardy_py.base.records import dataclass
from shardy_py.frontends.torch.branches import Branches
from shardy_py.frontends.torch.dependence import dependence
from shardy_py.frontends.torch.optimizer_attributes import AttributesBefore, has_tensors
from shardy_py.frontends.torch.optimizer_copies import (
    OptimizerCopies,
    Originals,
    OwnState,
    group_name,
    modules_of,
    paths_of,
    with_leaves,
)
from shardy_py.frontends.torch.placements import is_tensor, torch_module
from shardy_py.frontends.torch.protocols import TorchTensor
from shardy_py.frontends.torch.scalars import Answer, scalars_are_tensors
from shardy_py.frontends.torch.trace import compiling
from shardy_py.frontends.torch.value_numbers import ValueNumbers


class Trial:
    """Steps on fake tensors like parameters."""

    def __init__(self, originals: Originals, parameters: Mapping[str, TorchTensor]) -> None:
        self._originals, self._parameters = originals, parameters
        copies = OptimizerCopies.of(originals, parameters)
        self.groups, self._attributes = copies.options(), copies.attributes()
        self._states = originals.states(parameters)
        self.mode = torch_module("torch._subclasses").FakeTensorMode(allow_non_fake_inputs=True)

    def at_first(self, states: Mapping[str, OwnState]) -> Mapping[str, OwnState]:
        """The states with the numbers of the user's optimizer, if it has the states of all parameters."""
        if not self._parameters.keys() <= self._states.keys():
            return states
        groups = {group_name(number): [options] for number, options in enumerate(self.groups)}
        before = {
            name: dict(paths_of(own)) for name, own in {**groups, **self._attributes, **self._states}.items()
        }

        def first(name: str) -> Callable[[str, object], object]:
            return lambda path, value: value if is_tensor(value) else before.get(name, {}).get(path, value)

        return {name: with_leaves(own, first(name)) for name, own in states.items()}

    def step(
        self,
        states: Mapping[str, OwnState] | None = None,
        before: Made | None = None,
        idle: Collection[str] = (),
    ) -> Made:
        """A step; the states are not changed.

        states: None for those that the user's optimizer has. before: the step that made the states; None in
        a first step, whose branches on tensors are not those of others. idle: parameters without gradients.
        """
        torch = torch_module("torch")
        parameters = {n: torch.empty_like(p, requires_grad=True) for n, p in self._parameters.items()}
        gradients = {name: torch.zeros_like(parameter) for name, parameter in parameters.items()}
        given = {**self._attributes, **self._states} if states is None else states
        copied = {name: with_leaves(own, _cloned) for name, own in given.items()}
        each = {name: [parameter, gradients[name]] for name, parameter in parameters.items()}
        numbers = ValueNumbers()
        for name, own in copied.items():
            for (path, value), (_, original) in zip(paths_of(own), paths_of(given[name]), strict=True):
                if not is_tensor(value):
                    continue
                if before is None:
                    numbers.give_as(value, original)
                    continue
                each.get(before.owner(name, path), []).append(value)
                is_shared = name in parameters and path not in before.distinct
                numbers.give(value, ("" if is_shared else name, path))
        snapshots = {
            name: AttributesBefore.of(own[0] | copied.get(name, [{}])[0])
            for name, own in self._attributes.items()
        }
        path = Branches({})
        with dependence(each, numbers, self._originals.tensors) as sources:
            answer = answering(sources, path.answer) if before else _first_side
            own = {name: gradient for name, gradient in gradients.items() if name not in idle}
            made = step_of(self._originals, parameters, own, copied, {}, answer)
        found = made.filled(self.groups)
        computed = {
            (name, path): from_
            for name, own in found.items()
            for path, value in paths_of(own)
            if is_tensor(value) and (from_ := sources(value))
        }
        return Made(
            found,
            {name: before.changed(found[name][0]) for name, before in snapshots.items()},
            frozenset(path for name, path in computed if name not in snapshots),
            {key: _owner(key[1], from_) for key, from_ in computed.items() if key[0] in snapshots},
            bool(path.conditions),
            _distinct([found[name] for name in parameters if name in found], numbers),
        )


@dataclass(frozen=True, slots=True)
class Made:
    """The states that a step made, and all attributes of optimizers.

    changed: the attributes that the step changed, of each optimizer. dependent: the paths of states of
    parameters and groups that are computed from parameters or gradients. owners: the parameter that a tensor
    in attributes is computed from, by optimizer and path. branches: the step has branches on elements.
    distinct: the paths of states that are not known to be equal for all parameters.
    """

    states: Mapping[str, OwnState]
    changed: Mapping[str, frozenset[str]]
    dependent: frozenset[str]
    owners: Mapping[tuple[str, str], str]
    branches: bool
    distinct: frozenset[str]

    def owner(self, holder: str, path: str) -> str:
        """The parameter that a state depends on; "" for one that depends on none, or on several."""
        if holder in self.changed:
            return self.owners.get((holder, path), "")
        return holder if path in self.dependent else ""

    def for_next(self, replaced: Callable[[str, object], object]) -> dict[str, OwnState]:
        """The states for another step, with what takes the place of numbers.

        Of attributes, those that this step changed, with numbers replaced, and those that have tensors, which
        another step may change.
        """
        found: dict[str, OwnState] = {}
        for name, own in self.states.items():
            if name not in self.changed:
                found[name] = with_leaves(own, replaced)
                continue
            same = {key: value for key, value in own[0].items() if has_tensors(value)}
            changed = {key: own[0][key] for key in self.changed[name]}
            found[name] = [same | with_leaves([changed], replaced)[0]]
        return found


def with_changed(states: Mapping[str, OwnState], *steps: Made) -> dict[str, OwnState]:
    """The states without attributes that no step changes: these are what the optimizer has."""
    found = dict(states)
    for name in steps[0].changed:
        changed = frozenset[str]().union(*(step.changed[name] for step in steps))
        found[name] = [{key: value for key, value in states[name][0].items() if key in changed}]
    return found


def answering(
    sources: Callable[[TorchTensor], frozenset[str]], answer: Callable[[TorchTensor, frozenset[str]], bool]
) -> Answer:
    """Answers branches on tensors that are computed from parameters."""

    def answered(condition: TorchTensor) -> bool | None:
        found = sources(condition)
        return answer(condition, found) if found else None

    return answered


def _distinct(states: Sequence[OwnState], numbers: ValueNumbers) -> frozenset[str]:
    """The paths of numbers and tensors in states that are not known to be equal in all of them."""
    found: dict[str, object] = {}
    distinct = set[str]()
    for path, value in (leaf for own in states for leaf in paths_of(own)):
        key = ("tensor", numbers.of(value)) if is_tensor(value) else value
        if found.setdefault(path, key) != key:
            distinct.add(path)
    return frozenset(distinct)


def _first_side(condition: TorchTensor) -> bool:
    """The side that a first step takes, which makes the states."""
    return False


def step_of(
    originals: Originals,
    parameters: Mapping[str, TorchTensor],
    gradients: Mapping[str, TorchTensor],
    states: Mapping[str, OwnState],
    rates: Mapping[int, object],
    answer: Answer,
) -> OptimizerCopies:
    """Copies of optimizers after `optimizer.step()` of the first. answer: for branches on tensors."""
    copies = OptimizerCopies.of(originals, parameters, rates)
    for name, parameter in parameters.items():
        parameter.grad = gradients.get(name)
    copies.fill(states)
    eager = torch_module("torch.compiler").set_stance("force_eager")
    scalars = scalars_are_tensors(modules_of(originals.optimizers), answer)
    with originals.replaced(parameters), eager, compiling(), scalars:
        copies.main.step()
    return copies


def _cloned(path: str, value: object) -> object:
    return value.clone() if is_tensor(value) else value


def _owner(path: str, sources: frozenset[str]) -> str:
    """The parameter of a tensor in attributes: of its place in a table, or the only source."""
    named = [name for name in sources if path.endswith(f".{name}")]
    return max(named, key=len, default=min(sources) if len(sources) == 1 else "")


def as_it_is(path: str, value: object) -> object:
    """A leaf that is not replaced."""
    return value


def as_tensor(path: str, value: object) -> object:
    """A number as a tensor; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    torch = torch_module("torch")
    dtype = torch.int64 if isinstance(value, int) else torch.get_default_dtype()
    return torch.empty(
        (), dtype=dtype
    )  # a fake one of `torch.tensor` would have the number, and could be compared
