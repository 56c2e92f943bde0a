"""The facet of proofs: how the sizes of each op are related, and how it tells floats apart.

    EXACT.of("stablehlo.slice").resize(record, operands, results)

By default sizes are related as the sharding rule says, no attribute holds any, and zeros of both signs give
the same result. Not here: the relations (`sized_ops.py`), zeros (`zero_signs.py`).
"""

from __future__ import annotations

from shardy_py.base.records import dataclass
from shardy_py.ops import Facet, Family
from shardy_py.run.proof import sized_ops as sizes


@dataclass(frozen=True, slots=True)
class ExactRow:
    """The facts about an op that a proof needs.

    relate: adds the relations of its dimensions that its rule does not state. resize: its attributes with
    sizes, for other shapes. tells_zeros_apart: whether its results differ for zeros of both signs in more
    than the sign of a zero. orders_floats: whether its floats depend on the order of those of operands.
    tells_ties_apart: whether results differ for equal floats and for nearly equal ones. is_random: whether
    it draws numbers. cancels: whether its result is a constant for equal operands, but for NaN.
    multiplies_padding: whether a part of it may multiply elements by zeros that the whole op does not have.
    """

    relate: sizes.Relate | None = None
    resize: sizes.Resize | None = None
    tells_zeros_apart: bool = False
    orders_floats: bool = False
    tells_ties_apart: bool = False
    is_random: bool = False
    cancels: bool = False
    multiplies_padding: bool = False


_FIXED = ExactRow(sizes.fixed)
_TELLS = ExactRow(tells_zeros_apart=True)
_ORDERS = ExactRow(orders_floats=True)
_TIES = ExactRow(tells_ties_apart=True)
_CANCELS = ExactRow(cancels=True)
_ASKS = ExactRow(tells_ties_apart=True, cancels=True)
_DIVIDES = ExactRow(tells_zeros_apart=True, cancels=True)
_BOTH = ExactRow(tells_zeros_apart=True, tells_ties_apart=True)

EXACT = Facet(
    "proof of",
    ExactRow(),
    {Family.WINDOW: ExactRow(sizes.reduce_window), Family.INDEXED: _FIXED},
    {
        "stablehlo.slice": ExactRow(sizes.slice_, sizes.slice_attributes),
        "stablehlo.pad": ExactRow(sizes.pad, sizes.pad_attributes),
        "stablehlo.concatenate": ExactRow(sizes.concatenate),
        "stablehlo.dynamic_slice": ExactRow(sizes.dynamic_slice, sizes.result_shape),
        "stablehlo.dynamic_update_slice": ExactRow(sizes.dynamic_update_slice),
        "stablehlo.gather": ExactRow(sizes.gather, sizes.gather_attributes),
        "stablehlo.scatter": ExactRow(sizes.scatter),
        "stablehlo.convolution": ExactRow(sizes.convolution, multiplies_padding=True),
        "stablehlo.dynamic_conv": ExactRow(sizes.fixed, multiplies_padding=True),
        "stablehlo.select_and_scatter": ExactRow(sizes.select_and_scatter, tells_ties_apart=True),
        "stablehlo.fft": ExactRow(sizes.fft, sizes.fft_length),
        "chlo.top_k": ExactRow(sizes.top_k, sizes.found_count, tells_zeros_apart=True, tells_ties_apart=True),
        "stablehlo.abs": _ORDERS,
        "stablehlo.clamp": _ORDERS,
        "stablehlo.maximum": _ORDERS,
        "stablehlo.minimum": _ORDERS,
        "chlo.broadcast_maximum": _ORDERS,
        "chlo.broadcast_minimum": _ORDERS,
        "stablehlo.compare": _ASKS,
        "stablehlo.sign": _TIES,
        "chlo.broadcast_compare": _ASKS,
        "stablehlo.custom_call@ApproxTopK": _BOTH,
        "stablehlo.custom_call@PartialReduce": _BOTH,
        "stablehlo.custom_call@mhlo.topk": _BOTH,
        "stablehlo.atan2": _TELLS,
        "stablehlo.bitcast_convert": _TELLS,
        "stablehlo.custom_call": _TELLS,
        "stablehlo.rng": ExactRow(is_random=True),
        "stablehlo.rng_bit_generator": ExactRow(is_random=True),
        "stablehlo.divide": _DIVIDES,
        "stablehlo.power": _TELLS,
        "stablehlo.rsqrt": _TELLS,
        "stablehlo.remainder": _CANCELS,
        "stablehlo.subtract": _CANCELS,
        "chlo.broadcast_subtract": _CANCELS,
        "stablehlo.sort": _BOTH,
        "chlo.broadcast_atan2": _TELLS,
        "chlo.broadcast_divide": _DIVIDES,
        "chlo.broadcast_next_after": _TELLS,
        "chlo.broadcast_polygamma": _TELLS,
        "chlo.broadcast_power": _TELLS,
        "chlo.broadcast_zeta": _TELLS,
        "chlo.digamma": _TELLS,
        "chlo.lgamma": _TELLS,
        "chlo.next_after": _TELLS,
        "chlo.polygamma": _TELLS,
        "chlo.zeta": _TELLS,
    },
)
