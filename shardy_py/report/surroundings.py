"""The surroundings of the values of a program: manual axes, and the global tensors that they are parts of.

Not here: the parts that devices hold (`local_shapes.py`), shardings at the border of a manual computation
(`sharding/tensor_sharding.py`).

    surroundings = Surroundings(module, meshes)
    surroundings.of(entry).manual_axes
    surroundings.outer(value)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.calls import calls_in, functions_top_down
from shardy_py.mlir.dialects.sdy import TensorShardingPerValueAttr
from shardy_py.mlir.dialects.sdy.interfaces import manual_axes
from shardy_py.mlir.ir import operands_of, terminator_of, walk_pre_order
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import callee_name, function_name
from shardy_py.mlir.typed import property_of
from shardy_py.mlir.value_table import ValueEntry
from shardy_py.ops import TABLE, Control
from shardy_py.sharding import DeviceSlices, Mesh, TensorSharding, device_slices
from shardy_py.sharding.meshes import Meshes, mesh_of
from shardy_py.sharding.tensor_sharding import without_free_axes


@dataclass(frozen=True, slots=True)
class RegionScope:
    """The surroundings of all values of a block.

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
        self._meshes = meshes
        self._scopes: dict[int, RegionScope] = {}
        manual = [op for op in walk_pre_order(module) if is_manual(op)]
        self._bound = _axes_bound_by_callers(module) if manual else {}
        self._outer: dict[int, DeviceSlices | None] = {}
        for op in manual:  # outer ones first
            self._add_manual(op)

    def of(self, entry: ValueEntry) -> RegionScope:
        """Returns the surroundings of a value, or of a function's result."""
        value = entry.value
        if value is None:
            return self._function_scope(entry.op)
        return self._scope(value.owner if isinstance(value.owner, Block) else value.owner.parent)

    def outer(self, value: SSAValue) -> DeviceSlices | None:
        """Returns the slices of a global tensor that `value` is, by manual axes; None if unknown."""
        return self._outer.get(id(value))

    def _add_manual(self, op: Operation) -> None:
        """Records how arguments and returned values of the body are sliced from global tensors."""
        axes = manual_axes(op)
        scope, mesh = self._scope(op.parent), self._mesh(op) or Mesh()
        terminator = terminator_of(op.regions[0])
        sides = (
            (operands_of(op), op.regions[0].blocks[0].args),
            (op.results, operands_of(terminator) if terminator is not None else ()),
        )
        for shardings, (outside, inside) in zip(_shardings(op), sides, strict=True):
            for sharding, outer, inner in zip(shardings, outside, inside, strict=True):
                type_ = tensor_type(outer.type)
                slices = None
                own = mesh_of(sharding, self._meshes)
                # Without manual axes, shardings may be on different meshes: slices of others are unknown.
                if own.axes in ((), mesh.axes) and type_ is not None and None not in type_.shape:
                    slices = device_slices(without_free_axes(sharding, axes), mesh, type_.shape)
                if slices is not None and scope.manual_axes:
                    further = self._outer.get(id(outer))
                    slices = within(slices, further) if further is not None else None
                self._record(inner, slices)

    def _record(self, value: SSAValue, slices: DeviceSlices | None) -> None:
        """Records slices; a value that is returned as parts of different tensors has none."""
        if id(value) not in self._outer:
            self._outer[id(value)] = slices
        elif not isinstance(value.owner, Block) and self._outer[id(value)] != slices:
            self._outer[id(value)] = None

    def _mesh(self, op: Operation) -> Mesh | None:
        """Returns the mesh of a manual computation: that of its shardings but the empty mesh."""
        meshes = [mesh_of(s, self._meshes) for shardings in _shardings(op) for s in shardings]
        return next((mesh for mesh in meshes if mesh.axes), None)

    def _scope(self, block: Block | None) -> RegionScope:
        op = None if block is None else block.parent_op()
        if block is None or op is None:
            return RegionScope(True)
        if id(block) not in self._scopes:
            self._scopes[id(block)] = self._new_scope(op)
        return self._scopes[id(block)]

    def _new_scope(self, op: Operation) -> RegionScope:
        outer = self._scope(op.parent)
        if TABLE[op.name].control is Control.NONE or not outer.is_program:
            return RegionScope(False)
        if isinstance(op, FuncOp):
            return self._function_scope(op)
        if is_manual(op):
            return RegionScope(True, outer.manual_axes + manual_axes(op), self._mesh(op) or outer.mesh)
        return outer

    def _function_scope(self, function: Operation) -> RegionScope:
        is_defined = function.regions[0].first_block is not None
        return RegionScope(is_defined, self._bound.get(function_name(function), ()))


def is_manual(op: Operation) -> bool:
    """Returns whether the region of `op` is a manual computation."""
    return TABLE[op.name].control is Control.MANUAL


def manual_computations_around(op: Operation | None) -> Iterator[Operation]:
    """Returns the manual computations among an op and the ops around it, innermost first."""
    while op is not None:
        if is_manual(op):
            yield op
        op = op.parent_op()


def within(inner: DeviceSlices, outer: DeviceSlices) -> DeviceSlices | None:
    """Returns `inner` as slices of the tensor whose parts `outer` describes; None if on another mesh."""
    if inner.mesh == Mesh():
        inner = replace(inner, mesh=outer.mesh)
    return inner.within(outer) if inner.mesh == outer.mesh else None


def _shardings(op: Operation) -> tuple[tuple[TensorSharding, ...], ...]:
    return tuple(
        property_of(op, name, TensorShardingPerValueAttr).data for name in ("in_shardings", "out_shardings")
    )


def _axes_bound_by_callers(module: ModuleOp) -> dict[str, tuple[str, ...]]:
    """Returns, for each function, the manual axes around its calls."""
    bound: dict[str, tuple[str, ...]] = {}
    for function in functions_top_down(module):
        own = bound.get(function_name(function), ())
        for call in calls_in(function):
            axes = [*bound.get(callee_name(call), ()), *own]
            for op in manual_computations_around(call):
                axes += manual_axes(op)
            bound[callee_name(call)] = tuple(dict.fromkeys(axes))
    return bound
