"""Which sides of a product are grouped first, for the sake of the loops of permutes that are left inside.

Where both operands share dimensions with the result, XLA:TPU groups the one whose other operand is then sent
around in a loop, the one that takes longer if both are; and it groups contracting dimensions first where the
scattered sum hides more. Source: openxla/xla, `LhsIsBestMatchForNonContractingPartitioning` and
`PrioritizeContractingDimensionsPartitioning` in xla/service/spmd/dot_handler.cc. Not here: the loops
(`einsum_loops.py`), the groups (`dot_groups.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from shardy_py.xla.spmd.einsum_loops import EinsumLoops, LoopSides, loop_of
from shardy_py.xla.spmd.grouping import Grouped, aligned, group_on, ungrouped
from shardy_py.xla.spmd.matching import per_group_shape
from shardy_py.xla.spmd.products import LHS, OTHER, OUTPUT, RHS, Product, numbers, size_bytes
from shardy_py.xla.spmd.tiling import Shape, Tiling

GroupsOfOther = Callable[[Product, str, Grouped], "Grouped | None"]
"""The groups in which the other operand is, if that of a side is grouped as the result."""
OutputOfSum = Callable[[Product, "dict[str, Grouped]", int], "tuple[Tiling, Tiling, tuple[int, ...]]"]
"""The tiling of the result in groups along contracting dimensions, that of it in all, and what they split."""


def matching_groups(product: Product, side: str) -> Grouped:
    """The groups of an operand along its free dimensions, as the result has them."""
    shared = product.dimensions.free(side)
    at, at_output = numbers(shared, side), numbers(shared, OUTPUT)
    tiling = product.tiling_of(side)
    sizes = list(tiling.dimensions)
    for i, dimension in zip(at, at_output, strict=True):
        sizes[i] = product.tiling.dimensions[dimension]
    return aligned(group_on(tiling.reshaped(sizes), at), group_on(product.tiling, at_output))


def better_match(product: Product, loops: EinsumLoops, groups_of_other: GroupsOfOther) -> str:
    """Returns the operand whose groups are formed, where both have tiles in common with the result."""
    steps = {side: _steps(product, side, groups_of_other) for side in (LHS, RHS)}
    if None in steps.values():
        return RHS if steps[LHS] is None else LHS
    tiles = {side: product.tiles(f"{side}_free", side) for side in steps}
    gathers = {side: _held(product, side) * tiles[OTHER[side]] for side in steps}
    groups = {side: matching_groups(product, side) for side in steps}
    shapes = {side: per_group_shape(groups[side], product.operand(side).shape) for side in steps}
    computes = _flops(product, shapes[LHS], shapes[RHS]) / loops.flops_per_byte
    if computes <= min(gathers.values()):
        is_left = gathers[LHS] // tiles[RHS] > gathers[RHS] // tiles[LHS]
    else:
        is_left = gathers[LHS] > gathers[RHS]
    return LHS if is_left else RHS


def _steps(product: Product, side: str, groups_of_other: GroupsOfOther) -> int | None:
    """The devices of a loop that may be left if the operand of `side` is grouped; None: there is none."""
    other = OTHER[side]
    tiles = product.tiles(f"{side}_free", side)
    output = group_on(product.tiling, numbers(product.dimensions.free(side), OUTPUT))
    grouped = groups_of_other(product, side, output)
    if grouped is None:
        return None
    count = product.device_count // tiles
    moved = product.dimensions.moved
    found = loop_of(
        LoopSides(
            count,
            # XLA names the operand that is grouped first.
            {LHS: product.tiles(f"{side}_free", OUTPUT), RHS: product.tiles(f"{other}_free", OUTPUT)},
            {LHS: product.tiles("contracting", side), RHS: product.tiles("contracting", other)},
            {LHS: 1, RHS: product.tiles(f"{other}_free", other)},
            {LHS: product.tiles("batch", side), RHS: product.tiles("batch", other)},
            {LHS: moved(output.tiling, OUTPUT, side), RHS: moved(output.tiling, OUTPUT, other)},
            {LHS: matching_groups(product, side).tiling, RHS: grouped.tiling},
        ),
        lambda _: True,
    )
    return None if found is None else count


def sums_first(
    product: Product,
    loops: EinsumLoops,
    groups_of_other: GroupsOfOther,
    output_of_sum: OutputOfSum,
    *,
    may_move: bool,
) -> bool:
    """Returns whether contracting dimensions are grouped before those that an operand shares with the result.

    may_move: devices may move to other groups.
    """
    free = {side: product.tiles(f"{side}_free", side) for side in (LHS, RHS)}
    alike = [side for side in free if free[side] == product.tiles(f"{side}_free", OUTPUT) > 1]
    steps = {side: _steps(product, side, groups_of_other) for side in alike}
    matching = next((side for side in steps if steps[side] is not None), None)
    summed = product.tiles("contracting", LHS)
    if matching is None or summed != product.tiles("contracting", RHS) or summed == 1:
        return False
    at = {side: numbers(product.dimensions.contracting, side) for side in (LHS, RHS)}
    tiles = {side: [product.tiling_of(side).dimensions[i] for i in at[side]] for side in at}
    if tiles[LHS] != tiles[RHS]:
        return False
    groups = {side: group_on(product.tiling_of(side), at[side]) for side in at}
    groups[RHS] = aligned(groups[RHS], groups[LHS])
    if not may_move and product.rhs.tiling != ungrouped(groups[RHS]):
        return False
    inner, _, sliced = output_of_sum(product, groups, summed)
    count = product.device_count // summed
    if not _has_loop_inside(product, groups, inner, count):
        return False
    kept = [i for i in sliced if i < product.tiling.rank]
    shape = product.tiling.replicated_except(kept).local_shape(product.shape) if kept else product.shape
    other = OTHER[matching]
    iterations = steps[matching] or 1
    gather = _held(product, other) * count
    scatter = size_bytes(shape, product.element) // count * iterations
    local = {matching: product.operand(matching).local}
    local[other] = per_group_shape(groups[other], product.operand(other).shape)
    if _flops(product, local[LHS], local[RHS]) / loops.flops_per_byte <= min(gather, scatter):
        return gather // count < scatter // iterations
    return gather > scatter


def _has_loop_inside(product: Product, groups: dict[str, Grouped], inner: Tiling, count: int) -> bool:
    dimensions = product.dimensions
    free = {
        side: prod(inner.dimensions[i] for i in numbers(dimensions.free(side), OUTPUT)) for side in (LHS, RHS)
    }
    sides = LoopSides(
        count,
        free,
        {LHS: 1, RHS: 1},
        {side: product.tiles(f"{side}_free", side) for side in free},
        {side: product.tiles("batch", side) for side in free},
        {side: dimensions.moved(inner, OUTPUT, side) for side in free},
        {side: groups[side].tiling for side in free},
    )
    return loop_of(sides, lambda _: True) is not None


def _held(product: Product, side: str) -> int:
    value = product.operand(side)
    return size_bytes(value.local, value.element)


def _flops(product: Product, lhs: Shape, rhs: Shape) -> float:
    """The operations of the product of operands with these shapes."""
    own = prod(rhs[i] for i in numbers(product.dimensions.rhs_free, RHS))
    return 2.0 * prod(lhs) * own
