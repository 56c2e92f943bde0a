"""A block as a list of steps over numbered slots, and its execution.

Slots are cleared after their last use, so that a value is freed as soon as nothing needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from xdsl.ir import Operation

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.op_errors import error_at
from shardy_py.run.interpret.machine import Devices, Run
from shardy_py.run.interpret.values import Value, is_array


class RunStep(NamedTuple):
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


class KnownSlot(NamedTuple):
    """A slot whose value is known before the run: a function of other such slots."""

    slot: int
    function: Callable[..., Value]
    operands: tuple[int, ...] = ()

    def value(self, known: Mapping[int, Value] | list[Value]) -> Value:
        """Returns the value. known: those of the other slots."""
        return self.function(*(known[slot] for slot in self.operands))


@dataclass(eq=False)
class BlockPlan:
    """A block.

    inputs: the slots of its arguments, and of the values that it captures. returned: those of the values that
        its terminator passes on. communicates: whether devices may have to wait for each other within.
    callees: the plans of functions that it calls. frame: the values of all slots before the first step: those
        of constants, and None; the last one takes results that nothing uses.
    constants: the slots of constants, in order. version: counts how often they were computed again.
    """

    frame: list[Value] = field(default_factory=list[Value])
    steps: list[RunStep] = field(default_factory=list[RunStep])
    inputs: tuple[int, ...] = ()
    returned: tuple[int, ...] = ()
    communicates: bool = False
    callees: frozenset[BlockPlan] = frozenset()
    constants: list[KnownSlot] = field(default_factory=list[KnownSlot])
    version: int = 0

    def renew(self) -> None:
        """Computes all constants again."""
        for constant in self.constants:
            self.frame[constant.slot] = constant.value(self.frame)
        self.version += 1


def execute(plan: BlockPlan, devices: Devices, arguments: list[Value]) -> list[Value]:
    """Runs a block; empties `arguments`, so that they can be freed on the way.

    Raises:
        ShardyError: with the name and place of the op that failed.
    """
    frame = plan.frame.copy()
    for slot, value in zip(plan.inputs, arguments, strict=True):
        frame[slot] = value
    value = None  # the frame alone holds the values
    arguments.clear()
    machine = devices.machine
    machine.count(len(plan.steps) + 1)
    for op, run, operands, results, cleared, is_observed in plan.steps:
        given = [frame[slot] for slot in operands]
        for slot in cleared:
            frame[slot] = None
        try:
            made: Sequence[Value] = run(devices, given)
        except ShardyError as error:
            raise error_at(op, error) from error
        except MemoryError:
            raise error_at(op, ShardyError("needs more memory than there is")) from None
        except (ArithmeticError, IndexError, KeyError, TypeError, ValueError) as error:
            if str(error).startswith("ufunc "):  # ops of CHLO and custom calls constrain their types little
                types = ", ".join(str(value.dtype) for value in given if is_array(value))
                raise error_at(op, ShardyError(f"cannot run on elements of {types}")) from error
            # Shapes that are known at run time only, and types that CHLO leaves open, may not fit.
            raise error_at(op, ShardyError(f"cannot run on these operands: {error}")) from error
        if is_observed and machine.observe is not None:
            made = machine.observe(op, devices, list(made)) or made
        for slot, value in zip(results, made, strict=True):
            frame[slot] = value
        frame[-1] = value = None
        del given, made
    return [frame[slot] for slot in plan.returned]
