"""A value of the program under construction: shape, element type, and Python's operators.

    y = x @ w + b          broadcast as in numpy; element types must agree
    y[0, ..., 1:8:2]       indexing as in numpy
    x == y                 elementwise, as <, <= and the others

Operators are StableHLO's ops: `/` of integers rounds towards 0, `%` has the sign of the dividend.
Not here: other functions of tensors (`ops/`, `regions.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import Operation, Region, SSAValue

from shardy_py.base.arrays import AnyArray
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.frontends.builder.broadcasting import (
    broadcast_to,
    common_shape,
    constant_value,
    require_one_element,
    static_shape,
    tensor_type,
    together,
)
from shardy_py.frontends.builder.emit import Types, emit_one, emit_op, emit_other
from shardy_py.frontends.builder.indexing import indexed
from shardy_py.frontends.builder.types import RankedTensorType, Shape
from shardy_py.mlir.dialects.sdy import OpShardingRuleAttr
from shardy_py.mlir.dialects.stablehlo import CustomCallOp
from shardy_py.mlir.dialects.stablehlo.structs import DotDimensionNumbers
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.propagation.rules import einsum_rule
from shardy_py.sharding import FactorType, ShardingRule, factor_symbol

Scalar = bool | int | float | complex | np.generic
Operand: TypeAlias = "Tensor | Scalar | AnyArray"
"""A tensor, a number, or an array of numpy."""
Rule = ShardingRule | Callable[..., ShardingRule] | str | None
"""A rule; its notation, as `einsum_rule` reads it; a function from the shapes of operands and of results to
it, where factors are more than passed through; None: the op's own, if it has one."""


def _operator(op_name: str) -> Callable[[Tensor, Operand], Tensor]:
    return lambda lhs, rhs: elementwise(op_name, lhs, rhs)


def _reflected(op_name: str) -> Callable[[Tensor, Operand], Tensor]:
    return lambda rhs, lhs: elementwise(op_name, lhs, rhs)


def _comparison(direction: str) -> Callable[[Tensor, Operand], Tensor]:
    return lambda lhs, rhs: elementwise("compare", lhs, rhs, comparison_direction=direction)


def _unary(op_name: str) -> Callable[[Tensor], Tensor]:
    return lambda operand: Tensor(emit_one(op_name, operand.value))


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """One SSA value."""

    value: SSAValue

    __array_ufunc__ = None
    """Arrays of numpy leave operators to the tensor."""

    @property
    def type(self) -> RankedTensorType:
        """Its type. Raises `ShardyError` for tokens and tuples."""
        return tensor_type(self.value)

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
        raise ShardyError("cannot branch on a traced tensor; use select, if_ or case")

    def __iter__(self) -> Any:
        raise ShardyError("a tensor is not iterable; use x[i]")

    def __getitem__(self, key: object) -> Tensor:
        return Tensor(indexed(self.value, key))

    def __hash__(self) -> int:
        return id(self.value)

    def __repr__(self) -> str:
        return f"<Tensor {attribute_text(self.value.type)}>"

    __add__ = _operator("add")
    __radd__ = _reflected("add")
    __sub__ = _operator("subtract")
    __rsub__ = _reflected("subtract")
    __mul__ = _operator("multiply")
    __rmul__ = _reflected("multiply")
    __truediv__ = _operator("divide")
    __rtruediv__ = _reflected("divide")
    __mod__ = _operator("remainder")
    __rmod__ = _reflected("remainder")
    __pow__ = _operator("power")
    __rpow__ = _reflected("power")
    __and__ = _operator("and")
    __rand__ = _reflected("and")
    __or__ = _operator("or")
    __ror__ = _reflected("or")
    __xor__ = _operator("xor")
    __rxor__ = _reflected("xor")
    __lshift__ = _operator("shift_left")
    __eq__ = _comparison("EQ")  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    __ne__ = _comparison("NE")  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    __lt__ = _comparison("LT")
    __le__ = _comparison("LE")
    __gt__ = _comparison("GT")
    __ge__ = _comparison("GE")
    __neg__ = _unary("negate")
    __abs__ = _unary("abs")
    __invert__ = _unary("not")

    def __rshift__(self, other: Operand) -> Tensor:
        signed = not self.element_type.startswith("ui")
        return elementwise(f"shift_right_{'arithmetic' if signed else 'logical'}", self, other)

    def __matmul__(self, other: Operand) -> Tensor:
        return matmul(self, other)

    def __rmatmul__(self, other: Operand) -> Tensor:
        return matmul(other, self)


def unwrapped(operand: Operand) -> object:
    """The SSA value of a tensor; anything else unchanged."""
    return operand.value if isinstance(operand, Tensor) else operand


def value_of(operand: Operand) -> SSAValue:
    """The SSA value of a tensor. Raises `ShardyError` for anything else."""
    if not isinstance(operand, Tensor):
        raise ShardyError.unexpected(
            "", expected="a tensor of the program under construction", got=f"{operand!r}"
        )
    return operand.value


