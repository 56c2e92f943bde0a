"""How an exact proof was made, and what it bounds.

For a difference of degree D in m applications of functions, a run accepts a wrong program with a probability
below (m (m - 1) / 2 + 1) D / p, as polynomials that differ agree at so few points (Schwartz, Zippel); and the
prime divides a coefficient of b bits with a probability below b / 2^28.

>>> f"{Exactness(9, 3, 0, (), (), 3).error:.1e}"
'5.7e-07'
"""

from __future__ import annotations

from collections.abc import Iterable

from shardy_py.base.counting import counted
from shardy_py.base.records import dataclass

_LEAST_PRIME = 2.0**30
_COEFFICIENT_BITS = 152
"""Bits of a coefficient of the difference that are assumed: those of six constants of f32."""
_SHOWN = 3
_MORE_BITS, _SURE = 1024, 1e-9
APPLICATIONS = 2
"""The applications in the difference: a wrong element of an elementwise op leaves two."""


@dataclass(frozen=True, slots=True)
class Exactness:
    """How an exact proof was made.

    runs: their number. orders: of residues. branches: the most branches of a conditional that ran; 0: there
    is none. uninterpreted, whole: ops that were functions of elements, and of whole operands. degree: the
    largest of a difference of two values as a polynomial; None: it has no bound. ties: runs with equal floats
    or NaN among the inputs, of which the bound says nothing. iterations: after which a loop that goes on as
    floats decide was ended; 0: there is none. conditions: those of selects, conditionals and loops. covered:
    those that came out both ways. one_sided: the others that were computed, and how they came out. nan: runs
    with NaN, which are among `ties`. doubtful: values of the local program that are right for the operands
    that reached them, and wrong for others.
    """

    runs: int
    orders: int
    branches: int = 0
    uninterpreted: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    degree: int | None = None
    ties: int = 0
    iterations: int = 0
    conditions: int = 0
    covered: int = 0
    one_sided: tuple[str, ...] = ()
    nan: int = 0
    doubtful: tuple[str, ...] = ()

    @property
    def error(self) -> float | None:
        """The probability that a run takes two different terms for equal; None: it has no bound."""
        if self.degree is None:
            return None
        pairs = APPLICATIONS * (APPLICATIONS - 1) // 2 + 1
        return pairs * self.degree / _LEAST_PRIME + _COEFFICIENT_BITS / 2**28

    @property
    def applications(self) -> int:
        """The applications in a difference that all runs accept with a probability of at most 1e-9.

        Its coefficients are taken to have 1,024 bits then.
        """
        uniform = self.runs - self.ties
        if self.degree is None or not uniform:
            return 0
        left = _SURE ** (1 / uniform) - _MORE_BITS / 2**28
        pairs = max(0.0, left * _LEAST_PRIME / self.degree - 1)
        return _digit((1 + (1 + 8 * pairs) ** 0.5) / 2)

    def lines(self) -> list[str]:
        """Returns what the answer says about it."""
        runs, orders = counted(self.runs, "run"), counted(self.orders, "order")
        branches = f", {self.branches} branches of conditionals" * (self.branches > 0)
        arithmetic = (
            f"field of a random prime of 31 bits, functions uninterpreted; {runs}: {orders}{branches}"
        )
        if self.ties > self.nan:
            arithmetic += f", {self.ties - self.nan} with equal inputs"
        if self.nan:
            arithmetic += f", {self.nan} with NaN"
        lines = [f"arithmetic: {arithmetic}"]
        if self.error is None:
            lines.append(
                "error: no bound, as the degree of some values is too large, or laws of quotients are used"
            )
        else:
            uniform = self.runs - self.ties
            bounded = f"each of {uniform} runs" if uniform > 1 else "the run"
            lines.append(
                f"error: below {_above(self.error)} in {bounded}, for a difference of degree {self.degree:,} "
                f"in {APPLICATIONS} applications of functions"
            )
            if self.applications > APPLICATIONS:
                lines.append(f"in all of them: below {_SURE:g}, up to {self.applications:,} applications")
        if self.iterations:
            lines.append(
                f"loops that go on as floats decide: ended after at most {self.iterations} iterations"
            )
        if self.conditions:
            shown = "; ".join(self.one_sided[:_SHOWN])
            more = f"; {len(self.one_sided) - _SHOWN:,} more" * (len(self.one_sided) > _SHOWN)
            text = f"covered: {self.covered:,} of {self.conditions:,} conditions came out both ways"
            lines.append(f"{text}: {shown}{more}" if shown else text)
        if self.doubtful:
            lines.append(f"right for the operands that reached them only: {', '.join(self.doubtful)}")
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
            sum(part.conditions for part in every),
            sum(part.covered for part in every),
            tuple(sorted({text for part in every for text in part.one_sided})),
            max(part.nan for part in every),
            tuple(sorted({text for part in every for text in part.doubtful})),
        )


def _digit(number: float) -> int:
    """One digit, rounded down.

    >>> _digit(1987.0), _digit(31.0)
    (1000, 30)
    """
    power = 10 ** (len(str(int(number))) - 1)
    return int(number) // power * power


def _above(probability: float) -> str:
    """One digit, rounded up.

    >>> _above(2.31e-7), _above(1e-6)
    ('3e-07', '2e-06')
    """
    digits, exponent = f"{probability:.1e}".split("e")
    return f"{int(float(digits)) + 1}e{exponent}"
