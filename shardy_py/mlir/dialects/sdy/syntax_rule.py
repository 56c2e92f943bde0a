"""The formats of sharding rules and of their parts.

>>> from shardy_py.mlir.text.source import Source
>>> str(RULE.read(Cursor(Source("<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>"))))
'<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>'
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeVar

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.mlir.dialects.sdy.attributes import DimMappingAttr, OpShardingRuleAttr, TensorMappingAttr
from shardy_py.mlir.dialects.sdy.formats import Format, checked, list_row, several
from shardy_py.mlir.dialects.sdy.verify_values import check_factor_lists
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.sharding import DimMapping, Factor, FactorType, ShardingRule, factor_symbol

_SYMBOL = re.compile(r"z_([0-9]*)|(.)", re.ASCII)
_LETTERS = 17
"""The index of `z`; `z_1` is the one behind it."""
_MAX = 2**63 - 1

T = TypeVar("T")

_TYPES = {
    "reduction": FactorType.REDUCTION,
    "need_replication": FactorType.NEED_REPLICATION,
    "permutation": FactorType.PERMUTATION,
}


def _read_factor(cursor: Cursor, symbols: str, at: int) -> tuple[int, int]:
    """The factor named at `at` in a run of symbols like `ijz_1`, and where its symbol ends.

    Of an index that is too large the error is deferred: reading continues as if it were `z`.
    """
    match = _SYMBOL.match(symbols, at)
    assert match is not None
    digits, letter = match.groups()
    if letter is not None:
        if not "i" <= letter <= "z":
            cursor.error(f"expecting symbol from 'i' to 'z'. Received: '{letter}'")
        return ord(letter) - ord("i"), match.end()
    if not digits:
        cursor.error(f"expecting integer after 'z_'. Received: '{symbols[at:]}'")
    if digits[0] == "0":
        cursor.error(f"expecting positive integer without leading zeros. Received: '{digits}'")
    if len(digits) > 19 or int(digits) > _MAX:
        message = f"expecting symbol index <=2^63-1. Received: '{digits}'"
        cursor.deferred.append(Diagnostic(message, cursor.source.position(cursor.offset)))
        return _LETTERS, match.end()
    return _LETTERS + int(digits), match.end()


def _read_dim_mapping(cursor: Cursor) -> DimMapping:
    """`ij`; nothing for a dimension without factors."""
    symbols = cursor.advance() if cursor.is_identifier() else ""
    indices: list[int] = []
    at = 0
    while at < len(symbols):
        index, at = _read_factor(cursor, symbols, at)
        indices.append(index)
    return tuple(indices)


_DIM_MAPPING = Format(DimMappingAttr, _read_dim_mapping, lambda factors: "".join(map(factor_symbol, factors)))
_TENSOR_MAPPING = list_row(TensorMappingAttr, "dim_mappings", _DIM_MAPPING)
_read_operands = several("operand_mappings", _TENSOR_MAPPING).reader("OpShardingRule")
_read_results = several("result_mappings", _TENSOR_MAPPING).reader("OpShardingRule")


def _read_rule(cursor: Cursor) -> ShardingRule:
    """`<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>`."""
    start = cursor.offset
    cursor.expect("<")
    cursor.expect("(")
    operands = _read_operands(cursor)
    cursor.expect(")")
    cursor.expect("->")
    cursor.expect("(")
    results = _read_results(cursor)
    cursor.expect(")")
    sizes: list[int] = []
    if cursor.at("{"):
        cursor.items(lambda: sizes.append(_read_factor_size(cursor, len(sizes))), "{", "}")
    listed = {name: _read_listed(cursor, name) for name in (*_TYPES, "blocked_propagation")}
    is_custom = cursor.accept(",")
    if is_custom:
        cursor.expect("custom")
    cursor.expect(">")
    checked(cursor, start, lambda listed: check_factor_lists(listed, len(sizes)), listed)
    types = {index: type_ for name, type_ in _TYPES.items() for index in listed[name]}
    factors = tuple(
        Factor(size, types.get(index, FactorType.PASS_THROUGH), index in listed["blocked_propagation"])
        for index, size in enumerate(sizes)
    )
    return ShardingRule(factors, operands, results, is_custom)


def _read_factor_size(cursor: Cursor, expected: int) -> int:
    symbol = cursor.keyword()
    index, end = _read_factor(cursor, symbol, 0)
    if index != expected:
        cursor.error(
            "expecting factor indices to be ordered like an iota ([0,1,2,...], e.g. {i=#, j=#, ...}). "
            f"Expecting factor index symbol '{factor_symbol(expected)}', received: '{factor_symbol(index)}'"
        )
    if end < len(symbol):
        cursor.error(f"expecting single factor symbol: {symbol[end:]}")
    cursor.expect("=")
    return cursor.integer()


def _read_listed(cursor: Cursor, name: str) -> tuple[int, ...]:
    """The factors of one kind; of a run of symbols the first counts, as in Shardy."""
    if not cursor.accept(name):
        return ()
    cursor.expect("=")
    if not cursor.at("{"):
        return ()
    return tuple(cursor.items(lambda: _read_factor(cursor, cursor.keyword(), 0)[0], "{", "}"))


def _settled(format_: Format[T]) -> Format[T]:
    """The format with deferred errors reported at its end."""

    def read(cursor: Cursor) -> T:
        value = format_.read(cursor)
        if cursor.deferred:
            raise ShardyError(*cursor.deferred)
        return value

    return replace(format_, read=read)


RULE = _settled(Format(OpShardingRuleAttr, _read_rule))
DIM_MAPPING = _settled(_DIM_MAPPING)
TENSOR_MAPPING = _settled(_TENSOR_MAPPING)
