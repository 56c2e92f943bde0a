"""Models to train: name, module, loss, inputs and targets, small enough to run in seconds.

Those of torchvision, timm and transformers are made from their configurations, without weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

from tests.frontends import torch_models as small
from tests.frontends.torch_models import F, nn, torch


@dataclass(frozen=True)
class Example:
    """A model with a loss, its inputs (a tuple or keywords) and targets.

    is_double: whether to train it in f64, where rounding hides no faults; else the tolerance is that of bf16.
    """

    model: Any
    loss: Callable[..., Any] | None
    inputs: Any
    targets: tuple[Any, ...] = ()
    is_double: bool = True

    def doubled(self) -> Example:
        """The example in f64."""
        as_double = partial(
            torch.utils._pytree.tree_map,
            lambda leaf: (
                leaf.double() if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf
            ),
        )
        return replace(
            self, model=self.model.double(), inputs=as_double(self.inputs), targets=as_double(self.targets)
        )


def square(output: Any) -> Any:
    """A loss of all tensors that a model returns."""
    if isinstance(output, torch.Tensor):
        return (output.float() * torch.linspace(0.5, 1.5, output.shape[-1])).square().mean()
    return sum(square(part) for part in (output.values() if isinstance(output, dict) else output))


def _image(size: int = 32, batch: int = 2) -> tuple[Any, ...]:
    return (torch.randn(batch, 3, size, size),)


def _labels(count: int = 10, batch: int = 2) -> tuple[Any, ...]:
    return (torch.randint(0, count, (batch,)),)


def _classified(model: Any, size: int = 32, batch: int = 2) -> Example:
    return Example(model, F.cross_entropy, _image(size, batch), _labels(batch=batch))


# ---------------------------------------------------------------------- plain models


class Dlrm(nn.Module):
    """Bags of embeddings and dense features, whose products are features of a second MLP."""

    def __init__(self, tables: int = 3, rows: int = 20, size: int = 8) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, size) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, size), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(size + pairs, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, dense: Any, sparse: Any) -> Any:
        x = self.bottom(dense)
        features = torch.stack(
            [x, *(t(i).sum(1) for t, i in zip(self.tables, sparse.unbind(1), strict=True))], 1
        )
        products = torch.bmm(features, features.transpose(1, 2))
        rows, columns = torch.tril_indices(features.shape[1], features.shape[1], -1)
        return self.top(torch.cat([x, products[:, rows, columns]], 1)).squeeze(1)


class Generator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.ConvTranspose2d(8, 16, 4, 1, 0, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            nn.ConvTranspose2d(16, 8, 4, 2, 1, groups=2, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.ConvTranspose2d(8, 3, 3, 2, 1, output_padding=1),
            nn.Tanh(),
        )

    def forward(self, noise: Any) -> Any:
        return self.layers(noise[:, :, None, None])


def discriminator() -> Any:
    """Strided convolutions with spectral normalisation left out, leaky."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 4, 2, 1),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(8, 16, 4, 2, 1, bias=False),
        nn.InstanceNorm2d(16, affine=True),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(16, 1, 4),
        nn.Flatten(0),
    )


