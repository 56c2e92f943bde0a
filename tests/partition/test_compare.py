from __future__ import annotations

import pytest

from shardy_py.partition.compare import is_equivalent
from tests.propagation.notation import sharding


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("[{a}]", "[{a, ?}p1]", True),
        ("[{a}] replicated={b}", "[{a}]", True),
        ("[{a}]", "[{b}]", False),
        ("[{a}]", "[{a, b}]", False),
        ("[{a}] unreduced={b}", "[{a}]", False),
        ("[{}]", "[{}] unreduced={b}", False),
        ("[{}]", None, True),
        ("[{a}]", None, False),
        (None, "[{?}]", True),
        (None, "[{a}]", False),
        (None, None, True),
    ],
)
def test_is_equivalent(first: str | None, second: str | None, expected: bool) -> None:
    left = sharding(first) if first is not None else None
    right = sharding(second) if second is not None else None
    assert is_equivalent(left, right) is expected


def test_meshes_matter_only_to_what_is_sharded() -> None:
    assert is_equivalent(sharding("[{}]", "other"), sharding("[{}]"))
    assert not is_equivalent(sharding("[{a}]", "other"), sharding("[{a}]"))
