"""Products of tensors whose first dimensions a model merges before the product and splits after it.

`nn.MultiheadAttention` views its values as [length * batch, size] for its last product, as do models that use
`addmm` and decomposed programs. A sharding of the batch, the minor part of the merged dimension, does not
propagate through such a view. The product of [length, batch, size] has the same elements and propagates it.

Not here: what products compute (`aten/products.py`).
"""

from __future__ import annotations

from typing import Any

_VIEWS = ("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default")
_PRODUCTS = {"aten.linear.default": 0, "aten.mm.default": 0, "aten.addmm.default": 1}
"""Products, with the number of the argument whose rows are merged."""


def unmerge(graph: Any) -> None:
    """Changes products of merged rows in place if all following views split the rows the same way."""
    for node in list(graph.nodes):
        place = _PRODUCTS.get(str(node.target))
        if place is None or not _is_view(node.args[place]) or not all(map(_is_view, node.users)):
            continue
        split = {_shape(user) for user in node.users}
        if len(split) == 1 and _can_split(node, place, *split):
            _split_rows(graph, node, place, *split)


def _can_split(node: Any, place: int, shape: tuple[int, ...]) -> bool:
    """Returns whether the product can have that shape: rows split, and nothing added to single rows."""
    rows, *behind = _shape(node)
    added = _shape(node.args[0]) if place else ()
    return len(shape) > 2 and [shape[-1]] == behind and (len(added) < 2 or added[0] != rows)


def _split_rows(graph: Any, node: Any, place: int, shape: tuple[int, ...]) -> None:
    merged, users = node.args[place], list(node.users)
    before = (*shape[:-1], _shape(merged)[-1])
    with graph.inserting_before(node):
        rows = graph.call_function(merged.target, (merged.args[0], list(before)))
    rows.meta = {**merged.meta, "val": merged.meta["val"].reshape(before)}
    node.args = (*node.args[:place], rows, *node.args[place + 1 :])
    node.meta["val"] = users[0].meta["val"]
    for user in users:
        user.replace_all_uses_with(node)


def _is_view(node: Any) -> bool:
    return str(getattr(node, "target", "")) in _VIEWS


def _shape(node: Any) -> tuple[int, ...]:
    return tuple(node.meta["val"].shape)
