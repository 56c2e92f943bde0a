"""One step of training as a function of tensors, which torch traces: forward, backward, optimizer.

Not here: the program of its trace, names and shardings (`training.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from shardy_py.api import ShardyError
from shardy_py.api.arguments import expect_number
from shardy_py.base.narrowing import is_mapping, is_sequence
from shardy_py.frontends.torch import step_names
from shardy_py.frontends.torch.arguments import (
    StepArgument,
    call_of,
    check_model,
    named_inputs,
    named_targets,
    rate_slots,
    state_slots,
)
from shardy_py.frontends.torch.boundaries import Boundaries
from shardy_py.frontends.torch.calls import fitting
from shardy_py.frontends.torch.optimizers import PreparedOptimizer, check_optimizer, updated_names
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import FxNode, TorchModule, TorchOptimizer, TorchTensor
from shardy_py.frontends.torch.trace import Places, TracedGraph


@dataclass(frozen=True, eq=False)
class TrainingStep:
    """The step as a function of tensors; `slots` are its arguments in order.

    updated: the names of the parameters with gradients.
    """

    model: TorchModule
    loss: Callable[..., object] | None
    optimizer: PreparedOptimizer | None
    max_norm: float | None
    slots: tuple[StepArgument, ...]
    updated: tuple[str, ...]
    inputs: object
    targets: tuple[object, ...]

    @staticmethod
    def of(
        model: TorchModule,
        loss: Callable[..., object] | None,
        optimizer: TorchOptimizer | None,
        example_inputs: object,
        targets: tuple[object, ...],
        max_norm: float | None,
        learning_rate: bool,
    ) -> TrainingStep:
        """Raises `ShardyError` for anything but a module, and an optimizer of other parameters."""
        check_model(model)
        if loss is not None and (isinstance(loss, type) or not callable(loss)):
            given = f"the class {loss.__name__}" if isinstance(loss, type) else type(loss).__name__
            raise ShardyError.unexpected("loss", expected="a function loss(output, *targets)", got=given)
        if max_norm is not None:
            expect_number("max_norm", max_norm)
        parameters = dict(model.named_parameters())
        names = {id(parameter): name for name, parameter in parameters.items()}
        updated = tuple(name for name, parameter in parameters.items() if parameter.requires_grad)
        slots = [StepArgument("parameter", name, tensor) for name, tensor in parameters.items()]
        slots += [StepArgument("buffer", name, tensor) for name, tensor in model.named_buffers()]
        prepared = None
        if optimizer is not None:
            check_optimizer(optimizer, names)
            updated = updated_names(optimizer, names)
            prepared = PreparedOptimizer.of(optimizer, names, {name: parameters[name] for name in updated})
            slots += state_slots(prepared)
            if learning_rate:
                slots += rate_slots(optimizer)
        if not updated:
            raise ShardyError("no parameter requires a gradient; call requires_grad_() on some")
        taken = {slot.name for slot in slots} | {"loss"}
        slots += [
            StepArgument("input", f"{path} (input)" if path in taken else path, tensor)
            for path, tensor in (*named_inputs(model, example_inputs), *named_targets(loss, targets))
        ]
        return TrainingStep(model, loss, prepared, max_norm, tuple(slots), updated, example_inputs, targets)

    def run(
        self, tensors: Sequence[TorchTensor], places: Places, boundaries: Boundaries
    ) -> list[TorchTensor | None]:
        """The loss, the gradients of `updated`, and parameters, buffers and states after the step."""
        torch = torch_module("torch")
        given = list(zip(self.slots, tensors, strict=True))
        # Copies, since the step changes them: then a change is a new tensor, not one of the arguments.
        copies = {slot.name: tensor.detach().clone() for slot, tensor in given if slot.kind in _CHANGED}
        for name in self.updated:
            copies[name].requires_grad_()
        own = {slot.name: copies[slot.name] for slot in self.slots if slot.kind in ("parameter", "buffer")}
        inputs = [tensor for slot, tensor in given if slot.kind == "input"]
        parameters = {name: copies[name] for name in self.updated}
        loss, found = self._with_gradients(own, inputs, list(parameters.values()), places)
        gradients = {name: g for name, g in zip(parameters, found, strict=True) if g is not None}
        gradients = boundaries.of_parameters(gradients)
        with ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            stack.enter_context(torch.autocast("cpu", enabled=False))
            if self.max_norm is not None:
                places.phase = "clip"
                gradients = _clipped(parameters, gradients, self.max_norm)
            if self.optimizer is not None:
                places.phase = "optimizer"
                rates = [tensor.clone().requires_grad_() for slot, tensor in given if slot.kind == "rate"]
                copies |= self.optimizer.run(parameters, gradients, copies, dict(enumerate(rates)))
        return [
            loss.detach(),
            *(gradients.get(name) for name in self.updated),
            *(copies[slot.name].detach() for slot in self.slots if slot.kind in _CHANGED),
        ]

    def _with_gradients(
        self,
        own: Mapping[str, TorchTensor],
        inputs: Sequence[TorchTensor],
        parameters: Sequence[TorchTensor],
        places: Places,
    ) -> tuple[TorchTensor, Sequence[TorchTensor | None]]:
        """The loss and the gradients for these parameters, buffers, inputs and targets."""
        torch = torch_module("torch")

        class Both(torch.nn.Module):
            """Both passes, since checkpoints call modules in the backward pass."""

            def forward(self, run: Callable[[], object]) -> Any:
                return run()

        def run() -> tuple[TorchTensor, Sequence[TorchTensor | None]]:
            loss = self._loss(inputs, places)
            return loss, torch.autograd.grad(loss, parameters, allow_unused=True)

        replaced = {f"model.{name}": tensor for name, tensor in own.items()}
        both: Any = Both()
        both.add_module("model", self.model)
        return torch.func.functional_call(both, replaced, (run,))

    def _loss(self, inputs: Sequence[TorchTensor], places: Places) -> TorchTensor:
        """The loss. Raises `ShardyError` unless it is a scalar."""
        torch = torch_module("torch")
        pytree = torch_module("torch.utils._pytree")
        leaves, structure = pytree.tree_flatten((self.inputs, self.targets))
        rest = iter(inputs)
        filled = [next(rest) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        arguments, targets = pytree.tree_unflatten(filled, structure)
        positional, keywords = call_of(arguments)
        name, remedy = f"{type(self.model).__name__}.forward", "pass them as example_inputs"
        with fitting(name, self.model.forward, positional, keywords, remedy):
            output = self.model(*positional, **keywords)
        places.phase = "loss"
        loss: Any = _loss_of(output) if self.loss is None else self._called(self.loss, output, targets)
        if isinstance(loss, torch.Tensor) and loss.numel() == 1 and loss.requires_grad:
            return loss.reshape(())
        is_tensor = isinstance(loss, torch.Tensor)
        raise ShardyError.unexpected(
            "loss",
            expected="a scalar that depends on parameters",
            got=f"a tensor of shape {tuple(loss.shape)}" if is_tensor else type(loss).__name__,
            remedy="pass loss(output, *targets)",
        )

    @staticmethod
    def _called(loss: Callable[..., object], output: object, targets: Sequence[object]) -> object:
        function = getattr(loss, "forward", loss)
        name = getattr(loss, "__name__", type(loss).__name__)
        remedy = "pass what it takes after the output as targets=(...,)"
        with fitting(name, function, (output, *targets), {}, remedy):
            return loss(output, *targets)

    def results(self, traced: TracedGraph, *, gradients: bool) -> tuple[StepResult, ...]:
        """The results that the program has: nodes with names, and the arguments that they replace."""
        loss, *rest = traced.outputs
        found = [StepResult("loss", loss)]
        by_name = dict(zip(self.updated, rest, strict=False))
        for number, (slot, node) in enumerate(
            zip((s for s in self.slots if s.kind in _CHANGED), rest[len(self.updated) :], strict=True)
        ):
            if _source(node) is not traced.inputs[number]:
                found.append(StepResult(step_names.after(slot.name), node, number))
        if gradients:
            found += [
                StepResult(step_names.gradient(n), node) for n, node in by_name.items() if node is not None
            ]
        self._check_changes(found)
        return tuple(found)

    def _check_changes(self, found: Sequence[StepResult]) -> None:
        """Raises `ShardyError` if there is an optimizer, and no parameter becomes another."""
        names = {step_names.after(slot.name) for slot in self.slots if slot.kind == "parameter"}
        if self.optimizer is not None and names.isdisjoint(result.name for result in found):
            classes = " and ".join(type(each).__name__ for each in self.optimizer.optimizers)
            remedy = "an optimizer that wraps another one has it as an attribute"
            raise ShardyError(f"the step of {classes} changes no parameter; {remedy}")


@dataclass(frozen=True, slots=True)
class StepResult:
    """A result; replaced: the number of the argument that it replaces."""

    name: str
    node: FxNode
    replaced: int | None = None


_CHANGED = ("parameter", "buffer", "state")
"""Kinds of slots that a step may change; they come first."""


def _source(node: FxNode) -> FxNode:
    """The node whose tensor this one is, unchanged."""
    while str(node.target) in ("aten.clone.default", "aten.detach.default", "aten.alias.default"):
        node = node.args[0]
    return node


def _clipped(
    parameters: Mapping[str, TorchTensor], gradients: Mapping[str, TorchTensor], max_norm: float
) -> dict[str, TorchTensor]:
    """The gradients as `clip_grad_norm_` changes them."""
    for name, gradient in gradients.items():
        parameters[name].grad = gradient.clone()
    with_gradients = [parameters[name] for name in gradients]
    torch_module("torch.nn.utils").clip_grad_norm_(with_gradients, max_norm, foreach=False)
    return {name: parameters[name].grad for name in gradients}


def _loss_of(output: object) -> object:
    """The loss in the output of a model: itself, its first element, or its `loss`."""
    if is_mapping(output):
        return output.get("loss")
    if hasattr(output, "loss"):
        return getattr(output, "loss", None)
    return output[0] if is_sequence(output) else output
