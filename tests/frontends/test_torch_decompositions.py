"""Decomposition of distinct calls: the same programs as torch's decomposition of the whole, in less time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py.frontends.aten import register_aten, unregister_aten
from shardy_py.frontends.builder import ops
from shardy_py.frontends.torch import decompositions as torch_decompositions
from shardy_py.frontends.torch import from_exported
from shardy_py.frontends.torch.composites import rewrite_composites
from shardy_py.frontends.torch.in_place import without_mutation
from tests.frontends.torch_models import Transformer, exported, models

pytestmark = pytest.mark.torch

WHOLE = {"counter", "indices", "autocast"}
"""Models that change tensors in place, or run graphs."""


def distinct_calls(exported: Any) -> Any:
    graph = without_mutation(exported.graph)
    if graph is not None:
        rewrite_composites(graph)
    return (
        None if graph is None else torch_decompositions.distinct_calls(graph, torch_decompositions._table())
    )


OFTEN = ("experts", "attention")


@pytest.mark.parametrize(
    "name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in models()]
)
def test_distinct_calls_give_the_program_of_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, arguments = models()[name]
    graph = exported(model, arguments)
    text = from_exported(graph).text(debuginfo=False)
    assert (distinct_calls(graph) is None) == (name in WHOLE)
    monkeypatch.setattr(torch_decompositions, "distinct_calls", lambda *_: None)
    assert from_exported(graph).text(debuginfo=False) == text


def transformer(layers: int) -> Any:
    return exported(Transformer(layers=layers), (torch.zeros(4, 6, dtype=torch.long),))


def test_the_number_of_distinct_calls_does_not_grow_with_the_layers() -> None:
    few, many = (distinct_calls(transformer(layers)) for layers in (1, 5))
    assert few is not None
    assert many is not None
    assert len(few) == len(many)


def test_the_exported_model_does_not_change() -> None:
    graph = transformer(2)
    before = str(graph.graph)
    from_exported(graph)
    assert str(graph.graph) == before


class Repeated(torch.nn.Module):
    """Calls that differ in an argument only, and one tensor for two arguments of a call."""

    def forward(self, x: Any) -> Any:
        return x.flatten(0, 1), x.flatten(1, 2), torch.outer(x[0, 0], x[0, 0]), x.chunk(2, -1)


def test_calls_are_told_apart_by_all_arguments() -> None:
    program = from_exported(exported(Repeated(), (torch.randn(2, 4, 6),)))
    shapes = [value.shape for value in program.values.results()]
    assert shapes == [(8, 6), (2, 24), (6, 6), (2, 4, 3), (2, 4, 3)]


def test_training_changes_statistics_in_place_so_the_whole_is_decomposed() -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), torch.nn.BatchNorm2d(4)).train()
    graph = torch.export.export(model, (torch.randn(4, 3, 5, 5),))
    names = [value.label for value in from_exported(graph).values.results()]
    assert "1.running_mean after" in names


class Counted(torch.nn.Module):
    """An input that is a view, and an op that torch decomposes into a wrong result."""

    def forward(self, x: Any, weight: Any, entries: Any) -> Any:
        loss = torch.ops.aten.multilabel_margin_loss_forward.default(x.float(), entries, 1)
        return torch._int_mm(x, weight), loss[0]


def test_the_whole_is_decomposed_into_right_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_decompositions, "distinct_calls", lambda *_: None)
    x, weight = (torch.randint(-9, 9, shape).to(torch.int8) for shape in ((32, 8), (8, 8)))
    inputs = x, weight.t(), torch.randint(-1, 8, (32, 8))
    found = from_exported(exported(Counted(), inputs)).run([tensor.numpy() for tensor in inputs]).arrays
    for array, expected in zip(found, Counted()(*inputs), strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-5)


class Convolutions(torch.nn.Module):
    """Convolutions of each rank with windows given in each way."""

    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Conv1d(4, 6, 3, stride=2, groups=2)
        self.plane = torch.nn.Conv2d(6, 4, (1, 3), padding=(0, 1), dilation=(1, 2), bias=False)
        self.same = torch.nn.Conv2d(4, 4, 3, padding="same")
        self.volume = torch.nn.Conv3d(4, 2, 1)

    def forward(self, input: Any) -> Any:
        x = self.plane(self.line(input).relu_()[:, :, None])
        return self.volume(self.same(x)[..., None]), self.line(input[0])


PLANES = torch.randn(2, 4, 5, 5)
REWRITTEN: dict[str, tuple[Any, Any, list[str]]] = {
    # Without a batch, with a padding by name, and with the statistics of the batch, they are torch's.
    "convolutions": (Convolutions(), torch.randn(2, 4, 19), ["aten.conv1d.default", "aten.conv2d.padding"]),
    "norm": (torch.nn.BatchNorm2d(4), PLANES, []),
    "norm without parameters": (torch.nn.BatchNorm2d(4, affine=False), PLANES, []),
    "norm without statistics": (
        torch.nn.BatchNorm2d(4, track_running_stats=False),
        PLANES,
        ["aten.batch_norm.default"],
    ),
    "norm of bfloat16": (torch.nn.BatchNorm2d(4).bfloat16(), PLANES.bfloat16(), []),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_convolutions_and_norms_are_rewritten_as_torch_decomposes_them(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, x, left = REWRITTEN[name]
    graph = exported(model, (x,))
    text = from_exported(graph).text(debuginfo=False)
    targets = [str(node.target) for node in distinct_calls(graph).values()]
    assert sorted(target for target in targets if "conv" in target or "norm" in target) == left
    monkeypatch.setattr(torch_decompositions, "distinct_calls", lambda *_: None)
    assert from_exported(graph).text(debuginfo=False) == text


def test_registered_convolutions_are_kept() -> None:
    def row(out: Any, *arguments: Any) -> Any:
        return ops.custom_call("convolved", list(arguments[:2]), [out])[0]

    register_aten("aten.conv2d", row)
    try:
        graph = exported(torch.nn.Conv2d(3, 4, 1, bias=False), (torch.randn(2, 3, 5, 5),))
        assert "@convolved" in from_exported(graph).text()
    finally:
        unregister_aten("aten.conv2d")
