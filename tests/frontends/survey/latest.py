"""Models of packages that no other module here has: linear and hierarchical attention, state spaces, tables,
proteins, weather and sound, with small sizes.

Those of a package that is not installed are left out. Nothing is downloaded.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch

from tests.frontends.survey.further import words
from tests.frontends.survey.packages import randn, row
from tests.frontends.survey.rows import Called, Row

SMALL = {"num_tokens": 20, "dim": 16, "depth": 2}
ROWS16, PICTURE = randn((2, 16, 16)), randn((2, 3, 32, 32))
TOKENS = words(20, 16)


def called(path: str, /, *args: Any, inputs: Any, **settings: Any) -> Row:
    """What a function of a package returns."""
    module, _, name = path.rpartition(".")

    def build() -> Called:
        return getattr(import_module(module), name)(*args, **settings), inputs(), {}

    return Row(f"{module} {name}", path.partition(".")[0], build)


def proteins() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 21, (2, 16), generator=generator), torch.rand(2, 32, generator=generator)


def columns() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 4, (3, 2), generator=generator), torch.randn(3, 5, generator=generator)


ROWS: tuple[Row, ...] = (
    called(
        "mlp_mixer_pytorch.MLPMixer",
        inputs=PICTURE,
        image_size=32,
        channels=3,
        patch_size=8,
        dim=16,
        depth=2,
        num_classes=5,
    ),
    called(
        "res_mlp_pytorch.ResMLP",
        inputs=PICTURE,
        image_size=32,
        patch_size=8,
        dim=16,
        depth=2,
        num_classes=5,
    ),
    row(
        "uformer_pytorch.Uformer",
        PICTURE,
        dim=8,
        stages=2,
        num_blocks=1,
        window_size=8,
        dim_head=8,
        heads=2,
    ),
    row("lambda_networks.LambdaLayer", randn((2, 16, 8, 8)), dim=16, dim_out=16, n=8, dim_k=8, heads=2),
    row(
        "memory_efficient_attention_pytorch.Attention",
        ROWS16,
        dim=16,
        heads=2,
        dim_head=8,
        memory_efficient=True,
        q_bucket_size=8,
        k_bucket_size=8,
    ),
    row(
        "memory_efficient_attention_pytorch.CosineSimAttention",
        ROWS16,
        dim=16,
        heads=2,
        dim_head=8,
        seq_len=16,
    ),
    row("mega_pytorch.Mega", TOKENS, **SMALL, ema_heads=4, attn_dim_qk=8, attn_dim_value=16),
    row(
        "MEGABYTE_pytorch.MEGABYTE",
        words(20, 16),
        num_tokens=20,
        dim=(16, 8),
        depth=(1, 1),
        max_seq_len=(4, 4),
        dim_head=8,
        heads=2,
    ),
    row("rela_transformer.ReLATransformer", TOKENS, **SMALL, max_seq_len=16, heads=2, dim_head=8),
    row(
        "bidirectional_cross_attention.BidirectionalCrossAttentionTransformer",
        randn((2, 8, 16), (2, 12, 24)),
        dim=16,
        depth=1,
        context_dim=24,
        heads=2,
        dim_head=8,
    ),
    row("gated_state_spaces_pytorch.GatedStateSpacesLM", TOKENS, **SMALL, dss_kernel_N=8, dss_kernel_H=16),
    row("gated_state_spaces_pytorch.GatedDsConvLM", TOKENS, **SMALL, heads=2, dim_dsconv=16, max_seq_len=16),
    row("gated_state_spaces_pytorch.GatedExponentialSmoothingLM", TOKENS, **SMALL, heads=2, dim_mhesa=16),
    row("taylor_series_linear_attention.TaylorSeriesLinearAttn", ROWS16, dim=16, dim_head=4, heads=2),
    row(
        "taylor_series_linear_attention.ViT",
        PICTURE,
        image_size=32,
        patch_size=8,
        num_classes=5,
        dim=16,
        depth=1,
        heads=2,
    ),
    row(
        "agent_attention_pytorch.AgentTransformer",
        ROWS16,
        dim=16,
        depth=1,
        num_agent_tokens=4,
        heads=2,
        dim_head=8,
    ),
    row(
        "tab_transformer_pytorch.TabTransformer",
        columns,
        mlp_act=torch.nn.ReLU(),
        categories=(4, 4),
        num_continuous=5,
        dim=8,
        depth=1,
        heads=2,
        dim_head=4,
    ),
    row(
        "tab_transformer_pytorch.FTTransformer",
        columns,
        categories=(4, 4),
        num_continuous=5,
        dim=8,
        depth=1,
        heads=2,
        dim_head=4,
    ),
    row("titans_pytorch.MemorySwiGluMLP", ROWS16, dim=16, depth=2),
    row("titans_pytorch.NeuralMemory", ROWS16, dim=16, chunk_size=4),
    row(
        "native_sparse_attention_pytorch.SparseAttention",
        ROWS16,
        dim=16,
        dim_head=8,
        heads=2,
        sliding_window_size=4,
        compress_block_size=4,
        compress_block_sliding_stride=2,
        selection_block_size=4,
        num_selected_blocks=2,
    ),
    row("esm.ESM2", words(20, 16), num_layers=2, embed_dim=16, attention_heads=2),
    row(
        "recurrent_memory_transformer_pytorch.RecurrentMemoryTransformer",
        TOKENS,
        num_tokens=20,
        dim=16,
        depth=1,
        num_memory_tokens=4,
        seq_len=16,
        heads=2,
        dim_head=8,
    ),
    row(
        "simple_hierarchical_transformer.HierarchicalTransformer",
        TOKENS,
        {"return_loss": False},
        **SMALL,
        seq_len=16,
        heads=2,
        dim_head=8,
        hierarchies=(1, 2),
        window_sizes=(8, None),
    ),
    row("infini_transformer_pytorch.InfiniTransformer", TOKENS, **SMALL, heads=2, dim_head=8),
    row("torchlibrosa.Spectrogram", randn((2, 1024)), n_fft=64, hop_length=16),
    row("torchlibrosa.LogmelFilterBank", randn((2, 1, 8, 33)), n_fft=64, sr=8000, n_mels=8, fmax=4000),
    row(
        "protein_bert_pytorch.ProteinBERT",
        proteins,
        num_tokens=21,
        num_annotation=32,
        dim=16,
        dim_global=8,
        depth=1,
        attn_heads=2,
        attn_dim_head=8,
    ),
    called("geffnet.mobilenetv3_small_100", inputs=PICTURE, num_classes=5),
    called("geffnet.mixnet_s", inputs=PICTURE, num_classes=5),
    called("geffnet.efficientnet_lite0", inputs=PICTURE, num_classes=5),
)
