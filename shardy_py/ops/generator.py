"""Ops that read no tensor, or a state that is read whole: constants, iota, random numbers."""

from __future__ import annotations

from dataclasses import replace

from shardy_py.ops.policy import DimensionRead, Policy, Treatment, by_relation
from shardy_py.ops.reads import Reads, domain_of, read_whole, shape_of
from shardy_py.ops.record import OpRecord
from shardy_py.ops.spec import OpSpec, RuleSource


def no_operands(record: OpRecord) -> tuple[Reads, ...]:
    """Nothing is read."""
    return (Reads((0,), ()),)


def scalars_only(record: OpRecord) -> tuple[Reads, ...]:
    """Each operand is read whole by each element."""
    shapes = [shape_of(t) for t in record.operands]
    sizes = tuple(size for shape in shapes for size in shape)
    return (Reads((0,), read_whole(domain_of(record, 0, sizes), shapes), frozenset(range(len(sizes)))),)


def rng_bit_generator(record: OpRecord) -> tuple[Reads, ...]:
    """The next state and every random element read the whole state."""
    state = shape_of(record.operands[0])
    whole = frozenset(range(len(state)))
    maps = (read_whole(domain_of(record, result, state), (state,)) for result in (0, 1))
    return (Reads((0,), next(maps), whole, {(0, d): d for d in whole}), Reads((1,), next(maps), whole))


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
