"""Which symbols ops refer to, anywhere in their attributes, and which symbols of a module nothing refers to.

Not here: looking symbols up (`symbols.py`).
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Data, Operation, ParametrizedAttribute

from shardy_py.graph.symbols import symbol_name
from shardy_py.graph.walk import walk_pre_order
from shardy_py.sharding import TensorSharding


def unreferenced_symbols(module: ModuleOp) -> list[Operation]:
    """The symbols that are not public and that nothing which stays refers to."""
    removable: dict[str, Operation] = {}
    pending: list[Operation] = []
    for op in module.body.block.ops:
        name = symbol_name(op)
        if name is None or _is_public(op):
            pending.append(op)
        else:
            removable[name] = op
    scan = _Scan()
    while removable and pending:
        for name in scan.references(pending.pop()):
            if (op := removable.pop(name, None)) is not None:
                pending.append(op)
    return list(removable.values())


def _is_public(op: Operation) -> bool:
    visibility = op.properties.get("sym_visibility") or op.attributes.get("sym_visibility")
    return not isinstance(visibility, StringAttr) or visibility.data == "public"


class _Scan:
    """Collects references; looks at each attribute object once."""

    def __init__(self) -> None:
        self._seen: dict[int, Attribute] = {}

    def references(self, root: Operation) -> set[str]:
        """The symbols that `root` and the ops in it refer to and that no root before did."""
        seen = self._seen
        found: set[str] = set()
        for op in walk_pre_order(root):
            for attributes in (op.properties, op.attributes):
                for attribute in attributes.values():
                    if id(attribute) not in seen:
                        seen[id(attribute)] = attribute
                        found.update(_names(attribute))
        return found


def _names(value: Any) -> Iterator[str]:
    """The symbols in an attribute, or in a part of one."""
    if isinstance(value, SymbolRefAttr):
        yield value.root_reference.data
    elif isinstance(value, TensorSharding):
        if isinstance(value.mesh, str):
            yield value.mesh
    elif isinstance(value, ParametrizedAttribute):
        yield from _names(value.parameters)
    elif isinstance(value, Data):
        data = cast("Data[Any]", value).data
        if not isinstance(data, str | bytes | int | float):
            yield from _names(data)
    elif isinstance(value, dict):
        yield from _names(cast("dict[str, Any]", value).values())
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for part in cast("Iterable[Any]", value):
            yield from _names(part)
