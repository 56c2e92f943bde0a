"""ATen's orthogonal polynomials: `ROWS` by name, as in `pointwise.py`.

Each family has a recurrence of three terms, which a loop runs up to the greatest degree of all elements.
"""

from __future__ import annotations

from collections.abc import Callable

from shardy_py.base.records import dataclass
from shardy_py.frontends.aten.elements import Row, convert, filled, sizes
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops, reduce_max, while_loop
from shardy_py.frontends.builder.tensor import Operand


@dataclass(frozen=True)
class _Family:
    """Polynomials by their recurrence.

    first: that of degree 1. next: that of degree k + 1, given x, k and those of degrees k and k - 1.
    shifted: of 2 x - 1 in place of x.
    """

    first: Callable[[Tensor], Tensor]
    next: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
    shifted: bool = False

    def row(self, out: RankedTensorType, x: Operand, n: Operand) -> Tensor:
        """The polynomial of degree n (rounded towards 0) at x; 0 for negative degrees."""
        x, n = (_spread(given, out) for given in (x, n))
        degree = ops.convert(n, "i64")
        x = x * 2.0 - 1.0 if self.shifted else x
        ones = filled(out, 1)
        shape = sizes(out)
        greatest = reduce_max(degree, range(len(shape))) if shape else degree

        def goes_on(k: Tensor, *_: Tensor) -> Tensor:
            return k < greatest

        def step(k: Tensor, current: Tensor, before: Tensor, found: Tensor) -> tuple[Tensor, ...]:
            count = ops.broadcast_to(ops.convert(k, out.element_type), shape)
            following = self.next(x, count, current, before)
            is_it = ops.compare(degree, ops.broadcast_to(k + 1, shape), "EQ")
            return k + 1, following, current, ops.select(is_it, following, found)

        first = self.first(x)
        found = ops.select(ops.compare(degree, 0, "EQ"), ones, ops.select(degree < 0, 0, first))
        start = ops.constant(1, "i64", ())
        return while_loop(goes_on, step, (start, first, ones, found))[3]


def _spread(operand: Operand, out: RankedTensorType) -> Tensor:
    if not isinstance(operand, Tensor):
        return filled(out, operand)
    return ops.broadcast_to(convert(operand, out.element_type), sizes(out))


def _chebyshev(x: Tensor, k: Tensor, current: Tensor, before: Tensor) -> Tensor:
    return x * 2.0 * current - before


_CHEBYSHEV: dict[str, Callable[[Tensor], Tensor]] = {
    "t": lambda x: x,
    "u": lambda x: x * 2.0,
    "v": lambda x: x * 2.0 - 1.0,
    "w": lambda x: x * 2.0 + 1.0,
}
_FAMILIES = {
    **{f"chebyshev_polynomial_{name}": _Family(first, _chebyshev) for name, first in _CHEBYSHEV.items()},
    **{
        f"shifted_chebyshev_polynomial_{name}": _Family(first, _chebyshev, shifted=True)
        for name, first in _CHEBYSHEV.items()
    },
    "hermite_polynomial_h": _Family(lambda x: x * 2.0, lambda x, k, p, q: (x * p - k * q) * 2.0),
    "hermite_polynomial_he": _Family(lambda x: x, lambda x, k, p, q: x * p - k * q),
    "laguerre_polynomial_l": _Family(
        lambda x: 1.0 - x, lambda x, k, p, q: ((k * 2.0 + 1.0 - x) * p - k * q) / (k + 1.0)
    ),
    "legendre_polynomial_p": _Family(
        lambda x: x, lambda x, k, p, q: ((k * 2.0 + 1.0) * x * p - k * q) / (k + 1.0)
    ),
}
ROWS: dict[str, Row] = {f"special_{name}": family.row for name, family in _FAMILIES.items()}
"""The rows by the name of the op without overload."""
