"""Ops that read no tensor, or a state that is read whole: constants, iota, random numbers."""

from __future__ import annotations

from dataclasses import replace

from shardy_py.indexing import IndexMap, range_var
from shardy_py.ops.policy import DimensionRead, Policy, Treatment, by_relation
from shardy_py.ops.reads import Reads, domain_of, shape_of
from shardy_py.ops.record import OpRecord
from shardy_py.ops.spec import OpSpec, RuleSource


def no_operands(record: OpRecord) -> tuple[Reads, ...]:
    """Nothing is read."""
    return (Reads((0,), ()),)


def scalars_only(record: OpRecord) -> tuple[Reads, ...]:
    """Each operand is read whole by each element."""
    shapes = [shape_of(t) for t in record.operands]
    domain = domain_of(record, ranges=tuple(size for shape in shapes for size in shape))
    start = 0
    read: list[IndexMap] = []
    for shape in shapes:
        read.append(domain.reading(tuple(range_var(start + i) for i in range(len(shape)))))
        start += len(shape)
    return (Reads((0,), tuple(read), frozenset(range(start))),)


def rng_bit_generator(record: OpRecord) -> tuple[Reads, ...]:
    """The next state and every random element read the whole state."""
    state = shape_of(record.operands[0])
    point = tuple(map(range_var, range(len(state))))
    whole = frozenset(range(len(state)))
    return (
        Reads((0,), (domain_of(record, 0, state).reading(point),), whole, {(0, d): d for d in whole}),
        Reads((1,), (domain_of(record, 1, state).reading(point),), whole),
    )


def seeded(read: DimensionRead) -> Treatment:
    """States stay whole and are not propagated."""
    return replace(by_relation(read), blocked=True)


ROWS = (
    OpSpec("stablehlo.constant", no_operands, rule_source=RuleSource.NONE),
    OpSpec("sdy.constant", no_operands, rule_source=RuleSource.NONE),
    OpSpec("chlo.constant", no_operands, rule_source=RuleSource.UNKNOWN),
    OpSpec("stablehlo.iota", no_operands, rule_source=RuleSource.NONE, preserves_constants=True),
    OpSpec("stablehlo.rng", scalars_only, rule_source=RuleSource.UNKNOWN),
    OpSpec("stablehlo.rng_bit_generator", rng_bit_generator, policy=Policy(seeded)),
)
