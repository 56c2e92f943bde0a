"""Collectives of suggested plans: those that torch launches for the printed code, and those of the plan.

    python -m tests.frontends.suggested_collectives [--code] [--bill] [name ...]

The code that `plan.code("torch")` prints is executed as it stands on rank 0 of a fake process group of 4, and
the model trained for a step, as in `dtensor_training.py`. The plan is read back from the code: styles, the
modules of `fully_shard`, and the axes along which inputs are divided.
"""

from __future__ import annotations

import argparse
import inspect
import warnings
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from math import prod
from typing import Any
from unittest import mock

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from shardy_py import Mesh, Options, P, Program, propagate
from shardy_py.frontends.torch import FullyShard, TensorParallel, launches_by_axes
from tests.frontends.dtensor_collectives import fake_ranks
from tests.frontends.dtensor_training import Counts, Recorded, bytes_of, one_mesh, text
from tests.frontends.parts_norm import of_parts
from tests.frontends.suggested_models import SUGGESTED, Trained
from tests.frontends.suggested_plans import MESHES, RATE, WORLD, codes_of

_MESH = "torch.distributed.device_mesh.init_device_mesh"
_STYLED, _WRAPPED = (
    "torch.distributed.tensor.parallel.parallelize_module",
    "torch.distributed.fsdp.fully_shard",
)
_SCALAR = 8
"""The bytes of a scalar, at most."""


@dataclass(frozen=True)
class ReadBack:
    """The plan that code makes, its mesh, and the axes along which it divides inputs."""

    plan: list[Any]
    mesh: Mesh
    batch: tuple[str, ...]


def read_back(code: str, model: Any) -> ReadBack:
    """The plan of code, whose calls only note what they are given."""
    paths = {id(module): path for path, module in model.named_modules()}
    styles: list[Any] = []
    wrapped: dict[tuple[str, ...], list[str]] = {}

    def parallelize_module(_: Any, mesh: Any, plan: Any) -> None:
        styles.append(TensorParallel(*mesh.mesh_dim_names, plan))

    def fully_shard(module: Any, *, mesh: Any) -> None:
        wrapped.setdefault(mesh.mesh_dim_names, []).append(paths[id(module)])

    names: dict[str, Any] = {"model": model}
    replaced = {_MESH: one_mesh, _STYLED: parallelize_module, _WRAPPED: fully_shard}
    with ExitStack() as stack:
        for name, function in replaced.items():
            stack.enter_context(mock.patch(name, function))
        exec(code, names)
    sharded = [
        FullyShard(axes[-1], tuple(own), replicate=axes[0] if len(axes) > 1 else None)
        for axes, own in wrapped.items()
    ]
    mesh = names["mesh"]
    sizes = dict(zip(mesh.mesh_dim_names, mesh.shape, strict=True))
    batch = tuple(axis for plan in sharded for axis in plan.every_axis if sizes[axis] > 1)
    return ReadBack([*styles, *sharded], Mesh.of(**sizes), tuple(sorted(set(batch))))


def theirs(trained: Trained, code: str) -> Recorded:
    """The collectives that torch launches in a step of the code, the loss that of the part of a device."""
    names: dict[str, Any] = {"model": trained.model().train(trained.is_training)}
    with mock.patch(_MESH, one_mesh):
        exec(code, names)
    model, part = names["model"], names.get("part_of_batch", lambda tensor, _: tensor)
    inputs, targets = (
        [part(each, trained.batch) for each in side()] for side in (trained.inputs, trained.targets)
    )
    step = torch.optim.SGD(model.parameters(), lr=RATE, foreach=False)
    context = names.get("step_context", nullcontext)()
    with sdpa_kernel(SDPBackend.MATH), Recorded(names["mesh"]) as counted, context:
        loss = trained.loss(model(*inputs), *targets)
        loss.backward()
        step.step()
    return counted


