"""Arrays as text, as StableHLO's interpreter prints them.

>>> from xdsl.dialects.builtin import TensorType, f32
>>> print(array_text(np.float32([[1, 2], [3, -np.inf]]), TensorType(f32, [2, 2])))
tensor<2x2xf32> {
  [
    [1.000000e+00, 2.000000e+00],
    [3.000000e+00, 0xFF800000]
  ]
}
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute

from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.builtin_attributes import is_complex
from shardy_py.mlir.text.dense import element_printer
from shardy_py.mlir.typed import element_type_of
from shardy_py.ops.compute import Array
from shardy_py.ops.compute.precision import SMALL_INTEGERS

Element = np.generic | Array
"""An element of an array, a scalar of numpy; numpy types it as an array."""


def array_text(array: Array, type_: Attribute) -> str:
    """Returns the text of one device's value; `type_`: in the program, where sizes may be dynamic."""
    element_type = element_type_of(type_)
    element = element_text(stored_type(element_type, array))
    shape = "".join(f"{size}x" for size in array.shape)
    return f"tensor<{shape}{attribute_text(element_type)}> {{{_nested(array, element, 1)}}}"


def stored_type(element: Attribute, array: Array) -> Attribute:
    """Returns the type of the elements of an array: integers for quantized elements."""
    if not element.name.startswith("quant."):
        return element
    sign = Signedness.UNSIGNED if "uint" in array.dtype.name else Signedness.SIGNLESS
    return IntegerType(array.dtype.itemsize * 8, sign)


def element_text(type_: Attribute) -> Callable[[Element], str]:
    """Returns what prints an element of that type."""
    if is_complex(type_):
        part = element_text(type_.element_type)
        return lambda value: f"[{part(np.real(value))}, {part(np.imag(value))}]"
    show = element_printer(type_)
    # ml_dtypes does not extend the sign of narrow integers, as MLIR does.
    return lambda value: show(np.asarray(value, SMALL_INTEGERS.get(value.dtype)).tobytes())


def _nested(array: Array, element: Callable[[Element], str], depth: int) -> str:
    """The elements in brackets; those of the last dimension on one line."""
    if not array.ndim:
        return element(array[()])
    indent = "  " * depth
    if array.ndim == 1 or not len(array):
        return f"\n{indent}[{', '.join(map(element, array))}]\n{indent[2:]}"
    rows = ",".join(_nested(row, element, depth + 1).rstrip() for row in array)
    return f"\n{indent}[{rows}\n{indent}]\n{indent[2:]}"
