"""Functions that nothing is known of but that equal operands give equal results: keyed hashes of residues.

Not here: which ops are such functions (`facet.py`).

>>> h = Hash(7)
>>> x = np.array([1, 2], np.uint64)
>>> bool((h.of("exp", x) == h.of("exp", x)).all()), bool((h.of("exp", x) == h.of("log", x)).any())
(True, False)
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from shardy_py.ops.compute import Array

_ADDED, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mixed(bits: Array) -> Array:
    """Returns 64 bits, each of which depends on all bits (splitmix64)."""
    with np.errstate(over="ignore"):
        bits = bits + np.uint64(_ADDED)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(_FIRST)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(_SECOND)
        return bits ^ (bits >> np.uint64(31))


@dataclass(frozen=True, slots=True)
class Hash:
    """Random functions of a run. key: chosen by its seed."""

    key: int

    def of(self, name: str, *operands: Array) -> Array:
        """Returns 64 bits for each element, from those of the operands and the name."""
        bits: Array = np.full((), self._start(name), np.uint64)
        for operand in operands:
            bits = mixed(bits ^ mixed(operand.astype(np.uint64, copy=False)))
        return bits

    def of_rows(self, name: str, rows: Array) -> Array:
        """Returns 64 bits for each row (..., elements)."""
        places = mixed(np.arange(rows.shape[-1], dtype=np.uint64) ^ np.uint64(self._start(name)))
        with np.errstate(over="ignore"):
            return mixed(mixed(rows ^ places)).sum(-1, dtype=np.uint64)

    def _start(self, name: str) -> int:
        text = name.encode()
        return (self.key ^ (crc32(text) << 32 | crc32(text[::-1]))) & ((1 << 64) - 1)
