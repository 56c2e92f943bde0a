"""Ops that are one other op with more arguments, rewritten in exported graphs without tracing.

    conv2d(x, w, None, [2, 2])  ->  convolution(x, w, None, [2, 2], [0, 0], [1, 1], False, [0, 0], 1)

Models of images have convolutions and norms of other sizes in every layer, so each is a call of its own that
torch would decompose (`decompositions.py`); torch's result is the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from shardy_py.frontends.aten import keeps_whole
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import FxGraph, FxNode


def rewrite_composites(graph: FxGraph) -> None:
    """Rewrites the composite ops of `_REWRITES` in place."""
    for node in list(graph.nodes):
        rewrite = _REWRITES.get(str(node.target)) if node.op == "call_function" else None
        if rewrite is None or keeps_whole(str(node.target)):
            continue
        with graph.inserting_before(node):
            made = rewrite(node)
        if made is not None:
            node.replace_all_uses_with(made)
            graph.erase_node(node)


def _arguments(node: FxNode) -> dict[str, Any]:
    """The arguments of a call by name, with defaults."""
    schema = node.target._schema.arguments
    defaults = {argument.name: argument.default_value for argument in schema}
    given = dict(zip((argument.name for argument in schema), node.args, strict=False))
    return {**defaults, **given, **node.kwargs}


def _call(node: FxNode, op: object, arguments: tuple[object, ...], value: object) -> FxNode:
    """A call in the place of a node, with its line and module."""
    made = node.graph.call_function(op, arguments)
    made.meta = {**node.meta, "val": value}
    return made


def _convolution(node: FxNode) -> FxNode | None:
    given, value = _arguments(node), node.meta["val"]
    count = given["weight"].meta["val"].ndim - 2
    if given["input"].meta["val"].ndim != count + 2 or value.is_complex():
        return None
    windows = [list(given[name]) for name in ("stride", "padding", "dilation")]
    windows = [each * count if len(each) == 1 else each for each in windows]
    arguments = (
        given["input"],
        given["weight"],
        given["bias"],
        *windows,
        False,
        [0] * count,
        given["groups"],
    )
    return _call(node, torch_module("torch").ops.aten.convolution.default, arguments, value)


def _batch_norm(node: FxNode) -> FxNode | None:
    """With running statistics; the other results of the op, those of a batch, are empty."""
    given, value = _arguments(node), node.meta["val"]
    if given["training"] or given["running_mean"] is None or value.numel() == 0:
        return None
    names = ("input", "weight", "bias", "running_mean", "running_var", "momentum", "eps")
    op = torch_module("torch").ops.aten._native_batch_norm_legit_no_training.default
    with value.fake_mode:
        values = (value, value.new_empty((0,)), value.new_empty((0,)))
    made = _call(node, op, tuple(given[name] for name in names), values)
    return _call(node, operator.getitem, (made, 0), value)


_REWRITES: dict[str, Callable[[FxNode], FxNode | None]] = {
    **{f"aten.conv{rank}d.default": _convolution for rank in (1, 2, 3)},
    "aten.batch_norm.default": _batch_norm,
}
