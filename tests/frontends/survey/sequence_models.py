"""State-space models, mixtures of experts, attention variants, graphs and control flow, written out."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.frontends.survey.recommenders import dense, tokens
from tests.frontends.survey.rows import Row

F = nn.functional


class SelectiveScan(nn.Module):
    """Mamba's block: a causal convolution, then a state updated step by step."""

    def __init__(self, width: int = 8, state: int = 4) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.conv = nn.Conv1d(width, width, 4, groups=width, padding=3)
        self.chosen, self.rate = nn.Linear(width, 2 * state + 1), nn.Linear(1, width)
        self.decay, self.skip = nn.Parameter(torch.rand(width, state)), nn.Parameter(torch.ones(width))

    def forward(self, x: Any) -> Any:
        x, gate = self.into(x).chunk(2, -1)
        x = F.silu(self.conv(x.mT)[..., : x.shape[1]].mT)
        b, c, rate = self.chosen(x).split([4, 4, 1], -1)
        rate = F.softplus(self.rate(rate))
        kept = torch.exp(-rate[..., None] * self.decay.exp())
        added = rate[..., None] * b[:, :, None] * x[..., None]
        state, outputs = torch.zeros_like(added[:, 0]), []
        for step in range(x.shape[1]):
            state = kept[:, step] * state + added[:, step]
            outputs.append((state * c[:, step, None]).sum(-1))
        return self.out((torch.stack(outputs, 1) + x * self.skip) * F.silu(gate))


class StateSpaceDual(nn.Module):
    """Mamba-2's chunked form: decays by segment sums, products within a causal mask."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.qkv, self.decay = nn.Linear(width, 3 * width), nn.Linear(width, 2)

    def forward(self, x: Any) -> Any:
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, 2, d // 2).unbind(2)
        total = F.logsigmoid(self.decay(x)).cumsum(1)
        segment = (total[:, :, None] - total[:, None]).masked_fill(
            ~torch.ones(n, n, dtype=torch.bool).tril()[..., None], float("-inf")
        )
        return torch.einsum("bihd,bjhd,bijh,bjhe->bihe", q, k, segment.exp(), v).reshape(b, n, d)


class LongConvolution(nn.Module):
    """S4's and Hyena's causal convolution, by Fourier transforms."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(4, 16))

    def forward(self, x: Any) -> Any:
        n = 2 * x.shape[-1]
        return torch.fft.irfft(torch.fft.rfft(x, n) * torch.fft.rfft(self.kernel, n), n)[..., : x.shape[-1]]


class LinearRecurrence(nn.Module):
    """RWKV-like: weights that decay with distance."""

    def __init__(self) -> None:
        super().__init__()
        self.decay, self.kvr = nn.Parameter(torch.rand(8)), nn.Linear(8, 24)

    def forward(self, x: Any) -> Any:
        shifted = F.pad(x, (0, 0, 1, -1))
        k, v, r = self.kvr(0.5 * (x + shifted)).chunk(3, -1)
        top, bottom, outputs = torch.zeros_like(k[:, 0]), torch.zeros_like(k[:, 0]), []
        for i in range(x.shape[1]):
            top = top * self.decay + k[:, i].exp() * v[:, i]
            bottom = bottom * self.decay + k[:, i].exp()
            outputs.append(top / bottom)
        return torch.sigmoid(r) * torch.stack(outputs, 1)


class SwitchLayer(nn.Module):
    """Experts of a fixed capacity: tokens are dispatched by one-hot products."""

    def __init__(self, experts: int = 4, width: int = 8, capacity: int = 3) -> None:
        super().__init__()
        self.gate, self.capacity = nn.Linear(width, experts), capacity
        self.up = nn.Parameter(torch.randn(experts, width, 16))
        self.down = nn.Parameter(torch.randn(experts, 16, width))

    def forward(self, x: Any) -> Any:
        weights = self.gate(x).softmax(-1)
        weight, chosen = weights.max(-1)
        mask = F.one_hot(chosen, weights.shape[-1]).float()
        place = ((mask.cumsum(0) - 1) * mask).sum(-1).long()
        kept = (place < self.capacity).float()[:, None]
        slots = F.one_hot(place.clamp(max=self.capacity - 1), self.capacity).float() * kept
        dispatch = torch.einsum("te,tc->tec", mask, slots)
        y = torch.einsum("tec,td->ecd", dispatch, x)
        y = torch.bmm(F.gelu(torch.bmm(y, self.up)), self.down)
        return torch.einsum("tec,ecd->td", dispatch * weight[:, None, None], y)


