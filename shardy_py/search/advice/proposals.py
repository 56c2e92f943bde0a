"""The edits to try for collectives that are alike: one row for each kind of proposal.

The rows that go first are tried in full; of the others one proposal each in turn, so that few tries reach
all kinds. Not here: the kinds (`kinds/`), trying them (`adviser.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import ShardingConstraintOp
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.value_table import ValueEntry
from shardy_py.search.advice.kinds.batch import all_activations, batch_of_expressions
from shardy_py.search.advice.kinds.boundary import (
    arguments,
    arguments_along,
    results,
    results_like_arguments,
)
from shardy_py.search.advice.kinds.constraints import expressions, own_constraints
from shardy_py.search.advice.kinds.rewriting import rewrites
from shardy_py.search.advice.program import AdvisedProgram, shape_of
from shardy_py.search.advice.question import Question
from shardy_py.search.advice.remedy import Edit, Proposal, is_expressible
from shardy_py.search.advice.torch_held import is_of_gather
from shardy_py.search.advice.turns import in_turn
from shardy_py.search.advice.variants import variants
from shardy_py.sharding import TensorSharding


@dataclass(frozen=True, slots=True)
class ProposalKind:
    """A kind of proposals: how it is found for a question, and whether it is tried before the others."""

    name: str
    find: Callable[[Question], Iterable[Proposal]]
    goes_first: bool = False


KINDS = (
    ProposalKind("rewrite an op", rewrites, goes_first=True),
    ProposalKind("constrain all activations to the batch", all_activations, goes_first=True),
    ProposalKind("constrain an expression to the batch", batch_of_expressions),
    ProposalKind("shard an argument otherwise", arguments),
    ProposalKind("shard results like the arguments that they replace", results_like_arguments),
    ProposalKind("shard a result otherwise", results),
    ProposalKind("change a constraint", own_constraints),
    ProposalKind("constrain an expression", expressions),
)
"""All kinds, most promising first."""


def proposals(question: Question) -> Iterator[Proposal]:
    """Returns what to try for a question, most promising first, each once."""

    def found() -> Iterator[Proposal]:
        for kind in KINDS:
            if kind.goes_first:
                yield from kind.find(question)
        yield from in_turn(kind.find(question) for kind in KINDS if not kind.goes_first)

    return _distinct(found())


def placing(
    program: AdvisedProgram, entry: ValueEntry, dimensions: Sequence[int], axis: str
) -> Iterator[Proposal]:
    """Returns what to try for a value to be sharded along an axis, in one of `dimensions`, each once.

    Its own annotation first, then those of arguments that its expression reads.
    """
    shape, given = shape_of(entry), program.propagated(entry)
    if given is None:
        return iter(())
    placed = [e for e in variants(given, shape, program.mesh, [axis]) if _has(e, dimensions, axis)]

    def found() -> Iterator[Proposal]:
        yield from ((edit,) for each in placed if (edit := _annotated(program, entry, each)) is not None)
        if entry.role == "intermediate":
            read = program.sites.operands(position_of(entry.location))
            yield from arguments_along(program, [e for e in read if e in program.boundary], [axis])

    return _distinct(found())


def _annotated(program: AdvisedProgram, entry: ValueEntry, sharding: TensorSharding) -> Edit | None:
    """The edit that gives a value a sharding; None if a user cannot."""
    if entry.role != "intermediate":
        family = (entry,) if entry.role == "result" else program.family(entry)
        return Edit(entry.role, family, sharding)
    site = program.sites.of(entry)
    if site is not None and entry in site.values:
        return Edit("constraint", site.values, sharding, site)
    is_constraint = entry.op.name == ShardingConstraintOp.name
    return Edit("constraint", (entry,), sharding) if is_constraint else None


def _distinct(found: Iterable[Proposal]) -> Iterator[Proposal]:
    """The proposals that a `PartitionSpec` and plans of torch can express, each once."""
    seen: set[tuple[object, ...]] = set()
    for proposal in found:
        key = key_of(proposal)
        fit = all(edit.sharding is None or is_expressible(edit.sharding) for edit in proposal)
        if proposal and fit and key not in seen and not any(map(_changes_a_gather, proposal)):
            seen.add(key)
            yield proposal


def _changes_a_gather(edit: Edit) -> bool:
    """True if it constrains what `fully_shard` gathers: leaving a parameter out is an edit of that."""
    return edit.kind == "constraint" and not edit.is_implied and is_of_gather(edit.values[0].op)


def key_of(proposal: Proposal) -> tuple[object, ...]:
    """Returns what is equal for proposals that change the program alike."""
    return tuple(edit.key for edit in proposal)


def _has(sharding: TensorSharding, dimensions: Iterable[int], axis: str) -> bool:
    return any(each.name == axis for number in dimensions for each in sharding.dimensions[number].axes)
