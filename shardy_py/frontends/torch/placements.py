"""DTensor's placements to and from shardings, and `DeviceMesh` to a mesh. Torch is imported when needed.

Placements have an entry for each mesh dimension, shardings have the axes of each tensor dimension, major to
minor. Mesh dimensions with `Shard(d)` split dimension d in mesh order; one that is more minor than later ones
is `_StridedShard(d, split_factor=f)`: the later mesh dimensions that are more major make f parts
(torch.distributed.tensor, `_StridedShard`). FSDP over "dp" of weights that "tp" shards is `[_StridedShard(0,
split_factor=tp), Shard(0)]`: dimension 0 over (tp, dp).

Uneven splits may differ: in DTensor each mesh dimension splits the parts of the ones before it, as
`torch.chunk`; sdy splits once, into the product of the axes. 9 elements over 2 and then 4: DTensor gives 5 to
the first four devices, as 2, 2, 1, 0.

>>> steps = (SplitStep("dp", 2, 1), SplitStep("tp", 4, 1))
>>> difference(9, DimensionSharding((AxisRef("dp"), AxisRef("tp")), is_closed=True), steps)
'where DTensor and sdy differ: at dp=0, tp=2, DTensor holds [4:5], sdy [4:6]'

DTensor cannot express open dimensions, priorities and explicit replication; `to_placements` leaves them out.
Not here: programs (`programs.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import product
from math import prod
from typing import Any, TypeGuard

from shardy_py.api import Mesh, Sharding, ShardyError
from shardy_py.api.arguments import expect
from shardy_py.base.records import dataclass
from shardy_py.frontends.torch.protocols import TorchTensor
from shardy_py.ops import REDUCTIONS
from shardy_py.sharding import AxisRef, DimensionSharding, SubAxis, TensorSharding

Spans = tuple[range, ...]
"""The indices of a device in order, as spans that are not adjacent."""


@dataclass(frozen=True, slots=True)
class SplitStep:
    """The split of a tensor dimension by one mesh dimension: each of `split_factor` parts into `size`."""

    name: str
    size: int
    split_factor: int


def difference(size: int, dimension: DimensionSharding, steps: Sequence[SplitStep]) -> str:
    """The first difference between the parts of a dimension of `size` elements; "" if there is none.

    steps: of the mesh dimensions, in mesh order; dimension: the same split as axes.
    """
    mesh = Mesh.of({step.name: step.size for step in steps})
    ours = Sharding(mesh, TensorSharding("mesh", (dimension,))).device_slices((size,))
    coordinates = product(*(range(step.size) for step in steps))
    offsets, sizes = ours.offsets[:, 0].tolist(), ours.sizes[:, 0].tolist()
    for place, theirs, offset, count in zip(coordinates, _split(size, steps), offsets, sizes, strict=True):
        if theirs != _joined([range(offset, offset + count)]):
            named = ", ".join(f"{step.name}={i}" for step, i in zip(steps, place, strict=True))
            return (
                f"where DTensor and sdy differ: at {named}, DTensor holds {_spelled(theirs)}, "
                f"sdy [{offset}:{offset + count}]"
            )
    return ""


def _split(size: int, steps: Sequence[SplitStep]) -> list[Spans]:
    """The indices of each device, in mesh order, as torch splits: step by step, `torch.chunk`."""
    parts = [_joined([range(size)])]
    for step in steps:
        parts = [
            _joined([span for piece in pieces for span in piece])
            for part in parts
            for pieces in zip(*(_chunks(p, step.size) for p in _chunks(part, step.split_factor)), strict=True)
        ]
    return parts


def _chunks(part: Spans, count: int) -> list[Spans]:
    each = -(-sum(map(len, part)) // count)
    return [_between(part, i * each, (i + 1) * each) for i in range(count)]


def _between(part: Spans, start: int, limit: int) -> Spans:
    """The indices from place `start` to before place `limit`."""
    spans: list[range] = []
    place = 0
    for span in part:
        spans.append(span[max(start - place, 0) : max(limit - place, 0)])
        place += len(span)
    return _joined(spans)


def _joined(spans: Sequence[range]) -> Spans:
    joined: list[range] = []
    for span in spans:
        if joined and span and joined[-1].stop == span.start:
            joined[-1] = range(joined[-1].start, span.stop)
        elif span:
            joined.append(span)
    return tuple(joined)


def _spelled(spans: Spans) -> str:
    return " and ".join(f"[{span.start}:{span.stop}]" for span in spans[:4]) or "nothing"


INSTALL = "PyTorch is not installed; `pip install 'shardy_py[torch]'`"


@dataclass(frozen=True, slots=True)
class SubAxisPiece:
    """A sub-axis that shards a dimension: `size` parts of each of the `pre_size` parts of more major ones."""

    name: str
    pre_size: int
    size: int


def is_tensor(value: object) -> TypeGuard[TorchTensor]:
    """Returns whether a value is a tensor of torch."""
    return isinstance(value, torch_module("torch").Tensor)


def torch_module(name: str) -> Any:
    """A module of torch. Raises `ShardyError` if torch is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise ShardyError(INSTALL) from None


