"""The harness reports each kind of fault, and goes on (at length: `make fuzz`)."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

from tests.fuzz.mutation import damaged
from tests.fuzz.planted import PLANTED
from tests.fuzz.targets import TARGETS

ALL = frozenset(target.name for target in TARGETS)


def _run(root: Path, temporary: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Runs a module, which must leave no temporary files."""
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "FUZZ_OUTPUT": str(temporary.parent)}
    finished = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert [*temporary.iterdir()] == []
    return finished


def test_each_fault_is_reported_for_each_input(root: Path, tmp_path: Path) -> None:
    finished = _run(root, tmp_path / "temporary", "tests.fuzz.planted")
    expected = {name: [[0, name], [1, name], [2, name]] for name in PLANTED}
    assert json.loads(finished.stdout) == expected


def test_a_sample_has_no_faults(root: Path, tmp_path: Path) -> None:
    """At length: `make fuzz`."""
    finished = _run(root, tmp_path / "temporary", "tests.fuzz.run", "--count", "100", "--seed", "12")
    lines = finished.stdout.splitlines()
    assert {line.split()[0] for line in lines} == ALL
    assert all(": 0 faults" in line for line in lines)


def test_a_damaged_input_is_a_function_of_its_seed() -> None:
    once, again = (damaged(b'"a"(%0) : 12', b"x y", random.Random(7)) for _ in range(2))
    assert once == again
