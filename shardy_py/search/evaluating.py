"""The costs of candidates of a study, in this process or by workers, to whom the program goes with each.

    evaluator = Evaluator(study, placement, None, workers)
    pending = evaluator.begin({"%arg0": P("data")})
    pending.result()

Equal wherever they are computed. Not here: who computes (`workers.py`), studies (`studies.py`).
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from math import inf
from threading import Lock
from typing import Protocol

from shardy_py.api.annotate import ShardingLike
from shardy_py.api.foreign import foreign_sharding
from shardy_py.api.partition_spec import P
from shardy_py.api.program import Edits, Program
from shardy_py.base.errors import ShardyError
from shardy_py.base.plugins import load_plugins, loaded_plugins
from shardy_py.base.records import dataclass
from shardy_py.hardware import AxisPlacement
from shardy_py.search.study import StepCost
from shardy_py.search.workers import PendingTask, Workers
from shardy_py.sharding.meshes import meshes_with_axes
from shardy_py.xla.targets.stage import CompileStage

Evaluated = StepCost | ShardyError | None
"""The cost of a step; the reason why it is unknown; None if it takes longer than it may."""
_STUDIES = 4
"""The studies that a worker keeps: of several meshes, with and without the program's own constraints."""


class SteppedStudy(Protocol):
    """A study: it says what steps cost, and can be pickled."""

    program: Program

    def step(
        self,
        edits: Edits | None = None,
        hardware: AxisPlacement = ...,
        *,
        at_most: float = inf,
        stage: CompileStage | None = None,
        exact: bool = False,
    ) -> StepCost | None:
        """Returns what a step costs with edits."""
        ...


@dataclass(eq=False)
class Evaluator:
    """Evaluates candidates of a study; without workers in this process, when results are asked for."""

    study: SteppedStudy
    placement: AxisPlacement
    stage: CompileStage | None
    workers: Workers

    def begin(
        self,
        edits: Edits,
        at_most: float = inf,
        *,
        exact: bool = False,
        is_needless: Callable[[], bool] = lambda: False,
    ) -> PendingTask[Evaluated]:
        """Returns what a step will cost; at_most, exact: of `Study.step`; is_needless: of `Workers.begin`."""
        asked = self.placement, at_most, self.stage, exact
        here = partial(_evaluated, self.study, edits, *asked)
        if self.workers.are_none:
            return PendingTask(here)
        named = self._named(edits)
        return self.workers.begin(here, _elsewhere, self._packed, named, *asked, is_needless=is_needless)

    @cached_property
    def _packed(self) -> bytes:
        return zlib.compress(pickle.dumps((loaded_plugins(), pickle.dumps(self.study))))

    def _named(self, edits: Edits) -> dict[str, ShardingLike]:
        """Edits of values by names, which are the same in another process, in terms that can be pickled."""
        names, program = self._names, self.study.program
        named: dict[str, ShardingLike] = {}
        for key, annotation in edits.items():
            name = names.get(key)
            value = program.find(key) if name is None or not isinstance(annotation, P) else None
            if value is not None:
                name = names[key] = f"@{value.function}:{value.name}"
                if not isinstance(annotation, P):
                    meshes = meshes_with_axes(program.meshes)
                    annotation = foreign_sharding(annotation, meshes, value.shape) or annotation
            assert name is not None
            named[name] = annotation
        return named

    @cached_property
    def _names(self) -> dict[object, str]:
        """By value, or what stands for one, its name in other processes."""
        return {}


def _evaluated(
    study: SteppedStudy,
    edits: Edits,
    placement: AxisPlacement,
    at_most: float,
    stage: CompileStage | None,
    exact: bool,
) -> Evaluated:
    try:
        return study.step(edits, placement, at_most=at_most, stage=stage, exact=exact)
    except ShardyError as error:
        return error


def ready() -> None:
    """Returns when a worker has loaded this module, and with it what evaluates."""


_ONE = Lock()
"""A worker evaluates one candidate at a time, also where its executor has threads: studies are of one."""


def _elsewhere(
    packed: bytes,
    edits: Edits,
    placement: AxisPlacement,
    at_most: float,
    stage: CompileStage | None,
    exact: bool,
) -> Evaluated:
    with _ONE:
        return _evaluated(_unpacked(packed), edits, placement, at_most, stage, exact)


@lru_cache(maxsize=_STUDIES)
def _unpacked(packed: bytes) -> SteppedStudy:
    plugins, study = pickle.loads(zlib.decompress(packed))
    load_plugins(*plugins)  # before the study is read, whose program may have their ops
    return pickle.loads(study)
