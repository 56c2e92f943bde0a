"""A plan of DTensor in a program: shardings of parameters, constraints where modules begin and end.

    before  %1 = dot_general %x, %w loc("up/linear")
    after   %0 = sharding_constraint %x <@mesh, [{?}, {?}], replicated={"tp"}> loc("up/input_layouts")
            %1 = dot_general %0, %w loc("up/linear")
            %2 = sharding_constraint %1 <@mesh, [{?}, {"tp", ?}]> loc("up/output_layouts")

A parameter of FSDP is used through a constraint that is replicated along its axis, `loc("up/fully_shard")`;
ops of the backward pass through another one. Gathers of a module have one location, so reports by line count
them together.

Not here: which module gets what (`plans.py`), shardings of parameters (`parameter_shardings.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import count
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, NameLoc, StringAttr, UnknownLoc, i32
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.api import Mesh, Program, Sharding, ShardyError, Value
from shardy_py.api.annotate import DIRECTIONS, Editor
from shardy_py.base.records import dataclass
from shardy_py.frontends.builder.tensor import static_shape
from shardy_py.frontends.torch.boundaries import (
    AGAIN,
    INPUTS,
    OUTPUTS,
    PARAMETER,
    PARTS,
    boundaries_in,
    boundary_name,
)
from shardy_py.frontends.torch.gradients import divides, summed_values
from shardy_py.frontends.torch.module_arguments import ARGUMENT, ArgumentUses, taken_arguments
from shardy_py.frontends.torch.parameter_shardings import closed, parameter_sharding
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.plans import ParallelPlan, ParameterGroup, StyledModule
from shardy_py.frontends.torch.step_names import owner_of
from shardy_py.frontends.torch.styles import Layouts
from shardy_py.mlir.dialects.sdy import PropagationBarrierOp, ShardingConstraintOp, TensorShardingAttr
from shardy_py.mlir.dialects.stablehlo import CustomCallOp
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.mlir.ir import (
    build_operation,
    erase,
    operands_of,
    place_after_value,
    replace_operand,
    replace_uses,
    walk_pre_order,
)
from shardy_py.mlir.module_paths import (
    BACKWARD,
    GATHERS,
    PHASES,
    inputs_of,
    is_backward,
    is_in,
    ops_by_module,
    outer_name,
    outputs_of,
    uses_constants,
)
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.typed import of_kind, op_of
from shardy_py.sharding import AxisRef, DimensionSharding, TensorSharding

LOSS = "loss"
"""The path of ops of a training step that compute the loss."""
LAUNCH = "shardy_py.launch"
"""The attribute of constraints by which those that are equal otherwise are not merged."""


def planned(
    program: Program, plan: ParallelPlan, mesh: Mesh, parameters: Iterable[str], function: str
) -> Program:
    """The program under a plan.

    parameters: the labels of arguments that are parameters or buffers; those without a style are replicated.
    Gradients and states of an optimizer are sharded as their parameters. The other arguments are replicated
    along the axes of styles, as plain tensors are in torch.
    """
    values = [*program.values.arguments(function), *program.values.results(function)]
    names = {value.label: value for value in values if value.label in set(parameters)}
    shardings: dict[Value, Sharding] = {}
    for value in values:
        owner = names.get(owner_of(value.label))
        if owner is not None and owner.shape == value.shape:
            shardings[value] = parameter_sharding(plan, mesh, owner)
        elif plan.axes and value.shape is not None and value.role == "argument":
            shardings[value] = _only_replicated(mesh, len(value.shape), plan.axes)
    return constrained(program.annotate(shardings), plan, mesh, names, function)


def constrained(
    program: Program, plan: ParallelPlan, mesh: Mesh, parameters: Mapping[str, Value], function: str
) -> Program:
    """The program with the constraints of a plan. parameters: by label."""
    copy = program.copy()
    mesh_name = Editor(copy.module).name_of(mesh, "mesh")
    arguments = {v.label: cast(SSAValue, v.entry.value) for v in copy.values.arguments(function)}
    marked = boundaries_in(copy.module)
    taken = taken_arguments(marked)
    ops = ops_by_module(walk_pre_order(copy.module, include_root=False))
    own = frozenset(id(arguments[label]) for label in parameters if label in arguments)
    inserting = _Inserting(mesh, mesh_name, arguments, own, ops, marked, taken)
    for each in sorted(plan.styled, key=_depth):
        inserting.style(each)
    for group in plan.groups:
        inserting.gather(group)
        for label in parameters:
            if label in group.parameters:
                shape = tuple(parameters[label].shape or ())
                rank, dimensions = len(shape), plan.dimensions_of(label, shape)
                inserting.scatter(group, label, {axis: d % rank for axis, d in dimensions.items()})
    inserting.drop_boundaries()
    verify_module(copy.module)
    return Program(copy.module, taken=copy.taken)


def _depth(styled: StyledModule) -> int:
    """The number of modules around a module, that of the model itself too."""
    path = styled.module.path
    return path.count(".") + 1 if path else 0


def _only_replicated(mesh: Mesh, rank: int, axes: Sequence[str]) -> Sharding:
    return Sharding(mesh, _constraint("mesh", rank, mesh, {}, axes))


def _constraint(
    mesh_name: str, rank: int, mesh: Mesh, dimensions: Mapping[str, int], replicated: Sequence[str]
) -> TensorSharding:
    """An open sharding with axes on dimensions, and axes that it must not use, in the order of the mesh."""
    parts = (tuple(AxisRef(a) for a, d in dimensions.items() if d == number) for number in range(rank))
    kept_out = tuple(AxisRef(axis.name) for axis in mesh.axes if axis.name in replicated)
    return TensorSharding(mesh_name, tuple(DimensionSharding(p, is_closed=False) for p in parts), kept_out)


@dataclass(frozen=True)
class _Inserting:
    """The function that constraints are inserted into.

    arguments: by label. parameters: those that are parameters, by identity.
    by_module: the ops of each module before any constraint; modules around others come first, so the
        constraints inserted for one are outside of those in it.
    boundaries: the marked gradients of a training step, by the name of the boundary. taken: arguments of
    modules, by that of theirs.
    launches: the numbers of constraints.
    """

    mesh: Mesh
    mesh_name: str
    arguments: Mapping[str, SSAValue]
    parameters: frozenset[int]
    by_module: Mapping[str, list[Operation]]
    boundaries: Mapping[str, list[CustomCallOp]]
    taken: Mapping[str, list[ArgumentUses]]
    launches: Iterator[int] = field(default_factory=count)

    def style(self, given: StyledModule) -> None:
        path, style = given.module.path, given.style
        ops = self.by_module.get(path, [])
        if self.taken and not style.takes_parameters:
            self._arguments(given)
        elif any(style.inputs):
            inputs = [value for value in inputs_of(ops, path) if self._is_activation(value)]
            for number, layouts in enumerate(style.each_input(len(inputs))):
                if layouts and number < len(inputs):
                    users = [user for user in _users(inputs[number]) if is_in(outer_name(user), path)]
                    self._insert(inputs[number], layouts, given, INPUTS, users)
                elif layouts and not uses_constants(ops, path):  # which all devices have
                    raise ShardyError.unexpected(
                        f"plan for '{path}'",
                        expected=f"a module that uses at least {number + 1} tensors from outside",
                        got=str(len(inputs)),
                    )
        outputs = outputs_of(ops, path) if path else _outputs_of_model(ops)
        for value, layouts in zip(outputs, style.each_output(len(outputs)), strict=False):
            if layouts:
                users = [user for user in _users(value) if not _is_within(user, path)]
                after = self._stopped(value, users) if style.is_lookup else value
                self._insert(after, layouts, given, OUTPUTS, users)
        inputs = [*map(style.input_gradient, range(len(style.inputs)))]
        outputs = [*map(style.output_gradient, range(len(style.outputs)))]
        for what, layouts in ((INPUTS, inputs), (PARTS, inputs), (OUTPUTS, outputs)):
            self._at_boundaries(given, what, layouts)
        self._at_boundaries(given, INPUTS, style.inputs, f" {AGAIN}")
        self._at_boundaries(given, OUTPUTS, style.outputs, f" {AGAIN}")

    def _arguments(self, given: StyledModule) -> None:
        """Constrains the marked arguments of each call of a module."""
        for number, layouts in enumerate(given.style.inputs):
            for each in self.taken.get(boundary_name(given.module.path, ARGUMENT, number), ()):
                if _rank(each.value):
                    self._insert(each.value, layouts, given, INPUTS, each.users)

    def _at_boundaries(
        self, given: StyledModule, what: str, layouts: Iterable[Layouts], end: str = ""
    ) -> None:
        """Constrains the gradients, or values of checkpoints, at the boundaries of a module."""
        for number, wanted in enumerate(layouts):
            for mark in self.boundaries.get(boundary_name(given.module.path, what, f"{number}{end}"), ()):
                value, users = mark.results[0], _users(mark.results[0])
                after = self._stopped(value, users) if end and given.style.is_lookup else value
                self._insert(after, wanted, given, what + BACKWARD, users)

    def gather(self, group: ParameterGroup) -> None:
        place = "/".join(filter(None, (group.path, GATHERS)))
        for label in group.parameters:
            value = self.arguments.get(label)
            rank = 0 if value is None else _rank(value)
            if value is None or not rank:
                continue
            users = [user for user in _users(value) if _is_use(outer_name(user), group.path)]
            backward = [user for user in users if group.gathers_again and is_backward(user)]
            forward = [user for user in users if user not in backward]
            sharding = _constraint(self.mesh_name, rank, self.mesh, {}, group.plan.axes)
            for which, name in ((forward, place), (backward, place + BACKWARD)):
                if which:
                    self._put(value, sharding, NameLoc(StringAttr(name), UnknownLoc()), which)

    def scatter(self, group: ParameterGroup, label: str, dimensions: Mapping[str, int]) -> None:
        """Constrains the gradient of a parameter where it is summed: whole along the axes of the data, then
        with axes on these dimensions. Otherwise the sharding of the parameter would reach the activations.
        """
        location = NameLoc(StringAttr("/".join(filter(None, (group.path, GATHERS))) + BACKWARD), UnknownLoc())
        for mark in self.boundaries.get(boundary_name("", PARAMETER, label), ()):
            for value, found in [*summed_values(operands_of(mark)[0], dimensions, self.mesh.sizes)]:
                users, rank = _users(value), _rank(value)
                whole = _constraint(self.mesh_name, rank, self.mesh, {}, group.plan.every_axis)
                inner = self._put(value, whole, location, users)
                if divides(found, _shape(value), self.mesh.sizes):
                    own = closed(self.mesh, rank, found, group.plan.axes).named(self.mesh_name)
                    self._put(inner, own.value, location, users)

    def drop_boundaries(self) -> None:
        """Replaces the boundaries by their operands."""
        for mark in (mark for found in self.boundaries.values() for mark in found):
            replace_uses(mark.results[0], operands_of(mark)[0])
            erase(mark)

    def _insert(
        self,
        value: SSAValue,
        layouts: Sequence[object],
        given: StyledModule,
        what: str,
        users: list[Operation],
    ) -> None:
        """Constrains a value to one layout after the other; a value that has the layout is left alone.

        A barrier stands before the second where others use the value: Shardy would give it to them, too.
        """
        is_shared = what == INPUTS and len(_users(value)) > len(users)
        source = value.owner if isinstance(value, OpResult) else users[0]
        name = f"{given.module.path}/{what}" if given.module.path else what
        for number, layout in enumerate(layouts):
            sharding = self._sharding(value, layout, given)
            if not _has(value, sharding):
                value = self._stopped(value, users) if number and is_shared else value
                value = self._put(value, sharding, NameLoc(StringAttr(name), _line_of(source)), users)

    def _stopped(self, value: SSAValue, users: Iterable[Operation]) -> SSAValue:
        """A value through a barrier: the layout of a lookup's result must not reach its indices."""
        forward = IntegerAttr(DIRECTIONS.index("FORWARD"), i32)
        source = of_kind(value.owner, Operation)
        return self._replaced(
            value, PropagationBarrierOp, {"allowed_direction": forward}, source.location, users
        )

    def _sharding(self, value: SSAValue, layout: Any, given: StyledModule) -> TensorSharding:
        types = torch_module("torch.distributed.tensor.placement_types")
        rank = _rank(value)
        if isinstance(layout, types.Replicate):
            return _constraint(self.mesh_name, rank, self.mesh, {}, (given.axis,))
        if not isinstance(layout, types.Shard) or not -rank <= layout.dim < rank:
            raise ShardyError.unexpected(
                f"plan for '{given.module.path}'",
                expected=f"Replicate() or Shard(dim) for a tensor of rank {rank}",
                got=f"{layout!r}",
            )
        return _constraint(self.mesh_name, rank, self.mesh, {given.axis: layout.dim % rank}, ())

    def _put(
        self, value: SSAValue, sharding: TensorSharding, location: Attribute, users: Iterable[Operation]
    ) -> SSAValue:
        """Inserts a constraint after a value, which these ops use instead.

        Each has a number of its own: torch communicates at each, also where two need the same.
        """
        properties = {"sharding": TensorShardingAttr(sharding)}
        constrained = self._replaced(value, ShardingConstraintOp, properties, location, users)
        op_of(constrained).attributes[LAUNCH] = IntegerAttr(next(self.launches), 64)
        return constrained

    def _replaced(
        self,
        value: SSAValue,
        kind: type[Operation],
        properties: Mapping[str, Attribute],
        location: Attribute,
        users: Iterable[Operation],
    ) -> SSAValue:
        op = build_operation(kind, [value], [value.type], dict(properties), {}, location)
        place_after_value(op, value)
        for user in users:
            for index, operand in enumerate(operands_of(user)):
                if operand is value:
                    replace_operand(user, index, op.results[0])
        return op.results[0]

    def _is_activation(self, value: SSAValue) -> bool:
        """Returns whether a value is a tensor of at least one dimension, and not a parameter."""
        is_tensor = tensor_type(value.type) is not None and _rank(value) > 0
        return is_tensor and id(value) not in self.parameters


