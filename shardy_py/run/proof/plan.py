"""On which shapes a program is proven: its own, smaller ones, or op by op.

    answer = prove(partitioned)
    answer.is_equal, print(answer)

A run keeps every tensor of the whole program, twice, so large programs are proven with smaller sizes. What
was proven on which sizes is in the answer. Not here: the runs (`proving.py`), the sizes (`shrinking.py`),
programs of one op (`signatures.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.base.errors import ShardyError
from shardy_py.base.session import SESSION
from shardy_py.ops.compute import Array
from shardy_py.passes.partitioned import Partitioned
from shardy_py.run.proof.answer import Answer
from shardy_py.run.proof.as_is import prove_as_is
from shardy_py.run.proof.as_made import check_as_made, is_as_made
from shardy_py.run.proof.case import Case
from shardy_py.run.proof.options import DEFAULT, ProofOptions
from shardy_py.run.proof.shrinking import Shrunk, shrunk
from shardy_py.run.proof.signatures import prove_ops, repeats_ops
from shardy_py.run.proof.work import ProofWork, work_of

LARGER = 8
"""The factor for more with smaller sizes, or with its own if its local program has other ops then."""


def largest_work(partitioned: Partitioned) -> ProofWork:
    """Returns the work of a run of either program, whichever is more.

    What exceeds it is too large to be proven on its own shapes, unless that is asked for.
    """
    sides = (partitioned.whole, 1), (partitioned.local, partitioned.grid.size)
    works = [work_of(*side) for side in sides]
    return ProofWork(max(work.elements for work in works), max(work.operations for work in works))


@SESSION.program()
def prove(partitioned: Partitioned, options: ProofOptions = DEFAULT, inputs: Sequence[Array] = ()) -> Answer:
    """Returns whether all devices compute what the whole program does, and how it was found out.

    inputs: of the whole program, instead of random ones; it is then proven on its own shapes.

    Raises:
        ShardyError: one of the programs cannot run, inputs are given for other shapes than its own, or the
            local program is too large to run and not what its passes make of the whole one.
    """
    shapes = options.shapes
    if inputs and shapes in ("small", "ops"):
        raise ShardyError.unexpected("inputs", expected="none for smaller shapes", got=f"{len(inputs)}")
    work = largest_work(partitioned) if shapes == "auto" else None
    if shapes == "own" or inputs or (work is not None and not work.exceeds(1)):
        return _with_branches(prove_as_is(partitioned, options, inputs), options)
    case, may_run = Case.of(partitioned), work is not None and not work.exceeds(LARGER)
    by_ops: Answer | None = None
    if shapes == "ops" or (shapes == "auto" and repeats_ops(case)):
        by_ops = prove_ops(case, options, lambda part: _prove_part(part, options))
        if by_ops.is_complete:
            return by_ops
    if may_run and not is_as_made(partitioned):
        return _with_branches(prove_as_is(partitioned, options), options)
    check_as_made(partitioned)
    if shapes != "ops":
        smaller = shrunk(case)
        is_same = smaller is not None and smaller.same_ops
        if may_run and not is_same:
            return _with_branches(prove_as_is(partitioned, options), options)
        is_asked = shapes == "small"
        if smaller is not None and (is_asked or not largest_work(smaller.partitioned).exceeds(LARGER)):
            return _with_branches(_prove_smaller(smaller, options), options)
        if is_asked:
            raise ShardyError.unsupported("a proof on smaller shapes: no size can be smaller")
    return by_ops or prove_ops(case, options, lambda part: _prove_part(part, options))


def _with_branches(answer: Answer, options: ProofOptions) -> Answer:
    """The answer with proofs of each op that no device executed: of branches that were not taken."""
    if answer.fault is not None or not answer.untaken or answer.partitioned is None:
        return answer
    if not is_as_made(answer.partitioned):
        left = f"{len(answer.untaken):,} values in branches that were not taken of a changed local program"
        return replace(answer, left=(*answer.left, left))
    case = Case.of(answer.partitioned)
    parts = prove_ops(case, options, lambda part: _prove_part(part, options), answer.untaken)
    answer = replace(answer, branches=parts.parts, left=parts.left)
    if parts.fault is not None:
        answer = replace(answer, fault=parts.fault, partitioned=parts.partitioned)
    return answer


def _prove_part(part: Partitioned, options: ProofOptions) -> Answer:
    smaller = shrunk(Case.of(part))
    return prove_as_is(part, options) if smaller is None else _prove_smaller(smaller, options)


def _prove_smaller(smaller: Shrunk, options: ProofOptions) -> Answer:
    answer = prove_as_is(smaller.partitioned, options)
    return replace(answer, sizes=smaller.sizes, same_ops=smaller.same_ops)
