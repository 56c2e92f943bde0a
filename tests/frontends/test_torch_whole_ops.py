"""Ops that stay whole keep their dimensions apart: shardings propagate without communication."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# ruff: noqa: E402
from shardy_py import Mesh, P, Program, ShardyError, propagate
from shardy_py.frontends.torch import from_exported
from tests.frontends import training_models
from tests.frontends.torch_models import nn
from tests.frontends.training import compare
from tests.frontends.training_models import Example

pytestmark = pytest.mark.torch

MESH = Mesh.of(dp=4, tp=2)


class Calls(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any, y: Any) -> Any:
        return self.function(x, y)


@pytest.mark.parametrize(
    ("function", "shapes", "specs", "expected"),
    [
        (
            lambda x, y: torch.einsum("bsnd,btnd->bnst", x, y),
            [(8, 16, 4, 32), (8, 24, 4, 32)],
            [P("dp", None, "tp", None)] * 2,
            P("dp", "tp", None, None),
        ),
        (lambda x, y: torch.stack([x, y], 1), [(8, 6)] * 2, [P("dp", "tp")] * 2, P("dp", None, "tp")),
        (lambda x, y: torch.roll(x + y, 3, 1), [(8, 6)] * 2, [P("dp", None)] * 2, P("dp", None)),
        (lambda x, y: (x + y).unbind(1)[1], [(8, 6, 4)] * 2, [P("dp", None, "tp")] * 2, P("dp", "tp")),
    ],
    ids=["einsum", "stack", "roll", "unbind"],
)
def test_shardings_pass_whole_ops_without_communication(
    function: Callable[..., Any], shapes: list[tuple[int, ...]], specs: list[Any], expected: Any
) -> None:
    exported = torch.export.export(Calls(function), tuple(torch.randn(shape) for shape in shapes))
    result = propagate(from_exported(exported, MESH, dict(zip(("x", "y"), specs, strict=True))))
    sharding = result["output"].sharding
    assert sharding is not None
    assert sharding.spec == expected
    assert not result.communication().collectives


def test_einsum_contracts_sharded_dimensions_with_one_sum() -> None:
    exported = torch.export.export(
        Calls(lambda x, y: torch.einsum("bsnd,nde->bse", x, y)),
        (torch.randn(8, 16, 4, 32), torch.randn(4, 32, 6)),
    )
    specs = {"x": P("dp", None, "tp", None), "y": P("tp", None, None)}
    result = propagate(from_exported(exported, MESH, specs))
    assert [(use.kind, use.axes) for use in result.communication().collectives] == [
        ("all_reduce", (("tp", 2),))
    ]


class Mixed(torch.nn.Module):
    """A product with a complex weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 4, 5, dtype=torch.complex64))

    def forward(self, x: Any) -> Any:
        return torch.einsum("bim,iom->bom", torch.complex(x, x.sin()), self.weight).imag


def test_gradients_of_complex_products_have_conjugates() -> None:
    model, x = Mixed(), torch.randn(2, 3, 5)
    program = Program.from_torch_training(model, lambda y: (y * y.cos()).sum(), None, (x,))
    (model(x) * model(x).cos()).sum().backward()
    found = program.run((model.weight.detach().numpy(), x.numpy()))["weight gradient"]
    assert np.allclose(found, model.weight.grad.numpy(), rtol=1e-4, atol=1e-5)


class Derivative(nn.Module):
    """The derivatives of a network by its inputs, as models of differential equations have them."""

    def __init__(self, of: str) -> None:
        super().__init__()
        self.first, self.second, self.of = nn.Linear(3, 8), nn.Linear(8, 1, bias=False), of

    def forward(self, x: Any) -> Any:
        def network(point: Any) -> Any:
            return self.second(torch.tanh(self.first(point)))

        func = torch.func
        if self.of == "grad":
            return func.vmap(func.grad(lambda point: network(point).sum()))(x)
        if self.of == "hessian":
            return func.vmap(func.hessian(network))(x)
        if self.of == "second":
            return func.vmap(func.jacrev(func.jacrev(network)))(x)
        return func.vmap(func.jacrev(network))(x)


@pytest.mark.parametrize("of", ["grad", "jacrev", "second"])
def test_transforms_of_torch_func_in_a_step(of: str) -> None:
    torch.manual_seed(0)
    found = compare(Example(Derivative(of), training_models.square, (torch.randn(4, 3),), ()))
    assert max(found.loss, found.gradients, found.results) < 1e-4


@pytest.mark.filterwarnings("ignore:.*torch.jit.script")  # torch's own formulas of forward mode
def test_what_torch_cannot_trace_in_forward_mode_has_a_remedy() -> None:
    with pytest.raises(
        ShardyError, match=r"cannot trace forward mode here: use gradients .*jacrev\(jacrev\(f\)\)"
    ):
        Program.from_torch_training(Derivative("hessian"), training_models.square, None, (torch.randn(4, 3),))
