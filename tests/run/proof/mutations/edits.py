"""A change of a local program, and how ops are changed: attributes, operands, what uses a value.

    for site in SITES["slice start"](module):   # nothing is changed yet
        site.apply()

Not here: the kinds of changes (`communication.py`, `movement.py`, `values.py`, `uses.py`, `flow.py`, ...).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.mlir.dialects.stablehlo import OPS
from shardy_py.mlir.ir import (
    build_operation,
    erase,
    find_ops,
    next_op,
    operands_of,
    place_before,
    replace_operand,
    replace_uses,
    type_of,
    user_of,
    walk_pre_order,
)
from shardy_py.mlir.movements import Copies, note
from shardy_py.mlir.plain import plain, tensor_type
from shardy_py.mlir.stablehlo_builder import StablehloBuilder
from shardy_py.ops import TensorType
from shardy_py.run.interpret.inputs import dtype_of

Make = Callable[[StablehloBuilder, SSAValue], SSAValue]


@dataclass(frozen=True, eq=False)
class Site:
    """A place at which a program is changed.

    op: the op whose results, or whose operands, change. what: the change. apply: makes it, once.
    """

    op: Operation
    what: str
    apply: Callable[[], object]


Sites = Callable[[ModuleOp], Iterator[Site]]
"""The places of a program at which a change of one kind can be made; not all give a valid program."""


def ops(module: ModuleOp, *names: str) -> list[Operation]:
    """The ops of StableHLO of these names."""
    return find_ops(module, *(f"stablehlo.{name}" for name in names))


def ops_in_functions(module: ModuleOp) -> list[Operation]:
    """All ops but those of the module itself."""
    return [op for op in walk_pre_order(module) if op is not module and op.parent_op() is not module]


def ops_with_one_result(module: ModuleOp) -> list[Operation]:
    """The ops of StableHLO with one result."""
    found = ops_in_functions(module)
    return [op for op in found if op.name.startswith("stablehlo.") and len(op.results) == 1]


def short(op: Operation) -> str:
    """The name of an op without its dialect."""
    return op.name.partition(".")[2]


def value_of(op: Operation, name: str) -> Any:
    """An attribute as a plain value; None: absent."""
    given = op.properties.get(name)
    return None if given is None else plain(given)


def encoded(op: Operation, name: str, value: Any) -> Attribute:
    """The attribute of an op of StableHLO with that value."""
    kinds = {slot.name: slot.kind for slot in OPS.rows[short(op)].attributes}
    return kinds[name].encode(value)


def set_value(op: Operation, **values: Any) -> None:
    """Sets attributes, given as plain values."""
    for name, value in values.items():
        op.properties[name] = encoded(op, name, value)


def changed(op: Operation, what: str, **values: Any) -> Site:
    """The site at which attributes of an op change."""
    return Site(op, what, lambda: set_value(op, **values))


def tensor(value: SSAValue) -> TensorType:
    """The type of a tensor."""
    found = tensor_type(type_of(value))
    assert found is not None
    return found


def shape(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor."""
    return tuple(size or 0 for size in tensor(value).shape)


def is_float(value: SSAValue) -> bool:
    """Returns whether it is a tensor of real floats."""
    found = tensor_type(type_of(value))
    return found is not None and (found.element.startswith("f") or found.element == "bf16")


def is_integer(value: SSAValue) -> bool:
    """Returns whether it is a tensor of integers, of more than one bit."""
    found = tensor_type(type_of(value))
    return found is not None and found.element.lstrip("u").startswith("i") and found.element != "i1"


def is_number(value: SSAValue) -> bool:
    """Returns whether it is a tensor of floats or integers."""
    return is_float(value) or is_integer(value)


def splat(build: StablehloBuilder, like: SSAValue, value: Any) -> SSAValue:
    """A constant of the type of `like`, each element of which is `value`."""
    dtype = dtype_of(tensor(like))
    if dtype.kind == "u":
        value %= 1 << 8 * dtype.itemsize
    return build.dense(type_of(like), np.asarray(value).astype(dtype).tobytes())


def plus(amount: float) -> Make:
    """Adds a number to each element."""
    return lambda build, value: build.binary("add", value, splat(build, value, amount))


def after(value: SSAValue, make: Make) -> None:
    """Gives the users of a value another one, made from it right behind it."""
    place = next_op(value.op) if isinstance(value, OpResult) else value.owner.first_op  # pyright: ignore
    assert place is not None
    before = place.prev_op
    new = make(StablehloBuilder(place), value)
    made = set[Operation]()
    op = place.prev_op
    while op is not None and op is not before:
        made.add(op)
        op = op.prev_op
    replace_uses(value, new, only=lambda use: user_of(use) not in made)


def at_operand(op: Operation, index: int, make: Make) -> None:
    """Gives an op another operand, made from the one that it has right before it."""
    replace_operand(op, index, make(StablehloBuilder(op), operands_of(op)[index]))


def instead(op: Operation, new: SSAValue) -> None:
    """Erases an op whose result is replaced by another value."""
    replace_uses(op.results[0], new)
    erase(op)


def renamed(op: Operation, name: str) -> None:
    """Replaces an op by that of another name with the same operands and types; it stands for the same."""
    types = [type_of(result) for result in op.results]
    new = build_operation(OPS.op_class(name), operands_of(op), types, {}, {}, op.location)
    place_before(new, op)
    note(Copies(dict(zip(op.results, new.results, strict=True))))
    instead(op, new.results[0])


def swapped(op: Operation, first: int, second: int) -> None:
    """Swaps two operands."""
    a, b = operands_of(op)[first], operands_of(op)[second]
    replace_operand(op, first, b)
    replace_operand(op, second, a)
