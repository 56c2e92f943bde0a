"""Models whose suggested plans are executed, with a loss that is a mean over the batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from tests.frontends.planned_models import Decoder, Gated, Layer, Tower
from tests.frontends.planned_others import Patches, Positions
from tests.frontends.torch_models import MLP, Transformer


def square(y: Any, target: Any) -> Any:
    return F.mse_loss(y, target)


def entropy(y: Any, target: Any) -> Any:
    return F.cross_entropy(y.flatten(0, -2), target.flatten())


@dataclass(frozen=True)
class Trained:
    """A model with its inputs, targets and loss.

    batch: their dimension. has_statistics: of the batch, as of batch norm, which are of the part of a device.
    tries: of the search.
    """

    model: Callable[[], Any]
    inputs: Callable[[], tuple[Any, ...]]
    targets: Callable[[], tuple[Any, ...]]
    loss: Callable[..., Any] = square
    batch: int = 0
    is_training: bool = True
    has_statistics: bool = False
    tries: int = 24


def seeded(*shape: int, seed: int = 1, words: int = 0) -> Callable[[], tuple[Any, ...]]:
    """Normal numbers, or integers below `words`."""

    def made() -> tuple[Any, ...]:
        generator = torch.Generator().manual_seed(seed)
        if words:
            return (torch.randint(0, words, shape, generator=generator),)
        return (torch.randn(*shape, generator=generator),)

    return made


class Rotary(nn.Module):
    """Attention as in Llama: positions rotate queries and keys, groups of heads share keys."""

    def __init__(self, size: int, heads: int, kv: int) -> None:
        super().__init__()
        self.heads, self.kv, self.width = heads, kv, size // heads
        self.q_proj = nn.Linear(size, heads * self.width, bias=False)
        self.k_proj = nn.Linear(size, kv * self.width, bias=False)
        self.v_proj = nn.Linear(size, kv * self.width, bias=False)
        self.o_proj = nn.Linear(size, size, bias=False)

    def forward(self, x: Any, angles: Any) -> Any:
        b, n, _ = x.shape
        q = self.q_proj(x).view(b, n, self.heads, self.width).transpose(1, 2)
        k = self.k_proj(x).view(b, n, self.kv, self.width).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.kv, self.width).transpose(1, 2)
        q, k = (t * angles.cos() + turned(t) * angles.sin() for t in (q, k))
        k, v = (t.repeat_interleave(self.heads // self.kv, 1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(b, n, -1))


def turned(x: Any) -> Any:
    half = x.shape[-1] // 2
    return torch.cat([-x[..., half:], x[..., :half]], -1)


class Llama(nn.Module):
    def __init__(self, size: int = 32, words: int = 64) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(words, size)
        self.attention, self.mlp = Rotary(size, 8, 4), Gated(size)
        self.norm1, self.norm2, self.norm = nn.RMSNorm(size), nn.RMSNorm(size), nn.RMSNorm(size)
        self.lm_head = nn.Linear(size, words, bias=False)

    def forward(self, tokens: Any) -> Any:
        x = self.embed_tokens(tokens)
        steps = torch.arange(tokens.shape[1], device=tokens.device)[:, None] / torch.arange(1, 5)
        x = x + self.attention(self.norm1(x), steps.repeat(1, 1))
        return self.lm_head(self.norm(x + self.mlp(self.norm2(x))))


class Experts(nn.Module):
    """Experts of which each token takes the two with the largest weights."""

    def __init__(self, size: int = 32, count: int = 4) -> None:
        super().__init__()
        self.embed, self.router = nn.Embedding(64, size), nn.Linear(size, count, bias=False)
        self.experts = nn.ModuleList(Gated(size) for _ in range(count))
        self.head = nn.Linear(size, 64)

    def forward(self, tokens: Any) -> Any:
        x = self.embed(tokens)
        scores = self.router(x).softmax(-1)
        chosen = scores * (scores >= scores.topk(2, -1).values[..., -1:])
        return self.head(x + sum(chosen[..., i, None] * e(x) for i, e in enumerate(self.experts)))


class Stacked(nn.Module):
    """Experts as one tensor."""

    def __init__(self, size: int = 32, count: int = 4) -> None:
        super().__init__()
        self.router = nn.Linear(size, count, bias=False)
        self.up = nn.Parameter(torch.randn(count, size, 2 * size) / 8)
        self.down = nn.Parameter(torch.randn(count, 2 * size, size) / 8)

    def forward(self, x: Any) -> Any:
        h = F.silu(torch.einsum("bnd,edf->bnef", x, self.up))
        y = torch.einsum("bnef,efd->bned", h, self.down)
        return (self.router(x).softmax(-1)[..., None] * y).sum(2)


class ConvNet(nn.Module):
    """is_normed: with batch norm, which computes statistics of a device's part of the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(
            nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.BatchNorm2d(32)
        )
        self.head = nn.Linear(32, 16)

    def forward(self, image: Any) -> Any:
        return self.head(self.blocks(image).relu().mean((2, 3)))


