"""Comparators of sorts as lists of keys, where their terms show them.

    compare LT (f(a), f(b))                             ascending by f
    compare GT (f(a), f(b)), compare LT (f(b), f(a))    descending by f
    or (L, and (compare EQ (f(a), f(b)), M))            by f, then by the keys of M
    select (compare EQ (f(a), f(b)), M, L)              the same

a stands for the left elements of all operands, b for the right ones: arguments 2k and 2k + 1.

Not here: sorting (`order.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shardy_py.base.records import dataclass
from shardy_py.ops.compute.lanes import Array, RegionFunction, RegionTerm
from shardy_py.ops.compute.precision import NARROW_FLOATS, SMALL_INTEGERS
from shardy_py.ops.table import is_elementwise

Operand = RegionTerm | Array | int


@dataclass(frozen=True, slots=True)
class Key:
    """The values that a comparator compares first, or where all before are equal.

    term: f of the module's docstring, for the left element. is_total: whether it is compared in total order.
    """

    term: Operand
    is_descending: bool
    is_total: bool

    def values(self, operands: Sequence[Array]) -> Array:
        """Returns integers that ascend in the order of the key, for operands of lanes only."""
        values = _evaluated(self.term, operands, {})
        ordered = _as_integers(values, is_total=self.is_total)
        return ~ordered if self.is_descending else ordered


def keys_of(comparator: RegionFunction) -> list[Key] | None:
    """Returns the keys by which a comparator orders; None if it is not known to do so."""
    return _keys(comparator.terms[0]) if len(comparator.terms) == 1 else None


def _keys(term: Operand) -> list[Key] | None:
    if not isinstance(term, RegionTerm):
        return None
    if term.record.name == "stablehlo.or":
        for first, rest in (term.operands, term.operands[::-1]):
            if isinstance(rest, RegionTerm) and rest.record.name == "stablehlo.and":
                for equal, then in (rest.operands, rest.operands[::-1]):
                    found = _chained(first, equal, then)
                    if found is not None:
                        return found
        return None
    if term.record.name == "stablehlo.select":
        equal, then, first = term.operands
        return _chained(first, equal, then)
    key = _compared(term, ("LT", "GT"))
    return None if key is None else [key]


def _chained(first: Operand, equal: Operand, then: Operand) -> list[Key] | None:
    key, same = _compared(first, ("LT", "GT")), _compared(equal, ("EQ",))
    if key is None or same is None or not _Matching(0).matches(key.term, same.term):
        return None
    rest = _keys(then)
    return None if rest is None else [key, *rest]


def _compared(term: Operand, directions: tuple[str, ...]) -> Key | None:
    """Returns the key if the term compares f of left and right elements in one of the directions."""
    if not isinstance(term, RegionTerm) or term.record.name != "stablehlo.compare":
        return None
    direction = term.record.attributes["comparison_direction"]
    if direction not in directions:
        return None
    left, right = term.operands
    is_total = term.record.attributes.get("compare_type") == "TOTALORDER"
    sides = _sides(left, {})
    if len(sides) != 1 or not _Matching(1).matches(left, right):
        return None
    is_swapped = sides == {1}
    return Key(right if is_swapped else left, (direction == "GT") != is_swapped, is_total)


def _sides(term: Operand, known: dict[int, set[int]]) -> set[int]:
    """Returns the elements that a term depends on: 0, the left ones, 1, the right ones; 2 for other ops."""
    if isinstance(term, int):
        return {term % 2}
    if not isinstance(term, RegionTerm):
        return set()
    if id(term) not in known:
        sides: set[int] = set() if is_elementwise(term.record) else {2}
        known[id(term)] = sides.union(*(_sides(operand, known) for operand in term.operands))
    return known[id(term)]


class _Matching:
    """Comparison of terms; arguments k of the first correspond to k ^ flip of the second."""

    def __init__(self, flip: int) -> None:
        self._flip = flip
        self._known: dict[tuple[int, int], bool] = {}

    def matches(self, term: Operand, other: Operand) -> bool:
        """True if the terms compute the same."""
        if isinstance(term, int):
            return isinstance(other, int) and term ^ self._flip == other
        if not isinstance(term, RegionTerm):
            if isinstance(other, int | RegionTerm) or other.dtype != term.dtype:
                return False
            return other.tobytes() == term.tobytes()
        if not isinstance(other, RegionTerm) or len(term.operands) != len(other.operands):
            return False
        key = (id(term), id(other))
        if key not in self._known:
            self._known[key] = term.record == other.record and all(
                map(self.matches, term.operands, other.operands)
            )
        return self._known[key]


def _evaluated(term: Operand, operands: Sequence[Array], known: dict[int, Array]) -> Array:
    from shardy_py.ops.compute import compute_of

    if isinstance(term, int):
        return operands[term // 2]
    if not isinstance(term, RegionTerm):
        return term
    if id(term) not in known:
        arguments = [_evaluated(operand, operands, known) for operand in term.operands]
        known[id(term)] = compute_of(term.record)(term.record, *arguments)
    return known[id(term)]


def _as_integers(values: Array, *, is_total: bool) -> Array:
    """Returns integers in the order of the values.

    is_total: whether floats are ordered by sign and bits; else zeros are equal, and NaN is last.
    """
    if values.dtype in SMALL_INTEGERS:
        return values.astype(SMALL_INTEGERS[values.dtype])
    if values.dtype in NARROW_FLOATS:
        values = values.astype(np.float32)
    if values.dtype.kind != "f":
        return values.view(np.uint8) if values.dtype.kind == "b" else values
    if not is_total:
        values = np.where(np.isnan(values), np.abs(values), values + values.dtype.type(0))
    signed = values.view(f"i{values.itemsize}")
    return signed ^ ((signed >> (8 * values.itemsize - 1)) & np.iinfo(signed.dtype).max)
