"""Halos: the permuted parts by distance, and compactly, against the elements that each shard needs."""

from __future__ import annotations

import pytest

from shardy_py.xla.spmd.halo import (
    Dimension,
    HaloPart,
    compactly_exchanged,
    divided,
    exchanged,
    largest,
    valid_data,
)


def _sizes(parts: tuple[HaloPart, ...] | None) -> tuple[int, ...] | None:
    return None if parts is None else tuple(part.size for part in parts)


@pytest.mark.parametrize(
    ("left", "right", "sent"),
    [
        (0, 0, ()),
        (1, 0, (1,)),
        (1, 2, (1, 2)),
        (6, 0, (2, 4)),
        (0, 9, (4, 4, 1)),
        (-1, -1, ()),
        (-5, 3, (2,)),
    ],
)
def test_a_part_for_each_distance(left: int, right: int, sent: tuple[int, ...]) -> None:
    parts = exchanged(Dimension(8, 4, 32), divided(0, left), divided(0, right))
    assert _sizes(parts) == sent


def test_halos_of_the_whole_dimension_are_not_exchanged() -> None:
    assert exchanged(Dimension(2, 4, 8), divided(0, 5), divided(0, 5)) is None
    assert exchanged(Dimension(2, 4, 8), divided(0, -4), divided(0, 0)) is None


def test_a_compact_exchange_sends_just_what_is_needed() -> None:
    """6 elements from 2 shards of 3 to 2 padded ones of 4: the second gives its first element."""
    sent = compactly_exchanged(Dimension(2, 3, 6), divided(-1, 0), divided(1, 1))
    assert sent == (HaloPart(1, ((1, 0),)),)


def test_parts_are_between_shards_at_one_distance() -> None:
    parts = exchanged(Dimension(4, 2, 8), divided(0, 3), divided(0, 1))
    assert parts is not None
    assert [part.pairs for part in parts] == [
        ((0, 2), (1, 3)),
        ((0, 1), (1, 2), (2, 3)),
        ((1, 0), (2, 1), (3, 2)),
    ]


@pytest.mark.parametrize("shards", [3, 4, 7])
@pytest.mark.parametrize("more", [1, 2, 5])
def test_a_compact_exchange_is_of_at_most_a_shard_for_each_source(shards: int, more: int) -> None:
    size = 5
    total = shards * size - 1
    sent = compactly_exchanged(Dimension(shards, size, total), divided(-more, 0), divided(more, more))
    assert all(0 < part.size <= size for part in sent)
    needed = [
        (shard, source)
        for shard in range(shards)
        for source in range(shards)
        if shard != source
        and any(
            at // size == source
            for at in range(shard * (size + more), (shard + 1) * (size + more))
            if at < total
        )
    ]
    assert len(sent) >= max((sum(s == source for _, s in needed) for source in range(shards)), default=0)


def test_far_halos_of_small_shards_are_sent_compactly() -> None:
    """The second half of 64 elements: each of 8 shards gets 4 of them."""
    dimension, left, right = Dimension(8, 8, 64), divided(4, -32), divided(-4, 28)
    compact = valid_data(dimension, left, right, padding=-32, needed=4)
    by_distance = exchanged(dimension, left, right)
    assert compact is not None
    assert by_distance is not None
    assert sum(part.size for part in compact) < sum(part.size for part in by_distance)


def test_most_of_a_dimension_is_not_exchanged() -> None:
    assert valid_data(Dimension(2, 1, 2), divided(0, 3), divided(0, -3), padding=3, needed=1) is None


def test_quotients_are_rounded_towards_zero() -> None:
    assert [divided(2, -3, 2)(i) for i in range(3)] == [-1, 0, 0]
    assert largest(divided(0, 7), 3, 3) == 7
