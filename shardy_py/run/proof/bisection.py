"""The smallest part of a program that a proof finds to be wrong.

The op of the first wrong value is tried alone, then with more and more of the ops before it; of those that
fail, ops are left out from the start as long as the rest fails. Of a single loop, conditional or call, parts
of its body are tried likewise.

Not here: cutting parts out (`cutting.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, OpResult

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects import print_module
from shardy_py.mlir.dialects.sdy import ManualComputationOp
from shardy_py.mlir.dialects.traits import data_flow, is_constant
from shardy_py.mlir.ir import operands_of, terminator_of
from shardy_py.mlir.symbols import Symbols
from shardy_py.run.proof.answer import Answer, Part
from shardy_py.run.proof.as_is import prove_as_is
from shardy_py.run.proof.case import Case, results_of
from shardy_py.run.proof.cutting import Cutting, outside_manual_computations
from shardy_py.run.proof.options import ProofOptions

COMMAND = "sdy-opt part.mlir --sdy-partitioner-pipeline --prove"
"""Proves a part again."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    ops: Sequence[Operation]
    module: ModuleOp
    answer: Answer


def bisected(answer: Answer, options: ProofOptions) -> Answer:
    """Returns the answer with the smallest part that fails; as it is if no part fails alone."""
    partitioned = answer.partitioned
    if answer.fault is None or partitioned is None:
        return answer
    case = Case.of(partitioned)
    source = answer.fault.source
    last = source.op if isinstance(source, OpResult) else _last_op(case)
    if last is None:
        return answer
    last = outside_manual_computations(last)
    cutting = Cutting(case)
    own = replace(options, shapes="own")

    def attempt(ops: Sequence[Operation]) -> _Attempt | None:
        """The ops as a program, if it is partitioned wrongly."""
        module = cutting.program(ops)
        try:
            found = prove_as_is(partitioned.again(module), own)
        except ShardyError:
            return None
        return None if found.fault is None else _Attempt(ops, module, found)

    failing = _smallest(last, attempt)
    if failing is None:
        return answer
    symbols = Symbols(case.whole)
    inner: _Attempt | None = failing
    while inner is not None:
        failing = inner
        ends = _ends_inside(failing.ops[0], symbols) if len(failing.ops) == 1 else []
        inner = next(filter(None, (_smallest(end, attempt) for end in ends)), None)
    part = Part(print_module(failing.module), len(failing.ops), str(failing.answer.fault), COMMAND)
    return replace(answer, smallest=part)


def _last_op(case: Case) -> Operation | None:
    ops = [value.op for value in results_of(case.whole) if isinstance(value, OpResult)]
    return ops[-1] if ops else None


def _ends_inside(op: Operation, symbols: Symbols) -> list[Operation]:
    """The ops whose results the body of a call, loop or conditional returns."""
    if isinstance(op, CallOp):
        op = symbols.callee(op)
    elif isinstance(op, ManualComputationOp) or data_flow(op) is None:
        return []
    terminators = (terminator_of(region) for region in op.regions)
    values = [value for end in terminators if end is not None for value in operands_of(end)]
    owners = dict.fromkeys(value.op for value in values if isinstance(value, OpResult))
    return [owner for owner in owners if not is_constant(owner)]


def _smallest(last: Operation, attempt: Callable[[Sequence[Operation]], _Attempt | None]) -> _Attempt | None:
    """The shortest run of ops up to `last` that fails; constants belong to what uses them."""
    ops: list[Operation] = [last]
    before = last.prev_op
    count = 1
    found = attempt(ops)
    while found is None and before is not None:
        while before is not None and len(ops) < 2 * count:
            if not is_constant(before):
                ops.insert(0, before)
            before = before.prev_op
        count = len(ops)
        found = attempt(ops)
    if found is None:
        return None
    low, high = 0, len(found.ops) - 1  # fails from `low` on; from `high` on, the last op alone, it may
    while low < high:
        middle = (low + high + 1) // 2
        shorter = attempt(ops[middle:])
        if shorter is None:
            high = middle - 1
        else:
            found, low = shorter, middle
    return found
