"""Suggested shardings beside named schemes: `python benchmarks/suggest.py [--compile] [NAME...]`.

Programs of the corpus, and those of `suggest_models.py` (which need JAX). For each: the best named scheme,
the suggestion's step time as a part of its, choices scored, and CPU seconds. With `--compile`, for programs
of eight devices: the plans compiled by XLA on the host, with the bytes of collectives beside the forecast,
and plans that may need 60 % of the memory of data parallel, with what XLA allocates.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time

from programs import ROOT, corpus_program

sys.path.insert(0, str(ROOT))

from shardy_py import Mesh, Program
from shardy_py.report.tables import bytes_text, seconds_text, table
from shardy_py.search.suggest import Suggestion
from tests.xla.spmd.compiled import partitioned
from tests.xla.spmd.hlo_programs import comparison_with, reported

CORPUS = (
    *(
        "mlp_train",
        "transformer_train",
        "transformer_train_12",
        "transformer_forward",
        "moe",
        "convnet_train",
    ),
    *("decode_kv_cache", "dropout_rng", "embedding_scatter"),
)
DEVICES = 8
HOST = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"--xla_force_host_platform_device_count={DEVICES}"}


@dataclass(frozen=True)
class Case:
    """A program, and the meshes to try; () for its own."""

    name: str
    program: Program
    meshes: tuple[Mesh, ...] = ()

    @property
    def devices(self) -> int:
        """The number of devices of the mesh."""
        meshes = self.meshes or tuple(self.program.meshes.values())
        return max(mesh.device_count for mesh in meshes)


def cases(names: Sequence[str]) -> Iterator[Case]:
    """The programs of these names, or all."""
    for name in CORPUS:
        found = corpus_program(name) if not names or name in names else None
        if found is not None:
            yield Case(name, Program.parse(found.text, name, as_compiled=True))
    command = [sys.executable, str(Path(__file__).with_name("suggest_models.py"))]
    wanted = [name for name in names if name not in CORPUS]
    if names and not wanted:
        return
    run = subprocess.run(
        [*command, *wanted], capture_output=True, text=True, check=True, env={**os.environ, **HOST}
    )
    for name, (sizes, text) in json.loads(run.stdout).items():
        yield Case(name, Program.parse(text, name, as_compiled=True), (Mesh.of(sizes),))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--hardware", default="tpu-v5p")
    parser.add_argument("--compile", action="store_true", help="compile plans of eight devices by XLA")
    given = parser.parse_args()
    if given.compile:
        eight = (case for case in cases(given.names) if case.devices == DEVICES)
        found = [each for case in eight for each in compare_with_xla(case, given.time_limit)]
        equal = sum(each.is_equal for each in found)
        tight = [each.fits for each in found if each.fits is not None]
        print(f"{len(found)} plans: bytes of XLA's collectives within 2 %, in total and by kind: {equal}")
        print(f"{len(tight)} plans for 60 % of memory: within it by the estimate and by XLA: {sum(tight)}")
        return
    rows = [("program", "devices", "best named scheme", "time", "plan 1", "ratio", "scored", "CPU")]
    for case in cases(given.names):
        start = process_time()
        suggestion = case.program.suggest(
            case.meshes, hardware=given.hardware, time_limit=given.time_limit, progress=False
        )
        rows.append(row(case, suggestion, process_time() - start))
        print(table([rows[0], rows[-1]], left=(0, 2)).splitlines()[1], flush=True)
    print(f"\n{table(rows, left=(0, 2))}")
    ratios = [float(each[5]) for each in rows[1:]]
    better = sum(ratio < 1 for ratio in ratios)
    print(f"\n{len(ratios)} programs: at most the best scheme {sum(r <= 1 for r in ratios)}, better {better}")


def row(case: Case, suggestion: Suggestion, seconds: float) -> tuple[str, ...]:
    """A line of the table."""
    scheme = min(suggestion.schemes, key=lambda plan: plan.cost.serial)
    best = suggestion.best.cost.serial
    times = seconds_text(scheme.cost.serial), seconds_text(best)
    ratio = f"{best / scheme.cost.serial:.4f}"
    return case.name, str(case.devices), scheme.name, *times, ratio, str(suggestion.tried), f"{seconds:.0f} s"


@dataclass(frozen=True)
class Compared:
    """Whether the collectives of a plan are those of XLA; fits: whether it is within a limit that it has."""

    is_equal: bool
    fits: bool | None


def compare_with_xla(case: Case, time_limit: float) -> list[Compared]:
    """Prints the bytes of collectives and the memory of plans beside those of XLA on the host.

    Where nothing fits into 60 % of memory, the suggestion states that; this is printed, and not counted.
    """
    suggest = partial(
        case.program.suggest, case.meshes, hardware="cpu", time_limit=time_limit, progress=False
    )
    free = suggest()
    parallel = next((plan for plan in free.schemes if plan.name == "data parallel"), free.schemes[0])
    limit = int(0.6 * parallel.cost.memory_bytes)
    tight = suggest(memory=limit)
    plans = [("plan", plan, free.program(plan)) for plan in free.plans]
    if tight.fits:
        plans += [("60 % of memory", plan, tight.program(plan)) for plan in tight.plans]
    texts = [program.text() for _, _, program in plans]
    run = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("xla_memory.py"))],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **HOST},
    )
    held = json.loads(run.stdout)
    found: list[Compared] = []
    rows = [("plan", "of", "estimate", "XLA's memory", "limit", "collectives")]
    for (kind, plan, _), text, module, size in zip(plans, texts, partitioned(texts), held, strict=True):
        bytes_ = comparison_with(module, partial(reported, text))
        has_limit = kind != "plan"
        fits = max(size, plan.cost.memory_bytes) <= limit
        bound = f"{bytes_text(limit)}: {'fits' if fits else 'exceeds'}" if has_limit else "-"
        found.append(Compared(bytes_ == "equal", fits if has_limit else None))
        rows.append((kind, plan.name, bytes_text(plan.cost.memory_bytes), bytes_text(size), bound, bytes_))
    print(f"{case.name}: data parallel needs {bytes_text(parallel.cost.memory_bytes)}")
    print(table(rows, left=(0, 1, 5)))
    if not tight.fits:
        least = bytes_text(tight.best.cost.memory_bytes)
        print(f"no plan was found for 60 % of memory, {bytes_text(limit)}: the least needs {least}")
    print(flush=True)
    return found


if __name__ == "__main__":
    main()
