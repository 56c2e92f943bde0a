"""ATen's products of integers and of scaled numbers of 8 bits: `ROWS` by name, as in `pointwise.py`.

Not here: products of other numbers (`products.py`), quantized tensors (`quantization.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.api import ShardyError
from shardy_py.frontends.aten.elements import Maybe, Row, convert, sizes
from shardy_py.frontends.aten.products import along
from shardy_py.frontends.builder import RankedTensorType, Tensor, dot_general, ops


def _int_mm(out: RankedTensorType, self: Tensor, mat2: Tensor) -> Tensor:
    return dot_general(self, mat2, ((1,), (0,)), element_type=out.element_type)


def _scaled_mm(
    out: RankedTensorType,
    self: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Maybe = None,
    scale_result: Maybe = None,
    out_dtype: object = None,
    use_fast_accum: bool = False,
) -> Tensor:
    """The product of numbers of 8 bits, each times its scale: one for all, or one for each row and column."""
    shape = sizes(out)
    found = dot_general(self, mat2, ((1,), (0,)), element_type="f32")
    for scale in (scale_a, scale_b):
        found = found * _scale(scale, shape)
    if bias is not None:
        found = found + along(convert(bias, "f32"), 1, shape)
    if scale_result is not None:
        found = found * _scale(scale_result, shape)
    return convert(found, out.element_type)


def _scaled_mm_v2(
    out: RankedTensorType,
    self: Tensor,
    mat2: Tensor,
    scale_a: Sequence[Tensor],
    recipe_a: Sequence[int],
    swizzle_a: Sequence[int],
    scale_b: Sequence[Tensor],
    recipe_b: Sequence[int],
    swizzle_b: Sequence[int],
    bias: Maybe = None,
    out_dtype: object = None,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """As `_scaled_mm`, with one scale in a list for each operand: of all (recipe 0), or of rows (1)."""
    if any(recipe not in (0, 1) for recipe in (*recipe_a, *recipe_b)):
        raise ShardyError.unsupported("scales for blocks", remedy="scale rows, or all (ScalingType)")
    return _scaled_mm(out, self, mat2, *scale_a, *scale_b, bias=bias)


def _scale(scale: Tensor, shape: tuple[int, ...]) -> Tensor:
    given = sizes(scale.type)
    wide = given if len(given) == 2 else (1, 1)
    if any(size not in (1, whole) for size, whole in zip(wide, shape, strict=True)):
        raise ShardyError.unsupported(
            f"a scale of shape {given} for blocks of rows or columns", remedy="scale rows, columns, or all"
        )
    return ops.broadcast_to(ops.reshape(convert(scale, "f32"), wide), shape)


def _of_int8_weight(out: RankedTensorType, self: Tensor, mat2: Tensor, scales: Tensor) -> Tensor:
    """A linear layer whose weight has 8 bits, with a scale for each row of the weight."""
    wide = [convert(tensor, "f32") for tensor in (self, mat2, scales)]
    product = dot_general(wide[0], wide[1], ((1,), (1,)))
    return convert(product * along(wide[2], 1, sizes(out)), out.element_type)


ROWS: dict[str, Row] = {
    "_int_mm": _int_mm,
    "_scaled_mm": _scaled_mm,
    "_scaled_mm_v2": _scaled_mm_v2,
    "_weight_int8pack_mm": _of_int8_weight,
}
"""The rows by the name of the op without overload."""
