"""Lets the tests of propagation import each other's helpers as `tests.propagation.NAME`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
