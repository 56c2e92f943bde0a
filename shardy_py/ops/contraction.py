"""Products that sum over contracted dimensions: dot_general, dot, and linalg ops that state their own maps.

>>> from shardy_py.ops.record import OpRecord, TensorType
>>> f = TensorType
>>> maps = dot(OpRecord("stablehlo.dot", (f((8, 32)), f((32, 16))), (f((8, 16)),)))[0].operands
>>> [str(m).splitlines()[0] for m in maps]
['(d0, d1)[s0] -> (d0, s0),', '(d0, d1)[s0] -> (s0, d1),']
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.indexing import Expr, IndexMap, Variable, dim, range_var
from shardy_py.ops.reads import Domain, Reads, all_results, domain_of, extents, shape_of
from shardy_py.ops.record import OpRecord
from shardy_py.ops.spec import OpSpec


def _product(
    record: OpRecord,
    lhs_batch: Sequence[int],
    rhs_batch: Sequence[int],
    lhs_contracted: Sequence[int],
    rhs_contracted: Sequence[int],
) -> tuple[Reads, ...]:
    lhs, rhs = (shape_of(operand) for operand in record.operands[:2])
    left: dict[int, Expr] = {d: range_var(i) for i, d in enumerate(lhs_contracted)}
    right: dict[int, Expr] = {d: range_var(i) for i, d in enumerate(rhs_contracted)}
    left.update((d, dim(i)) for i, d in enumerate(lhs_batch))
    right.update((d, dim(i)) for i, d in enumerate(rhs_batch))
    result = len(lhs_batch)
    for free, shape in ((left, lhs), (right, rhs)):
        for position in range(len(shape)):
            if position not in free:
                free[position] = dim(result)
                result += 1
    domain = domain_of(record, ranges=tuple(lhs[d] for d in lhs_contracted))
    maps = tuple(
        domain.reading(tuple(side[i] for i in range(len(shape))))
        for side, shape in ((left, lhs), (right, rhs))
    )
    return (Reads((0,), maps),)


def dot_general(record: OpRecord) -> tuple[Reads, ...]:
    """Result: batch, then free dimensions of the left, then of the right."""
    numbers = record.attributes["dot_dimension_numbers"]
    fields = ("lhs_batching_dimensions", "rhs_batching_dimensions")
    contracted = ("lhs_contracting_dimensions", "rhs_contracting_dimensions")
    return _product(record, *(tuple(numbers.get(field, ())) for field in (*fields, *contracted)))


def dot(record: OpRecord) -> tuple[Reads, ...]:
    """The last dimension of the left with the first of the right."""
    return _product(record, (), (), (len(shape_of(record.operands[0])) - 1,), (0,))


def generic(record: OpRecord) -> tuple[Reads, ...]:
    """Maps as `linalg.generic` states them, from loops to operands, the outputs last.

    A loop that indexes an output becomes the coordinate of the result; the others become range variables.
    An output operand is read at its own element. Outputs must be indexed by distinct loops.
    """
    maps: tuple[IndexMap, ...] = record.attributes["indexing_maps"]
    inputs = len(maps) - len(record.results)
    sizes = _loop_sizes(record, maps)
    groups: list[Reads] = []
    for result in all_results(record):
        renamed: dict[Variable, Expr] = {}
        for position, loop in enumerate(maps[inputs + result].results):
            if not isinstance(loop, Variable) or loop in renamed:
                raise ValueError(f"the output {result} is indexed by {loop}; expected distinct loops")
            renamed[loop] = dim(position)
        rest = [loop for loop in map(dim, range(len(sizes))) if loop not in renamed]
        renamed.update((loop, range_var(i)) for i, loop in enumerate(rest))
        domain = Domain(
            extents(shape_of(record.results[result])), extents(tuple(sizes[loop.index] for loop in rest))
        )
        groups.append(Reads((result,), tuple(domain.reading(m.substituted(renamed).results) for m in maps)))
    return tuple(groups)


def _loop_sizes(record: OpRecord, maps: tuple[IndexMap, ...]) -> list[int]:
    sizes: dict[int, int] = {}
    loops = max((len(m.dims) for m in maps), default=0)
    for index_map, operand in zip(maps, record.operands, strict=True):
        for expression, size in zip(index_map.results, shape_of(operand), strict=True):
            if isinstance(expression, Variable):
                sizes.setdefault(expression.index, size)
        loops = max(loops, *(v.index + 1 for v in index_map.used), 0) if index_map.used else loops
    missing = [i for i in range(loops) if i not in sizes]
    if missing:
        raise ValueError(f"no operand states the size of loop d{missing[0]}")
    return [sizes[i] for i in range(loops)]


ROWS = (
    OpSpec("stablehlo.dot_general", dot_general),
    OpSpec("stablehlo.dot", dot),
    OpSpec("linalg.generic", generic),
    OpSpec("chlo.ragged_dot"),
)
