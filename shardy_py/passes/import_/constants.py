"""Splits constants before propagation, so that each has one use; see `equal_constants.py` for the reverse."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.traits import IsTerminator

from shardy_py.mlir import ir
from shardy_py.mlir.calls import FunctionCopies, calls_by_function, functions_bottom_up, original_name
from shardy_py.mlir.cloning import Expression, Mapping, clone
from shardy_py.mlir.dialects.sdy import ConstantOp, NamedComputationOp, ShardingGroupOp
from shardy_py.mlir.dialects.stablehlo import op_class
from shardy_py.mlir.dialects.traits import UnfoldableConstant, is_commutative
from shardy_py.mlir.movements import note_copies
from shardy_py.mlir.nesting import innermost_first
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import Symbols, set_callee
from shardy_py.mlir.typed import text_of
from shardy_py.ops import TABLE, Control
from shardy_py.passes.options import CopyOptions
from shardy_py.passes.rewrites import put_constants_last


class Kind(Enum):
    """When the results of an op are constant.

    SOURCE: always. PRESERVING: if its operands are; with dynamic sizes, also subject to `is_preserving`.
    BITCAST: the same, subject to `is_preserving` for all types. CALL, COMPUTATION: depends on the callee or
    region. IGNORED: it has no results. TERMINATOR: it passes its operands on. OTHER: never.
    """

    SOURCE = 0
    PRESERVING = 1
    CALL = 2
    COMPUTATION = 3
    IGNORED = 4
    TERMINATOR = 5
    OTHER = 6
    BITCAST = 7


@lru_cache(maxsize=4096)
def kind_of(op_class: type[Operation]) -> Kind:
    """The kind of the ops of a class."""
    row = TABLE[op_class.name]
    if issubclass(op_class, CallOp):
        return Kind.CALL
    if issubclass(op_class, FuncOp | ShardingGroupOp):
        return Kind.IGNORED
    if op_class.get_trait(UnfoldableConstant) is not None:
        return Kind.SOURCE
    if row.control is Control.REGION:
        return Kind.COMPUTATION
    if row.makes_constants:
        return Kind.BITCAST if callable(row.is_elementwise) else Kind.PRESERVING
    return Kind.TERMINATOR if op_class.get_trait(IsTerminator) is not None else Kind.OTHER


def is_preserving(op: Operation) -> bool:
    """Returns whether an op of kind PRESERVING or BITCAST has constant results for constant operands.

    It has if the op is valid for all sizes of its dynamic dimensions.
    """
    row = TABLE[op.name]
    operands = [tensor_type(ir.type_of(value)) for value in ir.operands_of(op)]
    result = tensor_type(ir.type_of(next(iter(op.results))))
    shapes = [operand.shape if operand else () for operand in operands]
    if callable(row.is_elementwise) and (result is None or shapes[0] != result.shape):
        return False
    if not any(None in shape for shape in shapes) or not op.name.startswith("stablehlo."):
        return True
    if len(operands) > 1 or row.needs_static_operand or result is None:
        return False
    pairs = zip(shapes[0], result.shape, strict=False)
    return all(size is not None for size, given in pairs if given is not None)


def constant_or_scalar_splitter(module: ModuleOp) -> None:
    """`sdy-constant-or-scalar-splitter`: gives every use of a constant or broadcast scalar a copy of its own.

    Expressions of constants are copied as a whole. So the uses of a constant need not share a sharding.
    Constants become `sdy.constant`, which no folder merges again.

    before  %c = stablehlo.constant ...              stablehlo.add %c, %a           stablehlo.add %c, %b
    after   %0 = sdy.constant ...  %1 = sdy.constant ...  stablehlo.add %0, %a      stablehlo.add %1, %b
    """
    convert_constants(module)
    split_constants(module)


Broadcast, Constant = op_class("broadcast_in_dim"), op_class("constant")


def convert_constants(module: ModuleOp) -> None:
    """Replaces `stablehlo.constant` by `sdy.constant`, and makes constants last operands, as folding does."""
    renew_uses(module)
    for op in ir.find_ops_where(module, lambda op: op.__class__ is Constant or is_commutative(op)):
        if op.__class__ is Constant:
            ir.convert(op, ConstantOp)
        else:
            put_constants_last(op)


def split_constants(module: ModuleOp) -> None:
    """Gives each use of a constant or broadcast scalar its own copy, in functions bottom up."""
    splitter = _Splitter(Symbols(module))
    for function in functions_bottom_up(module):
        name = original_name(function).data
        for computation in innermost_first(ir.find_ops(function, NamedComputationOp.name)):
            splitter.split(computation.regions[0], name)
        splitter.split(function.regions[0], name)


class _Splitter:
    """Splits region by region; keeps the functions and named computations whose results are not constant."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._copies: FunctionCopies | None = None
        self._varying_computations: set[str] = set()
        self._varying_functions: set[str] = set()
        self._groups: dict[int, list[Operation]] = {}
        self._expressions: dict[int, Expression] = {}

    def split(self, region: Region, function_name: str) -> None:
        """Splits the constants of a region, except in named computations within it."""
        constants: list[Operation] = []
        expansions: list[Operation] = []
        of_constants: set[int] = set()
        to_split: set[int] = set()  # results of constants and expansions
        noted: Block | None = None
        ignored, other = Kind.IGNORED, Kind.OTHER
        kinds: dict[type[Operation], Kind] = {}
        for op in _ops_outside_computations(region):
            kind = kinds.get(op.__class__)
            if kind is None:
                kind = kinds[op.__class__] = kind_of(op.__class__)
            if kind is ignored:
                continue
            operands = ir.operands_of(op)
            if kind is not other and _are_in(operands, of_constants):
                preserves = self._preserves(op, kind)
                if preserves:
                    constants.append(op)
                    results = [*map(id, op.results)]
                    of_constants.update(results)
                    to_split.update(results)
                    continue
            else:
                preserves = op.parent is noted or self._preserves(op, kind)
            if not preserves and kind is not Kind.TERMINATOR:
                self._note_varying(op, function_name)
                noted = op.parent
            if op.__class__ is Broadcast and is_scalar(*operands):
                expansions.append(op)
                to_split.update(map(id, op.results))
            elif not to_split.isdisjoint(map(id, operands)):
                for index, value in enumerate(operands):
                    if id(value) in to_split:
                        self._give_own_copy(op, index, cast("OpResult[Attribute]", value))
        for op in (*expansions, *reversed(constants)):
            _erase_if_unused(op)

    def _preserves(self, op: Operation, kind: Kind) -> bool:
        if kind is Kind.PRESERVING or kind is Kind.BITCAST:
            return is_preserving(op)
        if kind is Kind.CALL:
            return original_name(self._symbols.callee(op)).data not in self._varying_functions
        if kind is Kind.COMPUTATION:
            return _computation_name(op) not in self._varying_computations
        return kind is Kind.SOURCE

    def _note_varying(self, op: Operation, function_name: str) -> None:
        parent = op.parent_op()
        while parent is not None and type(parent) is not NamedComputationOp:  # faster than isinstance: an ABC
            parent = parent.parent_op()
        if parent is not None:
            self._varying_computations.add(_computation_name(parent))
        self._varying_functions.add(function_name)

    def _give_own_copy(self, user: Operation, index: int, value: OpResult) -> None:
        """Makes operand `index` of `user` a copy of the constant `value` that nothing else uses."""
        if is_scalar(value):
            return
        mapping: Mapping = {}
        if not _keeps(value.op):
            self._copy(value, mapping)
        elif _is_leaf(value.op):
            return
        else:
            self._copy_operands(value, mapping)
        note_copies(mapping)
        own = mapping[value]
        if own is not value:
            ir.replace_operand(user, index, own)

    def _copy_operands(self, root: OpResult, mapping: Mapping) -> None:
        """Maps `root`, which has no other use, to itself, and what it is computed from alike or to copies.

        Not recursive: chains are long. An index is that of an operand to replace once it is mapped.
        """
        pending: list[tuple[OpResult, int | None]] = [(root, None)]
        while pending:
            value, index = pending.pop()
            op = value.op
            if index is not None:
                operand = ir.operands_of(op)[index]
                own = mapping.get(operand, operand)
                if own is not operand:
                    ir.replace_operand(op, index, own)
            elif value in mapping or is_scalar(value):
                continue
            elif _keeps(op):
                mapping[value] = value
                for index, operand in reversed([*enumerate(ir.operands_of(op))]):
                    if isinstance(operand, OpResult):
                        pending += (value, index), (operand, None)
            else:
                self._copy(value, mapping)

    def _copy(self, root: OpResult, mapping: Mapping) -> None:
        """Maps `root`, and all values that it is computed from, to copies."""
        expression = self._expressions.get(id(root))
        if expression is None:
            values = _computed_from(root)
            is_simple = not any(type(value.op) is CallOp or self._groups_of(value) for value in values)
            expression = self._expressions[id(root)] = Expression(values, is_simple=is_simple)
        if expression.is_simple and expression.members.isdisjoint(mapping):
            expression.copy_in_place(mapping)
            return
        for value in expression.values:
            if value not in mapping:
                self._clone(value, mapping)

    def _clone(self, value: OpResult, mapping: Mapping) -> None:
        """Inserts a clone of the op of `value`, on copies of its operands, before it; groups include it."""
        op = value.op
        copy = clone(op, mapping)
        ir.place_before(copy, op)
        if isinstance(copy, CallOp):
            if self._copies is None:
                self._copies = FunctionCopies(self._symbols, CopyOptions.max_copied_ops)
                self._copies.check(calls_by_function(self._symbols.module))
            function = self._copies.copy(self._symbols.callee(copy))
            set_callee(copy, self._symbols.insert(function))
        for group in self._groups_of(value):
            ir.place_before(clone(group, mapping), op)

    def _groups_of(self, value: OpResult) -> list[Operation]:
        """The sharding groups of a value, newest use first; searched once, as it may have many uses."""
        groups = self._groups.get(id(value))
        if groups is None:
            users = (use.operation for use in value.uses)
            groups = self._groups[id(value)] = [user for user in users if type(user) is ShardingGroupOp]
        return groups


