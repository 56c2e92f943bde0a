"""numpy arrays and element types of any kind, under one name each.

>>> def rank_of(array: AnyArray) -> int:
...     return array.ndim
>>> rank_of(np.zeros((2, 3)))
2

Not here: arrays with an axis of lanes (`ops/compute/lanes.py`), element types by name
(`indexing/layout/element_types.py`).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, SupportsFloat

import numpy as np

AnyArray = np.ndarray[Any, np.dtype[Any]]
"""An array of any shape and element type."""
AnyDtype = np.dtype[Any]
"""An element type of numpy, or of `ml_dtypes`."""


class Ufunc(Protocol):
    """A ufunc of numpy that combines two arrays, or an object with its methods, such as a sum in a field."""

    def __call__(
        self,
        left: AnyArray,
        right: AnyArray,
        /,
        *,
        out: AnyArray | None = None,
        dtype: AnyDtype | None = None,
    ) -> AnyArray:
        """Returns the elements combined."""
        ...

    def reduce(
        self,
        array: AnyArray,
        axis: int | tuple[int, ...] = 0,
        dtype: AnyDtype | None = None,
        /,
        *,
        initial: object = None,
    ) -> AnyArray:
        """Returns all elements along axes combined."""
        ...

    def accumulate(self, array: AnyArray, axis: int = 0, dtype: AnyDtype | None = None, /) -> AnyArray:
        """Returns for each element along an axis all up to it combined."""
        ...


class FloatLimits(Protocol):
    """The limits of a type of floats, as `ml_dtypes.finfo` has them for all types."""

    @property
    def bits(self) -> int:
        """The size of an element."""
        ...

    @property
    def nmant(self) -> int:
        """The bits of the fraction that are stored."""
        ...

    @property
    def min(self) -> SupportsFloat:
        """The lowest finite number."""
        ...

    @property
    def max(self) -> SupportsFloat:
        """The largest finite number."""
        ...

    @property
    def eps(self) -> SupportsFloat:
        """The distance from 1 to the next number."""
        ...


def float_limits(dtype: AnyDtype) -> FloatLimits:
    """Returns the limits of a type of floats, of numpy or `ml_dtypes`."""
    limits: FloatLimits = import_module("ml_dtypes").finfo(dtype)  # its declaration knows numpy's types only
    return limits
