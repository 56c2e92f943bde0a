"""Functions of torch that others compute while a model is traced: those whose own ops have no fixed sizes.

    with substitutes():
        torch.bincount(x, minlength=8)      8 counts, of numbers below 8

Not here: ops that are kept whole (`whole_ops.py`), rows of ops (`../aten/`), the longer ones (`ctc.py`,
`formulas.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache

from shardy_py.base.errors import ShardyError
from shardy_py.frontends.torch.calls import user_line
from shardy_py.frontends.torch.ctc import ctc_loss
from shardy_py.frontends.torch.formulas import (
    combinations,
    corrcoef,
    cov,
    fill_diagonal_,
    gaussian_nll_loss,
    index_fill,
    linear_cross_entropy,
    lstsq,
)
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.traced import Traced


def bincount(input: Traced, weights: Traced = None, minlength: int = 0) -> object:
    """The number of times of each number below `minlength`, which is the size of the result.

    NotImplemented without it: the size depends on the largest number.
    """
    if not minlength:
        return NotImplemented
    torch = torch_module("torch")
    counted = torch.ones_like(input, dtype=torch.int64) if weights is None else weights
    if weights is not None and weights.dtype != torch.float32:
        counted = weights.double()
    kept = torch.where(input < minlength, counted, 0)
    counts = torch.zeros(minlength, dtype=counted.dtype, device=input.device)
    return counts.scatter_add(0, input.clamp(max=minlength - 1).long(), kept)


def where(condition: Traced, *given: object, **keywords: object) -> object:
    """As `torch.where`, with a condition of bytes too, which fake tensors refuse."""
    torch = torch_module("torch")
    if getattr(condition, "dtype", None) != torch.uint8:
        return NotImplemented
    return torch.where(condition.bool(), *given, **keywords)


def conv_tbc(input: Traced, weight: Traced, bias: Traced, pad: int = 0) -> object:
    """The convolution of [time, batch, features], as one of [batch, features, time]."""
    functional = torch_module("torch.nn.functional")
    found = functional.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return found.permute(2, 0, 1)


def data(tensor: Traced) -> object:
    """As `tensor.data`, a constant to a trace: the node of `detach`, with its own count of changes."""
    proxies = torch_module("torch.fx.experimental.proxy_tensor")
    mode = proxies.get_proxy_mode()
    if mode is None:
        return NotImplemented
    found = torch_module("torch").Tensor.data.__get__(tensor)
    proxies.set_proxy_slot(found, mode.tracer, proxies.get_proxy_slot(tensor.detach(), mode.tracer))
    return found


def set_data(tensor: Traced, new: Traced) -> object:
    """As `tensor.data = new`, which a trace does not see; of the same type, so that it is an update."""
    elements: Traced = data(tensor)
    is_update = (tensor.shape, tensor.dtype, tensor.device) == (new.shape, new.dtype, new.device)
    if elements is NotImplemented or not is_update:
        return NotImplemented
    elements.copy_(new)
    return None


def pack_padded_sequence(*_: object, **__: object) -> object:
    """Raises `ShardyError`: the sizes of packed sequences are elements of a tensor, which a trace lacks."""
    remedy = "run the padded batch, and mask what is behind the end of each sequence"
    raise ShardyError.unsupported(
        "a packed sequence (pack_padded_sequence)", remedy=remedy, where=user_line()
    )


def _named_ctc_loss(
    log_probs: object,
    targets: object,
    input_lengths: object,
    target_lengths: object,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> object:
    number = torch_module("torch.nn._reduction").get_enum(reduction)
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity)


_METHODS = (bincount, corrcoef, cov, index_fill)
"""The functions that are methods of tensors, too."""


@cache
def _functions() -> Mapping[object, Callable[..., object]]:
    torch = torch_module("torch")
    functional = torch.nn.functional
    # Not every release of torch has it.
    chunked = getattr(functional, "linear_cross_entropy", None)
    return {
        **{getattr(each, ours.__name__): ours for each in (torch, torch.Tensor) for ours in _METHODS},
        torch.Tensor.data.__get__: data,
        torch.Tensor.fill_diagonal_: fill_diagonal_,
        torch.Tensor.data.__set__: set_data,
        torch.combinations: combinations,
        torch.conv_tbc: conv_tbc,
        torch.ctc_loss: ctc_loss,
        torch.linalg.lstsq: lstsq,
        torch._pack_padded_sequence: pack_padded_sequence,
        torch.where: where,
        functional.ctc_loss: _named_ctc_loss,
        functional.gaussian_nll_loss: gaussian_nll_loss,
        **({} if chunked is None else {chunked: linear_cross_entropy}),
    }


@contextmanager
def substitutes() -> Generator[None]:
    """Within it, these functions are computed by those of this file, and distributions check no elements."""
    kind = torch_module("torch.distributions").Distribution
    before = kind._validate_args
    kind.set_default_validate_args(False)
    try:
        with _mode():
            yield
    finally:
        kind.set_default_validate_args(before)


def _mode() -> AbstractContextManager[object]:
    functions = _functions()

    class SubstitutingMode(torch_module("torch.overrides").TorchFunctionMode):
        def __torch_function__(
            self,
            func: Callable[..., object],
            types: object,
            args: Sequence[object] = (),
            kwargs: Mapping[str, object] | None = None,
        ) -> object:
            ours, keywords = functions.get(func), kwargs or {}
            found = NotImplemented if ours is None else ours(*args, **keywords)
            return func(*args, **keywords) if found is NotImplemented else found

    return SubstitutingMode()
