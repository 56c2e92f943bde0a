"""Lets the tests of the graph import each other's helpers as `tests.graph.NAME`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
