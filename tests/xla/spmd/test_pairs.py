"""Two ops on one value, and dynamic slices and updates in programs, against what XLA partitions."""

from __future__ import annotations

from shardy_py.ops import OpRecord, TensorType
from shardy_py.sharding import Mesh
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.rotations import rotated
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.spmd.walk import Block, PlannedOp, TiledValue, plan_program
from shardy_py.xla.spmd.windows import padded, sliced
from tests.xla.spmd import updates
from tests.xla.spmd.more_ops import differing
from tests.xla.spmd.pairs import random_cases

ROWS = Tiling.of(Mesh.of(x=4), [("x",), ()])
VALUE = HeldTensor.of((32, 8), ROWS, "f32", name="%0")


def test_an_op_leaves_reshards_to_another_where_xla_does() -> None:
    count, wrong = differing(random_cases(3, 36))
    assert count > 30
    assert [case.body for case, _, _ in wrong] == []


def test_starts_of_updates_are_known_where_xla_knows_them() -> None:
    count, wrong = updates.differing(updates.programs(1, 12))
    assert count == 12
    assert wrong == []


def test_halos_are_shared_by_equal_windows_only() -> None:
    one, same = (sliced(VALUE, (1, 0), (32, 6), (1, 1), ROWS).collectives for _ in range(2))
    other = sliced(VALUE, (1, 2), (32, 8), (1, 1), ROWS).collectives
    pad = padded(VALUE, (-1, 0), (0, -2), (0, 0), ROWS).collectives
    assert one == other == same == pad
    assert one[0].key == same[0].key == pad[0].key != other[0].key


def test_rotations_share_nothing() -> None:
    assert [each.key for each in rotated(VALUE, 0, 3, ROWS).collectives] == [None]


def test_results_that_nothing_uses_send_nothing() -> None:
    """Neither a rotation; both results of a barrier are used if one is."""
    whole = Tiling.replicated(2, 4)
    type_ = TensorType((32, 8), "f32")
    pair = OpRecord("stablehlo.optimization_barrier", (type_, type_), (type_, type_))

    def block(results: tuple[str, ...]) -> Block:
        end, front = (
            PlannedOp(_slice(type_, *rows), ("a",), (name,), (ROWS,))
            for name, rows in (("end", (29, 32)), ("front", (0, 29)))
        )
        parts = tuple(each.record.results[0] for each in (end, front))
        joined = OpRecord("stablehlo.concatenate", parts, (type_,), {"dimension": 0})
        steps = (
            end,
            front,
            PlannedOp(joined, ("end", "front"), ("roll",), (ROWS,)),
            PlannedOp(pair, ("a", "a"), ("b", "c"), (ROWS, whole)),
        )
        return Block((TiledValue("a", type_, ROWS),), steps, results, (ROWS,) * len(results))

    kinds = [[each.collective.kind for each in plan_program(block(r)).sent] for r in (("b",), ("roll",), ())]
    assert kinds == [["all_gather"], ["collective_permute"], []]


def _slice(type_: TensorType, start: int, limit: int) -> OpRecord:
    bounds = {"start_indices": (start, 0), "limit_indices": (limit, 8), "strides": (1, 1)}
    return OpRecord("stablehlo.slice", (type_,), (TensorType((limit - start, 8), "f32"),), bounds)
