"""Locations of ops of a text that are made when first asked for: most programs are run without theirs.

An op keeps the offset where it was read and a function from offsets to locations. Not here: texts, lines and
columns (`mlir/text/source.py`).
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from xdsl.ir import Attribute, Operation

Places = Callable[[int], Attribute]
"""The location of each offset of a text."""


class _Placed(Protocol):
    """An op with a place."""

    _places: Places
    _offset: int
    location: Attribute


def _location(op: _Placed) -> Attribute:
    return op._places(op._offset)


class LocationOfPlace(staticmethod):  # pyright: ignore[reportMissingTypeArgument]
    """The attribute `location` of a class of ops, for ops that have a place and no field of that name.

    It is not a property, since the field must take precedence; of the descriptors that let it, IRDL accepts
    functions and static methods in a class.
    """

    def __get__(self, op: _Placed | None, op_class: type | None = None, /) -> Attribute:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The location of the op's place, which it has as a field from then on."""
        if op is None:
            raise AttributeError("location")
        op.location = location = _location(op)
        return location


LOCATION_OF_PLACE = LocationOfPlace(_location)


def keeps_place(op_class: type[Operation]) -> bool:
    """True if the location of an op of that class can be made when asked for."""
    return any(vars(base).get("location") is LOCATION_OF_PLACE for base in op_class.__mro__)


def make_room(op_class: type[Operation]) -> None:
    """Lets all objects of a class hold a location or a place without a dictionary of their own.

    CPython gives that to objects with fields that none of the first thirty of their class had.
    """
    first = object.__new__(op_class)
    for name in _FIELDS:
        setattr(first, name, None)


_FIELDS = (
    *("_operands", "_operand_uses", "results", "_successors", "_successor_uses", "properties", "attributes"),
    *("location", "regions", "parent", "_next_op", "_prev_op", "_places", "_offset"),
)
