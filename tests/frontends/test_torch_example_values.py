"""Models whose sizes and branches depend on elements, those of the example inputs; exports either way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import Program, ShardyError
from shardy_py.frontends.torch import from_module

pytestmark = pytest.mark.torch

F = torch.nn.functional
X = torch.tensor([[1.0, -2.0, 3.0], [0.0, 5.0, -6.0]])
NUMBERS = torch.tensor([3, 1, 3, 0])


class Function(torch.nn.Module):
    """A module of a function, with a weight and a buffer that it counts in."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function, self.weight = function, torch.nn.Parameter(torch.full((3,), 2.0))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, *inputs: Any) -> Any:
        self.calls.add_(1)
        return self.function(*inputs)


def cut(x: Any, lengths: Any) -> Any:
    """A number as a size, a branch, and a list."""
    if bool(lengths.max() > 2):
        x = x[:, : int(lengths.max()) - 1]
    return x * sum(lengths.tolist()) + float(x[0, 0])


def assigned(x: Any) -> Any:
    """Elements that a mask keeps get values of their own."""
    x = x.clone()
    x[x < 0] = torch.arange(2.0)
    return x


def placed(x: Any, n: Any) -> Any:
    """Tensors as integers in indices, alone, as bounds, and beside masks."""
    x = x.clone()
    x[n[0] - 1] = 0.5
    return x[n[0]], x[..., n[1] :], x[: n[0], None, -n[0]], x[x[:, 0] > 0, n[0]]


CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "classes, counted": (lambda n: F.one_hot(n, n.max() + 1), (NUMBERS,)),
    "classes, at least": (lambda n: F.one_hot(n, max(n.max() + 1, 3)), (NUMBERS,)),
    "numbers": (cut, (X, NUMBERS)),
    "masks": (lambda x: (x[x > 0], x[x.sum(1) < 0], x[:, x[0] > 0]), (X,)),
    "assignment": (assigned, (X,)),
    "ranges": (
        lambda n: (
            torch.arange(n.max()) * 2,
            torch.linspace(0, end=n[0] / 2, steps=3),
            torch.arange(n[0], 9),
        ),
        (NUMBERS,),
    ),
    "integers": (placed, (X, torch.tensor([1, 2]))),
    "put": (lambda x: x.index_put((x < 0,), torch.arange(2.0), accumulate=True), (X,)),
    "positions": (
        lambda x: (x.nonzero(), *torch.where(x > 0), torch.argwhere(x), x.nonzero(as_tuple=True)),
        (X,),
    ),
    "selection": (lambda x: torch.masked_select(x, x[0] > 0), (X,)),
    "different": (
        lambda n: (
            torch.unique(n, return_inverse=True, return_counts=True),
            torch.unique_consecutive(n // 2),
        ),
        (NUMBERS,),
    ),
    "parts": (lambda x, n: torch.tensor_split(x, n[1:3], dim=1), (X, NUMBERS)),
    "counts": (lambda n: (torch.bincount(n), F.one_hot(n)), (NUMBERS,)),
    "repeated": (
        lambda x, n: (x.repeat_interleave(n[:2], dim=0), torch.repeat_interleave(x[0], n[:3])),
        (X, NUMBERS),
    ),
}


def arrays(tree: Any) -> list[Any]:
    return [leaf.numpy() for leaf in torch.utils._pytree.tree_leaves(tree)]


