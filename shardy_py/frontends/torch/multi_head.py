"""`torch.nn.MultiheadAttention` in training steps, with length, batch and heads as dimensions of their own.

torch views [length, batch, heads * size] as [length, batch * heads, size] for its products of matrices, and
the result as [length * batch, size] for the output projection. A sharding of the batch, the minor part of
the latter, does not propagate through it, nor that of heads through the former. Within `heads_apart()` the
function is made of contractions over the dimensions themselves.

    with kept_whole(), heads_apart():
        loss = nn.TransformerEncoderLayer(...)(x).sum()

Not here: scaled_dot_product_attention (`whole_ops.py`); exported programs, whose views `export.py` removes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from math import sqrt
from typing import Any

from shardy_py.base.records import dataclass
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import TorchTensor
from shardy_py.frontends.torch.whole_ops import attention, contraction


@dataclass(frozen=True, eq=False)
class _Call:
    """The arguments of `multi_head_attention_forward`, by their names there.

    query, key, value: [length, batch, features]. attn_mask: [length, source], or [batch * heads, length,
        source]; key_padding_mask: [batch, source]; true or -inf where nothing is attended to.
    """

    query: TorchTensor
    key: TorchTensor
    value: TorchTensor
    embed_dim_to_check: int
    num_heads: int
    in_proj_weight: TorchTensor
    in_proj_bias: TorchTensor | None
    bias_k: object
    bias_v: object
    add_zero_attn: bool
    dropout_p: float
    out_proj_weight: TorchTensor
    out_proj_bias: TorchTensor | None
    training: bool = True
    key_padding_mask: TorchTensor | None = None
    need_weights: bool = True
    attn_mask: TorchTensor | None = None
    use_separate_proj_weight: bool = False
    q_proj_weight: object = None
    k_proj_weight: object = None
    v_proj_weight: object = None
    static_k: object = None
    static_v: object = None
    average_attn_weights: bool = True
    is_causal: bool = False

    @property
    def is_plain(self) -> bool:
        """Returns whether keys and values are those of the projections only."""
        extra = (self.bias_k, self.bias_v, self.static_k, self.static_v)
        return self.query.ndim == 3 and not self.add_zero_attn and all(each is None for each in extra)

    def result(self) -> tuple[TorchTensor, TorchTensor | None]:
        """The attention, [length, batch, features], and its weights, None if they are not needed."""
        functional = torch_module("torch.nn.functional")
        q, k, v = self._projected()
        dropout = self.dropout_p if self.training else 0.0
        mask, weights = self._mask(), None
        if self.need_weights:
            scores = contraction(q * sqrt(1 / q.shape[-1]), "lbhd", k, "sbhd", "bhls")
            weights = functional.softmax(scores if mask is None else scores + mask, -1)
            weights = functional.dropout(weights, dropout) if dropout else weights
            found = contraction(weights, "bhls", v, "sbhd", "lbhd")
            weights = weights.mean(1) if self.average_attn_weights else weights
        else:
            q, k, v = (each.permute(1, 2, 0, 3) for each in (q, k, v))
            found = attention(q, k, v, mask, dropout).permute(2, 0, 1, 3)
        return functional.linear(found.flatten(2), self.out_proj_weight, self.out_proj_bias), weights

    def _projected(self) -> list[TorchTensor]:
        """Queries, keys and values as [length, batch, heads, size]; if of one tensor, by one product."""
        linear = torch_module("torch.nn.functional").linear
        given = (self.query, self.key, self.value)
        if not self.use_separate_proj_weight and self.query is self.key is self.value:
            packed = linear(self.query, self.in_proj_weight, self.in_proj_bias)
            return list(packed.unflatten(-1, (3, self.num_heads, -1)).unbind(-3))
        separate = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        weights = separate if self.use_separate_proj_weight else self.in_proj_weight.chunk(3)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        return [
            linear(tensor, weight, bias).unflatten(-1, (self.num_heads, -1))
            for tensor, weight, bias in zip(given, weights, biases, strict=True)
        ]

    def _mask(self) -> TorchTensor | None:
        """The sum added to the scores, [batch, heads, length, source], of any sizes that broadcast."""
        batch = self.query.shape[1]
        masks: list[TorchTensor] = []
        if self.attn_mask is not None:
            is_own = self.attn_mask.ndim == 3
            masks.append(self.attn_mask.unflatten(0, (batch, self.num_heads)) if is_own else self.attn_mask)
        if self.key_padding_mask is not None:
            masks.append(self.key_padding_mask[:, None, None, :])
        added = [self._added(mask) for mask in masks]
        return sum(added[1:], added[0]) if added else None

    def _added(self, mask: TorchTensor) -> TorchTensor:
        torch = torch_module("torch")
        if mask.dtype != torch.bool:
            return mask
        return torch.zeros(mask.shape, dtype=self.query.dtype, device=mask.device).masked_fill(
            mask, -torch.inf
        )


_NAMES = tuple(field.name for field in fields(_Call))


@contextmanager
def heads_apart() -> Generator[None]:
    """Within it, `multi_head_attention_forward` keeps its dimensions apart if its call is plain."""
    functional = torch_module("torch.nn.functional")

    class AttentionMode(torch_module("torch.overrides").TorchFunctionMode):
        def __torch_function__(
            self,
            func: Callable[..., object],
            types: object,
            args: Sequence[object] = (),
            kwargs: Mapping[str, object] | None = None,
        ) -> object:
            keywords = dict(kwargs or {})
            if func is functional.multi_head_attention_forward:
                given: dict[str, Any] = {**dict(zip(_NAMES, args, strict=False)), **keywords}
                call = _Call(**given)
                if call.is_plain:
                    return call.result()
            return func(*args, **keywords)

    with AttentionMode():
        yield
