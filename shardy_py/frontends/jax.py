"""JAX: programs from jitted functions; shardings back as `NamedSharding` and `PartitionSpec`.

    result = propagate(Program.from_jax(jax.jit(step), params, batch))
    named_sharding(result["result 0"].sharding)

Nothing is compiled and no device is needed: a mesh of any size can be an `AbstractMesh`. JAX is imported by
the first call of a function. Not here: GSPMD's shardings (`shardy_py.xla.hlo_sharding`, HloSharding).
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import StringAttr

from shardy_py.api import Mesh, Options, P, Program, Result, Sharding, ShardyError, Value, propagate
from shardy_py.api.remarks import say
from shardy_py.base import releases
from shardy_py.base.narrowing import is_sequence
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION, without_collection
from shardy_py.base.source_files import EVERYWHERE
from shardy_py.frontends.jax_wrapped import filtered, is_module, unwrapped
from shardy_py.mlir.bytecode import parse_program
from shardy_py.mlir.dialects.sdy import MeshOp
from shardy_py.mlir.typed import dictionary_at
from shardy_py.sharding import AxisRef
from shardy_py.xla.prepare.taken import take

PACKAGE = str(Path(__file__).parents[1]) + os.sep
INSTALL = "JAX is not installed; `pip install 'shardy_py[jax]'`"


def lower(function: Any, *arguments: object, **keywords: object) -> Program:
    """The program that JAX lowers `function` to for these arguments: arrays or `jax.ShapeDtypeStruct`s.

    function: a jitted or plain function, what `nnx.jit` and `eqx.filter_jit` return, an `eqx.Module`; or,
    without arguments, the result of its `.trace(...)` or `.lower(...)`, or of `jax.export.export(...)(...)`.

    Raises `ShardyError` for anything else, if JAX is not installed, and if it lowers for GSPMD; JAX's own
    errors pass through.
    """
    _jax()  # or an error that it is missing
    if isinstance(function, import_module("jax.export").Exported):
        _require_none("jax.export.export", arguments, keywords)
        return _program(bytes(function.mlir_module_serialized), as_written=False)
    return program_of(_lowered(function, arguments, keywords))


def program_of(lowered: Any, *, as_written: bool = False) -> Program:
    """The program of a `jax.stages.Lowered`, with the locations of the Python source.

    as_written: as JAX prints it, with its private functions; otherwise as JAX's compiler propagates it
        (see `shardy_py.xla.prepare`).

    Raises `ShardyError` for anything else, and for a function lowered for GSPMD.
    """
    lowered = unwrapped(lowered, _jax().stages.Lowered)
    _require(lowered, _jax().stages.Lowered, "the result of `.lower(...)` of a jitted function")
    text = lowered.as_text(debug_info=True)
    if "mhlo.sharding" in text and MeshOp.name not in text:
        raise ShardyError.unsupported(
            "a program that JAX lowered for GSPMD",
            remedy="call jax.config.update('jax_use_shardy_partitioner', True) before lowering",
        )
    return _program(text, as_written=as_written)


def _program(content: str | bytes, *, as_written: bool) -> Program:
    """The program of a text or of bytecode that the installed JAX wrote."""
    release, remark = releases.installed(import_module("jaxlib").__version__)
    say((remark,) if remark else (), "<jax>")
    with without_collection(begins_program=True), releases.of(release):
        module = parse_program(content, "<jax>")  # MLIR verified it when JAX made it
        return Program(module, EVERYWHERE, take(module, as_compiled=not as_written))


def _lowered(function: object, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> object:
    jax, stages = _jax(), _jax().stages
    function = unwrapped(function, (stages.Traced, stages.Lowered))
    if isinstance(function, stages.Traced | stages.Lowered):
        stage = "trace" if isinstance(function, stages.Traced) else "lower"
        _require_none(f".{stage}", arguments, keywords)
        traced: Any = function
    elif is_module(function):
        traced = filtered(jax, function, arguments, keywords)
    elif callable(function) and not isinstance(function, stages.Compiled | type):
        jitted: Any = function if isinstance(function, stages.Wrapped) else jax.jit(function)
        with _shapes_explained((*arguments, *keywords.values())):
            traced = unwrapped(jitted.trace(*arguments, **keywords), stages.Traced)
    else:
        expected = "a function, or the result of `jax.jit(...)`, `.trace(...)` or `.lower(...)`"
        remedy = "pass its .call with arguments" if hasattr(function, "mlir_module") else ""
        raise ShardyError.unexpected("", expected=expected, got=_described(function), remedy=remedy)
    # Naming the platform lets JAX lower for meshes without devices.
    is_lowered = isinstance(traced, stages.Lowered)
    return traced if is_lowered else traced.lower(lowering_platforms=(jax.default_backend(),))


def _require_none(stage: str, arguments: tuple[object, ...], keywords: dict[str, object]) -> None:
    if arguments or keywords:
        raise ShardyError(
            f"arguments for the result of `{stage}(...)`, which has them already; "
            "pass none, or pass the jitted function itself"
        )


@contextmanager
def _shapes_explained(arguments: tuple[object, ...]) -> Generator[None]:
    """Explains errors of a trace that was given a shape for an array; others are those of the function."""
    try:
        yield
    except Exception as error:
        for number, argument in enumerate(arguments):
            sizes = tuple(argument) if is_sequence(argument) else ()
            if sizes and all(type(size) is int for size in sizes):
                raise ShardyError.unexpected(
                    f"argument {number}",
                    expected="an array, or a jax.ShapeDtypeStruct",
                    got=f"numbers, {argument}",
                    remedy=f'a shape is passed as jax.ShapeDtypeStruct({sizes}, "float32")',
                ) from error
        raise


def _require(value: Any, kinds: Any, what: str) -> None:
    if not isinstance(value, kinds):
        raise ShardyError.unexpected("", expected=what, got=_described(value))


def _described(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}: {str(value)[:80]}"


@dataclass(frozen=True, eq=False)
class JaxResult:
    """A propagated function.

    result: the propagation itself.
    in_shardings, out_shardings: `NamedSharding`s in the trees of the function's arguments and results; None
    for
        unused arguments.
    """

    result: Result
    in_shardings: object
    out_shardings: object


def propagate_function(
    function: object,
    *arguments: object,
    options: Options | None = None,
    mesh: object = None,
    **keywords: object,
) -> JaxResult:
    """Lowers a function, propagates, and returns the shardings as `NamedSharding`s, as JAX's jit would.

    mesh: JAX's mesh for them; None: an `AbstractMesh`. Pass a function that has keywords `mesh` or `options`
        as `jax.jit(function).trace(...)`. Raises `ShardyError` as `lower` and `propagate` do.
    """
    return propagate_lowered(_lowered(function, arguments, keywords), options=options, mesh=mesh)


def propagate_lowered(lowered: Any, *, options: Options | None = None, mesh: Any = None) -> JaxResult:
    """Propagates a `jax.stages.Lowered`, as `propagate_function` does."""
    jax = _jax()
    if mesh is not None:
        _require_mesh(mesh)
    result = propagate(program_of(lowered), options or Options())
    flat, tree = jax.tree.flatten(lowered.args_info, is_leaf=_is_argument)
    indices = lowered._lowering.compile_args.get("kept_var_idx")  # JAX drops unused arguments
    kept = list(range(len(flat))) if indices is None else sorted(indices)
    explicit = _explicit_axes(lowered)
    ins: list[Any] = [None] * len(flat)
    for index, value in zip(kept, _tensors(result.values.arguments()), strict=True):
        ins[index] = sharding_of_value(value, mesh, explicit=explicit)
    outs = [sharding_of_value(value, mesh, explicit=explicit) for value in _tensors(result.values.results())]
    return JaxResult(result, jax.tree.unflatten(tree, ins), jax.tree.unflatten(lowered.out_tree, outs))


def _is_argument(node: object) -> bool:
    return hasattr(node, "donated")


def _tensors(values: list[Value]) -> list[Value]:
    """The values that are tensors; JAX adds tokens to order effects."""
    return [value for value in values if value.shape is not None]


def _explicit_axes(lowered: Any) -> tuple[str, ...]:
    """The axes that the function's arguments and results are explicitly sharded on."""
    jax = _jax()
    typed = jax.tree.leaves((lowered.in_avals, lowered.out_info))
    meshes = [getattr(getattr(value, "sharding", None), "mesh", None) for value in typed]
    kinds = {axis: kind for mesh in meshes if mesh is not None for axis, kind in _axis_types(mesh)}
    return tuple(axis for axis, kind in kinds.items() if kind is jax.sharding.AxisType.Explicit)


