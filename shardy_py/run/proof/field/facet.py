"""The meaning of each op in a finite field: the table that an exact proof reads.

    MEANINGS.of("stablehlo.tanh")      a function that nothing is known of

Elementwise ops are functions unless a row says more; movement, order and what runs regions is numpy's; an op
that nothing is said of is a function of its whole operands, which the answer says.
"""

from __future__ import annotations

from shardy_py.ops import Facet, Family, OpRecord
from shardy_py.ops.reads import names
from shardy_py.run.proof.field import conversions, elementwise, normalization, whole
from shardy_py.run.proof.field.arithmetic import Meaning

_WHOLE = whole.whole(lambda record: None)
_MATRICES = whole.whole(lambda record: 2)


def _transformed(record: OpRecord) -> int:
    return len(record.attributes["fft_length"])


_CARRIERS = names("""stablehlo.is_finite stablehlo.select stablehlo.real stablehlo.imag stablehlo.complex
    chlo.broadcast_select chlo.broadcast_complex chlo.is_inf chlo.is_neg_inf chlo.is_pos_inf chlo.top_k
    stablehlo.map stablehlo.sort stablehlo.reduce chlo.scan stablehlo.get_dimension_size chlo.ragged_dot
    stablehlo.unary_einsum chlo.broadcast_compare
    stablehlo.custom_call@annotate_device_placement stablehlo.custom_call@InspectSharding
    stablehlo.custom_call@LayoutConstraint stablehlo.custom_call@MoveToDevice stablehlo.custom_call@MoveToHost
    stablehlo.custom_call@ApproxTopK stablehlo.custom_call@PartialReduce stablehlo.custom_call@mhlo.topk
    stablehlo.custom_call@stablehlo.dynamic_approx_top_k stablehlo.custom_call@stablehlo.dynamic_top_k
    stablehlo.custom_call@mhlo.ragged_dot stablehlo.custom_call@Sharding
    stablehlo.custom_call@xla.sdy.FuncResultSharding stablehlo.custom_call@SPMDFullToShardShape
    stablehlo.custom_call@SPMDShardToFullShape stablehlo.custom_call@xla.sdy.GlobalToLocalShape
    stablehlo.custom_call@xla.sdy.LocalToGlobalShape
    stablehlo.custom_call@stablehlo.shape_refinement_operand_wrapper
    stablehlo.custom_call@shape_assertion""")
_FUNCTIONS = names("erf acos acosh asin asinh atan atanh cosh erf_inv sinh tan")
_ROWS: dict[str, Meaning] = {
    "stablehlo.custom_call": _MATRICES,
    "stablehlo.cholesky": _MATRICES,
    "stablehlo.triangular_solve": whole.triangular_solve,
    "stablehlo.fft": whole.whole(_transformed),
    "stablehlo.batch_norm_grad": normalization.grad,
    "stablehlo.batch_norm_inference": normalization.inference,
    "stablehlo.batch_norm_training": normalization.training,
    "stablehlo.add": elementwise.add,
    "stablehlo.subtract": elementwise.subtract,
    "stablehlo.multiply": elementwise.multiply,
    "stablehlo.divide": elementwise.divide,
    "stablehlo.negate": elementwise.negate,
    "chlo.square": elementwise.square,
    "chlo.conj": elementwise.conjugate,
    "stablehlo.power": elementwise.power,
    "stablehlo.compare": elementwise.compare,
    "stablehlo.abs": elementwise.magnitude,
    "stablehlo.sign": elementwise.sign,
    "stablehlo.convert": conversions.convert,
    "stablehlo.bitcast_convert": conversions.bitcast,
    "stablehlo.reduce_precision": conversions.reduce_precision,
    "stablehlo.iota": conversions.from_integers,
    "stablehlo.dynamic_iota": conversions.from_integers,
    "chlo.constant_like": elementwise.encoded,
    "stablehlo.rng": elementwise.encoded,
    "stablehlo.rng_bit_generator": elementwise.encoded,
}
for _name in ("add", "subtract", "multiply", "divide"):
    _ROWS[f"chlo.broadcast_{_name}"] = _ROWS[f"stablehlo.{_name}"]
for _name in ("maximum", "minimum", "clamp"):
    _ROWS[f"stablehlo.{_name}"] = elementwise.ordered
for _name in ("maximum", "minimum"):
    _ROWS[f"chlo.broadcast_{_name}"] = elementwise.ordered
for _name in ("ceil", "floor", "round_nearest_afz", "round_nearest_even", "remainder"):
    _ROWS[f"stablehlo.{_name}"] = elementwise.integral
for _name in _FUNCTIONS:
    _ROWS[f"stablehlo.custom_call@mhlo.{_name}"] = elementwise.function

MEANINGS: Facet[Meaning] = Facet(
    "meaning in a field of",
    _WHOLE,
    {
        Family.ELEMENTWISE: elementwise.function,
        Family.MOVEMENT: elementwise.carrier,
        Family.INDEXED: elementwise.carrier,
        Family.PRODUCT: elementwise.carrier,
        Family.WINDOW: elementwise.carrier,
        Family.COLLECTIVE: elementwise.carrier,
    },
    {**dict.fromkeys(_CARRIERS, elementwise.carrier), **_ROWS},
)
