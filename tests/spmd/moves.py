"""Random ops that move elements, as planned and as XLA partitions them.

`python -m tests.spmd.moves --sample 100 [--kind pad] [--uneven]` prints the share of equal bytes
for each kind of op, and the ops that differ.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from random import Random

from shardy_py.gspmd.sharding.axes import to_hlo_sharding
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.spmd.dynamic_slices import dynamically_sliced, dynamically_updated
from shardy_py.spmd.gathers import gathered_at
from shardy_py.spmd.indexed import Dimensions
from shardy_py.spmd.movement import (
    broadcast,
    elementwise,
    replicating,
    reversed_along,
    transposed,
    with_whole_dimensions,
)
from shardy_py.spmd.partitioned import Partitioned
from shardy_py.spmd.reshapes import reshaped
from shardy_py.spmd.scatters import scattered_at
from shardy_py.spmd.sorts import sorted_along
from shardy_py.spmd.tiling import Tiling
from shardy_py.spmd.windowed import WindowDimension
from shardy_py.spmd.windows import padded, sliced, windows_reduced
from tests.spmd.compiled import Case, collectives_of, sent_by_kind
from tests.spmd.reshards import MESHES, random_sharding

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Op:
    """An op on float tensors.

    operands, result: the shapes. text: of the op, with `%a`, `%b`, ... as operands, and `{attributes}`, in
    which its sharding is. plan: of the result, from the operands and the tiling of the result. integers:
    the operand that is of integers. whole: operands and dimensions of them that are not sharded.
    """

    operands: tuple[Shape, ...]
    result: Shape
    text: str
    plan: Callable[[Sequence[Partitioned], Tiling], Partitioned]
    integers: int | None = None
    whole: tuple[tuple[int, int], ...] = ()

    def element(self, operand: int) -> str:
        """The element type of an operand: integers for one of them, if any."""
        return "i32" if operand == self.integers else "f32"


@dataclass(frozen=True)
class Sharded:
    """An op with the shardings of its operands and its result."""

    mesh: Mesh
    op: Op
    operands: tuple[TensorSharding, ...]
    result: TensorSharding

    @property
    def planned(self) -> Partitioned:
        """The result with what the planner sends."""
        pairs = enumerate(zip(self.op.operands, self.operands, strict=True))
        values = [
            Partitioned.of(shape, Tiling.of_sharding(sharding, self.mesh), self.op.element(i))
            for i, (shape, sharding) in pairs
        ]
        return self.op.plan(values, Tiling.of_sharding(self.result, self.mesh))

    @property
    def case(self) -> Case:
        """The op as a function, with shardings of XLA, which go around Shardy."""
        text = self.op.text
        arguments: list[str] = []
        for i, (shape, sharding) in enumerate(zip(self.op.operands, self.operands, strict=True)):
            text = re.sub(rf"%{'abc'[i]}\b", f"%{i}", text)
            type_ = tensor(shape, self.op.element(i))
            arguments.append(f"{type_} {{{_attribute(sharding, self.mesh)}}}")
        attribute = _attribute(self.result, self.mesh)
        op, *constants = text.replace("ATTRIBUTES", attribute).split("\n%constant ")
        lines = [*(f"%{line}" for line in constants), f"%result = {op}"]
        return Case(tuple(arguments), "\n".join(lines), f"{tensor(self.op.result)} {{{attribute}}}")

    def __str__(self) -> str:
        sizes = {axis.name: axis.size for axis in self.mesh.axes}
        operands = ", ".join(map(str, self.operands))
        return f"{sizes} {self.op.operands} {self.op.text}: {operands} -> {self.result}"


def tensor(shape: Shape, element: str = "f32") -> str:
    """The type."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def _attribute(sharding: TensorSharding, mesh: Mesh) -> str:
    """The sharding of XLA."""
    return f'mhlo.sharding = "{to_hlo_sharding(sharding, mesh)}"'


def _slice(random: Random, shape: Shape) -> Op:
    starts = [random.choice([0, 0, random.randrange(size)]) for size in shape]
    limits = [
        random.choice([size, random.randint(start + 1, size)])
        for start, size in zip(starts, shape, strict=True)
    ]
    strides = [random.choice([1, 1, 2]) for _ in shape]
    parts = [*zip(starts, limits, strides, strict=True)]
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


def _gather(random: Random, shape: Shape) -> Op:
    dims, sizes, slices = random_dimensions(random, shape)
    result = _shape_of_slices(dims, slices)
    text = '"stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<'
    text += f"offset_dims = {list(dims.offsets)}, collapsed_slice_dims = {list(dims.collapsed)}, "
    text += f"operand_batching_dims = {list(dims.batching)}, "
    text += f"start_indices_batching_dims = {list(dims.indices_batching)}, "
    text += f"start_index_map = {list(dims.index_map)}, index_vector_dim = {dims.vector}>, "
    text += f"slice_sizes = array<i64: {', '.join(map(str, sizes))}>, ATTRIBUTES}} : "
    text += f"({tensor(shape)}, {tensor(dims.indices, 'i32')}) -> {tensor(result)}"
    return Op(
        (shape, dims.indices),
        result,
        text,
        lambda v, t: gathered_at(v[0], v[1], dims, sizes, result, t),
        1,
        _index_vectors(dims),
    )


