"""What analyses know beyond the maps that sharding rules derive from: closer maps, declared supersets.

A rule needs to know that a dimension is read whole, an analysis which elements a single element reads.
`CLOSER` holds the maps for the second where they differ, `SUPERSET` the operands of which even those say too
much.

>>> from shardy_py.ops.record import OpRecord, TensorType
>>> record = OpRecord(
...     "stablehlo.all_gather", (TensorType((4,)),), (TensorType((8,)),), {"all_gather_dim": 0}
... )
>>> str(CLOSER["stablehlo.all_gather"](record)[0].operands[0]).splitlines()[0]
'(d0) -> (d0 mod 4),'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from shardy_py.indexing import Constraint, Expr, IndexMap, Interval, dim, extent, range_var, runtime
from shardy_py.ops import custom_calls, dynamic, passing, triangular
from shardy_py.ops.reads import (
    Domain,
    Maps,
    Reads,
    all_results,
    coordinates,
    domain_of,
    everything,
    extents,
    integer,
    names,
    shape_of,
)
from shardy_py.ops.record import OpRecord
from shardy_py.ops.windowed import convolution, select_and_scatter, windows_of


def _for_each(maps: Callable[[OpRecord, int], IndexMap]) -> Maps:
    """Result k reads operand k, by `maps(record, k)`."""

    def found(record: OpRecord) -> tuple[Reads, ...]:
        count = len(record.operands)
        return tuple(
            Reads((k,), tuple(maps(record, k) if operand == k else None for operand in range(count)))
            for k in all_results(record)
        )

    return found


def _gathered(record: OpRecord, number: int) -> IndexMap:
    """Device k holds part k along the dimension."""
    shape = shape_of(record.operands[number])
    along = integer(record.attributes, "all_gather_dim")
    point = list(coordinates(shape))
    point[along] = point[along] % shape[along]
    return domain_of(record, number).reading(tuple(point))


def _scattered(record: OpRecord, number: int) -> IndexMap:
    """Device rt0 of its group keeps part rt0 along the dimension."""
    shape, result = shape_of(record.operands[number]), shape_of(record.results[number])
    along = integer(record.attributes, "scatter_dimension")
    point = list(coordinates(result))
    point[along] = point[along] + runtime(0) * result[along]
    return Domain(extents(result), (), extents((shape[along] // result[along],))).reading(tuple(point))


def _exchanged(record: OpRecord, number: int) -> IndexMap:
    """Device rt0 receives part rt0 of each device's tensor, and joins the parts."""
    shape, attributes = shape_of(record.operands[number]), record.attributes
    split, joined = integer(attributes, "split_dimension"), integer(attributes, "concat_dimension")
    parts = integer(attributes, "split_count", 1)
    size = shape[split] // parts
    point = list(coordinates(shape))
    received = size if split == joined else shape[joined]
    point[joined] = point[joined] % received
    point[split] = point[split] + runtime(0) * size
    domain = Domain(extents(shape_of(record.results[number])), (), extents((parts,)))
    return domain.reading(tuple(point))


def batch_norm_training(record: OpRecord) -> tuple[Reads, ...]:
    """Mean and variance read their feature of the operand; the output also its scale and offset."""
    feature, element, value = _feature_maps(record)
    statistics = Domain(feature.dims[:1], feature.ranges).reading(feature.results)
    return (
        Reads((0,), (element, value, value)),
        Reads(all_results(record)[1:], (statistics, None, None)),
    )


def batch_norm_grad(record: OpRecord) -> tuple[Reads, ...]:
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
    others = [d for d in range(len(shape)) if d != along]
    loops: dict[int, Expr] = {d: range_var(number) for number, d in enumerate(others)}
    ranges = extents(tuple(shape[d] for d in others))

    def all_of(feature: Expr) -> tuple[Expr, ...]:
        return tuple(loops.get(d, feature) for d in range(len(shape)))

    whole = Domain(extents(shape), ranges)
    return (
        Domain((extent(shape[along]),), ranges).reading(all_of(dim(0))),
        whole.reading(all_of(dim(along))),
        Domain(extents(shape)).reading((dim(along),)),
    )


def _lone(feature: IndexMap) -> IndexMap:
    return Domain(feature.dims).reading((dim(0),))


def selected(record: OpRecord) -> tuple[Reads, ...]:
    """An element reads the windows that cover it, no neighbour that shares no window with it."""
    (reads,) = select_and_scatter(record)
    compared, gathered = reads.operands[:2]
    assert compared is not None
    assert gathered is not None
    source = shape_of(record.operands[1])
    sizes = tuple(record.attributes.get("window_dimensions") or (1,) * len(source))
    inside: list[Constraint] = []
    for i, window in enumerate(windows_of(record.attributes, sizes, "", "")):
        place = dim(i) + window.low - range_var(i)
        inside.append((place, Interval(0, (source[i] - 1) * window.stride)))
        inside.append((place % window.stride, Interval(0, 0)))
        inside.append((range_var(i) + range_var(len(sizes) + i), extent(window.size)))
    domain = Domain(compared.dims, compared.ranges)
    closer = domain.reading(compared.results, (*compared.constraints, *inside))
    return (Reads((0,), (closer, *reads.operands[1:])),)


def convolved(record: OpRecord) -> tuple[Reads, ...]:
    """An element of the kernel that meets padding is not read."""
    (reads,) = convolution(record)
    image, kernel = reads.operands
    assert image is not None
    assert kernel is not None
    return (Reads((0,), (image, replace(kernel, constraints=image.constraints))),)


_CALL = "stablehlo.custom_call@"
_AS_SHARDED = (
    *custom_calls.MOVED,
    *custom_calls.MATRIX,
    *names("Qr QrDecompositionBlock ProductOfElementaryHouseholderReflectors ApproxTopK PartialReduce"),
)

CLOSER: dict[str, Maps] = {
    "stablehlo.all_gather": _for_each(_gathered),
    "stablehlo.all_to_all": _for_each(_exchanged),
    "stablehlo.reduce_scatter": _for_each(_scattered),
    **{
        f"stablehlo.{name}": passing.each_its_own
        for name in names(
            "all_reduce collective_broadcast collective_permute collective_reduce cross-replica-sum"
        )
    },
    "stablehlo.batch_norm_grad": batch_norm_grad,
    "stablehlo.batch_norm_training": batch_norm_training,
    "stablehlo.cholesky": triangular.cholesky,
    "stablehlo.triangular_solve": triangular.triangular_solve,
    "stablehlo.convolution": convolved,
    "stablehlo.select_and_scatter": selected,
    # Their maps are pointwise for sharding only.
    **dict.fromkeys((_CALL + target for target in custom_calls.MOVED), everything),
    **passing.CLOSER,
    **dynamic.CLOSER,
}

SUPERSET: dict[str, Callable[[OpRecord], frozenset[int]]] = {
    # Where the operand lies the padding value is not read; where the update lies, the updated tensor.
    "stablehlo.pad": lambda record: frozenset((1,)),
    "stablehlo.dynamic_update_slice": lambda record: frozenset((0,)),
    # What a custom call computes is not stated: its maps are those of its sharding.
    **dict.fromkeys(
        (_CALL + target for target in _AS_SHARDED), lambda record: frozenset(range(len(record.operands)))
    ),
}