class Pools(nn.Module):
    """Every pooling and interpolation, and convolutions with dilation and groups."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, 2, 2, dilation=2)
        self.second = nn.Conv2d(
            8, 12, (3, 5), padding=(1, 2), groups=4, dilation=(1, 2), padding_mode="reflect"
        )
        self.line = nn.Conv1d(12, 6, 3, stride=2)
        self.volume = nn.Conv3d(1, 2, 3, padding=1)

    def forward(self, x: Any) -> Any:
        x = F.silu(self.first(x))
        x = F.max_pool2d(x, 3, 2, 1, ceil_mode=True) + F.avg_pool2d(x, 3, 2, 1, ceil_mode=True)
        x = F.gelu(self.second(x), approximate="tanh")
        up = [
            F.interpolate(x, scale_factor=2, mode="nearest"),
            F.interpolate(x, (14, 15), mode="nearest-exact"),
            F.interpolate(x, scale_factor=2.5, mode="bilinear", align_corners=True),
            F.interpolate(x, (13, 12), mode="bilinear"),
            F.interpolate(x, (15, 13), mode="bicubic"),
        ]
        x = sum(F.adaptive_avg_pool2d(each, (12, 10)) for each in up) + F.pad(
            F.adaptive_avg_pool2d(x, (3, 4)), (0, 6, 9, 0)
        )
        line = self.line(x.mean(2))
        line = F.interpolate(line, scale_factor=1.5, mode="linear") + F.adaptive_avg_pool1d(
            F.avg_pool1d(F.pad(line, (1, 2)), 2, 1), 6
        )
        volume = F.max_pool3d(F.softplus(self.volume(x.reshape(2, 1, 12, 12, 10))), 2)
        volume = F.interpolate(volume, scale_factor=2, mode="trilinear") + F.adaptive_avg_pool3d(volume, 1)
        return line.flatten(1).mean(1) + F.avg_pool3d(volume, 2, padding=1, count_include_pad=False).flatten(
            1
        ).mean(1)


class Sequence(nn.Module):
    """A recurrent tagger."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.embed, self.core, self.head = (
            nn.Embedding(20, 8, padding_idx=0),
            kind(8, 12, 2, batch_first=True),
            nn.Linear(12, 5),
        )

    def forward(self, tokens: Any) -> Any:
        return self.head(self.core(self.embed(tokens))[0]).transpose(1, 2)


def _of_torch() -> dict[str, Callable[[], Example]]:
    words = partial(torch.randint, 0, 20, (2, 6))
    encoder = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    return {
        "mlp": lambda: Example(small.MLP(), F.mse_loss, (torch.randn(8, 3, 16),), (torch.randn(8, 3, 16),)),
        "transformer": lambda: Example(small.Transformer(), square, (torch.randint(0, 32, (4, 6)),)),
        "rotary": lambda: Example(small.Rotary(), square, (torch.randn(2, 6, 16),)),
        "resnet": lambda: _classified(small.ResNet()),
        "unet": lambda: Example(
            small.UNet(),
            F.mse_loss,
            (torch.randn(2, 4, 16, 16), torch.tensor([3.0, 7.0])),
            (torch.randn(2, 4, 16, 16),),
        ),
        "pools": lambda: Example(Pools(), square, (torch.randn(2, 3, 20, 22),)),
        "lstm": lambda: Example(
            Sequence(nn.LSTM), F.cross_entropy, (words(),), (torch.randint(0, 5, (2, 6)),)
        ),
        "gru": lambda: Example(Sequence(nn.GRU), F.cross_entropy, (words(),), (torch.randint(0, 5, (2, 6)),)),
        "dlrm": lambda: Example(
            Dlrm(),
            F.binary_cross_entropy_with_logits,
            (torch.randn(5, 4), torch.randint(0, 20, (5, 3, 2))),
            (torch.rand(5),),
        ),
        "generator": lambda: Example(Generator(), square, (torch.randn(3, 8),)),
        "discriminator": lambda: Example(
            discriminator(), F.binary_cross_entropy_with_logits, _image(16), (torch.tensor([1.0, 0.0]),)
        ),
        "encoder": lambda: Example(
            nn.TransformerEncoder(encoder, 2, enable_nested_tensor=False), square, (torch.randn(2, 5, 16),)
        ),
        "experts": lambda: Example(small.Experts(), square, (torch.randn(6, 8),)),
        "scattered": lambda: Example(
            small.Scattered(), lambda output: square(output[:2]), (torch.randn(6, 8),)
        ),
        "windows": lambda: Example(small.Windows(), square, (torch.randn(2, 8, 8, 8),)),
        "tied": lambda: Example(small.Loss(), None, (words(), words())),
        "autocast": lambda: Example(small.Autocast(), square, (torch.randn(4, 8),), is_double=False),
    }


# ---------------------------------------------------------------------- packages


