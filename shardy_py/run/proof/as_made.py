"""The comparison of a local program with the one that its passes make, op by op.

    check_as_made(partitioned)

Proofs with smaller sizes are about what the passes make of a program: they say nothing about a local program
that was changed since. Not here: on which sizes programs are proven (`plan.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import zip_longest

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.ir import blocks_of, operands_of, walk_pre_order
from shardy_py.mlir.op_errors import place_of
from shardy_py.passes.partitioned import Partitioned
from shardy_py.run.proof.pieces import signature_without_channel

_REMEDY = "prove it with its own shapes"


def check_as_made(partitioned: Partitioned) -> None:
    """Compares the local program with what its passes make of the whole one.

    Raises:
        ShardyError: they differ; at the first op that does.
    """
    made = partitioned.again(partitioned.whole).local
    for own, other in zip_longest(_lines(partitioned.local), _lines(made)):
        if own is None or other is None or own[1] != other[1]:
            changed, wanted = (None if line is None else line[0] for line in (own, other))
            raise ShardyError.unexpected(
                "a proof with smaller sizes: the local program is not what its passes make",
                expected=_name(wanted, changed),
                got=_name(changed, None),
                remedy=_REMEDY,
                where=None if changed is None else place_of(changed),
            )


def is_as_made(partitioned: Partitioned) -> bool:
    """Returns whether the local program is what its passes make of the whole one."""
    try:
        check_as_made(partitioned)
    except ShardyError:
        return False
    return True


def _name(op: Operation | None, changed: Operation | None) -> str:
    if op is None:
        return "no more ops"
    is_same = changed is not None and changed.name == op.name
    return f"'{op.name}'" + " with other operands, types or attributes" * is_same


def _itself(attribute: Attribute) -> Attribute:
    """The attribute: equal ones with much data, as types of functions of many arguments, share no number."""
    return attribute


def _lines(module: ModuleOp) -> Iterator[tuple[Operation, Hashable]]:
    """The ops with what they compute, and numbers for their operands."""
    numbers: dict[SSAValue, int] = {}
    for op in walk_pre_order(module):
        if op is module:
            continue
        operands = tuple(numbers.get(value, -1) for value in operands_of(op))
        sizes = tuple(len(region.blocks) for region in op.regions)
        yield op, (signature_without_channel(op, _itself), operands, sizes)
        for value in (*op.results, *(argument for block in blocks_of(op) for argument in block.args)):
            numbers[value] = len(numbers)
