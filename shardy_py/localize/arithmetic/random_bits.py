"""Which counters of a generator of random bits belong to the part of a tensor, and where its words go.

A generator encrypts 64 bits of counter after counter: 2 words each (THREE_FRY) or 4 (PHILOX, with 128 bits).
An element takes one word, or two if it has 64 bits. The counters of a part are a grid: a start, and a stride
along each dimension. If the grid is a range of counters, the generator makes the part from a later state.

    THREE_FRY  the words of a counter are neighbours along the first even dimension, or else the largest one
    PHILOX     words follow each other in row-major order

Not here: the rounds (`localize/random_rounds.py`), the ops (`localize/random_parts.py`).

>>> plan = random_part("PHILOX", (8, 6), (2, 1), bits=32)
>>> plan.sizes, plan.terms, plan.is_range
((6,), (Term(dimension=0, step=6, divisor=1, stride=1),), True)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from shardy_py.base.records import dataclass

WORDS = {"THREE_FRY": 2, "PHILOX": 4}
"""The words of 32 bits of a counter, by algorithm."""

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """A summand of the first counter of part t: `t * step // divisor * stride`, t along `dimension`."""

    dimension: int
    step: int
    divisor: int
    stride: int


@dataclass(frozen=True, slots=True)
class RandomPart:
    """The counters of a part, and how their elements become it.

    shape: of the part. sizes, strides: of the grid of counters. terms: of the first one.
    per_counter: the elements that a counter makes. axis: the dimension of the grid along which these are
    neighbours. skew: (dimension, step): part t starts at element `t * step % per_counter` along `axis`.

    is_by_element: the grid is one of elements, element i of the tensor takes element `i % per_counter` of
    counter `i // per_counter`.
    """

    shape: Sizes
    sizes: Sizes
    strides: Sizes
    terms: tuple[Term, ...]
    per_counter: int
    axis: int
    skew: tuple[int, int] | None = None
    is_by_element: bool = False

    @property
    def is_range(self) -> bool:
        """True if the counters follow each other in the order of the grid."""
        if self.is_by_element:
            return False
        stride = 1
        for size, given in zip(reversed(self.sizes), reversed(self.strides), strict=True):
            if size > 1 and given != stride:
                return False
            stride *= size
        return True

    @property
    def count(self) -> int:
        """The number of counters of the part; by element, one each."""
        return prod(self.sizes)


def counters(algorithm: str, shape: Sequence[int], bits: int) -> int:
    """The number of counters that a tensor of elements of `bits` takes, by which the state advances."""
    if algorithm == "PHILOX":
        return -(-prod(shape) // _per_counter(algorithm, bits))
    return prod(_halved(tuple(shape), bits))


def random_part(algorithm: str, shape: Sequence[int], parts: Sequence[int], bits: int) -> RandomPart:
    """The counters of the parts of a tensor of `shape`; all parts are as large as the first one."""
    part = tuple(-(-size // count) for size, count in zip(shape, parts, strict=True))
    make = _threefry_part if algorithm == "THREE_FRY" else _philox_part
    return make(tuple(shape), part, [d for d, count in enumerate(parts) if count > 1], bits)


def _per_counter(algorithm: str, bits: int) -> int:
    return WORDS[algorithm] // (2 if bits == 64 else 1)


def _term(dimension: int, step: int, divisor: int = 1, stride: int = 1) -> Term:
    if step % divisor == 0:
        return Term(dimension, step // divisor * stride, 1, 1)
    return Term(dimension, step, divisor, stride)


def _strides(shape: Sizes) -> Sizes:
    return tuple(prod(shape[dimension + 1 :]) for dimension in range(len(shape)))


# ---------------------------------------------------------------------- THREE_FRY


def _pair_axis(shape: Sizes) -> int:
    """The dimension along which the two words of a counter are neighbours."""
    largest = max(range(len(shape)), key=shape.__getitem__, default=0)
    return next((dimension for dimension, size in enumerate(shape) if size % 2 == 0), largest)


def _halved(shape: Sizes, bits: int) -> Sizes:
    if bits == 64 or not shape:
        return shape
    axis = _pair_axis(shape)
    return (*shape[:axis], (shape[axis] + 1) // 2, *shape[axis + 1 :])


def _threefry_part(shape: Sizes, part: Sizes, sharded: Sequence[int], bits: int) -> RandomPart:
    per = _per_counter("THREE_FRY", bits)
    axis = _pair_axis(shape)
    strides = _strides(_halved(shape, bits))
    terms = tuple(_term(d, part[d], per if d == axis else 1, strides[d]) for d in sharded)
    # Parts of an odd size start in the midst of a counter: they take one more.
    is_skewed = axis in sharded and bool(part[axis] % per)
    along = -(-(part[axis] + is_skewed) // per)
    sizes = (*part[:axis], along, *part[axis + 1 :])
    return RandomPart(part, sizes, strides, terms, per, axis, (axis, part[axis]) if is_skewed else None)


# ---------------------------------------------------------------------- PHILOX


def _philox_part(shape: Sizes, part: Sizes, sharded: Sequence[int], bits: int) -> RandomPart:
    per = _per_counter("PHILOX", bits)
    strides = _strides(shape)
    last = sharded[-1]
    run = prod(part[last:])  # elements of the part that follow each other in the tensor
    steps = {d: part[d] * strides[d] for d in sharded}
    rows = prod(part[:last])
    if rows == 1 and (len(sharded) == 1 or all(step % per == 0 for step in steps.values())):
        is_skewed = any(step % per for step in steps.values())
        terms = tuple(_term(d, step, per) for d, step in steps.items())
        size = -(-(run + (per - 1 if is_skewed else 0)) // per)
        return RandomPart(part, (size,), (1,), terms, per, 0, (last, steps[last]) if is_skewed else None)
    if run % per == 0 and prod(shape[last:]) % per == 0:
        terms = tuple(_term(d, step // per) for d, step in steps.items())
        sizes, outer = (*part[:last], run // per), tuple(stride // per for stride in strides[:last])
        return RandomPart(part, sizes, (*outer, 1), terms, per, last)
    terms = tuple(_term(d, step) for d, step in steps.items())
    return RandomPart(part, part, strides, terms, per, 0, is_by_element=True)