# ---------------------------------------------------------------------- meshes


def mesh_of(device_mesh: Any) -> Mesh:
    """The mesh of a `DeviceMesh`; dimensions without names are `mesh_dim_0`, ...

    A slice of a larger one (`mesh["tp"]`) is a mesh of its own with ranks counted from 0 in their order, so
    it is the same on all ranks. Raises `ShardyError` for anything but a `DeviceMesh`.
    """
    if not hasattr(device_mesh, "mesh_dim_names"):
        expected = "a Mesh such as Mesh.of(dp=2, tp=4), or a DeviceMesh of torch"
        raise ShardyError.unexpected("", expected=expected, got=f"{device_mesh!r}")
    shape = tuple(device_mesh.mesh.shape)
    names = device_mesh.mesh_dim_names or [f"mesh_dim_{i}" for i in range(len(shape))]
    ranks = [int(rank) for rank in device_mesh.mesh.flatten().tolist()]
    numbers = {rank: number for number, rank in enumerate(sorted(ranks))}
    sizes = dict(zip(names, shape, strict=True))
    device_ids = () if ranks == sorted(ranks) else [numbers[rank] for rank in ranks]
    return Mesh.of(sizes, device_ids=device_ids)


def as_mesh(mesh: object) -> Mesh:
    """A `Mesh` unchanged; the mesh of a `DeviceMesh`."""
    return mesh if isinstance(mesh, Mesh) else mesh_of(mesh)


# ---------------------------------------------------------------------- from placements


def from_placements(mesh: object, placements: Sequence[object], shape: Sequence[int]) -> Sharding:
    """The sharding of a DTensor of `shape` with these placements, its dimensions closed.

    mesh: a `DeviceMesh`, or a `Mesh`. placements: one a mesh dimension. shape: of the whole tensor.
    Raises `ShardyError` for what sdy cannot express: partial averages and products, partial values of several
    kinds, masks, split factors that give a device pieces that are not adjacent, uneven splits that differ
    from sdy's.
    """
    mesh = as_mesh(mesh)
    for given, what in ((placements, "a list of placements"), (shape, "the shape of the tensor")):
        expect(given, Sequence, what)
    if len(placements) != len(mesh.axes):
        raise ShardyError.unexpected(
            "placements",
            expected=f"one for each of the {len(mesh.axes)} dimensions of the mesh {mesh}",
            got=f"{len(placements)}: {_listed(placements)}",
        )
    dimensions: list[list[SubAxisPiece]] = [[] for _ in shape]
    for axis, placement in reversed(list(zip(mesh.axes, placements, strict=True))):
        shard = _shard_of(placement, len(shape))
        if shard is not None:
            number, split_factor = shard
            _insert(dimensions[number], SubAxisPiece(axis.name, 1, axis.size), split_factor, placement)
    unreduced, reduction = _partial_axes(mesh, placements)
    value = TensorSharding(
        "mesh",
        tuple(DimensionSharding(_axes(pieces, mesh), is_closed=True) for pieces in dimensions),
        unreduced_axes=unreduced,
        reduction=reduction,
    )
    _check_cuts(value, mesh, shape)
    return Sharding(mesh, value)


