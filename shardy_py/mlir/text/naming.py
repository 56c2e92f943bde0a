"""Names that MLIR's printer gives: of values, and the aliases of attributes (`#map`, `#loc3`, `!tuple`).

A region's values are numbered before those of the regions inside it, which continue its counters. In pretty
form siblings start from the same counters; in generic form every number is given once, the last region first.
Ops may suggest names (`cst`, `iterArg`), made unique with `_0`, `_1`, ...

A module whose attributes have aliases is printed twice: the first run collects them in order of occurrence,
then they are named, and the second run prints the names. Locations of ops may be defined after the module;
all other aliases are defined before it.

Not here: labels of blocks (`writer.py`), what an attribute prints as (`attribute_writer.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, TupleType
from xdsl.ir import Attribute, Operation, OpResult, Region

from shardy_py.base.records import dataclass
from shardy_py.mlir.ir import next_op
from shardy_py.mlir.text.location_syntax import LOCATIONS
from shardy_py.mlir.text.syntax import OpSyntax, SyntaxTable, operation_name


class ValueNames:
    """The names of all values under an op.

    of: name with `%` (and `#n` in a group of results) by `id` of the value.
    prefix: the text before an op with results: `%0 = `, `%0:2 = `, by `id` of the op.
    only_arguments: whether of the regions in those of `root` only the arguments of their entry blocks are
    named, as those of the functions of a module. is_printed: whether there are prefixes.
    """

    def __init__(
        self,
        root: Operation,
        syntax: SyntaxTable,
        *,
        generic: bool = False,
        only_arguments: bool = False,
        is_printed: bool = True,
    ) -> None:
        self.of: dict[int, str] = {}
        self.prefix: dict[int, str] = {}
        self._number = self._argument_number = self._conflict = 0
        self._used = _Scopes()
        self._syntaxes: dict[type[Operation], OpSyntax | None] = {}
        self._plain: set[type[Operation]] = set()
        """Classes of ops that suggest no names."""
        self._table = None if generic else syntax
        self._is_printed = is_printed
        self._number_operation(root)
        counters = (self._number, self._argument_number, self._conflict)
        waiting = [(region, counters, 1) for region in root.regions]
        while waiting:
            region, counters, depth = waiting.pop()
            if not generic:
                self._number, self._argument_number, self._conflict = counters
            self._used.enter(depth)
            if only_arguments and region.parent is not root:
                self._number_entry(region)
                continue
            nested = self._number_region(region)
            counters = (self._number, self._argument_number, self._conflict)
            waiting.extend([(inner, counters, depth + 1) for inner in nested])

    def _number_region(self, region: Region) -> list[Region]:
        """Numbers the values of `region` itself; returns the regions of its ops."""
        nested: list[Region] = []
        names, plain = self.of, self._plain
        prefixes = self.prefix if self._is_printed else None
        hints = self._argument_hints(region)
        is_entry = True
        for block in region.blocks:
            if block.args:
                self._number_arguments(block.args, hints if is_entry else (), is_entry)
            is_entry = False
            op = block.first_op
            while op is not None:
                if op.regions:
                    nested.extend(op.regions)
                results = op.results
                if results:
                    if len(results) == 1 and op.__class__ in plain:  # nearly all
                        name = f"%{self._number}"
                        self._number += 1
                        (result,) = results  # faster than by its index
                        names[id(result)] = name
                        if prefixes is not None:
                            prefixes[id(op)] = name + " = "
                    else:
                        self._number_operation(op)
                        if self._suggests_no_names(op.__class__):
                            plain.add(op.__class__)
                op = next_op(op)
        return nested

    def _number_entry(self, region: Region) -> None:
        """Names the arguments of the first block of `region`."""
        first = region.first_block
        if first is not None and first.args:
            self._number_arguments(first.args, self._argument_hints(region), is_entry=True)

    def _argument_hints(self, region: Region) -> Sequence[str | None]:
        parent = region.parent
        syntax = self._syntax_of(type(parent)) if parent is not None else None
        if parent is None or syntax is None or syntax.argument_names is None:
            return ()
        return syntax.argument_names(parent, parent.get_region_index(region))

    def _number_arguments(
        self, arguments: Sequence[object], hints: Sequence[str | None], is_entry: bool
    ) -> None:
        """Names the arguments of a block."""
        hinted = [hints[i] if i < len(hints) else None for i in range(len(arguments))]
        for argument, hint in zip(arguments, hinted, strict=True):
            if hint is not None:  # before all others, as names that ops suggest are given first
                self.of[id(argument)] = "%" + self._unique(hint)
        for argument, hint in zip(arguments, hinted, strict=True):
            if hint is not None:
                continue
            if is_entry:
                self.of[id(argument)] = "%" + self._unique(f"arg{self._argument_number}")
                self._argument_number += 1
            else:
                self.of[id(argument)] = f"%{self._number}"
                self._number += 1

    def _number_operation(self, op: Operation) -> None:
        results = op.results
        try:
            syntax = self._syntaxes[op.__class__]
        except KeyError:
            syntax = self._syntax_of(op.__class__)
        if syntax is not None and syntax.result_names is not None and results:
            self._number_groups(op, syntax.result_names(op))
        elif len(results) == 1:
            name = f"%{self._number}"
            self._number += 1
            (result,) = results
            self.of[id(result)] = name
            self.prefix[id(op)] = name + " = "
        elif results:
            self._number_groups(op, ())

    def _suggests_no_names(self, op_class: type[Operation]) -> bool:
        syntax = self._syntax_of(op_class)
        return syntax is None or syntax.result_names is None

    def _number_groups(self, op: Operation, hints: Sequence[str | None]) -> None:
        """Names results; one without a hint belongs to the group of the one before it."""
        groups: list[tuple[str, list[OpResult]]] = []
        hinted = [hints[i] if i < len(hints) else None for i in range(len(op.results))]
        for result, hint in zip(op.results, hinted, strict=True):
            if hint is not None:
                groups.append(("%" + self._unique(hint), [result]))
            elif groups:
                groups[-1][1].append(result)
            else:
                groups.append(("", [result]))
        if not groups[0][0]:
            groups[0] = (f"%{self._number}", groups[0][1])
            self._number += 1
        for name, members in groups:
            for index, member in enumerate(members):
                self.of[id(member)] = f"{name}#{index}" if len(members) > 1 else name
        texts = [f"{name}:{len(members)}" if len(members) > 1 else name for name, members in groups]
        self.prefix[id(op)] = ", ".join(texts) + " = "

    def _unique(self, name: str) -> str:
        unique = name
        while unique in self._used:
            unique = f"{name}_{self._conflict}"
            self._conflict += 1
        self._used.add(unique)
        return unique

    def _syntax_of(self, op_class: type[Operation]) -> OpSyntax | None:
        """The syntax of a class; None in generic form, where ops suggest no names."""
        if op_class not in self._syntaxes:
            self._syntaxes[op_class] = (
                self._table.op(operation_name(op_class)) if self._table is not None else None
            )
        return self._syntaxes[op_class]


class _Scopes:
    """The names of a region and of those around it, while regions are entered depth first."""

    def __init__(self) -> None:
        self._names = set[str]()
        self._added: list[list[str]] = [[]]
        """The names of each region, the outermost first."""

    def enter(self, depth: int) -> None:
        """Begins a region in as many others; those entered before, but not around it, are left."""
        while len(self._added) > depth:
            self._names.difference_update(self._added.pop())
        self._added.append([])

    def add(self, name: str) -> None:
        """Adds a name that is not yet there."""
        self._names.add(name)
        self._added[-1].append(name)

    def __contains__(self, name: str) -> bool:
        return name in self._names


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
