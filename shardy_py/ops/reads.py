"""`Reads`: the elements that an op reads, as indexing maps.

A `Reads` describes a group of results: one map an operand, all over the same variables, so that a range
variable in two maps is the same loop (the contracted dimension of a product). Not here: the maps of single
ops (the family modules), sharding rules (`propagation/rules/`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import accumulate

from shardy_py.base.records import dataclass
from shardy_py.indexing import Constraint, Expr, IndexMap, Interval, dim, extent, range_var
from shardy_py.ops.record import Attributes, OpRecord, TensorType


@dataclass(frozen=True)
class Reads:
    """The maps of a group of results with one shape.

    results: numbers of the results of the group.
    operands: the map to each operand; None for an operand that is not a tensor, or not read.
    whole: range variables whose interval is read whole without a reduction: sorted, transformed, looked up.
        The other range variables are folded by an associative operation.
    beside: (operand, dimension) to the result dimension that is the same axis of the data, where the map
        itself carries no coordinate.
    opaque: result dimensions whose coordinate selects a function of all elements read, which the maps do
        not describe.
    """

    results: tuple[int, ...]
    operands: tuple[IndexMap | None, ...]
    whole: frozenset[int] = frozenset()
    beside: Mapping[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    opaque: frozenset[int] = frozenset()


Maps = Callable[[OpRecord], tuple[Reads, ...]]


def names(text: str) -> tuple[str, ...]:
    """Splits a list of names at white space."""
    return tuple(text.split())


def integers(values: Attributes, name: str) -> tuple[int, ...]:
    """An attribute that is a list of integers, () if absent."""
    return tuple(values.get(name) or ())


def integer(values: Attributes, name: str, default: int = 0) -> int:
    """An attribute that is an integer."""
    return values.get(name, default)


def structure(record: OpRecord, name: str) -> Attributes:
    """An attribute with fields."""
    return record.attributes[name]


def shape_of(tensor: TensorType | None) -> tuple[int, ...]:
    """The sizes of a tensor of static shape; () without a tensor."""
    if tensor is None:
        return ()
    sizes = tuple(size for size in tensor.shape if size is not None)
    if len(sizes) != len(tensor.shape):
        raise ValueError(f"a dimension of {tensor} is dynamic")
    return sizes


def extents(shape: tuple[int, ...]) -> tuple[Interval, ...]:
    """The interval of each dimension."""
    return tuple(map(extent, shape))


def coordinates(shape: tuple[int, ...]) -> tuple[Expr, ...]:
    """d0, d1, ...: the coordinates of an element of a tensor of `shape`."""
    return tuple(map(dim, range(len(shape))))


@dataclass(frozen=True)
class Domain:
    """The variables that the maps of a group share; `reading` makes a map over them."""

    dims: tuple[Interval, ...]
    ranges: tuple[Interval, ...] = ()
    runtimes: tuple[Interval, ...] = ()

    def reading(self, results: tuple[Expr, ...], constraints: tuple[Constraint, ...] = ()) -> IndexMap:
        """The map from this domain to `results`."""
        return IndexMap(results, self.dims, self.ranges, self.runtimes, constraints)


def domain_of(record: OpRecord, result: int = 0, ranges: tuple[int, ...] = ()) -> Domain:
    """The domain of a result, with range variables of the given sizes."""
    return Domain(extents(shape_of(record.results[result])), extents(ranges))


def all_results(record: OpRecord) -> tuple[int, ...]:
    """The numbers of all results."""
    return tuple(range(len(record.results)))


def ranges_from(count: int, start: int = 0) -> tuple[Expr, ...]:
    """`count` range variables from number `start` on."""
    return tuple(map(range_var, range(start, start + count)))


def read_whole(domain: Domain, shapes: Sequence[tuple[int, ...]]) -> tuple[IndexMap, ...]:
    """The maps to all elements of operands of these shapes; range variables in the order of dimensions."""
    starts = accumulate(map(len, shapes), initial=0)
    return tuple(
        domain.reading(ranges_from(len(shape), start)) for shape, start in zip(shapes, starts, strict=False)
    )


def everything(record: OpRecord) -> tuple[Reads, ...]:
    """Every element of every result may read all of every operand: for ops without maps."""
    shapes = [shape_of(operand) for operand in record.operands]
    sizes = tuple(size for shape in shapes for size in shape)
    groups: list[Reads] = []
    for result in all_results(record):
        domain = domain_of(record, result, sizes)
        opaque, whole = frozenset(range(len(domain.dims))), frozenset(range(len(sizes)))
        groups.append(Reads((result,), read_whole(domain, shapes), whole, opaque=opaque))
    return tuple(groups)
