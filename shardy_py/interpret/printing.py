<<<<<<< HEAD
"""Arrays as text, as StableHLO's interpreter prints them.

>>> from xdsl.dialects.builtin import TensorType, f32
>>> print(array_text(np.float32([[1, 2], [3, -np.inf]]), TensorType(f32, [2, 2])))
tensor<2x2xf32> {
  [
    [1.000000e+00, 2.000000e+00],
    [3.000000e+00, 0xFF800000]
=======
"""Values as text, in the form of StableHLO's interpreter.

Not here: values as attributes of a program (`text/dense.py`).

>>> print(format_array(np.array([[1, -2]], np.int8), "i8"))
tensor<1x2xi8> {
  [
    [1, -2]
>>>>>>> 139ed77 (Values as text; scipy in the extra interpret)
  ]
}
"""

from __future__ import annotations

from collections.abc import Callable
<<<<<<< HEAD
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ComplexType
from xdsl.ir import Attribute

from shardy_py.compute import Array
from shardy_py.text.attribute_writer import attribute_text
from shardy_py.text.dense import element_printer


def array_text(array: Array, type_: Any) -> str:
    """Returns the text of one device's value; `type_`: in the program, where sizes may be dynamic."""
    element = element_text(type_.element_type)
    shape = "".join(f"{size}x" for size in array.shape)
    return f"tensor<{shape}{attribute_text(type_.element_type)}> {{{_nested(array, element, 1)}}}"


def element_text(type_: Attribute) -> Callable[[Any], str]:
    """Returns what prints an element of that type."""
    if isinstance(type_, ComplexType):
        part = element_text(cast(Any, type_).element_type)
        return lambda value: f"[{part(value.real)}, {part(value.imag)}]"
    show = element_printer(type_)
    return lambda value: show(np.asarray(value).tobytes())


def _nested(array: Array, element: Callable[[Any], str], depth: int) -> str:
    """The elements in brackets; those of the last dimension on one line."""
    if not array.ndim:
        return element(array[()])
    indent = "  " * depth
    if array.ndim == 1 or not len(array):
        return f"\n{indent}[{', '.join(map(element, array))}]\n{indent[2:]}"
    rows = ",".join(_nested(row, element, depth + 1).rstrip() for row in array)
    return f"\n{indent}[{rows}\n{indent}]\n{indent[2:]}"
=======
from typing import Any

import numpy as np

from shardy_py.compute import Array
from shardy_py.compute.precision import kind_of
from shardy_py.layout.element_types import element_type
from shardy_py.text.float_formats import float_text


def format_array(array: Array, element: str) -> str:
    """Returns the type and the elements of a tensor, a line for each row.

    array: without an axis of lanes.
    element: in MLIR's spelling, "f32"; it distinguishes types that have one numpy type.
    """
    type_ = f"tensor<{''.join(f'{size}x' for size in array.shape)}{element}>"
    texts = list(map(_element_text(element), array.reshape(-1)))
    if not array.ndim:
        return f"{type_} {{{texts[0]}}}"
    return f"{type_} {{\n  {_rows(texts, array.shape, '  ')}\n}}"


def _rows(texts: list[str], shape: tuple[int, ...], indent: str) -> str:
    size, *inner = shape
    if not inner or not size:
        return f"[{', '.join(texts)}]"
    step = len(texts) // size
    rows = (_rows(texts[k * step : (k + 1) * step], tuple(inner), indent + "  ") for k in range(size))
    lines = ",\n".join(f"{indent}  {row}" for row in rows)
    return f"[\n{lines}\n{indent}]"


def _element_text(element: str) -> Callable[[Any], str]:
    row = element_type(element)
    if row.name == "pred":
        return lambda value: "true" if value else "false"
    if kind_of(row.dtype) in "iu":
        return lambda value: str(int(value))
    if row.mlir.startswith("complex"):
        part = row.mlir.removeprefix("complex<").removesuffix(">")
        half = row.bits // 16

        def pair(value: Any) -> str:
            data = np.asarray(value).tobytes()
            return f"[{float_text(data[:half], part)}, {float_text(data[half:], part)}]"

        return pair
    return lambda value: float_text(np.asarray(value, row.dtype).tobytes(), row.mlir)
>>>>>>> 139ed77 (Values as text; scipy in the extra interpret)
