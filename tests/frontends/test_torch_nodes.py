"""What cannot be translated: named as the user knows it, with module, line and remedy."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import ShardyError
from shardy_py.frontends.aten import ROWS
from shardy_py.frontends.torch import from_exported
from tests.frontends.torch_models import MLP, exported

pytestmark = pytest.mark.torch


class Call(torch.nn.Module):
    """A function as a model."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


class Outer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Call(lambda x: torch.special.bessel_j1(x))

    def forward(self, x: Any) -> Any:
        return self.inner(x) + self.inner(2 * x) + torch.special.bessel_j0(x)


def test_every_op_without_a_row_is_reported_with_position_and_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    for order in (0, 1):
        monkeypatch.delitem(ROWS, f"aten.special_bessel_j{order}")
    with pytest.raises(ShardyError) as caught:
        from_exported(exported(Outer(), (torch.randn(3, 4),)))
    first, second = caught.value.diagnostics
    line = inspect.getsourcelines(Call.forward)[1] + 1
    assert str(first.where) == f"{__file__}:{line}:1"
    assert first.message == (
        "aten.special_bessel_j1.default in inner: unsupported; add a row: "
        'register_aten("aten.special_bessel_j1", row), where row(out, *arguments) returns a tensor '
        "of type out (shardy_py.frontends.torch)"
    )
    assert second.message.startswith("aten.special_bessel_j0.default: unsupported")


REFUSED: list[tuple[Callable[[Any], Any], list[str]]] = [
    (
        lambda x: torch.poisson(x),
        ["aten.poisson.default: draws random numbers; export the model in evaluation (model.eval())"],
    ),
    (lambda x: x[x > 0].sum(), ["aten.index.Tensor: the size of its result depends on values; use an op"]),
    (
        lambda x: x.index_put((x > 0,), x[0]),
        ["aten.index_put.default: a mask as index is supported alone, with one value for all its elements"],
    ),
    (
        lambda x: x.index_put((torch.tensor([1]), x[0] > 0), x[0, 0]),
        ["aten.index_put.default: a mask as index is supported alone, with one value for all its elements"],
    ),
    (lambda x: x.nonzero(), ["aten.nonzero.default: the size of its result depends on values"]),
    (
        lambda x: x.select(0, x.sum().long().item()).add_(1),
        ["aten.item.default: reads a number from"],
    ),
    (
        lambda x: (torch.ops.aten._masked_scale(x, x > 0, 2.0), torch.hash_tensor(x)),
        [
            "aten._masked_scale.default: unsupported; add a row",
            "aten.hash_tensor.default: XLA has no hashes; compare elements, or sums of them",
        ],
    ),
    (
        lambda x: x.to(torch.complex32).abs(),
        ["aten._to_copy.default: element type torch.complex32 is unsupported; compute in torch.complex64"],
    ),
    (
        lambda x: x.to_sparse().to_dense(),
        ["aten._to_sparse.default: sparse tensors are unsupported; compute"],
    ),
]


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize(("function", "messages"), REFUSED)
def test_what_is_refused_and_nothing_that_follows_from_it(function: Any, messages: list[str]) -> None:
    with pytest.raises(ShardyError) as caught:
        from_exported(exported(Call(function), (torch.randn(3, 3),)))
    found = [diagnostic.message for diagnostic in caught.value.diagnostics]
    assert [text[: len(wanted)] for text, wanted in zip(found, messages, strict=True)] == messages


def test_dynamic_sizes_are_reported_once() -> None:
    batch = torch.export.Dim("batch")
    dynamic = torch.export.export(MLP(), (torch.randn(4, 16),), dynamic_shapes=({0: batch},))
    with pytest.raises(ShardyError, match=r"dynamic sizes .*; export without dynamic_shapes") as caught:
        from_exported(dynamic)
    assert len(caught.value.diagnostics) == 1


def test_in_place_decompositions_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.diagonal_scatter is decomposed into a copy; the other op of the model still is decomposed."""
    monkeypatch.delitem(ROWS, "aten.diagonal_scatter")

    def function(x: Any) -> Any:
        return torch.diagonal_scatter(torch.nn.functional.interpolate(x, scale_factor=2), x[:, :, 0], 0, 1, 2)

    with pytest.raises(ShardyError) as caught:
        from_exported(exported(Call(function), (torch.randn(1, 4, 2),)))
    (only,) = caught.value.diagnostics
    assert only.message.startswith("aten.diagonal_scatter.default: unsupported")
