"""Rules of branches, loops and tuples."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, TupleType
from xdsl.ir import Attribute, TypeAttribute

from shardy_py.mlir.dialects.definition import Asynchronous
from shardy_py.mlir.dialects.stablehlo.attributes import FutureType
from shardy_py.mlir.dialects.stablehlo.verify.messages import fail, quoted, require
from shardy_py.mlir.dialects.stablehlo.verify.tensors import RankedTensor, least_specific, merged, read_tensor
from shardy_py.mlir.dialects.stablehlo.verify.view import View, require_predicate, tensor_of
from shardy_py.mlir.typed import of_kind


def all_compatible(first: Sequence[Attribute], second: Sequence[Attribute]) -> bool:
    """Returns whether two lists of types can be the same at run time."""
    return len(first) == len(second) and all(map(_type_compatible, first, second))


def _type_compatible(first: Attribute, second: Attribute) -> bool:
    a, b = read_tensor(first), read_tensor(second)
    return first == second if a is None or b is None else a.is_compatible(b)


def infer_branches(view: View) -> Sequence[RankedTensor | Attribute]:
    """Branches of `if` and `case`: no arguments, compatible results; the index is a scalar."""
    selector = view.operands[0]
    require(selector.rank == 0, f"operand should be rank 0 tensor but got rank {selector.rank}")
    require(bool(view.bodies), "expect at least one branch")
    bodies = [view.body(index) for index in range(len(view.bodies))]
    first = bodies[0].returned
    for index, body in enumerate(bodies):
        require(not body.arguments, f"branch {index} must have 0 arguments, but found {len(body.arguments)}")
        if not all_compatible(first, body.returned):
            fail(
                f"branch 0 and branch {index} have mismatched return types: {quoted(*first)} vs "
                f"{quoted(*body.returned)}"
            )
    return [_either([body.returned[index] for body in bodies]) for index in range(len(first))]


def _either(types: Sequence[Attribute]) -> RankedTensor | Attribute:
    if any(read_tensor(type_) is None for type_ in types):
        return types[0]
    return merged([tensor_of(type_) for type_ in types], least_specific)


def infer_operand_types(view: View) -> Sequence[Attribute]:
    """The operands' types, whatever they are."""
    return view.operand_types


def check_while(view: View) -> None:
    """Operands go through both regions unchanged in type; the condition is one i1."""
    condition, body = view.body(0), view.body(1)
    operands = view.operand_types
    for what, types in (
        ("condition block arguments", condition.arguments),
        ("body block arguments", body.arguments),
        ("body block return types", body.returned),
    ):
        if not all_compatible(operands, types):
            fail(
                f"expect operands to be compatible with {what} but got {quoted(*operands)} vs "
                f"{quoted(*types)}"
            )
    require_predicate(
        condition,
        "expect condition body returns a single value but got",
        "expect condition block return a zero-ranked tensor of i1 but got",
    )


def tuple_of(types: Sequence[Attribute]) -> TupleType:
    """The tuple of these types."""
    return TupleType(tuple(of_kind(type_, TypeAttribute) for type_ in types))


def tuple_parts(type_: Attribute) -> Sequence[Attribute]:
    """The types in a tuple; none for any other type."""
    return type_.types.data if isinstance(type_, TupleType) else ()


def infer_tuple(view: View) -> Sequence[Attribute]:
    """The tuple of the operands' types."""
    return (tuple_of(view.operand_types),)


def infer_tuple_element(view: View) -> Sequence[Attribute]:
    """The part of the operand at the index."""
    parts, index = tuple_parts(view.operand_types[0]), view.integer("index")
    require(index < len(parts), f"index {index} is out of bounds of operand with size {len(parts)}")
    return (parts[index],)


def infer_async_start(view: View) -> Sequence[Attribute]:
    """A region of one collective or slice on the operands, whose value is the future's."""
    prefix = "'stablehlo.async_start' op"
    require(bool(view.bodies) and view.bodies[0] is not None, f"{prefix} region must not be empty")
    body = view.body(0)
    ops = list(view.op.regions[0].blocks[0].ops)
    require(len(ops) == 2, f"{prefix} region must contain exactly one operation and a return")
    require(ops[0].has_trait(Asynchronous), f"{prefix} region must contain a collective or slice operation")
    if len(view.operand_types) != len(body.arguments):
        fail(
            f"{prefix} number of operands ({len(view.operand_types)}) must match number of region arguments "
            f"({len(body.arguments)})"
        )
    for index, (type_, argument) in enumerate(zip(view.operand_types, body.arguments, strict=True)):
        if type_ != argument:
            fail(
                f"{prefix} operand type {quoted(type_)} at index {index} must match region "
                f"argument type {quoted(argument)}"
            )
    if len(body.returned) != 1:
        fail(f"{prefix} region must return exactly one value, but got {len(body.returned)}")
    return (FutureType(ArrayAttr(body.returned)),)


def infer_async_done(view: View) -> Sequence[Attribute]:
    """The only value of the future."""
    types = of_kind(view.operand_types[0], FutureType).types.data
    if len(types) != 1:
        fail(f"'stablehlo.async_done' op future must have exactly one type parameter, but got {len(types)}")
    return (types[0],)
