"""Ops and their regions: order by nesting, and values captured from outside.

Not here: walks (`mlir/ir/`).
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue

from shardy_py.mlir.ir import operands_of, owning_op, walk_post_order, walk_pre_order


def innermost_first(ops: Iterable[Operation]) -> list[Operation]:
    """Reorders operations from program order: each after those of them that it contains."""
    ordered: list[Operation] = []
    around: list[Operation] = []
    for op in ops:
        while around and not _holds(around[-1], op):
            ordered.append(around.pop())
        around.append(op)
    return ordered + around[::-1]


def _holds(outer: Operation, op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and parent is not outer:
        parent = parent.parent_op()
    return parent is outer


def free_values_inside(root: Operation) -> dict[int, list[SSAValue]]:
    """Returns by the identity of each op with regions in `root` its free values, each once.

    They are in the order of `free_values`. Costs as much as the ops and these values, not what they nest.
    """
    inside: dict[int, dict[SSAValue, None]] = {}
    found: dict[int, list[SSAValue]] = {}
    for op in walk_post_order(root, include_root=False):
        around = inside.setdefault(id(op.parent_op()), {})
        if op.regions:
            used = inside.pop(id(op), {})
            found[id(op)] = [value for value in used if _op_around(value) is not op]
            around.update(dict.fromkeys(found[id(op)]))
        around.update(dict.fromkeys(operands_of(op)))
    return found


def _op_around(value: SSAValue) -> Operation | None:
    """The op in whose region a value is."""
    return value.owner.parent_op()


def free_values(op: Operation) -> list[SSAValue]:
    """The values used in the regions of an op and defined outside, once per use; nested ops come first."""
    inside = {id(op), *map(id, walk_pre_order(op, include_root=False))}
    uses = (value for inner in walk_post_order(op, include_root=False) for value in operands_of(inner))
    return [value for value in uses if id(owning_op(value)) not in inside]
