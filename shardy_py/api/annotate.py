"""What a user adds to a program: shardings, groups, barriers, meshes; in place, on a copy of it.

Not here: which value is meant (`values.py`), that the result is valid (the verifier).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i32, i64
from xdsl.ir import Operation, SSAValue

from shardy_py.api.partition_spec import P
from shardy_py.api.sharding import NO_NAME, Sharding, parse_sharding
from shardy_py.api.values import Value
from shardy_py.dialects.sdy import (
    MeshAttr,
    MeshOp,
    PropagationBarrierOp,
    ShardingConstraintOp,
    ShardingGroupOp,
    TensorShardingAttr,
)
from shardy_py.dialects.sdy.interfaces import manual_axes
from shardy_py.errors import ShardyError
from shardy_py.graph.holders import SHARDING, Holder, Place, read, result_shardings, write_all
from shardy_py.graph.plain import tensor_type
from shardy_py.graph.symbols import Symbols
from shardy_py.ir import build_operation, erase, find_ops, place_after_value, place_at_start, replace_uses
from shardy_py.sharding import Axes, DimensionSharding, Mesh, TensorSharding

Annotation = Sharding | P | str | tuple[Any, ...] | None
"""A sharding, sdy text, or a spec on the only mesh of the program that has its axes; None: none."""

DIRECTIONS = ("NONE", "FORWARD", "BACKWARD", "BOTH")


class Editor:
    """Changes to one module."""

    def __init__(self, module: ModuleOp) -> None:
        """Changes are made to `module` itself."""
        self._module = module
        self._symbols = Symbols(module)

    def annotate(self, value: Value, annotation: Annotation) -> None:
        """Give a value a sharding in place of what it has, or take away what the program says of it.

        What is no argument or result of a function, and has none, gets a constraint, or the only op that uses
        it is one and is changed.
        """
        if value.entry.op.parent is None:
            raise ShardyError(f"annotation of {value}: it is a constraint that another edit takes away")
        if annotation is None:
            self._remove(value)
            return
        rank = _rank(value)
        try:
            sharding = self.resolved(annotation).for_rank(rank)
        except ShardyError as error:
            raise ShardyError(f"annotation of {value}: {error.diagnostics[0].message}") from None
        holder = value.entry.holder
        if value.role != "intermediate" or _holds_annotation(holder):
            assert holder is not None
            write_all([(holder, sharding.value)])
            return
        ssa = _ssa(value, "a constraint")
        attribute = TensorShardingAttr(sharding.value)
        constraint = _only_user(ssa)
        if isinstance(constraint, ShardingConstraintOp):
            constraint.properties["sharding"] = attribute
        else:
            _insert_after(value, ssa, ShardingConstraintOp, {"sharding": attribute})

    def resolved(self, annotation: Annotation) -> Sharding:
        """The sharding, on a mesh of the module, added to it if need be."""
        if isinstance(annotation, Sharding):
            return annotation.named(self.name_of(annotation.mesh, str(annotation.value.mesh)))
        if isinstance(annotation, str):
            value = parse_sharding(annotation)
            if isinstance(value.mesh, Mesh):
                return Sharding(value.mesh, value).named(self.name_of(value.mesh, NO_NAME))
            mesh = self._symbols.mesh(value.mesh)
            if mesh is None:
                raise ShardyError(f"the program has no mesh @{value.mesh}{self._known_meshes()}")
            return Sharding(mesh, value)
        meshes = {name: mesh for name, mesh in self._symbols.meshes().items() if not mesh.is_maximal}
        spec = P.of(annotation)
        named = (*spec.replicated, *spec.unreduced, *(a for d in spec.dimensions for a in d.axes))
        axes = {axis.name for axis in named}
        if len(meshes) > 1 and axes:
            fitting = {name: mesh for name, mesh in meshes.items() if axes <= set(mesh.order)}
            if not fitting:
                told = ", ".join(f"@{name} {mesh}" for name, mesh in meshes.items())
                raise ShardyError(f"no mesh of the program has all axes of {spec!r}; it has {told}")
            meshes = fitting
        if len(meshes) != 1:
            raise ShardyError(
                f"{spec!r} names no mesh, and the program has {len(meshes)}{self._known_meshes()}; "
                "use Sharding(mesh, P(...)), or give the program a mesh: program.with_mesh(mesh)"
            )
        ((name, mesh),) = meshes.items()
        return Sharding(mesh, spec, mesh_name=name)

    def name_of(self, mesh: Mesh, wanted: str) -> str:
        """The symbol of an equal mesh; if there is none, the mesh is added as `wanted` or a name like it."""
        meshes = self._symbols.meshes()
        for name in sorted(meshes, key=lambda name: name != wanted):
            if meshes[name] == mesh:
                return name
        return self._add_mesh(wanted, mesh)

    def set_mesh(self, name: str, mesh: Mesh) -> None:
        """Make `mesh` the mesh of that name."""
        op = self._symbols.get(name)
        if isinstance(op, MeshOp):
            op.properties["mesh"] = MeshAttr(mesh)
        elif op is not None:
            raise ShardyError(f"@{name} is taken by a '{op.name}' op; give the mesh another name")
        else:
            self._add_mesh(name, mesh)

    def group(self, values: Sequence[Value]) -> None:
        """Put values into a new sharding group."""
        shapes = {value.shape for value in values}
        if len(shapes) > 1:
            told = ", ".join(f"{value} {value.shape}" for value in values)
            raise ShardyError(f"members of a sharding group have one shape; got {told}")
        taken = (cast(Any, op).group_id.value.data for op in find_ops(self._module, ShardingGroupOp.name))
        number = IntegerAttr(1 + max(taken, default=-1), i64)
        for value in values:
            ssa = _ssa(value, "a sharding group")
            _rank(value)
            op = build_operation(ShardingGroupOp, [ssa], (), {"group_id": number}, {}, value.entry.location)
            place_after_value(op, ssa)

    def barrier(self, value: Value, direction: str) -> None:
        """Put a propagation barrier after a value."""
        if direction not in DIRECTIONS:
            raise ShardyError(f"expected a direction among {', '.join(DIRECTIONS)}; got: {direction!r}")
        _rank(value)
        number = IntegerAttr(DIRECTIONS.index(direction), i32)
        properties = {"allowed_direction": number}
        _insert_after(value, _ssa(value, "a barrier"), PropagationBarrierOp, properties)

    def _add_mesh(self, wanted: str, mesh: Mesh) -> str:
        properties: dict[str, Any] = {"sym_name": StringAttr(wanted), "mesh": MeshAttr(mesh)}
        op = build_operation(MeshOp, (), (), properties, {}, self._module.location)
        place_at_start(op, self._module.body.block)
        return self._symbols.insert(op)

    def add_symbol(self, op: Operation) -> str:
        """Put an op that defines a symbol last in the module, under a name of its own; returns the name."""
        return self._symbols.insert(op)

    def _known_meshes(self) -> str:
        names = ", ".join(f"@{name}" for name in self._symbols.meshes())
        return f"; it has {names}" if names else ""

    def _remove(self, value: Value) -> None:
        entry = value.entry
        if entry.value is None or entry.role == "argument":
            name = "res_attrs" if entry.value is None else "arg_attrs"
            given = cast("ArrayAttr[DictionaryAttr] | None", entry.op.properties.get(name))
            if given is not None:
                entries = [dict(d.data) for d in given.data]
                entries[entry.index].pop(SHARDING, None)
                entry.op.properties[name] = ArrayAttr([DictionaryAttr(e) for e in entries])
            return
        holder = entry.holder
        known = None if holder is None else read(holder)
        if holder is not None and known is not None and holder.place is not Place.PROPERTY:
            write_all([(holder, _open_but_for(known, manual_axes(holder.op)))])
            if all(s == TensorSharding.fully_open(s.mesh, s.rank) for s in result_shardings(holder.op)):
                holder.op.attributes.pop(SHARDING, None)
        if isinstance(entry.op, ShardingConstraintOp):
            replace_uses(entry.value, entry.op.input)
            erase(entry.op)
            return
        for use in list(entry.value.uses):
            constraint = use.operation
            if isinstance(constraint, ShardingConstraintOp):
                replace_uses(constraint.result, entry.value)
                erase(constraint)


def _holds_annotation(holder: Holder | None) -> bool:
    """Whether a sharding is there that may be another; those of manual computations say what they do."""
    if holder is None or holder.place in (Place.INNER_ARGUMENT, Place.OUTER_RESULT):
        return False
    return read(holder) is not None


def _only_user(ssa: SSAValue) -> Operation | None:
    uses = list(ssa.uses)
    return uses[0].operation if len(uses) == 1 else None


def _open_but_for(sharding: TensorSharding, axes: Collection[str]) -> TensorSharding:
    """Nothing but those of the axes that are manual."""

    def kept(refs: Axes) -> Axes:
        return tuple(ref for ref in refs if ref.name in axes)

    dimensions = tuple(DimensionSharding(kept(d.axes)) for d in sharding.dimensions)
    return TensorSharding(sharding.mesh, dimensions, kept(sharding.replicated_axes))


def _insert_after(value: Value, ssa: SSAValue, op_class: type[Operation], properties: dict[str, Any]) -> None:
    """An op with one operand and a result of the same type, between a value and all its users."""
    op = build_operation(op_class, [ssa], [ssa.type], properties, {}, value.entry.location)
    place_after_value(op, ssa)
    replace_uses(ssa, op.results[0], but_not_in=op)


def _rank(value: Value) -> int:
    found = tensor_type(value.entry.type)
    if found is None:
        raise ShardyError(f"{value} is no ranked tensor but {value.entry.type}: it has no sharding")
    return len(found.shape)


def _ssa(value: Value, what: str) -> SSAValue:
    if value.entry.value is None:
        raise ShardyError(
            f"{what} holds SSA values; {value} of @{value.function} is none: name the value returned"
        )
    return value.entry.value
