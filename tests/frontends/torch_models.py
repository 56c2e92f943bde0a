"""Models of torch as users write them, with inputs."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
nn = torch.nn
F = torch.nn.functional


class MLP(nn.Module):
    def __init__(self, size: int = 16) -> None:
        super().__init__()
        self.up = nn.Linear(size, 4 * size)
        self.down = nn.Linear(4 * size, size)

    def forward(self, x: Any) -> Any:
        return self.down(F.gelu(self.up(x)))


class Attention(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(size, size) for _ in range(4))
        self.heads = heads

    def forward(self, x: Any) -> Any:
        batch, length, size = x.shape
        q, k, v = (
            layer(x).view(batch, length, self.heads, size // self.heads).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(mixed.transpose(1, 2).reshape(batch, length, size))


class Block(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.attention, self.mlp = Attention(size, heads), MLP(size)
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)

    def forward(self, x: Any) -> Any:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, layers: int = 2, size: int = 16, heads: int = 4, words: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, size)
        self.layers = nn.ModuleList(Block(size, heads) for _ in range(layers))
        self.head = nn.Linear(size, words, bias=False)

    def forward(self, tokens: Any) -> Any:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return torch.softmax(self.head(x), -1)


class ResNet(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.norm0, self.norm1, self.norm2 = (nn.BatchNorm2d(width) for _ in range(3))
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.last = nn.AdaptiveAvgPool2d(1)
        self.classify = nn.Linear(width, 10)

    def forward(self, image: Any) -> Any:
        x = self.pool(F.relu(self.norm0(self.stem(image))))
        y = F.relu(self.norm1(self.conv1(x)))
        x = F.relu(x + self.norm2(self.conv2(y)))
        return self.classify(torch.flatten(self.last(x), 1))


class Rotary(nn.Module):
    """Rotary positions, a gated MLP without biases, RMS norm, keys and values for groups of heads."""

    def __init__(self, size: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(size)
        self.q, self.kv = nn.Linear(size, size, bias=False), nn.Linear(size, size, bias=False)
        self.gate, self.up, self.down = (nn.Linear(size, size, bias=False) for _ in range(3))
        self.heads = heads

    def turned(self, x: Any) -> Any:
        half = x.shape[-1] // 2
        angles = torch.outer(torch.arange(x.shape[-2]), 100.0 ** (-torch.arange(half) / half))
        first, second = x.chunk(2, -1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)

    def forward(self, x: Any) -> Any:
        batch, length, size = x.shape
        y = self.norm(x)
        q = self.q(y).view(batch, length, self.heads, -1).transpose(1, 2)
        k, v = self.kv(y).view(batch, length, 2, self.heads // 2, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(self.turned(q), self.turned(k), v, enable_gqa=True)
        x = x + mixed.transpose(1, 2).reshape(batch, length, size)
        return x + self.down(F.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    def __init__(self, experts: int = 4, size: int = 8) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.randn(size, experts))
        self.up = nn.Parameter(torch.randn(experts, size, 2 * size))
        self.down = nn.Parameter(torch.randn(experts, 2 * size, size))

    def forward(self, x: Any) -> Any:
        weights, chosen = torch.topk(torch.softmax(x @ self.gate, -1), 2)
        gate = (F.one_hot(chosen, self.gate.shape[1]) * weights[..., None]).sum(-2)
        hidden = torch.relu(torch.einsum("td,edf->tef", x, self.up))
        return (torch.einsum("tef,efd->ted", hidden, self.down) * gate[..., None]).sum(1)


class Counter(nn.Module):
    """A buffer that a call changes, constants, trees of inputs and outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, batch: Any, scale: float = 2.0) -> Any:
        self.calls.add_(1)
        return {"sum": batch["x"] + torch.tensor([1.0, 2.0, 3.0]), "rest": [batch["y"] * scale, scale]}


def models() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Models in evaluation, with arguments."""
    torch.manual_seed(0)
    return {
        "mlp": (MLP(), (torch.randn(8, 12, 16),)),
        "attention": (Attention(16, 4), (torch.randn(4, 6, 16),)),
        "transformer": (Transformer(), (torch.randint(0, 32, (4, 6)),)),
        "resnet": (ResNet(), (torch.randn(4, 3, 32, 32),)),
        "rotary": (Rotary(), (torch.randn(2, 6, 16),)),
        "experts": (Experts(), (torch.randn(6, 8),)),
        "counter": (Counter(), ({"x": torch.randn(2, 3), "y": torch.randn(4)}, 3.0)),
        "lstm": (nn.LSTM(8, 16, batch_first=True), (torch.randn(2, 3, 8),)),
        "encoder": (nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), (torch.randn(2, 5, 16),)),
        "transposed": (nn.ConvTranspose2d(4, 6, 3, 2, 1, 1), (torch.randn(2, 4, 5, 5),)),
        "upsample": (nn.Upsample(scale_factor=2, mode="bilinear"), (torch.randn(2, 3, 4, 5),)),
        "bfloat16": (nn.Linear(8, 4).bfloat16(), (torch.randn(3, 8).bfloat16(),)),
    }


def exported(model: Any, arguments: tuple[Any, ...]) -> Any:
    """The model in evaluation, exported."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The tensor attributes .* were assigned during export")
        return torch.export.export(model.eval(), arguments)
