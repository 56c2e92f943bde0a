"""How XLA:GPU computes an op in a kernel: whether with others, and by how many operations an element.

    KERNELS.of("stablehlo.exponential").cycles

An op without a row runs alone. Source: openxla/xla, xla/backends/gpu/transforms/priority_fusion.cc; the
cycles are those that XLA measured on an H100, xla/service/gpu/model/hlo_op_profiles_data.h.
"""

from __future__ import annotations

from shardy_py.base.records import dataclass
from shardy_py.ops import Facet, Family

_CYCLES = 3
"""The cycles of an elementwise op that was not measured."""
_INSTRUCTIONS = 26
"""The instructions of a function that was not counted: as many as of a logarithm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRow:
    """How an op is computed in kernels.

    is_fused: whether other ops are computed in the same kernel. cycles: of an element that it makes, in f32.
    instructions: of the vector units for an element of a transcendental function, in the PTX that XLA writes
    of f32, without the branches that large arguments take.
    is_narrow: whether it computes in bf16, which takes as long as an op that was not measured.
    is_absorbed: whether a product may read its operands instead. is_after_product: whether the kernel of a
    product may end with it, as Triton computes it: xla/backends/gpu/codegen/triton/support_legacy.cc.
    is_in_place: whether it writes over its first operand, which then is not computed in the same kernel.
    has_rows: whether it may be in a kernel that has whole rows. is_unrolled: whether a thread may make
    several elements of it.
    """

    is_fused: bool = False
    cycles: int = 0
    instructions: int = _INSTRUCTIONS
    is_narrow: bool = False
    is_absorbed: bool = False
    is_after_product: bool = False
    is_in_place: bool = False
    has_rows: bool = False
    is_unrolled: bool = True


def _measured(
    cycles: int, instructions: int = _INSTRUCTIONS, *, is_narrow: bool = False, is_after_product: bool = True
) -> KernelRow:
    return KernelRow(
        is_fused=True,
        cycles=cycles,
        instructions=instructions,
        is_narrow=is_narrow,
        is_absorbed=True,
        is_after_product=is_after_product,
        has_rows=True,
    )


_AFTER_PRODUCTS = (
    *("stablehlo.abs", "stablehlo.floor", "stablehlo.ceil", "stablehlo.not", "stablehlo.and", "stablehlo.or"),
    *("stablehlo.xor", "stablehlo.compare", "stablehlo.maximum", "stablehlo.minimum", "stablehlo.select"),
    "stablehlo.clamp",
)
"""Elementwise ops that were not measured, with which the kernel of a product may end."""
_MOVED = KernelRow(is_fused=True)
_FORM = KernelRow(is_fused=True, is_absorbed=True, is_after_product=True, has_rows=True)

KERNELS = Facet(
    "kernels of",
    KernelRow(),
    {Family.ELEMENTWISE: _measured(_CYCLES, is_after_product=False), Family.MOVEMENT: _MOVED},
    {
        "stablehlo.add": _measured(7, is_narrow=True),
        "stablehlo.subtract": _measured(7, is_narrow=True),
        "stablehlo.multiply": _measured(3, is_narrow=True),
        "stablehlo.divide": _measured(19),
        "stablehlo.power": _measured(510, 89),
        "stablehlo.atan2": _measured(431, 34),
        "stablehlo.exponential": _measured(79, 11),
        "stablehlo.exponential_minus_one": _measured(190, 27),
        "stablehlo.log": _measured(166, 26),
        "stablehlo.log_plus_one": _measured(229, 27),
        "stablehlo.rsqrt": _measured(75, 1),
        "stablehlo.sqrt": _measured(75, 1),
        "stablehlo.cbrt": _measured(178, 16),
        "stablehlo.sine": _measured(958, 27),
        "stablehlo.cosine": _measured(978, 28),
        "stablehlo.tanh": _measured(467, 19),
        "stablehlo.logistic": _measured(_CYCLES, 13),
        "stablehlo.tan": _measured(_CYCLES, 26),
        "chlo.erf": _measured(_CYCLES, 19),
        "stablehlo.negate": _measured(_CYCLES, is_narrow=True),
        "stablehlo.convert": _measured(_CYCLES),
        "stablehlo.bitcast_convert": _measured(_CYCLES, is_after_product=False),
        **dict.fromkeys(_AFTER_PRODUCTS, _measured(_CYCLES)),
        "stablehlo.reshape": _FORM,
        "stablehlo.transpose": _FORM,
        "stablehlo.slice": KernelRow(is_fused=True, is_absorbed=True),
        "stablehlo.broadcast_in_dim": KernelRow(is_fused=True, is_absorbed=True, has_rows=True),
        "stablehlo.concatenate": KernelRow(is_fused=True, cycles=6),
        "stablehlo.pad": KernelRow(is_fused=True),
        "stablehlo.iota": KernelRow(is_fused=True, has_rows=True),
        "stablehlo.dynamic_slice": _MOVED,
        "stablehlo.gather": _MOVED,
        "stablehlo.dynamic_update_slice": KernelRow(is_fused=True, is_in_place=True),
        "stablehlo.scatter": KernelRow(is_fused=True, is_in_place=True),
        "stablehlo.reduce": KernelRow(is_fused=True, cycles=7),
        "stablehlo.reduce_window": KernelRow(is_fused=True, cycles=7, is_unrolled=False),
        "stablehlo.broadcast": KernelRow(is_fused=True, is_absorbed=True),
    },
)
