"""Damaged programs: a sample of what benchmarks/fuzz.py does at length."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_mutated_programs_give_diagnostics_or_output(root: Path) -> None:
    command = [sys.executable, str(root / "benchmarks" / "fuzz.py"), "--count", "60", "--seed", "1"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
