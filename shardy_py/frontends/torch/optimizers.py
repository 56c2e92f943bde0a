"""Optimizers of torch in a traced step: the user's own object, on other parameters and states.

    prepared = PreparedOptimizer.of(optimizer, names, model, parameters)
    prepared.run(parameters, gradients, {"exp_avg of weight": average}, rates={})

The optimizer's own code runs: any subclass of `torch.optim.Optimizer` that computes with tensors, without its
`foreach` and `fused` versions, also one that wraps others. A first step on fake tensors makes the states; the
traced step is the one after it. Numbers in states are arguments, as tensors are, unless code compares them;
attributes that a step changes are states, too.

Not here: the step of training (`training.py`), the steps that make the states (`optimizer_trial.py`), copies
(`optimizer_copies.py`), numbers in code that is traced (`scalars.py`).
"""

from __future__ import annotations

import traceback
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from shardy_py.api import ShardyError
from shardy_py.base.errors import Diagnostic, Position
from shardy_py.base.records import dataclass
from shardy_py.frontends.torch import step_names
from shardy_py.frontends.torch.branches import Branches, Results, over_all_paths
from shardy_py.frontends.torch.dependence import dependence
from shardy_py.frontends.torch.optimizer_copies import (
    Groups,
    Originals,
    OwnState,
    group_name,
    optimizer_name,
    paths_of,
    with_leaves,
)
from shardy_py.frontends.torch.optimizer_trial import (
    Made,
    Trial,
    answering,
    as_it_is,
    as_tensor,
    step_of,
    with_changed,
)
from shardy_py.frontends.torch.placements import is_tensor, torch_module
from shardy_py.frontends.torch.protocols import TorchModule, TorchOptimizer, TorchTensor
from shardy_py.frontends.torch.scalars import Answer
from shardy_py.frontends.torch.trace import unsupported
from shardy_py.frontends.torch.traced import Traced

_HERE = Path(__file__).parent


