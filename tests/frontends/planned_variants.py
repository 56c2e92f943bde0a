"""More training steps under plans: other meshes, losses and modules than those of `planned_models.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
    Classifier,
    Decoder,
    F,
    Gated,
    Layer,
    Planned,
    Replicate,
    Shard,
    Tower,
    column,
    nn,
    parallel,
    prepare,
    row,
    tokens,
    torch,
    tp,
)
from tests.frontends.torch_models import MLP


def mean_square(y: Any) -> Any:
    return (y * y).mean()


def words(y: Any) -> Any:
    """The mean loss of next words, that is, of the first one."""
    flat = y.flatten(0, 1)
    return F.cross_entropy(flat, torch.zeros(flat.shape[0], dtype=torch.int64))


@dataclass(frozen=True)
class Variant(Planned):
    """A model with its plan, on a mesh with a loss. loss_parallel: torch's, for scores that are sharded.

    even: whether the plan divides all parameters.
    """

    mesh: Mapping[str, int] = field(default_factory=lambda: {"dp": 2, "tp": 4})
    loss: Callable[[Any], Any] = mean_square
    loss_parallel: bool = False
    even: bool = True


class Tied(Decoder):
    """The last layer has the table of the first."""

    def __init__(self) -> None:
        super().__init__()
        self.output.weight = self.tok_embeddings.weight


class BatchNormed(nn.Module):
    """Convolutions with batch norm, whose statistics are those of a device."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(
            nn.Sequential(nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU()),
            nn.Sequential(nn.Conv2d(16, 32, 3), nn.BatchNorm2d(32), nn.ReLU()),
        )
        self.head = nn.Linear(32, 16)

    def forward(self, image: Any) -> Any:
        return self.head(self.blocks(image).mean((2, 3)))


class Experts(nn.Module):
    """All experts on all tokens, weighted."""

    def __init__(self, size: int = 32, count: int = 4) -> None:
        super().__init__()
        self.router = nn.Linear(size, count, bias=False)
        self.up, self.down = (nn.Parameter(torch.randn(count, *s)) for s in ((size, 64), (64, size)))

    def forward(self, x: Any) -> Any:
        weights = self.router(x).softmax(-1)
        hidden = F.silu(torch.einsum("bsd,edf->ebsf", x, self.up))
        return torch.einsum("ebsf,efd,bse->bsd", hidden, self.down, weights)


