"""Runs StableHLO's testdata, made by JAX: `python -m tests.interpret.testdata CHECKOUT [-k scatter]`."""

from __future__ import annotations

import sys

from tests.interpret.programs import testdata

if __name__ == "__main__":
    sys.exit(testdata())
