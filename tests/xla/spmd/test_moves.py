"""Ops that move elements, as planned, against what XLA partitions."""

from __future__ import annotations

import pytest

from shardy_py.ops.dimensions import Window
from shardy_py.sharding import Mesh
from shardy_py.xla.spmd.movement import along_batch, replicating, with_whole_dimensions
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.reshapes import reshaped
from shardy_py.xla.spmd.reshard import replicated, reshard
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.spmd.windows import padded, selected_and_scattered, sliced
from tests.xla.spmd.moves import KINDS, differing, random_ops

MESH = Mesh.of(x=4, y=2)


@pytest.mark.parametrize("uneven", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_bytes_are_those_of_xla(uneven: bool) -> None:
    """XLA stops at failed checks for some windows and gathers over uneven dimensions."""
    kinds = [
        kind
        for kind in KINDS
        if not (uneven and kind in ("reduce_window", "gather", "scatter", "select_and_scatter"))
    ]
    ops = [op for kind in kinds for op in random_ops(21, 12, kind, uneven=uneven)]
    assert differing(ops) == []


def test_unknown_ops_gather_their_operands() -> None:
    rows = Tiling.of(MESH, [("x",), ()])
    found = replicating([HeldTensor.of((8, 8), rows, "f32")] * 2, (8,), "f32", Tiling.of(MESH, [("y",)]))
    assert [(each.kind, each.held_shape) for each in found.collectives] == [("all_gather", (2, 8))] * 2
    assert found.local == (4,)


def test_tiles_move_to_a_dimension_that_they_divide() -> None:
    rows = Tiling.of(MESH, [("x",), (), ()])
    value = HeldTensor.of((8, 6, 4), rows, "f32")
    found = with_whole_dimensions([value, value], [0], (16, 6, 4), rows)
    assert [(each.kind, each.held_shape) for each in found.collectives] == [
        ("all_to_all", (2, 6, 4)),
        ("all_to_all", (2, 6, 4)),
        ("all_to_all", (16, 6, 1)),
    ]


def test_going_back_is_free() -> None:
    rows, columns = Tiling.of(MESH, [("x",), ()]), Tiling.of(MESH, [(), ("x",)])
    value = HeldTensor.of((8, 8), rows, "f32")
    moved = reshard(value, columns)
    assert reshard(moved, rows) is value
    assert replicated(reshard(replicated(value), rows)).collectives == replicated(value).collectives


def test_halos_to_the_left_and_to_the_right_are_told_apart() -> None:
    rows = Tiling.of(MESH, [("x",), ()])
    value = HeldTensor.of((8, 8), rows, "f32", name="%0")
    left = padded(value, (1, 0), (-1, 0), (0, 0), rows).collectives
    right = sliced(value, (1, 0), (8, 8), (1, 1), rows).collectives
    assert [each.held_shape for each in left] == [each.held_shape for each in right] == [(1, 8)]
    assert left[0].key != right[0].key


def test_uneven_tiles_of_a_split_dimension_exchange_halos() -> None:
    """12 elements in 8 tiles of 2 become 6 rows in 8 tiles of 1, of 2 elements each."""
    mesh = Mesh.of(x=8)
    value = HeldTensor.of((12,), Tiling.of(mesh, [("x",)]), "f32")
    found = reshaped(value, (4, 3), Tiling.of(mesh, [("x",), ()]))
    assert {each.kind for each in found.collectives} == {"collective_permute"}
    assert found.local == (1, 3)


def test_a_reshape_keeps_its_result_in_the_tiles_of_the_operand() -> None:
    rows = Tiling.of(MESH, [("x",), ()])
    value = HeldTensor.of((8, 6), rows, "f32")
    columns = Tiling.of(MESH, [(), (), ("y",)])
    blocks = Tiling.of(MESH, [("x",), (), ()])
    found = reshaped(value, (4, 2, 6), columns)
    assert found.collectives
    assert reshard(found, blocks).collectives == ()


def test_gradients_of_pools_exchange_windows_that_overlap() -> None:
    rows = Tiling.of(MESH, [("x",), ()])
    value = HeldTensor.of((16, 3), rows, "f32")
    apart = (Window(size=2, stride=2), Window())
    found = selected_and_scattered(value, HeldTensor.of((8, 3), rows, "f32"), apart, rows)
    assert found.collectives == ()
    overlapping = (Window(size=3, low=1, high=1), Window())
    found = selected_and_scattered(value, value, overlapping, rows)
    assert {each.kind for each in found.collectives} == {"collective_permute"}
    integers = HeldTensor.of((16, 3), rows, "s32")
    found = selected_and_scattered(integers, integers, overlapping, rows)
    assert [each.kind for each in found.collectives] == ["all_gather", "all_gather"]


def test_calls_along_batch_dimensions_stay_sharded() -> None:
    """A factorization of matrices: the batch is sharded, the matrices are gathered."""
    batch, whole = Tiling.of(MESH, [("x",), ("y",), ()]), Tiling.of(MESH, [("x",), (), ()])
    matrices = HeldTensor.of((8, 4, 4), batch, "f32")
    results = [((8, 4, 4), "f32"), ((8,), "s32")]
    found = along_batch([matrices], [0], whole, results, [whole, Tiling.of(MESH, [("x",)])])
    sent = [(each.kind, each.held_shape) for value in found for each in value.collectives]
    assert sent == [("all_gather", (2, 2, 4))]
    assert [value.local for value in found] == [(2, 4, 4), (2,)]
