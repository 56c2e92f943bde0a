"""The text of sharding rules: readers; printing is `str` of the rule.

>>> from shardy_py.text.source import Source
>>> str(read_rule(Cursor(Source("<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>"))))
'<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>'
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from shardy_py.dialects.sdy.attributes import DimMappingAttr, TensorMappingAttr
from shardy_py.dialects.sdy.syntax_parameters import bare_or_full, checked, list_parameter, optional_list
from shardy_py.dialects.sdy.verify_values import check_factor_lists
from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.sharding import DimMapping, Factor, FactorType, ShardingRule, TensorMapping, factor_symbol
from shardy_py.text.cursor import Cursor

_SYMBOL = re.compile(r"z_([0-9]*)|(.)", re.ASCII)
_LETTERS = 17
"""The index of `z`; `z_1` is the one behind it."""
_MAX = 2**63 - 1

T = TypeVar("T")

_TYPES = (
    ("reduction", FactorType.REDUCTION),
    ("need_replication", FactorType.NEED_REPLICATION),
    ("permutation", FactorType.PERMUTATION),
)
_LISTED = ("reduction", "need_replication", "permutation", "blocked_propagation")


def read_rule(cursor: Cursor) -> ShardingRule:
    """`<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>`."""
    return _collecting(cursor, _RuleReader.rule)


def read_tensor_mapping(cursor: Cursor) -> TensorMapping:
    """`[ij, k]`."""
    return _collecting(cursor, _RuleReader.tensor_mapping)


def read_dim_mapping(cursor: Cursor) -> DimMapping:
    """`ij`; nothing for a dimension without factors."""
    return _collecting(cursor, _RuleReader.dim_mapping)


def dim_mapping_text(factors: DimMapping) -> str:
    """`ij`."""
    return "".join(map(factor_symbol, factors))


def tensor_mapping_text(mapping: TensorMapping) -> str:
    """`[ij, k]`."""
    return f"[{', '.join(map(dim_mapping_text, mapping))}]"


def _collecting(cursor: Cursor, read: Callable[[_RuleReader], T]) -> T:
    """Returns `read()`; indices that are too large are reported before its other errors."""
    reader = _RuleReader(cursor)
    try:
        found = read(reader)
    except ShardyError as error:
        if not reader.too_large:
            raise
        raise ShardyError(*reader.too_large, *error.diagnostics) from None
    if reader.too_large:
        raise ShardyError(*reader.too_large)
    return found


class _RuleReader:
    """Reads the parts of a rule.

    too_large: messages on indices that are too large; reading continues as if they were `z`.
    """

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.too_large: list[Diagnostic] = []

    def rule(self) -> ShardingRule:
        cursor = self.cursor
        start = cursor.offset
        cursor.expect("<")
        operands = self._tensor_mappings("operand_mappings")
        cursor.expect("->")
        results = self._tensor_mappings("result_mappings")
        sizes = self._factor_sizes()
        listed = {name: self._listed(name) for name in _LISTED}
        is_custom = cursor.accept(",")
        if is_custom:
            cursor.expect("custom")
        cursor.expect(">")
        checked(cursor, start, lambda listed: check_factor_lists(listed, len(sizes)), listed)
        types = {index: type_ for name, type_ in _TYPES for index in listed[name]}
        blocked = set(listed["blocked_propagation"])
        factors = tuple(
            Factor(size, types.get(index, FactorType.PASS_THROUGH), index in blocked)
            for index, size in enumerate(sizes)
        )
        return ShardingRule(factors, operands, results, is_custom)

    def _tensor_mappings(self, name: str) -> tuple[TensorMapping, ...]:
        cursor = self.cursor
        cursor.expect("(")
        found = list_parameter(
            cursor,
            "OpShardingRule",
            name,
            "TensorMappingAttr",
            lambda: bare_or_full(cursor, TensorMappingAttr, lambda cursor: self.tensor_mapping()),
        )
        cursor.expect(")")
        return found

    def tensor_mapping(self) -> TensorMapping:
        return optional_list(
            self.cursor,
            "TensorMapping",
            "dim_mappings",
            "DimMappingAttr",
            lambda: bare_or_full(self.cursor, DimMappingAttr, lambda cursor: self.dim_mapping()),
        )

    def dim_mapping(self) -> DimMapping:
        return self._factors(self.cursor.advance()) if self.cursor.is_identifier() else ()

    def _factors(self, symbols: str) -> DimMapping:
        """The factors that a run of symbols like `ijz_1` names."""
        indices: list[int] = []
        at = 0
        while at < len(symbols):
            index, at = self._factor(symbols, at)
            indices.append(index)
        return tuple(indices)

    def _factor(self, symbols: str, at: int) -> tuple[int, int]:
        """The factor named at `at`, and where its symbol ends."""
        match = _SYMBOL.match(symbols, at)
        assert match is not None
        digits, letter = match.groups()
        if letter is not None:
            if not "i" <= letter <= "z":
                self.cursor.error(f"expecting symbol from 'i' to 'z'. Received: '{letter}'")
            return ord(letter) - ord("i"), match.end()
        if not digits:
            self.cursor.error(f"expecting integer after 'z_'. Received: '{symbols[at:]}'")
        if digits[0] == "0":
            self.cursor.error(f"expecting positive integer without leading zeros. Received: '{digits}'")
        if len(digits) > 19 or int(digits) > _MAX:
            message = f"expecting symbol index <=2^63-1. Received: '{digits}'"
            self.too_large.append(Diagnostic(message, self.cursor.source.position(self.cursor.offset)))
            return _LETTERS, match.end()
        return _LETTERS + int(digits), match.end()

    def _factor_sizes(self) -> list[int]:
        sizes: list[int] = []
        if self.cursor.at("{"):
            self.cursor.items(lambda: sizes.append(self._factor_size(len(sizes))), "{", "}")
        return sizes

    def _factor_size(self, wanted: int) -> int:
        cursor = self.cursor
        symbol = cursor.keyword()
        index, end = self._factor(symbol, 0)
        if index != wanted:
            cursor.error(
                "expecting factor indices to be ordered like an iota ([0,1,2,...], e.g. {i=#, j=#, ...}). "
                f"Expecting factor index symbol '{factor_symbol(wanted)}', received: '{factor_symbol(index)}'"
            )
        if end < len(symbol):
            cursor.error(f"expecting single factor symbol: {symbol[end:]}")
        cursor.expect("=")
        return cursor.integer()

    def _listed(self, name: str) -> tuple[int, ...]:
        """The factors of one kind; of a run of symbols the first counts, as in Shardy."""
        cursor = self.cursor
        if not cursor.accept(name):
            return ()
        cursor.expect("=")
        if not cursor.at("{"):
            return ()
        return tuple(cursor.items(lambda: self._factor(cursor.keyword(), 0)[0], "{", "}"))
