"""From blocks to plans: every op becomes a step, before anything runs.

An op runs by the first that applies:

1. a function of its own in `facet.py`, by name (collectives, tokens, instruments, ...);
2. its row's control flow (`ops/`, column `control`);
3. its row's storage: an alias passes operands on;
4. its function in `ops/compute/`.

Not here: execution (`plan.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from types import FunctionType
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.registry import syntax_table
from shardy_py.mlir.dialects.traits import is_terminator
from shardy_py.mlir.ir import operands_of, terminator_of, type_of
from shardy_py.mlir.op_errors import error_at
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.naming import ValueNames
from shardy_py.mlir.typed import of_kind
from shardy_py.ops.compute import Array
from shardy_py.run.interpret.machine import Devices, Run, RunLimits
from shardy_py.run.interpret.plan import BlockPlan, KnownSlot, RunStep, execute
from shardy_py.run.interpret.values import Value, is_array, is_tuple

Handler = Callable[["Builder", Operation, "tuple[NestedRegion, ...]"], Run]
"""Makes the execution of an op with these regions."""


@dataclass(frozen=True, slots=True)
class NestedRegion:
    """A region of an op: its plan, and where the values that it captures are among the step's operands."""

    plan: BlockPlan
    captured: tuple[int, ...]

    def __call__(self, devices: Devices, arguments: list[Value], operands: Sequence[Value]) -> list[Value]:
        """Runs the region; empties `arguments`."""
        arguments += [operands[position] for position in self.captured]
        return execute(self.plan, devices, arguments)


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """The execution of a constant. make: makes its value, in the arithmetic of a run."""

    make: Callable[[], Array]

    def __call__(self, devices: Devices, operands: list[Value]) -> tuple[Value]:
        """Returns the value."""
        return (self.make(),)


@dataclass(frozen=True, slots=True, eq=False)
class Pure:
    """The execution of an op with one result, which depends on its operands alone."""

    function: Callable[..., Value]

    def __call__(self, devices: Devices, operands: list[Value]) -> Sequence[Value]:
        """Returns the result."""
        result = self.function(*operands)
        return result if is_tuple(result) else (result,)

    @staticmethod
    def is_small(op: Operation) -> bool:
        """Returns whether the result may be kept for the whole run."""
        tensor = tensor_type(type_of(op.results[0]))
        return tensor is not None and prod(_SMALL if n is None else n for n in tensor.shape) < _SMALL


_SMALL = 1 << 12
"""Elements of results that are computed before the run, if the operands are constants."""


class Builder:
    """Builds the plans of a module; each function once, when it is first called.

    observed: whether the machine's observer sees the results of an op. plans: of all blocks.
    """

    def __init__(
        self,
        module: ModuleOp,
        limits: RunLimits,
        observed: Callable[[Operation], bool] = lambda op: False,
    ) -> None:
        self.symbols = Symbols(module)
        self.limits = limits
        self.observed = observed
        self.plans: list[BlockPlan] = []
        self._functions: dict[str, BlockPlan] = {}
        self._pending: list[tuple[BlockPlan, Operation]] = []
        self._faults: list[Diagnostic] = []

    def program(self, name: str) -> BlockPlan:
        """Returns the plan of a function, with all that it calls.

        Raises:
            ShardyError: ops that cannot run, all of them, each with its place.
        """
        plan = self.function(name)
        while self._pending:
            self._fill(*self._pending.pop())
        self._spread_communication()
        if self._faults:
            raise ShardyError(*self._faults)
        return plan

    def function(self, name: str) -> BlockPlan:
        """Returns the plan of a function; it is filled when the program is complete."""
        plan = self._functions.get(name)
        if plan is None:
            function = self.symbols.function(name)
            plan = self._functions[name] = BlockPlan()
            self._pending.append((plan, function))
        return plan

    def handler_of(self, op: Operation) -> Handler:
        """Returns what runs `op`. Raises `ShardyError` if nothing does."""
        from shardy_py.run.interpret.handlers import handler_of

        return handler_of(op)

    def _fill(self, plan: BlockPlan, function: Operation) -> None:
        block = function.regions[0].first_block
        if block is None:
            raise error_at(function, ShardyError("is a declaration, and cannot run"))
        outer = _BlockBuilder(self, plan)
        outer.fill(block)
        for value in outer.captured:  # defined behind its use: nothing else is visible in a function
            use = next(iter(value.uses))
            fault = ShardyError(f"operand #{use.index} does not dominate this use")
            raise error_at(use.operation, fault)

    def nested(self, region: Region) -> tuple[BlockPlan, tuple[SSAValue, ...]]:
        """Returns the plan of a region, and the values that it captures."""
        plan = BlockPlan()
        block = region.first_block
        if block is None:
            return plan, ()
        inner = _BlockBuilder(self, plan)
        inner.fill(block)
        return plan, inner.captured

    def name_of(self, value: SSAValue) -> str:
        """Returns the name of a value in the printed program, as `%0`."""
        return self._names.of[id(value)]

    @cached_property
    def _names(self) -> ValueNames:
        return ValueNames(self.symbols.module, syntax_table())

    def note(self, op: Operation, error: ShardyError) -> None:
        """Adds an op that cannot run."""
        self._faults.extend(error_at(op, error).diagnostics)

    def _spread_communication(self) -> None:
        """Marks plans that call functions that communicate."""
        changed = True
        while changed:
            changed = False
            for plan in self._functions.values():
                called = any(callee.communicates for callee in plan.callees)
                if called and not plan.communicates:
                    plan.communicates = changed = True