def _without_dropout(model: Any) -> Any:
    """The model with its dropout and stochastic depth at probability 0: their numbers are not torch's."""
    for module in model.modules():
        for name in ("p", "drop_prob", "drop_path_rate"):
            if isinstance(getattr(module, name, None), float) and type(module).__name__ in (
                "Dropout",
                "Dropout1d",
                "Dropout2d",
                "StochasticDepth",
                "DropPath",
            ):
                setattr(module, name, 0.0)
        if isinstance(module, nn.MultiheadAttention):
            module.dropout = 0.0
    return model


def _of_torchvision() -> dict[str, Callable[[], Example]]:
    models = import_module("torchvision.models")

    def made(name: str, size: int = 32, **options: Any) -> Callable[[], Example]:
        return lambda: _classified(_without_dropout(getattr(models, name)(num_classes=10, **options)), size)

    def vgg() -> Any:
        layers = models.vgg.make_layers([8, "M", 16, 16, "M", 32, 512, "M"], batch_norm=True)
        model = models.VGG(layers, num_classes=10, dropout=0.0)
        model.classifier[0], model.classifier[3] = nn.Linear(512 * 49, 16), nn.Linear(16, 16)
        model.classifier[6] = nn.Linear(16, 10)
        return model

    block = import_module("torchvision.models.convnext").CNBlockConfig
    swin = import_module("torchvision.models.swin_transformer").SwinTransformer
    vision = import_module("torchvision.models.vision_transformer").VisionTransformer
    return {
        "torchvision resnet18": made("resnet18"),
        "torchvision mobilenet_v2": made("mobilenet_v2", width_mult=0.35),
        "torchvision mobilenet_v3_small": made("mobilenet_v3_small"),
        "torchvision vgg": lambda: _classified(vgg()),
        "torchvision squeezenet1_1": made("squeezenet1_1"),
        "torchvision shufflenet_v2_x0_5": made("shufflenet_v2_x0_5"),
        "torchvision densenet": lambda: _classified(models.DenseNet(8, (2, 2, 2, 2), 16, num_classes=10)),
        "torchvision efficientnet_b0": made("efficientnet_b0"),
        "torchvision convnext": lambda: _classified(
            models.ConvNeXt([block(16, 32, 1), block(32, 64, 1), block(64, None, 1)], num_classes=10)
        ),
        "torchvision swin": lambda: _classified(
            swin([2, 2], 16, [2, 2], [2, 4], [4, 4], num_classes=10, stochastic_depth_prob=0.0)
        ),
        "torchvision vit": lambda: _classified(vision(32, 8, 2, 2, 16, 32, num_classes=10)),
        "torchvision fcn": lambda: Example(
            _without_dropout(
                models.segmentation.lraspp_mobilenet_v3_large(weights_backbone=None, num_classes=4)
            ),
            lambda output, target: F.cross_entropy(output["out"], target),
            _image(32),
            (torch.randint(0, 4, (2, 32, 32)),),
        ),
    }


def _of_timm() -> dict[str, Callable[[], Example]]:
    timm = import_module("timm")
    mixer = import_module("timm.models.mlp_mixer").MlpMixer

    def made(name: str, size: int = 32, **options: Any) -> Callable[[], Example]:
        return lambda: _classified(_without_dropout(timm.create_model(name, num_classes=10, **options)), size)

    return {
        "timm resnet10t": made("resnet10t"),
        "timm mobilenetv4_conv_small": made("mobilenetv4_conv_small"),
        "timm test_vit": made("test_vit", img_size=32),
        "timm test_convnext": made("test_convnext"),
        "timm test_nfnet": made("test_nfnet"),
        "timm mixer": lambda: _classified(
            mixer(num_classes=10, img_size=32, patch_size=8, num_blocks=2, embed_dim=32)
        ),
        "timm regnetx_002": made("regnetx_002"),
    }


