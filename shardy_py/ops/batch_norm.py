"""Batch normalisation: which elements and statistics of its feature an element reads.

Sharding rules derive from `inference` and `with_statistics`; analyses use the tighter `training` and `grad`.
"""

from __future__ import annotations

from dataclasses import replace

from shardy_py.indexing import Expr, IndexMap, dim, extent
from shardy_py.ops.reads import (
    Domain,
    Reads,
    all_results,
    coordinates,
    domain_of,
    extents,
    integer,
    ranges_from,
    shape_of,
)
from shardy_py.ops.record import OpRecord
from shardy_py.ops.spec import OpSpec, RuleSource


def inference(record: OpRecord) -> tuple[Reads, ...]:
    """Pointwise, with the statistics of the element's feature."""
    domain = domain_of(record)
    element = domain.reading(coordinates(shape_of(record.operands[0])))
    feature = domain.reading((dim(record.attributes["feature_index"]),))
    return (Reads((0,), (element, *[feature] * (len(record.operands) - 1))),)


def with_statistics(record: OpRecord) -> tuple[Reads, ...]:
    """A tensor of the operand's shape, then a value a feature: both read the whole batch of the feature."""
    shape = shape_of(record.operands[0])
    feature: int = record.attributes["feature_index"]
    batch = [d for d in range(len(shape)) if d != feature]
    is_full = [shape_of(operand) == shape for operand in record.operands]
    groups: list[Reads] = []
    for results, own in (((0,), feature), (all_results(record)[1:], 0)):
        domain = domain_of(record, results[0], tuple(shape[d] for d in batch))
        element, value = domain.reading(_all_of(shape, feature, dim(own))), domain.reading((dim(own),))
        groups.append(Reads(results, tuple(element if full else value for full in is_full)))
    beside = {(operand, d): d for operand, full in enumerate(is_full) if full for d in batch}
    return (replace(groups[0], whole=frozenset(range(len(batch))), beside=beside), *groups[1:])


def _all_of(shape: tuple[int, ...], feature: int, own: Expr) -> tuple[Expr, ...]:
    """The elements of a feature: range variables in all dimensions but the feature's."""
    loops = iter(ranges_from(len(shape) - 1))
    return tuple(own if d == feature else next(loops) for d in range(len(shape)))


def training(record: OpRecord) -> tuple[Reads, ...]:
    """Mean and variance read their feature of the operand; the output also its scale and offset."""
    feature, element, value = _feature_maps(record)
    statistics = Domain(feature.dims[:1], feature.ranges).reading(feature.results)
    return (Reads((0,), (element, value, value)), Reads(all_results(record)[1:], (statistics, None, None)))


def grad(record: OpRecord) -> tuple[Reads, ...]:
    """Operand, scale, mean, variance, gradient: what is of scale reads no scale, of offset only the last."""
    feature, element, value = _feature_maps(record)
    return (
        Reads((0,), (element, value, value, value, element)),
        Reads((1,), (feature, None, _lone(feature), _lone(feature), feature)),
        Reads((2,), (None, None, None, None, feature)),
    )


def _feature_maps(record: OpRecord) -> tuple[IndexMap, IndexMap, IndexMap]:
    """From a feature to all its elements; from an element to all of its feature, and to its value."""
    shape = shape_of(record.operands[0])
    along = integer(record.attributes, "feature_index")
    ranges = extents(shape[:along] + shape[along + 1 :])
    return (
        Domain((extent(shape[along]),), ranges).reading(_all_of(shape, along, dim(0))),
        Domain(extents(shape), ranges).reading(_all_of(shape, along, dim(along))),
        Domain(extents(shape)).reading((dim(along),)),
    )


def _lone(feature: IndexMap) -> IndexMap:
    return Domain(feature.dims).reading((dim(0),))


ROWS = (
    OpSpec("stablehlo.batch_norm_inference", inference),
    OpSpec("stablehlo.batch_norm_training", with_statistics, closer=training, rule_source=RuleSource.UNKNOWN),
    OpSpec("stablehlo.batch_norm_grad", with_statistics, closer=grad, rule_source=RuleSource.UNKNOWN),
)
