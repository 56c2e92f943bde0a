"""Names of the named computations that a program has before its calls become some.

Functions made from computations of one name are taken for copies of one function. That holds for those that
calls became; of those that the user wrote, the ones that differ get names of their own here.

    before  sdy.named_computation<"f">(%a) (%b) { abs }     sdy.named_computation<"f">(%c) (%d) { negate }
    after   sdy.named_computation<"f">(%a) (%b) { abs }     sdy.named_computation<"f_0">(%c) (%d) { negate }

Not here: calls into computations and back (`inlining.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import count
from typing import cast

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, Region

from shardy_py.graph.call_graph import CALL, original_name
from shardy_py.graph.data_flow import EDGE_NAME, TERMINATORS
from shardy_py.graph.symbols import FUNCTION, Symbols
from shardy_py.ir import find_ops, operands_of

NAMED = "sdy.named_computation"


def separate_names(module: ModuleOp, symbols: Symbols) -> None:
    """Rename the computations that are not what another computation, or a function, of their name is."""
    computations = find_ops(module, NAMED)
    if not computations:
        return
    bodies: dict[str, Region | tuple[Hashable, ...]] = {}
    for function in find_ops(module, FUNCTION):
        bodies.setdefault(original_name(function).data, function.regions[0])
    for computation in computations:
        wanted = cast(StringAttr, computation.properties["name"]).data
        mine = tuple(_content(computation.regions[0], symbols))
        name, number = wanted, 0
        while not _is_free(name, mine, bodies, symbols):
            name, number = f"{wanted}_{number}", number + 1
        bodies[name] = mine
        if name != wanted:
            computation.properties["name"] = StringAttr(name)


def _is_free(
    name: str, mine: tuple[Hashable, ...], bodies: dict[str, Region | tuple[Hashable, ...]], symbols: Symbols
) -> bool:
    body = bodies.get(name)
    if isinstance(body, Region):
        body = bodies[name] = tuple(_content(body, symbols))
    return body is None or body == mine


def _content(region: Region, symbols: Symbols) -> Iterator[Hashable]:
    """What a region does: equal for copies, whatever their terminators and the copies that they call."""
    numbers: dict[int, int] = {}
    fresh = count()

    def visit(region: Region) -> Iterator[Hashable]:
        for block in region.blocks:
            for argument in block.args:
                numbers[id(argument)] = next(fresh)
                yield argument.type
            for op in block.ops:
                if op.name == EDGE_NAME:  # computations have edges already, functions get them with the call
                    numbers[id(op.results[0])] = numbers.get(id(operands_of(op)[0]), -1)
                    continue
                yield from (None if op.name in TERMINATORS else op.name, *_entries(op, symbols))
                yield tuple(numbers.get(id(operand), -1) for operand in operands_of(op))
                yield tuple(result.type for result in op.results)
                for result in op.results:
                    numbers[id(result)] = next(fresh)
                for inner in op.regions:
                    yield from visit(inner)
            yield "end of block"
        yield "end of region"

    return visit(region)


def _entries(op: Operation, symbols: Symbols) -> Iterator[Hashable]:
    yield frozenset(op.attributes.items())
    if op.name == CALL:
        yield original_name(symbols.callee(op))
    else:
        yield frozenset(op.properties.items())