class Translator(nn.Module):
    def __init__(self, size: int = 32) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(64, size), nn.Embedding(64, size)
        self.body = nn.Transformer(size, 4, 1, 1, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(size, 64)

    def forward(self, source: Any, target: Any) -> Any:
        return self.head(self.body(self.source(source), self.target(target)))


class Recurrent(nn.Module):
    """Time comes before the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.cell, self.head = nn.Linear(16, 32), nn.GRUCell(32, 32), nn.Linear(32, 16)

    def forward(self, x: Any) -> Any:
        h, found = torch.zeros(x.shape[1], 32), []
        for each in x:
            h = self.cell(self.embed(each), h)
            found.append(self.head(h))
        return torch.stack(found)


class Affine(nn.Module):
    """As `nn.Linear`, of which styles know nothing."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) / inputs**0.5)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: Any) -> Any:
        return F.linear(x, self.weight, self.bias)


class Swapped(Affine):
    """As transformers' `Conv1D`: inputs are the first dimension of the weight."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(outputs, inputs)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: Any) -> Any:
        return x @ self.weight + self.bias


class Pair(nn.Module):
    """Two layers, of a class of their own if one is given."""

    def __init__(self, size: int, kind: Callable[[int, int], Any] = nn.Linear) -> None:
        super().__init__()
        self.up, self.down = kind(size, 2 * size), nn.Linear(2 * size, size)

    def forward(self, x: Any) -> Any:
        return x + self.down(F.relu(self.up(x)))


class Pairs(nn.Module):
    """Blocks, which are called, or only what they have (`is_called`)."""

    def __init__(self, kind: Callable[[int, int], Any] = nn.Linear, *, is_called: bool = True) -> None:
        super().__init__()
        self.is_called = is_called
        self.layers = nn.ModuleList(Pair(32, kind) for _ in range(2))

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x) if self.is_called else x + layer.down(F.relu(layer.up(x)))
        return x


TEXT = seeded(8, 8, words=64), seeded(8, 8, seed=2, words=64)
FLOATS = seeded(8, 32), seeded(8, 32, seed=2)

SUGGESTED = {
    "MLP": Trained(MLP, seeded(8, 16), seeded(8, 16, seed=2), tries=7),
    "sequential": Trained(
        lambda: nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)),
        seeded(8, 16),
        seeded(8, 16, seed=2),
    ),
    "tower": Trained(Tower, seeded(8, 8, words=64), seeded(8, 8, 32, seed=2)),
    "decoder": Trained(Decoder, *TEXT, entropy),
    "GPT": Trained(Transformer, seeded(8, 8, words=32), seeded(8, 8, seed=2, words=32), entropy),
    "tied": Trained(Positions, *TEXT, entropy),
    "llama": Trained(Llama, *TEXT, entropy),
    "layer": Trained(lambda: Layer(32), seeded(8, 8, 32), seeded(8, 8, 32, seed=2)),
    "experts": Trained(Experts, *TEXT, entropy),
    "stacked experts": Trained(Stacked, seeded(8, 8, 32), seeded(8, 8, 32, seed=2)),
    "convolutions": Trained(ConvNet, seeded(8, 8, 8, 8), seeded(8, 16, seed=2), is_training=False),
    "batch norm": Trained(ConvNet, seeded(8, 8, 8, 8), seeded(8, 16, seed=2), has_statistics=True),
    "ViT": Trained(Patches, seeded(8, 8, 8, 8), seeded(8, 16, seed=2)),
    "translator": Trained(
        Translator, lambda: (*seeded(8, 8, words=64)(), *seeded(8, 8, seed=3, words=64)()), TEXT[1], entropy
    ),
    "uncalled blocks": Trained(lambda: Pairs(is_called=False), *FLOATS, tries=10),
    "affine layers": Trained(lambda: Pairs(Affine), *FLOATS, tries=10),
    "swapped layers": Trained(lambda: Pairs(Swapped), *FLOATS, tries=10),
    "recurrent": Trained(Recurrent, seeded(3, 8, 16), seeded(3, 8, 16, seed=2), batch=1),
}
