"""Convolutions: products of batches and features, and windows along sharded spatial dimensions.

A spatial dimension whose windows make it one (of size one, or as large as the operand) is an index of a
product like any other. If only the other spatial dimensions are sharded, the elements that windows read from
neighbours are exchanged: of lhs, either for the result's tiles with the whole kernel, or for those of a
sharded kernel, whose partial results are summed. Grouped features or batches are batch dimensions. Source:
openxla/xla, xla/service/spmd/convolution_handler.cc, `PartitionConv` in dot_handler.cc there, and
xla/service/dot_as_convolution_util.cc. Not here: convolutions as products (`dots.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from shardy_py.base.records import dataclass
from shardy_py.ops.dimensions import ConvolutionDimensions, Window, windows_of
from shardy_py.ops.record import Attributes
from shardy_py.xla.spmd.halo import Dimension, divided, valid_data
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.products import (
    LHS,
    OTHER,
    OUTPUT,
    RHS,
    Product,
    ProductDimension,
    ProductDimensions,
    size_bytes,
    tiles_of,
)
from shardy_py.xla.spmd.reshard import replicated, reshard
from shardy_py.xla.spmd.tiling import Shape, Tiling
from shardy_py.xla.spmd.windowed import windowed_input

OnBatch = Callable[[Product], HeldTensor | None]
"""Partitions a product in groups along its batch dimensions."""


@dataclass(frozen=True)
class Convolution:
    """The parts of a convolution that a product lacks.

    dims: its dimensions by role. window: by spatial dimension.
    """

    dims: ConvolutionDimensions
    window: tuple[Window, ...]

    @staticmethod
    def of(attributes: Attributes, kernel: Shape) -> Convolution:
        """That of StableHLO's attributes; kernel: its shape."""
        numbers = ConvolutionDimensions.of(attributes)
        return Convolution(numbers, windows_of(attributes, numbers.window(kernel)))

    @property
    def is_grouped(self) -> bool:
        """Returns whether features or batches are grouped."""
        return self.dims.feature_groups > 1 or self.dims.batch_groups > 1

    @property
    def reversed_kernel(self) -> tuple[int, ...]:
        """The dimensions of the kernel that windows reverse."""
        pairs = zip(self.dims.spatials, self.window, strict=True)
        return tuple(at for (_, at, _), window in pairs if window.is_reversed)

    def dimensions(self, lhs: Shape) -> ProductDimensions:
        """The indices of the product; lhs: the shape of the input."""
        groups: dict[str, list[ProductDimension]] = {
            "batch": [],
            "contracting": [ProductDimension(self.dims.feature, self.dims.in_feature)],
            "lhs_free": [ProductDimension(self.dims.batch, None, self.dims.result_batch)],
            "rhs_free": [ProductDimension(None, self.dims.out_feature, self.dims.result_feature)],
            "spatial": [],
        }
        for at, window in zip(self.dims.spatials, self.window, strict=True):
            groups[_role(lhs[at[0]], window)].append(ProductDimension(*at))
        rank = len(lhs)
        found = {role: tuple(indices) for role, indices in groups.items()}
        return ProductDimensions(**found, ranks=(rank, rank, rank))


"""The attributes of windows that are 1 by default."""


def _role(size: int, window: Window) -> str:
    """The role of a spatial dimension of `size` elements of the input: a field of `ProductDimensions`."""
    padding, is_plain = (window.low, window.high), window.dilation == window.base_dilation == 1
    steps, span = (window.stride, window.dilation), max(1, size - 1)
    if size == window.size and not window.is_reversed and padding == (0, 0):
        if window.base_dilation == size and sorted(steps) == sorted((1, span)):
            return "batch"
        if is_plain:
            return "contracting"
    is_full = size == window.size and padding == (size - 1, size - 1)
    if is_full and window.is_reversed and steps == (size, 1) and window.base_dilation == size - 1:
        return "batch"
    if window.stride == 1 and is_plain:
        if window.is_trivial:
            return "lhs_free"
        if size == 1 and window.is_reversed and padding == (window.size - 1, window.size - 1):
            return "rhs_free"
    return "spatial"


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of a convolution's own ways: a result, or none, in which case no other way is tried."""

    result: HeldTensor | None


