"""Products that sum over contracted dimensions: dot_general, dot, einsum, linalg.generic."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from shardy_py.indexing import Expr, IndexMap, Variable, dim, range_var
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.ops.reads import Domain, Reads, all_results, domain_of, extents, integers, shape_of, structure
from shardy_py.ops.record import OpRecord
from shardy_py.ops.spec import Family, Linear, OpSpec
from shardy_py.ops.work import Work, products_of


def _product(
    record: OpRecord, terms: Sequence[Sequence[str]], output: Sequence[str], summed: Sequence[str] = ()
) -> tuple[Reads, ...]:
    """Operands whose dimensions have labels: those of the result are its coordinates, others are summed over.

    summed: the order of the latter, if not that in which they occur.
    """
    sizes: dict[str, int] = {}
    for term, operand in zip(terms, record.operands, strict=False):
        sizes |= dict(zip(term, shape_of(operand), strict=True))
    loops = summed or [label for label in sizes if label not in output]
    point: dict[str, Expr] = {label: dim(i) for i, label in enumerate(output)}
    point |= {label: range_var(i) for i, label in enumerate(loops)}
    domain = domain_of(record, ranges=tuple(sizes[label] for label in loops))
    return (Reads((0,), tuple(domain.reading(tuple(point[x] for x in term)) for term in terms)),)


def dot_general(record: OpRecord) -> tuple[Reads, ...]:
    """Result: batch, then free dimensions of the left, then of the right."""
    numbers = DotDimensions.of(record.attributes)
    terms: list[list[str]] = []
    for side, operand in enumerate(record.operands[:2]):
        labels = {d: f"batch{i}" for i, d in enumerate(numbers.batching[side])}
        labels |= {d: f"summed{i}" for i, d in enumerate(numbers.contracting[side])}
        terms.append([labels.get(d, f"{side} {d}") for d in range(len(shape_of(operand)))])
    loops = [f"summed{i}" for i in range(len(numbers.contracting[0]))]
    batch = [f"batch{i}" for i in range(len(numbers.batching[0]))]
    free = [label for label in terms[0] + terms[1] if label not in loops and label not in batch]
    return _product(record, terms, batch + free, loops)


def dot(record: OpRecord) -> tuple[Reads, ...]:
    """The last dimension of the left with the first of the right."""
    ranks = [len(shape_of(operand)) for operand in record.operands[:2]]
    left, right = [f"lhs{i}" for i in range(ranks[0] - 1)], [f"rhs{i}" for i in range(1, ranks[1])]
    return _product(record, ([*left, "summed"], ["summed", *right]), left + right)


def einsum(record: OpRecord) -> tuple[Reads, ...]:
    """The letters of the result are its coordinates, the others are summed over."""
    inputs, output = record.attributes["einsum_config"].replace(" ", "").split("->")
    terms = inputs.split(",")
    if len(terms) != len(record.operands) or not all(term.isalpha() or not term for term in terms):
        raise ValueError(f"einsum with {inputs!r}: letters expected for each operand")
    return _product(record, terms, output)


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


def ragged_products(record: OpRecord) -> Work:
    """A multiplication and an addition of each element of the left with the columns of its group's matrix.

    XLA counts fewer: it drops a dimension of the result for that of the groups, which the result may lack.
    """
    numbers = structure(record, "ragged_dot_dimension_numbers")
    roles = ("rhs_batching_dimensions", "rhs_contracting_dimensions", "rhs_group_dimensions")
    shared = {d for role in roles for d in integers(numbers, role)}
    lhs, rhs = (shape_of(operand) for operand in record.operands[:2])
    columns = (size for d, size in enumerate(rhs) if d not in shared)
    return Work(2 * prod(lhs) * prod(columns), is_product=True)


_PRODUCT = Family.PRODUCT
ROWS = (
    OpSpec(
        "stablehlo.dot_general",
        dot_general,
        linear=Linear.ONE,
        work=products_of(dot_general),
        family=_PRODUCT,
    ),
    OpSpec("stablehlo.dot", dot, linear=Linear.ONE, work=products_of(dot), family=_PRODUCT),
    OpSpec("stablehlo.einsum", closer=einsum, work=products_of(einsum), family=_PRODUCT),
    OpSpec("stablehlo.unary_einsum", closer=einsum),
    OpSpec("linalg.generic", generic),
    OpSpec("chlo.ragged_dot", work=ragged_products, family=_PRODUCT),
)
