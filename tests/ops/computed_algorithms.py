"""More families for the oracle: algorithms, ops that look up at run time, collectives.

Transforms are perturbed numerically: an input is read by the outputs that change with it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from tests.ops.computed import Family, Instance, instance, regrouped, shape
from tests.ops.examples import op, t
from tests.ops.tracing import Trace, traced, union


def cholesky(random: Random) -> Instance:
    n = random.randint(1, 5)
    array, is_lower = traced(0, (*shape(random, 0, 1, 2), n, n)), random.random() < 0.5
    given = array if is_lower else np.swapaxes(array, -1, -2)
    factor = np.zeros(array.shape, dtype=object)
    for batch in np.ndindex(*array.shape[:-2]):
        a, low = given[batch], factor[batch]
        for j in range(n):
            for i in range(j, n):
                done = union(low[i, k] * low[j, k] for k in range(j))
                low[i, j] = a[i, j] - done if i == j else (a[i, j] - done) / low[j, j]
    result = factor if is_lower else np.swapaxes(factor, -1, -2)
    return instance("cholesky", [array], [result], lower=is_lower)


def triangular_solve(random: Random) -> Instance:
    batch, n, k = shape(random, 0, 1, 2), random.randint(1, 4), random.randint(1, 3)
    on_left, is_lower, is_unit = (random.random() < 0.5 for _ in range(3))
    turned = random.choice(["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
    a, b = traced(0, (*batch, n, n)), traced(1, (*batch, n, k) if on_left else (*batch, k, n))
    matrix = np.swapaxes(a, -1, -2) if turned != "NO_TRANSPOSE" else a
    effective_lower = is_lower == (turned == "NO_TRANSPOSE")
    given = b
    if not on_left:
        matrix, given = np.swapaxes(matrix, -1, -2), np.swapaxes(b, -1, -2)
        effective_lower = not effective_lower
    solution = np.empty(given.shape, dtype=object)
    rows = range(n) if effective_lower else range(n - 1, -1, -1)
    for place in np.ndindex(*batch):
        m, x = matrix[place], solution[place]
        for done, i in enumerate(rows):
            for j in range(k):
                value = given[place][i, j] - union(m[i, r] * x[r, j] for r in rows[:done])
                x[i, j] = value if is_unit else value / m[i, i]
    result = solution if on_left else np.swapaxes(solution, -1, -2)
    flags = {"left_side": on_left, "lower": is_lower, "unit_diagonal": is_unit, "transpose_a": turned}
    return instance("triangular_solve", [a, b], [result], **flags)


def perturbed(compute: Callable[[Any], Any], values: Any) -> Any:
    """Traces of what changes in the result when one input changes."""
    before = np.asarray(compute(values))
    found = np.full(before.shape, Trace(), dtype=object)
    for place in np.ndindex(*values.shape):
        for change in (1000.5, -1000.5):
            changed = values.copy()
            changed[place] += change
            differs = np.abs(np.asarray(compute(changed)) - before) > 1e-6
            found[differs] += Trace(frozenset([(0, place)]))
    return found


def fft(random: Random) -> Instance:
    batch, length = shape(random, 0, 1, 2), shape(random, 1, 2, 4)
    kind = random.choice(["FFT", "IFFT", "RFFT"])
    axes = tuple(range(len(batch), len(batch) + len(length)))
    run = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn}[kind]
    values = np.random.default_rng(random.randrange(1 << 30)).normal(size=(*batch, *length))
    result = perturbed(lambda array: run(array, axes=axes), values)
    record = op("stablehlo.fft", [t(*values.shape)], [t(*result.shape)], fft_type=kind, fft_length=length)
    return Instance(record, (result,))


def sort(random: Random) -> Instance:
    sizes = shape(random, 1, 2)
    along = random.randrange(len(sizes))
    values = np.random.default_rng(random.randrange(1 << 30)).normal(size=sizes)
    result = perturbed(lambda array: np.sort(array, axis=along), values)
    record = op("stablehlo.sort", [t(*sizes)], [t(*sizes)], dimension=along)
    return Instance(record, (result,))


def batch_norm(random: Random) -> Instance:
    sizes = shape(random, 1, 3, 3)
    feature = random.randrange(len(sizes))
    others = tuple(d for d in range(len(sizes)) if d != feature)
    values = traced(0, sizes)

    def spread(array: Any) -> Any:
        return np.reshape(array, [n if d == feature else 1 for d, n in enumerate(sizes)])

    def parameter(number: int) -> Any:
        return traced(number, (sizes[feature],))

    which = random.choice(["inference", "training", "grad"])
    if which == "inference":
        arrays = [values, *map(parameter, range(1, 5))]
        results = [values + sum(map(spread, arrays[1:]))]
    elif which == "training":
        arrays = [values, parameter(1), parameter(2)]
        mean = values.sum(axis=others)
        results = [values + spread(mean) + spread(arrays[1]) + spread(arrays[2]), mean, mean]
    else:
        arrays = [values, *map(parameter, range(1, 4)), traced(4, sizes)]
        _, scale, mean, variance, gradient = arrays
        centered = gradient * (values - spread(mean)) / spread(variance)
        of_scale, of_offset = centered.sum(axis=others), gradient.sum(axis=others)
        results = [centered + spread(of_scale + of_offset) * spread(scale), of_scale, of_offset]
    return instance(f"batch_norm_{which}", arrays, results, feature_index=feature)


def dynamic_slice(random: Random) -> Instance:
    array = traced(0, shape(random))
    sizes = tuple(random.randint(1, n) for n in array.shape)
    starts = [random.randint(0, n - k) for n, k in zip(array.shape, sizes, strict=True)]
    offsets = [traced(1 + i, ()) for i in range(len(starts))]
    part = array[tuple(slice(s, s + n) for s, n in zip(starts, sizes, strict=True))]
    return instance("dynamic_slice", [array, *offsets], [part + union(o[()] for o in offsets)], starts)


def dynamic_update_slice(random: Random) -> Instance:
    array = traced(0, shape(random))
    update = traced(1, tuple(random.randint(1, n) for n in array.shape))
    starts = [random.randint(0, n - k) for n, k in zip(array.shape, update.shape, strict=True)]
    offsets = [traced(2 + i, ()) for i in range(len(starts))]
    result = array.copy()
    result[tuple(slice(s, s + n) for s, n in zip(starts, update.shape, strict=True))] = update
    result = result + union(o[()] for o in offsets)
    return instance("dynamic_update_slice", [array, update, *offsets], [result], starts)


def gather(random: Random) -> Instance:
    """One index vector, of which the run-time values are known."""
    array = traced(0, shape(random, 1, 3))
    rank = array.ndim
    sizes = tuple(random.randint(1, n) for n in array.shape)
    looked_up = tuple(random.sample(range(rank), random.randint(1, rank)))
    dropped = tuple(d for d in range(rank) if sizes[d] == 1 and random.random() < 0.5)
    starts = [random.randint(0, array.shape[d] - sizes[d]) for d in looked_up]
    begin = dict(zip(looked_up, starts, strict=True))
    part = array[tuple(slice(begin.get(d, 0), begin.get(d, 0) + sizes[d]) for d in range(rank))]
    indices = traced(1, (1, len(looked_up)))
    result = part.reshape([1, *(n for d, n in enumerate(sizes) if d not in dropped)]) + union(indices[0])
    numbers = {
        "offset_dims": tuple(range(1, result.ndim)),
        "collapsed_slice_dims": dropped,
        "start_index_map": looked_up,
        "index_vector_dim": 1,
    }
    return instance(
        "gather", [array, indices], [result], starts, dimension_numbers=numbers, slice_sizes=sizes
    )


def scatter(random: Random) -> Instance:
    """One window of updates, its place known."""
    array = traced(0, shape(random, 1, 3))
    rank = array.ndim
    looked_up = tuple(random.sample(range(rank), random.randint(1, rank)))
    inserted = tuple(d for d in looked_up if random.random() < 0.5)
    sizes = tuple(1 if d in inserted else random.randint(1, n) for d, n in enumerate(array.shape))
    starts = [random.randint(0, array.shape[d] - sizes[d]) for d in looked_up]
    begin = dict(zip(looked_up, starts, strict=True))
    indices = traced(1, (1, len(looked_up)))
    updates = traced(2, (1, *(n for d, n in enumerate(sizes) if d not in inserted)))
    result = array + union(indices[0])
    result[tuple(slice(begin.get(d, 0), begin.get(d, 0) + sizes[d]) for d in range(rank))] += updates.reshape(
        sizes
    )
    numbers = {
        "update_window_dims": tuple(range(1, updates.ndim)),
        "inserted_window_dims": inserted,
        "scatter_dims_to_operand_dims": looked_up,
        "index_vector_dim": 1,
    }
    return instance("scatter", [array, indices, updates], [result], starts, scatter_dimension_numbers=numbers)


def collective(random: Random) -> Instance:
    """As device `own` of some sees it; what other devices hold counts as the same element."""
    devices, sizes = random.randint(1, 3), list(shape(random, 1, 2, 3))
    own, d, e = random.randrange(devices), random.randrange(len(sizes)), random.randrange(len(sizes))
    which = random.choice(["all_gather", "reduce_scatter", "all_to_all", "all_reduce"])
    if which in ("all_gather", "all_reduce"):
        array = traced(0, tuple(sizes))
        result = np.concatenate([array] * devices, d) if which == "all_gather" else array
        return instance(which, [array], [result], all_gather_dim=d)
    sizes[d] *= devices
    array = traced(0, tuple(sizes))
    part = np.split(array, devices, d)[own]
    if which == "reduce_scatter":
        return instance(which, [array], [part], [own], scatter_dimension=d)
    fields = {"split_dimension": d, "concat_dimension": e, "split_count": devices}
    return instance(which, [array], [np.concatenate([part] * devices, e)], [own], **fields)


def einsum(random: Random) -> Instance:
    size = {letter: random.randint(1, 3) for letter in "abc"}
    left, right = ("".join(random.sample("abc", random.randint(1, 3))) for _ in range(2))
    output = "".join(c for c in sorted({*left, *right}) if random.random() < 0.5)
    arrays = [traced(k, tuple(size[c] for c in side)) for k, side in enumerate((left, right))]
    result = np.empty([size[c] for c in output], dtype=object)
    for place in np.ndindex(*result.shape):
        at: dict[str, Any] = dict(zip(output, place, strict=True))
        parts = [
            np.asarray(a[tuple(at.get(c, slice(None)) for c in side)], object).ravel()
            for a, side in zip(arrays, (left, right), strict=True)
        ]
        result[place] = union([*parts[0], *parts[1]])
    return instance("einsum", arrays, [result], einsum_config=f"{left},{right}->{output}")


def torch_index_select(random: Random) -> Instance:
    array = traced(0, shape(random, 1, 3))
    along, chosen = random.randrange(array.ndim), random.randrange(4)
    chosen %= array.shape[along]
    index = traced(1, (random.randint(1, 3),))
    taken = np.take(array, [chosen] * index.shape[0], axis=along)
    result = taken + index.reshape([-1 if d == along else 1 for d in range(array.ndim)])
    return instance("torch_index_select", [array, index], [result], [chosen], dim=along, batch_dims=0)


def dynamic_reshape(random: Random) -> Instance:
    count = random.choice([6, 12, 16, 24])
    array, target = traced(0, regrouped(random, count)), regrouped(random, count)
    sizes = traced(1, (len(target),))
    return instance("dynamic_reshape", [array, sizes], [array.reshape(target) + union(sizes)])


def barrier(random: Random) -> Instance:
    arrays = [traced(k, shape(random)) for k in range(random.randint(1, 3))]
    return instance("optimization_barrier", arrays, arrays)


def bitcast_convert(random: Random) -> Instance:
    sizes, parts = shape(random, 0, 2), random.randint(2, 4)
    if random.random() < 0.5:
        array = traced(0, (*sizes, parts))
        return instance("bitcast_convert", [array], [array.sum(axis=-1)])
    array = traced(0, sizes)
    return instance("bitcast_convert", [array], [np.stack([array] * parts, axis=-1)])


def reduce_variadic(random: Random) -> Instance:
    sizes = shape(random, 1, 3)
    arrays, inits = [traced(k, sizes) for k in range(2)], [traced(2 + k, ()) for k in range(2)]
    folded = tuple(d for d in range(len(sizes)) if random.random() < 0.6)
    total = sum(a.sum(axis=folded) for a in arrays) + inits[0][()] + inits[1][()]
    return instance("reduce", [*arrays, *inits], [total, total], dimensions=folded)


ALGORITHMS: dict[str, Family] = {
    "cholesky": cholesky,
    "triangular_solve": triangular_solve,
    "fft": fft,
    "sort": sort,
    "batch_norm": batch_norm,
    "dynamic_slice": dynamic_slice,
    "dynamic_update_slice": dynamic_update_slice,
    "gather": gather,
    "scatter": scatter,
    "collective": collective,
    "einsum": einsum,
    "torch_index_select": torch_index_select,
    "dynamic_reshape": dynamic_reshape,
    "optimization_barrier": barrier,
    "bitcast_convert": bitcast_convert,
    "reduce_variadic": reduce_variadic,
}
