"""Training steps of PyTorch: model, loss, backward pass and optimizer as one program.

    model, optimizer = MLP(), torch.optim.AdamW(...)
    program = from_training(model, F.mse_loss, optimizer, (x,), targets=(y,), mesh=mesh)

The function takes parameters, buffers, the optimizer's states, inputs and targets, and returns the loss and
the new parameters, buffers and states, whose arguments are donated. docs/design/torch.md has the reasons.

Not here: tracing (`trace.py`), the optimizer's states (`optimizers.py`), shardings by name
(`programs.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from shardy_py.api import Mesh, Program, ShardyError
from shardy_py.base.narrowing import is_mapping, is_sequence
from shardy_py.frontends.builder import Argument, Tensor, build, sharding_group
from shardy_py.frontends.torch.arguments import (
    StepArgument,
    call_of,
    named_inputs,
    named_targets,
    rate_slots,
    state_slots,
)
from shardy_py.frontends.torch.boundaries import Boundaries
from shardy_py.frontends.torch.export import TorchGraph
from shardy_py.frontends.torch.nodes import check, node_type
from shardy_py.frontends.torch.optimizers import States, check_optimizer, run_step, updated_names
from shardy_py.frontends.torch.placements import as_mesh, torch_module
from shardy_py.frontends.torch.plans import ParallelPlan, modules_of
from shardy_py.frontends.torch.programs import annotated, shardings_by_label, under_plan
from shardy_py.frontends.torch.protocols import FxNode, TorchModule, TorchOptimizer, TorchTensor
from shardy_py.frontends.torch.trace import Places, TracedGraph, trace
from shardy_py.mlir.typed import dictionaries_of
from shardy_py.mlir.value_table import RESULT_INFO
from shardy_py.xla.prepare.populate_expanded_op_rules import populate_expanded_op_rules

ALIAS = "tf.aliasing_output"
"""The attribute of a donated argument, with the number of the result that takes its memory."""


def from_training(
    model: TorchModule,
    loss: Callable[..., object] | None,
    optimizer: TorchOptimizer | None,
    example_inputs: object = (),
    *,
    targets: Sequence[object] = (),
    mesh: object = None,
    shardings: Mapping[str, object] | None = None,
    plan: object = None,
    gradients: bool = False,
    max_norm: float | None = None,
    learning_rate: bool = False,
    name: str = "main",
) -> Program:
    """The program of one training step of a module.

    loss: called as `loss(output, *targets)`, returns a scalar; None: the output of the model is the loss, or
        has it as `loss`.
    optimizer: a `torch.optim.Optimizer` of the model's parameters, whose own code is traced; None: the step
        returns the loss and the gradients.
    example_inputs: the arguments of the model, a tuple, or keywords, a mapping. Only shapes and element types
        matter, so they may be on the device `meta`.
    mesh, shardings: as `from_exported` takes them. States have their parameter's sharding, unless they are
        named themselves; so do the new parameter and its gradient.
    plan: of `parallelize_module` and `fully_shard`, as `from_exported` takes it.
    gradients: whether the gradients are results, too.
    max_norm: of the gradients, which are clipped to it (`clip_grad_norm_`); None: they are not.
    learning_rate: whether the learning rate is an argument; otherwise it is the optimizer's, a constant.

    Arguments and results have names: parameters and buffers their full names, states
    `exp_avg of layers.0.weight`, a count of steps that all parameters share `step`; results are `loss`,
    `layers.0.weight after`, `layers.0.weight gradient`.

    Raises `ShardyError` if torch is not installed, for ops without a row, dynamic sizes, code that depends on
    the elements of tensors, unknown names, and placements that a sharding cannot express.
    """
    step = _Step.of(model, loss, optimizer, example_inputs, tuple(targets), max_norm, learning_rate)
    ours = None if mesh is None else as_mesh(mesh)
    places = Places.of(model)
    boundaries = Boundaries(
        None if plan is None or ours is None else ParallelPlan.of(plan, ours, modules_of(model))
    )
    tensors = [slot.tensor for slot in step.slots]
    with boundaries.watching(model):
        traced = trace(lambda *given: step.run(given, places, boundaries), tensors, places)
    results = step.results(traced, gradients=gradients or optimizer is None)
    program = _program(step, traced, results, ours, shardings, name)
    if plan is not None:
        program = under_plan(program, model, ours, plan, name)
    return annotated(program, ours, _with_own_names(model, shardings), name)


# ---------------------------------------------------------------------- the step


@dataclass(frozen=True, eq=False)
class _Step:
    """The step as a function of tensors; `slots` are its arguments in order.

    updated: the names of the parameters with gradients. parameter_names: of the optimizer's, by identity.
    """

    model: TorchModule
    loss: Callable[..., object] | None
    optimizer: TorchOptimizer | None
    max_norm: float | None
    slots: tuple[StepArgument, ...]
    updated: tuple[str, ...]
    parameter_names: Mapping[int, str]
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
    ) -> _Step:
        """Raises `ShardyError` for anything but a module, and an optimizer of other parameters."""
        torch = torch_module("torch")
        if not isinstance(model, torch.nn.Module):
            raise ShardyError.unexpected("", expected="a torch.nn.Module", got=type(model).__name__)
        parameters = dict(model.named_parameters())
        names = {id(parameter): name for name, parameter in parameters.items()}
        updated = tuple(name for name, parameter in parameters.items() if parameter.requires_grad)
        slots = [StepArgument("parameter", name, tensor) for name, tensor in parameters.items()]
        slots += [StepArgument("buffer", name, tensor) for name, tensor in model.named_buffers()]
        if optimizer is not None:
            check_optimizer(optimizer, names)
            updated = updated_names(optimizer, names)
            slots += state_slots(optimizer, names, {name: parameters[name] for name in updated})
            if learning_rate:
                slots += rate_slots(optimizer)
        if not updated:
            raise ShardyError("no parameter requires a gradient; call requires_grad_() on some")
        taken = {slot.name for slot in slots} | {"loss"}
        slots += [
            StepArgument("input", f"{path} (input)" if path in taken else path, tensor)
            for path, tensor in (*named_inputs(model, example_inputs), *named_targets(loss, targets))
        ]
        return _Step(model, loss, optimizer, max_norm, tuple(slots), updated, names, example_inputs, targets)

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
                states = self._states(copies)
                changed = run_step(
                    self.optimizer,
                    self.parameter_names,
                    parameters,
                    gradients,
                    states,
                    dict(enumerate(rates)),
                )
                copies |= {
                    slot.name: changed[slot.owner or next(iter(changed))][slot.key]
                    for slot in self.slots
                    if slot.kind == "state" and slot.owner in ("", *changed)
                }
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
        output = self.model(*positional, **keywords)
        places.phase = "loss"
        loss: Any = _loss_of(output) if self.loss is None else self.loss(output, *targets)
        if isinstance(loss, torch.Tensor) and loss.numel() == 1 and loss.requires_grad:
            return loss.reshape(())
        is_tensor = isinstance(loss, torch.Tensor)
        raise ShardyError.unexpected(
            "loss",
            expected="a scalar that depends on parameters",
            got=f"a tensor of shape {tuple(loss.shape)}" if is_tensor else type(loss).__name__,
            remedy="pass loss(output, *targets)",
        )

    def _states(self, copies: Mapping[str, TorchTensor]) -> States:
        """The states as the optimizer has them: those of all parameters for each."""
        states: States = {name: {} for name in self.updated}
        for slot in self.slots:
            if slot.kind == "state":
                for owner in [slot.owner] if slot.owner else self.updated:
                    # The optimizer counts each parameter's steps in its own tensor.
                    copy = copies[slot.name] if slot.owner else copies[slot.name].clone()
                    states[owner][slot.key] = copy
        return {name: own for name, own in states.items() if own}

    def results(self, traced: TracedGraph, *, gradients: bool) -> tuple[_Result, ...]:
        """The results that the program has: nodes with names, and the arguments that they replace."""
        loss, *rest = traced.outputs
        found = [_Result("loss", loss)]
        by_name = dict(zip(self.updated, rest, strict=False))
        for number, (slot, node) in enumerate(
            zip((s for s in self.slots if s.kind in _CHANGED), rest[len(self.updated) :], strict=True)
        ):
            if _source(node) is not traced.inputs[number]:
                found.append(_Result(f"{slot.name} after", node, number))
        if gradients:
            found += [_Result(f"{n} gradient", node) for n, node in by_name.items() if node is not None]
        return tuple(found)


@dataclass(frozen=True, slots=True)
class _Result:
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


def _loss_of(output: Any) -> object:
    """The loss in the output of a model: itself, its first element, or its `loss`."""
    if is_mapping(output):
        return output.get("loss")
    if hasattr(output, "loss"):
        return output.loss
    return output[0] if is_sequence(output) else output


# ---------------------------------------------------------------------- the program


def _program(
    step: _Step,
    traced: TracedGraph,
    results: Sequence[_Result],
    mesh: Mesh | None,
    shardings: Mapping[str, object] | None,
    name: str,
) -> Program:
    """The program on a mesh, with groups of values that have one sharding, without shardings."""
    check(traced.nodes)
    arguments = tuple(
        Argument(node_type(node), name=slot.name)
        for node, slot in zip(traced.inputs, step.slots, strict=True)
    )
    output = _output([result.node for result in results])
    graph = TorchGraph((*traced.nodes[:-1], output), traced.inputs, arguments, traced.constants, ())
    groups = _groups(step, results, shardings)

    def body(*tensors: Tensor) -> tuple[Tensor, ...]:
        found = graph.run(*tensors)
        by_name = {slot.name: tensor for slot, tensor in zip(step.slots, tensors, strict=True)}
        by_name |= {result.name: tensor for result, tensor in zip(results, found, strict=True)}
        for number, members in enumerate(groups):
            sharding_group([by_name[member] for member in members], number)
        return found

    program = build(body, *arguments, mesh=mesh, name=name)
    populate_expanded_op_rules(program.module)
    _mark(program, results, len(arguments))
    return program


def _output(nodes: Sequence[FxNode]) -> FxNode:
    """An output node for these results."""
    graph = torch_module("torch.fx").Graph()
    node = graph.output(())
    object.__setattr__(node, "_args", (tuple(nodes),))
    return node


def _groups(
    step: _Step, results: Sequence[_Result], shardings: Mapping[str, object] | None
) -> list[list[str]]:
    """The names of values that have one sharding: of each parameter, with its states and results."""
    known = {result.name for result in results} | {slot.name for slot in step.slots}
    shapes = {slot.name: tuple(slot.tensor.shape) for slot in step.slots}
    given = set(shardings_by_label({k: v for k, v in (shardings or {}).items() if " of " in k}, known))
    groups: dict[str, list[str]] = {}
    for slot in step.slots:
        if slot.kind not in ("parameter", "state") or not shapes[slot.name]:
            continue
        follows = slot.kind == "state" and slot.name not in given and shapes[slot.owner] == shapes[slot.name]
        leader = slot.owner if follows else slot.name
        after = [f"{slot.name} {what}" for what in ("after", "gradient")]
        groups.setdefault(leader, []).extend([slot.name, *(each for each in after if each in known)])
    return [members for members in groups.values() if len(members) > 1]


def _mark(program: Program, results: Sequence[_Result], count: int) -> None:
    """Names the results, and marks the arguments that they replace as donated."""
    function = next(op for op in program.module.body.block.ops if isinstance(op, FuncOp))
    replaced = {
        result.replaced: number for number, result in enumerate(results) if result.replaced is not None
    }
    existing = dictionaries_of(function, "arg_attrs")
    attributes: list[dict[str, Attribute]] = (
        [dict(entry.data) for entry in existing] if existing else [{} for _ in range(count)]
    )
    for argument, result in replaced.items():
        attributes[argument][ALIAS] = IntegerAttr(result, i32)
    function.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(entry) for entry in attributes])
    names = [DictionaryAttr({RESULT_INFO: StringAttr(result.name)}) for result in results]
    function.properties["res_attrs"] = ArrayAttr(names)


def _with_own_names(
    model: TorchModule, shardings: Mapping[str, object] | None
) -> Mapping[str, object] | None:
    """The shardings with the names that tied parameters have as arguments: the first of each."""
    if not isinstance(shardings, Mapping):
        return shardings
    first = {id(parameter): name for name, parameter in model.named_parameters()}
    every = model.named_parameters(remove_duplicate=False)
    names = {name: first[id(parameter)] for name, parameter in every}
    return {names.get(key, key): sharding for key, sharding in shardings.items()}
