"""Products with a vector, which are multiplied and added up."""

from __future__ import annotations

import pytest

from shardy_py.mlir.dialects.stablehlo import MultiplyOp, ReduceOp
from shardy_py.ops import OpRecord, TensorType
from shardy_py.xla.buffers.tpu.records import Records, step_of
from shardy_py.xla.buffers.tpu.vector_products import with_vectors_multiplied
from shardy_py.xla.spmd.program import PlannedOp


def _product(
    left: tuple[int, ...],
    right: tuple[int, ...],
    made: tuple[int, ...],
    contracting: tuple[tuple[int, ...], tuple[int, ...]],
    batch: tuple[int, ...] = (),
) -> PlannedOp:
    numbers = {
        "lhs_batching_dimensions": batch,
        "rhs_batching_dimensions": batch,
        "lhs_contracting_dimensions": contracting[0],
        "rhs_contracting_dimensions": contracting[1],
    }
    types = TensorType(left, "f32"), TensorType(right, "f32")
    record = OpRecord(
        "stablehlo.dot_general", types, (TensorType(made, "f32"),), {"dot_dimension_numbers": numbers}
    )
    return step_of(record, ("x", "w"), ("y",), None)


@pytest.mark.parametrize(
    ("step", "dimensions"),
    [
        (_product((64,), (64, 4, 48), (4, 48), ((0,), (0,))), (0,)),
        (_product((1, 64), (64, 48), (1, 48), ((1,), (0,))), (0,)),
        (_product((128, 64, 32), (64,), (128, 32), ((1,), (0,))), (1,)),
        (_product((1, 4, 16), (1, 8, 16, 4), (1, 8), ((1, 2), (3, 2)), (0,)), (3, 2)),
    ],
)
def test_products_with_a_vector_are_sums(step: PlannedOp, dimensions: tuple[int, ...]) -> None:
    steps = with_vectors_multiplied([step], Records(), lambda step: False)
    (multiply,) = [each for each in steps if each.record.name == MultiplyOp.name]
    (reduce,) = [each for each in steps if each.record.name == ReduceOp.name]
    assert reduce.record.attributes["dimensions"] == dimensions
    assert reduce.operands == multiply.results
    assert steps[-1].results == ("y",)
    assert steps[-1].record.results == step.record.results


@pytest.mark.parametrize(
    "step",
    [
        _product((2, 64), (64, 48), (2, 48), ((1,), (0,))),
        _product((8, 128), (8, 256, 128), (8, 256), ((1,), (2,)), (0,)),
        _product((64, 1), (1, 48), (64, 48), ((1,), (0,))),
    ],
)
def test_products_of_matrices_in_batches_and_of_single_elements_stay(step: PlannedOp) -> None:
    assert with_vectors_multiplied([step], Records(), lambda step: False) == [step]
