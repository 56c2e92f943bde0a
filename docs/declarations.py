"""Writes the declarations of op classes that are made from rows, for `make docs`; a test fails if stale.

The classes are made from rows when first used: type checkers and editors read these modules, and
`inspect.getsource` shows them.
"""

from __future__ import annotations

import re
from pathlib import Path

from shardy_py.mlir.dialects import check, chlo, interpreter, stablehlo
from shardy_py.mlir.dialects.declaration import source
from shardy_py.mlir.dialects.op_table import OpTable

_DIALECTS = Path(__file__).parents[1] / "shardy_py" / "mlir" / "dialects"
TABLES: dict[Path, OpTable] = {
    _DIALECTS / "stablehlo" / "op_classes.py": stablehlo.OPS,
    _DIALECTS / "chlo" / "op_classes.py": chlo.OPS,
    _DIALECTS / "check_op_classes.py": check.OPS,
    _DIALECTS / "interpreter_op_classes.py": interpreter.OPS,
}
"""The table of each module."""

_IMPORTS = {
    "collections.abc": "Mapping Sequence",
    "typing": "TYPE_CHECKING Literal",
    "xdsl.dialects.builtin": "AnyFloat ArrayAttr DenseArrayBase DenseIntOrFPElementsAttr DenseResourceAttr"
    " DictionaryAttr FloatAttr IntegerAttr IntegerType StringAttr SymbolRefAttr UnitAttr",
    "xdsl.ir": "Attribute Operation OpResult Region SSAValue",
    "shardy_py.mlir.dialects.encoding": "PlainValue",
    "shardy_py.mlir.text.xdsl_hooks": "DialectOp PrettyOp",
}
"""The names that declarations may use, by module; those of the dialect's own attributes are found there."""

_HEAD = '''\
"""Declarations of the classes of {dialect}'s ops, for type checkers, editors and `inspect.getsource`.

Generated from the rows of ops by `make docs`. The classes themselves are made from the rows when first used.
"""

from __future__ import annotations

{imports}

__all__ = [
{names}
]

if TYPE_CHECKING:
{classes}

else:
    from {module} import OPS

    __getattr__ = OPS.class_named
'''


def declarations(table: OpTable) -> str:
    """The module that declares the op classes of a dialect."""
    dialect = table.dialect
    rows = table.rows.values()
    lines = [f"    {line}".rstrip() for row in rows for line in ("", *source(row, dialect))]
    classes = "\n".join(lines)
    used = {*re.findall(r"\w+", classes), "TYPE_CHECKING"}
    modules = {name: names.split() for name, names in _IMPORTS.items()}
    for module in ("attributes", "structs"):
        path = _DIALECTS / dialect / f"{module}.py"
        text = path.read_text() if path.exists() else ""
        own = re.findall(r"^class (\w+)", text, re.MULTILINE)
        modules[f"shardy_py.mlir.dialects.{dialect}.{module}"] = own
    imports = [
        f"from {module} import {', '.join(found)}"
        for module, names in modules.items()
        if (found := sorted(used.intersection(names)))
    ]
    module = f"shardy_py.mlir.dialects.{dialect}"
    names = "\n".join(f'    "{name}",' for name in sorted(table.by_class_name))
    return _HEAD.format(
        dialect=dialect, imports="\n".join(imports), names=names, module=module, classes=classes
    )


if __name__ == "__main__":
    for path, table in TABLES.items():
        path.write_text(declarations(table))