def _axis_types(mesh: Any) -> Any:
    return zip(mesh.axis_names, mesh.axis_types, strict=True)


# ---------------------------------------------------------------------- shardings


def sharding_of_value(value: Value, mesh: object = None, *, explicit: tuple[str, ...] = ()) -> object:
    """The `NamedSharding` of a value: replicated if it has no sharding, None if no mesh has axes.

    A sharding on a mesh without axes, which JAX gives scalars, counts as none. Raises `ShardyError` as
    `named_sharding` does.
    """
    sharding = value.sharding
    if sharding is None or not (sharding.mesh.axes or sharding.mesh.is_maximal):
        mesh_with_axes = next((mesh for mesh in value.meshes.values() if mesh.axes), None)
        sharding = None if mesh_with_axes is None else Sharding(mesh_with_axes, P())
    if sharding is None:
        return None
    try:
        return named_sharding(sharding, mesh, memory_kind=_memory_kind(value), explicit=explicit)
    except ShardyError as error:
        raise ShardyError(f"{value.label}: {error.diagnostics[0].message}") from None


def _memory_kind(value: Value) -> str | None:
    """The memory kind of an argument or result of a function."""
    name = {"argument": "arg_attrs", "result": "res_attrs"}.get(value.role)
    entries = value.entry.op.properties.get(name) if name else None
    if entries is None:
        return None
    entry = dictionary_at(entries, value.entry.index)
    kind = entry.data.get("mhlo.memory_kind")
    return kind.data if isinstance(kind, StringAttr) else None


