"""Models with the plans that DTensor's users give them, on a mesh of 2 x 4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
parallel = pytest.importorskip("torch.distributed.tensor.parallel")
tensors = pytest.importorskip("torch.distributed.tensor")
checkpoints = pytest.importorskip("torch.utils.checkpoint")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py.frontends.torch import FullyShard, TensorParallel
from tests.frontends.torch_models import MLP

nn, F = torch.nn, torch.nn.functional
column, row, sequence = parallel.ColwiseParallel, parallel.RowwiseParallel, parallel.SequenceParallel
prepare, Shard, Replicate = parallel.PrepareModuleInput, tensors.Shard, tensors.Replicate


class Heads(nn.Module):
    """Attention that counts heads by the local size, as models for tensor parallelism do."""

    def __init__(self, size: int, width: int, kv: int | None = None) -> None:
        super().__init__()
        self.width, kv = width, kv or size
        self.wq, self.wk, self.wv = nn.Linear(size, size), nn.Linear(size, kv), nn.Linear(size, kv)
        self.wo = nn.Linear(size, size)

    def forward(self, x: Any) -> Any:
        b, n, _ = x.shape
        q, k, v = (w(x).view(b, n, -1, self.width).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=q.shape[1] != k.shape[1])
        return self.wo(y.transpose(1, 2).reshape(b, n, -1))


class Gated(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.w1, self.w3 = nn.Linear(size, 2 * size, bias=False), nn.Linear(size, 2 * size, bias=False)
        self.w2 = nn.Linear(2 * size, size, bias=False)

    def forward(self, x: Any) -> Any:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    def __init__(self, size: int, kv: int | None = None) -> None:
        super().__init__()
        self.attention, self.feed_forward = Heads(size, 4, kv), Gated(size)
        self.norm1, self.norm2 = nn.RMSNorm(size), nn.LayerNorm(size)

    def forward(self, x: Any) -> Any:
        x = x + self.attention(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))


class Decoder(nn.Module):
    """A model as torchtitan's Llama: its plans are written for such names."""

    def __init__(self, layers: int = 2, size: int = 32, words: int = 64, kv: int | None = None) -> None:
        super().__init__()
        self.tok_embeddings = nn.Embedding(words, size)
        self.layers = nn.ModuleDict({str(i): Layer(size, kv) for i in range(layers)})
        self.norm, self.output = nn.RMSNorm(size), nn.Linear(size, words, bias=False)

    def forward(self, tokens: Any) -> Any:
        x = self.tok_embeddings(tokens)
        for layer in self.layers.values():
            x = layer(x)
        return self.output(self.norm(x))


class Checkpointed(Decoder):
    """Layers are computed again in the backward pass."""

    def forward(self, tokens: Any) -> Any:
        x = self.tok_embeddings(tokens)
        for layer in self.layers.values():
            x = checkpoints.checkpoint(layer, x, use_reentrant=False)
        return self.output(self.norm(x))


class Classifier(nn.Module):
    """Convolutions, for FSDP."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(
            nn.Sequential(nn.Conv2d(8, 16, 3), nn.GroupNorm(4, 16), nn.ReLU()),
            nn.Sequential(nn.Conv2d(16, 32, 3), nn.GroupNorm(4, 32), nn.ReLU()),
        )
        self.head = nn.Linear(32, 16)

    def forward(self, image: Any) -> Any:
        return self.head(self.blocks(image).mean((2, 3)))


class Tower(nn.Module):
    """An embedding sharded by columns, and a column after a row without a gather between them."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.up, self.down = nn.Embedding(64, 32), nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, tokens: Any) -> Any:
        return self.down(F.relu(self.up(self.embed(tokens)))).softmax(-1)


def tokens() -> Any:
    return torch.randint(0, 32, (8, 8))


