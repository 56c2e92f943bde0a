"""A value of the program under construction: shape, element type, and Python's operators.

    y = x @ w + b          broadcast as in numpy; element types must agree

Not here: everything else that can be done with a tensor (`ops.py`, `regions.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.ir import SSAValue

from shardy_py.builder.broadcasting import broadcast_to, together
from shardy_py.builder.emit import emit_one
from shardy_py.builder.types import Shape, TensorType, type_of
from shardy_py.dialects.stablehlo.structs import DotDimensionNumbers
from shardy_py.errors import ShardyError
from shardy_py.text.attribute_writer import attribute_text

Operand = Any
"""A `Tensor`, a number, or an array of numpy."""


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """One SSA value."""

    value: SSAValue

    @property
    def type(self) -> TensorType:
        """Its type. Raises `ShardyError` when it is no ranked tensor, but a token or tuple."""
        found = type_of(self.value.type)
        if found is None:
            raise ShardyError(f"{attribute_text(self.value.type)} is no ranked tensor")
        return found

    @property
    def shape(self) -> Shape:
        """Its sizes, None for a dynamic one."""
        return self.type.shape

    @property
    def element_type(self) -> str:
        """Its element type as MLIR spells it."""
        return self.type.element_type

    @property
    def rank(self) -> int:
        """The number of its dimensions."""
        return len(self.shape)

    @property
    def T(self) -> Tensor:
        """The tensor with its dimensions in reverse order."""
        return Tensor(emit_one("transpose", self.value, permutation=range(self.rank - 1, -1, -1)))

    def __len__(self) -> int:
        if not self.shape or self.shape[0] is None:
            raise ShardyError(f"a tensor of type {self.type.text} has no length")
        return self.shape[0]

    def __bool__(self) -> bool:
        raise ShardyError(
            "the value of a tensor is not known while the program is built; use select, if_ or case"
        )

    def __iter__(self) -> Any:
        raise ShardyError("a tensor is not iterated over while the program is built; use slice")

    def __repr__(self) -> str:
        return f"<Tensor {attribute_text(self.value.type)}>"

    def __add__(self, other: Operand) -> Tensor:
        return elementwise("add", self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return elementwise("add", other, self)

    def __sub__(self, other: Operand) -> Tensor:
        return elementwise("subtract", self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return elementwise("subtract", other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return elementwise("multiply", self, other)

    def __rmul__(self, other: Operand) -> Tensor:
        return elementwise("multiply", other, self)

    def __truediv__(self, other: Operand) -> Tensor:
        return elementwise("divide", self, other)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return elementwise("divide", other, self)

    def __mod__(self, other: Operand) -> Tensor:
        return elementwise("remainder", self, other)

    def __pow__(self, other: Operand) -> Tensor:
        return elementwise("power", self, other)

    def __and__(self, other: Operand) -> Tensor:
        return elementwise("and", self, other)

    def __or__(self, other: Operand) -> Tensor:
        return elementwise("or", self, other)

    def __xor__(self, other: Operand) -> Tensor:
        return elementwise("xor", self, other)

    def __lt__(self, other: Operand) -> Tensor:
        return elementwise("compare", self, other, comparison_direction="LT")

    def __le__(self, other: Operand) -> Tensor:
        return elementwise("compare", self, other, comparison_direction="LE")

    def __gt__(self, other: Operand) -> Tensor:
        return elementwise("compare", self, other, comparison_direction="GT")

    def __ge__(self, other: Operand) -> Tensor:
        return elementwise("compare", self, other, comparison_direction="GE")

    def __neg__(self) -> Tensor:
        return Tensor(emit_one("negate", self.value))

    def __invert__(self) -> Tensor:
        return Tensor(emit_one("not", self.value))

    def __matmul__(self, other: Operand) -> Tensor:
        return matmul(self, other)


def unwrapped(operand: Operand) -> Any:
    """The SSA value of a tensor; anything else as it is."""
    return operand.value if isinstance(operand, Tensor) else operand


def value_of(operand: Operand) -> SSAValue:
    """The SSA value of a tensor. Raises `ShardyError` for anything else."""
    if not isinstance(operand, Tensor):
        raise ShardyError(f"expected a tensor of the program under construction, got: {operand!r}")
    return operand.value


def elementwise(op_name: str, lhs: Operand, rhs: Operand, **attributes: Any) -> Tensor:
    """A binary elementwise op, its operands brought to one shape."""
    return Tensor(emit_one(op_name, *together(unwrapped(lhs), unwrapped(rhs)), **attributes))


def matmul(lhs: Tensor, rhs: Tensor) -> Tensor:
    """The product of matrices, all but the last two dimensions broadcast, as numpy's `matmul`.

    Raises `ShardyError` for a scalar, or sizes that do not fit.
    """
    for operand in (lhs, rhs):
        if not isinstance(operand, Tensor) or not operand.rank:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ShardyError(f"expected a tensor with dimensions as operand of @, got: {operand!r}")
    batch = lhs.shape[:-2] if lhs.rank > rhs.rank else rhs.shape[:-2]
    if min(lhs.rank, rhs.rank) > 2 or (batch and rhs.rank > 2):
        lhs, rhs = (_with_batch(operand, batch) for operand in (lhs, rhs))
        count = len(batch)
    else:
        count = 0
    numbers = DotDimensionNumbers(
        tuple(range(count)), tuple(range(count)), (lhs.rank - 1,), (max(rhs.rank - 2, 0),)
    )
    shape = (*lhs.shape[:-1], *rhs.shape[count : max(rhs.rank - 2, 0)], *rhs.shape[max(rhs.rank - 1, 1) :])
    result = TensorType(shape, lhs.element_type)
    return Tensor(
        emit_one("dot_general", lhs.value, rhs.value, results=result, dot_dimension_numbers=numbers)
    )


def _with_batch(operand: Tensor, batch: Shape) -> Tensor:
    shape = (*batch, *operand.shape[-2:])
    return Tensor(broadcast_to(operand.value, tuple(size or 0 for size in shape)))
