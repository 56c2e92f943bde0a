"""Models of further packages, with small sizes: images, volumes, graphs, sound, diffusion, policies.

Those of a package that is not installed are left out. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import torch

from tests.frontends.survey.rows import Called, Row

Inputs = Callable[[], tuple[Any, ...]]


class Sampled(torch.nn.Module):
    """The tensor of a model that returns it with others, or in a class of its package."""

    def __init__(self, model: Any, keywords: Mapping[str, Any]) -> None:
        super().__init__()
        self.model, self.keywords = model, dict(keywords)

    def forward(self, *inputs: Any) -> Any:
        found = self.model(*inputs, **self.keywords)
        return found[0] if isinstance(found, tuple) else found


def made(path: str, settings: Mapping[str, Any], inputs: Inputs, keywords: Mapping[str, Any]) -> Called:
    module, _, name = path.rpartition(".")
    model, arguments = getattr(import_module(module), name)(**settings), inputs()
    if any(map(torch.nn.parameter.is_lazy, model.parameters())):
        with torch.no_grad():
            model(*arguments)  # a lazy module makes its parameters in its first call
    return (Sampled(model, keywords) if keywords else model), arguments, {}


def row(path: str, inputs: Inputs, keywords: Mapping[str, Any] | None = None, /, **settings: Any) -> Row:
    """A model by the path of its class, with what it is made and called with."""
    package, name = path.partition(".")[0], path.rpartition(".")[2]
    return Row(f"{package} {name}", package, partial(made, path, settings, inputs, keywords or {}))


def randn(*shapes: tuple[int, ...]) -> Inputs:
    return lambda: tuple(torch.randn(shape) for shape in shapes)


TUPLE = {"return_dict": False}
STEP = torch.tensor([3, 7])
DIFFUSERS = "diffusers."
BLOCKS = {"block_out_channels": (8, 16), "norm_num_groups": 4, "layers_per_block": 1}
WITH_WORDS = {
    **BLOCKS,
    "sample_size": 8,
    "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
    "cross_attention_dim": 16,
    "attention_head_dim": 4,
}

DIFFUSION = (
    row(
        DIFFUSERS + "UNet2DModel",
        lambda: (torch.randn(2, 3, 8, 8), STEP),
        TUPLE,
        **BLOCKS,
        sample_size=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=4,
    ),
    row(
        DIFFUSERS + "UNet2DConditionModel",
        lambda: (torch.randn(2, 4, 8, 8), STEP, torch.randn(2, 5, 16)),
        TUPLE,
        **WITH_WORDS,
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    ),
    row(
        DIFFUSERS + "UNet1DModel",
        lambda: (torch.randn(2, 2, 32), STEP),
        TUPLE,
        sample_size=32,
        block_out_channels=(32, 32, 64),
        extra_in_channels=64,
        down_block_types=("DownBlock1DNoSkip", "DownBlock1D", "AttnDownBlock1D"),
        up_block_types=("AttnUpBlock1D", "UpBlock1D", "UpBlock1DNoSkip"),
    ),
    row(
        DIFFUSERS + "AutoencoderKL",
        randn((2, 3, 8, 8)),
        TUPLE,
        **BLOCKS,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    ),
    row(
        DIFFUSERS + "VQModel",
        randn((2, 3, 8, 8)),
        TUPLE,
        **BLOCKS,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        num_vq_embeddings=16,
    ),
    row(
        DIFFUSERS + "AutoencoderTiny",
        randn((2, 3, 16, 16)),
        TUPLE,
        encoder_block_out_channels=(8, 8),
        decoder_block_out_channels=(8, 8),
        num_encoder_blocks=(1, 1),
        num_decoder_blocks=(1, 1),
    ),
    row(
        DIFFUSERS + "DiTTransformer2DModel",
        lambda: (torch.randn(2, 4, 8, 8), STEP, torch.tensor([1, 2])),
        TUPLE,
        num_attention_heads=2,
        attention_head_dim=8,
        in_channels=4,
        out_channels=8,
        num_layers=2,
        norm_num_groups=4,
        sample_size=8,
        num_embeds_ada_norm=10,
    ),
    row(
        DIFFUSERS + "SD3Transformer2DModel",
        lambda: (torch.randn(2, 4, 8, 8), torch.randn(2, 5, 16), torch.randn(2, 12), STEP),
        TUPLE,
        sample_size=8,
        in_channels=4,
        num_layers=2,
        attention_head_dim=8,
        num_attention_heads=2,
        joint_attention_dim=16,
        caption_projection_dim=16,
        pooled_projection_dim=12,
        out_channels=4,
    ),
    row(
        DIFFUSERS + "FluxTransformer2DModel",
        lambda: (
            torch.randn(2, 16, 4),
            torch.randn(2, 5, 16),
            torch.randn(2, 12),
            torch.tensor([0.3, 0.7]),
            torch.arange(48.0).view(16, 3) % 4,
            torch.zeros(5, 3),
        ),
        TUPLE,
        in_channels=4,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=16,
        pooled_projection_dim=12,
        axes_dims_rope=(4, 6, 6),
    ),
    row(
        DIFFUSERS + "PriorTransformer",
        lambda: (torch.randn(2, 8), STEP, torch.randn(2, 8), torch.randn(2, 5, 8)),
        TUPLE,
        num_attention_heads=2,
        attention_head_dim=4,
        num_layers=2,
        embedding_dim=8,
        num_embeddings=5,
        additional_embeddings=4,
    ),
    row(
        DIFFUSERS + "ControlNetModel",
        lambda: (torch.randn(2, 4, 8, 8), STEP, torch.randn(2, 5, 16), torch.randn(2, 3, 64, 64)),
        TUPLE,
        **{key: value for key, value in WITH_WORDS.items() if key != "sample_size"},
        conditioning_embedding_out_channels=(4, 8, 8, 8),
    ),
    row(
        DIFFUSERS + "CogVideoXTransformer3DModel",
        lambda: (torch.randn(1, 4, 4, 8, 8), torch.randn(1, 6, 16), STEP[:1]),
        TUPLE,
        num_attention_heads=2,
        attention_head_dim=8,
        in_channels=4,
        out_channels=4,
        time_embed_dim=8,
        text_embed_dim=16,
        num_layers=1,
        sample_width=8,
        sample_height=8,
        sample_frames=4,
        max_text_seq_length=6,
        temporal_compression_ratio=1,
    ),
)

MONAI = "monai.networks.nets."
PLANE = {"spatial_dims": 2, "in_channels": 1, "out_channels": 3}
PICTURE = randn((2, 1, 32, 32))
VOLUME = randn((1, 1, 16, 16, 16))

MEDICAL = (
    row(MONAI + "UNet", PICTURE, **PLANE, channels=(4, 8, 16), strides=(2, 2), num_res_units=1),
    row(MONAI + "AttentionUnet", PICTURE, **PLANE, channels=(4, 8, 16), strides=(2, 2)),
    row(MONAI + "BasicUNet", PICTURE, **PLANE, features=(4, 4, 8, 8, 16, 4)),
    row(
        MONAI + "DynUNet",
        VOLUME,
        spatial_dims=3,
        in_channels=1,
        out_channels=2,
        kernel_size=[3, 3, 3],
        strides=[1, 2, 2],
        upsample_kernel_size=[2, 2],
        filters=[4, 8, 8],
    ),
    row(MONAI + "SegResNet", VOLUME, spatial_dims=3, init_filters=8, in_channels=1, out_channels=2),
    row(MONAI + "VNet", VOLUME, spatial_dims=3, in_channels=1, out_channels=2),
    row(MONAI + "HighResNet", VOLUME, spatial_dims=3, in_channels=1, out_channels=2),
    row(
        MONAI + "UNETR",
        VOLUME,
        in_channels=1,
        out_channels=2,
        img_size=16,
        feature_size=4,
        hidden_size=16,
        mlp_dim=24,
        num_heads=2,
    ),
    row(
        MONAI + "SwinUNETR",
        randn((1, 1, 64, 64)),
        in_channels=1,
        out_channels=2,
        feature_size=12,
        spatial_dims=2,
    ),
    row(
        MONAI + "ViT",
        PICTURE,
        in_channels=1,
        img_size=32,
        patch_size=8,
        hidden_size=16,
        mlp_dim=24,
        num_layers=2,
        num_heads=2,
        spatial_dims=2,
    ),
    row(MONAI + "DenseNet", PICTURE, **PLANE, init_features=8, growth_rate=4, block_config=(2, 2)),
    row(
        MONAI + "ResNet",
        PICTURE,
        block="basic",
        layers=[1, 1, 1, 1],
        block_inplanes=[4, 8, 8, 16],
        spatial_dims=2,
        n_input_channels=1,
        num_classes=3,
    ),
    row(
        MONAI + "EfficientNetBN",
        PICTURE,
        model_name="efficientnet-b0",
        pretrained=False,
        spatial_dims=2,
        in_channels=1,
        num_classes=3,
    ),
    row(MONAI + "AutoEncoder", PICTURE, **PLANE, channels=(4, 8), strides=(2, 2)),
    row(
        MONAI + "MedNeXt",
        PICTURE,
        spatial_dims=2,
        init_filters=4,
        in_channels=1,
        out_channels=2,
        encoder_expansion_ratio=2,
        decoder_expansion_ratio=2,
        bottleneck_expansion_ratio=2,
        blocks_down=(1, 1, 1, 1),
        blocks_bottleneck=1,
        blocks_up=(1, 1, 1, 1),
    ),
)

SEGMENTED = randn((2, 3, 64, 64))
SEGMENTATION = tuple(
    row(
        f"segmentation_models_pytorch.{name}",
        SEGMENTED,
        encoder_name=encoder,
        encoder_weights=None,
        classes=2,
    )
    for name, encoder in {
        "Unet": "resnet18",
        "UnetPlusPlus": "resnet18",
        "MAnet": "resnet18",
        "Linknet": "mobilenet_v2",
        "FPN": "resnet18",
        "PSPNet": "resnet18",
        "DeepLabV3": "resnet18",
        "DeepLabV3Plus": "resnet18",
        "UPerNet": "resnet18",
        "Segformer": "mit_b0",
    }.items()
)


def _graph(features: int = 6) -> tuple[Any, ...]:
    edges = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 7, 0, 2], [1, 2, 3, 4, 5, 6, 7, 0, 4, 6]])
    return torch.randn(8, features), edges


GEOMETRIC = "torch_geometric.nn.models."
LAYERED = {"in_channels": 6, "hidden_channels": 8, "num_layers": 2, "out_channels": 3}
GRAPHS = (
    *(row(GEOMETRIC + name, _graph, **LAYERED) for name in ("GCN", "GAT", "GraphSAGE", "GIN", "EdgeCNN")),
    row(
        GEOMETRIC + "PNA",
        _graph,
        **LAYERED,
        aggregators=["mean", "max", "std"],
        scalers=["identity", "amplification"],
        deg=torch.tensor([0, 6, 2]),
    ),
    row("torch_geometric.nn.LightGCN", lambda: _graph()[1:], num_nodes=8, embedding_dim=6, num_layers=2),
    row("torch_geometric.nn.GPSConv", _graph, channels=6, conv=None, heads=2),
)

SPOKEN = randn((2, 20, 12))
SPEECH = (
    row(
        "speechbrain.lobes.models.ECAPA_TDNN.ECAPA_TDNN",
        SPOKEN,
        input_size=12,
        channels=[8] * 4 + [24],
        kernel_sizes=[5, 3, 3, 3, 1],
        dilations=[1, 2, 3, 4, 1],
        attention_channels=4,
        lin_neurons=6,
        res2net_scale=4,
        se_channels=4,
    ),
    row(
        "speechbrain.lobes.models.Xvector.Xvector",
        SPOKEN,
        in_channels=12,
        tdnn_blocks=3,
        tdnn_channels=[8, 8, 16],
        tdnn_kernel_sizes=[5, 3, 1],
        tdnn_dilations=[1, 2, 1],
        lin_neurons=6,
    ),
    row(
        "speechbrain.lobes.models.CRDNN.CRDNN",
        SPOKEN,
        input_size=12,
        cnn_channels=(4, 8),
        rnn_neurons=8,
        rnn_layers=1,
        dnn_neurons=8,
        dnn_blocks=1,
    ),
    row(
        "speechbrain.lobes.models.transformer.Branchformer.BranchformerEncoder",
        lambda: (torch.randn(2, 40, 16), None, None, torch.randn(1, 79, 16)),
        num_layers=1,
        nhead=2,
        csgu_linear_units=16,
        d_model=16,
    ),
    row(
        "speechbrain.lobes.models.transformer.Conformer.ConformerEncoder",
        lambda: (torch.randn(2, 9, 16), None, None, torch.randn(1, 17, 16)),
        num_layers=1,
        d_model=16,
        d_ffn=24,
        nhead=2,
        kernel_size=3,
    ),
)


def words() -> tuple[Any, ...]:
    return (torch.randint(0, 32, (2, 8)),)


def _x_transformer(stack: Mapping[str, Any], wrapper: Mapping[str, Any], kind: str = "Decoder") -> Called:
    package = import_module("x_transformers")
    layers = getattr(package, kind)(dim=16, depth=2, heads=2, attn_dim_head=8, **stack)
    model = package.TransformerWrapper(num_tokens=32, max_seq_len=16, attn_layers=layers, **wrapper)
    return model, words(), {}


X_TRANSFORMERS = tuple(
    Row(f"x_transformers {name}", "x_transformers", partial(_x_transformer, stack, wrapper, kind))
    for name, (stack, wrapper, kind) in {
        "rotary": ({"rotary_pos_emb": True, "use_rmsnorm": True, "ff_glu": True}, {}, "Decoder"),
        "alibi": ({"alibi_pos_bias": True, "alibi_num_heads": 1}, {}, "Decoder"),
        "relative": ({"rel_pos_bias": True, "attn_qk_norm": True}, {}, "Decoder"),
        "dynamic": ({"dynamic_pos_bias": True, "gate_residual": True}, {}, "Decoder"),
        "memory": ({"attn_softclamp_logits": True}, {"num_memory_tokens": 2}, "Encoder"),
        "sandwich": ({"sandwich_norm": True, "attn_on_attn": True, "shift_tokens": 1}, {}, "Decoder"),
        "macaron": ({"macaron": True, "scale_residual": True, "attn_num_mem_kv": 2}, {}, "Decoder"),
    }.items()
)

VISION = {"image_size": 16, "patch_size": 4, "width": 16, "layers": 2, "head_width": 8}
TEXT = {"context_length": 8, "vocab_size": 32, "width": 16, "heads": 2, "layers": 2}


def _clip(kind: str, vision: Mapping[str, Any], text: Mapping[str, Any]) -> Called:
    package = import_module("open_clip.model")
    configs = {"vision_cfg": {**VISION, **vision}, "text_cfg": {**TEXT, **text}}
    model = getattr(package, kind)(embed_dim=12, **configs)
    return model, (torch.randn(2, 3, 16, 16), torch.randint(1, 32, (2, 8))), {}


CLIP = (
    Row("open_clip CLIP", "open_clip", partial(_clip, "CLIP", {}, {})),
    Row("open_clip CLIP, pooled", "open_clip", partial(_clip, "CLIP", {"pool_type": "avg"}, {})),
    Row("open_clip CustomTextCLIP", "open_clip", partial(_clip, "CustomTextCLIP", {}, {"embed_cls": True})),
)

TORCHRL = "torchrl.modules."
POLICIES = (
    row(
        TORCHRL + "MLP",
        randn((4, 6)),
        in_features=6,
        out_features=3,
        num_cells=[8, 8],
        norm_class=torch.nn.LayerNorm,
        norm_kwargs=[{"normalized_shape": 8}] * 2,
    ),
    row(
        TORCHRL + "ConvNet",
        randn((2, 3, 32, 32)),
        in_features=3,
        num_cells=[4, 8],
        kernel_sizes=[4, 3],
        strides=[2, 1],
        squeeze_output=False,
    ),
    row(TORCHRL + "DuelingCnnDQNet", randn((2, 3, 64, 64)), out_features=3),
    row(TORCHRL + "DdpgCnnActor", randn((2, 3, 64, 64)), action_dim=2),
    row(
        TORCHRL + "MultiAgentMLP",
        randn((4, 3, 6)),
        n_agent_inputs=6,
        n_agent_outputs=2,
        n_agents=3,
        centralized=False,
        share_params=False,
        num_cells=8,
        depth=1,
    ),
)


def _irreps(kind: str) -> Called:
    o3 = import_module("e3nn.o3")
    first = "4x0e + 2x1o"
    if kind == "Linear":
        return o3.Linear(first, "3x0e + 2x1o"), (torch.randn(5, 10),), {}
    model = o3.FullyConnectedTensorProduct(first, "1x0e + 1x1o", "3x0e + 2x1o")
    return model, (torch.randn(5, 10), torch.randn(5, 4)), {}


EQUIVARIANT = tuple(
    Row(f"e3nn {kind}", "e3nn", partial(_irreps, kind)) for kind in ("Linear", "FullyConnectedTensorProduct")
)

ROWS = (
    *DIFFUSION,
    *MEDICAL,
    *SEGMENTATION,
    *GRAPHS,
    *SPEECH,
    *X_TRANSFORMERS,
    *CLIP,
    *POLICIES,
    *EQUIVARIANT,
)
