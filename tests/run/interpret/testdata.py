"""Runs StableHLO's testdata, made by JAX: `python -m tests.run.interpret.testdata CHECKOUT [-k scatter]`."""

from __future__ import annotations

import sys

from tests.run.interpret.programs import testdata

if __name__ == "__main__":
    sys.exit(testdata())
