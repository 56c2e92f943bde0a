"""Adds shardings, groups, barriers and meshes to a module, in place.

Not here: looking up values (`values.py`), checking the result (the verifier).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i32, i64
from xdsl.ir import Operation, SSAValue

from shardy_py.api.arguments import expect_one_of
from shardy_py.api.foreign import foreign_sharding
from shardy_py.api.partition_spec import P
from shardy_py.api.sharding import DEFAULT_MESH_NAME, Sharding, check_sharding_axes, parse_sharding
from shardy_py.api.values import Value
from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects.sdy import (
    ManualComputationOp,
    MeshAttr,
    MeshOp,
    PropagationBarrierOp,
    ShardingConstraintOp,
    ShardingGroupOp,
    TensorShardingAttr,
)
from shardy_py.mlir.dialects.sdy.interfaces import manual_axes, shardings_of
from shardy_py.mlir.holders import SHARDING, Holder, Place, read, result_shardings, write_all
from shardy_py.mlir.ir import (
    build_operation,
    erase,
    find_ops,
    place_after_value,
    place_at_start,
    replace_uses,
)
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.typed import dictionaries_of, integer_of
from shardy_py.passes.import_.meshes import STABLEHLO_MESH, stablehlo_mesh
from shardy_py.sharding import Axes, DimensionSharding, Mesh, TensorSharding
from shardy_py.sharding.meshes import meshes_with_axes, resolve
from shardy_py.sharding.spelling import string_literal

ShardingLike = Any
"""A `Sharding`, sdy text, or a spec on the only mesh of the program that has its axes; JAX's `NamedSharding`;
DTensor's placements, one a dimension of the only mesh with as many; None: no annotation."""

DIRECTIONS = ("NONE", "FORWARD", "BACKWARD", "BOTH")


def annotation_of(value: Value) -> str:
    """Returns the subject of messages about the annotation of a value: `annotation of %arg0 (x)`."""
    return f"annotation of {value} ({value.label})" if value.label else f"annotation of {value}"


