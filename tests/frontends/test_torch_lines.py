"""Ops of models in packages have the lines of those packages; only torch's own are skipped."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import Mesh, P, Program, propagate
from shardy_py.frontends.torch import from_module
from tests.frontends.torch_models import MLP

pytestmark = pytest.mark.torch


def vision() -> Program:
    models = pytest.importorskip("torchvision.models")
    return from_module(models.resnet18(num_classes=4).eval(), (torch.zeros(1, 3, 32, 32),))


def language() -> Program:
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2, "num_key_value_heads": 1}
    config = transformers.LlamaConfig(vocab_size=32, num_hidden_layers=2, use_cache=False, **sizes)
    model = transformers.LlamaForCausalLM(config).eval()
    return from_module(model, kwargs={"input_ids": torch.zeros(2, 4, dtype=torch.long)})


def images() -> Program:
    model = pytest.importorskip("timm").create_model("mobilenetv3_small_050", num_classes=4)
    return from_module(model.eval(), (torch.zeros(1, 3, 64, 64),))


@pytest.mark.parametrize(
    ("build", "package", "module"),
    [
        (vision, "torchvision", "layer1.0.conv1"),
        (language, "transformers", "model.layers.0.mlp.down_proj"),
        (images, "timm", "blocks.0.0.conv_dw"),
    ],
)
def test_every_op_has_a_line_of_its_package(build: Any, package: str, module: str) -> None:
    program = build()
    inside = f"{Path(torch.__file__).parent}/"
    places = [value.location for value in program.values if value.role == "intermediate"]
    files = {place.rpartition(" ")[0].partition(":")[0] for place in places}
    assert all(f"/{package}/" in file and not file.startswith(inside) for file in files)
    assert all(re.search(r":\d+:\d+ [\w./]+$", place) for place in places)
    assert re.search(rf" {re.escape(module)}/\w+$", program[module].location)


@pytest.mark.parametrize("name", ["communication", "memory", "explain", "time"])
def test_reports_have_the_module_and_its_line(name: str) -> None:
    model = from_module(MLP(), (torch.zeros(8, 16),), mesh=Mesh.of(tp=4))
    result = propagate(model.annotate({"up.weight": P("tp", None)}))
    text = {
        "communication": lambda: str(result.communication()),
        "memory": lambda: str(result.memory()),
        "explain": lambda: str(result.explain("down.weight")),
        "time": lambda: str(result.time("tpu-v5p")),
    }[name]()
    assert re.search(r"torch_models\.py:\d+", text)
    assert re.search(r"\b(up|down)/\w+", text)
