"""Steps that XLA adds to others, so that these have dimensions in an order that it knows."""

from __future__ import annotations

from shardy_py.mlir.dialects.stablehlo import TransposeOp
from shardy_py.ops import OpRecord, TensorType
from shardy_py.xla.buffers.canonical import Added
from shardy_py.xla.spmd.program import PlannedOp


def test_a_copy_of_a_reshaped_value_has_its_elements() -> None:
    """What is kept may have another rank than the copy: the value that was reshaped for a product."""
    result = TensorType((128, 8, 64, 64), "bf16")
    record = OpRecord(TransposeOp.name, (None,), (result,), {"permutation": (0, 2, 3, 1)})
    added = Added(PlannedOp(record, ("x",), ("y",), (None,)), "x")
    assert added.type_of(TensorType((128, 64, 8, 64), "bf16"), 0).shape == (128, 8, 64, 64)
    assert added.type_of(TensorType((128, 64, 512), "bf16"), 0).shape == (128, 64, 512)
