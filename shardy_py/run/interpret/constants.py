"""Attributes as arrays.

>>> from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, i32
>>> array_of(DenseIntOrFPElementsAttr.from_list(TensorType(i32, [2, 2]), [7])).tolist()
[[7, 7], [7, 7]]
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Attribute, Operation

from shardy_py.base.arrays import AnyDtype
from shardy_py.base.errors import ShardyError
from shardy_py.indexing.layout.element_types import element_type
from shardy_py.mlir.text.builtin_attributes import is_dense
from shardy_py.mlir.text.dense import element_size, elements_type
from shardy_py.ops.compute import Array


def array_of(attribute: Attribute) -> Array:
    """Returns the elements of a dense attribute; a splat is a view that repeats one element.

    Raises:
        ShardyError: the attribute is of another kind.
    """
    if not is_dense(attribute):
        raise ShardyError.unsupported(f"a constant of kind '{attribute.name}'")
    shape, element = elements_type(attribute)
    spelling = str(element)
    data = attribute.data.data
    row = element_type(spelling)
    stored = np.dtype(f"V{element_size(element)}")
    raw = np.frombuffer(data, stored)
    flat = _decoded(raw, row.dtype)
    if len(flat) == 1:
        return np.broadcast_to(flat.reshape(()), shape)
    return flat.reshape(shape)


def _decoded(raw: Array, dtype: AnyDtype) -> Array:
    """Elements as MLIR stores them (whole bytes, little-endian) in the numpy type."""
    if dtype.itemsize != raw.itemsize:
        raise ShardyError.unsupported(f"a constant of {raw.itemsize} bytes an element as {dtype.name}")
    return raw.view(np.uint8) != 0 if dtype == np.bool_ else raw.view(dtype)


def constant_array(op: Operation) -> Array:
    """Returns the value of a constant op, with one lane."""
    return array_of(op.properties["value"])[None]
