"""Activations sharded along the batch, the change that FSDP needs where the partitioner gathers them."""

from __future__ import annotations

from collections.abc import Iterator

from shardy_py.search.advice.program import AdvisedProgram, Batch, shape_of
from shardy_py.search.advice.question import Question
from shardy_py.search.advice.remedy import Edit, Proposal
from shardy_py.search.advice.sites import ExpressionSite
from shardy_py.search.advice.variants import batch_variants

_MOST_SITES = 12
"""The expressions of a remedy that constrains all activations: a user changes each of them by hand."""


def all_activations(question: Question) -> Iterator[Proposal]:
    """Returns the results of all products over the batch, constrained to it together."""
    program = question.program
    for batch in program.batches:
        sites = (site for site in program.sites.products() if len(shape_of(site.values[0])) > 1)
        edits = [edit for site in sites for edit in _constrained(program, site, batch)[:1]]
        if len(edits) <= _MOST_SITES:
            yield tuple(edits)


def batch_of_expressions(question: Question) -> Iterator[Proposal]:
    """Returns the expressions around the op, each constrained to the batch."""
    program = question.program
    for site in question.sites:
        for batch in program.batches:
            yield from ((edit,) for edit in _constrained(program, site, batch))


def _constrained(program: AdvisedProgram, site: ExpressionSite, batch: Batch) -> list[Edit]:
    axes, size = batch
    shape = shape_of(site.values[0])
    if not shape or shape[0] != size:
        return []
    given = program.final_sharding(site.values[0])
    found = batch_variants(given, program.mesh_name, shape, program.mesh, axes)
    return [Edit("constraint", site.values, each, site) for each in found]
