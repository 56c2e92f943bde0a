"""MHLO in text: ops are read as those of StableHLO or CHLO of the same name, whose forms they share.

XLA converts StableHLO to MHLO and back, and its dumps hold ops of both. Those that neither has by that name:

| op | is read as |
|---|---|
| `mhlo.topk(%0, k=8, largest=true)` | `stablehlo.custom_call @mhlo.topk`, as XLA's own conversion does |
| `mhlo.copy %0` | `stablehlo.convert` to the same type |

Not here: ops of StableHLO and CHLO (their folders), HLO (`hlo/to_stablehlo/`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xdsl.dialects.builtin import BoolAttr, DictionaryAttr, FunctionType, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute

from shardy_py.mlir.dialects.chlo import CHLO
from shardy_py.mlir.dialects.stablehlo import STABLEHLO
from shardy_py.mlir.text import DialectSyntax
from shardy_py.mlir.text.reader import OpReader
from shardy_py.mlir.text.syntax import OpParts, OpSyntax
from shardy_py.mlir.text.type_reader import read_type_or_function


def _read_top_k(reader: OpReader) -> OpParts:
    reader.expect("(")
    names = [reader.operand_name()]
    given: dict[str, IntegerAttr | BoolAttr] = {}
    while reader.accept(","):
        key = reader.token
        reader.advance()
        reader.expect("=")
        if key == "k":
            given["k"] = IntegerAttr(reader.integer(), i64)
        elif key == "largest" and reader.token in ("true", "false"):
            given["largest"] = BoolAttr.from_bool(reader.token == "true")
            reader.advance()
        else:
            reader.wrong_token("expected 'k = N' or 'largest = true'")
    reader.expect(")")
    attributes = reader.attribute_dictionary() if reader.at("{") else {}
    reader.expect(":")
    type_ = reader.type()
    reader.expect("->")
    results = reader.items(reader.type, "(", ")")
    attributes |= {"mhlo.attributes": DictionaryAttr(dict(given)), "mhlo.version": IntegerAttr(1, i64)}
    operands = reader.resolve(names, (type_,))
    target: dict[str, Attribute] = {"call_target_name": StringAttr("mhlo.topk")}
    return OpParts(operands, results, target, attributes)


def _read_copy(reader: OpReader) -> OpParts:
    parts = _read_elementwise(reader)
    parts.attributes.pop("cross_program_prefetch_index", None)  # where XLA puts the copy
    return parts


def _read_elementwise(reader: OpReader) -> OpParts:
    """`%0, %1 {...} : type`, or a function type: the form of elementwise ops, which CHLO's differs from."""
    names = reader.operand_list()
    attributes = reader.attribute_dictionary() if reader.at("{") else {}
    reader.expect(":")
    type_ = read_type_or_function(reader)
    if isinstance(type_, FunctionType):
        return OpParts(reader.resolve(names, type_.inputs.data), type_.outputs.data, {}, attributes)
    return OpParts(reader.resolve(names, (type_,) * len(names)), (type_,), {}, attributes)


_READERS: dict[str, tuple[str, Callable[[OpReader], OpParts]]] = {
    "topk": ("custom_call", _read_top_k),
    "copy": ("convert", _read_copy),
}
"""The ops that are read as others, and the readers of their forms."""
_OF_CHLO = frozenset({"scan"})
"""The ops that share the form of CHLO's; its elementwise ops have another one."""


def _op(full_name: str) -> OpSyntax | None:
    name = full_name.partition(".")[2]
    counterpart, read = _READERS.get(name, (name, None))
    syntax = STABLEHLO.op(f"{STABLEHLO.name}.{counterpart}")
    if name in _OF_CHLO:
        return CHLO.op(f"{CHLO.name}.{name}")
    if syntax is None:
        syntax, read = CHLO.op(f"{CHLO.name}.{name}"), _read_elementwise
    if syntax is None or syntax.form is None or read is None:
        return syntax
    return replace(syntax, form=replace(syntax.form, read=read))


MHLO = DialectSyntax("mhlo", _op, STABLEHLO.attributes, STABLEHLO.types, CHLO.enclosed | STABLEHLO.enclosed)
"""The syntax of ops and attributes; none is printed."""
