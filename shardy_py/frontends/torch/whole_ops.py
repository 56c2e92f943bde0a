"""Products that keep their dimensions apart in training steps, forward and backward.

When torch records gradients it decomposes `linear`, `matmul`, `einsum` and attention into products of
matrices whose rows are merged dimensions (batch and sequence, batch and heads), and their gradients contract
merged dimensions; shardings rarely propagate through either. Within `kept_whole()`, these ops are sums of
`shardy_py::dot_general`, StableHLO's product, whose gradients are such products, too.

    with kept_whole():
        loss = model(x).sum()

Not here: the graph (`trace.py`), the row of the op (`aten/products.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache
from math import prod, sqrt
from typing import Any

from shardy_py.frontends.aten.einsum import parse
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import GradientContext, TorchTensor

Dims = Sequence[int]
Op = Any
"""An overload of an op of torch."""

NAME = "shardy_py::dot_general"


@cache
def dot_general_op() -> Op:
    """`shardy_py::dot_general(lhs, rhs, lhs_contracting, rhs_contracting, lhs_batch, rhs_batch)` of torch.

    The result has the batch dimensions, then the others of `lhs`, then those of `rhs`.
    """
    torch = torch_module("torch")
    schema = (
        "(Tensor lhs, Tensor rhs, int[] lhs_contracting, int[] rhs_contracting, "
        "int[] lhs_batch, int[] rhs_batch) -> Tensor"
    )

    def shape(lhs: TorchTensor, rhs: TorchTensor, *dims: Dims) -> TorchTensor:
        first, second, result = _labels(lhs.ndim, rhs.ndim, *dims)
        ours, theirs = dict(zip(first, lhs.shape, strict=True)), dict(zip(second, rhs.shape, strict=True))
        if any(size != theirs.get(label, size) for label, size in ours.items()):
            raise RuntimeError(f"shapes {tuple(lhs.shape)} and {tuple(rhs.shape)} cannot be multiplied")
        sizes = ours | theirs
        return lhs.new_empty([sizes[label] for label in result])

    def product(lhs: TorchTensor, rhs: TorchTensor, *dims: Dims) -> TorchTensor:
        # As a product of matrices: einsum itself may be a sum of this op.
        inside, within, *batch = dims
        ours, theirs = (
            [d for d in range(t.ndim) if d not in (*used, *lead)]
            for t, used, lead in ((lhs, inside, batch[0]), (rhs, within, batch[1]))
        )
        count, summed = (prod(lhs.shape[d] for d in chosen) for chosen in (batch[0], inside))
        rows = lhs.permute([*batch[0], *ours, *inside]).reshape(count, -1, summed)
        columns = rhs.permute([*batch[1], *within, *theirs]).reshape(count, summed, -1)
        return torch.bmm(rows, columns).reshape(shape(lhs, rhs, *dims).shape)

    op = torch.library.custom_op(NAME, product, mutates_args=(), schema=schema)

    def keep(ctx: GradientContext, inputs: Sequence[object], output: object) -> None:
        lhs, rhs, *ctx.dims = inputs
        ctx.save_for_backward(lhs, rhs)

    def gradients(ctx: GradientContext, grad: TorchTensor) -> tuple[TorchTensor | None, ...]:
        (lhs, rhs), dims = ctx.saved_tensors, ctx.dims
        first, second, result = _labels(lhs.ndim, rhs.ndim, *dims)
        needed = ctx.needs_input_grad
        # torch's gradients of complex tensors are products with conjugates.
        ours, theirs = (t.conj_physical() if t.is_complex() else t for t in (lhs, rhs))
        return (
            contraction(grad, result, theirs, second, first) if needed[0] else None,
            contraction(ours, first, grad, result, second) if needed[1] else None,
            *(None,) * 4,
        )

    op.register_fake(shape)
    op.register_autograd(gradients, setup_context=keep)
    return torch.ops.shardy_py.dot_general.default


def _labels(
    lhs_rank: int,
    rhs_rank: int,
    lhs_contracting: Dims,
    rhs_contracting: Dims,
    lhs_batch: Dims,
    rhs_batch: Dims,
) -> tuple[str, str, str]:
    """A letter for each dimension of the operands and of the result."""
    letters = [chr(ord("a") + i) if i < 26 else chr(ord("A") + i - 26) for i in range(lhs_rank + rhs_rank)]
    first, second = letters[:lhs_rank], letters[lhs_rank:]
    for ours, theirs in (
        *zip(lhs_contracting, rhs_contracting, strict=True),
        *zip(lhs_batch, rhs_batch, strict=True),
    ):
        second[theirs] = first[ours]
    free = [label for label in (*first, *second) if (label in first) != (label in second)]
    return "".join(first), "".join(second), "".join([first[d] for d in lhs_batch] + free)


def contraction(
    lhs: TorchTensor, first: Sequence[str], rhs: TorchTensor, second: Sequence[str], wanted: Sequence[str]
) -> TorchTensor:
    """The sum of products over labels of both operands that the result lacks; it has the labels `wanted`.

    first, second: the labels of the dimensions of `lhs` and `rhs`, distinct within each; a label of only one
        operand is in `wanted`.
    """
    common = [label for label in first if label in second]
    batch = [label for label in common if label in wanted]
    summed = [label for label in common if label not in wanted]
    lhs_dims, rhs_dims = (
        [[labels.index(label) for label in chosen] for chosen in (summed, batch)]
        for labels in (first, second)
    )
    result = dot_general_op()(lhs, rhs, lhs_dims[0], rhs_dims[0], lhs_dims[1], rhs_dims[1])
    found = [*batch, *(label for label in (*first, *second) if label not in common)]
    order = [found.index(label) for label in wanted]
    return result if order == sorted(order) else result.permute(order)


# ---------------------------------------------------------------------- the ops


def _linear(input: TorchTensor, weight: TorchTensor, bias: TorchTensor | None = None) -> TorchTensor:
    lead = [f"d{d}" for d in range(input.ndim - 1)]
    out = ["o"] if weight.ndim > 1 else []
    result = contraction(input, [*lead, "i"], weight, [*out, "i"], [*lead, *out])
    return result if bias is None else result + bias


def _matmul(self: TorchTensor, other: TorchTensor) -> TorchTensor:
    """As `torch.matmul`: vectors and matrices, with all dimensions but the last two broadcast."""
    rows = ["r"] if self.ndim > 1 else []
    columns = ["c"] if other.ndim > 1 else []
    ours = [f"b{d}" for d in reversed(range(max(self.ndim - 2, 0)))]
    theirs = [f"b{d}" for d in reversed(range(max(other.ndim - 2, 0)))]
    lead = ours if len(ours) > len(theirs) else theirs
    return _broadcast_contraction(
        self, [*ours, *rows, "k"], other, [*theirs, "k", *columns], [*lead, *rows, *columns]
    )


def _broadcast_contraction(
    lhs: TorchTensor, first: Sequence[str], rhs: TorchTensor, second: Sequence[str], wanted: Sequence[str]
) -> TorchTensor:
    """`contraction` of operands whose dimensions of size 1 are repeated for those of the other."""
    sizes = dict(zip(first, lhs.shape, strict=True)), dict(zip(second, rhs.shape, strict=True))
    terms: list[tuple[TorchTensor, list[str]]] = []
    for tensor, labels, other in ((lhs, first, sizes[1]), (rhs, second, sizes[0])):
        ones = [
            label
            for label, size in zip(labels, tensor.shape, strict=True)
            if size == 1 != other.get(label, 1)
        ]
        kept = [label for label in labels if label not in ones]
        terms.append((tensor.squeeze([labels.index(o) for o in ones]) if ones else tensor, kept))
    return contraction(*terms[0], *terms[1], wanted)


def _einsum(equation: str, operands: Sequence[TorchTensor], *, path: object = None) -> TorchTensor:
    """Left to right; NotImplemented for operands with a repeated label or an ellipsis that is broadcast."""
    labels, wanted = parse(equation, [operand.ndim for operand in operands])
    if any(len({*own}) < len(own) for own in labels) or not {*wanted} <= {
        label for own in labels for label in own
    }:
        return NotImplemented
    result, own = operands[0], labels[0]
    for number, (other, theirs) in enumerate(zip(operands[1:], labels[1:], strict=True), 1):
        needed = {*wanted, *(label for later in labels[number + 1 :] for label in later)}
        result, own = _summed(result, own, needed | {*theirs})
        other, theirs = _summed(other, theirs, needed | {*own})
        union = [*own, *(label for label in theirs if label not in own)]
        kept = [label for label in union if label in needed]
        result, own = _broadcast_contraction(result, own, other, theirs, kept), kept
    result, own = _summed(result, own, {*wanted})
    order = [own.index(label) for label in wanted]
    return result if order == sorted(order) else result.permute(order)


def _summed(
    tensor: TorchTensor, labels: Sequence[str], needed: set[str]
) -> tuple[TorchTensor, Sequence[str]]:
    over = [d for d, label in enumerate(labels) if label not in needed]
    return (tensor.sum(over) if over else tensor), [label for label in labels if label in needed]


def attention(
    query: TorchTensor,
    key: TorchTensor,
    value: TorchTensor,
    attn_mask: TorchTensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> TorchTensor:
    """softmax(query key^T scale + mask) value, as torch.nn.functional.scaled_dot_product_attention."""
    torch = torch_module("torch")
    if enable_gqa:
        key, value = (_for_all_heads(kept, query.shape[-3]) for kept in (key, value))
    factor = 1 / sqrt(query.shape[-1]) if scale is None else scale
    scores = _matmul(query, key.transpose(-1, -2)) * factor
    if scores.dtype in (torch.float16, torch.bfloat16):
        scores = scores.float()
    if is_causal:
        kept = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = torch.where(kept, scores, -torch.inf)
    if attn_mask is not None:
        is_bias = attn_mask.dtype != torch.bool
        scores = scores + attn_mask if is_bias else torch.where(attn_mask, scores, -torch.inf)
    softmax = torch.softmax if attn_mask is None else torch._safe_softmax
    weights = softmax(scores, -1).to(value.dtype)
    if dropout_p:
        weights = torch.dropout(weights, dropout_p, True)
    return _matmul(weights, value)


def _for_all_heads(tensor: TorchTensor, heads: int) -> TorchTensor:
    """Heads of keys or values repeated, for groups of heads of queries."""
    *batch, own, length, size = tensor.shape
    wide = tensor.unsqueeze(-3).expand(*batch, own, heads // own, length, size)
    return wide.reshape(*batch, heads, length, size)


def _adaptive_average_pool(self: object, output_size: Sequence[int]) -> object:
    """The op itself, where torch takes the mean and strides of another layout."""
    return torch_module("torch").ops.aten._adaptive_avg_pool2d(self, output_size)


def _instance_norm(
    input: TorchTensor,
    weight: TorchTensor | None,
    bias: TorchTensor | None,
    running_mean: object,
    running_var: object,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> object:
    """Without torch's batch norm of merged samples and channels; NotImplemented with running statistics."""
    if not use_input_stats or running_mean is not None:
        return NotImplemented
    torch = torch_module("torch")
    wide = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
    variance, mean = torch.var_mean(wide, list(range(2, input.ndim)), correction=0, keepdim=True)
    result = (wide - mean) * torch.rsqrt(variance + eps)
    shape = (-1, *(1,) * (input.ndim - 2))
    result = result if weight is None else result * weight.reshape(shape)
    result = result if bias is None else result + bias.reshape(shape)
    return result.to(input.dtype)


