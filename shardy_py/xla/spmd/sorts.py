"""Sorts along a dimension, which every device needs whole, and calls of `TopK`, of which it needs candidates.

Source: openxla/xla, `HandleSort` in xla/service/spmd/spmd_partitioner.cc and `HandleCustomCallTopK` in
custom_call_handler.cc there.

>>> from shardy_py.sharding import Mesh
>>> rows = Tiling.of(Mesh.of(x=4), [("x",), ()])
>>> sorted_, = sorted_along([HeldTensor.of((8, 8), rows, "f32")], 0, [rows])
>>> [(each.kind, each.held_shape) for each in sorted_.collectives]
[('all_to_all', (2, 8)), ('all_to_all', (8, 2))]
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.xla.spmd.movement import replicating, result_of, without_tiles
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.reshard import reshard
from shardy_py.xla.spmd.tiling import Tiling


def sorted_along(
    operands: Sequence[HeldTensor], dimension: int, targets: Sequence[Tiling]
) -> list[HeldTensor]:
    """The results of a sort of all operands by some of them.

    If the results are sharded alike along the dimension, its tiles move to another one, or are gathered.
    """
    shape, target = operands[0].shape, targets[0]
    if any(other != target for other in targets) or target.is_replicated:
        return _replicating(operands, targets)
    if target.dimensions[dimension] == 1:
        return [result_of([reshard(each, target)], shape, target, each.element) for each in operands]
    if len(shape) < 2:
        return _replicating(operands, targets)
    near = without_tiles(target, dimension, shape, lambda _: True)
    moved = (result_of([reshard(each, near)], shape, near, each.element) for each in operands)
    return [reshard(each, target) for each in moved]


def largest(
    operand: HeldTensor, count: int, targets: Sequence[Tiling], used: Sequence[bool]
) -> list[HeldTensor]:
    """The largest `count` elements of each row of a matrix, and their places: a call of `TopK`.

    Each device picks its own candidates, which are gathered, unless it has no more than `count` elements, or
    the tiling has replicas. used: by result, whether the program has a use of it, and it is resharded.
    """
    tiling, (rows, columns) = operand.tiling, operand.shape
    results = [operand.element, "i32"][: len(targets)]
    tiles = tiling.dimensions[1]
    if tiling.replicas > 1 or tiling.is_replicated or count >= -(-columns // tiles):
        found = [replicating([operand], (rows, count), results[0], targets[0])]
        return [*found, *(replicating([], (rows, count), results[1], target) for target in targets[1:])]
    after = tiling.replicated_on([1])
    found: list[HeldTensor] = []
    for element, target, is_used in zip(results, targets, used, strict=True):
        candidates = result_of([] if found else [operand], (rows, count * tiles), tiling, element)
        if found and not is_used:  # places are not compared
            found.append(HeldTensor.of((rows, count), target, element))
            continue
        result = result_of([reshard(candidates, after)], (rows, count), after, element)
        found.append(reshard(result, target) if is_used else result)
    return found


def _replicating(operands: Sequence[HeldTensor], targets: Sequence[Tiling]) -> list[HeldTensor]:
    pairs = zip(operands, targets, strict=True)
    return [replicating([each], each.shape, each.element, target) for each, target in pairs]
