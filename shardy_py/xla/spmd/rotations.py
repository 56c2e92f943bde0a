"""Rotations: the end of a tensor moves to its front, as `jnp.roll` does by two slices and a concatenation.

XLA recognizes them before it partitions, and sends each device just the pieces it needs; the same for
tensors padded with their own ends, as by `jnp.pad(..., mode="wrap")`. Source: openxla/xla,
`FindRotateRightPattern` and `FindPadWithWrapPattern` in xla/service/spmd/spmd_partitioner_util.cc,
`PreprocessHlos` in spmd_partitioner.cc and `HandleCustomCallSPMDInternal_RotateRight` in
custom_call_handler.cc there. Not here: other concatenations (`movement.py`).

>>> from shardy_py.sharding import Mesh
>>> rows = Tiling.of(Mesh.of(x=4), [("x",)])
>>> [each.held_shape for each in rotated(HeldTensor.of((32,), rows, "f32"), 0, 10, rows).collectives]
[(2,), (6,)]
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.base.records import dataclass
from shardy_py.ops import OpRecord
from shardy_py.xla.spmd.halo import HaloPart
from shardy_py.xla.spmd.movement import result_of
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.reshard import reshard
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.spmd.windows import padded


def rotation(joined: OpRecord, parts: Sequence[OpRecord]) -> tuple[int, int] | None:
    """The dimension and amount by which the end of a tensor moves to its front; None: another op.

    joined: the concatenation of `parts`, slices of one tensor.
    """
    end, front = parts
    dimension: int = joined.attributes["dimension"]
    is_dense = all(part.attributes["strides"][dimension] == 1 for part in parts)
    start = end.attributes["start_indices"][dimension]
    meets = start == front.attributes["limit_indices"][dimension]
    if not (is_dense and meets and joined.results == end.operands == front.operands):
        return None
    return dimension, end.attributes["limit_indices"][dimension] - start


@dataclass(frozen=True, slots=True)
class Wrap:
    """A tensor between a slice of itself in front and one behind, along a dimension.

    sizes, starts: of both slices.
    """

    dimension: int
    sizes: tuple[int, int]
    starts: tuple[int, int]


def wrap(joined: OpRecord, parts: tuple[OpRecord, OpRecord]) -> Wrap | None:
    """The padding of a tensor with its own slices, the `parts` of a concatenation; None: another op."""
    dimension: int = joined.attributes["dimension"]
    if any(part.attributes["strides"][dimension] != 1 for part in parts):
        return None
    starts, limits = (
        [part.attributes[name][dimension] for part in parts] for name in ("start_indices", "limit_indices")
    )
    return Wrap(dimension, (limits[0] - starts[0], limits[1] - starts[1]), (starts[0], starts[1]))


def wrapped(operand: HeldTensor, wrap: Wrap, target: Tiling) -> HeldTensor:
    """The result of a wrap: the tensor is padded, and rotated once for either end."""
    rank, (low, high) = len(operand.shape), wrap.sizes
    at = [int(i == wrap.dimension) for i in range(rank)]
    middle = padded(operand, [low * i for i in at], [high * i for i in at], [0] * rank, target)
    size = middle.shape[wrap.dimension]
    bare = HeldTensor.of(middle.shape, target, middle.element)
    amounts = size - (wrap.starts[0] + low), size - (wrap.starts[1] + low + high)
    ends = [rotated(bare, wrap.dimension, amount, target) for amount in amounts]
    return result_of([middle, *ends], middle.shape, target, middle.element)


def rotated(operand: HeldTensor, dimension: int, amount: int, target: Tiling) -> HeldTensor:
    """The result of moving the last `amount` elements along a dimension to its front.

    Each device gets pieces of others by a permute each; twice, where the last tiles are padded.
    """
    value = reshard(operand, target)
    size, part = value.shape[dimension], value.local[dimension]
    tiles = -(-size // part)
    padding = tiles * part - size
    amounts = [amount % size, *([(amount % size + padding) % (part * tiles)] if padding else [])]
    for moved in amounts if amount % size else ():
        at, pieces = 0, list[HaloPart]()
        while at < part:
            distance = -(-(moved - at) // part)
            piece = min(moved - at - (distance - 1) * part, part - at)
            if distance % tiles:
                pairs = tuple((shard, (shard + distance) % tiles) for shard in range(tiles))
                pieces.append(HaloPart(piece, pairs))
            at += piece
        value = value.permuted(pieces, dimension, size=part)
    return result_of([value], value.shape, target, value.element)
