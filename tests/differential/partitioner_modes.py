"""Rows of `modes.py` for the passes of Shardy's partitioner, each on what C++ makes of a program up to it.

JAX 0.10 has some of the passes, as a work in progress: those are compared in `partitioning.py`. JAX 0.11 has
all of them, and not all of their options.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from math import prod

from shardy_py.base.behaviours import Behaviour
from tests.differential.meshes import Width
from tests.differential.modes import PIPELINE, Mode, Step, wide

RESHARDS: Step = (
    "sdy-insert-explicit-reshards",
    "enable-full-version=true mark-partial-result-with-unreduced-axes=true",
)
CANONICAL_RESHARDS: Step = (
    "canonicalize",
    "enable-patterns={sdy-reshard} region-simplify=aggressive top-down=false",
)
CANONICAL_COLLECTIVES: Step = (
    "canonicalize",
    "enable-patterns={sdy-collective} region-simplify=aggressive top-down=false",
)
RESOLVE, COLLECTIVES, OPTIMIZE, PAD, DEVICE, LOCAL, DROP = (
    "sdy-resolve-permutation-factors",
    "sdy-reshard-to-collectives",
    "sdy-optimize-collectives",
    "sdy-pad-for-divisibility",
    "sdy-resolve-single-device-sharding",
    "sdy-convert-global-to-local",
    "sdy-drop-sharding-and-mesh",
)
_ADDED = {
    "keep-module-sharding-metadata": Behaviour.MAIN_SHARDINGS_ARE_METADATA,
    "rng-bit-generator-unsafe": Behaviour.RANDOM_PARTS_HAVE_STATES,
    "partitioner-stage": Behaviour.MAIN_SHARDINGS_ARE_METADATA,
}
"""Options that came after their passes, each with a behaviour as new as it."""
STAGES: tuple[Step, ...] = (
    (PIPELINE, ""),
    RESHARDS,
    CANONICAL_RESHARDS,
    (RESOLVE, ""),
    (COLLECTIVES, ""),
    (OPTIMIZE, ""),
    CANONICAL_COLLECTIVES,
    (PAD, ""),
    (DEVICE, ""),
    (LOCAL, ""),
    (DROP, "keep-module-sharding-metadata=true"),
)
"""What `sdy-export-pipeline` with `partitioner-stage=convert-global-to-local` runs after a propagation."""

WIDTH = Width(replicated=0.0, annotated=0.4)
Program = Callable[[random.Random], str]
PROGRAM: Program = wide(WIDTH)
DEVICES = 16
_COUNTS = (f"replica-count={DEVICES}", f"partition-count={DEVICES}")
"""Options of programs on as many devices: other counts are errors here, and wrong programs in C++. The passes
before have them, too: what partitions exchange stays as it is among replicas in C++."""
OPTIONS: dict[str, tuple[str, ...]] = {
    RESHARDS[0]: ("", "enable-full-version=true"),
    RESOLVE: ("enable-halo-exchange=false", "rng-bit-generator-unsafe=false", "partition-count=8"),
    COLLECTIVES: ("keep-redundant-reshards=true",),
    LOCAL: (
        "enable-rgv3=false",
        "per-dim-all-gather=true",
        "combine-multi-dimension-reduce-scatter=true",
        *_COUNTS,
    ),
    DROP: ("",),
}
"""Other options of the passes; those in `STAGES` are the rows without options in their names."""


def _on_devices(rng: random.Random) -> str:
    """A program of which no mesh with axes has other than `DEVICES` devices."""
    while True:
        text = PROGRAM(rng)
        if _devices(text) == {DEVICES}:
            return text


def _devices(text: str) -> set[int]:
    meshes = [re.findall(r"=(\d+)", axes) for axes in re.findall(r"sdy\.mesh @\w+ = <\[([^\]]+)\]", text)]
    return {prod(map(int, sizes)) for sizes in meshes}


def _row(name: str, step: Step, before: tuple[Step, ...], program: Program = PROGRAM) -> Mode:
    found = (behaviour for option, behaviour in _ADDED.items() if f"{option}=" in step[1])
    return Mode(name, program, (step,), before, needs=next(found, Behaviour.EXPORT_OPTIMIZES))


def _rows() -> list[Mode]:
    rows: list[Mode] = []
    for index, step in enumerate(STAGES):
        if step[0] in (PIPELINE, "canonicalize"):
            continue
        rows.append(_row(step[0], step, STAGES[:index]))
        for options in OPTIONS.get(step[0], ()):
            name = f"{step[0]}{{{options}}}"
            program, before = PROGRAM, STAGES[:index]
            if options in _COUNTS:
                program, before = _on_devices, tuple((n, options if n == RESOLVE else o) for n, o in before)
            rows.append(_row(name, (step[0], options), before, program))
    return rows


def _export(options: str) -> Mode:
    return _row(f"export{{{options}}}", ("sdy-export-pipeline", options), ((PIPELINE, ""),))


SINGLE = ("sdy-per-instruction-partitioning", "")
PARTITIONER_MODES: tuple[Mode, ...] = (
    *_rows(),
    _row(SINGLE[0], SINGLE, STAGES[:2]),
    _row(f"{SINGLE[0]}{{filter}}", (SINGLE[0], "filter=dot"), STAGES[:2]),
    _export(""),
    _export("enable-insert-explicit-collectives=true"),
    _export("inline-meshes=false enable-insert-explicit-collectives=true keep-sharding-rules=true"),
    _export("partitioner-stage=pad-for-divisibility"),
    _export("partitioner-stage=convert-global-to-local"),
    _export("partitioner-stage=convert-global-to-local enable-per-instruction-partitioning=true"),
)
