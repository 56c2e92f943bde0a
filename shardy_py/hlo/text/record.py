"""Instructions as `OpRecord`s of the op table.

Tuples are flattened: an operand or result that is a tuple becomes its elements.

>>> from shardy_py.hlo.text.reader import read_module
>>> main = read_module('''HloModule m
... ENTRY main {
...   p = f32[4,8] parameter(0)
...   ROOT t = f32[8,4] transpose(p), dimensions={1,0}
... }''').entry_computation
>>> record = record_of(main.by_name["t"], main)
>>> record.name, record.attributes
('stablehlo.transpose', {'permutation': (1, 0)})
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.hlo.text.opcodes import OPCODES, Opcode
from shardy_py.hlo.text.values import Computation, Instruction, Shape
from shardy_py.ops import TABLE, OpRecord, TensorType

_ELEMENTS = {"pred": "i1", "c64": "complex<f32>", "c128": "complex<f64>"}
_NO_TENSORS = frozenset({"token", "opaque"})


def row_of(instruction: Instruction) -> Opcode:
    """The row of an opcode; for `X-start`, `X-update` and `X-done`, that of X."""
    return OPCODES.get(instruction.opcode) or OPCODES[instruction.opcode.rpartition("-")[0]]


def tensor_type(shape: Shape) -> TensorType | None:
    """The tensor type of a shape other than a tuple; None for tokens. A dynamic size counts as its bound.

    >>> tensor_type(Shape("pred", (3,)))
    TensorType(shape=(3,), element='i1')
    """
    if shape.element in _NO_TENSORS:
        return None
    element = _ELEMENTS.get(shape.element, shape.element)
    if element[0] in "su" and element[1:].isdigit():
        element = ("i" if element[0] == "s" else "ui") + element[1:]
    return TensorType(shape.sizes, element)


def leaf_types(shape: Shape) -> tuple[TensorType | None, ...]:
    """The tensor types of a value, in order."""
    return tuple(map(tensor_type, shape.leaves()))


def record_of(
    instruction: Instruction, computation: Computation, callees: Mapping[str, Computation] | None = None
) -> OpRecord:
    """The record of an instruction of `computation`; `callees` are the computations it may call."""
    row = row_of(instruction)
    operands = tuple(
        leaf for name in instruction.operands for leaf in computation.by_name[name].shape.leaves()
    )
    with fitting(instruction):
        attributes = row.convert(instruction, operands) if row.form == "op" else {}
        surroundings = _CONTEXT.get(instruction.opcode)
        if surroundings:
            attributes |= surroundings(instruction, callees or {})
    variant = _VARIANTS.get(instruction.opcode)
    name = (variant and variant(instruction, operands)) or row.name
    return OpRecord(name, tuple(map(tensor_type, operands)), leaf_types(instruction.shape), attributes)


@contextmanager
def fitting(instruction: Instruction) -> Generator[None]:
    """Reports attributes that do not match the shapes as a mistake of the input."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError, AssertionError) as error:
        message = f"'{instruction.opcode}' of {instruction.name}: attributes do not match the shapes"
        raise ShardyError(Diagnostic(message, instruction.position)) from error


def combiner_of(instruction: Instruction, callees: Mapping[str, Computation]) -> dict[str, object]:
    """Scatter: the op with which its computation combines two values, if their order has no effect."""
    body = callees.get(instruction.attributes["to_apply"])
    combiner = None
    if body is not None and len(body.parameters) == 2:
        root = body.by_name[body.root]
        op = row_of(root)
        element = tensor_type(root.shape)
        is_order_free = element is not None and TABLE[op.name].is_order_free(element.element)
        if is_order_free and sorted(root.operands) == sorted(p.name for p in body.parameters):
            combiner = op.name
    return {"context.combiner": combiner}


def _all_to_all(instruction: Instruction, operands: tuple[Shape, ...]) -> str:
    """Without `dimensions`, whole operands are exchanged, element by element."""
    return "" if "dimensions" in instruction.attributes else OPCODES["collective-permute"].name


def _custom_call(instruction: Instruction, operands: tuple[Shape, ...]) -> str:
    """Calls that only annotate a sharding are copies."""
    target = instruction.attributes["custom_call_target"]
    is_same = len(operands) == 1 and operands[0].sizes == instruction.shape.sizes
    return "hlo.copy" if is_same and target in _SHARDING_TARGETS else ""


def frontend_attributes_of(instruction: Instruction, callees: Mapping[str, Computation]) -> dict[str, object]:
    """The attributes that a frontend gave the instruction, as MLIR has them."""
    text = str(instruction.attributes.get("frontend_attributes", ""))
    found: dict[str, str] = dict(re.findall(r'([\w.]+)="([^"]*)"', text))
    return {"mhlo.frontend_attributes": found} if found else {}


def number_of(instruction: Instruction, callees: Mapping[str, Computation]) -> dict[str, object]:
    """The value of a scalar of integers."""
    text = instruction.literal.strip() if isinstance(instruction.literal, str) else ""
    return {"value": int(text)} if re.fullmatch(r"-?\d+", text) and not instruction.shape.sizes else {}


_SHARDING_TARGETS = frozenset({"Sharding", "xla.sdy.FuncResultSharding"})
_VARIANTS: dict[str, Callable[[Instruction, tuple[Shape, ...]], str]] = {
    "all-to-all": _all_to_all,
    "custom-call": _custom_call,
}
"""Opcodes whose op depends on their attributes; empty: the op of the row."""
_CONTEXT: dict[str, Callable[[Instruction, Mapping[str, Computation]], dict[str, object]]] = {
    "constant": number_of,
    "custom-call": frontend_attributes_of,
    "scatter": combiner_of,
}
