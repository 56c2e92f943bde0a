"""The tree of items of a picture: functions, regions, scopes and the ops in them, with the edges between ops.

An item is a box: an op, an argument or a result; or a group, which opens to show its children. An op with
regions is a group. Ops of combiners (`stablehlo.reduce`) and constants are not drawn; a constant is named
where it is used. Not here: repeated groups (`scopes.py`), where items stand (`placement.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property
from typing import Literal, NamedTuple

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.traits import is_constant, is_terminator
from shardy_py.mlir.ir import blocks_of, operands_of, walk_pre_order, written_name
from shardy_py.mlir.location_names import name_stack
from shardy_py.mlir.symbols import MAIN, function_name
from shardy_py.mlir.value_table import ValueTable
from shardy_py.ops import TABLE, Control

ROOT = 0
_HOLDERS = frozenset(Control) - {Control.NONE, Control.CALL}
"""Ops with these hold a part of the program in their regions; those of others combine elements."""

Kind = Literal["root", "function", "region", "pass", "scope", "repeat", "op", "argument", "result"]


@dataclass(slots=True)
class Item:
    """One box.

    label: of an op its name without dialect; of a group its name.
    values: those that it defines, as positions in the value table. place: the source location of the op.
    """

    kind: Kind
    label: str
    parent: int
    values: tuple[int, ...] = ()
    op: Operation | None = None
    children: list[int] = field(default_factory=list[int])


class ValueUse(NamedTuple):
    """A use of a value, by its position in the value table, by an item, as its operand of that number."""

    value: int
    item: int
    operand: int


@dataclass(eq=False)
class Items:
    """The items of a program by number, parents before children, and the uses of values by items.

    maker: by value, the item that defines it; -1 for values that are not drawn.
    """

    table: ValueTable
    found: list[Item] = field(default_factory=lambda: [Item("root", "", -1)])
    edges: list[ValueUse] = field(default_factory=list[ValueUse])
    maker: list[int] = field(default_factory=list[int])
    of_op: dict[int, int] = field(default_factory=dict[int, int])

    def add(self, item: Item) -> int:
        """Appends an item to its parent, and returns its number."""
        self.found.append(item)
        number = len(self.found) - 1
        self.found[item.parent].children.append(number)
        for value in item.values:
            self.maker[value] = number
        return number

    def needing(self, op: Operation | None) -> int:
        """Returns the item at which a collective for an op is drawn; -1 if it is not drawn.

        op: None for one that is needed by no op: it is for the first result of a function.
        """
        if op is not None:
            return self.of_op.get(id(op), -1)
        return self._first_result

    @cached_property
    def _first_result(self) -> int:
        """Asked for when all items are there."""
        return next((n for n, item in enumerate(self.found) if item.kind == "result" and item.values), -1)


def collect_items(table: ValueTable) -> Items:
    """Returns the items and edges of a module; its groups are functions and regions."""
    items = Items(table)
    items.maker = [-1] * len(table.entries)
    _Collector(items).run()
    return items


class _Collector:
    def __init__(self, items: Items) -> None:
        self.items = items
        entries = items.table.entries
        self.numbers = {id(entry.value): n for n, entry in enumerate(entries) if entry.value is not None}
        self.results = {(id(e.op), e.index): n for n, e in enumerate(entries) if e.value is None}
        self.blocks: dict[int, int] = {}  # by identity of a block whose ops are drawn, the group

    def run(self) -> None:
        for op in walk_pre_order(self.items.table.module, include_root=False):
            if isinstance(op, FuncOp):
                self._function(op)
                continue
            block = op.parent_block()
            group = self.blocks.get(id(block))
            if group is None or block is None:
                continue
            if is_terminator(op):
                self._terminator(op, group)
            elif not is_constant(op):
                self._op(op, group)

    def _function(self, op: FuncOp) -> None:
        for block in blocks_of(op):
            self._block(block, self.items.add(Item("function", f"@{function_name(op)}", ROOT, op=op)))

    def _op(self, op: Operation, group: int) -> None:
        name = written_name(op)
        values = tuple(self.numbers[id(result)] for result in op.results)
        number = self.items.add(Item("op", name.partition(".")[2] or name, group, values, op))
        self.items.of_op[id(op)] = number
        self._uses(op, number)
        if op.regions and TABLE[op.name].control in _HOLDERS:
            blocks = [block for region in op.regions for block in region.blocks]
            names = _region_names(TABLE[op.name].control, len(blocks))
            for block, name in zip(blocks, names, strict=True):
                inner = number if not name else self.items.add(Item("region", name, number, op=op))
                self._block(block, inner)

    def _block(self, block: Block, group: int) -> None:
        self.blocks[id(block)] = group
        for argument in block.args:
            self._argument(argument, group)

    def _argument(self, argument: BlockArgument, group: int) -> None:
        number = self.numbers[id(argument)]
        entry = self.items.table.entries[number]
        self.items.add(Item("argument", entry.label or entry.name, group, (number,)))

    def _terminator(self, op: Operation, group: int) -> None:
        parent = op.parent_op()
        if not isinstance(parent, FuncOp):
            if operands_of(op):
                self._uses(op, self.items.add(Item("result", "return", group, op=op)))
            return
        for index, value in enumerate(operands_of(op)):
            number = self.results[id(parent), index]
            entry = self.items.table.entries[number]
            item = self.items.add(Item("result", entry.label or entry.name, group, (number,), op))
            self.items.edges.append(ValueUse(self.numbers[id(value)], item, index))

    def _uses(self, op: Operation, item: int) -> None:
        edges = (ValueUse(self.numbers[id(v)], item, index) for index, v in enumerate(operands_of(op)))
        self.items.edges.extend(edges)


def _region_names(control: Control, count: int) -> Sequence[str]:
    """The names of the regions of an op; "" if the op itself stands for its only one."""
    if control is Control.LOOP and count == 2:
        return "condition", "body"
    return ("",) if count == 1 else tuple(f"branch {number}" for number in range(count))


def main_first(items: Items) -> Iterator[int]:
    """The numbers of the functions, @main before others."""
    functions = items.found[ROOT].children
    yield from sorted(functions, key=lambda n: (items.found[n].label != f"@{MAIN}", n))


def depths(found: Sequence[Item]) -> list[int]:
    """Returns how many groups are around each item; parents come before children."""
    depth = [0] * len(found)
    for number, item in enumerate(found):
        for child in item.children:
            depth[child] = depth[number] + 1
    return depth


def beside(found: Sequence[Item], depth: Sequence[int], source: int, target: int) -> tuple[int, int] | None:
    """Returns the ancestors of two items that are children of one group; None if one is around the other."""
    while depth[source] > depth[target]:
        source = found[source].parent
    while depth[target] > depth[source]:
        target = found[target].parent
    if source == target:
        return None
    while found[source].parent != found[target].parent:
        source, target = found[source].parent, found[target].parent
    return source, target


def scope_of(op: Operation) -> tuple[str, ...]:
    """The scopes in the name of an op's location, the outermost first.

    JAX names `jit(step)/jvp(Model)/layer_0/dot_general`; the last part is the op. An inlined op is in the
    scope of the call.
    """
    return split_scopes(name_stack(op.location))[:-1]  # pyright: ignore[reportAttributeAccessIssue]


def split_scopes(name: str) -> tuple[str, ...]:
    """Returns the parts of a name between slashes that are not in parentheses.

    >>> split_scopes("jit(f)/transpose(jvp(a/b))/dot")
    ('jit(f)', 'transpose(jvp(a/b))', 'dot')
    """
    parts: list[str] = []
    depth = 0
    for piece in name.split("/"):
        if parts and depth > 0:
            parts[-1] += f"/{piece}"
        else:
            parts.append(piece)
        if "(" in piece or ")" in piece:
            depth += piece.count("(") - piece.count(")")
    return tuple(parts)
