"""Ops times operand shardings for the battery (`ops_battery.py`), as tables."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.nn import functional as F

from tests.frontends.battery_operands import SUM, Row, einsum, row

X = "8:dp 16 32:tp"


def variant_rows() -> list[Row]:
    """All rows of this file."""
    families = (_reductions, _products, _equations, _views, _convolutions, _pools, _activations, _losses)
    return [each for family in (*families, *(_norms, _attention, _gathers, _matrices)) for each in family()]


def _reductions() -> Iterator[Row]:
    """Each along a dimension that is sharded along dp, not sharded, and sharded along tp."""
    for name in ["sum", "mean", "amax", "amin", "prod", "logsumexp", "var", "softmax"]:
        for dim, whole in ((0, SUM), (2, SUM), (1, "")):
            reduce = lambda x, name=name, dim=dim: getattr(torch, name)(x, dim=dim)  # noqa: E731
            yield row(f"{name} along {dim}", reduce, X, whole=whole)
    for name in ["argmin", "cummin", "cumprod", "sort", "nanmedian"]:
        along = lambda x, name=name: getattr(torch, name)(x, dim=1)  # noqa: E731
        yield row(f"{name} along 1", along, X)
    yield row("sum of two", lambda x: x.sum((0, 2)), X, whole=SUM)
    yield row("mean kept", lambda x: x.mean(1, keepdim=True), X)
    yield row("all", lambda x: (x > 0).all(1), X)
    yield row("aminmax", lambda x: torch.aminmax(x, dim=1), X)
    yield row("std_mean", lambda x: torch.std_mean(x, dim=1), X)
    yield row("nansum", lambda x: x.nansum(1), X)
    yield row("vector norm of 1", lambda x: torch.linalg.vector_norm(x, 1, 1), X)


def _products() -> Iterator[Row]:
    """Products by the sharding of rows, contracted dimension and columns."""
    for name, first, second, whole in (
        ("rows over both", "16:dp,tp 32", "32 64", ""),
        ("columns over both", "16 32", "32 64:dp,tp", ""),
        ("contracted over both", "16 32:dp,tp", "32:dp,tp 64", SUM),
        ("rows, contracted", "16:dp 32:tp", "32:tp 64", SUM),
        ("contracted, columns", "16 32:dp", "32:dp 64:tp", SUM),
        ("contracted in one", "16:dp 32:tp", "32 64", None),
        ("gathered weight", "16:dp 32", "32:dp 64:tp", None),
        ("rows of one axis", "16:tp 32", "32 64:tp", None),
    ):
        yield row(f"mm, {name}", torch.mm, first, second, whole=whole)
        batched = (f"3 {first}", second)
        yield row(f"matmul, {name}", torch.matmul, *batched, whole=whole)
        turned = " ".join(reversed(second.split()))
        yield row(f"linear, {name}", F.linear, first, turned, whole=whole)
    for name, first, second, whole in (
        ("batch over both", "8:dp,tp 16 32", "8:dp,tp 32 64", ""),
        ("rows", "8:dp 16:tp 32", "8:dp 32 64", ""),
        ("contracted", "8:dp 16 32:tp", "8:dp 32:tp 64", SUM),
    ):
        yield row(f"bmm, {name}", torch.bmm, first, second, whole=whole)


def _equations() -> Iterator[Row]:
    for equation, first, second, whole in (
        ("bhsd,bhtd->bhst", "8:dp 4:tp 16 32", "8:dp 4:tp 24 32", ""),
        ("bhst,bhtd->bhsd", "8:dp 4:tp 16 24", "8:dp 4:tp 24 32", ""),
        ("bsd,hd->bsh", "8:dp 16 32", "64:tp 32", ""),
        ("bsh,hd->bsd", "8:dp 16 64:tp", "64:tp 32", SUM),
        ("bse,bsd->bed", "8:dp 16 4:tp", "8:dp 16 32", ""),
        ("bse,bsd->ebd", "8:dp 16:tp 4", "8:dp 16:tp 32", SUM),
        ("bec,bsec->bs", "8:dp 4:tp 3", "8:dp 16 4:tp 3", SUM),
        ("nchw,oc->nohw", "8:dp 16 6 6", "32:tp 16", ""),
        ("nchw,oc->onhw", "8:dp 16:tp 6 6", "32 16:tp", SUM),
        ("ij,ij->", "16:dp 32:tp", "16:dp 32:tp", SUM),
        ("ij,j->ij", "16:dp 32:tp", "32:tp", ""),
        ("i,j->ij", "16:dp", "32:tp", ""),
        ("bld,bnd->bln", "8:dp 16:tp 32", "8:dp 24 32", ""),
        ("...d,...d->...", "8:dp 16:tp 32", "8:dp 16:tp 32", ""),
        ("bsd,bsd->bs", "8:dp 16 32:tp", "8:dp 16 32:tp", SUM),
    ):
        yield einsum(equation, first, second, whole=whole)


def _views() -> Iterator[Row]:
    yield row("view as rows", lambda x: x.view(-1, 32), "8:dp 16 32:tp")
    yield row("view of both", lambda x: x.view(8, 4, 4, 2, 16), "8:dp,tp 16 32")
    yield row("heads to front", lambda x: x.view(8, 16, 4, 8).transpose(1, 2), X)
    yield row("heads to back", lambda x: x.transpose(1, 2).flatten(2), "8:dp 4:tp 16 8")
    yield row("unflatten", lambda x: x.unflatten(2, (4, 8)), X)
    yield row(
        "patches", lambda x: x.view(8, 3, 4, 2, 4, 2).permute(0, 2, 4, 3, 5, 1).flatten(3), "8:dp 3 8 8"
    )
    yield row("channels last", lambda x: x.permute(0, 2, 3, 1).contiguous(), "8:dp 16:tp 6 6")
    yield row("swapaxes", lambda x: x.swapaxes(0, 2), X)
    yield row("tile", lambda x: x.tile(1, 2, 1), X)
    yield row("expand_as", lambda x, y: x.expand_as(y), "16 32:tp", X)
    yield row("hstack", lambda x, y: torch.hstack([x, y]), X, X)
    yield row("dstack", lambda x, y: torch.dstack([x, y]), "8:dp 16:tp 4", "8:dp 16:tp 4")
    yield row("tensor_split", lambda x: x.tensor_split(3, 1), X)
    yield row("rot90", lambda x: x.rot90(1, (1, 2)), "8:dp 16 12")
    yield row("fliplr", torch.fliplr, "8:dp 16 32:tp")
    yield row("triu", lambda x: x.triu(1), "8:dp 16 16:tp")
    yield row("diag_embed", torch.diag_embed, "8:dp 16")
    yield row("diagonal_scatter", lambda x, y: x.diagonal_scatter(y, 0, 1, 2), "8:dp 16 16", "8:dp 16")
    yield row("block_diag", lambda x, y: torch.block_diag(x, y), "4 4", "3 5")
    yield row("cartesian", torch.cartesian_prod, "8", "6")
    yield row("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), "8:dp 4 16 16")
    yield row("channel_shuffle", lambda x: F.channel_shuffle(x, 4), "8:dp 16 6 6")
    for mode in ("replicate", "circular", "constant"):
        yield row(f"pad {mode}", lambda x, mode=mode: F.pad(x, (1, 2), mode=mode), "8:dp 4:tp 16")


def _convolutions() -> Iterator[Row]:
    """Convolutions by what is sharded, times strides, dilation and groups."""
    for name, x, w, whole in (
        ("batch", "8:dp 16 12 12", "32 16 3 3", ""),
        ("batch over both", "8:dp,tp 16 12 12", "32 16 3 3", ""),
        ("features", "8 16 12 12", "32:tp 16 3 3", ""),
        ("contracted", "8:dp 16:tp 12 12", "32 16:tp 3 3", SUM),
    ):
        for options in ({"stride": 2}, {"dilation": 2}, {"stride": 2, "padding": 1}):
            call = lambda x, w, options=options: F.conv2d(x, w, **options)  # noqa: E731
            text = ", ".join(f"{key} {value}" for key, value in options.items())
            yield row(f"conv2d, {name}, {text}", call, x, w, whole=whole)
    # XLA gathers the batch of convolutions in groups, but not that of depthwise ones.
    grouped = lambda x, w: F.conv2d(x, w, groups=4)  # noqa: E731
    yield row("conv2d, groups", grouped, "8:dp 16 12 12", "32 4 3 3", whole=None)
    yield row("conv2d of 1", F.conv2d, "8:dp 16 12 12", "32:tp 16 1 1")
    yield row("conv2d of 1, contracted", F.conv2d, "8:dp 16:tp 12 12", "32 16:tp 1 1", whole=SUM)
    yield row("conv2d, patches", lambda x, w: F.conv2d(x, w, stride=4), "8:dp 3 12 12", "32:tp 3 4 4")
    yield row(
        "conv1d, causal", lambda x, w: F.conv1d(F.pad(x, (2, 0)), w, groups=16), "8:dp 16:tp 24", "16:tp 1 3"
    )
    yield row("conv_transpose1d", lambda x, w: F.conv_transpose1d(x, w, stride=2), "8:dp 16 12", "16 32:tp 3")
    yield row("conv_transpose3d", F.conv_transpose3d, "8:dp 4 5 5 5", "4 8:tp 3 3 3")


def _pools() -> Iterator[Row]:
    for count, shape in ((1, "12"), (2, "12 12"), (3, "6 6 6")):
        x = f"8:dp 16:tp {shape}"
        for name in ("max_pool", "avg_pool"):
            pool = getattr(F, f"{name}{count}d")
            if (name, count) != ("max_pool", 2):
                yield row(f"{name}{count}d, stride 2", lambda x, pool=pool: pool(x, 3, 2, 1), x)
            adaptive = getattr(F, f"adaptive_{name}{count}d")
            yield row(f"adaptive_{name}{count}d to 3", lambda x, pool=adaptive: pool(x, 3), x)
    yield row("lp_pool2d", lambda x: F.lp_pool2d(x, 2, 3), "8:dp 16:tp 12 12")
    for mode in ("nearest-exact", "bicubic", "area"):
        yield row(
            f"interpolate {mode}", lambda x, m=mode: F.interpolate(x, (17, 9), mode=m), "8:dp 16:tp 12 12"
        )
    resize = lambda x: F.interpolate(x, (7, 9), mode="bilinear", antialias=True)  # noqa: E731
    yield row("interpolate, antialiased", resize, "8:dp 16:tp 12 12")
    for mode in ("bilinear", "nearest", "bicubic"):
        sample = lambda x, g, mode=mode: F.grid_sample(x, g, mode, align_corners=False)  # noqa: E731
        yield row(f"grid_sample {mode}", sample, "8:dp 16 6 6", "8:dp 5 4 2")
    volumes = lambda x, g: F.grid_sample(x, g, align_corners=False)  # noqa: E731
    yield row("grid_sample of volumes", volumes, "8:dp 4 3 6 6", "8:dp 2 5 4 3")


_OF_ONE = "mish hardswish selu softsign logsigmoid tanhshrink relu6 celu hardshrink"
_MATH = "erf erfinv lgamma digamma asin atanh sinc frac trunc logit i0"
_OF_TWO = "fmod remainder atan2 hypot maximum copysign heaviside xlogy logaddexp floor_divide"


def _activations() -> Iterator[Row]:
    for name in _OF_ONE.split():
        yield row(name, getattr(F, name), X)
    for name in _MATH.split():
        # XLA has no rule for chlo.erf.
        yield row(name, getattr(torch, name), X, whole=None if name == "erf" else "")
    for name in _OF_TWO.split():
        yield row(name, getattr(torch, name), X, "32:tp")
    yield row("clamp", lambda x, y: torch.clamp(x, y, y + 1), X, "32:tp")
    yield row("addcmul", torch.addcmul, X, X, "16 32:tp")
    yield row("prelu", F.prelu, "8:dp 16:tp 32", "16:tp")
    yield row("swiglu", lambda x: F.silu(x[..., :32]) * x[..., 32:], "8:dp 16 64")
    yield row("gumbel_softmax", lambda x: F.gumbel_softmax(x, dim=1), X)
    yield row("bernoulli", lambda x: torch.bernoulli(x.sigmoid()), X)
    yield row("dropout2d", lambda x: F.dropout2d(x, 0.5, True), "8:dp 16:tp 6 6")
    yield row(
        "complex product",
        lambda x, y: torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(y)),
        "8:dp 4:tp 2",
        "8:dp 4:tp 2",
    )


def _losses() -> Iterator[Row]:
    x = "16:dp 32:tp"
    names = "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy_with_logits soft_margin_loss"
    for name in names.split():
        call = lambda x, y, name=name: getattr(F, name)(x, y, reduction="none")  # noqa: E731
        yield row(f"{name} of elements", call, x, x)
        yield row(f"{name} of all", getattr(F, name), x, x, whole=SUM)
    yield row("nll_loss", F.nll_loss, "16:dp 32", "i32 16:dp", whole=SUM)
    yield row("kl_div", lambda x, y: F.kl_div(x, y, reduction="batchmean"), x, x, whole=SUM)
    weighted = lambda x, y, w: F.cross_entropy(x, y, w)  # noqa: E731
    yield row("cross entropy, weights", weighted, "16:dp 32", "i32 16:dp", "32", whole=SUM)
    images = lambda x, y: F.cross_entropy(x, y, reduction="none")  # noqa: E731
    yield row("cross entropy of pixels", images, "8:dp 5 6 6", "i5 8:dp 6 6")
    yield row("cross entropy of soft labels", F.cross_entropy, "16:dp 32", "16:dp 32", whole=SUM)
    yield row(
        "triplet loss",
        lambda *t: F.triplet_margin_loss(*t, reduction="none"),
        "16:dp 32",
        "16:dp 32",
        "16:dp 32",
    )
    yield row("pairwise_distance", F.pairwise_distance, "16:dp 32", "16:dp 32")


def _norms() -> Iterator[Row]:
    both = "8:dp,tp 16 32"
    yield row("layer_norm, batch over both", lambda x, w, b: F.layer_norm(x, (32,), w, b), both, "32", "32")
    yield row("layer_norm of two", lambda x: F.layer_norm(x, (16, 32)), both)
    yield row("rms_norm of sharded", lambda x: F.rms_norm(x, (32,)), X, whole=SUM)
    yield row("rms_norm of heads", lambda x, w: F.rms_norm(x, (8,), w), "8:dp 4:tp 16 8", "8")
    train = lambda x, w, b: F.batch_norm(x, None, None, w, b, True)  # noqa: E731
    yield row("batch_norm, training, dp", train, "8:dp 16 6 6", "16", "16", whole=SUM)
    yield row("batch_norm, training, channels", train, "8 16:tp 6 6", "16:tp", "16:tp")
    yield row("local_response_norm", lambda x: F.local_response_norm(x, 3), "8:dp 16 6 6")
    yield row("normalize of sharded", lambda x: F.normalize(x, dim=-1), X, whole=SUM)


def _attention() -> Iterator[Row]:
    attention = F.scaled_dot_product_attention
    for name, q, k, whole in (
        ("batch over both", "8:dp,tp 4 16 32", "8:dp,tp 4 24 32", ""),
        ("heads over both", "8 8:dp,tp 16 32", "8 8:dp,tp 24 32", ""),
        ("size of heads", "8:dp 4 16 32:tp", "8:dp 4 24 32:tp", None),
        ("one query", "8:dp 4:tp 1 32", "8:dp 4:tp 24 32", ""),
    ):
        yield row(f"attention, {name}", attention, q, k, k, whole=whole)
    heads = "8:dp 4:tp 16 32"
    yield row("attention, scale", lambda *t: attention(*t, scale=0.1), heads, heads, heads)
    bias = ("8:dp 4:tp 16 32", "8:dp 4:tp 24 32", "8:dp 4:tp 24 32", "8:dp 4:tp 16 24")
    yield row("attention, bias of heads", attention, *bias)
    many = lambda *t: attention(*t, enable_gqa=True)  # noqa: E731
    yield row("attention, one head of keys", many, "8:dp 8:tp 16 32", "8:dp 1 16 32", "8:dp 1 16 32")


def _gathers() -> Iterator[Row]:
    yield row("embedding, dp", F.embedding, "i64 8:dp 16", "64 32")
    yield row("embedding of sequences", F.embedding, "i64 8:dp 16:tp", "64 32")
    for mode in ("sum", "mean", "max"):
        bag = lambda i, w, mode=mode: F.embedding_bag(i, w, mode=mode)  # noqa: E731
        yield row(f"embedding bag {mode}", bag, "i64 8:dp 16", "64 32:tp")
    yield row("take", torch.take, "64", "i64 8:dp 16:tp")
    yield row("index of rows", lambda x, i: x[i], "16 32:tp", "i16 8:dp")
    yield row("index of pairs", lambda x, i, j: x[i, j], "16 12 32:tp", "i16 8:dp", "i12 8:dp")
    yield row("gather of labels", lambda x, i: x.gather(-1, i[..., None]), "8:dp 16:tp 32", "i32 8:dp 16:tp")
    yield row("masked_scatter", lambda x, m, y: x.masked_scatter(m, y), "8 16", "b 8 16", "128")
    yield row(
        "index_put", lambda x, i, y: torch.index_put(x.transpose(0, 1), (i,), y), X, "i16 5", "5 8:dp 32:tp"
    )
    yield row("index_fill", lambda x, i: x.index_fill(1, i, 0.0), X, "i16 5")
    for reduce in ("sum", "mean", "prod", "amin"):
        call = lambda x, i, y, r=reduce: x.scatter_reduce(1, i, y, r)  # noqa: E731
        yield row(f"scatter_reduce {reduce}", call, X, "i16 8:dp 5 32:tp", "8:dp 5 32:tp")
    yield row(
        "segment sums", lambda x, i, y: x.index_add(0, i, y), "16 32:tp", "i16 8:dp", "8:dp 32:tp", whole=SUM
    )
    yield row("bincount by one_hot", lambda i: F.one_hot(i, 16).sum(0), "i16 8:dp", whole=SUM)
    yield row("isin", torch.isin, X, "5")


def _matrices() -> Iterator[Row]:
    """Decompositions: batches stay apart."""
    square = "8:dp 4 4"
    positive = lambda x: x @ x.mT + torch.eye(4)  # noqa: E731
    yield row("inv", torch.linalg.inv, square)
    yield row("det", torch.linalg.det, square)
    yield row("slogdet", torch.linalg.slogdet, square)
    yield row("solve", torch.linalg.solve, square, "8:dp 4 6")
    yield row("qr", torch.linalg.qr, "8:dp 6 4")
    yield row("svd", lambda x: torch.linalg.svd(x, full_matrices=False), "8:dp 6 4")
    yield row("eigh", lambda x: torch.linalg.eigh(positive(x)), square)
    yield row("lu", torch.linalg.lu, square)
    yield row("pinv", torch.linalg.pinv, "8:dp 6 4")
    yield row("matrix_power", lambda x: torch.linalg.matrix_power(x, 3), square)
    yield row("lstsq by qr", _least_squares, "8:dp 6 4", "8:dp 6 2")
    yield row("cross", torch.linalg.cross, "8:dp 4:tp 3", "8:dp 4:tp 3")
    yield row("kron", torch.kron, "4:dp 4", "3 3", whole=None)
    yield row("trace", lambda x: x.diagonal(0, -2, -1).sum(-1), square)


def _least_squares(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    q, r = torch.linalg.qr(a)
    return torch.linalg.solve_triangular(r, q.mT @ b, upper=True)
