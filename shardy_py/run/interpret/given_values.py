"""Python values as arrays of an element type: a value that would become another one is refused.

| element type | values |
|---|---|
| i1 | `True`, `False`, 0 and 1 |
| integers | integers that fit, and floats that are integers: 2.0 |
| floats | floats, rounded, unless one becomes infinite or 0; integers that it represents exactly |
| complex | the same for both parts |

>>> converted([1, 2.0], np.dtype(np.int8))
array([1, 2], dtype=int8)
>>> converted([1, 300], np.dtype(np.int8))
Traceback (most recent call last):
...
ValueError: 300 (int) at [1] does not fit int8

Not here: arrays that have a type already (`api/execution.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isfinite, isnan

import ml_dtypes
import numpy as np

from shardy_py.base.arrays import AnyDtype, float_limits
from shardy_py.ops.compute import Array

_PLAIN = (bool, int, float, complex)


def converted(value: object, dtype: AnyDtype) -> Array:
    """Returns a number, or nested lists of numbers, as an array of that type.

    Raises:
        TypeError: it is something else.
        ValueError: a number does not fit.
    """
    given = np.array(value, dtype=object)
    elements = [element.item() if hasattr(element, "item") else element for element in given.flat]
    others = {type(element).__name__ for element in elements if not isinstance(element, _PLAIN)}
    if others:
        raise TypeError(f"{min(others)} is not a number")
    fits = _fits_of(dtype)
    for number, element in enumerate(elements):
        if not fits(element):
            where = ", ".join(map(str, np.unravel_index(number, given.shape)))
            place = f" at [{where}]" if given.ndim else ""
            raise ValueError(f"{_short(element)} ({type(element).__name__}){place} does not fit {dtype}")
    whole = [_integer(element) for element in elements] if _is_integer(dtype) else elements
    return np.array(whole, dtype=_exact(dtype)).astype(dtype).reshape(given.shape)


def _exact(dtype: AnyDtype) -> type[np.generic]:
    """A type that holds what fits, from which numpy converts."""
    if _is_integer(dtype):
        return np.uint64 if dtype == np.uint64 else np.int64
    return np.bool_ if dtype == np.bool_ else np.complex128 if dtype.kind == "c" else np.float64


def _is_integer(dtype: AnyDtype) -> bool:
    return dtype.kind in "iu" or dtype.name.removeprefix("u").startswith("int")


def _integer(element: complex) -> int:
    return int(element.real)


def _short(element: object) -> str:
    text = (
        repr(element)
        if not isinstance(element, int) or abs(element) < 1 << 200
        else f"{hex(element)[:20]}..."
    )
    return text if len(text) <= 60 else f"{text[:57]}..."


def _fits_of(dtype: AnyDtype) -> Callable[[complex], bool]:
    """Returns whether a number keeps its value in that type."""
    if dtype == np.bool_:
        return lambda element: element in (0, 1)
    if _is_integer(dtype):
        ends = ml_dtypes.iinfo(dtype)
        return partial(_fits_integer, int(ends.min), int(ends.max))
    part = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
    fits = partial(_fits_float, part)
    if dtype.kind == "c":
        return lambda element: fits(element.real) and fits(element.imag)
    return lambda element: not isinstance(element, complex) and fits(element)


def _fits_integer(least: int, most: int, element: complex) -> bool:
    if isinstance(element, complex) or (isinstance(element, float) and not element.is_integer()):
        return False
    return least <= int(element) <= most


def _fits_float(dtype: AnyDtype, element: float) -> bool:
    """A float is rounded, an integer is not."""
    try:
        given = float(element)
    except OverflowError:
        return False
    with np.errstate(all="ignore"):
        made = float(np.array([given]).astype(dtype)[0])
    if isinstance(element, int):
        return isfinite(made) and int(made) == element
    if not isfinite(given):
        return made == given or (isnan(made) and isnan(given))
    # A type without infinity has its largest number for all that are larger.
    limits = float_limits(dtype)
    largest = float(limits.max) * (1 + float(limits.eps) / (4 - 2 * float(limits.eps)))
    return isfinite(made) and (made != 0) == (given != 0) and abs(given) <= largest
