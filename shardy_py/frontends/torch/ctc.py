"""CTC loss on fixed sizes: torch's own makes tensors whose sizes depend on the lengths of the targets.

    nll = ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0)

Sums over alignments are ops of this package, `shardy_py::ctc_nll` and `ctc_posterior`; the rest is of torch.
The gradient is that of torch: of normalized probabilities.

Not here: the rows of the ops (`aten/alignments.py`), where it takes the place of torch's (`substitutes.py`).
"""

from __future__ import annotations

from functools import cache

from shardy_py.frontends.torch.placements import is_tensor, torch_module
from shardy_py.frontends.torch.protocols import GradientContext, TorchTensor
from shardy_py.frontends.torch.traced import Traced

_LIBRARY = "shardy_py"
_MEAN = 1
"""The number of torch's reduction that is a mean over labels, then samples; 0 is none, 2 a sum."""


def ctc_loss(
    log_probs: Traced,
    targets: Traced,
    input_lengths: Traced,
    target_lengths: Traced,
    blank: int = 0,
    reduction: int = _MEAN,
    zero_infinity: bool = False,
) -> object:
    """As `torch.ctc_loss`: log_probs [T, N, C] or [T, C]; targets [N, S], or all of them in one dimension."""
    torch = torch_module("torch")
    is_single = log_probs.ndim == 2
    log_probs = log_probs.unsqueeze(1) if is_single else log_probs
    steps, labels = (_lengths(given, log_probs.device) for given in (input_lengths, target_lengths))
    targets = _in_rows(targets, labels, log_probs.shape[1]).long()
    blanks = torch.full_like(targets, blank)
    places = (
        torch.cat([torch.stack([blanks, targets], -1).flatten(1), blanks[:, :1]], 1)
        if targets.shape[1]
        else (torch.full((log_probs.shape[1], 1), blank, device=log_probs.device))
    )
    nll = _nll_op()(log_probs, places, steps, labels, blank)
    if zero_infinity:
        nll = torch.where(torch.isinf(nll), 0.0, nll)
    if reduction == _MEAN:
        return (nll / labels.clamp(min=1).to(nll.dtype)).mean()
    return nll.sum() if reduction else nll.squeeze(0) if is_single else nll


def _lengths(given: Traced, device: object) -> Traced:
    torch = torch_module("torch")
    found: Traced = given if is_tensor(given) else torch.tensor(list(given), device=device)
    return found.reshape(-1).long()


def _in_rows(targets: Traced, labels: Traced, rows: int) -> Traced:
    """The targets of each sample in a row; those behind its length may be any."""
    if targets.ndim == 2:
        return targets
    torch = torch_module("torch")
    starts = labels.cumsum(0) - labels
    places = starts[:, None] + torch.arange(targets.shape[0], device=targets.device)
    return (
        targets[places.clamp(max=max(targets.shape[0] - 1, 0))]
        if targets.shape[0]
        else targets.expand(rows, 0)
    )


def _scores(log_probs: Traced, places: Traced) -> Traced:
    return log_probs.gather(2, places.expand(log_probs.shape[0], *places.shape))


def _skips(places: Traced, blank: int) -> Traced:
    """True where the blank before a place may be left out: the label differs from the one before it."""
    torch = torch_module("torch")
    before = torch.nn.functional.pad(places, (2, 0), value=blank)[:, : places.shape[1]]
    return (places != blank) & (places != before)


@cache
def _nll_op() -> Traced:
    """`ctc_loss(log_probs, places, steps, labels, blank)`: of each sample; with its gradient."""
    torch, sums = torch_module("torch"), _sums()

    class Alignments(torch.autograd.Function):
        """The loss of each sample, whose gradient is torch's."""

        @staticmethod
        def forward(ctx: GradientContext, log_probs: Traced, places: Traced, *given: Traced) -> object:
            *lengths, blank = given
            nll = sums[0](_scores(log_probs, places), _skips(places, blank), *lengths)
            ctx.save_for_backward(log_probs, places, *lengths, nll)
            ctx.dims = (blank,)
            return nll

        @staticmethod
        def backward(ctx: GradientContext, grad: Traced) -> tuple[object, ...]:
            saved: Traced = ctx.saved_tensors
            log_probs, places, *lengths, nll = saved
            (blank,) = ctx.dims
            scores = _scores(log_probs, places)
            at_places = sums[1](scores, _skips(places, blank), *lengths, nll)
            index = places.expand(log_probs.shape[0], *places.shape)
            of_classes = torch.zeros_like(log_probs).scatter_add(2, index, at_places)
            time = torch.arange(log_probs.shape[0], device=log_probs.device)[:, None, None]
            scale = grad[:, None]
            is_counted = (time < lengths[0][:, None]) & (scale != 0)
            found = torch.where(is_counted, (log_probs.exp() - of_classes) * scale, 0.0)
            return found, None, None, None, None

    return Alignments.apply


@cache
def _sums() -> tuple[Traced, Traced]:
    """The ops of sums over alignments, which are traced, never run."""
    torch = torch_module("torch")

    def nll(scores: Traced, skips: TorchTensor, steps: TorchTensor, labels: TorchTensor) -> Traced:
        return scores.new_empty(scores.shape[1:2])

    def posterior(
        scores: Traced, skips: TorchTensor, steps: TorchTensor, labels: TorchTensor, nll: TorchTensor
    ) -> Traced:
        return scores.new_empty(scores.shape)

    taken = "Tensor scores, Tensor skips, Tensor steps, Tensor labels"
    for name, schema, shape in (
        ("ctc_nll", f"({taken}) -> Tensor", nll),
        ("ctc_posterior", f"({taken}, Tensor nll) -> Tensor", posterior),
    ):
        op = torch.library.custom_op(f"{_LIBRARY}::{name}", shape, mutates_args=(), schema=schema)
        op.register_fake(shape)
    library = torch.ops.shardy_py
    return library.ctc_nll.default, library.ctc_posterior.default
