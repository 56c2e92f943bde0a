"""Gradients of single ops for the battery (`ops_battery.py`), traced as those of training steps are.

Gradients of operands that all samples share are sums over the samples' devices: an all-reduce.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import functional as F

from tests.frontends.battery_operands import SUM, Row, gradient


def gradient_rows() -> list[Row]:
    """All rows of this file."""
    families = (_products, _attention, _convolutions, _pools, _resized, _norms, _pointwise, _losses)
    more = (_reductions, _moves, _gathers)
    return [each for family in (*families, *more) for each in family()]


def _products() -> Iterator[Row]:
    x, y = "8:dp 16 32", "8:dp 16 64:tp"
    yield gradient("linear, dp", F.linear, x, "64 32", "64", of="8:dp 16 64", whole=SUM)
    yield gradient("linear by columns", F.linear, x, "64:tp 32", "64:tp", of=y, whole=SUM)
    yield gradient("linear by columns, tp only", F.linear, "8 16 32", "64:tp 32", of="8 16 64:tp", whole=SUM)
    yield gradient("linear by rows, tp only", F.linear, "8 16 32:tp", "64 32:tp", of="8 16 64")
    yield gradient("linear by rows", F.linear, "8:dp 16 32:tp", "64 32:tp", of="8:dp 16 64", whole=SUM)
    yield gradient("mm", torch.mm, "16:dp 32", "32 64:tp", of="16:dp 64:tp", whole=SUM)
    yield gradient("bmm", torch.bmm, "8:dp 16 32", "8:dp 32 64", of="8:dp 16 64")
    yield gradient("bmm, columns", torch.bmm, "8:dp 16 32", "8:dp 32 64:tp", of=y, whole=SUM)
    yield gradient(
        "matmul of heads", torch.matmul, "8:dp 4:tp 16 32", "8:dp 4:tp 32 16", of="8:dp 4:tp 16 16"
    )
    yield gradient("matmul by a matrix", torch.matmul, "8:dp 4 16 32", "32 64", of="8:dp 4 16 64", whole=SUM)
    yield gradient("matvec", torch.mv, "16:dp 32", "32", of="16:dp", whole=SUM)
    for equation, first, second, result in (
        ("bsnd,btnd->bnst", "8:dp 16 4:tp 32", "8:dp 24 4:tp 32", "8:dp 4:tp 16 24"),
        ("bnst,btnd->bsnd", "8:dp 4:tp 16 24", "8:dp 24 4:tp 32", "8:dp 16 4:tp 32"),
        ("ecd,edf->ecf", "4:tp 16 32", "4:tp 32 64", "4:tp 16 64"),
        ("bi,bj->bij", "8:dp 4:tp", "8:dp 3", "8:dp 4:tp 3"),
    ):
        whole = SUM if equation == "bi,bj->bij" else ""
        yield gradient(f"einsum {equation}", _einsum(equation), first, second, of=result, whole=whole)
    yield gradient(
        "einsum bsd,dnk->bsnk", _einsum("bsd,dnk->bsnk"), x, "32 4:tp 8", of="8:dp 16 4:tp 8", whole=SUM
    )
    yield gradient("baddbmm", torch.baddbmm, "8:dp 16 64", x, "8:dp 32 64", of="8:dp 16 64")
    yield gradient("bilinear", F.bilinear, "8:dp 16", "8:dp 12", "32 16 12", of="8:dp 32", whole=SUM)
    yield gradient("cdist", torch.cdist, "8:dp 16 4", "8:dp 24 4", of="8:dp 16 24")
    yield gradient("cdist of sums", lambda x, y: torch.cdist(x, y, 1), "8:dp 6 4", "8:dp 5 4", of="8:dp 6 5")


def _einsum(equation: str) -> Callable[..., Any]:
    return lambda *operands: torch.einsum(equation, *operands)


def _attention() -> Iterator[Row]:
    attention = F.scaled_dot_product_attention
    for name, heads in (("heads", "8:dp 4:tp 16 32"), ("batch", "8:dp,tp 4 16 32")):
        yield gradient(f"attention, {name}", attention, heads, heads, heads, of=heads)
        causal = lambda *t: attention(*t, is_causal=True)  # noqa: E731
        yield gradient(f"attention, causal, {name}", causal, heads, heads, heads, of=heads)
    heads = "8:dp 4:tp 16 32"
    yield gradient("attention, mask", attention, heads, heads, heads, "b 8:dp 1 16 16", of=heads)
    yield gradient("attention, bias", attention, heads, heads, heads, "1 4:tp 16 16", of=heads, whole=SUM)
    grouped = lambda *t: attention(*t, enable_gqa=True)  # noqa: E731
    q, k = "8:dp 8:tp 16 32", "8:dp 4:tp 16 32"
    yield gradient("attention, grouped heads", grouped, q, k, k, of=q)
    q, k = "8:dp 4 16:tp 32", "8:dp 4 24 32"
    yield gradient("attention, queries sharded", attention, q, k, k, of=q, whole=SUM)


def _convolutions() -> Iterator[Row]:
    x, y = "8:dp 16 12 12", "8:dp 32:tp 12 12"
    padded = lambda x, w: F.conv2d(x, w, padding=1)  # noqa: E731
    yield gradient("conv2d, dp", padded, x, "32 16 3 3", of="8:dp 32 12 12", whole=SUM)
    yield gradient("conv2d, features", padded, x, "32:tp 16 3 3", of=y, whole=SUM)
    yield gradient("conv2d, tp only", padded, "8 16 12 12", "32:tp 16 3 3", of="8 32:tp 12 12", whole=SUM)
    contracted = ("8:dp 16:tp 12 12", "32 16:tp 3 3")
    yield gradient("conv2d, contracted", padded, *contracted, of="8:dp 32 12 12", whole=SUM)
    strided = lambda x, w: F.conv2d(x, w, stride=2, padding=1)  # noqa: E731
    yield gradient("conv2d, stride", strided, x, "32 16 3 3", of="8:dp 32 6 6", whole=SUM)
    dilated = lambda x, w: F.conv2d(x, w, padding=2, dilation=2)  # noqa: E731
    yield gradient("conv2d, dilation", dilated, x, "32 16 3 3", of="8:dp 32 12 12", whole=SUM)
    deep = lambda x, w: F.conv2d(x, w, padding=1, groups=16)  # noqa: E731
    yield gradient("conv2d, depthwise, dp", deep, x, "16 1 3 3", of="8:dp 16 12 12", whole=SUM)
    patches = lambda x, w: F.conv2d(x, w, stride=4)  # noqa: E731
    yield gradient("conv2d, patches", patches, "8:dp 3 12 12", "32:tp 3 4 4", of="8:dp 32:tp 3 3", whole=SUM)
    yield gradient("conv1d", F.conv1d, "8:dp 16 24", "32:tp 16 5", of="8:dp 32:tp 20", whole=SUM)
    yield gradient("conv3d", F.conv3d, "8:dp 4 6 6 6", "8 4 3 3 3", of="8:dp 8 4 4 4", whole=SUM)
    turned = lambda x, w: F.conv_transpose2d(x, w, stride=2)  # noqa: E731
    yield gradient("conv_transpose2d", turned, x, "16 32 3 3", of="8:dp 32 25 25", whole=SUM)


def _pools() -> Iterator[Row]:
    x = "8:dp 16:tp 12 12"
    half, third = "8:dp 16:tp 6 6", "8:dp 16:tp 4 4"
    yield gradient("max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), x, of=half)
    yield gradient("max_pool2d, dilation", lambda x: F.max_pool2d(x, 3, 2, 1, 2), x, of="8:dp 16:tp 5 5")
    yield gradient("max_pool1d", lambda x: F.max_pool1d(x, 2), "8:dp 16:tp 12", of="8:dp 16:tp 6")
    yield gradient("max_pool3d", lambda x: F.max_pool3d(x, 2), "8:dp 4:tp 4 4 4", of="8:dp 4:tp 2 2 2")
    yield gradient("avg_pool2d", lambda x: F.avg_pool2d(x, 2), x, of=half)
    yield gradient("avg_pool2d, pads", lambda x: F.avg_pool2d(x, 3, 2, 1), x, of=half)
    yield gradient("avg_pool1d", lambda x: F.avg_pool1d(x, 2), "8:dp 16:tp 12", of="8:dp 16:tp 6")
    yield gradient("avg_pool3d", lambda x: F.avg_pool3d(x, 2), "8:dp 4:tp 4 4 4", of="8:dp 4:tp 2 2 2")
    yield gradient("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 1), x, of="8:dp 16:tp 1 1")
    yield gradient(
        "adaptive_avg_pool2d, uneven", lambda x: F.adaptive_avg_pool2d(x, 5), x, of="8:dp 16:tp 5 5"
    )
    yield gradient(
        "adaptive_max_pool1d", lambda x: F.adaptive_max_pool1d(x, 5), "8:dp 16:tp 12", of="8:dp 16:tp 5"
    )
    yield gradient("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, 4), x, of=third)
    yield gradient(
        "adaptive_max_pool3d", lambda x: F.adaptive_max_pool3d(x, 2), "8:dp 4:tp 5 4 4", of="8:dp 4:tp 2 2 2"
    )


def _resized() -> Iterator[Row]:
    x, y = "8:dp 16:tp 6 6", "8:dp 16:tp 12 9"
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        resize = lambda x, mode=mode: F.interpolate(x, (12, 9), mode=mode)  # noqa: E731
        yield gradient(f"interpolate {mode}", resize, x, of=y)
    for mode in ("bilinear", "bicubic"):
        resize = lambda x, mode=mode: F.interpolate(x, (12, 9), mode=mode, antialias=True)  # noqa: E731
        yield gradient(f"interpolate {mode}, antialiased", resize, x, of=y)
    for mode in ("nearest", "bilinear"):
        sample = lambda x, g, mode=mode: F.grid_sample(x, g, mode, align_corners=False)  # noqa: E731
        yield gradient(f"grid_sample {mode}", sample, "8:dp 16 6 6", "8:dp 5 4 2", of="8:dp 16 5 4")
    volumes = lambda x, g: F.grid_sample(x, g, align_corners=False)  # noqa: E731
    yield gradient("grid_sample of volumes", volumes, "8:dp 4 3 6 6", "8:dp 2 5 4 3", of="8:dp 4 2 5 4")
    for mode in ("reflect", "replicate", "circular", "constant"):
        pad = lambda x, mode=mode: F.pad(x, (1, 2), mode=mode)  # noqa: E731
        yield gradient(f"pad {mode}", pad, "8:dp 4:tp 16", of="8:dp 4:tp 19")
    yield gradient("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), "8:dp 16 8 8", of="8:dp 4 16 16")
    yield gradient("im2col", lambda x: F.unfold(x, 3), "8:dp 4 12 12", of="8:dp 36 100")


def _norms() -> Iterator[Row]:
    x, image = "8:dp 16:tp 32", "8:dp 16 6 6"
    norm = lambda x, w, b: F.layer_norm(x, (32,), w, b)  # noqa: E731
    yield gradient("layer_norm", norm, x, "32", "32", of=x, whole=SUM)
    plain = lambda x: F.layer_norm(x, (32,))  # noqa: E731
    yield gradient("layer_norm without weights", plain, x, of=x)
    yield gradient("layer_norm of sharded", plain, "8:dp 16 32:tp", of="8:dp 16 32:tp", whole=SUM)
    yield gradient("rms_norm", lambda x, w: F.rms_norm(x, (32,), w), x, "32", of=x, whole=SUM)
    group = lambda x, w, b: F.group_norm(x, 4, w, b)  # noqa: E731
    yield gradient("group_norm", group, image, "16", "16", of=image, whole=SUM)
    yield gradient("group_norm without weights", lambda x: F.group_norm(x, 4), image, of=image)
    channels = "8:dp 16:tp 6 6"
    batch = lambda x, w, b: F.batch_norm(x, None, None, w, b, True)  # noqa: E731
    yield gradient("batch_norm, dp", batch, image, "16", "16", of=image, whole=SUM)
    yield gradient("batch_norm, channels", batch, "8 16:tp 6 6", "16:tp", "16:tp", of="8 16:tp 6 6")
    yield gradient("batch_norm, both", batch, channels, "16:tp", "16:tp", of=channels, whole=SUM)
    yield gradient("instance_norm", F.instance_norm, channels, of=channels)
    yield gradient("normalize", lambda x: F.normalize(x, dim=1), "8:dp 16 32:tp", of="8:dp 16 32:tp")
    yield gradient(
        "weight_norm", lambda v, g: torch.ops.aten._weight_norm(v, g, 0), "16:tp 32", "16:tp 1", of="16:tp 32"
    )


_SMOOTH = "gelu silu relu leaky_relu elu softplus mish hardswish hardsigmoid hardtanh hardshrink softshrink"
_PLAIN = "tanh sigmoid exp sin cos square abs erf"


def _pointwise() -> Iterator[Row]:
    x = "8:dp 16 32:tp"
    for name in _SMOOTH.split():
        yield gradient(name, getattr(F, name), x, of=x)
    for name in _PLAIN.split():
        yield gradient(name, getattr(torch, name), x, of=x)
    yield gradient("dropout", lambda x: F.dropout(x, 0.5, True), x, of=x)
    yield gradient("add bias", torch.add, x, "32:tp", of=x, whole=SUM)
    yield gradient("mul by rows", torch.mul, x, "8:dp 1 1", of=x, whole=SUM)
    yield gradient("div", torch.div, x, x, of=x)
    yield gradient("where", torch.where, "b 8:dp 16 1", x, x, of=x)
    yield gradient("glu", lambda x: F.glu(x, 1), x, of="8:dp 8 32:tp")
    yield gradient("prelu", F.prelu, "8:dp 16 32", "1", of="8:dp 16 32", whole=SUM)


def _losses() -> Iterator[Row]:
    """Means over labels that are not ignored need their number, a sum."""
    x, y = "16:dp 32", "i32 16:dp"
    yield gradient(
        "cross entropy of rows", lambda x, y: F.cross_entropy(x, y, reduction="none"), x, y, of="16:dp"
    )
    yield gradient("cross entropy", F.cross_entropy, x, y, of="", whole=SUM)
    smooth = lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1)  # noqa: E731
    yield gradient("cross entropy, smoothed", smooth, x, y, of="", whole=SUM)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        yield gradient(name, getattr(F, name), "16:dp 32:tp", "16:dp 32:tp", of="")
    loss = F.binary_cross_entropy_with_logits
    yield gradient("binary cross entropy", loss, "16:dp 32:tp", "16:dp 32:tp", of="")
    yield gradient("kl_div", lambda x, y: F.kl_div(x, y, log_target=True), "16:dp 32", "16:dp 32", of="")


def _reductions() -> Iterator[Row]:
    x, y = "8:dp 16 32:tp", "8:dp 32:tp"
    for name in ["sum", "mean", "amax", "logsumexp", "prod", "var"]:
        reduce = lambda x, name=name: getattr(torch, name)(x, dim=1)  # noqa: E731
        yield gradient(name, reduce, x, of=y)
    for name in ("softmax", "log_softmax"):
        along = lambda x, name=name: getattr(torch, name)(x, dim=1)  # noqa: E731
        yield gradient(name, along, x, of=x)
        last = lambda x, name=name: getattr(torch, name)(x, dim=-1)  # noqa: E731
        yield gradient(f"{name} of sharded", last, x, of=x, whole=SUM)
    yield gradient("norm", lambda x: x.norm(dim=1), x, of=y)
    for name in ("cumsum", "cumprod", "logcumsumexp"):
        along = lambda x, name=name: getattr(torch, name)(x, dim=1)  # noqa: E731
        yield gradient(name, along, x, of=x)
    yield gradient("sum of sharded", lambda x: x.sum(-1), x, of="8:dp 16")
    yield gradient("mean of all", torch.mean, x, of="")


def _moves() -> Iterator[Row]:
    x = "8:dp 16 32:tp"
    yield gradient("split heads", lambda x: x.view(8, 16, 4, 8), x, of="8:dp 16 4:tp 8")
    yield gradient("merge heads", lambda x: x.flatten(2), "8:dp 16 4:tp 8", of=x)
    yield gradient("transpose", lambda x: x.transpose(1, 2), x, of="8:dp 32:tp 16")
    yield gradient("slice", lambda x: x[:, 2:9:2], x, of="8:dp 4 32:tp")
    yield gradient("select", lambda x: x[:, 3], x, of="8:dp 32:tp")
    yield gradient("roll", lambda x: x.roll(3, 1), x, of=x)
    yield gradient("flip", lambda x: x.flip(1), x, of=x)
    yield gradient("expand", lambda x: x.expand(8, 5, 32), "8:dp 1 32:tp", of="8:dp 5 32:tp")
    yield gradient("repeat", lambda x: x.repeat(1, 3, 1), x, of="8:dp 48 32:tp")
    yield gradient("repeat heads", lambda x: x.repeat_interleave(2, 1), "8:dp 4:tp 16 8", of="8:dp 8:tp 16 8")
    yield gradient("cat", lambda x, y: torch.cat([x, y], 1), x, x, of="8:dp 32 32:tp")
    yield gradient("stack", lambda x, y: torch.stack([x, y], 1), x, x, of="8:dp 2 16 32:tp")
    yield gradient("unbind", lambda x: sum(x.unbind(1)), x, of="8:dp 32:tp")
    yield gradient("unfold", lambda x: x.unfold(1, 4, 2), x, of="8:dp 7 32:tp 4")
    yield gradient("tril", torch.tril, "8:dp 16 16:tp", of="8:dp 16 16:tp")
    yield gradient("diagonal", lambda x: x.diagonal(0, 1, 2), "8:dp 16 16", of="8:dp 16")


def _gathers() -> Iterator[Row]:
    x = "8:dp 16 32:tp"
    embed = lambda w, i: F.embedding(i, w)  # noqa: E731
    yield gradient("embedding, width", embed, "64 32:tp", "i64 8 16", of="8 16 32:tp")
    yield gradient("embedding, dp", embed, "64 32:tp", "i64 8:dp 16", of="8:dp 16 32:tp", whole=SUM)
    for mode in ("sum", "mean", "max"):
        bag = lambda w, i, mode=mode: F.embedding_bag(i, w, mode=mode)  # noqa: E731
        yield gradient(f"embedding bag {mode}, width", bag, "64 32:tp", "i64 8 16", of="8 32:tp")
        yield gradient(
            f"embedding bag {mode}, dp", bag, "64 32:tp", "i64 8:dp 16", of="8:dp 32:tp", whole=SUM
        )
    yield gradient("index_select", lambda x, i: x.index_select(1, i), x, "i16 5", of="8:dp 5 32:tp")
    yield gradient("index", lambda x, i: x[:, i], x, "i16 5 3", of="8:dp 5 3 32:tp")
    yield gradient("gather", lambda x, i: x.gather(1, i), x, "i16 8:dp 5 32:tp", of="8:dp 5 32:tp")
    i, y = "i16 8:dp 5 32:tp", "8:dp 5 32:tp"
    yield gradient("scatter_add", lambda x, i, y: x.scatter_add(1, i, y), x, i, y, of=x)
    yield gradient("scatter", lambda x, i, y: x.scatter(1, i, y), x, i, y, of=x)
    yield gradient("index_add", lambda x, i, y: x.index_add(1, i, y), x, "i16 5", y, of=x)
    yield gradient("masked_fill", lambda x, m: x.masked_fill(m, 0.0), x, "b 8:dp 16 1", of=x)
    yield gradient("sort", lambda x: x.sort(1).values, x, of=x)
    yield gradient("topk", lambda x: x.topk(3, 1).values, x, of="8:dp 3 32:tp")
    yield gradient("max with indices", lambda x: x.max(1).values, x, of="8:dp 32:tp")
