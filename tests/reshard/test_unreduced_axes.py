from __future__ import annotations

from dataclasses import replace

import pytest

from shardy_py.reshard.steps import mismatch_fault, transition_fault
from tests.propagation.notation import MESHES, sharding

NONE = sharding("[{}]")
B = sharding("[{}] unreduced={b}")
MAX_B = replace(B, reduction="max")
PART = sharding("[{}] unreduced={b:(1)2}")
OTHER = sharding("[{}] unreduced={a}", "other")


@pytest.mark.parametrize(
    ("before", "after", "introduced", "removed", "fault"),
    [
        (NONE, NONE, None, None, None),
        (B, B, None, None, None),
        (NONE, B, "sum", None, None),
        (NONE, B, None, None, "cannot add new unreduced axis 'b'."),
        (NONE, B, "max", None, "cannot introduce 'sum' unreduced axes. Expected 'max'."),
        (B, NONE, None, "sum", None),
        (B, NONE, None, None, "dropped unreduced axis 'b' without a blessed operation"),
        (B, NONE, None, "max", "cannot reduce 'sum' unreduced axes. Expected 'max'."),
        (B, PART, "sum", None, "dropped unreduced axis 'b'"),
        (MAX_B, B, "sum", "sum", "kept unreduced axes from max to sum."),
        (B, OTHER, None, None, None),  # between meshes
        (None, B, "sum", None, None),
    ],
)
def test_transition_fault(before, after, introduced, removed, fault) -> None:  # type: ignore[no-untyped-def]
    found = transition_fault((before,), (after,), MESHES, introduced=introduced, removed=removed)
    assert found == fault or (fault and found and fault in found)


def test_several_operands_count_together() -> None:
    a = sharding("[{}] unreduced={a}")
    both = sharding("[{}] unreduced={a, b}")
    assert transition_fault((a, B), (both,), MESHES, introduced=None, removed=None) is None


def test_mismatch_fault_names_each_axis_once() -> None:
    both = sharding("[{}] unreduced={a, b:(1)2}")
    assert mismatch_fault(both, B, "here") == "has unreduced axes mismatch for 'a, b' here"
    assert mismatch_fault(B, MAX_B, "here") is None
    assert mismatch_fault(None, NONE, "here") is None
