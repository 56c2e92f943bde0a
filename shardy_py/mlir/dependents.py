"""The steps to enqueue when the sharding of a value changes, in MLIR's order.

First the op that defines the value, then its users in the order of the use list (newest first). A use by an
op with data flow or by a terminator counts as one by the data-flow edge, or else by the op around; a use by a
call counts as those of the callee's argument.

Not here: slots (`slots.py`), the loop that uses this (`propagation/fixpoint.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from xdsl.dialects.func import CallOp, ReturnOp
from xdsl.ir import Operation, SSAValue, Use
from xdsl.traits import IsTerminator

from shardy_py.mlir.calls import Calls
from shardy_py.mlir.data_flow import edge_of_source, edge_targets
from shardy_py.mlir.dialects.sdy import DataFlowEdgeOp
from shardy_py.mlir.dialects.traits import data_flow_trait, is_terminator
from shardy_py.mlir.ir import next_use, operands_of, owning_op, user_of


@lru_cache(maxsize=4096)
def _is_forwarding(op_class: type[Operation]) -> bool:
    """Returns whether the use of a value by ops of a class counts as one by another op."""
    is_terminator = op_class.get_trait(IsTerminator) is not None
    return is_terminator or op_class is CallOp or data_flow_trait(op_class) is not None


class Dependents:
    """Finds the dependents of values, given the step of each op (by identity) and the calls of the module."""

    def __init__(self, step_of: Mapping[int, int], calls: Calls) -> None:
        self._step_of = step_of
        self._calls = calls

    def of(self, value: SSAValue) -> tuple[int, ...]:
        """The steps to enqueue when the sharding of `value` changes."""
        steps: list[int] = []
        owner = owning_op(value)
        if type(owner) is DataFlowEdgeOp:
            for target in edge_targets(operands_of(owner)[0])[1:]:
                self.add_users(target, steps)
        step_of = self._step_of.get
        step = step_of(id(owner))
        if step is not None:
            steps.append(step)
        use = value.first_use
        while use is not None:
            step = step_of(id(user_of(use)))
            if step is None:
                self._add_users_from(use, value, steps)
                break
            steps.append(step)
            use = next_use(use)
        return tuple(steps)

    def add_users(self, value: SSAValue, steps: list[int]) -> None:
        """Append the steps for all uses of `value`."""
        self._add_users_from(value.first_use, value, steps)

    def _add_users_from(self, use: Use | None, value: SSAValue, steps: list[int]) -> None:
        """Append the steps for the uses of `value` from `use` on."""
        entered: set[SSAValue] | None = None  # values that were followed into or out of functions
        pending: list[Use | None] = []
        step_of = self._step_of.get
        while use is not None or pending:
            if use is None:
                use = pending.pop()
                continue
            user, use_after = user_of(use), next_use(use)
            step = step_of(id(user))
            if step is not None:
                steps.append(step)
            elif _is_forwarding(user.__class__):
                forwarded = self._forwarded(user, use.index, steps)
                if forwarded:
                    # Calls may form cycles: a value is followed once, as its steps are enqueued once.
                    if entered is None:
                        entered = {value}
                    new = [v for v in dict.fromkeys(forwarded) if v not in entered]
                    entered.update(new)
                    pending.append(use_after)
                    pending += (v.first_use for v in reversed(new))
                    use_after = None
            use = use_after

    def _forwarded(self, user: Operation, index: int, steps: list[int]) -> Sequence[SSAValue]:
        """The values whose users are meant by a use; otherwise appends the step that is meant."""
        dependent = edge_of_source(user, index)
        if dependent is None and isinstance(user, ReturnOp):
            return [call.results[index] for call in self._calls.of_function(user.parent_op())]
        if dependent is None and isinstance(user, CallOp):
            argument = self._calls.argument(user, index)
            return () if argument is None else (argument,)
        dependent = dependent or (user.parent_op() if is_terminator(user) else user)
        step = self._step_of.get(id(dependent))
        if step is not None:
            steps.append(step)
        return ()
