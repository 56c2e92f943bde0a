"""Arrays with a leading axis of lanes: types and arithmetic of that axis.

>>> lanes_of(np.zeros((1, 5)), np.zeros((8, 5)))
8
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol

import numpy as np
from numpy.lib.stride_tricks import as_strided

from shardy_py.base.arrays import AnyArray, AnyDtype
from shardy_py.base.records import dataclass
from shardy_py.indexing.layout.element_types import element_type
from shardy_py.ops import OpRecord, TensorType

Array = AnyArray
"""(lanes, *shape): lanes is n, or 1 if all lanes hold the same value."""
Compute = Callable[..., Any]
"""(record, *regions, *operands) -> the result, or a tuple of all results if the op can have several."""


@dataclass(frozen=True, slots=True, eq=False)
class RegionTerm:
    """The result of an op in a region, as an expression of the region's arguments.

    operands: the number of an argument, a constant with its axis of one lane, or another term.
    """

    record: OpRecord
    operands: tuple[RegionTerm | Array | int, ...]


class RegionFunction(Protocol):
    """A region as a function of arrays.

    It runs for any number of lanes: a region on scalars takes arrays of shape (lanes,), so that one call
    applies it to all elements of a tensor.

    combiner: the name of the op if the region returns exactly that op of its two arguments, in order or
        swapped: "stablehlo.add"; else "".
    terms: the returned values, if the region has only constants and ops of one result that `COMPUTE` lists,
        and captures nothing; else (). Common comparisons are recognized by them.
    lanes: the lanes of the values that the region captures: the number of devices if they differ, else 1.
        The lanes of arguments are a multiple of it.
    """

    @property
    def combiner(self) -> str:
        """The name of the op that the region returns of its arguments; "" for any other region."""
        ...

    @property
    def terms(self) -> tuple[RegionTerm | Array | int, ...]:
        """The returned values as expressions of the arguments; () if they are not simple."""
        ...

    @property
    def lanes(self) -> int:
        """The lanes of captured values."""
        ...

    def __call__(self, *arguments: Array) -> tuple[Array, ...]:
        """Returns the values that the region returns, for arguments of equal lanes or one lane."""
        ...


class Token:
    """The value of all tokens: it only orders effects."""

    def __repr__(self) -> str:
        return "token"


TOKEN: Final = Token()


def lanes_of(*arrays: Array) -> int:
    """Returns the number of lanes of a result of these operands."""
    return max((len(array) for array in arrays), default=1)


def in_lanes(array: Array, lanes: int) -> Array:
    """Returns an array with that number of lanes; a view that repeats the value if it has one."""
    return array if len(array) == lanes else np.broadcast_to(array, (lanes, *array.shape[1:]))


def strided(array: Array, shape: Sequence[int], strides: Sequence[int], *, writeable: bool = False) -> Array:
    """Returns a view of an array's memory with another shape and strides, in bytes.

    >>> strided(np.arange(4, dtype=np.int8), (3, 2), (1, 1)).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    # numpy does not find f8E5M2, which calls itself a float of one byte.
    memory = array.view(f"V{array.itemsize}")
    return as_strided(memory, shape, strides, writeable=writeable).view(array.dtype)


def dtype_of(tensor: TensorType | None) -> AnyDtype:
    """Returns the numpy type of a tensor's elements."""
    assert tensor is not None
    return _dtype(tensor.element)


@lru_cache(maxsize=256)
def _dtype(element: str) -> AnyDtype:
    return element_type(element).dtype


def behind_lanes(dimensions: Sequence[int]) -> tuple[int, ...]:
    """Returns the axes of an array that hold these dimensions of the tensor."""
    return tuple(dimension + 1 for dimension in dimensions)
