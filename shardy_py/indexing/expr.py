"""Affine expressions over the variables of an indexing map, in a normal form.

Every expression is a sum of integer multiples of atoms (variables, floordiv, ceildiv, mod) and a constant,
built through `+ - * // %` and `ceildiv`, immutable and interned: equal expressions are the same object.
Divisors are positive constants. Rewrites that need bounds are in `rewrite.py`, maps in `index_map.py`.

>>> d0, s0 = dim(0), range_var(0)
>>> str(5 - d0), str((d0 * 4 + s0) // 8), str(d0 + s0 - d0)
('-d0 + 5', '(d0 * 4 + s0) floordiv 8', 's0')
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import ClassVar, Literal, cast
from weakref import WeakValueDictionary

VariableKind = Literal["d", "s", "rt"]
_KIND_RANK: dict[str, int] = {"d": 0, "s": 1, "rt": 2}
DivisionOp = Literal["floordiv", "ceildiv", "mod"]
_DIVISION_RANK: dict[str, int] = {"floordiv": 3, "ceildiv": 4, "mod": 5}


class Expr:
    """An expression, built by `dim`, `range_var`, `runtime`, `constant` and operators.

    terms: the atoms with their factors, in printing order; constant: the constant summand.
    """

    terms: tuple[tuple[Expr, int], ...]
    constant: int
    interned: ClassVar[WeakValueDictionary[object, Expr]] = WeakValueDictionary()

    def __add__(self, other: Expr | int) -> Expr:
        if isinstance(other, int):
            return _sum(self.terms, self.constant + other)
        merged = dict(self.terms)
        for atom, factor in other.terms:
            merged[atom] = merged.get(atom, 0) + factor
        return _sum(merged.items(), self.constant + other.constant)

    __radd__ = __add__

    def __neg__(self) -> Expr:
        return self * -1

    def __sub__(self, other: Expr | int) -> Expr:
        return self + (-other)

    def __rsub__(self, other: int) -> Expr:
        return self * -1 + other

    def __mul__(self, other: Expr | int) -> Expr:
        if isinstance(other, Expr):
            if not other.terms:
                return self * other.constant
            if self.terms:
                raise ValueError(f"the product of {self} and {other} is not affine")
            return other * self.constant
        return _sum([(atom, factor * other) for atom, factor in self.terms], self.constant * other)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> Expr:
        return _divide("floordiv", self, divisor)

    def __mod__(self, divisor: int) -> Expr:
        return _divide("mod", self, divisor)

    def ceildiv(self, divisor: int) -> Expr:
        """The quotient rounded up."""
        return _divide("ceildiv", self, divisor)

    @property
    def is_constant(self) -> bool:
        """Returns whether the expression has no variables."""
        return not self.terms

    @cached_property
    def division_count(self) -> int:
        """The number of divisions, nested ones included."""
        return sum(atom.division_count for atom, _ in self.terms)

    @cached_property
    def variables(self) -> frozenset[Variable]:
        """The variables that occur."""
        return frozenset[Variable]().union(*(atom.variables for atom, _ in self.terms))

    @cached_property
    def sort_key(self) -> tuple[object, ...]:
        """Orders atoms in a sum: dimensions, ranges, runtime variables, divisions, remainders."""
        return (6, self.constant, tuple((atom.sort_key, factor) for atom, factor in self.terms))

    def evaluate(self, values: Mapping[Variable, int]) -> int:
        """The value of the expression for values of the variables."""
        return self.constant + sum(factor * atom.evaluate(values) for atom, factor in self.terms)

    def replace(self, substitute: Callable[[Variable], Expr]) -> Expr:
        """The expression with `substitute(v)` in place of each variable v."""
        return self.rebuilt(substitute, {})

    def rebuilt(self, substitute: Callable[[Variable], Expr], known: dict[Expr, Expr]) -> Expr:
        """As `replace`; `known` memoizes subexpressions, which expressions share."""
        rebuilt = known.get(self)
        if rebuilt is None:
            rebuilt = constant(self.constant)
            for atom, factor in self.terms:
                rebuilt = rebuilt + atom.rebuilt(substitute, known) * factor
            known[self] = rebuilt
        return rebuilt

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        text = ""
        for atom, factor in self.terms:
            text += _term_text(atom, factor, leading=not text)
        if not text or not self.constant:
            return text or str(self.constant)
        return f"{text} {'+' if self.constant > 0 else '-'} {abs(self.constant)}"


class Variable(Expr):
    """A variable: `d` dimension, `s` range or `rt` runtime, with its number."""

    kind: VariableKind
    index: int

    def __str__(self) -> str:
        return f"{self.kind}{self.index}"

    def evaluate(self, values: Mapping[Variable, int]) -> int:
        """The value of the variable."""
        return values[self]

    def rebuilt(self, substitute: Callable[[Variable], Expr], known: dict[Expr, Expr]) -> Expr:
        """The substitute."""
        return substitute(self)


class Division(Expr):
    """`dividend floordiv divisor`, or ceildiv, or mod; the divisor is at least 2."""

    op: DivisionOp
    dividend: Expr
    divisor: int

    def __str__(self) -> str:
        inner = str(self.dividend)
        return f"{inner if isinstance(self.dividend, Variable) else f'({inner})'} {self.op} {self.divisor}"

    def evaluate(self, values: Mapping[Variable, int]) -> int:
        """The quotient or remainder."""
        return _DIVIDE[self.op](self.dividend.evaluate(values), self.divisor)

    def rebuilt(self, substitute: Callable[[Variable], Expr], known: dict[Expr, Expr]) -> Expr:
        """The division of the rebuilt dividend."""
        rebuilt = known.get(self)
        if rebuilt is None:
            rebuilt = known[self] = _divide(self.op, self.dividend.rebuilt(substitute, known), self.divisor)
        return rebuilt


_DIVIDE: dict[DivisionOp, Callable[[int, int], int]] = {
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": lambda a, b: a % b,
}


def dim(index: int) -> Variable:
    """The dimension variable `d<index>`."""
    return _variable("d", index)


def range_var(index: int) -> Variable:
    """The range variable `s<index>`."""
    return _variable("s", index)


def runtime(index: int) -> Variable:
    """The runtime variable `rt<index>`."""
    return _variable("rt", index)


def constant(value: int) -> Expr:
    """The constant `value`."""
    return _sum((), value)


def weighted_sum(parts: Iterable[tuple[Expr, int]]) -> Expr:
    """The sum of expressions, each multiplied by its factor.

    >>> str(weighted_sum([(dim(0), 4), (dim(1) + 2, 1), (dim(0), -1)]))
    'd0 * 3 + d1 + 2'
    """
    merged: dict[Expr, int] = {}
    value = 0
    for part, factor in parts:
        value += part.constant * factor
        for atom, own in part.terms:
            merged[atom] = merged.get(atom, 0) + own * factor
    return _sum(merged.items(), value)


def _variable(kind: VariableKind, index: int) -> Variable:
    known = Expr.interned.get((kind, index))
    if known is None:
        known = Variable()
        known.kind, known.index = kind, index
        known.terms, known.constant = ((known, 1),), 0
        known.variables, known.division_count = frozenset((known,)), 0
        known.sort_key = (_KIND_RANK[kind], index)
        Expr.interned[kind, index] = known
    return cast(Variable, known)


def _sum(terms: Iterable[tuple[Expr, int]], value: int) -> Expr:
    kept = tuple(sorted((t for t in terms if t[1]), key=lambda t: t[0].sort_key))
    if len(kept) == 1 and kept[0][1] == 1 and not value:
        return kept[0][0]
    key = ("+", kept, value)
    known = Expr.interned.get(key)
    if known is None:
        known = Expr()
        known.terms, known.constant = kept, value
        Expr.interned[key] = known
    return known


def _divide(op: DivisionOp, dividend: Expr, divisor: int) -> Expr:
    if divisor <= 0:
        raise ValueError(f"{op} by {divisor}: the divisor must be positive")
    if not dividend.terms:
        return constant(_DIVIDE[op](dividend.constant, divisor))
    if not dividend.constant % divisor and all(not factor % divisor for _, factor in dividend.terms):
        if op == "mod":
            return constant(0)
        return _sum([(a, f // divisor) for a, f in dividend.terms], dividend.constant // divisor)
    if isinstance(dividend, Division) and dividend.op == op != "mod":
        # (x floordiv a) floordiv b = x floordiv (a * b), and so for ceildiv
        return _divide(op, dividend.dividend, dividend.divisor * divisor)
    key = (op, dividend, divisor)
    known = Expr.interned.get(key)
    if known is None:
        known = Division()
        known.op, known.dividend, known.divisor = op, dividend, divisor
        known.terms, known.constant = ((known, 1),), 0
        known.variables, known.division_count = dividend.variables, 1 + dividend.division_count
        known.sort_key = (_DIVISION_RANK[op], dividend.sort_key, divisor)
        Expr.interned[key] = known
    return known


def _term_text(atom: Expr, factor: int, *, leading: bool) -> str:
    text, size = str(atom), abs(factor)
    if isinstance(atom, Division) and (size != 1 or (leading and factor < 0)):
        text = f"({text})"  # A leading minus and a product bind tighter than a division.
    if leading:
        return f"{'-' * (factor < 0)}{text}" if size == 1 else f"{text} * {factor}"
    return f" {'-' if factor < 0 else '+'} {text}{'' if size == 1 else f' * {size}'}"
