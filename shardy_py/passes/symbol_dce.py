"""`symbol-dce`: removes private functions and other private symbols that are unreferenced.

Symbols that only unreferenced symbols refer to are removed too. References inside attributes count.

    before  func.func @main() { return }    func.func private @unused() { return }
    after   func.func @main() { return }
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Data, Operation, ParametrizedAttribute, TypeAttribute

from shardy_py.graph.calls import calls_in
from shardy_py.graph.symbols import callee_name, symbol_name
from shardy_py.ir import erase, walk_pre_order
from shardy_py.sharding import TensorSharding


def symbol_dce(module: ModuleOp) -> None:
    """Removes unreferenced private symbols."""
    for nested in (inner for inner in module.body.block.ops if isinstance(inner, ModuleOp)):
        symbol_dce(nested)
    for symbol in unreferenced_symbols(module):
        erase(symbol)


def unreferenced_symbols(module: ModuleOp) -> list[Operation]:
    """The private symbols that are not reachable from the other ops of `module`."""
    removable: dict[str, Operation] = {}
    roots: list[Operation] = []
    for op in module.body.block.ops:
        name = symbol_name(op)
        if name is None or _is_public(op):
            roots.append(op)
        else:
            removable[name] = op
    # In most programs, calls alone reach every symbol, and they are found fast.
    if not _unreachable(roots, removable, _called):
        return []
    return list(_unreachable(roots, removable, _References().of).values())


def _unreachable(
    roots: Iterable[Operation], symbols: dict[str, Operation], references: Callable[[Operation], set[str]]
) -> dict[str, Operation]:
    """The symbols to which neither a root nor a symbol reached from one refers."""
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


class _References:
    """Collects references to symbols; visits each attribute object once."""

    def __init__(self) -> None:
        self._seen: dict[int, Attribute] = {}

    def of(self, root: Operation) -> set[str]:
        """The symbols that `root` and its nested ops refer to and that no earlier root did."""
        seen = self._seen
        found: set[str] = set()
        for op in walk_pre_order(root):
            for attribute in (*op.properties.values(), *op.attributes.values()):
                if id(attribute) not in seen:
                    seen[id(attribute)] = attribute
                    found.update(_names(attribute))
        return found


def _names(attribute: Attribute) -> Iterator[str]:
    """The symbols in an attribute."""
    pending: list[Any] = [attribute]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        else:
            pending += _parts_of(value.__class__)(value)


Parts = Callable[[Any], Iterable[Any]]


def _no_parts(value: Any) -> Iterable[Any]:
    return ()


_PARTS: tuple[tuple[type, Parts], ...] = (
    (TypeAttribute, _no_parts),
    (StringAttr, _no_parts),
    (DenseArrayBase, _no_parts),
    (DenseIntOrFPElementsAttr, _no_parts),
    (SymbolRefAttr, lambda value: (value.root_reference.data,)),
    (TensorSharding, lambda value: (value.mesh,)),
    (ParametrizedAttribute, lambda value: value.parameters),
    (Data, lambda value: () if isinstance(value.data, str) else (value.data,)),
    (Mapping, lambda value: value.values()),
    (tuple, lambda value: [part for part in value if not isinstance(part, str)]),
)
"""By class, the nested values to search; the first match counts. A nested string is a symbol."""


@lru_cache(maxsize=4096)
def _parts_of(kind: type) -> Parts:
    """Returns the function that lists the nested values of a value of class `kind`."""
    known = next((parts for base, parts in _PARTS if issubclass(kind, base)), None)
    if known is not None:
        return known
    if not is_dataclass(kind):
        return _no_parts
    names = [field.name for field in fields(kind)]
    return lambda value: [part for name in names if not isinstance(part := getattr(value, name), str)]
