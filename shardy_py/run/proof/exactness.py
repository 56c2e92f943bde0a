"""How an exact proof was made, and what it bounds.

For a difference of degree D in m applications of functions, a run accepts a wrong program with a probability
below (m (m - 1) / 2 + 1) D / p, as polynomials that differ agree at so few points (Schwartz, Zippel); and the
prime divides a coefficient of b bits with a probability below b / 2^28.

>>> f"{Exactness(9, 3, 0, (), (), 3).error:.1e}"
'5.7e-07'
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_LEAST_PRIME = 2.0**30
_COEFFICIENT_BITS = 152
"""Bits of a coefficient of the difference that are assumed: those of six constants of f32."""
APPLICATIONS = 2
"""The applications in the difference: a wrong element of an elementwise op leaves two."""


@dataclass(frozen=True, slots=True)
class Exactness:
    """How an exact proof was made.

    runs: their number. orders: of residues. branches: the most branches of a conditional that ran; 0: there
    is none. uninterpreted, whole: ops that were functions of elements, and of whole operands. degree: the
    largest of a difference of two values as a polynomial; None: it has no bound. ties: runs with equal floats
    among the inputs, of which the bound says nothing. iterations: after which a loop that goes on as floats
    decide was ended; 0: there is none.
    """

    runs: int
    orders: int
    branches: int = 0
    uninterpreted: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    degree: int | None = None
    ties: int = 0
    iterations: int = 0

    @property
    def error(self) -> float | None:
        """The probability that a run takes two different terms for equal; None: it has no bound."""
        if self.degree is None:
            return None
        pairs = APPLICATIONS * (APPLICATIONS - 1) // 2 + 1
        return pairs * self.degree / _LEAST_PRIME + _COEFFICIENT_BITS / 2**28

    def lines(self) -> list[str]:
        """Returns what the answer says about it."""
        runs = f"{self.runs} run" + "s" * (self.runs != 1)
        branches = f", {self.branches} branches of conditionals" * (self.branches > 0)
        orders = f"{self.orders} order" + "s" * (self.orders != 1)
        arithmetic = (
            f"field of a random prime of 31 bits, functions uninterpreted; {runs}: {orders}{branches}"
        )
        if self.ties:
            arithmetic += f", {self.ties} with equal inputs"
        uniform = self.runs - self.ties
        bounded = f"{uniform} run" + "s" * (uniform != 1)
        lines = [f"arithmetic: {arithmetic}"]
        if self.error is None:
            lines.append("error: no bound, as the degree of some values is too large")
        else:
            lines.append(
                f"error: below {_above(self.error)} in each run, for a difference of degree {self.degree:,} "
                f"in {APPLICATIONS} applications of functions; {bounded}"
            )
        if self.iterations:
            lines.append(
                f"loops that go on as floats decide: ended after at most {self.iterations} iterations"
            )
        if self.whole:
            lines.append(f"functions of whole operands: {', '.join(self.whole)}")
        return lines

    @staticmethod
    def of_parts(parts: Iterable[Exactness]) -> Exactness | None:
        """Returns that of programs that were proven one by one; None without any."""
        every = list(parts)
        if not every:
            return None
        degrees = [part.degree for part in every if part.degree is not None]
        return Exactness(
            min(part.runs for part in every),
            min(part.orders for part in every),
            max(part.branches for part in every),
            tuple(sorted({name for part in every for name in part.uninterpreted})),
            tuple(sorted({name for part in every for name in part.whole})),
            max(degrees) if len(degrees) == len(every) else None,
            max(part.ties for part in every),
            max(part.iterations for part in every),
        )


def _above(probability: float) -> str:
    """One digit, rounded up.

    >>> _above(2.31e-7), _above(1e-6)
    ('3e-07', '2e-06')
    """
    digits, exponent = f"{probability:.1e}".split("e")
    return f"{int(float(digits)) + 1}e{exponent}"
