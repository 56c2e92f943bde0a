"""The handlers of ops: from an op record, operands and tilings of results to what is sent.

XLA's partitioner has a handler an opcode. Not here: which op has which (`facet.py`), control flow
(`walk.py`), the decisions (a module a handler).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.base.behaviours import Behaviour
from shardy_py.ops import TABLE, Memory, row_of
from shardy_py.ops.dimensions import DotDimensions, Window, own_windows
from shardy_py.xla.spmd import dots
from shardy_py.xla.spmd.application import Application
from shardy_py.xla.spmd.convolutions import Convolution
from shardy_py.xla.spmd.dynamic_slices import dynamically_sliced, dynamically_updated
from shardy_py.xla.spmd.indexed_handlers import copied
from shardy_py.xla.spmd.movement import (
    along_batch,
    bitcast,
    broadcast,
    elementwise,
    replicating,
    result_of,
    reversed_along,
    transposed,
    with_whole_dimensions,
)
from shardy_py.xla.spmd.partitioned import HeldTensor, without_axes
from shardy_py.xla.spmd.products import LHS, RHS, Product, ProductDimensions
from shardy_py.xla.spmd.reductions import reduced
from shardy_py.xla.spmd.reshapes import reshaped
from shardy_py.xla.spmd.reshard import reshard
from shardy_py.xla.spmd.sorts import largest, sorted_along
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.spmd.windows import padded, selected_and_scattered, sliced, windows_reduced


def elementwise_op(application: Application) -> list[HeldTensor]:
    """Scalars among the operands are broadcast first, as HLO has it."""
    rank = len(application.shape())
    operands = [value for value in application.operands if len(value.shape) == rank]
    (target,) = application.targets
    return [elementwise(operands, application.element(), target)]


def whole(application: Application) -> list[HeldTensor]:
    """Each operand is gathered once."""
    found: list[HeldTensor] = []
    operands: Sequence[HeldTensor] = application.operands
    for i, target in enumerate(application.targets):
        found.append(replicating(operands, application.shape(i), application.element(i), target))
        operands = ()
    return found


def explicit(application: Application) -> list[HeldTensor]:
    """A collective of the program itself, on what each device or group of devices holds."""
    record = application.record
    collective = TABLE[record.name].collective
    groups: Sequence[Sequence[int]] = application.attributes.get("replica_groups") or ()
    pairs: Sequence[Sequence[int]] = application.attributes.get("source_target_pairs") or ()
    found: list[HeldTensor] = []
    for i, (value, target) in enumerate(zip(application.operands, application.targets, strict=False)):
        size = len(groups[0]) if groups else 2 if pairs else target.device_count
        result = HeldTensor.of(application.shape(i), target, application.element(i))
        held = replace(value, chain=None)
        moves = size > 1 and all(a != b for a, b in pairs[:1])
        group = tuple(groups[0]) if groups else (tuple(pairs[0]) if pairs else range(size))
        ends = tuple((source, receiver) for source, receiver in pairs)
        sent = held
        if collective and moves:
            sent = held.sent(collective.kind, group, local=result.local, pairs=ends)
        found.append(replace(result, collectives=sent.collectives))
    return found


def ragged_dot(application: Application) -> list[HeldTensor]:
    """Operands agree; parts of a sharded contracted dimension are summed."""
    shape, (target,) = application.shape(), application.targets
    made = result_of(application.operands, shape, target, application.element())
    group: Sequence[int] = application.attributes.get("group") or ()
    return [made.sent("all_reduce", group, local=made.local) if group else made]


def constant(application: Application) -> list[HeldTensor]:
    """Its number is known if it is a scalar of integers."""
    made = HeldTensor.of(application.shape(), application.targets[0], application.element())
    return [replace(made, number=application.attributes.get("value"))]


def in_place(application: Application) -> list[HeldTensor]:
    """Each device makes its part of an unreduced tensor: its tile among zeros."""
    (value,), (target,) = application.operands, application.targets
    return [result_of([value], application.shape(), target, application.element())]


def copies(application: Application) -> list[HeldTensor]:
    """Result i is a copy of operand i."""
    pairs = zip(application.operands, application.targets, strict=True)
    return [elementwise([value], value.element, target) for value, target in pairs]


def dot_general(application: Application) -> list[HeldTensor]:
    """A product along the dimensions that the op names."""
    numbers = DotDimensions.of(application.attributes)
    return _product(application, contracting=numbers.contracting, batch=numbers.batching)


def dot(application: Application) -> list[HeldTensor]:
    """The last dimension of lhs and the first of rhs are contracted."""
    return _product(application, contracting=((len(application.operands[0].shape) - 1,), (0,)))


def _product(
    application: Application,
    *,
    contracting: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
) -> list[HeldTensor]:
    lhs, rhs, target = _without_axes(application)
    rhs = copied(rhs, [lhs])
    dimensions = ProductDimensions.of_dot(
        len(lhs.shape), len(rhs.shape), contracting=contracting, batch=batch
    )
    product = Product(dimensions, lhs, rhs, application.shape(), target, application.element())
    loops = application.loops and replace(application.loops, devices=target.device_count)
    shared = frozenset((LHS, RHS)[number] for number in application.shared)
    return [dots.dot(replace(product, is_unreduced=application.is_unreduced, loops=loops, shared=shared))]


def _without_axes(application: Application) -> tuple[HeldTensor, HeldTensor, Tiling]:
    """The operands and the tiling of a product, whose axes the partitioner forgets, also for later ops."""
    lhs, rhs = map(without_axes, application.operands)
    return lhs, rhs, application.targets[0].by(None)


def convolution(application: Application) -> list[HeldTensor]:
    """A product that sums over windows."""
    lhs, rhs, target = _without_axes(application)
    own = Convolution.of(application.attributes, rhs.shape)
    dimensions = own.dimensions(lhs.shape)
    product = Product(dimensions, lhs, rhs, application.shape(), target, application.element())
    return [dots.dot(replace(product, convolution=own))]


def rng(application: Application) -> list[HeldTensor]:
    """Random numbers that several devices hold are drawn on one of them, and sent to the others by a sum."""
    found = HeldTensor.of(application.shape(), application.targets[0], application.element())
    return [found.summed(found.tiling, [found.tiling.rank])]


def transpose(application: Application) -> list[HeldTensor]:
    """The dimensions in another order."""
    (value,), (target,) = application.operands, application.targets
    return [transposed(value, application.attributes["permutation"], target)]


def bitcast_convert(application: Application) -> list[HeldTensor]:
    """The bits as another element type."""
    (value,), (target,) = application.operands, application.targets
    return [bitcast(value, application.shape(), application.element(), target)]


def reshape(application: Application) -> list[HeldTensor]:
    """The elements in another shape."""
    return [reshaped(application.operands[0], application.shape(), application.targets[0])]


def _dropped(value: HeldTensor, kept: Sequence[int]) -> HeldTensor:
    """The value without other dimensions than `kept`, which are of size one; so is what it was before."""
    dropped = [i for i in range(len(value.shape)) if i not in kept]
    whole = (each for each in value.earlier if all(each.tiling.dimensions[i] == 1 for i in dropped))
    return replace(
        value,
        shape=tuple(value.shape[i] for i in kept),
        local=tuple(value.local[i] for i in kept),
        tiling=value.tiling.without_dimensions(dropped),
        earlier=tuple(_dropped(each, kept) for each in whole),
    )


def broadcast_in_dim(application: Application) -> list[HeldTensor]:
    """Dimensions of size one that grow are dropped first, in a new tensor: its reshards are not shared."""
    (value,), (target,) = application.operands, application.targets
    shape = application.shape()
    dimensions: Sequence[int] = application.attributes["broadcast_dimensions"]
    grown = [i for i, at in enumerate(dimensions) if value.shape[i] != shape[at]]
    if grown:
        kept = [i for i in range(len(dimensions)) if i not in grown]
        value = reshard(value, value.tiling.replicated_on(grown))
        value = replace(_dropped(value, kept), chain=None, earlier=())
        dimensions = [dimensions[i] for i in kept]
    return [broadcast(value, dimensions, shape, target)]


def reduce(application: Application) -> list[HeldTensor]:
    """The second half of the operands are initial values."""
    inputs = application.operands[: len(application.targets)]
    elements = [application.element(i) for i in range(len(inputs))]
    dimensions: Sequence[int] = application.attributes["dimensions"]
    is_unreduced = application.is_unreduced
    return reduced(inputs, dimensions, elements, application.targets, is_unreduced=is_unreduced)


def slice_(application: Application) -> list[HeldTensor]:
    """Every so many of the elements between two bounds."""
    (value,), (target,) = application.operands, application.targets
    starts, limits, strides = (
        application.attributes[name] for name in ("start_indices", "limit_indices", "strides")
    )
    return [sliced(value, starts, limits, strides, target)]


def pad(application: Application) -> list[HeldTensor]:
    """The elements with others around and between them."""
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    low, high, interior = (application.attributes[name] for name in names)
    return [padded(application.operands[0], low, high, interior, application.targets[0])]


def concatenate(application: Application) -> list[HeldTensor]:
    """The operands behind each other: along that dimension they are whole."""
    dimension = application.attributes["dimension"]
    (target,) = application.targets
    return [with_whole_dimensions(application.operands, [dimension], application.shape(), target)]


def reverse(application: Application) -> list[HeldTensor]:
    """The elements in reverse order along dimensions."""
    (value,), (target,) = application.operands, application.targets
    return [reversed_along(value, application.attributes["dimensions"], target)]


def dynamic_slice(application: Application) -> list[HeldTensor]:
    """A slice that starts at values."""
    return [dynamically_sliced(application.operands[0], application.shape(), application.targets[0])]


def dynamic_update_slice(application: Application) -> list[HeldTensor]:
    """The operand with a slice replaced that starts at values."""
    value, update, *starts = application.operands
    numbers = [start.number for start in starts]
    return [dynamically_updated(value, update, numbers, application.targets[0])]


def fft(application: Application) -> list[HeldTensor]:
    """The last dimensions are transformed, as many as `fft_length` has."""
    (value,), (target,) = application.operands, application.targets
    transformed = target.dimensions[target.rank - len(application.attributes["fft_length"]) :]
    if not Behaviour.FFT_KEEPS_BATCHES.holds or any(tiles > 1 for tiles in transformed):
        return whole(application)
    return [result_of([reshard(value, target)], application.shape(), target, application.element())]


def sort(application: Application) -> list[HeldTensor]:
    """Sorted along a dimension."""
    dimension = application.attributes.get("dimension", -1) % len(application.shape())
    return sorted_along(application.operands, dimension, application.targets)


def matrices(application: Application) -> list[HeldTensor]:
    """The last two dimensions are whole."""
    rank = len(application.shape())
    whole = [rank - 2, rank - 1]
    return [with_whole_dimensions(application.operands, whole, application.shape(), application.targets[0])]


def _window(application: Application, rank: int) -> Sequence[Window]:
    return own_windows(application.attributes, rank)


_MOST_DIGITS = 5
"""Digits of a number of dimensions."""


def custom_call(application: Application) -> Sequence[HeldTensor]:
    """Calls with batch dimensions (of LAPACK) stay sharded along those of the first result."""
    record = application.record
    if row_of(record).memory is not Memory.SAME and record.operands == record.results:
        return copies(application)
    given: dict[str, str] = application.attributes.get("mhlo.frontend_attributes") or {}
    stated, first = given.get("num_batch_dims", ""), application.targets[0]
    count = int(stated) if stated.isdecimal() and len(stated) < _MOST_DIGITS else 0
    return _in_batches(application, min(count, first.rank))


def matrix_call(application: Application) -> Sequence[HeldTensor]:
    """Calls of matrices, which are whole, with the dimensions of a batch before."""
    return _in_batches(application, application.targets[0].rank - 2)


def _in_batches(application: Application, count: int) -> Sequence[HeldTensor]:
    """A call that is sharded along its first dimensions, as its first result is."""
    batch = range(count)
    near = application.targets[0].replicated_except(batch)
    if near.is_replicated:
        return whole(application)
    return along_batch(application.operands, [*batch], near, application.results, application.targets)


def top_k(application: Application) -> Sequence[HeldTensor]:
    """The largest elements of each row of a matrix."""
    value = application.operands[0]
    if len(value.shape) != 2:
        return custom_call(application)
    used = [application.is_used(i) for i in range(len(application.targets))]
    return largest(value, application.shape()[-1], application.targets, used)


def reduce_window(application: Application) -> list[HeldTensor]:
    """The second half of the operands are initial values."""
    inputs = application.operands[: len(application.targets)]
    shape = application.shape()
    return windows_reduced(inputs, _window(application, len(shape)), shape, application.targets)


def select_and_scatter(application: Application) -> list[HeldTensor]:
    """The sums of what windows select."""
    operand, source = application.operands[:2]
    window = _window(application, len(operand.shape))
    return [selected_and_scattered(operand, source, window, application.targets[0])]
