"""VHLO's ops as those of StableHLO, for all versions of VHLO: VhloToVersion.cpp, VhloLegalizeToStablehlo.cpp.

An op of a new version has attributes that the old one lacks, and the upgrade gives them values that StableHLO
leaves out: whatever its version, an op is legalized at once by the row of its name.

| VHLO | StableHLO |
|---|---|
| `vhlo.NAME_vN` | `stablehlo.NAME`; functions, calls and their returns are those of `func` |
| numbers of dimensions, one attribute each | one struct |
| all attributes | those that are not the default |

Not here: attributes themselves (`vhlo.py`), the names of those that ops have (`vhlo_names.py`).

>>> legalized("vhlo.reduce_precision_v1", {}, is_in_function=True)
('stablehlo.reduce_precision', {})
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from math import prod
from typing import TypeVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    NoneType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.bytecode.vhlo_names import ACCURATE, SECOND_VERSIONS
from shardy_py.mlir.dialects.attribute_classes import ValueAttribute
from shardy_py.mlir.dialects.stablehlo import attributes as a
from shardy_py.mlir.dialects.stablehlo import structs as s
from shardy_py.mlir.text.builtin_attributes import is_array, is_dense
from shardy_py.mlir.text.dense import element_size, elements_type, is_splat, load_integer

T = TypeVar("T")
Attributes = Mapping[str, Attribute]
Default = Callable[[Attribute], bool]
"""True if an attribute is what its absence stands for."""
_NAME = re.compile(r"vhlo\.(.+)_v([0-9]{1,4})\Z")
_LONGEST = 1 << 12
"""Numbers in a list of dimensions at most: a repeated one takes no room in the file."""
_FUNC = {"func": "func.func", "call": "func.call"}

# ---------------------------------------------------------------------- values of attributes


def _integer(attribute: Attribute) -> int:
    if not isinstance(attribute, IntegerAttr):
        raise ShardyError("expected an integer")
    return attribute.value.data


def _integers(attribute: Attribute) -> tuple[int, ...]:
    if not is_dense(attribute):
        raise ShardyError("expected dense integers")
    (shape, element), data = elements_type(attribute), attribute.data.data
    size, count = element_size(element), prod(shape)
    if count > _LONGEST:
        raise ShardyError(f"expected at most {_LONGEST} integers, got {count}")
    found = [load_integer(data[start : start + size], element) for start in range(0, len(data), size)]
    return tuple(found if len(found) == count else found * count)


def _type(attribute: Attribute) -> Attribute:
    return attribute


def _boolean(attribute: Attribute) -> bool:
    return bool(_integer(attribute))


# ---------------------------------------------------------------------- conversions


def _same(attribute: Attribute) -> Attribute:
    return attribute


def _list(attribute: Attribute) -> Attribute:
    return DenseArrayBase.from_list(i64, _integers(attribute))


def _flags(attribute: Attribute) -> Attribute:
    return DenseArrayBase.from_list(i1, [int(bool(flag)) for flag in _integers(attribute)])


def _symbol(attribute: Attribute) -> Attribute:
    if not isinstance(attribute, StringAttr):
        raise ShardyError("expected the name of a symbol")
    return SymbolRefAttr(attribute)


def _symbols(attribute: Attribute) -> Attribute:
    if not is_array(attribute):
        raise ShardyError("expected names of symbols")
    return ArrayAttr([_symbol(name) for name in attribute.data])


def _channel(attribute: Attribute) -> Attribute:
    return a.ChannelHandleAttr(s.ChannelHandle(_integer(attribute), 0))


def _unit(attribute: Attribute) -> Attribute:
    if not _boolean(attribute):
        raise ShardyError("expected true")
    return UnitAttr()


# ---------------------------------------------------------------------- defaults


def _never(attribute: Attribute) -> bool:
    return False


def _is_number(number: int) -> Default:
    return lambda attribute: isinstance(attribute, IntegerAttr) and attribute.value.data == number


def _is_empty(attribute: Attribute | None) -> bool:
    """True if a string, an array, a dictionary or a tensor has nothing in it."""
    if is_dense(attribute):
        return not attribute.data.data
    if is_array(attribute):
        return not attribute.data
    return isinstance(attribute, StringAttr | DictionaryAttr) and not attribute.data


def _all_are(number: int) -> Default:
    def is_default(attribute: Attribute) -> bool:
        if not is_dense(attribute) or not attribute.data.data:
            return False
        element = elements_type(attribute)[1]
        first = attribute.data.data[: element_size(element)]
        return is_splat(attribute) and load_integer(first, element) == number

    return is_default


def _is_default_precision(attribute: Attribute) -> bool:
    default = a.PrecisionAttr("DEFAULT")
    return is_array(attribute) and all(each == default for each in attribute.data)


_is_false, _is_zero = _is_number(0), _is_number(0)


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """The change to an attribute: left out if it is the default, else converted; name: a new one."""

    convert: Callable[[Attribute], Attribute] = _same
    is_default: Default = _never
    name: str = ""


def _is_default_accuracy(attribute: Attribute) -> bool:
    return attribute == a.ResultAccuracyAttr(s.ResultAccuracy())


_LIST, _LIST_OF_ONES = AttributeChange(_list), AttributeChange(_list, _all_are(1))
_EMPTY, _FALSE = AttributeChange(is_default=_is_empty), AttributeChange(is_default=_is_false)
_PRECISION = AttributeChange(is_default=_is_default_precision)
_CHANNEL = {"channel_id": AttributeChange(_channel, _is_zero, "channel_handle")}
_COLLECTIVE = {**_CHANNEL, "use_global_device_ids": AttributeChange(_unit, _is_false)}
_ROOT = {"has_dynamic_root": AttributeChange(_unit, _is_false)}
_WINDOWS = {
    "window_strides": _LIST_OF_ONES,
    "lhs_dilation": _LIST_OF_ONES,
    "rhs_dilation": _LIST_OF_ONES,
    "window_reversal": AttributeChange(_flags, _all_are(0)),
    "precision_config": _PRECISION,
}
_PADDING = {"padding": AttributeChange(is_default=_all_are(0))}
_TRANSFER = {"is_host_transfer": _FALSE, "source_target_pairs": _EMPTY}

CHANGES: dict[str, dict[str, AttributeChange]] = {
    "all_gather": _COLLECTIVE,
    "all_reduce": _COLLECTIVE,
    "all_to_all": _CHANNEL,
    "broadcast": {"broadcast_sizes": _LIST},
    "broadcast_in_dim": {"broadcast_dimensions": _LIST},
    "call": {"callee": AttributeChange(_symbol)},
    "cholesky": {"lower": _FALSE},
    "collective_broadcast": {**_CHANNEL, **_ROOT},
    "collective_permute": _CHANNEL,
    "collective_reduce": {**_COLLECTIVE, **_ROOT},
    "compare": {
        "compare_type": AttributeChange(is_default=lambda kind: kind == a.ComparisonTypeAttr("NOTYPE"))
    },
    "composite": {
        "decomposition": AttributeChange(_symbol),
        "version": AttributeChange(is_default=_is_zero),
        "composite_attributes": _EMPTY,
    },
    "convolution": {**_WINDOWS, **_PADDING},
    "custom_call": {
        "has_side_effect": _FALSE,
        "backend_config": _EMPTY,
        "api_version": AttributeChange(is_default=_is_number(1)),
        "called_computations": AttributeChange(_symbols, _is_empty),
        "output_operand_aliases": _EMPTY,
        "result_tilings": _EMPTY,
    },
    "dot": {"precision_config": _PRECISION},
    "dot_general": {"precision_config": _PRECISION},
    "dynamic_broadcast_in_dim": {
        "broadcast_dimensions": _LIST,
        "known_expanding_dimensions": AttributeChange(_list, _is_empty),
        "known_nonexpanding_dimensions": AttributeChange(_list, _is_empty),
    },
    "dynamic_conv": {
        **_WINDOWS,
        "padding": AttributeChange(is_default=lambda padding: True),
    },  # is an operand now
    "dynamic_gather": {"indices_are_sorted": _FALSE},
    "dynamic_slice": {"slice_sizes": _LIST},
    "fft": {"fft_length": _LIST},
    "func": {"sym_visibility": _EMPTY, "arg_attrs": _EMPTY, "res_attrs": _EMPTY},
    "gather": {"slice_sizes": _LIST, "indices_are_sorted": _FALSE},
    "infeed": {"infeed_config": _EMPTY, "layout": _EMPTY},
    "map": {"dimensions": _LIST},
    "outfeed": {"outfeed_config": _EMPTY},
    "pad": dict.fromkeys(("edge_padding_low", "edge_padding_high", "interior_padding"), _LIST),
    "recv": _TRANSFER,
    "reduce": {"dimensions": _LIST},
    "reduce_scatter": _COLLECTIVE,
    "reduce_window": {
        "window_dimensions": _LIST,
        **dict.fromkeys(("window_strides", "base_dilations", "window_dilations"), _LIST_OF_ONES),
        **_PADDING,
    },
    "reverse": {"dimensions": _LIST},
    "scatter": {"indices_are_sorted": _FALSE, "unique_indices": _FALSE},
    "select_and_scatter": {"window_dimensions": _LIST, "window_strides": _LIST_OF_ONES, **_PADDING},
    "send": _TRANSFER,
    "slice": dict.fromkeys(("start_indices", "limit_indices", "strides"), _LIST),
    "sort": {"dimension": AttributeChange(is_default=_is_number(-1)), "is_stable": _FALSE},
    "transpose": {"permutation": _LIST},
    **{
        name: {"result_accuracy": AttributeChange(is_default=_is_default_accuracy)}
        for name in ACCURATE.split()
    },
}
"""The changes to the attributes of each op; others stay as they are."""

# ---------------------------------------------------------------------- structs

_READERS: dict[str, Callable[[Attribute], object]] = {
    "int": _integer,
    "bool": _boolean,
    "tuple[int, ...]": _integers,
    "TypeAttribute": _type,
}


@dataclass(frozen=True, slots=True)
class Struct:
    """An attribute that collects several of VHLO's, which have the names of its fields unless `named`."""

    name: str
    value_class: type
    make: Callable[..., Attribute]
    named: Mapping[str, str]

    def sources(self) -> dict[str, tuple[str, Callable[[Attribute], object]]]:
        """The attribute of each field, and how its value is read."""
        declared = fields(self.value_class)
        return {f.name: (self.named.get(f.name, f.name), _READERS[str(f.type)]) for f in declared}


