"""Collectives of training steps under plans, and those of DTensor and FSDP2: a table by kind, axes and bytes.

    python -m tests.frontends.dtensor_training [--optimizer AdamW] [--bill] [name ...]

torch runs forward pass, `loss.backward()` and `optimizer.step()` on rank 0 of a fake process group of 8,
with `CommDebugMode` counting, and averages the loss if it is one of parts of the batch, as trainers do. Ours
are those of Shardy's reshards, as torch launches them (`launches_by_axes`); bytes are those of the bill,
which each device sends in rings. `--bill` lists it.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch
from torch import distributed
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.debug._comm_mode import c10d_collective_ops
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree as pytree

from shardy_py import Program, propagate
from shardy_py.frontends.torch import launches_by_axes
from tests.frontends.dtensor_collectives import (
    counts_of,
    device_mesh,
    kind_of,
    local_inputs,
    parallelized,
)
from tests.frontends.planned_models import STEPS, Planned

Counts = Mapping[tuple[str, tuple[str, ...]], int]

RING = {"all_gather": 1, "reduce_scatter": 1, "all_reduce": 2, "all_to_all": 1}
"""How often each part of the largest tensor of a collective is sent in a ring."""


class Recorded(CommDebugMode):
    """Counts collectives by kind and the axes of their group, too, and the bytes each device sends in a ring.

    axes: by the name of a group.
    """

    def __init__(self, mesh: Any) -> None:
        super().__init__()
        groups = {(axis,): mesh.get_group(axis) for axis in mesh.mesh_dim_names}
        groups[tuple(sorted(mesh.mesh_dim_names))] = distributed.group.WORLD
        self.axes: dict[str, tuple[str, ...]] = {group.group_name: axes for axes, group in groups.items()}
        self.sizes: dict[str, int] = {group.group_name: group.size() for group in groups.values()}
        self.found: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.bytes: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        packet = getattr(func, "_overloadpacket", None)
        is_collective = packet in self.comm_registry or packet in c10d_collective_ops
        if is_collective and not any(issubclass(each, DTensor) for each in types):
            self.record(kind_of(packet), args)
        return super().__torch_dispatch__(func, types, args, kwargs)

    def record(self, kind: str, args: Any) -> None:
        leaves = pytree.tree_leaves(args)
        (group,) = (name for leaf in leaves if (name := name_of(leaf)) in self.axes)
        size = self.sizes[group]
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        largest = max(tensor.numel() * tensor.element_size() for tensor in tensors)
        if kind == "all_gather" and len(tensors) == 1:
            largest *= size  # its result is new
        self.found[kind, self.axes[group]] += 1
        self.bytes[kind] += RING[kind] * largest * (size - 1) // size


def name_of(argument: Any) -> str:
    """The name of a process group, itself or its name; "" for another argument."""
    if isinstance(argument, torch.ScriptObject):
        try:
            return distributed.ProcessGroup.unbox(argument).group_name
        except RuntimeError:  # another object, as the kind of a reduction
            return ""
    return argument if isinstance(argument, str) else ""


def loss_of(y: Any) -> Any:
    return (y * y).mean()


def theirs(planned: Planned, mesh: Any, optimizer: str = "SGD") -> Recorded:
    """The collectives that torch launches in a step."""
    model, x = parallelized(planned, mesh), local_inputs(planned, mesh)
    step = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-3)
    whole = planned.model()(planned.inputs()).numel()
    with sdpa_kernel(SDPBackend.MATH), Recorded(mesh) as counted:
        y = model(x)
        loss = loss_of(y)
        loss.backward()
        step.step()
        parts = whole // y.numel()
        if parts > 1:
            groups = [mesh.get_group(axis) for axis in mesh.mesh_dim_names]
            among = next((g for g in groups if g.size() == parts), distributed.group.WORLD)
            distributed.all_reduce(loss.detach(), group=among)
    totals: Counter[str] = Counter()
    for (kind, _), count in counted.found.items():
        totals[kind] += count
    assert totals == counts_of(counted)
    return counted


def program_of(planned: Planned, mesh: Any, optimizer: str = "SGD") -> Program:
    """The step as a program."""
    model = planned.model()
    step = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-3)
    inputs = (planned.inputs(),)
    return Program.from_torch_training(
        model, loss_of, step, inputs, mesh=mesh, shardings=planned.shardings, plan=planned.plan
    )


def ours(planned: Planned, mesh: Any, optimizer: str = "SGD") -> tuple[Any, dict[Any, int]]:
    """The communication report of a step, and its collectives as torch launches them."""
    report = propagate(program_of(planned, mesh, optimizer)).communication(partitioner="shardy")
    return report, launches_by_axes(report, planned.plan)


def bytes_of(report: Any) -> Counter[str]:
    found: Counter[str] = Counter()
    for use in report.sending:
        found[use.kind] += use.cost.bytes
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--optimizer", default="SGD")
    parser.add_argument("--bill", action="store_true")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = {name: STEPS[name] for name in given.names or STEPS}
    equal = 0
    with device_mesh() as mesh:
        for name, planned in chosen.items():
            torch.manual_seed(0)
            expected = theirs(planned, mesh, given.optimizer)
            report, found = ours(planned, mesh, given.optimizer)
            equal += expected.found == found
            print(f"{name}: {'equal' if expected.found == found else 'differs'}")
            for side, counts, sent in (
                ("torch", expected.found, expected.bytes),
                ("ours", found, bytes_of(report)),
            ):
                print(f"    {side:6} {text(counts):95} {sum(sent.values()):9,} B: {bytes_text(sent)}")
            for use in report.sending if given.bill else ():
                print(f"           {use.kind:15} {use.axes} {use.cost.bytes} B {use.cause.location}")
    print(f"{equal} of {len(chosen)} training steps: equal counts by kind and axes")


def text(counts: Counts) -> str:
    return ", ".join(f"{count} {kind} {'+'.join(axes)}" for (kind, axes), count in sorted(counts.items()))


def bytes_text(sent: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {count:,}" for kind, count in sorted(sent.items()))


if __name__ == "__main__":
    main()
