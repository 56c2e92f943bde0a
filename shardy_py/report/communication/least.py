"""The least that the collectives of a compiled program cost, known before they are combined.

One op for several collectives saves their latencies, but none of their bytes. Which become one takes the
longest to find: they are combined after the ops of a GPU are fused. Not here: the collectives in the end
(`as_compiled.py`).
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from xdsl.dialects.func import FuncOp

from shardy_py.hardware import Link
from shardy_py.hardware.cost import Cost, CostModel
from shardy_py.report.communication.as_compiled import IssuedUses
from shardy_py.report.communication.collect import CollectiveUse
from shardy_py.xla.targets.combining import Issued
from shardy_py.xla.targets.model import DeviceBody
from shardy_py.xla.targets.of_program import CompiledProgram

_ROUNDING = 1 - 1e-9
"""More than what the rounding of sums of seconds makes them less by."""
_ROUNDED_UP = "all_reduce", "reduce_scatter", "all_to_all", "ragged_all_to_all"
"""The kinds of which devices do not receive a part, rounded down."""


def least_cost(made: CompiledProgram, model: CostModel) -> Cost:
    """Returns what the collectives of a program cost at least, whichever of them become one op.

    Raises:
        ShardyError: a mesh has too many devices to list them, or a tensor has a dynamic shape.
    """
    uses = IssuedUses(made.program, _without_latency(model))
    combines = made.compiler.limits.kinds
    costs = [
        _least(use, is_combined=use.kind in combines)
        for function in made.program.entries
        for use in _alone(uses, made.body(function), function)
    ]
    total = sum(costs, Cost())
    return Cost(total.bytes, total.seconds * _ROUNDING)


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


def _least(use: CollectiveUse, *, is_combined: bool) -> Cost:
    """The least that a collective adds to the cost of an op; is_combined: whether others may be in it."""
    if not is_combined:
        return use.total
    if use.kind == "collective_permute":  # one op has the axes of its first part
        return Cost()
    parts = prod(size for _, size in use.axes)
    moved = use.held_bytes * (2 if use.kind == "all_reduce" else 1)
    rounded = 1 if use.kind in _ROUNDED_UP and moved % parts else 0
    return Cost((use.cost.bytes - rounded) * use.times, use.cost.seconds * use.times)


def _without_latency(model: CostModel) -> CostModel:
    by_axis = {axis: _immediate(link) for axis, link in model.by_axis.items()}
    return replace(model, link=_immediate(model.link), by_axis=by_axis)


def _immediate(link: Link) -> Link:
    return replace(link, latency_seconds=0.0)
