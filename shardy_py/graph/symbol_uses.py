"""Which symbols ops refer to, anywhere in their attributes, and which symbols of a module nothing refers to.

Not here: looking symbols up (`symbols.py`).
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Data, Operation, ParametrizedAttribute, TypeAttribute

from shardy_py.graph.call_graph import calls_in
from shardy_py.graph.calls import callee_name
from shardy_py.graph.symbols import symbol_name
from shardy_py.graph.walk import walk_pre_order
from shardy_py.sharding import TensorSharding


def unreferenced_symbols(module: ModuleOp) -> list[Operation]:
    """The symbols that are not public and that nothing which stays refers to."""
    removable: dict[str, Operation] = {}
    roots: list[Operation] = []
    for op in module.body.block.ops:
        name = symbol_name(op)
        if name is None or _is_public(op):
            roots.append(op)
        else:
            removable[name] = op
    # Calls alone refer to all that is needed in most programs, and are found fast.
    if not _unreached(roots, removable, _called):
        return []
    return list(_unreached(roots, removable, _Scan().references).values())


def _unreached(
    roots: Iterable[Operation], symbols: dict[str, Operation], references: Callable[[Operation], set[str]]
) -> dict[str, Operation]:
    """What neither a root refers to, nor a symbol that is reached from one."""
    left = dict(symbols)
    pending = list(roots)
    while left and pending:
        for name in references(pending.pop()):
            if (op := left.pop(name, None)) is not None:
                pending.append(op)
    return left


def _called(root: Operation) -> set[str]:
    return {callee_name(call) for call in calls_in(root)}


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
            if op.properties or op.attributes:
                for attribute in (*op.properties.values(), *op.attributes.values()):
                    if id(attribute) not in seen:
                        seen[id(attribute)] = attribute
                        found.update(_names(attribute))
        return found


_WITHOUT_SYMBOLS = (
    TypeAttribute,
    StringAttr,
    IntegerAttr,
    FloatAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
)


def _names(value: Any) -> Iterator[str]:
    """The symbols in an attribute, or in a part of one."""
    if isinstance(value, _WITHOUT_SYMBOLS):
        return
    if isinstance(value, SymbolRefAttr):
        yield value.root_reference.data
    elif isinstance(value, TensorSharding):
        if isinstance(value.mesh, str):
            yield value.mesh
    else:
        for part in _parts(value):
            yield from _names(part)


def _parts(value: Any) -> Iterable[Any]:
    """What may hold symbols inside a value."""
    if isinstance(value, ParametrizedAttribute):
        return value.parameters
    if isinstance(value, Data):
        return (cast("Data[Any]", value).data,)
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).values()
    if is_dataclass(value):
        return (getattr(value, field.name) for field in fields(value))
    if isinstance(value, tuple | list):
        parts = cast("Sequence[Any]", value)
        return () if parts and isinstance(parts[0], int | str | float) else parts
    return ()
