"""Functions of torch by their formulas, where torch's own code checks elements or has results of any size.

    torch.cov(x)                      whether weights are positive
    x.index_fill(0, index, value)     how many indices are distinct, for the gradient of the value
    x.fill_diagonal_(0)               a view by strides, which a trace cannot change in place
    F.gaussian_nll_loss(x, y, var)    whether variances are
    torch.linalg.lstsq(a, b)          the rank of the matrix, and residuals for full rank only

Used by `substitutes.py`, in place of torch's functions, while a model is traced. The checks are left out, and
gradients are those of autograd.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.traced import Traced


def index_fill(input: Traced, dim: int, index: Traced, value: Traced) -> object:
    """The tensor with the value at some places of a dimension.

    NotImplemented for a value without a gradient, which torch sums over distinct indices, so of any number.
    """
    torch = torch_module("torch")
    if not getattr(value, "requires_grad", False):
        return NotImplemented
    flat = input.reshape(1) if input.ndim == 0 else input
    count = flat.shape[dim]
    places = torch.arange(count, device=input.device)
    shape = [1] * flat.ndim
    shape[dim] = count
    is_filled = (places[:, None] == index.reshape(-1) % count).any(1).reshape(shape)
    return torch.where(is_filled, value, flat).reshape(input.shape)


def fill_diagonal_(input: Traced, fill_value: Traced, wrap: bool = False) -> object:
    """Fills elements whose indices are equal, in place; with `wrap`, again below them in a tall matrix."""
    torch = torch_module("torch")
    rank = input.ndim
    is_tall = wrap and rank == 2 and input.shape[0] > input.shape[1]
    rows, *others = (
        torch.arange(size, device=input.device).reshape([-1] + [1] * (rank - 1 - dimension))
        for dimension, size in enumerate(input.shape)
    )
    rows = rows % (input.shape[1] + 1) if is_tall else rows
    is_filled: Traced = math.prod([rows == each for each in others])
    return input.masked_fill_(is_filled.bool(), fill_value)


def cov(input: Traced, *, correction: int = 1, fweights: Traced = None, aweights: Traced = None) -> object:
    """The covariance of rows, as of `torch.cov`, whose documentation has the formula."""
    torch = torch_module("torch")
    rows = input.reshape(1, -1) if input.ndim < 2 else input
    given = [weights for weights in (fweights, aweights) if weights is not None]
    weights = _product(given)
    total: Traced = weights.sum() if given else rows.shape[1]
    weighted = rows * weights if given else rows
    centered = rows - weighted.sum(1, keepdim=True) / total
    is_plain = aweights is None or not correction
    lost: Traced = correction if is_plain else correction * (weights * aweights).sum() / total
    norm: Traced = total - lost
    spread = centered * weights if given else centered
    norm = norm.clamp(min=0) if hasattr(norm, "clamp") else max(norm, 0)
    return torch.squeeze(torch.matmul(spread, centered.mT.conj()) / norm)


def _product(given: Sequence[Traced]) -> Traced:
    """The product of tensors; None without any."""
    return math.prod(given) if given else None


def corrcoef(input: Traced) -> object:
    """The correlation of rows: covariances divided by deviations, and no greater than 1."""
    torch = torch_module("torch")
    covariance: Traced = cov(input)
    if not covariance.ndim:
        return covariance / covariance
    deviations = covariance.diagonal().sqrt()
    found = covariance / deviations[:, None] / deviations[None, :]
    if found.is_complex():
        return torch.complex(found.real.clamp(-1, 1), found.imag.clamp(-1, 1))
    return found.clamp(-1, 1)


def combinations(input: Traced, r: int = 2, with_replacement: bool = False) -> object:
    """All choices of r elements of a vector, a row each: of a number of rows that its size tells."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = [*choose(range(input.shape[0]), r)]
    torch = torch_module("torch")
    return input[torch.tensor(places, dtype=torch.int64, device=input.device).reshape(len(places), r)]


def gaussian_nll_loss(
    input: Traced,
    target: Traced,
    var: Traced,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> object:
    """Half of log(var) + (input - target) squared / var; gradients of variances below `eps` are those at it.

    NotImplemented for a variance that is a number, which torch's own code checks without a tensor.
    """
    torch = torch_module("torch")
    if not isinstance(var, torch.Tensor):
        return NotImplemented
    var = var.unsqueeze(-1) if input.shape[:-1] == var.shape != input.shape else var
    kept = torch.where(var < eps, var - var.detach() + eps, var)
    loss = 0.5 * (torch.log(kept) + (input - target) ** 2 / kept)
    loss = loss + 0.5 * math.log(2 * math.pi) if full else loss
    return loss if reduction == "none" else getattr(loss, reduction)()


def linear_cross_entropy(*arguments: object, options: object = None, **keywords: object) -> object:
    """The loss of scores that a linear layer computes, of all samples at once where torch has chunks of them.

    NotImplemented without options, of which torch makes chunks.
    """
    if options is None:
        return NotImplemented
    return torch_module("torch").nn.functional.linear_cross_entropy(*arguments, **keywords)


def lstsq(
    A: Traced,
    B: Traced,
    rcond: float | None = None,
    *,
    driver: str | None = None,
    rank: Sequence[int] = (),
) -> object:
    """Least squares by QR, for matrices of full rank, as torch's driver `gels` requires.

    Returns torch's tuple (solution, residuals, rank, singular values), of which drivers leave some empty;
    without a driver those of `gelsy`, which is the one on a CPU.
    """
    torch = torch_module("torch")
    rows, columns = A.shape[-2:]
    is_vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    right = B.unsqueeze(-1) if is_vector else B
    if rows >= columns:
        q, r = torch.linalg.qr(A)
        solution = torch.linalg.solve_triangular(r, q.mH @ right, upper=True)
    else:
        q, r = torch.linalg.qr(A.mH)
        solution = q @ torch.linalg.solve_triangular(r.mH, right, upper=False)
    empty = torch.zeros((0,), dtype=A.real.dtype, device=A.device)
    has_residuals = rows > columns and driver not in (None, "gelsy")
    missed = (A @ solution - right).abs().square().sum(-2) if has_residuals else empty
    ranks = torch.full(
        (0,) if driver == "gels" else A.shape[:-2], min(rows, columns), dtype=torch.int64, device=A.device
    )
    singular = torch.linalg.svdvals(A) if driver in ("gelsd", "gelss") else empty
    found = solution.squeeze(-1) if is_vector else solution
    return torch.return_types.linalg_lstsq((found, missed, ranks, singular))
