"""Types of tensors as Python spells them: `tensor((8, 16), "bf16")`, numpy and ml_dtypes types.

>>> tensor((8, 16)).text, tensor((2,), np.int8).text
('tensor<8x16xf32>', 'tensor<2xi8>')
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, NoneAttr, ShapedType, TupleType
from xdsl.dialects.builtin import TensorType as TensorTypeAttr
from xdsl.ir import Attribute

from shardy_py.base.arrays import AnyDtype
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.mlir.dialects.stablehlo.attributes import TypeExtensionsAttr
from shardy_py.mlir.dialects.stablehlo.verify.messages import raw
from shardy_py.mlir.dialects.stablehlo.verify.tensors import read_tensor
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.mlir.text.deep_stack import deep_stack
from shardy_py.mlir.text.source import Source

Shape = tuple[int | None, ...]
_LARGEST = (1 << 63) - 1

_SMALL_FLOATS = """float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3fn
    float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu"""
ELEMENT_OF_DTYPE = {
    **{name: name.replace("float", "f") for name in ("float16", "float32", "float64")},
    **{f"int{bits}": f"i{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"uint{bits}": f"ui{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    "bool": "i1",
    "bfloat16": "bf16",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
    **{name: "f" + name[5:].replace("_", "").upper() for name in _SMALL_FLOATS.split()},
}
"""Element types by the name of numpy's or ml_dtypes' type."""
DTYPE_OF_ELEMENT = {element: name for name, element in ELEMENT_OF_DTYPE.items()}


@dataclass(frozen=True, slots=True)
class RankedTensorType:
    """The type of a tensor: sizes (None: dynamic), element type as MLIR spells it.

    bounds: the largest value of each dynamic size, None for one without; empty: none has one.
    """

    shape: Shape
    element_type: str = "f32"
    bounds: Shape = ()

    @property
    def attribute(self) -> TensorTypeAttr[Attribute]:
        """The type in the IR. Raises `ShardyError` for an unknown element type."""
        return _attribute(self)

    @property
    def text(self) -> str:
        """The type as MLIR prints it."""
        return attribute_text(self.attribute)


def tensor(
    shape: Sequence[int | None], element_type: object = "f32", *, bounds: Sequence[int | None] = ()
) -> RankedTensorType:
    """The type of a tensor of that shape; the element type in MLIR's spelling, or a numpy type.

    bounds: as in `RankedTensorType`. Raises `ShardyError` for negative sizes, bounds of static sizes, and
    unknown element types.

    >>> tensor((None, np.int64(3)), "float32").text
    'tensor<?x3xf32>'
    """
    sizes, limits = _sizes(shape), _sizes(bounds)
    fits = len(limits) == len(sizes) and not any(
        size is not None and limit is not None for size, limit in zip(sizes, limits, strict=True)
    )
    if limits and not fits:
        raise ShardyError.unexpected(
            "", expected=f"the bounds of the dynamic sizes of {sizes}, None elsewhere", got=f"{limits}"
        )
    type_ = RankedTensorType(sizes, element_of(element_type), limits)
    element_attribute(type_.element_type)
    return type_


def _sizes(shape: Sequence[int | None]) -> Shape:
    try:
        sizes = tuple(None if size is None else index(size) for size in shape)
    except TypeError:
        raise ShardyError.unexpected(
            "", expected="the sizes of a tensor, None for a dynamic one", got=f"{shape!r}"
        ) from None
    if any(size is not None and not 0 <= size <= _LARGEST for size in sizes):
        raise ShardyError.unexpected("sizes", expected="integers from 0 on, None if dynamic", got=repr(shape))
    return sizes


def element_of(dtype: Any) -> str:
    """The element type, as MLIR spells it, of a numpy or ml_dtypes type; text stays as it is.

    >>> element_of(ml_dtypes.bfloat16), element_of("float32"), element_of("i8")
    ('bf16', 'f32', 'i8')
    """
    if isinstance(dtype, str):
        return ELEMENT_OF_DTYPE.get(dtype, dtype)
    try:
        return ELEMENT_OF_DTYPE[np.dtype(dtype).name]
    except (TypeError, KeyError):
        raise ShardyError.unexpected("", expected="an element type", got=repr(dtype)) from None


def dtype_of(element_type: str) -> AnyDtype:
    """The numpy or ml_dtypes type of an element type. Raises `ShardyError` when there is none."""
    name = DTYPE_OF_ELEMENT.get(element_type)
    if name is None:
        raise ShardyError(f"numpy has no type for elements of {element_type}")
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def type_of(attribute: Attribute) -> RankedTensorType | None:
    """The type of a value in the IR; None unless it is a ranked tensor."""
    tensor_type = read_tensor(attribute)
    if tensor_type is None or tensor_type.element is None:
        return None
    return RankedTensorType(tensor_type.sizes, attribute_text(tensor_type.element), tensor_type.bounds)


@SESSION.cache(4096)
def _attribute(type_: RankedTensorType) -> TensorTypeAttr[Attribute]:
    sizes = [DYNAMIC_INDEX if size is None else size for size in type_.shape]
    bounds = (
        TypeExtensionsAttr(tuple(map(raw, type_.bounds)))
        if any(bound is not None for bound in type_.bounds)
        else NoneAttr()
    )
    return TensorTypeAttr(element_attribute(type_.element_type), sizes, bounds)


@SESSION.cache(4096)
def element_attribute(text: str) -> Attribute:
    """The element type in the IR. Raises `ShardyError` for anything else."""
    try:
        cursor = Cursor(Source(text, "<element type>"))
        with deep_stack():
            element = cursor.type()
    except ShardyError:
        raise ShardyError(f"unknown element type '{text}'") from None
    if cursor.token or isinstance(element, ShapedType | TupleType | FunctionType):
        raise ShardyError(f"unknown element type '{text}'")
    return element