def _shard_of(placement: Any, rank: int) -> tuple[int, int] | None:
    """The tensor dimension and split factor of a sharding placement; None for other placements."""
    types = torch_module("torch.distributed.tensor.placement_types")
    if isinstance(placement, types.Replicate | types.Partial):
        return None
    if not isinstance(placement, types.Shard | types._StridedShard):
        expected = "a placement (Shard, Replicate, Partial or _StridedShard)"
        raise ShardyError.unexpected("", expected=expected, got=f"{placement!r}")
    number = placement.dim + rank if placement.dim < 0 else placement.dim
    if not 0 <= number < rank:
        raise ShardyError(f"{placement!r} for a tensor of rank {rank}: expected {-rank} to {rank - 1}")
    return number, int(getattr(placement, "split_factor", 1))


def _insert(pieces: list[SubAxisPiece], new: SubAxisPiece, split_factor: int, placement: Any) -> None:
    """Inserts a mesh dimension after pieces of `split_factor` parts, splitting a piece if necessary."""
    if new.size == 1:
        split_factor = 1
    parts, index = 1, 0
    while parts < split_factor and index < len(pieces):
        piece, missing = pieces[index], split_factor // parts
        if split_factor % (parts * piece.size) == 0:
            parts *= piece.size
            index += 1
        elif split_factor % parts == 0 and piece.size % missing == 0:
            inner = SubAxisPiece(piece.name, piece.pre_size * missing, piece.size // missing)
            pieces[index : index + 1] = [replace(piece, size=missing), inner]
            parts, index = split_factor, index + 1
        else:
            break
    if parts != split_factor:
        later = prod(piece.size for piece in pieces)
        raise ShardyError(
            f"{placement!r} over mesh dimension '{new.name}' splits each of {split_factor} parts, but later "
            f"mesh dimensions make {later} of dimension {placement.dim}: a device would hold pieces "
            "that are not adjacent, which a sharding cannot express; expected the product of the sizes "
            "of later mesh dimensions that shard the same dimension, or a factor of it"
        )
    pieces.insert(index, new)


def _partial_axes(mesh: Mesh, placements: Sequence[Any]) -> tuple[tuple[AxisRef, ...], str]:
    types = torch_module("torch.distributed.tensor.placement_types")
    partial = {
        axis.name: p for axis, p in zip(mesh.axes, placements, strict=True) if isinstance(p, types.Partial)
    }
    for placement in partial.values():
        if type(placement) is not types.Partial:
            raise ShardyError.unsupported(
                f"{placement!r}, a Partial with a mask or a norm,",
                remedy="redistribute it to Replicate or Shard",
            )
        if placement.reduce_op not in REDUCTIONS:
            raise ShardyError.unexpected(
                f"{placement!r}",
                expected="a reduction by sum, max or min",
                got=placement.reduce_op,
                remedy="redistribute it to Replicate or Shard",
            )
    ops = sorted({placement.reduce_op for placement in partial.values()})
    if len(ops) > 1:
        raise ShardyError.unexpected(
            f"placements {_listed(placements)}",
            expected="one reduction for all unreduced axes",
            got=", ".join(ops),
        )
    return tuple(AxisRef(name) for name in partial), ops[0] if ops else "sum"


def _axes(pieces: Sequence[SubAxisPiece], mesh: Mesh) -> tuple[AxisRef, ...]:
    return tuple(
        AxisRef(p.name) if p.size == mesh.sizes[p.name] else AxisRef(p.name, SubAxis(p.pre_size, p.size))
        for p in pieces
    )


# ---------------------------------------------------------------------- to placements


def to_placements(sharding: Sharding, shape: Sequence[int] | None = None) -> tuple[object, ...]:
    """The placements of a sharding, one a mesh dimension.

    shape: of the tensor, if known, to check uneven splits.
    Raises `ShardyError` for maximal meshes, sub-axes, and uneven splits that DTensor makes differently. Open
    dimensions and priorities are left out.
    """
    types = torch_module("torch.distributed.tensor.placement_types")
    expect(sharding, Sharding, "a Sharding", "of a P(...): Sharding(mesh, P(...))")
    mesh = sharding.mesh
    if mesh.is_maximal:
        raise ShardyError.unsupported(f"{sharding} on a maximal mesh, which has no placements,")
    if shape is not None:
        sharding = sharding.for_rank(len(shape))
        _check_cuts(sharding.value, mesh, shape)
    by_name: dict[str, Any] = {}
    for axis in sharding.unreduced_axes:
        if axis.sub_axis is not None:
            raise ShardyError(_no_part(sharding, axis.name, "unreduced"))
        by_name[axis.name] = types.Partial(sharding.value.reduction)
    for number, steps in enumerate(_steps_by_dimension(sharding)):
        for step in steps:
            by_name[step.name] = (
                types.Shard(number)
                if step.split_factor == 1
                else types._StridedShard(number, split_factor=step.split_factor)
            )
    return tuple(by_name.get(axis.name) or types.Replicate() for axis in mesh.axes)


def _steps_by_dimension(sharding: Sharding) -> Iterator[tuple[SplitStep, ...]]:
    for number, dimension in enumerate(sharding.dimensions):
        try:
            yield _steps(dimension.axes, sharding.mesh)
        except KeyError as key:
            raise ShardyError(_no_part(sharding, key.args[0], f"dimension {number}")) from None


def _steps(axes: Sequence[AxisRef], mesh: Mesh) -> tuple[SplitStep, ...]:
    """The steps of the mesh dimensions, in mesh order. Raises KeyError for an axis that is not whole."""
    pieces = [_piece(axis, mesh) for axis in axes]
    names = {piece.name for piece in pieces}
    steps: list[SplitStep] = []
    for axis in mesh.axes:
        if axis.name not in names:
            continue
        whole = SubAxisPiece(axis.name, 1, axis.size)
        if whole not in pieces:
            raise KeyError(axis.name)
        index = pieces.index(whole)
        steps.append(SplitStep(axis.name, axis.size, prod(piece.size for piece in pieces[:index])))
        del pieces[index]
        _join_at(pieces, index)
    return tuple(steps)


def _piece(axis: AxisRef, mesh: Mesh) -> SubAxisPiece:
    part = axis.sub_axis or SubAxis(1, mesh.sizes[axis.name])
    return SubAxisPiece(axis.name, part.pre_size, part.size)


def _join_at(pieces: list[SubAxisPiece], index: int) -> None:
    """Joins the pieces around `index` if they are adjacent sub-axes of one axis."""
    if 0 < index < len(pieces):
        outer, inner = pieces[index - 1 : index + 1]
        if outer.name == inner.name and outer.pre_size * outer.size == inner.pre_size:
            pieces[index - 1 : index + 1] = [replace(outer, size=outer.size * inner.size)]


def _no_part(sharding: Sharding, name: str, place: str) -> str:
    return (
        f"{place} of {sharding} uses a sub-axis of '{name}', which DTensor cannot express; "
        f"use a mesh that has the sub-axes of '{name}' as dimensions"
    )


# ---------------------------------------------------------------------- uneven splits


def _check_cuts(value: TensorSharding, mesh: Mesh, shape: Sequence[int]) -> None:
    """Raises `ShardyError` if DTensor and sdy give a device different parts of a dimension."""
    for number, (size, dimension) in enumerate(zip(shape, value.dimensions, strict=True)):
        parts = prod(axis.size(mesh) for axis in dimension.axes)
        if len(dimension.axes) < 2 or size % parts == 0:
            continue
        try:
            steps = _steps(dimension.axes, mesh)
        except KeyError:
            continue
        problem = difference(size, dimension, steps)
        if problem:
            raise ShardyError(
                f"dimension {number} of size {size} is split unevenly by {len(steps)} mesh dimensions, "
                f"{problem}; make its size a multiple of {parts}, or shard it over one mesh dimension"
            )


def _listed(placements: Sequence[object]) -> str:
    return f"[{', '.join(map(repr, placements))}]"
