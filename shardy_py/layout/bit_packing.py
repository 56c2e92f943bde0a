"""Elements whose width differs from their numpy type: several in a byte, or each in several bytes.

The first element takes the low-order bits of a byte, as in XLA's `PackIntN`. That continues a little-endian
word: `(8,128)(8,1)` puts eight rows of s4 into a word in the order in which `(8,128)(2,1)` puts two of bf16,
so a bitcast of bytes to narrower elements moves nothing.

>>> pack_bits(np.array([1, 2, 3], np.uint8), 4).tolist()
[33, 3]
>>> unpack_bits(np.array([33, 3], np.uint8), 4, 3).tolist()
[1, 2, 3]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Octets = NDArray[np.uint8]


def pack_bits(elements: Octets, bits: int) -> Octets:
    """Packs elements of 1, 2 or 4 bits.

    elements: [n], each in the low-order bits of a byte; the other bits are ignored. The result has
    ceil(n * bits / 8) bytes; bits past the last element are 0.
    """
    if bits == 1:
        return np.packbits(elements & 1, bitorder="little")
    a_byte, mask = 8 // bits, (1 << bits) - 1
    packed = np.zeros(-(-elements.size // a_byte), np.uint8)
    for position in range(a_byte):
        part = elements[position::a_byte] & mask
        packed[: part.size] |= part << (position * bits)
    return packed


def unpack_bits(packed: Octets, bits: int, count: int) -> Octets:
    """The first `count` elements of 1, 2 or 4 bits, each in the low-order bits of a byte of its own."""
    if bits == 1:
        return np.unpackbits(packed, count=count, bitorder="little")
    a_byte, mask = 8 // bits, (1 << bits) - 1
    elements = np.empty(packed.size * a_byte, np.uint8)
    for position in range(a_byte):
        np.bitwise_and(packed >> (position * bits), mask, out=elements[position::a_byte])
    return elements[:count]


def widen(elements: NDArray[Any], size_bytes: int) -> Octets:
    """Each element in `size_bytes` bytes: its own bytes, little-endian, then zeros."""
    own = elements.astype(elements.dtype.newbyteorder("<"), copy=False)
    wide = np.zeros((elements.size, size_bytes), np.uint8)
    wide[:, : own.itemsize] = own.view(np.uint8).reshape(elements.size, own.itemsize)
    return wide.reshape(-1)


def narrow(wide: Octets, size_bytes: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The elements of a type from `size_bytes` bytes each: the inverse of `widen`."""
    own = np.ascontiguousarray(wide.reshape(-1, size_bytes)[:, : dtype.itemsize]).reshape(-1)
    return own.view(dtype.newbyteorder("<")).astype(dtype, copy=False)
