"""Random numbers: the generators of rng_bit_generator, bit for bit as in XLA, and those of rng.

>>> words(threefry, np.array([0], np.uint64), np.arange(2, dtype=np.uint64)[None], None)[0]
array([[1797259609, 1351547692]], dtype=uint32)

The algorithms: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod

import numpy as np

from shardy_py.indexing.layout.element_types import element_type
from shardy_py.ops import OpRecord
from shardy_py.ops.compute.lanes import Array, Compute, dtype_of, lanes_of
from shardy_py.ops.compute.movement import sizes_in
from shardy_py.ops.compute.precision import NARROW_FLOATS, kind_of

Words = Sequence[Array]
Rounds = Callable[[list[Array], list[Array]], Words]
"""(words of the counter, words of the key) -> random words; all u32, and the counter is overwritten."""

_BLOCK = 1 << 15
"""Counters that are encrypted at a time, so that they stay in the cache."""
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))
_PHILOX_ROUNDS = 10
_HALF = np.uint64(32)


def threefry(counter: list[Array], key: list[Array]) -> Words:
    """Threefry-2x32 with 20 rounds."""
    x, y = counter
    schedule = (*key, key[0] ^ key[1] ^ _PARITY)
    x += schedule[0]
    y += schedule[1]
    for step in range(5):
        for distance in _ROTATIONS[step % 2]:
            x += y
            rotated = y >> np.uint32(32 - distance)
            y <<= np.uint32(distance)
            y |= rotated
            y ^= x
        x += schedule[(step + 1) % 3]
        y += schedule[(step + 2) % 3] + np.uint32(step + 1)
    return x, y


def philox(counter: list[Array], key: list[Array]) -> Words:
    """Philox-4x32 with 10 rounds."""
    for _ in range(_PHILOX_ROUNDS):
        first, second = (counter[i] * m for i, m in zip((0, 2), _MULTIPLIERS, strict=True))
        counter = [
            _high(second) ^ counter[1] ^ key[0],
            _low(second),
            _high(first) ^ counter[3] ^ key[1],
            _low(first),
        ]
        key = [word + weyl for word, weyl in zip(key, _WEYL, strict=True)]
    return counter


def _low(wide: Array) -> Array:
    return wide.astype(np.uint32)


def _high(wide: Array) -> Array:
    return (wide >> _HALF).astype(np.uint32)


def words(rounds: Rounds, key: Array, low: Array, high: Array | None) -> list[Array]:
    """Returns the random words of each counter.

    key: (lanes,) of u64. low, high: the halves of the counters, (lanes, count) of u64; high is None for
        counters of 64 bits.
    """
    halves = [low] if high is None else [low, high]
    split = [part(key)[:, None] for part in (_low, _high)]
    results = [np.empty(low.shape, np.uint32) for _ in range(2 * len(halves))]
    for start in range(0, low.shape[1], _BLOCK):
        block = np.s_[:, start : start + _BLOCK]
        counter = [part(half[block]) for half in halves for part in (_low, _high)]
        for result, word in zip(results, rounds(counter, split), strict=True):
            result[block] = word
    return results


def rng_bit_generator(record: OpRecord, state: Array) -> tuple[Array, Array]:
    """StableHLO's specification, "rng_bit_generator"; DEFAULT is PHILOX, as on XLA's CPU."""
    result = record.results[1]
    assert result is not None
    shape = tuple(size or 0 for size in result.shape)
    element = element_type(result.element)
    generate = _threefry_bits if record.attributes["rng_algorithm"] == "THREE_FRY" else _philox_bits
    new_state, bits = generate(state.view(np.uint64), shape, element.value_bits)
    typed = bits.astype(f"u{element.dtype.itemsize}").view(element.dtype)
    if element.bits < 8 * element.dtype.itemsize:
        typed = (bits.astype(np.uint8) << (8 - element.bits)).view(np.int8)
        typed = (typed if kind_of(element.dtype) == "i" else typed.view(np.uint8)) >> (8 - element.bits)
        typed = typed.astype(element.dtype)
    return new_state.view(state.dtype), typed.reshape(len(state), *shape)


def _threefry_bits(state: Array, shape: tuple[int, ...], bits: int) -> tuple[Array, Array]:
    """state: key and counter.

    The two words of a counter are the halves of 64 bits, or neighbours along the first even dimension, the
    largest one if none is even.
    """
    lanes, rank = len(state), len(shape)
    largest = max(range(rank), key=shape.__getitem__, default=0)
    axis = next((d for d in range(rank) if shape[d] % 2 == 0), largest)
    size = shape[axis] if shape else 1
    halved = (*shape[:axis], (size + 1) // 2, *shape[axis + 1 :]) if bits < 64 else shape
    count = prod(halved)
    counters = state[:, 1:2] + np.arange(count, dtype=np.uint64)
    first, second = words(threefry, state[:, 0], counters, None)
    new_state = np.stack([state[:, 0], state[:, 1] + np.uint64(count)], -1)
    if bits == 64:
        return new_state, _joined(first, second)
    pairs = np.stack([first.reshape(lanes, *halved), second.reshape(lanes, *halved)], axis + 2)
    even = pairs.reshape(lanes, *shape[:axis], 2 * halved[axis], *shape[axis + 1 :])
    return new_state, even[(*[slice(None)] * (axis + 1), slice(0, size))]


def _philox_bits(state: Array, shape: tuple[int, ...], bits: int) -> tuple[Array, Array]:
    """state: key, low and high half of the counter; without the latter, it is the key."""
    count = prod(shape)
    words_of_element = 2 if bits == 64 else 1
    blocks = -(-count * words_of_element // 4)
    key, low, high = state[:, 0], state[:, 1:2], state[:, -1:] if state.shape[1] > 2 else state[:, :1]
    position = np.arange(blocks + 1, dtype=np.uint64)
    lows = low + position
    highs = high + (lows < low)
    random = words(philox, key, lows[:, :-1], highs[:, :-1])
    if bits == 64:
        random = [_joined(random[0], random[1]), _joined(random[2], random[3])]
    values = np.stack(random, -1).reshape(len(state), -1)[:, :count]
    return np.stack([key, lows[:, -1], highs[:, -1]][: state.shape[1]], -1), values


def _joined(low: Array, high: Array) -> Array:
    return low | (high.astype(np.uint64) << _HALF)


_GENERATOR: ContextVar[np.random.Generator | None] = ContextVar("generator", default=None)


@contextmanager
def seeded(seed: int) -> Generator[None]:
    """Continues one sequence of random numbers in all `rng` ops of a run; without it, each op starts anew."""
    token = _GENERATOR.set(np.random.default_rng(seed))
    try:
        yield
    finally:
        _GENERATOR.reset(token)


def rng(record: OpRecord, first: Array, second: Array, shape: Array) -> Array:
    """StableHLO's specification, "rng": numbers of numpy's generator, which XLA's are not.

    Operands are the bounds of a uniform distribution, or mean and standard deviation of a normal one. Lanes
    get the same numbers if they are the same in all lanes.
    """
    random = _GENERATOR.get() or np.random.default_rng(0)
    dtype = dtype_of(record.results[0])
    sizes = sizes_in(record, shape)
    size = (lanes_of(first, second), *sizes)
    low, high = (value.reshape(-1, *[1] * len(sizes)) for value in (first, second))
    if kind_of(dtype) in "biu":
        wide = np.uint64 if kind_of(dtype) == "u" else np.int64
        low, high = low.astype(wide), high.astype(wide)
        return random.integers(low, np.maximum(high, low + wide(1)), size, wide).astype(dtype)
    working = NARROW_FLOATS.get(dtype, dtype)
    low, high = low.astype(working), high.astype(working)
    is_normal = record.attributes["rng_distribution"] == "NORMAL"
    drawn: Array = random.standard_normal(size, working) if is_normal else random.random(size, working)
    return (low + (high if is_normal else high - low) * drawn).astype(dtype)


COMPUTE: dict[str, Compute] = {"stablehlo.rng": rng, "stablehlo.rng_bit_generator": rng_bit_generator}
"""The function of each op."""
