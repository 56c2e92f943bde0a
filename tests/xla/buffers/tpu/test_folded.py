"""Steps that XLA computes while it compiles, and look-ups that it takes as slices."""

from __future__ import annotations

from shardy_py.ops import OpRecord, TensorType
from shardy_py.xla.buffers.tpu.folded import with_folded
from shardy_py.xla.buffers.tpu.looked_up import with_slices
from shardy_py.xla.buffers.tpu.records import OFFSETS, Records, step_of
from shardy_py.xla.spmd.program import Name, PlannedOp

PLACES = TensorType((3,), "i32")
ROWS = TensorType((32, 128), "f32")


def _constant(value: object, name: Name) -> PlannedOp:
    return step_of(OpRecord("sdy.constant", (), (PLACES,), {"value": value}), (), (name,), None)


def _names(steps: list[PlannedOp]) -> list[str]:
    return [step.record.name.split(".")[-1] for step in steps]


def test_what_is_computed_of_constants_is_a_table() -> None:
    """As the places of percentiles; not of an argument, nor where all elements are equal."""
    add = OpRecord("stablehlo.add", (PLACES, PLACES), (PLACES,), {})
    given = [_constant((2, 23, 44), "a"), _constant((1, 1, 1), "b")]

    def folded(*reads: Name) -> list[str]:
        steps = [*given, step_of(add, reads, ("c",), None)]
        return _names(with_folded(steps, Records(), lambda step: False))[2:]

    assert folded("a", "b") == [OFFSETS.split(".")[-1]]
    assert folded("b", "b") == ["add"]
    assert folded("a", "x") == ["add"]


def test_a_broadcast_of_a_table_is_not_folded() -> None:
    broadcast = OpRecord("stablehlo.broadcast_in_dim", (PLACES,), (TensorType((4, 3), "i32"),), {})
    steps = [_constant((2, 23, 44), "a"), step_of(broadcast, ("a",), ("c",), None)]
    assert _names(with_folded(steps, Records(), lambda step: False)) == ["constant", "broadcast_in_dim"]


def _look_up(count: int) -> PlannedOp:
    """A look-up of some rows by their numbers."""
    numbers = {"offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,)}
    attributes = {"dimension_numbers": {**numbers, "index_vector_dim": 1}, "slice_sizes": (1, 128)}
    types = ROWS, TensorType((count, 1), "i32")
    made = TensorType((count, 128), "f32")
    return step_of(OpRecord("stablehlo.gather", types, (made,), attributes), ("x", "i"), ("y",), None)


def test_one_row_is_a_slice() -> None:
    """But not several, nor a row of what devices hold parts of: each looks it up, and they sum."""
    one, two = _look_up(1), _look_up(2)
    assert _names(with_slices(one, one.record, Records())) == ["dynamic_slice", "reshape"]
    assert with_slices(two, two.record, Records()) == []
    whole = OpRecord(one.record.name, (TensorType((64, 128), "f32"),), (), {})
    assert with_slices(one, whole, Records()) == []
