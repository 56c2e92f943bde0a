"""The attributes of opcodes that StableHLO's ops have, beyond those that indexing maps need.

An instruction becomes the op of its opcode (`hlo/text/opcodes.py`) with the attributes that its row there
converts, those of its row here, and its computations as regions. Not here: opcodes that become something else
than one op (`special.py`).

>>> from shardy_py.hlo.text import Instruction, Shape
>>> dot = Instruction("d", "dot", Shape("f32"), attributes={"operand_precision": "{highest,default}"})
>>> ATTRIBUTES["dot"](dot, ())
{'precision_config': ('HIGHEST', 'DEFAULT')}
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import TypeAttribute

from shardy_py.base.errors import ShardyError
from shardy_py.hlo.text import Instruction, Shape
from shardy_py.hlo.text.frontend import listed
from shardy_py.hlo.text.opcodes import Convert, Values, renamed
from shardy_py.hlo.to_stablehlo.types import element_of
from shardy_py.mlir.dialects.stablehlo.structs import DotAlgorithm
from shardy_py.mlir.text.type_reader import float_type
from shardy_py.mlir.typed import of_kind

Shapes = tuple[Shape, ...]


def joined(*converts: Convert) -> Convert:
    """Returns the conversion to the attributes of all."""

    def convert(instruction: Instruction, operands: Shapes) -> Values:
        return {key: value for each in converts for key, value in each(instruction, operands).items()}

    return convert


def keyword(name: str, source: str, words: Mapping[str, str], default: str = "") -> Convert:
    """Returns the conversion of a keyword."""

    def convert(instruction: Instruction, operands: Shapes) -> Values:
        found = str(instruction.attributes.get(source, default))
        if found and found not in words:
            raise ShardyError.unknown(source, found, words)
        return {name: words[found]} if found else {}

    return convert


def comparison(instruction: Instruction, operands: Shapes) -> Values:
    """The order of the elements: by default that of their type; since JAX 0.11 `order=TOTAL` of floats."""
    found = instruction.attributes.get("type")
    if found is not None and found not in _ORDERS:
        raise ShardyError.unknown("type", str(found), _ORDERS)
    natural = _ORDER_OF.get(operands[0].element[0], "FLOAT")
    if natural == "FLOAT" and instruction.attributes.get("order") == "TOTAL":
        natural = "TOTALORDER"
    return {"compare_type": found or natural}


_ORDERS = ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")
_ORDER_OF = {"s": "SIGNED", "u": "UNSIGNED", "p": "UNSIGNED"}
"""The order by the first letter of an element type."""


def precision(instruction: Instruction, operands: Shapes) -> Values:
    """How exactly operands are multiplied."""
    text = instruction.attributes.get("operand_precision")
    found = () if text is None else tuple(word.upper() for word in listed(str(text)))
    return {"precision_config": found[:2]} if found else {}


_ALGORITHMS: dict[str, tuple[str, str, int]] = {
    "dot_any_f8_any_f8_f32": ("f8e5m2", "f32", 1),
    "dot_any_f8_any_f8_any": ("f8e5m2", "f32", 1),
    "dot_any_f8_any_f8_f32_fast_accum": ("f8e5m2", "f32", 1),
    "dot_any_f8_any_f8_any_fast_accum": ("f8e5m2", "f32", 1),
    "dot_f16_f16_f16": ("f16", "f16", 1),
    "dot_f16_f16_f32": ("f16", "f32", 1),
    "dot_bf16_bf16_bf16": ("bf16", "bf16", 1),
    "dot_bf16_bf16_f32": ("bf16", "f32", 1),
    "dot_bf16_bf16_f32_x3": ("bf16", "f32", 3),
    "dot_bf16_bf16_f32_x6": ("bf16", "f32", 6),
    "dot_bf16_bf16_f32_x9": ("bf16", "f32", 9),
    "dot_tf32_tf32_f32": ("tf32", "f32", 1),
    "dot_tf32_tf32_f32_x3": ("tf32", "f32", 3),
    "dot_f32_f32_f32": ("f32", "f32", 1),
    "dot_f64_f64_f64": ("f64", "f64", 1),
}
"""The types of operands and accumulators, and the number of products, by PrecisionConfig.Algorithm."""


def algorithm(instruction: Instruction, operands: Shapes) -> Values:
    """The algorithm of a product."""
    found = str(instruction.attributes.get("algorithm", "dot_unset"))
    if found == "dot_unset":
        return {}
    if found not in _ALGORITHMS:
        raise ShardyError.unknown("algorithm", found, _ALGORITHMS)
    given, summed, products = _ALGORITHMS[found]
    factor, sum_ = (of_kind(float_type(each) or element_of(each), TypeAttribute) for each in (given, summed))
    is_fast = found.endswith("fast_accum")
    made = DotAlgorithm(factor, factor, sum_, 1, 1, products, is_fast)
    return {"algorithm": made}


def channel(instruction: Instruction, operands: Shapes) -> Values:
    """The channel between devices."""
    number = instruction.attributes.get("channel_id")
    return {} if number is None else {"channel_handle": {"handle": number, "type": 1}}


def groups(instruction: Instruction, operands: Shapes) -> Values:
    """Groups of devices as rows of equal length: missing devices are -1."""
    found = instruction.attributes.get("replica_groups", ())
    width = max(map(len, found), default=0)
    return {"replica_groups": [(*group, *[-1] * (width - len(group))) for group in found]}


def global_ids(instruction: Instruction, operands: Shapes) -> Values:
    """True if groups are of devices of all replicas."""
    return {"use_global_device_ids": True} if instruction.attributes.get("use_global_device_ids") else {}


def window_reversal(instruction: Instruction, operands: Shapes) -> Values:
    """Which dimensions of the window are reversed, as booleans."""
    window = instruction.attributes.get("window", {})
    found = window.get("rhs_reversal")
    return {} if found is None else {"window_reversal": tuple(map(bool, found))}


_GROUPED = joined(channel, groups)
_REDUCED = joined(channel, groups, global_ids)
_SORTED = renamed("indices_are_sorted")
_EPSILON = renamed("epsilon feature_index")


def _normalization(instruction: Instruction, operands: Shapes) -> Values:
    values = _EPSILON(instruction, operands)
    return values | {"epsilon": float(values.get("epsilon", 0))}


ATTRIBUTES: dict[str, Convert] = {
    "compare": joined(renamed("comparison_direction=direction"), comparison),
    "reduce-precision": renamed("exponent_bits mantissa_bits"),
    "iota": renamed("iota_dimension"),
    "dynamic-slice": renamed("slice_sizes=dynamic_slice_sizes"),
    "gather": _SORTED,
    "scatter": renamed("indices_are_sorted unique_indices"),
    "sort": renamed("is_stable"),
    "map": renamed("dimensions|()"),
    "dot": joined(precision, algorithm),
    "convolution": joined(precision, window_reversal),
    "batch-norm-grad": _normalization,
    "batch-norm-inference": _normalization,
    "batch-norm-training": _normalization,
    "rng-bit-generator": keyword(
        "rng_algorithm",
        "algorithm",
        {"rng_default": "DEFAULT", "rng_three_fry": "THREE_FRY", "rng_philox": "PHILOX"},
        "rng_default",
    ),
    "all-gather": _REDUCED,
    "all-reduce": _REDUCED,
    "reduce-scatter": _REDUCED,
    "all-to-all": _GROUPED,
    "collective-broadcast": _GROUPED,
    "collective-permute": joined(channel, renamed("source_target_pairs|()")),
}
"""The conversion of each opcode's attributes."""
REGIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("reduce", "reduce-window", "scatter", "sort", "map"), ("to_apply",)),
    **dict.fromkeys(("all-reduce", "reduce-scatter"), ("to_apply",)),
    "select-and-scatter": ("select", "scatter"),
}
"""The attributes that name the computations which become an op's regions, in order."""
BY_OPERAND = frozenset({"collective-permute", "reduce-scatter"})
"""Opcodes of several operands whose op has one: there is an op for each."""
