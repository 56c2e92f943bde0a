"""In-place ops of exported models: with new results where possible, otherwise left to torch."""

from __future__ import annotations

import functools
import io
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from torch import nn
from torch.nn import functional as F

from shardy_py import ShardyError
from shardy_py.frontends.torch import decompositions as torch_decompositions
from shardy_py.frontends.torch import from_exported
from shardy_py.frontends.torch.in_place import is_in_place, without_mutation

pytestmark = pytest.mark.torch

X = torch.arange(-12.0, 12.0).reshape(2, 12)


class Of(nn.Module):
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function
        self.total = nn.Buffer(torch.ones(2, 12))

    def forward(self, x: Any) -> Any:
        return self.function(x, self.total)


def chain(x: Any, _: Any) -> Any:
    """Ops on one tensor, which is used by its older names."""
    y = x * 2
    F.relu_(y)
    z = y.add_(1.0)
    y.clamp_(max=9.0)
    return y + z, y.masked_fill_(x > 3, -1.0)


def aliased(x: Any, _: Any) -> Any:
    """Names of a tensor that are views of the whole."""
    y = x + 1
    same = y.contiguous().view(2, 12)
    F.hardswish(same, inplace=True)
    return y, same


def viewed_before(x: Any, _: Any) -> Any:
    y = x + 1
    rows = y.flatten().sum()
    return y.sigmoid_() + rows


def residual(x: Any, _: Any) -> Any:
    y = x.sin()
    shortcut = y
    y = F.silu(y.cos() * 3, inplace=True)
    y += shortcut
    return y.mul_(0.5).unsqueeze(1)


def narrow(x: Any, _: Any) -> Any:
    y = x.to(torch.int32)
    y.add_(y).mul_(3)
    return y.masked_fill_(y == 6, 0)


def integer_position(x: Any, _: Any) -> Any:
    y = x.cos()
    return y.index_put_((torch.tensor([0]),), torch.zeros(12))


def viewed_after(x: Any, _: Any) -> Any:
    y = x + 1
    flat = y.flatten()
    y.relu_()
    return flat * 2


def part(x: Any, _: Any) -> Any:
    y = x + 1
    y[:, 3:5] = 0.0
    return y


def chunk(x: Any, _: Any) -> Any:
    first, second = (x + 1).chunk(2, 1)
    first.relu_()
    return first + second


def of_all(x: Any, _: Any) -> Any:
    y = x + 1
    first, second = y.chunk(2, 1)
    y.relu_()
    return first + second


def of_input(x: Any, _: Any) -> Any:
    return x.mul_(2.0)


def of_buffer(x: Any, total: Any) -> Any:
    total.add_(1.0)
    return x + total


def wider(x: Any, _: Any) -> Any:
    y = x + 1
    y.add_(torch.ones(2, 12, dtype=torch.float64))
    return y


def expanded(x: Any, _: Any) -> Any:
    y = x[0] + 1
    wide = y.expand(3, 12)
    y.neg_()
    return wide.clone()


REPLACED = (chain, aliased, viewed_before, residual, narrow, integer_position)
LEFT = (viewed_after, part, chunk, of_all, of_input, of_buffer, wider, expanded)


@functools.cache
def exported(function: Any) -> Any:
    with torch.no_grad():
        return torch.export.export(Of(function).eval(), (X.clone(),))


def numbers(graph: Any) -> list[Any]:
    program = from_exported(graph)
    given = [
        np.ones((2, 12), np.float32) if v.label.endswith("total") else X.numpy()
        for v in program.values.arguments()
    ]
    return list(program.run(given).values())


@pytest.mark.parametrize("function", [*REPLACED, *LEFT])
def test_numbers_are_torchs(function: Any) -> None:
    found = numbers(exported(function))
    with torch.no_grad():
        wanted = torch.utils._pytree.tree_leaves(Of(function)(X.clone()))
    for ours, theirs in zip(found[-len(wanted) :], wanted, strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("function", REPLACED)
def test_ops_get_new_results(function: Any) -> None:
    graph = exported(function)
    before = str(graph.graph)
    found = without_mutation(graph.graph)
    assert found is not None
    assert any(map(is_in_place, graph.graph.nodes))
    assert not any(map(is_in_place, found.nodes))
    found.lint()
    assert str(graph.graph) == before


@pytest.mark.parametrize("function", LEFT)
def test_inputs_parts_and_viewed_tensors_are_left_to_torch(function: Any) -> None:
    assert without_mutation(exported(function).graph) is None


OFTEN = (chain, residual)


@pytest.mark.parametrize(
    "function", [each if each in OFTEN else pytest.param(each, marks=pytest.mark.slow) for each in REPLACED]
)
def test_the_program_is_that_of_torch(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = exported(function)
    text = from_exported(graph).text(debuginfo=False)
    monkeypatch.setattr(torch_decompositions, "without_mutation", lambda _: None)
    assert from_exported(graph).text(debuginfo=False) == text


def test_programs_from_files_are_left_to_torch() -> None:
    """Their tensors do not tell which share memory."""
    file = io.BytesIO()
    graph = exported(aliased)
    torch.export.save(graph, file)
    file.seek(0)
    loaded = torch.export.load(file)
    assert without_mutation(loaded.graph) is None
    assert all(map(np.array_equal, numbers(loaded), numbers(graph)))


class Checked(nn.Module):
    """Checks that all elements are positive, as models do that put images in the place of tokens."""

    def forward(self, x: Any) -> Any:
        torch._check(torch.all(x.abs() >= 0).item(), lambda: "positive")
        y = x + 1
        return y.relu_()


def test_checks_of_tensors_are_dropped() -> None:
    graph = torch.export.export(Checked(), (X.clone(),))
    (found,) = from_exported(graph).run([X.numpy()]).values()
    np.testing.assert_array_equal(found, np.maximum(X.numpy() + 1, 0))


class Selected(nn.Module):
    def forward(self, x: Any) -> Any:
        return x[x > 0].relu_()


def test_sizes_that_depend_on_values_are_left_to_torch() -> None:
    graph = torch.export.export(Selected(), (X.clone(),))
    assert without_mutation(graph.graph) is None
    with pytest.raises(ShardyError, match="the size of its result depends on values"):
        from_exported(graph)
