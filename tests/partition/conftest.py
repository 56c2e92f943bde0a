"""Lets the tests of partitioning import the notation of `tests.propagation`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
