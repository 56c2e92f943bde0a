"""Ops that read at run-time offsets (dynamic slices and updates, gather, scatter), or have run-time sizes.

Offsets are clamped so that the slice stays inside: they range over [0, size - slice size]. Ops with run-time
sizes have no sharding rule; their maps are for static types, where a dynamic reshape is a reshape that also
reads its operand of sizes.
"""

from __future__ import annotations

from dataclasses import replace

from shardy_py.base.behaviours import Behaviour
from shardy_py.indexing import Constraint, Expr, IndexMap, Interval, constant, dim, range_var, runtime
from shardy_py.ops.dimensions import GatherDimensions, ScatterDimensions
from shardy_py.ops.movement import broadcast_in_dim, reshape
from shardy_py.ops.policy import (
    MOVED_ALONG,
    PASS,
    REDUCED,
    WHOLE,
    DimensionRead,
    Policy,
    Relation,
    Treatment,
    by_relation,
    operand_first,
)
from shardy_py.ops.reads import (
    Domain,
    Maps,
    Reads,
    all_results,
    coordinates,
    domain_of,
    extents,
    integer,
    read_whole,
    shape_of,
)
from shardy_py.ops.record import OpRecord
from shardy_py.ops.spec import Family, OpSpec, Repeat, Role, Storage
from shardy_py.ops.work import look_ups, updates


def dynamic_slice(record: OpRecord) -> tuple[Reads, ...]:
    """Result d reads d + rt."""
    shape, sizes = shape_of(record.operands[0]), shape_of(record.results[0])
    offsets = tuple(Interval(0, size - part) for size, part in zip(shape, sizes, strict=True))
    domain = Domain(extents(sizes), (), offsets)
    point = tuple(dim(i) + runtime(i) for i in range(len(shape)))
    scalars = (domain.reading(()),) * (len(record.operands) - 1)
    return (Reads((0,), (domain.reading(point), *scalars)),)


def dynamic_update_slice(record: OpRecord) -> tuple[Reads, ...]:
    """Result d is operand d, or the update at d - rt where that is in bounds."""
    shape, sizes = shape_of(record.operands[0]), shape_of(record.operands[1])
    offsets = tuple(Interval(0, size - part) for size, part in zip(shape, sizes, strict=True))
    domain = Domain(extents(shape), (), offsets)
    point = tuple(dim(i) - runtime(i) for i in range(len(shape)))
    inside = tuple(zip(point, extents(sizes), strict=True))
    scalars = (domain.reading(()),) * (len(record.operands) - 2)
    maps = (domain.reading(coordinates(shape)), domain.reading(point, inside), *scalars)
    return (Reads((0,), maps),)


def gather(record: OpRecord) -> tuple[Reads, ...]:
    """Result (batch, offset) reads, at `offset`, the slice that starts at the index vector of `batch`."""
    numbers = GatherDimensions.of(record.attributes)
    operand, indices, result = (shape_of(t) for t in (*record.operands[:2], record.results[0]))
    sizes: tuple[int, ...] = record.attributes["slice_sizes"]
    batch = tuple(map(dim, numbers.outer(len(result))))
    starts = _Starts(numbers.index_map, operand, sizes)
    vector = _IndexVector(indices, numbers.vector, batch)
    batching, offsets = dict(numbers.batched), dict(numbers.windowed(len(operand)))
    point: list[Expr] = []
    for position in range(len(operand)):
        if position in batching:
            point.append(vector.at[batching[position]])
        else:
            start = starts[position]
            point.append(dim(offsets[position]) + start if position in offsets else start)
    domain = Domain(extents(result), vector.ranges, starts.runtimes)
    maps = (domain.reading(tuple(point)), domain.reading(vector.point))
    return (Reads((0,), maps, frozenset(range(len(vector.ranges)))),)


