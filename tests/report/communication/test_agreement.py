"""Local programs beside the forecast: what agrees, and the reason where it does not."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.report.communication import communication_json
from shardy_py.report.communication.of_program import forecast
from tests.conftest import corpus_names, corpus_text

HALO = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.reverse %a, dims = [0] : tensor<16xf32> loc("here")
  return %0 : tensor<16xf32>
}
"""
UNKNOWN = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<16xf32> {
  %0 = stablehlo.custom_call @unknown(%a) : (tensor<16xf32>) -> tensor<16xf32> loc("here")
  return %0 : tensor<16xf32>
}
"""
PRODUCT = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                %b: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.dot %a, %b : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            HALO,
            "stablehlo.reverse at here: collective_permute 16 B instead of halo_exchange 16 B: "
            "permutes exchange the halo",
        ),
        (
            UNKNOWN,
            "stablehlo.custom_call at here: all_gather 48 B instead of no collective: Shardy inserts no "
            "reshard, but operand 0 of stablehlo.custom_call requires another sharding",
        ),
    ],
)
def test_differences_have_reasons(text: str, line: str) -> None:
    report = propagate(Program.parse(text)).partition().communication()
    assert [*map(str, report.disagreements or ())] == [line]
    assert f"differs from the forecast:\n  {line}" in str(report)
    (found,) = communication_json(report)["disagreements"]
    assert line.endswith(found["reason"])
    assert sum(found["local"].values()) == report.total.bytes


def test_what_agrees_is_said() -> None:
    result = propagate(Program.parse(PRODUCT))
    report = result.partition().communication()
    assert report.disagreements == ()
    assert str(report).endswith("As forecast.")
    assert communication_json(report)["disagreements"] == []
    assert result.communication().disagreements is None
    assert communication_json(result.communication())["disagreements"] is None


LARGE = ("embedding_scatter", "transformer_train")
"""Programs that take seconds, for slow tests; those of more layers of the same kind are left out."""
COMPARED = [
    pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name
    for name in corpus_names()
    if name not in ("transformer_train_12", "transformer_train_48")
]


@pytest.mark.parametrize("name", COMPARED)
def test_disagreements_account_for_all_bytes(name: str) -> None:
    """What agrees, and what the lines list, adds up; causes are in the source."""
    result = propagate(Program.parse(corpus_text(name), name))
    assert result.record is not None
    forecast_report = forecast(result.program.module, record=result.record.events)[1]
    local = result.partition().communication()
    written = {use.cause.op for use in forecast_report.sending if use.cause.is_explicit}
    for use in local.sending:
        assert use.cause.location.startswith(name)
        assert not use.cause.is_explicit or use.cause.op in written
    found = local.disagreements or ()
    more = sum(sum(d.local.values()) - sum(d.forecast.values()) for d in found)
    assert local.total.bytes - forecast_report.total.bytes == more
    assert all(d.reason and d.location.startswith(name) for d in found)
