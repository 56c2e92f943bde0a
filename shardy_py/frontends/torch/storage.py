"""Operands of ops that depend on strides, put in an order in which programs compute the same without.

`as_strided` counts the elements of a storage, which the ops of a program do not have. The result of a
permutation in the order of strides is contiguous, and has the storage's elements in order: rows
(`aten/strided.py`) need no more.

torch factors the transpose of a real matrix for its determinant if it is contiguous, else the matrix, and
solves with these factors for the gradient. The row always factors the transpose (`aten/linear_algebra.py`).
"""

from __future__ import annotations

from shardy_py.frontends.torch.nodes import blamed
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import FxGraph, FxNode

_BY_STRIDES = {"aten.as_strided.default", "aten.as_strided_copy.default", "aten.as_strided_scatter.default"}

_DETERMINANTS = {"aten._linalg_det.default", "aten._linalg_slogdet.default"}


def order_determinants(graph: FxGraph) -> None:
    """Transposes real matrices that are not contiguous before their determinant, in place."""
    transpose = torch_module("torch").ops.aten.transpose.int
    for node in list(graph.nodes):
        if str(node.target) not in _DETERMINANTS:
            continue
        (matrix,) = node.args
        value = matrix.meta["val"]
        if value.is_complex() or value.is_contiguous():
            continue
        with graph.inserting_before(node):
            turned = graph.call_function(transpose, (matrix, -2, -1))
        turned.meta = {**node.meta, "val": value.mT}
        node.args = (turned,)


def order_storage(graph: FxGraph) -> None:
    """Permutes the operands of views by strides in place. Raises `ShardyError` for parts of a storage."""
    for node in list(graph.nodes):
        if str(node.target) in _BY_STRIDES:
            _order(graph, node, scatters="scatter" in str(node.target))


def _order(graph: FxGraph, node: FxNode, *, scatters: bool) -> None:
    operand = node.args[0]
    value = operand.meta["val"]
    order = sorted(range(value.dim()), key=lambda d: (-value.stride(d), value.shape[d] == 1))
    turned = value.permute(order)
    if not turned.is_contiguous() or value.storage_offset():
        raise blamed(
            node,
            "its operand is part of a storage, as a slice or an expanded tensor is; "
            "make it contiguous before: x.contiguous()",
        )
    if order == list(range(value.dim())):
        return
    permute = torch_module("torch").ops.aten.permute.default
    with graph.inserting_before(node):
        stored = graph.call_function(permute, (operand, order))
    stored.meta = {**operand.meta, "val": turned}
    node.args = (stored, *node.args[1:])
    if scatters:
        with graph.inserting_after(node):
            back = graph.call_function(permute, (node, [order.index(d) for d in range(len(order))]))
        back.meta = dict(node.meta)
        for user in list(node.users):
            if user is not back:
                user.replace_input_with(node, back)
        node.meta = {**node.meta, "val": node.meta["val"].permute(order)}
