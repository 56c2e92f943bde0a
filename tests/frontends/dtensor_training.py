"""Collectives of training steps under plans, and those of DTensor and FSDP2: a table by kind, axes and bytes.

    python -m tests.frontends.dtensor_training [--optimizer AdamW] [--bill] [name ...]

torch runs forward pass, `loss.backward()` and `optimizer.step()` on rank 0 of a fake process group of 8,
with `CommDebugMode` counting, and averages the loss if it is one of parts of the batch, as trainers do. Ours
are those of Shardy's reshards, as torch launches them (`launches_by_axes`); bytes are those
that each device sends in rings. `--bill` lists it.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from functools import cache
from math import prod
from typing import Any

import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.distributed_c10d import _resolve_process_group
from torch.distributed.tensor import DTensor, parallel
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.debug._comm_mode import c10d_collective_ops
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree as pytree

from shardy_py import Options, Program, propagate
from shardy_py.frontends.torch import launched, launches_by_axes
from tests.frontends.dtensor_collectives import (
    counts_of,
    device_mesh,
    kind_of,
    local_inputs,
    parallelized,
)
from tests.frontends.parts_norm import has_norms, of_parts
from tests.frontends.planned_models import STEPS, Planned
from tests.frontends.planned_others import OTHERS
from tests.frontends.planned_variants import VARIANTS, mean_square

Counts = Mapping[tuple[str, tuple[str, ...]], int]

RING = {"all_gather": 1, "reduce_scatter": 1, "all_reduce": 2, "all_to_all": 1}
"""How often each part of the largest tensor of a collective is sent in a ring."""


class Recorded(CommDebugMode):
    """Counts collectives by kind and the axes of their group, too, and the bytes each device sends in a ring.

    axes: by the ranks of a group; meshes that are alike share groups.
    """

    def __init__(self, mesh: Any) -> None:
        super().__init__()
        self.mesh = mesh
        names = tuple(mesh.mesh_dim_names)
        groups = [((axis,), mesh.get_group(axis)) for axis in names]
        whole = tuple(sorted(names)), distributed.group.WORLD
        self.axes = {ranks_of(group): axes for axes, group in (whole, *groups) if group.size() > 1}
        self.found: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.bytes: Counter[tuple[str, tuple[str, ...]]] = Counter()

    def __enter__(self) -> Recorded:
        """Counts without hooks on modules, which fail where a module is called again and again."""
        super().__enter__()
        self.advanced_module_tracker.__exit__(None, None, None)
        return self

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        packet = getattr(func, "_overloadpacket", None)
        is_collective = packet in self.comm_registry or packet in c10d_collective_ops
        if is_collective and not any(issubclass(each, DTensor) for each in types):
            self.record(kind_of(packet), args)
        return super().__torch_dispatch__(func, types, args, kwargs)

    def record(self, kind: str, args: Any) -> None:
        leaves = pytree.tree_leaves(args)
        (group,) = (ranks for leaf in leaves if (ranks := ranks_in(leaf)) in self.axes)
        size = len(group)
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        largest = max(tensor.numel() * tensor.element_size() for tensor in tensors)
        if kind == "all_gather" and len(tensors) == 1:
            largest *= size  # its result is new
        self.found[kind, self.axes[group]] += 1
        self.bytes[kind, self.axes[group]] += RING[kind] * largest * (size - 1) // size

    def average(self, loss: Any, axes: tuple[str, ...]) -> None:
        """Counts the mean of a loss of parts of the batch, as trainers take it."""
        if axes:
            size = size_of(self.mesh, axes)
            self.found["all_reduce", axes] += 1
            self.bytes["all_reduce", axes] += 2 * loss.element_size() * (size - 1) // size


def size_of(mesh: Any, axes: tuple[str, ...]) -> int:
    return prod(mesh.shape[mesh.mesh_dim_names.index(axis)] for axis in axes)


def ranks_of(group: Any) -> tuple[int, ...]:
    return tuple(distributed.get_process_group_ranks(group))


def ranks_in(argument: Any) -> tuple[int, ...]:
    """The ranks of a process group, itself or its name; () for another argument."""
    try:
        if isinstance(argument, torch.ScriptObject):
            return ranks_of(distributed.ProcessGroup.unbox(argument))
        return ranks_of(_resolve_process_group(argument)) if isinstance(argument, str) else ()
    except (RuntimeError, LookupError):  # another object, as the kind of a reduction
        return ()


def loss_of(planned: Planned) -> Any:
    return getattr(planned, "loss", mean_square)


def theirs(planned: Planned, mesh: Any, optimizer: str = "SGD") -> Recorded:
    """The collectives that torch launches in a step."""
    model, x = parallelized(planned, mesh), local_inputs(planned, mesh)
    step = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-3)
    whole = planned.model()(planned.inputs()).numel()
    has_parts = getattr(planned, "loss_parallel", False)
    with sdpa_kernel(SDPBackend.MATH), Recorded(mesh) as counted:
        y = model(x)
        with parallel.loss_parallel() if has_parts else nullcontext():
            loss = loss_of(planned)(y)
            loss.backward()
        step.step()
    totals: Counter[str] = Counter()
    for (kind, _), count in counted.found.items():
        totals[kind] += count
    assert totals == counts_of(counted)
    counted.average(loss, parts_of(planned, mesh, whole // y.numel()))
    return counted


def parts_of(planned: Planned, mesh: Any, count: int) -> tuple[str, ...]:
    """The axes whose devices have so many parts of the output, those of the batch first."""
    (placements,) = planned.shardings.values()
    names, sizes = mesh.mesh_dim_names, mesh.shape
    order = sorted(range(len(names)), key=lambda number: not placements[number].is_shard(0))
    for length in range(len(order) + 1):
        if prod(sizes[number] for number in order[:length]) == count:
            return tuple(sorted(names[number] for number in order[:length]))
    return tuple(next((name,) for name, size in zip(names, sizes, strict=True) if size == count))


def batch_parts(planned: Planned, mesh: Any) -> int:
    """The number of parts of the batch."""
    (placements,) = planned.shardings.values()
    return prod(size for size, each in zip(mesh.shape, placements, strict=True) if each.is_shard(0))


def program_of(planned: Planned, mesh: Any, optimizer: str = "SGD", *, parts: int = 1) -> Program:
    """The step as a program. parts: of the batch, of whose statistics batch norms are."""
    model = planned.model() if parts == 1 else of_parts(planned.model(), parts)
    step = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-3)
    inputs = (planned.inputs(),)
    return Program.from_torch_training(
        model, loss_of(planned), step, inputs, mesh=mesh, shardings=planned.shardings, plan=planned.plan
    )


def ours(
    planned: Planned, mesh: Any, optimizer: str = "SGD", *, parts: int = 1
) -> tuple[Any, dict[Any, int]]:
    """The communication report of a step, and its collectives as torch launches them."""
    options = Options(update_non_divisible_input_output_shardings=getattr(planned, "even", True))
    program = program_of(planned, mesh, optimizer, parts=parts)
    report = propagate(program, options).communication(partitioner="shardy")
    return report, launches_by_axes(report, planned.plan)


def bytes_of(report: Any, plan: Any = ()) -> Counter[tuple[str, tuple[str, ...]]]:
    """The bytes that each device sends by kind and axes, as torch launches the collectives of a report."""
    found: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for launch in launched(report, plan):
        found[launch.kind, launch.axes] += launch.bytes
    return found


def mesh_of(planned: Planned) -> Any:
    """The mesh of a step, in the process group at hand."""
    names, shape = zip(*getattr(planned, "mesh", {"dp": 2, "tp": 4}).items(), strict=True)
    return one_mesh("cpu", shape, mesh_dim_names=names)


@cache
def one_mesh(device: str, shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...]) -> Any:
    """One mesh of these sizes: DTensor keeps what it finds by meshes that are equal, with their groups."""
    return init_device_mesh(device, shape, mesh_dim_names=mesh_dim_names)


def is_equal_by_parts(planned: Planned, mesh: Any, optimizer: str, expected: Recorded) -> bool:
    """Returns whether batch norms of parts of the batch, as torch computes them, have torch's collectives."""
    if not has_norms(planned.model()):
        return False
    report, found = ours(planned, mesh, optimizer, parts=batch_parts(planned, mesh))
    return (found, bytes_of(report, planned.plan)) == (expected.found, expected.bytes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--optimizer", default="SGD")
    parser.add_argument("--bill", action="store_true")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    every: dict[str, Planned] = {**STEPS, **VARIANTS, **OTHERS}
    chosen = {name: every[name] for name in given.names or every}
    equal = Counter[str]()
    with device_mesh():
        for name, planned in chosen.items():
            torch.manual_seed(0)
            mesh = mesh_of(planned)
            expected = theirs(planned, mesh, given.optimizer)
            report, found = ours(planned, mesh, given.optimizer)
            sent = bytes_of(report, planned.plan)
            same = [expected.found == found, expected.bytes == sent]
            equal.update(kinds=same[0], bytes=all(same))
            how = "equal" if all(same) else "other bytes" if same[0] else "differs"
            if how != "equal" and is_equal_by_parts(planned, mesh, given.optimizer, expected):
                how += ", equal with statistics of parts"
            print(f"{name}: {how}")
            sides = {"torch": (expected.found, expected.bytes), "ours": (found, sent)}
            for side, (counts, bytes_) in sides.items():
                print(f"    {side:6} {text(counts)}; {sum(bytes_.values()):,} B: {text(bytes_)}")
            for use in report.sending if given.bill else ():
                print(f"           {use.kind:15} {use.axes} {use.cost.bytes} B {use.cause.location}")
    print(
        f"{len(chosen)} training steps: {equal['kinds']} equal by kinds and axes, {equal['bytes']} in bytes"
    )


def text(counts: Counts) -> str:
    return ", ".join(f"{count:,} {kind} {'+'.join(axes)}" for (kind, axes), count in sorted(counts.items()))


if __name__ == "__main__":
    main()
