"""Runs the passes of the partitioner on a copy of a program, and keeps what corresponds to what.

    partitioned = run_partitioner(module, calls)
    partitioned.local, partitioned.grid

Not here: which passes run (`pipelines.py`), reading the events (`shardy_py/run/proof/`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field, replace
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from shardy_py.base.errors import Diagnostic, collected_warnings
from shardy_py.base.records import dataclass
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.dialects.stablehlo import op_class
from shardy_py.mlir.holders import RULE
from shardy_py.mlir.ir import find_ops, walk_pre_order
from shardy_py.mlir.movements import DroppedRules, Movement, carried_over, recorded
from shardy_py.mlir.symbols import meshes_of
from shardy_py.passes.registration import PassCall
from shardy_py.passes.runner import run_passes
from shardy_py.reshard.process_grid import Grid
from shardy_py.sharding import Mesh


@dataclass(frozen=True, eq=False)
class Partitioned:
    """The program that each device runs, and what it was made from.

    whole: the program before, unchanged. local: the program of each device.
    origin: from values of `whole` to those of the copy that became `local`. events: of the passes, in order.
    movements: to values of that copy, by passes that made `whole`: causes of its reshards.
    originals: for each op of that copy, the op of the given module.
    meshes: by name, also those that passes added. warnings: those of the passes. calls: the passes.
    """

    whole: ModuleOp
    local: ModuleOp
    origin: Mapping[SSAValue, SSAValue]
    events: tuple[object, ...]
    meshes: Mapping[str, Mesh]
    warnings: tuple[Diagnostic, ...] = ()
    movements: tuple[Movement, ...] = ()
    originals: Mapping[Operation, Operation] = field(default_factory=dict[Operation, Operation])
    calls: tuple[PassCall, ...] = ()

    def again(self, module: ModuleOp) -> Partitioned:
        """Returns the result of the same passes on another module, such as a part of `whole`.

        Raises:
            ShardyError: a pass rejects the program.
        """
        return run_partitioner(module, self.calls)

    @cached_property
    def grid(self) -> Grid:
        """The devices: replicas if the program asks for the replica only, else partitions."""
        count = max(map(devices_for, self.meshes.values()), default=1)
        ids = {op.name for op in find_ops(self.local, _REPLICA, _PARTITION)}
        return Grid(count, 1) if ids == {_REPLICA} else Grid(1, count)


def devices_for(mesh: Mesh) -> int:
    """Returns the number of devices, counted from 0, that those of a mesh are among."""
    return max(mesh.device_ids, default=-1) + 1 or mesh.device_count


_REPLICA, _PARTITION = op_class("replica_id").name, op_class("partition_id").name


def run_partitioner(
    module: ModuleOp,
    calls: Iterable[PassCall],
    prepared: Callable[[ModuleOp], AbstractContextManager[object]] = nullcontext,
) -> Partitioned:
    """Returns the result of the passes; the module stays as it is.

    prepared: entered around the passes, given the copy that they change; what it sets `whole` has, too.

    Raises:
        ShardyError: a pass rejects the program.
    """
    copy, calls = clone(module, {}), tuple(calls)
    with prepared(copy), recorded() as events, collected_warnings() as warnings:
        before = Before(copy)
        run_passes(copy, calls, observers=(before.observer,))
    return before.partitioned(calls, events, warnings)


class Before:
    """A copy of a module, taken before passes change it."""

    def __init__(self, module: ModuleOp) -> None:
        copies: dict[SSAValue, SSAValue] = {}
        self._module = module
        self._whole = clone(module, copies)
        self._origin = {copy: value for value, copy in copies.items()}
        self._meshes = dict[str, Mesh]()

    def observer(self, call: PassCall | None, module: ModuleOp) -> AbstractContextManager[object]:
        """Collects the meshes that the module has before each pass."""
        self._meshes.update(meshes_of(module))
        return nullcontext()

    def partitioned(
        self, calls: Iterable[PassCall], events: Iterable[object], warnings: Iterable[Diagnostic] = ()
    ) -> Partitioned:
        """Returns both programs, after the passes `calls`."""
        meshes = {**self._meshes, **meshes_of(self._module)}
        lists = tuple(events), meshes, tuple(warnings)
        return Partitioned(self._whole, self._module, self._origin, *lists, calls=tuple(calls))


def partition(module: ModuleOp, calls: Iterable[PassCall], record: Iterable[object] = ()) -> Partitioned:
    """The program that each device runs, for a finished program, which stays as it is.

    calls: those of `sdy-partitioner-pipeline`. record: the events of the passes that made the program:
    causes of its reshards, and
        rules that users wrote on its ops.
    `run/proof/` shows that it computes the same.

    Raises:
        ShardyError: a pass rejects the program.
    """
    events = tuple(record)
    originals: dict[Operation, Operation] = {}

    def prepared(copy: ModuleOp) -> AbstractContextManager[None]:
        originals.update(zip(walk_pre_order(copy), walk_pre_order(module), strict=True))
        return rules_restored(events, originals)

    made = run_partitioner(module, calls, prepared)
    origin: dict[SSAValue, SSAValue] = {
        old: new
        for op, given in originals.items()
        for old, new in zip(given.results, op.results, strict=True)
    }
    return replace(made, movements=carried_over(events, origin), originals=originals)


@contextmanager
def rules_restored(events: Iterable[object], originals: Mapping[Operation, Operation]) -> Generator[None]:
    """Gives ops the sharding rules that a pass dropped from their originals, until the end of the block."""
    rules = {
        op: rule
        for event in events
        if isinstance(event, DroppedRules)
        for op, rule in event.attributes.items()
    }
    given = {op: rules[old] for op, old in originals.items() if old in rules} if rules else {}
    for op, rule in given.items():
        op.attributes.setdefault(RULE, rule)
    yield
    for op, rule in given.items():
        if op.attributes.get(RULE) is rule:
            del op.attributes[RULE]
