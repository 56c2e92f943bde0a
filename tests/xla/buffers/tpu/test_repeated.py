"""Reshapes of repeated values: programs with the temporaries that XLA:TPU allocates on v5p."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.mlir.dialects.stablehlo import BroadcastInDimOp
from shardy_py.ops import TensorType
from shardy_py.xla.buffers.tpu.records import PLACED, Records, step_of
from shardy_py.xla.buffers.tpu.repeated import are_in_place, with_repeats_stored
from shardy_py.xla.buffers.tpu.sends import spread_of_element


def _type(*shape: int) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


@pytest.mark.parametrize(
    ("given", "kept", "repeated", "made", "allocated"),
    [
        ((256, 1024), (0, 1), (256, 1024, 4), (256, 4096), 4 << 20),
        ((256, 1024), (0, 2), (256, 4, 1024), (1024, 1024), 4 << 20),
        ((256, 1024), (0, 2), (256, 4, 1024), (256, 4096), 4 << 20),
        ((256, 64), (0, 1), (256, 64, 128), (256, 8192), 8 << 20),
        ((8, 512, 4, 128), (0, 1, 2, 4), (8, 512, 4, 4, 128), (8, 512, 2048), 32 << 20),
        ((256, 1024), (0, 1), (256, 1024, 8), (256, 8192), 0),
        ((256, 1024), (1, 3), (4, 256, 1, 1024), (1024, 1024), 0),
    ],
)
def test_what_is_repeated_is_stored_before_a_reshape_that_moves_it(
    given: tuple[int, ...],
    kept: tuple[int, ...],
    repeated: tuple[int, ...],
    made: tuple[int, ...],
    allocated: int,
) -> None:
    text = f"""
    func.func @main(%x: {_type(*given)}) -> {_type(*made)} {{
      %0 = stablehlo.broadcast_in_dim %x, dims = [{", ".join(map(str, kept))}]
        : ({_type(*given)}) -> {_type(*repeated)}
      %1 = stablehlo.reshape %0 : ({_type(*repeated)}) -> {_type(*made)}
      return %1 : {_type(*made)}
    }}"""
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    assert result.memory("tpu-v5p").estimate.temporaries == allocated


def test_rows_in_full_lanes_stay_in_place_also_in_other_tiles() -> None:
    """As heads that several queries share; those that become one row with others do not."""
    heads, groups = TensorType((8, 64, 16, 128), "f32"), TensorType((8, 64, 4, 4, 128), "f32")
    assert are_in_place(groups, heads)
    assert are_in_place(TensorType((8, 64, 4, 4, 64), "f32"), TensorType((8, 64, 16, 64), "f32"))
    assert not are_in_place(groups, TensorType((8, 64, 2048), "f32"))


def test_one_element_everywhere_is_made_in_the_form_that_is_needed() -> None:
    """XLA:TPU adds ones of [64, 32768] as broadcast of f32[2097152], which is flat at once."""
    records, element, ones, flat = Records(), ("one",), ("ones",), ("flat",)
    one, given = TensorType((), "f32"), TensorType((64, 32768), "f32")
    made = TensorType((64 * 32768,), "f32")
    steps = [
        spread_of_element(records, given, element, ones, None),
        step_of(records.of(PLACED, (given,), (made,)), (ones,), (flat,), None),
    ]
    *_, last = with_repeats_stored(steps, records, lambda _: False)
    assert (last.record.name, last.operands, last.results) == (BroadcastInDimOp.name, (element,), (flat,))
    assert last.record.operands == (one,)
    assert last.record.results == (made,)
