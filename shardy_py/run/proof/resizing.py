"""Copies of a program with smaller sizes.

    copy = Resizing(module, meshes, parts).resized(least=8)

Types, attributes with sizes and constants change together; constants keep their first elements. Ops whose
verifier rejects the new sizes keep theirs, and the others are chosen again.

Not here: choosing the sizes (`sizes.py`), what ops require of them (`facet.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np
from xdsl.dialects import builtin
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, OpResult, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from shardy_py.mlir.cloning import clone
from shardy_py.mlir.data_flow import edge_owners, edge_targets, source_values
from shardy_py.mlir.dialects.sdy import MeshOp, OpShardingRuleAttr
from shardy_py.mlir.dialects.stablehlo import op_class
from shardy_py.mlir.dialects.traits import constant_of, data_flow, is_constant, is_terminator
from shardy_py.mlir.dialects.verification import verify_op
from shardy_py.mlir.holders import RULE
from shardy_py.mlir.ir import (
    blocks_of,
    find_ops,
    operands_of,
    set_type,
    terminator_of,
    type_of,
    walk_pre_order,
)
from shardy_py.mlir.plain import plain, tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.builtin_attributes import is_dense, is_integer_attribute, is_tensor
from shardy_py.mlir.text.dense import element_size, elements_type, is_splat, make_dense
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.mlir.typed import of_kind
from shardy_py.ops import OpRecord, row_name
from shardy_py.propagation.rules import rule_of
from shardy_py.run.interpret.constants import array_of
from shardy_py.run.proof.correspondences import all_values
from shardy_py.run.proof.facet import EXACT
from shardy_py.run.proof.sized_ops import Shape, SizedOp, Variables, relate_alike, relate_by_rule
from shardy_py.run.proof.sizes import KEPT, Problem
from shardy_py.sharding import ShardingRule

ROUNDS = 32
"""The most times that sizes are chosen again after a verifier rejected some."""
_WITHOUT_SIZES = (FuncOp, CallOp, MeshOp, ModuleOp)
_COMPOSITE = op_class("composite").name
_LOOP, _COMPARISON = op_class("while").name, op_class("compare").name


class Resizing:
    """The sizes of a program, and what relates them.

    parts: for values of the module, the numbers of parts of each dimension, wherever they are sharded.
    """

    def __init__(self, module: ModuleOp, parts: Mapping[SSAValue, Sequence[Iterable[int]]]) -> None:
        self._module = module
        self._problem = Problem()
        self._variables: dict[SSAValue, Variables] = {}
        self._factors: dict[Operation, Variables] = {}
        for value in all_values(module):
            tensor = tensor_type(type_of(value))
            sizes = () if tensor is None else tensor.shape
            self._variables[value] = tuple(self._problem.variable(size or 0) for size in sizes)
        for value, numbers in parts.items():
            for variable, counts in zip(self._variables[value], numbers, strict=True):
                for count in counts:
                    self._problem.split(variable, count)
        self._symbols = Symbols(module)
        for op in walk_pre_order(module, include_root=False):
            self._relate(op)

    def resized(
        self, least: int = KEPT, whole: int | None = None
    ) -> tuple[ModuleOp, Mapping[int, int]] | None:
        """Returns a copy with smaller sizes, and from each size that changed to the new one.

        None: no size can change. least, whole: see `Problem.solution`.
        """
        for _ in range(ROUNDS):
            solution = self._problem.solution(least, whole)
            changed = {old: new for old, new in zip(self._problem.sizes, solution, strict=True) if old != new}
            if not changed:
                return None
            mapping: dict[SSAValue, SSAValue] = {}
            copy = clone(self._module, mapping)
            ops = list(zip(walk_pre_order(self._module), walk_pre_order(copy), strict=True))
            self._resize(mapping, ops, solution, changed)
            wrong = [op for op, new in ops if not _is_valid(new)]
            if not wrong:
                return copy, changed
            for op in wrong:
                self.pin(op)
        return None

    def following(self, value: SSAValue, dimension: int, size: int) -> Mapping[SSAValue, Shape] | None:
        """Returns the shapes of all values after a dimension of one gets another size; None: it cannot.

        Sizes are related by ops only: those that happen to be equal need not stay so.
        """
        solution = self._problem.following(self._variables[value][dimension], size)
        if solution is None:
            return None
        return {each: tuple(solution[v] for v in names) for each, names in self._variables.items()}

    def apply(
        self,
        value: SSAValue,
        dimension: int,
        size: int,
        copy: ModuleOp,
        into: Mapping[SSAValue, SSAValue],
    ) -> bool:
        """Gives a copy of the program the sizes of `following`; returns whether all its ops are valid then.

        into: from the values of the program to those of the copy.
        """
        solution = self._problem.following(self._variables[value][dimension], size)
        if solution is None:
            return False
        ops = list(zip(walk_pre_order(self._module), walk_pre_order(copy), strict=True))
        self._resize(into, ops, solution, {})
        return all(_is_valid(new) for _, new in ops)

    def elements(self, least: int = KEPT, whole: int | None = None) -> int:
        """Returns the elements of all results with smaller sizes, once for each op."""
        solution = self._problem.solution(least, whole)
        results = (self._variables[value] for value in self._variables if isinstance(value, OpResult))
        return sum(prod(solution[variable] for variable in variables) for variables in results)

    def pin(self, op: Operation) -> None:
        """The sizes of an op stay."""
        self._problem.pin(*self._of_op(op))

    # ------------------------------------------------------------------ relations

    def _relate(self, op: Operation) -> None:
        if isinstance(op, CallOp):
            self._relate_call(op, self._symbols.callee(op))
        elif op.name == _COMPOSITE:
            self._relate_call(op, self._symbols.function(plain(op.properties["decomposition"])))
        elif data_flow(op) is not None:
            for owner in edge_owners(op):
                for value in (*source_values(owner), *edge_targets(owner)[1:]):
                    self._tie(owner, value)
        elif not (is_terminator(op) or isinstance(op, _WITHOUT_SIZES)):
            record, rule = self._rule_of(op)
            sizes = () if rule is None else rule.factor_sizes
            factors = self._factors[op] = tuple(map(self._problem.variable, sizes))
            operands, results = (
                tuple(self._variables[value] for value in side) for side in (operands_of(op), op.results)
            )
            row, sized = EXACT.of(row_name(record)), SizedOp(record, operands, results, factors)
            if row.relate is not None:
                row.relate(sized, self._problem)
            if rule is not None:
                relate_by_rule(sized, rule, self._problem, is_described=row.relate is not None)
            elif row.relate is None:
                relate_alike(sized, self._problem)

    def _relate_call(self, call: Operation, callee: Operation) -> None:
        (block, *_) = callee.regions[0].blocks
        end = terminator_of(of_kind(block.parent_region(), Region))
        pairs: list[tuple[SSAValue, SSAValue]] = list(zip(operands_of(call), block.args, strict=True))
        if end is not None:
            pairs += zip(call.results, operands_of(end), strict=True)
        for one, other in pairs:
            self._tie(one, other)

    def _tie(self, one: SSAValue, other: SSAValue) -> None:
        for pair in zip(self._variables[one], self._variables[other], strict=True):
            self._problem.tie(*pair)

    def _rule_of(self, op: Operation) -> tuple[OpRecord, ShardingRule | None]:
        record, given = record_of(op), op.attributes.get(RULE)
        if isinstance(given, OpShardingRuleAttr):
            return record, given.data
        return record, rule_of(record)

    def _of_op(self, op: Operation) -> list[int]:
        values = [*operands_of(op), *op.results, *(arg for block in blocks_of(op) for arg in block.args)]
        return [v for value in values for v in self._variables[value]] + list(self._factors.get(op, ()))

    # ------------------------------------------------------------------ the copy

    def _resize(
        self,
        mapping: Mapping[SSAValue, SSAValue],
        ops: Sequence[tuple[Operation, Operation]],
        solution: Sequence[int],
        changed: Mapping[int, int],
    ) -> None:
        def shape(value: SSAValue) -> Shape:
            return tuple(solution[variable] for variable in self._variables[value])

        limits = _limits_of_loops(self._module)
        for old, new in mapping.items():
            _set_shape(new, shape(old))
        for op, copy in ops:
            if is_constant(op):
                _resize_constant(copy, shape(op.results[0]))
                if op in limits:
                    _replace_limit(copy, changed)
            elif isinstance(copy, FuncOp):
                _set_function_type(copy)
            elif op in self._factors:
                sides = [[shape(value) for value in side] for side in (operands_of(op), op.results)]
                record = record_of(op)
                resize = EXACT.of(row_name(record)).resize
                _set_integers(copy, {} if resize is None else resize(record, *sides))
                given = copy.attributes.get(RULE)
                if isinstance(given, OpShardingRuleAttr):
                    sizes = [solution[variable] for variable in self._factors[op]]
                    copy.attributes[RULE] = OpShardingRuleAttr(_with_sizes(given.data, sizes))


def _with_sizes(rule: ShardingRule, sizes: Sequence[int]) -> ShardingRule:
    factors = [replace(factor, size=size) for factor, size in zip(rule.factors, sizes, strict=True)]
    return replace(rule, factors=tuple(factors))


def _set_shape(value: SSAValue, shape: Shape) -> None:
    type_ = type_of(value)
    if is_tensor(type_) and tuple(type_.get_shape()) != shape:
        set_type(value, ranked_tensor(shape, type_.element_type, type_.encoding))


def _set_integers(op: Operation, values: Mapping[str, Shape]) -> None:
    """Sets attributes with sizes: arrays, or a single integer."""
    for name, sizes in values.items():
        holder = op.properties if name in op.properties else op.attributes
        old = holder[name]
        if is_integer_attribute(old):
            holder[name] = builtin.IntegerAttr(sizes[0], old.type)
        else:
            holder[name] = builtin.DenseArrayBase.from_list(builtin.i64, sizes)


def _set_function_type(function: FuncOp) -> None:
    """Sets the type of a function to those of its arguments and of what it returns."""
    end = terminator_of(function.body)
    if end is not None:
        types = [[type_of(value) for value in side] for side in (function.args, operands_of(end))]
        function.properties["function_type"] = builtin.FunctionType.from_lists(*types)


def _resize_constant(op: Operation, shape: Shape) -> None:
    """Keeps the first elements of each dimension."""
    attribute = op.properties["value"]
    if not is_dense(attribute):
        return
    type_ = type_of(op.results[0])
    if attribute.type == type_:
        return
    data = attribute.data.data
    if not is_splat(attribute):
        whole, element = elements_type(attribute)
        stored = np.frombuffer(data, np.dtype(f"V{element_size(element)}")).reshape(whole)
        data = stored[tuple(map(slice, shape))].tobytes()
    op.properties["value"] = make_dense(type_, data)


def _limits_of_loops(module: ModuleOp) -> set[Operation]:
    """The scalar constants that conditions of loops compare with: the sizes of what they iterate over."""
    limits: set[Operation] = set()
    for op in find_ops(module, _LOOP):
        compared = (inner for inner in op.regions[0].blocks[0].ops if inner.name == _COMPARISON)
        constants = (constant_of(value) for inner in compared for value in operands_of(inner))
        limits.update(constant for constant in constants if constant is not None)
    return limits


def _replace_limit(op: Operation, changed: Mapping[int, int]) -> None:
    """A loop over a dimension ends where the smaller dimension does."""
    attribute = op.properties["value"]
    array = array_of(attribute)
    if array.ndim or array.dtype.kind not in "iu" or int(array) not in changed:
        return
    made = np.asarray(changed[int(array)], array.dtype).tobytes()
    op.properties["value"] = make_dense(of_kind(attribute, builtin.DenseIntOrFPElementsAttr).type, made)


def _is_valid(op: Operation) -> bool:
    try:
        verify_op(op)
    except VerifyException:
        return False
    return True
