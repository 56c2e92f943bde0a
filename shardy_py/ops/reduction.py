"""Ops that fold dimensions or read them whole: statistics, reduce, sort, top_k, cholesky, solvers, fft.

Sharding rules of batch normalisation derive from `inference` and `with_statistics`; analyses use the tighter
`training` and `grad`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.indexing import Constraint, Expr, IndexMap, Interval, dim, extent, range_var
from shardy_py.ops.policy import WHOLE, DimensionRead, Policy, Treatment, by_relation, operand_first
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
from shardy_py.ops.sketch import Sketch, TensorDim
from shardy_py.ops.spec import OpSpec, Repeat, RuleSource
from shardy_py.ops.work import comparisons, factorizations, folds, solves, transforms


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


def reduce(record: OpRecord) -> tuple[Reads, ...]:
    """Every result folds every input over the dimensions."""
    shape = shape_of(record.operands[0])
    folded: dict[int, Expr] = {d: range_var(i) for i, d in enumerate(sorted(record.attributes["dimensions"]))}
    domain = domain_of(record, ranges=tuple(shape[d] for d in sorted(folded)))
    kept = iter(range(len(shape)))
    point = tuple(folded[d] if d in folded else dim(next(kept)) for d in range(len(shape)))
    inputs = len(record.operands) // 2
    maps = (domain.reading(point),) * inputs + (domain.reading(()),) * inputs
    return (Reads(all_results(record), maps),)


def whole_dimensions(record: OpRecord, dimensions: Sequence[int], operands: int | None = None) -> Reads:
    """All results read the given dimensions of the first operands whole, the rest pointwise.

    The result dimension of the same number is the same axis of the data.
    """
    shape = shape_of(record.operands[0])
    count = len(record.operands) if operands is None else operands
    domain = domain_of(record, ranges=tuple(shape[d] for d in dimensions))
    point = list(coordinates(shape))
    for number, position in enumerate(dimensions):
        point[position] = range_var(number)
    maps = (domain.reading(tuple(point)),) * count + (domain.reading(()),) * (len(record.operands) - count)
    beside = {(operand, position): position for operand in range(count) for position in dimensions}
    return Reads(all_results(record), maps, frozenset(range(len(dimensions))), beside)


def sort(record: OpRecord) -> tuple[Reads, ...]:
    """Any element along the dimension, of any operand, may end up anywhere along it."""
    rank = len(shape_of(record.operands[0]))
    dimension: int = record.attributes.get("dimension", -1)
    return (whole_dimensions(record, (dimension % rank,) if rank else ()),)


def last_dimension(record: OpRecord) -> tuple[Reads, ...]:
    """The last dimension is read whole."""
    return (whole_dimensions(record, (len(shape_of(record.operands[0])) - 1,)),)


def last_two_dimensions(record: OpRecord) -> tuple[Reads, ...]:
    """The matrix in the last two dimensions is read whole."""
    rank = len(shape_of(record.operands[0]))
    return (whole_dimensions(record, (rank - 2, rank - 1)),)


def fft(record: OpRecord) -> tuple[Reads, ...]:
    """The transformed dimensions, the last ones, are read whole."""
    rank = len(shape_of(record.operands[0]))
    return (whole_dimensions(record, range(rank - len(record.attributes["fft_length"]), rank)),)


def triangular_solve(record: OpRecord) -> tuple[Reads, ...]:
    """X of op(A) X = B reads all of A and its column of B; of X op(A) = B, its row."""
    rank = len(shape_of(record.operands[0]))
    rows, columns = rank - 2, rank - 1
    left = record.attributes["left_side"]
    transposed = record.attributes["transpose_a"] in ("TRANSPOSE", "ADJOINT")
    solved, free = (rows, columns) if left else (columns, rows)
    size = shape_of(record.operands[1])[solved]
    domain = domain_of(record, ranges=(size, size))
    batch = tuple(map(dim, range(rows)))
    summed = rows if left != transposed else columns
    unknown = rows + columns - summed
    matrix: dict[int, Expr] = {summed: range_var(0), unknown: range_var(1)}
    given: dict[int, Expr] = {solved: range_var(0), free: dim(free)}
    maps = tuple(domain.reading((*batch, side[rows], side[columns])) for side in (matrix, given))
    return (Reads((0,), maps, frozenset((0, 1)), {(0, unknown): solved}),)


def cholesky_closely(record: OpRecord) -> tuple[Reads, ...]:
    """The maps of A = L L*: L(i, j), i >= j, depends on A(i, 0..j) and on the triangle of A down to row j.

    For an upper triangle, with rows and columns exchanged. The other triangle reads nothing.
    """
    shape = shape_of(record.operands[0])
    rank, size = len(shape), shape[-1]
    batch = tuple(map(dim, range(rank - 2)))
    is_lower = bool(record.attributes.get("lower", False))
    row, column = (dim(rank - 2), dim(rank - 1)) if is_lower else (dim(rank - 1), dim(rank - 2))

    def reading(k: Expr, m: Expr, ranges: tuple[int, ...], *ordered: tuple[Expr, Expr]) -> Reads:
        """Reads (k, m) where the second of each pair is at most the first."""
        inside = tuple(_at_least(*pair, size) for pair in ((row, column), *ordered))
        element = (k, m) if is_lower else (m, k)
        return Reads((0,), (domain_of(record, 0, ranges).reading((*batch, *element), inside),))

    first, second = range_var(0), range_var(1)
    return (
        reading(row, first, (size,), (column, first)),
        reading(first, second, (size, size), (column, first), (first, second)),
    )


def triangular_solve_closely(record: OpRecord) -> tuple[Reads, ...]:
    """The maps of M X = B, M lower: X(i, j) depends on B(0..i, j) and on the triangle of M down to row i.

    M is `a`, transposed for `transpose_a`, and again if X is on the left; an upper M is solved from below.
    With `unit_diagonal` the diagonal of M is not read.
    """
    attributes = record.attributes
    shape = shape_of(record.operands[1])
    rank = len(shape)
    on_left = bool(attributes["left_side"])
    turned = (attributes["transpose_a"] in ("TRANSPOSE", "ADJOINT")) == on_left
    is_lower = bool(attributes["lower"]) != turned
    solved, free = (rank - 2, rank - 1) if on_left else (rank - 1, rank - 2)
    size, batch = shape[solved], tuple(map(dim, range(rank - 2)))
    unknown, k, m = dim(solved), range_var(0), range_var(1)
    least = 1 if attributes.get("unit_diagonal") else 0

    def ordered(later: Expr, earlier: Expr, by: int = 0) -> Constraint:
        return _at_least(later, earlier, size, by) if is_lower else _at_least(earlier, later, size, by)

    domain = domain_of(record, 0, (size, size))
    known = {solved: k, free: dim(free)}
    matrix = domain.reading(
        (*batch, *((m, k) if turned else (k, m))), (ordered(unknown, k), ordered(k, m, least))
    )
    given = domain.reading((*batch, known[rank - 2], known[rank - 1]), (ordered(unknown, k),))
    return (Reads((0,), (matrix, given)),)


def _at_least(more: Expr, less: Expr, size: int, by: int = 0) -> Constraint:
    return more - less, Interval(by, extent(size).high)


def sorted_(read: DimensionRead) -> Treatment:
    """Without another dimension to shard, propagating along the sorted one has no benefit."""
    operand = read.record.operands[0]
    others = [size for d, size in enumerate(operand.shape if operand else ()) if d != read.dimension]
    return replace(by_relation(read), blocked=all(size == 1 for size in others))


def transformed(read: DimensionRead) -> Treatment:
    """Real transforms change the length of the last dimension: it is blocked."""
    return replace(by_relation(read), blocked=read.size != read.result_size)


def adjust_solution(sketch: Sketch, conservative: bool) -> None:
    """Even columns that could be solved independently are kept whole."""
    result = sketch.record.results[0]
    rank = result.rank if result else 0
    for position in (rank - 2, rank - 1):
        sketch.set_type(sketch.atom_at(TensorDim("result", 0, position)), WHOLE)


ROWS = (
    OpSpec("stablehlo.batch_norm_inference", inference),
    OpSpec("stablehlo.batch_norm_training", with_statistics, closer=training, rule_source=RuleSource.UNKNOWN),
    OpSpec("stablehlo.batch_norm_grad", with_statistics, closer=grad, rule_source=RuleSource.UNKNOWN),
    OpSpec(
        "stablehlo.reduce",
        reduce,
        policy=Policy(walk=operand_first(0)),
        repeat=Repeat.EXPENSIVE,
        work=folds,
    ),
    OpSpec("stablehlo.sort", sort, policy=Policy(sorted_), work=comparisons),
    OpSpec("chlo.top_k", last_dimension, rule_source=RuleSource.UNKNOWN),
    OpSpec("stablehlo.cholesky", last_two_dimensions, closer=cholesky_closely, work=factorizations),
    OpSpec(
        "stablehlo.triangular_solve",
        triangular_solve,
        closer=triangular_solve_closely,
        policy=Policy(walk=operand_first(1), adjust=adjust_solution),
        work=solves,
    ),
    OpSpec("stablehlo.fft", fft, policy=Policy(transformed), work=transforms),
)
