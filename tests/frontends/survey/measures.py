"""Models of more packages that no other module here has: wavelets, metrics, tables, sparse scores, losses of
self-supervision and filters, with small sizes.

Those of a package that is not installed are left out. Nothing is downloaded.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

import torch
from torch import nn

from tests.frontends.survey.further import _attribute, made
from tests.frontends.survey.latest import PICTURE, ROWS16
from tests.frontends.survey.newest import Calls, Example
from tests.frontends.survey.rows import Row


def wavelets(forward: str, inverse: str, **settings: Any) -> Example:
    package = import_module("pytorch_wavelets")

    def denoised(there: Any, back: Any, x: Any) -> Any:
        low, high = there(x)
        return back((low.tanh(), [each.tanh() for each in high]))

    parts = getattr(package, forward)(J=2, **settings), getattr(package, inverse)(**settings)
    return Calls(denoised, *parts), PICTURE()


def similarity() -> Example:
    package = import_module("torchmetrics.functional.image")

    def metrics(layer: Any, x: Any, y: Any) -> Any:
        found, options = layer(x).sigmoid(), {"betas": (0.3, 0.7), "kernel_size": 5}
        whole = package.multiscale_structural_similarity_index_measure(found, y, data_range=1.0, **options)
        rest = package.universal_image_quality_index(layer(x), y), package.spectral_angle_mapper(found, y)
        return whole, *rest

    pictures = torch.rand(2, 3, 48, 48), torch.rand(2, 3, 48, 48)
    return Calls(metrics, nn.Conv2d(3, 3, 3, padding=1)), pictures


def quality() -> Example:
    package = import_module("piq")

    def metrics(layer: Any, x: Any, y: Any) -> Any:
        found = layer(x).sigmoid()
        named = ("gmsd", "vif_p", "haarpsi", "mdsi", "fsim")
        return package.ssim(found, y, kernel_size=5), [getattr(package, name)(found, y) for name in named]

    pictures = torch.rand(2, 3, 64, 64), torch.rand(2, 3, 64, 64)
    return Calls(metrics, nn.Conv2d(3, 3, 3, padding=1)), pictures


def extended() -> Example:
    package = import_module("xlstm")
    matrix = package.mLSTMLayerConfig(conv1d_kernel_size=4, qkv_proj_blocksize=4, num_heads=2)
    scalar = package.sLSTMLayerConfig(backend="vanilla", num_heads=2, conv1d_kernel_size=4)
    config = package.xLSTMBlockStackConfig(
        mlstm_block=package.mLSTMBlockConfig(mlstm=matrix),
        slstm_block=package.sLSTMBlockConfig(
            slstm=scalar, feedforward=package.FeedForwardConfig(proj_factor=1.3)
        ),
        context_length=8,
        num_blocks=2,
        embedding_dim=16,
        slstm_at=[1],
    )
    return package.xLSTMBlockStack(config), (torch.randn(2, 8, 16),)


def sparse() -> Example:
    package = import_module("entmax")

    def three(layer: Any, x: Any) -> Any:
        scores = layer(x)
        bisected = package.entmax_bisect(scores, alpha=1.3)
        return package.entmax15(scores, dim=-1), package.sparsemax(scores, dim=-1), bisected

    return Calls(three, nn.Linear(8, 8)), (torch.randn(4, 8),)


def cosines() -> Example:
    package = import_module("torch_dct")

    def both(layer: Any, x: Any) -> Any:
        return package.idct_2d(package.dct_2d(layer(x)) * 0.5) + package.dct(x)

    return Calls(both, nn.Linear(16, 16)), ROWS16()


def pieces() -> Example:
    package = import_module("rtdl_num_embeddings")
    bins = [torch.linspace(-2, 2, count) for count in (4, 5, 6)]
    embeddings = package.PiecewiseLinearEmbeddings(bins, 8, activation=True, version="B")
    return nn.Sequential(embeddings, nn.Flatten(), nn.Linear(24, 3)), (torch.randn(6, 3),)


def periods() -> Example:
    package = import_module("rtdl_num_embeddings")
    embeddings = package.PeriodicEmbeddings(5, 8, lite=False)
    return nn.Sequential(embeddings, nn.Flatten(), nn.Linear(40, 3)), (torch.randn(6, 5),)


def features() -> Example:
    model = _attribute("rtdl.FTTransformer").make_baseline(
        n_num_features=3,
        cat_cardinalities=[4, 5],
        d_token=8,
        n_blocks=1,
        attention_dropout=0.0,
        ffn_d_hidden=16,
        ffn_dropout=0.0,
        residual_dropout=0.0,
        d_out=2,
    )
    return model, (torch.randn(6, 3), torch.randint(0, 4, (6, 2)))


def views(name: str, *arguments: Any) -> Example:
    """A loss of two views of a batch."""
    loss = _attribute(f"lightly.loss.{name}")(*arguments)
    model = Calls(lambda layer, loss, x, y: loss(layer(x), layer(y)), nn.Linear(8, 8), loss)
    return model, (torch.randn(6, 8), torch.randn(6, 8))


def cepstra() -> Example:
    package = import_module("diffsptk")
    spectrum = package.STFT(frame_length=32, frame_period=16, fft_length=64)
    analysis = package.MelCepstralAnalysis(fft_length=64, cep_order=6, alpha=0.1, n_iter=2)
    return nn.Sequential(spectrum, analysis), (torch.randn(200),)


def plane() -> Example:
    package = import_module("ptwt")

    def there_and_back(layer: Any, x: Any) -> Any:
        return package.waverec2(package.wavedec2(layer(x), "db2", level=2, mode="zero"), "db2")

    return Calls(there_and_back, nn.Linear(16, 16)), ROWS16()


def filters() -> Example:
    package = import_module("julius")
    bands = package.SplitBands(sample_rate=8000, n_bands=3)
    return nn.Sequential(package.ResampleFrac(8, 5), package.LowPassFilter(0.2), bands), (
        torch.randn(2, 1, 200),
    )


def spectra() -> Example:
    package = import_module("auraloss")
    sizes = {"fft_sizes": [64, 32], "hop_sizes": [16, 8], "win_lengths": [64, 32]}
    losses = package.freq.MultiResolutionSTFTLoss(**sizes), package.time.ESRLoss(), package.time.SISDRLoss()
    model = Calls(
        lambda layer, *given: [loss(layer(given[-2]), given[-1]) for loss in given[:-2]],
        nn.Conv1d(1, 1, 3, padding=1),
        *losses,
    )
    return model, (torch.randn(2, 1, 200), torch.randn(2, 1, 200))


ROWS: tuple[Row, ...] = (
    made("pytorch_wavelets DTCWT", partial(wavelets, "DTCWTForward", "DTCWTInverse")),
    made("torchmetrics images", similarity),
    made("piq metrics", quality),
    made("xlstm xLSTMBlockStack", extended),
    made("entmax entmax15", sparse),
    made("torch_dct dct", cosines),
    made("rtdl FTTransformer", features),
    made("rtdl_num_embeddings Piecewise", pieces),
    made("rtdl_num_embeddings Periodic", periods),
    made("lightly VICReg", partial(views, "VICRegLoss")),
    made("lightly NTXent", partial(views, "NTXentLoss", 0.5)),
    made("lightly BarlowTwins", partial(views, "BarlowTwinsLoss")),
    made("diffsptk cepstrum", cepstra),
    made("ptwt wavedec2", plane),
    made("julius filters", filters),
    made("auraloss losses", spectra),
)