_KERNELS: dict[str, Callable[..., object]] = {
    "adaptive_avg_pool2d.default": _adaptive_average_pool,
    "einsum.default": _einsum,
    "instance_norm.default": _instance_norm,
    "linear.default": _linear,
    "matmul.default": _matmul,
    "scaled_dot_product_attention.default": attention,
}
"""By the op that torch would decompose when it records gradients."""

_WRONG = ("multilabel_margin_loss_forward.default",)
"""Ops that torch would decompose before autograd records them, into another result."""


@contextmanager
def kept_whole() -> Generator[None]:
    """Within it, the ops of `_KERNELS` that torch's dispatcher runs are sums of `dot_general`.

    They are decomposed before autograd records them, which a `TorchDispatchMode`, behind it, would not see.
    So are the others that torch makes of several: on the device `meta`, its dispatcher would run them whole,
    without a gradient.
    """
    keys = torch_module("torch._C").DispatchKey
    composite = keys.CompositeImplicitAutograd
    dot_general_op()
    kernels = [(_op(name), kernel) for name, kernel in _KERNELS.items()]
    ours = [(op, composite, _or_torch(op, composite, kernel)) for op, kernel in kernels]
    without = [(op, keys.Meta, None) for op in _computed_on_meta()]
    with (
        torch_module("torch._dispatch.python").enable_python_dispatcher(),
        right_decompositions(),
        _replaced([*ours, *without]),
    ):
        yield


