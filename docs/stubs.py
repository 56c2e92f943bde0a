"""Writes the types of op classes that are made from rows, for `make docs`; a test fails when they are stale.

The classes are made from rows when first used, so type checkers read these stubs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shardy_py.mlir.dialects import check, chlo, interpreter, stablehlo
from shardy_py.mlir.dialects.definition import OpRow, Slot
from shardy_py.mlir.dialects.op_table import OpTable

_DIALECTS = Path(__file__).parents[1] / "shardy_py" / "mlir" / "dialects"
TABLES: dict[Path, OpTable] = {
    _DIALECTS / "stablehlo" / "__init__.pyi": stablehlo.OPS,
    _DIALECTS / "chlo" / "__init__.pyi": chlo.OPS,
    _DIALECTS / "check.pyi": check.OPS,
    _DIALECTS / "interpreter.pyi": interpreter.OPS,
}
"""The table of each stub."""

_IMPORTS = {
    "collections.abc": "Mapping Sequence",
    "typing": "Literal TypeAlias",
    "xdsl.dialects.builtin": "AnyFloat ArrayAttr DenseArrayBase DenseIntOrFPElementsAttr DenseResourceAttr"
    " DictionaryAttr FloatAttr IntegerAttr IntegerType StringAttr SymbolRefAttr UnitAttr",
    "xdsl.ir": "Attribute Dialect Operation OpResult Region SSAValue",
    "shardy_py.mlir.dialects.encoding": "PlainValue",
    "shardy_py.mlir.dialects.op_table": "OpTable",
    "shardy_py.mlir.text": "DialectSyntax",
    "shardy_py.mlir.text.xdsl_hooks": "DialectOp PrettyOp",
}
"""The names that stubs may use, by module; those of the dialect's own attributes are found there."""

_HEAD = """\
_Value: TypeAlias = SSAValue | Operation

OPS: OpTable
{syntaxes}

def op_class(name: str) -> type[Operation]: ...
def xdsl_dialect() -> Dialect: ...
"""


def stub(table: OpTable) -> str:
    """The stub of a dialect's package."""
    dialect = table.dialect
    syntaxes = ("QUANT", "STABLEHLO") if dialect == "stablehlo" else (dialect.upper(),)
    body = _HEAD.format(syntaxes="\n".join(f"{name}: DialectSyntax" for name in syntaxes))
    body += "".join("\n" + "\n".join(_class(row)) + "\n" for row in table.rows.values())
    used = set(re.findall(r"\w+", body))
    modules = {name: names.split() for name, names in _IMPORTS.items()}
    for module in ("attributes", "structs"):
        path = _DIALECTS / dialect / f"{module}.py"
        source = path.read_text() if path.exists() else ""
        modules[f"shardy_py.mlir.dialects.{dialect}.{module}"] = re.findall(
            r"^class (\w+)", source, re.MULTILINE
        )
    lines = [
        f"from {module} import {', '.join(found)}"
        for module, names in modules.items()
        if (found := sorted(used.intersection(names)))
    ]
    return "# Generated from the rows of ops by `make docs`.\n" + "\n".join([*lines, "", body])


def _class(row: OpRow) -> Iterator[str]:
    yield f"class {row.class_name}({'DialectOp' if row.form is None else 'PrettyOp'}):"
    parameters = ["self"]
    keywords: list[str] = []
    for slot in row.operands:
        yield f"    {slot.accessor}: {_many(slot, 'SSAValue')}"
        parameters.append(f"{slot.accessor}: {_many(slot, '_Value')}")
    for slot in row.attributes:
        encoding = slot.kind.encoding
        values = f"{encoding.annotation} | {encoding.values}" if encoding.values else encoding.annotation
        absent = " | None" if slot.optional else ""
        yield f"    {slot.accessor}: {encoding.annotation}{absent}"
        keywords.append(f"{slot.accessor}: {values}{absent}{' = ...' if absent else ''}")
    for slot in row.results:
        yield f"    {slot.accessor}: {_many(slot, 'OpResult')}"
    for slot in row.regions:
        yield f"    {slot.accessor}: {_many(slot, 'Region')}"
        keywords.append(f"{slot.accessor}: {_many(slot, 'Region')}")
    if row.results:
        is_nested = sum(slot.many for slot in row.results) > 1
        types = "Sequence[Sequence[Attribute]]" if is_nested else "Sequence[Attribute]"
        keywords.append(f"result_types: {types} | None = ..." if row.infer else f"result_types: {types}")
    keywords.append("attributes: Mapping[str, Attribute] | None = ...")
    arguments = "".join(f"        {parameter},\n" for parameter in (*parameters, "*", *keywords))
    yield f"    def __init__(\n{arguments}    ) -> None: ..."


def _many(slot: Slot[Any], type_: str) -> str:
    return f"Sequence[{type_}]" if slot.many else type_


if __name__ == "__main__":
    for path, table in TABLES.items():
        path.write_text(stub(table))
