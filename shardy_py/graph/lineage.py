"""The values of a final program that correspond to those of its source, from the events of passes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardy_py.graph.movements import Copies, Merger
from shardy_py.graph.value_table import ValueEntry, ValueTable


@dataclass(eq=False)
class Lineage:
    """Maps the values of a program to those of the final one, which passes made from a copy of it.

    origin: from values of the source to those of the copy. events: of the passes (`movements.py`).
    """

    source: ValueTable
    final: ValueTable
    origin: Mapping[SSAValue, SSAValue]
    events: Sequence[object]

    def counterparts(self, entry: ValueEntry) -> Sequence[int]:
        """The indices, in the final table, of the values that correspond to one of the source.

        A value that replaces several copies occurs several times. The order depends only on the copies that
        the passes make, not on how they are merged afterwards.
        """
        if entry.value is not None:
            return self._counterparts.get(id(self.origin[entry.value]), ())
        found = ((function, entry.index) for function in self._functions[entry.function])
        return [self._results[key] for key in found if key in self._results]

    @cached_property
    def _counterparts(self) -> dict[int, list[int]]:
        """By identity of a value, the indices of its counterparts.

        Events are read backwards: the counterparts of a copy are counterparts of the copied value before.
        """
        found = {id(entry.value): [place] for place, entry in enumerate(self.final.entries)}
        for event in reversed(self.events):
            pairs: Iterable[tuple[SSAValue, SSAValue]] = ()
            if isinstance(event, Copies):
                pairs = event.values.items()
            elif isinstance(event, Merger):
                pairs = zip(event.values, event.kept_values, strict=True)
            for old, new in pairs:
                if old is not new and id(new) in found:
                    found.setdefault(id(old), []).extend(found[id(new)])
        return found

    @cached_property
    def _functions(self) -> dict[str, Sequence[str]]:
        """By function of the source, the final functions that contain the counterparts of its values."""
        found: dict[str, Sequence[str]] = dict.fromkeys(self.source.functions, ())
        for entry in self.source.entries:
            parent = entry.op if entry.role == "argument" else entry.op.parent_op()
            if entry.value is not None and parent is not None and isinstance(parent.parent_op(), ModuleOp):
                around = [self.final.entries[place].function for place in self.counterparts(entry)]
                found[entry.function] = max(found[entry.function], around, key=len)
        return found

    @cached_property
    def _results(self) -> dict[tuple[str, int], int]:
        """The indices of the results of functions."""
        entries = enumerate(self.final.entries)
        return {(entry.function, entry.index): place for place, entry in entries if entry.value is None}