def add_loss(counted: Recorded, report: Any) -> None:
    """Counts what the loss of the whole batch sends of scalars, which torch leaves to the user's code.

    That is its mean, and the number of labels that a loss of words does not ignore.
    """
    for use in report.sending:
        if use.cause.location.rpartition(" ")[2].startswith("loss/") and use.held_bytes <= _SCALAR:
            axes = tuple(sorted(use.axis_names))
            counted.found[use.kind, axes] += 1
            counted.bytes[use.kind, axes] += use.cost.bytes


def ours(trained: Trained, read: ReadBack, parts: int = 1) -> tuple[Any, Counts, Counts]:
    """The report of a step of the plan read back, and its collectives as torch launches them, with bytes.

    parts: of the batch, of whose statistics batch norms are.
    """
    model = trained.model().train(trained.is_training)
    model = of_parts(model, parts) if parts > 1 else model
    inputs, targets = trained.inputs(), trained.targets()
    names = [*inspect.signature(model.forward).parameters][: len(inputs)]
    names += [*inspect.signature(trained.loss).parameters][1 : 1 + len(targets)]
    axes = tuple(axis for axis in read.mesh.sizes if axis in read.batch)
    spec = P(*(() for _ in range(trained.batch)), axes)
    program = Program.from_torch_training(
        model,
        trained.loss,
        torch.optim.SGD(model.parameters(), lr=RATE, foreach=False),
        inputs,
        targets=targets,
        mesh=read.mesh,
        shardings=dict.fromkeys(names, spec) if axes else {},
        plan=read.plan,
    )
    options = Options(update_non_divisible_input_output_shardings=False)
    report = propagate(program, options).communication(partitioner="shardy")
    return report, launches_by_axes(report, read.plan), bytes_of(report, read.plan)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--code", action="store_true")
    parser.add_argument("--bill", action="store_true")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with fake_ranks(WORLD):
        compare_all(given)


def compare_all(given: argparse.Namespace) -> None:
    counts: Counter[str] = Counter()
    for name in given.names or SUGGESTED:
        trained = SUGGESTED[name]
        for mesh in MESHES:
            for plan, code in codes_of(trained, mesh).items():
                counts[compared(f"{name}, {mesh}, {plan}", trained, code, given.bill)] += 1
                if given.code:
                    print(code)
    print(f"{counts.total()} plans: {', '.join(f'{count} {how}' for how, count in sorted(counts.items()))}")


def likeness(expected: Recorded, found: Counts, sent: Counts) -> str:
    """How collectives compare with those of torch."""
    same = [expected.found == found, expected.bytes == sent]
    return "equal" if all(same) else "other bytes" if same[0] else "differs"


def compared(title: str, trained: Trained, code: str, has_bill: bool) -> str:
    """How the collectives of a plan compare, printed with both."""
    read = read_back(code, trained.model())
    expected = theirs(trained, code)
    report, found, sent = ours(trained, read)
    add_loss(expected, report)
    how = likeness(expected, found, sent)
    if how != "equal" and trained.has_statistics:
        parts = prod(read.mesh.sizes[axis] for axis in read.batch)
        is_equal = likeness(expected, *ours(trained, read, parts)[1:]) == "equal"
        how = f"{how}, equal with statistics of parts" if is_equal else how
    print(f"{title}: {how}", flush=True)
    if how != "equal":
        sides: dict[str, tuple[Mapping[Any, int], Mapping[Any, int]]] = {
            "torch": (expected.found, expected.bytes),
            "ours": (found, sent),
        }
        for side, (counts, bytes_) in sides.items():
            print(f"    {side:6} {text(counts)}; {sum(bytes_.values()):,} B: {text(bytes_)}")
        for use in report.sending if has_bill else ():
            print(f"           {use.kind:15} {use.axes} {use.cost.bytes} B {use.cause.location}")
    return how


if __name__ == "__main__":
    main()
