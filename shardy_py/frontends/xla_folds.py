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

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

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
from shardy_py.graph.liveness import is_dead
from shardy_py.graph.rewiring import erase, place_before, replace_uses, take_out
from shardy_py.graph.walk import find_ops, innermost_first, terminator_of
from shardy_py.text.construct import build_operation

CASE, SORT = "stablehlo.case", "stablehlo.sort"


def fold(module: ModuleOp) -> None:
    """Apply the folds below until none applies."""
    splats = Splats()
    _fold_each(find_ops(module, *FOLDS, *COMPUTING, *MOVING), splats)
    while users := _choose_branches(module, splats):
        _fold_each(users, splats)
    for op in find_ops(module, SORT):
        _drop_unused(op)


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
    makers = {operand.op for operand in op._operands if isinstance(operand, OpResult)}
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
    index = splats.integer(op._operands[0])
    if index is None or SHARDING in op.attributes:
        return []
    region = op.regions[index if 0 <= index < len(op.regions) else -1]
    end = terminator_of(region)
    assert end is not None
    while (inner := region.blocks[0]._first_op) is not None and inner is not end:
        take_out(inner)
        place_before(inner, op)
    users = [use.operation for result in op.results for use in result.uses]
    for result, value in zip(op.results, end._operands, strict=True):
        replace_uses(result, value)
    erase(op)
    for user in users:
        for result in user.results:
            splats.forget(result)
    return [user for user in users if user.name in FOLDS]


def _drop_unused(op: Operation) -> None:
    """Let a sort go without what is sorted along and not used."""
    block = op.regions[0].blocks[0]
    used = [
        any(value.first_use is not None for value in (result, *block.args[2 * index : 2 * index + 2]))
        for index, result in enumerate(op.results)
    ]
    if all(used) or not any(used):
        return
    kept = [index for index, is_used in enumerate(used) if is_used]
    for argument in [argument for number, argument in enumerate(block.args) if not used[number // 2]]:
        block.erase_arg(argument)
    operands, types = [op._operands[index] for index in kept], [op.results[index]._type for index in kept]
    properties, attributes, location = dict(op.properties), dict(op.attributes), cast(Any, op).location
    regions = [op.detach_region(0)]
    made = build_operation(type(op), operands, types, properties, attributes, location, regions=regions)
    place_before(made, op)
    for place, index in enumerate(kept):
        replace_uses(op.results[index], made.results[place])
    erase(op)


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
