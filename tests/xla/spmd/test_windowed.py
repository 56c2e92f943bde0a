"""Operands of windows: the elements that each shard gets, and what is sent for them."""

from __future__ import annotations

import pytest

from shardy_py.ops.dimensions import Window
from shardy_py.sharding import Mesh
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.reshard import reshard
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.spmd.windowed import windowed_input

MESH = Mesh.of(x=4, y=2)
ROWS = Tiling.of(MESH, [("x",), ()])


def sent_for(window: Window, size: int = 16, source: Tiling = ROWS) -> list[tuple[str, tuple[int, ...]]]:
    """The collectives for a window along the rows of a tensor of 3 columns."""
    read = windowed_input(HeldTensor.of((size, 3), source, "f32"), (window, Window()), ROWS, reshard)
    assert read is not None
    return [(each.kind, each.held_shape) for each in read.value.collectives]


@pytest.mark.parametrize(
    ("window", "parts"),
    [
        (Window(), []),
        (Window(size=3, low=1, high=1), [1, 1]),
        (Window(size=3), [2]),
        (Window(size=2, stride=2), []),
        (Window(size=3, dilation=2, low=2, high=2), [2, 2]),
        (Window(low=2, high=-2), [2]),
        (Window(low=-2, high=2), [2]),
    ],
)
def test_halos(window: Window, parts: list[int]) -> None:
    assert sent_for(window) == [("collective_permute", (part, 3)) for part in parts]


def test_whole_operands_are_sliced() -> None:
    assert sent_for(Window(size=3, low=1, high=1), source=Tiling.replicated(2, 8)) == []


def test_other_tilings_are_resharded_first() -> None:
    found = sent_for(Window(size=3, low=1, high=1), source=Tiling.of(MESH, [("y",), ("x",)]))
    assert [kind for kind, _ in found][-2:] == ["collective_permute"] * 2
    assert len(found) > 2


def test_windows_over_more_than_the_dimension_gather_it() -> None:
    assert sent_for(Window(size=16, low=15, high=15)) == [("all_gather", (4, 3))]


def test_elements_of_one_shard_are_not_sent() -> None:
    assert sent_for(Window(high=-15)) == []
    assert sent_for(Window(high=-14)) == [("collective_permute", (1, 3))]


def test_windows_larger_than_the_dimension_are_not_sharded() -> None:
    value = HeldTensor.of((16, 3), ROWS, "f32")
    window = (Window(size=40, low=10), Window())
    assert windowed_input(value, window, ROWS, reshard) is None
    assert windowed_input(value, window, Tiling.replicated(2, 8), reshard) is None


def test_the_local_operand_has_what_a_shard_reads() -> None:
    value = HeldTensor.of((16, 3), ROWS, "f32")
    read = windowed_input(value, (Window(size=3, low=1, high=1), Window()), ROWS, reshard)
    assert read is not None
    assert (read.value.local, read.window[0].low, read.window[0].high) == ((6, 3), 0, 0)
    dilated = Window(size=2, base_dilation=2, low=1, high=1)
    read = windowed_input(value, (dilated, Window()), ROWS, reshard)
    assert read is not None
    assert read.value.local[0] == 4
