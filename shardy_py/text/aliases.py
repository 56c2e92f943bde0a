"""The aliases that MLIR's printer gives: `#map`, `#set`, `#loc3`, `!tuple`.

A module whose attributes have aliases is printed twice: the first run collects them in order of occurrence,
then they are named, and the second run prints the names. Locations of ops may be defined after the module;
all other aliases are defined before it.

Not here: what an attribute prints as (`attribute_writer.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, TupleType
from xdsl.ir import Attribute

from shardy_py.text.location_syntax import LOCATIONS

_LONGEST_PLAIN_TUPLE = 16
_NAMES: dict[type[Attribute], str] = {
    AffineMapAttr: "map",
    AffineSetAttr: "set",
    **dict.fromkeys(LOCATIONS, "loc"),
}


@dataclass(slots=True, eq=False)
class Entry:
    """An attribute that gets an alias, or contains one that does.

    base: the alias without its number, empty if the attribute itself is to be spelled out.
    depth: how many aliases deep it nests.
    is_deferrable: whether its definition may follow the module.
    alias: the alias with `#` or `!`, once it is given.
    text: the attribute spelled out, as of the current phase.
    """

    attribute: Attribute
    base: str
    depth: int
    children: list[Entry]
    is_deferrable: bool
    text: str
    alias: str = ""

    def define_early(self) -> None:
        """Defines this alias, and all that it refers to, before the module."""
        if self.is_deferrable:
            self.is_deferrable = False
            for child in self.children:
                child.define_early()


@dataclass(slots=True)
class AliasTable:
    """The aliases of one printed text.

    defers: whether aliases recorded now may be defined after the module.
    is_naming: whether aliases have been given.
    """

    defers: bool = False
    is_naming: bool = False
    entries: dict[Attribute, Entry] = field(default_factory=dict[Attribute, Entry])
    _by_id: dict[int, Entry] = field(default_factory=dict[int, Entry])
    _alive: list[Attribute] = field(default_factory=list[Attribute])

    def find(self, attribute: Attribute) -> Entry | None:
        """The entry of this object if it has been recorded before."""
        found = self._by_id.get(id(attribute))
        if found is not None and not self.defers and not self.is_naming:
            found.define_early()
        return found

    def record(self, attribute: Attribute, text: str, children: list[Entry]) -> Entry:
        """Adds and returns the entry of an attribute with that text, which refers to `children`."""
        found = self.entries.get(attribute)
        if found is None:
            depth = max((child.depth for child in children), default=0) + 1
            found = Entry(attribute, alias_base(attribute), depth, children, self.defers, text)
            self.entries[attribute] = found
        elif not self.defers and not self.is_naming:
            found.define_early()
        self._by_id[id(attribute)] = found
        self._alive.append(attribute)
        return found

    def give_names(self, spell: Callable[[Attribute], str]) -> None:
        """Ends the collecting: gives aliases, by depth and name, types first; `spell` then uses them."""
        self.is_naming = True
        counts: dict[str, int] = {}
        for entry in self._in_order():
            number = counts[entry.base] = counts.get(entry.base, -1) + 1
            entry.alias = f"{_sigil(entry.attribute)}{entry.base}{number or ''}"
        for entry in sorted(self.entries.values(), key=lambda entry: entry.depth):
            entry.text = spell(entry.attribute)

    def definitions(self, *, behind: bool) -> str:
        """The definitions before or behind the module, a line each."""
        shown = [entry for entry in self._in_order() if entry.is_deferrable is behind]
        return "".join([f"{entry.alias} = {entry.text}\n" for entry in shown])

    def _in_order(self) -> list[Entry]:
        """The entries that get an alias, in the order of their definitions."""
        named = [entry for entry in self.entries.values() if entry.base]
        return sorted(named, key=lambda e: (e.depth, not isinstance(e.attribute, TupleType), e.base))


def _sigil(attribute: Attribute) -> str:
    return "!" if isinstance(attribute, TupleType) else "#"


def alias_base(attribute: Attribute) -> str:
    """The alias of an attribute without its number; empty if it gets none."""
    if isinstance(attribute, TupleType):
        return "tuple" if len(attribute.types.data) > _LONGEST_PLAIN_TUPLE else ""
    return _NAMES.get(type(attribute), "")
