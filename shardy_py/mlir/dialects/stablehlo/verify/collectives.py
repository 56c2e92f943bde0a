"""Rules of collectives: groups of replicas, and how the result's shape follows."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation

from shardy_py.base.session import SESSION, Identities
from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.dialects.stablehlo.structs import ChannelHandle, ReplicaGroupMeshAxes
from shardy_py.mlir.dialects.stablehlo.verify.messages import fail, listed, quoted, raw, require
from shardy_py.mlir.dialects.stablehlo.verify.reduction import check_body, elements_of
from shardy_py.mlir.dialects.stablehlo.verify.tensors import (
    RankedTensor,
    Size,
    bit_width,
    is_integer,
    same_size,
)
from shardy_py.mlir.dialects.stablehlo.verify.view import View
from shardy_py.mlir.dialects.verification.scope import Scope

_valid_pairs: Identities[bool] = SESSION.identities("valid pairs of devices")
"""Pairs without a fault: permutes between a million devices share them."""


def _check_groups(view: View, *, equal_sizes: bool, size: int | None = None) -> None:
    """Each replica from 0 on is in one group; -1 pads groups where sizes may differ."""
    groups = view.dense("replica_groups")
    if groups is None:
        return
    require(len(groups.shape) == 2, "replica groups should be a rank 2 tensor")
    if view.flag("use_global_device_ids") and 0 in groups.shape:
        fail("if `use_global_device_ids` is set, the replica groups cannot be empty")
    seen: set[int] = set()
    for replica in groups.values:
        if replica == -1:
            require(not equal_sizes, "Invalid replica id -1")
            continue
        require(replica not in seen, f"replica id #{replica} seen more than once")
        seen.add(replica)
    for replica in range(len(seen)):
        require(replica in seen, f"replica id #{replica} not seen in replica groups")
    if equal_sizes and size is not None:
        count = groups.shape[0]
        if count <= 0 or len(groups.values) // count != size:
            fail(f"group size of replica_groups must be {size}")


def _channel(view: View) -> int:
    handle: ChannelHandle | None = view.value("channel_handle")
    return 0 if handle is None else handle.handle


def _check_channel(view: View) -> None:
    if view.flag("use_global_device_ids") and _channel(view) <= 0:
        fail(f"channel_id must be positive when useGlobalDeviceIds is set but got: {_channel(view)}")


def check_all_gather(view: View) -> None:
    """Groups of one size; shapes agree but along the dimension, where the result is a multiple."""
    _check_groups(view, equal_sizes=True)
    if view.flag("use_global_device_ids") and _channel(view) < 0:
        fail("channel_id cannot be negative when useGlobalDeviceIds is set")
    dimension = view.integer("all_gather_dim")
    for operand, result in zip(view.operands, view.results, strict=False):
        require(dimension < operand.rank, "all_gather_dim must be a valid index of operand")
        size = operand.sizes[dimension]
        require(size != 0, "dimension size of operand at 'all_gather_dim' cannot be zero")
        require(result.rank == operand.rank, "operand and result must have the same rank")
        if not all(
            index == dimension or same_size(a, b)
            for index, (a, b) in enumerate(zip(operand.sizes, result.sizes, strict=True))
        ):
            fail(
                "operand and result should have the same shape except for the dimension size at "
                "'all_gather_dim'"
            )
        gathered = result.sizes[dimension]
        if size is None or gathered is None:
            return
        if gathered % size != 0:
            fail(
                f"result gather dimension has size {gathered}, expected to be a multiple of operand gather "
                f"dimension size {size}"
            )


def _check_bodies(view: View, operands: Sequence[RankedTensor]) -> None:
    for operand in operands:
        check_body(view.body(0), (operand,), (RankedTensor((), operand.element),), ())


def check_all_reduce(view: View) -> None:
    """Groups, channel, and a body that reduces scalars of each operand."""
    _check_groups(view, equal_sizes=False)
    _check_channel(view)
    _check_bodies(view, view.operands)


def check_reduce_scatter(view: View) -> None:
    """Groups and a body as of all_reduce; the operand is a multiple of the result along the dimension."""
    _check_groups(view, equal_sizes=True)
    operand, result = view.operands[0], view.results[0]
    _check_bodies(view, (operand,))
    require(operand.rank == result.rank, "operand and result should have same rank")
    dimension = view.integer("scatter_dimension")
    require(dimension < operand.rank, "scatter dim should be less than operand/result rank")
    _check_channel(view)
    whole, part = operand.sizes[dimension], result.sizes[dimension]
    if whole is None or part is None:
        return
    require(part != 0, "result dimension size at scatter_dimension cannot be zero")
    require(whole != 0, "operand dimension size at scatter_dimension cannot be zero")
    if whole % part != 0:
        fail(
            f"operand scatter dimension has size {whole}, expected to be a multiple of result scatter "
            f"dimension size {part}"
        )
    for index, (size, other) in enumerate(zip(operand.sizes, result.sizes, strict=True)):
        if index != dimension and not same_size(size, other):
            fail(f"non scatter dimensions should be same for operand ({raw(size)}) and result ({raw(other)})")
    element = elements_of(view, 0, (operand,))[0]
    if element is not None and result.element is not None and element != result.element:
        fail(f"result element-type is expected to be {quoted(element)}, but got {quoted(result.element)}")


def infer_all_to_all(view: View) -> Sequence[RankedTensor]:
    """Groups of as many as the split; that dimension is divided by the count, the other multiplied."""
    split, concat = view.integer("split_dimension"), view.integer("concat_dimension")
    count = view.integer("split_count")
    _check_groups(view, equal_sizes=True, size=count)
    return [_exchanged(operand, split, concat, count) for operand in view.operands]


def _exchanged(operand: RankedTensor, split: int, concat: int, count: int) -> RankedTensor:
    if split >= operand.rank:
        fail(f"AllToAll split_dimension {split} is out-of-bounds for input rank {operand.rank}")
    if concat >= operand.rank:
        fail(f"AllToAll concat_dimension {concat} is out-of-bounds for input rank {operand.rank}")
    size = operand.sizes[split]
    if size is not None and size % count != 0:
        fail(f"split dimension has size {size}, expected to be a multiple of split_count {count}")
    bounds = _moved(operand.bounds, split, concat, count) if operand.bounds else ()
    return RankedTensor(
        _moved(operand.sizes, split, concat, count), operand.element, bounds, operand.encoding
    )


def _moved(sizes: Sequence[Size], split: int, concat: int, count: int) -> tuple[Size, ...]:
    moved = list(sizes)
    size = moved[split]
    if size is not None:
        moved[split] = size // count
    put = moved[concat]
    if put is not None:
        moved[concat] = put * count
    return tuple(moved)


def check_collective_permute(view: View) -> None:
    """Pairs of source and target, no source and no target twice."""
    attribute = view.op.properties.get("source_target_pairs")
    if id(attribute) in _valid_pairs:
        return
    pairs = view.dense("source_target_pairs")
    if pairs is None:
        return
    if len(pairs.shape) != 2:
        fail(f"expect source_target_pairs attribute to be of rank 2, but got rank {len(pairs.shape)}")
    if pairs.shape[1] != 2:
        fail(f"expect source_target_pairs attribute of shape (N, 2), but got ({listed(pairs.shape)})")
    ends = pairs.values[::2], pairs.values[1::2]
    if min(pairs.values, default=0) < 0 or any(len(set(ids)) < len(ids) for ids in ends):
        _fail_at_first(pairs.values)
    _valid_pairs.remember(attribute, True)


def _fail_at_first(ids: Sequence[int]) -> None:
    """Fails at the first id of pairs, listed one pair after the other, that is negative or a duplicate."""
    seen: tuple[set[int], set[int]] = (set(), set())
    for index, value in enumerate(ids):
        require(value >= 0, "replica ids in source_target_pairs must be >= 0.")
        what = "targets" if index % 2 else "sources"
        require(value not in seen[index % 2], f"duplicate {what} not allowed.")
        seen[index % 2].add(value)


def infer_data_operands(view: View) -> tuple[RankedTensor, ...]:
    """The operands' types but that of a dynamic root."""
    return view.operands[:-1] if view.flag("has_dynamic_root") else view.operands