def named_sharding(
    sharding: Sharding, mesh: Any = None, *, memory_kind: str | None = None, explicit: tuple[str, ...] = ()
) -> object:
    """The `NamedSharding` on JAX's `mesh`; None: on an `AbstractMesh` of the same axes.

    memory_kind: in JAX's spelling; None: the default memory.
    explicit: the axes that are `AxisType.Explicit` in a new mesh; unreduced axes always are.

    Raises `ShardyError` if JAX cannot express it, or the mesh has other axes.
    """
    jax = _jax()
    if mesh is not None:
        _require_mesh(mesh)
    if sharding.mesh.is_maximal:
        raise ShardyError.unsupported(f"{sharding} on a maximal mesh, which has no NamedSharding,")
    unreduced = tuple(axis.name for axis in sharding.unreduced_axes)
    if mesh is None:
        mesh = jax_mesh(sharding.mesh, explicit=(*explicit, *unreduced))
    elif tuple(mesh.shape.items()) != tuple(sharding.mesh.sizes.items()):
        raise ShardyError.unexpected(
            f"mesh for {sharding}",
            expected=f"{sharding.mesh}",
            got=f"{mesh_of(mesh)}",
            remedy="pass the mesh that the function was lowered for, or none",
        )
    for name, kind in _axis_types(mesh):
        if name in unreduced and kind is not jax.sharding.AxisType.Explicit:
            raise ShardyError.unsupported(
                f"{sharding} with the unreduced axis {name}, which is not explicit,",
                remedy=f"pass a mesh in which {name} is AxisType.Explicit",
            )
    return jax.sharding.NamedSharding(mesh, partition_spec(sharding), memory_kind=memory_kind)


def partition_spec(sharding: Sharding) -> object:
    """The `PartitionSpec`: closed dimensions by their axes; empty open ones are `UNCONSTRAINED`.

    Raises `ShardyError` for sub-axes, which JAX cannot express. Priorities and whether a sharded dimension is
    open cannot be expressed in JAX either and are left out.
    """
    spec: Any = _jax().sharding.PartitionSpec
    parts: list[Any] = []
    unreduced = _whole_axes(sharding.unreduced_axes, f"unreduced axes of {sharding}")
    for number, dimension in enumerate(sharding.dimensions):
        names = _whole_axes(dimension.axes, f"dimension {number} of {sharding}")
        if not names:
            parts.append(None if dimension.is_closed else spec.UNCONSTRAINED)
        else:
            parts.append(names[0] if len(names) == 1 else names)
    while parts and parts[-1] is None:
        parts.pop()
    return spec(*parts, unreduced=set(unreduced)) if unreduced else spec(*parts)


def _whole_axes(axes: tuple[AxisRef, ...], what: str) -> tuple[str, ...]:
    for axis in axes:
        if axis.sub_axis is not None:
            raise ShardyError.unsupported(
                f"sub-axis {axis} in {what}, which JAX cannot express,",
                remedy=f"split the axis {axis.name} of the mesh into two",
            )
    return tuple(axis.name for axis in axes)


def from_named_sharding(named: Any, rank: int | None = None) -> Sharding:
    """The sharding of a `NamedSharding`; dimensions beyond its spec, up to `rank`, are not sharded.

    Raises `ShardyError` for other shardings of JAX, which have no mesh.
    """
    _require(named, _jax().sharding.NamedSharding, "a NamedSharding")
    sharding = Sharding(mesh_of(named.mesh), P.of(named.spec))
    return sharding if rank is None else sharding.for_rank(rank)


def mesh_of(mesh: Any) -> Mesh:
    """The mesh of JAX's `Mesh` or `AbstractMesh`.

    Devices are numbered in the order of JAX's mesh, as in JAX's lowering.
    """
    _require_mesh(mesh)
    return Mesh.of(dict(mesh.shape))


def _require_mesh(mesh: object) -> None:
    kinds: Any = _jax().sharding
    _require(mesh, kinds.Mesh | kinds.AbstractMesh, "a jax.sharding.Mesh or AbstractMesh")


@SESSION.cache(4096)
def jax_mesh(mesh: Mesh, *, explicit: tuple[str, ...] = ()) -> Any:
    """The `AbstractMesh` of the same axes: those in `explicit` are `AxisType.Explicit`, all others `Auto`."""
    jax = _jax()
    kinds: Any = jax.sharding.AxisType
    sizes, names = tuple(axis.size for axis in mesh.axes), tuple(axis.name for axis in mesh.axes)
    types = tuple(kinds.Explicit if name in explicit else kinds.Auto for name in names)
    return jax.sharding.AbstractMesh(sizes, names, axis_types=types)


@cache
def _jax() -> Any:
    try:
        jax = import_module("jax")
    except ImportError:
        raise ShardyError(INSTALL) from None
    # Locations point into the model, so frames of this package are excluded.
    import_module("jax.extend.source_info_util").register_exclusion(PACKAGE)
    return jax
