"""Memory of training steps under FSDP: torch's tracker beside our report, by kind of tensor.

    python -m tests.frontends.fsdp_memory [name ...]

torch's `FSDPMemTracker` runs a step on fake tensors and a fake process group of 8, and takes the largest sum
of what is alive at once on rank 0, with each kind at that time; figures are those of the second step, when
the optimizer has states, and attention is the written-out one, as in a program. Ours are the shards of
arguments by kind, and what is alive at once beside them (`result.memory()`).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import torch
from torch import distributed
from torch._subclasses import FakeTensorMode
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing._internal.distributed.fake_pg import FakeStore

from shardy_py import Mesh, P, Program, propagate
from shardy_py.frontends.torch import FullyShard
from shardy_py.frontends.torch.step_names import is_state
from shardy_py.hardware.tensor_bytes import tensor_size
from shardy_py.mlir.plain import tensor_type
from tests.frontends.planned_models import Checkpointed, Classifier, Decoder, Gated
from tests.frontends.torch_models import MLP

RANKS = 8


@dataclass(frozen=True)
class Case:
    """A model of a size, its inputs, and the modules that are fully sharded."""

    model: Any
    inputs: Any
    modules: tuple[str, ...]


def words() -> Any:
    return torch.zeros(16, 64, dtype=torch.int64)


CASES = {
    "MLP": Case(MLP, lambda: torch.zeros(256, 16), ("up", "down", "")),
    "gated MLP": Case(lambda: Gated(128), lambda: torch.zeros(16, 64, 128), ("",)),
    "decoder": Case(lambda: Decoder(size=64), words, ("layers.*", "")),
    "decoder, whole": Case(lambda: Decoder(size=64), words, ("",)),
    "decoder, checkpoints": Case(lambda: Checkpointed(size=64), words, ("layers.*", "")),
    "convolutions": Case(Classifier, lambda: torch.zeros(16, 8, 16, 16), ("blocks.*", "")),
}


def theirs(case: Case) -> dict[str, int]:
    """Bytes on a rank at the peak of the second step, by kind."""
    mesh = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("dp",))
    with FakeTensorMode():
        model, x = case.model(), case.inputs()
        for path in case.modules:
            stem = path.removesuffix(".*")
            found = model.get_submodule(stem)
            for each in found.children() if path.endswith(".*") else (found,):
                fully_shard(each, mesh=mesh)
        local = x[: len(x) // RANKS].clone()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
        tracker = FSDPMemTracker(model, optimizer)
        tracker.track_inputs((local,))
        with sdpa_kernel(SDPBackend.MATH), tracker:
            for step in range(2):
                model(local).square().mean().backward()
                optimizer.step()
                optimizer.zero_grad()
                if step == 0:
                    tracker.reset_mod_stats()
            (peak,) = tracker.get_tracker_snapshot("peak").values()
    return {str(kind.value if hasattr(kind, "value") else kind): size for kind, size in peak.items()}


def ours(case: Case) -> dict[str, int]:
    """Bytes on a device, by kind."""
    model = case.model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    name = model.forward.__code__.co_varnames[1]
    x = case.inputs()
    program = Program.from_torch_training(
        *(model, lambda y: y.square().mean(), optimizer, (x,)),
        mesh=Mesh.of(dp=RANKS),
        plan=FullyShard("dp", case.modules),
        shardings={name: P("dp")},
        gradients=True,
    )
    result = propagate(program)
    found = {"Parameter": 0, "Optstate": 0, "Gradient": 0, "Input": 0}
    parameters = dict(model.named_parameters())
    for value in (*result.values.arguments(), *result.values.results()):
        type_ = tensor_type(value.entry.type)
        assert type_ is not None
        sharding = None if value.sharding is None else value.sharding.value
        size = tensor_size(type_, sharding, value.meshes, "linear").bytes.local_bytes
        label = value.label or ""
        if value.role == "argument":
            kind = (
                "Parameter"
                if label in parameters
                else "Optstate"
                if is_state(label) or label == "step"
                else "Input"
            )
            found[kind] += size
        elif label.endswith(" gradient"):
            found["Gradient"] += size
    entry = result.memory().entries[0]
    found["alive at once"] = entry.peak.bytes.local_bytes
    found["XLA"] = result.memory().memory_bytes
    return found


def _kind(label: str, parameters: Collection[str]) -> str:
    is_of_optimizer = is_state(label) or label == "step"
    return "Parameter" if label in parameters else "Optstate" if is_of_optimizer else "Input"


def main(names: list[str]) -> None:
    """Prints both, a line each, for each model."""
    warnings.simplefilter("ignore")
    distributed.init_process_group("fake", rank=0, world_size=RANKS, store=FakeStore())
    try:
        for name, case in CASES.items():
            if not names or name in names:
                print(f"{name:22} torch  {theirs(case)}")
                print(f"{'':22} ours   {ours(case)}", flush=True)
    finally:
        distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1:])