_TINY = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
_WORDS = {"vocab_size": 40, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def _of_transformers() -> dict[str, Callable[[], Example]]:
    hf = import_module("transformers")

    def made(
        model: str, config: str, inputs: Callable[[], dict[str, Any]], **options: Any
    ) -> Callable[[], Example]:
        def example() -> Example:
            return Example(getattr(hf, model)(getattr(hf, config)(**options)), None, inputs())

        return example

    def tokens() -> dict[str, Any]:
        ids = torch.randint(3, 40, (2, 8))
        return {"input_ids": ids, "labels": ids, "use_cache": False}

    def masked() -> dict[str, Any]:
        given = tokens()
        return {
            "input_ids": given["input_ids"],
            "labels": given["labels"],
            "attention_mask": (torch.arange(8) < torch.tensor([[8], [6]])).long(),
        }

    def translated() -> dict[str, Any]:
        return {**masked(), "labels": torch.randint(3, 40, (2, 5)), "use_cache": False}

    def image() -> dict[str, Any]:
        return {"pixel_values": torch.randn(2, 3, 32, 32), "labels": torch.randint(0, 10, (2,))}

    def sound() -> dict[str, Any]:
        return {
            "input_features": torch.randn(2, 8, 32),
            "labels": torch.randint(3, 40, (2, 5)),
            "use_cache": False,
        }

    decoder = {**_TINY, **_WORDS, "num_key_value_heads": 2, "max_position_embeddings": 32}
    t5 = {
        "d_model": 32,
        "d_ff": 64,
        "d_kv": 8,
        "num_layers": 2,
        "num_heads": 4,
        "dropout_rate": 0.0,
        "decoder_start_token_id": 0,
        **_WORDS,
    }
    stacks = {
        f"{part}_{name}": size
        for part in ("encoder", "decoder")
        for name, size in {"layers": 1, "attention_heads": 4, "ffn_dim": 64}.items()
    }
    lengths = {"num_mel_bins": 8, "max_source_positions": 16, "max_target_positions": 16}
    whisper = {"d_model": 32, "dropout": 0.0, "decoder_start_token_id": 1, **stacks, **lengths, **_WORDS}
    gpt2 = {
        "n_embd": 32,
        "n_layer": 2,
        "n_head": 4,
        "n_positions": 32,
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
        **_WORDS,
    }
    experts = {"num_local_experts": 4, "experts_implementation": "batched_mm"}
    # Releases before 5 loop over the experts that tokens choose, whatever the option says.
    loops = hf.__version__.startswith("4.")
    mixtral = made("MixtralForCausalLM", "MixtralConfig", tokens, **decoder, **experts)
    vit = {**_TINY, **_NO_DROPOUT, "image_size": 32, "patch_size": 8, "num_labels": 10}
    return {
        "hf gpt2": made("GPT2LMHeadModel", "GPT2Config", tokens, **gpt2),
        "hf llama": made("LlamaForCausalLM", "LlamaConfig", tokens, **decoder),
        "hf llama eager": made(
            "LlamaForCausalLM", "LlamaConfig", tokens, attn_implementation="eager", **decoder
        ),
        "hf mistral": made("MistralForCausalLM", "MistralConfig", tokens, **decoder),
        "hf qwen2": made("Qwen2ForCausalLM", "Qwen2Config", tokens, **decoder),
        "hf qwen3": made("Qwen3ForCausalLM", "Qwen3Config", tokens, head_dim=8, **decoder),
        "hf gemma2": made("Gemma2ForCausalLM", "Gemma2Config", tokens, head_dim=8, **decoder),
        **({} if loops else {"hf mixtral": mixtral}),
        "hf mamba": made(
            "MambaForCausalLM",
            "MambaConfig",
            tokens,
            hidden_size=16,
            state_size=4,
            num_hidden_layers=2,
            use_mambapy=False,
            **_WORDS,
        ),
        "hf bert": made("BertForMaskedLM", "BertConfig", masked, **_TINY, **_WORDS, **_NO_DROPOUT),
        "hf t5": made("T5ForConditionalGeneration", "T5Config", translated, **t5),
        "hf vit": made("ViTForImageClassification", "ViTConfig", image, **vit),
        "hf whisper": made("WhisperForConditionalGeneration", "WhisperConfig", sound, **whisper),
    }


SOURCES: dict[str, Callable[[], dict[str, Callable[[], Example]]]] = {
    "torch": _of_torch,
    "torchvision": _of_torchvision,
    "timm": _of_timm,
    "transformers": _of_transformers,
}
"""Examples by the package that they need."""
