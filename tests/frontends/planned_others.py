"""Training steps under plans, of models that `planned_models.py` and `planned_variants.py` do not have."""

from __future__ import annotations

from typing import Any

from shardy_py.frontends.torch import FullyShard, TensorParallel
from tests.frontends.planned_models import (
    BATCH,
    LAYERS,
    MEGATRON,
    ON_SEQUENCES,
    WHOLE,
    WITH_VOCABULARY,
    Checkpointed,
    Decoder,
    F,
    Gated,
    Heads,
    Layer,
    Replicate,
    Shard,
    column,
    nn,
    prepare,
    row,
    tokens,
    torch,
    tp,
)
from tests.frontends.planned_variants import ALL, BATCH3, MESH3, Variant, floats, image, words


class Patches(nn.Module):
    """An encoder of pictures, with a token for the class and learned positions."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(8, 32, 2, stride=2)
        self.cls, self.positions = nn.Parameter(torch.randn(1, 1, 32)), nn.Parameter(torch.randn(1, 17, 32))
        self.layers = nn.ModuleList(Layer(32) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 16)

    def forward(self, image: Any) -> Any:
        x = self.patch(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


class Positions(Decoder):
    """Learned positions, and the table of the first layer in the last."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Embedding(8, 32)
        self.output.weight = self.tok_embeddings.weight

    def forward(self, tokens: Any) -> Any:
        x = self.tok_embeddings(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for layer in self.layers.values():
            x = layer(x)
        return self.output(self.norm(x))


class Scaled(nn.Module):
    """A scale of one row, and a weight of three."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.rows = nn.Parameter(torch.ones(1, 32)), nn.Parameter(torch.randn(3, 32))

    def forward(self, x: Any) -> Any:
        return F.linear(x * self.scale, self.rows)


class Crossing(nn.Module):
    """Attention to other states, whose keys and values have columns of their own."""

    def __init__(self, size: int = 32, width: int = 4) -> None:
        super().__init__()
        self.width = width
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(size, size) for _ in range(4))

    def forward(self, x: Any, memory: Any) -> Any:
        b, n, _ = x.shape
        q = self.wq(x).view(b, n, -1, self.width).transpose(1, 2)
        k, v = (
            w(memory).view(b, memory.shape[1], -1, self.width).transpose(1, 2) for w in (self.wk, self.wv)
        )
        y = F.scaled_dot_product_attention(q, k, v)
        return self.wo(y.transpose(1, 2).reshape(b, n, -1))


class Translator(nn.Module):
    """An encoder, and a decoder that attends to it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(64, 32)
        self.encoder = nn.ModuleList(Layer(32) for _ in range(1))
        self.attention, self.crossing, self.feed_forward = Heads(32, 4), Crossing(), Gated(32)
        self.norms = nn.ModuleList(nn.LayerNorm(32) for _ in range(3))
        self.output = nn.Linear(32, 64)

    def forward(self, tokens: Any) -> Any:
        memory = x = self.table(tokens)
        for layer in self.encoder:
            memory = layer(memory)
        x = x + self.attention(self.norms[0](x))
        x = x + self.crossing(self.norms[1](x), memory)
        return self.output(x + self.feed_forward(self.norms[2](x)))


class Adapted(nn.Module):
    """A layer that stays as it is, with a product of low rank that learns."""

    def __init__(self, size: int = 32, rank: int = 4) -> None:
        super().__init__()
        self.base = nn.Linear(size, size).requires_grad_(False)
        self.down, self.up = nn.Linear(size, rank, bias=False), nn.Linear(rank, size, bias=False)

    def forward(self, x: Any) -> Any:
        return self.base(x) + self.up(self.down(x))


class Adapters(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(Adapted(), nn.GELU()) for _ in range(2))
        self.head = nn.Linear(32, 16)

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)


class Listed(nn.Module):
    """Experts that are modules, all on all tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.router, self.experts = nn.Linear(32, 3, bias=False), nn.ModuleList(Gated(32) for _ in range(3))
        self.head = nn.Linear(32, 16)

    def forward(self, x: Any) -> Any:
        weights = self.router(x).softmax(-1)
        parts = [weights[..., i : i + 1] * expert(x) for i, expert in enumerate(self.experts)]
        return self.head(sum(parts[1:], parts[0]))


class Skipping(nn.Module):
    """Convolutions down and up, with what is skipped concatenated."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU())
        self.middle = nn.Sequential(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.SiLU())
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.head = nn.Conv2d(32, 8, 1)

    def forward(self, image: Any) -> Any:
        kept = self.down(image)
        return self.head(torch.cat([self.up(self.middle(kept)), kept], 1))


