"""Random ops that move elements, as planned and as XLA partitions them.

`python -m tests.xla.spmd.moves --sample 100 [--kind pad] [--uneven]` prints the share of equal bytes
for each kind of op, and the ops that differ.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from math import prod
from random import Random

from shardy_py.base import releases
from shardy_py.ops.dimensions import Window
from shardy_py.xla.spmd.dynamic_slices import dynamically_sliced, dynamically_updated
from shardy_py.xla.spmd.movement import (
    broadcast,
    elementwise,
    replicating,
    reversed_along,
    transposed,
    with_whole_dimensions,
)
from shardy_py.xla.spmd.reshapes import reshaped
from shardy_py.xla.spmd.sorts import sorted_along
from shardy_py.xla.spmd.windows import padded, selected_and_scattered, sliced, windows_reduced
from tests.xla.spmd.compiled import collectives_of, installed, sent_by_kind
from tests.xla.spmd.indexed_ops import random_gather, random_scatter
from tests.xla.spmd.ops import Op, Shape, Sharded, tensor
from tests.xla.spmd.reshards import MESHES, random_sharding

Part = tuple[int, int, int]
"""Start, limit and stride of a slice along a dimension."""


def random_parts(random: Random, shape: Shape) -> list[Part]:
    """What a slice takes of each dimension."""
    starts = [random.choice([0, 0, random.randrange(size)]) for size in shape]
    limits = [
        random.choice([size, random.randint(start + 1, size)])
        for start, size in zip(starts, shape, strict=True)
    ]
    strides = [random.choice([1, 1, 2]) for _ in shape]
    return [*zip(starts, limits, strides, strict=True)]


def _slice(random: Random, shape: Shape) -> Op:
    return slice_of(shape, random_parts(random, shape))


def slice_of(shape: Shape, parts: Sequence[Part]) -> Op:
    """A slice."""
    starts, limits, strides = zip(*parts, strict=True)
    result = tuple(-(-(limit - start) // stride) for start, limit, stride in parts)
    ranges = ", ".join(f"{start}:{limit}:{stride}" for start, limit, stride in parts)
    text = f"stablehlo.slice %a [{ranges}] {{ATTRIBUTES}} : ({tensor(shape)}) -> {tensor(result)}"
    return Op((shape,), result, text, lambda v, t: sliced(v[0], starts, limits, strides, t))


def _pad(random: Random, shape: Shape) -> Op:
    interior = [random.choice([0, 0, 0, 1]) for _ in shape]
    # XLA stops at a failed check where negative padding meets dilation.
    edges = [[0, 0, 1, 3] if between else [0, 0, 1, 3, -1] for between in interior]
    low, high = ([random.choice(choices) for choices in edges] for _ in range(2))
    sizes = zip(shape, low, high, interior, strict=True)
    result = tuple(1 + (size - 1) * (between + 1) + a + b for size, a, b, between in sizes)
    if min(result) < 1:
        return _pad(random, shape)
    zero = "stablehlo.constant dense<0.0> : tensor<f32>"
    text = f"stablehlo.pad %a, %zero, low = {low}, high = {high}, interior = {interior} {{ATTRIBUTES}} : "
    text += f"({tensor(shape)}, tensor<f32>) -> {tensor(result)}"
    text = f"{text}\n%constant zero = {zero}"
    return Op((shape,), result, text, lambda v, t: padded(v[0], low, high, interior, t))


def _concatenate(random: Random, shape: Shape) -> Op:
    dimension = random.randrange(len(shape))
    other = (*shape[:dimension], random.choice([8, 16, shape[dimension]]), *shape[dimension + 1 :])
    size = shape[dimension] + other[dimension]
    result = (*shape[:dimension], size, *shape[dimension + 1 :])
    text = f"stablehlo.concatenate %a, %b, dim = {dimension} {{ATTRIBUTES}} : "
    text += f"({tensor(shape)}, {tensor(other)}) -> {tensor(result)}"
    return Op((shape, other), result, text, lambda v, t: with_whole_dimensions(v, [dimension], result, t))


def _reverse(random: Random, shape: Shape) -> Op:
    dimensions = sorted(random.sample(range(len(shape)), k=random.randint(1, len(shape))))
    text = f"stablehlo.reverse %a, dims = {dimensions} {{ATTRIBUTES}} : {tensor(shape)}"
    return Op((shape,), shape, text, lambda v, t: reversed_along(v[0], dimensions, t))


def _transpose(random: Random, shape: Shape) -> Op:
    order = random.sample(range(len(shape)), k=len(shape))
    result = tuple(shape[i] for i in order)
    text = f"stablehlo.transpose %a, dims = {order} {{ATTRIBUTES}} : ({tensor(shape)}) -> {tensor(result)}"
    return Op((shape,), result, text, lambda v, t: transposed(v[0], order, t))


def _broadcast(random: Random, shape: Shape) -> Op:
    dimensions = sorted(random.sample(range(len(shape)), k=random.randint(1, len(shape))))
    operand = tuple(shape[i] for i in dimensions)
    text = f"stablehlo.broadcast_in_dim %a, dims = {dimensions} {{ATTRIBUTES}} : "
    text += f"({tensor(operand)}) -> {tensor(shape)}"
    return Op((operand,), shape, text, lambda v, t: broadcast(v[0], dimensions, shape, t))


def _add(random: Random, shape: Shape) -> Op:
    text = f"stablehlo.add %a, %b {{ATTRIBUTES}} : {tensor(shape)}"
    return Op((shape, shape), shape, text, lambda v, t: elementwise(v, "f32", t))


def _dynamic_slice(random: Random, shape: Shape) -> Op:
    sizes = tuple(random.choice([size, 1, random.randint(1, size)]) for size in shape)
    indices = ", ".join(f"%i{i}" for i in range(len(shape)))
    text = f"stablehlo.dynamic_slice %a, {indices}, sizes = {list(sizes)} {{ATTRIBUTES}} : "
    text += f"({tensor(shape)}{', tensor<i32>' * len(shape)}) -> {tensor(sizes)}"
    text += _index_text(len(shape), [None] * len(shape))
    return Op((shape,), sizes, text, lambda v, t: dynamically_sliced(v[0], sizes, t))


def _dynamic_update_slice(random: Random, shape: Shape) -> Op:
    sizes = tuple(random.choice([size, 1, random.randint(1, size)]) for size in shape)
    if sizes == shape:  # simplified before it is partitioned
        return _dynamic_update_slice(random, shape)
    starts = [random.choice([None, random.randint(0, s - u)]) for s, u in zip(shape, sizes, strict=True)]
    indices = ", ".join(f"%i{i}" for i in range(len(shape)))
    text = f"stablehlo.dynamic_update_slice %a, %b, {indices} {{ATTRIBUTES}} : "
    text += f"({tensor(shape)}, {tensor(sizes)}{', tensor<i32>' * len(shape)}) -> {tensor(shape)}"
    text += _index_text(len(shape), starts)
    return Op((shape, sizes), shape, text, lambda v, t: dynamically_updated(v[0], v[1], starts, t))


def _index_text(rank: int, starts: Sequence[int | None]) -> str:
    """Scalars that are constant, or not: the results of a custom call."""
    lines = ""
    for i in range(rank):
        if starts[i] is None:
            lines += f"\n%constant i{i} = stablehlo.custom_call @an_index() {{has_side_effect = false}}"
            lines += " : () -> tensor<i32>"
        else:
            lines += f"\n%constant i{i} = stablehlo.constant dense<{starts[i]}> : tensor<i32>"
    return lines


def random_window(random: Random, shape: Shape) -> list[Window]:
    """A window along each dimension."""
    return [
        random.choice([
            Window(),
            Window(size=3, low=1, high=1),
            Window(size=2, stride=2),
            Window(size=3, dilation=2, low=2),
            Window(size=size, low=size - 1),
            Window(size=2, base_dilation=2, low=1),
        ])
        for size in shape
    ]  # fmt: skip


def _reduce_window(random: Random, shape: Shape) -> Op:
    return windows_of(shape, random_window(random, shape))


def windows_of(shape: Shape, window: Sequence[Window]) -> Op:
    """A sum over windows."""
    result = tuple(w.count(size) for w, size in zip(window, shape, strict=True))
    arrays = {
        "window_dimensions": [w.size for w in window],
        "window_strides": [w.stride for w in window],
        "base_dilations": [w.base_dilation for w in window],
        "window_dilations": [w.dilation for w in window],
    }
    attributes = ", ".join(f"{k} = array<i64: {', '.join(map(str, v))}>" for k, v in arrays.items())
    padding = [[w.low, w.high] for w in window]
    text = '"stablehlo.reduce_window"(%a, %zero) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n'
    text += "%sum = stablehlo.add %x, %y : tensor<f32>\nstablehlo.return %sum : tensor<f32>\n"
    text += f"}}) {{{attributes}, padding = dense<{padding}> : tensor<{len(shape)}x2xi64>, ATTRIBUTES}} : "
    text += f"({tensor(shape)}, tensor<f32>) -> {tensor(result)}"
    text += "\n%constant zero = stablehlo.constant dense<0.0> : tensor<f32>"
    return Op((shape,), result, text, lambda v, t: windows_reduced(v, window, result, [t])[0])


def _reshape(random: Random, shape: Shape) -> Op:
    count = prod(shape)
    sizes: list[int] = []
    while count > 1 and len(sizes) < 3:
        sizes.append(random.choice([d for d in range(1, count + 1) if count % d == 0]))
        count //= sizes[-1]
    result = (*sizes, count) if count > 1 or not sizes else tuple(sizes)
    if result == shape:
        return _reshape(random, shape)
    text = f"stablehlo.reshape %a {{ATTRIBUTES}} : ({tensor(shape)}) -> {tensor(result)}"
    return Op((shape,), result, text, lambda v, t: reshaped(v[0], result, t))


def _select_and_scatter(random: Random, shape: Shape) -> Op:
    window = [
        random.choice([
            Window(),
            Window(size=2, stride=2),
            Window(size=3, stride=2, low=0, high=1),
            Window(size=3, low=1, high=1),
            Window(size=2, stride=3),
        ])
        for _ in shape
    ]  # fmt: skip
    source = tuple(w.count(size) for w, size in zip(window, shape, strict=True))
    sizes, strides = ([w.size for w in window], [w.stride for w in window])
    padding = [[w.low, w.high] for w in window]
    text = '"stablehlo.select_and_scatter"(%a, %b, %zero) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n'
    text += "%more = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    text += "stablehlo.return %more : tensor<i1>\n}, {\n^bb0(%v: tensor<f32>, %w: tensor<f32>):\n"
    text += "%sum = stablehlo.add %v, %w : tensor<f32>\nstablehlo.return %sum : tensor<f32>\n}) "
    text += f"{{window_dimensions = array<i64: {', '.join(map(str, sizes))}>, "
    text += f"window_strides = array<i64: {', '.join(map(str, strides))}>, "
    text += f"padding = dense<{padding}> : tensor<{len(shape)}x2xi64>, ATTRIBUTES}} : "
    text += f"({tensor(shape)}, {tensor(source)}, tensor<f32>) -> {tensor(shape)}"
    text += "\n%constant zero = stablehlo.constant dense<0.0> : tensor<f32>"
    return Op((shape, source), shape, text, lambda v, t: selected_and_scattered(v[0], v[1], window, t))


def _sort(random: Random, shape: Shape) -> Op:
    dimension = random.randrange(len(shape))
    text = '"stablehlo.sort"(%a) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n'
    text += "%less = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    text += f"stablehlo.return %less : tensor<i1>\n}}) {{dimension = {dimension} : i64, ATTRIBUTES}} : "
    text += f"({tensor(shape)}) -> {tensor(shape)}"
    return Op((shape,), shape, text, lambda v, t: sorted_along(v, dimension, [t])[0])


def _fft(random: Random, shape: Shape) -> Op:
    text = f"stablehlo.custom_call @unknown(%a) {{ATTRIBUTES}} : ({tensor(shape)}) -> {tensor(shape)}"
    return Op((shape,), shape, text, lambda v, t: replicating(v, shape, "f32", t))


KINDS: dict[str, Callable[[Random, Shape], Op]] = {
    "add": _add,
    "broadcast": _broadcast,
    "concatenate": _concatenate,
    "custom_call": _fft,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": random_gather,
    "pad": _pad,
    "reduce_window": _reduce_window,
    "reshape": _reshape,
    "reverse": _reverse,
    "scatter": random_scatter,
    "select_and_scatter": _select_and_scatter,
    "slice": _slice,
    "sort": _sort,
    "transpose": _transpose,
}


SIZES = (8, 16, 32)
UNEVEN_SIZES = (3, 5, 6, 9, 12, 14, 24)
STOPPED = ": XLA stops at a failed check"


def random_ops(seed: int, count: int, kind: str, *, uneven: bool = False) -> list[Sharded]:
    """Ops of one kind with random shardings along at most three axes each."""
    random = Random(f"{seed} {kind}")
    found: list[Sharded] = []
    while len(found) < count:
        mesh = random.choice(MESHES)
        sizes = UNEVEN_SIZES if uneven else SIZES
        op = KINDS[kind](random, tuple(random.choice(sizes) for _ in range(random.randint(1, 3))))
        shapes = (*op.operands, op.result)
        shardings = [random_sharding(random, mesh, len(shape), 3) for shape in shapes]
        if op.operands[0] == op.result and random.random() < 0.4:
            shardings[-1] = shardings[0]
        if not any(shardings[i].dimensions[at].axes for i, at in op.whole):
            found.append(Sharded(mesh, op, tuple(shardings[:-1]), shardings[-1]))
    return found


def differing(ops: Sequence[Sharded]) -> list[str]:
    """A line for each op whose bytes by kind are not those of XLA."""
    found: list[str] = []
    for mesh in MESHES:
        group = [op for op in ops if op.mesh == mesh]
        if not group:
            continue
        compiled = collectives_of("", [op.case for op in group], mesh.device_count)
        for op, real in zip(group, compiled, strict=True):
            if real is None:
                found.append(f"{op}{STOPPED}")
                continue
            planned, sent = sent_by_kind(op.planned.collectives), sent_by_kind(real)
            if +planned != +sent:
                found.append(f"{op}: planned {dict(planned)}, sent {dict(sent)}")
    return found


@releases.of(installed())
def main() -> None:
    """Compares a sample of each kind and prints it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--uneven", action="store_true")
    options = parser.parse_args()
    for kind in [options.kind] if options.kind else KINDS:
        ops = random_ops(options.seed, options.sample, kind, uneven=options.uneven)
        found = differing(ops)
        stopped = sum(line.endswith(STOPPED) for line in found)
        print("\n".join(found[:8]))
        print(f"{kind}: {len(ops) - len(found)} of {len(ops) - stopped} have equal bytes by kind", flush=True)


if __name__ == "__main__":
    main()