def _shape(value: SSAValue) -> tuple[int, ...]:
    return static_shape(value)


def _rank(value: SSAValue) -> int:
    return len(_shape(value))


def _is_use(name: str, path: str) -> bool:
    """Returns whether an op with a parameter is part of the module, and not of the optimizer."""
    return bool(name) and is_in(name, path) and name.rpartition("/")[0] not in PHASES


def _has(value: SSAValue, sharding: TensorSharding) -> bool:
    """Returns whether a value is constrained to that sharding."""
    owner = value.owner
    return isinstance(owner, ShardingConstraintOp) and owner.sharding.data == sharding


def _line_of(op: Operation) -> Attribute:
    """The source line in the location of an op."""
    location = of_kind(op.location, Attribute)
    return location.location if isinstance(location, NameLoc) else location


def _users(value: SSAValue) -> list[Operation]:
    return list(dict.fromkeys(use.operation for use in value.uses))


def _is_within(op: Operation, path: str) -> bool:
    """Returns whether an op is the module's, and not of the rest of a training step."""
    name = outer_name(op)
    return bool(name) and is_in(name, path) and (bool(path) or not _is_of_loss(op))


def _is_of_loss(op: Operation) -> bool:
    return outer_name(op).rpartition("/")[0] == LOSS


def _outputs_of_model(ops: Sequence[Operation]) -> list[SSAValue]:
    """The results of the whole model: what the loss of a training step uses, or the function returns."""
    results = [result for op in ops if not _is_of_loss(op) and not is_backward(op) for result in op.results]
    used = [result for result in results if any(map(_is_of_loss, _users(result)))]
    return [*used] or outputs_of(ops, "")