class _Starts:
    """Run-time starts of slices: an expression for each dimension in `dims`, and its interval.

    >>> _Starts((1,), (4, 258), (4, 32)).runtimes
    (Interval(low=0, high=226),)
    """

    def __init__(self, dims: tuple[int, ...], shape: tuple[int, ...], sizes: tuple[int, ...]) -> None:
        self.of = {d: runtime(i) for i, d in enumerate(dims)}
        self.runtimes = tuple(Interval(0, shape[d] - sizes[d]) for d in dims)

    def __getitem__(self, dimension: int) -> Expr:
        return self.of.get(dimension, constant(0))


class _IndexVector:
    """The position of the index vector of a batch coordinate in the tensor of indices.

    first: the number of the range variable that runs along the vector.
    """

    def __init__(
        self, indices: tuple[int, ...], vector_dim: int, batch: tuple[Expr, ...], first: int = 0
    ) -> None:
        self.at = dict(zip((d for d in range(len(indices)) if d != vector_dim), batch, strict=True))
        self.point = tuple(self.at.get(d, range_var(first)) for d in range(len(indices)))
        self.ranges = extents(indices[vector_dim : vector_dim + 1])


def scatter(record: OpRecord) -> tuple[Reads, ...]:
    """Result d is input d combined with the updates whose window covers d, over all batches of updates.

    Batches run over range variables; along explicit batching dimensions, they are coordinates of d.
    A batch's update is read whole if its combination with the others is not order-free
    (attribute `context.combiner`).
    """
    numbers = ScatterDimensions.of(record.attributes)
    inputs = (len(record.operands) - 1) // 2
    shape, indices, update = (shape_of(record.operands[i]) for i in (0, inputs, inputs + 1))
    batching = {place: position for position, place in numbers.batched}
    places = [d for d in range(len(indices)) if d != numbers.vector]
    batch_dims = numbers.outer(len(update))
    batch: list[Expr] = []
    ranges: list[int] = []
    for place, position in zip(places, batch_dims, strict=True):
        if place in batching:
            batch.append(dim(batching[place]))
        else:
            batch.append(range_var(len(ranges)))
            ranges.append(update[position])
    windowed = dict(numbers.windowed(len(shape)))
    sizes = tuple(update[windowed[d]] if d in windowed else 1 for d in range(len(shape)))
    starts = _Starts(numbers.index_map, shape, sizes)
    vector = _IndexVector(indices, numbers.vector, tuple(batch), len(ranges))
    domain = Domain(extents(shape), extents(tuple(ranges)) + vector.ranges, starts.runtimes)
    from_window = {u: dim(d) - starts[d] for d, u in windowed.items()}
    in_batch = dict(zip(batch_dims, batch, strict=True))
    point = tuple(from_window[u] if u in from_window else in_batch[u] for u in range(len(update)))
    inside: list[Constraint] = [(from_window[u], Interval(0, update[u] - 1)) for u in numbers.offsets]
    inside += [(dim(d) - starts[d], Interval(0, 0)) for d in sorted(numbers.collapsed)]
    maps: tuple[IndexMap, ...] = (
        *(domain.reading(coordinates(shape)),) * inputs,
        domain.reading(vector.point),
        *(domain.reading(point, tuple(inside)),) * inputs,
    )
    folds = bool(record.attributes.get("context.combiner"))
    whole = frozenset(range(len(ranges) if folds else 0, len(ranges) + len(vector.ranges)))
    return (Reads(all_results(record), maps, whole),)


def updated(read: DimensionRead) -> Treatment:
    """The updated tensor stays sharded, each device writes its part; the update must be whole, unless its
    offsets are constants, or is moved, as the tensor is."""
    if read.relation is not Relation.RUNTIME:
        return by_relation(read)
    if Behaviour.UPDATE_MOVES.holds:
        return Treatment(False, MOVED_ALONG, result_type=MOVED_ALONG)
    return Treatment(False, PASS if read.record.attributes.get("context.constant_indices") else WHOLE)


