"""Runs programs with numpy, on one device, or on many at once in lockstep.

    Executable(module).run([x[None]])

Reading order: `build.py` makes a plan of every block, `plan.py` executes it, `handlers.py` says what runs
each op, with the rows of `facet.py`; `control.py`, `collectives.py`, `manual.py`, `effects.py` do what needs
the state of a run. docs/design/interpret.md describes the design.

Not here: what an op computes from its operands (`ops/compute/`).
"""

from __future__ import annotations

from shardy_py.ops.compute import register_custom_call
from shardy_py.reshard.process_grid import Grid
from shardy_py.run.interpret.machine import RunLimits
from shardy_py.run.interpret.run import Executable, Settings

__all__ = ["Executable", "Grid", "RunLimits", "Settings", "register_custom_call"]
