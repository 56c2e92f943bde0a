"""A lower bound of what the collectives of a compiled program cost, known before they are combined.

One op for several collectives saves their latencies, but none of their bytes. Which become one takes the
longest to find: they are combined after the ops of a GPU are fused. Not here: the collectives in the end
(`as_compiled.py`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from math import prod

from xdsl.dialects.func import FuncOp

from shardy_py.hardware import Link
from shardy_py.hardware.cost import Cost, CostModel
from shardy_py.report.communication.as_compiled import IssuedUses
from shardy_py.report.communication.by_xla import PlannedUses
from shardy_py.report.communication.collect import CollectiveUse
from shardy_py.xla.targets.combining import Issued
from shardy_py.xla.targets.model import DeviceBody
from shardy_py.xla.targets.of_program import CompiledProgram

ROUNDING = 1e-9
"""More than what rounding changes sums of seconds by, as a part of them."""
_ROUNDED_UP = "all_reduce", "reduce_scatter", "all_to_all", "ragged_all_to_all"
"""The kinds of which devices do not receive a part, rounded down."""


def least_cost(
    made: CompiledProgram, model: CostModel, planned: PlannedUses | None = None, *, has_written: bool = True
) -> Cost:
    """Returns a lower bound of what the collectives of a program cost, whichever of them become one op.

    planned: those as partitioned, if known. has_written: whether the program may have some of its own.

    Raises:
        ShardyError: a mesh has too many devices to list them, or a tensor has a dynamic shape.
    """
    uses = IssuedUses(made.program, model, planned, None if has_written else {})
    immediate, combines = _without_latency(model), made.compiler.limits.kinds
    known, size, seconds = dict[Hashable, float](), 0, 0.0
    for function in made.program.entries:
        for use in _alone(uses, made.body(function), function):
            if use.kind not in combines:
                size, seconds = size + use.total.bytes, seconds + use.total.seconds
            elif use.kind != "collective_permute":  # of which one op has the axes of its first part
                size += (use.cost.bytes - _is_rounded(use)) * use.times
                key = use.kind, use.axes, use.held_bytes
                if key not in known:
                    known[key] = getattr(immediate, use.kind)(use.axes, use.held_bytes).seconds
                seconds += known[key] * use.times
    return Cost(size, seconds * (1 - ROUNDING))


def _alone(uses: IssuedUses, body: DeviceBody, function: FuncOp) -> list[CollectiveUse]:
    """The collectives of a computation and of those inside, each as an op of its own."""
    found: list[CollectiveUse] = []
    for number in body.order:
        node = body.nodes[number]
        if node.transfer is not None:
            found.append(uses.of(Issued((node.transfer,), (number,)), function))
        for inner in node.bodies:
            found += _alone(uses, inner, function)
    return found


def _is_rounded(use: CollectiveUse) -> bool:
    """True if the bytes of a collective are rounded, so that they are fewer as a part of another."""
    moved = use.held_bytes * (2 if use.kind == "all_reduce" else 1)
    return use.kind in _ROUNDED_UP and moved % prod(size for _, size in use.axes) != 0


def _without_latency(model: CostModel) -> CostModel:
    by_axis = {axis: _immediate(link) for axis, link in model.by_axis.items()}
    return replace(model, link=_immediate(model.link), by_axis=by_axis)


def _immediate(link: Link) -> Link:
    return replace(link, latency_seconds=0.0)
