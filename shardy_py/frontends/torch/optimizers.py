"""Optimizers of torch in a traced step: the user's own object, on other parameters and states.

    prepared = PreparedOptimizer.of(optimizer, names, parameters)
    prepared.run(parameters, gradients, {"exp_avg of weight": average}, rates={})

The optimizer's own code runs: any subclass of `torch.optim.Optimizer` that computes with tensors, without its
`foreach` and `fused` versions, also one that wraps others. A first step on fake tensors makes the states; the
traced step is the one after it. Numbers in states are arguments, as tensors are, unless code compares them.

Not here: the step of training (`training.py`), copies (`optimizer_copies.py`), numbers in code that is traced
(`scalars.py`), which states depend on parameters (`dependence.py`).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from shardy_py.api import ShardyError
from shardy_py.base.errors import Diagnostic, Position
from shardy_py.base.records import dataclass
from shardy_py.frontends.torch import step_names
from shardy_py.frontends.torch.branches import Branches, Results, over_all_paths
from shardy_py.frontends.torch.dependence import dependence
from shardy_py.frontends.torch.optimizer_copies import (
    Groups,
    OptimizerCopies,
    OwnState,
    group_name,
    modules_of,
    optimizers_in,
)
from shardy_py.frontends.torch.placements import is_tensor, torch_module
from shardy_py.frontends.torch.protocols import TorchOptimizer, TorchTensor
from shardy_py.frontends.torch.scalars import Answer, scalars_are_tensors
from shardy_py.frontends.torch.trace import compiling, unsupported
from shardy_py.frontends.torch.traced import Traced

_HERE = Path(__file__).parent


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


@dataclass(frozen=True, slots=True)
class StateLeaf:
    """A tensor in the states, or a number as one.

    holder: the parameter or group that has it; "" if all parameters share it. path: in that state. owner: the
    parameter whose sharding it has, if it has its shape; "" for others.
    """

    name: str
    holder: str
    path: str
    tensor: TorchTensor
    owner: str = ""


@dataclass(frozen=True, eq=False)
class PreparedOptimizer:
    """An optimizer after a first step, which made its states.

    optimizers: it and those in it. names: of their parameters, by identity. groups: the options of groups.
    states: of parameters and groups. leaves: those of the states that are arguments of the next step.
    branches: its code branches on elements of tensors.
    """

    optimizers: Sequence[TorchOptimizer]
    names: Mapping[int, str]
    groups: Groups
    states: Mapping[str, OwnState]
    leaves: tuple[StateLeaf, ...]
    branches: bool = False

    @staticmethod
    def of(
        optimizer: TorchOptimizer, names: Mapping[int, str], parameters: Mapping[str, TorchTensor]
    ) -> PreparedOptimizer:
        """Makes the first step on fake tensors like `parameters`.

        A second one tells whether numbers can be tensors, and whether all parameters can share them.

        Raises:
            ShardyError: its code fails, or depends on elements of tensors.
        """
        optimizers = optimizers_in(optimizer)
        trial = _Trial(optimizers, names, parameters)
        with trial.mode, torch_module("torch").no_grad():
            try:
                first = trial.step({})
                try:
                    states = {name: _with_leaves(own, _as_tensor) for name, own in first.states.items()}
                    second = trial.step(states, first.dependent)
                except Exception:  # of the user's code, which may compare its numbers: they stay
                    states = first.states
                    second = trial.step(states, first.dependent)
            except Exception as error:  # of the user's code
                raise _failure(optimizer, error) from None
        leaves = _leaves(states, second.dependent, parameters)
        return PreparedOptimizer(optimizers, names, trial.groups, states, leaves, second.branches)

    def run(
        self,
        parameters: Mapping[str, TorchTensor],
        gradients: Mapping[str, TorchTensor],
        tensors: Mapping[str, TorchTensor],
        rates: Mapping[int, object],
    ) -> dict[str, TorchTensor]:
        """Makes a step on parameters, which it changes; returns what the leaves are after it, by name.

        tensors: by the name of their leaf. rates: learning rates by number of the group.
        """
        if not self.branches:
            return self._run(parameters, gradients, tensors, rates, _not_answered)
        owners = {leaf.name: leaf.holder if leaf.holder in parameters else "" for leaf in self.leaves}

        def on_copies(path: Branches) -> Results:
            own = {name: parameter.clone() for name, parameter in parameters.items()}
            given = {name: tensor.clone() for name, tensor in tensors.items()}
            each = {name: [own[name], gradients[name]] for name in own if name in gradients}
            for name, owner in owners.items():
                each.get(owner, []).append(given[name])
            with dependence(each) as sources:
                answer = _answering(sources, path.answer)
                after = self._run(own, gradients, given, rates, answer)
            found = {name: {name: parameter} for name, parameter in own.items()}
            for name, tensor in after.items():
                found.setdefault(owners[name], {})[_after(name)] = tensor
                if not owners[name] and path.conditions and sources(tensor):
                    path.together()
            return found

        chosen = over_all_paths(on_copies)
        changed: Mapping[str, Traced] = parameters
        for name, parameter in changed.items():
            parameter.copy_(chosen[name][name])
        found = {name: chosen.get(owner, {}).get(_after(name)) for name, owner in owners.items()}
        return {name: tensor for name, tensor in found.items() if tensor is not None}

    def _run(
        self,
        parameters: Mapping[str, TorchTensor],
        gradients: Mapping[str, TorchTensor],
        tensors: Mapping[str, TorchTensor],
        rates: Mapping[int, object],
        answer: Answer,
    ) -> dict[str, TorchTensor]:
        """A step, whose branches on tensors are answered."""
        torch = torch_module("torch")
        given = {(leaf.holder, leaf.path): tensors[leaf.name] for leaf in self.leaves}

        def filled(holder: str, own: OwnState) -> OwnState:
            def leaf(path: str, value: object) -> object:
                if (holder, path) in given:
                    return given[holder, path]
                # Each parameter has its own count, though they have one argument.
                return given["", path].clone() if ("", path) in given and holder in parameters else value

            return _with_leaves(own, leaf)

        states = {name: filled(name, own) for name, own in self.states.items()}
        made = _step(self.optimizers, self.names, parameters, gradients, states, rates, answer)
        after = {name: dict(paths_of(own)) for name, own in made.filled(self.groups).items()}
        first = next((name for name in after if name in parameters), "")
        found: dict[str, TorchTensor] = {}
        for leaf in self.leaves:
            value = after.get(leaf.holder or first, {}).get(leaf.path)
            if value is not None:
                found[leaf.name] = value if is_tensor(value) else torch.full((), value)
        return found


class _Trial:
    """Steps on fake tensors like parameters."""

    def __init__(
        self,
        optimizers: Sequence[TorchOptimizer],
        names: Mapping[int, str],
        parameters: Mapping[str, TorchTensor],
    ) -> None:
        self._optimizers, self._names, self._parameters = optimizers, names, parameters
        self.groups = OptimizerCopies.of(optimizers, names, parameters).options()
        self.mode = torch_module("torch._subclasses").FakeTensorMode(allow_non_fake_inputs=True)

    def step(self, states: Mapping[str, OwnState], dependent: frozenset[str] | None = None) -> _Made:
        """A step; the states are not changed.

        dependent: the paths of states that are computed from parameters; None in a first step, whose branches
        on tensors are not those of others.
        """
        torch = torch_module("torch")
        parameters = {n: torch.empty_like(p, requires_grad=True) for n, p in self._parameters.items()}
        gradients = {name: torch.zeros_like(parameter) for name, parameter in parameters.items()}
        copied = {name: _with_leaves(own, _cloned) for name, own in states.items()}
        each = {name: [parameter, gradients[name]] for name, parameter in parameters.items()}
        for name, own in copied.items():
            known = [value for path, value in paths_of(own) if path in (dependent or ())]
            each.get(name, []).extend(value for value in known if is_tensor(value))
        path = Branches({})
        with dependence(each) as sources:
            answer = _first_side if dependent is None else _answering(sources, path.answer)
            made = _step(self._optimizers, self._names, parameters, gradients, copied, {}, answer)
        found = made.filled(self.groups)
        leaves = ((path, value) for own in found.values() for path, value in paths_of(own))
        computed = {path for path, value in leaves if is_tensor(value) and sources(value)}
        return _Made(found, frozenset(computed), bool(path.conditions))


@dataclass(frozen=True, slots=True)
class _Made:
    """The states that a step made. dependent: the paths of those computed from parameters or gradients.

    branches: the step has branches on elements of tensors.
    """

    states: Mapping[str, OwnState]
    dependent: frozenset[str]
    branches: bool


def _answering(
    sources: Callable[[TorchTensor], frozenset[str]], answer: Callable[[TorchTensor, frozenset[str]], bool]
) -> Answer:
    """Answers branches on tensors that are computed from parameters."""

    def answered(condition: TorchTensor) -> bool | None:
        found = sources(condition)
        return answer(condition, found) if found else None

    return answered


def _after(name: str) -> str:
    """The name of what a state is after the step, beside that of its parameter."""
    return f"{name} after"


def _first_side(condition: TorchTensor) -> bool:
    """The side that a first step takes, which makes the states."""
    return False


def _not_answered(condition: TorchTensor) -> None:
    """Leaves all branches on tensors to torch."""


def _step(
    optimizers: Sequence[TorchOptimizer],
    names: Mapping[int, str],
    parameters: Mapping[str, TorchTensor],
    gradients: Mapping[str, TorchTensor],
    states: Mapping[str, OwnState],
    rates: Mapping[int, object],
    answer: Answer,
) -> OptimizerCopies:
    """Copies of optimizers after `optimizer.step()` of the first."""
    copies = OptimizerCopies.of(optimizers, names, parameters, rates)
    for name, parameter in parameters.items():
        parameter.grad = gradients.get(name)
    copies.fill(states)
    eager = torch_module("torch.compiler").set_stance("force_eager")
    with eager, compiling(), scalars_are_tensors(modules_of(optimizers), answer):
        copies.main.step()
    return copies


def _leaves(
    states: Mapping[str, OwnState], dependent: frozenset[str], parameters: Mapping[str, TorchTensor]
) -> tuple[StateLeaf, ...]:
    """The tensors of states; those without dimensions are one for all parameters, if they depend on none."""
    torch = torch_module("torch")
    every = [(holder, path, value) for holder, own in states.items() for path, value in paths_of(own)]
    tensors = [(holder, path, value) for holder, path, value in every if is_tensor(value)]
    own_paths = dependent | {path for _, path, value in tensors if value.ndim}
    is_meta = any(parameter.device.type == "meta" for parameter in parameters.values())
    found: dict[str, StateLeaf] = {}
    for holder, path, value in tensors:
        owner = holder if holder in parameters and path in own_paths else ""
        is_first = holder == group_name(0) and path not in found
        name = path if is_first or (not owner and holder in parameters) else step_names.state(path, holder)
        shape, device = tuple(value.shape), "meta" if is_meta else "cpu"
        tensor = torch.empty(shape, dtype=value.dtype, device=device)
        kept = owner if holder in parameters else holder
        found.setdefault(name, StateLeaf(name, kept, path, tensor, owner))
    return tuple(found.values())


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


def _with_leaves(own: OwnState, replaced: Callable[[str, object], object]) -> OwnState:
    """The state of a parameter with other leaves."""
    pytree = torch_module("torch.utils._pytree")
    leaves, structure = pytree.tree_flatten(own)
    return pytree.tree_unflatten([*map(replaced, _paths(own), leaves)], structure)


def _cloned(path: str, value: object) -> object:
    return value.clone() if is_tensor(value) else value


def _as_tensor(path: str, value: object) -> object:
    """A number as a tensor; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    torch = torch_module("torch")
    dtype = torch.int64 if isinstance(value, int) else torch.get_default_dtype()
    return torch.empty(
        (), dtype=dtype
    )  # a fake one of `torch.tensor` would have the number, and could be compared


def _failure(optimizer: TorchOptimizer, error: Exception) -> ShardyError:
    """The error for code of an optimizer that fails, at its last line outside of what torch does for it."""
    reason = unsupported(error) if isinstance(error, RuntimeError) else None
    text = reason or _missing(error) or f"{type(error).__name__}: {' '.join(str(error).split())}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_own(Path(frame.filename))]
    place = Position(frames[-1].filename, frames[-1].lineno or 1, 1) if frames else None
    return ShardyError(Diagnostic(f"{type(optimizer).__name__}.step() cannot be traced: {text}", place))


def _missing(error: Exception) -> str:
    """The reason for an attribute that tensors of torch lack; "" for other errors."""
    if not isinstance(error, AttributeError) or not is_tensor(error.obj):
        return ""
    return f"it needs the attribute '{error.name}' of parameters, which other code than step() sets"


def _is_own(file: Path) -> bool:
    """True for code of optimizers."""
    torch = Path(torch_module("torch").__file__).parent
    inside = file.is_relative_to(torch) and (file.parent != torch / "optim" or file.name == "optimizer.py")
    return file.suffix == ".py" and not inside and not file.is_relative_to(_HERE)
