"""Random ops, a Hypothesis strategy for each family: valid StableHLO with small static shapes."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from hypothesis import strategies as st

from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.reads import names

Draw = Callable[[st.SearchStrategy[Any]], Any]
SIZES = st.integers(1, 8)
F32, SCALAR = "f32", TensorType(())


def tensor(*sizes: int, element: str = F32) -> TensorType:
    return TensorType(tuple(sizes), element)


def shapes(low: int = 0, high: int = 4, sizes: st.SearchStrategy[int] = SIZES) -> st.SearchStrategy[Any]:
    return st.lists(sizes, min_size=low, max_size=high).map(tuple)


def op(name: str, operands: Any, results: Any, **attributes: Any) -> OpRecord:
    return OpRecord(f"stablehlo.{name}", tuple(operands), tuple(results), attributes)


@st.composite
def elementwise(draw: Draw) -> OpRecord:
    kind = tensor(*draw(shapes(sizes=st.integers(0, 8))))
    name = draw(st.sampled_from(["abs", "tanh", "add", "power", "select", "clamp", "compare", "convert"]))
    if name == "select":
        pred = tensor(*(kind.shape if draw(st.booleans()) else ()), element="i1")
        return op(name, (pred, kind, kind), (kind,))
    if name == "clamp":
        low, high = (kind if draw(st.booleans()) else SCALAR for _ in range(2))
        return op(name, (low, kind, high), (kind,))
    if name == "compare":
        result = TensorType(kind.shape, "i1")
        return op(name, (kind, kind), (result,), comparison_direction="LT")
    if name == "convert":
        return op(name, (kind,), (TensorType(kind.shape, "bf16"),))
    return op(name, (kind,) * (2 if name in ("add", "power") else 1), (kind,))


@st.composite
def transpose(draw: Draw) -> OpRecord:
    shape = draw(shapes())
    permutation = tuple(draw(st.permutations(range(len(shape)))))
    result = tensor(*(shape[p] for p in permutation))
    return op("transpose", (tensor(*shape),), (result,), permutation=permutation)


@st.composite
def broadcast_in_dim(draw: Draw) -> OpRecord:
    result = draw(shapes())
    targets = [d for d in range(len(result)) if draw(st.booleans())]
    targets = tuple(draw(st.permutations(targets)))
    shape = tuple(1 if draw(st.booleans()) else result[d] for d in targets)
    return op("broadcast_in_dim", (tensor(*shape),), (tensor(*result),), broadcast_dimensions=targets)


@st.composite
def reshape(draw: Draw) -> OpRecord:
    primes = draw(st.lists(st.sampled_from([1, 1, 2, 2, 2, 3, 5, 7]), max_size=6))
    shapes_ = [_grouped(draw, draw(st.permutations(primes))) for _ in range(2)]
    return op("reshape", (tensor(*shapes_[0]),), (tensor(*shapes_[1]),))


def _grouped(draw: Draw, factors: list[int]) -> tuple[int, ...]:
    sizes: list[int] = []
    for factor in factors:
        if sizes and draw(st.booleans()):
            sizes[-1] *= factor
        else:
            sizes.append(factor)
        if not draw(st.integers(0, 5)):
            sizes.append(1)
    return tuple(sizes)


@st.composite
def slice_(draw: Draw) -> OpRecord:
    shape = draw(shapes())
    strides = tuple(draw(st.integers(1, 3)) for _ in shape)
    starts = tuple(draw(st.integers(0, size - 1)) if draw(st.booleans()) else 0 for size in shape)
    ends = tuple(
        draw(st.integers(start, size)) if draw(st.booleans()) else size
        for start, size in zip(starts, shape, strict=True)
    )
    result = (-(-(e - s) // k) for s, e, k in zip(starts, ends, strides, strict=True))
    indices = {"start_indices": starts, "limit_indices": ends, "strides": strides}
    return op("slice", (tensor(*shape),), (tensor(*result),), **indices)


@st.composite
def reverse(draw: Draw) -> OpRecord:
    shape = draw(shapes())
    dimensions = tuple(d for d in range(len(shape)) if draw(st.booleans()))
    return op("reverse", (tensor(*shape),), (tensor(*shape),), dimensions=dimensions)


@st.composite
def pad(draw: Draw) -> OpRecord:
    shape = draw(shapes())
    edges = st.sampled_from([0, 0, 0, 1, 2, -1])
    low, high = (tuple(draw(edges) for _ in shape) for _ in range(2))
    interior = tuple(draw(st.sampled_from([0, 0, 1, 2])) for _ in shape)
    result = tuple(
        a + b + size + (size - 1) * i for a, b, size, i in zip(low, high, shape, interior, strict=True)
    )
    if min(result, default=0) < 0:
        return draw(pad())
    padding = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": interior}
    return op("pad", (tensor(*shape), SCALAR), (tensor(*result),), **padding)


@st.composite
def concatenate(draw: Draw) -> OpRecord:
    shape = list(draw(shapes(1)))
    along = draw(st.integers(0, len(shape) - 1))
    parts = draw(st.lists(SIZES, min_size=1, max_size=3))
    operands = [tensor(*shape[:along], part, *shape[along + 1 :]) for part in parts]
    result = tensor(*shape[:along], sum(parts), *shape[along + 1 :])
    slices = draw(st.booleans())
    return op("concatenate", operands, (result,), dimension=along, **{"context.concatenates_slices": slices})


@st.composite
def bitcast_convert(draw: Draw) -> OpRecord:
    shape = draw(shapes())
    wide, narrow = tensor(*shape, element="i32"), tensor(*shape, 4, element="i8")
    equal = tensor(*shape)
    operand, result = draw(st.sampled_from([(wide, narrow), (narrow, wide), (wide, equal)]))
    return op("bitcast_convert", (operand,), (result,))


@st.composite
def dot_general(draw: Draw) -> OpRecord:
    batch, contracted, lhs_free, rhs_free = (draw(shapes(0, 2)) for _ in range(4))
    sides: list[tuple[tuple[int, ...], list[int], list[int]]] = []
    for free in (lhs_free, rhs_free):
        labelled = [
            *(("b", i, size) for i, size in enumerate(batch)),
            *(("c", i, size) for i, size in enumerate(contracted)),
            *(("f", i, size) for i, size in enumerate(free)),
        ]
        order = draw(st.permutations(labelled))
        # Free dimensions keep their order; batch and contracted ones stand anywhere.
        frees = iter(free)
        order = [(kind, i, next(frees) if kind == "f" else size) for kind, i, size in order]
        place = {(kind, i): d for d, (kind, i, _) in enumerate(order) if kind != "f"}
        sides.append(
            (
                tuple(size for _, _, size in order),
                [place["b", i] for i in range(len(batch))],
                [place["c", i] for i in range(len(contracted))],
            )
        )
    (lhs, lhs_b, lhs_c), (rhs, rhs_b, rhs_c) = sides
    numbers = {
        "lhs_batching_dimensions": tuple(lhs_b),
        "rhs_batching_dimensions": tuple(rhs_b),
        "lhs_contracting_dimensions": tuple(lhs_c),
        "rhs_contracting_dimensions": tuple(rhs_c),
    }
    result = tensor(*batch, *lhs_free, *rhs_free)
    return op("dot_general", (tensor(*lhs), tensor(*rhs)), (result,), dot_dimension_numbers=numbers)


@st.composite
def dot(draw: Draw) -> OpRecord:
    k, lhs, rhs = draw(SIZES), draw(shapes(0, 1)), draw(shapes(0, 1))
    return op("dot", (tensor(*lhs, k), tensor(k, *rhs)), (tensor(*lhs, *rhs),))


@st.composite
def reduce(draw: Draw) -> OpRecord:
    shape = draw(shapes())
    dimensions = tuple(d for d in range(len(shape)) if draw(st.booleans()))
    result = tensor(*(size for d, size in enumerate(shape) if d not in dimensions))
    count = draw(st.integers(1, 2))
    return op("reduce", [tensor(*shape)] * count + [SCALAR] * count, [result] * count, dimensions=dimensions)


@st.composite
def sort(draw: Draw) -> OpRecord:
    shape = draw(shapes(1, sizes=st.sampled_from([1, 1, 2, 4])))
    dimension = draw(st.integers(0, len(shape) - 1))
    kinds = [tensor(*shape)] * draw(st.integers(1, 2))
    return op("sort", kinds, kinds, dimension=dimension, is_stable=True)


@st.composite
def linear_algebra(draw: Draw) -> OpRecord:
    batch, n, k = draw(shapes(0, 2)), draw(SIZES), draw(SIZES)
    matrix = tensor(*batch, n, n)
    if draw(st.booleans()):
        return op("cholesky", (matrix,), (matrix,), lower=draw(st.booleans()))
    left = draw(st.booleans())
    given = tensor(*batch, n, k) if left else tensor(*batch, k, n)
    transposed = draw(st.sampled_from(["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]))
    flags = {"left_side": left, "lower": True, "unit_diagonal": False, "transpose_a": transposed}
    return op("triangular_solve", (matrix, given), (given,), **flags)


@st.composite
def fft(draw: Draw) -> OpRecord:
    batch, length = draw(shapes(0, 2)), draw(shapes(1, 3))
    kind = draw(st.sampled_from(["FFT", "IFFT", "RFFT", "IRFFT"]))
    half = (*length[:-1], length[-1] // 2 + 1)
    real, spectrum = tensor(*batch, *length), tensor(*batch, *half, element="complex<f32>")
    full = tensor(*batch, *length, element="complex<f32>")
    operand, result = {"RFFT": (real, spectrum), "IRFFT": (spectrum, real)}.get(kind, (full, full))
    return op("fft", (operand,), (result,), fft_type=kind, fft_length=length)


@st.composite
def batch_norm(draw: Draw) -> OpRecord:
    shape = draw(shapes(1))
    feature = draw(st.integers(0, len(shape) - 1))
    operands = [tensor(*shape), *[tensor(shape[feature])] * 4]
    return op("batch_norm_inference", operands, (tensor(*shape),), feature_index=feature, epsilon=0.001)


@st.composite
def reduce_window(draw: Draw) -> OpRecord:
    shape = draw(shapes(1, 3))
    window = [_window(draw, size) for size in shape]
    size, stride, padding, base, dilation, result = (tuple(part) for part in zip(*window, strict=True))
    if min(result) < 0:
        return draw(reduce_window())
    count = draw(st.integers(1, 2))
    attributes: dict[str, Any] = {"window_dimensions": size}
    optional = {
        "window_strides": stride,
        "padding": padding,
        "base_dilations": base,
        "window_dilations": dilation,
    }
    neutral = {"padding": ((0, 0),) * len(shape)}
    for name, value in optional.items():
        if value != neutral.get(name, (1,) * len(shape)) or draw(st.booleans()):
            attributes[name] = value
    operands = [tensor(*shape)] * count + [SCALAR] * count
    return op("reduce_window", operands, [tensor(*result)] * count, **attributes)


def _window(draw: Draw, size: int, largest: int = 3) -> tuple[Any, ...]:
    if draw(st.booleans()):
        return (1, 1, (0, 0), 1, 1, size)
    window, stride = draw(st.integers(1, largest)), draw(st.integers(1, 3))
    low, high = (draw(st.sampled_from([0, 0, 1, 2, -1])) for _ in range(2))
    base, dilation = (draw(st.sampled_from([1, 1, 2])) for _ in range(2))
    padded = low + high + (size - 1) * base + 1
    spread = (window - 1) * dilation + 1
    result = (padded - spread) // stride + 1 if padded >= spread else -1
    return (window, stride, (low, high), base, dilation, result)


@st.composite
def select_and_scatter(draw: Draw) -> OpRecord:
    shape = draw(shapes(1, 3))
    windows: list[tuple[int, int, tuple[int, int], int]] = []
    for size in shape:
        window, stride = draw(st.integers(1, min(2, size))), draw(st.integers(1, 2))
        low, high = (draw(st.sampled_from([0, 0, 1])) if window > 1 else 0 for _ in range(2))
        windows.append((window, stride, (low, high), (size + low + high - window) // stride + 1))
    size, stride, padding, source = (tuple(part) for part in zip(*windows, strict=True))
    attributes = {"window_dimensions": size, "window_strides": stride, "padding": padding}
    return op(
        "select_and_scatter",
        (tensor(*shape), tensor(*source), SCALAR),
        (tensor(*shape),),
        **attributes,
    )


@st.composite
def convolution(draw: Draw) -> OpRecord:
    rank = draw(st.integers(0, 2))
    groups = draw(st.integers(1, 3))
    by_batch = draw(st.booleans())
    feature_groups, batch_groups = (1, groups) if by_batch else (groups, 1)
    batch, features, out_features = draw(SIZES), draw(st.integers(1, 4)), draw(st.integers(1, 4)) * groups
    spatial = draw(st.lists(st.integers(1, 16), min_size=rank, max_size=rank))
    windows = [_window(draw, size, 6) for size in spatial]
    if any(w[-1] < 0 for w in windows):
        return draw(convolution())
    places = {side: draw(st.permutations(range(rank + 2))) for side in ("input", "kernel", "output")}
    fields = {"input": ("batch", "feature"), "kernel": ("input_feature", "output_feature")}
    numbers: dict[str, Any] = {}
    sizes = {
        "input": (batch * batch_groups, features * feature_groups, *spatial),
        "kernel": (features, out_features, *(w[0] for w in windows)),
        "output": (batch, out_features, *(w[-1] for w in windows)),
    }
    kinds: list[TensorType] = []
    for side, order in places.items():
        first, second = fields.get(side, fields["input"])
        numbers[f"{side}_{first}_dimension"], numbers[f"{side}_{second}_dimension"] = order[:2]
        numbers[f"{side}_spatial_dimensions"] = tuple(order[2:])
        placed = dict(zip(order, sizes[side], strict=True))
        kinds.append(tensor(*(placed[d] for d in range(rank + 2))))
    _, strides, padding, base, dilation, _ = (
        (tuple(p) for p in zip(*windows, strict=True)) if rank else ((),) * 6
    )
    attributes: dict[str, Any] = {
        "dimension_numbers": numbers,
        "feature_group_count": feature_groups,
        "batch_group_count": batch_groups,
    }
    if rank:
        attributes |= {
            "window_strides": strides,
            "padding": padding,
            "lhs_dilation": base,
            "rhs_dilation": dilation,
        }
    return op("convolution", kinds[:2], kinds[2:], **attributes)


@st.composite
def dynamic_slices(draw: Draw) -> OpRecord:
    shape = draw(shapes())
    part = tuple(size if draw(st.booleans()) else draw(st.integers(1, size)) for size in shape)
    offsets = (tensor(element="i32"),) * len(shape)
    if draw(st.booleans()):
        return op("dynamic_slice", (tensor(*shape), *offsets), (tensor(*part),), slice_sizes=part)
    constant = draw(st.booleans()) or not shape
    operands = (tensor(*shape), tensor(*part), *offsets)
    context = {"context.constant_indices": constant}
    return op("dynamic_update_slice", operands, (tensor(*shape),), **context)


@st.composite
def gather_or_scatter(draw: Draw) -> OpRecord:
    shape = draw(shapes(1, 4, st.integers(1, 4)))
    kinds = [draw(st.sampled_from(["window", "collapsed", "batching"])) for _ in shape]
    batching = [d for d, kind in enumerate(kinds) if kind == "batching"]
    collapsed = tuple(d for d, kind in enumerate(kinds) if kind == "collapsed")
    windowed = [d for d, kind in enumerate(kinds) if kind == "window"]
    sizes = tuple(
        draw(st.sampled_from([1, size, size])) if d in windowed else 1 for d, size in enumerate(shape)
    )
    looked_up = draw(st.permutations([d for d in range(len(shape)) if d not in batching]))
    looked_up = tuple(looked_up[: draw(st.integers(0, len(looked_up)))])
    batch = draw(
        st.permutations([*((shape[d], d) for d in batching), *((s, None) for s in draw(shapes(0, 2)))])
    )
    implicit = len(looked_up) == 1 and draw(st.booleans())
    vector = len(batch) if implicit else draw(st.integers(0, len(batch)))
    indices = [size for size, _ in batch]
    if not implicit:
        indices.insert(vector, len(looked_up))
    place = {d: i + (not implicit and i >= vector) for i, (_, d) in enumerate(batch) if d is not None}
    offset_dims = draw(st.permutations(range(len(batch) + len(windowed))))[: len(windowed)]
    offset_dims = tuple(sorted(offset_dims))
    windows, batches = iter([sizes[d] for d in windowed]), iter([size for size, _ in batch])
    result = tensor(
        *(next(windows) if d in offset_dims else next(batches) for d in range(len(batch) + len(windowed)))
    )
    operand, starts = tensor(*shape), tensor(*indices, element="i64")
    batching_places = tuple(place[d] for d in batching)
    if draw(st.booleans()):
        numbers = {
            "offset_dims": offset_dims,
            "collapsed_slice_dims": collapsed,
            "operand_batching_dims": tuple(batching),
            "start_indices_batching_dims": batching_places,
            "start_index_map": looked_up,
            "index_vector_dim": vector,
        }
        return op("gather", (operand, starts), (result,), dimension_numbers=numbers, slice_sizes=sizes)
    numbers = {
        "update_window_dims": offset_dims,
        "inserted_window_dims": collapsed,
        "input_batching_dims": tuple(batching),
        "scatter_indices_batching_dims": batching_places,
        "scatter_dims_to_operand_dims": looked_up,
        "index_vector_dim": vector,
    }
    count = draw(st.integers(1, 2))
    combiner = draw(st.sampled_from([None, "stablehlo.add", "stablehlo.maximum"]))
    return op(
        "scatter",
        [operand] * count + [starts] + [result] * count,
        [operand] * count,
        scatter_dimension_numbers=numbers,
        **{"context.combiner": combiner},
    )


@st.composite
def collective(draw: Draw) -> OpRecord:
    shape = list(draw(shapes(1)))
    d, e = (draw(st.integers(0, len(shape) - 1)) for _ in range(2))
    count = draw(st.integers(1, 2))
    same = [tensor(*shape)] * count
    groups = {"replica_groups": ((0, 1),)}
    name = draw(st.sampled_from(["reduce", "permute", "broadcast", "gather", "to_all", "scatter"]))
    cut = [*shape[:d], shape[d] * 2, *shape[d + 1 :]]
    match name:
        case "reduce":
            return op("all_reduce", same, same, **groups)
        case "permute":
            return op("collective_permute", same[:1], same[:1], source_target_pairs=((0, 1),))
        case "broadcast":
            return op("collective_broadcast", same[:1], same[:1], **groups)
        case "gather":
            return op("all_gather", same, [tensor(*cut)] * count, all_gather_dim=d, **groups)
        case "scatter":
            return op("reduce_scatter", (tensor(*cut),), same[:1], scatter_dimension=d, **groups)
        case _:
            joined = list(cut)
            joined[d] //= 2
            joined[e] *= 2
            split = {"split_dimension": d, "concat_dimension": e, "split_count": 2}
            return op("all_to_all", [tensor(*cut)] * count, [tensor(*joined)] * count, **split, **groups)


@st.composite
def generator(draw: Draw) -> OpRecord:
    state = tensor(draw(st.integers(2, 3)), element="ui64")
    result = tensor(*draw(shapes()), element="ui32")
    return op("rng_bit_generator", (state,), (state, result), rng_algorithm="DEFAULT")


POINTWISE_TARGETS = names(
    """annotate_device_placement Cholesky CompactWyHelper InspectSharding InvertDiagBlocksLowerTriangular
    InvertDiagBlocksUpperTriangular LayoutConstraint mhlo.erf MoveToDevice MoveToHost X64SplitHigh
    X64SplitLow xla.megascale.provide_metadata"""
)
MOVING_TARGETS = ["MultiPad", "RotateRight", "MultiRotate", "MultiSlice", "Wrap"]


@st.composite
def custom_call(draw: Draw) -> OpRecord:
    batch, n, m, k = draw(shapes(0, 2)), draw(SIZES), draw(SIZES), draw(SIZES)
    matrix, vector = tensor(*batch, n, m), tensor(*batch, min(n, m))
    kind = draw(
        st.sampled_from(["pointwise", "move", "eigh", "qr", "product", "topk", "approx", "x64", "none"])
    )
    operands: list[TensorType] = [matrix]
    results: list[TensorType] = [matrix]
    context: dict[str, Any] = {}
    match kind:
        case "pointwise":
            target = draw(st.sampled_from(POINTWISE_TARGETS))
        case "move":
            target = "_SPMDInternalOp_" + draw(st.sampled_from(MOVING_TARGETS))
            results = [tensor(*batch, n, k)] * draw(st.integers(1, 2))
        case "eigh":
            target, square = "Eigh", tensor(*batch, n, n)
            operands, results = [square], [square, tensor(*batch, n)]
        case "qr":
            target, results = draw(st.sampled_from(["Qr", "QrDecompositionBlock"])), [matrix, vector]
        case "product":
            target, operands = "ProductOfElementaryHouseholderReflectors", [matrix, tensor(*batch, k)]
        case "topk":
            target = "mhlo.topk"
            best = tensor(*batch, n, draw(st.integers(1, m)))
            results = [best, TensorType(best.shape, "i32")]
        case "approx":
            target = draw(st.sampled_from(["ApproxTopK", "PartialReduce"]))
            operands = [matrix, TensorType(matrix.shape, "i32"), SCALAR, tensor(element="i32")]
            best = tensor(*batch, n, draw(st.integers(1, m)))
            results = [best, TensorType(best.shape, "i32")]
        case "x64":
            feeds = draw(st.booleans())
            half = tensor(2, element="ui32") if feeds else matrix
            target, operands, results = "X64Combine", [half, half], [TensorType(half.shape, "ui64")]
            context = {"context.feeds_rng_bit_generator": feeds}
        case _:
            target = draw(st.sampled_from(["sdy_testonly", "tpu_custom_call", "nobody.knows"]))
    return op("custom_call", operands, results, call_target_name=target, **context)


FAMILIES: dict[str, st.SearchStrategy[OpRecord]] = {
    "elementwise": elementwise(),
    "transpose": transpose(),
    "broadcast_in_dim": broadcast_in_dim(),
    "reshape": reshape(),
    "slice": slice_(),
    "reverse": reverse(),
    "pad": pad(),
    "concatenate": concatenate(),
    "bitcast_convert": bitcast_convert(),
    "dot_general": dot_general(),
    "dot": dot(),
    "reduce": reduce(),
    "sort": sort(),
    "linear_algebra": linear_algebra(),
    "fft": fft(),
    "batch_norm": batch_norm(),
    "reduce_window": reduce_window(),
    "select_and_scatter": select_and_scatter(),
    "convolution": convolution(),
    "dynamic_slices": dynamic_slices(),
    "gather_or_scatter": gather_or_scatter(),
    "collective": collective(),
    "generator": generator(),
    "custom_call": custom_call(),
}


def elements_of(record: OpRecord) -> int:
    """The number of elements of the largest tensor."""
    return max((prod(s or 0 for s in t.shape) for t in (*record.operands, *record.results) if t), default=0)
