"""Rewrites of the op that sends, and of those that its operands come from, by others with the same values."""

from __future__ import annotations

from collections.abc import Iterator

from shardy_py.search.advice.question import Question
from shardy_py.search.advice.remedy import Edit, Proposal
from shardy_py.search.advice.rewrites import near, rewrite_of


def rewrites(question: Question) -> Iterator[Proposal]:
    """Returns each rewrite of an op near the one that sends."""
    for value in () if question.op is None else near(question.op):
        entry = question.program.source_of(value)
        rewrite = None if entry is None or entry.value is None else rewrite_of(entry.op)
        if entry is not None and rewrite is not None:
            yield (Edit("rewrite", (entry,), None, rewrite=rewrite),)
