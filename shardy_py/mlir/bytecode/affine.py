"""The encodings of affine maps, sets and strided layouts, which had none before 2026 and were text.

A map begins with four times the number of its dimensions, plus its kind: the identity, a permutation, a
projection (both as the numbers of dimensions), or any results.
"""

from __future__ import annotations

from xdsl.dialects import builtin
from xdsl.ir import Attribute
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

from shardy_py.mlir.bytecode.entries import EntryReader
from shardy_py.mlir.bytecode.rows import SIGNED_LIST
from shardy_py.mlir.text.cursor import MAX_NESTING
from shardy_py.mlir.text.location_syntax import NONE

_IDENTITY, _PERMUTATION, _PROJECTION = range(3)
_OPERATORS = {
    3: AffineBinaryOpKind.Add,
    4: AffineBinaryOpKind.Mul,
    5: AffineBinaryOpKind.Mod,
    6: AffineBinaryOpKind.FloorDiv,
    7: AffineBinaryOpKind.CeilDiv,
}
_DYNAMIC = -(1 << 63)
_MOST = 1 << 10
"""Dimensions and symbols at most: an identity's take no room in the file."""


def read_map(reader: EntryReader) -> Attribute:
    """`affine_map<...>`."""
    head = reader.varint()
    kind, dimensions = head & 3, _number(reader, head >> 2)
    if kind == _IDENTITY:
        return builtin.AffineMapAttr(AffineMap.identity(dimensions))
    if kind in (_PERMUTATION, _PROJECTION):
        count = dimensions if kind == _PERMUTATION else reader.count("results")
        results = [_variable(reader, dimensions, AffineDimExpr) for _ in range(count)]
        return builtin.AffineMapAttr(AffineMap(dimensions, 0, tuple(results)))
    symbols = _number(reader, reader.varint())
    results = [_expression(reader, dimensions, symbols) for _ in range(reader.count("results"))]
    return builtin.AffineMapAttr(AffineMap(dimensions, symbols, tuple(results)))


def read_set(reader: EntryReader) -> Attribute:
    """`affine_set<...>`: its constraints, then whether each is an equality."""
    dimensions, symbols = (_number(reader, reader.varint()) for _ in range(2))
    found = [_expression(reader, dimensions, symbols) for _ in range(reader.count("constraints"))]
    kinds = [AffineConstraintKind.eq if reader.byte() else AffineConstraintKind.ge for _ in found]
    zero = AffineConstantExpr(0)
    constraints = [
        AffineConstraintExpr(kind, left, zero, canonicalize=False)
        for kind, left in zip(kinds, found, strict=True)
    ]
    return builtin.AffineSetAttr(AffineSet(dimensions, symbols, tuple(constraints)))


def read_strided(reader: EntryReader) -> Attribute:
    """`strided<...>`: its offset and strides."""
    offset, strides = reader.signed(), SIGNED_LIST(reader)
    return builtin.StridedLayoutAttr([_size(stride) for stride in strides], _size(offset))


def _size(size: int) -> builtin.IntAttr | builtin.NoneAttr:
    return NONE if size == _DYNAMIC else builtin.IntAttr(size)


def _number(reader: EntryReader, number: int) -> int:
    if number > _MOST:
        reader.fail(f"expected at most {_MOST} dimensions of an affine map, got {number}")
    return number


def _variable(reader: EntryReader, count: int, make: type[AffineDimExpr] | type[AffineSymExpr]) -> AffineExpr:
    index = reader.varint()
    if index >= count:
        reader.fail(f"invalid variable {index} of an affine expression: there are {count}")
    return make(index)


def _expression(reader: EntryReader, dimensions: int, symbols: int, depth: int = 0) -> AffineExpr:
    if depth > MAX_NESTING:
        reader.fail(f"nesting exceeds {MAX_NESTING} levels")
    kind = reader.varint()
    match kind:
        case 0:
            return _variable(reader, dimensions, AffineDimExpr)
        case 1:
            return _variable(reader, symbols, AffineSymExpr)
        case 2:
            return AffineConstantExpr(reader.signed())
        case _ if kind in _OPERATORS:
            left = _expression(reader, dimensions, symbols, depth + 1)
            right = _expression(reader, dimensions, symbols, depth + 1)
            return AffineBinaryOpExpr(_OPERATORS[kind], left, right)
        case _:
            return reader.fail(f"unknown affine expression {kind}")
