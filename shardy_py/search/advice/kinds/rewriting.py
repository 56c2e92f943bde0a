"""Rewrites of the op that sends, and of those that its operands come from, by others with the same values."""

from __future__ import annotations

from collections.abc import Iterator

from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.search.advice.manual_rewrite import manual_rewrite
from shardy_py.search.advice.padded_rewrite import indivisible_splits, padded_rewrite
from shardy_py.search.advice.question import Question
from shardy_py.search.advice.ragged_rewrite import ragged_rewrite
from shardy_py.search.advice.remedy import Edit, Proposal
from shardy_py.search.advice.rewrites import near, rewrite_of

_SUMS = ("all_reduce", "reduce_scatter")
"""Collectives that a `shard_map` needs as well."""


def rewrites(question: Question) -> Iterator[Proposal]:
    """Returns each rewrite of an op near the one that sends."""
    for value in () if question.op is None else near(question.op):
        entry = question.program.source_of(value)
        rewrite = None if entry is None or entry.value is None else rewrite_of(entry.op)
        if entry is not None and rewrite is not None:
            yield (Edit("rewrite", (entry,), None, rewrite=rewrite),)
    yield from _by_parts(question)
    yield from _padded(question)


def _padded(question: Question) -> Iterator[Proposal]:
    """The op with a dimension that its axes divide."""
    op, program, reader = question.op, question.program, ShardingReader()
    entry = None if op is None or not op.results else program.source_of(op.results[0])
    if op is None or entry is None or entry.op.name != op.name or entry.value not in entry.op.results:
        return
    shardings = [reader.of(value) for value in (*operands_of(op), *op.results)]
    for split in indivisible_splits(entry.op, shardings, program.mesh):
        rewrite = padded_rewrite(program, entry.op, split)
        if rewrite is not None:
            yield (Edit("rewrite", (entry,), None, rewrite=rewrite),)


def _by_parts(question: Question) -> Iterator[Proposal]:
    """The op in a `shard_map`, if XLA moves its operands although each device could compute its part."""
    op, program = question.op, question.program
    if op is None or not op.results or question.use.kind in _SUMS:
        return
    entry, reader = program.source_of(op.results[0]), ShardingReader()
    if entry is None or entry.op.name != op.name or entry.value not in entry.op.results:
        return
    shardings = [reader.of(value) for value in operands_of(op)]
    for find in (ragged_rewrite, manual_rewrite):
        rewrite = find(entry.op, shardings, program.mesh_name, program.mesh)
        if rewrite is not None:
            yield (Edit("rewrite", (entry,), None, rewrite=rewrite),)
