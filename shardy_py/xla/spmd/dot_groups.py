"""Products of groups of devices: along dimensions that two sides share, each group has a smaller product.

Source: openxla/xla, `PartitionDotGroupOnBatchImpl`, `PartitionDotGroupOnNonContractingImpl` and
`PartitionDotGroupOnContractingImpl` in xla/service/spmd/dot_handler.cc. Not here: the order of these attempts
(`dots.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from shardy_py.xla.spmd.einsum_choice import better_match, sums_first
from shardy_py.xla.spmd.grouping import Grouped, aligned, group_on, ungrouped
from shardy_py.xla.spmd.matching import (
    dimensions_of_groups,
    lies_within,
    per_group_shape,
    replicas_in_groups,
    same_groups,
)
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.products import (
    LHS,
    OTHER,
    OUTPUT,
    RHS,
    Group,
    Product,
    numbers,
    operand_tiling,
    size_bytes,
    tiles_of,
)
from shardy_py.xla.spmd.reshard import replicated, reshard
from shardy_py.xla.spmd.tiling import Tiling

Solve = Callable[[Product], HeldTensor]
"""Partitions the product of each group."""


def on_batch(product: Product, solve: Solve, *, may_move: bool) -> HeldTensor | None:
    """Groups along the batch dimensions, as the result is sharded along them."""
    wanted = product.tiles("batch", OUTPUT)
    if wanted == 1 or wanted not in (product.tiles("batch", LHS), product.tiles("batch", RHS)):
        return None
    dimensions = product.dimensions.batch
    at = {side: numbers(dimensions, side) for side in (LHS, RHS, OUTPUT)}
    tiles = {side: [product.tiling_of(side).dimensions[i] for i in at[side]] for side in at}
    alike = tiles[LHS] == tiles[RHS]
    if alike and not may_move:
        right, left = (group_on(product.tiling_of(side), at[side]) for side in (RHS, LHS))
        alike = product.rhs.tiling == ungrouped(aligned(right, left))
    if alike:
        return _on_batch_of_operands(product, solve, at)
    output = group_on(product.tiling, at[OUTPUT])
    inner: list[HeldTensor] = []
    for side in (LHS, RHS):
        value = _as_output_batch(product, side, at[side], tiles[OUTPUT], output, may_move=may_move)
        if value is None:
            return None
        inner.append(value)
    return _solved(product, solve, inner, output)


def _on_batch_of_operands(
    product: Product, solve: Solve, at: dict[str, tuple[int, ...]]
) -> HeldTensor | None:
    """Both operands have equal tiles along the batch dimensions; the one that holds less follows."""
    lhs, rhs = product.lhs, product.rhs
    groups = {side: group_on(product.tiling_of(side), at[side]) for side in (LHS, RHS)}
    follower = RHS if _held_bytes(lhs) > _held_bytes(rhs) else LHS
    groups[follower] = aligned(groups[follower], groups[OTHER[follower]])
    product = product.with_operand(follower, reshard(product.operand(follower), ungrouped(groups[follower])))
    sizes = list(product.tiling.dimensions)
    for i, dimension in zip(at[LHS], at[OUTPUT], strict=True):
        sizes[dimension] = lhs.tiling.dimensions[i]
    output = aligned(group_on(product.tiling.reshaped(sizes), at[OUTPUT]), groups[LHS])
    inner = [_in_group(product.operand(side), groups[side]) for side in (LHS, RHS)]
    return _solved(product, solve, inner, output)


def _as_output_batch(
    product: Product,
    side: str,
    batch: Sequence[int],
    wanted: Sequence[int],
    output: Grouped,
    *,
    may_move: bool,
) -> HeldTensor | None:
    """The operand in the groups of the result; other dimensions give up tiles for it where needed."""
    value = product.operand(side)
    tiling = value.tiling
    if tiling.is_replicated:
        parts = dict(zip(batch, output.sizes, strict=True))
        shape = tuple(-(-size // parts.get(i, 1)) for i, size in enumerate(value.shape))
        inside = Tiling.replicated(tiling.rank, output.tiling.device_count, output.tiling.names)
        return replace(value, shape=shape, local=shape, tiling=inside, earlier=())
    sizes = list(tiling.dimensions)
    for i, tiles in zip(batch, wanted, strict=True):
        sizes[i] = tiles
    replicas = tiling.replicas
    surplus, rest = divmod(prod(sizes) * replicas, tiling.device_count)
    if surplus > 1:
        if rest:
            return None
        free, summed = f"{side}_free", product.tiles("contracting", side)
        if tiling.is_partial and replicas % surplus == 0:
            replicas //= surplus
        elif surplus == product.tiles(free, side) and (
            surplus != summed or summed == product.tiles("contracting", OTHER[side])
        ):
            for i in numbers(product.dimensions.free(side), side):
                sizes[i] = 1
        elif surplus == summed:
            for i in numbers(product.dimensions.contracting, side):
                sizes[i] = 1
        else:
            return None
    if prod(sizes) * replicas != tiling.device_count:
        return None
    grouped = aligned(group_on(tiling.reshaped(sizes), batch), output)
    target = ungrouped(grouped)
    if not may_move and tiling != target:
        return None
    return _in_group(reshard(value, target), grouped)


def on_free(product: Product, solve: Solve, *, may_move: bool) -> HeldTensor | None:
    """Groups along dimensions that one operand shares with the result."""
    chosen = _shared_with_output(product)
    if chosen is None:
        return None
    loops = product.loops
    if loops and sums_first(product, loops, _groups_if_matched, _output_of_sum, may_move=may_move):
        return None
    side, shared = chosen
    at, at_output = numbers(shared, side), numbers(shared, OUTPUT)
    output = group_on(product.tiling, at_output)
    value, other = product.operand(side), product.operand(OTHER[side])
    sizes = list(value.tiling.dimensions)
    for i, dimension in zip(at, at_output, strict=True):
        sizes[i] = product.tiling.dimensions[dimension]
    grouped = aligned(group_on(value.tiling.reshaped(sizes), at), output)
    target = ungrouped(grouped)
    if not may_move and value.tiling != target:
        return None
    other_groups = _groups_of_other(product, side, other, output)
    if other_groups is None and not other.tiling.is_replicated and not product.dimensions.spatial:
        moved = reshard(other, operand_tiling(product, OTHER[side], with_other=True))
        other_groups = _groups_of_other(product, side, moved, output)
        other = moved if other_groups is not None else other
    inner_other = _replicated_among_groups(other, other_groups, grouped.tiling)
    inner = _in_group(reshard(value, target), grouped)
    operands = (inner, inner_other) if side == LHS else (inner_other, inner)
    found = solve(_inner_product(product, *operands, output))
    return replace(found, shape=product.shape, tiling=product.tiling)


def _shared_with_output(product: Product) -> tuple[str, Group] | None:
    """The operand that has dimensions in common with the result, and these.

    If both do, the one for which less of the other is replicated.
    """
    roles = {side: f"{side}_free" for side in (LHS, RHS)}
    tiles = {side: (product.tiles(role, side), product.tiles(role, OUTPUT)) for side, role in roles.items()}
    equal = [side for side in (LHS, RHS) if tiles[side][0] == tiles[side][1] > 1]
    if len(equal) > 1 and product.loops is not None:
        side = better_match(product, product.loops, _groups_if_matched)
        return side, product.dimensions.free(side)
    if equal:
        lhs, rhs = tiles[LHS][0] * _held_bytes(product.rhs), tiles[RHS][0] * _held_bytes(product.lhs)
        side = equal[0] if len(equal) == 1 else LHS if lhs < rhs else RHS
        return side, product.dimensions.free(side)
    for side in (LHS, RHS):
        if min(tiles[side]) > 1:
            shared = tuple(
                index
                for index in product.dimensions.free(side)
                if tiles_of(product.tiling_of(side), (index,), side)
                == tiles_of(product.tiling, (index,), OUTPUT)
                > 1
            )
            return (side, shared) if shared else None
    return None


def _groups_if_matched(product: Product, side: str, output: Grouped) -> Grouped | None:
    return _groups_of_other(product, side, product.operand(OTHER[side]), output)


def _groups_of_other(product: Product, side: str, other: HeldTensor, output: Grouped) -> Grouped | None:
    """The groups in which the other operand is, among which it can be replicated; None if none are found.

    Its replicas first, if need be in exchange for the tiles of a dimension.
    """
    tiling, count = other.tiling, len(output.groups)
    has_replicas = tiling.is_partial and tiling.replicas % count == 0
    chosen: tuple[int, ...] | None = None
    if has_replicas:
        for i in reversed(range(tiling.rank + 1)):
            if tiling.tiles(i) % count:
                continue
            order = [*range(tiling.rank + 1)]
            order[i], order[-1] = order[-1], order[i]
            swapped = tiling if i == tiling.rank else tiling.transposed(order)
            found = replicas_in_groups(swapped, output.groups, swapped.replicas // count)
            if found is not None:
                return found
        chosen = (tiling.rank,)
    if chosen is None:
        chosen = dimensions_of_groups(tiling, output.groups)
    if chosen is None:
        chosen = _dimensions_to_replicate(product, side, other, count)
    if chosen is None:
        return None
    if chosen == (tiling.rank,):
        grouped = group_on(tiling, chosen, (tiling.replicas // count,))
        return aligned(grouped, output, ignore_order=True)
    if tiling.is_replicated:
        return None
    return aligned(group_on(tiling, chosen), output, ignore_order=True)


def _dimensions_to_replicate(
    product: Product, side: str, other: HeldTensor, count: int
) -> tuple[int, ...] | None:
    """The dimensions of the other operand that are made whole for `count` groups, by role."""
    other_side = OTHER[side]
    free, contracting = f"{other_side}_free", product.tiles("contracting", other_side)
    may_contracting = contracting == count and product.tiles(free, other_side) == product.tiles(free, OUTPUT)
    may_free = count == product.tiles(free, other_side) and product.tiles("contracting", side) == contracting
    result = size_bytes(product.tiling.local_shape(product.shape), product.element)
    if may_contracting and (not may_free or _held_bytes(other) <= result):
        return numbers(product.dimensions.contracting, other_side)
    return numbers(product.dimensions.free(other_side), other_side) if may_free else None


def _replicated_among_groups(other: HeldTensor, grouped: Grouped | None, group: Tiling) -> HeldTensor:
    """The operand that all groups have, as each of them has it."""
    rank = other.tiling.rank
    if grouped is None or other.tiling.is_replicated:
        return replace(replicated(other), tiling=Tiling.replicated(rank, group.device_count, group.names))
    target = ungrouped(grouped)
    if grouped.dimensions == (rank,):
        return replace(reshard(other, target), tiling=grouped.tiling)
    regrouped = group_on(target, grouped.dimensions)
    if not other.tiling.is_partial or not same_groups(regrouped.groups, grouped.groups):
        other = reshard(other, target)
    other = reshard(other, other.tiling.replicated_on(i for i in grouped.dimensions if i < rank))
    return replace(other, tiling=grouped.tiling)


def on_contracting(product: Product, solve: Solve, *, may_move: bool) -> HeldTensor | None:
    """Groups along contracting dimensions that are sharded alike, whose results are summed."""
    lhs, rhs = product.tiles("contracting", LHS), product.tiles("contracting", RHS)
    every = product.dimensions.contracting
    if lhs == rhs > 1:
        found = _on_contracting(product, every, solve, may_move=may_move)
        if found is not None:
            return found
    if min(lhs, rhs) == 1:
        return None
    alike = tuple(
        index
        for index in every
        if tiles_of(product.lhs.tiling, (index,), LHS) == tiles_of(product.rhs.tiling, (index,), RHS) > 1
    )
    return _on_contracting(product, alike, solve, may_move=may_move) if alike else None


def _on_contracting(product: Product, shared: Group, solve: Solve, *, may_move: bool) -> HeldTensor | None:
    """The sum over the groups along `shared`."""
    at = {side: numbers(shared, side) for side in (LHS, RHS)}
    count = prod(product.lhs.tiling.dimensions[i] for i in at[LHS])
    follower = RHS if _held_bytes(product.lhs) > _held_bytes(product.rhs) else LHS
    leader = OTHER[follower]
    sizes = list(product.tiling_of(follower).dimensions)
    for i, j in zip(at[follower], at[leader], strict=True):
        sizes[i] = product.tiling_of(leader).dimensions[j]
    groups = {
        leader: group_on(product.tiling_of(leader), at[leader]),
        follower: group_on(product.tiling_of(follower).reshaped(sizes), at[follower]),
    }
    groups[follower] = aligned(groups[follower], groups[leader])
    target = ungrouped(groups[follower])
    if not may_move and product.tiling_of(follower) != target:
        return None
    product = product.with_operand(follower, reshard(product.operand(follower), target))
    leading = product.tiling_of(leader)
    inner_tiling, outer, sliced = _output_of_sum(product, groups, count)
    rank = product.tiling.rank
    kept = tuple(i for i in sliced if i < rank)
    part = product.tiling.replicated_except(kept)
    shape = part.local_shape(product.shape) if kept else product.shape

    def summed(found: HeldTensor) -> HeldTensor:
        """The sum over the groups, then the slice of it that each device needs."""
        if not kept:
            return product.summed(found, leading, at[leader])
        found = product.summed(found, outer, kept)
        found = replace(found, local=outer.replicated_except(kept).local_shape(found.local))
        return product.summed(found, outer, [rank] if rank in sliced else [])

    inner = [_in_group(product.operand(side), groups[side]) for side in (LHS, RHS)]
    product_of_group = replace(product, lhs=inner[0], rhs=inner[1], tiling=inner_tiling)
    if product.loops is not None:
        # XLA looks for loops in the groups of the whole result first, and sums what they make.
        found = solve(product_of_group)
        if any(each.instead for each in found.collectives):
            found = product.summed(found, leading, at[leader])
            found = replace(found, shape=product.shape, tiling=outer.replicated_on(kept))
            return reshard(found, product.tiling)
    found = solve(replace(product_of_group, shape=shape, finish=summed))
    return reshard(replace(found, shape=product.shape, tiling=outer), product.tiling)


def _output_of_sum(
    product: Product, groups: dict[str, Grouped], count: int
) -> tuple[Tiling, Tiling, tuple[int, ...]]:
    """The tiling of the result in each group, of it in all groups, and the dimensions that groups split."""
    tiling, lhs = _coarser_output(product, groups, count), groups[LHS]
    if tiling.is_partial and tiling.replicas % count == 0:
        parts = group_on(tiling, (tiling.rank,), (tiling.replicas // count,))
        grouped = aligned(parts, lhs, ignore_order=True)
        return grouped.tiling, ungrouped(grouped), ()
    found = dimensions_of_groups(tiling, lhs.groups)
    if found:
        return group_on(tiling, found).tiling, tiling, found
    if found is None and not tiling.is_replicated:
        for role in ("lhs_free", "rhs_free", "batch"):
            if product.tiles(role, OUTPUT) == count:
                sliced = numbers(getattr(product.dimensions, role), OUTPUT)
                grouped = aligned(group_on(tiling, sliced), lhs)
                return grouped.tiling, ungrouped(grouped), sliced
    whole = Tiling.replicated(tiling.rank, tiling.device_count, tiling.names)
    return Tiling.replicated(tiling.rank, lhs.tiling.device_count, lhs.tiling.names), whole, ()


def _coarser_output(product: Product, groups: dict[str, Grouped], count: int) -> Tiling:
    """The tiling of an operand, as the result, if only it is sharded in groups and the wanted refines it."""
    tiling = product.tiling
    if tiling.is_replicated or (tiling.is_partial and tiling.replicas % count == 0):
        return tiling
    sharded = [side for side in (LHS, RHS) if not groups[side].tiling.is_replicated]
    if len(sharded) != 1:
        return tiling
    side = sharded[0]
    summed = numbers(product.dimensions.contracting, side)
    apart = ungrouped(groups[side]).replicated_on(summed)
    found = product.dimensions.moved(apart, side, OUTPUT)
    return found if found is not None and lies_within(tiling, found, product.shape) else tiling


def _in_group(value: HeldTensor, grouped: Grouped) -> HeldTensor:
    """The value as each group has it."""
    shape = per_group_shape(grouped, value.shape)
    return replace(value, shape=shape, tiling=grouped.tiling, earlier=())


def _inner_product(product: Product, lhs: HeldTensor, rhs: HeldTensor, output: Grouped) -> Product:
    """The product of each group."""
    shape = per_group_shape(output, product.shape)
    return replace(product, lhs=lhs, rhs=rhs, shape=shape, tiling=output.tiling)


def _solved(product: Product, solve: Solve, operands: Sequence[HeldTensor], output: Grouped) -> HeldTensor:
    """The product of each group, as the result of all, in the tiles that are wanted."""
    lhs, rhs = operands
    found = solve(_inner_product(product, lhs, rhs, output))
    return reshard(replace(found, shape=product.shape, tiling=ungrouped(output)), product.tiling)


def _held_bytes(value: HeldTensor) -> int:
    """The bytes that each device holds."""
    return size_bytes(value.local, value.element)