@contextmanager
def right_decompositions() -> Generator[None]:
    """Within it, torch's dispatcher in Python leaves the ops of `_WRONG` whole."""
    key = torch_module("torch._C").DispatchKey.Autograd
    with _replaced([(_op(name), key, None) for name in _WRONG]):
        yield


def _op(name: str) -> Op:
    packet, overload = name.split(".")
    return getattr(getattr(torch_module("torch").ops.aten, packet), overload)


@contextmanager
def _replaced(kernels: Sequence[tuple[Op, object, Callable[..., object] | None]]) -> Generator[None]:
    """Within it, ops have these kernels in Python for a key of the dispatcher; None: none."""
    before: list[tuple[Op, object, object]] = []
    try:
        for op, key, kernel in kernels:
            before.append((op, key, op.py_kernels.pop(key, None)))
            if kernel is not None:
                op.py_impl(key)(kernel)
            op._dispatch_cache.clear()
        yield
    finally:
        for op, key, kernel in before:
            op.py_kernels.pop(key, None)
            if kernel is not None:
                op.py_kernels[key] = kernel
            op._dispatch_cache.clear()


@cache
def _computed_on_meta() -> tuple[Op, ...]:
    """The ops that have a decomposition before autograd, and a kernel in Python for the device `meta`."""
    torch = torch_module("torch")
    has_kernel, meta = torch._C._dispatch_has_kernel_for_dispatch_key, torch._C.DispatchKey.Meta
    tables = torch_module("torch._decomp").global_decomposition_table.values()
    known = dict.fromkeys(op for table in tables for op in table if isinstance(op, torch._ops.OpOverload))
    return tuple(
        op for op in known if meta in op.py_kernels and has_kernel(op.name(), "CompositeImplicitAutograd")
    )


def _or_torch(op: Op, composite: object, kernel: Callable[..., object]) -> Callable[..., object]:
    """The kernel, or torch's decomposition where it does not apply, as in transforms of `torch.func`."""
    transforms = torch_module("torch._C._functorch")

    def run(*arguments: object, **keywords: object) -> object:
        is_transformed = transforms.peek_interpreter_stack() is not None
        found = NotImplemented if is_transformed else kernel(*arguments, **keywords)
        return op._op_dk(composite, *arguments, **keywords) if found is NotImplemented else found

    return run
