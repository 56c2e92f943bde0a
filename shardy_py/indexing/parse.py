"""Reader of the text form of indexing maps and expressions, which `str` prints.

>>> print(parse_map("(d0)[s0] -> (d0 * 2 + s0), domain: d0 in [0, 4], s0 in [0, 1], d0 + s0 in [0, 4]"))
(d0)[s0] -> (d0 * 2 + s0),
domain:
d0 in [0, 4],
s0 in [0, 1],
d0 + s0 in [0, 4]
"""

from __future__ import annotations

from shardy_py.base.cursor import TokenCursor, token_expression
from shardy_py.indexing.bounds import Interval
from shardy_py.indexing.expr import Expr, constant, dim, range_var, runtime
from shardy_py.indexing.index_map import IndexMap

_KINDS = (("(", "d", ")", dim), ("[", "s", "]", range_var), ("{", "rt", "}", runtime))
"""The variables in the order of their declarations: brackets, prefix, constructor."""
_VARIABLES = {prefix: make for _, prefix, _, make in _KINDS}


def parse_map(text: str) -> IndexMap:
    """The map in `text`; raises ShardyError if it is not exactly one map."""
    return _MapCursor(text, description="indexing map").map()


def parse_expr(text: str) -> Expr:
    """The expression in `text`; raises ShardyError if it is not exactly one expression."""
    cursor = _MapCursor(text, description="indexing expression")
    expression = cursor.sum()
    cursor.expect_end()
    return expression


class _MapCursor(TokenCursor):
    TOKEN = token_expression(
        r"\s++",
        word="floordiv|ceildiv|mod|domain|in|->",
        variable="(?:rt|[ds])[0-9]++",
        number="[0-9]++",
        mark=r"[-+*()\[\]{},:]",
    )

    __slots__ = ()

    def map(self) -> IndexMap:
        counts = [
            self.variables(opening, prefix, closing) if prefix == "d" or self.at(opening) else 0
            for opening, prefix, closing, _ in _KINDS
        ]
        self.expect("->")
        results = tuple(self.items(self.sum, "(", ")"))
        domain: list[tuple[Expr, Interval]] = []
        if self.accept(","):
            self.expect("domain")
            self.expect(":")
            domain.append(self.membership())
            while self.accept(","):
                domain.append(self.membership())
        self.expect_end()
        return self.assemble(results, counts, domain)

    def variables(self, opening: str, prefix: str, closing: str) -> int:
        numbers = iter(range(len(self.text)))
        return len(self.items(lambda: self.expect(f"{prefix}{next(numbers)}"), opening, closing))

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
        declared = [make(i) for count, (*_, make) in zip(counts, _KINDS, strict=True) for i in range(count)]
        if [expression for expression, _ in domain[: len(declared)]] != declared:
            self.error("expected an interval for each variable")
        intervals = iter([interval for _, interval in domain[: len(declared)]])
        boxes = [tuple(next(intervals) for _ in range(count)) for count in counts]
        index_map = IndexMap(results, *boxes, constraints=tuple(domain[len(declared) :]))
        undeclared = index_map.used.difference(declared)
        if undeclared:
            self.error(f"{min(undeclared, key=lambda v: v.sort_key)} is not declared")
        return index_map

    def number(self) -> int:
        start = self.offset
        value = self.sum()
        if not value.is_constant:
            self.error(f"expected an integer, got {value}", start)
        return value.constant

    def sum(self) -> Expr:
        total = self.product()
        while self.token in ("+", "-"):
            total = total + self.product() if self.advance() == "+" else total - self.product()
        return total

    def product(self) -> Expr:
        left = self.factor()
        while self.token in ("*", "floordiv", "ceildiv", "mod"):
            left = self.apply(self.advance(), left, self.factor())
        return left

    def apply(self, op: str, left: Expr, right: Expr) -> Expr:
        try:
            if op == "*":
                return left * right
            if not right.is_constant:
                self.error(f"{op} by {right}: the divisor must be a constant")
            if op == "floordiv":
                return left // right.constant
            return left % right.constant if op == "mod" else left.ceildiv(right.constant)
        except ValueError as error:
            self.error(str(error))

    def factor(self) -> Expr:
        with self.nested():
            if self.accept("-"):
                return -self.factor()
            if self.accept("("):
                inner = self.sum()
                self.expect(")")
                return inner
            if self.kind == "number":
                return constant(self.integer())
            name = self.take("variable", "a variable, a number or '('")
            prefix = name.rstrip("0123456789")
            return _VARIABLES[prefix](self.integer_value(name.removeprefix(prefix)))
