"""Affine expressions built and simplified by MLIR's rules: constants fold and move to the right.

>>> d0, five = AffineDimExpr(0), AffineConstantExpr(5)
>>> str(add(five, add(d0, five))), str(multiply(multiply(d0, five), five))
('(d0 + 10)', '(d0 * 25)')
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

_Kind = AffineBinaryOpKind


def _constant(expression: AffineExpr) -> int | None:
    return expression.value if isinstance(expression, AffineConstantExpr) else None


def _parts(expression: AffineExpr, kind: AffineBinaryOpKind) -> tuple[AffineExpr, AffineExpr] | None:
    if isinstance(expression, AffineBinaryOpExpr) and expression.kind is kind:
        return expression.lhs, expression.rhs
    return None


def is_symbolic(expression: AffineExpr) -> bool:
    """Whether an expression has no dimensions."""
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