def _struct(name: str, attribute_class: type[ValueAttribute[T]], **named: str) -> Struct:
    return Struct(name, attribute_class.value_class, attribute_class, named)


_CONVOLUTION = _struct("dimension_numbers", a.ConvDimensionNumbersAttr)
_GATHER = _struct("dimension_numbers", a.GatherDimensionNumbersAttr)
_HANDLE = _struct("channel_handle", a.ChannelHandleAttr, handle="channel_id", type="channel_type")
STRUCTS: dict[str, tuple[Struct, ...]] = {
    "convolution": (_CONVOLUTION,),
    "dynamic_conv": (_CONVOLUTION,),
    "dot_general": (
        _struct("dot_dimension_numbers", a.DotDimensionNumbersAttr),
        _struct("algorithm", a.DotAlgorithmAttr),
    ),
    "gather": (_GATHER,),
    "dynamic_gather": (_GATHER,),
    "scatter": (_struct("scatter_dimension_numbers", a.ScatterDimensionNumbersAttr),),
    "recv": (_HANDLE,),
    "send": (_HANDLE,),
}
"""The structs of each op."""
_LATER = (
    *("operand_batching_dims", "start_indices_batching_dims", "input_batching_dims"),
    "scatter_indices_batching_dims",
)
"""Lists of dimensions that the first version of an op lacks: they are empty."""


