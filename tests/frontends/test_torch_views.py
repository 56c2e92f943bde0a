"""Products whose rows a model merges: computed as they are, passed by shardings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import Mesh, P, propagate
from shardy_py.frontends.torch import from_exported
from tests.frontends.run_stablehlo import run
from tests.frontends.test_torch_nodes import Call
from tests.frontends.torch_models import Transformer, exported

pytestmark = pytest.mark.torch

MESH = Mesh.of(dp=2)
nn, f = torch.nn, torch.randn


@pytest.mark.parametrize(
    ("model", "arguments"),
    [
        (nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), (f(4, 5, 16),)),
        pytest.param(
            *(nn.TransformerDecoderLayer(16, 4, 32, batch_first=True), (f(4, 5, 16), f(4, 7, 16))),
            marks=pytest.mark.slow,
        ),
        (Transformer(layers=1), (torch.randint(0, 32, (4, 6)),)),
        (nn.LSTM(8, 16, batch_first=True), (f(4, 3, 8),)),
    ],
)
@pytest.mark.parametrize("is_decomposed", [False, True])
def test_batches_pass_through_models_without_communication(
    model: Any, arguments: Any, is_decomposed: bool
) -> None:
    graph = exported(model, arguments)
    if is_decomposed:
        graph = graph.run_decompositions()
    inputs = graph.graph_signature.user_inputs
    result = propagate(from_exported(graph, MESH, dict.fromkeys(inputs, P("dp"))))
    assert str(result.values.results()[0].sharding.spec) == "P('dp', None, None)"
    assert result.communication().collectives == ()


W, V, ROWS = f(4, 6), f(6), f(10, 6)

MERGED = [
    (lambda x: torch.addmm(V, x.view(10, 4), W, beta=2).view(5, 2, 6), 0),
    (lambda x: torch.addmm(V[None], x.view(10, 4), W).view(5, 2, 6), 0),
    (lambda x: torch.addmm(ROWS, x.view(10, 4), W).view(5, 2, 6), 2),
    (lambda x: torch.mm(x.view(10, 4), W).view(2, 5, 6), 1),
    (lambda x: torch.mm(x.view(10, 4), W).view(5, 2, 3, 2), 2),
    (lambda x: torch.mm(x.view(10, 4), W).view(5, 2, 6).tanh(), 0),
    (lambda x: (lambda y: y.view(5, 2, 6) + y.view(5, 2, 6).sum())(torch.mm(x.view(10, 4), W)), 0),
    (lambda x: (lambda y: y.view(5, 2, 6) + y.sum())(torch.mm(x.view(10, 4), W)), 2),
]
"""Functions, and how many views each needs."""


@pytest.mark.parametrize(("function", "views"), MERGED)
def test_views_go_where_all_that_is_behind_splits_the_rows_again(function: Any, views: int) -> None:
    x = f(5, 2, 4)
    program = from_exported(exported(Call(function), (x,)))
    (found,) = run(program, [x.numpy()])
    assert np.allclose(found, function(x).numpy(), rtol=1e-5, atol=1e-5)
    shapes = [value.shape for value in program.values.of_op("reshape")]
    assert len([shape for shape in shapes if shape not in ((1, 6), (1,), ())]) == views
