"""Models of pytorchcv, pytorch_metric_learning and rotary_embedding_torch, which no other module here has.

Those of a package that is not installed are left out. Nothing is downloaded.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module

import torch
from torch import nn

from tests.frontends.survey.further import _attribute, made
from tests.frontends.survey.newest import Calls, Example
from tests.frontends.survey.rows import Row

CIFAR = [
    "densenet40_k12",
    "diaresnet20",
    "diapreresnet20",
    "msdnet22",
    "nin",
    "preresnet20",
    "pyramidnet110_a48",
    "resdropresnet20",
    "resnet20",
    "resnext20_32x2d",
    "rir",
    "ror3_56",
    "sepreresnet20",
    "seresnet20",
    "shakedropresnet20",
    "shakeshakeresnet20_2x16d",
    "xdensenet40_2_k24_bc",
]
"""Nets of pictures of 32 x 32."""
PICTURES = [
    "bagnet9",
    "condensenet74_c8_g8",
    "dicenet_wd5",
    "diracnet18v2",
    "fdmobilenet_wd4",
    "hardnet39ds",
    "igcv3_wd4",
    "menet108_8x1_g3",
    "mixnet_s",
    "mobilenet_wd4",
    "mobilenetb_wd4",
    "mobilenetv2b_wd4",
    "peleenet",
    "preresnet18_wd4",
    "resnet18_wd4",
    "selecsls42",
    "shufflenet_g1_wd4",
    "shufflenet_g3_wd4",
    "shufflenetv2_wd2",
    "shufflenetv2b_wd2",
    "squeezenet_v1_1",
    "squeezeresnet_v1_1",
    "fbnet_cb",
    "proxylessnas_cpu",
    "spnasnet",
    "darknet_ref",
]
"""Nets of pictures of 224 x 224, to which their last pooling fits."""
SCENES = [
    "cgnet",
    "ctxnet",
    "dabnet",
    "edanet",
    "enet",
    "erfnet",
    "esnet",
    "espcnet",
    "fastscnn",
    "fpenet",
    "lednet",
    "linknet",
    "sqnet",
]
"""Nets that tell what each pixel of a scene is of."""


def of_zoo(name: str, size: int, **settings: object) -> Example:
    torch.manual_seed(0)
    model = import_module("pytorchcv.model_provider").get_model(name, **settings)
    return model.eval(), (torch.randn(1, 3, size, size),)


def distances(path: str, **settings: object) -> Example:
    """A loss of metrics, of embeddings and their classes."""
    function = _attribute(f"pytorch_metric_learning.{path}")(**settings)
    return Calls(lambda module, *inputs: module(*inputs), function), (torch.randn(6, 8), torch.arange(6) % 3)


class Turned(nn.Module):
    """Rotary embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = _attribute("rotary_embedding_torch.RotaryEmbedding")(dim=16)

    def forward(self, queries: torch.Tensor) -> torch.Tensor:
        return self.turns.rotate_queries_or_keys(queries)


def _row(name: str, of: str, size: int, **settings: object) -> Row:
    return made(f"pytorchcv {name}", partial(of_zoo, of, size, **settings))


ROWS: tuple[Row, ...] = (
    *(_row(name, f"{name}_cifar10", 32) for name in CIFAR),
    *(_row(name, name, 224) for name in PICTURES),
    *(_row(name, f"{name}_cityscapes", 64, in_size=(64, 64)) for name in SCENES),
    *(
        made(f"pytorch_metric_learning {name}", partial(distances, f"losses.{name}", **settings))
        for name, settings in (
            ("ArcFaceLoss", {"num_classes": 3, "embedding_size": 8}),
            ("CosFaceLoss", {"num_classes": 3, "embedding_size": 8}),
            ("ProxyAnchorLoss", {"num_classes": 3, "embedding_size": 8}),
            ("ProxyNCALoss", {"num_classes": 3, "embedding_size": 8}),
            ("NormalizedSoftmaxLoss", {"num_classes": 3, "embedding_size": 8}),
        )
    ),
    made("rotary_embedding_torch RotaryEmbedding", lambda: (Turned(), (torch.randn(2, 4, 6, 16),))),
)
