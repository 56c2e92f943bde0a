"""`sdy.all_reduce`: combines values of the devices of a manual computation along its manual axes.

    %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}]>   in manual_axes={"x"}: of both devices along x

Along other axes the operand is one logical value: what its parts are terms of. Not here: collectives that
name devices (`collectives.py`), values that are unreduced at the border of such a computation (`manual.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.mlir.dialects.sdy import AllReduceOp
from shardy_py.mlir.typed import integer_of, of_kind
from shardy_py.ops import COMBINERS, REDUCTIONS
from shardy_py.ops.compute import Array
from shardy_py.ops.compute.arithmetic import current
from shardy_py.reshard.device_groups import replica_groups
from shardy_py.run.interpret import exchange
from shardy_py.run.interpret.build import Builder, NestedRegion
from shardy_py.run.interpret.collectives import CollectiveRun, Exchange
from shardy_py.run.interpret.machine import Devices, Run
from shardy_py.run.interpret.values import Value
from shardy_py.sharding import Axes, Mesh


@dataclass(frozen=True, eq=False)
class LogicalReduction:
    """A run of the op."""

    op: Operation
    axes: Axes
    mesh: Mesh
    reduction: str
    communicates = True

    def __call__(self, devices: Devices, operands: list[Value]) -> Sequence[Value]:
        """Returns the result."""
        own = tuple(axis for axis in self.axes if axis.name in devices.manual_axes)
        if not own:
            return list(operands)
        groups = _groups(self.mesh, own)
        return CollectiveRun(self.op, lambda grid: groups, self._exchange, 1)(devices, operands)

    def _exchange(self, devices: Devices, operands: list[Value]) -> Exchange:
        ufunc = current().ufunc(COMBINERS[self.reduction].ufunc)

        def combine(first: Array, second: Array) -> Array:
            return ufunc(first, second).astype(first.dtype, copy=False)

        return lambda parts: [exchange.all_reduce(part, combine) for part in parts]


@SESSION.cache(256)
def _groups(mesh: Mesh, axes: Axes) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, replica_groups(mesh, axes).tolist()))


def all_reduce(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Shardy's `sdy.all_reduce`."""
    own = of_kind(op, AllReduceOp)
    mesh = builder.symbols.mesh(own.out_sharding.data.mesh)
    assert mesh is not None
    reduction = REDUCTIONS[0 if own.reduction_op is None else integer_of(op, "reduction_op")]
    return LogicalReduction(op, tuple(own.reduction_axes.data), mesh, reduction)
