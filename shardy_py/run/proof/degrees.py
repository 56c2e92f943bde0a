"""The degree of values as polynomials over inputs and applications of functions: what the bound needs.

Degrees of products are added; what is summed, moved or chosen has the largest of its operands; a function, as
also the inverse of a divisor is one, starts again at 1. Loops run as often as is known; where degrees grow
beyond `LARGEST`, the degree is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Block, Operation, SSAValue

from shardy_py.mlir.ir import operands_of, terminator_of
from shardy_py.mlir.loops import iterations
from shardy_py.mlir.record import record_of
from shardy_py.mlir.symbols import Symbols, callee_name
from shardy_py.mlir.typed import of_kind
from shardy_py.ops import Control, Family, OpRecord
from shardy_py.ops.reads import shape_of
from shardy_py.ops.table import TABLE, row_name, row_of
from shardy_py.run.proof.case import main_of
from shardy_py.run.proof.field.arithmetic import is_float

LARGEST = 1 << 20
"""The largest degree with a bound: a thousandth of the least prime."""
_CONSTANT, _VARIABLE = 0, 1
_MOST_DEPTH = 40
_MOST_TRIPS = 256
_CHOICES = (
    "maximum",
    "minimum",
    "select",
    "clamp",
    "abs",
    "negate",
    "real",
    "imag",
    "complex",
    "sort",
)


class _TooLarge(Exception):
    """A degree has no bound."""


def degree_of(module: ModuleOp) -> int | None:
    """Returns the largest degree of a difference of two values; None: it has no bound."""
    walk = _Walk(Symbols(module))
    main = main_of(module)
    try:
        block = main.body.blocks[0]
        walk.block(block, [_VARIABLE] * len(block.args), {}, 0)
    except (_TooLarge, RecursionError):
        return None
    return 2 * max(1, walk.largest)


class _Walk:
    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self.largest = 0

    def block(
        self, block: Block, arguments: Sequence[int], outer: dict[SSAValue, int], depth: int
    ) -> list[int]:
        """Returns the degrees of what a block passes on."""
        if depth > _MOST_DEPTH:
            raise _TooLarge
        known = dict(outer)
        known.update(zip(block.args, arguments, strict=False))
        for op in block.ops:
            if op.results:
                for result, degree in zip(op.results, self._results(op, known, depth), strict=False):
                    self._note(degree)
                    known[result] = degree
        region = block.parent
        end = None if region is None else terminator_of(region)
        return [] if end is None else [known.get(value, _VARIABLE) for value in operands_of(end)]

    def _note(self, degree: int) -> None:
        self.largest = max(self.largest, degree)
        if self.largest > LARGEST:
            raise _TooLarge

    def _results(self, op: Operation, known: dict[SSAValue, int], depth: int) -> list[int]:
        given = [known.get(value, _VARIABLE) for value in operands_of(op)]
        count = len(op.results)
        record = record_of(op)
        if not any(map(is_float, record.results)):
            return [_CONSTANT] * count
        control = row_of(record).control
        if control is Control.CALL:
            composite = op.properties.get("decomposition")
            whole = composite is None
            name = callee_name(op) if whole else of_kind(composite, SymbolRefAttr).root_reference.data
            body = self._symbols.function(name).regions[0].blocks[0]
            return self.block(body, given, {}, depth + 1)
        if control is Control.LOOP:
            return self._loop(op, given, known, depth)
        blocks = [region.blocks[0] for region in op.regions if region.blocks]
        if control is not Control.NONE and blocks:
            ends = [self.block(block, given, known, depth + 1) for block in blocks]
            return [max(end[n] if n < len(end) else _VARIABLE for end in ends) for n in range(count)]
        if blocks:
            return [self._combined(record, blocks[0], given)] * count
        return [_of_op(record, given)] * count

    def _loop(self, op: Operation, given: list[int], known: dict[SSAValue, int], depth: int) -> list[int]:
        """Until degrees stay; those that grow with each iteration end at the limit."""
        carried = given
        body = op.regions[1].blocks[0]
        times, is_known = iterations(op)
        for _ in range(min(times, _MOST_TRIPS) if is_known else _MOST_TRIPS):
            after = self.block(body, carried, known, depth + 1)
            joined = list(map(max, carried, after))
            if joined == carried:
                return carried
            carried = joined
        if is_known and times <= _MOST_TRIPS:
            return carried
        raise _TooLarge

    def _combined(self, record: OpRecord, block: Block, given: list[int]) -> int:
        """The degree of a reduction: as a sum, or a product of all elements."""
        top = max(given, default=0)
        if not any(op.name.endswith(("multiply", "divide")) for op in block.ops):
            return top
        return top * (prod(shape_of(record.operands[0])) if record.is_static else LARGEST)


def _of_op(record: OpRecord, given: list[int]) -> int:
    name = row_name(record)
    short = name.partition(".")[2].removeprefix("broadcast_")
    row = TABLE.get(name)
    if not given or not any(map(is_float, record.operands)):
        return _CONSTANT
    if short in ("add", "subtract"):
        return max(given)
    if short == "multiply":
        return given[0] + given[1]
    if short == "divide":  # by a constant, or times a function of the divisor
        return given[0] + (_VARIABLE if given[1] else _CONSTANT)
    if short == "square":
        return 2 * given[0]
    if short == "power":
        return max(1, 4 * given[0])
    if short == "convert":  # a rounding is a function
        return max(*given, _VARIABLE)
    if short in _CHOICES or (
        row is not None and row.kind in (Family.MOVEMENT, Family.INDEXED, Family.COLLECTIVE)
    ):
        return max(given)
    if row is not None and row.kind is Family.PRODUCT:
        return sum(given)
    if short.startswith("batch_norm"):
        return 8 * max(given) + 8  # means, and products of at most five terms
    return _VARIABLE