class _BlockBuilder:
    """Builds the plan of one block, whose regions become plans of their own."""

    def __init__(self, builder: Builder, plan: BlockPlan) -> None:
        self._builder = builder
        self._plan = plan
        self._slots: dict[SSAValue, int] = {}
        self._captured: list[SSAValue] = []
        self._known: dict[int, Array] = {}
        builder.plans.append(plan)

    @property
    def captured(self) -> tuple[SSAValue, ...]:
        """The values from outside, in the order of their inputs behind the arguments."""
        return tuple(self._captured)

    def fill(self, block: Block) -> None:
        plan = self._plan
        arguments = [self._new_slot(argument) for argument in block.args]
        drafts: list[RunStep] = []
        for op in block.ops:
            if not is_terminator(op):
                try:
                    step = self._step(op)
                    if not self._is_known(step):
                        drafts.append(step)
                except ShardyError as error:
                    self._builder.note(op, error)
                    for result in op.results:
                        self._new_slot(result)
        end = terminator_of(of_kind(block.parent, Region))
        plan.returned = tuple(map(self._slot_of, operands_of(end))) if end is not None else ()
        plan.inputs = (*arguments, *(self._slots[value] for value in self._captured))
        plan.frame = [self._known.get(slot) for slot in range(len(self._slots) + 1)]
        plan.steps = _with_lifetimes(drafts, {*plan.returned, *self._known})

    def _is_known(self, step: RunStep) -> bool:
        """Returns whether the results do not depend on the run; they are then in the frame from the start."""
        run = step.run
        if step.is_observed or not isinstance(run, Known | Pure):
            return False
        if isinstance(run, Pure):
            if not all(slot in self._known for slot in step.operands) or not run.is_small(step.op):
                return False
            constant = KnownSlot(step.results[0], run.function, step.operands)
        else:
            constant = KnownSlot(step.results[0], run.make)
        with np.errstate(all="ignore"):
            self._known[constant.slot] = constant.value(self._known)
        self._plan.constants.append(constant)
        return True

    def _new_slot(self, value: SSAValue) -> int:
        return self._slots.setdefault(value, len(self._slots))

    def _slot_of(self, value: SSAValue) -> int:
        """The slot of an operand; a value from outside becomes an input."""
        slot = self._slots.get(value)
        if slot is None:
            self._captured.append(value)
            slot = self._new_slot(value)
        return slot

    def _step(self, op: Operation) -> RunStep:
        builder, plan = self._builder, self._plan
        is_dynamic = False
        for result in op.results:
            tensor = tensor_type(type_of(result))
            if tensor is not None:
                builder.limits.check_shape(tuple(size or 1 for size in tensor.shape))
                is_dynamic |= None in tensor.shape
        operands = list(operands_of(op))
        nested: list[NestedRegion] = []
        for region in op.regions:
            inner, captured = builder.nested(region)
            plan.communicates |= inner.communicates
            plan.callees |= inner.callees
            nested.append(NestedRegion(inner, tuple(range(len(operands), len(operands) + len(captured)))))
            operands += captured
        run = builder.handler_of(op)(builder, op, tuple(nested))
        plan.communicates |= getattr(run, "communicates", False)
        plan.callees |= getattr(run, "callees", frozenset())
        if is_dynamic:
            run = _limited(run, builder.limits)
        if not isinstance(run, FunctionType | Known | Pure):
            run = cast(Run, run.__call__)  # methods nest without C frames, of which Python 3.12 allows few
        slots = tuple(map(self._slot_of, operands))
        results = tuple(map(self._new_slot, op.results))
        return RunStep(op, run, slots, results, is_observed=builder.observed(op))


def _limited(run: Run, limits: RunLimits) -> Run:
    """Checks the sizes of results whose types leave them open."""

    def checked(devices: Devices, operands: list[Value]) -> Sequence[Value]:
        results: Sequence[Value] = run(devices, operands)
        for result in filter(is_array, results):
            limits.check_shape(result.shape[1:])
        return results

    return checked


def _with_lifetimes(drafts: list[RunStep], needed: set[int]) -> list[RunStep]:
    """Adds to each step the slots that nothing reads afterwards; `needed`: slots that are never cleared."""
    steps: list[RunStep] = []
    for step in reversed(drafts):
        cleared = tuple({slot for slot in step.operands if slot not in needed})
        results = tuple(slot if slot in needed else NOWHERE for slot in step.results)
        needed.update(step.operands)
        steps.append(step._replace(cleared=cleared, results=results))
    return steps[::-1]


NOWHERE = -1
"""The slot of a result that nothing uses."""