class Mixture(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tok_embeddings = nn.Embedding(64, 32)
        self.layers = nn.ModuleList(nn.Sequential(nn.LayerNorm(32), Experts()) for _ in range(2))
        self.output = nn.Linear(32, 64, bias=False)

    def forward(self, tokens: Any) -> Any:
        x = self.tok_embeddings(tokens)
        for layer in self.layers:
            x = x + layer(x)
        return self.output(x)


class Encoder(nn.Module):
    """torch's own layers, which merge heads and batch."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(32) for _ in range(3))
        self.head = nn.Linear(32, 16)

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


def image() -> Any:
    return torch.randn(8, 8, 8, 8)


def floats() -> Any:
    return torch.randn(8, 8, 32)


MESH3 = {"pods": 2, "dp": 2, "tp": 2}
BATCH3 = [Shard(0), Shard(0), Replicate()]
ALL = [Shard(0), Shard(0)]
SEQUENCES = TensorParallel(tp, ON_SEQUENCES)
SHARDED_SCORES = column(output_layouts=Shard(-1), use_local_output=False)
COLUMNS = {"up": column(), "down": row()}
both = parallel.PrepareModuleInputOutput


def _fully() -> dict[str, Variant]:
    """FSDP and HSDP."""
    return {
        "decoder, FSDP, kept after forward": Variant(
            Decoder, tokens, FullyShard("dp", LAYERS, reshard_after_forward=False), {"tokens": BATCH}
        ),
        "decoder, FSDP, all resharded": Variant(
            Decoder, tokens, FullyShard("dp", LAYERS, reshard_after_forward=True), {"tokens": BATCH}
        ),
        "decoder, FSDP of the whole": Variant(Decoder, tokens, FullyShard("dp"), {"tokens": BATCH}),
        "decoder, FSDP of parts of layers": Variant(
            Decoder,
            tokens,
            FullyShard("dp", ("layers.*.attention", "layers.*.feed_forward", "")),
            {"tokens": BATCH},
        ),
        "decoder, FSDP along two axes": Variant(
            Decoder, tokens, FullyShard(("dp", "tp"), LAYERS), {"tokens": ALL}
        ),
        "decoder, FSDP, words": Variant(
            Decoder, tokens, FullyShard("dp", LAYERS), {"tokens": BATCH}, loss=words
        ),
        "tied, FSDP": Variant(Tied, tokens, FullyShard("dp", LAYERS), {"tokens": BATCH}),
        "tied, HSDP": Variant(Tied, tokens, FullyShard(tp, LAYERS, replicate="dp"), {"tokens": ALL}),
        "batch norm, FSDP": Variant(BatchNormed, image, FullyShard("dp", ("blocks.*", "")), {"image": BATCH}),
        "batch norm, HSDP": Variant(
            BatchNormed, image, FullyShard(tp, ("blocks.*", ""), replicate="dp"), {"image": ALL}
        ),
        "convolutions, HSDP": Variant(
            Classifier, image, FullyShard(tp, ("blocks.*", ""), replicate="dp"), {"image": ALL}
        ),
        "mixture, FSDP": Variant(Mixture, tokens, FullyShard("dp", LAYERS), {"tokens": BATCH}),
        "mixture, HSDP": Variant(Mixture, tokens, FullyShard(tp, LAYERS, replicate="dp"), {"tokens": ALL}),
        "encoder, FSDP": Variant(Encoder, floats, FullyShard("dp", LAYERS), {"x": BATCH}),
        "checkpoints, HSDP": Variant(
            Checkpointed, tokens, FullyShard(tp, LAYERS, replicate="dp"), {"tokens": ALL}
        ),
        "MLP, FSDP of each layer": Variant(
            MLP, lambda: torch.randn(8, 16), FullyShard("dp", ("up", "down", "")), {"x": BATCH}
        ),
    }


def _tensor() -> dict[str, Variant]:
    """Tensor parallelism."""
    scattered = {
        "": both(
            input_layouts=Shard(1),
            desired_input_layouts=Replicate(),
            output_layouts=Replicate(),
            desired_output_layouts=Shard(1),
        ),
        "w1": column(),
        "w3": column(),
        "w2": row(),
    }
    return {
        "gated MLP, inputs and outputs": Variant(
            lambda: Gated(32), floats, TensorParallel(tp, scattered), {"x": [Replicate(), Shard(1)]}
        ),
        "decoder, scores gathered, words": Variant(
            Decoder, tokens, TensorParallel(tp, WITH_VOCABULARY), {"tokens": WHOLE}, loss=words
        ),
        "decoder, loss parallel": Variant(
            Decoder,
            tokens,
            TensorParallel(tp, {**WITH_VOCABULARY, "output": SHARDED_SCORES}),
            {"tokens": WHOLE},
            loss=words,
            loss_parallel=True,
        ),
        "decoder, sequences, words": Variant(Decoder, tokens, SEQUENCES, {"tokens": WHOLE}, loss=words),
        "decoder, 8 along one axis": Variant(
            Decoder, tokens, TensorParallel(tp, MEGATRON), {"tokens": [Replicate()]}, mesh={tp: 8}
        ),
        "tower, scattered words": Variant(
            Tower,
            tokens,
            TensorParallel(tp, {"embed": row(input_layouts=Replicate(), output_layouts=Shard(1))}),
            {"tokens": WHOLE},
        ),
        "decoder, sequences between plain layers": Variant(
            Decoder,
            tokens,
            TensorParallel(
                tp,
                {
                    **ON_SEQUENCES,
                    "tok_embeddings": parallel.PrepareModuleOutput(
                        output_layouts=Replicate(), desired_output_layouts=Shard(1)
                    ),
                    "output": prepare(
                        input_layouts=Shard(1), desired_input_layouts=Replicate(), use_local_output=True
                    ),
                },
            ),
            {"tokens": WHOLE},
        ),
        "plain layer behind scattered rows": Variant(
            lambda: nn.Sequential(nn.Linear(16, 32), nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 16)),
            lambda: torch.randn(8, 16),
            TensorParallel(
                tp,
                {
                    "0": column(),
                    "1": row(output_layouts=Shard(0)),
                    "3": prepare(
                        input_layouts=Shard(0), desired_input_layouts=Replicate(), use_local_output=True
                    ),
                },
            ),
            {"input": WHOLE},
        ),
        "MLP, rows given": Variant(
            MLP,
            lambda: torch.randn(8, 16),
            TensorParallel(tp, {"up": row(input_layouts=Replicate()), "down": column()}),
            {"x": WHOLE},
        ),
    }


def _together() -> dict[str, Variant]:
    """Both, on two and three axes."""
    fully = FullyShard("dp", LAYERS)
    hybrid = FullyShard("dp", LAYERS, replicate="pods")
    return {
        "decoder, FSDP x Megatron": Variant(
            Decoder, tokens, [TensorParallel(tp, MEGATRON), fully], {"tokens": BATCH}
        ),
        "decoder, FSDP x vocabulary": Variant(
            Decoder, tokens, [TensorParallel(tp, WITH_VOCABULARY), fully], {"tokens": BATCH}
        ),
        "groups of heads, FSDP x TP": Variant(
            lambda: Decoder(kv=16), tokens, [SEQUENCES, fully], {"tokens": BATCH}
        ),
        "FSDP x TP, kept after forward": Variant(
            Decoder,
            tokens,
            [SEQUENCES, FullyShard("dp", LAYERS, reshard_after_forward=False)],
            {"tokens": BATCH},
        ),
        "HSDP x TP": Variant(Decoder, tokens, [SEQUENCES, hybrid], {"tokens": BATCH3}, mesh=MESH3),
        "HSDP x Megatron": Variant(
            Decoder, tokens, [TensorParallel(tp, MEGATRON), hybrid], {"tokens": BATCH3}, mesh=MESH3
        ),
        "MLP, FSDP x TP": Variant(
            MLP,
            lambda: torch.randn(8, 16),
            [TensorParallel(tp, COLUMNS), FullyShard("dp")],
            {"x": BATCH},
        ),
        "gated MLP, FSDP x TP": Variant(
            lambda: Gated(32),
            floats,
            [
                TensorParallel(
                    tp,
                    {
                        "": prepare(input_layouts=Replicate(), desired_input_layouts=Replicate()),
                        "w1": column(),
                        "w3": column(),
                        "w2": row(),
                    },
                ),
                FullyShard("dp"),
            ],
            {"x": BATCH},
        ),
    }


VARIANTS: dict[str, Variant] = {**_fully(), **_tensor(), **_together()}
