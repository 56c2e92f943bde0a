"""What the lint rules ask of a value: how large it is, whether it is cut, wanted so, could be cut.

Not here: the rules (`rules.py`).
"""

from __future__ import annotations

from xdsl.ir import BlockArgument

from shardy_py.api import Result, Value
from shardy_py.graph.holders import manual_axes
from shardy_py.graph.plain import tensor_type
from shardy_py.graph.value_table import ValueEntry
from shardy_py.layout import layout_bytes
from shardy_py.sharding import MeshAxis

MANUAL = "sdy.manual_computation"


def global_bytes(value: Value) -> int:
    """The size of the whole tensor; 0 if it is dynamic, or no tensor."""
    shape, element = value.shape, value.element_type
    if shape is None or element is None or None in shape:
        return 0
    return layout_bytes(element, tuple(size or 0 for size in shape), "linear").unpadded


def is_cut(value: Value) -> bool:
    """Whether devices hold different parts or terms of the value, or one device alone has it."""
    sharding = value.sharding
    if sharding is None or sharding.mesh.is_maximal:
        return sharding is not None
    lists = [sharding.unreduced_axes, *(dimension.axes for dimension in sharding.dimensions)]
    return any(axis.size(sharding.mesh) > 1 for axes in lists for axis in axes)


def is_wanted(result: Result, value: Value) -> bool:
    """Whether the program itself says how the value is sharded."""
    if value.role == "intermediate":
        return value.entry.op.name in ("sdy.reshard", "sdy.sharding_constraint", MANUAL)
    given = (v.sharding for v in result.source.values.named(f"@{value.function}:{value.name}"))
    return any(s.replicated_axes or any(d.is_closed for d in s.dimensions) for s in given if s is not None)


def best_place(value: Value) -> tuple[int, str] | None:
    """The largest dimension, and the largest axis that may shard it; None where there is none."""
    shape = [size or 0 for size in value.shape or ()]
    axes = _free_axes(value)
    if not shape or not axes:
        return None
    return shape.index(max(shape)), max(axes, key=lambda axis: axis.size).name


def _free_axes(value: Value) -> list[MeshAxis]:
    """The axes over which the value may be sharded: those of more than one device that are not manual."""
    taken = _manual_around(value)
    meshes = [value.sharding.mesh] if value.sharding is not None else list(value.meshes.values())
    return [axis for mesh in meshes for axis in mesh.axes if axis.size > 1 and axis.name not in taken]


def _manual_around(value: Value) -> set[str]:
    """The manual axes of the computations that a value is inside of: along those it is a part already."""
    taken: set[str] = set()
    ssa = value.entry.value
    inside = ssa.owner if isinstance(ssa, BlockArgument) else value.entry.op.parent
    around = None if inside is None or ssa is None else inside.parent_op()
    while around is not None:
        if around.name == MANUAL:
            taken.update(manual_axes(around))
        around = around.parent_op()
    return taken


def is_passed_on(value: Value) -> bool:
    """Whether the value only stands for another one, which is reported itself."""
    entry: ValueEntry = value.entry
    return entry.role == "intermediate" and entry.value is not None and entry.value not in entry.op.results


def relates_dimensions(value: Value) -> bool:
    """Whether the op of a value takes and gives tensors with dimensions that could be sharded."""
    op = value.entry.op
    ranks = [
        [type_.rank for v in values if (type_ := tensor_type(v.type))] for values in (op.operands, op.results)
    ]
    return all(map(any, ranks)) and bool(_free_axes(value))
