"""Ops that only move elements: transpose, reshape, broadcast, slice, pad, reverse, concatenate, bitcast."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

from shardy_py.base.behaviours import Behaviour
from shardy_py.indexing import Constraint, Expr, IndexMap, Interval, constant, dim, range_var, weighted_sum
from shardy_py.ops.elementwise import broadcast_along
from shardy_py.ops.policy import MOVED_ALONG, PASS, WHOLE, DimensionRead, Policy, Treatment, by_relation
from shardy_py.ops.reads import Domain, Maps, Reads, coordinates, domain_of, extents, shape_of
from shardy_py.ops.record import OpRecord
from shardy_py.ops.sketch import Sketch, TensorDim
from shardy_py.ops.spec import Family, Linear, OpSpec, Repeat, Role, RuleSource


def transpose(record: OpRecord) -> tuple[Reads, ...]:
    """Result dimension i is operand dimension permutation[i]."""
    domain = domain_of(record)
    permutation: tuple[int, ...] = record.attributes["permutation"]
    point: list[Expr] = [constant(0)] * len(permutation)
    for result, operand in enumerate(permutation):
        point[operand] = dim(result)
    return (Reads((0,), (domain.reading(tuple(point)),)),)


def broadcast_in_dim(record: OpRecord) -> tuple[Reads, ...]:
    """Operand dimension i is result dimension broadcast_dimensions[i]; a size of 1 is read at 0."""
    return broadcast_along(record, record.attributes["broadcast_dimensions"])


def broadcast(record: OpRecord) -> tuple[Reads, ...]:
    """The operand's dimensions are the last of the result's."""
    rank, count = len(shape_of(record.results[0])), len(shape_of(record.operands[0]))
    return broadcast_along(record, range(rank - count, rank))


def linear_index(point: Iterable[Expr], shape: tuple[int, ...]) -> Expr:
    """The position of `point` in the row-major order of `shape`."""
    strides = [*accumulate(reversed(shape[1:]), mul, initial=1)][::-1] if shape else []
    return weighted_sum(zip(point, strides, strict=True))


def reshaped_point(result: tuple[int, ...], operand: tuple[int, ...]) -> tuple[Expr, ...]:
    """The element of `operand` at the row-major position of a `result` element.

    Dimensions are processed in the smallest runs of equal size on both sides, so that expressions only have
    variables of their run.
    """
    point: list[Expr] = []
    for left, right in matching_runs(result, operand):
        sizes = [result[i] for i in left]
        position = linear_index(map(dim, left), tuple(sizes))
        stride = prod(operand[i] for i in right)
        for count, index in enumerate(right):
            stride //= operand[index]
            digit = position // stride
            point.append(digit if not count else digit % operand[index])
    return tuple(point)


def matching_runs(left: tuple[int, ...], right: tuple[int, ...]) -> list[tuple[range, range]]:
    """The finest partition of two shapes of equal size into runs of equal sizes.

    >>> matching_runs((4, 8, 12), (32, 3, 4))
    [(range(0, 2), range(0, 1)), (range(2, 3), range(1, 3))]
    """
    runs: list[tuple[range, range]] = []
    i = j = 0
    while i < len(left) or j < len(right):
        start_i, start_j = i, j
        size_i = size_j = 1
        while True:
            if i < len(left) and (size_i <= size_j or j == len(right)):
                size_i, i = size_i * left[i], i + 1
            elif j < len(right):
                size_j, j = size_j * right[j], j + 1
            if size_i == size_j or (i == len(left) and j == len(right)):
                break
        while i < len(left) and left[i] == 1 and (j == len(right) or right[j] != 1):
            i += 1
        while j < len(right) and right[j] == 1 and (i == len(left) or left[i] != 1):
            j += 1
        runs.append((range(start_i, i), range(start_j, j)))
    return runs


def reshape(record: OpRecord) -> tuple[Reads, ...]:
    """Elements keep their row-major position."""
    domain = domain_of(record)
    result, operand = shape_of(record.results[0]), shape_of(record.operands[0])
    point = reshaped_point(result, operand) if prod(operand) else tuple(constant(0) for _ in operand)
    return (Reads((0,), (domain.reading(point), *((None,) * (len(record.operands) - 1)))),)


def slice_(record: OpRecord) -> tuple[Reads, ...]:
    """Result d reads start + d * stride."""
    domain = domain_of(record)
    starts, strides = record.attributes["start_indices"], record.attributes["strides"]
    point = tuple(
        dim(i) * stride + start for i, (start, stride) in enumerate(zip(starts, strides, strict=True))
    )
    return (Reads((0,), (domain.reading(point),)),)


def reverse(record: OpRecord) -> tuple[Reads, ...]:
    """Reversed dimensions are read from the end."""
    shape = shape_of(record.results[0])
    reversed_ = set(record.attributes["dimensions"])
    point = tuple(size - 1 - dim(i) if i in reversed_ else dim(i) for i, size in enumerate(shape))
    return (Reads((0,), (domain_of(record).reading(point),)),)


def pad(record: OpRecord) -> tuple[Reads, ...]:
    """Result d reads (d - low) / (interior + 1) where that is an index of the operand."""
    domain = domain_of(record)
    point: list[Expr] = []
    dims: list[Interval] = []
    constraints: list[Constraint] = []
    low, interior = record.attributes["edge_padding_low"], record.attributes["interior_padding"]
    for i, size in enumerate(shape_of(record.operands[0])):
        step = interior[i] + 1
        point.append((dim(i) - low[i]) // step)
        last = low[i] + (size - 1) * step
        dims.append(Interval(max(0, low[i]), min(domain.dims[i].high, last)))
        if step > 1:
            constraints.append(((dim(i) - low[i]) % step, Interval(0, 0)))
    inside = Domain(tuple(dims)).reading(tuple(point), tuple(constraints))
    return (Reads((0,), (inside, domain.reading(()))),)


def concatenate(record: OpRecord) -> tuple[Reads, ...]:
    """Along the dimension, each operand holds an interval of the result."""
    domain = domain_of(record)
    along: int = record.attributes["dimension"]
    start = 0
    operands: list[IndexMap] = []
    for operand in record.operands:
        shape = shape_of(operand)
        point = list(coordinates(shape))
        point[along] = point[along] - start
        dims = list(domain.dims)
        dims[along] = Interval(start, start + shape[along] - 1)
        operands.append(Domain(tuple(dims)).reading(tuple(point)))
        start += shape[along]
    return (Reads((0,), tuple(operands)),)


def bitcast_convert(record: OpRecord) -> tuple[Reads, ...]:
    """Pointwise, except for a last dimension that holds the parts of a wider element."""
    operand, result = shape_of(record.operands[0]), shape_of(record.results[0])
    parts = operand[len(result) :]
    domain = domain_of(record, ranges=parts)
    point = coordinates(result)[: len(operand)] + tuple(range_var(i) for i in range(len(parts)))
    opaque = frozenset(range(len(operand), len(result)))
    return (Reads((0,), (domain.reading(point),), frozenset(range(len(parts))), opaque=opaque),)


def set_dimension_size(record: OpRecord) -> tuple[Reads, ...]:
    """The operand itself; the size is a scalar."""
    domain = Domain(extents(shape_of(record.operands[0])))
    return (Reads((0,), (domain.reading(coordinates(shape_of(record.operands[0]))), domain.reading(()))),)


_PADDING = ("edge_padding_low", "edge_padding_high", "interior_padding")


def _is_same_shape(record: OpRecord) -> bool:
    operand, result = record.operands[0], record.results[0]
    return operand is not None and result is not None and operand.shape == result.shape


def resized(read: DimensionRead) -> Treatment:
    """Equal sizes count as unmoved. Unsound for padding whose low and high parts cancel."""
    return Treatment(True, PASS) if read.size == read.result_size else by_relation(read)


def padded(read: DimensionRead) -> Treatment:
    """Dimensions that are padded, by a negative amount too, are moved."""
    if not Behaviour.PAD_MOVES_BY_AMOUNT.holds:
        return resized(read)
    amounts = (read.record.attributes[name][read.dimension] for name in _PADDING)
    if read.operand or not any(amounts):
        return by_relation(read)
    return Treatment(True, MOVED_ALONG, read.conservative and read.size != read.result_size, read.size)


def adjust_concatenation(sketch: Sketch, conservative: bool) -> None:
    """The concatenated dimension has the result's size; concatenating slices only moves elements."""
    along: int = sketch.record.attributes["dimension"]
    atom = sketch.atom_at(TensorDim("result", 0, along))
    if conservative:
        sketch.drop(atom)
        return
    for operand in range(len(sketch.record.operands)):
        sketch.atoms[TensorDim("operand", operand, along)] = [atom]
    of_slices = sketch.record.attributes.get("context.concatenates_slices")
    sketch.give_size(atom, shape_of(sketch.record.results[0])[along])
    sketch.set_type(atom, MOVED_ALONG if of_slices else WHOLE)