def _computed_from(root: OpResult) -> list[OpResult]:
    """`root` and the results of ops that it is computed from, operands first, but scalars."""
    ordered: dict[OpResult, None] = {}
    pending = [(root, False)]
    while pending:
        value, is_ready = pending.pop()
        if is_ready:
            ordered[value] = None
        elif value not in ordered and not is_scalar(value):
            pending.append((value, True))
            operands = reversed(ir.operands_of(value.op))
            pending += ((operand, False) for operand in operands if isinstance(operand, OpResult))
    return [*ordered]


def _are_in(values: Sequence[SSAValue], identities: set[int]) -> bool:
    """Returns whether the identity of each value is in the set."""
    if not values or id(values[0]) in identities:
        return identities.issuperset(map(id, values))
    return False


def is_scalar(value: SSAValue) -> bool:
    """Returns whether `value` is a tensor of rank 0."""
    tensor = tensor_type(ir.type_of(value))
    return tensor is not None and not tensor.shape


def _is_leaf(op: Operation) -> bool:
    """Returns whether a copy of `op` uses the same operands: scalars, or none."""
    if op.__class__ is Constant or op.__class__ is ConstantOp:
        return True
    return op.__class__ is Broadcast and all(map(is_scalar, ir.operands_of(op)))


def _keeps(op: Operation) -> bool:
    """Returns whether the only use of `op` may have it without a copy; calls get a callee of their own."""
    if len(op.results) != 1 or op.__class__ is CallOp:
        return False
    (result,) = op.results
    use = result.first_use
    return use is not None and ir.next_use(use) is None


