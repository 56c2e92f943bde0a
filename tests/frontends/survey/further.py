"""Models of packages that no rule was written for, with small sizes: tables, sound, flows, pictures, physics.

Those of a package that is not installed are left out. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import torch

from tests.frontends.survey.packages import Inputs, randn, row
from tests.frontends.survey.rows import Called, Row

PICTURES = randn((2, 3, 32, 32))
SOUND = randn((2, 1, 400))


def words(count: int, length: int) -> Inputs:
    return lambda: (torch.randint(0, count, (2, length)),)


def _attribute(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def made(name: str, make: Callable[[], tuple[Any, tuple[Any, ...]]]) -> Row:
    """A model that a function makes, with its inputs. name: of its package, and its own."""

    def build() -> Called:
        model, arguments = make()
        return model, arguments, {}

    return Row(name, name.partition(" ")[0], build)


VIT = "vit_pytorch."
SMALL = {"num_classes": 5, "dim": 16, "depth": 1, "heads": 2}
TRANSFORMERS = (
    row(VIT + "SimpleViT", PICTURES, image_size=32, patch_size=8, mlp_dim=24, **SMALL),
    row(VIT + "cait.CaiT", PICTURES, image_size=32, patch_size=8, mlp_dim=24, cls_depth=1, **SMALL),
    row(
        VIT + "cross_vit.CrossViT",
        PICTURES,
        image_size=32,
        num_classes=5,
        sm_dim=16,
        lg_dim=24,
        sm_patch_size=8,
        lg_patch_size=16,
        sm_enc_mlp_dim=16,
        lg_enc_mlp_dim=16,
        lg_enc_depth=1,
        depth=1,
        cross_attn_depth=1,
    ),
    row(VIT + "max_vit.MaxViT", PICTURES, num_classes=5, dim=16, depth=(1, 1), dim_head=8, window_size=4),
    row(
        VIT + "twins_svt.TwinsSVT",
        randn((1, 3, 128, 128)),
        num_classes=5,
        **{
            f"s{number}_{key}": value
            for number in (1, 2, 3, 4)
            for key, value in (("emb_dim", 16), ("depth", 1))
        },
        s1_local_patch_size=4,
        s2_local_patch_size=4,
        s3_local_patch_size=4,
        s4_local_patch_size=4,
        s1_global_k=4,
        s2_global_k=4,
        s3_global_k=4,
        s4_global_k=4,
    ),
    row(VIT + "xcit.XCiT", PICTURES, image_size=32, patch_size=8, mlp_dim=24, cls_depth=1, **SMALL),
    row(
        VIT + "mobile_vit.MobileViT",
        randn((1, 3, 64, 64)),
        image_size=(64, 64),
        dims=[16, 16, 16],
        channels=[4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 16],
        num_classes=5,
        depths=(1, 1, 1),
    ),
    row(
        "perceiver_pytorch.Perceiver",
        lambda: (torch.randn(2, 8, 8, 3),),
        num_freq_bands=2,
        max_freq=4.0,
        depth=1,
        num_latents=4,
        latent_dim=16,
        latent_heads=2,
        num_classes=5,
    ),
    row("linformer.LinformerLM", words(20, 16), num_tokens=20, dim=16, seq_len=16, depth=1, k=4, heads=2),
    row("g_mlp_pytorch.gMLP", words(20, 16), num_tokens=20, dim=16, depth=2, seq_len=16, causal=True),
    row(
        "performer_pytorch.PerformerLM",
        words(20, 16),
        num_tokens=20,
        max_seq_len=16,
        dim=16,
        depth=1,
        heads=2,
        dim_head=8,
        causal=False,
    ),
    row(
        "local_attention.LocalTransformer",
        words(20, 16),
        num_tokens=20,
        max_seq_len=16,
        dim=16,
        depth=1,
        heads=2,
        dim_head=8,
        local_attn_window_size=8,
    ),
    row(
        "linear_attention_transformer.LinearAttentionTransformerLM",
        words(20, 16),
        num_tokens=20,
        dim=16,
        heads=2,
        depth=1,
        max_seq_len=16,
        causal=True,
        blindspot_size=1,
    ),
    row(
        "nystrom_attention.Nystromformer",
        randn((2, 16, 16)),
        dim=16,
        depth=1,
        dim_head=8,
        heads=2,
        num_landmarks=4,
    ),
    row(
        "axial_attention.AxialImageTransformer",
        randn((2, 8, 8, 8)),
        dim=8,
        depth=1,
        heads=2,
        reversible=False,
    ),
    row(
        "timesformer_pytorch.TimeSformer",
        randn((1, 2, 3, 16, 16)),
        dim=16,
        num_frames=2,
        num_classes=5,
        image_size=16,
        patch_size=8,
        depth=1,
        heads=2,
        dim_head=8,
    ),
)


def _tabular() -> tuple[Any, tuple[Any, ...]]:
    kind = _attribute("rtdl_revisiting_models.FTTransformer")
    settings = kind.get_default_kwargs(n_blocks=1)
    model = kind(n_cont_features=3, cat_cardinalities=[4, 5], d_out=2, **settings)
    return model, (torch.randn(6, 3), torch.randint(0, 4, (6, 2)))


def _kan() -> tuple[Any, tuple[Any, ...]]:
    model = _attribute("kan.KAN")(width=[3, 4, 2], grid=3, k=3, auto_save=False, save_act=False)
    return model.speed(), (torch.rand(6, 3),)


TABLES = (
    made("rtdl_revisiting_models FTTransformer", _tabular),
    row(
        "rtdl_revisiting_models.ResNet",
        randn((6, 5)),
        d_in=5,
        d_out=2,
        n_blocks=2,
        d_block=8,
        d_hidden_multiplier=2.0,
        dropout1=0.1,
        dropout2=0.0,
    ),
    row(
        "pytorch_tabnet.tab_network.TabNet",
        randn((6, 5)),
        input_dim=5,
        output_dim=2,
        n_d=4,
        n_a=4,
        group_attention_matrix=torch.eye(5),
    ),
    made("kan KAN", _kan),
)


def _mamba() -> tuple[Any, tuple[Any, ...]]:
    package = import_module("mambapy.mamba")
    return package.Mamba(package.MambaConfig(d_model=16, n_layers=2)), (torch.randn(2, 12, 16),)


def _spiking() -> tuple[Any, tuple[Any, ...]]:
    package = import_module("snntorch")

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
            self.first, self.second = package.Leaky(beta=0.9), package.Leaky(beta=0.8)

        def forward(self, x: Any) -> Any:
            first, second, found = self.first.init_leaky(), self.second.init_leaky(), []
            for _ in range(4):
                spikes, first = self.first(self.up(x), first)
                spikes, second = self.second(self.down(spikes), second)
                found.append(second)
            return torch.stack(found)

    return Net(), (torch.randn(5, 6),)


def _codec() -> tuple[Any, tuple[Any, ...]]:
    modules = import_module("encodec.modules")
    sizes = {"dimension": 8, "n_filters": 4, "ratios": [4, 2]}
    return torch.nn.Sequential(modules.SEANetEncoder(**sizes), modules.SEANetDecoder(**sizes)), (
        torch.randn(2, 1, 64),
    )


def _scores(kind: str, **settings: Any) -> Callable[[], tuple[Any, tuple[Any, ...]]]:
    """A flow, whose call is the logarithm of the density."""

    def make() -> tuple[Any, tuple[Any, ...]]:
        flow = _attribute(f"nflows.flows.{kind}")(**settings)

        class Density(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.flow = flow

            def forward(self, x: Any) -> Any:
                return self.flow.log_prob(x)

        return Density(), (torch.randn(6, 4),)

    return make


def _liquid(kind: str) -> tuple[Any, tuple[Any, ...]]:
    package = import_module("ncps.torch")
    return getattr(package, kind)(4, 6), (torch.randn(2, 5, 4),)


def _quantized(kind: str, **settings: Any) -> Callable[[], tuple[Any, tuple[Any, ...]]]:
    return lambda: (_attribute(f"vector_quantize_pytorch.{kind}")(**settings), (torch.randn(2, 10, 8),))


FLOW = {"features": 4, "hidden_features": 8, "num_layers": 2, "num_blocks_per_layer": 1}
SEQUENCES = (
    made("mambapy Mamba", _mamba),
    made("snntorch Leaky", _spiking),
    made("encodec SEANet", _codec),
    made("nflows MaskedAutoregressiveFlow", _scores("MaskedAutoregressiveFlow", **FLOW)),
    made("nflows SimpleRealNVP", _scores("SimpleRealNVP", **FLOW)),
    made("ncps LTC", partial(_liquid, "LTC")),
    made("ncps CfC", partial(_liquid, "CfC")),
    made("vector_quantize_pytorch VectorQuantize", _quantized("VectorQuantize", dim=8, codebook_size=12)),
    made(
        "vector_quantize_pytorch ResidualVQ",
        _quantized("ResidualVQ", dim=8, num_quantizers=2, codebook_size=12),
    ),
    made("vector_quantize_pytorch FSQ", _quantized("FSQ", dim=8, levels=[4, 3, 5])),
)

ASTEROID = {"n_src": 2, "n_repeats": 1, "n_filters": 16, "kernel_size": 16, "stride": 8, "bn_chan": 8}


def _lengths(model: Any) -> tuple[Any, tuple[Any, ...]]:
    return model, (torch.randn(2, 12, 8), torch.tensor([12, 9]))


def _audio(name: str, **settings: Any) -> Callable[[], tuple[Any, tuple[Any, ...]]]:
    return lambda: _lengths(_attribute(f"torchaudio.models.{name}")(**settings))


SOUNDS = (
    row("asteroid.models.ConvTasNet", SOUND, **ASTEROID, n_blocks=2, hid_chan=8, skip_chan=8),
    row("asteroid.models.DPRNNTasNet", SOUND, **ASTEROID, hid_size=8, chunk_size=10),
    row("asteroid.models.DPTNet", SOUND, **{**ASTEROID, "bn_chan": 16}, n_heads=2, ff_hid=8, chunk_size=10),
    made(
        "torchaudio Conformer",
        _audio("Conformer", input_dim=8, num_heads=2, ffn_dim=16, num_layers=1, depthwise_conv_kernel_size=3),
    ),
    row("torchaudio.models.DeepSpeech", randn((2, 1, 12, 8)), n_feature=8, n_hidden=8, n_class=5),
    row("torchaudio.models.Wav2Letter", randn((1, 1, 1600)), num_classes=5),
    row(
        "torchaudio.models.HDemucs",
        randn((1, 2, 4096)),
        sources=["a", "b"],
        channels=4,
        nfft=256,
        depth=3,
        dconv_lstm=4,
        dconv_attn=4,
    ),
    row(
        "torchaudio.models.WaveRNN",
        lambda: (torch.randn(1, 1, 24), torch.randn(1, 1, 8, 10)),
        upsample_scales=[2, 2],
        n_classes=8,
        hop_length=4,
        n_res_block=1,
        n_rnn=8,
        n_fc=8,
        n_freq=8,
        n_hidden=8,
        n_output=8,
    ),
)

SPANDREL = "spandrel.architectures."
WINDOWED = {
    "img_size": 16,
    "embed_dim": 8,
    "depths": [2],
    "num_heads": [2],
    "window_size": 4,
    "mlp_ratio": 2.0,
}


def _sam() -> tuple[Any, tuple[Any, ...]]:
    package = import_module("segment_anything.modeling")
    sizes = {"img_size": 64, "embed_dim": 16, "depth": 2, "num_heads": 2, "out_chans": 8}
    encoder = package.ImageEncoderViT(**sizes, use_rel_pos=True, window_size=3, global_attn_indexes=(1,))
    return encoder, (torch.randn(1, 3, 64, 64),)


IMAGES = (
    row(SPANDREL + "SwinIR.SwinIR", randn((1, 3, 16, 16)), **WINDOWED, upscale=2, upsampler="pixelshuffle"),
    row(
        SPANDREL + "HAT.HAT",
        randn((1, 3, 16, 16)),
        **{**WINDOWED, "embed_dim": 60},
        upscale=2,
        num_feat=8,
        squeeze_factor=6,
    ),
    row(SPANDREL + "NAFNet.NAFNet", PICTURES, width=4, enc_blk_nums=[1], dec_blk_nums=[1]),
    row(SPANDREL + "SCUNet.SCUNet", randn((1, 3, 64, 64)), config=[2] * 7, dim=64),
    row(SPANDREL + "RCAN.RCAN", PICTURES, n_resgroups=1, n_resblocks=1, n_feats=16),
    made("segment_anything ImageEncoderViT", _sam),
    made(
        "efficientnet_pytorch EfficientNet",
        lambda: (
            _attribute("efficientnet_pytorch.EfficientNet").from_name("efficientnet-b0", num_classes=5),
            (torch.randn(1, 3, 64, 64),),
        ),
    ),
    row("kornia.feature.HardNet", randn((3, 1, 32, 32)), pretrained=False),
    row("kornia.feature.HyNet", randn((3, 1, 32, 32)), pretrained=False),
)


def _graph_of_points() -> tuple[Any, tuple[Any, ...]]:
    model = _attribute("egnn_pytorch.EGNN_Network")(num_tokens=5, num_positions=8, dim=8, depth=1)
    return model, (torch.randint(0, 5, (2, 8)), torch.randn(2, 8, 3))


PHYSICS = (
    made("egnn_pytorch EGNN_Network", _graph_of_points),
    row(
        "neuralop.models.FNO",
        randn((2, 1, 8, 8)),
        n_modes=(4, 4),
        in_channels=1,
        out_channels=1,
        hidden_channels=4,
        n_layers=2,
    ),
    row(
        "neuralop.models.UNO",
        randn((2, 1, 8, 8)),
        in_channels=1,
        out_channels=1,
        hidden_channels=8,
        lifting_channels=8,
        projection_channels=8,
        n_layers=2,
        uno_out_channels=[8, 8],
        uno_n_modes=[[4, 4], [4, 4]],
        uno_scalings=[[0.5, 0.5], [2, 2]],
        channel_mlp_skip="linear",
    ),
)

ROWS = (*TRANSFORMERS, *TABLES, *SEQUENCES, *SOUNDS, *IMAGES, *PHYSICS)
