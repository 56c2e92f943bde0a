"""Dominance in regions of several blocks, and the fault of a use that its definition does not dominate.

Not here: regions of one block, whose order decides (`walk.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.ir import Block, Operation, Region, SSAValue

from shardy_py.base.errors import Diagnostic
from shardy_py.mlir.dialects.faults import Fault, note


def first_violation(region: Region, is_ordered: bool) -> tuple[Operation, SSAValue] | None:
    """Returns the first use of a value of this region that its definition does not dominate, with the value.

    Uses in nested regions count; those in blocks that the entry does not reach do not.

    is_ordered: whether a value is visible only behind its definition within a block.
    """
    places = {id(op): index for block in region.blocks for index, op in enumerate(block.ops)}
    spans = _spans(region)
    for block in region.blocks:
        for op, user in _with_nested(block) if id(block) in spans else ():
            for value in user.operands:
                owner = value.owner
                home = owner if isinstance(owner, Block) else owner.parent
                if home is None or home.parent is not region:
                    continue
                if home is not block:
                    is_visible = _dominates(spans.get(id(home)), spans[id(block)])
                else:
                    is_visible = (
                        isinstance(owner, Block) or not is_ordered or places[id(owner)] < places[id(op)]
                    )
                if not is_visible:
                    return user, value
    return None


def _with_nested(block: Block) -> Iterator[tuple[Operation, Operation]]:
    """Each op of a block, with itself and the ops nested in it."""
    for op in block.ops:
        for user in op.walk() if op.regions else (op,):
            yield op, user


Span = tuple[int, int]
"""The first and last number of a subtree of the dominator tree, in preorder."""


def _spans(region: Region) -> dict[int, Span]:
    """The subtrees of the dominator tree, by the identity of their blocks; only those that are reached."""
    import networkx  # loaded for regions of several blocks only, which programs of StableHLO lack

    library: Any = networkx
    entry = region.blocks[0]
    flow, tree = library.DiGraph(), library.DiGraph()
    for graph in (flow, tree):
        graph.add_node(entry)
    for block in region.blocks:
        if block.last_op is not None:
            flow.add_edges_from((block, following) for following in block.last_op.successors)
    parents: dict[Block, Block | None] = library.immediate_dominators(flow, entry)
    tree.add_edges_from((parent, block) for block, parent in parents.items() if parent not in (None, block))
    numbers: dict[Block, int] = {b: n for n, b in enumerate(library.dfs_preorder_nodes(tree, entry))}
    ends = dict(numbers)
    for block in library.dfs_postorder_nodes(tree, entry):
        ends[block] = max((ends[block], *(ends[child] for child in tree[block])))
    return {id(block): (number, ends[block]) for block, number in numbers.items()}


def _dominates(one: Span | None, other: Span) -> bool:
    return one is not None and one[0] <= other[0] <= one[1]


def dominance_fault(op: Operation, value: SSAValue, isolated: Operation) -> Fault:
    """The fault of the use of `value` by `op`, which is within the isolated op `isolated`."""
    if not _is_within(value.owner, isolated):
        note_ = note("required by region isolation constraints", isolated.location)
        return Fault("using value defined outside the region", note_, op=op)
    index = next(index for index, operand in enumerate(op.operands) if operand is value)
    message = f"operand #{index} does not dominate this use"
    return Fault(message, *_definition(value, op), is_plain=True, op=op)


def _is_within(owner: Operation | Block, root: Operation) -> bool:
    at: Operation | None = owner.parent_op() if isinstance(owner, Block) else owner
    if not isinstance(owner, Block) and at is root:
        return False
    while at is not None and at is not root:
        at = at.parent_op()
    return at is root


def _definition(value: SSAValue, user: Operation) -> tuple[Diagnostic, ...]:
    """The place of the definition, and its relation to the use, in MLIR's words."""
    owner = value.owner
    if isinstance(owner, Block):
        holder, region = owner.parent_op(), owner.parent
        if holder is None or region is None:
            return ()
        index = next(index for index, block in enumerate(region.blocks) if block is owner)
        where = _relation(region, user.parent_region()) or "neither in a parent nor in a child region"
        return (note(f"operand defined as a block argument (block #{index} {where})", holder.location),)
    if owner.parent is user.parent:
        where = "in the same block"
    else:
        relation = _relation(owner.parent_region(), user.parent_region())
        where = relation or "is neither in a parent nor in a child region"
    return (note(f"operand defined here (op {where})", owner.location),)


def _relation(defined: Region | None, used: Region | None) -> str:
    if defined is used:
        return "in the same region"
    if _is_ancestor(defined, used):
        return "in a parent region"
    return "in a child region" if _is_ancestor(used, defined) else ""


def _is_ancestor(outer: Region | None, inner: Region | None) -> bool:
    """Returns whether a region contains another one."""
    while inner is not None and inner is not outer:
        holder = inner.parent
        inner = holder.parent_region() if holder is not None else None
    return inner is outer
