"""Models of packages that no other module here has: brain waves, genes, Gaussian processes, equations,
pictures and sound, with small sizes. `measures.py` has more.

Those of a package that is not installed are left out. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import torch
from torch import nn

from tests.frontends.survey.further import _attribute, made
from tests.frontends.survey.latest import ROWS16, called
from tests.frontends.survey.packages import randn, row
from tests.frontends.survey.rows import Row

Example = tuple[Any, tuple[Any, ...]]


class Calls(nn.Module):
    """A function of modules and inputs."""

    def __init__(self, function: Callable[..., Any], *parts: Any) -> None:
        super().__init__()
        self.function, self.parts = function, nn.ModuleList(parts)

    def forward(self, *inputs: Any) -> Any:
        return self.function(*self.parts, *inputs)


class Patches(nn.Module):
    """An encoder of pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 16, 8, 8)

    def forward(self, x: Any) -> Any:
        return self.layer(x).flatten(2).transpose(1, 2)


BRAIN = (
    "ATCNet",
    "AttentionBaseNet",
    "CodeBrain",
    "EEGConformer",
    "EEGMiner",
    "FBMSNet",
    "LUNA",
    "MVPFormer",
    "SPARCNet",
    "SSTDPN",
    "SyncNet",
    "USleep",
)


def brain(name: str) -> Example:
    model = _attribute(f"braindecode.models.{name}")(n_chans=8, n_outputs=3, n_times=600, sfreq=100)
    return model, (torch.randn(2, 8, 600),)


def captions() -> Example:
    model = _attribute("coca_pytorch.CoCa")(
        dim=16,
        num_tokens=20,
        unimodal_depth=1,
        multimodal_depth=1,
        image_dim=16,
        num_img_queries=4,
        dim_head=8,
        heads=2,
        img_encoder=Patches(),
    )
    return model, (torch.randint(1, 20, (2, 8)), torch.randn(2, 3, 32, 32))


def genes() -> Example:
    model = import_module("enformer_pytorch").Enformer.from_hparams(
        dim=96,
        depth=1,
        heads=2,
        output_heads={"human": 5},
        target_length=-1,
        num_downsamples=3,
        dim_divisible_by=8,
    )
    return model, (torch.rand(1, 64, 4),)


class Regression(nn.Module):
    """The mean of an exact Gaussian process."""

    def __init__(self) -> None:
        super().__init__()
        package = import_module("gpytorch")
        matern = package.kernels.MaternKernel(nu=2.5, ard_num_dims=3)
        self.kernel = package.kernels.ScaleKernel(matern) + package.kernels.PeriodicKernel()
        self.mean = package.means.LinearMean(3)

    def forward(self, x: Any, y: Any, z: Any) -> Any:
        factor = torch.linalg.cholesky(self.kernel(x, x).to_dense() + 0.1 * torch.eye(len(x)))
        weights = torch.cholesky_solve((y - self.mean(x))[:, None], factor)
        return self.mean(z) + (self.kernel(z, x).to_dense() @ weights)[:, 0]


