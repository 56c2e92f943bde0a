"""Matrices in the last two dimensions: LAPACK's routines as custom calls, triangles, products.

Custom calls are those that JAX emits for a CPU. Dimensions before the last two are a batch, which may be
sharded; matrices are kept whole. Not here: ops (`linear_algebra.py`, `factorizations.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
)
from xdsl.dialects.builtin import TensorType as TensorAttr

from shardy_py.frontends.aten.elements import filled, sizes
from shardy_py.frontends.builder import RankedTensorType, Tensor, dot_general, ops
from shardy_py.frontends.builder.tensor import Rule
from shardy_py.propagation.rules import einsum_rule

_LETTERS = {"f32": "s", "f64": "d", "complex<f32>": "c", "complex<f64>": "z"}
REAL = {"complex<f32>": "f32", "complex<f64>": "f64"}
"""The element type of magnitudes, by that of complex numbers."""
COMPLEX = {real: name for name, real in REAL.items()}
_OF_COMPLEX = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd"}


def lapack(
    routine: str, operands: Sequence[Tensor], results: Sequence[RankedTensorType], batch: int, **options: str
) -> tuple[Tensor, ...]:
    """A routine of LAPACK on the last dimensions of tensors; options: the letters it takes."""
    if any(0 in tensor.shape for tensor in operands):
        return tuple(filled(type_, 0) for type_ in results)
    element = operands[0].element_type
    name = _OF_COMPLEX.get(routine, routine) if element in REAL else routine
    types = [tensor.type for tensor in operands]
    config = {
        key: IntegerAttr(ord(value), IntegerType(8, Signedness.UNSIGNED)) for key, value in options.items()
    }
    return ops.custom_call(
        f"lapack_{_LETTERS[element]}{name}_ffi",
        operands,
        list(results),
        sharding_rule=_batch_rule(types, results, batch),
        operand_layouts=_column_major(types, batch),
        result_layouts=_column_major(results, batch),
        backend_config="",
        **{
            "mhlo.backend_config": DictionaryAttr(config),
            "mhlo.frontend_attributes": DictionaryAttr({"num_batch_dims": StringAttr(str(batch))}),
        },
    )


def _batch_rule(
    operands: Sequence[RankedTensorType], results: Sequence[RankedTensorType], batch: int
) -> Rule:
    """The rule of an op that keeps batches apart, and needs all other dimensions whole."""
    own: list[str] = []

    def notation(types: Sequence[RankedTensorType]) -> str:
        terms: list[str] = []
        for type_ in types:
            names = [f"own{len(own) + i}" for i in range(len(type_.shape) - batch)]
            own.extend(names)
            terms.append(" ".join([*(f"batch{i}" for i in range(batch)), *names]))
        return ", ".join(terms)

    text = f"{notation(operands)} -> {notation(results)}"
    return partial(einsum_rule, text, need_replication=own)


def _column_major(types: Sequence[RankedTensorType], batch: int) -> ArrayAttr[DenseIntOrFPElementsAttr]:
    """The layouts of matrices as LAPACK has them, the first index fastest; of batches row-major."""
    layouts: list[DenseIntOrFPElementsAttr] = []
    for type_ in types:
        rank = len(type_.shape)
        order = [*range(batch, rank), *reversed(range(batch))]
        layouts.append(DenseIntOrFPElementsAttr.from_list(TensorAttr(IndexType(), [rank]), order))
    return ArrayAttr(layouts)


def typed(tensor: Tensor, last: Sequence[int], element_type: str = "") -> RankedTensorType:
    """A type with the batch of a matrix and other last dimensions."""
    return RankedTensorType((*tensor.shape[:-2], *last), element_type or tensor.element_type)


def rows_and_columns(tensor: Tensor) -> tuple[int, int]:
    """The last two sizes."""
    rows, columns = sizes(tensor.type)[-2:]
    return rows, columns


# ---------------------------------------------------------------------- parts of matrices


def positions(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """The row and the column of each element of matrices."""
    shape = sizes(tensor.type)
    return ops.iota(shape, len(shape) - 2), ops.iota(shape, len(shape) - 1)


def triangle(tensor: Tensor, *, upper: bool, unit: bool = False) -> Tensor:
    """A triangle of matrices, zeros elsewhere. unit: with ones on the diagonal."""
    row, column = positions(tensor)
    kept = ops.select(ops.compare(row, column, "LE" if upper else "GE"), tensor, 0)
    return ops.select(ops.compare(row, column, "EQ"), 1, kept) if unit else kept


def identity(type_: RankedTensorType) -> Tensor:
    """Identity matrices of a type."""
    zeros = filled(type_, 0)
    row, column = positions(zeros)
    return ops.select(ops.compare(row, column, "EQ"), 1, zeros)


def transpose(tensor: Tensor) -> Tensor:
    """The transpose of matrices."""
    return ops.transpose(tensor, [*range(tensor.rank - 2), tensor.rank - 1, tensor.rank - 2])


def adjoint(tensor: Tensor) -> Tensor:
    """The transpose of matrices, of complex ones the conjugate transpose."""
    turned = transpose(tensor)
    return ops.complex(ops.real(turned), -ops.imag(turned)) if tensor.element_type in REAL else turned


def product(lhs: Tensor, rhs: Tensor) -> Tensor:
    """The products of matrices of equal batches."""
    batch = tuple(range(lhs.rank - 2))
    return dot_general(lhs, rhs, ((lhs.rank - 1,), (rhs.rank - 2,)), (batch, batch))


def with_batch(tensor: Tensor, batch: Sequence[int]) -> Tensor:
    """Matrices repeated for a batch."""
    return ops.broadcast_to(tensor, (*batch, *sizes(tensor.type)[-2:]))
