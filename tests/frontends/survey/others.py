"""Models of packages that neither `packages.py` nor `further.py` has: sparse attention, experts, molecules,
flows, recommenders, spikes, spheres and sound, with small sizes.

Those of a package that is not installed are left out. Nothing is downloaded.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch

from tests.frontends.survey.further import _attribute, made, words
from tests.frontends.survey.packages import randn, row

SMALL = {"num_tokens": 20, "dim": 16, "depth": 1, "heads": 2}
ROWS16 = randn((2, 16, 16))
PICTURE = randn((2, 3, 32, 32))

TRANSFORMERS = (
    row(
        "reformer_pytorch.ReformerLM",
        words(20, 16),
        max_seq_len=16,
        bucket_size=4,
        n_hashes=2,
        causal=True,
        **SMALL,
    ),
    row("sinkhorn_transformer.SinkhornTransformerLM", words(20, 16), max_seq_len=16, bucket_size=4, **SMALL),
    row("charformer_pytorch.GBST", words(20, 16), num_tokens=20, dim=16, max_block_size=4),
    row(
        "hourglass_transformer_pytorch.HourglassTransformerLM",
        words(20, 16),
        num_tokens=20,
        dim=16,
        max_seq_len=16,
        depth=(1, 2, 1),
        shorten_factor=2,
        heads=2,
        dim_head=8,
    ),
    row("token_shift_gpt.TokenShiftGPT", words(20, 16), num_tokens=20, dim=16, max_seq_len=16, depth=2),
    row(
        "flash_pytorch.FLASHTransformer",
        words(20, 16),
        num_tokens=20,
        dim=16,
        depth=1,
        group_size=4,
        query_key_dim=8,
    ),
    row(
        "h_transformer_1d.HTransformer1D",
        words(20, 16),
        max_seq_len=16,
        block_size=4,
        dim_head=8,
        causal=True,
        **SMALL,
    ),
    row("gateloop_transformer.Transformer", words(20, 16), num_tokens=20, dim=16, depth=1),
    row(
        "compressive_transformer_pytorch.CompressiveTransformer",
        words(20, 16),
        emb_dim=16,
        seq_len=16,
        mem_len=16,
        cmem_len=4,
        **SMALL,
    ),
    row(
        "block_recurrent_transformer_pytorch.BlockRecurrentTransformer",
        words(20, 16),
        num_tokens=20,
        dim=16,
        depth=1,
        dim_head=8,
        heads=2,
        max_seq_len=16,
        block_width=8,
        num_state_vectors=4,
        recurrent_layers=(1,),
    ),
    row("soft_moe_pytorch.SoftMoE", ROWS16, dim=16, seq_len=16, num_experts=4),
    row("st_moe_pytorch.MoE", ROWS16, dim=16, num_experts=4),
    row("isab_pytorch.ISAB", ROWS16, dim=16, heads=2, num_latents=4),
    row(
        "iTransformer.iTransformer",
        randn((2, 12, 5)),
        num_variates=5,
        lookback_len=12,
        dim=16,
        depth=1,
        heads=2,
        dim_head=8,
        pred_length=(3, 6),
    ),
)


def _resnest() -> tuple[Any, tuple[Any, ...]]:
    package = import_module("resnest.torch.resnet")
    model = package.ResNet(
        package.Bottleneck, [1, 1, 1, 1], radix=2, groups=1, bottleneck_width=8, num_classes=5, avd=True
    )
    return model, (torch.randn(1, 3, 64, 64),)


PICTURES = (
    row("glom_pytorch.Glom", PICTURE, dim=16, levels=3, image_size=32, patch_size=8),
    row("slot_attention.SlotAttention", ROWS16, num_slots=3, dim=16),
    row(
        "halonet_pytorch.HaloAttention",
        randn((2, 16, 8, 8)),
        dim=16,
        block_size=4,
        halo_size=2,
        dim_head=8,
        heads=2,
    ),
    row(
        "bottleneck_transformer_pytorch.BottleStack",
        randn((2, 16, 8, 8)),
        dim=16,
        fmap_size=8,
        dim_out=32,
        num_layers=2,
        heads=2,
        dim_head=8,
        rel_pos_emb=True,
    ),
    row("deformable_attention.DeformableAttention", randn((2, 16, 16, 16)), dim=16, dim_head=8, heads=2),
    row(
        "torchsr.models.edsr.EDSR", PICTURE, n_resblocks=2, n_feats=8, scale=2, res_scale=1, pretrained=False
    ),
    row("facenet_pytorch.InceptionResnetV1", randn((1, 3, 96, 96))),
    row("pytorch_msssim.SSIM", randn((1, 3, 32, 32), (1, 3, 32, 32)), data_range=1.0),
    row(
        "lpips.LPIPS", randn((1, 3, 64, 64), (1, 3, 64, 64)), pretrained=False, pnet_rand=True, verbose=False
    ),
    made("resnest ResNet", _resnest),
    row(
        "unet.UNet",
        randn((1, 1, 32, 32)),
        num_encoding_blocks=3,
        out_channels_first_layer=4,
        padding=1,
        normalization="batch",
        residual=True,
    ),
    row(
        "denoising_diffusion_pytorch.Unet",
        lambda: (torch.randn(1, 3, 16, 16), torch.tensor([7])),
        dim=8,
        dim_mults=(1, 2),
    ),
)
SOUND = (
    row("conformer.Conformer", ROWS16, dim=16, depth=1, dim_head=8, heads=2, conv_kernel_size=5),
    row(
        "vocos.models.VocosBackbone",
        randn((2, 8, 20)),
        input_channels=8,
        dim=16,
        intermediate_dim=24,
        num_layers=2,
    ),
    row("denoiser.demucs.Demucs", randn((1, 1, 600)), hidden=4, depth=2, resample=2),
    row("pytorch_tcn.TCN", randn((2, 4, 20)), num_inputs=4, num_channels=[8, 8]),
)


def _molecule() -> tuple[Any, tuple[Any, ...]]:
    model = _attribute("se3_transformer_pytorch.SE3Transformer")(
        dim=8, heads=2, depth=1, dim_head=4, num_degrees=2, valid_radius=10
    )
    return model, (torch.randn(1, 6, 8), torch.randn(1, 6, 3), torch.ones(1, 6).bool())


def _en_transformer() -> tuple[Any, tuple[Any, ...]]:
    model = _attribute("en_transformer.EnTransformer")(dim=8, depth=1, num_tokens=5, dim_head=40, heads=2)
    return model, (torch.randint(0, 5, (1, 6)), torch.randn(1, 6, 3))


def _equiformer() -> tuple[Any, tuple[Any, ...]]:
    model = _attribute("equiformer_pytorch.Equiformer")(
        num_tokens=5, dim=(4, 2), dim_head=(4, 4), heads=(2, 2), num_degrees=2, depth=1, attend_self=True
    )
    return model, (torch.randint(0, 5, (1, 6)), torch.randn(1, 6, 3), torch.ones(1, 6).bool())


def _points() -> tuple[Any, tuple[Any, ...]]:
    model = _attribute("invariant_point_attention.IPABlock")(dim=16, heads=2, require_pairwise_repr=False)
    turns = torch.linalg.qr(torch.randn(1, 6, 3, 3))[0]
    return _Placed(model), (torch.randn(1, 6, 16), turns, torch.randn(1, 6, 3))


class _Placed(torch.nn.Module):
    """A block that takes rotations and translations by keywords."""

    def __init__(self, block: Any) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Any, rotations: Any, translations: Any) -> Any:
        return self.block(x, rotations=rotations, translations=translations)


class _LogProb(torch.nn.Module):
    """The logarithms of the probabilities of rows under a flow."""

    def __init__(self, flow: Any) -> None:
        super().__init__()
        self.flow = flow

    def forward(self, x: Any) -> Any:
        flow = self.flow
        return flow.log_prob(x) if hasattr(flow, "log_prob") else flow().log_prob(x)


def _normflows() -> tuple[Any, tuple[Any, ...]]:
    flows = _attribute("normflows.flows")
    layers = []
    for _ in range(2):
        net = _attribute("normflows.nets.MLP")([2, 8, 4], init_zeros=True)
        layers += [flows.AffineCouplingBlock(net), flows.Permute(4, mode="swap")]
    base = _attribute("normflows.distributions.DiagGaussian")(4)
    return _LogProb(_attribute("normflows.NormalizingFlow")(base, layers)), (torch.randn(3, 4),)


def _zuko(kind: str) -> Any:
    def make() -> tuple[Any, tuple[Any, ...]]:
        return _LogProb(_attribute(f"zuko.flows.{kind}")(3, hidden_features=(8, 8), transforms=2)), (
            torch.randn(4, 3),
        )

    return make


def _invertible() -> tuple[Any, tuple[Any, ...]]:
    framework, modules = _attribute("FrEIA.framework"), _attribute("FrEIA.modules")
    net = framework.SequenceINN(6)
    for _ in range(2):
        net.append(
            modules.AllInOneBlock,
            subnet_constructor=lambda a, b: torch.nn.Sequential(
                torch.nn.Linear(a, 8), torch.nn.ReLU(), torch.nn.Linear(8, b)
            ),
        )
    return net, (torch.randn(4, 6),)


class _Ode(torch.nn.Module):
    """The solution of an equation by a method with fixed steps."""

    def __init__(self) -> None:
        super().__init__()
        self.field = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))

    def forward(self, x: Any) -> Any:
        odeint = _attribute("torchdiffeq.odeint")
        return odeint(lambda _, y: self.field(y), x, torch.linspace(0, 1, 4), method="rk4")


class _Spikes(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        neuron, layer = (
            import_module(f"spikingjelly.activation_based.{name}") for name in ("neuron", "layer")
        )
        self.net = torch.nn.Sequential(
            layer.Linear(6, 8, step_mode="m"),
            neuron.LIFNode(step_mode="m"),
            layer.Linear(8, 4, step_mode="m"),
            neuron.IFNode(step_mode="m"),
        )

    def forward(self, x: Any) -> Any:
        return self.net(x)


def _deepctr(kind: str) -> Any:
    def make() -> tuple[Any, tuple[Any, ...]]:
        inputs = _attribute("deepctr_torch.inputs")
        columns = [inputs.SparseFeat(f"c{i}", 7, embedding_dim=4) for i in range(3)]
        columns += [inputs.DenseFeat("d", 1)]
        model = _attribute(f"deepctr_torch.models.{kind}")(
            columns, columns, dnn_hidden_units=(8, 8), device="cpu"
        )
        x = torch.cat([torch.randint(0, 7, (5, 3)).float(), torch.randn(5, 1)], 1)
        return model, (x,)

    return make


def _rechub() -> tuple[Any, tuple[Any, ...]]:
    features = _attribute("torch_rechub.basic.features")
    sparse = [features.SparseFeature(f"c{i}", vocab_size=7, embed_dim=4) for i in range(3)]
    model = _attribute("torch_rechub.models.ranking.DCNv2")(
        sparse, n_cross_layers=2, mlp_params={"dims": [8, 4], "dropout": 0.0, "activation": "relu"}
    )
    return model, ({f"c{i}": torch.randint(0, 7, (5,)) for i in range(3)},)


def _crf() -> tuple[Any, tuple[Any, ...]]:
    model = _attribute("torchcrf.CRF")(4, batch_first=True)
    return model, (torch.randn(3, 6, 4), torch.randint(0, 4, (3, 6)))


class _Sphere(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.forth = _attribute("torch_harmonics.RealSHT")(8, 16)
        self.back = _attribute("torch_harmonics.InverseRealSHT")(8, 16)

    def forward(self, x: Any) -> Any:
        return self.back(self.forth(x) * 2)


def _nufft() -> tuple[Any, tuple[Any, ...]]:
    model = _attribute("torchkbnufft.KbNufft")(im_size=(8, 8))
    image = torch.randn(1, 1, 8, 8, dtype=torch.complex64)
    return model, (image, (torch.rand(2, 20) - 0.5) * 6)


def _tabm() -> tuple[Any, tuple[Any, ...]]:
    embeddings = _attribute("rtdl_num_embeddings.PeriodicEmbeddings")(4, 8, lite=False)
    model = _attribute("tabm.TabM").make(
        n_num_features=4,
        cat_cardinalities=[3, 5],
        d_out=2,
        num_embeddings=embeddings,
        k=4,
        n_blocks=1,
        d_block=16,
    )
    return model, (torch.randn(5, 4), torch.stack([torch.randint(0, n, (5,)) for n in (3, 5)], 1))


OTHERS = (
    made("se3_transformer_pytorch SE3Transformer", _molecule),
    made("en_transformer EnTransformer", _en_transformer),
    made("equiformer_pytorch Equiformer", _equiformer),
    made("invariant_point_attention IPABlock", _points),
    row("siren_pytorch.SirenNet", randn((9, 2)), dim_in=2, dim_hidden=16, dim_out=3, num_layers=3),
    made("normflows NormalizingFlow", _normflows),
    made("zuko NSF", _zuko("NSF")),
    made("zuko MAF", _zuko("MAF")),
    made("FrEIA SequenceINN", _invertible),
    made("torchdiffeq odeint", lambda: (_Ode(), (torch.randn(4, 3),))),
    made("spikingjelly LIFNode", lambda: (_Spikes(), (torch.randn(4, 2, 6),))),
    made("deepctr_torch xDeepFM", _deepctr("xDeepFM")),
    made("deepctr_torch AutoInt", _deepctr("AutoInt")),
    made("torch_rechub DCNv2", _rechub),
    made("torchcrf CRF", _crf),
    made("torch_harmonics RealSHT", lambda: (_Sphere(), (torch.randn(2, 8, 16),))),
    made("torchkbnufft KbNufft", _nufft),
    made("tabm TabM", _tabm),
)

ROWS = (*TRANSFORMERS, *PICTURES, *SOUND, *OTHERS)