class Editor:
    """Changes one module."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._symbols = Symbols(module)
        self._ends: dict[tuple[Place, Operation], dict[int, TensorSharding | None]] = {}

    def finish(self) -> None:
        """Writes the annotations of arguments and results, those of a function together."""
        for (place, function), shardings in self._ends.items():
            removed = [index for index, sharding in shardings.items() if sharding is None]
            _remove_from_list(function, place, removed)
            kept = ((Holder(place, function, i), s) for i, s in shardings.items() if s is not None)
            write_all(kept)
        self._ends.clear()

    def annotate(self, value: Value, annotation: ShardingLike) -> None:
        """Replaces the sharding of a value, or removes its annotations.

        Those of arguments and results are written by `finish`. An intermediate value without a sharding gets
        a constraint, or its only user is a constraint, which is changed.
        """
        if value.entry.op.parent is None:
            if annotation is None:  # it went with the annotation of its operand
                return
            raise ShardyError(f"{annotation_of(value)}: it is a constraint that another edit removes")
        if annotation is None:
            self._remove(value)
            return
        rank = _rank(value)
        try:
            sharding = self.resolved(annotation, value.shape).for_rank(rank)
        except ShardyError as error:
            raise ShardyError(f"{annotation_of(value)}: {error.first.message}") from None
        holder = value.entry.holder
        if value.role != "intermediate" or _holds_annotation(holder):
            assert holder is not None
            if holder.place in _ENDS:
                self._ends.setdefault((holder.place, holder.op), {})[holder.position] = sharding.value
            else:
                write_all([(holder, sharding.value)])
            return
        ssa = _ssa(value, "a constraint")
        attribute = TensorShardingAttr(sharding.value)
        constraint = next(iter(ssa.uses)).operation if len(list(ssa.uses)) == 1 else None
        if isinstance(constraint, ShardingConstraintOp):
            constraint.properties["sharding"] = attribute
        else:
            _insert_after(value, ssa, ShardingConstraintOp, {"sharding": attribute})

    def resolved(self, annotation: ShardingLike, shape: Sequence[int | None] | None = None) -> Sharding:
        """Returns the sharding on a mesh of the module, to which the mesh is added if necessary.

        shape: of the tensor, for placements.
        """
        known = self._symbols.meshes()
        annotation = foreign_sharding(annotation, meshes_with_axes(known), shape) or annotation
        if isinstance(annotation, Sharding):
            return annotation.named(self.name_of(annotation.mesh, str(annotation.value.mesh)))
        if isinstance(annotation, str):
            value = parse_sharding(annotation)
            if isinstance(value.mesh, Mesh):
                return Sharding(value.mesh, value).named(self.name_of(value.mesh, DEFAULT_MESH_NAME))
            mesh = resolve(value.mesh, known)
            check_sharding_axes(value, mesh, known)
            return Sharding(mesh, value)
        meshes = meshes_with_axes(known) or {n: mesh for n, mesh in known.items() if not mesh.is_maximal}
        spec = P.of(annotation)
        named = (*spec.replicated, *spec.unreduced, *(a for d in spec.dimensions for a in d.axes))
        axes = {axis.name for axis in named}
        fitting = {name: mesh for name, mesh in meshes.items() if axes <= set(mesh.order)}
        if len(fitting) != 1 and len(meshes) != 1:
            expected = "one mesh with these axes in the program"
            got = ", ".join(f"@{name} {mesh}" for name, mesh in (fitting or meshes).items()) or "none"
            remedy = "use Sharding(mesh, P(...)), or add a mesh: program.with_mesh(mesh)"
            raise ShardyError.unexpected(f"mesh of {spec!r}", expected=expected, got=got, remedy=remedy)
        ((name, mesh),) = (fitting if len(fitting) == 1 else meshes).items()
        return Sharding(mesh, spec, mesh_name=name)

    def name_of(self, mesh: Mesh, wanted: str) -> str:
        """Returns the symbol of an equal mesh, which is added as `wanted` or a similar name if missing."""
        meshes = self._symbols.meshes()
        for name in sorted(meshes, key=lambda name: name != wanted):
            if meshes[name] == mesh:
                return name
        return self._add_mesh(wanted, mesh)

    def set_mesh(self, name: str, mesh: Mesh) -> None:
        """Adds or replaces the mesh of that name."""
        op = self._symbols.get(name)
        if isinstance(op, MeshOp):
            self._check_manual(name, mesh)
            op.properties["mesh"] = MeshAttr(mesh)
            if STABLEHLO_MESH in op.attributes:
                op.attributes[STABLEHLO_MESH] = stablehlo_mesh(mesh)
        elif op is not None:
            raise ShardyError(f"@{name} is the name of a '{op.name}' op; use another name for the mesh")
        else:
            self._add_mesh(name, mesh)

    def group(self, values: Sequence[Value]) -> None:
        """Adds a sharding group of values."""
        if len({value.shape for value in values}) > 1:
            got = ", ".join(f"{value} {value.shape}" for value in values)
            raise ShardyError.unexpected("sharding group", expected="members of equal shape", got=got)
        numbers = (integer_of(op, "group_id") for op in find_ops(self._module, ShardingGroupOp.name))
        number = IntegerAttr(1 + max(numbers, default=-1), i64)
        for value in values:
            ssa = _ssa(value, "a sharding group")
            _rank(value)
            op = build_operation(ShardingGroupOp, [ssa], (), {"group_id": number}, {}, value.entry.location)
            place_after_value(op, ssa)

    def barrier(self, value: Value, direction: str) -> None:
        """Adds a propagation barrier after a value."""
        expect_one_of("direction", direction, DIRECTIONS)
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
        """Adds an op with a symbol at the end of the module, under a unique name, and returns the name."""
        return self._symbols.insert(op)

    def _check_manual(self, name: str, mesh: Mesh) -> None:
        """Raises `ShardyError` if manual computations on @name are traced for other sizes of its axes."""
        old = self._symbols.meshes()[name].sizes
        axes: set[str] = set()
        for op in find_ops(self._module, ManualComputationOp.name):
            held = (
                s for key in ("in_shardings", "out_shardings") for s in shardings_of(op.properties.get(key))
            )
            if any(sharding.mesh == name for sharding in held):
                axes.update(manual_axes(op))
        if any(old.get(axis) != mesh.sizes.get(axis) for axis in axes):
            listed = ", ".join(f"{string_literal(axis)}={size}" for axis, size in old.items() if axis in axes)
            raise ShardyError.unexpected(
                f"mesh @{name} of manual computations (shard_map), whose shapes are local to a device",
                expected=f"{listed}, the sizes that they were traced for",
                got=str(mesh),
                remedy="trace the function again on the new mesh",
            )

    def _remove(self, value: Value) -> None:
        entry = value.entry
        if entry.value is None or entry.role == "argument":
            place = Place.FUNCTION_RESULT if entry.value is None else Place.ARGUMENT
            self._ends.setdefault((place, entry.op), {})[entry.index] = None
            return
        holder = entry.holder
        sharding = None if holder is None else read(holder)
        if holder is not None and sharding is not None and holder.place is not Place.PROPERTY:
            write_all([(holder, _open_but_for(sharding, manual_axes(holder.op)))])
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


_ENDS = {Place.ARGUMENT: "arg_attrs", Place.FUNCTION_RESULT: "res_attrs"}
"""Places whose shardings are in a list of the function, and its name."""


def _remove_from_list(function: Operation, place: Place, removed: Sequence[int]) -> None:
    entries = list(dictionaries_of(function, _ENDS[place]))
    if not entries or not removed:
        return
    for index in removed:
        entries[index] = DictionaryAttr({k: v for k, v in entries[index].data.items() if k != SHARDING})
    function.properties[_ENDS[place]] = ArrayAttr(entries)


def _holds_annotation(holder: Holder | None) -> bool:
    """Returns whether a sharding can be replaced; those of manual computations define what they compute."""
    if holder is None or holder.place in (Place.INNER_ARGUMENT, Place.OUTER_RESULT):
        return False
    return read(holder) is not None


def _open_but_for(sharding: TensorSharding, axes: Collection[str]) -> TensorSharding:
    """Returns an open sharding that keeps the manual axes only."""

    def kept(refs: Axes) -> Axes:
        return tuple(ref for ref in refs if ref.name in axes)

    dimensions = tuple(DimensionSharding(kept(d.axes)) for d in sharding.dimensions)
    return TensorSharding(sharding.mesh, dimensions, kept(sharding.replicated_axes))


def _insert_after(value: Value, ssa: SSAValue, op_class: type[Operation], properties: dict[str, Any]) -> None:
    """Inserts an op with one operand and a result of the same type between a value and all its users."""
    op = build_operation(op_class, [ssa], [ssa.type], properties, {}, value.entry.location)
    place_after_value(op, ssa)
    replace_uses(ssa, op.results[0], but_not_in=op)


def _rank(value: Value) -> int:
    tensor = tensor_type(value.entry.type)
    if tensor is None:
        type_ = str(value.entry.type)
        raise ShardyError.unexpected(str(value), expected="a ranked tensor", got=type_)
    return len(tensor.shape)


def _ssa(value: Value, what: str) -> SSAValue:
    if value.entry.value is None:
        got = f"{value} of @{value.function}"
        raise ShardyError.unexpected(what, expected="an SSA value", got=got, remedy="use the returned value")
    return value.entry.value
