"""Lets the tests of ops import each other's helpers as `tests.ops.NAME`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
