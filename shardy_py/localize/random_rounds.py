"""The rounds of Threefry-2x32 and Philox-4x32 as StableHLO, on tensors of counters.

Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). Not here: which counters
(`localize/arithmetic/random_bits.py`); the rounds in numpy (`ops/compute/random.py`), against which tests
compare these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import IntegerType, Signedness

from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, element_of, shape_of
from shardy_py.mlir.text.dense import element_size
from shardy_py.mlir.text.type_reader import ranked_tensor

UI32 = IntegerType(32, Signedness.UNSIGNED)
UI64 = IntegerType(64, Signedness.UNSIGNED)

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_THREEFRY_GROUPS = 5
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_PHILOX_ROUNDS = 10


def splat(build: StablehloBuilder, number: int, like: Value) -> Value:
    """A constant with the type of `like`."""
    return build.dense(like.type, number.to_bytes(element_size(element_of(like)), "little"))


def low_word(build: StablehloBuilder, value: Value) -> Value:
    """The lower 32 bits of `ui64`, as `ui32`."""
    return build.convert(build.binary("and", value, splat(build, (1 << 32) - 1, value)), UI32)


def high_word(build: StablehloBuilder, value: Value) -> Value:
    """The upper 32 bits of `ui64`, as `ui32`."""
    return build.convert(build.binary("shift_right_logical", value, splat(build, 32, value)), UI32)


def joined(build: StablehloBuilder, low: Value, high: Value) -> Value:
    """`ui64` from two words."""
    upper = build.convert(high, UI64)
    upper = build.binary("shift_left", upper, splat(build, 32, upper))
    return build.binary("or", build.convert(low, UI64), upper)


def threefry(build: StablehloBuilder, key: Value, counter: Sequence[Value]) -> list[Value]:
    """Two words for each counter. key: a scalar of `ui64`. counter: one tensor of `ui64`."""
    (wide,) = counter
    shape = shape_of(wide)
    words = [part(build, key) for part in (low_word, high_word)]
    parity = build.binary("xor", words[0], words[1])
    parity = build.binary("xor", parity, splat(build, _PARITY, parity))
    schedule = [*words, parity]

    def keyed(value: Value, number: int, step: int = 0) -> Value:
        word = schedule[number % 3]
        if step:
            word = build.binary("add", word, splat(build, step, word))
        return build.binary("add", value, build.broadcast(word, shape))

    x, y = keyed(low_word(build, wide), 0), keyed(high_word(build, wide), 1)
    for step in range(_THREEFRY_GROUPS):
        for distance in _ROTATIONS[step % 2]:
            x = build.binary("add", x, y)
            right = build.binary("shift_right_logical", y, splat(build, 32 - distance, y))
            left = build.binary("shift_left", y, splat(build, distance, y))
            y = build.binary("xor", build.binary("or", left, right), x)
        x, y = keyed(x, step + 1), keyed(y, step + 2, step + 1)
    return [x, y]


def philox(build: StablehloBuilder, key: Value, counter: Sequence[Value]) -> list[Value]:
    """Four words for each counter. key: a scalar of `ui64`. counter: its two halves, of `ui64`."""
    shape = shape_of(counter[0])
    words = [part(build, half) for half in counter for part in (low_word, high_word)]
    keys = [part(build, key) for part in (low_word, high_word)]
    for number in range(_PHILOX_ROUNDS):
        if number:
            pairs = zip(keys, _WEYL, strict=True)
            keys = [build.binary("add", word, splat(build, weyl, word)) for word, weyl in pairs]
        first, second = (
            build.binary("multiply", wide, splat(build, multiplier, wide))
            for wide, multiplier in zip(
                (build.convert(words[i], UI64) for i in (0, 2)), _MULTIPLIERS, strict=True
            )
        )
        mixed = [
            build.binary(
                "xor", build.binary("xor", high_word(build, product), word), build.broadcast(own, shape)
            )
            for product, word, own in ((second, words[1], keys[0]), (first, words[3], keys[1]))
        ]
        words = [mixed[0], low_word(build, second), mixed[1], low_word(build, first)]
    return words


ROUNDS: Mapping[str, Callable[[StablehloBuilder, Value, Sequence[Value]], list[Value]]] = {
    "THREE_FRY": threefry,
    "PHILOX": philox,
}
"""By algorithm: the words of 32 bits of counters, from a key and counters as halves of 64 bits."""


def scalar(build: StablehloBuilder, number: int) -> Value:
    """A scalar of `ui64`."""
    return build.dense(ranked_tensor((), UI64), number.to_bytes(8, "little"))
