"""The user's auto-partitioner: a function that may add and change shardings after propagation.

    def shard_the_rest(module: ModuleOp) -> None: ...

    with auto_partitioner(shard_the_rest):
        ...                                     the pipeline with enable-auto-partitioning

At most one is registered.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from shardy_py.base.errors import Diagnostic, ShardyError, located
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.mlir.holders import SHARDING, sharding_attributes
from shardy_py.mlir.ir import operands_of, walk_pre_order
from shardy_py.mlir.op_errors import place_of
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.typed import dictionaries_in

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

AutoPartitioner = Callable[["ModuleOp"], None]
"""Called with the module after propagation; changes its shardings in place."""

_registered: list[AutoPartitioner] = []


def register_auto_partitioner(partitioner: AutoPartitioner) -> None:
    """Registers `partitioner`. Raises `ShardyError` if there is one already."""
    if _registered:
        raise ShardyError("auto-partitioner callback already registered")
    _registered.append(partitioner)


def clear_auto_partitioner() -> None:
    """Unregisters the partitioner, if there is one."""
    _registered.clear()


def registered_auto_partitioner() -> AutoPartitioner:
    """The registered partitioner. Raises `ShardyError` if there is none."""
    if not _registered:
        raise ShardyError("auto-partitioner callback wasn't registered")
    return _registered[0]


@contextmanager
def auto_partitioner(partitioner: AutoPartitioner) -> Generator[None]:
    """Registers `partitioner` within a with-block."""
    register_auto_partitioner(partitioner)
    try:
        yield
    finally:
        clear_auto_partitioner()


def auto_partition(module: ModuleOp) -> None:
    """`sdy-auto-partition`: runs the registered auto-partitioner; verifies that it changes shardings only.

    before  func.func @main(%a: tensor<8xf32>)
    after   func.func @main(%a: tensor<8xf32> {sdy.sharding = ...})      what `shard_the_rest` decided

    Ops are compared by identity: replacing an op by an equal one is a change, and so is removing a sharding.
    The verifiers check the new shardings. Not here: registering a partitioner (`auto_partition.py`).
    """
    with located(place_of(module)):
        partitioner = registered_auto_partitioner()
    before = structure(module)
    try:
        partitioner(module)
    except ShardyError:
        raise
    except Exception as error:
        what = f"the auto-partitioner failed: {type(error).__name__}: {error}"
        raise ShardyError(Diagnostic(what, place_of(module))) from error
    change = first_change(before, structure(module))
    if change is not None:
        changed, what = change
        message = f"an auto-partitioner may add and change shardings only; '{changed.name}': {what}"
        raise ShardyError(Diagnostic(message, position_of(changed.location)))
    verify_module(module)


@dataclass(frozen=True, slots=True)
class OpStructure:
    """An op without its shardings.

    parts: by description, everything that must not change.
    shardings: the places that have a sharding, by attribute name and index.
    """

    op: Operation
    parts: Mapping[str, object]
    shardings: Set[tuple[str, int]]

    def change_to(self, other: OpStructure) -> str | None:
        """Describes the first difference to `other`, or None."""
        for part in dict.fromkeys((*self.parts, *other.parts)):
            if self.parts.get(part) != other.parts.get(part):
                return f"its {part} changed"
        return "a sharding was removed" if self.shardings - other.shardings else None


def structure(module: ModuleOp) -> tuple[OpStructure, ...]:
    """The ops of `module` in program order."""
    return tuple(map(_structure_of, walk_pre_order(module)))


def first_change(before: Sequence[OpStructure], after: Sequence[OpStructure]) -> tuple[Operation, str] | None:
    """The first op at which the two differ, with a description of the difference, or None."""
    for old, new in zip(before, after, strict=False):
        if old.op is not new.op:
            was_there = any(new.op is other.op for other in before)
            return (old.op, "it was removed or moved") if was_there else (new.op, "it was added")
        change = old.change_to(new)
        if change is not None:
            return old.op, change
    if len(before) > len(after):
        return before[len(after)].op, "it was removed or moved"
    return (after[len(before)].op, "it was added") if len(after) > len(before) else None


def _structure_of(op: Operation) -> OpStructure:
    regions = [[(block, block.args) for block in region.blocks] for region in op.regions]
    arguments = [argument for blocks in regions for _, arguments in blocks for argument in arguments]
    parts: dict[str, object] = {
        "operands": operands_of(op),
        "results": op.results,
        "regions": regions,
        "successors": op.successors,
        "types": [value.type for value in (*op.results, *arguments)],
        "location": [op.location, *(argument.location for argument in arguments)],
    }
    shardings: set[tuple[str, int]] = set()
    names = {SHARDING, *sharding_attributes(type(op))}
    for kind, entries in (("attribute", op.attributes), ("property", op.properties)):
        for name, value in entries.items():
            if isinstance(op, FuncOp) and name in names:
                for index, entry in enumerate(dictionaries_in(value)):
                    rest = {key: other for key, other in entry.data.items() if key != SHARDING}
                    if rest:
                        parts[f"{kind} '{name}[{index}]'"] = rest
                    if len(rest) < len(entry.data):
                        shardings.add((name, index))
            elif name in names:
                shardings.add((name, 0))
            else:
                parts[f"{kind} '{name}'"] = value
    return OpStructure(op, parts, shardings)
