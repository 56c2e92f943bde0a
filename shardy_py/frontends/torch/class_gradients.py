"""The gradient of a cross entropy, without the sum over classes that is known.

    before    g = nll_loss_backward(...);  g - exp(log_probs) * sum(g, classes)
    after     g = nll_loss_backward(...);  g - exp(log_probs) * s

The gradient of the negative log likelihood is zero but at the label, so its sum over classes is what it has
there: `s`, the same gradient of scores of one class. Scores that are sharded along their classes need no
all-reduce for it; torch's `loss_parallel` knows it, too. Not with weights of classes, of which `s` would
gather some.

Not here: other ops (`composites.py`, `decompositions.py`).
"""

from __future__ import annotations

from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import FxGraph, FxNode
from shardy_py.frontends.torch.traced import Traced

_OF_SCORES = "aten._log_softmax_backward_data.default"
_VIEWS = ("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default")
_OF_LABELS = ("aten.nll_loss_backward.default", "aten.nll_loss2d_backward.default")
_IGNORED = -100
"""The label that torch ignores, where others are 0."""


def rewrite_class_gradients(graph: FxGraph) -> None:
    """Rewrites the gradients of cross entropies in place."""
    for node in list(graph.nodes):
        if node.op == "call_function" and str(node.target) == _OF_SCORES and _is_of_labels(node):
            with graph.inserting_before(node):
                made = _gradient(node)
            node.replace_all_uses_with(made)
            graph.erase_node(node)


def _is_of_labels(node: FxNode) -> bool:
    """Returns whether a gradient of scores is that of labels as numbers, all of one type."""
    given, log_probs, dimension, _ = node.args
    labelled = _before_view(given)
    if str(labelled.target) not in _OF_LABELS or labelled.args[3] is not None:
        return False
    classes = {tuple(each.meta["val"].shape[: dimension + 1]) for each in (given, labelled)}
    types = {each.meta["val"].dtype for each in (node, given, log_probs)}
    is_number = labelled.args[2].meta["val"].dtype == torch_module("torch").int64
    return dimension >= 0 and len(classes) == 1 and len(types) == 1 and is_number


def _before_view(node: FxNode) -> FxNode:
    """The gradient of labels, of which torch views positions as a picture."""
    return node.args[0] if str(node.target) in _VIEWS else node


def _gradient(node: FxNode) -> FxNode:
    aten = torch_module("torch").ops.aten
    given, log_probs, dimension, _ = node.args
    labelled = _before_view(given)
    loss, scores, labels, _, reduction, ignored, total = labelled.args
    is_ignored = _call(node, aten.eq.Scalar, labels, ignored)
    label = _call(node, aten.where.Scalar, is_ignored, _IGNORED, 0)
    one_class = _call(node, aten.slice.Tensor, scores, dimension, 0, 1)
    of_label = _call(node, labelled.target, loss, one_class, label, None, reduction, _IGNORED, total)
    shape = [1 if d == dimension else size for d, size in enumerate(given.meta["val"].shape)]
    of_label = _call(node, aten.view.default, of_label, shape) if labelled is not given else of_label
    of_sum = _call(node, aten.mul.Tensor, _call(node, aten.exp.default, log_probs), of_label)
    return _call(node, aten.sub.Tensor, given, of_sum)


def _call(node: FxNode, op: Traced, *arguments: Traced) -> FxNode:
    """A call in the place of a node, with its line and module."""
    made = node.graph.call_function(op, arguments)
    values = [each.meta["val"] if hasattr(each, "meta") else each for each in arguments]
    with node.meta["val"].fake_mode:
        made.meta = {**node.meta, "val": op(*values)}
    return made
