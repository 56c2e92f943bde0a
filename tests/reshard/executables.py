"""The local functions that Shardy's executable tests run, with their inputs and the simulator's results.

    for execution in executions(Path("/tmp/shardy")): ...

A test (`executable_*/*.mlir`) makes local functions from sharded ones with its RUN lines, adds a `@main` that
splits tensors by hand and runs the functions with `interpreter.run_parallel`, and interprets the whole. Here
the RUN lines run with our `sdy-opt`, and `@main` in the simulator, which sees the operands and results of
`run_parallel`.

Requires `split-file` of LLVM. Not here: running functions by XLA (`on_xla.py`).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.symbols import function_name, functions_of
from shardy_py.ops.compute import Array
from shardy_py.run.interpret import Executable, Settings
from shardy_py.run.interpret.machine import Devices
from shardy_py.run.interpret.values import Value

TRANSFORMS = "shardy/dialect/sdy/transforms"
TIMEOUT_SECONDS = 300
_RUN = re.compile(r"^// RUN:(.*(?:\\\n// RUN:.*)*)$", re.MULTILINE)
_CONTINUED = re.compile(r"\\\n// RUN:")


@dataclass(frozen=True, eq=False)
class Execution:
    """A function that runs on a grid of devices.

    text: a module with the function. replicas, partitions: the grid. inputs, results: each [devices, *local].
    """

    name: str
    text: str
    function: str
    replicas: int
    partitions: int
    inputs: tuple[Array, ...]
    results: tuple[Array, ...]


def test_files(suite: Path) -> list[Path]:
    """The executable tests of a checkout of Shardy."""
    return sorted((suite / TRANSFORMS).glob("*/test/executable_*/*.mlir"))


def executions(suite: Path) -> Iterator[Execution | tuple[str, str]]:
    """The executions of all tests; the name of a program and its fault where there is none."""
    for path in test_files(suite):
        for number, text in enumerate(programs(path)):
            name = f"{path.parent.name.removeprefix('executable_')}/{path.stem}#{number}"
            try:
                yield from executed(text, name)
            except (ShardyError, AssertionError) as error:
                yield name, f"{type(error).__name__}: {str(error).splitlines()[0]}"


def programs(path: Path) -> list[str]:
    """The programs that the RUN lines of a test hand to StableHLO's interpreter.

    Raises:
        AssertionError: a RUN line fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        tools, made = Path(folder, "tools"), Path(folder, "made")
        tools.mkdir()
        made.mkdir()
        ours = Path(sys.executable).parent / "sdy-opt"
        for name, body in {
            "sdy_opt": f'exec {ours} "$@"',
            "stablehlo-translate": f'cp "$2" "{made}/$(date +%s%N).mlir"',
        }.items():
            (tools / name).write_text(f"#!/bin/sh\n{body}\n")
            (tools / name).chmod(0o755)
        lines = [_CONTINUED.sub(" ", line[1]) for line in _RUN.finditer(path.read_text())]
        script = "\n".join([f'export PATH="{tools}:$PATH"', "set -e -o pipefail", *lines])
        for mark, meaning in {"%s": path, "%S": path.parent, "%t": f"{folder}/split"}.items():
            script = script.replace(mark, str(meaning))
        run = subprocess.run(
            ["bash", "-c", script], capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )
        assert run.returncode == 0, run.stderr[-500:] or f"exit code {run.returncode}"
        return [file.read_text() for file in sorted(made.iterdir())]


def executed(text: str, name: str) -> list[Execution]:
    """Runs `@main` in the simulator; returns what each `interpreter.run_parallel` executed.

    Raises:
        ShardyError: the program fails, also one of its checks.
    """
    module = parse_module(text, name)
    seen: dict[Any, Array] = {}

    def observe(op: Operation, devices: Devices, values: list[Value]) -> None:
        seen.update(zip(op.results, values, strict=True))

    main = next(function for function in functions_of(module) if function_name(function) == "main")
    starts = [op for op in main.body.block.ops if op.name == "interpreter.run_parallel"]
    Executable(
        module, "main", Settings(observed=lambda op: op.parent is main.body.block, observe=observe)
    ).run(())
    main.detach()
    return [_execution(op, seen, module, f"{name}.{number}") for number, op in enumerate(starts)]


def _execution(op: Operation, seen: dict[Any, Array], module: ModuleOp, name: str) -> Execution:
    programs: Any = op.properties["programs"]
    grid = [[symbol.root_reference.data for symbol in row.data] for row in programs.data]
    names = {function for row in grid for function in row}
    assert len(names) == 1, f"{name}: devices run {len(names)} different functions"
    count = len(grid) * len(grid[0])
    return Execution(
        name,
        print_module(module),
        names.pop(),
        len(grid),
        len(grid[0]),
        _by_device([seen[value] for value in op.operands], count),
        _by_device([seen[value] for value in op.results], count),
    )


def _by_device(values: list[Array], devices: int) -> tuple[Array, ...]:
    """The values of all devices, which are listed device by device, as one array each."""
    each = len(values) // devices
    return tuple(np.concatenate(values[index::each]) for index in range(each))
