"""Diffusion, autoencoders, generators, audio and geometry, written out."""

from __future__ import annotations

import math
from typing import Any, cast

import torch
from torch import nn

from tests.frontends.survey.recommenders import dense, tokens
from tests.frontends.survey.rows import Row

F = nn.functional


def time_features(t: Any, width: int) -> Any:
    angles = t[:, None] * torch.exp(-math.log(1e4) * torch.arange(width // 2) / (width // 2))
    return torch.cat([angles.sin(), angles.cos()], -1)


class Residual(nn.Module):
    def __init__(self, inner: int, outer: int, time: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, inner), nn.GroupNorm(4, outer)
        self.conv1, self.conv2 = nn.Conv2d(inner, outer, 3, padding=1), nn.Conv2d(outer, outer, 3, padding=1)
        self.time, self.skip = nn.Linear(time, 2 * outer), nn.Conv2d(inner, outer, 1)

    def forward(self, x: Any, t: Any) -> Any:
        y = self.conv1(F.silu(self.norm1(x)))
        scale, shift = self.time(t)[:, :, None, None].chunk(2, 1)
        return self.skip(x) + self.conv2(F.silu(self.norm2(y) * (1 + scale) + shift))


class Mixing(nn.Module):
    """Attention over pixels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.qkv = nn.GroupNorm(4, width), nn.Conv2d(width, 3 * width, 1)
        self.out = nn.Conv2d(width, width, 1)

    def forward(self, x: Any) -> Any:
        b, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, 3, 4, c // 4, h * w).transpose(-1, -2).unbind(1)
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(-1, -2).reshape(b, c, h, w))


class DiffusionUNet(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.stem, self.head = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.down, self.middle = Residual(width, 2 * width, 32), Residual(2 * width, 2 * width, 32)
        self.shrink, self.mixing = nn.Conv2d(2 * width, 2 * width, 3, 2, 1), Mixing(2 * width)
        self.up = Residual(4 * width, width, 32)

    def forward(self, x: Any, t: Any) -> Any:
        t = self.time(time_features(t, 16))
        x = self.stem(x)
        skip = self.down(x, t)
        y = self.mixing(self.middle(self.shrink(skip), t))
        y = F.interpolate(y, scale_factor=2.0, mode="nearest")
        return self.head(self.up(torch.cat([y, skip], 1), t))


class UNet(nn.Module):
    def __init__(self, bilinear: bool) -> None:
        super().__init__()
        self.first, self.second = self.block(3, 8), self.block(8, 16)
        self.up = (
            nn.Sequential(
                nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), nn.Conv2d(16, 8, 1)
            )
            if bilinear
            else nn.ConvTranspose2d(16, 8, 2, stride=2)
        )
        self.third, self.head = self.block(16, 8), nn.Conv2d(8, 2, 1)

    def block(self, inner: int, outer: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(inner, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.LeakyReLU(0.2))

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        y = self.up(self.second(F.max_pool2d(x, 2)))
        return self.head(self.third(torch.cat([x, y], 1)))


class DiT(nn.Module):
    """A diffusion transformer: patches, adaptive norms with gates."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.patches, self.classes = nn.Conv2d(4, width, 2, 2), nn.Embedding(10, width)
        self.time, self.adapt = dense(16, width, width), nn.Linear(width, 6 * width)
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp, self.head = dense(width, 32, width), nn.Linear(width, 16)

    def forward(self, x: Any, t: Any, label: Any) -> Any:
        b, _, h, w = x.shape
        y = self.patches(x).flatten(2).transpose(1, 2)
        c = self.adapt(F.silu(self.time(time_features(t, 16)) + self.classes(label)))[:, None]
        shift, scale, gate, shift2, scale2, gate2 = c.chunk(6, -1)
        z = self.norm(y) * (1 + scale) + shift
        y = y + gate * self.attention(z, z, z, need_weights=False)[0]
        y = self.head(y + gate2 * self.mlp(self.norm(y) * (1 + scale2) + shift2))
        y = y.reshape(b, h // 2, w // 2, 2, 2, 4)
        return torch.einsum("bhwpqc->bchpwq", y).reshape(x.shape)


class VQVAE(nn.Module):
    """The nearest codes by distance, and a decoder of transposed convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.encode, self.codes = nn.Conv2d(3, 8, 4, 2, 1), nn.Embedding(16, 8)
        self.decode = nn.ConvTranspose2d(8, 3, 4, 2, 1)

    def forward(self, x: Any) -> Any:
        y = self.encode(x).permute(0, 2, 3, 1)
        nearest = torch.cdist(y.flatten(0, 2), self.codes.weight).argmin(1)
        found = self.codes(nearest).view_as(y)
        return torch.tanh(self.decode((y + (found - y).detach()).permute(0, 3, 1, 2))), nearest


class DCGAN(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(
            nn.ConvTranspose2d(16, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
            nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False), nn.InstanceNorm2d(8, affine=True), nn.PReLU(),
            nn.ConvTranspose2d(8, 3, 3, 2, 1, output_padding=1), nn.Tanh(),
        )  # fmt: skip


class SuperResolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.Sequential(
            nn.ReflectionPad2d(2), nn.Conv2d(1, 8, 5), nn.ELU(), nn.Conv2d(8, 9, 3, 1, 1)
        )

    def forward(self, x: Any) -> Any:
        up = F.interpolate(x, scale_factor=3, mode="bicubic", align_corners=False)
        return F.pixel_shuffle(self.convs(x), 3) + up


class WaveNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv1d(1, 8, 1)
        self.gates = nn.ModuleList(nn.Conv1d(8, 16, 2, dilation=2**i, padding=2**i) for i in range(3))
        self.skips, self.head = nn.ModuleList(nn.Conv1d(8, 8, 1) for _ in range(3)), nn.Conv1d(8, 4, 1)

    def forward(self, x: Any) -> Any:
        x, total = self.stem(x), torch.zeros(1)
        for gate, skip in zip(self.gates, self.skips, strict=True):
            a, b = gate(x)[..., : x.shape[-1]].chunk(2, 1)
            y = torch.tanh(a) * torch.sigmoid(b)
            total, x = total + skip(y), x + y
        return self.head(F.relu(total))


class Conformer(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.before, self.after = dense(width, 32, width), dense(width, 32, width)
        self.attention, self.norm = nn.MultiheadAttention(width, 4, batch_first=True), nn.LayerNorm(width)
        self.wide, self.depth = (
            nn.Conv1d(width, 2 * width, 1),
            nn.Conv1d(width, width, 5, padding=2, groups=width),
        )
        self.batch = nn.BatchNorm1d(width)

    def forward(self, x: Any) -> Any:
        x = x + 0.5 * self.before(x)
        y = self.norm(x)
        x = x + self.attention(y, y, y)[0]
        y = self.depth(F.glu(self.wide(x.transpose(1, 2)), 1))
        x = x + F.hardswish(self.batch(y)).transpose(1, 2)
        return x + 0.5 * self.after(x)


class Spectrogram(nn.Module):
    """Magnitudes of a short-time Fourier transform, then a recurrent mask."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))
        self.mask = nn.GRU(9, 9, batch_first=True)

    def forward(self, x: Any) -> Any:
        found = torch.stft(x, 16, 8, window=cast("Any", self.window), return_complex=True)
        size = found.abs().transpose(1, 2)
        return torch.sigmoid(self.mask(size)[0]) * size.log1p()


class FourierOperator(nn.Module):
    """A layer of a Fourier neural operator."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.skip = nn.Parameter(torch.randn(4, 4, 5, 2)), nn.Conv1d(4, 4, 1)

    def forward(self, x: Any) -> Any:
        y = torch.fft.rfft(x)
        mixed = torch.einsum("bim,iom->bom", y[..., :5], torch.view_as_complex(self.weight))
        mixed = F.pad(mixed, (0, y.shape[-1] - 5))
        return F.gelu(torch.fft.irfft(mixed, n=x.shape[-1]) + self.skip(x))


class NeRF(nn.Module):
    """Positional frequencies, densities, and colours composed along rays."""

    def __init__(self) -> None:
        super().__init__()
        self.mlp = dense(3 + 3 * 2 * 4, 32, 32, 4)

    def forward(self, points: Any, depths: Any) -> Any:
        x = points[..., None] * 2.0 ** torch.arange(4) * math.pi
        x = torch.cat([points, torch.cat([x.sin(), x.cos()], -1).flatten(-2)], -1)
        colour, density = self.mlp(x).split([3, 1], -1)
        gaps = torch.diff(depths, append=depths[:, -1:] + 1)
        alpha = 1 - torch.exp(-F.softplus(density[..., 0]) * gaps)
        through = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-6], -1), -1)[:, :-1]
        return ((alpha * through)[..., None] * colour.sigmoid()).sum(1)


class SpatialTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.locate = nn.Linear(64, 6)

    def forward(self, x: Any) -> Any:
        theta = 0.1 * self.locate(x.flatten(1)).view(-1, 2, 3) + torch.eye(2, 3)
        return F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False)


class PointNet(nn.Module):
    """Points, a learned transform, the farthest neighbours' features by gather."""

    def __init__(self) -> None:
        super().__init__()
        self.align, self.features, self.head = dense(3, 16, 9), nn.Conv1d(3, 16, 1), dense(16, 5)

    def forward(self, points: Any) -> Any:
        turned = points @ (self.align(points.mean(1)).view(-1, 3, 3) + torch.eye(3))
        near = torch.cdist(turned, turned).topk(3, largest=False).indices
        index = near.flatten(1)[..., None].expand(-1, -1, 3)
        grouped = turned.gather(1, index).view(*near.shape, 3).mean(2)
        return self.head(self.features(grouped.transpose(1, 2)).amax(-1))


class Flow(nn.Module):
    """A normalizing flow: invertible 1x1 convolution with its log-determinant, affine coupling."""

    def __init__(self) -> None:
        super().__init__()
        self.mix, self.couple = nn.Parameter(torch.eye(4) + 0.1 * torch.randn(4, 4)), dense(2, 16, 4)

    def forward(self, x: Any) -> Any:
        x = x @ self.mix
        a, b = x.chunk(2, -1)
        scale, shift = self.couple(a).chunk(2, -1)
        return torch.cat([a, b * torch.exp(scale.tanh()) + shift], -1), torch.linalg.slogdet(self.mix)[
            1
        ] + scale.sum(-1)


class GaussianProcess(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.5))

    def forward(self, x: Any, y: Any, new: Any) -> Any:
        def kernel(a: Any, b: Any) -> Any:
            return torch.exp(-(a[:, None] - b[None]).square().sum(-1) / F.softplus(self.scale))

        factor = torch.linalg.cholesky(kernel(x, x) + 0.1 * torch.eye(x.shape[0]))
        return kernel(new, x) @ torch.cholesky_solve(y, factor)


def steps() -> Any:
    return torch.tensor([3.0, 7.0])


ROWS = tuple(
    Row(name, "written", build)
    for name, build in {
        "diffusion UNet": lambda: (DiffusionUNet(), (torch.randn(2, 3, 8, 8), steps()), {}),
        "UNet": lambda: (UNet(False), (torch.randn(2, 3, 16, 16),), {}),
        "UNet, bilinear": lambda: (UNet(True), (torch.randn(2, 3, 16, 16),), {}),
        "DiT": lambda: (DiT(), (torch.randn(2, 4, 8, 8), steps(), tokens(2) % 10), {}),
        "VQ-VAE": lambda: (VQVAE(), (torch.randn(2, 3, 8, 8),), {}),
        "DCGAN": lambda: (DCGAN(), (torch.randn(2, 16, 1, 1),), {}),
        "super-resolution": lambda: (SuperResolution(), (torch.randn(1, 1, 8, 8),), {}),
        "WaveNet": lambda: (WaveNet(), (torch.randn(2, 1, 24),), {}),
        "Conformer": lambda: (Conformer(), (torch.randn(2, 10, 16),), {}),
        "spectrogram mask": lambda: (Spectrogram(), (torch.randn(2, 64),), {}),
        "Fourier operator": lambda: (FourierOperator(), (torch.randn(2, 4, 16),), {}),
        "NeRF": lambda: (NeRF(), (torch.randn(4, 6, 3), torch.rand(4, 6).cumsum(1)), {}),
        "spatial transformer": lambda: (SpatialTransformer(), (torch.randn(2, 1, 8, 8),), {}),
        "PointNet": lambda: (PointNet(), (torch.randn(2, 7, 3),), {}),
        "normalizing flow": lambda: (Flow(), (torch.randn(5, 4),), {}),
        "Gaussian process": lambda: (
            GaussianProcess(),
            (torch.randn(6, 2), torch.randn(6, 1), torch.randn(3, 2)),
            {},
        ),
    }.items()
)
