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


class ComplexRotary(nn.Module):
    """Positions turned as complex numbers, which a buffer holds."""

    def __init__(self, size: int = 8, length: int = 16) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(length), 100.0 ** (-torch.arange(0, size, 2) / size))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles), persistent=False)

    def forward(self, x: Any) -> Any:
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.turns[: x.shape[1], None]).flatten(3).type_as(x)


class VisionTransformer(nn.Module):
    def __init__(self, size: int = 32) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, size, 4, 4)
        self.token, self.places = (
            nn.Parameter(torch.randn(1, 1, size)),
            nn.Parameter(torch.randn(1, 17, size)),
        )
        layer = nn.TransformerEncoderLayer(size, 4, 64, activation="gelu", batch_first=True, norm_first=True)
        self.encoder, self.head = (
            nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
            nn.Linear(size, 10),
        )

    def forward(self, image: Any) -> Any:
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.encoder(x)[:, 0])


class UNet(nn.Module):
    """Down, up again, with what was there before, at times of diffusion."""

    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 8))
        self.first, self.norm = nn.Conv2d(4, 8, 3, padding=1), nn.GroupNorm(4, 8)
        self.down, self.up = nn.Conv2d(8, 16, 3, 2, 1), nn.ConvTranspose2d(16, 8, 4, 2, 1)
        self.last = nn.Conv2d(16, 4, 1)

    def forward(self, x: Any, t: Any) -> Any:
        angles = t[:, None] * torch.exp(-torch.arange(4) / 4)
        moment = self.time(torch.cat([angles.sin(), angles.cos()], -1))
        kept = F.silu(self.norm(self.first(x))) + moment[:, :, None, None]
        both = torch.cat([self.up(F.silu(self.down(kept))), kept], 1)
        return self.last(F.interpolate(F.interpolate(both, scale_factor=2), (16, 16), mode="bilinear"))


class Unrolled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.LSTMCell(8, 12), nn.Linear(12, 3)

    def forward(self, x: Any) -> Any:
        h = c = x.new_zeros(len(x), 12)
        outputs = []
        for step in x.unbind(1):
            h, c = self.cell(step, (h, c))
            outputs.append(self.out(h))
        return torch.stack(outputs, 1), (h, c)


class Loss(nn.Module):
    """A loss over words, some of them left out, and the words themselves."""

    def __init__(self, words: int = 20) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(words, 8, padding_idx=0), nn.Linear(8, words, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens: Any, labels: Any) -> Any:
        logits = self.head(self.embed(tokens))
        labels = labels.masked_fill(labels < 3, -100)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=0.1)
        return {"loss": loss, "words": logits.argmax(-1)}


