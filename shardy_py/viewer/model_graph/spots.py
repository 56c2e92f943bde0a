"""The graph, the id and the namespace of each item: groups become namespaces, functions become graphs.

Model Explorer joins groups of equal namespace, so equal names of different groups are numbered. In its
namespaces `/` separates groups and is written `\\/` in a name, `;` separates alternatives.

>>> group_name("jit(f)/a;b")
'jit(f)\\\\/a,b'
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.base.terminal import without_controls
from shardy_py.viewer.explorer import Item, Items

LONGEST_TEXT = 400
_LONGEST_NAME = 120
_NODES = frozenset({"op", "argument", "result"})
_REPLACED = str.maketrans({"\\": "\u2216", "/": "\\/", ";": ","})
_SUFFIX = "___group___"
_REPEATED = re.compile(r"repeat \d+")
"""The label of a run of ops that have no scopes."""


@dataclass(frozen=True, slots=True)
class Spot:
    """The place of a node: the id of its graph, its own id, unique there, and its namespace."""

    graph: str
    id: str
    namespace: str

    def groups(self) -> Iterator[str]:
        """Yields the namespaces of the groups around it, the outermost first, and "" for the graph."""
        yield ""
        ends = (
            at
            for at, character in enumerate(self.namespace)
            if character == "/" and self.namespace[at - 1] != "\\"
        )
        yield from (self.namespace[:end] for end in ends)
        if self.namespace:
            yield self.namespace


def spots_of(items: Items) -> dict[int, Spot]:
    """Returns the spots of ops, arguments and results by the number of their item, in order."""
    names = _Names()
    graphs, inside = [""] * len(items.found), [""] * len(items.found)
    spots: dict[int, Spot] = {}
    for number, item in enumerate(items.found):
        if item.kind == "root":
            continue
        if item.kind == "function":
            graphs[number] = names.unique("", shown(item.label.removeprefix("@")) or "function")
            continue
        graph, outer = graphs[item.parent], inside[item.parent]
        graphs[number], inside[number] = graph, outer
        if item.children and not _is_family(items, item):
            label = group_name(f"{item.label} {_name(items, item)}" if item.kind == "op" else item.label)
            inside[number] = names.unique(f"group {graph}", f"{outer}/{label}" if outer else label)
        if item.kind in _NODES:
            name = shown(_name(items, item) or f"{item.label} {number}").replace(_SUFFIX, "_")
            spots[number] = Spot(graph, names.unique(f"node {graph}", name), inside[number])
    return spots


def _is_family(items: Items, item: Item) -> bool:
    """True if a group only holds scopes that differ in a number: Model Explorer finds equal layers itself."""
    return item.kind == "repeat" and not any(_REPEATED.fullmatch(items.found[n].label) for n in item.children)


class _Names:
    """Names that were given, by what they are unique in."""

    def __init__(self) -> None:
        self.taken: set[tuple[str, str]] = set()
        self.next: dict[tuple[str, str], int] = {}

    def unique(self, inside: str, name: str) -> str:
        """Returns the name with the least number that makes it unique; numbers before `next` are taken."""
        if (inside, name) not in self.taken:
            self.taken.add((inside, name))
            return name
        number = self.next.get((inside, name), 2)
        while (inside, f"{name} ({number})") in self.taken:
            number += 1
        self.next[inside, name] = number + 1
        self.taken.add((inside, f"{name} ({number})"))
        return f"{name} ({number})"


def _name(items: Items, item: Item) -> str:
    """The SSA name of what an item defines, `%0` for `%0#1`; "" if it defines nothing."""
    return items.table.entries[item.values[0]].name.partition("#")[0] if item.values else ""


def group_name(label: str) -> str:
    """Returns a label as one part of a namespace."""
    text = shown(label, _LONGEST_NAME).replace(_SUFFIX, "_").translate(_REPLACED)
    return text.strip() or "_"


@SESSION.cache(1 << 14)
def shown(text: str, longest: int = LONGEST_TEXT) -> str:
    """Returns a name of the program without control characters, and not longer than can be shown."""
    clean = without_controls(text[: longest + 1], lines=False)
    return clean if len(text) <= longest else f"{clean[:longest]}..."