class Controlled(nn.Module):
    """An equation that a spline of its inputs drives."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.field = nn.Linear(3, 6), nn.Linear(6, 18)

    def slope(self, _: Any, z: Any) -> Any:
        return self.field(z).tanh().view(*z.shape[:-1], 6, 3)

    def forward(self, coefficients: Any) -> Any:
        package = import_module("torchcde")
        spline = package.CubicSpline(coefficients)
        return package.cdeint(
            X=spline,
            func=self.slope,
            z0=self.first(spline.evaluate(spline.interval[0])),
            t=spline.interval,
            method="rk4",
            options={"step_size": 1.0},
            adjoint=False,
        )


def stochastic() -> Example:
    """An equation whose noise is given."""
    package = import_module("torchsde")

    class Noise(package.BaseBrownian):
        shape, dtype, device = (3, 4), torch.float32, torch.device("cpu")
        levy_area_approximation = "none"

        def __init__(self, size: Any) -> None:
            super().__init__()
            self.size_ = size

        def __call__(self, start: Any, end: Any = None, **_: Any) -> Any:
            return self.size_ * (end - start) ** 0.5

        def __repr__(self) -> str:
            return "noise"

        def to(self, *_: Any) -> Any:
            return self

        def size(self) -> Any:
            return self.shape

    class Equation(nn.Module):
        noise_type, sde_type = "diagonal", "ito"

        def __init__(self) -> None:
            super().__init__()
            self.drift, self.spread = nn.Linear(4, 4), nn.Linear(4, 4)

        def f(self, _: Any, y: Any) -> Any:
            return self.drift(y).tanh()

        def g(self, _: Any, y: Any) -> Any:
            return self.spread(y).sigmoid()

    def solved(equation: Any, y: Any, size: Any) -> Any:
        times = torch.tensor([0.0, 0.5, 1.0])
        return package.sdeint(equation, y, times, bm=Noise(size), dt=0.25, method="euler")

    return Calls(solved, Equation()), (torch.randn(3, 4), torch.randn(3, 4))


def streams() -> Example:
    package = import_module("hyper_connections").HyperConnections
    make, expand, reduce = package.get_init_and_expand_reduce_stream_functions(3)
    first = make(dim=16, branch=nn.Linear(16, 16))
    second = make(dim=16, branch=nn.Sequential(nn.Linear(16, 16), nn.GELU()))
    return Calls(lambda a, b, x: reduce(b(a(expand(x)))), first, second), ROWS16()


def scanned() -> Example:
    scan = _attribute("assoc_scan.AssocScan")()

    def gated(gate: Any, layer: Any, x: Any) -> Any:
        return scan(gate(x).sigmoid(), layer(x))

    return Calls(gated, nn.Linear(16, 16), nn.Linear(16, 16)), ROWS16()


def hierarchical() -> Example:
    settings = {"input_size": (64, 64), "embed_dim": 16, "num_heads": 1, "num_classes": 5, "q_pool": 2}
    return _attribute("hiera.Hiera")(**settings, stages=(1, 1, 1, 1)), (torch.randn(2, 3, 64, 64),)


CODEC = {"encoder_dim": 8, "encoder_rates": [2, 2], "decoder_dim": 16, "decoder_rates": [2, 2]}
ROWS: tuple[Row, ...] = (
    *(made(f"braindecode {name}", partial(brain, name)) for name in BRAIN),
    made("coca_pytorch CoCa", captions),
    made("hiera Hiera", hierarchical),
    made("enformer_pytorch Enformer", genes),
    made("gpytorch exact", lambda: (Regression(), (torch.randn(6, 3), torch.randn(6), torch.randn(4, 3)))),
    made("torchcde cdeint", lambda: (Controlled(), (torch.randn(2, 5, 12),))),
    made("torchsde sdeint", stochastic),
    made("hyper_connections HyperConnections", streams),
    made("assoc_scan AssocScan", scanned),
    row(
        "colt5_attention.ConditionalRoutedTransformerBlock",
        ROWS16,
        dim=16,
        num_heavy_attn_tokens_q=4,
        num_heavy_attn_tokens_kv=4,
        num_heavy_ff_tokens=4,
        light_dim_head=8,
        light_heads=2,
        light_window_size=8,
        heavy_dim_head=8,
        heavy_heads=2,
    ),
    row("product_key_memory.PKM", ROWS16, dim=16, heads=2, dim_head=8, num_keys=8, topk=4),
    row(
        "magvit2_pytorch.VideoTokenizer",
        randn((1, 3, 5, 16, 16)),
        {"return_recon": True},
        image_size=16,
        init_dim=8,
        max_dim=16,
        codebook_size=16,
        layers=("residual", "compress_space", "attend_space", "compress_time"),
        use_gan=False,
        perceptual_loss_weight=0.0,
        flash_attn=False,
        attn_dim_head=8,
        attn_heads=2,
    ),
    row(
        "rin_pytorch.RIN",
        lambda: (torch.randn(2, 3, 32, 32), torch.rand(2)),
        dim=16,
        image_size=32,
        patch_size=8,
        depth=2,
        num_latents=4,
        dim_latent=16,
        heads=2,
        dim_head=8,
    ),
    row(
        "torchxrayvision.models.DenseNet",
        randn((2, 1, 64, 64)),
        num_classes=4,
        in_channels=1,
        growth_rate=8,
        block_config=(2, 2, 2, 2),
        num_init_features=8,
    ),
    row(
        "openunmix.model.OpenUnmix",
        lambda: (torch.rand(2, 2, 33, 10),),
        nb_bins=33,
        nb_channels=2,
        hidden_size=16,
        nb_layers=1,
        max_bin=20,
    ),
    row(
        "nnAudio.features.CQT2010v2",
        randn((1, 1, 4000)),
        sr=4000,
        n_bins=24,
        fmin=55,
        hop_length=128,
        verbose=False,
    ),
    row(
        "nnAudio.features.MFCC",
        randn((2, 1, 2000)),
        sr=4000,
        n_mfcc=5,
        n_fft=128,
        n_mels=8,
        hop_length=32,
        verbose=False,
    ),
    row(
        "nnAudio.features.Gammatonegram",
        randn((2, 1, 2000)),
        sr=4000,
        n_fft=128,
        n_bins=8,
        hop_length=32,
        verbose=False,
    ),
    row("x_mlps_pytorch.nFeedforwards", randn((4, 16)), dim=16, depth=2),
    row("s5.S5Block", ROWS16, dim=16, state_dim=8, bidir=False),
    row(
        "snac.SNAC",
        randn((1, 1, 64)),
        **CODEC,
        attn_window_size=None,
        codebook_size=16,
        codebook_dim=4,
        vq_strides=[2, 1],
        noise=False,
    ),
    row(
        "demucs.demucs.Demucs",
        randn((1, 1, 512)),
        sources=["a", "b"],
        audio_channels=1,
        channels=4,
        depth=2,
        lstm_layers=1,
        resample=False,
        dconv_attn=2,
        dconv_lstm=2,
        norm_starts=1,
        norm_groups=2,
    ),
    called("pretrainedmodels.nasnetamobile", inputs=randn((1, 3, 224, 224)), num_classes=5, pretrained=None),
    called("pretrainedmodels.bninception", inputs=randn((1, 3, 224, 224)), num_classes=5, pretrained=None),
)
