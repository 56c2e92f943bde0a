"""Which steps are put back to work when the sharding of a value changes, and in which order.

The op that defines the value first, then the users in the order of the value's use list (the newest use
first). A use by a region op or a terminator stands for the data-flow edge, or the parent op, behind it; a use
by a call for the users of the callee's argument.

Not here: slots (`slots.py`), the loop that uses this (`propagation/fixpoint.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.graph.calls import Calls
from shardy_py.graph.data_flow import DATA_FLOW, EDGE_NAME, TERMINATORS, edge_of_source, other_targets
from shardy_py.ir import next_use, operands_of


class Wakes:
    """Finds the steps to wake, given the step of each op (by identity) and the calls of the module."""

    def __init__(self, step_of: Mapping[int, int], calls: Calls) -> None:
        """Take what `build.py` knows of the module."""
        self._step_of = step_of
        self._calls = calls
        # Ops whose use of a value stands for something else.
        self._passed_on = frozenset({*DATA_FLOW, *TERMINATORS, "func.call"})

    def of(self, value: SSAValue) -> tuple[int, ...]:
        """The steps to wake when the sharding kept for `value` changes."""
        steps: list[int] = []
        if isinstance(value, OpResult):
            maker = value.op
            if maker.name == EDGE_NAME:
                for target in other_targets(operands_of(maker)[0]):
                    self.add_users(target, steps)
        else:
            maker = value.owner.parent_op() if not isinstance(value.owner, Operation) else value.owner
        if maker is not None:
            self._add(maker, steps)
        self.add_users(value, steps)
        return tuple(steps)

    def of_all(self, values: Sequence[SSAValue | None]) -> list[tuple[int, ...]]:
        """`of` for each value; () for None."""
        step_of, result = self._step_of, list[tuple[int, ...]]()
        for value in values:
            if not isinstance(value, OpResult) or (maker := value.op).name == EDGE_NAME:
                result.append(() if value is None else self.of(value))
                continue
            # By far the most frequent case, hence written out.
            step = step_of.get(id(maker))
            steps = [] if step is None else [step]
            use = value.first_use
            while use is not None:
                user = use.operation
                step = step_of.get(id(user))
                if step is not None:
                    steps.append(step)
                elif user.name in self._passed_on:
                    self._add_passed_on(user, use.index, steps)
                use = next_use(use)
            result.append(tuple(steps))
        return result

    def add_users(self, value: SSAValue, steps: list[int]) -> None:
        """Add the steps to wake for each use of `value`."""
        use = value.first_use
        while use is not None:
            step = self._step_of.get(id(use.operation))
            if step is not None:
                steps.append(step)
            elif use.operation.name in self._passed_on:
                self._add_passed_on(use.operation, use.index, steps)
            use = next_use(use)

    def _add_passed_on(self, user: Operation, index: int, steps: list[int]) -> None:
        edge = edge_of_source(user, index)
        if edge is not None:
            self._add(edge, steps)
        elif user.name == "func.return":
            for call in self._calls.of_function(user.parent_op()):
                self.add_users(call.results[index], steps)
        elif user.name == "func.call":
            argument = self._calls.argument(user, index)
            if argument is not None:
                self.add_users(argument, steps)
        elif user.name in TERMINATORS:
            parent = user.parent_op()
            if parent is not None:
                self._add(parent, steps)
        else:
            self._add(user, steps)

    def _add(self, op: Operation, steps: list[int]) -> None:
        step = self._step_of.get(id(op))
        if step is not None:
            steps.append(step)
