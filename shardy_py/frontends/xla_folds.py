"""Simplifications that a program goes through on its way to HLO, where propagation can tell.

| before | after |
|---|---|
| `dynamic_slice` at constants | `slice` |
| `broadcast_in_dim` that adds dimensions of size 1 | `reshape` |
| a reshape of a reshape, a transpose of a transpose, a broadcast of a broadcast | one of them |
| a concatenate in a concatenate, a slice of a part of a concatenate | one concatenate, a slice of the part |
| what changes nothing: `x + 0`, `x * 1`, a pad by nothing, `select` of a known choice, ... | what goes in |
| shape ops of constants | constants |
| a `case` of a known index | its branch |

Those of StableHLO's target independent optimization, function by function, before calls are inlined.
Not here: which values are known (`xla_constants.py`), loops (`xla_loops.py`), steps around them (`xla.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardy_py.frontends.xla_constants import COMPUTING, MOVING, Splats
from shardy_py.frontends.xla_elements import (
    absorbing,
    fold_all_ones,
    fold_compare,
    fold_convert,
    fold_same_operands,
    fold_select,
    neutral,
    part_of_complex,
)
from shardy_py.frontends.xla_making import Fold
from shardy_py.frontends.xla_shapes import (
    fold_broadcast,
    fold_concatenate,
    fold_constant,
    fold_dynamic_slice,
    fold_dynamic_update_slice,
    fold_pad,
    fold_reduce,
    fold_reshape,
    fold_reverse,
    fold_slice,
    fold_transpose,
)
from shardy_py.graph.holders import SHARDING
from shardy_py.graph.liveness import dying_ops, is_dead
from shardy_py.graph.rewiring import replace_op
from shardy_py.ir import (
    build_operation,
    erase,
    find_ops,
    innermost_first,
    operands_of,
    place_before,
    replace_uses,
    take_out,
    terminator_of,
)

CASE, REDUCE, SORT = "stablehlo.case", "stablehlo.reduce", "stablehlo.sort"


def fold(module: ModuleOp) -> None:
    """Apply the folds below until none applies."""
    splats = Splats()
    _fold_each(find_ops(module, *FOLDS, *COMPUTING, *MOVING), splats)
    while users := _choose_branches(module, splats):
        _fold_each(users, splats)
    for op in find_ops(module, SORT):
        _sort_less(op)
    for op in find_ops(module, REDUCE):
        _reduce_less(op)


def _fold_each(pending: Iterable[Operation], splats: Splats) -> None:
    """Fold these, and their users then."""
    is_first = True
    while pending:
        following: dict[int, Operation] = {}
        for op in pending:
            if op.parent is None or SHARDING in op.attributes:
                continue
            for apply in FOLDS.get(op.name, ()):
                value = apply(op, splats)
                if value is not None:
                    _become(op, value)
                    break
            else:
                value = op.results[0]
                if splats.of(value) is None or is_first:
                    continue
            maker = value.owner
            for user in (maker, *(use.operation for use in value.uses)):
                if isinstance(user, Operation) and user is not op and len(user.results) == 1:
                    splats.forget(user.results[0])
                    following[id(user)] = user
        pending, is_first = following.values(), False


def _become(op: Operation, value: SSAValue) -> None:
    """Let the users of `op` use `value`; what only `op` used goes."""
    makers = dict.fromkeys(operand.op for operand in operands_of(op) if isinstance(operand, OpResult))
    replace_uses(op.results[0], value)
    erase(op)
    for maker in makers:
        if maker.parent is not None and is_dead(maker):
            erase(maker)


def _choose_branches(module: ModuleOp, splats: Splats) -> list[Operation]:
    """The inner ones first: nothing in a branch that goes is looked at any more."""
    return [user for op in innermost_first(find_ops(module, CASE)) for user in _choose_branch(op, splats)]


def _choose_branch(op: Operation, splats: Splats) -> list[Operation]:
    """Put the branch of a known index (the last one if there is none) in place of a case; its users."""
    index = splats.integer(operands_of(op)[0])
    if index is None or SHARDING in op.attributes:
        return []
    region = op.regions[index if 0 <= index < len(op.regions) else -1]
    end = terminator_of(region)
    assert end is not None
    while (inner := region.blocks[0].first_op) is not None and inner is not end:
        take_out(inner)
        place_before(inner, op)
    users = [use.operation for result in op.results for use in result.uses]
    for result, value in zip(op.results, operands_of(end), strict=True):
        replace_uses(result, value)
    erase(op)
    for user in users:
        for result in user.results:
            splats.forget(result)
    return [user for user in users if user.name in FOLDS]


def _sort_less(op: Operation) -> None:
    """Let a sort go without what is sorted along and not used."""
    arguments = op.regions[0].blocks[0].args
    pairs = [(2 * index, 2 * index + 1) for index in range(len(op.results))]
    kept = [
        index
        for index, (result, pair) in enumerate(zip(op.results, pairs, strict=True))
        if any(value.first_use is not None for value in (result, *(arguments[number] for number in pair)))
    ]
    _keep(op, kept, kept, [number for index in kept for number in pairs[index]])


def _reduce_less(op: Operation) -> None:
    """Let a reduce go without results that nobody uses, if those that stay are made of their own operands."""
    count = len(op.results)
    kept = [index for index, result in enumerate(op.results) if result.first_use is not None]
    end = terminator_of(op.regions[0])
    if not 0 < len(kept) < count or end is None:
        return
    block = end.parent
    pending: list[SSAValue] = [operands_of(end)[index] for index in kept]
    seen: set[SSAValue] = set()
    while pending:
        value = pending.pop()
        if value not in seen:
            seen.add(value)
            if isinstance(value, OpResult) and value.op.parent is block:
                pending += operands_of(value.op)
    needed = {
        value.index % count for value in seen if isinstance(value, BlockArgument) and value.block is block
    }
    if needed != set(kept):
        return
    operands = [*kept, *(count + index for index in kept)]
    used = [operands_of(end)[index] for index in kept]
    replace_op(end, build_operation(type(end), used, (), {}, {}, _location(end)))
    for inner in dying_ops(op.regions[0].blocks[0].ops).values():
        erase(inner)
    _keep(op, kept, operands, operands)


def _keep(op: Operation, results: list[int], operands: list[int], arguments: list[int]) -> None:
    """Let an op with one region have these of its results, operands, and arguments of its region only."""
    if not 0 < len(results) < len(op.results):
        return
    block = op.regions[0].blocks[0]
    for argument in [argument for number, argument in enumerate(block.args) if number not in arguments]:
        block.erase_arg(argument)
    made = build_operation(
        type(op),
        [operands_of(op)[index] for index in operands],
        [op.results[index].type for index in results],
        dict(op.properties),
        dict(op.attributes),
        _location(op),
        regions=[op.detach_region(0)],
    )
    place_before(made, op)
    for place, index in enumerate(results):
        replace_uses(op.results[index], made.results[place])
    erase(op)


def _location(op: Operation) -> Any:
    return cast(Any, op).location


FOLDS: dict[str, tuple[Fold, ...]] = {
    f"stablehlo.{name}": folds
    for name, folds in {
        "add": (neutral(0),),
        "and": (absorbing(0), fold_all_ones),
        "broadcast_in_dim": (fold_broadcast,),
        "compare": (fold_compare,),
        "concatenate": (fold_constant, fold_concatenate),
        "convert": (fold_convert,),
        "dynamic_slice": (fold_constant, fold_dynamic_slice),
        "dynamic_update_slice": (fold_dynamic_update_slice,),
        "imag": (part_of_complex(1),),
        "multiply": (absorbing(0), neutral(1)),
        "or": (neutral(0),),
        "pad": (fold_pad,),
        "real": (part_of_complex(0),),
        "reduce": (fold_reduce,),
        "reshape": (fold_constant, fold_reshape),
        "reverse": (fold_constant, fold_reverse),
        "select": (fold_select,),
        "slice": (fold_constant, fold_slice),
        "subtract": (fold_same_operands, neutral(0, left=False)),
        "transpose": (fold_constant, fold_transpose),
        "xor": (fold_same_operands, neutral(0)),
    }.items()
}
