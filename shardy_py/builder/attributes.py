"""Python values as the attributes of StableHLO's ops, by the kinds that the ops' rows name.

Not here: checks of the attributes of an op (the verifiers).

>>> str(encode("index", 3)), encode("comparison_direction", "LT").data
('3 : i64', 'LT')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
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
from xdsl.utils.exceptions import VerifyException

from shardy_py.dialects.kinds import booleans, integers
from shardy_py.dialects.stablehlo import attributes as a
from shardy_py.dialects.stablehlo import structs
from shardy_py.errors import ShardyError
from shardy_py.text.dense import make_dense

Encoder = Callable[[Any], Attribute]


def encode(kind: str, value: Any) -> Attribute:
    """The attribute of that kind; an attribute is returned unchanged.

    Raises `ShardyError` when the value does not fit the kind.
    """
    if isinstance(value, Attribute):
        return value
    encoder = _ENCODERS.get(kind)
    if encoder is None:
        raise ShardyError.unexpected(
            f"attribute of kind '{kind}'", expected="an xDSL attribute", got=repr(value)
        )
    try:
        return encoder(value)
    except (TypeError, ValueError, OverflowError, VerifyException) as error:
        raise ShardyError.unexpected("", expected=kind, got=f"{value!r} ({error})") from None


def plain_attribute(value: Any) -> Attribute:
    """The attribute of a value without a kind: an entry of a dictionary, a discardable attribute."""
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
            raise ShardyError.unexpected(
                "",
                expected="a value with an MLIR attribute",
                got=repr(value),
                remedy="pass an xDSL attribute",
            )


def _integer(type_: Any) -> Encoder:
    return lambda value: IntegerAttr(_index(value), type_)


def _index(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError("not an integer")
    return value.__index__()


def _integers(value: Any) -> Attribute:
    return integers(_indexes(value))


def _booleans(value: Any) -> Attribute:
    return booleans(tuple(bool(entry) for entry in value))


def table(value: Any, width: int = 0) -> DenseIntOrFPElementsAttr:
    """`dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`, of rows of equal length; `width`: of no rows.

    Raises `ValueError` or `TypeError` unless it holds rows of integers.
    """
    given = np.asarray(value)
    rows = given if given.size else np.zeros((len(given), given.shape[1] if given.ndim > 1 else width))
    if rows.ndim != 2 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError("not rows of integers")
    return make_dense(TensorType(i64, list(rows.shape)), rows.astype(np.int64).tobytes())


def _enum(attribute_class: Any) -> Encoder:
    def encode_keyword(value: Any) -> Attribute:
        if value not in attribute_class.keywords:
            raise ValueError(f"one of {', '.join(attribute_class.keywords)}")
        return attribute_class(value)

    return encode_keyword


def struct_of(struct: Any, value: Any) -> Any:
    """A struct from a mapping of its fields, or from a struct of that type; sequences become tuples.

    Raises `TypeError` for unknown fields and values of other types.
    """
    types = {field.name: str(field.type) for field in fields(struct)}
    if isinstance(value, struct):
        value = {name: getattr(value, name) for name in types}
    if not isinstance(value, Mapping):
        raise TypeError(f"neither a {struct.__name__} nor a mapping of its fields")
    given = cast("Mapping[str, Any]", value)
    unknown = next((name for name in given if name not in types), None)
    if unknown is not None:
        raise TypeError(f"unknown field {unknown}: expected one of {', '.join(types)}")
    return struct(
        **{name: _FIELDS.get(types[name], lambda field: field)(entry) for name, entry in given.items()}
    )


def _indexes(values: Any) -> tuple[int, ...]:
    return tuple(map(_index, values))


_FIELDS: dict[str, Callable[[Any], Any]] = {"int": _index, "tuple[int, ...]": _indexes}
"""Conversions of struct fields by type; other fields are kept as they are."""


def _struct(attribute_class: Any, struct: Any) -> Encoder:
    return lambda value: attribute_class(struct_of(struct, value))


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
    "table": partial(table, width=2),
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