def rank_of(operand: Operand) -> int:
    """The number of dimensions of a tensor. Raises `ShardyError` for anything else."""
    return Tensor(value_of(operand)).rank


def emit(
    op_name: str,
    *operands: Tensor,
    results: Types = None,
    regions: Iterable[Region] = (),
    sharding_rule: Rule = None,
    **attributes: object,
) -> tuple[Tensor, ...]:
    """Inserts the op `stablehlo.<op_name>`, or one of another dialect: `"mine.weigh_rows"`.

    operands, attributes: as in the op's definition, attributes by name; None: absent. Names with a dot are
        discardable: `**{"mhlo.frontend_attributes": {...}}`.
    results: the types of the results; None: inferred; an element type for ops such as `convert` and
        `dot_general`, whose shape is inferred.
    regions: made by `region`.
    sharding_rule: overrides the op's own rule: `"b i, i -> b i"`, or `partial(einsum_rule, "b i, i -> b",
        reduction=["i"])` for factors that do not only pass through. By default, the rule of a custom call or
        of an op of another dialect is custom: reshards are left to its partitioner. Other ops have none.
    Raises `ShardyError` for ops that do not verify.
    """
    name = op_name.removeprefix("stablehlo.")
    build_op = emit_other if "." in name else emit_op
    op_results = build_op(name, *map(value_of, operands), results=results, regions=regions, **attributes)
    if op_results and sharding_rule is not None:
        _give_rule(op_results[0].op, sharding_rule)
    return tuple(map(Tensor, op_results))


def _give_rule(op: Operation, rule: Rule) -> None:
    given: Any = partial(einsum_rule, rule) if isinstance(rule, str) else rule
    if getattr(given, "func", None) is einsum_rule:
        is_custom = op.name == CustomCallOp.name or not op.name.startswith(("stablehlo.", "chlo."))
        given = partial(einsum_rule, *given.args, **{"is_custom": is_custom, **given.keywords})
    if callable(given):
        given = given(*([static_shape(value) for value in side] for side in (op.operands, op.results)))
    if not isinstance(given, ShardingRule):
        raise ShardyError.unexpected("", expected="a sharding rule, as 'i j, j k -> i k'", got=f"{given!r}")
    _check_marked(op, given)
    op.attributes["sdy.sharding_rule"] = OpShardingRuleAttr(given)


def _check_marked(op: Operation, rule: ShardingRule) -> None:
    """Raises `ShardyError` for a factor that passes through to no result: it would be sharded for nothing."""
    in_results = {factor for mapping in rule.results for factors in mapping for factor in factors}
    for index, mapping in enumerate(rule.operands):
        for dimension, factors in enumerate(mapping):
            for number in factors:
                factor = rule.factors[number]
                is_unmarked = factor.type is FactorType.PASS_THROUGH and not factor.is_blocked
                if number not in in_results and is_unmarked and factor.size > 1:
                    what = f"sharding rule of {op.name}: dimension {dimension} of operand {index}"
                    expected = (
                        "a factor of some result, or one marked as reduction, need_replication or permutation"
                    )
                    got = f"factor {factor_symbol(number)} of size {factor.size}, in no result"
                    remedy = 'mark it as in partial(einsum_rule, "i j -> i", reduction=["j"])'
                    raise ShardyError.unexpected(what, expected=expected, got=got, remedy=remedy)


def elementwise(op_name: str, lhs: Operand, rhs: Operand, **attributes: Any) -> Tensor:
    """A binary elementwise op of operands broadcast to one shape."""
    return Tensor(emit_one(op_name, *together(unwrapped(lhs), unwrapped(rhs)), **attributes))


def matmul(lhs: Operand, rhs: Operand) -> Tensor:
    """The product of matrices, all but the last two dimensions broadcast, as numpy's `matmul`.

    Raises `ShardyError` for scalars, different element types, or sizes that do not match.
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
    return emit("dot_general", lhs, rhs, results=lhs.element_type, dot_dimension_numbers=numbers)[0]


def _matrices(lhs: Operand, rhs: Operand) -> tuple[Tensor, Tensor]:
    """Both as tensors; arrays become constants of the other's element type."""
    known = next((operand for operand in (lhs, rhs) if isinstance(operand, Tensor)), None)
    matrices: list[Tensor] = []
    for operand in (lhs, rhs):
        if known is not None and isinstance(operand, np.ndarray):
            operand = Tensor(constant_value(operand, known.element_type))
        if not isinstance(operand, Tensor) or not operand.rank:
            raise ShardyError.unexpected(
                "", expected="a tensor with dimensions as operand of @", got=f"{operand!r}"
            )
        matrices.append(operand)
    first, second = matrices
    require_one_element(first.type, second.type, ", or use dot_general(..., element_type=...)")
    return first, second


def _with_batch(operand: Tensor, batch: tuple[int, ...]) -> Tensor:
    return Tensor(broadcast_to(operand.value, (*batch, *static_shape(operand.value)[-2:])))
