"""The costs of a propagated program: its collectives, what devices keep, and how much they compute.

Not here: the collectives (`report/communication/`), which programs are compared (`adviser.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import prod, sqrt

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.hardware.cost import Cost
from shardy_py.hardware.tensor_bytes import tensor_size
from shardy_py.mlir.dialects.sdy import ManualComputationOp
from shardy_py.mlir.ir import operands_of, ops_in, type_of
from shardy_py.mlir.loops import run_counts
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.mlir.value_table import ValueTable
from shardy_py.ops import TABLE, Family, TensorType
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


@dataclass(frozen=True, slots=True)
class Most:
    """The costs of a program above which an edit is of no use.

    bytes, seconds: of all collectives, as each device receives them. work: of each device.
    """

    bytes: float
    seconds: float
    work: float

    def allows(self, outcome: Outcome) -> bool:
        """Returns whether a program costs no more."""
        return self.allows_sending(outcome.bytes, outcome.figures.seconds) and outcome.work <= self.work

    def allows_sending(self, size: float, seconds: float) -> bool:
        """Returns whether collectives of so many bytes and seconds cost no more."""
        return size <= self.bytes and seconds <= self.seconds


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

    @property
    def bytes(self) -> int:
        """The bytes that each device receives."""
        return self.figures.bytes

    @cached_property
    def total(self) -> Cost:
        """The cost of all collectives."""
        return sum((use.total for use in self.uses), Cost())

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


def kept_bytes_of(module: ModuleOp) -> int:
    """Returns the bytes of arguments and results on each device."""
    meshes, table, kept = Symbols(module).meshes(), ValueTable(module), 0
    for entry in table.boundaries.values():
        type_ = tensor_type(entry.type)
        if entry.function == table.functions[0] and type_ is not None:
            kept += tensor_size(type_, entry.sharding, meshes, "linear").bytes.local_bytes
    return kept


def work_of(module: ModuleOp) -> float:
    """Returns the elements that each device computes of a propagated program.

    An op on more than two large operands counts as a product.

    The square root of the product of the sizes of both operands and the result is what a product of two
    matrices multiplies.
    """
    runs, reader, total = run_counts(module), ShardingReader(), 0.0
    meshes = Symbols(module).meshes()
    known: dict[tuple[object, ...], tuple[float, int, object]] = {}
    for op in ops_in(module):
        # The ops inside of a manual computation are counted.
        if not op.results or isinstance(op, ManualComputationOp):
            continue
        values = (op.results[0], *operands_of(op))
        shardings = [reader.of(value) for value in values]
        types = [type_of(value) for value in values]
        # Types and shardings are objects of few values, which are kept, so that no others have their ids.
        key = op.__class__, *map(id, types), *map(id, shardings)
        found = known.get(key)
        if found is None:
            work = _work_of(op, [tensor_type(each) for each in types])
            found = known[key] = work, _shards(shardings, meshes), (types, shardings)
        total += found[0] * runs(op)[0] / found[1]
    return total


def _work_of(op: Operation, types: Sequence[TensorType | None]) -> float:
    """The elements that an op computes, whose result and operands have these types."""
    if types[0] is None:
        return 0.0
    if TABLE[op.name].kind is Family.PRODUCT:
        return sqrt(prod(_elements(each.shape) for each in types if each is not None))
    return float(_elements(types[0].shape))


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