class HeadsOfTasks(nn.Module):
    """A trunk with several heads."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
        self.heads = nn.ModuleDict({name: nn.Linear(32, 8) for name in ("a", "b", "c")})

    def forward(self, x: Any) -> Any:
        x = self.trunk(x)
        return torch.cat([head(x) for head in self.heads.values()], -1)


class Normed(nn.Module):
    """Attention with norms of queries and keys, by heads."""

    def __init__(self) -> None:
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(32, 32, bias=False) for _ in range(4))
        self.q_norm, self.k_norm = nn.RMSNorm(4), nn.RMSNorm(4)

    def forward(self, x: Any) -> Any:
        b, n, _ = x.shape
        q, k, v = (w(x).view(b, n, -1, 4) for w in (self.wq, self.wk, self.wv))
        q, k, v = (t.transpose(1, 2) for t in (self.q_norm(q), self.k_norm(k), v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).reshape(b, n, -1))


ATTENTION = {"wq": column(), "wk": column(), "wv": column(), "wo": row()}
TRANSLATOR = {
    **{
        f"{module}.{name}": style for module in ("attention", "crossing") for name, style in ATTENTION.items()
    },
    **{f"encoder.*.attention.{name}": style for name, style in ATTENTION.items()},
    **{
        f"{module}.{name}": style
        for module in ("feed_forward", "encoder.*.feed_forward")
        for name, style in (("w1", column()), ("w3", column()), ("w2", row()))
    },
}
GATED = {"w1": column(), "w3": column(), "w2": row()}
SEQUENCES = TensorParallel(tp, ON_SEQUENCES)

OTHERS: dict[str, Variant] = {
    "fewer rows than devices": Variant(
        Scaled, floats, FullyShard(tp, replicate="dp"), {"x": ALL}, even=False
    ),
    "patches, FSDP": Variant(Patches, image, FullyShard("dp", LAYERS), {"image": BATCH}, even=False),
    "patches, HSDP": Variant(
        Patches, image, FullyShard(tp, LAYERS, replicate="dp"), {"image": ALL}, even=False
    ),
    "positions, tied, HSDP x Megatron": Variant(
        Positions,
        tokens,
        [TensorParallel(tp, MEGATRON), FullyShard("dp", LAYERS, replicate="pods")],
        {"tokens": BATCH3},
        mesh=MESH3,
    ),
    "translator, Megatron": Variant(Translator, tokens, TensorParallel(tp, TRANSLATOR), {"tokens": WHOLE}),
    "translator, FSDP x Megatron": Variant(
        Translator,
        tokens,
        [
            TensorParallel(tp, TRANSLATOR),
            FullyShard("dp", ("encoder.*", "attention", "crossing", "feed_forward", "")),
        ],
        {"tokens": BATCH},
    ),
    "adapters, FSDP": Variant(Adapters, floats, FullyShard("dp", LAYERS), {"x": BATCH}),
    "listed experts, FSDP x TP": Variant(
        Listed,
        floats,
        [
            TensorParallel(tp, {f"experts.*.{name}": style for name, style in GATED.items()}),
            FullyShard("dp", ("experts.*", "")),
        ],
        {"x": BATCH},
        even=False,
    ),
    "skips, FSDP": Variant(Skipping, image, FullyShard("dp", ("down", "middle", "")), {"image": BATCH}),
    "heads of tasks, HSDP": Variant(
        HeadsOfTasks, floats, FullyShard(tp, ("trunk", "heads.*", ""), replicate="dp"), {"x": ALL}
    ),
    "norms of queries, TP": Variant(
        Normed,
        floats,
        TensorParallel(
            tp,
            {
                **ATTENTION,
                "": prepare(input_layouts=Shard(1), desired_input_layouts=Replicate()),
                "wo": row(output_layouts=Shard(1)),
            },
        ),
        {"x": [Replicate(), Shard(1)]},
    ),
    "decoder, FSDP nested three times": Variant(
        Decoder,
        tokens,
        FullyShard("dp", ("layers.*.attention", "layers.*.feed_forward", "layers.*", "")),
        {"tokens": BATCH},
        loss=words,
    ),
    "decoder, FSDP on 8": Variant(
        lambda: Decoder(layers=3), tokens, FullyShard("dp", LAYERS), {"tokens": [Shard(0)]}, mesh={"dp": 8}
    ),
    "groups of heads, FSDP x TP, words": Variant(
        lambda: Decoder(kv=16),
        tokens,
        [SEQUENCES, FullyShard("dp", LAYERS)],
        {"tokens": BATCH},
        loss=words,
    ),
    "checkpoints, HSDP x TP": Variant(
        Checkpointed,
        tokens,
        [SEQUENCES, FullyShard("dp", LAYERS, replicate="pods")],
        {"tokens": BATCH3},
        mesh=MESH3,
    ),
    "decoder, HSDP x vocabulary, words": Variant(
        Decoder,
        tokens,
        [TensorParallel(tp, WITH_VOCABULARY), FullyShard("dp", LAYERS, replicate="pods")],
        {"tokens": BATCH3},
        mesh=MESH3,
        loss=words,
    ),
    "decoder, tables by columns, FSDP": Variant(
        Decoder,
        tokens,
        [
            TensorParallel(tp, {**MEGATRON, "tok_embeddings": column(output_layouts=Replicate())}),
            FullyShard("dp", LAYERS),
        ],
        {"tokens": BATCH},
    ),
}
