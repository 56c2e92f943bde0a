"""The arithmetic that the functions of ops are written against: numpy's on floats, or another one.

    with using(field):
        current().matmul(lhs, rhs)

Ops ask it for what they compute from elements of floats: their function (`function_of`), constants, products
of matrices, and the ufuncs that reductions apply. Movement, order and equality are numpy's in each one,
as are integers. `FLOAT` is what the element types say; `run/proof/field/` has the exact one of proofs.

>>> current().matmul(np.eye(2), np.ones((2, 1))).tolist()
[[1.0], [1.0]]
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from shardy_py.base.arrays import Ufunc
from shardy_py.ops import OpRecord
from shardy_py.ops.compute.lanes import Array, Compute


class Arithmetic:
    """Numpy's arithmetic on the element types, and what another one replaces.

    is_exact: whether sums do not depend on their order, and nothing is rounded.
    """

    is_exact = False

    def function_of(self, op: Hashable, record: OpRecord) -> Compute | None:
        """Returns the function of an op in this arithmetic; None: its own in `ops/compute/`."""
        return None

    def constant(self, array: Array) -> Array:
        """Returns the elements of a constant."""
        return array

    def matmul(self, lhs: Array, rhs: Array) -> Array:
        """Returns the products of (..., m, k) and (..., k, n)."""
        return np.matmul(lhs, rhs)

    def multiply(self, lhs: Array, rhs: Array) -> Array:
        """Returns the products of elements."""
        return lhs * rhs

    def add(self, lhs: Array, rhs: Array) -> Array:
        """Returns the sums of elements."""
        return lhs + rhs

    def ufunc(self, ufunc: Ufunc) -> Ufunc:
        """Returns what combines elements as this ufunc of numpy, with its methods."""
        return ufunc

    def follow(
        self,
        run: Callable[[list[Array]], Sequence[Array]],
        operands: Sequence[Array],
        results: Sequence[Array],
    ) -> None:
        """Sees what a collective made of operands; `run` does the same with other values of them."""

    def branch(self, position: int, count: int) -> int:
        """Returns the branch that runs of a conditional with so many."""
        return position

    def most_iterations(self, op: Hashable) -> int | None:
        """Returns after how many iterations a loop ends at the latest; None: as its condition says."""
        return None


FLOAT = Arithmetic()
"""Numpy's arithmetic."""
_CURRENT: ContextVar[Arithmetic] = ContextVar("arithmetic", default=FLOAT)


def current() -> Arithmetic:
    """Returns the arithmetic of the run."""
    return _CURRENT.get()


@contextmanager
def using(arithmetic: Arithmetic) -> Generator[None]:
    """Sets the arithmetic of what runs inside."""
    token = _CURRENT.set(arithmetic)
    try:
        yield
    finally:
        _CURRENT.reset(token)
