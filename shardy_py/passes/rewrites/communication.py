"""Rewrites of collectives: chains become one, ops that undo each other are erased.

all_slice of all_gather along the same axes     the operand
all_slice of all_reduce                         reduce_scatter (see `reshard/collectives.py`)
all_to_all of all_to_all in other dimensions    one all_to_all

Not here: rewrites of reshards (`reshards.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.base.behaviours import Behaviour
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.ir import build_operation, erase, operands_of, place_before
from shardy_py.mlir.movements import note_moved, replace_by_values, replace_op
from shardy_py.mlir.plain import plain, tensor_type
from shardy_py.mlir.symbols import meshes_of, module_of
from shardy_py.mlir.text.location_syntax import fuse
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.passes.rewrites.driver import Rewrite
from shardy_py.reshard.compare import is_equivalent
from shardy_py.sharding import Axes, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import sort_and_merge, total_size
from shardy_py.sharding.meshes import mesh_of

if TYPE_CHECKING:
    from shardy_py.reshard.collectives import ScatterFusion

LABEL = "sdy-collective"
Params = tuple[tuple[Axes, int, int], ...]


def _data(op: Operation, name: str) -> Any:
    return plain(op.properties[name])


def _producer(op: Operation, op_class: type[sdy.CollectiveOp]) -> Operation | None:
    value = operands_of(op)[0]
    return value.op if isinstance(value, OpResult) and isinstance(value.op, op_class) else None


def _replace_by(op: Operation, value: SSAValue) -> bool:
    replace_by_values(op, (value,))
    return True


def _without_axes(name: str) -> Callable[[Operation], bool]:
    def apply(op: Operation) -> bool:
        return not any(_data(op, name)) and _replace_by(op, operands_of(op)[0])

    return apply


def _slice_of_gather(op: Operation) -> bool:
    gather = _producer(op, sdy.AllGatherOp)
    if gather is None or _data(gather, "gathering_axes") != _data(op, "slicing_axes"):
        return False
    return _replace_by(op, operands_of(gather)[0])


def _reduce_of_made_unreduced(op: Operation) -> bool:
    made = _producer(op, sdy.ReplicatedToUnreducedOp)
    if made is None or _data(made, "axes") != _data(op, "reduction_axes"):
        return False
    return _replace_by(op, operands_of(made)[0])


def _exchange_of_exchange(op: Operation) -> bool:
    inner = _producer(op, sdy.AllToAllOp)
    if inner is None or inner.results[0].uses.get_length() != 1:
        return False
    params: Params = (*_data(inner, "params"), *_data(op, "params"))
    dimensions = [d for _, source, target in params for d in (source, target)]
    if len(set(dimensions)) < len(dimensions):
        return False
    combined = sdy.AllToAllParamListAttr(tuple(sorted(params, key=lambda param: param[1])))
    properties = {"params": combined, "out_sharding": op.properties["out_sharding"]}
    location = fuse([op.location, inner.location])
    replace_op(op, _collective(sdy.AllToAllOp, operands_of(inner)[0], properties, location, op))
    erase(inner)
    return True


def _unused_exchange(op: Operation) -> bool:
    return op.results[0].first_use is None and _replace_by(op, operands_of(op)[0])


def _collective(
    op_class: type[Operation],
    value: SSAValue,
    properties: dict[str, Any],
    location: Any,
    old: Operation,
) -> Operation:
    """A new collective, in no block, whose result has the sharding of that of `old`."""
    made = build_operation(op_class, (value,), (value.type,), dict(properties), {}, location)
    note_moved(made.results, old.results, "canonicalize")
    return made


def _fuses_uneven() -> bool:
    return Behaviour.UNEVEN_SUMS_ARE_SCATTERED.holds or not Behaviour.UNEVEN_SUMS_STAY.holds


def _is_even(fusion: ScatterFusion, value: SSAValue, mesh: Mesh) -> bool:
    """True if the dimensions that are scattered have equal parts."""
    tensor = tensor_type(value.type)
    shape = () if tensor is None else tensor.shape
    return all(
        not axes or (size is not None and size % total_size(dimension.axes, mesh) == 0)
        for size, axes, dimension in zip(shape, fusion.axes, fusion.sharding.dimensions, strict=True)
    )


class _Round:
    """Facts on the module that the rewrites share until the next round."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forgets everything."""
        self._known: dict[str, Mesh] | None = None
        self._reader = ShardingReader()
        self._first_slices: dict[tuple[int, int], tuple[Operation, Operation]] = {}

    def _meshes(self, op: Operation) -> dict[str, Mesh]:
        if self._known is None:
            self._known = meshes_of(module_of(op))
        return self._known

    def permute_to_same(self, op: Operation) -> bool:
        """A permute to the sharding that its operand has."""
        source = self._reader.of(operands_of(op)[0])
        return is_equivalent(source, _data(op, "out_sharding")) and _replace_by(op, operands_of(op)[0])

    def reduce_of_freed(self, op: Operation) -> bool:
        """Sharded axes that are made unreduced and then reduced are gathered."""
        made = _producer(op, sdy.ShardedToUnreducedOp)
        if made is None:
            return False
        by_dimension: tuple[Axes, ...] = _data(made, "axes")
        mesh = mesh_of(_data(made, "out_sharding"), self._meshes(op))
        if sort_and_merge((axis for axes in by_dimension for axis in axes), mesh) != _data(
            op, "reduction_axes"
        ):
            return False
        properties = {
            "gathering_axes": made.properties["axes"],
            "out_sharding": op.properties["out_sharding"],
        }
        replace_op(op, _collective(sdy.AllGatherOp, operands_of(made)[0], properties, op.location, op))
        return True

    def slice_of_reduce(self, op: Operation) -> bool:
        """The users of the reduced tensor are this slice, and equal ones after it."""
        reduce = _producer(op, sdy.AllReduceOp)
        if reduce is None or self._has_earlier(reduce, op):
            return False
        slices = [use.operation for use in reduce.results[0].uses]
        axes = _data(op, "slicing_axes")
        for user in slices:
            if not isinstance(user, sdy.AllSliceOp) or _data(user, "slicing_axes") != axes:
                return False
        source = operands_of(reduce)[0]
        target: TensorSharding = _data(op, "out_sharding")
        mesh = mesh_of(_data(reduce, "out_sharding"), self._meshes(op))
        given = self._reader.of(source) or TensorSharding.fully_closed(mesh, target.rank)
        from shardy_py.reshard.collectives import scatter_fusion  # for reductions that are sliced only

        fusion = scatter_fusion(_data(reduce, "reduction_axes"), given, axes, target, mesh)
        if fusion is None or not (_fuses_uneven() or _is_even(fusion, source, mesh)):
            return False
        properties: dict[str, Attribute] = {"reduce_scatter_axes": sdy.ListOfAxisRefListsAttr(fusion.axes)}
        if "reduction_op" in reduce.properties:
            properties["reduction_op"] = reduce.properties["reduction_op"]
        properties["out_sharding"] = sdy.TensorShardingAttr(fusion.sharding)
        made = _collective(sdy.ReduceScatterOp, source, properties, reduce.location, reduce)
        place_before(made, op)
        if fusion.sliced_after is not None:
            left = sdy.ListOfAxisRefListsAttr(fusion.sliced_after)
            rest = {"slicing_axes": left, "out_sharding": op.properties["out_sharding"]}
            made = _collective(sdy.AllSliceOp, made.results[0], rest, op.location, op)
            place_before(made, op)
        for user in slices:
            _replace_by(user, made.results[0])
        erase(reduce)
        return True

    def _has_earlier(self, reduce: Operation, op: Operation) -> bool:
        """True if a slice of the reduced tensor precedes this one in its block: it was visited before."""
        key = id(reduce), id(op.parent)
        known = self._first_slices.get(key)
        if known is not None:
            first = known[1]
            if first.parent is op.parent and operands_of(first)[0] is reduce.results[0]:
                return True
        self._first_slices[key] = reduce, op
        return False


