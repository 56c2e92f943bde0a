"""The origin of a wrong residue: a random residue is a name, so it says where a wrong element comes from.

    KnownElements(field, values, inputs).origin_of(got, expected, tensor)    "element [12, 0] of the tensor"

Only residues that are random are looked up: small numbers are of many tensors. Not here: the comparison
(`comparison.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from shardy_py.base.records import dataclass
from shardy_py.ops.compute import Array
from shardy_py.run.proof.field.residues import Residues

_RATIOS = (2.0, 0.5, -1.0, 3.0, 4.0, 0.25)
_SMALL = 64
_MOST = 1 << 22
"""Elements that are searched at most."""


@dataclass(frozen=True, eq=False)
class KnownElements:
    """The elements that are known when a run finds a wrong one.

    values: of the whole program, by name, each [lanes, *shape]. inputs: the parts of arguments, [devices,
    *part], with their padding.
    """

    field: Residues
    values: Sequence[tuple[str, Array]]
    inputs: Sequence[tuple[str, Array]]

    def origin_of(self, got: float, expected: float, tensor: Array) -> str:
        """Returns the origin of a wrong element; "": unknown. tensor: the right one, whole."""
        if not np.isfinite(got):
            return ""
        near, _ = self.field.decoded(np.array([got]), _SMALL)
        if near[0]:
            return ""  # small numbers are in many tensors
        found = self._found(got, (("the tensor", tensor), *self.values))
        if not found:
            found = next((f"padding of {n} on device {at[0]}" for n, at in _places(self.inputs, got)), "")
        return found or self._computed(got, expected)

    def _found(self, residue: float, arrays: Iterable[tuple[str, Array]]) -> str:
        return next((f"element {at[1:]} of {name}" for name, at in _places(arrays, residue)), "")

    def _computed(self, got: float, expected: float) -> str:
        """The relation to the right element: a multiple, or one with another term."""
        if not np.isfinite(expected):
            return ""
        field, right, wrong = self.field, np.array([expected]), np.array([got])
        for ratio in _RATIOS:
            if field.multiply(right, field.encoded(np.array([ratio])))[0] == got:
                return f"{ratio:g} times the right element"
        for word, change in (("lacks", field.subtract(right, wrong)), ("adds", field.subtract(wrong, right))):
            found = self._found(float(change[0]), self.values)
            if found:
                return f"it {word} {found}"
        return ""


def _places(arrays: Iterable[tuple[str, Array]], residue: float) -> Iterator[tuple[str, list[int]]]:
    """The names of the arrays with an element, and its index."""
    for name, array in arrays:
        if array.dtype.kind == "f" and array.size <= _MOST:
            found = np.flatnonzero(array == residue)
            if found.size:
                yield name, [int(index) for index in np.unravel_index(int(found[0]), array.shape)]
