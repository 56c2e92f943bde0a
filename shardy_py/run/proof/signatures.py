"""Proves each op alone: once for each combination of attributes, types and shardings.

A program of many layers has a few hundred of them. That the local program is made of what was proven is
another proof, by comparing programs (`composition.py`). Not here: cutting ops out (`cutting.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import replace

from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects.sdy import ManualComputationOp
from shardy_py.mlir.dialects.traits import data_flow, is_constant
from shardy_py.mlir.ir import operands_of
from shardy_py.passes.partitioned import Partitioned
from shardy_py.run.proof.answer import Answer
from shardy_py.run.proof.case import Case
from shardy_py.run.proof.composition import Composition
from shardy_py.run.proof.cutting import Cutting, outside_manual_computations
from shardy_py.run.proof.exactness import Exactness
from shardy_py.run.proof.findings import Tally
from shardy_py.run.proof.options import ProofOptions
from shardy_py.run.proof.pieces import Numbers, Piece, Pieces, key_of

MANY, REPEATED = 1024, 4
"""The ops of a program of many layers, and how often most of them occur."""


def prove_ops(
    case: Case,
    options: ProofOptions,
    prove: Callable[[Partitioned], Answer],
    values: Collection[SSAValue] | None = None,
) -> Answer:
    """Returns whether each op that computes is partitioned right.

    prove: proves one part. values: of the whole program, whose ops are meant; None: all.

    Raises:
        ShardyError: arguments or results are not on all devices.
    """
    _ = case.inputs(), case.outputs()  # that the proof of no op would stand for
    cutting, tally = Cutting(case), Tally()
    answer = Answer(None, options.seed, case.partitioned.grid.size, 0, tally)
    sizes: dict[int, int] = {}
    left: list[str] = []
    parts: list[Exactness] = []
    proven: set[Piece] = set()
    numbers: Numbers = {}
    for op in first_of_each(_executed(case, values), cutting):
        try:
            partitioned = case.partitioned.again(cutting.program([op]))
            part = prove(partitioned)
        except ShardyError as error:
            left.append(f"{op.name}: {error.first.what}")
            continue
        if values is None and _is_whole_proof(part):
            proven.update(piece for _, piece in Pieces(Case.of(partitioned), numbers).all())
        tally.add(part.tally)
        sizes |= dict(part.sizes)
        parts += [] if part.exactness is None else [part.exactness]
        answer = replace(
            answer,
            parts=answer.parts + 1,
            local_values=answer.local_values + part.local_values,
            is_wide=answer.is_wide and part.is_wide,
            exactness=Exactness.of_parts(parts),
            why_floats=answer.why_floats or part.why_floats,
        )
        if part.fault is not None:
            answer = replace(answer, fault=part.fault, partitioned=part.partitioned)
            break
    answer = replace(answer, sizes=tuple(sorted(sizes.items())), left=tuple(left))
    if values is None and answer.is_equal:
        answer = replace(answer, composition=Composition.of(case, proven, numbers))
    return answer


def _is_whole_proof(part: Answer) -> bool:
    """True if every value was compared, and the local program stands for that of its own sizes."""
    tally = part.tally
    is_compared = not (tally.unknown or tally.unmatched or part.untaken or part.left)
    return part.is_equal and is_compared and part.same_ops is not False


def repeats_ops(case: Case) -> bool:
    """Returns whether most ops of a program are equal to others, as in models of many layers."""
    ops = list(_executed(case, None))
    return len(ops) >= MANY and len(first_of_each(ops, Cutting(case))) * REPEATED <= len(ops)


def _executed(case: Case, wanted: Collection[SSAValue] | None) -> Iterable[Operation]:
    """The ops of the whole program whose values the local one has, each once, without control flow."""
    values = [value for counterpart in case.found.values() for value in counterpart.whole]
    if wanted is not None:
        values = [value for value in values if value in wanted]
    ops = dict.fromkeys(
        outside_manual_computations(value.op) for value in values if isinstance(value, OpResult)
    )
    return (op for op in ops if not (_is_control(op) or is_constant(op)))


def _is_control(op: Operation) -> bool:
    if isinstance(op, ManualComputationOp):
        return False
    return isinstance(op, CallOp) or (bool(op.regions) and data_flow(op) is not None)


def first_of_each(ops: Iterable[Operation], cutting: Cutting) -> list[Operation]:
    """Returns the first op of each kind: what it computes, and the shardings of its values."""
    first: dict[Hashable, Operation] = {}
    for op in ops:
        shardings = tuple(map(cutting.sharding, (*operands_of(op), *op.results)))
        first.setdefault((key_of(op), shardings), op)
    return list(first.values())