def check_optimizer(optimizer: TorchOptimizer, names: Mapping[int, str]) -> None:
    """Raises `ShardyError` unless it is an optimizer of torch for parameters of the model.

    names: of the parameters, by identity.
    """
    kind = torch_module("torch.optim").Optimizer
    if not isinstance(optimizer, kind):
        is_around = isinstance(getattr(optimizer, "optimizer", None), kind)
        raise ShardyError.unexpected(
            "optimizer",
            expected="a torch.optim.Optimizer, or None",
            got=type(optimizer).__name__,
            remedy="pass its attribute optimizer" if is_around else "",
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

    originals: it and those in it, with their model. groups: the options of groups.
    states: of parameters and groups. leaves: those of the states that are arguments of the next step.
    branches: its code branches on elements of tensors.
    """

    originals: Originals
    groups: Groups
    states: Mapping[str, OwnState]
    leaves: tuple[StateLeaf, ...]
    branches: bool = False

    @staticmethod
    def of(
        optimizer: TorchOptimizer,
        names: Mapping[int, str],
        model: TorchModule,
        parameters: Mapping[str, TorchTensor],
    ) -> PreparedOptimizer:
        """Makes the first step on fake tensors like `parameters`.

        A second one tells whether numbers can be tensors, and whether all parameters can share them.

        Raises:
            ShardyError: its code fails, or depends on elements of tensors.
        """
        originals = Originals.of(optimizer, names, model)
        trial = Trial(originals, parameters)
        with trial.mode, torch_module("torch").no_grad():
            try:
                first = trial.step()
                try:
                    states = first.for_next(as_tensor)
                    second = trial.step(states, first)
                except Exception:  # of the user's code, which may compare its numbers: they stay
                    states = first.for_next(as_it_is)
                    second = trial.step(states, first)
            except Exception as error:  # of the user's code
                raise _failure(optimizer, error) from None
        states = trial.at_first(with_changed(states, first, second))
        leaves = _leaves(states, second, parameters, first.distinct)
        return PreparedOptimizer(originals, trial.groups, states, leaves, second.branches)

    def unmade(self, parameters: Mapping[str, TorchTensor], idle: Collection[str]) -> frozenset[str]:
        """The names of the states that a step does not make, as the `idle` parameters have no gradients."""
        trial = Trial(self.originals, parameters)
        with trial.mode, torch_module("torch").no_grad():
            made = trial.step(idle=idle).states
        kept = {(name, path) for name in idle for path, _ in paths_of(made.get(name, []))}
        own = (leaf for leaf in self.leaves if leaf.holder in idle)
        return frozenset(leaf.name for leaf in own if (leaf.holder, leaf.path) not in kept)

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
        owners = {leaf.name: leaf.holder if leaf.holder in parameters else leaf.owner for leaf in self.leaves}

        def on_copies(path: Branches) -> Results:
            own = {name: parameter.clone() for name, parameter in parameters.items()}
            given = {name: tensor.clone() for name, tensor in tensors.items()}
            each = {name: [own[name], gradients[name]] for name in own if name in gradients}
            for name, owner in owners.items():
                each.get(owner, []).append(given[name])
            with dependence(each) as sources:
                answer = answering(sources, path.answer)
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

            return with_leaves(own, leaf)

        states = {name: filled(name, own) for name, own in self.states.items()}
        made = step_of(self.originals, parameters, gradients, states, rates, answer)
        after = {name: dict(paths_of(own)) for name, own in made.filled(self.groups).items()}
        # A parameter without a gradient keeps its count.
        first = next((name for name in after if name in gradients), "")
        found: dict[str, TorchTensor] = {}
        for leaf in self.leaves:
            value = after.get(leaf.holder or first, {}).get(leaf.path)
            if value is not None:
                found[leaf.name] = value if is_tensor(value) else torch.full((), value)
        return found


def _after(name: str) -> str:
    """The name of what a state is after the step, beside that of its parameter."""
    return f"{name} after"


def _not_answered(condition: TorchTensor) -> None:
    """Leaves all branches on tensors to torch."""


def _leaves(
    states: Mapping[str, OwnState],
    made: Made,
    parameters: Mapping[str, TorchTensor],
    distinct: frozenset[str],
) -> tuple[StateLeaf, ...]:
    """The tensors of states; those without dimensions are one for all parameters, if they depend on none and
    are equal. distinct: those that are not.
    """
    torch = torch_module("torch")
    every = [(holder, path, value) for holder, own in states.items() for path, value in paths_of(own)]
    tensors = [(holder, path, value) for holder, path, value in every if is_tensor(value)]
    of_parameters = [(path, value) for holder, path, value in tensors if holder in parameters]
    own_paths = (
        distinct | made.distinct | made.dependent | {path for path, value in of_parameters if value.ndim}
    )
    is_meta = any(parameter.device.type == "meta" for parameter in parameters.values())
    found: dict[str, StateLeaf] = {}
    for holder, path, value in tensors:
        owner = holder if holder in parameters and path in own_paths else made.owners.get((holder, path), "")
        names = _names(holder, path, owner, is_shared=holder in parameters and not owner)
        is_own = holder not in parameters
        name = next(name for name in names if not (is_own and name in found))
        shape, device = tuple(value.shape), "meta" if is_meta else "cpu"
        tensor = torch.empty(shape, dtype=value.dtype, device=device)
        kept = owner if holder in parameters else holder
        found.setdefault(name, StateLeaf(name, kept, path, tensor, owner))
    return tuple(found.values())


def _names(holder: str, path: str, owner: str, *, is_shared: bool) -> Iterator[str]:
    """The names that a state may have, the shortest first: others may have it."""
    if is_shared or (not owner and holder in (group_name(0), optimizer_name(0))):
        yield path
    of = owner or holder
    yield step_names.state(path.removesuffix(f".{of}"), of)
    yield step_names.state(path, of)
    yield step_names.state(f"{holder}.{path}", of)


def _failure(optimizer: TorchOptimizer, error: Exception) -> ShardyError:
    """The error for code of an optimizer that fails, at its last line outside of what torch does for it."""
    reason = unsupported(error, of_optimizer=True) if isinstance(error, RuntimeError) else None
    reason = error.first.message if isinstance(error, ShardyError) else reason
    text = reason or _missing(error) or f"{type(error).__name__}: {' '.join(str(error).split())}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_own(Path(frame.filename))]
    if frames and frames[-1].filename == torch_module("torch.optim.swa_utils").__file__:
        text = "an average of parameters (AveragedModel) is not part of it: pass it as average="
    place = Position(frames[-1].filename, frames[-1].lineno or 1, 1) if frames else None
    return ShardyError(Diagnostic(f"{type(optimizer).__name__}.step() cannot be traced: {text}", place))


def _missing(error: Exception) -> str:
    """The reason for an attribute that tensors lack, or for gradients of gradients; "" for other errors."""
    if isinstance(error, NotImplementedError) and not str(error):
        return "it has no step(), as one that updates in the backward pass: use an optimizer that has"
    if isinstance(error, RuntimeError) and "does not have a grad_fn" in str(error):
        return "it computes gradients of gradients (create_graph=True), of which a step keeps no graph"
    if not isinstance(error, AttributeError) or not is_tensor(error.obj):
        return ""
    return f"it needs the attribute '{error.name}' of parameters, which other code than step() sets"


def _is_own(file: Path) -> bool:
    """True for code of optimizers."""
    torch = Path(torch_module("torch").__file__).parent
    inside = file.is_relative_to(torch) and (file.parent != torch / "optim" or file.name == "optimizer.py")
    return file.suffix == ".py" and not inside and not file.is_relative_to(_HERE)
