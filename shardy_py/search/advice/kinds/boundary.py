"""Shardings of arguments and results: an axis moved, added or removed; results like what they replace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shardy_py.mlir.value_table import ValueEntry
from shardy_py.search.advice.program import (
    AdvisedProgram,
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
    program = question.program
    by_sharding: dict[TensorSharding, list[ValueEntry]] = {}
    for result in of_role(program.boundary, "result"):
        alike = program.alike(result) if result.sharding is None else ()
        given = (each.sharding for each in alike if each.role == "argument" and each.sharding is not None)
        if (sharding := next(given, None)) is not None:
            by_sharding.setdefault(sharding, []).append(result)
    yield tuple(Edit("result", tuple(values), key) for key, values in by_sharding.items())
