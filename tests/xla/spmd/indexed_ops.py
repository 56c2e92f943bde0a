"""Random gathers and scatters."""

from __future__ import annotations

from random import Random

from shardy_py.ops.dimensions import SliceDimensions
from shardy_py.xla.spmd.gathers import gathered_at
from shardy_py.xla.spmd.indexed import Dimensions
from shardy_py.xla.spmd.scatters import scattered_at
from tests.xla.spmd.ops import Op, Shape, tensor


def random_gather(random: Random, shape: Shape) -> Op:
    dims, sizes, slices = random_dimensions(random, shape)
    result, numbers = _shape_of_slices(dims, slices), dims.numbers
    text = '"stablehlo.gather"(%a, %b) {dimension_numbers = #stablehlo.gather<'
    text += f"offset_dims = {list(numbers.offsets)}, collapsed_slice_dims = {list(numbers.collapsed)}, "
    text += f"operand_batching_dims = {list(numbers.batching)}, "
    text += f"start_indices_batching_dims = {list(numbers.indices_batching)}, "
    text += f"start_index_map = {list(numbers.index_map)}, index_vector_dim = {numbers.vector}>, "
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


def random_scatter(random: Random, shape: Shape) -> Op:
    dims, _, kept = random_dimensions(random, shape)
    updates, numbers = _shape_of_slices(dims, kept), dims.numbers
    is_sum = random.random() < 0.6
    text = '"stablehlo.scatter"(%a, %b, %c) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n'
    text += "%sum = stablehlo.add %x, %y : tensor<f32>\n" if is_sum else ""
    text += f"stablehlo.return {'%sum' if is_sum else '%y'} : tensor<f32>\n"
    text += "}) {scatter_dimension_numbers = #stablehlo.scatter<"
    text += f"update_window_dims = {list(numbers.offsets)}, "
    text += f"inserted_window_dims = {list(numbers.collapsed)}, "
    text += f"input_batching_dims = {list(numbers.batching)}, "
    text += f"scatter_indices_batching_dims = {list(numbers.indices_batching)}, "
    text += f"scatter_dims_to_operand_dims = {list(numbers.index_map)}, "
    text += f"index_vector_dim = {numbers.vector}>, "
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
    vector = dims.numbers.vector
    return ((1, vector),) if vector < len(dims.indices) else ()


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
    numbers = SliceDimensions(offsets, collapsed, index_map, vector, batching, indices_batching)
    return Dimensions(shape, indices, rank, numbers), sizes, kept


def _shape_of_slices(dims: Dimensions, kept: Shape) -> Shape:
    """The shape of the result of a gather, or of the updates of a scatter."""
    outer = iter(size for i, size in enumerate(dims.indices) if i != dims.numbers.vector)
    inner = iter(kept)
    return tuple(next(inner) if i in dims.numbers.offsets else next(outer) for i in range(dims.rank))
