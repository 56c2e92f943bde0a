"""The numbers of scalars that follow from constants: by arithmetic, through calls and unchanged by loops.

    scalars = Scalars()
    scalars.of(value)                       12; None if it does not follow
    scalars.of(value, {argument: 3})        the same where a loop carries 3

Not here: what is counted with them (`loops.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardy_py.base.deferred import np
from shardy_py.indexing.layout.element_types import element_type
from shardy_py.mlir.dialects.sdy import ReshardOp, ShardingConstraintOp
from shardy_py.mlir.dialects.stablehlo import OptimizationBarrierOp
from shardy_py.mlir.dialects.traits import constant_of
from shardy_py.mlir.ir import operands_of, terminator_of, walk_pre_order
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.symbols import Symbols, callee_name, function_name, module_of
from shardy_py.ops import TABLE, Control

Number = int | float
Carried = Mapping[SSAValue, Number]
_PASSING = frozenset(op.name for op in (ShardingConstraintOp, ReshardOp, OptimizationBarrierOp))
_DEEPEST = 200
"""Expressions that are nested deeper are not followed."""


class Scalars:
    """The numbers of the scalars of a module, which does not change meanwhile."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Number | None] = {}
        self._callers: dict[str, list[Operation]] | None = None

    def of(self, value: SSAValue, carried: Carried | None = None) -> Number | None:
        """Returns the number of a tensor of one element; None if it does not follow.

        carried: numbers of arguments of a loop, in one of its iterations.
        """
        if carried is None:
            return self._number(value, {}, self._known, 0)
        return self._number(value, carried, {}, 0)

    def _number(
        self, value: SSAValue, carried: Carried, known: dict[SSAValue, Number | None], depth: int
    ) -> Number | None:
        if value in carried:
            return carried[value]
        if value in known:
            return known[value]
        known[value] = None  # recursive functions
        if depth < _DEEPEST and _is_scalar(value):
            if isinstance(value, OpResult):
                known[value] = self._of_result(value, carried, known, depth + 1)
            elif isinstance(value, BlockArgument):
                known[value] = self._of_argument(value, carried, known, depth + 1)
        return known[value]

    def _of_result(
        self, value: OpResult, carried: Carried, known: dict[SSAValue, Number | None], depth: int
    ) -> Number | None:
        op, row, operands = value.op, TABLE[value.op.name], operands_of(value.op)
        if constant_of(value) is not None:
            return _constant(value)
        if op.name in _PASSING or (row.moves_elements and len(operands) == 1):
            return self._number(operands[value.index], carried, known, depth)
        if row.control is Control.LOOP:
            same = is_unchanged(op, value.index)
            return self._number(operands[value.index], carried, known, depth) if same else None
        if isinstance(op, CallOp):
            callee = Symbols(module_of(op)).get(callee_name(op))
            end = terminator_of(callee.regions[0]) if isinstance(callee, FuncOp) else None
            return None if end is None else self._number(operands_of(end)[value.index], {}, known, depth)
        if not operands or not row.elementwise(record_of(op)):
            return None
        numbers: list[Number] = []
        for operand in operands:
            number = self._number(operand, carried, known, depth)
            if number is None:
                return None
            numbers.append(number)
        return computed(op, numbers)

    def _of_argument(
        self, value: BlockArgument, carried: Carried, known: dict[SSAValue, Number | None], depth: int
    ) -> Number | None:
        around, index = value.owner.parent_op(), value.index
        if around is None:
            return None
        if isinstance(around, FuncOp):
            calls = self._calls_of(around)
            found = {self._number(operands_of(call)[index], {}, known, depth) for call in calls}
            return found.pop() if len(found) == 1 else None
        control = TABLE[around.name].control
        if control is Control.MANUAL or (control is Control.LOOP and is_unchanged(around, index)):
            return self._number(operands_of(around)[index], carried, known, depth)
        return None

    def _calls_of(self, function: FuncOp) -> Sequence[Operation]:
        if self._callers is None:
            self._callers = {}
            for op in walk_pre_order(module_of(function)):
                if isinstance(op, CallOp):
                    self._callers.setdefault(callee_name(op), []).append(op)
        return self._callers.get(function_name(function), ())


def is_unchanged(loop: Operation, index: int) -> bool:
    """Returns whether each iteration of a loop passes a carried value on as it is."""
    end = terminator_of(loop.regions[1])
    if end is None:
        return False
    value = operands_of(end)[index]
    while isinstance(value, OpResult) and value.op.name in _PASSING:
        value = operands_of(value.op)[value.index]
    return value is loop.regions[1].blocks[0].args[index]


def computed(op: Operation, numbers: Sequence[Number]) -> Number | None:
    """Returns the number that an elementwise op makes of those of its operands; None if it is not real."""
    from shardy_py.ops.compute import compute_of  # many modules, needed for few programs

    record = record_of(op)
    types = [type_.element if type_ is not None else "" for type_ in record.operands]
    try:
        with np.errstate(all="ignore"):
            arrays = [
                np.array([number], element_type(name).dtype)
                for number, name in zip(numbers, types, strict=True)
            ]
            (found,) = compute_of(record)(record, *arrays).reshape(-1).tolist()
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None
    return found if isinstance(found, int | float) else None


def _is_scalar(value: SSAValue) -> bool:
    tensor = tensor_type(value.type)
    return tensor is not None and None not in tensor.shape and prod(s or 0 for s in tensor.shape) == 1


def _constant(value: OpResult) -> Number | None:
    attribute: Any = value.op.properties.get("value")
    if not hasattr(attribute, "get_values"):
        return None
    (number,) = attribute.get_values()
    return number if isinstance(number, int | float) else None
