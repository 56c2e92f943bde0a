"""Single ops for the battery (`ops_battery.py`), with sharded dimensions batch-like or contracted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import functional as F

from tests.frontends.battery_operands import SUM, Row, einsum, row


def op_rows() -> list[Row]:
    """All rows of this file."""
    families = (_products, _attention, _views, _joins, _pointwise, _reductions, _norms)
    more = (_windows, _gathers, _scatters, _orders, _others, _along_sharded)
    return [each for family in (*families, *more) for each in family()]


def _products() -> Iterator[Row]:
    yield row("mm rows, columns", torch.mm, "16:dp 32", "32 64:tp")
    yield row("mm contracted", torch.mm, "16:dp 32:tp", "32:tp 64", whole=SUM)
    yield row("linear by columns", F.linear, "8:dp 16 32", "64:tp 32", "64:tp")
    yield row("linear by rows", F.linear, "8:dp 16 32:tp", "64 32:tp", "64", whole=SUM)
    yield row("bmm", torch.bmm, "8:dp 16 32", "8:dp 32 64:tp")
    yield row("matmul of heads", torch.matmul, "8:dp 4:tp 16 32", "8:dp 4:tp 32 16")
    yield row("matmul by a matrix", torch.matmul, "8:dp 4 16 32", "32 64:tp")
    yield row("matmul, batch broadcast", torch.matmul, "8:dp 4:tp 16 32", "4:tp 32 16")
    yield row("addmm", torch.addmm, "64:tp", "16:dp 32", "32 64:tp")
    yield row("baddbmm", torch.baddbmm, "8:dp 16 64:tp", "8:dp 16 32", "8:dp 32 64:tp")
    yield row("addbmm", torch.addbmm, "16 64:tp", "8:dp 16 32", "8:dp 32 64:tp", whole=SUM)
    yield row("outer", torch.outer, "16:dp", "32:tp")
    yield row("dot", torch.dot, "32:tp", "32:tp", whole=SUM)
    yield row("mv", torch.mv, "16:dp 32:tp", "32:tp", whole=SUM)
    yield row("tensordot", lambda x, y: torch.tensordot(x, y, 2), "8:dp 4 16:tp", "4 16:tp 32", whole=SUM)
    yield einsum("bsnd,btnd->bnst", "8:dp 16 4:tp 32", "8:dp 24 4:tp 32")
    yield einsum("bnst,btnd->bsnd", "8:dp 4:tp 16 24", "8:dp 24 4:tp 32")
    yield einsum("bsnd,nde->bse", "8:dp 16 4:tp 32", "4:tp 32 64", whole=SUM)
    yield einsum("bsd,dnk->bsnk", "8:dp 16 32", "32 4:tp 8")
    yield einsum("ij,jk,kl->il", "16:dp 32", "32 24:tp", "24:tp 8", whole=SUM)
    yield einsum("b...i,ij->b...j", "8:dp 4 16 32", "32 64:tp")
    yield einsum("ecd,edf->ecf", "4:tp 16:dp 32", "4:tp 32 64")
    yield einsum("bii->bi", "8:dp 16 16")
    yield einsum("bi,bj,bk->bijk", "8:dp 4:tp", "8:dp 3", "8:dp 5")
    yield row("bilinear", F.bilinear, "8:dp 16", "8:dp 12", "32:tp 16 12")
    yield row("cdist", torch.cdist, "8:dp 16 4", "8:dp 24 4")
    yield row(
        "grouped heads", lambda x, w: torch.einsum("bsgd,gde->bsge", x, w), "8:dp 16 4:tp 8", "4:tp 8 6"
    )


def _attention() -> Iterator[Row]:
    attention = F.scaled_dot_product_attention
    heads = "8:dp 4:tp 16 32"
    yield row("attention", attention, heads, heads, heads)
    yield row("attention, causal", lambda *t: attention(*t, is_causal=True), heads, heads, heads)
    yield row("attention, mask", attention, heads, heads, heads, "b 8:dp 1 16 16")
    yield row("attention, bias", attention, heads, heads, heads, "1 4:tp 16 16")
    grouped = ("8:dp 8:tp 16 32", "8:dp 4:tp 16 32", "8:dp 4:tp 16 32")
    yield row("attention, grouped heads", lambda *t: attention(*t, enable_gqa=True), *grouped)
    sequence = ("8:dp 4 16:tp 32", "8:dp 4 24 32", "8:dp 4 24 32")
    yield row("attention, queries sharded", attention, *sequence)


def _views() -> Iterator[Row]:
    x = "8:dp 16 32:tp"
    yield row("split heads", lambda x: x.view(8, 16, 4, 8), x)
    yield row("merge heads", lambda x: x.flatten(2), "8:dp 16 4:tp 8")
    yield row("merge batch", lambda x: x.flatten(0, 1), x)
    yield row("split batch", lambda x: x.view(2, 4, 16, 32), x)
    yield row("transpose", lambda x: x.transpose(1, 2).contiguous(), x)
    yield row("permute", lambda x: x.permute(2, 0, 1), x)
    yield row("movedim", lambda x: x.movedim(0, -1), x)
    yield row("unsqueeze", lambda x: x.unsqueeze(1), x)
    yield row("squeeze", lambda x: x.squeeze(1), "8:dp 1 32:tp")
    yield row("expand", lambda x: x.expand(8, 5, 32), "8:dp 1 32:tp")
    yield row("repeat", lambda x: x.repeat(1, 3, 1), x)
    yield row("repeat_interleave", lambda x: x.repeat_interleave(2, 1), x)
    yield row("repeat heads", lambda x: x.repeat_interleave(2, 1), "8:dp 4:tp 16 8")
    yield row("select", lambda x: x[:, 3], x)
    yield row("slice", lambda x: x[:, 2:9:2], x)
    yield row("narrow", lambda x: x.narrow(1, 1, 8), x)
    yield row("flip", lambda x: x.flip(1), x)
    yield row("roll", lambda x: x.roll(3, 1), x)
    yield row("roll two", lambda x: x.roll((1, 2), (1, 2)), "8:dp 8 8 4:tp")
    yield row("diagonal", lambda x: x.diagonal(0, 1, 2), "8:dp 16 16")
    yield row("tril", torch.tril, "8:dp 16 16:tp")
    yield row("unfold", lambda x: x.unfold(1, 4, 2), x)
    yield row("as_strided", lambda x: torch.as_strided(x, (32, 16, 8), (1, 32, 512)), x)
    yield row("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), "8:dp 16 8 8")
    yield row("windows", lambda x: x.view(8, 2, 4, 2, 4, 16).transpose(2, 3), "8:dp 8 8 16:tp")
    yield row("view(dtype)", lambda x: x.view(torch.int32), x)


def _joins() -> Iterator[Row]:
    x = "8:dp 16 32:tp"
    yield row("cat", lambda x, y: torch.cat([x, y], 1), x, x)
    yield row("stack", lambda x, y: torch.stack([x, y], 1), x, x)
    yield row("stack last", lambda x, y: torch.stack([x, y], -1), x, x)
    yield row("unbind", lambda x: sum(x.unbind(1)), x)
    yield row("split", lambda x: x.split([4, 12], 1), x)
    yield row("chunk", lambda x: x.chunk(2, 1), x)
    yield row("chunk of three", lambda x: x.view(8, 16, 3, 32).unbind(2), "8:dp 16 96")
    yield row("pad", lambda x: F.pad(x, (0, 0, 1, 2)), x)
    yield row("pad reflect", lambda x: F.pad(x, (1, 2), mode="reflect"), "8:dp 4:tp 16")
    yield row("meshgrid", lambda x, y: torch.meshgrid(x, y, indexing="ij"), "8:dp", "16:tp")


def _pointwise() -> Iterator[Row]:
    x = "8:dp 16 32:tp"
    yield row("add bias", torch.add, x, "32:tp")
    yield row("mul by rows", torch.mul, x, "8:dp 1 1")
    yield row("gelu", F.gelu, x)
    yield row("gelu tanh", lambda x: F.gelu(x, approximate="tanh"), x)
    yield row("silu * gate", lambda x, y: F.silu(x) * y, x, x)
    yield row("glu", lambda x: F.glu(x, 1), x)
    yield row("masked_fill", lambda x, m: x.masked_fill(m, 0.0), x, "b 8:dp 16 1")
    yield row("where", torch.where, "b 8:dp 16 1", x, "32:tp")
    yield row("lerp", torch.lerp, x, x, "32:tp")
    yield row("softplus", F.softplus, x)
    yield row("dropout", lambda x: F.dropout(x, 0.5, True), x)
    yield row("rand_like", lambda x: x + torch.rand_like(x), x)
    rotated = lambda x: torch.cat([-x[..., 4:], x[..., :4]], -1)  # noqa: E731
    yield row("rotary", lambda x, c: x * c + rotated(x) * c, "8:dp 4:tp 16 8", "16 8")
    yield row("complex rotary", _complex_rotary, "8:dp 16 4:tp 8", "16 1 4 2")


def _complex_rotary(x: Any, angles: Any) -> Any:
    turned = torch.view_as_complex(x.view(*x.shape[:-1], -1, 2)) * torch.view_as_complex(angles)
    return torch.view_as_real(turned).flatten(3)


def _reductions() -> Iterator[Row]:
    x = "8:dp 16 32:tp"
    yield row("sum", lambda x: x.sum(1), x)
    yield row("sum of sharded", lambda x: x.sum(-1), x, whole=SUM)
    yield row("mean of all", torch.mean, x, whole=SUM)
    yield row("amax", lambda x: x.amax(1), x)
    yield row("amax of sharded", lambda x: x.amax(-1), x, whole=SUM)
    yield row("argmax", lambda x: x.argmax(1), x)
    yield row("max with indices", lambda x: x.max(1), x)
    yield row("var", lambda x: x.var(1), x)
    yield row("std of sharded", lambda x: x.std(-1), x, whole=SUM)
    yield row("logsumexp", lambda x: x.logsumexp(1), x)
    yield row("norm", lambda x: x.norm(dim=1), x)
    yield row("normalize", lambda x: F.normalize(x, dim=1), x)
    yield row("prod", lambda x: x.prod(1), x)
    yield row("any", lambda x: (x > 0).any(1), x)
    yield row("count_nonzero", lambda x: x.count_nonzero(1), x)
    yield row("softmax", lambda x: x.softmax(1), x)
    yield row("softmax of sharded", lambda x: x.softmax(-1), x, whole=SUM)
    yield row("log_softmax", lambda x: x.log_softmax(1), x)
    yield row("cross entropy", F.cross_entropy, "16:dp 32", "i32 16:dp", whole=SUM)
    yield row(
        "cross entropy of rows", lambda x, y: F.cross_entropy(x, y, reduction="none"), "16:dp 32", "i32 16:dp"
    )
    yield row("cosine_similarity", lambda x, y: F.cosine_similarity(x, y, 1), x, x)
    yield row("mse_loss", F.mse_loss, x, x, whole=SUM)


def _norms() -> Iterator[Row]:
    x = "8:dp 16:tp 32"
    yield row("layer_norm", lambda x, w, b: F.layer_norm(x, (32,), w, b), x, "32", "32")
    yield row(
        "layer_norm of sharded", lambda x, w: F.layer_norm(x, (32,), w), "8:dp 16 32:tp", "32:tp", whole=SUM
    )
    yield row("rms_norm", lambda x, w: F.rms_norm(x, (32,), w), x, "32")
    yield row("group_norm", lambda x, w, b: F.group_norm(x, 4, w, b), "8:dp 16 6 6", "16", "16")
    yield row("group_norm of groups", lambda x, w: F.group_norm(x, 4, w), "8:dp 16:tp 6 6", "16:tp")
    yield row("batch_norm", lambda x, m, v: F.batch_norm(x, m, v), "8:dp 16:tp 6 6", "16:tp", "16:tp")
    yield row("instance_norm", F.instance_norm, "8:dp 16:tp 6 6")


def _windows() -> Iterator[Row]:
    x = "8:dp 16 12 12"
    yield row("conv2d, features", lambda x, w, b: F.conv2d(x, w, b, padding=1), x, "32:tp 16 3 3", "32:tp")
    yield row("conv2d, contracted", F.conv2d, "8:dp 16:tp 12 12", "32 16:tp 3 3", whole=SUM)
    yield row("conv2d, depthwise", lambda x, w: F.conv2d(x, w, groups=16), "8:dp 16:tp 12 12", "16:tp 1 3 3")
    yield row("conv1d", lambda x, w: F.conv1d(x, w, padding=2), "8:dp 16 24", "32:tp 16 5")
    yield row("conv3d", F.conv3d, "8:dp 4 6 6 6", "8:tp 4 3 3 3")
    yield row("conv_transpose2d", lambda x, w: F.conv_transpose2d(x, w, stride=2), x, "16 32:tp 3 3")
    y = "8:dp 16:tp 12 12"
    yield row("max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), y)
    yield row("max_pool2d, indices", lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), y)
    yield row("avg_pool2d", lambda x: F.avg_pool2d(x, 2), y)
    yield row("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 1), y)
    yield row("adaptive_avg_pool2d, uneven", lambda x: F.adaptive_avg_pool2d(x, 5), y)
    yield row("adaptive_max_pool2d, uneven", lambda x: F.adaptive_max_pool2d(x, 5), y)
    yield row("interpolate nearest", lambda x: F.interpolate(x, scale_factor=2), y)
    yield row("interpolate bilinear", lambda x: F.interpolate(x, size=(17, 9), mode="bilinear"), y)
    yield row("im2col", lambda x: F.unfold(x, 3), "8:dp 4 12 12")


def _gathers() -> Iterator[Row]:
    yield row("embedding, width", F.embedding, "i64 8:dp 16", "64 32:tp")
    yield row("embedding, rows", F.embedding, "i64 8:dp 16", "64:tp 32", whole=SUM)
    yield row("embedding bag", F.embedding_bag, "i64 8:dp 16", "64 32:tp")
    yield row("index_select", lambda x, i: x.index_select(1, i), "8:dp 16 32:tp", "i16 5")
    yield row("index", lambda x, i: x[:, i], "8:dp 16 32:tp", "i16 5 3")
    yield row("index of two", lambda x, i, j: x[:, i, j], "8:dp 16 12 32:tp", "i12 5", "i12 5")
    yield row("gather", lambda x, i: x.gather(1, i), "8:dp 16 32:tp", "i16 8:dp 5 32:tp")
    yield row("take_along_dim", lambda x, i: x.take_along_dim(i, 1), "8:dp 16 32:tp", "i16 8:dp 5 1")
    yield row("one_hot", lambda i: F.one_hot(i, 32), "i32 8:dp 16")


def _scatters() -> Iterator[Row]:
    x, i, y = "8:dp 16 32:tp", "i16 8:dp 5 32:tp", "8:dp 5 32:tp"
    yield row("scatter", lambda x, i, y: x.scatter(1, i, y), x, i, y)
    yield row("scatter_add", lambda x, i, y: x.scatter_add(1, i, y), x, i, y)
    yield row("scatter_reduce", lambda x, i, y: x.scatter_reduce(1, i, y, "amax"), x, i, y)
    yield row("index_add", lambda x, i, y: x.index_add(1, i, y), x, "i16 5", y)
    yield row("index_copy", lambda x, i, y: x.index_copy(1, i, y), x, "i16 5", y)
    yield row("slice_scatter", lambda x, y: x.slice_scatter(y, 1, 2, 7), x, y)
    yield row("select_scatter", lambda x, y: x.select_scatter(y, 1, 2), x, "8:dp 32:tp")
    yield row("cache update", _cache_update, "8:dp 4:tp 16 32", "8:dp 4:tp 1 32", "i16 1")


def _cache_update(cache: Any, new: Any, place: Any) -> Any:
    return cache.index_copy(2, place, new)


def _orders() -> Iterator[Row]:
    x = "8:dp 16 32:tp"
    yield row("sort", lambda x: x.sort(1), x)
    yield row("argsort", lambda x: x.argsort(1), x)
    yield row("topk", lambda x: x.topk(3, 1), x)
    yield row("kthvalue", lambda x: x.kthvalue(3, 1), x)
    yield row("median", lambda x: x.median(1), x)
    yield row("cumsum", lambda x: x.cumsum(1), x)
    yield row("cumprod", lambda x: x.cumprod(1), x)
    yield row("cummax", lambda x: x.cummax(1), x)
    yield row("logcumsumexp", lambda x: x.logcumsumexp(1), x)
    yield row("searchsorted", torch.searchsorted, "8:dp 16", "8:dp 6")
    yield row("bucketize", torch.bucketize, "8:dp 16:tp", "5")
    yield row("histc", lambda x: torch.histc(x, 8, -3, 3), "64:dp", whole=SUM)
    yield row("diff", lambda x: x.diff(dim=1), x)


def _others() -> Iterator[Row]:
    yield row("fft", lambda x: torch.fft.rfft(x, dim=1), "8:dp 16 32:tp", whole=None)
    yield row("fft of two", lambda x: torch.fft.fft2(x, dim=(1, 2)), "8:dp 16 12 4:tp", whole=None)
    yield row("cholesky", torch.linalg.cholesky, "8:dp 4 4")
    yield row("triangular solve", _triangular, "8:dp 4 4", "8:dp 4 6")
    yield row("gru cell", torch.gru_cell, "8:dp 16", "8:dp 8", "24 16", "24 8")
    yield row("multinomial", lambda x: torch.multinomial(x.softmax(1), 2), "8:dp 16")
    yield row("normal", lambda x: torch.normal(x, 1.0), "8:dp 16:tp")


def _along_sharded() -> Iterator[Row]:
    """Ops along a sharded dimension: XLA decides what they send."""
    x = "8:dp 16:tp 32"
    unary: dict[str, Callable[..., Any]] = {
        "slice": lambda x: x[:, 2:14],
        "slice by 2": lambda x: x[:, ::2],
        "select": lambda x: x[:, 3],
        "roll": lambda x: x.roll(3, 1),
        "flip": lambda x: x.flip(1),
        "pad": lambda x: F.pad(x, (0, 0, 1, 2)),
        "pad reflect": lambda x: F.pad(x.transpose(1, 2), (1, 2), mode="reflect"),
        "split": lambda x: x.split(4, 1),
        "unbind": lambda x: torch.stack(x.unbind(1), 1) * 2,
        "cumsum": lambda x: x.cumsum(1),
        "sort": lambda x: x.sort(1),
        "topk": lambda x: x.topk(3, 1),
        "argmax": lambda x: x.argmax(1),
        "max with indices": lambda x: x.max(1),
        "var": lambda x: x.var(1),
        "log_softmax": lambda x: x.log_softmax(1),
        "logsumexp": lambda x: x.logsumexp(1),
        "unfold": lambda x: x.unfold(1, 4, 4),
        "repeat": lambda x: x.repeat(1, 2, 1),
        "repeat_interleave": lambda x: x.repeat_interleave(3, 1),
        "merge as minor": lambda x: x.flatten(0, 1),
        "merge as minor, split": lambda x: (x.flatten(0, 1) * 2).view(8, 16, 32),
        "split off": lambda x: x.view(8, 2, 8, 32),
        "diff": lambda x: x.diff(dim=1),
        "median": lambda x: x.median(1),
    }
    for name, function in unary.items():
        yield row(f"{name} along sharded", function, x, whole=None)
    yield row("cat along sharded", lambda x, y: torch.cat([x, y], 1), x, x, whole=None)
    yield row("gather along sharded", lambda x, i: x.gather(1, i), x, "i16 8:dp 5 32", whole=None)
    yield row("index_select along sharded", lambda x, i: x.index_select(1, i), x, "i16 5", whole=None)
    yield row(
        "scatter_add along sharded",
        lambda x, i, y: x.scatter_add(1, i, y),
        x,
        "i16 8:dp 5 32",
        "8:dp 5 32",
        whole=None,
    )
    yield row("cross entropy of shards", F.cross_entropy, "16:dp 32:tp", "i32 16:dp", whole=None)
    yield row(
        "conv2d along sharded",
        lambda x, w: F.conv2d(x, w, padding=1),
        "8:dp 4 16:tp 12",
        "8 4 3 3",
        whole=None,
    )
    yield row("max_pool2d along sharded", lambda x: F.max_pool2d(x, 3, 2, 1), "8:dp 4 16:tp 12", whole=None)
    yield row("avg_pool2d along sharded", lambda x: F.avg_pool2d(x, 2), "8:dp 4 16:tp 12", whole=None)
    yield row("group_norm along sharded", lambda x: F.group_norm(x, 2), "8:dp 16:tp 6 6", whole=None)
    q, k = "8:dp 4 16 32", "8:dp 4 24:tp 32"
    yield row("attention, keys sharded", F.scaled_dot_product_attention, q, k, k, whole=None)
    yield row("add of two shardings", torch.add, "8:dp 16:tp", "8:tp 16:dp", whole=None)
    yield row("mm of two shardings", torch.mm, "16:dp 32:tp", "32:dp 64:tp", whole=None)
    yield row("embedding of both", F.embedding, "i64 8:dp 16:tp", "64:tp 32:dp", whole=None)


def _triangular(a: Any, b: Any) -> Any:
    return torch.linalg.solve_triangular(a, b, upper=False)
