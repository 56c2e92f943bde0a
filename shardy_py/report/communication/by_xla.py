"""The collectives that XLA's SPMD partitioner sends for a propagated program, and those that it has already.

Not here: XLA's choices (`spmd/`), the program as the planner reads it (`spmd_program.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from shardy_py.graph.symbols import MAIN, function_name, functions_of
from shardy_py.graph.value_shardings import ShardingReader
from shardy_py.graph.value_table import ValueTable, location_text
from shardy_py.ir import blocks_of, operands_of, written_name
from shardy_py.ops import TABLE, TensorType
from shardy_py.partition.cost import CostModel
from shardy_py.report.communication.causes import Cause, Causes
from shardy_py.report.communication.collect import Axes, CollectiveUse, collect_collectives
from shardy_py.report.communication.device_groups import UNKNOWN_AXIS, axes_of_collective
from shardy_py.report.communication.loops import run_counts
from shardy_py.report.communication.spmd_program import block_of
from shardy_py.sharding import Mesh
from shardy_py.spmd.model import Collective
from shardy_py.spmd.walk import Sent, plan_program
from shardy_py.text.source import position_of


def collectives_by_xla(
    module: ModuleOp, model: CostModel, meshes: Mapping[str, Mesh], originals: Mapping[Operation, Operation]
) -> tuple[CollectiveUse, ...]:
    """Returns what XLA sends for a program without calls whose shardings are propagated; meshes: by name.

    originals: for ops of inlined functions, those that causes name.

    Raises:
        ShardyError: a mesh has too many devices to list them, or a tensor has a dynamic shape.
    """
    written = collect_collectives(module, model, Causes(()), meshes, only_written=True)  # with their axes
    functions = functions_of(module)
    entries = [f for f in functions if function_name(f) == MAIN] or functions
    uses = _Uses(module, model, meshes, originals)
    sent = ((f, each) for f in entries for each in plan_program(block_of(f, meshes)).sent)
    return (*written, *(uses.of(each, function) for function, each in sent if not _is_written(each)))


def _is_written(sent: Sent) -> bool:
    row = None if sent.step is None else TABLE[sent.step.record.name].collective
    return row is not None and row.names_devices


class _Uses:
    def __init__(
        self,
        module: ModuleOp,
        model: CostModel,
        meshes: Mapping[str, Mesh],
        originals: Mapping[Operation, Operation],
    ) -> None:
        self.model = model
        self.meshes = meshes
        self.originals = originals
        self.entries = ValueTable(module).by_value
        self.runs = run_counts(module)
        self.shardings = ShardingReader()

    def _axes(self, collective: Collective, op: Operation) -> Axes:
        """The mesh axes along which devices communicate, if their groups are along axes.

        Those of the mesh of the op's own tensors take precedence.
        """
        values = (*operands_of(op), *op.results)
        near = (s.mesh for s in map(self.shardings.of, values) if s is not None and isinstance(s.mesh, str))
        names = dict.fromkeys((*near, *self.meshes))
        is_permute = collective.kind == "collective_permute"
        meshes = tuple(self.meshes[name] for name in names)
        known = axes_of_collective(collective.group, meshes, is_permute=is_permute)
        return known or ((UNKNOWN_AXIS, collective.group_size),)

    def of(self, sent: Sent, function: FuncOp) -> CollectiveUse:
        """A collective with its cost, and the op of the function that requires it."""
        collective = sent.collective
        op = cast("Operation | None", sent.step.source if sent.step else None)
        end = cast("Operation", next(iter(blocks_of(function))).last_op)
        axes = self._axes(collective, op or end)
        entry = None if op is None or not op.results else self.entries.get(id(op.results[0]))
        type_ = TensorType(collective.held_shape, collective.element_type)
        cost = getattr(self.model, collective.kind)(axes, collective.held_bytes)
        names = ("", "") if entry is None else (entry.name, entry.function)
        is_known = op is None or self.runs(op)[1]
        tensor = type_, None, None, collective.held_bytes, cost
        return CollectiveUse(
            collective.kind,
            axes,
            *names,
            *tensor,
            collective.times,
            not is_known,
            self._cause(op or end, sent),
        )

    def _cause(self, op: Operation, sent: Sent) -> Cause:
        name, location = written_name(op), cast(Any, op).location
        place, made_for = (location_text(location), position_of(location)), self.originals.get(op, op)
        if sent.step is None:
            reason = "a result of the program has another sharding"
            return Cause(name, sent.operand, reason, *place, made_for=made_for)
        if sent.operand >= 0:
            reason = f"operand {sent.operand} of {name} requires another sharding"
        elif sent.collective.kind in ("all_reduce", "reduce_scatter"):
            reason = f"{name} reduces a sharded dimension"
        else:
            reason = f"the result of {name} is made in another sharding"
        return Cause(name, sent.operand, reason, *place, made_for=made_for)
