"""Constraints: those of the program removed or changed, and new ones on expressions around an op."""

from __future__ import annotations

from collections.abc import Iterator

from shardy_py.mlir.location_names import location_text
from shardy_py.search.advice.program import of_role, shape_of
from shardy_py.search.advice.question import Question
from shardy_py.search.advice.remedy import Edit, Proposal
from shardy_py.search.advice.sites import is_backward
from shardy_py.search.advice.variants import variants
from shardy_py.xla.prepare.explicit_axes import given_by


def own_constraints(question: Question) -> Iterator[Proposal]:
    """Returns constraints of the program that meet at the op, removed or changed at all places of their line.

    Where axes are explicit, only those that a user gives: JAX infers the others.
    """
    program = question.program
    for entry in of_role(question.annotated, "intermediate"):
        given = given_by(entry.op) if program.has_explicit_axes else None
        if program.has_explicit_axes and (given is None or is_backward(entry.location)):
            continue
        values = tuple(program.constraints_at(location_text(entry.location))) or (entry,)
        if given != "out_sharding=":  # without it, JAX has to infer another
            yield (Edit("constraint", values, None),)
        if (sharding := entry.sharding) is not None:
            for each in variants(sharding, shape_of(entry), program.mesh, question.axes):
                yield (Edit("constraint", values, each),)


def expressions(question: Question) -> Iterator[Proposal]:
    """Returns the expressions around the op, each constrained to its sharding with one axis changed."""
    program = question.program
    for site in question.sites:
        first = site.values[0]
        if (sharding := program.propagated(first)) is not None:
            for each in variants(sharding, shape_of(first), program.mesh, question.axes):
                yield (Edit("constraint", site.values, each, site),)