class SortedExperts(nn.Module):
    """Tokens sorted by their expert, then grouped products (as torchtitan's mixture of experts)."""

    def __init__(self, experts: int = 4, width: int = 16) -> None:
        super().__init__()
        self.gate, self.experts = nn.Linear(width, experts), experts
        self.up = nn.Parameter(torch.randn(experts, width, 16))

    def forward(self, x: Any) -> Any:
        chosen = self.gate(x).argmax(-1)
        order = torch.argsort(chosen, stable=True)
        grouped_mm: Any = vars(torch)["_grouped_mm"]
        counts = torch.histc(chosen.float(), bins=self.experts, min=0, max=self.experts - 1)
        ends = counts.cumsum(0).to(torch.int32)
        y = grouped_mm(x[order].bfloat16(), self.up.bfloat16(), offs=ends)
        return torch.zeros_like(x).index_add(0, order, y.float())


class SoftExperts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.slots, self.experts = (
            nn.Parameter(torch.randn(8, 4, 2)),
            nn.ModuleList(dense(8, 16, 8) for _ in range(4)),
        )

    def forward(self, x: Any) -> Any:
        logits = torch.einsum("bnd,des->bnes", x, self.slots)
        into = torch.einsum("bnd,bnes->besd", x, logits.softmax(1))
        y = torch.stack([expert(into[:, i]) for i, expert in enumerate(self.experts)], 1)
        return torch.einsum("besd,bnes->bnd", y, logits.flatten(2).softmax(-1).view_as(logits))


