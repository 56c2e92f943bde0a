"""The costs of a propagated program: its collectives, what devices keep, and how much they compute.

Not here: the collectives (`report/communication/`), which programs are compared (`adviser.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from math import prod, sqrt

from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.records import dataclass
from shardy_py.hardware.cost import Cost
from shardy_py.hardware.tensor_bytes import tensor_size
from shardy_py.mlir.dialects.sdy import ManualComputationOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.loops import run_counts
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.mlir.value_table import ValueTable
from shardy_py.ops import TABLE, Family
from shardy_py.report.communication import CollectiveUse
from shardy_py.report.difference import Figures
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.axis_lists import total_size
from shardy_py.sharding.meshes import mesh_of

GroupKey = tuple[str, str, str]
"""Kind, source location, and op of collectives that are alike: those of repeated layers."""


def group_key(use: CollectiveUse) -> GroupKey:
    """Returns the group of a collective."""
    return use.kind, use.cause.location, use.cause.op


@dataclass(frozen=True)
class Outcome:
    """The costs of one program.

    uses: its collectives. figures: of all of them. kept_bytes: of arguments and results on each device.
    work: of each device, in units that only compare programs that differ in shardings.
    """

    uses: tuple[CollectiveUse, ...]
    figures: Figures
    kept_bytes: int
    work: float

    @staticmethod
    def of(module: ModuleOp, uses: Iterable[CollectiveUse], figures: Figures) -> Outcome:
        """Returns the costs of a propagated program with these collectives."""
        meshes, table, reader = Symbols(module).meshes(), ValueTable(module), ShardingReader()
        kept = 0
        for entry in table.entries:
            type_ = tensor_type(entry.type)
            if entry.role != "intermediate" and entry.function == table.functions[0] and type_ is not None:
                kept += tensor_size(type_, entry.sharding, meshes, "linear").bytes.local_bytes
        return Outcome(tuple(uses), figures, kept, _work(table, reader, meshes))

    @cached_property
    def total(self) -> Cost:
        """The cost of all collectives."""
        return sum((use.total for use in self.uses), Cost())

    @property
    def bytes(self) -> int:
        """The bytes that each device receives."""
        return self.figures.bytes

    @cached_property
    def by_group(self) -> Mapping[GroupKey, list[CollectiveUse]]:
        """The collectives of each group."""
        found: dict[GroupKey, list[CollectiveUse]] = {}
        for use in self.uses:
            found.setdefault(group_key(use), []).append(use)
        return found

    @cached_property
    def own_bytes(self) -> Mapping[GroupKey, int]:
        """The bytes of the collectives of each group."""
        return {key: sum(use.total.bytes for use in uses) for key, uses in self.by_group.items()}


def _work(table: ValueTable, reader: ShardingReader, meshes: Mapping[str, Mesh]) -> float:
    """The elements that each device computes; an op on more than two large operands counts as a product.

    The square root of the product of the sizes of both operands and the result is what a product of two
    matrices multiplies.
    """
    runs, total = run_counts(table.module), 0.0
    for entry in table.entries:
        type_ = tensor_type(entry.type)
        if (
            entry.role != "intermediate"
            or entry.index
            or type_ is None
            or entry.value not in entry.op.results
            or isinstance(entry.op, ManualComputationOp)  # the ops inside are counted
        ):
            continue
        values = (entry.op.results[0], *operands_of(entry.op))
        shardings = [reader.of(value) for value in values]
        work = float(_elements(type_.shape))
        if TABLE[entry.op.name].kind is Family.PRODUCT:
            types = [tensor_type(value.type) for value in values]
            work = sqrt(prod(_elements(each.shape) for each in types if each is not None))
        total += work * runs(entry.op)[0] / _shards(shardings, meshes)
    return total


def _elements(shape: tuple[int | None, ...]) -> int:
    return prod(size or 1 for size in shape)


def _shards(shardings: Iterable[TensorSharding | None], meshes: Mapping[str, Mesh]) -> int:
    """The number of parts of the work of an op: of all axes that shard its tensors."""
    sizes: dict[str, int] = {}
    for sharding in shardings:
        for dimension in () if sharding is None else sharding.dimensions:
            for axis in dimension.axes:
                assert sharding is not None
                size = total_size((axis,), mesh_of(sharding, meshes))
                sizes[axis.name] = max(sizes.get(axis.name, 1), size)
    return prod(sizes.values())
