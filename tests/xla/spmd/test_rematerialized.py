"""What XLA logs as an involuntary full rematerialization is what the report has."""

from __future__ import annotations

from tests.xla.spmd.rematerialized import counts


def test_as_many_as_xla_logs() -> None:
    found = counts(("recurrent_both", "recurrent_tensor"), "equinox")
    assert found["recurrent_both"].logged == found["recurrent_both"].reported > 0
    assert all(each.agree for each in found.values())
