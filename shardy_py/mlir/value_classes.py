"""The values of a table by class: those of one class of ops, type and sharding, of which a rule reads one.

A program of equal layers has a few hundred classes, however many layers there are.

    [(each.first, len(each.positions)) for each in ValueClasses(table.entries).each]

Not here: the values (`value_table.py`), classes of ops with equal attributes (`record.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property

from xdsl.ir import Operation, OpResult

from shardy_py.base.records import dataclass
from shardy_py.mlir.holders import SHARDING
from shardy_py.mlir.value_shardings import holds_its_own
from shardy_py.mlir.value_table import ValueEntry

_MANUAL_AXES = "manual_axes"


@dataclass(frozen=True, slots=True, eq=False)
class ValueClass:
    """Values that differ in operands and attributes of their ops only.

    positions: of its values among all, in program order. first: the first of them.
    """

    first: ValueEntry
    positions: list[int]


class ValueClasses:
    """The classes of values, which must not change while this is in use."""

    def __init__(self, entries: Sequence[ValueEntry]) -> None:
        self.entries = entries

    @cached_property
    def each(self) -> tuple[ValueClass, ...]:
        """The classes, in the order of their first values."""
        found: dict[Hashable, ValueClass] = {}
        own: dict[type[Operation], bool] = {}
        kept: list[object] = []  # shardings that are made when they are read: for their identities
        for position, entry in enumerate(self.entries):
            op, value = entry.op, entry.value
            is_own = own.get(op.__class__)
            if is_own is None:
                is_own = own[op.__class__] = holds_its_own(op.__class__)
            if is_own and type(value) is OpResult:
                given: object = op.attributes.get(SHARDING)
            else:
                given = entry.sharding
                kept.append(given)
            key = op.__class__, id(entry.type), id(given), entry.index, value.__class__, entry.role
            if op.regions:
                key = *key, id(op.properties.get(_MANUAL_AXES))
            known = found.get(key)
            if known is None:
                found[key] = ValueClass(entry, [position])
            else:
                known.positions.append(position)
        return tuple(found.values())

    def where(self, is_wanted: Callable[[ValueEntry], object]) -> Iterable[ValueEntry]:
        """Returns the values of the classes whose first value is wanted, in program order.

        is_wanted: reads the op's class and manual axes, the type, the sharding, the role and the index only.
        """
        wanted = [each.positions for each in self.each if is_wanted(each.first)]
        return map(self.entries.__getitem__, sorted(position for each in wanted for position in each))
