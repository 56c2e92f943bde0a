"""The work of running a program for a proof."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.records import dataclass
from shardy_py.mlir.ir import find_ops_where
from shardy_py.mlir.loops import run_counts
from shardy_py.mlir.record import record_of
from shardy_py.ops import OpRecord
from shardy_py.ops.reads import shape_of
from shardy_py.propagation.rules import rule_of

MOST_ELEMENTS = 1 << 24
"""The limit for all results of the whole program, and for those of all devices: 128 MB a run."""
MOST_OPERATIONS = 1 << 32
"""Multiplications and additions of one of the programs: seconds."""


@dataclass(frozen=True, slots=True)
class ProofWork:
    """The elements of the results of all ops, and the points of their iteration spaces."""

    elements: int
    operations: int

    def exceeds(self, times: int) -> bool:
        """Returns whether it is more than so many times what a proof does unless asked for."""
        return self.elements > times * MOST_ELEMENTS or self.operations > times * MOST_OPERATIONS


def work_of(module: ModuleOp, devices: int = 1) -> ProofWork:
    """Returns the work of a run; loops whose number of iterations is unknown count once."""
    runs = run_counts(module)
    elements = operations = 0
    known: dict[int, ProofWork] = {}  # ops share records
    for op in find_ops_where(module, lambda op: op.results):
        record = record_of(op)
        if not record.is_static:
            continue
        work = known.get(id(record))
        if work is None:
            work = known[id(record)] = _of_one(record)
        times = runs(op)[0] * devices
        elements += work.elements * times
        operations += work.operations * times
    return ProofWork(elements, operations)


def _of_one(record: OpRecord) -> ProofWork:
    results = [prod(shape_of(tensor)) for tensor in record.results if tensor is not None]
    rule = rule_of(record)
    return ProofWork(sum(results), max([0, *results] if rule is None else [prod(rule.factor_sizes)]))
