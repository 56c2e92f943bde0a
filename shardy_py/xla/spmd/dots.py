"""Products: which operands XLA's partitioner reshards or gathers, and what it sums.

First with operands whose devices already fit, then with others moved: the whole product in one way
(`_whole`), else devices in groups along dimensions that two sides share (`dot_groups.py`), each with a
smaller product.
Source: openxla/xla, `PartitionDot` in xla/service/spmd/dot_handler.cc. Not here: convolutions along sharded
spatial dimensions (`convolutions.py`).

>>> from shardy_py.sharding import Mesh
>>> mesh, matmul = Mesh.of(x=4, y=2), ProductDimensions.of_dot(2, 2, contracting=((1,), (0,)))
>>> rows, columns = Tiling.of(mesh, [("x",), ()]), Tiling.of(mesh, [(), ("x",)])
>>> lhs, rhs = HeldTensor.of((64, 128), columns, "f32"), HeldTensor.of((128, 32), rows, "f32")
>>> found = dot(Product(matmul, lhs, rhs, (64, 32), Tiling.of(mesh, [(), ()]), "f32"))
>>> [(each.kind, each.group_size, each.held_shape) for each in found.collectives]
[('all_reduce', 4, (64, 32))]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import prod

from shardy_py.xla.spmd.all_to_all import exchanges
from shardy_py.xla.spmd.convolutions import convolution
from shardy_py.xla.spmd.dot_groups import on_batch, on_contracting, on_free
from shardy_py.xla.spmd.einsum_loops import in_loop
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.products import (
    LHS,
    OTHER,
    OUTPUT,
    RHS,
    Product,
    ProductDimensions,
    numbers,
    operand_tiling,
    size_bytes,
)
from shardy_py.xla.spmd.reshard import is_permutation, replicated, reshard
from shardy_py.xla.spmd.tiling import Tiling

__all__ = ["Product", "ProductDimensions", "dot"]


def dot(product: Product) -> HeldTensor:
    """The result in the tiles that are wanted, with what was sent for it."""
    for may_move in (False, True):
        found = _attempted(product, may_move=may_move)
        if found is not None:
            return found
    if product.dimensions.spatial:
        whole = Tiling.replicated(product.tiling.rank, product.device_count, product.tiling.names)
        found = product.multiplied(replicated(product.lhs), replicated(product.rhs))
        return reshard(replace(found, tiling=whole), product.tiling)
    lhs, rhs = (
        reshard(product.operand(side), operand_tiling(product, side, with_other=False)) for side in (LHS, RHS)
    )
    return product.multiplied(lhs, rhs)


def _attempted(product: Product, *, may_move: bool) -> HeldTensor | None:
    """The result by the first of the ways that applies; may_move: devices may move to other groups."""
    by_batch = partial(on_batch, solve=dot, may_move=may_move)
    decision = convolution(product, by_batch, may_move=may_move)
    if decision is not None:
        return decision.result
    attempts: tuple[Callable[[], HeldTensor | None], ...] = (
        lambda: _whole(product, may_reshard=False, may_sum=False),
        lambda: by_batch(product),
        lambda: on_free(product, dot, may_move=may_move),
        lambda: on_contracting(product, dot, may_move=may_move),
        lambda: _without_replicas(product),
        lambda: _whole(product, may_reshard=True, may_sum=may_move),
    )
    return next((found for attempt in attempts if (found := attempt()) is not None), None)


def _whole(product: Product, *, may_reshard: bool, may_sum: bool) -> HeldTensor | None:
    """The product with all devices along indices of one role.

    may_reshard: also if the operands are sharded otherwise. may_sum: also by one sum whose result is sharded;
    groups, which are tried before, sum it along one of its dimensions after the other.
    """
    if product.tiling.is_partial:
        return None
    attempts: tuple[Callable[[], HeldTensor | None], ...] = (
        lambda: _along_batch(product),
        lambda: _along_batch_of_output(product, any_reshard=False),
        lambda: in_loop(product),
        lambda: _along_batch_of_output(product, any_reshard=True),
        lambda: _summed(product) if may_sum or product.tiling.is_replicated else None,
        lambda: _along_free(product, LHS),
        lambda: _along_free(product, RHS),
        lambda: _as_output(product) if may_reshard else None,
        lambda: _summed_with_one_moved(product),
    )
    return next((found for attempt in attempts if (found := attempt()) is not None), None)


def _along_batch(product: Product) -> HeldTensor | None:
    """Both operands are sharded alike, along batch dimensions only."""
    devices = product.device_count
    if product.tiles("batch", LHS) != devices or product.tiles("batch", RHS) != devices:
        return None
    if product.moved(LHS, RHS) != product.rhs.tiling:
        return None
    tiling = product.moved(LHS, OUTPUT)
    assert tiling is not None
    return reshard(replace(product.multiplied(product.lhs, product.rhs), tiling=tiling), product.tiling)


def _along_batch_of_output(product: Product, *, any_reshard: bool) -> HeldTensor | None:
    """One operand is sharded as the result along batch dimensions only; the other is resharded.

    any_reshard: not only by a permute or all-to-alls.
    """
    devices = product.device_count
    if product.tiles("batch", OUTPUT) != devices:
        return None
    for side in (LHS, RHS):
        if product.tiles("batch", side) != devices or product.moved(side, OUTPUT) != product.tiling:
            continue
        target, other = product.moved(side, OTHER[side]), product.operand(OTHER[side])
        assert target is not None
        if any_reshard or is_permutation(other.tiling, target) or exchanges(other.tiling, target) is not None:
            return _multiplied(product, OTHER[side], reshard(other, target))
        return None
    return None


def _summed(product: Product) -> HeldTensor | None:
    """Both operands are sharded along contracting dimensions only: the smaller is resharded as the larger."""
    devices = product.device_count
    if product.tiles("contracting", LHS) != devices or product.tiles("contracting", RHS) != devices:
        return None
    lhs, rhs = product.lhs, product.rhs
    smaller = LHS if size_bytes(lhs.shape, lhs.element) < size_bytes(rhs.shape, rhs.element) else RHS
    return reshard(_summed_as(product, OTHER[smaller]), product.tiling)


def _summed_as(product: Product, side: str) -> HeldTensor:
    """The sum over all devices of products with the other operand resharded as that of `side`."""
    target = product.moved(side, OTHER[side])
    assert target is not None
    moved = _multiplied(product, OTHER[side], reshard(product.operand(OTHER[side]), target))
    tiling = product.tiling_of(side)
    found = product.summed(moved, tiling, numbers(product.dimensions.contracting, side))
    return replace(found, tiling=Tiling.replicated(product.tiling.rank, product.device_count, tiling.names))


def _along_free(product: Product, side: str) -> HeldTensor | None:
    """One operand is sharded as the result, along its own dimensions only; the other is gathered."""
    role, devices = f"{side}_free", product.device_count
    if product.tiles(role, side) != devices or product.tiles(role, OUTPUT) != devices:
        return None
    if product.moved(side, OUTPUT) != product.tiling:
        return None
    return _multiplied(product, OTHER[side], replicated(product.operand(OTHER[side])))


def _as_output(product: Product) -> HeldTensor | None:
    """The operands are resharded as the result is, which is sharded along indices of one role only."""
    devices = product.device_count
    for role, sides in (("batch", (LHS, RHS)), ("lhs_free", (LHS,)), ("rhs_free", (RHS,))):
        if product.tiles(role, OUTPUT) != devices:
            continue
        for side in (LHS, RHS):
            target = product.moved(OUTPUT, side) if side in sides else None
            value = product.operand(side)
            value = replicated(value) if target is None else reshard(value, target)
            product = product.with_operand(side, value)
        return product.multiplied(product.lhs, product.rhs)
    return None


def _summed_with_one_moved(product: Product) -> HeldTensor | None:
    """Only one operand is sharded, along contracting dimensions, and it is larger than the result."""
    if not product.tiling.is_replicated:
        return None
    for side in (RHS, LHS):
        value, other = product.operand(side), product.operand(OTHER[side])
        if product.tiles("contracting", side) != product.device_count or not other.tiling.is_replicated:
            continue
        if prod(value.shape) > prod(product.shape):
            return _summed_as(product, side)
    return None


def _without_replicas(product: Product) -> HeldTensor | None:
    """Operands that are whole on every device: the replicas of the result compute alike."""
    if not (product.lhs.tiling.is_replicated and product.rhs.tiling.is_replicated):
        return None
    if not product.tiling.is_partial:
        return None
    devices = product.tiling.tile_count
    names = product.tiling.named(product.tiling.devices[:: product.tiling.replicas])
    inner = Tiling(product.tiling.dimensions, 1, tuple(range(devices)), names)
    operands = [
        replace(value, tiling=Tiling.replicated(value.tiling.rank, devices, names))
        for value in (product.lhs, product.rhs)
    ]
    found = dot(replace(product, lhs=operands[0], rhs=operands[1], tiling=inner))
    return replace(found, tiling=product.tiling)


def _multiplied(product: Product, side: str, value: HeldTensor) -> HeldTensor:
    """The product with `value` as the operand of a side."""
    moved = product.with_operand(side, value)
    return product.multiplied(moved.lhs, moved.rhs)
