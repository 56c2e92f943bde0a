"""The time of a step of a result.

    result.time("tpu-v5p").seconds

Not here: other reports (`result.py`), how long ops take (`report/time/`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardy_py.api.advised import Advised
from shardy_py.api.arguments import expect, expect_one_of
from shardy_py.base import releases
from shardy_py.base.records import dataclass
from shardy_py.base.session import without_collection
from shardy_py.hardware import AxisPlacement, Hardware, as_placement
from shardy_py.hardware.cost import CostModel, cost_model
from shardy_py.report.communication import PARTITIONERS, Partitioner
from shardy_py.xla.targets.stage import stage_of

if TYPE_CHECKING:
    from shardy_py.report.time import TimeReport


@releases.following
@dataclass(frozen=True, eq=False, repr=False)
class TimedResult(Advised):
    """A propagated program whose steps take time on hardware."""

    @without_collection()
    def time(
        self,
        hardware: AxisPlacement | Hardware | str = "tpu-v5p",
        *,
        target: AxisPlacement | Hardware | str | None = None,
        links: CostModel | str | None = None,
        partitioner: Partitioner | None = None,
    ) -> TimeReport:
        """Returns how long a step takes: an interval, with perfect overlap and without, and what bounds it.

        hardware: a device such as "tpu-v5p", also with the places of mesh axes
            ("tpu-v5e,topology=4x4,data=x"), or a TOML file of a device ("my.toml").
        target: the same, for the collectives that the compiler of the device leaves, as of `communication`;
            None: they are as partitioned.
        links: along the axes of the mesh, as the model of `communication`; None: those of the hardware.
        partitioner: whose collectives are counted, as for `communication`.

        Raises:
            ShardyError: unknown hardware, an axis does not fit on it, dynamic shapes, or too many devices.
        """
        from shardy_py.report.time import time_report

        if partitioner is not None:
            expect_one_of("partitioner", partitioner, PARTITIONERS)
        stage = stage_of(target)
        device = as_placement(hardware) if stage is None else stage.placement
        if links is not None:
            expect(links, (str, CostModel), "a CostModel, or the text of one", what="links")
        model = cost_model(links) if isinstance(links, str) else links
        self.forecasts.remark()
        bill, by = None, self.forecasts.partitioner(partitioner, stage)
        if by == "shardy":
            bill = self.forecasts.priced(CostModel.of(device) if model is None else model, "shardy")[1]
        return time_report(self.forecasts.spmd(by), device, model, bill, stage)
