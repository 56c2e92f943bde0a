"""Programs from Python functions, which are traced: called once with tensors that represent values.

    def layer(x, w, b):
        return tanh(x @ w + b)

    program = build(layer, tensor((8, 16)), tensor((16, 4)), tensor((4,)), mesh=Mesh.of(x=2))

Not here: ops (`ops/`, `regions.py`, `shardings.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import FunctionType, ModuleOp, NameLoc, StringAttr, UnknownLoc
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from shardy_py.api import Mesh, Program
from shardy_py.api.annotate import Editor, ShardingLike
from shardy_py.base.errors import ShardyError
from shardy_py.base.narrowing import is_mapping
from shardy_py.base.records import dataclass
from shardy_py.frontends.builder import insertion
from shardy_py.frontends.builder.bodies import listed, parameter_names
from shardy_py.frontends.builder.tensor import Tensor, emit, value_of
from shardy_py.frontends.builder.types import RankedTensorType, tensor
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.mlir.ir import append_arguments

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a program: type, sharding (for example a spec on the program's mesh), name."""

    type: RankedTensorType
    sharding: ShardingLike = None
    name: str = ""


def build(
    function: Function,
    *arguments: object,
    mesh: Mesh | Mapping[str, Mesh] | None = None,
    out_shardings: Sequence[ShardingLike] = (),
    name: str = "main",
) -> Program:
    """Returns the program that `function` builds when called with tensors of these types.

    arguments: `tensor(...)`, an `Argument`, or an object with shape and dtype, such as an array.
    mesh: named @mesh; several by name. out_shardings: one a result, None without a sharding.
    Raises `ShardyError`, at the line of `function` that causes it, for an invalid op.
    """
    if not name or type(name) is not str:
        raise ShardyError.unexpected("", expected="the name of the function", got=f"{name!r}")
    if not isinstance(out_shardings, list | tuple):
        raise ShardyError.unexpected(
            "", expected="out_shardings=[...], one a result", got=f"{out_shardings!r}"
        )
    given = [_argument(argument) for argument in arguments]
    types = [argument.type.attribute for argument in given]
    meshes = _meshes(mesh)
    main = FuncOp(name, FunctionType.from_lists(types, []), Region(), "public")
    module = ModuleOp([main])
    trace = insertion.Trace(module, Editor(module))
    if name in meshes:
        raise ShardyError(f"a mesh and the function are both named @{name}; rename one of them")
    for symbol, one in reversed(meshes.items()):
        trace.editor.set_mesh(symbol, one)
    with insertion.tracing(trace), insertion.blaming_caller():
        body, outputs, _ = _traced(function, types, [argument.name for argument in given])
        main.body.add_block(body)
        main.function_type = FunctionType.from_lists(types, outputs)
        if out_shardings and len(out_shardings) != len(outputs):
            raise ShardyError.unexpected(
                "", expected=f"a sharding for each of {len(outputs)} results", got=f"{len(out_shardings)}"
            )
    program = Program(module)
    inputs = [argument.sharding for argument in given]
    if out_shardings or any(sharding is not None for sharding in inputs):
        values = [*program.values.arguments(name), *program.values.results(name)]
        for value, sharding in zip(values, (*inputs, *out_shardings), strict=False):
            if sharding is not None:
                trace.editor.annotate(value, sharding)
        trace.editor.finish()
    verify_module(module)
    return program


def call(function: Function, *arguments: Tensor) -> object:
    """A call of `function` as a function of the program; built once for each list of argument types.

    Returns a tensor or a tuple, as `function` does. Raises `ShardyError` if `function` is recursive or uses
    tensors from outside.
    """
    trace = insertion.current_trace()
    values = [value_of(argument) for argument in arguments]
    callee, is_single = _callee(trace, function, [value.type for value in values])
    op = CallOp(callee.sym_name.data, values, list(callee.function_type.outputs))
    op.location = insertion.caller_location()  # pyright: ignore[reportAttributeAccessIssue]
    insertion.insert(op)
    results = tuple(map(Tensor, op.results))
    return results[0] if is_single else results


def composite(
    name: str,
    function: Function,
    *arguments: Tensor,
    attributes: Mapping[str, object] | None = None,
    version: int = 0,
) -> Any:
    """An op of that name, whose decomposition is `function` as a private function of the program."""
    values = [value_of(argument) for argument in arguments]
    callee, is_single = _callee(insertion.current_trace(), function, [value.type for value in values])
    results = emit(
        "composite",
        *arguments,
        results=list(callee.function_type.outputs),
        name=name,
        composite_attributes=dict(attributes or {}),
        decomposition=callee.sym_name.data,
        version=version,
    )
    return results[0] if is_single else results


def _callee(trace: insertion.Trace, function: Function, types: Sequence[Attribute]) -> tuple[FuncOp, bool]:
    """The function of the program, and whether it returns a tensor rather than a tuple."""
    name = getattr(function, "__name__", type(function).__name__).strip("<>") or "function"
    # each look-up of a method creates another object
    key = (id(getattr(function, "__self__", None)), id(getattr(function, "__func__", function)), *types)
    if key not in trace.functions:
        trace.kept.append(function)
        trace.functions[key] = None
        try:
            body, outputs, is_single = _traced(function, types, ())
        except BaseException:
            del trace.functions[key]
            raise
        definition = FuncOp(name, FunctionType.from_lists(list(types), outputs), Region(body), "private")
        trace.editor.add_symbol(definition)
        trace.functions[key] = definition, is_single
    callee = trace.functions[key]
    if callee is None:
        raise ShardyError(f"'{name}' is recursive; use while_loop")
    return callee


def _traced(
    function: Function, types: Sequence[Attribute], names: Sequence[str]
) -> tuple[Block, list[Attribute], bool]:
    """The traced body, the types of its results, and whether `function` returns a single tensor."""
    parameters = parameter_names(function, len(types))
    labels = list(names) if any(names) else parameters
    block = Block()
    append_arguments(block, [(type_, _named(label)) for type_, label in zip(types, labels, strict=True)])
    with insertion.inserting_into(block, isolated=True):
        given = function(*map(Tensor, block.args))
        results = [value_of(result) for result in listed(given)]
        insertion.insert(ReturnOp(*results))
    return block, [result.type for result in results], isinstance(given, Tensor)


def _meshes(given: object) -> dict[str, Mesh]:
    if isinstance(given, Mesh) or given is None:
        return {} if given is None else {"mesh": given}
    named = given if is_mapping(given) else {"": None}
    meshes = {name: mesh for name, mesh in named.items() if isinstance(mesh, Mesh)}
    if len(meshes) < len(named):
        raise ShardyError.unexpected(
            "", expected="a mesh, as Mesh.of(x=2), or several by name", got=f"{given!r}"
        )
    return meshes


def _argument(given: object) -> Argument:
    if isinstance(given, Argument):
        return replace(given, type=_argument(given.type).type)
    if isinstance(given, RankedTensorType):
        return Argument(given)
    shape, dtype = getattr(given, "shape", None), getattr(given, "dtype", None)
    if shape is None or dtype is None:
        raise ShardyError(
            f"expected the type of an argument, as tensor((8, 16)) or Argument(tensor((8, 16))), "
            f"got: {given!r}"
        )
    return Argument(tensor(shape, dtype))


def _named(label: str) -> Attribute:
    return NameLoc(StringAttr(label), UnknownLoc()) if label else UnknownLoc()