MEGATRON = {
    "layers.*.attention.wq": column(),
    "layers.*.attention.wk": column(),
    "layers.*.attention.wv": column(),
    "layers.*.attention.wo": row(),
    "layers.*.feed_forward.w1": column(),
    "layers.*.feed_forward.w3": column(),
    "layers.*.feed_forward.w2": row(),
}
WITH_VOCABULARY = {
    "tok_embeddings": row(input_layouts=Replicate()),
    **MEGATRON,
    "output": column(output_layouts=Replicate()),
}
ON_SEQUENCES = {
    "tok_embeddings": row(input_layouts=Replicate(), output_layouts=Shard(1)),
    "norm": sequence(),
    "output": column(input_layouts=Shard(1), output_layouts=Replicate()),
    "layers.*.norm1": sequence(),
    "layers.*.norm2": sequence(),
    "layers.*.attention": prepare(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
    "layers.*.feed_forward": prepare(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
    **MEGATRON,
    "layers.*.attention.wo": row(output_layouts=Shard(1)),
    "layers.*.feed_forward.w2": row(output_layouts=Shard(1)),
}
LAYERS = ("layers.*", "")


@dataclass(frozen=True)
class Planned:
    """A model with its plan. shardings: of its inputs, by name."""

    model: Callable[[], Any]
    inputs: Callable[[], Any]
    plan: Any
    shardings: Mapping[str, Any]


WHOLE, BATCH = [Replicate(), Replicate()], [Shard(0), Replicate()]
tp = "tp"

MODELS = {
    "MLP": Planned(
        MLP,
        lambda: torch.randn(8, 16),
        TensorParallel(tp, {"up": column(), "down": row()}),
        {"x": WHOLE},
    ),
    "embedding by columns": Planned(
        Tower,
        tokens,
        TensorParallel(tp, {"embed": column(output_layouts=Replicate()), "up": column(), "down": row()}),
        {"tokens": WHOLE},
    ),
    "row after column, scattered": Planned(
        Tower,
        tokens,
        TensorParallel(
            tp,
            {"embed": row(input_layouts=Replicate()), "up": column(), "down": row(output_layouts=Shard(1))},
        ),
        {"tokens": WHOLE},
    ),
    "decoder, Megatron": Planned(Decoder, tokens, TensorParallel(tp, MEGATRON), {"tokens": WHOLE}),
    "decoder, vocabulary": Planned(Decoder, tokens, TensorParallel(tp, WITH_VOCABULARY), {"tokens": WHOLE}),
    "decoder, sequences": Planned(Decoder, tokens, TensorParallel(tp, ON_SEQUENCES), {"tokens": WHOLE}),
    "decoder, groups of heads": Planned(
        lambda: Decoder(kv=16), tokens, TensorParallel(tp, ON_SEQUENCES), {"tokens": WHOLE}
    ),
    "decoder, FSDP": Planned(Decoder, tokens, FullyShard("dp", LAYERS), {"tokens": BATCH}),
    "decoder, HSDP": Planned(
        Decoder, tokens, FullyShard(tp, LAYERS, replicate="dp"), {"tokens": [Shard(0), Shard(0)]}
    ),
    "decoder, FSDP x TP": Planned(
        Decoder, tokens, [TensorParallel(tp, ON_SEQUENCES), FullyShard("dp", LAYERS)], {"tokens": BATCH}
    ),
    "gated MLP, scattered inputs": Planned(
        lambda: Gated(32),
        lambda: torch.randn(8, 8, 32),
        TensorParallel(
            tp,
            {
                "": prepare(input_layouts=Shard(1), desired_input_layouts=Replicate()),
                "w1": column(),
                "w3": column(),
                "w2": row(output_layouts=Shard(1)),
            },
        ),
        {"x": [Replicate(), Shard(1)]},
    ),
    "convolutions, FSDP": Planned(
        Classifier, lambda: torch.randn(8, 8, 8, 8), FullyShard("dp", ("blocks.*", "")), {"image": BATCH}
    ),
}

STEPS = {
    **MODELS,
    "checkpoints, sequences": Planned(
        Checkpointed, tokens, TensorParallel(tp, ON_SEQUENCES), {"tokens": WHOLE}
    ),
    "checkpoints, FSDP": Planned(Checkpointed, tokens, FullyShard("dp", LAYERS), {"tokens": BATCH}),
    "checkpoints, FSDP x TP": Planned(
        Checkpointed, tokens, [TensorParallel(tp, ON_SEQUENCES), FullyShard("dp", LAYERS)], {"tokens": BATCH}
    ),
}
"""Those of training steps."""
