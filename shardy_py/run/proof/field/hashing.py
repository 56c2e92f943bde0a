"""Functions that nothing is known of but that equal operands give equal results: keyed hashes of residues.

Not here: which ops are such functions (`facet.py`).

>>> h = Hash(7)
>>> x = np.array([1, 2], np.uint64)
>>> bool((h.of("exp", x) == h.of("exp", x)).all()), bool((h.of("exp", x) == h.of("log", x)).any())
(True, False)
"""

from __future__ import annotations

from zlib import crc32

import numpy as np

from shardy_py.base.records import dataclass
from shardy_py.ops.compute import Array

_ADDED = 0x9E3779B97F4A7C15
_ROUNDS = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)
_LAST = np.uint64(31)
_BLOCK = 1 << 14
"""Elements that are hashed at a time, as intermediate results should stay in the cache."""


def mixed(bits: Array) -> Array:
    """Returns 64 bits, each of which depends on all bits (splitmix64)."""
    with np.errstate(over="ignore"):
        return _mix(bits + np.uint64(_ADDED))


def _mix(bits: Array) -> Array:
    """Mixes in place."""
    if not bits.ndim:
        return _mix(bits[None])[0]
    for shift, factor in _ROUNDS:
        bits ^= bits >> shift
        bits *= factor
    bits ^= bits >> _LAST
    return bits


@dataclass(frozen=True, slots=True)
class Hash:
    """Random functions of a run. key: chosen by its seed."""

    key: int

    def of(self, name: str, *operands: Array) -> Array:
        """Returns 64 bits for each element, from those of the operands and the name."""
        bits: Array = np.full((), self._start(name), np.uint64)
        if len(operands) == 1 and operands[0].size > _BLOCK and operands[0].flags.c_contiguous:
            result: Array = np.empty(operands[0].shape, np.uint64)
            flat, given = result.reshape(-1), operands[0].reshape(-1)
            for start in range(0, len(flat), _BLOCK):
                flat[start : start + _BLOCK] = self.of(name, given[start : start + _BLOCK])
            return result
        with np.errstate(over="ignore"):
            for operand in operands:
                bits = mixed(bits ^ operand.astype(np.uint64, copy=False))
        return bits

    def of_rows(self, name: str, rows: Array) -> Array:
        """Returns 64 bits for each row (..., elements)."""
        places = mixed(np.arange(rows.shape[-1], dtype=np.uint64) ^ np.uint64(self._start(name)))
        with np.errstate(over="ignore"):
            return mixed(mixed(rows ^ places)).sum(-1, dtype=np.uint64)

    def _start(self, name: str) -> int:
        text = name.encode()
        return (self.key ^ (crc32(text) << 32 | crc32(text[::-1]))) & ((1 << 64) - 1)
