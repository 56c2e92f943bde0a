"""Collectives of models under plans, and those that DTensor and FSDP2 launch: a table.

    python -m tests.frontends.dtensor_collectives

torch runs each model, attention as products, on rank 0 of a fake process group of 8, with `CommDebugMode`
counting. Ours are those of Shardy's reshards, as torch launches them.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import parallelize_module
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing._internal.distributed.fake_pg import FakeStore

from shardy_py import propagate
from shardy_py.frontends.torch import FullyShard, TensorParallel, from_exported, launches
from tests.frontends.planned_models import MODELS, Planned

KINDS = {
    "all_gather_into_tensor": "all_gather",
    "allgather": "all_gather",
    "all_reduce": "all_reduce",
    "allreduce": "all_reduce",
    "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter": "reduce_scatter",
    "all_to_all": "all_to_all",
    "alltoall": "all_to_all",
    "broadcast": "broadcast",
}
"""The kinds of collectives by the start of the names of torch's ops, without underscores around them."""


@contextmanager
def fake_ranks(count: int) -> Iterator[None]:
    """A fake process group, of which this is rank 0."""
    distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=count)
    try:
        yield
    finally:
        distributed.destroy_process_group()


@contextmanager
def device_mesh() -> Iterator[Any]:
    """A mesh of 2 x 4 in a fake process group of 8."""
    with fake_ranks(8):
        yield init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))


def theirs(planned: Planned, mesh: Any) -> dict[str, int]:
    """The collectives that torch launches in the forward pass."""
    model, x = parallelized(planned, mesh), local_inputs(planned, mesh)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), CommDebugMode() as counted:
        model(x).sum()  # waits for what is under way
    return counts_of(counted)


def parallelized(planned: Planned, mesh: Any) -> Any:
    """The model of a plan, to which torch applies it."""
    model = planned.model()
    for part in planned.plan if isinstance(planned.plan, list) else [planned.plan]:
        if isinstance(part, TensorParallel):
            parallelize_module(model, mesh[part.axis], dict(part.styles))
        else:
            shard_fully(model, part, mesh)
    return model


def local_inputs(planned: Planned, mesh: Any) -> Any:
    """The part of the input that rank 0 has."""
    x = planned.inputs()
    for size, placement in zip(mesh.shape, next(iter(planned.shardings.values())), strict=True):
        x = x.chunk(size, placement.dim)[0] if placement.is_shard() else x
    return x


def shard_fully(model: Any, plan: FullyShard, mesh: Any) -> None:
    """Calls `fully_shard` on the modules of a plan, the innermost first."""
    names = tuple(filter(None, (plan.replicate, *plan.axes)))
    chosen = flattened(mesh, names) if len(plan.axes) > 1 else mesh[names]
    again = (
        {} if plan.reshard_after_forward is None else {"reshard_after_forward": plan.reshard_after_forward}
    )
    modules = dict(model.named_modules())
    for pattern in sorted(plan.modules, key=len, reverse=True):
        for path in [path for path in modules if matches(path, pattern)]:
            fully_shard(modules[path], mesh=chosen, **again)


def matches(path: str, pattern: str) -> bool:
    parts, wanted = path.split("."), pattern.split(".")
    return bool(path) == bool(pattern) and len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def flattened(mesh: Any, names: tuple[str, ...]) -> Any:
    """The mesh of one dimension of several; the same for the same names."""
    return mesh[names]._flatten("_".join(names))


def counts_of(counted: Any) -> dict[str, int]:
    found: Counter[str] = Counter()
    for op, count in counted.get_comm_counts().items():
        found[kind_of(op)] += count
    return dict(found)


def kind_of(op: Any) -> str:
    """The kind of a collective of torch."""
    name = str(op).rpartition(".")[2].strip("_")
    return next(KINDS[key] for key in KINDS if name.startswith(key))


def ours(planned: Planned, mesh: Any) -> dict[str, int]:
    """The collectives of the program under the plan."""
    exported = torch.export.export(planned.model().eval(), (planned.inputs(),))
    program = from_exported(exported, mesh, planned.shardings, plan=planned.plan)
    return launches(propagate(program).communication(partitioner="shardy"), planned.plan)


def main() -> None:
    warnings.simplefilter("ignore")
    equal = 0
    with device_mesh() as mesh:
        for name, planned in MODELS.items():
            torch.manual_seed(0)
            expected, found = theirs(planned, mesh), ours(planned, mesh)
            equal += expected == found
            print(
                f"{name:30} {'equal' if expected == found else 'differs':8} {text(expected):55} {text(found)}"
            )
    print(f"{equal} of {len(MODELS)} models: equal counts by kind")


def text(counts: dict[str, int]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items())) or "none"


if __name__ == "__main__":
    main()
