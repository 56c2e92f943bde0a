"""The work of the host for a collective: slices, conversions and copies around it.

An exchange sends one slice to each device, and puts those that arrive together. An all-gather has its parts
one behind the other, so that others have copies with another layout around them. Collectives are of f32
instead of bf16. Slices that come from neighbours are put together with the operand, dimension by dimension.
Source: openxla/xla, xla/service/spmd/spmd_partitioner_util.cc,
xla/hlo/transforms/expanders/all_to_all_decomposer.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import cast

from shardy_py.ops import TensorType
from shardy_py.ops.dimensions import own_windows
from shardy_py.xla.buffers.host_program import HostProgram, elements
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.spmd.walk import Sent

_MOST_PIECES = 64
"""Exchanges between more devices have one buffer for all pieces, which have the same bytes in all."""


def sent(
    program: HostProgram,
    collective: PlannedCollective,
    source: Name,
    step: PlannedOp | None,
    *,
    original: PlannedCollective | None = None,
    into: Name | None = None,
) -> Name:
    """Sends a value, and returns what arrives.

    original: the collective as it is planned, if that is another. into: the name of what arrives.
    """
    original = original or collective
    if collective.element_type == "bf16":
        wide = replace(collective, element_type="f32", key=None)
        made = sent(program, wide, program.widened(source, step), step, original=original)
        made = program.made("convert", (made,), replace(program.types[made], element="bf16"), step, into)
    else:
        held = TensorType(collective.held_shape, collective.element_type)
        if program.measure(held) < program.sizes.get(source, 0):
            source = program.sliced(source, held, collective.group, step)
        arrived = TensorType(_made_shape(collective), collective.element_type)
        if collective.kind == "all_to_all" and 1 < collective.group_size <= _MOST_PIECES:
            made = _exchanged(program, original, source, step, held, arrived, into)
        elif collective.is_strided or _scatters_columns(collective):
            given = program.made("copy", (source,), held, step)
            strided = program.named(arrived)
            program.add(collective.kind, (given,), (strided,), step, sent=original)
            made = program.made("copy", (strided,), arrived, step, into)
        else:
            made = program.named(arrived, into)
            program.add(collective.kind, (source,), (made,), step, sent=original)
    if original.key is not None:
        program.known[original.key] = made
    return made


def sources_of(each: Sent) -> tuple[Name, ...]:
    """The values that a collective sends, by its key."""
    key = each.collective.key
    return cast("tuple[Name, ...]", key)[1:] if isinstance(key, tuple) else ()


def sent_before(step: PlannedOp, again: Sequence[Sent], stored: Callable[[Name], Name]) -> list[int]:
    """The indices of operands that were sent for another step. stored: the value whose memory holds one."""
    sources = {stored(name) for each in again for name in sources_of(each)}
    return [i for i, name in enumerate(step.operands) if stored(name) in sources] if again else []


def _scatters_columns(collective: PlannedCollective) -> bool:
    """True if a reduce-scatter keeps parts that are not one behind the other in row-major order.

    Source: openxla/xla, xla/service/cpu/cpu_layout_assignment.cc.
    """
    shrinks = [made < held for held, made in zip(collective.held_shape, collective.made_shape, strict=False)]
    first = shrinks.index(True) if True in shrinks else 0
    return collective.kind == "reduce_scatter" and prod(collective.held_shape[:first]) > 1


def _exchanged(
    program: HostProgram,
    original: PlannedCollective,
    source: Name,
    step: PlannedOp | None,
    held: TensorType,
    arrived: TensorType,
    into: Name | None,
) -> Name:
    """Sends a slice to each device; those that arrive are put together and transposed."""
    count = original.group_size
    piece = TensorType((-(-elements(held) // count), *([1] * (len(held.shape) - 1))), held.element)
    given = [program.made("slice", (source,), piece, step) for _ in range(count)]
    parts = [program.named(piece) for _ in range(count)]
    program.add("all_to_all", given, parts, step, sent=original)
    whole = program.made("concatenate", parts, held, step)
    return program.made("copy", (whole,), arrived, step, into)


def _made_shape(collective: PlannedCollective) -> tuple[int, ...]:
    """The shape of what arrives on each device."""
    shape = collective.made_shape or collective.held_shape
    is_unknown = collective.kind == "all_gather" and not collective.made_shape and bool(shape)
    return (shape[0] * collective.group_size, *shape[1:]) if is_unknown else shape


def halo_axis(
    program: HostProgram, collective: PlannedCollective, source: Name, last: int | None
) -> int | None:
    """The dimension of which a slice is sent to a neighbour; None if the whole is sent.

    last: the one before; if others are smaller, too, it has its final size.
    """
    type_ = program.types.get(source)
    if collective.kind != "collective_permute" or type_ is None:
        return None
    if len(type_.shape) != len(collective.held_shape):
        return None
    pairs = enumerate(zip(type_.shape, collective.held_shape, strict=True))
    axes = [axis for axis, (own, sent) in pairs if sent < (own or 0)]
    return next((axis for axis in axes if axis != last or len(axes) == 1), None)


def with_halo(program: HostProgram, source: Name, pieces: Sequence[Name], axis: int, step: PlannedOp) -> Name:
    """A value put together with the slices that come from neighbours."""
    types = [program.types[name] for name in (source, *pieces)]
    if any(axis >= len(type_.shape) for type_ in types):
        joined = replace(types[0], shape=(sum(map(elements, types)),))
    else:
        shape = [*types[0].shape]
        shape[axis] = sum(type_.shape[axis] or 0 for type_ in types)
        joined = replace(types[0], shape=tuple(shape))
    return program.made("concatenate", (source, *pieces), joined, step)


def cut(program: HostProgram, joined: Name, size: int, axis: int, step: PlannedOp) -> Name:
    """The part of a value with a halo that is needed, before another dimension is exchanged."""
    type_ = program.types[joined]
    shape = (*(size if d == axis else own for d, own in enumerate(type_.shape)),)
    return program.made("dynamic_slice", (joined,), replace(type_, shape=shape), step)


def within_windows(program: HostProgram, gathered: Name, step: PlannedOp) -> Name:
    """The part of a gathered operand that the windows of a device's elements read, padded, or all of it.

    Windows that reach further than to the neighbours read an operand that is gathered whole.
    """
    made, given = program.types.get(step.results[0]), program.types[gathered]
    sizes = step.record.attributes.get("window_dimensions")
    if sizes is None or made is None or len(made.shape) != len(given.shape) or len(step.results) != 1:
        return gathered
    windows = own_windows(step.record.attributes, len(given.shape))
    shape = (
        *(
            ((new or 0) - 1) * window.stride + window.dilated_size
            if (old or 0) > (new or 0) * window.stride
            else old
            for window, old, new in zip(windows, given.shape, made.shape, strict=True)
        ),
    )
    if shape == tuple(given.shape):
        return gathered
    return program.made("dynamic_slice", (gathered,), replace(given, shape=shape), step)


def masked(program: HostProgram, joined: Name, axis: int, step: PlannedOp) -> Name:
    """A value that is padded in a sharded dimension: what other devices hold is masked."""
    made, given = program.types[step.results[0]], program.types[joined]
    if len(given.shape) != len(made.shape):
        return joined
    shape = (
        *(
            new if d == axis else old
            for d, (old, new) in enumerate(zip(given.shape, made.shape, strict=True))
        ),
    )
    type_ = replace(made, shape=shape)
    mask = program.made("compare", (), replace(type_, element="i1"), step)
    padded = program.made("pad", (joined,), type_, step)
    return program.made("select", (padded, mask), type_, step)
