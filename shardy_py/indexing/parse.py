"""Reading the text form of indexing maps and expressions: the inverse of `str`.

>>> print(parse_map("(d0)[s0] -> (d0 * 2 + s0), domain: d0 in [0, 4], s0 in [0, 1], d0 + s0 in [0, 4]"))
(d0)[s0] -> (d0 * 2 + s0),
domain:
d0 in [0, 4],
s0 in [0, 1],
d0 + s0 in [0, 4]
"""

from __future__ import annotations

import re

from shardy_py.errors import ShardyError
from shardy_py.indexing.expr import Expr, Variable, constant, dim, range_var, runtime
from shardy_py.indexing.index_map import IndexMap
from shardy_py.indexing.interval import Interval

_TOKEN = re.compile(r"\s*(?:(floordiv|ceildiv|mod|domain|in|->)|(rt|d|s)(\d+)|(\d+)|([-+*()\[\]{},:]))")
_MAKE = {"d": dim, "s": range_var, "rt": runtime}
MAX_DEPTH = 100
_PRODUCT = ("*", "floordiv", "ceildiv", "mod")


def parse_map(text: str) -> IndexMap:
    """The map that `text` spells; `ShardyError` if it spells none."""
    return _Reader(text).map()


def parse_expr(text: str) -> Expr:
    """The expression that `text` spells; `ShardyError` if it spells none."""
    reader = _Reader(text)
    found = reader.sum()
    reader.end()
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, Expr | None]] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if not match:
                raise ShardyError(f"in the indexing map {text!r}: unexpected {text[position:].strip()[:1]!r}")
            word, kind, index, number, sign = match.groups()
            value = _MAKE[kind](int(index)) if kind else constant(int(number)) if number else None
            self.tokens.append((word or sign or str(value), value))
            position = match.end()
        self.next = 0
        self.depth = 0

    def peek(self) -> str:
        return self.tokens[self.next][0] if self.next < len(self.tokens) else ""

    def fail(self, expected: str) -> ShardyError:
        got = self.peek() or "the end"
        return ShardyError(f"in the indexing map {self.text!r}: expected {expected}, got {got}")

    def accept(self, *words: str) -> str:
        if self.peek() not in words or not self.peek():
            return ""
        self.next += 1
        return self.tokens[self.next - 1][0]

    def expect(self, word: str) -> None:
        if not self.accept(word):
            raise self.fail(repr(word))

    def end(self) -> None:
        if self.next < len(self.tokens):
            raise self.fail("the end")

    def map(self) -> IndexMap:
        counts = [self.names("(", "d", ")")]
        counts.append(self.names("[", "s", "]") if self.peek() == "[" else 0)
        counts.append(self.names("{", "rt", "}") if self.peek() == "{" else 0)
        self.expect("->")
        self.expect("(")
        results = [] if self.peek() == ")" else [self.sum()]
        while self.accept(","):
            results.append(self.sum())
        self.expect(")")
        domain: list[tuple[Expr, Interval]] = []
        if self.accept(","):
            self.expect("domain")
            self.expect(":")
            domain.append(self.membership())
            while self.accept(","):
                domain.append(self.membership())
        self.end()
        return self.assemble(tuple(results), counts, domain)

    def names(self, opening: str, kind: str, closing: str) -> int:
        self.expect(opening)
        count = 0
        while self.peek() != closing:
            if count:
                self.expect(",")
            self.expect(f"{kind}{count}")
            count += 1
        self.expect(closing)
        return count

    def membership(self) -> tuple[Expr, Interval]:
        expression = self.sum()
        self.expect("in")
        self.expect("[")
        low = self.number()
        self.expect(",")
        high = self.number()
        self.expect("]")
        return expression, Interval(low, high)

    def assemble(
        self, results: tuple[Expr, ...], counts: list[int], domain: list[tuple[Expr, Interval]]
    ) -> IndexMap:
        intervals: list[tuple[Interval, ...]] = []
        declared: set[Expr] = set()
        start = 0
        for count, make in zip(counts, (dim, range_var, runtime), strict=True):
            group = domain[start : start + count]
            if [e for e, _ in group] != [make(i) for i in range(count)]:
                raise ShardyError(
                    f"in the indexing map {self.text!r}: expected an interval for each variable"
                )
            declared.update(e for e, _ in group)
            intervals.append(tuple(interval for _, interval in group))
            start += count
        found = IndexMap(results, *intervals, constraints=tuple(domain[start:]))
        for variable in sorted(found.used, key=lambda v: v.sort_key):
            if variable not in declared:
                raise ShardyError(f"in the indexing map {self.text!r}: {variable} is not declared")
        return found

    def number(self) -> int:
        value = self.sum()
        if not value.is_constant:
            raise self.fail("an integer")
        return value.constant

    def sum(self) -> Expr:
        total = self.product()
        while sign := self.accept("+", "-"):
            term = self.product()
            total = total + term if sign == "+" else total - term
        return total

    def product(self) -> Expr:
        left = self.factor()
        while op := self.accept(*_PRODUCT):
            left = self.apply(op, left, self.factor())
        return left

    def apply(self, op: str, left: Expr, right: Expr) -> Expr:
        try:
            if op == "*":
                return left * right
            if not right.is_constant:
                raise ValueError(f"{op} by {right}: the divisor must be a constant")
            if op == "floordiv":
                return left // right.constant
            return left % right.constant if op == "mod" else left.ceildiv(right.constant)
        except ValueError as error:
            raise ShardyError(f"in the indexing map {self.text!r}: {error}") from None

    def factor(self) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ShardyError(f"an indexing map nests more than {MAX_DEPTH} expressions")
        found = self.unary()
        self.depth -= 1
        return found

    def unary(self) -> Expr:
        if self.accept("-"):
            return -self.factor()
        if self.accept("("):
            inner = self.sum()
            self.expect(")")
            return inner
        if self.next < len(self.tokens):
            value = self.tokens[self.next][1]
            if isinstance(value, Variable) or value is not None:
                self.next += 1
                return value
        raise self.fail("a variable, a number or '('")
