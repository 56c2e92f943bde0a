"""The collectives that XLA's SPMD partitioner sends for a propagated program, and those that it has already.

Not here: XLA's choices (`spmd/`), the program as the planner reads it (`spmd_program.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation

from shardy_py.graph.symbols import MAIN, function_name, functions_of
from shardy_py.graph.value_table import ValueTable, location_text
from shardy_py.ir import written_name
from shardy_py.ops import TABLE, TensorType
from shardy_py.partition.cost import CostModel
from shardy_py.report.communication.causes import Cause, Causes
from shardy_py.report.communication.collect import CollectiveUse, collect_collectives
from shardy_py.report.communication.device_groups import UNKNOWN_AXIS
from shardy_py.report.communication.loops import run_counts
from shardy_py.report.communication.spmd_program import block_of
from shardy_py.sharding import Mesh
from shardy_py.spmd.walk import Sent, plan_program
from shardy_py.text.source import position_of


def collectives_by_xla(
    module: ModuleOp, model: CostModel, meshes: Mapping[str, Mesh]
) -> tuple[CollectiveUse, ...]:
    """Returns what XLA sends for a program without calls whose shardings are propagated; meshes: by name.

    Raises:
        ShardyError: a mesh has too many devices to list them, or a tensor has a dynamic shape.
    """
    written = collect_collectives(module, model, Causes(()), meshes, only_written=True)  # with their axes
    functions = functions_of(module)
    entries = [f for f in functions if function_name(f) == MAIN] or functions
    uses = _Uses(module, model)
    sent = (each for f in entries for each in plan_program(block_of(f, meshes)).sent)
    return (*written, *(uses.of(each) for each in sent if not _is_written(each)))


def _is_written(sent: Sent) -> bool:
    row = None if sent.step is None else TABLE[sent.step.record.name].collective
    return row is not None and row.names_devices


class _Uses:
    def __init__(self, module: ModuleOp, model: CostModel) -> None:
        self.model = model
        self.entries = ValueTable(module).by_value
        self.runs = run_counts(module)

    def of(self, sent: Sent) -> CollectiveUse:
        """A collective with its cost, and the op that requires it."""
        collective = sent.collective
        axes = ((UNKNOWN_AXIS, collective.group_size),)
        op = cast("Operation | None", sent.step.source if sent.step else None)
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
            _cause(op, collective.kind),
        )


def _cause(op: Operation | None, kind: str) -> Cause:
    if op is None:
        return Cause(ReturnOp.name, -1, "a result of the program has another sharding", "")
    name, location = written_name(op), cast(Any, op).location
    reduces = kind in ("all_reduce", "reduce_scatter")
    reason = f"{name} reduces a sharded dimension" if reduces else f"{name} requires another sharding"
    return Cause(name, -1, reason, location_text(location), position_of(location), made_for=op)
