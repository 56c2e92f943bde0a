"""Remedies of sequence parallelism are code that runs: its steps are those of one device."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch.testing._internal.distributed.multi_threaded_pg")

# ruff: noqa: E402
from tests.frontends.dtensor_collectives import fake_ranks
from tests.frontends.suggested_models import SUGGESTED
from tests.frontends.suggested_remedies import changes_of, step_of

pytestmark = [pytest.mark.torch, pytest.mark.slow]

MEGATRON = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.experimental import implicit_replication
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
mesh = init_device_mesh("cpu", (4,), mesh_dim_names=("tp",))
columns, rows = ColwiseParallel(use_local_output=False), RowwiseParallel()
parallelize_module(model, mesh["tp"], {
    "attention.q_proj": columns, "attention.k_proj": columns, "attention.v_proj": columns,
    "attention.o_proj": rows, "mlp.w1": ColwiseParallel(), "mlp.w3": ColwiseParallel(), "mlp.w2": rows,
    "lm_head": ColwiseParallel(output_layouts=Replicate()),
})
step_context = implicit_replication
"""


@pytest.mark.parametrize("by_shardings", [False, True])
def test_remedies_train_as_one_device_does(by_shardings: bool) -> None:
    """Heads are asked for their number, attention takes angles too, and the loss needs all words."""
    trained = SUGGESTED["llama"]
    with fake_ranks(4):
        change = next(changes_of("llama", trained, MEGATRON, by_shardings=by_shardings))
    for text in (
        '"norm1": SequenceParallel()',
        '"attention.q_proj": ColwiseParallel(input_layouts=Shard(1), use_local_output=False)',
        '"mlp": PrepareModuleInput(',
        '"lm_head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())',
    ):
        assert text in change.code
    assert step_of(change) == ""