def _imploded(struct: Struct, left: dict[str, Attribute]) -> Attribute | None:
    """The struct of attributes, which are taken out of `left`; None if there is none."""
    values: dict[str, object] = {}
    found = {field: left.pop(name, None) for field, (name, _) in struct.sources().items()}
    if all(value is None or isinstance(value, NoneType) for value in found.values()):
        return None
    for field, (name, read) in struct.sources().items():
        attribute = found[field]
        if attribute is None and name not in _LATER:
            raise ShardyError(f"attribute '{name}' is missing")
        try:
            values[field] = () if attribute is None else read(attribute)
        except ShardyError as error:
            raise ShardyError(f"attribute '{name}': {error.first.message}") from None
    return struct.make(struct.value_class(**values))


# ---------------------------------------------------------------------- ops


def legalized(name: str, attributes: Attributes, *, is_in_function: bool) -> tuple[str, dict[str, Attribute]]:
    """Returns the name and attributes of the op that an op of VHLO stands for.

    Raises:
        ShardyError: an attribute is missing, or is none that the op has.
    """
    match = _NAME.match(name)
    if match is None or int(match[2]) > (2 if match[1] in SECOND_VERSIONS else 1):
        raise ShardyError("is an op of a newer VHLO; export the program for an older version of StableHLO")
    base = match[1]
    new_name = "func.return" if base == "return" and is_in_function else _FUNC.get(base, f"stablehlo.{base}")
    left, made = dict(attributes), dict[str, Attribute]()
    for struct in STRUCTS.get(base, ()):
        imploded = _imploded(struct, left)
        if imploded is not None:
            made[struct.name] = imploded
    if base == "custom_call" and all(_is_empty(left.get(each)) for each in _LAYOUTS):
        for each in _LAYOUTS:
            left.pop(each, None)
    changes = CHANGES.get(base, {})
    for key, attribute in left.items():
        change = changes.get(key)
        if change is None:
            made[key] = attribute
        elif not change.is_default(attribute):
            try:
                made[change.name or key] = change.convert(attribute)
            except ShardyError as error:
                raise ShardyError(f"attribute '{key}': {error.first.message}") from None
    return new_name, made


_LAYOUTS = ("operand_layouts", "result_layouts")
"""Attributes of custom calls that are left out together."""
