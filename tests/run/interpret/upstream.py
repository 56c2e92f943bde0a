"""Runs tests of StableHLO's interpreter: `python -m tests.run.interpret.upstream CHECKOUT [-k reduce]`."""

from __future__ import annotations

import sys

from tests.run.interpret.programs import interpret

if __name__ == "__main__":
    sys.exit(interpret())
