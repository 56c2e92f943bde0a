"""Names of values as MLIR's printer gives them.

A region's values are numbered before those of the regions inside it, which go on from its counters; siblings
start from the same counters. Ops may suggest names (`cst`, `iterArg`), made unique with `_0`, `_1`, ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation, Region

from shardy_py.text.syntax import SyntaxTable


class ValueNames:
    """The names of all values under an op.

    of: name with `%` (and `#n` in a group of results) by `id` of the value.
    prefix: what stands before an op with results: `%0 = `, `%0:2 = `, by `id` of the op.
    """

    def __init__(self, root: Operation, syntax: SyntaxTable) -> None:
        self.of: dict[int, str] = {}
        self.prefix: dict[int, str] = {}
        self._used: set[str] = set()
        self._suggestions: dict[type, Any] = {}
        self._syntax = syntax
        nested: list[Region] = []
        counters = self._number_operation(root, (0, 0, 0), nested)
        for region in root.regions:
            self._number_region(region, counters)

    def _number_region(self, region: Region, counters: tuple[int, int, int]) -> None:
        used_before = self._used
        self._used = _Scope(used_before)
        nested: list[Region] = []
        parent = region.parent
        suggest = self._syntax_of(type(parent)) if parent is not None else None
        names = suggest.argument_names if suggest is not None else None
        is_entry = True
        for block in region.blocks:
            suggested: Sequence[str | None] = (
                names(parent, parent.get_region_index(region)) if names and is_entry and parent is not None else ()
            )
            counters = self._number_arguments(block.args, suggested, is_entry, counters)
            is_entry = False
            op = block.first_op
            while op is not None:
                counters = self._number_operation(op, counters, nested)
                op = op._next_op  # pyright: ignore[reportPrivateUsage]
        for inner in nested:
            self._number_region(inner, counters)
        self._used = used_before

    def _number_arguments(
        self, arguments: Sequence[Any], suggested: Sequence[str | None], is_entry: bool, counters: tuple[int, int, int]
    ) -> tuple[int, int, int]:
        number, argument_number, conflict = counters
        for index, argument in enumerate(arguments):
            name = suggested[index] if index < len(suggested) else None
            if name is not None:
                name, conflict = self._unique(name, conflict)
            elif is_entry:
                name, conflict = self._unique(f"arg{argument_number}", conflict)
                argument_number += 1
            else:
                name = str(number)
                number += 1
            self.of[id(argument)] = f"%{name}"
        return number, argument_number, conflict

    def _number_operation(
        self, op: Operation, counters: tuple[int, int, int], nested: list[Region]
    ) -> tuple[int, int, int]:
        if op.regions:
            nested.extend(op.regions)
        results = op.results
        if not results:
            return counters
        op_class = type(op)
        syntax = self._syntax_of(op_class)
        if syntax is None or syntax.result_names is None:
            number = counters[0]
            name = f"%{number}"
            if len(results) == 1:
                self.of[id(results[0])] = name
                self.prefix[id(op)] = name + " = "
            else:
                self._name_group(op, name, results)
            return number + 1, counters[1], counters[2]
        return self._number_named(op, syntax.result_names(op), counters)

    def _number_named(
        self, op: Operation, hints: Sequence[str | None], counters: tuple[int, int, int]
    ) -> tuple[int, int, int]:
        number, argument_number, conflict = counters
        groups: list[tuple[str, list[Any]]] = []
        for index, result in enumerate(op.results):
            hint = hints[index] if index < len(hints) else None
            if hint is not None:
                hint, conflict = self._unique(hint, conflict)
                groups.append((f"%{hint}", [result]))
            elif index == 0:
                groups.append((f"%{number}", [result]))
                number += 1
            else:
                groups[-1][1].append(result)
        texts: list[str] = []
        for name, members in groups:
            if len(members) == 1:
                self.of[id(members[0])] = name
                texts.append(name)
            else:
                texts.append(f"{name}:{len(members)}")
                for index, member in enumerate(members):
                    self.of[id(member)] = f"{name}#{index}"
        self.prefix[id(op)] = ", ".join(texts) + " = "
        return number, argument_number, conflict

    def _name_group(self, op: Operation, name: str, results: Sequence[Any]) -> None:
        for index, result in enumerate(results):
            self.of[id(result)] = f"{name}#{index}"
        self.prefix[id(op)] = f"{name}:{len(results)} = "

    def _unique(self, name: str, conflict: int) -> tuple[str, int]:
        unique = name
        while unique in self._used:
            unique = f"{name}_{conflict}"
            conflict += 1
        self._used.add(unique)
        return unique, conflict

    def _syntax_of(self, op_class: type[Any]) -> Any:
        if op_class not in self._suggestions:
            self._suggestions[op_class] = self._syntax.op(op_class.name)
        return self._suggestions[op_class]


class _Scope(set[str]):
    """The names of a region, with those of the enclosing regions behind them."""

    def __init__(self, outer: set[str]) -> None:
        super().__init__()
        self.outer = outer

    def __contains__(self, name: object) -> bool:
        return set.__contains__(self, name) or name in self.outer
