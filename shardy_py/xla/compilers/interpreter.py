"""Runs a device's compiler in the Python that has it, on a program as text.

    compile_ahead(text, as_placement("tpu-v5e"), (4, 2), python="/opt/tpu/bin/python").memory.temporaries

Compilers are deterministic, so that an answer is kept as long as the process. Not here: what runs there
(`ahead_of_time.py`), what is in the HLO (`hlo/collectives/`).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from shardy_py.base.errors import Diagnostic, Position, ShardyError
from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass
from shardy_py.hardware import AxisPlacement, Hardware, default_topology
from shardy_py.hlo.buffers import AllocatedMemory
from shardy_py.xla.compilers.gpus import GPUS, gpu_description

VARIABLE: Final = "SHARDY_COMPILER_PYTHON"
"""The environment variable with the Python interpreter that has JAX and the compiler of a device."""
_SCRIPT: Final = Path(__file__).parent / "ahead_of_time.py"
_HOST: Final = 8
"""GPUs of a host, all of which NVLink connects."""
_TPUS: Final[Mapping[str, str]] = {
    "tpu-v4": "v4",
    "tpu-v5e": "v5e",
    "tpu-v5p": "v5p",
    "tpu-v6e": "v6e",
    "tpu7x": "tpu7x",
}
"""Libtpu's names of TPUs."""
_PACKAGES: Final = {
    "tpu": "shardy_py[targets-tpu], which has jax[tpu]",
    "gpu": "shardy_py[targets-gpu], which has jax, jax-cuda12-plugin and jax-cuda12-pjrt",
}
_SECONDS: Final = 1800
_PLACES: Final = re.compile(r'source_file="([^"]+)"\s+source_line=(\d+)|"([^"\n]+\.py)":(\d+):')
_OUT_OF_MEMORY: Final = ("RESOURCE_EXHAUSTED", "Ran out of memory", "Out of memory")


@dataclass(frozen=True, slots=True)
class CompilerAnswer:
    """A compiler's program for a device: its HLO, and what it allocates; on a TPU of its HBM alone."""

    hlo: str
    memory: AllocatedMemory


class OutOfMemoryError(ShardyError):
    """A program that a compiler finds too large for its device."""


def compile_ahead(
    text: str, placement: AxisPlacement, mesh: Sequence[int], python: str | None = None
) -> CompilerAnswer:
    """Returns what the compiler of a device makes of a program.

    text: as StableHLO, with sdy. mesh: the sizes of its axes. python: the interpreter that has JAX and the
    compiler; None: that of the environment variable SHARDY_COMPILER_PYTHON, or the running one.

    Raises:
        ShardyError: no compiler for the device is known or installed, or it rejects the program, as when
            memory is exhausted: in the compiler's words, with the lines that it names.
    """
    hardware = placement.hardware
    request = {
        "program": text,
        "mesh": [*mesh],
        "platform": "cuda" if hardware.compiler == "gpu" else "tpu",
        "topology": _topology(placement, prod(mesh)),
        "options": {"xla_gpu_autotune_level": 0} if hardware.compiler == "gpu" else {},
    }
    command = python or os.environ.get(VARIABLE) or sys.executable
    answer = json.loads(_answer(command, json.dumps(request)))
    if "missing" in answer:
        raise ShardyError(_missing(answer, command, hardware))
    if "error" in answer:
        raise _rejected(str(answer["error"]), hardware)
    sizes = (answer["memory"][part] for part in ("argument", "output", "alias", "temp"))
    by = f"the compiler of jax {answer['versions']['jax']} for {hardware.name}"
    return CompilerAnswer(answer["hlo"], AllocatedMemory(by, *sizes))


def _topology(placement: AxisPlacement, devices: int) -> JsonObject:
    """The arguments for JAX's description of devices that are not there."""
    hardware = placement.hardware
    if hardware.name in GPUS:
        hosts, inside = max(1, devices // _HOST), min(devices, _HOST)
        described = gpu_description(hardware.name)
        return {"topology_name": hardware.name, "topology": f"1x{hosts}x{inside}", "target_config": described}
    if hardware.name not in _TPUS:
        known = ", ".join((*GPUS, *_TPUS))
        raise ShardyError.unexpected("compile", expected=f"one of {known}", got=hardware.name)
    chips = -(-devices // hardware.network.cores)
    sizes = placement.topology or default_topology(chips, hardware.network.dimensions)
    ordered = sorted(sizes, key=lambda size: (size == 1, size)) if not placement.topology else sizes
    return {"topology_name": f"{_TPUS[hardware.name]}:{'x'.join(map(str, ordered))}"}


@lru_cache(maxsize=16)
def _answer(python: str, request: str) -> str:
    with TemporaryDirectory() as folder:
        source, target = Path(folder, "request.json"), Path(folder, "answer.json")
        source.write_text(request)
        command = [python, "-P", str(_SCRIPT), str(source), str(target)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            remedy = f"set {VARIABLE} to the Python that has the compiler"
            raise ShardyError.unexpected(
                "the compiler's Python", expected="an interpreter", got=f"'{python}': {error}", remedy=remedy
            ) from error
        if not target.exists():
            last = run.stderr.strip().splitlines()[-1:] or [f"status {run.returncode}"]
            raise ShardyError.unexpected(f"compile with '{python}'", expected="an answer", got=last[0])
        return target.read_text()


def _missing(answer: Mapping[str, str], python: str, hardware: Hardware) -> Diagnostic:
    packages = _PACKAGES[hardware.compiler]
    what = {
        "jax": "JAX is not installed",
        "compiler": f"the compiler for {hardware.name} is not installed",
        "release": "this release of JAX does not compile ahead of time as expected",
    }[answer["missing"]]
    notes = (Diagnostic(answer["message"], severity="note"),)
    remedy = f"install {packages}, or name another Python by {VARIABLE}"
    return Diagnostic(f"{what} in '{python}'", notes=notes, remedy=remedy)


def _rejected(message: str, hardware: Hardware) -> ShardyError:
    """The compiler's words, with a note at each line of the source that it names."""
    first, *others = [line.strip() for line in message.splitlines() if line.strip()] or [""]
    is_memory = any(word in message for word in _OUT_OF_MEMORY)
    kind = "runs out of memory" if is_memory else "rejects the program"
    places = tuple(dict.fromkeys(_places(message)))
    notes = tuple(Diagnostic(fact, place, "note") for place, fact in places)
    more = (Diagnostic("\n".join(others), severity="note"),) if others else ()
    where = places[0][0] if places else None
    error = OutOfMemoryError if is_memory else ShardyError
    return error(
        Diagnostic(f"the compiler for {hardware.name} {kind}: {first}", where, notes=(*notes, *more))
    )


def _places(message: str) -> Iterator[tuple[Position, str]]:
    """The lines of the source that a message names, each with what it says of it before."""
    size = ""
    for line in message.splitlines():
        if "Size:" in line:
            size = line.strip()
        for file, number, other, other_number in _PLACES.findall(line):
            yield Position(file or other, int(number or other_number), 1), size or line.strip()
