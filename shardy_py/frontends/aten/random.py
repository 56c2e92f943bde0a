"""ATen's random numbers: `ROWS` by name, as in `pointwise.py`.

Numbers come from `rng_bit_generator`, each op from a state of its own, a constant: a program gives the same
numbers whenever it runs, and never torch's. Every dimension of the numbers may be sharded; replicated ones
need no communication, since all devices generate the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi
from weakref import WeakKeyDictionary

import numpy as np

from shardy_py.frontends.aten.chlo_ops import erf_inv
from shardy_py.frontends.aten.elements import Results, Row, convert, sizes
from shardy_py.frontends.aten.reductions import cumulative, extremes
from shardy_py.frontends.aten.shapes import part
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops, sort
from shardy_py.frontends.builder.insertion import Trace, current_trace
from shardy_py.frontends.builder.tensor import Operand

_SEEDS: WeakKeyDictionary[Trace, int] = WeakKeyDictionary()
"""The number of ops of each program under construction that draw numbers."""
_FRACTION_BITS = {"f32": 24, "f64": 53}


def _bits(shape: Sequence[int], element_type: str) -> Tensor:
    """Random bits, from the next state."""
    trace = current_trace()
    seed = _SEEDS[trace] = _SEEDS.get(trace, -1) + 1
    state = ops.constant(np.array([seed, 0], np.uint64))
    return ops.rng_bit_generator(state, RankedTensorType(tuple(shape), element_type), "THREE_FRY")[1]


def unit(shape: Sequence[int], element_type: str = "f32") -> Tensor:
    """Numbers of the uniform distribution on [0, 1), in f32 or f64."""
    kept, width = _FRACTION_BITS[element_type], 64 if element_type == "f64" else 32
    bits = ops.shift_right_logical(_bits(shape, f"ui{width}"), width - kept)
    return ops.convert(bits, element_type) * 2.0**-kept


def _wide(element_type: str) -> str:
    return "f64" if element_type == "f64" else "f32"


def standard_normal(shape: Sequence[int], element_type: str = "f32") -> Tensor:
    """Numbers of the standard normal distribution, by the inverse of its distribution function."""
    # The middles of the intervals of uniform numbers: neither end, where the inverse is infinite.
    middle = unit(shape, element_type) + 2.0 ** -(_FRACTION_BITS[element_type] + 1)
    argument = middle * 2.0 - 1.0
    limit = 1.0 - 2.0 ** -_FRACTION_BITS[element_type]
    argument = ops.clamp(-limit, argument, limit)
    return erf_inv(argument) * 2.0**0.5


def _drawn(draw: Callable[[Sequence[int], str], Tensor]) -> Callable[..., Tensor]:
    """A row of any arguments (sizes, or a tensor of the same shape): only the result's type counts."""

    def row(out: RankedTensorType, *_: object, **__: object) -> Tensor:
        return convert(draw(sizes(out), _wide(out.element_type)), out.element_type)

    return row


def _uniform(
    out: RankedTensorType, self: Tensor, from_: float = 0.0, to: float = 1.0, **keywords: float
) -> Tensor:
    low = keywords.get("from", from_)
    return convert(unit(sizes(out), _wide(out.element_type)) * (to - low) + low, out.element_type)


def _normal(
    out: RankedTensorType, mean: Operand = 0.0, std: Operand = 1.0, size: object = None, **_: object
) -> Tensor:
    """Normal numbers of a mean and a deviation, numbers or tensors."""
    numbers = standard_normal(sizes(out), _wide(out.element_type))
    mean, std = (convert(g, numbers.element_type) if isinstance(g, Tensor) else g for g in (mean, std))
    return convert(numbers * std + mean, out.element_type)


def _normal_like(
    out: RankedTensorType, self: Tensor, mean: Operand = 0.0, std: Operand = 1.0, **_: object
) -> Tensor:
    return _normal(out, mean, std)


def _exponentials(shape: Sequence[int], element_type: str) -> Tensor:
    return ops.negate(ops.log_plus_one(ops.negate(unit(shape, element_type))))


def _exponential(out: RankedTensorType, self: Tensor, lambd: float = 1.0, **_: object) -> Tensor:
    return convert(_exponentials(sizes(out), _wide(out.element_type)) / lambd, out.element_type)


def _log_normal(
    out: RankedTensorType, self: Tensor, mean: float = 1.0, std: float = 2.0, **_: object
) -> Tensor:
    numbers = standard_normal(sizes(out), _wide(out.element_type))
    return convert(ops.exponential(numbers * std + mean), out.element_type)


