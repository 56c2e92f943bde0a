"""One step of training as a function of tensors, which torch traces: forward, backward, optimizer.

Not here: the program of its trace, names and shardings (`training.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace

from shardy_py.api import ShardyError
from shardy_py.base.narrowing import is_mapping, is_sequence
from shardy_py.base.records import dataclass
from shardy_py.frontends.torch import step_names
from shardy_py.frontends.torch.arguments import (
    StepArgument,
    call_of,
    named_inputs,
    named_targets,
    part_name,
    rate_slots,
    state_slots,
)
from shardy_py.frontends.torch.boundaries import Boundaries
from shardy_py.frontends.torch.calls import called_with, fitting
from shardy_py.frontends.torch.example_values import ExampleValues
from shardy_py.frontends.torch.optimizers import PreparedOptimizer, check_optimizer, updated_names
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import FxNode, TorchModule, TorchOptimizer, TorchTensor
from shardy_py.frontends.torch.step_extras import SCALE, TrainerOptions
from shardy_py.frontends.torch.trace import Places, TracedGraph
from shardy_py.frontends.torch.traced import Traced


@dataclass(frozen=True, eq=False)
class TrainingStep:
    """The step as a function of tensors; `slots` are its arguments in order.

    updated: the names of the parameters with gradients. values: what model and loss read from tensors, if
    that is what they read in the example.
    """

    model: TorchModule
    loss: Callable[..., object] | None
    optimizer: PreparedOptimizer | None
    options: TrainerOptions
    slots: tuple[StepArgument, ...]
    updated: tuple[str, ...]
    inputs: object
    targets: tuple[object, ...]
    values: ExampleValues | None = None

    @staticmethod
    def of(
        model: TorchModule,
        loss: Callable[..., object] | None,
        optimizer: TorchOptimizer | None,
        example_inputs: object,
        targets: tuple[object, ...],
        options: TrainerOptions,
    ) -> TrainingStep:
        """Raises `ShardyError` for anything but a module, and an optimizer of other parameters."""
        if loss is not None and (isinstance(loss, type) or not callable(loss)):
            given = f"the class {loss.__name__}" if callable(loss) else type(loss).__name__
            raise ShardyError.unexpected("loss", expected="a function loss(output, *targets)", got=given)
        parameters = dict(model.named_parameters())
        names = {id(parameter): name for name, parameter in parameters.items()}
        updated = tuple(name for name, parameter in parameters.items() if parameter.requires_grad)
        _check_hooks(parameters)
        slots = [StepArgument("parameter", name, tensor) for name, tensor in parameters.items()]
        slots += [StepArgument("buffer", name, tensor) for name, tensor in model.named_buffers()]
        prepared = None
        if optimizer is not None:
            check_optimizer(optimizer, names)
            updated = updated_names(optimizer, names)
            trained = {name: parameters[name] for name in updated}
            prepared = PreparedOptimizer.of(optimizer, names, model, trained)
            slots += state_slots(prepared)
        slots += options.slots({slot.name: slot.tensor for slot in slots})
        if optimizer is not None and options.learning_rate:
            slots += rate_slots(optimizer)
        if not updated:
            raise ShardyError("no parameter requires a gradient; call requires_grad_() on some")
        taken = {slot.name for slot in slots} | {"loss"}
        slots += [
            StepArgument("input", part_name(f"{path} (input)" if path in taken else path, part), tensor)
            for part in range(options.parts)
            for path, tensor in (*named_inputs(model, example_inputs), *named_targets(loss, targets))
        ]
        return TrainingStep(model, loss, prepared, options, tuple(slots), updated, example_inputs, targets)

    def specialized(self, places: Places) -> TrainingStep:
        """The step in which numbers that both passes read from tensors are those of the example inputs."""
        values = ExampleValues()
        given = [slot.tensor.clone() for slot in self.slots if slot.kind == "input"]
        buffers = {slot.name: slot.tensor.clone() for slot in self.slots if slot.kind == "buffer"}
        learned = [
            slot.tensor for slot in self.slots if slot.kind == "parameter" and slot.tensor.requires_grad
        ]

        def run() -> object:
            loss = self._loss(given[: len(given) // self.options.parts], places)
            return _gradients(loss, learned)

        with values.recorded():
            self._both(buffers, run)
        return replace(self, values=values)

    def run(
        self, tensors: Sequence[TorchTensor], places: Places, boundaries: Boundaries
    ) -> list[TorchTensor | None]:
        """The loss, the gradients of `updated`, and parameters, buffers and states after the step."""
        torch = torch_module("torch")
        given = list(zip(self.slots, tensors, strict=True))
        # Copies, since the step changes them: then a change is a new tensor, not one of the arguments.
        copies = {slot.name: tensor.detach().clone() for slot, tensor in given if slot.is_changed}
        learned = dict(self.model.named_parameters())
        for name in self.updated:
            copies[name].requires_grad_()
            _hook_gradients(learned[name], copies[name])
        own = {slot.name: copies[slot.name] for slot in self.slots if slot.kind in ("parameter", "buffer")}
        parameters = {name: copies[name] for name in self.updated}
        loss, gradients = self._of_parts(own, given, parameters, places)
        gradients = boundaries.of_parameters(gradients)
        with ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            stack.enter_context(torch.autocast("cpu", enabled=False))
            gradients, changed = self._updated(given, copies, parameters, gradients, places)
        copies |= changed
        return [
            loss.detach(),
            *(gradients.get(name) for name in self.updated),
            *(copies[slot.name].detach() for slot in self.slots if slot.is_changed),
        ]

    def _of_parts(
        self,
        own: Mapping[str, TorchTensor],
        given: Sequence[tuple[StepArgument, TorchTensor]],
        parameters: Mapping[str, TorchTensor],
        places: Places,
    ) -> tuple[Traced, dict[str, TorchTensor]]:
        """The mean of the losses of all parts of the batch, and the sum of the gradients that they add."""
        count, inputs = self.options.parts, [tensor for slot, tensor in given if slot.kind == "input"]
        scale = next((tensor for slot, tensor in given if slot.name == SCALE), None)
        each, losses = len(inputs) // count, list[Traced]()
        gradients: dict[str, Traced] = {}
        for part in range(count):
            places.phase = ""
            own_inputs = inputs[part * each : (part + 1) * each]
            loss, found = self._with_gradients(own, own_inputs, list(parameters.values()), scale, places)
            losses.append(loss.detach())
            for name, gradient in zip(parameters, found, strict=True):
                if gradient is not None:
                    gradient = _laid_out(name, gradient, parameters[name])
                    gradients[name] = gradients[name] + gradient if name in gradients else gradient
        return sum(losses[1:], losses[0]) / count if count > 1 else losses[0], gradients

    def _updated(
        self,
        given: Sequence[tuple[StepArgument, TorchTensor]],
        copies: Mapping[str, TorchTensor],
        parameters: Mapping[str, TorchTensor],
        gradients: Mapping[str, TorchTensor],
        places: Places,
    ) -> tuple[dict[str, TorchTensor], dict[str, TorchTensor]]:
        """The gradients, unscaled and clipped, and the parameters and states that change."""
        options, before = self.options, {slot.name: tensor for slot, tensor in given}
        overflows: object = None
        if options.scaling is not None:
            places.phase = "clip"
            gradients, overflows = options.scaling.unscaled(gradients, before[SCALE])
        if options.max_norm is not None:
            places.phase = "clip"
            gradients = _clipped(parameters, gradients, options.max_norm)
        places.phase, changed = "optimizer", dict[str, TorchTensor]()
        if self.optimizer is not None:
            rates = [tensor.clone().requires_grad_() for slot, tensor in given if slot.kind == "rate"]
            changed = self.optimizer.run(parameters, gradients, copies, dict(enumerate(rates)))
            changed |= {name: tensor.detach() for name, tensor in parameters.items()}
        if options.scaling is not None:
            changed = options.scaling.after(before, changed, overflows)
        if options.average is not None:
            changed |= options.average.after(copies, changed)
        return dict(gradients), changed

    def _with_gradients(
        self,
        own: Mapping[str, TorchTensor],
        inputs: Sequence[TorchTensor],
        parameters: Sequence[TorchTensor],
        scale: TorchTensor | None,
        places: Places,
    ) -> tuple[TorchTensor, Sequence[TorchTensor | None]]:
        """The loss and the gradients that a part of the batch adds."""

        def run() -> tuple[TorchTensor, Sequence[TorchTensor | None]]:
            # Checkpoints read their numbers again in the backward pass.
            with nullcontext() if self.values is None else self.values.given():
                loss: Traced = self._loss(inputs, places)
                share = loss / self.options.parts if self.options.parts > 1 else loss
                scaled = share if scale is None else share * scale
                return loss, _with_accumulated(_gradients(scaled, parameters), parameters)

        return self._both(own, run)

    def _both(self, own: Mapping[str, TorchTensor], run: Callable[[], object]) -> Traced:
        """The result of a function of both passes, with other parameters and buffers in the model."""
        torch = torch_module("torch")

        class Both(torch.nn.Module):
            """Both passes, since checkpoints call modules in the backward pass."""

            def forward(self, run: Callable[[], object]) -> Traced:
                return run()

        replaced = {f"model.{name}": tensor for name, tensor in own.items()}
        both: Traced = Both()
        both.add_module("model", self.model)
        return called_with(both, replaced, (run,))

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
        loss: Traced = _loss_of(output) if self.loss is None else self._called(self.loss, output, targets)
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
            zip((s for s in self.slots if s.is_changed), rest[len(self.updated) :], strict=True)
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
            classes = " and ".join(type(each).__name__ for each in self.optimizer.originals.optimizers)
            remedy = (
                "an optimizer that wraps another one has it as an attribute; of one that updates only after "
                "some steps, pass it after them"
            )
            raise ShardyError(f"the step of {classes} changes no parameter; {remedy}")


@dataclass(frozen=True, slots=True)
class StepResult:
    """A result; replaced: the number of the argument that it replaces."""

    name: str
    node: FxNode
    replaced: int | None = None


def _gradients(loss: TorchTensor, of: Sequence[TorchTensor]) -> Sequence[TorchTensor | None]:
    """The gradients of a loss; None for a tensor that it does not depend on.

    `torch.autograd.grad` itself would leave modes of functions (`substitutes`), of which checkpoints need
    those of the forward pass.
    """
    torch = torch_module("torch")
    engine = torch.autograd.Variable._execution_engine
    return engine.run_backward(
        (loss,), (torch.ones_like(loss),), False, False, tuple(of), True, accumulate_grad=False
    )


def _check_hooks(parameters: Mapping[str, Traced]) -> None:
    """Raises `ShardyError` for parameters whose hooks update in the backward pass."""
    for name, parameter in parameters.items():
        if getattr(parameter, "_post_accumulate_grad_hooks", None):
            raise ShardyError.unsupported(
                f"hook of {name} that runs after its gradient is accumulated",
                remedy="an optimizer that updates in the backward pass, as LOMO, has no step(): pass a model "
                "without these hooks, and an optimizer whose step() updates",
            )


def _hook_gradients(original: Traced, copy: Traced) -> None:
    """The hooks of a parameter (`register_hook`), which change its gradient, are those of the copy."""
    hooks: Mapping[int, Callable[..., object]] = original._backward_hooks or {}
    for hook in hooks.values():
        copy.register_hook(hook)


def _laid_out(name: str, gradient: Traced, parameter: Traced) -> Traced:
    """The gradient with the strides of its parameter, as autograd accumulates it: code may view it.

    Raises `ShardyError` for sparse ones, as embeddings may have.
    """
    if gradient.layout is not torch_module("torch").strided:
        raise ShardyError.unsupported(
            f"gradient of {name}, a sparse tensor ({gradient.layout})", remedy="leave out sparse=True"
        )
    return gradient.contiguous() if parameter.is_contiguous() else gradient


def _with_accumulated(
    gradients: Sequence[TorchTensor | None], parameters: Sequence[Traced]
) -> list[TorchTensor | None]:
    """The gradients with those that `backward()` in a model has accumulated, which are taken from it."""
    found: list[TorchTensor | None] = []
    for gradient, parameter in zip(gradients, parameters, strict=True):
        before, parameter.grad = parameter.grad, None
        found.append(gradient if before is None else before if gradient is None else before + gradient)
    return found


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
