"""nn.MultiheadAttention in training steps: torch's numbers, with batch and heads apart."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from torch import nn

from shardy_py import Mesh, P, Program, propagate
from shardy_py.frontends.torch.multi_head import heads_apart
from shardy_py.frontends.torch.whole_ops import kept_whole

pytestmark = pytest.mark.torch

BATCH, LENGTH, SOURCE, SIZE, HEADS = 3, 5, 7, 16, 4


def inputs(*, own: bool, kdim: int = SIZE, vdim: int = SIZE) -> list[Any]:
    query = torch.randn(LENGTH, BATCH, SIZE)
    if own:
        return [query] * 3
    key = torch.randn(SOURCE, BATCH, kdim)
    return [query, key, key if kdim == vdim else torch.randn(SOURCE, BATCH, vdim)]


CAUSAL = nn.Transformer.generate_square_subsequent_mask(LENGTH)
PADDING = torch.arange(LENGTH).expand(BATCH, -1) > torch.tensor([[2], [3], [4]])
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "self": ({"own": True}, {}),
    "self, without weights": ({"own": True}, {"need_weights": False}),
    "weights of each head": ({"own": True}, {"average_attn_weights": False}),
    "causal": ({"own": True}, {"attn_mask": CAUSAL, "is_causal": True, "need_weights": False}),
    "masked": ({"own": True}, {"attn_mask": CAUSAL, "key_padding_mask": PADDING.float() * -9}),
    "padded": ({"own": True}, {"key_padding_mask": PADDING, "need_weights": False}),
    "both masks": ({"own": True}, {"key_padding_mask": PADDING, "attn_mask": CAUSAL < 0}),
    "mask of each head": ({"own": True}, {"attn_mask": torch.randn(BATCH * HEADS, LENGTH, LENGTH)}),
    "cross": ({"own": False}, {}),
    "cross, without weights": ({"own": False}, {"need_weights": False}),
    "cross, of other sizes": ({"own": False, "kdim": 6, "vdim": 10}, {}),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "": {},
    "without bias": {"bias": False},
    "with bias of keys": {"add_bias_kv": True},
    "with zeros": {"add_zero_attn": True},
}


WITH_OPTIONS = ("self", "both masks", "mask of each head", "cross, of other sizes")
"""The cases that are tried with all options each time: no mask, masks of each shape, and across."""


@pytest.mark.parametrize(
    ("case", "options"),
    [
        pytest.param(case, options, marks=pytest.mark.slow if options and case not in WITH_OPTIONS else [])
        for case in CASES
        for options in OPTIONS
    ],
)
def test_numbers_and_gradients_are_torchs(case: str, options: str) -> None:
    torch.manual_seed(0)
    given, keywords = CASES[case]
    sizes = {key: size for key, size in given.items() if key != "own"}
    model = nn.MultiheadAttention(SIZE, HEADS, **sizes, **OPTIONS[options])
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    query, key, value = inputs(**given)

    def run() -> list[Any]:
        found, weights = model(query, key, value, **keywords)
        model.zero_grad()
        (found * torch.linspace(-1, 1, found.numel()).view(found.shape)).sum().backward()
        gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        return [found, *([] if weights is None else [weights]), *gradients]

    wanted = run()
    with kept_whole(), heads_apart():
        found = run()
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def step(model: Any, *shape: int, **shardings: Any) -> Any:
    mesh = Mesh.of(dp=4, tp=2)
    program = Program.from_torch_training(
        model,
        lambda output: output.square().mean(),
        None,
        (torch.randn(shape),),
        mesh=mesh,
        shardings=shardings,
    )
    return propagate(program).communication()


@pytest.mark.parametrize("is_batch_first", [True, False])
def test_a_sharded_batch_is_not_gathered(is_batch_first: bool) -> None:
    model = nn.TransformerEncoderLayer(SIZE, HEADS, 32, dropout=0.0, batch_first=is_batch_first)
    batch = {"src": P("dp") if is_batch_first else P(None, "dp")}
    report = step(model, *((8, 6) if is_batch_first else (6, 8)), SIZE, **batch)
    assert {use.kind for use in report.collectives} == {"all_reduce"}


def test_sharded_heads_are_not_gathered_between_the_projections() -> None:
    model = nn.TransformerEncoderLayer(SIZE, HEADS, 32, dropout=0.0, batch_first=True)
    rows = {
        "self_attn.out_proj.weight": P(None, "tp"),
        "linear1.weight": P("tp"),
        "linear2.weight": P(None, "tp"),
    }
    report = step(model, 8, 6, SIZE, src=P("dp"), **rows)
    # The packed projection has queries, keys and values in one dimension, which heads do not shard.
    gathers = [use.cause.location for use in report.collectives if use.kind == "all_gather"]
    assert gathers == ["self_attn/view backward"]


def test_a_call_with_a_static_key_is_torchs() -> None:
    functional, x = nn.functional, torch.randn(LENGTH, BATCH, SIZE)
    weight = torch.randn(SIZE, SIZE)
    arguments = (
        x,
        x,
        x,
        SIZE,
        HEADS,
        torch.randn(3 * SIZE, SIZE),
        None,
        None,
        None,
        False,
        0.0,
        weight,
        None,
    )
    static = torch.randn(BATCH * HEADS, SOURCE, SIZE // HEADS)
    keywords = {"static_k": static, "static_v": static}
    wanted = functional.multi_head_attention_forward(*arguments, **keywords)
    with kept_whole(), heads_apart():
        found = functional.multi_head_attention_forward(*arguments, **keywords)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
