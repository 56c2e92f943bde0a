"""The report on Shardy's partitioner against the programs that the partitioner makes.

`python -m tests.report.communication.test_reconciled 1000 [START]` checks as many random programs.
"""

from __future__ import annotations

import random
import sys
from collections import Counter

import pytest

from shardy_py.api import Program, propagate
from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from shardy_py.hardware.cost import DEFAULT
from shardy_py.report.communication import HALO_EXCHANGE, PARTITIONERS, SENDING_KINDS, CommunicationReport
from shardy_py.report.communication.of_program import forecast
from tests.differential.meshes import Width
from tests.differential.programs import wide_program
from tests.passes.programs import ProgramWriter

KINDS = {HALO_EXCHANGE: "collective_permute"}
WIDTH = Width(replicated=0.0, annotated=0.4)
VIEW = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<16x6xf32> {
  %0 = stablehlo.reshape %a : (tensor<12x8xf32>) -> tensor<16x6xf32>
  return %0 : tensor<16x6xf32>
}
"""


def sent(report: CommunicationReport) -> Counter[tuple[str, int, int]]:
    """How often what is sent: kinds, bytes and runs; halos are exchanged by permutes."""
    return Counter((KINDS.get(use.kind, use.kind), use.cost.bytes, use.times) for use in report.sending)


def contradiction(text: str) -> str | None:
    """How the report differs from the local program, or None; raises ShardyError if there is none."""
    result = propagate(Program.parse(text))
    local = result.partition()
    report = result.communication(partitioner="shardy")
    ops = Counter(op.name.removeprefix("stablehlo.") for op in local.program.module.walk())
    counts = {kind: ops[kind] for kind in SENDING_KINDS if ops[kind]}
    reported = Counter(KINDS.get(use.kind, use.kind) for use in report.sending)
    if reported != counts:
        return f"counts: {reported} instead of {counts}"
    ours, theirs = sent(report), sent(local.communication())
    return None if ours == theirs else f"{ours - theirs} instead of {theirs - ours}"


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_send_what_is_reported(seed: int) -> None:
    assert contradiction(wide_program(random.Random(seed), WIDTH)) is None
    assert contradiction(ProgramWriter(seed).program()) is None


@pytest.mark.parametrize(("release", "forecast_bytes"), [("0.10", 0), ("0.12", 288)])
def test_reshapes_without_a_common_factor_gather(release: str, forecast_bytes: int) -> None:
    result = propagate(Program.parse(VIEW, jax=release))
    with releases.of(release):
        assert forecast(result.program.module, DEFAULT)[1].total.bytes == forecast_bytes
    [use] = result.communication(partitioner="shardy").sending
    assert (use.kind, use.axis_names, use.cost.bytes, use.cause.op) == (
        "all_gather",
        ("x",),
        288,
        "stablehlo.reshape",
    )


UPDATE = """
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %u: tensor<8x5xf32>)
    -> (tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %d = stablehlo.constant dense<2> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %u, %c, %d
    : (tensor<8x64xf32>, tensor<8x5xf32>, tensor<i32>, tensor<i32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
"""


@pytest.mark.parametrize("release", ["0.10", "0.12"])
def test_updates_of_sharded_operands_send_nothing(release: str) -> None:
    """The factors of its rule permute since JAX 0.12; what a device does is the same."""
    result = propagate(Program.parse(UPDATE, jax=release))
    for partitioner in PARTITIONERS:
        assert result.communication(partitioner=partitioner).sending == ()
    assert result.partition().prove().is_equal


def test_a_program_that_the_partitioner_rejects_is_forecast_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def reject(*_: object) -> None:
        raise ShardyError("an op has no local form")

    monkeypatch.setattr("shardy_py.passes.partitioned.run_partitioner", reject)
    result = propagate(Program.parse(wide_program(random.Random(150), WIDTH)))
    with pytest.raises(ShardyError, match="an op has no local form"):
        result.partition()
    warning = result.communication(partitioner="shardy").warnings[-1]
    assert warning.message == (
        "what Shardy's reshards send, not what a local program does: an op has no local form"
    )


def main() -> None:
    """Prints programs with contradictions, and their number."""
    count, start = int(sys.argv[1]), int((*sys.argv, "0")[2])
    found = Counter[str]()
    for seed in range(start, start + count):
        for text in (wide_program(random.Random(seed), WIDTH), ProgramWriter(seed).program()):
            try:
                difference = contradiction(text)
            except ShardyError as error:
                found[f"rejected: {error.first.message[:60]}"] += 1
                continue
            found["equal" if difference is None else "different"] += 1
            if difference is not None:
                print(f"=== seed {seed}: {difference}\n{text}", flush=True)
    print(found)


if __name__ == "__main__":
    main()
