"""Affine maps and sets, read and printed: `affine_map<(d0, d1)[s0] -> (d0 + s0, d1 mod 4)>`.

Expressions are simplified as they are built, by the rules of MLIR's own constructors (constants fold and move
to the right), so that a text prints as MLIR prints it. xDSL's operators on expressions have other rules.

>>> d0, five = AffineDimExpr(0), AffineConstantExpr(5)
>>> str(add(five, add(d0, five))), str(multiply(multiply(d0, five), five))
('(d0 + 10)', '(d0 * 25)')

Not here: the attributes that hold maps and sets (`attribute_reader.py`), indexing maps (`indexing/`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
    AffineSymExpr,
)

from shardy_py.mlir.text.cursor import MAX_NESTING, Cursor, is_integer_token

_Kind = AffineBinaryOpKind


def _constant(expression: AffineExpr) -> int | None:
    return expression.value if isinstance(expression, AffineConstantExpr) else None


def _parts(expression: AffineExpr, kind: AffineBinaryOpKind) -> tuple[AffineExpr, AffineExpr] | None:
    if isinstance(expression, AffineBinaryOpExpr) and expression.kind is kind:
        return expression.lhs, expression.rhs
    return None


def is_symbolic(expression: AffineExpr) -> bool:
    """True if an expression has no dimensions."""
    return not any(isinstance(part, AffineDimExpr) for part in expression.dfs())


def _term(expression: AffineExpr) -> tuple[AffineExpr, int]:
    """An expression as a product with a constant."""
    parts = _parts(expression, _Kind.Mul)
    factor = _constant(parts[1]) if parts else None
    return (parts[0], factor) if parts and factor is not None else (expression, 1)


def add(left: AffineExpr, right: AffineExpr) -> AffineExpr:
    """`left + right`."""
    a, b = _constant(left), _constant(right)
    if a is not None and b is not None:
        return AffineConstantExpr(a + b)
    if a is not None or (is_symbolic(left) and not is_symbolic(right)):
        return add(right, left)
    if b == 0:
        return left
    inner = _parts(left, _Kind.Add)
    inner_constant = _constant(inner[1]) if inner else None
    if inner and inner_constant is not None and b is not None:  # (x + c) + d = x + (c + d)
        return add(inner[0], AffineConstantExpr(inner_constant + b))
    (first, first_factor), (second, second_factor) = _term(left), _term(right)
    if first == second:  # x * c + x * d = x * (c + d)
        return multiply(first, AffineConstantExpr(first_factor + second_factor))
    if inner and inner_constant is not None:  # (x + c) + y = (x + y) + c
        return add(add(inner[0], right), inner[1])
    return _remainder(left, right) or AffineBinaryOpExpr(_Kind.Add, left, right)


def _remainder(left: AffineExpr, right: AffineExpr) -> AffineExpr | None:
    """`x - (x floordiv q) * q = x mod q`, where the sum has that shape."""
    product = _parts(right, _Kind.Mul)
    if product is None:
        return None
    for quotient, minus_divisor in (product, product[::-1]):
        division = _parts(quotient, _Kind.FloorDiv)
        divisor = _constant(minus_divisor)
        if division and division[0] == left and divisor is not None and _constant(division[1]) == -divisor:
            return modulo(left, division[1])
    return None


def multiply(left: AffineExpr, right: AffineExpr) -> AffineExpr:
    """`left * right`."""
    a, b = _constant(left), _constant(right)
    if a is not None and b is not None:
        return AffineConstantExpr(a * b)
    if a is not None or not is_symbolic(right):
        return multiply(right, left)
    if b == 1:
        return left
    if b == 0:
        return right
    inner = _parts(left, _Kind.Mul)
    factor = _constant(inner[1]) if inner else None
    if inner and factor is not None:
        if b is not None:  # (x * c) * d = x * (c * d)
            return multiply(inner[0], AffineConstantExpr(factor * b))
        return multiply(multiply(inner[0], right), inner[1])  # (x * c) * s = (x * s) * c
    return AffineBinaryOpExpr(_Kind.Mul, left, right)


def _known_divisor(expression: AffineExpr) -> int:
    """The largest integer known to divide an expression, 0 for zero."""
    if (value := _constant(expression)) is not None:
        return abs(value)
    if parts := _parts(expression, _Kind.Mul):
        return _known_divisor(parts[0]) * _known_divisor(parts[1])
    if parts := _parts(expression, _Kind.Add) or _parts(expression, _Kind.Mod):
        return gcd(_known_divisor(parts[0]), _known_divisor(parts[1]))
    return 1


def floor_divide(left: AffineExpr, right: AffineExpr) -> AffineExpr:
    """`left floordiv right`."""
    a, b = _constant(left), _constant(right)
    if b is None or b == 0:
        return AffineBinaryOpExpr(_Kind.FloorDiv, left, right)
    if a is not None:
        return AffineConstantExpr(a // b)
    if b == 1:
        return left
    if (product := _exact_quotient(left, b)) is not None:
        return product
    parts = _parts(left, _Kind.Add)
    if parts and any(_known_divisor(part) % b == 0 for part in parts):
        return add(floor_divide(parts[0], right), floor_divide(parts[1], right))
    return AffineBinaryOpExpr(_Kind.FloorDiv, left, right)


def _exact_quotient(expression: AffineExpr, divisor: int) -> AffineExpr | None:
    """`(x * c) / d = x * (c / d)`, where d divides c."""
    parts = _parts(expression, _Kind.Mul)
    factor = _constant(parts[1]) if parts else None
    if parts is None or factor is None or factor % divisor:
        return None
    return multiply(parts[0], AffineConstantExpr(factor // divisor))


def ceil_divide(left: AffineExpr, right: AffineExpr) -> AffineExpr:
    """`left ceildiv right`."""
    a, b = _constant(left), _constant(right)
    if b is None or b == 0:
        return AffineBinaryOpExpr(_Kind.CeilDiv, left, right)
    if a is not None:
        return AffineConstantExpr(-(-a // b))
    if b == 1:
        return left
    product = _exact_quotient(left, b)
    return product if product is not None else AffineBinaryOpExpr(_Kind.CeilDiv, left, right)


def modulo(left: AffineExpr, right: AffineExpr) -> AffineExpr:
    """`left mod right`."""
    a, b = _constant(left), _constant(right)
    if b is None or b < 1:
        return AffineBinaryOpExpr(_Kind.Mod, left, right)
    if a is not None:
        return AffineConstantExpr(a % b)
    if _known_divisor(left) % b == 0:
        return AffineConstantExpr(0)
    if parts := _parts(left, _Kind.Add):
        for kept, dropped in (parts[::-1], parts):
            if _known_divisor(dropped) % b == 0:
                return modulo(kept, right)
    inner = _parts(left, _Kind.Mod)
    inner_divisor = _constant(inner[1]) if inner else None
    if (
        inner and inner_divisor and inner_divisor >= 1 and inner_divisor % b == 0
    ):  # (x mod cb) mod b = x mod b
        return modulo(inner[0], right)
    return AffineBinaryOpExpr(_Kind.Mod, left, right)


BUILDERS: dict[AffineBinaryOpKind, Callable[[AffineExpr, AffineExpr], AffineExpr]] = {
    _Kind.Add: add,
    _Kind.Mul: multiply,
    _Kind.FloorDiv: floor_divide,
    _Kind.CeilDiv: ceil_divide,
    _Kind.Mod: modulo,
}
"""The simplifying constructor of each kind of expression."""


_TIGHT = {"*": _Kind.Mul, "floordiv": _Kind.FloorDiv, "ceildiv": _Kind.CeilDiv, "mod": _Kind.Mod}
_SPELLINGS = {kind: spelling for spelling, kind in _TIGHT.items()}
_COMPARISONS = {">": AffineConstraintKind.ge, "=": AffineConstraintKind.eq, "<": AffineConstraintKind.le}


def read_affine(cursor: Cursor, *, is_map: bool) -> AffineMap | AffineSet:
    """The text between the angle brackets of a map or set."""
    names: dict[str, AffineExpr] = {}
    dims = _read_names(cursor, names, AffineDimExpr, "(", ")", " in dimensional identifier list")
    symbols = _read_names(cursor, names, AffineSymExpr, "[", "]", " in symbol list") if cursor.at("[") else 0
    if is_map:
        if not cursor.accept("->"):
            cursor.wrong_token("expected '->' or ':'")
        results = cursor.items(lambda: _read_sum(cursor, names), "(", ")", " in affine map range")
        return AffineMap(dims, symbols, tuple(results))
    if not cursor.accept(":"):
        cursor.wrong_token("expected '->' or ':'")
    constraints = cursor.items(
        lambda: _read_constraint(cursor, names), "(", ")", " in integer set constraint list"
    )
    if not constraints:
        zero = AffineConstantExpr(0)
        constraints = [AffineConstraintExpr(AffineConstraintKind.eq, zero, zero, canonicalize=False)]
    return AffineSet(dims, symbols, tuple(constraints))


def _read_names(
    cursor: Cursor,
    names: dict[str, AffineExpr],
    make: Callable[[int], AffineExpr],
    opening: str,
    closing: str,
    context: str,
) -> int:
    """A list of identifiers, put into `names`; returns how many there are."""
    positions = iter(range(1 << 62))

    def read() -> None:
        if not cursor.is_identifier():
            cursor.wrong_token("expected bare identifier")
        if cursor.token in names:
            cursor.error(f"redefinition of identifier '{cursor.token}'")
        names[cursor.advance()] = make(next(positions))

    return len(cursor.items(read, opening, closing, context))


def _read_constraint(cursor: Cursor, names: dict[str, AffineExpr]) -> AffineConstraintExpr:
    left = _read_sum(cursor, names)
    kind = _COMPARISONS.get(cursor.token)
    if kind is None or cursor.text[cursor.end : cursor.end + 1] != "=":
        cursor.error("expected '== affine-expr' or '>= affine-expr' at end of affine constraint")
    cursor.advance()
    cursor.advance()
    right = _read_sum(cursor, names)
    if kind is AffineConstraintKind.le:
        left, right, kind = right, left, AffineConstraintKind.ge
    difference = add(left, multiply(right, AffineConstantExpr(-1)))
    return AffineConstraintExpr(kind, difference, AffineConstantExpr(0), canonicalize=False)


def _read_sum(cursor: Cursor, names: dict[str, AffineExpr]) -> AffineExpr:
    left = _read_product(cursor, names)
    terms = 0
    while cursor.token in ("+", "-"):
        terms = _count(cursor, terms)
        is_difference = cursor.advance() == "-"
        right = _read_product(cursor, names)
        left = add(left, multiply(right, AffineConstantExpr(-1)) if is_difference else right)
    return left


def _read_product(cursor: Cursor, names: dict[str, AffineExpr]) -> AffineExpr:
    left = _read_operand(cursor, names)
    factors = 0
    while (kind := _TIGHT.get(cursor.token)) is not None:
        factors = _count(cursor, factors)
        place = cursor.offset
        what = {"*": "multiply", "mod": "mod"}.get(cursor.advance(), kind.name.lower())
        right = _read_operand(cursor, names)
        if kind is _Kind.Mul and not (is_symbolic(left) or is_symbolic(right)):
            cursor.error(
                "non-affine expression: at least one of the multiply operands has to be either a constant or "
                "symbolic",
                place,
            )
        if kind is not _Kind.Mul and not is_symbolic(right):
            side = "right operand of mod" if what == "mod" else f"right operand of {what}"
            cursor.error(f"non-affine expression: {side} has to be either a constant or symbolic", place)
        left = BUILDERS[kind](left, right)
    return left


def _count(cursor: Cursor, operators: int) -> int:
    """One operator more: each nests the expression by a level."""
    if operators >= MAX_NESTING:
        cursor.error(f"nesting exceeds {MAX_NESTING} levels")
    return operators + 1


def _read_operand(cursor: Cursor, names: dict[str, AffineExpr]) -> AffineExpr:
    token = cursor.token
    if token == "-":
        cursor.advance()
        return multiply(cursor.nested(lambda: _read_operand(cursor, names)), AffineConstantExpr(-1))
    if token == "(":
        cursor.advance()
        if cursor.at(")"):
            cursor.error("no expression inside parentheses")
        inner = cursor.nested(lambda: _read_sum(cursor, names))
        cursor.expect(")")
        return inner
    if is_integer_token(token):
        value = cursor.int64()
        return cursor.error("constant too large for index") if value is None else AffineConstantExpr(value)
    if not cursor.is_identifier():
        cursor.wrong_token("expected affine expression")
    if token not in names:
        cursor.error("use of undeclared identifier")
    return names[cursor.advance()]


# The printers: `tight` if the expression is an operand of `*`, `floordiv`, `ceildiv` or `mod`.


def map_text(affine_map: AffineMap) -> str:
    """`(d0)[s0] -> (d0 + s0)`."""
    results = ", ".join(map(_text, affine_map.results))
    return f"{_space_text(affine_map.num_dims, affine_map.num_symbols)} -> ({results})"


def set_text(affine_set: AffineSet) -> str:
    """`(d0) : (d0 - 5 >= 0)`."""
    texts = [
        f"{_text(c.lhs)} {'==' if c.kind is AffineConstraintKind.eq else '>='} 0"
        for c in affine_set.constraints
    ]
    return f"{_space_text(affine_set.num_dims, affine_set.num_symbols)} : ({', '.join(texts)})"


def _space_text(dims: int, symbols: int) -> str:
    names = ", ".join([f"s{i}" for i in range(symbols)])
    return f"({', '.join([f'd{i}' for i in range(dims)])})" + (f"[{names}]" if symbols else "")


def _text(expression: AffineExpr, *, tight: bool = False) -> str:
    if not isinstance(expression, AffineBinaryOpExpr):
        return str(expression)
    text = _sum_text(expression) if expression.kind is _Kind.Add else _product_text(expression)
    return f"({text})" if tight else text


def _product_text(expression: AffineBinaryOpExpr) -> str:
    left = _text(expression.lhs, tight=True)
    if expression.kind is _Kind.Mul and expression.rhs == AffineConstantExpr(-1):
        return "-" + left
    return f"{left} {_SPELLINGS[expression.kind]} {_text(expression.rhs, tight=True)}"


def _sum_text(expression: AffineBinaryOpExpr) -> str:
    left, right = _text(expression.lhs), expression.rhs
    if isinstance(right, AffineConstantExpr) and right.value < 0:
        return f"{left} - {-right.value}"
    if (
        isinstance(right, AffineBinaryOpExpr)
        and right.kind is _Kind.Mul
        and isinstance(right.rhs, AffineConstantExpr)
    ):
        factor = right.rhs.value
        if factor == -1:
            return f"{left} - {_text(right.lhs, tight=_is_sum(right.lhs))}"
        if factor < -1:
            return f"{left} - {_text(right.lhs, tight=True)} * {-factor}"
    return f"{left} + {_text(right)}"


def _is_sum(expression: AffineExpr) -> bool:
    return isinstance(expression, AffineBinaryOpExpr) and expression.kind is _Kind.Add


def strided_text(strides: Sequence[int | None], offset: int | None) -> str:
    """`strided<[2, ?], offset: 3>`; None prints as `?`, an offset of 0 not at all."""
    sizes = ", ".join(["?" if stride is None else str(stride) for stride in strides])
    tail = "" if offset == 0 else f", offset: {'?' if offset is None else offset}"
    return f"strided<[{sizes}]{tail}>"
