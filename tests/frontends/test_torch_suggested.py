"""Suggestions in the words of torch are code that runs: its steps are those of one device."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch.testing._internal.distributed.multi_threaded_pg")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import Mesh
from tests.frontends.suggested_models import SUGGESTED
from tests.frontends.suggested_plans import codes_of, difference

pytestmark = pytest.mark.torch

QUICK = ("MLP",)


CALLS = {"data parallel": "replicate(model, mesh=", "FSDP": "fully_shard(model, mesh="}
"""What the code of a scheme calls if it is what its name says."""


@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module.* returned a view")  # nothing writes to the output
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SUGGESTED]
)
def test_the_code_of_plans_trains_as_one_device_does(name: str) -> None:
    codes = codes_of(SUGGESTED[name], Mesh.of(dp=2, tp=2))
    assert {scheme for scheme, call in CALLS.items() if call in codes.get(scheme, call)} == {*CALLS}
    assert any("parallelize_module(" in code for code in codes.values())
    assert any("fully_shard(" in code for code in codes.values())
    assert {plan: difference(SUGGESTED[name], code) for plan, code in codes.items()} == dict.fromkeys(
        codes, ""
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
