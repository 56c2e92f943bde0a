"""The lower bound of the cost of collectives does not exceed their cost once they are combined."""

from __future__ import annotations

import pytest

from shardy_py import Program, Result, ShardyError, propagate
from shardy_py.report.communication.least import least_cost
from shardy_py.xla.targets.of_program import CompiledProgram
from shardy_py.xla.targets.stage import stage_of
from tests.conftest import corpus_text
from tests.search.test_studies import SMALL


def check(result: Result, target: str) -> None:
    stage = stage_of(target)
    assert stage is not None
    assert stage.compiler is not None
    report = result.communication(target=target, partitioner="xla")
    made = CompiledProgram.of(result.forecasts.planned_by_xla, stage.compiler)
    least, total = least_cost(made, report.model), report.total
    permuted = sum(use.total.bytes for use in report.collectives if use.kind == "collective_permute")
    rounded = sum(part.times for use in report.collectives for part in use.before)
    assert total.bytes - permuted - rounded <= least.bytes <= total.bytes
    assert least.seconds <= total.seconds


@pytest.mark.parametrize("target", ["h100", "tpu-v5e"])
def test_is_no_more_than_the_cost(corpus_program: str, target: str) -> None:
    result = propagate(Program.parse(corpus_text(corpus_program), as_compiled=True), progress=False)
    try:
        result.communication(target=target, partitioner="xla")
    except ShardyError:
        pytest.skip("XLA's collectives cannot be planned")
    check(result, target)


def test_is_no_more_than_the_cost_of_a_small_program() -> None:
    check(propagate(Program.parse(SMALL, as_compiled=True), progress=False), "h100")
