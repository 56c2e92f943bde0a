"""The garbage collector around long runs: see `collection_cases.py`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.collection_cases import CASES


@pytest.fixture(scope="module")
def outcomes(root: Path) -> dict[str, str]:
    command = [sys.executable, "-m", "tests.collection_cases"]
    return json.loads(subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("name", CASES)
def test_collection(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes[name] == ""
