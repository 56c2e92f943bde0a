"""Rotations: the end of a tensor moves to its front, as `jnp.roll` does by two slices and a concatenation.

XLA recognizes them before it partitions, and sends each device just the pieces it needs. Source: openxla/xla,
`FindRotateRightPattern` in xla/service/spmd/spmd_partitioner_util.cc and
`HandleCustomCallSPMDInternal_RotateRight` in custom_call_handler.cc there. Not here: other concatenations
(`movement.py`).

>>> from shardy_py.sharding import Mesh
>>> rows = Tiling.of(Mesh.of(x=4), [("x",)])
>>> [each.held_shape for each in rotated(Partitioned.of((32,), rows, "f32"), 0, 10, rows).collectives]
[(2,), (6,)]
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.ops import OpRecord
from shardy_py.spmd.movement import result_of
from shardy_py.spmd.partitioned import Partitioned
from shardy_py.spmd.reshard import reshard
from shardy_py.spmd.tiling import Tiling

_JOINED, _PART = "stablehlo.concatenate", "stablehlo.slice"


def rotation(joined: OpRecord, parts: Sequence[OpRecord]) -> tuple[int, int] | None:
    """The dimension and amount by which the end of a tensor moves to its front; None: another op.

    joined: of the results of `parts`, slices of one tensor.
    """
    if joined.name != _JOINED or [part.name for part in parts] != [_PART, _PART]:
        return None
    end, front = parts
    dimension: int = joined.attributes["dimension"]
    is_dense = all(part.attributes["strides"][dimension] == 1 for part in parts)
    start = end.attributes["start_indices"][dimension]
    meets = start == front.attributes["limit_indices"][dimension]
    if not (is_dense and meets and joined.results == end.operands == front.operands):
        return None
    return dimension, end.attributes["limit_indices"][dimension] - start


def rotated(operand: Partitioned, dimension: int, amount: int, target: Tiling) -> Partitioned:
    """The result of moving the last `amount` elements along a dimension to its front.

    Each device gets pieces of others by a permute each; twice, where the last tiles are padded.
    """
    value = reshard(operand, target)
    size, part = value.shape[dimension], value.local[dimension]
    tiles = -(-size // part)
    padding = tiles * part - size
    amounts = [amount % size, *([(amount % size + padding) % (part * tiles)] if padding else [])]
    for moved in amounts if amount % size else ():
        at, sizes = 0, list[int]()
        while at < part:
            distance = -(-(moved - at) // part)
            piece = min(moved - at - (distance - 1) * part, part - at)
            if distance % tiles:
                sizes.append(piece)
            at += piece
        value = value.permuted(sizes, dimension, size=part, purpose=("rotated", moved))
    return result_of([value], value.shape, target, value.element)