def _scatter(random: Random, shape: Shape) -> Op:
    dims, _, kept = random_dimensions(random, shape)
    updates = _shape_of_slices(dims, kept)
    is_sum = random.random() < 0.6
    text = '"stablehlo.scatter"(%a, %b, %c) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n'
    text += "%sum = stablehlo.add %x, %y : tensor<f32>\n" if is_sum else ""
    text += f"stablehlo.return {'%sum' if is_sum else '%y'} : tensor<f32>\n"
    text += (
        f"}}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {list(dims.offsets)}, "
    )
    text += f"inserted_window_dims = {list(dims.collapsed)}, input_batching_dims = {list(dims.batching)}, "
    text += f"scatter_indices_batching_dims = {list(dims.indices_batching)}, "
    text += f"scatter_dims_to_operand_dims = {list(dims.index_map)}, index_vector_dim = {dims.vector}>, "
    text += f"ATTRIBUTES}} : ({tensor(shape)}, {tensor(dims.indices, 'i32')}, {tensor(updates)})"
    text += f" -> {tensor(shape)}"
    return Op(
        (shape, dims.indices, updates),
        shape,
        text,
        lambda v, t: scattered_at([v[0]], v[1], [v[2]], dims, t, is_reduction=is_sum)[0],
        1,
        _index_vectors(dims),
    )


def _index_vectors(dims: Dimensions) -> tuple[tuple[int, int], ...]:
    """The dimension of index vectors: XLA stops at failed checks if it is sharded unevenly."""
    return ((1, dims.vector),) if dims.vector < len(dims.indices) else ()


def random_dimensions(random: Random, shape: Shape) -> tuple[Dimensions, Shape, Shape]:
    """Dimension numbers for slices of an operand, the sizes of the slices in it, and those that are kept."""
    roles = [random.choice(["whole", "whole", "row", "row", "part", "batch"]) for _ in shape]
    if not {"row", "part"} & set(roles):
        roles[random.randrange(len(roles))] = "row"
    index_map = tuple(i for i, role in enumerate(roles) if role in ("row", "part"))
    batching = tuple(i for i, role in enumerate(roles) if role == "batch")
    chosen = {"whole": lambda size: size, "part": lambda size: random.randint(1, size)}
    sizes = tuple(chosen.get(role, lambda _: 1)(size) for role, size in zip(roles, shape, strict=True))
    collapsed = tuple(i for i in index_map if roles[i] == "row" and random.random() < 0.8)
    free = [random.choice([4, 8, 16]) for _ in range(random.randint(1, 2))]
    batches = [shape[i] for i in batching] + free
    order = random.sample(range(len(batches)), k=len(batches))
    placed = [batches[i] for i in order]
    indices_batching = tuple(order.index(i) for i in range(len(batching)))
    has_vector = len(index_map) > 1 or random.random() < 0.7
    indices = (*placed, len(index_map)) if has_vector else tuple(placed)
    kept = tuple(size for i, size in enumerate(sizes) if i not in (*collapsed, *batching))
    rank = len(placed) + len(kept)
    offsets = tuple(sorted(random.sample(range(rank), k=len(kept))))
    vector = len(placed)
    numbers = Dimensions(
        shape, indices, rank, offsets, collapsed, index_map, vector, batching, indices_batching
    )
    return numbers, sizes, kept


def _shape_of_slices(dims: Dimensions, kept: Shape) -> Shape:
    """The shape of the result of a gather, or of the updates of a scatter."""
    outer = iter(size for i, size in enumerate(dims.indices) if i != dims.vector)
    inner = iter(kept)
    return tuple(next(inner) if i in dims.offsets else next(outer) for i in range(dims.rank))


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


def _reduce_window(random: Random, shape: Shape) -> Op:
    window = [
        random.choice([
            WindowDimension(),
            WindowDimension(size=3, low=1, high=1),
            WindowDimension(size=2, stride=2),
            WindowDimension(size=3, dilation=2, low=2),
            WindowDimension(size=size, low=size - 1),
            WindowDimension(size=2, base_dilation=2, low=1),
        ])
        for size in shape
    ]  # fmt: skip
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
    "gather": _gather,
    "pad": _pad,
    "reduce_window": _reduce_window,
    "reshape": _reshape,
    "reverse": _reverse,
    "scatter": _scatter,
    "slice": _slice,
    "sort": _sort,
    "transpose": _transpose,
}


def random_ops(seed: int, count: int, kind: str, *, uneven: bool = False) -> list[Sharded]:
    """Ops of one kind with random shardings along at most three axes each."""
    random = Random(f"{seed} {kind}")
    found: list[Sharded] = []
    while len(found) < count:
        mesh = random.choice(MESHES)
        sizes = (3, 5, 6, 9, 12, 14, 24) if uneven else (8, 16, 32)
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
            planned, sent = sent_by_kind(op.planned.collectives), sent_by_kind(real)
            if +planned != +sent:
                found.append(f"{op}: planned {dict(planned)}, sent {dict(sent)}")
    return found


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
        print("\n".join(found[:8]))
        print(f"{kind}: {len(ops) - len(found)} of {len(ops)} have equal bytes by kind")


if __name__ == "__main__":
    main()
