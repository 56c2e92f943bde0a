"""Remedies of sequence parallelism in the words of torch, executed on top of the plan that they change.

    python -m tests.frontends.suggested_remedies [--code] [--shardings] [name ...]

The plan of a suggestion with tensor parallelism is read back from its code (`suggested_collectives.py`), and
a program made with it, or with the shardings that its weights get. The changes that shard what is between
products along the sequence are printed as calls, take the place of the styles of the plan, and are executed:
a step is compared with that of one device, and what torch launches with the forecast of the change.
"""

from __future__ import annotations

import argparse
import inspect
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from shardy_py import Options, P, Program, Result, propagate
from shardy_py.frontends.torch import launches_by_axes
from shardy_py.search.advice import code_of_edits
from shardy_py.search.advice.kinds.modules import between_modules
from shardy_py.search.edited_sources import Sources
from tests.frontends.dtensor_collectives import fake_ranks
from tests.frontends.dtensor_training import bytes_of, text
from tests.frontends.suggested_collectives import ReadBack, add_loss, read_back, theirs
from tests.frontends.suggested_models import SUGGESTED, Trained
from tests.frontends.suggested_plans import MESHES, RATE, WORLD, codes_of, difference

_MERGED = """
import fnmatch
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel, PrepareModuleInput, PrepareModuleOutput, RowwiseParallel, SequenceParallel,
)
from torch.distributed.tensor.parallel import parallelize_module as apply
changes = {}
def merged(model, mesh, plan):
    new = changes.get(mesh.mesh_dim_names[0], {})
    kept = {path: plan[path] for path in plan if not any(fnmatch.fnmatch(path, each) for each in new)}
    apply(model, mesh, kept | new)
"""
_CALL, _AXIS = "parallelize_module(model, ", "mesh["


@dataclass(frozen=True)
class Change:
    """A change with the code of the plan that has it; "" where styles do not say it. report: the forecast."""

    title: str
    trained: Trained
    code: str
    report: Any


def result_of(trained: Trained, read: ReadBack, *, by_shardings: bool) -> Result:
    """A step under a plan that was read back, or with the shardings of its weights, propagated."""
    model = trained.model().train(trained.is_training)
    inputs, targets = trained.inputs(), trained.targets()
    names = [*inspect.signature(model.forward).parameters][: len(inputs)]
    names += [*inspect.signature(trained.loss).parameters][1 : 1 + len(targets)]
    axes = tuple(axis for axis in read.mesh.sizes if axis in read.batch)
    data = dict.fromkeys(names, P(*(() for _ in range(trained.batch)), axes)) if axes else {}

    def made(**given: Any) -> Program:
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE, foreach=False)
        return Program.from_torch_training(
            model, trained.loss, optimizer, inputs, targets=targets, mesh=read.mesh, **given
        )

    program = made(shardings=data, plan=read.plan)
    if by_shardings:
        weights = {name: program[name].sharding for name, _ in model.named_parameters()}
        program = made(shardings={**{name: each for name, each in weights.items() if each}, **data})
    return propagate(program, Options(update_non_divisible_input_output_shardings=False))


def changes_of(title: str, trained: Trained, code: str, *, by_shardings: bool) -> Iterator[Change]:
    """The changes of a plan."""
    result = result_of(trained, read_back(code, trained.model()), by_shardings=by_shardings)
    sources = Sources.of_result(result)
    assert sources is not None
    proposals = between_modules(sources.advised, result.communication(partitioner="shardy").collectives)
    for number, proposal in enumerate(proposals):
        lines = code_of_edits(proposal, sources.advised.torch_layers)
        report = sources.after(proposal, record=False).communication(partitioner="shardy")
        yield Change(f"{title}, change {number}", trained, with_changes(code, lines) if lines else "", report)


def with_changes(code: str, lines: Sequence[str]) -> str:
    """The code of a plan with calls whose styles take the place of its own."""
    calls = (line.removeprefix(_CALL + _AXIS).removesuffix(")").split("], ", 1) for line in lines)
    changes = (f"changes[{axis}] = {styles}" for axis, styles in calls)
    return "\n".join((_MERGED, *changes, code.replace(_CALL, "merged(model, ")))


def collectives_of(change: Change) -> str:
    """How the collectives compare, printed with both."""
    if not change.code:
        print(f"{change.title}: without words", flush=True)
        return "without words"
    read = read_back(change.code, change.trained.model())
    expected = theirs(change.trained, change.code)
    found, sent = launches_by_axes(change.report, read.plan), bytes_of(change.report, read.plan)
    add_loss(expected, change.report)
    same = [expected.found == found, expected.bytes == sent]
    how = "equal" if all(same) else "other bytes" if same[0] else "other collectives"
    print(f"{change.title}: {how}", flush=True)
    if how != "equal":
        for side, counts, bytes_ in (("torch", expected.found, expected.bytes), ("ours", found, sent)):
            print(f"    {side:6} {text(counts)}; {sum(bytes_.values()):,} B: {text(bytes_)}")
    return how


def step_of(change: Change) -> str:
    """The first difference of a step from that of one device; "" if there is none."""
    try:
        return difference(change.trained, change.code)
    except Exception as error:  # of torch, on the code
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--code", action="store_true")
    parser.add_argument("--shardings", action="store_true", help="programs with shardings instead of plans")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    compared: list[tuple[Change, str]] = []
    with fake_ranks(WORLD):
        for name in given.names or SUGGESTED:
            for mesh in MESHES[:2]:
                for plan, code in codes_of(SUGGESTED[name], mesh).items():
                    title, trained = f"{name}, {mesh}, {plan}", SUGGESTED[name]
                    if _CALL in code:
                        found = changes_of(title, trained, code, by_shardings=given.shardings)
                        compared += [(change, collectives_of(change)) for change in found]
    counts: Counter[str] = Counter()
    for change, how in compared:
        off = step_of(change) if change.code else ""
        if off:
            print(f"{change.title}: {off}")
        if given.code:
            print(change.code)
        counts[f"{how}, {'another step' if off else 'equal step' if change.code else 'no step'}"] += 1
    print(f"{counts.total()} changes: {'; '.join(f'{count} {how}' for how, count in sorted(counts.items()))}")


if __name__ == "__main__":
    main()