class LatentAttention(nn.Module):
    """Keys and values of low rank, rotary positions as complex numbers (DeepSeek)."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv_down, self.kv_up = nn.Linear(16, 32), nn.Linear(16, 8 + 4), nn.Linear(8, 4 * 8)
        self.norm, self.out = nn.RMSNorm(8), nn.Linear(16, 16)

    def turn(self, x: Any) -> Any:
        angles = torch.outer(torch.arange(x.shape[1]), 1e4 ** (-torch.arange(2) / 2))
        turned = (
            torch.view_as_complex(x.reshape(*x.shape[:-1], 2, 2))
            * torch.polar(torch.ones_like(angles), angles)[:, None]
        )
        return torch.view_as_real(turned).flatten(-2)

    def forward(self, x: Any) -> Any:
        b, n, _ = x.shape
        plain, place = self.q(x).view(b, n, 4, 8).split([4, 4], -1)
        latent, shared = self.kv_down(x).split([8, 4], -1)
        k, v = self.kv_up(self.norm(latent)).view(b, n, 4, 8).split([4, 4], -1)
        q = torch.cat([plain, self.turn(place)], -1).transpose(1, 2)
        k = torch.cat([k, self.turn(shared[:, :, None]).expand(-1, -1, 4, -1)], -1).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v.transpose(1, 2), is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class Slopes(nn.Module):
    """Attention with linear biases (ALiBi), written with einsum."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(16, 48)

    def forward(self, x: Any) -> Any:
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, 4, d // 4).permute(2, 0, 3, 1, 4)
        distance = torch.arange(n)[None] - torch.arange(n)[:, None]
        bias = distance * 2.0 ** -torch.arange(1, 5)[:, None, None]
        scores = torch.einsum("bhid,bhjd->bhij", q, k) / (d // 4) ** 0.5 + bias
        scores = scores.masked_fill(torch.triu(torch.ones(n, n, dtype=torch.bool), 1), float("-inf"))
        return torch.einsum("bhij,bhjd->bihd", scores.softmax(-1), v).flatten(2)


class LinearAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(16, 48)

    def forward(self, x: Any) -> Any:
        q, k, v = (t.unflatten(-1, (4, -1)) for t in self.qkv(x).chunk(3, -1))
        q, k = F.elu(q) + 1, F.elu(k) + 1
        total = torch.einsum("bnhd,bnhe->bhde", k, v)
        below = torch.einsum("bnhd,bhd->bnh", q, k.sum(1)).unsqueeze(-1)
        return (torch.einsum("bnhd,bhde->bnhe", q, total) / below).flatten(-2)


class Windows(nn.Module):
    """Attention in windows of keys, by unfold."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x: Any) -> Any:
        q, k, v = self.qkv(x).chunk(3, -1)
        k, v = (F.pad(t, (0, 0, 2, 2)).unfold(1, 5, 1) for t in (k, v))
        return torch.einsum("bnw,bndw->bnd", torch.einsum("bnd,bndw->bnw", q, k).softmax(-1), v)


class FlexAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(64, 192)

    def forward(self, x: Any) -> Any:
        from torch.nn.attention.flex_attention import flex_attention

        q, k, v = (t.unflatten(-1, (4, 16)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s - (i - j).abs())


class Graphs(nn.Module):
    """Messages along edges, summed by index; attention normalized by node (GAT)."""

    def __init__(self) -> None:
        super().__init__()
        self.node, self.score, self.head = nn.Linear(8, 8), nn.Linear(16, 1), nn.Linear(8, 3)

    def forward(self, x: Any, edges: Any) -> Any:
        x = self.node(x)
        source, target = edges
        weight = F.leaky_relu(self.score(torch.cat([x[source], x[target]], -1)), 0.2).exp()
        below = torch.zeros(x.shape[0], 1).index_add(0, target, weight)
        found = torch.zeros_like(x).scatter_add(0, target[:, None].expand(-1, 8), weight * x[source])
        return self.head(F.elu(found / (below + 1e-9)))


class Chosen(nn.Module):
    """Control flow: one of two branches by a value."""

    def __init__(self) -> None:
        super().__init__()
        self.small, self.large = nn.Linear(8, 4), dense(8, 16, 4)

    def forward(self, x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: self.large(x), lambda x: self.small(x), (x,))


class Loop(nn.Module):
    """Control flow: a loop until a norm is small."""

    def forward(self, x: Any) -> Any:
        from torch._higher_order_ops.while_loop import while_loop

        return while_loop(
            lambda i, x: (i < 8) & (x.norm() > 1), lambda i, x: (i + 1, x * 0.5), (torch.tensor(0), x)
        )


class Scanned(nn.Module):
    """Control flow: a recurrence by torch's scan."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(16, 8)

    def forward(self, x: Any) -> Any:
        from torch._higher_order_ops.scan import scan

        def step(state: Any, x: Any) -> Any:
            new = torch.tanh(self.cell(torch.cat([state, x], -1)))
            return new, new.clone()

        return scan(step, torch.zeros(2, 8), x, dim=1)[1]


class Transformer(nn.Module):
    """torch's own encoder and decoder, with masks of padding."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(30, 16, padding_idx=0)
        self.model = nn.Transformer(16, 4, 1, 1, 32, dropout=0.0, batch_first=True)

    def forward(self, source: Any, target: Any) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.model(
            self.embed(source), self.embed(target), tgt_mask=mask, tgt_is_causal=True,
            src_key_padding_mask=source == 1,
        )  # fmt: skip


class Mixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches, self.norm = nn.Conv2d(3, 16, 4, 4), nn.LayerNorm(16)
        self.across, self.along = dense(16, 32, 16), dense(16, 32, 16)

    def forward(self, x: Any) -> Any:
        x = self.patches(x).flatten(2).mT
        x = x + self.across(self.norm(x).mT).mT
        return (x + self.along(self.norm(x))).mean(1)


class Quantized(nn.Module):
    """Weights and activations rounded to 8 bits, as quantization-aware training does."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        scale, zero = torch.full((8,), 0.01), torch.zeros(8, dtype=torch.int32)
        weight = torch.fake_quantize_per_channel_affine(self.layer.weight, scale, zero, 0, -128, 127)
        x = torch.fake_quantize_per_tensor_affine(x, 0.05, 3, 0, 255)
        return F.linear(x, weight, self.layer.bias)


def edges() -> Any:
    return torch.randint(0, 6, (2, 12))


ROWS = tuple(
    Row(name, "written", build)
    for name, build in {
        "selective scan": lambda: (SelectiveScan(), (torch.randn(2, 6, 8),), {}),
        "state-space duality": lambda: (StateSpaceDual(), (torch.randn(2, 6, 8),), {}),
        "long convolution": lambda: (LongConvolution(), (torch.randn(2, 4, 16),), {}),
        "linear recurrence": lambda: (LinearRecurrence(), (torch.randn(2, 5, 8),), {}),
        "switch layer": lambda: (SwitchLayer(), (torch.randn(10, 8),), {}),
        "sorted experts": lambda: (SortedExperts(), (torch.randn(12, 16),), {}),
        "soft experts": lambda: (SoftExperts(), (torch.randn(2, 6, 8),), {}),
        "latent attention": lambda: (LatentAttention(), (torch.randn(2, 5, 16),), {}),
        "attention with linear biases": lambda: (Slopes(), (torch.randn(2, 5, 16),), {}),
        "linear attention": lambda: (LinearAttention(), (torch.randn(2, 5, 16),), {}),
        "windowed attention": lambda: (Windows(), (torch.randn(2, 7, 8),), {}),
        "flex attention": lambda: (FlexAttention(), (torch.randn(1, 128, 64),), {}),
        "graph attention": lambda: (Graphs(), (torch.randn(6, 8), edges()), {}),
        "cond": lambda: (Chosen(), (torch.randn(3, 8),), {}),
        "while_loop": lambda: (Loop(), (8 * torch.randn(3, 8),), {}),
        "scan": lambda: (Scanned(), (torch.randn(2, 5, 8),), {}),
        "nn.Transformer": lambda: (Transformer(), (tokens(2, 6), tokens(2, 4)), {}),
        "MLP-Mixer": lambda: (Mixer(), (torch.randn(2, 3, 16, 16),), {}),
        "fake quantization": lambda: (Quantized(), (torch.randn(4, 8),), {}),
    }.items()
)
