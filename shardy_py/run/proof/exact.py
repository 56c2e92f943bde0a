"""Exact proofs: both programs in a finite field, with functions that nothing is known of.

    answer = prove_exactly(partitioned, ProofOptions())

Runs differ in prime, functions, inputs, the order of residues and the branches of conditionals. All elements
on all devices must be equal. In some runs values are replaced by random ones after they were compared
(`cutpoints.py`): an op that is wrong then, and not else, is right for the operands that reached it, and
more runs try others.

What an answer says is in docs/partition.md; not here: a run (`exact_programs.py`), the field (`field/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np
from xdsl.ir import OpResult, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.ops.compute import Array
from shardy_py.passes.partitioned import Partitioned
from shardy_py.run.proof.answer import Answer
from shardy_py.run.proof.exact_programs import ExactPrograms, ExactRun
from shardy_py.run.proof.exact_runs import RunKind, leaves_nan_open, runs_of, search_of, turned
from shardy_py.run.proof.options import ProofOptions

_HIDDEN = 12
"""The runs in which a wrong value may show in a result."""


def prove_exactly(
    partitioned: Partitioned, options: ProofOptions, inputs: Sequence[Array] = (), rounds: int = 1
) -> Answer:
    """Returns whether all devices compute what the whole program does, on its own shapes.

    inputs: of the whole program; their integers are taken in one more run. rounds: of runs.

    Raises:
        ShardyError: one of the programs cannot run.
    """
    kinds = runs_of((partitioned.whole, partitioned.local), rounds)
    proof = _Proof(ExactPrograms(partitioned, options))
    with np.errstate(all="ignore"):
        if inputs:
            proof.make(kinds[0], inputs)
        for kind in kinds:
            proof.make(kind)
        for kind in turned(kinds, bool(inputs), proof.programs.branches):
            proof.make(kind)
        if proof.doubtful:
            proof.search(search_of(rounds))
        hidden = proof.hidden(kinds)
    return replace(proof.answer(options), hidden=hidden)


@dataclass(eq=False)
class _Proof:
    """The runs that were made. doubtful: values of the local program that are wrong for some operands."""

    programs: ExactPrograms
    kinds: list[RunKind] = field(default_factory=list[RunKind])
    runs: list[ExactRun] = field(default_factory=list[ExactRun])
    doubtful: frozenset[SSAValue | None] = frozenset()
    _number: int = 0

    @property
    def has_failed(self) -> bool:
        """True once a value is wrong; there are no further runs then."""
        return bool(self.runs) and self.runs[-1].fault is not None

    def make(self, kind: RunKind, given: Sequence[Array] = ()) -> None:
        """Adds a run, if all before it were equal. given: inputs, of which the integers are taken."""
        if self.has_failed:
            return
        run = self._run(kind, given)
        if kind.is_cut and (run.fault is not None or run.doubtful):
            self.doubtful |= {*run.doubtful} or {None}
            kind = replace(kind, is_cut=False)
            run = self._run(kind, given)
        self._number += 1
        if run.fault is None or self._is_meant(run, kind):
            self.kinds.append(kind)
            self.runs.append(run)

    def _is_meant(self, run: ExactRun, kind: RunKind) -> bool:
        """Returns whether a difference counts: not where an op that is right otherwise leaves NaN open."""
        wrong = run.wrong
        if not kind.nan_bits or wrong is None or wrong in self.doubtful:
            return True
        first = self.programs.case.found[wrong].whole[0]
        return not (isinstance(first, OpResult) and leaves_nan_open(first.op))

    def _run(self, kind: RunKind, given: Sequence[Array]) -> ExactRun:
        """A run, or if it finds a difference, one with quotients, as a law of them may have been needed."""
        programs = self.programs
        run = programs.run(self._number, kind, given)
        if (run.fault is None and not run.doubtful) or programs.divides:
            return run
        programs.divides = True
        run = programs.run(self._number, kind, given)
        programs.divides = not kind.is_cut or not run.doubtful
        return run

    def search(self, kinds: Sequence[RunKind]) -> None:
        """Makes runs in which doubtful ops may be wrong, until one is."""
        for kind in kinds:
            if not self.has_failed:
                run = self._run(kind, ())
                self._number += 1
                if run.fault is not None and self._is_meant(run, kind):
                    self.kinds.append(kind)
                    self.runs.append(run)

    def hidden(self, kinds: Sequence[RunKind]) -> int:
        """Returns the runs in which no result differs though a value does; 0: a result differs."""
        if not self.has_failed or self.runs[-1].wrong is None:
            return 0
        plain = [pair for pair in enumerate(kinds) if not (pair[1].is_cut or pair[1].nan_bits)]
        chosen = [(self._number - 1, self.kinds[-1]), *plain[:_HIDDEN]]
        for number, kind in chosen:
            try:
                run = self.programs.run(number, kind, results_only=True)
            except ShardyError:
                return 0
            if run.fault is not None:
                return 0
        return len(chosen)

    def answer(self, options: ProofOptions) -> Answer:
        """Returns what was found."""
        partitioned, case, tally = self.programs.partitioned, self.programs.case, self.runs[0].tally
        for run in self.runs[1:]:
            tally.add_run(run.tally)
        fault = self.runs[-1].fault
        return Answer(
            fault=fault,
            seed=options.seed,
            devices=partitioned.grid.size,
            local_values=sum(isinstance(value, OpResult) for value in case.found),
            tally=tally,
            runs=tuple(f"run {number}" for number in range(len(self.runs))),
            partitioned=partitioned,
            untaken=case.untaken(tally.compared | tally.unknown | tally.unmatched)
            if fault is None
            else frozenset(),
            exactness=self.programs.exactness(self.kinds, [value for value in self.doubtful if value]),
        )
