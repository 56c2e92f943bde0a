"""Ops that fold dimensions or read them whole: reduce, sort, top_k, cholesky, triangular_solve, fft.

>>> from shardy_py.ops.record import OpRecord, TensorType
>>> f = TensorType
>>> record = OpRecord("stablehlo.reduce", (f((256, 10)), f(())), (f((10,)),), {"dimensions": (0,)})
>>> print(reduce(record)[0].operands[0])
(d0)[s0] -> (s0, d0),
domain:
d0 in [0, 9],
s0 in [0, 255]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from shardy_py.indexing import Expr, dim, range_var
from shardy_py.ops import triangular
from shardy_py.ops.policy import WHOLE, DimensionRead, Policy, Treatment, by_relation, operand_first
from shardy_py.ops.reads import Reads, all_results, coordinates, domain_of, shape_of
from shardy_py.ops.record import OpRecord
from shardy_py.ops.sketch import Sketch, TensorDim
from shardy_py.ops.spec import OpSpec, RuleSource


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


def whole_dimensions(record: OpRecord, dimensions: Iterable[int], operands: int | None = None) -> Reads:
    """All results read the given dimensions of the first operands whole, the rest pointwise.

    The result dimension of the same number is the same axis of the data.
    """
    shape = shape_of(record.operands[0])
    dimensions = sorted(dimensions)
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
    OpSpec("stablehlo.reduce", reduce, policy=Policy(walk=operand_first(0))),
    OpSpec("stablehlo.sort", sort, policy=Policy(sorted_)),
    OpSpec("chlo.top_k", last_dimension, rule_source=RuleSource.UNKNOWN),
    OpSpec("stablehlo.cholesky", last_two_dimensions, closer=triangular.cholesky),
    OpSpec(
        "stablehlo.triangular_solve",
        triangular_solve,
        closer=triangular.triangular_solve,
        policy=Policy(walk=operand_first(1), adjust=adjust_solution),
    ),
    OpSpec("stablehlo.fft", fft, policy=Policy(transformed)),
)
