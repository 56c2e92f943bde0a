"""Running a function of a module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.op_errors import error_at
from shardy_py.mlir.text.deep_stack import deep_stack
from shardy_py.ops.compute.arithmetic import FLOAT, Arithmetic, using
from shardy_py.ops.compute.movement import limited
from shardy_py.ops.compute.random import seeded
from shardy_py.reshard.process_grid import Grid
from shardy_py.run.interpret.build import Builder
from shardy_py.run.interpret.machine import Devices, Machine, Observe, RunLimits
from shardy_py.run.interpret.plan import execute
from shardy_py.run.interpret.values import Value


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a program runs.

    grid: the processes. limits: what the run may cost. observed: whether `observe` sees the results of an op.
    write: prints a line of the program's output. probe_folder: where probes write files; "": nowhere.
    seed: of random numbers whose algorithm the program leaves open. arithmetic: of floats.
    """

    grid: Grid = field(default_factory=Grid)
    limits: RunLimits = field(default_factory=RunLimits)
    observed: Callable[[Operation], bool] = lambda op: False
    observe: Observe | None = None
    write: Callable[[str], None] = print
    probe_folder: str = ""
    seed: int = 0
    arithmetic: Arithmetic = FLOAT


DEFAULT = Settings()


class Executable:
    """A function of a module, ready to run any number of times."""

    def __init__(self, module: ModuleOp, function: str = "main", settings: Settings = DEFAULT) -> None:
        """Builds the steps of all ops.

        Raises:
            ShardyError: ops that cannot run, all of them, each with its place.
        """
        self._settings = settings
        with deep_stack(), using(settings.arithmetic):
            builder = Builder(module, settings.limits, settings.observed)
            self.plan = builder.program(function)
        self._plans = tuple(builder.plans)
        self._function = builder.symbols.function(function)

    def renew(self) -> None:
        """Computes all constants again: an arithmetic may begin another run, with other ones."""
        with np.errstate(all="ignore"), using(self._settings.arithmetic):
            for plan in self._plans:
                plan.renew()

    def run(
        self, inputs: Sequence[Value], observe: Observe | None = None, seed: int | None = None
    ) -> list[Value]:
        """Returns the results for inputs of (lanes, *shape), lanes being 1 or the size of the grid.

        observe, seed: instead of those of the settings.

        Raises:
            ShardyError: an op failed; with its name and place.
        """
        settings = replace(
            self._settings,
            observe=observe or self._settings.observe,
            seed=self._settings.seed if seed is None else seed,
        )
        machine = Machine(settings.limits, settings.observe, settings.write, settings.probe_folder)
        limits = limited(settings.limits.elements)
        arithmetic = using(settings.arithmetic)
        with deep_stack(), np.errstate(all="ignore"), seeded(settings.seed), limits, arithmetic:
            try:
                return execute(self.plan, Devices.all_of(machine, settings.grid), list(inputs))
            except RecursionError:
                error = ShardyError("calls nest too deep to run: a function may call itself")
                raise error_at(self._function, error) from None