def scattered(read: DimensionRead) -> Treatment:
    """A window smaller than the dimension that it updates: both must be whole."""
    if read.relation in (Relation.RUNTIME, Relation.MOVED):
        return Treatment(False, WHOLE, result_type=WHOLE)
    return by_relation(read)


def gathered(read: DimensionRead) -> Treatment:
    """A single element along a dimension is read on its device and summed over all devices with zeros."""
    if read.operand != 0:
        return by_relation(read)
    if read.result_dim is None:
        return Treatment(False, WHOLE if read.size == 1 else REDUCED)
    if read.result_size == 1:
        return Treatment(False, REDUCED, result_type=WHOLE)
    return Treatment(True, WHOLE, True, read.size)


def _with_sizes(static: Maps) -> Maps:
    """The maps of the static op, with the last operand, a vector of sizes, read whole."""

    def maps(record: OpRecord) -> tuple[Reads, ...]:
        (reads,) = static(replace(record, operands=record.operands[:-1]))
        sizes = shape_of(record.operands[-1])
        return (Reads((0,), (*reads.operands, *read_whole(domain_of(record, 0, sizes), (sizes,)))),)

    return maps


def dynamic_iota(record: OpRecord) -> tuple[Reads, ...]:
    """Only the sizes are read."""
    sizes = shape_of(record.operands[0])
    return (Reads((0,), read_whole(domain_of(record, 0, sizes), (sizes,))),)


def torch_index_select(record: OpRecord) -> tuple[Reads, ...]:
    """Along `dim`, the operand is read at the index at the result's coordinates."""
    shape, index = shape_of(record.operands[0]), shape_of(record.operands[1])
    along, batches = integer(record.attributes, "dim"), integer(record.attributes, "batch_dims")
    looked_up = len(index) - batches
    result = coordinates(shape_of(record.results[0]))
    domain = Domain(extents(shape_of(record.results[0])), (), (Interval(0, shape[along] - 1),))
    point = (*result[:along], runtime(0), *result[along + looked_up :])
    where = (*result[:batches], *result[along : along + looked_up])
    return (Reads((0,), (domain.reading(point), domain.reading(where))),)


_INDEXED = Family.INDEXED
ROWS = (
    OpSpec("stablehlo.dynamic_broadcast_in_dim", closer=_with_sizes(broadcast_in_dim), family=_INDEXED),
    OpSpec("stablehlo.dynamic_iota", closer=dynamic_iota, family=_INDEXED),
    OpSpec("stablehlo.dynamic_reshape", closer=_with_sizes(reshape), family=_INDEXED),
    OpSpec("stablehlo.torch_index_select", closer=torch_index_select, family=_INDEXED),
    *(
        OpSpec(f"stablehlo.{name}", family=_INDEXED)
        for name in ("dynamic_gather", "dynamic_pad", "real_dynamic_slice")
    ),
    OpSpec("stablehlo.dynamic_slice", dynamic_slice, role=Role.SLICE, moves_elements=True, family=_INDEXED),
    OpSpec(
        "stablehlo.dynamic_update_slice",
        dynamic_update_slice,
        # Where the update lies, the updated tensor is not read.
        superset=lambda record: frozenset((0,)),
        role=Role.SLICE,
        policy=Policy(updated, carrier_first=True),
        context="context.constant_indices",
        storage=Storage.IN_PLACE,
        family=_INDEXED,
    ),
    OpSpec(
        "stablehlo.gather",
        gather,
        policy=Policy(gathered),
        repeat=Repeat.EXPENSIVE,
        work=look_ups,
        family=_INDEXED,
    ),
    OpSpec(
        "stablehlo.scatter",
        scatter,
        policy=Policy(scattered, operand_first(lambda record: len(record.operands) - 1), carrier_first=True),
        context="context.combiner",
        storage=Storage.IN_PLACE,
        work=updates,
        family=_INDEXED,
    ),
)