def collective_rewrites() -> tuple[Rewrite, ...]:
    """Returns the rewrites of collectives, for one module."""
    known = _Round()
    return (
        Rewrite(sdy.AllGatherOp, _without_axes("gathering_axes"), LABEL, reads_few=True),
        Rewrite(sdy.AllSliceOp, _slice_of_gather, LABEL, reads_few=True),
        Rewrite(sdy.AllSliceOp, _without_axes("slicing_axes"), LABEL, reads_few=True),
        Rewrite(sdy.AllSliceOp, known.slice_of_reduce, LABEL, known.begin),
        Rewrite(sdy.AllReduceOp, _reduce_of_made_unreduced, LABEL, reads_few=True),
        Rewrite(sdy.AllReduceOp, _without_axes("reduction_axes"), LABEL, reads_few=True),
        Rewrite(sdy.AllReduceOp, known.reduce_of_freed, LABEL, reads_few=True),
        Rewrite(sdy.AllToAllOp, _exchange_of_exchange, LABEL, reads_few=True),
        Rewrite(sdy.AllToAllOp, _unused_exchange, LABEL, reads_few=True),
        Rewrite(sdy.CollectivePermuteOp, known.permute_to_same, LABEL),
        Rewrite(sdy.ReduceScatterOp, _without_axes("reduce_scatter_axes"), LABEL, reads_few=True),
    )