def _erase_if_unused(op: Operation) -> None:
    users: list[Operation] = []
    for result in op.results:
        use = result.first_use
        if use is not None:
            if type(ir.user_of(use)) is not ShardingGroupOp:
                return
            users += [use.operation for use in result.uses]
    if all(isinstance(user, ShardingGroupOp) for user in users):
        for user in users:
            ir.erase(user)
        ir.erase(op)


def _computation_name(op: Operation) -> str:
    return text_of(op, "name")


def _ops_outside_computations(region: Region) -> list[Operation]:
    """The ops of a region in program order, without those in named computations."""
    found: list[Operation] = []
    stack: list[Operation | None] = [block.first_op for block in reversed(region.blocks)]
    while stack:
        op = stack.pop()
        while op is not None:
            following = ir.next_op(op)
            found.append(op)
            if op.regions and type(op) is not NamedComputationOp:
                stack.append(following)
                for inner in reversed(op.regions):
                    stack.extend(block.first_op for block in reversed(inner.blocks))
                break
            op = following
    return found


def renew_uses(module: Operation) -> None:
    """Sorts the uses of each value in program order, an op before the ops in its regions, the last use first.

    Only operands of ops with regions can have their uses in another order.
    """
    taken = {id(value): value for op in ir.ops_with_regions(module) for value in ir.operands_of(op)}
    nested = [value for value in taken.values() if len({use.operation.parent for use in value.uses}) > 1]
    if not nested:
        return
    positions = {id(op): position for position, op in enumerate(ir.walk_pre_order(module))}
    for value in nested:
        for use in sorted(value.uses, key=lambda use: (positions[id(use.operation)], use.index)):
            value.remove_use(use)
            value.add_use(use)
