"""Programs from Python functions: called once with tensors that stand for values, they leave ops behind.

    def layer(x, w, b):
        return tanh(x @ w + b)

    program = build(layer, tensor((8, 16)), tensor((16, 4)), tensor((4,)), mesh=Mesh.of(x=2))

Not here: ops (`ops.py`, `regions.py`, `shardings.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import FunctionType, ModuleOp, NameLoc, StringAttr, UnknownLoc
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from shardy_py.api import Mesh, Program
from shardy_py.api.annotate import Annotation, Editor
from shardy_py.builder.insertion import (
    Trace,
    blaming_caller,
    caller_location,
    current_trace,
    insert,
    inserting_into,
    tracing,
)
from shardy_py.builder.regions import listed
from shardy_py.builder.tensor import Tensor, value_of
from shardy_py.builder.types import TensorType
from shardy_py.errors import ShardyError
from shardy_py.text.construct import append_arguments

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a program: its type, its sharding (a spec on the program's mesh, say), its name."""

    type: TensorType
    sharding: Annotation = None
    name: str = ""


def build(
    function: Function,
    *arguments: TensorType | Argument,
    mesh: Mesh | Mapping[str, Mesh] | None = None,
    out_shardings: Sequence[Annotation] = (),
    name: str = "main",
) -> Program:
    """The program that `function` builds when called with tensors of these types.

    mesh: called @mesh; several by name. out_shardings: one a result, None for one without.
    Raises `ShardyError`, at the line of `function` that is to blame, when an op does not fit.
    """
    module = ModuleOp([])
    trace = Trace(module, Editor(module))
    meshes = {"mesh": mesh} if isinstance(mesh, Mesh) else dict(mesh or {})
    for symbol, one in reversed(meshes.items()):
        trace.editor.set_mesh(symbol, one)
    given = [a if isinstance(a, Argument) else Argument(a) for a in arguments]
    with tracing(trace), blaming_caller():
        made = _function(name, function, [a.type.attribute for a in given], [a.name for a in given], "public")
        module.body.block.add_op(made)
    results = len(made.function_type.outputs)
    if out_shardings and len(out_shardings) != results:
        raise ShardyError(f"expected a sharding for each of {results} results, got: {len(out_shardings)}")
    program = Program.from_module(module)
    shardings = {f"@{name}:%arg{i}": a.sharding for i, a in enumerate(given) if a.sharding is not None}
    shardings |= {f"@{name}:result {i}": s for i, s in enumerate(out_shardings) if s is not None}
    return program.annotate(shardings) if shardings else program


def call(function: Function, *arguments: Tensor) -> Any:
    """A call of `function` as a function of the program; built once for the same types of arguments.

    Gives what `function` gives: a tensor, or a tuple of them.
    """
    trace = current_trace()
    values = [value_of(argument) for argument in arguments]
    key = (function, *(value.type for value in values))
    callee = trace.functions.get(key)
    if callee is None:
        stem = getattr(function, "__name__", "function").strip("<>") or "function"
        callee = _function(stem, function, [value.type for value in values], (), "private")
        trace.editor.add_symbol(callee)
        trace.functions[key] = callee
    assert isinstance(callee, FuncOp)
    op = CallOp(callee.sym_name.data, values, list(callee.function_type.outputs))
    op.location = caller_location()  # pyright: ignore[reportAttributeAccessIssue]
    insert(op)
    results = tuple(map(Tensor, op.results))
    return results[0] if len(results) == 1 else results


def _function(
    name: str, function: Function, types: Sequence[Attribute], names: Sequence[str], visibility: str
) -> FuncOp:
    block = Block()
    labels = [*names, *[""] * (len(types) - len(names))]
    if not any(labels):
        labels = _parameter_names(function, len(types))
    append_arguments(block, [(type_, _named(label)) for type_, label in zip(types, labels, strict=True)])
    with inserting_into(block):
        results = [value_of(result) for result in listed(function(*map(Tensor, block.args)))]
        block.add_op(ReturnOp(*results))
    type_ = FunctionType.from_lists(list(types), [result.type for result in results])
    return FuncOp(name, type_, Region(block), visibility)


def _parameter_names(function: Function, count: int) -> list[str]:
    """The names of a function's parameters, as many as there are arguments."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [""] * count
    names = [p.name if p.kind is not p.VAR_POSITIONAL else "" for p in parameters]
    return [*names, *[""] * count][:count]


def _named(label: str) -> Attribute:
    return NameLoc(StringAttr(label), UnknownLoc()) if label else UnknownLoc()
