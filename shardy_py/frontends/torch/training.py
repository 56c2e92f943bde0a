"""Training steps of PyTorch: model, loss, backward pass and optimizer as one program.

    model, optimizer = MLP(), torch.optim.AdamW(...)
    program = from_training(model, F.mse_loss, optimizer, (x,), targets=(y,), mesh=mesh)

The function takes parameters, buffers, the optimizer's states, inputs and targets, and returns the loss and
the new parameters, buffers and states, whose arguments are donated. docs/design/torch.md has the reasons.

Not here: the step as a function of tensors (`training_step.py`), tracing (`trace.py`), the optimizer's states
(`optimizers.py`), shardings by name (`programs.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from shardy_py.api import Mesh, Program
from shardy_py.frontends.builder import Argument, Tensor, build, sharding_group
from shardy_py.frontends.torch import step_names
from shardy_py.frontends.torch.arguments import check_model, part_name, targets_of
from shardy_py.frontends.torch.boundaries import Boundaries
from shardy_py.frontends.torch.export import TorchGraph
from shardy_py.frontends.torch.idle_states import without_idle_states
from shardy_py.frontends.torch.module_arguments import numbered_arguments
from shardy_py.frontends.torch.module_notes import note_modules
from shardy_py.frontends.torch.nodes import check, node_type
from shardy_py.frontends.torch.placements import as_mesh, torch_module
from shardy_py.frontends.torch.plan_remarks import say_unreduced, say_whole_inputs
from shardy_py.frontends.torch.plans import ParallelPlan, modules_of
from shardy_py.frontends.torch.programs import annotated, shardings_by_label, under_plan
from shardy_py.frontends.torch.protocols import FxNode, TorchModule, TorchOptimizer
from shardy_py.frontends.torch.several_optimizers import as_one
from shardy_py.frontends.torch.step_extras import TrainerOptions
from shardy_py.frontends.torch.trace import Places, TracedGraph, trace
from shardy_py.frontends.torch.training_step import StepResult, TrainingStep
from shardy_py.frontends.torch.wrapped_tensors import check_plain
from shardy_py.mlir.typed import dictionaries_of
from shardy_py.mlir.value_table import RESULT_INFO
from shardy_py.xla.prepare.populate_expanded_op_rules import populate_expanded_op_rules

ALIAS = "tf.aliasing_output"
"""The attribute of a donated argument, with the number of the result that takes its memory."""


def from_training(
    model: TorchModule,
    loss: Callable[..., object] | None,
    optimizer: TorchOptimizer | Sequence[TorchOptimizer] | None,
    example_inputs: object = (),
    *,
    targets: Sequence[object] = (),
    mesh: object = None,
    shardings: Mapping[str, object] | None = None,
    plan: object = None,
    gradients: bool = False,
    max_norm: float | None = None,
    learning_rate: bool = False,
    accumulate: int = 1,
    scaler: object = None,
    average: object = None,
    specialize: bool = False,
    name: str = "main",
) -> Program:
    """The program of one training step of a module.

    loss: called as `loss(output, *targets)`, returns a scalar; None: the output of the model is the loss, or
        has it as `loss`.
    optimizer: a `torch.optim.Optimizer` of the model's parameters, whose own code is traced, or a list of
        some; None: the step returns the loss and the gradients.
    example_inputs: the arguments of the model, a tuple, or keywords, a mapping. Only shapes and element types
        matter, so they may be on the device `meta`.
    mesh, shardings: as `from_exported` takes them. States have their parameter's sharding, unless they are
        named themselves; so do the new parameter and its gradient.
    plan: of `parallelize_module` and `fully_shard`, as `from_exported` takes it.
    gradients: whether the gradients are results, too.
    max_norm: of the gradients, which are clipped to it (`clip_grad_norm_`); None: they are not.
    learning_rate: whether the learning rate is an argument; otherwise it is the optimizer's, a constant.
    accumulate: the number of parts of the batch, whose gradients are averaged (gradient accumulation).
        `example_inputs` and `targets` are those of one; those of the others are `x 1`, `x 2`, ...
    scaler: a `torch.amp.GradScaler`: its scale is a state, and gradients that are not finite change nothing.
    average: a `torch.optim.swa_utils.AveragedModel` of the model, updated after the step (EMA, SWA).
    specialize: whether numbers that model and loss read from tensors, and sizes that depend on elements
        (`x[mask]`), are those of the example inputs, which are computed then.

    Arguments and results have names: parameters and buffers their full names, states
    `exp_avg of layers.0.weight`, a count of steps that all parameters share `step`; results are `loss`,
    `layers.0.weight after`, `layers.0.weight gradient`.

    Raises `ShardyError` if torch is not installed, for ops without a row, dynamic sizes, code that depends on
    the elements of tensors, unknown names, and placements that a sharding cannot express.
    """
    check_model(model)
    check_plain(model)
    options = TrainerOptions.of(model, max_norm, learning_rate, scaler, average, accumulate)
    step = TrainingStep.of(model, loss, as_one(optimizer), example_inputs, targets_of(targets), options)
    ours = None if mesh is None else as_mesh(mesh)
    places = Places.of(model)
    step = step.specialized(places) if specialize else step
    boundaries = Boundaries(
        None if plan is None or ours is None else ParallelPlan.of(plan, ours, modules_of(model))
    )
    tensors = [slot.tensor for slot in step.slots]
    with boundaries.watching(model), numbered_arguments(model, boundaries.plan):
        traced = trace(lambda *given: step.run(given, places, boundaries), tensors, places)
    kept, traced = without_idle_states(step, traced)
    results = kept.results(traced, gradients=gradients or optimizer is None)
    program = _program(kept, traced, results, ours, shardings, name)
    note_modules(program.module, places.called)
    if plan is not None:
        program = under_plan(program, model, ours, plan, name)
    found = annotated(program, ours, _of_every_part(kept, _with_own_names(model, shardings)), name)
    if boundaries.plan is not None and ours is not None:
        inputs = {slot.name for slot in kept.slots if slot.kind == "input"}
        say_whole_inputs(found, boundaries.plan, ours, inputs, name)
        say_unreduced(boundaries.plan, ours, kept.updated)
    return found


def _program(
    step: TrainingStep,
    traced: TracedGraph,
    results: Sequence[StepResult],
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
    step: TrainingStep, results: Sequence[StepResult], shardings: Mapping[str, object] | None
) -> list[list[str]]:
    """The names of values that have one sharding: of each parameter, with its states and results."""
    known = {result.name for result in results} | {slot.name for slot in step.slots}
    shapes = {slot.name: tuple(slot.tensor.shape) for slot in step.slots}
    given = set(
        shardings_by_label({k: v for k, v in (shardings or {}).items() if step_names.is_state(k)}, known)
    )
    groups: dict[str, list[str]] = {}
    for slot in step.slots:
        if slot.kind not in ("parameter", "state") or not shapes[slot.name]:
            continue
        is_own = slot.kind != "state" or slot.name in given
        follows = not is_own and shapes.get(slot.owner) == shapes[slot.name]
        leader = slot.owner if follows else slot.name
        made = step_names.after(slot.name), step_names.gradient(slot.name)
        groups.setdefault(leader, []).extend([slot.name, *(each for each in made if each in known)])
    return [members for members in groups.values() if len(members) > 1]


def _mark(program: Program, results: Sequence[StepResult], count: int) -> None:
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


def _of_every_part(step: TrainingStep, shardings: Mapping[str, object] | None) -> Mapping[str, object] | None:
    """The shardings with those of inputs for every part of the batch; parts may have their own."""
    if not isinstance(shardings, Mapping) or step.options.parts == 1:
        return shardings
    inputs = {slot.name for slot in step.slots if slot.kind == "input"}
    named = [(name, sharding) for name, sharding in shardings.items() if name in inputs]
    parts = range(1, step.options.parts)
    others = {part_name(name, part): sharding for name, sharding in named for part in parts}
    return {**{name: sharding for name, sharding in others.items() if name in inputs}, **shardings}
