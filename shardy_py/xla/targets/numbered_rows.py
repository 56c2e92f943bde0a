"""Gathers and scatters whose indices number the rows: each device has the rows of its indices.

    gather(x, concatenate(iota, i))   ->  gather(x, i), in batches along the dimension that the iota numbers

Users write `x[arange(n), i]`, and JAX adds the length to indices below 0: `select(iota < 0, iota + n, iota)`,
which XLA:GPU simplifies to the iota before it partitions; XLA:CPU does not. Source: openxla/xla,
`GetGatherScatterBatchParallelDims` in xla/hlo/utils/hlo_sharding_util.cc, `HandleCompare` in
xla/hlo/transforms/simplifiers/algebraic_simplifier.cc.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shardy_py.mlir.dialects.stablehlo import CompareOp, ConcatenateOp, IotaOp, SelectOp
from shardy_py.mlir.ir import operands_of
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.dimensions import GatherDimensions, ScatterDimensions, SliceDimensions
from shardy_py.xla.prepare.folding import Splats
from shardy_py.xla.spmd.from_program import source_op
from shardy_py.xla.spmd.program import Name, PlannedOp, edited
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.stable_sorts import Recorded

_FORMS = (NodeForm.RESHAPE, NodeForm.BROADCAST)
_CLASSES: tuple[type[SliceDimensions], ...] = (GatherDimensions, ScatterDimensions)
Makers = Mapping[Name, PlannedOp]


def in_batches(step: PlannedOp, makers: Makers, recorded: Recorded) -> Sequence[PlannedOp]:
    """Returns a gather or scatter along batches, and its indices without what numbers these; () for others.

    makers: by value the step of the computation that makes it.
    """
    record, given = step.record, step.operands
    numbers = next(
        (each.of(record.attributes) for each in _CLASSES if each.attribute in record.attributes), None
    )
    joined = makers.get(given[1]) if len(given) in (2, 3) else None
    if numbers is None or joined is None or joined.record.name != ConcatenateOp.name:
        return ()
    operand, indices = record.operands[:2]
    is_along = joined.record.attributes.get("dimension") == numbers.vector
    if operand is None or indices is None or not is_along or len(joined.operands) != len(numbers.index_map):
        return ()
    found = [_numbered(name, makers) for name in joined.operands]
    batches = {
        at: along
        for at, along in enumerate(found)
        if along not in (None, numbers.vector)
        and numbers.index_map[at] in numbers.collapsed
        and operand.shape[numbers.index_map[at]] == indices.shape[along or 0]
    }
    left = [at for at in range(len(found)) if at not in batches]
    if not batches or len(left) != 1 or len({*batches.values()}) != len(batches):
        return ()
    rest = makers.get(joined.operands[left[0]])
    if rest is None or rest.results[0] != joined.operands[left[0]]:
        return ()
    made = recorded(record, "in batches", lambda: _batched(record, numbers, batches, rest.record.results[0]))
    assert made is not None
    return (edited(step, made, operands=(given[0], rest.results[0], *given[2:])),)


def _numbered(name: Name, makers: Makers) -> int | None:
    """The dimension along which a value is its own place; None for other values."""
    step = makers.get(name)
    if step is None:
        return None
    form = COMPILED.of(step.record.name).form
    if step.record.name == IotaOp.name:
        return int(step.record.attributes["iota_dimension"])
    if step.record.name == SelectOp.name:
        compared, _, otherwise = step.operands
        at = _numbered(otherwise, makers)
        return at if at is not None and _is_of_negative(compared, otherwise, makers) else None
    if form not in _FORMS:
        return None
    at, held, result = _numbered(step.operands[0], makers), step.record.operands[0], step.record.results[0]
    if at is None or held is None or result is None:
        return None
    if form is NodeForm.BROADCAST:
        found = tuple(step.record.attributes["broadcast_dimensions"])[at]
    else:
        wide = [[i for i, size in enumerate(each.shape) if size != 1] for each in (held, result)]
        if [held.shape[i] for i in wide[0]] != [result.shape[i] for i in wide[1]] or at not in wide[0]:
            return None
        found = wide[1][wide[0].index(at)]
    return found if result.shape[found] == held.shape[at] else None


def _is_of_negative(name: Name, value: Name, makers: Makers) -> bool:
    """True for a comparison that is false for places: whether they are less than 0."""
    step = makers.get(name)
    if step is None or step.record.name != CompareOp.name or step.operands[0] != value:
        return False
    op = source_op(step)
    if op is None or "LT" not in str(step.record.attributes.get("comparison_direction")):
        return False
    return Splats().integer(operands_of(op)[1]) == 0


def _batched(
    record: OpRecord, numbers: SliceDimensions, batches: Mapping[int, int | None], rest: TensorType | None
) -> OpRecord:
    """The record of the op along batches. rest: the type of the other indices."""
    names = numbers.lists
    along = {numbers.index_map[at]: dimension for at, dimension in batches.items()}
    pairs = sorted([*numbers.batched, *along.items()])
    given = dict(record.attributes[numbers.attribute])
    given[names[1]] = tuple(i for i in numbers.collapsed if i not in along)
    given[names[2]] = tuple(i for i in numbers.index_map if i not in along)
    given[names[3]] = tuple(i for i, _ in pairs)
    given[names[4]] = tuple(i for _, i in pairs)
    attributes = {**record.attributes, numbers.attribute: given}
    return replace(record, operands=(record.operands[0], rest, *record.operands[2:]), attributes=attributes)
