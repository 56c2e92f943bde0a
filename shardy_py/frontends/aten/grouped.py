"""Grouped products of matrices, as mixture-of-experts models have them: `ROWS` by name, as in `pointwise.py`.

Groups are runs of rows, or of columns, that end at offsets; each has a matrix of its own.
"""

from __future__ import annotations

from shardy_py.frontends.aten.elements import Maybe, Outputs, Row, convert, sizes
from shardy_py.frontends.aten.shapes import part
from shardy_py.frontends.builder import RankedTensorType, Tensor, dot_general, emit, ops
from shardy_py.mlir.dialects.chlo import RaggedDotOp
from shardy_py.mlir.dialects.chlo.attributes import RaggedDotDimensionNumbers, RaggedDotDimensionNumbersAttr


def _group_sizes(ends: Tensor) -> Tensor:
    count = sizes(ends.type)[0]
    starts = ops.pad(part(ends, 0, 0, count - 1), 0, [1], [0])
    return ends - starts


def _ragged(
    lhs: Tensor, rhs: Tensor, ends: Tensor, out: RankedTensorType, **numbers: tuple[int, ...]
) -> Tensor:
    """The groups of the left end at `ends`; numbers: those of the attribute."""
    attribute = RaggedDotDimensionNumbersAttr(RaggedDotDimensionNumbers(**numbers))
    operands = (lhs, rhs, _group_sizes(ends))
    (found,) = emit(RaggedDotOp.name, *operands, results=out, ragged_dot_dimension_numbers=attribute)
    return found


def _grouped_mm(
    out: RankedTensorType,
    self: Tensor,
    mat2: Tensor,
    offs: Maybe = None,
    bias: Maybe = None,
    out_dtype: object = None,
) -> Tensor:
    """self: [rows, k] or [groups, rows, k]; mat2: [groups, k, columns] or [k, columns].

    Offsets divide the dimension that the two-dimensional operands have and the result: rows, columns, or k.
    """
    plain = RankedTensorType(out.shape, self.element_type)
    if self.rank == 3 and mat2.rank == 3:
        result = dot_general(self, mat2, ((2,), (1,)), ((0,), (0,)))
    elif offs is None:
        raise AssertionError("a grouped product of matrices has offsets")
    elif self.rank == 2 and mat2.rank == 3:
        result = _ragged(
            self,
            mat2,
            offs,
            plain,
            lhs_contracting_dimensions=(1,),
            rhs_contracting_dimensions=(1,),
            lhs_ragged_dimensions=(0,),
            rhs_group_dimensions=(0,),
        )
    elif self.rank == 2:
        result = _ragged(
            self,
            mat2,
            offs,
            plain,
            lhs_contracting_dimensions=(1,),
            rhs_contracting_dimensions=(0,),
            lhs_ragged_dimensions=(1,),
        )
    else:
        # Groups of columns: those of rows of the transposed product.
        turned = RankedTensorType((out.shape[1], out.shape[0]), self.element_type)
        columns = _ragged(
            mat2,
            self,
            offs,
            turned,
            lhs_contracting_dimensions=(0,),
            rhs_contracting_dimensions=(2,),
            lhs_ragged_dimensions=(1,),
            rhs_group_dimensions=(0,),
        )
        result = ops.transpose(columns, (1, 0))
    result = convert(result, out.element_type)
    return result if bias is None else result + bias


def _grouped_mm_backward(
    out: Outputs, input: Tensor, weight: Tensor, offs: Tensor, grad_output: Tensor
) -> tuple[Tensor, Tensor]:
    """input: [rows, k]; weight: [groups, k, columns]; grad_output: [rows, columns]."""
    of_input = _ragged(
        grad_output,
        weight,
        offs,
        out[0],
        lhs_contracting_dimensions=(1,),
        rhs_contracting_dimensions=(2,),
        lhs_ragged_dimensions=(0,),
        rhs_group_dimensions=(0,),
    )
    of_weight = _ragged(
        input,
        grad_output,
        offs,
        out[1],
        lhs_contracting_dimensions=(0,),
        rhs_contracting_dimensions=(0,),
        lhs_ragged_dimensions=(0,),
    )
    return of_input, of_weight


ROWS: dict[str, Row] = {
    "aten._grouped_mm": _grouped_mm,
    "transformers.grouped_mm_fallback": _grouped_mm,
    "transformers.grouped_mm_fallback_backward": _grouped_mm_backward,
}
"""The rows by namespace and name of the op."""
