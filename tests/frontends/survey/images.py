"""Models of torchvision and timm without weights, on small images."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

import torch

from tests.frontends.survey.rows import Called, Row


def of_torchvision(path: str, shape: tuple[int, ...], **settings: Any) -> Called:
    module, name = path.rsplit(".", 1)
    function = getattr(import_module(f"torchvision.models.{module}"), name)
    return function(weights=None, **settings), (torch.randn(shape),), {}


def of_timm(name: str, size: int, **settings: Any) -> Called:
    model = import_module("timm").create_model(name, pretrained=False, num_classes=10, **settings)
    return model, (torch.randn(1, 3, size, size),), {}


def in_torchvision(path: str, *shape: int, **settings: Any) -> Row:
    name = path.rsplit(".", 1)[1]
    return Row(name, "torchvision", partial(of_torchvision, path, shape or (1, 3, 64, 64), **settings))


def in_timm(name: str, size: int = 64, **settings: Any) -> Row:
    return Row(f"timm/{name}", "timm", partial(of_timm, name, size, **settings))


def maxvit() -> Called:
    """A small MaxViT: windows of `maxvit_t` divide no image of less than 224 x 224."""
    sizes = {"stem_channels": 16, "block_channels": [16, 32], "block_layers": [1, 2], "head_dim": 8}
    model = import_module("torchvision.models.maxvit").MaxVit(
        input_size=(32, 32), partition_size=4, stochastic_depth_prob=0.0, **sizes
    )
    return model, (torch.randn(2, 3, 32, 32),), {}


def mvit(*, relative: bool) -> Called:
    """A small MViT; the sizes of `mvit_v1_b` are fixed. relative: with the positions of version 2."""
    module = import_module("torchvision.models.video.mvit")
    blocks = [
        module.MSBlockConfig(1, 8, 16, [], [3, 3, 3], [], [1, 2, 2]),
        module.MSBlockConfig(2, 16, 16, [3, 3, 3], [3, 3, 3], [1, 2, 2], [1, 1, 1]),
    ]
    model = module.MViT((32, 32), 4, blocks, relative, relative, relative, relative, num_classes=10)
    return model, (torch.randn(1, 3, 4, 32, 32),), {}


def s3d() -> Called:
    """S3D with the pool of its head, of 7 x 7 for images of 224 x 224, as large as the features here."""
    model = import_module("torchvision.models.video").s3d(weights=None)
    model.avgpool = torch.nn.AvgPool3d((2, 2, 2), 1)
    return model, (torch.randn(1, 3, 16, 64, 64),), {}


class Detector(torch.nn.Module):
    """A detector up to its scores and offsets: torch exports no selection of boxes."""

    def __init__(self, whole: Any) -> None:
        super().__init__()
        self.backbone, self.head = whole.backbone, whole.head

    def forward(self, x: Any) -> Any:
        return self.head(list(self.backbone(x).values()))


def detector(name: str) -> Called:
    function = getattr(import_module("torchvision.models.detection"), name)
    return Detector(function(weights=None, num_classes=5, **BACKBONE)), (torch.randn(1, 3, 64, 64),), {}


BACKBONE = {"weights_backbone": None}

TORCHVISION = (
    in_torchvision("resnet.resnet18"),
    in_torchvision("resnet.resnext50_32x4d"),
    in_torchvision("alexnet.alexnet"),
    in_torchvision("vgg.vgg11_bn", 1, 3, 32, 32),
    in_torchvision("densenet.densenet121"),
    in_torchvision("googlenet.googlenet", init_weights=False, aux_logits=False),
    in_torchvision("inception.inception_v3", 1, 3, 96, 96, init_weights=False),
    in_torchvision("mobilenetv2.mobilenet_v2"),
    in_torchvision("mobilenetv3.mobilenet_v3_small"),
    in_torchvision("shufflenetv2.shufflenet_v2_x0_5"),
    in_torchvision("squeezenet.squeezenet1_1"),
    in_torchvision("mnasnet.mnasnet0_5"),
    in_torchvision("efficientnet.efficientnet_b0"),
    in_torchvision("regnet.regnet_y_400mf"),
    in_torchvision("convnext.convnext_tiny", 1, 3, 32, 32),
    in_torchvision("vision_transformer.vit_b_32", 1, 3, 64, 64, image_size=64),
    in_torchvision("swin_transformer.swin_t"),
    in_torchvision("swin_transformer.swin_v2_t"),
    Row("maxvit", "torchvision", maxvit),
    in_torchvision("segmentation.fcn_resnet50", 1, 3, 32, 32, **BACKBONE),
    in_torchvision("segmentation.deeplabv3_mobilenet_v3_large", **BACKBONE),
    in_torchvision("segmentation.lraspp_mobilenet_v3_large", **BACKBONE),
    in_torchvision("video.r3d_18", 1, 3, 4, 32, 32),
    in_torchvision("video.r2plus1d_18", 1, 3, 4, 32, 32),
    Row("s3d", "torchvision", s3d),
    Row("mvit", "torchvision", partial(mvit, relative=False)),
    Row("mvit v2", "torchvision", partial(mvit, relative=True)),
    in_torchvision("detection.ssdlite320_mobilenet_v3_large", 1, 3, 64, 64, **BACKBONE),
    in_torchvision("detection.retinanet_resnet50_fpn", 1, 3, 64, 64, **BACKBONE),
    Row("ssdlite320 before boxes", "torchvision", partial(detector, "ssdlite320_mobilenet_v3_large")),
    Row("retinanet before boxes", "torchvision", partial(detector, "retinanet_resnet50_fpn")),
    Row("fcos before boxes", "torchvision", partial(detector, "fcos_resnet50_fpn")),
)

TIMM = tuple(
    in_timm(name)
    for name in [
        "resnet26d",
        "efficientnet_lite0",
        "mobilenetv3_small_050",
        "convnext_atto",
        "convnextv2_atto",
        "mixnet_s",
        "ghostnet_100",
        "hardcorenas_a",
        "lcnet_050",
        "mobileone_s0",
        "repvgg_a0",
        "regnetx_002",
        "seresnet18",
        "skresnet18",
        "res2net50_14w_8s",
        "resnest14d",
        "rexnet_100",
        "dla34",
        "dpn48b",
        "cspresnet50",
        "darknet17",
        "ese_vovnet19b_slim_dw",
        "vovnet39a",
        "hgnetv2_b0",
        "starnet_s050",
        "repvit_m0_9",
        "mambaout_femto",
        "inception_next_atto",
        "fastvit_t8",
        "edgenext_xx_small",
        "mobilevit_xxs",
        "mobilevitv2_050",
        "efficientformerv2_s0",
        "efficientvit_b0",
        "poolformerv2_s12",
        "nf_regnet_b0",
        "dm_nfnet_f0",
        "selecsls42",
        "tresnet_m",
        "hrnet_w18_small_v2",
        "nextvit_small",
        "lambda_resnet26t",
        "botnet26t_256",
        "shvit_s1",
        "swiftformer_xs",
        "convmixer_768_32",
        "focalnet_tiny_srf",
        "davit_tiny",
        "pvt_v2_b0",
        "twins_pcpvt_small",
    ]
) + tuple(
    in_timm(name, 64, img_size=64)
    for name in [
        "vit_tiny_patch16_224",
        "deit3_small_patch16_224",
        "beit_base_patch16_224",
        "cait_xxs24_224",
        "xcit_nano_12_p16_224",
        "mixer_s32_224",
        "gmlp_ti16_224",
        "resmlp_12_224",
        "eva02_tiny_patch14_224",
        "vit_relpos_small_patch16_224",
        "maxvit_rmlp_pico_rw_256",
        "coatnet_nano_rw_224",
        "hiera_tiny_224",
        "pit_ti_224",
        "tnt_s_legacy_patch16_224",
        "swin_tiny_patch4_window7_224",
        "swinv2_cr_tiny_224",
        "mvitv2_tiny",
        "nest_tiny",
        "volo_d1_224",
        "coat_lite_tiny",
        "gcvit_xxtiny",
        "visformer_tiny",
        "sequencer2d_s",
        "vit_small_patch16_rope_224",
        "levit_128s",
    ]
)

FIXED = (in_timm("halonet26t", 256), in_timm("tiny_vit_5m_224", 224), in_timm("crossvit_tiny_240", 240))
"""Models whose windows do not divide smaller images."""

ROWS = (*TORCHVISION, *TIMM, *FIXED)