def _padding_value(record: OpRecord) -> frozenset[int]:
    """Returns the number of the padding value, which is not read where the operand lies."""
    return frozenset((1,))


def _row(name: str, maps: Maps, **columns: Any) -> OpSpec:
    return OpSpec(f"stablehlo.{name}", maps, family=Family.MOVEMENT, **columns)


_MOVED: dict[str, object] = {"moves_elements": True}
_SHAPED = _MOVED | {"preserves_constants": True, "needs_static_operand": True}
_CONCATENATED = Policy(adjust=adjust_concatenation)
ROWS = (
    _row("transpose", transpose, role=Role.PASS_THROUGH, is_folded=True, **_MOVED),
    _row("broadcast_in_dim", broadcast_in_dim, role=Role.BROADCAST, repeat=Repeat.FREE, **_SHAPED),
    _row("broadcast", broadcast, rule_source=RuleSource.UNKNOWN),
    _row("reshape", reshape, role=Role.PASS_THROUGH, policy=Policy(keeps_order=True), **_SHAPED),
    _row("slice", slice_, policy=Policy(resized), preserves_constants=True, is_folded=True, **_MOVED),
    _row("reverse", reverse, is_folded=True, **_MOVED),
    _row("pad", pad, policy=Policy(padded), superset=_padding_value, linear=Linear.ALL),
    _row(
        "concatenate",
        concatenate,
        policy=_CONCATENATED,
        context="context.concatenates_slices",
        linear=Linear.ALL,
        is_folded=True,
    ),
    _row("bitcast_convert", bitcast_convert, is_elementwise=_is_same_shape),
    _row("set_dimension_size", set_dimension_size, rule_source=RuleSource.UNKNOWN),
)
