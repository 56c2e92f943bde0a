"""What surrounds the values of a program: which axes are manual there, and of which tensors they are parts.

Not here: what devices hold of the values (`local_shapes.py`), shardings at the border of a manual computation
(`sharding/manual_axes.py`).

    surroundings = Surroundings(module, meshes)
    surroundings.around(value).manual_axes
    surroundings.outer(value)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue

from shardy_py.errors import ShardyError
from shardy_py.graph.calls import calls_in, functions_top_down
from shardy_py.graph.holders import manual_axes
from shardy_py.graph.symbols import callee_name, function_name
from shardy_py.ir import find_ops, operands_of, terminator_of
from shardy_py.ops import record
from shardy_py.sharding import DeviceSlices, Mesh, TensorSharding, device_slices
from shardy_py.sharding.manual_axes import without_free_axes
from shardy_py.sharding.meshes import Meshes, resolve

MANUAL = "sdy.manual_computation"
BODIES = frozenset(
    (
        "builtin.module",
        "func.func",
        "stablehlo.async_start",
        "stablehlo.case",
        "stablehlo.if",
        "stablehlo.while",
        "sdy.manual_computation",
        "sdy.named_computation",
    )
)
"""Ops whose regions are part of the program; those of other ops say how elements are combined."""


@dataclass(frozen=True, slots=True)
class Around:
    """What holds for all values of a block.

    is_program: whether they are values of the program, rather than elements that an op combines.
    manual_axes, mesh: of the manual computations around; (), None outside of any.
    """

    is_program: bool
    manual_axes: tuple[str, ...] = ()
    mesh: Mesh | None = None


class Surroundings:
    """The surroundings of all values of `module`, which must not change meanwhile.

    Raises:
        ShardyError: a manual computation is on a mesh that the module lacks.
    """

    def __init__(self, module: ModuleOp, meshes: Meshes) -> None:
        """Look at all manual computations, outer ones first."""
        self._meshes = meshes
        self._blocks: dict[int, Around] = {}
        manual = find_ops(module, MANUAL)
        self._bound = _axes_bound_by_callers(module) if manual else {}
        self._outer: dict[int, DeviceSlices | None] = {}
        for op in manual:
            self._add_manual(op)

    def around(self, value: SSAValue) -> Around:
        """What holds where a value is."""
        owner = value.owner
        return self._around_block(owner if isinstance(owner, Block) else owner.parent)

    def around_results(self, function: Operation) -> Around:
        """What holds for the results of a function."""
        is_defined = function.regions[0].first_block is not None
        return Around(is_defined, self._bound.get(function_name(function), ()))

    def outer(self, value: SSAValue) -> DeviceSlices | None:
        """Which part of a global tensor `value` is on each device, by manual axes alone; None: not known."""
        return self._outer.get(id(value))

    def _add_manual(self, op: Operation) -> None:
        """Notes how the arguments of the body, and what it returns, are cut out of global tensors."""
        axes = manual_axes(op)
        around, mesh = self._around_block(op.parent), self._manual_mesh(op) or Mesh()
        last = terminator_of(op.regions[0])
        returned = operands_of(last) if last is not None else ()
        sides = (
            ("in_shardings", operands_of(op), op.regions[0].blocks[0].args),
            ("out_shardings", op.results, returned),
        )
        for name, outside, inside in sides:
            shardings = cast(Any, op.properties[name]).data
            for sharding, outer, inner in zip(shardings, outside, inside, strict=True):
                slices = self._manual_slices(sharding, mesh, outer, axes)
                if slices is not None and around.manual_axes:
                    further = self._outer.get(id(outer))
                    slices = within(slices, further) if further is not None else None
                self._note(inner, slices)

    def _note(self, value: SSAValue, slices: DeviceSlices | None) -> None:
        """An argument keeps its slices; a value that is returned as parts of different tensors has none."""
        if id(value) not in self._outer:
            self._outer[id(value)] = slices
        elif not isinstance(value.owner, Block) and self._outer[id(value)] != slices:
            self._outer[id(value)] = None

    def _manual_slices(
        self, sharding: TensorSharding, mesh: Mesh, value: SSAValue, axes: tuple[str, ...]
    ) -> DeviceSlices | None:
        type_ = value.type
        if not isinstance(type_, TensorType):
            return None
        shape = tensor_type(cast("TensorType[Any]", type_)).shape
        return device_slices(without_free_axes(sharding, axes), mesh, shape) if None not in shape else None

    def _manual_mesh(self, op: Operation) -> Mesh | None:
        """The mesh of a manual computation: the one of its shardings that are not on the empty mesh."""
        both = (cast(Any, op.properties[name]).data for name in ("in_shardings", "out_shardings"))
        meshes = [find_mesh(sharding, self._meshes) for shardings in both for sharding in shardings]
        return next((mesh for mesh in meshes if mesh.axes), None)

    def _around_block(self, block: Block | None) -> Around:
        if block is None:
            return Around(True)
        known = self._blocks.get(id(block))
        if known is None:
            known = self._blocks[id(block)] = self._new_surroundings(block)
        return known

    def _new_surroundings(self, block: Block) -> Around:
        op = block.parent_op()
        if op is None:
            return Around(True)
        outer = self._around_block(op.parent)
        if op.name not in BODIES or not outer.is_program:
            return Around(False)
        if op.name == "func.func":
            return self.around_results(op)
        if op.name == MANUAL:
            mesh = self._manual_mesh(op) or outer.mesh
            return Around(True, outer.manual_axes + manual_axes(op), mesh)
        return outer


def find_mesh(sharding: TensorSharding, meshes: Meshes) -> Mesh:
    """The mesh of a sharding.

    Raises:
        ShardyError: the module has none of its name.
    """
    try:
        return resolve(sharding.mesh, meshes)
    except KeyError:
        known = ", ".join(f"@{name}" for name in meshes) or "none"
        raise ShardyError(
            f"the module has no mesh @{sharding.mesh}; expected one of its meshes: {known}"
        ) from None


def tensor_type(type_: TensorType[Any]) -> record.TensorType:
    """The type as a plain value."""
    shape = tuple(None if size < 0 else size for size in type_.get_shape())
    return record.TensorType(shape, str(type_.element_type))


def within(inner: DeviceSlices, outer: DeviceSlices) -> DeviceSlices | None:
    """`inner` as slices of the tensor of which `outer` gives each device a part; None: on another mesh."""
    if inner.mesh == Mesh():
        inner = replace(inner, mesh=outer.mesh)
    return inner.within(outer) if inner.mesh == outer.mesh else None


def _axes_bound_by_callers(module: ModuleOp) -> dict[str, tuple[str, ...]]:
    """The manual axes that are bound where a function is called, by function."""
    bound: dict[str, tuple[str, ...]] = {}
    for function in functions_top_down(module):
        own = bound.get(function_name(function), ())
        for call in calls_in(function):
            axes = [*bound.get(callee_name(call), ()), *own]
            op = call.parent_op()
            while op is not None and op is not function:
                axes += manual_axes(op) if op.name == MANUAL else ()
                op = op.parent_op()
            bound[callee_name(call)] = tuple(dict.fromkeys(axes))
    return bound