class Scattered(nn.Module):
    """Experts whose gate is scattered from the chosen, and tokens sorted by expert."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 4, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)) for _ in range(4)
        )

    def forward(self, x: Any) -> Any:
        weights, chosen = torch.topk(F.softmax(self.gate(x), -1), 2, -1)
        gate = x.new_zeros(len(x), 4).scatter(-1, chosen, weights / weights.sum(-1, keepdim=True))
        mixed = sum(gate[:, [i]] * expert(x) for i, expert in enumerate(self.experts))
        order = torch.argsort(chosen.flatten(), stable=True)
        place = torch.cumsum(F.one_hot(chosen.flatten(), 4), 0)
        return mixed, torch.zeros_like(x).index_add(0, order // 2, x[order // 2]), place


class Indices(nn.Module):
    """Parts read and written through indices and masks."""

    def forward(self, x: Any, i: Any, j: Any) -> Any:
        a, b, c, d = (x.clone() for _ in range(4))
        a[i, :, j] = 2.0
        b[x > 0] = 0.0
        c[:, x[0, :, 0] > 0, ::2] = -1.0
        d[..., ::2] = x[..., 1::2]
        return a, b, c, d, x[i, :, j], x[:, i.remainder(5), j], x.diagonal(1, 1, 2), x.unfold(2, 3, 2)


class Images(nn.Module):
    """Embeddings of images put among those of words."""

    def forward(self, words: Any, is_image: Any, images: Any) -> Any:
        return words.masked_scatter(is_image[..., None].expand_as(words), images)


class Masked(nn.Module):
    """Attention with masks: a number in f32 where the rest is bf16, distances, padding."""

    def forward(self, q: Any, bias: Any, lengths: Any) -> Any:
        length = q.shape[2]
        kept = torch.arange(length) < lengths[:, None, None, None]
        far = -(torch.arange(length)[:, None] - torch.arange(length)).abs().float()
        causal = torch.ones(length, length, dtype=torch.bool).tril()
        low = q.bfloat16()
        return (
            F.scaled_dot_product_attention(q, q, q, attn_mask=kept),
            F.scaled_dot_product_attention(q, q, q, attn_mask=far.masked_fill(~causal, float("-inf"))),
            F.scaled_dot_product_attention(low, low, low, attn_mask=bias).float(),
        )


class Windows(nn.Module):
    """Attention in windows that are rolled, with a table of relative places."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.table = nn.Linear(8, 24), nn.Parameter(torch.randn(49, 2))
        self.register_buffer("places", torch.randint(0, 49, (16, 16)))

    def forward(self, x: Any) -> Any:
        x = (
            torch.roll(x, (-2, -2), (1, 2))
            .view(2, 2, 4, 2, 4, 8)
            .permute(0, 1, 3, 2, 4, 5)
            .reshape(-1, 16, 8)
        )
        q, k, v = self.qkv(x).view(-1, 16, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.table[self.places.view(-1)].view(16, 16, 2).permute(2, 0, 1)
        mixed = (q @ k.mT / 2 + bias).softmax(-1) @ v
        x = mixed.transpose(1, 2).reshape(2, 2, 2, 4, 4, 8).transpose(2, 3).reshape(2, 8, 8, 8)
        return F.pad(torch.roll(x, (2, 2), (1, 2)), (0, 0, 1, 1, 1, 1), mode="constant", value=1.0)


class Autocast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(8, 16), nn.Linear(16, 4), nn.LayerNorm(16)

    def forward(self, x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.down(self.norm(F.gelu(self.up(x))))


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
        "complex": (ComplexRotary(), (torch.randn(2, 6, 4, 8),)),
        "vision": (VisionTransformer(), (torch.randn(2, 3, 16, 16),)),
        "unet": (UNet(), (torch.randn(2, 4, 16, 16), torch.tensor([3.0, 7.0]))),
        "unrolled": (Unrolled(), (torch.randn(2, 5, 8),)),
        "loss": (Loss(), (torch.randint(0, 20, (3, 6)), torch.randint(0, 20, (3, 6)))),
        "scattered": (Scattered(), (torch.randn(6, 8),)),
        "indices": (Indices(), (torch.randn(4, 5, 6), torch.tensor([0, 3, 2]), torch.tensor([5, 1, 1]))),
        "images": (Images(), (torch.randn(2, 6, 8), torch.arange(12).view(2, 6) % 3 == 0, torch.randn(4, 8))),
        "masked": (Masked(), (torch.randn(2, 4, 5, 8), torch.randn(5, 5), torch.tensor([3, 5]))),
        "windows": (Windows(), (torch.randn(2, 8, 8, 8),)),
        "autocast": (Autocast(), (torch.randn(4, 8),)),
        "decoder": (
            nn.TransformerDecoderLayer(16, 4, 32, batch_first=True),
            (torch.randn(2, 5, 16), torch.randn(2, 7, 16)),
        ),
        "recurrent": (nn.GRU(8, 12, 2, bidirectional=True), (torch.randn(5, 2, 8),)),
        "padded": (nn.ReflectionPad2d(2), (torch.randn(2, 3, 8, 8),)),
    }


def exported(model: Any, arguments: tuple[Any, ...]) -> Any:
    """The model in evaluation, exported."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The tensor attributes .* were assigned during export")
        return torch.export.export(model.eval(), arguments)
