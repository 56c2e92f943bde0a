"""Memory segments and strides, counted by hand or element by element."""

from __future__ import annotations

from itertools import pairwise

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.hlo.analysis import Coalescing, coalescing
from shardy_py.indexing import parse_map

SQUARE = "domain: d0 in [0, 63], d1 in [0, 63]"


@pytest.mark.parametrize(
    ("text", "layouts", "expected"),
    [
        (f"(d0, d1) -> (d0, d1), {SQUARE}", {}, Coalescing(1, 1, 1, 32)),
        (f"(d0, d1) -> (d1, d0), {SQUARE}", {}, Coalescing(64, 32, 1, 32)),
        (f"(d0, d1) -> (d1, d0), {SQUARE}", {"operand_layout": (0, 1)}, Coalescing(1, 1, 1, 32)),
        (f"(d0, d1) -> (d1, d0), {SQUARE}", {"output_layout": (0, 1)}, Coalescing(1, 1, 1, 32)),
        (f"(d0, d1) -> (d0, -d1 + 63), {SQUARE}", {}, Coalescing(-1, 1, 1, 32)),
        (f"(d0, d1) -> (d0, 7), {SQUARE}", {}, Coalescing(0, 1, 1, 32)),
        (f"(d0, d1) -> (d0, d1), {SQUARE}", {"start": 48}, Coalescing(1, 2, 1, 32)),
        (f"(d0, d1) -> (d0, d1), {SQUARE}", {"start": 4090}, Coalescing(1, 1, 1, 6)),
        (f"(d0, d1) -> (d0, d1), {SQUARE}", {"element_bytes": 8}, Coalescing(1, 2, 2, 32)),
        (
            "(d0, d1) -> (d0, d1 - 16), domain: d0 in [0, 63], d1 in [16, 63]",
            {},
            Coalescing(1, 1, 1, 16),
        ),
        (
            "(d0, d1) -> (d0, d1 floordiv 2), domain: d0 in [0, 63], d1 in [0, 63], d1 mod 2 in [0, 0]",
            {},
            Coalescing(None, 1, 1, 16),
        ),
    ],
)
def test_groups(text: str, layouts: dict[str, int], expected: Coalescing) -> None:
    assert coalescing(parse_map(text), (64, 64), **layouts) == expected  # type: ignore[arg-type]


def test_against_counting() -> None:
    m = parse_map("(d0, d1) -> (d1 mod 8, d0 * 2 + d1 floordiv 8), domain: d0 in [0, 7], d1 in [0, 15]")
    for start in range(0, 128, 16):
        addresses = []
        for place in range(start, start + 16):
            element = m.evaluate(divmod(place, 16))
            assert element
            addresses.append(element[0] * 16 + element[1])
        found = coalescing(m, (8, 16), start=start, group=16, segment_bytes=32)
        assert found.segments == len({a * 4 // 32 for a in addresses})
        steps = {b - a for a, b in pairwise(addresses)}
        assert found.stride == (steps.pop() if len(steps) == 1 else None)


def test_layouts_are_checked() -> None:
    with pytest.raises(ShardyError, match="layout: expected a permutation of 2 dimensions"):
        coalescing(parse_map(f"(d0, d1) -> (d0, d1), {SQUARE}"), (64, 64), operand_layout=(0, 0))
