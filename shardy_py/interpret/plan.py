"""A block as a list of steps over numbered slots, and its execution.

Slots are cleared after their last use, so that a value is freed as soon as nothing needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from shardy_py.errors import InternalError, ShardyError
from shardy_py.graph.op_errors import error_at
from shardy_py.interpret.machine import Devices, Run
from shardy_py.interpret.values import Value


@dataclass(frozen=True, slots=True)
class Step:
    """One op.

    operands, results: slots. cleared: slots that nothing reads afterwards. is_observed: whether the machine's
        observer sees the results.
    """

    op: Operation
    run: Run
    operands: tuple[int, ...]
    results: tuple[int, ...]
    cleared: tuple[int, ...] = ()
    is_observed: bool = False


@dataclass(eq=False)
class Plan:
    """A block.

    inputs: the slots of its arguments, and of the values that it captures. returned: those of the values that
        its terminator passes on. communicates: whether devices may have to wait for each other within.
    callees: the plans of functions that it calls.
    """

    slots: int = 0
    steps: list[Step] = field(default_factory=list[Step])
    inputs: tuple[int, ...] = ()
    returned: tuple[int, ...] = ()
    communicates: bool = False
    callees: frozenset[Plan] = frozenset()


def execute(plan: Plan, devices: Devices, arguments: list[Value]) -> list[Value]:
    """Runs a block; empties `arguments`, so that they can be freed on the way.

    Raises:
        ShardyError: with the name and place of the op that failed.
    """
    frame: list[Value] = [None] * (plan.slots + 1)  # the last one takes what nothing uses
    for slot, value in zip(plan.inputs, arguments, strict=True):
        frame[slot] = value
    arguments.clear()
    machine = devices.machine
    machine.count(len(plan.steps) + 1)
    for step in plan.steps:
        operands = [frame[slot] for slot in step.operands]
        for slot in step.cleared:
            frame[slot] = None
        try:
            results: Sequence[Value] = step.run(devices, operands)
        except ShardyError as error:
            raise error_at(step.op, error) from error
        except MemoryError:
            raise error_at(step.op, ShardyError("needs more memory than there is")) from None
        except (ArithmeticError, IndexError, KeyError, TypeError, ValueError) as error:
            raise InternalError(f"running '{step.op.name}': {error}") from error
        for slot, value in zip(step.results, results, strict=True):
            frame[slot] = value
        if step.is_observed and machine.observe is not None:
            machine.observe(step.op, devices, list(results))
        frame[-1] = None
        del operands, results
    return [frame[slot] for slot in plan.returned]
