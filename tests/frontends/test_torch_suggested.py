"""Suggestions in the words of torch are code that runs: its steps are those of one device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch.testing._internal.distributed.multi_threaded_pg")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import Mesh, Program
from shardy_py.frontends.torch import from_exported
from shardy_py.mlir.symbols import Symbols
from shardy_py.search.advice.torch_layers import TorchScores, model_of
from shardy_py.search.advice.torch_scores import scores_of
from tests.frontends.dtensor_collectives import fake_ranks
from tests.frontends.suggested_collectives import compared, theirs
from tests.frontends.suggested_models import SUGGESTED, TEXT, Trained
from tests.frontends.suggested_plans import WORLD, codes_of, difference

pytestmark = pytest.mark.torch
F = torch.nn.functional

QUICK = ("MLP",)
CALLS = {"data parallel": '"whole"])', "FSDP": "fully_shard(model, mesh="}
"""What the code of a scheme calls if it is what its name says."""
FUNCTIONS = "parallelize_module(", "fully_shard(", '"whole"'


def of_each_kind(codes: Mapping[str, str]) -> dict[str, str]:
    """One code of those that make the same calls."""
    by_calls = {tuple(name in code for name in FUNCTIONS): plan for plan, code in codes.items()}
    return {plan: codes[plan] for plan in by_calls.values()}


@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module.* returned a view")  # nothing writes to the output
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SUGGESTED]
)
def test_the_code_of_plans_trains_as_one_device_does(name: str) -> None:
    codes = codes_of(SUGGESTED[name], Mesh.of(dp=2, tp=2))
    assert {scheme for scheme, call in CALLS.items() if call in codes.get(scheme, call)} == {*CALLS}
    assert any("parallelize_module(" in code for code in codes.values())
    assert any("fully_shard(" in code for code in codes.values())
    chosen = of_each_kind(codes) if name in QUICK else codes
    assert {plan: difference(SUGGESTED[name], code) for plan, code in chosen.items()} == dict.fromkeys(
        chosen, ""
    )


def test_styles_without_their_layouts_are_seen() -> None:
    code = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
mesh = init_device_mesh("cpu", (4,), mesh_dim_names=("tp",))
parallelize_module(model, mesh["tp"], {"down": RowwiseParallel(input_layouts=Replicate())})
"""
    assert difference(SUGGESTED["MLP"], code) == ""
    with pytest.raises(RuntimeError):
        difference(SUGGESTED["MLP"], code.replace("input_layouts=Replicate()", ""))


@pytest.mark.parametrize(("name", "notes"), [("affine layers", 4), ("swapped layers", 4), ("MLP", 0)])
def test_classes_that_styles_refuse_are_noted(name: str, notes: int) -> None:
    trained = SUGGESTED[name]
    exported = torch.export.export(trained.model(), trained.inputs())
    for program in (from_exported(exported), step(trained)):
        assert str(program).count("shardy_py.module_class") == notes
        assert "shardy_py.uncalled" not in str(program)


def test_blocks_that_are_not_called_are_noted() -> None:
    text = str(step(SUGGESTED["uncalled blocks"]))
    assert text.count('shardy_py.uncalled = ["layers.1"]') == 4
    assert "shardy_py.module_class" not in text


CODE = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
"""
ALONG_TP = "mesh = init_device_mesh('cpu', (4,), mesh_dim_names=('tp',))\nparallelize_module(model, mesh, "
REPLICATED = """mesh = init_device_mesh("cpu", (4, 1), mesh_dim_names=("dp", "whole"))
fully_shard(model, mesh=mesh["dp", "whole"])
part_of_batch = lambda tensor, dimension: tensor.chunk(4, dimension)[0]
"""


@pytest.mark.filterwarnings("ignore")  # of torch
@pytest.mark.parametrize(
    ("name", "calls"),
    [
        # A module that is called for each of three positions.
        ("recurrent", ALONG_TP + "{'embed': ColwiseParallel(output_layouts=Replicate())})"),
        # A value that a module redistributes, and the gradient of the op before uses as it was.
        ("affine layers", ALONG_TP + "{'layers.*.down': RowwiseParallel(input_layouts=Replicate())})"),
        # Gradients are reduced where they are added up.
        pytest.param("tied", REPLICATED, marks=pytest.mark.slow),
        # Gradients are scaled behind their sums over the batch.
        ("convolutions", REPLICATED),
    ],
)
def test_collectives_are_those_that_torch_launches(name: str, calls: str) -> None:
    with fake_ranks(WORLD):
        assert compared(name, SUGGESTED[name], CODE + calls, has_bill=False) == "equal"


class Words(torch.nn.Module):
    """A model whose classes are words."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(64, 32), torch.nn.Linear(32, 64)

    def forward(self, tokens: Any) -> Any:
        return self.head(self.embed(tokens))


def entropy(scores: Any, labels: Any, **options: Any) -> Any:
    return F.cross_entropy(scores.float().transpose(1, 2), labels, **options)


WORDS = Trained(Words, *TEXT, entropy, tries=7)


def test_a_loss_takes_a_part_of_the_classes_of_a_sharded_head() -> None:
    codes = codes_of(WORDS, Mesh.of(tp=4))
    found = [code for code in codes.values() if "loss_parallel():" in code]
    assert any("'head': ColwiseParallel(use_local_output=False)" in code for code in found)
    assert difference(WORDS, found[0]) == ""
    with fake_ranks(WORLD):
        kinds = [
            {kind for kind, _ in theirs(WORDS, code).found}
            for code in (found[0], found[0].replace(", loss_parallel()", ""))
        ]
        assert compared("words", WORDS, found[0], has_bill=False) == "equal"
    assert kinds == [{"all_reduce"}, {"all_reduce", "all_gather"}]


@pytest.mark.parametrize(
    ("loss", "ends"),
    [
        (entropy, ""),
        (lambda scores, labels: entropy(scores[:, 1:], labels[:, 1:]), ""),
        (lambda scores, labels: entropy(scores / 2, labels, ignore_index=3, reduction="sum"), ""),
        (lambda scores, labels: entropy(scores, labels, label_smoothing=0.1), "loss/_log_softmax"),
        (lambda scores, labels: entropy(scores, labels, weight=torch.ones(64)), "loss/_log_softmax"),
        (
            lambda scores, labels: -scores.log_softmax(-1).gather(-1, labels[..., None]).mean(),
            "loss/_log_softmax",
        ),
        (lambda scores, labels: entropy(scores.softmax(-1), labels), "loss/_softmax"),
        (lambda scores, labels: entropy(scores, labels) + 0.1 * scores.logsumexp(-1).mean(), "loss/sub"),
        (lambda scores, labels: scores.mean(), "loss/mean"),
    ],
)
def test_losses_that_need_all_classes(loss: Callable[..., Any], ends: str) -> None:
    main = Symbols(step(replace(WORDS, loss=loss)).module).main()
    assert scores_of(main, model_of(main).layers) == {"head": TorchScores(0 if ends else 64, ends)}


def step(trained: Trained) -> Program:
    return Program.from_torch_training(
        trained.model(), trained.loss, None, trained.inputs(), targets=trained.targets()
    )
