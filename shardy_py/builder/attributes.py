"""Python values as the attributes of StableHLO's ops, by the kinds that the ops' rows name.

Not here: what an op then makes of them (the verifiers).

>>> str(encode("index", 3)), encode("comparison_direction", "LT").data
('3 : i64', 'LT')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute

from shardy_py.dialects.kinds import booleans, integers
from shardy_py.dialects.stablehlo import attributes as a
from shardy_py.dialects.stablehlo import structs
from shardy_py.errors import ShardyError
from shardy_py.text.dense import make_dense

Encoder = Callable[[Any], Attribute]


def encode(kind: str, value: Any) -> Attribute:
    """The attribute of that kind; an attribute stays as it is.

    Raises `ShardyError` when the value does not fit the kind.
    """
    if isinstance(value, Attribute):
        return value
    encoder = _ENCODERS.get(kind)
    if encoder is None:
        raise ShardyError(f"an attribute of kind '{kind}' is given as an xDSL attribute; got: {value!r}")
    try:
        return encoder(value)
    except (TypeError, ValueError, KeyError) as error:
        raise ShardyError(f"expected {kind}, got: {value!r} ({error})") from None


def plain_attribute(value: Any) -> Attribute:
    """An attribute for what says no kind: entries of dictionaries, discardable attributes."""
    match value:
        case Attribute():
            return value
        case bool():
            return IntegerAttr(int(value), i1)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f32)
        case str():
            return StringAttr(value)
        case dict():
            entries = cast("Mapping[str, Any]", value).items()
            return DictionaryAttr({name: plain_attribute(entry) for name, entry in entries})
        case list() | tuple():
            return ArrayAttr([plain_attribute(entry) for entry in cast("Sequence[Any]", value)])
        case None:
            return UnitAttr()
        case _:
            raise ShardyError(f"no attribute is known for {value!r}; give an xDSL attribute")


def _integer(type_: Any) -> Encoder:
    return lambda value: IntegerAttr(_index(value), type_)


def _index(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError("not an integer")
    return value.__index__()


def _integers(value: Any) -> Attribute:
    return integers(tuple(_index(entry) for entry in value))


def _booleans(value: Any) -> Attribute:
    return booleans(tuple(bool(entry) for entry in value))


def table(value: Any) -> DenseIntOrFPElementsAttr:
    """`dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`, of rows that are equally long."""
    rows = np.asarray(value, np.int64)
    if rows.size == 0:
        rows = rows.reshape(rows.shape[0] if rows.ndim else 0, rows.shape[1] if rows.ndim > 1 else 0)
    return make_dense(TensorType(i64, list(rows.shape)), rows.tobytes())


def _enum(attribute_class: Any) -> Encoder:
    def encode_keyword(value: Any) -> Attribute:
        if value not in attribute_class.keywords:
            raise ValueError(f"one of {', '.join(attribute_class.keywords)}")
        return attribute_class(value)

    return encode_keyword


def _struct(attribute_class: Any, struct: Any) -> Encoder:
    """A struct of ours, or its fields as a mapping."""

    def encode_struct(value: Any) -> Attribute:
        return attribute_class(value if isinstance(value, struct) else struct(**_tuples(value)))

    return encode_struct


def _tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(cast("list[Any]", v)) if isinstance(v, list) else v for name, v in fields.items()}


def _array(encoder: Encoder) -> Encoder:
    return lambda value: ArrayAttr([encoder(entry) for entry in value])


def _symbol(value: Any) -> Attribute:
    return SymbolRefAttr(str(value).removeprefix("@"))


_precision = _enum(a.PrecisionAttr)

_ENCODERS: dict[str, Encoder] = {
    **dict.fromkeys(("i64", "index", "count"), _integer(i64)),
    **dict.fromkeys(("i32", "index32", "count32", "api_version"), _integer(i32)),
    "bool": lambda value: IntegerAttr(int(bool(value)), i1),
    "f32": lambda value: FloatAttr(float(value), f32),
    "integers": _integers,
    "booleans": _booleans,
    "table": table,
    "groups": table,
    "unit": lambda value: UnitAttr(),
    **dict.fromkeys(("string", "target", "config", "dictionary", "any"), plain_attribute),
    "symbol": _symbol,
    "symbols": _array(_symbol),
    "precisions": _array(_precision),
    "comparison_direction": _enum(a.ComparisonDirectionAttr),
    "comparison_type": _enum(a.ComparisonTypeAttr),
    "fft_type": _enum(a.FftTypeAttr),
    "transpose": _enum(a.TransposeAttr),
    "rng_distribution": _enum(a.RngDistributionAttr),
    "rng_algorithm": _enum(a.RngAlgorithmAttr),
    "dot": _struct(a.DotDimensionNumbersAttr, structs.DotDimensionNumbers),
    "conv": _struct(a.ConvDimensionNumbersAttr, structs.ConvDimensionNumbers),
    "gather": _struct(a.GatherDimensionNumbersAttr, structs.GatherDimensionNumbers),
    "scatter": _struct(a.ScatterDimensionNumbersAttr, structs.ScatterDimensionNumbers),
    "channel": _struct(a.ChannelHandleAttr, structs.ChannelHandle),
    "accuracy": _struct(a.ResultAccuracyAttr, structs.ResultAccuracy),
    "dot_algorithm": _struct(a.DotAlgorithmAttr, structs.DotAlgorithm),
}
