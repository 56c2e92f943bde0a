"""Types behind the colon of StableHLO's and CHLO's forms, where they are not a function type.

`tensor<8xf32>` is the type of all operands and of the result; otherwise a function type is printed.

Not here: the function type itself (`mlir/text/assembly.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import FunctionType, TensorType, TupleType
from xdsl.ir import Attribute, Operation

from shardy_py.mlir.text.assembly import Draft, Element, expect_words
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.builtin_attributes import is_complex, is_tensor
from shardy_py.mlir.text.type_reader import read_type_or_function

if TYPE_CHECKING:
    from shardy_py.mlir.text.op_writer import OpWriter
    from shardy_py.mlir.text.reader import OpReader

Types = tuple[Sequence[Attribute], Sequence[Attribute]]
"""The types of operands and of results."""
Infer = Callable[["OpReader", Attribute, int, int], Types]
"""From the one type that was read (at an offset), the types of that many operands and of the results."""
Shorten = Callable[[Operation], Attribute | None]
"""The one type to print, None where a function type is needed."""


def _types(op: Operation) -> tuple[list[Attribute], list[Attribute]]:
    return [value.type for value in op.operands], [value.type for value in op.results]


def read_types(reader: OpReader) -> list[Attribute]:
    """`type, type`."""
    types = [read_type_or_function(reader)]
    while reader.accept(","):
        types.append(read_type_or_function(reader))
    return types


def _short_or_function(infer: Infer, shorten: Shorten) -> Element:
    def read(reader: OpReader, draft: Draft) -> None:
        reader.expect(":")
        start = reader.offset
        type_ = read_type_or_function(reader)
        if isinstance(type_, FunctionType):
            _assign(reader, draft, type_, start)
        else:
            draft.operand_types, draft.result_types = infer(reader, type_, start, len(draft.names))

    def write(writer: OpWriter, op: Operation) -> None:
        short = shorten(op)
        writer.write(" : ")
        if short is None:
            writer.function_type(op)
        else:
            writer.attribute(short)

    return Element(read, write)


def _assign(reader: OpReader, draft: Draft, type_: FunctionType, start: int) -> None:
    inputs, outputs = type_.inputs.data, type_.outputs.data
    if len(inputs) != len(draft.names):
        reader.form_error(f"{len(draft.names)} operands present, but expected {len(inputs)}", start)
    if len(outputs) != 1:
        reader.form_error("expected single output", start)
    draft.operand_types, draft.result_types = inputs, outputs


def _same(op: Operation) -> Attribute | None:
    inputs, (result,) = _types(op)
    return result if all(type_ == result for type_ in inputs) else None


SAME = _short_or_function(lambda reader, type_, start, count: ([type_] * count, [type_]), _same)
"""`: type` where operands and result are all of it, a function type elsewhere."""


def real_type(type_: Attribute) -> Attribute:
    """The tensor type of the real parts of a complex tensor type; any other type unchanged."""
    if not is_tensor(type_) or not is_complex(type_.element_type):
        return type_
    return TensorType[Attribute](type_.element_type.element_type, type_.get_shape(), type_.encoding)


def _infer_complex(reader: OpReader, type_: Attribute, start: int, count: int) -> Types:
    real = real_type(type_)
    if real is type_:
        reader.form_error("expected tensor with complex element type", start)
    return [real] * count, [type_]


def _short_complex(op: Operation) -> Attribute | None:
    inputs, (result,) = _types(op)
    return result if all(type_ == real_type(result) for type_ in inputs) else None


COMPLEX = _short_or_function(_infer_complex, _short_complex)
"""`: type` of the complex result, whose parts the operands are."""


def _infer_tuple(reader: OpReader, type_: Attribute, start: int, count: int) -> Types:
    if not isinstance(type_, TupleType):
        reader.form_error("expected tuple type", start)
    return type_.types.data, [type_]


TUPLE = _short_or_function(_infer_tuple, lambda op: op.results[0].type)
"""`: tuple<...>` of the operands' types."""


def _read_select(reader: OpReader, draft: Draft) -> None:
    reader.expect(":")
    start = reader.offset
    types = read_types(reader)
    if len(types) == 1 and isinstance(types[0], FunctionType):
        _assign(reader, draft, types[0], start)
    elif len(types) == 2:
        draft.operand_types, draft.result_types = [types[0], types[1], types[1]], [types[1]]
    else:
        reader.form_error("expected functional type or list of two types", start)


def _write_select(writer: OpWriter, op: Operation) -> None:
    (predicate, *branches), (result,) = _types(op)
    writer.write(" : ")
    if all(type_ == result for type_ in branches):
        writer.write(f"{attribute_text(predicate)}, {attribute_text(result)}")
    else:
        writer.function_type(op)


SELECT = Element(_read_select, _write_select)
"""`: predicate type, type` of both branches and the result, a function type elsewhere."""


def _read_results(reader: OpReader, draft: Draft) -> None:
    reader.expect(":")
    draft.result_types = [read_type_or_function(reader)]


def _write_results(writer: OpWriter, op: Operation) -> None:
    writer.write(" : ")
    writer.types(op.results)


RESULT = Element(_read_results, _write_results)
"""`: type` of the result of an op without operands."""


def _read_arrow(reader: OpReader, draft: Draft) -> None:
    reader.expect(":")
    types = [read_type_or_function(reader)]
    while len(types) < len(draft.names):
        reader.expect(",")
        types.append(read_type_or_function(reader))
    reader.expect("->")
    draft.operand_types, draft.result_types = types, [read_type_or_function(reader)]


def _write_arrow(writer: OpWriter, op: Operation) -> None:
    writer.write(" : ")
    writer.types(op.operands)
    writer.write(" -> ")
    writer.types(op.results)


ARROW = Element(_read_arrow, _write_arrow)
"""`: type, type -> type`, without parentheses."""


def _read_top_k(reader: OpReader, draft: Draft) -> None:
    reader.expect(":")
    draft.operand_types = [read_type_or_function(reader)]
    expect_words(reader, "->(")
    values = read_type_or_function(reader)
    reader.expect(",")
    draft.result_types = [values, read_type_or_function(reader)]
    reader.expect(")")


def _write_top_k(writer: OpWriter, op: Operation) -> None:
    writer.write(" : ")
    writer.types(op.operands)
    writer.write(" -> (")
    writer.types(op.results)
    writer.write(")")


TOP_K = Element(_read_top_k, _write_top_k)
"""`: type -> (type, type)`."""
