"""Sums and products of a field, with the methods of numpy's ufuncs; those of integers are numpy's."""

from __future__ import annotations

from math import prod

import numpy as np

from shardy_py.base.arrays import AnyDtype
from shardy_py.base.records import dataclass
from shardy_py.ops.compute import Array
from shardy_py.run.proof.field.residues import Residues

MOST_TERMS = 1 << 21
"""Residues of 31 bits that are summed before they are reduced: below 2^53, so exact in float64."""
_CHUNK = 1 << 10


@dataclass(eq=False)
class FieldUfunc:
    """A ufunc of a field, that of the run. plain: numpy's, `np.add` or `np.multiply`."""

    field: Residues
    plain: np.ufunc

    @property
    def _is_sum(self) -> bool:
        return self.plain is np.add

    def __call__(
        self, left: Array, right: Array, out: Array | None = None, dtype: AnyDtype | None = None
    ) -> Array:
        """Returns the elements combined."""
        if left.dtype.kind not in "fc":
            return self.plain(left, right, out=out, dtype=dtype)
        result = self.field.add(left, right) if self._is_sum else self.field.multiply(left, right)
        if out is None:
            return result
        out[...] = result
        return out

    def reduce(
        self,
        array: Array,
        axis: int | tuple[int, ...] = 0,
        dtype: AnyDtype | None = None,
        initial: object = None,
    ) -> Array:
        """Returns all elements along the axes combined."""
        if array.dtype.kind not in "fc":
            if initial is None:
                return self.plain.reduce(array, axis, dtype)
            return self.plain.reduce(array, axis, dtype, initial=initial)
        axes = tuple(a % array.ndim for a in (axis if isinstance(axis, tuple) else (axis,)))
        if self._is_sum:
            for along in axes:
                if prod(array.shape[a] for a in axes) > MOST_TERMS:
                    starts = list(range(0, array.shape[along], _CHUNK))
                    array = self.field.arranged(np.add.reduceat(array, starts, along))
            return self.field.arranged(np.add.reduce(array, axes))
        kept = [a for a in range(array.ndim) if a not in axes]
        rows = array.transpose(*axes, *kept)
        rows = rows.reshape(-1, *rows.shape[len(axes) :])
        while len(rows) > 1:
            half = len(rows) // 2
            rest = rows[2 * half :]
            rows = np.concatenate((self.field.multiply(rows[:half], rows[half : 2 * half]), rest))
        return rows[0] if len(rows) else np.ones(rows.shape[1:], array.dtype)

    def accumulate(self, array: Array, axis: int = 0, dtype: AnyDtype | None = None) -> Array:
        """Returns for each element all up to it combined."""
        if array.dtype.kind not in "fc":
            return self.plain.accumulate(array, axis, dtype)
        rows = np.moveaxis(array, axis, 0).copy()
        if self._is_sum:
            for start in range(0, len(rows), MOST_TERMS):
                part = rows[start : start + MOST_TERMS]
                if start:
                    part[0] = self.field.add(part[0], rows[start - 1])
                part[...] = self.field.arranged(np.add.accumulate(part, 0))
            return np.moveaxis(rows, 0, axis)
        for row in range(1, len(rows)):
            rows[row] = self.field.multiply(rows[row - 1], rows[row])
        return np.moveaxis(rows, 0, axis)

    def at(self, array: Array, positions: Array, values: Array) -> None:
        """Combines values into the elements at flat positions, which may be repeated."""
        if array.dtype.kind not in "fc":
            self.plain.at(array, positions, values)
        elif self._is_sum:
            for start in range(0, len(positions), MOST_TERMS):
                where = positions[start : start + MOST_TERMS]
                np.add.at(array, where, values[start : start + MOST_TERMS])
                array[where] = self.field.arranged(array[where])
        else:
            order = np.argsort(positions, kind="stable")
            while len(order):
                _, first = np.unique(positions[order], return_index=True)
                chosen = order[first]
                where = positions[chosen]
                array[where] = self.field.multiply(array[where], values[chosen])
                order = np.delete(order, first)
