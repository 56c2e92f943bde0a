"""Suggestions in the words of torch, executed: a step under each plan beside the step of one device.

    python -m tests.frontends.suggested_plans [--code] [name ...]

Each plan that `suggest` gives, and each named scheme, is printed by `plan.code("torch")`, executed as it
stands on 4 threads that are the ranks of torch's threaded process group, and trained for a step. Losses,
gradients and new parameters are compared with those of the same model on one device.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch import distributed
from torch.distributed import distributed_c10d
from torch.distributed.tensor import DTensor, parallel
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing._internal.distributed import multi_threaded_pg as threaded

from shardy_py import Mesh, Program
from tests.frontends.suggested_models import SUGGESTED, Trained

C10D: Any = importlib.import_module("torch._C._distributed_c10d")
WORLD = 4
RATE = 0.1


@dataclass
class Step:
    """A step: the loss, and gradients and new parameters by name. parts: of the batch."""

    loss: Any
    gradients: dict[str, Any]
    parameters: dict[str, Any]
    parts: int = 1


def step_of(trained: Trained, model: Any, parts: Sequence[tuple[Any, Any]]) -> Step:
    """Trains a model for a step, with the mean of the losses of parts of the batch: inputs and targets."""
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, foreach=False)
    losses = [trained.loss(model(*inputs), *targets) for inputs, targets in parts]
    loss = sum(losses[1:], losses[0]) / len(parts)
    loss.backward()
    gradients = {name: whole(each.grad) for name, each in model.named_parameters() if each.grad is not None}
    optimizer.step()
    return Step(whole(loss), gradients, {name: whole(each) for name, each in model.named_parameters()})


def parts_of(trained: Trained, count: int) -> list[tuple[Any, Any]]:
    """Inputs and targets of parts of the batch."""
    split = [
        [each.chunk(count, trained.batch) for each in side] for side in (trained.inputs(), trained.targets())
    ]
    return [tuple([each[n] for each in side] for side in split) for n in range(count)]


def whole(tensor: Any) -> Any:
    """A tensor of all devices."""
    tensor = tensor.detach()
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).clone()


def executed(code: str, trained: Trained, model: Any) -> Step:
    """The step of a model under the printed code, on this rank: its loss is the mean of those of all."""
    names: dict[str, Any] = {"model": model}
    exec(code, names)
    part: Callable[..., Any] = names.get("part_of_batch", lambda tensor, dimension=0: tensor)
    inputs, targets = trained.inputs(), trained.targets()
    given = [[part(each, trained.batch) for each in side] for side in (inputs, targets)]
    with names.get("step_context", nullcontext)():
        step = step_of(trained, names["model"], [(given[0], given[1])])
    step.parts = inputs[0].shape[trained.batch] // given[0][0].shape[trained.batch]
    distributed.all_reduce(step.loss)
    step.loss /= WORLD
    return step


class SharedContext:
    """A context of a whole process, which the first thread enters and the last one leaves."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make, self.lock, self.count, self.context = make, threading.Lock(), 0, nullcontext()

    @contextmanager
    def entered(self) -> Iterator[None]:
        with self.lock:
            self.count += 1
            if self.count == 1:
                self.context = self.make()
                self.context.__enter__()
        try:
            yield
        finally:
            with self.lock:
                self.count -= 1
                if not self.count:
                    self.context.__exit__(None, None, None)


@contextmanager
def ranks() -> Iterator[None]:
    """Threads as ranks. `loss_parallel` is of the process, as kernels are."""
    shared = SharedContext(parallel.loss_parallel)
    C10D._set_thread_isolation_mode(True)
    try:
        with sdpa_kernel(SDPBackend.MATH), mock.patch.object(parallel, "loss_parallel", shared.entered):
            yield
    finally:
        C10D._set_thread_isolation_mode(False)


def on_ranks(function: Callable[[], Any]) -> list[Any]:
    """The results of a function on all ranks. Raises the first error of one."""
    world, store = threaded._install_threaded_pg(), C10D.HashStore()
    found: dict[int, Any] = {}
    errors: dict[int, BaseException] = {}

    def work(rank: int) -> None:
        distributed.init_process_group("threaded", rank=rank, world_size=WORLD, store=store)
        try:
            found[rank] = function()
        except BaseException as error:  # the others wait for this rank
            errors[rank] = error
            threaded.ProcessLocalGroup.exception_handle(error)
        finally:
            if world is distributed_c10d._world:
                distributed.destroy_process_group()

    with ranks():
        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(WORLD)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    threaded._uninstall_threaded_pg()
    threaded.ProcessLocalGroup.reset()
    for error in sorted(errors.values(), key=lambda each: type(each).__name__ == "SystemExit"):
        raise error
    return [found[rank] for rank in range(WORLD)]


def difference(trained: Trained, code: str) -> str:
    """The first difference between a step under the code, and that of one device; "" if there is none."""
    torch.manual_seed(0)
    model = trained.model().train(trained.is_training)
    copies = iter([copy.deepcopy(model) for _ in range(WORLD)])
    lock = threading.Lock()

    def own() -> Step:
        with lock:
            mine = next(copies)
        return executed(code, trained, mine)

    steps = on_ranks(own)
    parts = parts_of(trained, steps[0].parts if trained.has_statistics else 1)
    with sdpa_kernel(SDPBackend.MATH):
        expected = step_of(trained, model, parts)
    for rank, step in enumerate(steps):
        if not torch.allclose(step.loss, expected.loss, rtol=2e-4, atol=2e-5):
            return f"loss of rank {rank}: {step.loss} instead of {expected.loss}"
        for what in ("gradients", "parameters"):
            theirs, ours = getattr(expected, what), getattr(step, what)
            if theirs.keys() != ours.keys():
                return f"{what} of rank {rank} of others: {sorted(theirs.keys() ^ ours.keys())[:4]}"
            for name, value in theirs.items():
                if not torch.allclose(ours[name], value, rtol=2e-4, atol=2e-5):
                    most = (ours[name] - value).abs().max()
                    return f"{what} of {name} on rank {rank}: {most:.2g} off"
    return ""


def codes_of(trained: Trained, mesh: Mesh) -> dict[str, str]:
    """The code of all plans and schemes of a model, by their names; equal code once."""
    torch.manual_seed(0)
    model = trained.model().train(trained.is_training)
    program = Program.from_torch_training(
        model,
        trained.loss,
        torch.optim.SGD(model.parameters(), lr=RATE),
        trained.inputs(),
        targets=trained.targets(),
    )
    found = program.suggest(mesh, tries=trained.tries, time_limit=60, progress=False, hardware="h100")
    plans = {f"plan {n}": plan for n, plan in enumerate(found.plans, 1)}
    plans |= {plan.name: plan for plan in found.schemes}
    by_code = {plan.code("torch"): name for name, plan in reversed(plans.items())}
    return {name: code for code, name in reversed(by_code.items())}


MESHES = Mesh.of(dp=2, tp=2), Mesh.of(tp=4), Mesh.of(dp=4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--code", action="store_true")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[bool] = Counter()
    for name in given.names or SUGGESTED:
        for mesh in MESHES[: None if given.names else 2]:
            for plan, code in codes_of(SUGGESTED[name], mesh).items():
                try:
                    found = difference(SUGGESTED[name], code)
                except Exception as error:  # of torch, on the code
                    found = (
                        f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
                    )
                counts[not found] += 1
                print(f"{name}, {mesh}, {plan}: {found or 'equal'}", flush=True)
                if given.code:
                    print(code)
    print(f"{counts[True]} of {counts.total()} plans run and are equal")


if __name__ == "__main__":
    main()
