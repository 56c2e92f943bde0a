"""What became of the values of a program: which values of the final one stand for them.

    lineage = Lineage(source_table, final_table, origin, record.events)
    [final_table.entries[place] for place in lineage.heirs(entry)]

Not here: making the notes that say so (`movements.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardy_py.graph.movements import Copies, Merger
from shardy_py.graph.value_table import ValueEntry, ValueTable


@dataclass(eq=False)
class Lineage:
    """From the values of one program to those of another, which passes made of a copy of it.

    source, final: the values of both. origin: from those of the source to those of the copy.
    events: what the passes noted.
    """

    source: ValueTable
    final: ValueTable
    origin: Mapping[SSAValue, SSAValue]
    events: Sequence[object]

    def heirs(self, entry: ValueEntry) -> Sequence[int]:
        """The places in the final table of what stands for a value of the source; none if nothing does.

        A value that stands for several copies is there several times. The order is the same whenever the
        passes make the same copies, whatever they are merged to in the end.
        """
        if entry.value is not None:
            return self._heirs.get(id(self.origin[entry.value]), ())
        found = ((function, entry.index) for function in self._functions[entry.function])
        return [self._results[key] for key in found if key in self._results]

    @cached_property
    def _heirs(self) -> dict[int, list[int]]:
        """By the identity of values.

        Read backwards: what stands for a copy from a note on stands before it for the value copied, too.
        """
        found = {id(entry.value): [place] for place, entry in enumerate(self.final.entries)}
        for event in reversed(self.events):
            for old, new in _copies(event):
                if old is not new and id(new) in found:
                    found.setdefault(id(old), []).extend(found[id(new)])
        return found

    @cached_property
    def _functions(self) -> dict[str, Sequence[str]]:
        """By function of the source, those that it has become: the functions around what was in it."""
        found: dict[str, Sequence[str]] = dict.fromkeys(self.source.functions, ())
        for entry in self.source.entries:
            parent = entry.op if entry.role == "argument" else entry.op.parent_op()
            if entry.value is not None and parent is not None and isinstance(parent.parent_op(), ModuleOp):
                around = [self.final.entries[place].function for place in self.heirs(entry)]
                found[entry.function] = max(found[entry.function], around, key=len)
        return found

    @cached_property
    def _results(self) -> dict[tuple[str, int], int]:
        """The places of the results of functions."""
        entries = enumerate(self.final.entries)
        return {(entry.function, entry.index): place for place, entry in entries if entry.value is None}


def _copies(event: object) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The values that have a copy from a note on, with that."""
    match event:
        case Copies():
            yield from event.values.items()
        case Merger():
            yield from zip(event.values, event.kept_values, strict=True)
        case _:
            pass
