"""Dead ops: those without effects whose results nobody uses, and those that only feed such ops.

MLIR's greedy driver erases them on its way, so passes that C++ runs through it erase them too.

Not here: what that means for propagation (`propagation/erasure.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from shardy_py.dialects.traits import is_dead_when_unused
from shardy_py.graph.plain import tensor_type
from shardy_py.ir import operands_of, walk_pre_order
from shardy_py.propagation.flat import Liveness


def is_dead(op: Operation) -> bool:
    """Whether `op` can be erased now."""
    return all(result.first_use is None for result in op.results) and is_dead_when_unused(op)


def dying_ops(candidates: Iterable[Operation]) -> dict[int, Operation]:
    """The ops among `candidates` that are dead, and those that will be once these are erased; by identity.

    In the order in which they can be erased.
    """
    dying: dict[int, Operation] = {id(op): op for op in candidates if is_dead(op)}
    pending = list(dying.values())
    while pending:
        for op in walk_pre_order(pending.pop()):
            for operand in operands_of(op):
                maker = operand.owner
                if (
                    isinstance(maker, Operation)
                    and id(maker) not in dying
                    and all(_goes(use.operation, dying) for result in maker.results for use in result.uses)
                    and is_dead_when_unused(maker)
                ):
                    dying[id(maker)] = maker
                    pending.append(maker)
    return dying


def _goes(user: Operation | None, dying: dict[int, Operation]) -> bool:
    """Whether `user`, or an op that holds it, is dying."""
    while user is not None:
        if id(user) in dying:
            return True
        user = user.parent_op()
    return False


def liveness_of(
    dying: Mapping[int, Operation], step_of: Mapping[int, int], step_ops: Sequence[Operation]
) -> Liveness:
    """The flat form of the dying ops: who uses what they use, and how often they are used themselves."""
    liveness = Liveness()
    numbers: dict[int, int] = {}
    for identity, op in dying.items():
        step = step_of[identity]
        liveness.remaining_uses[step] = sum(result.uses.get_length() for result in op.results)
        operands: list[tuple[int, int]] = []
        for user, value in _uses_in(op):
            if _user_step(user, step_of, dying) != step:
                continue
            number = numbers.setdefault(id(value), len(numbers))
            if number not in liveness.users:
                liveness.users[number] = [_user_step(use.operation, step_of, dying) for use in value.uses]
            operands.append((step_of.get(id(value.owner), -1), number))
        liveness.operands[step] = tuple(operands)
        inside = walk_pre_order(op, include_root=False) if op.regions else ()
        liveness.nested[step] = tuple(step_of[id(inner)] for inner in inside if id(inner) in step_of)
    for step in {user for users in liveness.users.values() for user in users if user >= 0}:
        tensors = [value for value in operands_of(step_ops[step]) if not _is_scalar(value)]
        liveness.reads[step] = tuple(numbers[id(v)] for v in tensors if id(v) in numbers)
        if any(id(value) not in numbers and value.has_more_than_one_use() for value in tensors):
            liveness.shared_elsewhere.add(step)
    return liveness


def _uses_in(op: Operation) -> Iterator[tuple[Operation, SSAValue]]:
    """The operands of `op` and of what its regions hold, with their users."""
    for user in walk_pre_order(op):
        for value in operands_of(user):
            yield user, value


def _is_scalar(value: SSAValue) -> bool:
    tensor = tensor_type(value.type)
    return tensor is not None and not tensor.shape


def _user_step(user: Operation, step_of: Mapping[int, int], dying: Mapping[int, Operation]) -> int:
    """The step that stands for a use: of the dying op around it, if any; else the user's own, or below 0."""
    outer: Operation | None = user
    while outer is not None:
        if id(outer) in dying:
            return step_of[id(outer)]
        outer = outer.parent_op()
    return step_of.get(id(user), -id(user))
