"""Kinds of operands and results, as the definition of StableHLO describes them.

>>> TYPE_KINDS["pred_int"].description
'ranked tensor of bool or 2/4/8/16/32/64-bit integer values'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    Signedness,
    TupleType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute

from shardy_py.dialects.kinds import TypeKind
from shardy_py.dialects.stablehlo.verify.element_types import is_complex, is_float, is_quantized
from shardy_py.dialects.stablehlo.verify.tensors import Tensor, read_tensor
from shardy_py.text.attribute_writer import attribute_text

_WIDTHS = frozenset((2, 4, 8, 16, 32, 64))


def _is_int(element: Any, *signs: Signedness) -> bool:
    allowed = signs or (Signedness.SIGNLESS, Signedness.UNSIGNED)
    return isinstance(element, IntegerType) and _width(element) in _WIDTHS and _sign(element) in allowed


def _width(element: Any) -> int:
    return element.width.data


def _sign(element: Any) -> Signedness:
    return element.signedness.data


def _is_exactly(width: int, sign: Signedness) -> Callable[[Any], bool]:
    return lambda e: isinstance(e, IntegerType) and (_width(e), _sign(e)) == (width, sign)


def _is_wide_float(element: Any) -> bool:
    return isinstance(element, Float32Type | Float64Type)


def _is_per_axis(element: Any) -> bool:
    """`!quant.uniform<i8:f32:0, {...}>`: an axis before the braces."""
    return is_quantized(element) and "{" in attribute_text(element)


_ELEMENT_KINDS = {
    "float": TypeKind("4/6/8/16/32/64-bit float", is_float),
    "float32": TypeKind("32/64-bit float", _is_wide_float),
    "bool": TypeKind("bool", _is_exactly(1, Signedness.SIGNLESS)),
    "int": TypeKind("2/4/8/16/32/64-bit integer", _is_int),
    "signless": TypeKind("2/4/8/16/32/64-bit signless integer", lambda e: _is_int(e, Signedness.SIGNLESS)),
    "i32": TypeKind("32-bit signless integer", _is_exactly(32, Signedness.SIGNLESS)),
    "ui32": TypeKind("32-bit unsigned integer", _is_exactly(32, Signedness.UNSIGNED)),
    "index": TypeKind("index", lambda e: isinstance(e, IndexType)),
    "integer": TypeKind("integer", lambda e: isinstance(e, IntegerType)),
    "complex": TypeKind(
        "complex type with 32/64-bit float elements",
        lambda e: is_complex(e) and _is_wide_float(e.element_type),
    ),
    "quantized": TypeKind("per-tensor integer quantized", lambda e: is_quantized(e) and not _is_per_axis(e)),
    "per_axis": TypeKind("per-axis integer quantized", _is_per_axis),
}


def _tensor(
    elements: str, prefix: str = "ranked tensor", holds: Callable[[Tensor], bool] = lambda tensor: True
) -> TypeKind:
    """Ranked tensors with the listed elements that satisfy `holds`."""
    kinds = [_ELEMENT_KINDS[name] for name in elements.split()]

    def accepts(type_: Attribute) -> bool:
        tensor = read_tensor(type_)
        return tensor is not None and holds(tensor) and any(kind.accepts(tensor.element) for kind in kinds)

    return TypeKind(f"{prefix} of {' or '.join(kind.description for kind in kinds)} values", accepts)


def _either(*kinds: TypeKind) -> TypeKind:
    return TypeKind(
        " or ".join(k.description for k in kinds), lambda type_: any(k.accepts(type_) for k in kinds)
    )


def _named(name: str) -> TypeKind:
    return TypeKind(name, lambda type_: type_.name == f"stablehlo.{name}")


def _memref(elements: str) -> TypeKind:
    kinds = [_ELEMENT_KINDS[name] for name in elements.split()]

    def accepts(type_: Attribute) -> bool:
        return isinstance(type_, MemRefType) and any(kind.accepts(type_.element_type) for kind in kinds)  # pyright: ignore[reportUnknownMemberType]

    return TypeKind(f"memref of {' or '.join(kind.description for kind in kinds)} values", accepts)


def _any_tensor(elements: str) -> TypeKind:
    """Tensors with or without rank."""
    ranked = _tensor(elements, "tensor")
    kinds = [_ELEMENT_KINDS[name] for name in elements.split()]

    def accepts(type_: Attribute) -> bool:
        if isinstance(type_, UnrankedTensorType):
            return any(kind.accepts(type_.element_type) for kind in kinds)  # pyright: ignore[reportUnknownMemberType]
        return ranked.accepts(type_)

    return TypeKind(ranked.description, accepts)


def _tuple_of(*kinds: TypeKind) -> TypeKind:
    inner = _either(*kinds)

    def accepts(type_: Attribute) -> bool:
        return isinstance(type_, TupleType) and all(
            inner.accepts(part) or accepts(part) for part in type_.types.data
        )

    return TypeKind(f"nested tuple with any combination of {inner.description} values", accepts)


def _is_static(tensor: Tensor) -> bool:
    return tensor.is_static


def _is_rank(rank: int) -> Callable[[Tensor], bool]:
    return lambda tensor: tensor.rank == rank


def _is_static_rank(rank: int) -> Callable[[Tensor], bool]:
    return lambda tensor: tensor.rank == rank and tensor.is_static


def _has_at_most_one_bound(tensor: Tensor) -> bool:
    dynamic = [index for index, size in enumerate(tensor.sizes) if size is None]
    return not dynamic or (len(dynamic) == 1 and tensor.bound(dynamic[0]) is not None)


_ALL = "float bool int complex quantized"
_WITH_AXES = f"{_ALL} per_axis"
_TOKEN, _FUTURE = _named("token"), _named("future")
_TENSOR, _AXES, _BUFFER = _tensor(_ALL), _tensor(_WITH_AXES), _memref(_ALL)
_PER_AXIS = _tensor("per_axis")
_TUPLE = _tuple_of(_TENSOR, _BUFFER, _PER_AXIS, _TOKEN)
_UNRANKED = _any_tensor(_WITH_AXES)
_VALUE = _either(_TENSOR, _PER_AXIS, _TOKEN)

TYPE_KINDS: dict[str, TypeKind] = {
    "tensor": _TENSOR,
    "axes": _AXES,
    "pred": _tensor("bool"),
    "int": _tensor("int"),
    "pred_int": _tensor("bool int"),
    "float": _tensor("float"),
    "float32": _tensor("float32"),
    "complex": _tensor("complex"),
    "float_complex": _tensor("float complex"),
    "float_quant": _tensor("float quantized"),
    "float_complex_quant": _tensor("float complex quantized"),
    "number": _tensor("int float complex quantized"),
    "signed": _tensor("signless float complex quantized"),
    "signed_real": _tensor("signless float quantized"),
    "plain": _tensor("float bool int complex"),
    "int_float": _tensor("int float"),
    "pred_int_float": _tensor("bool int float"),
    "float_quant_axes": _tensor("float quantized per_axis"),
    "quant_axes": _tensor("quantized per_axis"),
    "i32": _tensor("i32"),
    "ui32": _tensor("ui32"),
    "indices": _tensor("integer index"),
    "vector": _tensor("float quantized", "1D tensor", _is_rank(1)),
    "scalar": _tensor(_ALL, "0D tensor", _is_rank(0)),
    "scalar_int": _tensor("int", "0D tensor", _is_rank(0)),
    "scalar_pred_int_float": _tensor("bool int float", "0D tensor", _is_rank(0)),
    "dimensions": _tensor("index int", "1D tensor", _is_rank(1)),
    "shape": _tensor("index int", "statically shaped 1-dimensional tensor", _is_static_rank(1)),
    "static_ints": _tensor("int", "statically shaped 1-dimensional integer tensor", _is_static_rank(1)),
    "static_pairs": _tensor("int", "statically shaped 2-dimensional integer tensor", _is_static_rank(2)),
    "static_number": _tensor("int float complex quantized", "statically shaped tensor", _is_static),
    "static_int_float": _tensor("int float", "statically shaped tensor", _is_static),
    "static_or_bounded": _tensor(
        _WITH_AXES, "statically shaped or single bounded dimension tensor", _has_at_most_one_bound
    ),
    "static_or_token": _either(
        _tensor(_ALL, "statically shaped tensor", _is_static),
        _tensor(_WITH_AXES, "statically shaped tensor", _is_static),
        _TOKEN,
    ),
    "static": _tensor(_WITH_AXES, "statically shaped tensor", _is_static),
    "any_float": _any_tensor("float"),
    "any_complex": _any_tensor("complex"),
    "any_float_complex": _any_tensor("float complex"),
    "any_pred": _any_tensor("bool"),
    "token": _TOKEN,
    "future": _FUTURE,
    "tuple": _TUPLE,
    "tensor_or_token": _either(_TENSOR, _TOKEN),
    "value": _VALUE,
    "value_or_buffer": _either(_VALUE, _BUFFER),
    "value_or_tuple": _either(_VALUE, _TUPLE),
    "anything": _either(_VALUE, _TUPLE, _BUFFER),
    "custom": _either(_UNRANKED, _BUFFER, _TOKEN, _tuple_of(_UNRANKED, _BUFFER, _TOKEN), _FUTURE),
}
"""Kinds by the names that rows use."""
