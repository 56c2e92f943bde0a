"""`xla-fold`: the simplifications of StableHLO's target independent optimization that affect shardings.

| before | after |
|---|---|
| `dynamic_slice` at constants | `slice` |
| `broadcast_in_dim` that adds dimensions of size 1 | `reshape` |
| a reshape of a reshape, a transpose of a transpose, a broadcast of a broadcast | one of them |
| a concatenate in a concatenate, a slice of a part of a concatenate | one concatenate, a slice of the part |
| ops without effect: `x + 0`, `x * 1`, padding by nothing, `select` of a known one, ... | their operand |
| shape ops of constants | constants |
| a `case` of a known index | its branch |

XLA does this function by function, before calls are inlined. Not here: which values are known (`folding.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardy_py.mlir import ir
from shardy_py.mlir.dialects.sdy import ShardingConstraintOp
from shardy_py.mlir.dialects.stablehlo import CaseOp, ReduceOp, SortOp
from shardy_py.mlir.dialects.traits import is_constant, is_dead_when_unused
from shardy_py.mlir.holders import SHARDING
from shardy_py.mlir.movements import replace_op
from shardy_py.mlir.nesting import innermost_first
from shardy_py.mlir.plain import tensor_type
from shardy_py.ops import TABLE
from shardy_py.propagation.graph.liveness import dead_ops, is_dead
from shardy_py.xla.prepare.folding import Fold, Splats, constant_before, narrowed
from shardy_py.xla.prepare.folds import FOLDS
from shardy_py.xla.prepare.revisits import Changes


def fold(module: ModuleOp) -> None:
    """`xla-fold`: the simplifications of StableHLO's target independent optimization that affect shardings.

    before  %0 = reshape %a   %1 = reshape %0   %2 = add %1, %zeros   "use"(%2)
    after   %1 = reshape %a   "use"(%1)
    """
    splats = Splats()
    known = (name for name, row in TABLE.items() if row.is_folded or row.moves_elements)
    has_cases = CaseOp.name in ir.op_names(module)
    fold_each(ir.find_ops(module, *FOLDS, *known), splats)
    while has_cases and (
        users := [
            u for op in innermost_first(ir.find_ops(module, CaseOp.name)) for u in _choose_branch(op, splats)
        ]
    ):
        fold_each(users, splats)
    sorts_and_reduces = ir.find_ops(module, SortOp.name, ReduceOp.name)
    for sort in sorts_and_reduces:
        if isinstance(sort, SortOp):
            _narrow_sort(sort)
    for reduce in sorts_and_reduces:
        if isinstance(reduce, ReduceOp) and reduce.parent is not None:
            _narrow_reduce(reduce)


def fold_each(
    pending: Iterable[Operation],
    splats: Splats,
    folds: Mapping[str, Sequence[Fold]] = FOLDS,
    changes: Changes | None = None,
) -> bool:
    """Folds these ops, then the users of what has changed, until nothing changes; returns whether any did.

    changes: where these are noted.
    """
    is_first, is_changed = True, False
    while pending:
        following: dict[int, Operation] = {}
        for op in pending:
            if op.parent is None or SHARDING in op.attributes:
                continue
            for apply in folds.get(op.name, ()):
                value = apply(op, splats)
                if value is not None:
                    _replace(op, value, changes)
                    is_changed = True
                    break
            else:
                value = next(iter(op.results))  # faster than an index: xDSL's tuple has its own `__getitem__`
                if splats.of(value) is None or is_first:
                    continue
            for user in (value.owner, *(use.operation for use in value.uses)):
                if isinstance(user, Operation) and user is not op and len(user.results) == 1:
                    splats.forget(user.results[0])
                    following[id(user)] = user
        pending, is_first = following.values(), False
    return is_changed


def _replace(op: Operation, value: SSAValue, changes: Changes | None) -> None:
    """Replaces `op` by `value` and erases operands that only `op` used."""
    producers = dict.fromkeys(operand.op for operand in ir.operands_of(op) if isinstance(operand, OpResult))
    erase = ir.erase if changes is None else changes.erase
    if changes is None:
        ir.replace_uses(op.results[0], value)
        ir.erase(op)
    else:
        changes.replace(op, (value,))
    for producer in producers:
        if producer.parent is not None and is_dead(producer):
            erase(producer)


def choose_branches(module: ModuleOp, splats: Splats) -> None:
    """Replaces cases of a known index, or of one branch, by that, as the HLO pass ConditionalSimplifier does.

    Those whose index such a case makes are known behind it.
    """
    if CaseOp.name in ir.op_names(module):
        for op in innermost_first(ir.find_ops(module, CaseOp.name)):
            _choose_branch(op, splats, takes_only=True)


def _choose_branch(op: Operation, splats: Splats, *, takes_only: bool = False) -> list[Operation]:
    """Replaces a case by the branch of its known index, the last one if there is none of that index.

    takes_only: whether the only branch of a case is taken whatever the index is.
    """
    index = splats.integer(ir.operands_of(op)[0])
    if index is None and takes_only and len(op.regions) == 1:
        index = 0
    if index is None or SHARDING in op.attributes:
        return []
    region = op.regions[index if 0 <= index < len(op.regions) else -1]
    end = ir.terminator_of(region)
    assert end is not None
    while (inner := region.blocks[0].first_op) is not None and inner is not end:
        ir.take_out(inner)
        ir.place_before(inner, op)
    users = [use.operation for result in op.results for use in result.uses]
    for result, value in zip(op.results, ir.operands_of(end), strict=True):
        ir.replace_uses(result, value)
    ir.erase(op)
    for user in users:
        for result in user.results:
            splats.forget(result)
    return [user for user in users if user.name in FOLDS]


def _narrow_sort(op: Operation) -> None:
    """Drops operands of a sort whose results and comparator arguments are not used."""
    arguments = op.regions[0].blocks[0].args
    pairs = [(2 * index, 2 * index + 1) for index in range(len(op.results))]
    kept = [
        index
        for index, (result, pair) in enumerate(zip(op.results, pairs, strict=True))
        if any(value.first_use is not None for value in (result, *(arguments[number] for number in pair)))
    ]
    _keep(op, kept, kept, [number for index in kept for number in pairs[index]])


def _narrow_reduce(op: Operation) -> None:
    """Drops unused results of a reduce if the other ones depend on their own operands only."""
    count = len(op.results)
    kept = [index for index, result in enumerate(op.results) if result.first_use is not None]
    end = ir.terminator_of(op.regions[0])
    if not 0 < len(kept) < count or end is None:
        return
    block = end.parent
    pending: list[SSAValue] = [ir.operands_of(end)[index] for index in kept]
    seen: set[SSAValue] = set()
    while pending:
        value = pending.pop()
        if value not in seen:
            seen.add(value)
            if isinstance(value, OpResult) and value.op.parent is block:
                pending += ir.operands_of(value.op)
    needed = {
        value.index % count for value in seen if isinstance(value, BlockArgument) and value.block is block
    }
    if needed != set(kept):
        return
    operands = [*kept, *(count + index for index in kept)]
    replace_op(end, narrowed(end, kept, ()))
    for inner in dead_ops(op.regions[0].blocks[0].ops).values():
        ir.erase(inner)
    _keep(op, kept, operands, operands)


def _keep(op: Operation, results: list[int], operands: list[int], arguments: list[int]) -> None:
    """Replaces an op with one region by one with these results, operands, and arguments of its region."""
    if not 0 < len(results) < len(op.results):
        return
    block = op.regions[0].blocks[0]
    for argument in [argument for number, argument in enumerate(block.args) if number not in arguments]:
        block.erase_arg(argument)
    narrow = narrowed(op, operands, results, [op.detach_region(0)])
    ir.place_before(narrow, op)
    for place, index in enumerate(results):
        ir.replace_uses(op.results[index], narrow.results[place])
    ir.erase(op)


def erase_dead_ops(module: ModuleOp) -> None:
    """`xla-erase-dead-ops`: erases ops without effects whose results are not used."""
    for op in dead_ops(ir.walk_pre_order(module, include_root=False)).values():
        if op.parent is not None:
            ir.erase(op)


def fold_empty_values(module: ModuleOp) -> None:
    """`xla-fold-empty-values`: replaces results without elements by constants, which carry no sharding.

    before  %0 = slice %a [0:0] : (tensor<8xf32>) -> tensor<0xf32>
    after   %0 = constant dense<> : tensor<0xf32>
    """
    sizes: dict[int, bool] = {}  # by the identity of types
    for inner in list(ir.walk_pre_order(module, include_root=False)):
        for result in inner.results:
            type_ = ir.type_of(result)
            if id(type_) not in sizes:
                tensor = tensor_type(type_)
                sizes[id(type_)] = tensor is not None and 0 in tensor.shape
            if sizes[id(type_)] and result.first_use is not None and _may_be_constant(inner):
                ir.replace_uses(result, constant_before(inner, result.type, b""))


def _may_be_constant(op: Operation) -> bool:
    return not (isinstance(op, ShardingConstraintOp) or is_constant(op)) and is_dead_when_unused(op)
