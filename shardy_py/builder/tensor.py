"""A value of the program under construction: shape, element type, and Python's operators.

    y = x @ w + b          broadcast as in numpy; element types must agree
    y[0, ..., 1:8:2]       parts as in numpy
    x == y                 compares elements, as <, <= and so on do

Operators are StableHLO's ops: `/` of integers rounds towards 0, `%` has the sign of the dividend.
Not here: everything else that can be done with a tensor (`ops/`, `regions.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Region, SSAValue

from shardy_py.builder.broadcasting import (
    broadcast_to,
    common_shape,
    constant_value,
    static_shape,
    together,
)
from shardy_py.builder.emit import Types, emit_one, emit_op
from shardy_py.builder.indexing import indexed
from shardy_py.builder.other_ops import emit_other
from shardy_py.builder.sharding_rules import Rule, give_rule
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

    __array_ufunc__ = None
    """Arrays of numpy leave operators to the tensor."""

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
        raise ShardyError("a tensor is not iterated over while the program is built; use x[i]")

    def __getitem__(self, key: Any) -> Tensor:
        return Tensor(indexed(self.value, key))

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: Operand) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return elementwise("compare", self, other, comparison_direction="EQ")

    def __ne__(self, other: Operand) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return elementwise("compare", self, other, comparison_direction="NE")

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

    def __rmod__(self, other: Operand) -> Tensor:
        return elementwise("remainder", other, self)

    def __rpow__(self, other: Operand) -> Tensor:
        return elementwise("power", other, self)

    def __and__(self, other: Operand) -> Tensor:
        return elementwise("and", self, other)

    def __rand__(self, other: Operand) -> Tensor:
        return elementwise("and", other, self)

    def __or__(self, other: Operand) -> Tensor:
        return elementwise("or", self, other)

    def __ror__(self, other: Operand) -> Tensor:
        return elementwise("or", other, self)

    def __xor__(self, other: Operand) -> Tensor:
        return elementwise("xor", self, other)

    def __rxor__(self, other: Operand) -> Tensor:
        return elementwise("xor", other, self)

    def __lshift__(self, other: Operand) -> Tensor:
        return elementwise("shift_left", self, other)

    def __rshift__(self, other: Operand) -> Tensor:
        signed = not self.element_type.startswith("ui")
        return elementwise(f"shift_right_{'arithmetic' if signed else 'logical'}", self, other)

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

    def __abs__(self) -> Tensor:
        return Tensor(emit_one("abs", self.value))

    def __invert__(self) -> Tensor:
        return Tensor(emit_one("not", self.value))

    def __matmul__(self, other: Operand) -> Tensor:
        return matmul(self, other)

    def __rmatmul__(self, other: Operand) -> Tensor:
        return matmul(other, self)


def unwrapped(operand: Operand) -> Any:
    """The SSA value of a tensor; anything else as it is."""
    return operand.value if isinstance(operand, Tensor) else operand


def value_of(operand: Operand) -> SSAValue:
    """The SSA value of a tensor. Raises `ShardyError` for anything else."""
    if not isinstance(operand, Tensor):
        raise ShardyError(f"expected a tensor of the program under construction, got: {operand!r}")
    return operand.value


def rank_of(operand: Operand) -> int:
    """The number of dimensions of a tensor. Raises `ShardyError` for anything else."""
    value_of(operand)
    return operand.rank


def emit(
    op_name: str,
    *operands: Tensor,
    results: Types = None,
    regions: Iterable[Region] = (),
    sharding_rule: Rule = None,
    **attributes: Any,
) -> tuple[Tensor, ...]:
    """Build the op `stablehlo.<op_name>`, whichever it is, or one of another dialect: `"mine.weigh_rows"`.

    operands, attributes: as the op's definition has them, attributes by name; None: absent; names with a dot
    are those of dialects, which any op may have: `**{"mhlo.frontend_attributes": {...}}`.
    results: the types of the results; None: they follow from the operands; an element type, of the one
    result of an op such as `convert` or `dot_general`, from whose operands its shape follows.
    regions: made by `region`. Raises `ShardyError` as the verifier does.
    sharding_rule: how shardings pass through it, if otherwise than by the op's own rule: `"b i, i -> b i"`,
    or `partial(einsum_rule, "b i, i -> b", reduction=["i"])` where factors are more than passed through.
    """
    name = op_name.removeprefix("stablehlo.")
    build_op = emit_other if "." in name else emit_op
    made = build_op(name, *map(value_of, operands), results=results, regions=regions, **attributes)
    if made:
        give_rule(made[0].op, sharding_rule)
    return tuple(map(Tensor, made))


def elementwise(op_name: str, lhs: Operand, rhs: Operand, **attributes: Any) -> Tensor:
    """A binary elementwise op, its operands brought to one shape."""
    return Tensor(emit_one(op_name, *together(unwrapped(lhs), unwrapped(rhs)), **attributes))


def matmul(lhs: Operand, rhs: Operand) -> Tensor:
    """The product of matrices, all but the last two dimensions broadcast, as numpy's `matmul`.

    Raises `ShardyError` for a scalar, element types that differ, or sizes that do not fit.
    """
    lhs, rhs = _matrices(lhs, rhs)
    count = 0
    if rhs.rank > 2:
        if lhs.shape[:-2] != rhs.shape[:-2]:
            batch = common_shape(lhs.shape[:-2], rhs.shape[:-2])
            lhs, rhs = (_with_batch(operand, batch) for operand in (lhs, rhs))
        count = rhs.rank - 2
    numbers = DotDimensionNumbers(
        tuple(range(count)), tuple(range(count)), (lhs.rank - 1,), (max(rhs.rank - 2, 0),)
    )
    made = emit_one(
        "dot_general", lhs.value, rhs.value, results=lhs.element_type, dot_dimension_numbers=numbers
    )
    return Tensor(made)


def _matrices(lhs: Operand, rhs: Operand) -> tuple[Tensor, Tensor]:
    """Both as tensors: arrays become constants of the other's element type."""
    known = next((operand for operand in (lhs, rhs) if isinstance(operand, Tensor)), None)
    found: list[Tensor] = []
    for operand in (lhs, rhs):
        if known is not None and isinstance(operand, np.ndarray):
            operand = Tensor(constant_value(operand, known.element_type))
        if not isinstance(operand, Tensor) or not operand.rank:
            raise ShardyError(f"expected a tensor with dimensions as operand of @, got: {operand!r}")
        found.append(operand)
    first, second = found
    if first.element_type != second.element_type:
        raise ShardyError(
            f"expected operands of one element type, got: {first.type.text} and {second.type.text}; "
            "convert one with ops.convert, or use dot_general(..., element_type=...)"
        )
    return first, second


def _with_batch(operand: Tensor, batch: tuple[int, ...]) -> Tensor:
    return Tensor(broadcast_to(operand.value, (*batch, *static_shape(operand.value)[-2:])))
