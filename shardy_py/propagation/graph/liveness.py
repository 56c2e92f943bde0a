"""Dead ops: unused ops without effects, and those used by dead ops only.

MLIR's greedy driver erases them when it visits them, so passes that C++ runs with it erase them too.

Not here: their effect on propagation (`propagation/fixpoint.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from xdsl.ir import Operation, SSAValue

from shardy_py.mlir.dialects.traits import is_dead_when_unused
from shardy_py.mlir.ir import operands_of, walk_pre_order
from shardy_py.mlir.plain import tensor_type
from shardy_py.propagation.flat import Liveness


def is_dead(op: Operation) -> bool:
    """Returns whether `op` can be erased now."""
    for result in op.results:  # faster than `all`: most ops have one result, which is used
        if result.first_use is not None:
            return False
    return is_dead_when_unused(op)


def dead_ops(candidates: Iterable[Operation]) -> dict[int, Operation]:
    """The dead ops among `candidates` and those used by dead ops only, by identity, in order of erasure."""
    dead: dict[int, Operation] = {id(op): op for op in candidates if is_dead(op)}
    pending = list(dead.values())
    live_users: dict[int, _Users] = {}
    while pending:
        for op in walk_pre_order(pending.pop()):
            for operand in operands_of(op):
                maker = operand.owner
                if not isinstance(maker, Operation) or id(maker) in dead:
                    continue
                users = live_users.get(id(maker)) or live_users.setdefault(id(maker), _Users(maker))
                if users.are_in(dead) and is_dead_when_unused(maker):
                    dead[id(maker)] = maker
                    pending.append(maker)
    return dead


class _Users:
    """The users of an op that are not known to be dead; each is passed once, as dead ops only get more."""

    def __init__(self, op: Operation) -> None:
        self._rest = (use.operation for result in op.results for use in result.uses)
        self._first = next(self._rest, None)

    def are_in(self, dead: Mapping[int, Operation]) -> bool:
        while self._first is not None and _dead_around(self._first, dead):
            self._first = next(self._rest, None)
        return self._first is None


def _dead_around(user: Operation | None, dead: Mapping[int, Operation]) -> Operation | None:
    """The dead op that is `user` or around it, or None."""
    while user is not None and id(user) not in dead:
        user = user.parent_op()
    return user


def liveness_of(
    dead: Mapping[int, Operation], step_of: Mapping[int, int], step_ops: Sequence[Operation]
) -> Liveness:
    """Returns the uses of the dead ops and of their operands, by step."""
    liveness = Liveness()
    numbers: dict[int, int] = {}
    for identity, op in dead.items():
        step = step_of[identity]
        liveness.remaining_uses[step] = sum(result.uses.get_length() for result in op.results)
        operands = liveness.operands[step] = list[tuple[int, int]]()
        own_users = (user for user in walk_pre_order(op) if _user_step(user, step_of, dead) == step)
        for value in chain.from_iterable(map(operands_of, own_users)):
            number = numbers.setdefault(id(value), len(numbers))
            if number not in liveness.users:
                liveness.users[number] = [_user_step(use.operation, step_of, dead) for use in value.uses]
            operands.append((step_of.get(id(value.owner), -1), number))
        inside = walk_pre_order(op, include_root=False) if op.regions else ()
        liveness.nested[step] = tuple(step_of[id(inner)] for inner in inside if id(inner) in step_of)
    for step in {user for users in liveness.users.values() for user in users if user >= 0}:
        tensors = [value for value in operands_of(step_ops[step]) if not _is_scalar(value)]
        liveness.reads[step] = tuple(numbers[id(v)] for v in tensors if id(v) in numbers)
        if any(id(value) not in numbers and value.has_more_than_one_use() for value in tensors):
            liveness.shared_elsewhere.add(step)
    return liveness


def _is_scalar(value: SSAValue) -> bool:
    tensor = tensor_type(value.type)
    return tensor is not None and not tensor.shape


def _user_step(user: Operation, step_of: Mapping[int, int], dead: Mapping[int, Operation]) -> int:
    """The step of the dead op around a use, if any, else of the user; negative if the user is no step."""
    outer = _dead_around(user, dead)
    return step_of.get(id(user), -id(user)) if outer is None else step_of[id(outer)]
