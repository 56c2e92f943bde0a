"""Which program a report is on: as XLA's partitioner leaves it, or as the compiler of a device does.

    stage = stage_of("h100,data=beyond")
    stage.compiler, stage.words

The names are those of the devices of `hardware/`, in all reports, flags and arguments. Not here: the passes
of compilers (`compiled.py`), programs (`of_program.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardy_py.base.records import dataclass
from shardy_py.hardware import AxisPlacement, Hardware, as_placement
from shardy_py.hardware.cost import DEFAULT, CostModel, cost_model

if TYPE_CHECKING:
    from shardy_py.xla.targets.compiled import Compiler

AS_PARTITIONED = "as partitioned"


@dataclass(frozen=True, slots=True)
class CompileStage:
    """A device whose compiler's program is meant.

    placement: the device, and the places of mesh axes.
    """

    placement: AxisPlacement

    @property
    def device(self) -> str:
        """The name of the device."""
        return self.placement.hardware.name

    @property
    def compiler(self) -> Compiler | None:
        """Its compiler; None: one whose passes are not known here."""
        from shardy_py.xla.targets.compiled import compiler_of  # without a target no pass is loaded

        return compiler_of(self.placement.hardware)

    @property
    def words(self) -> str:
        """The stage as a phrase, for the first line of a report."""
        if self.compiler is None:
            return f"{AS_PARTITIONED}: what the compiler of {self.device} changes after that is not known"
        return f"as compiled by {self.compiler.name} for {self.device}"


def stage_of(target: AxisPlacement | Hardware | str | None) -> CompileStage | None:
    """Returns the stage of a target; None without one: the program is as partitioned.

    target: a device as all reports take it, also with the places of mesh axes, or a TOML file.

    Raises:
        ShardyError: an unknown device, or an invalid file or place.

    >>> stage_of("v5e").device, stage_of(None)
    ('tpu-v5e', None)
    """
    return None if target is None else CompileStage(as_placement(target))


def model_of(model: CostModel | str | None, stage: CompileStage | None) -> CostModel:
    """Returns the costs of links: those of a model, else those of the target, else the default ones.

    Raises:
        ShardyError: the text is not that of a model.
    """
    if model is None:
        return DEFAULT if stage is None else CostModel.of(stage.placement)
    return cost_model(model) if isinstance(model, str) else model


def stage_words(stage: CompileStage | None) -> str:
    """Returns the stage of a report as a phrase."""
    return AS_PARTITIONED if stage is None else stage.words
