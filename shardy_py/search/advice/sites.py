"""Expressions of the source program whose values can be constrained: `x @ w` at `model.py:36`.

A constraint that a user writes around an expression applies wherever JAX evaluates it: in each layer that
calls the function, when it is rematerialized, and to its cotangent in the backward pass. A site has all
these values. Not here: which constraints are proposed (`proposals.py`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from shardy_py.base.errors import Position
from shardy_py.base.records import dataclass
from shardy_py.base.source_files import SourceFiles
from shardy_py.mlir.dialects.sdy import ManualComputationOp, ShardingConstraintOp
from shardy_py.mlir.dialects.traits import is_terminator
from shardy_py.mlir.ir import operands_of, written_name
from shardy_py.mlir.location_names import location_text
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.text.source import position_of, stretch_of
from shardy_py.mlir.value_table import ValueEntry, ValueTable
from shardy_py.xla.prepare.explicit_axes import typed

_LONGEST = 60
"""The most characters of an expression; of longer ones the two ends are shown."""
_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*\Z")


@dataclass(frozen=True, eq=False)
class ExpressionSite:
    """An expression and its values.

    place: where it starts. text: of the expression, "" if it cannot be read. name: the variable that it is
    assigned to, "" if none. op: the last op of the expression. values: all its values, cotangents included.
    """

    place: Position
    text: str
    name: str
    op: str
    values: tuple[ValueEntry, ...]

    @property
    def words(self) -> str:
        """The expression, of a long one both ends, or the op if it cannot be read."""
        if len(self.text) <= _LONGEST:
            return self.text or f"result of {self.op}"
        end = (_LONGEST - 5) // 2
        return f"{self.text[:end].rstrip()} ... {self.text[-end:].lstrip()}"


def is_backward(location: Attribute) -> bool:
    """Returns whether JAX's name stack of an op says that it computes a cotangent."""
    text = location_text(location)
    return "transpose(" in text and "rematted_computation" not in text


