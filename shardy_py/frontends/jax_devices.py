"""Runs a local program on JAX's devices: CPU, GPU or TPU, of one host or of several.

The program is lowered into a `shard_map` over one axis of all its devices, so that JAX's compiler runs it as
it is: the partitioner finds nothing left to split. Inputs and results have an axis of devices before others.

    run_on_devices(text, "main", results, [x], 8)

Not here: splitting arrays into parts, joining them (`api/local_program.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from shardy_py.base.errors import ShardyError
from shardy_py.base.narrowing import is_iterable
from shardy_py.frontends.jax import INSTALL
from shardy_py.ops.compute import Array

Types = tuple[tuple[tuple[int, ...], str], ...]
"""The local shape and numpy type of each tensor."""
AXIS = "devices"
_SHOWN = 60
"""The characters of an invalid device that a message shows."""
LAPACK = "@lapack_"
"""Prefixes of targets of custom calls to LAPACK: on CPUs, these crash unless it is loaded."""


def run_on_devices(
    text: str,
    function: str,
    results: Types,
    parts: Sequence[Array],
    count: int,
    devices: Sequence[object] | None = None,
) -> list[Array]:
    """Returns the results of all devices, [devices, *local].

    text: a local program. results: the types of the results of its function. parts: [1 or devices, *local].
    count: the number of devices. devices: of JAX, in the program's order; None: the first that JAX has.

    Raises:
        ShardyError: there are fewer devices, other ones are given, or a process of JAX has none of them.
    """
    jax = _jax()
    mesh = jax.sharding.Mesh(np.array(_devices(count, devices)), (AXIS,))
    placed = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(AXIS))
    with jax.enable_x64(True):
        arrays = [_placed(part, count, placed) for part in parts]
        made = _compiled(text, function, results, len(parts), mesh)(*arrays)
        return [_fetched(array) for array in made]


def _devices(count: int, given: Sequence[object] | None) -> list[object]:
    """The devices of JAX that run the program, in the order of its own."""
    every = _jax().devices()
    if given is not None:
        given = _distinct(given, count)
    if given is None and len(every) < count:
        expected, got = f"{count} devices", f"{len(every)} ({every[0].platform})"
        remedy = "for CPU devices, set jax.config.update('jax_num_cpu_devices', n) before JAX starts"
        raise ShardyError.unexpected("jax.devices()", expected=expected, got=got, remedy=remedy)
    chosen = list(every[:count] if given is None else given)
    # An error in all processes: each calls collectives of JAX, and the others would wait for one that stops.
    if idle := sorted(set(map(_process, every)) - set(map(_process, chosen))):
        got = f"none in process {', '.join(map(str, idle))} of {_jax().process_count()}"
        remedy = f"give devices= of all processes, or start JAX in fewer; the program has {count} devices"
        raise ShardyError.unexpected(
            "devices", expected="some in each process of JAX", got=got, remedy=remedy
        )
    return chosen


def _distinct(given: object, count: int) -> list[object]:
    """The devices that a user gave. Raises `ShardyError` unless they are so many, of JAX and different."""
    expected = f"{count} different devices of JAX, as in jax.devices()"
    if not is_iterable(given) or isinstance(given, str):
        raise ShardyError.unexpected("devices", expected=expected, got=repr(given)[:_SHOWN])
    listed = list(given)
    kind = _jax().Device
    wrong = next((device for device in listed if not isinstance(device, kind)), None)
    if wrong is not None:
        raise ShardyError.unexpected("devices", expected=expected, got=f"{wrong!r}"[:_SHOWN])
    if len(set(listed)) != len(listed) or len(listed) != count:
        got = f"{len(listed)}, {len(set(listed))} of them different"
        raise ShardyError.unexpected("devices", expected=expected, got=got)
    return listed


def _process(device: object) -> int:
    return getattr(device, "process_index", 0)


def _placed(part: Array, count: int, sharding: object) -> Any:
    """The parts on their devices; a host provides those of its own devices."""

    def of_device(index: tuple[slice, ...]) -> Array:
        start = index[0].start or 0
        return part[start : start + 1] if len(part) > 1 else part

    return _jax().make_array_from_callback((count, *part.shape[1:]), sharding, of_device)


def _fetched(array: Array) -> Array:
    """All parts, also those of other hosts."""
    if _jax().process_count() > 1:
        return np.asarray(_jax("experimental.multihost_utils").process_allgather(array, tiled=True))
    return np.asarray(array)


@lru_cache(maxsize=16)
def _compiled(text: str, function: str, results: Types, inputs: int, mesh: Any) -> Callable[..., Any]:
    jax = _jax()
    call = _primitive(text, function, results)

    def body(*parts: Any) -> tuple[Any, ...]:
        made = call.bind(*(part.reshape(part.shape[1:]) for part in parts))
        return tuple(value.reshape((1, *value.shape)) for value in made)

    each = jax.sharding.PartitionSpec(AXIS)
    outputs = (each,) * len(results)
    mapped = jax.shard_map(body, mesh=mesh, in_specs=(each,) * inputs, out_specs=outputs, check_vma=False)
    return jax.jit(mapped)


def _primitive(text: str, function: str, results: Types) -> Any:
    """A primitive of JAX that calls the function; its module becomes part of the one that JAX lowers."""
    primitive = _jax("extend.core").Primitive("local_program")
    primitive.multiple_results = True
    avals = [_jax("core").ShapedArray(shape, np.dtype(dtype)) for shape, dtype in results]

    def abstract(*operands: object) -> Any:
        return avals

    primitive.def_abstract_eval(abstract)

    def lowered(context: Any, *operands: object) -> Any:
        ir, func = _mlir("ir"), _mlir("dialects.func")
        if LAPACK in text:
            _load_lapack()
        outer = context.module_context.module
        module = ir.Module.parse(text)
        called = _added(module, outer, function)
        name = ir.FlatSymbolRefAttr.get(ir.StringAttr(called.attributes["sym_name"]).value)
        return func.CallOp(called.type.results, name, list(operands)).results

    _jax("interpreters.mlir").register_lowering(primitive, lowered)
    return primitive


def _load_lapack() -> None:
    """Loads what custom calls to LAPACK jump to, as JAX does when it lowers such an op itself."""
    import_module("jaxlib.lapack").prepare_lapack_call("potrf_ffi", np.dtype(np.float32))


def _added(module: Any, outer: Any, function: str) -> Any:
    """Adds the ops of a module to another one, under new names; returns the function."""
    ir = _mlir("ir")
    own, symbols = (ir.SymbolTable(each.operation) for each in (module, outer))
    ops = list(module.body.operations)
    called: Any = None
    for op in ops:
        old = ir.StringAttr(op.attributes["sym_name"]).value
        new = f"local_{old}"
        while new in symbols:
            new += "_"
        own.set_symbol_name(op, new)
        ir.SymbolTable.replace_all_symbol_uses(old, new, module.operation)
        called = op if old == function else called
    for op in ops:
        if "sym_visibility" in op.attributes or op.operation.name == "func.func":
            op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        outer.body.append(op)
        symbols.insert(op)
    return called


def _jax(module: str = "") -> Any:
    """JAX, or a module of it. Raises `ShardyError` if it is not installed."""
    try:
        return import_module(f"jax.{module}" if module else "jax")
    except ImportError:
        raise ShardyError(INSTALL) from None


def _mlir(module: str) -> Any:
    return import_module(f"jaxlib.mlir.{module}")
