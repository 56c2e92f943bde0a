"""Comparisons of what products make, whose bits are packed into words."""

from __future__ import annotations

import pytest

from shardy_py.ops import OpRecord, TensorType
from shardy_py.xla.buffers.tpu.packed_bits import packs_bits, with_packed_bits
from shardy_py.xla.buffers.tpu.records import Records, step_of
from shardy_py.xla.spmd.program import PlannedOp

_NUMBER = TensorType((), "f32")
_DOT = {
    "dot_dimension_numbers": {
        "lhs_batching_dimensions": (),
        "rhs_batching_dimensions": (),
        "lhs_contracting_dimensions": (2,),
        "rhs_contracting_dimensions": (0,),
    }
}


def _steps(batch: int, compared: str) -> list[PlannedOp]:
    """A product with a bias that is compared with zero, or with what else is called `compared`."""
    made, bits = TensorType((batch, 128, 512), "f32"), TensorType((batch, 128, 512), "i1")
    product = OpRecord(
        "stablehlo.dot_general",
        (TensorType((batch, 128, 256), "f32"), TensorType((256, 512), "f32")),
        (made,),
        _DOT,
    )
    spread = OpRecord("stablehlo.broadcast_in_dim", (_NUMBER,), (made,), {"broadcast_dimensions": ()})
    add = OpRecord("stablehlo.add", (made, made), (made,), {})
    compare = OpRecord("stablehlo.compare", (made, made), (bits,), {"comparison_direction": "GT"})
    return [
        step_of(product, ("x", "w"), ("y",), None),
        step_of(add, ("y", "b"), ("sum",), None),
        step_of(spread, ("z",), ("zeros",), None),
        step_of(compare, ("sum", compared), ("bits",), None),
    ]


@pytest.mark.parametrize(("batch", "word"), [(8, "ui8"), (12, "ui16"), (32, "ui32")])
def test_bits_along_the_dimension_that_is_not_in_tiles_are_a_word(batch: int, word: str) -> None:
    steps = with_packed_bits(_steps(batch, "zeros"), Records(), lambda step: False)
    (packing,) = [step for step in steps if packs_bits(step.record)]
    assert packing.record.results == (TensorType((128, 512), word),)
    assert steps[-1].results == ("bits",)


@pytest.mark.parametrize(("batch", "compared"), [(64, "zeros"), (8, "other")])
def test_longer_dimensions_and_comparisons_with_other_values_are_not_packed(
    batch: int, compared: str
) -> None:
    steps = _steps(batch, compared)
    assert with_packed_bits(steps, Records(), lambda step: False) == steps