@dataclass(frozen=True)
class Sites:
    """The sites of a program with the locations of its source, whose files are among `sources`."""

    table: ValueTable
    sources: SourceFiles
    _known: dict[Position, ExpressionSite | None] = field(
        default_factory=dict[Position, ExpressionSite | None]
    )

    @cached_property
    def _by_place(self) -> Mapping[Position, list[ValueEntry]]:
        """The values by position."""
        found: dict[Position, list[ValueEntry]] = {}
        for entry in self.table.entries:
            if entry.role == "intermediate" and isinstance(entry.value, OpResult):
                place = position_of(entry.location)
                if place is not None and tensor_type(entry.type) is not None and not _is_manual(entry.op):
                    found.setdefault(place, []).append(entry)
        return found

    def at(self, place: Position | None) -> ExpressionSite | None:
        """Returns the site of an expression; None if it has no value, or several, or is constrained."""
        if place is None or place not in self._by_place:
            return None
        if place not in self._known:
            self._known[place] = self._site(place)
        return self._known[place]

    def of(self, entry: ValueEntry) -> ExpressionSite | None:
        """Returns the site of the expression that computes a value; None as `at`."""
        place = position_of(entry.location)
        return self.at(place) if place is not None else self.alone(entry)

    def alone(self, entry: ValueEntry) -> ExpressionSite:
        """Returns a value without a position as a site."""
        return ExpressionSite(Position("", 0, 0), "", "", written_name(entry.op), (entry,))

    def operands(self, place: Position | None) -> Iterator[ValueEntry]:
        """Returns the tensors that the expression reads, in order."""
        inside = (
            [entry for entry in self._by_place.get(place, ()) if not is_backward(entry.location)]
            if place
            else ()
        )
        own = {id(entry.value) for entry in inside}
        ops = dict.fromkeys(entry.op for entry in inside)  # which may have many results
        for value in dict.fromkeys(value for op in ops for value in operands_of(op)):
            entry = self.table.by_value.get(id(value))
            if entry is not None and id(value) not in own and _rank(entry):
                yield entry

    def products(self) -> Iterator[ExpressionSite]:
        """Returns the sites of products, in program order."""
        places = dict.fromkeys(position_of(entry.location) for entry in self.table.of_op("dot_general"))
        yield from (site for place in places if (site := self.at(place)) is not None)

    def _site(self, place: Position) -> ExpressionSite | None:
        entries = self._by_place[place]
        forward = [entry for entry in entries if not is_backward(entry.location)]
        results = [entry for entry in forward if _rank(entry) and _escapes(entry, place)]
        types = {entry.type for entry in results}
        if len(types) != 1 or any(map(_is_constrained, results)):
            return None
        cotangents = self._cotangents(entries, types.pop())
        stretch = stretch_of(results[0].location)
        text, name = ("", "") if stretch is None else self._expression(*stretch)
        values = tuple(dict.fromkeys((*results, *cotangents)))
        return ExpressionSite(place, text, name, written_name(typed(results[0].op)), values)

    def text_of(self, op: Operation) -> str:
        """Returns the whole expression that computes an op, if it is on one line; "" otherwise."""
        stretch = stretch_of(op.location)
        parts = None if stretch is None else self._parts(*stretch)
        return parts[1].decode(errors="replace") if parts is not None else ""

    def _expression(self, start: Position, end: Position) -> tuple[str, str]:
        """Returns the text of a stretch of a source file, and the variable that it is assigned to.

        Columns count bytes from 0, as Python's do. Both are "" unless the text is an expression.
        """
        parts = self._parts(start, end)
        return ("", "") if parts is None else _named_expression(*parts)

    def _parts(self, start: Position, end: Position) -> tuple[bytes, bytes, bytes] | None:
        """A line before, within and behind a stretch of it; None if it cannot be read."""
        if start.line != end.line or not start.column < end.column:
            return None
        lines = self.sources.lines(start.file)[start.line - 1 : start.line] if start.line > 0 else ()
        line = lines[0].encode() if lines else b""
        if end.column > len(line):
            return None
        return line[: start.column], line[start.column : end.column], line[end.column :]

    def _cotangents(self, entries: Iterable[ValueEntry], type_: Attribute) -> Iterator[ValueEntry]:
        """Returns what the backward ops of an expression read of the type of its result."""
        for entry in entries:
            for value in operands_of(entry.op) if is_backward(entry.location) else ():
                known = self.table.by_value.get(id(value))
                if known is not None and known.type == type_ and _is_cotangent(value):
                    yield known


def _rank(entry: ValueEntry) -> int:
    type_ = tensor_type(entry.type)
    return 0 if type_ is None else len(type_.shape)


def _is_manual(op: Operation | None) -> bool:
    """Returns whether an op is inside a manual computation, where tensors are local."""
    while (op := None if op is None else op.parent_op()) is not None:
        if isinstance(op, ManualComputationOp):
            return True
    return False


def _is_cotangent(value: SSAValue) -> bool:
    if isinstance(value, BlockArgument):
        return not isinstance(value.block.parent_op(), FuncOp)
    return isinstance(value, OpResult) and is_backward(value.op.location)  # type: ignore[attr-defined]


def _is_constrained(entry: ValueEntry) -> bool:
    """Returns whether a constraint reads a value: that one is to be changed."""
    assert entry.value is not None
    return any(isinstance(use.operation, ShardingConstraintOp) for use in entry.value.uses)


def _escapes(entry: ValueEntry, place: Position) -> bool:
    """Returns whether forward ops of other expressions use a value."""
    assert entry.value is not None
    for use in entry.value.uses:
        op = use.operation
        if isinstance(op, ReturnOp) or is_terminator(op):
            return True
        location: Attribute = op.location  # type: ignore[attr-defined]
        if position_of(location) != place and not is_backward(location):
            return True
    return False


def _named_expression(before: bytes, text: bytes, after: bytes) -> tuple[str, str]:
    """Returns an expression as text, and the variable that it is assigned to; "" for what is unknown."""
    shown = text.decode(errors="replace")
    try:
        ast.parse(shown, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "", ""
    named = _NAMED.match(before.decode(errors="replace"))
    is_whole = not after.strip() or after.strip().startswith(b"#")
    name = named[1] if named is not None and is_whole else ""
    return shown, name
