"""Gathers and scatters: dimensions that correspond, groups on replicas, and which way is taken."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from shardy_py.ops.dimensions import SliceDimensions
from shardy_py.sharding import Mesh
from shardy_py.xla.spmd.gathers import gathered_at
from shardy_py.xla.spmd.grouping import ungrouped
from shardy_py.xla.spmd.indexed import Dimensions, grouped_on_replicas, sharded_alike
from shardy_py.xla.spmd.matching import along
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.scatters import scattered_at
from shardy_py.xla.spmd.tiling import Tiling

MESH = Mesh.of(x=4, y=2)
Spec = tuple[tuple[str, ...], ...]
ROWS = Dimensions((64, 8), (16, 1), 2, SliceDimensions((1,), (0,), (0,), 1))
"""`table[indices]`: 16 rows of 8 out of 64."""
BATCH = Dimensions((8, 64), (8, 4, 1), 2, SliceDimensions((), (1,), (1,), 2, (0,), (0,)))
"""`take_along_axis`: 4 elements of each of 8 rows."""


class Case(NamedTuple):
    """A gather of rows with its shardings, and what is sent: kind, group size, operand."""

    table: Spec
    indices: Spec
    result: Spec
    sent: list[tuple[str, int, tuple[int, ...]]]


CASES = {
    "nothing is sharded": Case(((), ()), ((), ()), ((), ()), []),
    "columns pass through": Case(((), ("x",)), ((), ()), ((), ("x",)), []),
    "indices pass through": Case(((), ()), (("x",), ()), (("x",), ()), []),
    "rows are masked and summed": Case((("x",), ()), ((), ()), ((), ()), [("all_reduce", 4, (16, 8))]),
    "each of both axes": Case((("x",), ("y",)), ((), ()), ((), ("y",)), [("all_reduce", 4, (16, 4))]),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_of_a_table(name: str) -> None:
    case = CASES[name]
    table = HeldTensor.of(ROWS.operand, Tiling.of(MESH, case.table), "f32")
    indices = HeldTensor.of(ROWS.indices, Tiling.of(MESH, case.indices), "s32")
    found = gathered_at(table, indices, ROWS, (1, 8), (16, 8), Tiling.of(MESH, case.result))
    assert [(each.kind, each.group_size, each.held_shape) for each in found.collectives] == case.sent


def test_batching_dimensions_stay_apart() -> None:
    rows = Tiling.of(MESH, [("x",), ()])
    operand = HeldTensor.of((8, 64), rows, "f32")
    indices = HeldTensor.of((8, 4, 1), Tiling.of(MESH, [("x",), (), ()]), "s32")
    assert gathered_at(operand, indices, BATCH, (1, 1), (8, 4), rows).collectives == ()
    moved = HeldTensor.of((8, 4, 1), Tiling.of(MESH, [(), (), ()]), "s32")
    assert gathered_at(operand, moved, BATCH, (1, 1), (8, 4), rows).collectives == ()


def test_operand_and_indices_take_tiles_from_replicas() -> None:
    fine, coarse = Tiling.of(MESH, [("x",)]), Tiling.of(MESH, [()])
    assert sharded_alike(fine, coarse, [0], [0]) == (fine, fine)
    assert sharded_alike(coarse, fine, [0], [0]) == (fine, fine)
    assert sharded_alike(coarse, coarse, [0], [0]) is None
    partly = Tiling.of(MESH, [("y",), ()])
    found = sharded_alike(partly, Tiling.of(MESH, [("y", "x")]), [0], [0])
    assert found is not None
    assert [tiling.dimensions for tiling in found] == [(8, 1), (8,)]


def test_groups_take_replicas_or_tiles_or_all() -> None:
    partial = Tiling.of(MESH, [("x",), ()])
    assert grouped_on_replicas(partial, 2, [0]).groups == ((0, 2, 4, 6), (1, 3, 5, 7))
    borrowed = grouped_on_replicas(partial, 4, [0])
    assert borrowed.tiling.dimensions == (2, 1)
    whole = grouped_on_replicas(Tiling.of(MESH, [("x",), ("y",)]), 4, [1])
    assert whole.tiling.is_replicated
    assert ungrouped(whole).is_replicated


def test_tilings_along_some_dimensions() -> None:
    tiling = Tiling.of(MESH, [("x",), ("y",)])
    assert along(tiling, [(0, 2)], 3) == Tiling.of(MESH, [(), (), ("x",)])
    assert along(tiling, [(0, 1), (1, 0)], 2) == Tiling.of(MESH, [("y",), ("x",)])
    assert along(tiling, [], 2).is_replicated


def test_dimensions_that_correspond() -> None:
    assert (BATCH.batches, BATCH.indexed) == (((0, 0), (1, 1)), ((1, 1),))
    assert BATCH.parallel(((0, 0),)) == ((0,), (0,), (0,))
    assert BATCH.index_priority() == (2, 1, 0)
    assert ROWS.slices_priority((1, 8)) == (0, 1)
    assert ROWS.operand_priority(Tiling.of(MESH, [("x",), ()]), (1, 8)) == (0, 1)


@pytest.mark.parametrize(
    ("table", "indices", "updates", "is_reduction", "sent"),
    [
        (("x",), (), (), True, []),
        ((), ("x",), ("x",), True, [("all_reduce", (64, 8))]),
        ((), ("x",), ("x",), False, [("all_gather", (4, 1)), ("all_gather", (4, 8))]),
    ],
)
def test_rows_are_updated(
    table: tuple[str, ...],
    indices: tuple[str, ...],
    updates: tuple[str, ...],
    is_reduction: bool,
    sent: list[tuple[str, tuple[int, ...]]],
) -> None:
    """Rows of other tiles are skipped; updates are summed, or gathered if they replace rows."""
    tiling = Tiling.of(MESH, [table, ()])
    found = scattered_at(
        [HeldTensor.of(ROWS.operand, tiling, "f32")],
        HeldTensor.of(ROWS.indices, Tiling.of(MESH, [indices, ()]), "s32"),
        [HeldTensor.of((16, 8), Tiling.of(MESH, [updates, ()]), "f32")],
        ROWS,
        tiling,
        is_reduction=is_reduction,
    )
    assert [(each.kind, each.held_shape) for value in found for each in value.collectives] == sent


def test_uneven_indices_are_padded_anew() -> None:
    dims = Dimensions((64, 8), (6, 1), 2, SliceDimensions((1,), (0,), (0,), 1))
    tiling = Tiling.of(MESH, [("x",), ()])
    indices = HeldTensor.of((6, 1), tiling, "s32")
    updates = HeldTensor.of((6, 8), tiling, "f32")
    whole = HeldTensor.of((64, 8), Tiling.replicated(2, 8), "f32")
    (found,) = scattered_at([whole], indices, [updates], dims, whole.tiling, is_reduction=True)
    assert ("all_gather", (2, 1)) in [(each.kind, each.held_shape) for each in found.collectives]