def _check_root(view: View, name: str) -> None:
    if not view.flag("has_dynamic_root"):
        require(bool(view.operands), f"{name} requires at least one data operand")
        return
    place = f"{name} with has_dynamic_root=true"
    require(len(view.operands) >= 2, f"{place} requires at least two operands (data + root)")
    root, count = view.operands[-1], len(view.operands) - 1
    if root.rank != 1 or not is_integer(root.element) or bit_width(root.element) != 32:
        fail(f"last operand of {place} must be a rank-1 i32 tensor, but got {root}")
    if root.sizes[0] != count:
        fail(
            f"last operand of {place} must have the same number of elements as data operands ({count}), but "
            f"got {raw(root.sizes[0])}"
        )


def check_collective_broadcast(view: View) -> None:
    """Each replica is in one group; a dynamic root is one more operand."""
    groups = view.dense("replica_groups")
    if groups is not None:
        if len(groups.shape) != 2:
            fail(f"replica groups should be a rank 2 tensor,but instead it is of rank {len(groups.shape)}")
        seen: set[int] = set()
        for replica in groups.values:
            require(replica >= 0, f"replica_groups values must be positive, but was given {replica}")
            require(replica not in seen, f"replica id #{replica} seen more than once")
            seen.add(replica)
    _check_root(view, "collective_broadcast")


def infer_reduced(view: View) -> Sequence[RankedTensor]:
    """The data operands' shapes, of the element type that the body returns."""
    operands = infer_data_operands(view)
    element = elements_of(view, 0, operands[:1])
    return [operand.of(element[0]) for operand in operands]


def check_collective_reduce(view: View) -> None:
    """Groups, channel, root, and a body that reduces scalars of each data operand."""
    _check_groups(view, equal_sizes=False)
    _check_channel(view)
    _check_root(view, "collective_reduce")
    _check_bodies(view, infer_data_operands(view))


def check_mesh_groups(op: Operation, scope: Scope) -> None:
    """The mesh that replica groups name is a symbol of the module."""
    groups = getattr(op.properties.get("replica_groups"), "data", None)
    if isinstance(groups, ReplicaGroupMeshAxes) and isinstance(groups.mesh, SymbolRefAttr):
        name = groups.mesh.string_value()
        if name not in scope.symbols:
            raise Fault(f"replica_groups: mesh symbol '{name}' not found")
