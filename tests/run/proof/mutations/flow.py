"""Masks and control flow: comparisons, selections, limits, branches, iterations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.mlir.ir import operands_of, replace_operand, terminator_of, type_of
from tests.run.proof.mutations.edits import (
    Site,
    at_operand,
    changed,
    instead,
    is_integer,
    ops,
    plus,
    short,
    swapped,
    value_of,
)

DIRECTIONS = {
    "LT": ("LE", "GT", "NE"),
    "LE": ("LT", "GE", "EQ"),
    "GT": ("GE", "LT", "NE"),
    "GE": ("GT", "LE", "EQ"),
    "EQ": ("NE", "LE", "GE"),
    "NE": ("EQ", "LT"),
}


def masks_removed(module: ModuleOp) -> Iterator[Site]:
    """A selection always takes one side; of two conditions only one counts; a limit is left out."""
    for op in ops(module, "select"):
        for index, what in ((1, "true"), (2, "false")):
            yield Site(op, f"always {what}", partial(instead, op, operands_of(op)[index]))
    for op in ops(module, "and", "or"):
        for index in (0, 1):
            yield Site(op, f"only operand {index}", partial(instead, op, operands_of(op)[index]))
    for op in ops(module, "clamp"):
        if type_of(operands_of(op)[1]) == type_of(op.results[0]):
            yield Site(op, "left out", partial(instead, op, operands_of(op)[1]))


def masks_shifted(module: ModuleOp) -> Iterator[Site]:
    """A comparison, or a limit, with a number that is one less or more."""
    for op in ops(module, "compare"):
        if is_integer(operands_of(op)[1]) and not _is_condition(op):
            for by in (-1, 1):
                yield Site(op, f"limit {by:+d}", partial(at_operand, op, 1, plus(by)))
    for op in ops(module, "clamp"):
        for index in (0, 2):
            if is_integer(operands_of(op)[index]):
                for by in (-1, 1):
                    what = f"{'lower' if index == 0 else 'upper'} limit {by:+d}"
                    yield Site(op, what, partial(at_operand, op, index, plus(by)))


def directions(module: ModuleOp) -> Iterator[Site]:
    """A comparison in another direction."""
    for op in ops(module, "compare"):
        if not _is_condition(op):
            given = value_of(op, "comparison_direction")
            for other in DIRECTIONS[given]:
                yield changed(op, f"{given} becomes {other}", comparison_direction=other)


def _is_condition(op: Operation) -> bool:
    """Whether a comparison decides if a loop goes on."""
    around = op.parent_op()
    return around is not None and short(around) == "while" and op.parent is around.regions[0].first_block


def bounds(module: ModuleOp) -> Iterator[Site]:
    """A loop of one iteration more or less."""
    for op in ops(module, "compare"):
        if _is_condition(op) and is_integer(operands_of(op)[1]):
            for by in (-1, 1):
                yield Site(op, f"bound {by:+d}", partial(at_operand, op, 1, plus(by)))


def branches(module: ModuleOp) -> Iterator[Site]:
    """Two branches are swapped, or another one is taken."""
    for op in ops(module, "case", "if"):
        for a, b in combinations(range(len(op.regions)), 2):
            yield Site(op, f"branches {a}, {b} swapped", partial(_swap_regions, op, a, b))
    for op in ops(module, "case"):
        for by in (-1, 1):
            yield Site(op, f"branch {by:+d}", partial(at_operand, op, 0, plus(by)))


def _swap_regions(op: Operation, a: int, b: int) -> None:
    first, second = op.regions[a], op.regions[b]
    kept = first.detach_block(0)
    first.add_block(second.detach_block(0))
    second.add_block(kept)


def iterations(module: ModuleOp) -> Iterator[Site]:
    """A loop keeps a value of the iteration before, or starts with another one; branches return others."""
    for op in ops(module, "while"):
        block = op.regions[1].blocks[0]
        end = terminator_of(op.regions[1])
        assert end is not None
        for index, argument in enumerate(block.args):
            if operands_of(end)[index] is not argument and index:
                yield Site(end, f"value {index} is kept", partial(replace_operand, end, index, argument))
        for index, value in enumerate(operands_of(op)):
            if is_integer(value):
                yield Site(op, f"value {index} starts at +1", partial(at_operand, op, index, plus(1)))
    for op in ops(module, "while", "case", "if"):
        for region in op.regions:
            end = terminator_of(region)
            assert end is not None
            for a, b in combinations(range(len(operands_of(end))), 2):
                if type_of(operands_of(end)[a]) == type_of(operands_of(end)[b]):
                    yield Site(end, f"values {a}, {b} swapped", partial(swapped, end, a, b))


FLOW = {
    "mask removed": masks_removed,
    "mask shifted": masks_shifted,
    "comparison": directions,
    "loop bound": bounds,
    "branches": branches,
    "iteration": iterations,
}
