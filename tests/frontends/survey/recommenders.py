"""Recommenders, recurrent models and series models, written out."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from tests.frontends.survey.rows import Row

F = nn.functional


def dense(*sizes: int) -> nn.Sequential:
    """Linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for inner, outer in pairwise(sizes):
        layers += [nn.Linear(inner, outer), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class DLRM(nn.Module):
    """Bags of sparse features with offsets, pairwise products of all features."""

    def __init__(self, tables: int = 3, rows: int = 20, width: int = 8, mode: str = "sum") -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode=mode) for _ in range(tables))
        self.bottom, count = dense(5, 16, width), tables + 1
        self.top = dense(width + count * (count - 1) // 2, 16, 1)

    def forward(self, numbers: Any, indices: Any, offsets: Any) -> Any:
        x = self.bottom(numbers)
        bags = [table(i, o) for table, i, o in zip(self.tables, indices, offsets, strict=True)]
        features = torch.stack([x, *bags], 1)
        products = torch.bmm(features, features.transpose(1, 2))
        i, j = torch.tril_indices(features.shape[1], features.shape[1], offset=-1)
        return torch.sigmoid(self.top(torch.cat([x, products[:, i, j]], 1)))


class DLRMOfFixedBags(nn.Module):
    """Bags of one length, weighted."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.top = nn.EmbeddingBag(20, 8, mode="sum", padding_idx=0), dense(8, 1)

    def forward(self, indices: Any, weights: Any) -> Any:
        return self.top(self.table(indices, per_sample_weights=weights))


class DeepFM(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.first = nn.Embedding(50, 8), nn.Embedding(50, 1)
        self.deep = dense(4 * 8, 16, 1)

    def forward(self, fields: Any) -> Any:
        e = self.embed(fields)
        pairs = 0.5 * (e.sum(1).square() - e.square().sum(1)).sum(1, keepdim=True)
        return torch.sigmoid(self.first(fields).sum(1) + pairs + self.deep(e.flatten(1)))


class CrossNetwork(nn.Module):
    """DCN-v2: crosses of low rank."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.down = nn.ModuleList(nn.Linear(width, 4, bias=False) for _ in range(3))
        self.up = nn.ModuleList(nn.Linear(4, width) for _ in range(3))

    def forward(self, x: Any) -> Any:
        crossed = x
        for down, up in zip(self.down, self.up, strict=True):
            crossed = x * up(down(crossed)) + crossed
        return crossed


class TwoTowers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.user, self.item = nn.Embedding(30, 8), nn.Embedding(40, 8)
        self.left, self.right = dense(8, 16, 8), dense(8, 16, 8)

    def forward(self, user: Any, items: Any) -> Any:
        u = F.normalize(self.left(self.user(user)), dim=-1)
        return torch.einsum("bd,bkd->bk", u, F.normalize(self.right(self.item(items)), dim=-1)) / 0.07


class SASRec(nn.Module):
    def __init__(self, items: int = 30, width: int = 16, length: int = 8) -> None:
        super().__init__()
        self.items, self.places = nn.Embedding(items, width, padding_idx=0), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, 2, 32, batch_first=True, norm_first=True, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, seen: Any) -> Any:
        length = seen.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        x = self.items(seen) + self.places(torch.arange(length))
        x = self.encoder(x, mask=mask, is_causal=True)
        return (x[:, -1] @ self.items.weight.T).topk(5)


class Recurrent(nn.Module):
    """A recurrent layer of torch, after an embedding, with a head on its last state."""

    def __init__(self, kind: str, **settings: Any) -> None:
        super().__init__()
        self.embed = nn.Embedding(30, 8)
        self.cells = getattr(nn, kind)(8, 12, batch_first=True, **settings)
        self.head = nn.LazyLinear(5)

    def forward(self, tokens: Any) -> Any:
        y, _ = self.cells(self.embed(tokens))
        return self.head(y[:, -1])