def convolution(product: Product, on_batch: OnBatch, *, may_move: bool) -> Decision | None:
    """The ways that only convolutions have; None: they are like other products."""
    own = product.convolution
    if own is None:
        return None
    dimensions = product.dimensions
    spatial = max(tiles_of(product.tiling_of(side), dimensions.spatial, side) for side in (LHS, RHS, OUTPUT))
    is_product = (
        max(product.tiles("batch", side) for side in (LHS, RHS, OUTPUT)) > 1
        or min(product.tiles("contracting", side) for side in (LHS, RHS)) > 1
    )
    if not own.is_grouped and (spatial == 1 or is_product):
        return None
    if own.dims.feature_groups > 1 and product.rhs.local[own.dims.in_feature] > 1:
        return Decision(None)
    for attempt in (_batch_groups, _feature_groups, _with_sharded_kernel, _with_whole_kernel):
        found = attempt(product, own)
        if found is not None:
            return Decision(found)
    return Decision(_as_batch(product, own, on_batch, may_move=may_move)) if own.is_grouped else None


def _batch_groups(product: Product, own: Convolution) -> HeldTensor | None:
    """Each batch is a group of its own, and each device has some."""
    lhs, rhs = product.lhs, product.rhs
    sizes = {own.dims.batch_groups, lhs.shape[own.dims.batch], rhs.shape[own.dims.out_feature]}
    if own.dims.batch_groups == 1 or len(sizes) > 1:
        return None
    batches = (own.dims.batch, own.dims.out_feature, own.dims.result_feature)
    features = (own.dims.feature, own.dims.in_feature, own.dims.result_batch)
    return _in_parallel(product, own, own.dims.batch_groups, (batches, features))


def _feature_groups(product: Product, own: Convolution) -> HeldTensor | None:
    """Each device has some groups of features."""
    groups, sizes = (
        own.dims.feature_groups,
        (product.rhs.shape[own.dims.out_feature], product.lhs.shape[own.dims.feature]),
    )
    if groups == 1 or any(size % groups for size in sizes):
        return None
    features = (own.dims.feature, own.dims.out_feature, own.dims.result_feature)
    batches = (own.dims.batch, own.dims.in_feature, own.dims.result_batch)
    return _in_parallel(product, own, groups, (features, batches))


def _in_parallel(
    product: Product, own: Convolution, groups: int, pairs: Sequence[tuple[int, int, int]]
) -> HeldTensor | None:
    """The operand whose groups are on all devices leads; pairs: dimensions of lhs, rhs and result."""
    devices, first = product.device_count, pairs[0]
    if groups % devices:
        return None
    together = (*pairs, *own.dims.spatials)
    at = {LHS: first[0], RHS: first[1]}
    leader = next((s for s in (LHS, RHS) if product.tiling_of(s).dimensions[at[s]] == devices), None)
    if leader is None:
        return None
    index = {LHS: 0, RHS: 1, OUTPUT: 2}
    tiling = product.tiling_of(leader)
    moved = {
        side: _permuted(tiling, [(row[index[leader]], row[index[side]]) for row in together])
        for side in (OTHER[leader], OUTPUT)
    }
    follower = OTHER[leader]
    product = product.with_operand(follower, reshard(product.operand(follower), moved[follower]))
    return reshard(_multiplied(product, moved[OUTPUT]), product.tiling)


