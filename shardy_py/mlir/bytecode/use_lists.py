"""The orders of uses of values that a bytecode file states, where they are not that of the program.

Without one, the newest use in a walk of the program is first, as ops are built. Passes and propagation visit
users in this order, so that a program behaves as the one that was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from xdsl.ir import SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.bytecode.encoding import ByteCursor
from shardy_py.mlir.ir import set_uses


@dataclass(slots=True)
class UseOrders:
    """The orders of the values of a file.

    found: values, each with its indices, and whether these are pairs of an old and a new place.
    """

    found: list[tuple[SSAValue, list[int], bool]] = field(
        default_factory=list[tuple[SSAValue, list[int], bool]]
    )

    def read(self, cursor: ByteCursor, values: Sequence[SSAValue]) -> None:
        """Reads the orders of some of the results of an op, or of the arguments of a block."""
        is_single = len(values) == 1
        for _ in range(1 if is_single else cursor.count("orders of uses")):
            index = 0 if is_single else cursor.varint()
            count, is_pairs = cursor.flagged()
            indices = [cursor.varint() for _ in range(cursor.bounded(count, "uses"))]
            if index >= len(values):
                cursor.fail(f"invalid value {index} of an order of uses: there are {len(values)}")
            self.found.append((values[index], indices, is_pairs))

    def apply(self) -> None:
        """Puts the uses in these orders; one that does not fit the uses is passed over."""
        for value, indices, is_pairs in self.found:
            uses = list(value.uses)
            places = _from_pairs(indices, len(uses)) if is_pairs else _inverse(indices)
            if sorted(places) == list(range(len(uses))):
                set_uses(value, [uses[place] for place in places])


def _from_pairs(indices: list[int], count: int) -> list[int]:
    """The old place of each use, from pairs of a new and an old place; the others stay.

    >>> _from_pairs([0, 2, 2, 0], 3)
    [2, 1, 0]
    """
    places = list(range(count))
    for new, old in zip(indices[::2], indices[1::2], strict=False):
        if new < count:
            places[new] = old
    return places


def _inverse(indices: list[int]) -> list[int]:
    """The old place of each use, from the new place of each; [] if these are no permutation.

    >>> _inverse([1, 2, 0])
    [2, 0, 1]
    """
    places = {new: old for old, new in enumerate(indices)}
    if sorted(places) != list(range(len(indices))):
        return []
    return [places[new] for new in range(len(indices))]