class Cells(nn.Module):
    """Cells called in a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru = nn.LSTMCell(6, 8), nn.GRUCell(8, 8)

    def forward(self, x: Any) -> Any:
        h, c, g = (x.new_zeros(x.shape[0], 8) for _ in range(3))
        for step in x.unbind(1):
            h, c = self.lstm(step, (h, c))
            g = self.gru(h, g)
        return g


class Seq2Seq(nn.Module):
    """A bidirectional encoder and a decoder with additive attention."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(30, 8)
        self.encoder = nn.GRU(8, 8, bidirectional=True, batch_first=True)
        self.decoder = nn.GRUCell(8 + 16, 8)
        self.score, self.head = dense(16 + 8, 8, 1), nn.Linear(8, 30)

    def forward(self, source: Any, target: Any) -> Any:
        memory, states = self.encoder(self.embed(source))
        h, outputs = states[0], []
        for token in target.unbind(1):
            keys = torch.cat([memory, h[:, None].expand(-1, memory.shape[1], -1)], -1)
            context = (self.score(keys).softmax(1) * memory).sum(1)
            h = self.decoder(torch.cat([self.embed(token), context], -1), h)
            outputs.append(self.head(h))
        return torch.stack(outputs, 1)


class NBeats(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(dense(16, 24, 16 + 4) for _ in range(3))

    def forward(self, past: Any) -> Any:
        forecast = past.new_zeros(past.shape[0], 4)
        for block in self.blocks:
            back, ahead = block(past).split([16, 4], 1)
            past, forecast = past - back, forecast + ahead
        return forecast


class Temporal(nn.Module):
    """Causal dilated convolutions with weight normalization (TCN)."""

    def __init__(self) -> None:
        super().__init__()
        wrap = nn.utils.parametrizations.weight_norm
        self.layers = nn.ModuleList(wrap(nn.Conv1d(4, 4, 3, dilation=2**i)) for i in range(3))

    def forward(self, x: Any) -> Any:
        for i, layer in enumerate(self.layers):
            x = x + F.relu(layer(F.pad(x, (2 * 2**i, 0))))
        return x


def tokens(*shape: int) -> Any:
    return torch.randint(1, 20, shape)


def _bags() -> Any:
    indices = [tokens(9) for _ in range(3)]
    return torch.randn(4, 5), indices, [torch.tensor([0, 2, 2, 6]) for _ in range(3)]


def recurrent(kind: str, **settings: Any) -> Any:
    model = Recurrent(kind, **settings)
    model(tokens(2, 5))
    return model, (tokens(3, 7),), {}


ROWS = (
    Row("DLRM", "written", lambda: (DLRM(), _bags(), {})),
    Row("DLRM of means", "written", lambda: (DLRM(mode="mean"), _bags(), {})),
    Row("DLRM of maxima", "written", lambda: (DLRM(mode="max"), _bags(), {})),
    Row("DLRM of fixed bags", "written", lambda: (DLRMOfFixedBags(), (tokens(4, 3), torch.rand(4, 3)), {})),
    Row("DeepFM", "written", lambda: (DeepFM(), (tokens(6, 4),), {})),
    Row("DCN-v2", "written", lambda: (CrossNetwork(), (torch.randn(6, 16),), {})),
    Row("two towers", "written", lambda: (TwoTowers(), (tokens(4), tokens(4, 3)), {})),
    Row("SASRec", "written", lambda: (SASRec(), (tokens(3, 8),), {})),
    Row("LSTM", "written", partial(recurrent, "LSTM")),
    Row(
        "LSTM of two layers, both ways",
        "written",
        partial(recurrent, "LSTM", num_layers=2, bidirectional=True),
    ),
    Row("LSTM with projection", "written", partial(recurrent, "LSTM", proj_size=4)),
    Row("GRU of two layers", "written", partial(recurrent, "GRU", num_layers=2)),
    Row("RNN", "written", partial(recurrent, "RNN", nonlinearity="relu")),
    Row("LSTM and GRU cells", "written", lambda: (Cells(), (torch.randn(3, 5, 6),), {})),
    Row("seq2seq with attention", "written", lambda: (Seq2Seq(), (tokens(2, 6), tokens(2, 4)), {})),
    Row("N-BEATS", "written", lambda: (NBeats(), (torch.randn(3, 16),), {})),
    Row("TCN", "written", lambda: (Temporal(), (torch.randn(2, 4, 20),), {})),
)
