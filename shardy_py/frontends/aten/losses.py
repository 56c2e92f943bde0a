"""ATen's multilabel margin loss: `ROWS` by name, as in `pointwise.py`.

The loss of a row is the sum of max(0, 1 - (x[j] - x[i])) over targets j and classes i that are none, over the
number of classes. torch's own decomposition counts entries behind the first -1, too.

Not here: the losses that torch decomposes; CTC (`alignments.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.frontends.aten.elements import Row, convert, sizes
from shardy_py.frontends.aten.reductions import cumulative
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops, reduce_sum

_MEAN = 1
"""The number of torch's reduction that is a mean; 0 is none, 2 a sum."""


def _are_targets(target: Tensor) -> tuple[Tensor, Tensor]:
    """True where entries [N, J] are class i [N, J, C], and where classes are among them [N, C]; as i1.

    Entries end at the first that is negative; there are as many as classes.
    """
    rows, count = sizes(target.type)
    ended = cumulative("add", convert(target < 0, "i64"), 1)
    shape = (rows, count, count)
    entry = ops.broadcast_in_dim(target, shape, (0, 1))
    same = ops.compare(entry, ops.iota(shape, 2, target.element_type), "EQ")
    is_valid = ops.broadcast_in_dim(ops.compare(ended, 0, "EQ"), shape, (0, 1))
    own = ops.and_(same, is_valid)
    return own, ops.compare(reduce_sum(convert(own, "i64"), (1,)), 0, "GT")


def _margins(x: Tensor, own: Tensor, among: Tensor) -> Tensor:
    """The margin that each entry lacks over each class, [N, J, C]; 0 for classes that are targets."""
    rows, count = sizes(x.type)
    shape = (rows, count, count)
    of_class = ops.broadcast_in_dim(x, shape, (0, 2))
    of_entry = reduce_sum(ops.select(own, of_class, 0), (2,))
    lacking = 1 - ops.broadcast_in_dim(of_entry, shape, (0, 1)) + of_class
    is_entry = ops.compare(reduce_sum(convert(own, "i64"), (2,)), 0, "GT")
    counts = ops.and_(
        ops.broadcast_in_dim(is_entry, shape, (0, 1)), ops.not_(ops.broadcast_in_dim(among, shape, (0, 2)))
    )
    return ops.select(ops.and_(counts, lacking > 0), lacking, 0)


def _of_rows(tensor: Tensor) -> Tensor:
    """A matrix: one row for a vector."""
    return tensor if tensor.rank == 2 else ops.reshape(tensor, (1, -1))


def _multilabel_margin(
    out: Sequence[RankedTensorType], self: Tensor, target: Tensor, reduction: int
) -> tuple[Tensor, Tensor]:
    x = _of_rows(self)
    own, among = _are_targets(_of_rows(target))
    rows, count = sizes(x.type)
    loss = reduce_sum(_margins(x, own, among), (1, 2)) / float(count)
    if reduction:
        loss = reduce_sum(loss, (0,)) / float(rows if reduction == _MEAN else 1)
    is_target = ops.reshape(convert(among, self.element_type), sizes(self.type))
    return ops.reshape(loss, sizes(out[0])), is_target


def _multilabel_margin_backward(
    out: RankedTensorType,
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    reduction: int,
    is_target: Tensor,
) -> Tensor:
    x = _of_rows(self)
    own, among = _are_targets(_of_rows(target))
    rows, count = sizes(x.type)
    active = convert(_margins(x, own, among) > 0, x.element_type)
    of_entries = ops.broadcast_in_dim(reduce_sum(active, (2,)), (rows, count, count), (0, 1))
    found = reduce_sum(active, (1,)) - reduce_sum(ops.select(own, of_entries, 0), (1,))
    grad = grad_output if grad_output.rank else ops.broadcast_to(grad_output, (rows,))
    scale = float(count * (rows if reduction == _MEAN else 1))
    found = found * ops.broadcast_in_dim(grad, (rows, count), (0,)) / scale
    return ops.reshape(found, sizes(out))


ROWS: dict[str, Row] = {
    "multilabel_margin_loss_backward": _multilabel_margin_backward,
    "multilabel_margin_loss_forward": _multilabel_margin,
}
"""The rows by the name of the op without overload."""
