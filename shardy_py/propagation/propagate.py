"""Propagation as a whole: user priorities around op priorities around strategies around the loop.

    for each user priority: for each op priority: for each strategy: run the loop to its fixed point

The four passes differ in which of the outer levels are on. Not here: IR (`propagation/graph/build.py`, the
passes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from shardy_py.base.records import dataclass
from shardy_py.propagation.aggressive import aggressive
from shardy_py.propagation.basic import Strategy, basic
from shardy_py.propagation.fixpoint import Propagator
from shardy_py.propagation.flat import FlatProgram
from shardy_py.propagation.journal import Journal
from shardy_py.propagation.schedule import ONE_ROUND, OP_PRIORITIES
from shardy_py.propagation.step_tables import StepTables
from shardy_py.sharding import DimensionSharding, Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of


def held_back(sharding: TensorSharding, meshes: Mapping[str, Mesh]) -> TensorSharding:
    """The sharding at priority 0: later dimensions are empty and closed, their axes replicated."""
    replicated = list(sharding.replicated_axes)
    dimensions: list[DimensionSharding] = []
    for dimension in sharding.dimensions:
        if dimension.priority:
            replicated += dimension.axes
            dimensions.append(DimensionSharding(is_closed=True))
        else:
            dimensions.append(replace(dimension, priority=None))
    mesh = mesh_of(sharding, meshes)
    replicated.sort(key=lambda axis: axis.order_in(mesh))
    return replace(sharding, dimensions=tuple(dimensions), replicated_axes=tuple(replicated))


def released(now: TensorSharding, original: TensorSharding, priority: int) -> TensorSharding:
    """The sharding `now` with the dimensions of that priority from `original`."""
    dimensions = tuple(
        replace(then, priority=None) if (then.priority or 0) == priority else current
        for current, then in zip(now.dimensions, original.dimensions, strict=True)
    )
    axes = {a for d in original.dimensions if (d.priority or 0) == priority for a in d.axes}
    replicated = tuple(axis for axis in now.replicated_axes if axis not in axes)
    return replace(now, dimensions=dimensions, replicated_axes=replicated)


def hold_back(
    propagator: Propagator, meshes: Mapping[str, Mesh]
) -> dict[int, list[tuple[int, TensorSharding]]]:
    """Hold back the dimensions of later priorities; returns by priority the slots and original shardings."""
    waiting: dict[int, list[tuple[int, TensorSharding]]] = {}
    given = propagator.given.items()
    prioritized = {n for n, each in given if each and any(d.priority is not None for d in each.dimensions)}
    for slot, original in enumerate(propagator.program.shardings) if prioritized else ():
        if original is None or id(original) not in prioritized:
            continue
        for priority in {d.priority for d in original.dimensions if d.priority}:
            waiting.setdefault(priority, []).append((slot, original))
        propagator.set_sharding(slot, held_back(original, meshes))
    return dict(sorted(waiting.items()))


def release(propagator: Propagator, slots: list[tuple[int, TensorSharding]], priority: int) -> None:
    """Restore the dimensions of one priority."""
    for slot, original in slots:
        now = propagator.sharding(slot)
        assert now is not None
        propagator.set_sharding(slot, released(now, original, priority))


STRATEGIES: dict[str, tuple[Strategy, ...]] = {
    "basic": (basic,),
    "aggressive": (aggressive,),
    "basic-then-aggressive": (basic, aggressive),
}
"""The values of the option `propagation-strategy`."""


@dataclass(frozen=True, slots=True)
class PropagationOptions:
    """The options of propagation.

    propagation_strategy: a key of `STRATEGIES`.
    run_op_priority_propagation, run_user_priority_propagation: whether these levels are on.
    conservative_propagation: never split an axis, nor cut a dimension unevenly.
    """

    propagation_strategy: str = "aggressive"
    run_op_priority_propagation: bool = True
    run_user_priority_propagation: bool = True
    conservative_propagation: bool = False


def propagate(
    program: FlatProgram,
    meshes: Mapping[str, Mesh],
    options: PropagationOptions = PropagationOptions(),
    *,
    between: Callable[[Propagator, int], None] | None = None,
    journal: Journal | None = None,
    tables: StepTables | None = None,
) -> Propagator:
    """Propagate to the fixed point; returns the propagator with the sharding of each slot.

    tables: of earlier runs on the same steps. journal: records all changes. between: called after each user
    priority but the last, with that priority.
    """
    is_conservative = options.conservative_propagation
    propagator = Propagator(
        program, meshes, conservative_propagation=is_conservative, journal=journal, tables=tables
    )
    if not options.run_user_priority_propagation:
        _run_rounds(propagator, options, "")
        return propagator
    waiting = hold_back(propagator, meshes)
    _run_rounds(propagator, options, "user priority 0, ")
    done = 0
    for priority, slots in waiting.items():
        if between is not None:
            between(propagator, done)
        release(propagator, slots, priority)
        _run_rounds(propagator, options, f"user priority {priority}, ")
        done = priority
    return propagator


def _run_rounds(propagator: Propagator, options: PropagationOptions, prefix: str) -> None:
    schedule = OP_PRIORITIES if options.run_op_priority_propagation else ONE_ROUND
    for number, function in enumerate(schedule):
        for strategy in STRATEGIES[options.propagation_strategy]:
            stage = f"{prefix}{function.__name__}, {strategy.__name__}"
            propagator.run_round(strategy, schedule, number, stage)