def _with_sharded_kernel(product: Product, own: Convolution) -> HeldTensor | None:
    """Kernel and input are sharded: partial results of parts of the kernel and what they read are summed."""
    lhs, rhs = product.lhs, product.rhs
    if lhs.tiling.is_replicated or rhs.tiling.is_replicated:
        return None
    pairs = [
        (own.dims.batch, own.dims.out_feature),
        (own.dims.feature, own.dims.in_feature),
        *(at[:2] for at in own.dims.spatials),
    ]
    back = [(kernel, at) for at, kernel in pairs]
    turned = own.reversed_kernel
    if turned:
        padded = _padded_on_left(rhs, turned)
        if padded is None:
            return None
        rhs = padded
    if size_bytes(lhs.shape, lhs.element) < size_bytes(rhs.shape, rhs.element):
        lhs_tiling, rhs_tiling = _permuted(rhs.tiling.reversed_on(turned), back), rhs.tiling
    else:
        lhs_tiling, rhs_tiling = lhs.tiling, _permuted(lhs.tiling, pairs).reversed_on(turned)
    if lhs_tiling.dimensions[own.dims.batch] > 1 or rhs_tiling.dimensions[own.dims.out_feature] > 1:
        return None
    if _splits_groups(lhs_tiling, rhs_tiling, own) or any(w.base_dilation > 1 for w in own.window):
        return None
    lhs, rhs = reshard(lhs, lhs_tiling), reshard(rhs, rhs_tiling)
    for (at, kernel, _), window in zip(own.dims.spatials, own.window, strict=True):
        count = lhs_tiling.dimensions[at]
        if count == 1:
            continue
        size, part = -(-lhs.shape[at] // count), -(-rhs.shape[kernel] // count)
        reach = window.stride * (window.count(lhs.shape[at]) - 1)
        step = part * window.dilation - size
        needed = reach + (part - 1) * window.dilation + 1
        sent = valid_data(
            Dimension(count, size, lhs.shape[at]),
            divided(-step, window.low),
            divided(step, step + 1 - window.dilation + reach - window.low),
            padding=window.low,
            needed=needed,
        )
        if sent is None:
            return None
        lhs = lhs.permuted(sent, at, size=needed)
    tiling = product.tiling
    whole = Tiling.replicated(tiling.rank, product.device_count, tiling.names)
    found = _multiplied(product.with_operand(LHS, lhs).with_operand(RHS, rhs), whole)
    summed = found.sent("all_reduce", lhs_tiling.along(range(lhs_tiling.rank + 1)), local=found.local)
    return reshard(summed, product.tiling)


def _with_whole_kernel(product: Product, own: Convolution) -> HeldTensor | None:
    """The result is sharded: its tiles, with what they read of the input, and the whole kernel."""
    tiling = product.tiling
    if tiling.is_replicated or tiling.dimensions[own.dims.result_feature] > 1:
        return None
    if _splits_groups(product.lhs.tiling, product.rhs.tiling, own):
        return None
    pairs = [(own.dims.result_batch, own.dims.batch), (own.dims.result_feature, own.dims.feature)]
    target = _permuted(tiling, [*pairs, *((out, at) for at, _, out in own.dims.spatials)])
    lhs = reshard(product.lhs, target)
    window = [Window()] * len(lhs.shape)
    for (at, _, _), each in zip(own.dims.spatials, own.window, strict=True):
        window[at] = each
    read = windowed_input(lhs, window, target, reshard)
    if read is None:
        return None
    product = product.with_operand(LHS, read.value).with_operand(RHS, replicated(product.rhs))
    return product.multiplied(product.lhs, product.rhs, tiling.local_shape(product.shape))


def _as_batch(product: Product, own: Convolution, on_batch: OnBatch, *, may_move: bool) -> HeldTensor | None:
    """Groups of features or batches as a batch dimension."""
    dimensions = _grouped_dimensions(product, own)
    if dimensions is None:
        return None
    product = replace(product, dimensions=dimensions)
    wanted = product.tiles("batch", OUTPUT)
    tiles = {side: product.tiles("batch", side) for side in (LHS, RHS, OUTPUT)}
    if wanted > 1 and wanted in (tiles[LHS], tiles[RHS]):
        found = on_batch(product)
        if found is not None:
            return found
    most = max(tiles.values())
    groups = own.dims.batch_groups if own.dims.batch_groups > 1 else own.dims.feature_groups
    if not may_move or most == 1 or groups % most:
        return None
    leader = next(side for side in (LHS, RHS, OUTPUT) if tiles[side] == most)
    index = dimensions.batch[-1]
    kept = product.tiling_of(leader).replicated_except([at for at in (index.of(leader),) if at is not None])
    moved: dict[str, Tiling] = {}
    for side in (LHS, RHS, OUTPUT):
        tiling = dimensions.moved(kept, leader, side)
        if tiling is None:
            return None
        moved[side] = tiling
    for side in (LHS, RHS):
        product = product.with_operand(side, reshard(product.operand(side), moved[side]))
    return reshard(_multiplied(product, moved[OUTPUT]), product.tiling)


def _grouped_dimensions(product: Product, own: Convolution) -> ProductDimensions | None:
    """The indices with the groups as a batch dimension; None if the groups are not sharded evenly."""
    dimensions = product.dimensions
    found: ProductDimensions | None = None
    if own.dims.feature_groups > 1 and _is_even(
        product, own.dims.feature_groups, own.dims.feature, own.dims.out_feature
    ):
        found = replace(
            dimensions,
            batch=(
                *dimensions.batch,
                ProductDimension(own.dims.feature, own.dims.out_feature, own.dims.result_feature),
            ),
            contracting=(),
            lhs_free=(ProductDimension(own.dims.batch),),
            rhs_free=(ProductDimension(None, own.dims.in_feature),),
        )
    if own.dims.batch_groups > 1 and _is_even(
        product, own.dims.batch_groups, own.dims.batch, own.dims.out_feature
    ):
        batch = ProductDimension(own.dims.batch, own.dims.out_feature, own.dims.result_feature)
        found = replace(dimensions, batch=(*dimensions.batch, batch), lhs_free=(), rhs_free=())
    return found


def _is_even(product: Product, groups: int, at: int, out_feature: int) -> bool:
    tiling = product.lhs.tiling
    if product.lhs.shape[at] == product.rhs.shape[out_feature]:
        return True
    return not tiling.is_replicated and groups % tiling.dimensions[at] == 0


def _splits_groups(lhs: Tiling, rhs: Tiling, own: Convolution) -> bool:
    """Returns whether grouped features or batches are sharded."""
    grouped = (
        (own.dims.feature_groups, own.dims.feature),
        (own.dims.batch_groups, own.dims.batch),
    )
    out_tiles = rhs.dimensions[own.dims.out_feature]
    return any(groups > 1 and (lhs.dimensions[at] > 1 or out_tiles > 1) for groups, at in grouped)


def _padded_on_left(rhs: HeldTensor, dimensions: Sequence[int]) -> HeldTensor | None:
    """The kernel with the padding of uneven dimensions in front."""
    sizes = zip(rhs.shape, rhs.tiling.dimensions, strict=True)
    padding = [tiles * -(-size // tiles) - size for size, tiles in sizes]
    window = [Window(low=more if i in dimensions else 0) for i, more in enumerate(padding)]
    if all(each.is_trivial for each in window):
        return rhs
    read = windowed_input(rhs, window, rhs.tiling, reshard)
    return None if read is None else replace(read.value, shape=rhs.shape)


def _permuted(tiling: Tiling, pairs: Sequence[tuple[int, int]]) -> Tiling:
    """The tiling with dimension `to` for each dimension `at`, for all pairs of them."""
    order = [0] * tiling.rank
    for at, to in pairs:
        order[to] = at
    return tiling.transposed(order)


def _multiplied(product: Product, tiling: Tiling) -> HeldTensor:
    """The convolution of what each device holds, in other tiles than wanted."""
    return replace(product.multiplied(product.lhs, product.rhs), tiling=tiling)
