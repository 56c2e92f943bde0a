"""The degree of values as polynomials over inputs and applications of functions: what the bound needs.

A value is a quotient of polynomials, of degrees (above, below). Sums, products and quotients follow from
their operands; what is moved or chosen has the largest of its operands; a function starts again at (1, 0).
Loops run as often as is known; where degrees grow beyond `LARGEST`, there is no bound.
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

Degree = tuple[int, int]
LARGEST = 1 << 20
"""The largest degree with a bound: a thousandth of the least prime."""
_CONSTANT: Degree = (0, 0)
_VARIABLE: Degree = (1, 0)
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
        self, block: Block, arguments: Sequence[Degree], outer: dict[SSAValue, Degree], depth: int
    ) -> list[Degree]:
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

    def _note(self, degree: Degree) -> None:
        self.largest = max(self.largest, sum(degree))
        if self.largest > LARGEST:
            raise _TooLarge

    def _results(self, op: Operation, known: dict[SSAValue, Degree], depth: int) -> list[Degree]:
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
            return [_largest([end[n] if n < len(end) else _VARIABLE for end in ends]) for n in range(count)]
        if blocks:
            return [self._combined(record, blocks[0], given)] * count
        return [_of_op(record, given)] * count

    def _loop(
        self, op: Operation, given: list[Degree], known: dict[SSAValue, Degree], depth: int
    ) -> list[Degree]:
        """Until degrees stay; those that grow with each iteration end at the limit."""
        carried = given
        body = op.regions[1].blocks[0]
        times, is_known = iterations(op)
        for _ in range(min(times, _MOST_TRIPS) if is_known else _MOST_TRIPS):
            after = self.block(body, carried, known, depth + 1)
            joined = [_largest(pair) for pair in zip(carried, after, strict=True)]
            if joined == carried:
                return carried
            carried = joined
        if is_known and times <= _MOST_TRIPS:
            return carried
        raise _TooLarge

    def _combined(self, record: OpRecord, block: Block, given: list[Degree]) -> Degree:
        """The degree of a reduction: that of a sum, or of a product of all elements."""
        names = {op.name for op in block.ops}
        top = _largest(given)
        multiplies = any(name.endswith(("multiply", "divide")) for name in names)
        if not multiplies:
            return _sum_of_many(record, top)
        elements = prod(shape_of(record.operands[0])) if record.is_static else LARGEST
        return top[0] * elements, top[1] * elements


def _largest(degrees: Sequence[Degree]) -> Degree:
    return max((d[0] for d in degrees), default=0), max((d[1] for d in degrees), default=0)


def _sum(left: Degree, right: Degree) -> Degree:
    if left[1] == right[1]:  # one denominator, as where both are polynomials
        return (
            (max(left[0], right[0]), left[1])
            if not left[1]
            else (max(left[0], right[0]) + left[1], 2 * left[1])
        )
    return max(left[0] + right[1], right[0] + left[1]), left[1] + right[1]


def _product(left: Degree, right: Degree) -> Degree:
    return left[0] + right[0], left[1] + right[1]


def _of_op(record: OpRecord, given: list[Degree]) -> Degree:
    name = row_name(record)
    short = name.partition(".")[2].removeprefix("broadcast_")
    row = TABLE.get(name)
    if not given or not any(map(is_float, record.operands)):
        return _CONSTANT
    if short in ("add", "subtract"):
        return _sum(given[0], given[1])
    if short in ("multiply", "divide"):
        right = given[1] if short == "multiply" else given[1][::-1]
        return _product(given[0], (right[0], right[1]))
    if short == "square":
        return _product(given[0], given[0])
    if short == "power":
        return max(1, 4 * given[0][0]), 4 * given[0][1]
    if short == "convert":  # a rounding is a function
        return _largest([*given, _VARIABLE])
    if short in _CHOICES or (
        row is not None and row.kind in (Family.MOVEMENT, Family.INDEXED, Family.COLLECTIVE)
    ):
        return _largest(given)
    if row is not None and row.kind is Family.PRODUCT:
        return _sum_of_many(record, _product(given[0], given[1]))
    if short.startswith("batch_norm"):
        top = _largest(given)  # means, and products of at most five terms
        return _sum_of_many(record, (8 * (top[0] + top[1]) + 8, 8 * top[1]))
    return _VARIABLE


def _sum_of_many(record: OpRecord, term: Degree) -> Degree:
    """The degree of a sum of terms, each with a denominator: at most as many as the largest operand has."""
    above, below = term
    if not below:
        return term
    if not record.is_static or row_of(record).kind is Family.COLLECTIVE:
        raise _TooLarge
    terms = max(1, *(prod(shape_of(type_)) for type_ in record.operands if type_ is not None))
    return above + below * terms, below * terms
