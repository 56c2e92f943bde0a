"""Exchanges in slots: each part finds what it reads."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shardy_py.localize.arithmetic.halo import Integers
from shardy_py.localize.arithmetic.slots import elements_sent, slots_of
from shardy_py.localize.arithmetic.windows import WindowReads, window_exchange
from shardy_py.ops.dimensions import Window


def found_by(reads: Integers, own: int) -> list[list[int]] | None:
    """The elements that parts find in their buffers: an oracle by enumeration."""
    made = slots_of(reads, own)
    if made is None:
        return None
    slots, begins = made
    rows: list[list[int]] = []
    for part, (first, last) in enumerate(reads.tolist()):
        buffer: list[int] = []
        for slot in slots:
            source = slot.sources[part]
            start = source * own + slot.starts[source]
            assert slot.starts[source] + slot.size <= own or source < 0
            buffer += [-1] * slot.size if source < 0 else range(start, start + slot.size)
        begin = int(begins[part])
        rows.append(buffer[begin : begin + last - first + 1])
    return rows


@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 40), st.integers(-1, 8)), min_size=1, max_size=8))
def test_each_part_finds_what_it_reads(own: int, ranges: list[tuple[int, int]]) -> None:
    end = own * len(ranges)
    rows = [
        (first % end, min(first % end + size, end - 1)) if size >= 0 else (0, -1) for first, size in ranges
    ]
    found = found_by(np.array(rows), own)
    if found is None:
        assert any(last // own - first // own > 1 for first, last in rows)
        return
    assert found == [list(range(first, last + 1)) for first, last in rows]


def test_parts_of_two_sizes_are_sent_once() -> None:
    """1,000 of 2,048 elements on 8 devices: each sends what others read of it, 125 elements at a time."""
    exchange = window_exchange(WindowReads(parts=8, size_in=2048, size_out=1000, window=Window(1)))
    sizes = [exchange.source.part_in, exchange.source.part_out]
    assert sizes == [256, 125]
    found = slots_of(exchange.reads, 256)
    assert found is not None
    assert elements_sent(found[0]) == 125 + 119 + 18
    assert exchange.permutes == 3
    assert exchange.length == 125 + elements_sent(found[0])


def test_halos_stay_pieces_of_all_parts() -> None:
    exchange = window_exchange(WindowReads(parts=4, size_in=16, size_out=16, window=Window(3, low=1, high=1)))
    assert [tuple(piece) for piece in exchange.pieces if isinstance(piece, tuple)] == [
        (-1, 3, 4),
        (0, 0, 4),
        (1, 0, 1),
    ]
