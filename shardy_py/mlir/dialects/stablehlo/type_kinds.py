"""Kinds of operands and results by the names that rows use, as the definition of StableHLO describes them.

>>> PRED_INT.description
'ranked tensor of bool or 2/4/8/16/32/64-bit integer values'
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import builtin
from xdsl.dialects.builtin import IntegerType, Signedness, i1, i32
from xdsl.ir import Attribute

from shardy_py.mlir.dialects.kinds import TypeKind
from shardy_py.mlir.dialects.stablehlo.verify.tensors import (
    RankedTensor,
    is_complex,
    is_float,
    is_integer,
    is_quantized,
    read_tensor,
)
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.typed import element_type_of

_WIDTHS = frozenset((2, 4, 8, 16, 32, 64))


def _is_int(
    element: Attribute, signs: tuple[Signedness, ...] = (Signedness.SIGNLESS, Signedness.UNSIGNED)
) -> bool:
    return is_integer(element) and element.width.data in _WIDTHS and element.signedness.data in signs


def _is_wide_float(element: Attribute) -> bool:
    return isinstance(element, builtin.Float32Type | builtin.Float64Type)


def _is_per_axis(element: Attribute) -> bool:
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
    names: str, prefix: str = "ranked tensor", holds: Callable[[RankedTensor], bool] = lambda tensor: True
) -> TypeKind:
    """Ranked tensors with the listed elements that satisfy `holds`."""
    elements = _elements(names)

    def accepts(type_: Attribute) -> bool:
        tensor = read_tensor(type_)
        if tensor is None or tensor.element is None:
            return False
        return holds(tensor) and elements.accepts(tensor.element)

    return TypeKind(f"{prefix} of {elements.description} values", accepts)


def _shaped(shaped_class: type[Attribute], names: str, prefix: str) -> TypeKind:
    """The types of a class with the listed elements."""
    elements = _elements(names)
    return TypeKind(
        f"{prefix} of {elements.description} values",
        lambda type_: isinstance(type_, shaped_class) and elements.accepts(element_type_of(type_)),
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


def _is_static(tensor: RankedTensor) -> bool:
    return tensor.is_static


def _is_rank(rank: int) -> Callable[[RankedTensor], bool]:
    return lambda tensor: tensor.rank == rank


def _is_static_rank(rank: int) -> Callable[[RankedTensor], bool]:
    return lambda tensor: tensor.rank == rank and tensor.is_static


def _has_at_most_one_bound(tensor: RankedTensor) -> bool:
    dynamic = [index for index, size in enumerate(tensor.sizes) if size is None]
    return not dynamic or (len(dynamic) == 1 and tensor.bound(dynamic[0]) is not None)


_ALL = "float bool int complex quantized"
_WITH_AXES = f"{_ALL} per_axis"
TOKEN, FUTURE = _named("token"), _named("future")
TENSOR, AXES, _BUFFER = _tensor(_ALL), _tensor(_WITH_AXES), _shaped(builtin.MemRefType, _ALL, "memref")
_PER_AXIS = _tensor("per_axis")
TUPLE = _tuple_of(TENSOR, _BUFFER, _PER_AXIS, TOKEN)
ANY = _any_tensor(_WITH_AXES)
VALUE = _either(TENSOR, _PER_AXIS, TOKEN)

PRED = _tensor("bool")
INT = _tensor("int")
PRED_INT = _tensor("bool int")
FLOAT = _tensor("float")
FLOAT32 = _tensor("float32")
COMPLEX = _tensor("complex")
FLOAT_COMPLEX = _tensor("float complex")
FLOAT_QUANT = _tensor("float quantized")
FLOAT_COMPLEX_QUANT = _tensor("float complex quantized")
NUMBER = _tensor("int float complex quantized")
SIGNED = _tensor("signless float complex quantized")
SIGNED_REAL = _tensor("signless float quantized")
PLAIN = _tensor("float bool int complex")
INT_FLOAT = _tensor("int float")
PRED_INT_FLOAT = _tensor("bool int float")
FLOAT_QUANT_AXES = _tensor("float quantized per_axis")
QUANT_AXES = _tensor("quantized per_axis")
I32 = _tensor("i32")
UI32 = _tensor("ui32")
INDICES = _tensor("integer index")
VECTOR = _tensor("float quantized", "1D tensor", _is_rank(1))
SCALAR = _tensor(_ALL, "0D tensor", _is_rank(0))
SCALAR_INT = _tensor("int", "0D tensor", _is_rank(0))
SCALAR_PRED_INT_FLOAT = _tensor("bool int float", "0D tensor", _is_rank(0))
DIMENSIONS = _tensor("index int", "1D tensor", _is_rank(1))
SHAPE = _tensor("index int", "statically shaped 1-dimensional tensor", _is_static_rank(1))
STATIC_INTS = _tensor("int", "statically shaped 1-dimensional integer tensor", _is_static_rank(1))
STATIC_PAIRS = _tensor("int", "statically shaped 2-dimensional integer tensor", _is_static_rank(2))
STATIC_NUMBER = _tensor("int float complex quantized", "statically shaped tensor", _is_static)
STATIC_INT_FLOAT = _tensor("int float", "statically shaped tensor", _is_static)
STATIC_OR_BOUNDED = _tensor(
    _WITH_AXES, "statically shaped or single bounded dimension tensor", _has_at_most_one_bound
)
STATIC_OR_TOKEN = _either(
    _tensor(_ALL, "statically shaped tensor", _is_static),
    _tensor(_WITH_AXES, "statically shaped tensor", _is_static),
    TOKEN,
)
STATIC = _tensor(_WITH_AXES, "statically shaped tensor", _is_static)
STATIC_TENSOR = _tensor(_ALL, "statically shaped tensor", _is_static)
ANY_PRED_INT = _any_tensor("bool int")
ANY_FLOAT = _any_tensor("float")
ANY_COMPLEX = _any_tensor("complex")
ANY_FLOAT_COMPLEX = _any_tensor("float complex")
ANY_PRED = _any_tensor("bool")
TENSOR_OR_TOKEN = _either(TENSOR, TOKEN)
VALUE_OR_BUFFER = _either(VALUE, _BUFFER)
VALUE_OR_TUPLE = _either(VALUE, TUPLE)
ANYTHING = _either(VALUE, TUPLE, _BUFFER)
CUSTOM = _either(ANY, _BUFFER, TOKEN, _tuple_of(ANY, _BUFFER, TOKEN), FUTURE)