def _cauchy(
    out: RankedTensorType, self: Tensor, median: float = 0.0, sigma: float = 1.0, **_: object
) -> Tensor:
    angle = (unit(sizes(out), _wide(out.element_type)) - 0.5) * pi
    return convert(ops.tan(angle) * sigma + median, out.element_type)


def _geometric(out: RankedTensorType, self: Tensor, p: float, **_: object) -> Tensor:
    trials = ops.ceil(_exponentials(sizes(out), "f32") / -float(np.log1p(-p)))
    return convert(ops.maximum(trials, 1.0), out.element_type)


def _integers(out: RankedTensorType, low: float, high: float) -> Tensor:
    """Whole numbers from `low` to before `high`."""
    numbers = ops.floor(unit(sizes(out), "f64") * (high - low)) + low
    return convert(numbers, out.element_type)


def _randint(out: RankedTensorType, *given: Operand, **_: object) -> Tensor:
    """The bounds, or the upper one, then the sizes; behind a tensor for `randint_like`."""
    bounds = [each for each in given if isinstance(each, int | float)]
    return _integers(out, bounds[0] if len(bounds) > 1 else 0, bounds[-1])


def _randperm(out: RankedTensorType, n: int, **_: object) -> Tensor:
    """The places of random numbers in order."""
    count = ops.iota((n,), 0, out.element_type)
    return sort((_bits((n,), "ui32"), count), dimension=0)[1] if n else count


def _bernoulli(out: RankedTensorType, self: Tensor, p: Operand | None = None, **_: object) -> Tensor:
    """1 with a probability, by default that of the tensor's elements."""
    chance = self if p is None else p
    if isinstance(chance, Tensor):
        chance = ops.broadcast_to(convert(chance, "f32"), sizes(out))
    return convert(unit(sizes(out)) < chance, out.element_type)


def _dropout(out: Sequence[RankedTensorType], input: Tensor, p: float, train: bool | None = None) -> Results:
    """Elements kept with probability 1 - p, and divided by it; the mask of those kept."""
    if train is False or p == 0:
        return input, ops.constant(True, "i1", sizes(out[1]))
    kept = unit(sizes(out[0])) >= p
    scaled = input * (1 / (1 - p)) if p < 1 else input
    return ops.select(kept, scaled, 0), convert(kept, out[1].element_type)


def _multinomial(
    out: RankedTensorType, self: Tensor, num_samples: int, replacement: bool = False, **_: object
) -> Tensor:
    """Places by weight. Without replacement: of the greatest weights divided by exponential numbers."""
    weights = convert(self, _wide(self.element_type))
    last, shape = self.rank - 1, sizes(self.type)
    if not replacement:
        keys = _exponentials(shape, weights.element_type) / weights
        count = ops.iota(shape, last, "i64")
        return part(sort((keys, count), dimension=last)[1], last, 0, num_samples)
    totals = cumulative("add", weights, last)
    whole = part(totals, last, shape[-1] - 1, shape[-1])
    chosen = unit((*shape[:-1], num_samples), weights.element_type)
    chosen = chosen * ops.broadcast_to(whole, sizes(chosen.type))
    wide = (*sizes(chosen.type), shape[-1])
    lead = tuple(range(last))
    passed = ops.compare(
        ops.broadcast_in_dim(totals, wide, (*lead, last + 1)),
        ops.broadcast_in_dim(chosen, wide, (*lead, last)),
        "GT",
    )
    return extremes("GT", convert(passed, "i32"), last + 1)[1]


def _rrelu(
    out: Sequence[RankedTensorType],
    self: Tensor,
    noise: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    *_: object,
    **__: object,
) -> tuple[Tensor, Tensor]:
    """Elements that are not positive times random slopes, in evaluation their mean; the slopes."""
    if not training:
        return ops.select(self > 0, self, self * ((lower + upper) / 2)), noise
    slopes = convert(unit(sizes(out[0])) * (upper - lower) + lower, self.element_type)
    slopes = ops.select(self > 0, 1.0, slopes)
    return self * slopes, slopes


ROWS: dict[str, Row] = {
    **dict.fromkeys(("rand", "rand_like"), _drawn(unit)),
    **dict.fromkeys(("randn", "randn_like"), _drawn(standard_normal)),
    **dict.fromkeys(("normal_functional",), _normal_like),
    **dict.fromkeys(("randint", "randint_like"), _randint),
    "bernoulli": _bernoulli,
    "cauchy": _cauchy,
    "exponential": _exponential,
    "geometric": _geometric,
    "log_normal": _log_normal,
    "multinomial": _multinomial,
    "native_dropout": _dropout,
    "normal": _normal,
    "randperm": _randperm,
    "rrelu_with_noise_functional": _rrelu,
    "uniform": _uniform,
}
"""The rows by the name of the op without overload."""
