"""Shardings of arguments and results: an axis moved, added or removed; results like what they replace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shardy_py.mlir.value_table import ValueEntry
from shardy_py.search.advice.program import (
    AdvisedProgram,
    family_tail,
    named_alike,
    of_role,
    shape_of,
)
from shardy_py.search.advice.question import Question
from shardy_py.search.advice.remedy import Edit, Proposal
from shardy_py.search.advice.turns import in_turn
from shardy_py.search.advice.variants import variants
from shardy_py.sharding import TensorSharding


def arguments(question: Question) -> Iterator[Proposal]:
    """Returns the arguments that meet at the op, each sharded otherwise with those of its family."""
    return arguments_along(question.program, question.annotated, question.axes)


def arguments_along(
    program: AdvisedProgram, entries: Iterable[ValueEntry], axes: Sequence[str]
) -> Iterator[Proposal]:
    """Returns arguments among `entries` with one of `axes` changed, in turn."""
    columns = [
        [
            (Edit("argument", program.family(entry), each),)
            for each in variants(sharding, shape_of(entry), program.mesh, axes)
        ]
        for entry in of_role(entries, "argument")
        if (sharding := program.sharding(entry)) is not None
    ]
    return in_turn(columns)


def results(question: Question) -> Iterator[Proposal]:
    """Returns the annotated results that meet at the op, each without its sharding, or with another."""
    program = question.program
    for entry in of_role(question.annotated, "result"):
        if (sharding := entry.sharding) is not None:
            family = of_role(program.family(entry), "result")
            yield (Edit("result", family, None),)
            for each in variants(sharding, shape_of(entry), program.mesh, question.axes):
                yield (Edit("result", family, each),)


def results_like_arguments(question: Question) -> Iterator[Proposal]:
    """Returns results without a sharding, with that of the arguments that they are new values of."""
    boundary = question.program.boundary
    annotated = [e for e in of_role(boundary, "argument") if e.sharding is not None]
    by_sharding: dict[TensorSharding, list[ValueEntry]] = {}
    for result in of_role(boundary, "result"):
        tail = "" if result.sharding is not None else family_tail(result)
        alike = (a for a in annotated if a.type == result.type and named_alike(tail, family_tail(a)))
        if (argument := next(alike, None)) is not None and argument.sharding is not None:
            by_sharding.setdefault(argument.sharding, []).append(result)
    yield tuple(Edit("result", tuple(values), key) for key, values in by_sharding.items())
