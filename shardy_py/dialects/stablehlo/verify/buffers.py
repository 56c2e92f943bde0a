"""Rules of custom calls on buffers: creating, pinning and unpinning one, and aliases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import MemRefType, StringAttr, TensorType, TupleType
from xdsl.ir import Attribute

from shardy_py.dialects.stablehlo.structs import OutputOperandAlias
from shardy_py.dialects.stablehlo.verify.tensors import fail, require, same_shape
from shardy_py.dialects.stablehlo.verify.view import View

Path = tuple[int, ...]


def check_buffers(view: View) -> None:
    """The rules of a custom call's target, or of its aliases."""
    target = view.op.properties.get("call_target_name")
    name = target.data if isinstance(target, StringAttr) else ""
    if name == "CreateBuffer":
        require(not view.operand_types, "CreateBuffer custom_call shouldn't have any inputs")
        require(len(view.result_types) == 1, "CreateBuffer custom_call should have one result")
        require(_is_buffer(view.result_types[0]), "CreateBuffer custom_call should have a memref result")
    elif name in ("Pin", "Unpin"):
        _check_pin(view, name)
    else:
        _check_aliases(view)


def _is_buffer(type_: Attribute) -> bool:
    return isinstance(type_, MemRefType)


def _check_pin(view: View, name: str) -> None:
    kinds = ("tensor", "memref") if name == "Pin" else ("memref", "tensor")
    for what, kind, types in (
        ("input", kinds[0], view.operand_types),
        ("output", kinds[1], view.result_types),
    ):
        require(len(types) == 1, f"{name} custom_call should have one {what}")
        is_kind = _is_buffer(types[0]) if kind == "memref" else isinstance(types[0], TensorType)
        require(is_kind, f"{name} custom_call should have a {kind} {what}")
    shapes = [_shape(type_) for type_ in (*view.operand_types, *view.result_types)]
    if not same_shape(shapes[0][0], shapes[1][0]) or shapes[0][1] != shapes[1][1]:
        fail(f"{name} custom_call should have compatible input and output types")


def _shape(type_: Any) -> tuple[tuple[int | None, ...], Attribute]:
    return tuple(None if size < 0 else size for size in type_.get_shape()), type_.element_type


def _check_aliases(view: View) -> None:
    operands: set[tuple[int, Path]] = set()
    outputs: set[Path] = set()
    for attribute in view.list("output_operand_aliases") or ():
        alias = getattr(attribute, "data", None)
        if not isinstance(alias, OutputOperandAlias):
            continue
        type_ = view.operand_types[alias.operand_index]
        for index in alias.operand_tuple_indices:
            type_ = _parts(type_)[index]
        if not _is_buffer(type_):
            continue
        output, operand = alias.output_tuple_indices, (alias.operand_index, alias.operand_tuple_indices)
        if output in outputs:
            fail(f"buffer output {list(output)} is used in output_operand_alias more than once")
        if operand in operands:
            fail(
                f"buffer operand {operand[0]}{list(operand[1])} is used in output_operand_alias more than "
                "once"
            )
        outputs.add(output)
        operands.add(operand)
    for path, type_ in _results(view.result_types):
        if _is_buffer(type_) and path not in outputs:
            fail(f"buffer output {list(path)} is not used in output_operand_alias")


def _parts(type_: Attribute) -> Sequence[Attribute]:
    return type_.types.data if isinstance(type_, TupleType) else ()


def _results(types: Sequence[Attribute]) -> Iterator[tuple[Path, Attribute]]:
    """The leaves of all results, each with the indices that lead to it."""
    if len(types) == 1:
        yield from _leaves((), types[0])
    else:
        for index, type_ in enumerate(types):
            yield from _leaves((index,), type_)


def _leaves(path: Path, type_: Attribute) -> Iterator[tuple[Path, Attribute]]:
    if isinstance(type_, TupleType):
        for index, part in enumerate(_parts(type_)):
            yield from _leaves((*path, index), part)
    else:
        yield path, type_
