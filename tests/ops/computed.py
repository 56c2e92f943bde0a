"""Small random ops, each with its result computed by numpy on traces: the oracle of the maps.

A family is a function from a random generator to an `Instance`. Sizes are small: all points can be visited.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from math import prod
from random import Random
from typing import Any

import numpy as np

from shardy_py.indexing import Interval, Variable, runtime
from shardy_py.ops import OpRecord
from tests.ops.examples import op, t
from tests.ops.tracing import Trace, traced, union


@dataclass(frozen=True)
class Instance:
    """An op, what numpy computes of traced operands, and the run-time values that were used."""

    record: OpRecord
    results: tuple[Any, ...]
    runtimes: dict[Variable, Interval] = field(default_factory=dict)


Family = Callable[[Random], Instance]


def shape(random: Random, low: int = 0, high: int = 3, most: int = 4) -> tuple[int, ...]:
    return tuple(random.randint(1, most) for _ in range(random.randint(low, high)))


def instance(name: str, arrays: Any, results: Any, runtimes: Any = (), **attributes: Any) -> Instance:
    kinds = [t(*a.shape) for a in arrays]
    record = op(f"stablehlo.{name}", kinds, [t(*np.shape(r)) for r in results], **attributes)
    known = {runtime(i): Interval(v, v) for i, v in enumerate(runtimes)}
    return Instance(record, tuple(results), known)


def elementwise(random: Random) -> Instance:
    sizes = shape(random)
    arrays = [traced(k, sizes if k == 1 or random.random() < 0.6 else ()) for k in range(3)]
    return instance("clamp", arrays, [arrays[0] + arrays[1] + arrays[2]])


def transpose(random: Random) -> Instance:
    array = traced(0, shape(random))
    order = tuple(random.sample(range(array.ndim), array.ndim))
    return instance("transpose", [array], [array.transpose(order)], permutation=order)


def broadcast_in_dim(random: Random) -> Instance:
    result = shape(random)
    kept = [d for d in range(len(result)) if random.random() < 0.6]
    targets = tuple(random.sample(kept, len(kept)))
    sizes = tuple(1 if random.random() < 0.3 else result[d] for d in targets)
    array = traced(0, sizes)
    placed = [1] * len(result)
    for size, d in zip(sizes, targets, strict=True):
        placed[d] = size
    aligned = array.transpose(np.argsort(targets)) if targets else array
    grown = np.broadcast_to(aligned.reshape(placed), result)
    return instance("broadcast_in_dim", [array], [grown], broadcast_dimensions=targets)


def regrouped(random: Random, count: int) -> tuple[int, ...]:
    """A shape of `count` elements."""
    sizes: list[int] = []
    while count > 1:
        factor = random.choice([f for f in range(2, count + 1) if count % f == 0])
        sizes.append(factor)
        count //= factor
    for _ in range(random.randint(0, 2)):
        sizes.insert(random.randint(0, len(sizes)), 1)
    random.shuffle(sizes)
    return tuple(sizes)


def reshape(random: Random) -> Instance:
    count = random.choice([1, 6, 12, 16, 24, 30, 36, 48, 60])
    array = traced(0, regrouped(random, count))
    return instance("reshape", [array], [array.reshape(regrouped(random, count))])


def bitcast(random: Random) -> Instance:
    count = random.choice([6, 12, 16, 24, 36])
    sizes, target = regrouped(random, count), regrouped(random, count)
    major, result_major = (random.sample(range(len(s)), len(s)) for s in (sizes, target))
    array = traced(0, sizes)
    memory = array.transpose(major).reshape(-1)
    result = memory.reshape([target[d] for d in result_major]).transpose(np.argsort(result_major).astype(int))
    layouts = {"operand_layout": tuple(major[::-1]), "result_layout": tuple(result_major[::-1])}
    return Instance(op("hlo.bitcast", [t(*sizes)], [t(*target)], **layouts), (result,))


def slice_(random: Random) -> Instance:
    sizes = shape(random, most=7)
    parts = [(random.randint(0, n - 1), n, random.randint(1, 3)) for n in sizes]
    starts, limits, strides = [*zip(*parts, strict=True)] if parts else [(), (), ()]
    array = traced(0, sizes)
    result = array[tuple(slice(*part) for part in parts)]
    fields = {"start_indices": starts, "limit_indices": limits, "strides": strides}
    return instance("slice", [array], [result], **fields)


def reverse(random: Random) -> Instance:
    array = traced(0, shape(random))
    turned = tuple(d for d in range(array.ndim) if random.random() < 0.5)
    return instance("reverse", [array], [np.flip(array, turned)], dimensions=turned)


def concatenate(random: Random) -> Instance:
    sizes = list(shape(random, 1))
    along = random.randrange(len(sizes))
    arrays = []
    for number in range(random.randint(1, 3)):
        sizes[along] = random.randint(1, 4)
        arrays.append(traced(number, tuple(sizes)))
    return instance("concatenate", arrays, [np.concatenate(arrays, along)], dimension=along)


def spread(array: Any, low: Any, high: Any, step: Any, fill: Any) -> Any:
    """The array with `step - 1` fillings between elements, and padding around it, negative to cut."""
    sizes = [(n - 1) * s + 1 for n, s in zip(array.shape, step, strict=True)]
    wide = np.full(
        [n + max(a, 0) + max(b, 0) for n, a, b in zip(sizes, low, high, strict=True)], fill, object
    )
    ends = zip(low, sizes, step, strict=True)
    wide[tuple(slice(max(a, 0), max(a, 0) + n, s) for a, n, s in ends)] = array
    cuts = zip(wide.shape, low, high, strict=True)
    return wide[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, a, b in cuts)]


def pad(random: Random) -> Instance:
    array, filling = traced(0, shape(random)), traced(1, ())
    low, high = (tuple(random.randint(-1 if n > 2 else 0, 2) for n in array.shape) for _ in range(2))
    interior = tuple(random.randint(0, 2) for _ in array.shape)
    result = spread(array, low, high, [i + 1 for i in interior], filling[()])
    fields = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": interior}
    return instance("pad", [array, filling], [result], **fields)


def reduce(random: Random) -> Instance:
    array, init = traced(0, shape(random)), traced(1, ())
    folded = tuple(d for d in range(array.ndim) if random.random() < 0.5)
    return instance("reduce", [array, init], [array.sum(axis=folded) + init[()]], dimensions=folded)


def dot_general(random: Random) -> Instance:
    sizes = {letter: random.randint(1, 3) for letter in "abckmn"}
    batch, contracted = ("".join(c for c in part if random.random() < 0.6) for part in ("ab", "ck"))
    left, right = (
        "".join(random.sample(s, len(s))) for s in (batch + contracted + "m", batch + contracted + "n")
    )
    arrays = [traced(k, tuple(sizes[c] for c in side)) for k, side in enumerate((left, right))]
    result = np.empty([sizes[c] for c in batch + "mn"], dtype=object)
    for place in np.ndindex(*result.shape):
        at: dict[str, Any] = dict(zip(batch + "mn", place, strict=True))
        lhs, rhs = (
            a[tuple(at.get(c, slice(None)) for c in side)]
            for a, side in zip(arrays, (left, right), strict=True)
        )
        result[place] = union([*np.ravel(np.array(lhs, object)), *np.ravel(np.array(rhs, object))])
    numbers = {
        f"{name}_{kind}_dimensions": tuple(side.index(c) for c in letters)
        for name, side in (("lhs", left), ("rhs", right))
        for kind, letters in (("batching", batch), ("contracting", contracted))
    }
    return instance("dot_general", arrays, [result], dot_dimension_numbers=numbers)


def windows(random: Random, sizes: tuple[int, ...]) -> dict[str, tuple[Any, ...]] | None:
    """Window attributes by short names, with the result's sizes; None if no window fits."""
    rows: list[tuple[Any, ...]] = []
    for n in sizes:
        size, stride, step, dilation = (random.randint(1, k) for k in (3, 3, 2, 2))
        low, high = random.randint(-1 if n > 2 else 0, 2), random.randint(0, 2)
        room = (n - 1) * step + 1 + low + high - (size - 1) * dilation - 1
        if room < 0:
            return None
        rows.append((size, stride, (low, high), step, dilation, room // stride + 1))
    names = ("size", "stride", "padding", "base", "dilation", "result")
    return dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else None


def window_at(array: Any, place: tuple[int, ...], w: dict[str, tuple[Any, ...]]) -> Any:
    """The window at a place of the result, of an array that is spread already."""
    where = zip(place, w["stride"], w["size"], w["dilation"], strict=True)
    return array[tuple(slice(p * s, p * s + (n - 1) * d + 1, d) for p, s, n, d in where)]


def spread_for(array: Any, w: dict[str, tuple[Any, ...]]) -> Any:
    low, high = zip(*w["padding"], strict=True)
    return spread(array, low, high, w["base"], None)


def reduce_window(random: Random) -> Instance:
    sizes = shape(random, 1, 2, 5)
    w = windows(random, sizes)
    if w is None:
        return reduce_window(random)
    array, init = traced(0, sizes), traced(1, ())
    wide, result = spread_for(array, w), np.empty(w["result"], dtype=object)
    for place in np.ndindex(*w["result"]):
        result[place] = union(window_at(wide, place, w).ravel()) + init[()]
    fields = {
        "window_dimensions": w["size"],
        "window_strides": w["stride"],
        "padding": w["padding"],
        "base_dilations": w["base"],
        "window_dilations": w["dilation"],
    }
    return instance("reduce_window", [array, init], [result], **fields)


def select_and_scatter(random: Random) -> Instance:
    sizes = shape(random, 1, 2, 5)
    w = windows(random, sizes)
    if w is None:
        return select_and_scatter(random)
    w["base"] = w["dilation"] = (1,) * len(sizes)
    w["padding"] = tuple((max(low, 0), high) for low, high in w["padding"])
    rooms = [n + sum(p) - k for n, p, k in zip(sizes, w["padding"], w["size"], strict=True)]
    if min(rooms) < 0:
        return select_and_scatter(random)
    source_sizes = tuple(room // s + 1 for room, s in zip(rooms, w["stride"], strict=True))
    array, source, init = traced(0, sizes), traced(1, source_sizes), traced(2, ())
    result = np.full(sizes, init[()], dtype=object)
    wide, whole = spread_for(array, w), spread_for(np.arange(prod(sizes)).reshape(sizes), w)
    for place in np.ndindex(*source_sizes):
        seen = union(window_at(wide, place, w).ravel()) + source[place]
        for target in window_at(whole, place, w).ravel():
            if target is not None:
                at = np.unravel_index(int(target), sizes)
                result[at] = result[at] + seen
    fields = {"window_dimensions": w["size"], "window_strides": w["stride"], "padding": w["padding"]}
    return instance("select_and_scatter", [array, source, init], [result], **fields)


def convolution(random: Random) -> Instance:
    groups, by_batch = random.randint(1, 2), random.random() < 0.5
    batch, features, out_features = (random.randint(1, 2) for _ in range(3))
    spatial = shape(random, 1, 1, 5)
    w = windows(random, spatial)
    if w is None:
        return convolution(random)
    reversed_ = random.random() < 0.5
    lhs = traced(0, (batch * (groups if by_batch else 1), features * (1 if by_batch else groups), *spatial))
    rhs = traced(1, (features, out_features * groups, *w["size"]))
    result = np.empty((batch, out_features * groups, *w["result"]), dtype=object)
    for b, f, *place in product(*map(range, result.shape)):
        group = f // out_features
        image = lhs[b + group * batch if by_batch else b]
        image = image if by_batch else image[group * features : (group + 1) * features]
        total = Trace()
        for c in range(features):
            seen = window_at(spread_for(image[c], w), tuple(place), w)
            kernel = rhs[c, f][::-1] if reversed_ else rhs[c, f]
            total = total + union(
                x + k for x, k in zip(seen.ravel(), kernel.ravel(), strict=True) if x is not None
            )
        result[(b, f, *place)] = total
    sides = {side: random.sample(range(3), 3) for side in ("input", "kernel", "output")}
    numbers: dict[str, Any] = {}
    for side, order in sides.items():
        first, second = ("input_feature", "output_feature") if side == "kernel" else ("batch", "feature")
        numbers[f"{side}_{first}_dimension"], numbers[f"{side}_{second}_dimension"] = order[:2]
        numbers[f"{side}_spatial_dimensions"] = (order[2],)
    placed = [
        traced(k, tuple(a.shape[order.index(d)] for d in range(3)))
        for k, (a, order) in enumerate(zip((lhs, rhs), list(sides.values())[:2], strict=True))
    ]
    order_of = list(sides.values())
    for place in np.ndindex(*result.shape):
        result[place] = Trace(
            frozenset(
                (k, tuple(at[order_of[k].index(d)] for d in range(3))) for k, at in result[place].sources
            )
        )
    fields = {
        "dimension_numbers": numbers,
        "window_strides": w["stride"],
        "padding": w["padding"],
        "lhs_dilation": w["base"],
        "rhs_dilation": w["dilation"],
        "window_reversal": (reversed_,),
        "feature_group_count": 1 if by_batch else groups,
        "batch_group_count": groups if by_batch else 1,
    }
    return instance("convolution", placed, [result.transpose(np.argsort(order_of[2]))], **fields)


PLAIN: dict[str, Family] = {
    "elementwise": elementwise,
    "transpose": transpose,
    "broadcast_in_dim": broadcast_in_dim,
    "reshape": reshape,
    "bitcast": bitcast,
    "slice": slice_,
    "reverse": reverse,
    "concatenate": concatenate,
    "pad": pad,
    "reduce": reduce,
    "dot_general": dot_general,
    "reduce_window": reduce_window,
    "select_and_scatter": select_and_scatter,
    "convolution": convolution,
}
