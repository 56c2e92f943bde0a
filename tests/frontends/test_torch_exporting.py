"""Modules that torch cannot export: the line of the model, and what helps."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import Mesh, P, Program, ShardyError
from shardy_py.frontends.torch import from_module
from tests.frontends.torch_models import MLP

pytestmark = pytest.mark.torch

X = torch.randn(4, 16)


class DynamicCache:
    """A cache that is not a tree of tensors, as of models that generate text."""


class Cached(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x + 1, DynamicCache()


class Branch(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        if x.sum() > 0:
            return x
        return -x


class Experts(torch.nn.Module):
    def experts(self, x: Any) -> Any:
        return sum(x[i] for i in x[0].nonzero().unbind(0))

    def forward(self, x: Any) -> Any:
        return self.experts(x)


class Boxes(torch.nn.Module):
    def postprocess(self, x: Any) -> Any:
        kept = x[x > 0]
        return kept if len(kept) > 3 else x

    def forward(self, x: Any) -> Any:
        return self.postprocess(x)


class Converted(torch.nn.Module):
    """Converts its parameters as it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(16, 16)

    def forward(self, x: Any) -> Any:
        return self.inner.to(torch.float64)(x.double())


class Long(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        raise ValueError("odd " * 1000)


class Attention(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        raise NotImplementedError("FlexAttention does not support backward on CPU")


class Odd(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        raise ValueError("odd")


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        (Cached, "pass use_cache=False to the model, or set it in its configuration"),
        (Branch, "the code depends on elements of a tensor: use torch.where or torch.cond"),
        (Experts, 'load the model with experts_implementation="batched_mm"'),
        (Attention, 'load the model with attn_implementation="sdpa", or "eager"'),
        (Boxes, "the number of boxes depends on their scores: export the model without"),
        (Converted, "the model converts parameters as it runs"),
        (Odd, "export with strict=True, or torch.export.draft_export"),
    ],
)
def test_what_helps_where_torch_cannot_export(model: Any, remedy: str) -> None:
    with pytest.raises(ShardyError) as caught:
        from_module(model(), (X,))
    (only,) = caught.value.diagnostics
    assert only.what.startswith("torch.export failed: ")
    assert only.remedy.startswith(remedy)


def test_long_messages_are_shortened() -> None:
    with pytest.raises(ShardyError, match=r"ValueError: (odd )+\.\.\.") as caught:
        from_module(Long(), (X,))
    assert len(caught.value.diagnostics[0].what) < 300


def test_the_error_is_at_the_line_of_the_model() -> None:
    with pytest.raises(ShardyError, match=r"torch\.export failed: ValueError: odd") as caught:
        from_module(Odd(), (X,))
    line = inspect.getsourcelines(Odd.forward)[1] + 1
    assert str(caught.value.diagnostics[0].where) == f"{__file__}:{line}:1"


def test_a_strict_export_that_fails_is_tried_otherwise() -> None:
    with pytest.raises(ShardyError, match="export with strict=False"):
        from_module(Odd(), (X,), strict=True)


def test_modules_become_programs() -> None:
    mesh = Mesh.of(dp=2, tp=4)
    program = Program.from_torch(MLP(), mesh, {"up.weight": P("tp")}, args=(X,))
    assert str(program["up.weight"].sharding) == '<@mesh, [{"tp"}, {}]>'
    exported = torch.export.export(MLP(), (), {"x": X})
    named = from_module(MLP(), kwargs={"x": X}, mesh=mesh, shardings={"up.weight": P("tp")})
    assert named.text() == program.text()
    assert Program.from_torch(exported, mesh, {"up.weight": P("tp")}).text() == program.text()
    with pytest.raises(ShardyError, match=r"expected a torch\.nn\.Module, got int"):
        from_module(3, (X,))
