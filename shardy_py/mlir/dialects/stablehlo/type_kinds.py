"""Kinds of operands and results, as the definition of StableHLO describes them.

>>> TYPE_KINDS["pred_int"].description
'ranked tensor of bool or 2/4/8/16/32/64-bit integer values'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import builtin
from xdsl.dialects.builtin import IntegerType, Signedness, i1, i32
from xdsl.ir import Attribute

from shardy_py.mlir.dialects.kinds import TypeKind
from shardy_py.mlir.dialects.stablehlo.verify.tensors import (
    Tensor,
    is_complex,
    is_float,
    is_integer,
    is_quantized,
    read_tensor,
)
from shardy_py.mlir.text.attribute_writer import attribute_text

_WIDTHS = frozenset((2, 4, 8, 16, 32, 64))


def _is_int(element: Any, signs: tuple[Signedness, ...] = (Signedness.SIGNLESS, Signedness.UNSIGNED)) -> bool:
    return is_integer(element) and element.width.data in _WIDTHS and element.signedness.data in signs


def _is_wide_float(element: Any) -> bool:
    return isinstance(element, builtin.Float32Type | builtin.Float64Type)


def _is_per_axis(element: Any) -> bool:
    """`!quant.uniform<i8:f32:0, {...}>`: an axis before the braces."""
    return is_quantized(element) and "{" in attribute_text(element)


_UI32 = IntegerType(32, Signedness.UNSIGNED)
_ELEMENT_KINDS = {
    "float": TypeKind("4/6/8/16/32/64-bit float", is_float),
    "float32": TypeKind("32/64-bit float", _is_wide_float),
    "bool": TypeKind("bool", lambda e: e == i1),
    "int": TypeKind("2/4/8/16/32/64-bit integer", _is_int),
    "signless": TypeKind("2/4/8/16/32/64-bit signless integer", lambda e: _is_int(e, (Signedness.SIGNLESS,))),
    "i32": TypeKind("32-bit signless integer", lambda e: e == i32),
    "ui32": TypeKind("32-bit unsigned integer", lambda e: e == _UI32),
    "index": TypeKind("index", lambda e: isinstance(e, builtin.IndexType)),
    "integer": TypeKind("integer", is_integer),
    "complex": TypeKind(
        "complex type with 32/64-bit float elements",
        lambda e: is_complex(e) and _is_wide_float(e.element_type),
    ),
    "quantized": TypeKind("per-tensor integer quantized", lambda e: is_quantized(e) and not _is_per_axis(e)),
    "per_axis": TypeKind("per-axis integer quantized", _is_per_axis),
}


def _either(*kinds: TypeKind) -> TypeKind:
    return TypeKind(
        " or ".join(k.description for k in kinds), lambda type_: any(k.accepts(type_) for k in kinds)
    )


def _named(name: str) -> TypeKind:
    return TypeKind(name, lambda type_: type_.name == f"stablehlo.{name}")


def _elements(names: str) -> TypeKind:
    return _either(*(_ELEMENT_KINDS[name] for name in names.split()))


def _tensor(
    names: str, prefix: str = "ranked tensor", holds: Callable[[Tensor], bool] = lambda tensor: True
) -> TypeKind:
    """Ranked tensors with the listed elements that satisfy `holds`."""
    elements = _elements(names)

    def accepts(type_: Attribute) -> bool:
        tensor = read_tensor(type_)
        return tensor is not None and holds(tensor) and elements.accepts(tensor.element)

    return TypeKind(f"{prefix} of {elements.description} values", accepts)


def _shaped(shaped_class: Any, names: str, prefix: str) -> TypeKind:
    """The types of a class with the listed elements."""
    elements = _elements(names)
    return TypeKind(
        f"{prefix} of {elements.description} values",
        lambda type_: isinstance(type_, shaped_class) and elements.accepts(type_.element_type),
    )


def _any_tensor(names: str) -> TypeKind:
    """Tensors with or without rank."""
    ranked, unranked = _tensor(names, "tensor"), _shaped(builtin.UnrankedTensorType, names, "tensor")
    return TypeKind(ranked.description, lambda type_: unranked.accepts(type_) or ranked.accepts(type_))


def _tuple_of(*kinds: TypeKind) -> TypeKind:
    inner = _either(*kinds)

    def accepts(type_: Attribute) -> bool:
        return isinstance(type_, builtin.TupleType) and all(
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
_TENSOR, _AXES, _BUFFER = _tensor(_ALL), _tensor(_WITH_AXES), _shaped(builtin.MemRefType, _ALL, "memref")
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
    "static_tensor": _tensor(_ALL, "statically shaped tensor", _is_static),
    "any": _UNRANKED,
    "any_pred_int": _any_tensor("bool int"),
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