ALIKE = ("classes, at least", "put", "selection", "counts", "repeated")
"""Functions with the kinds of values that others have: counts, masks, numbers of repetitions."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in ALIKE else name for name in CALLS]
)
def test_sizes_and_numbers_are_those_of_the_example(name: str) -> None:
    function, inputs = CALLS[name]
    model = Function(function)
    program = from_module(model, inputs, specialize=True)
    assert model.calls == 0
    given = [v.label for v in program.values.arguments()]
    values = {"weight": model.weight.detach(), "calls": model.calls}
    rest = iter(inputs)
    found = program.run([(values[label] if label in values else next(rest)).numpy() for label in given])
    expected = arrays(function(*inputs))
    labels = [value.label for value in program.values.results()]
    results = [each for each, label in zip(found.arrays, labels, strict=True) if label != "calls after"]
    assert len(results) == len(expected)
    for ours, theirs in zip(results, expected, strict=True):
        np.testing.assert_allclose(ours, theirs)
    with pytest.raises(ShardyError):
        from_module(model, inputs)


def test_a_step_whose_loss_has_a_mask() -> None:
    model = torch.nn.Linear(3, 2)

    def loss(output: Any, kept: Any) -> Any:
        return output[kept].square().sum() / kept.sum().item()

    kept = torch.tensor([True, False])
    step = Program.from_torch_training(
        model, loss, None, (X,), targets=(kept,), accumulate=2, specialize=True
    )
    given = [model.weight, model.bias, X, kept, X + 1, ~kept]
    found = step.run([each.detach().numpy() for each in given])
    total = (loss(model(X), kept) + loss(model(X + 1), ~kept)) / 2
    gradient = torch.autograd.grad(total, model.weight)[0]
    np.testing.assert_allclose(found["loss"], total.item(), rtol=1e-6)
    np.testing.assert_allclose(found["weight gradient"], gradient.numpy(), rtol=1e-6)
    with pytest.raises(ShardyError):
        Program.from_torch_training(model, loss, None, (X,), targets=(kept,))


def test_a_step_that_reads_a_place_from_a_tensor() -> None:
    model, last = torch.nn.Linear(3, 2), torch.tensor([1])
    step = Program.from_torch_training(
        model, lambda y, n: y[n[0], : n[0]].sum(), None, (X,), targets=(last,), specialize=True
    )
    found = step.run([each.detach().numpy() for each in (model.weight, model.bias, X, last)])
    np.testing.assert_array_equal(found["weight gradient"], np.stack([X[1], torch.zeros(3)]))


class Again(torch.nn.Module):
    """A part that is computed again in the backward pass, and reads its sizes again."""

    def __init__(self) -> None:
        super().__init__()
        self.out = torch.nn.Linear(3, 3)

    def part(self, x: Any, kept: Any) -> Any:
        counts = torch.bincount(kept.long(), minlength=2)
        return self.out(x[kept])[: int(kept.sum())] * counts[1]

    def forward(self, x: Any, kept: Any) -> Any:
        return torch.utils.checkpoint.checkpoint(self.part, x, kept, use_reentrant=False)


def test_checkpoints_read_their_numbers_again() -> None:
    model, kept = Again(), torch.tensor([False, True])
    step = Program.from_torch_training(model, lambda y: y.square().sum(), None, (X, kept), specialize=True)
    found = step.run([each.detach().numpy() for each in (*model.parameters(), X, kept)])
    model(X, kept).square().sum().backward()
    np.testing.assert_allclose(found["out.weight gradient"], model.out.weight.grad.numpy(), rtol=1e-5)


def test_models_that_do_otherwise_while_they_are_traced() -> None:
    def asking(x: Any) -> Any:
        return x if torch.compiler.is_compiling() else x * x.sum().item()

    def more(x: Any) -> Any:
        return x * (x.sum().item() if torch.compiler.is_compiling() else 1)

    for function, message in (
        (asking, r"ends where it calls item\(\)"),
        (more, r"calls item\(\) where it ends"),
    ):
        with pytest.raises(ShardyError, match="specialize: traced, the model " + message):
            from_module(Function(function), (X,), specialize=True)


def test_what_one_way_cannot_export_the_other_may() -> None:
    class Attributes(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            length = x.abs().argmax()  # a slice up to a tensor: Dynamo keeps it a symbol
            return x.sum() + (
                0 if torch.compiler.is_dynamo_compiling() else length.item() and len(x[:length])
            )

    assert from_module(Attributes(), (X,)).values.results()[0].shape == ()
    with pytest.raises(ShardyError, match=r"torch\.export failed"):
        from_module(Attributes(), (X,), strict=False)
