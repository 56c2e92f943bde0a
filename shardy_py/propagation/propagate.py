"""Propagation as a whole: user priorities around op priorities around strategies around the loop.

    for each user priority: for each op priority: for each strategy: run the loop to its fixed point

The four passes differ in which of the outer levels are on. Not here: IR (`graph/build.py`, the passes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shardy_py.propagation.aggressive import aggressive
from shardy_py.propagation.basic import Strategy, basic
from shardy_py.propagation.fixpoint import Propagator
from shardy_py.propagation.flat import FlatProgram
from shardy_py.propagation.journal import Journal
from shardy_py.propagation.priorities import hold_back, release
from shardy_py.propagation.schedule import ONE_ROUND, OP_PRIORITIES
from shardy_py.sharding import Mesh

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
) -> Propagator:
    """Propagate to the fixed point; the result knows what each slot holds.

    `log` gets every change, `trail` every step that made some, `journal` both in short. `between` is called
    after each user priority but the last, with that priority.
    """
    propagator = Propagator(
        program, meshes, conservative_propagation=options.conservative_propagation, journal=journal
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
