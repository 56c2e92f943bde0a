"""Parts of a program as programs: consecutive ops of a block, with the shardings that their values have.

    module = Cutting(case).program([op])

What the ops use becomes an argument, what others use of them a result; constants go along. Not here: which
parts are proven (`signatures.py`, `bisection.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from shardy_py.mlir.cloning import clone
from shardy_py.mlir.dialects.sdy import (
    ManualComputationOp,
    MeshOp,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from shardy_py.mlir.dialects.traits import is_constant
from shardy_py.mlir.holders import Holder, Place, write_all
from shardy_py.mlir.ir import append_arguments, operands_of, place_at_end, type_of, walk_pre_order
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import MAIN, Symbols
from shardy_py.mlir.value_shardings import holder_of, sharding_of
from shardy_py.ops import TABLE
from shardy_py.passes.partitioned import devices_for
from shardy_py.run.proof.case import Case
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import meshes_with_axes


class Cutting:
    """Cuts parts out of the whole program of a case."""

    def __init__(self, case: Case) -> None:
        self._meshes = case.partitioned.meshes
        self._mesh = next(iter(meshes_with_axes(self._meshes)), None)
        largest = max(self._meshes, key=lambda name: devices_for(self._meshes[name]), default=None)
        self._kept = {name for name in (self._mesh, largest) if name is not None}
        self._symbols = Symbols(case.whole)
        self._found: dict[SSAValue, TensorSharding | None] = {}
        self._known: dict[SSAValue, TensorSharding | None] = {}
        for counterpart in case.found.values():
            for value in counterpart.whole:
                self._found.setdefault(value, counterpart.sharding)

    def sharding(self, value: SSAValue) -> TensorSharding | None:
        """Returns the sharding of a value where it was partitioned; None: no mesh, or not a tensor.

        Unreduced only if the program says so, not where its reduction comes later. Collectives of sdy name
        the axes that their operands have in the program.
        """
        if value not in self._known:
            self._known[value] = self._sharding(value)
        return self._known[value]

    def _sharding(self, value: SSAValue) -> TensorSharding | None:
        tensor = tensor_type(type_of(value))
        if tensor is None or self._mesh is None:
            return None
        own = sharding_of(value)
        if own is not None and (own.unreduced_axes or _is_of_collective(value)):
            return own
        sharding = self._found.get(value, own) or TensorSharding.fully_closed(self._mesh, tensor.rank)
        if sharding.unreduced_axes:
            sharding = replace(sharding, unreduced_axes=(), reduction="sum")
        return sharding

    def program(self, ops: Sequence[Operation]) -> ModuleOp:
        """Returns the program of consecutive ops of a block."""
        inside = {inner for op in ops for inner in walk_pre_order(op)}
        used = dict.fromkeys(value for value in _used(ops) if not _is_defined_in(value, inside))
        makers = {value: _constant_ops(value) for value in used}
        constants = [op for made in makers.values() for op in made]
        arguments = [value for value, made in makers.items() if not made]
        results = [result for op in ops for result in op.results if _is_used_outside(result, inside)]
        block, mapping = Block(), dict[SSAValue, SSAValue]()
        places = [(type_of(value), ops[0].location) for value in arguments]
        mapping.update(zip(arguments, append_arguments(block, places), strict=True))
        for op in (*dict.fromkeys(constants), *ops):
            place_at_end(clone(op, mapping), block)
        end = ReturnOp(*(mapping[value] for value in results))
        place_at_end(end, block)
        types = [[type_of(value) for value in side] for side in (arguments, results)]
        function = FuncOp(MAIN, FunctionType.from_lists(*types), Region(block), "public")
        for op in (function, end):
            op.location = ops[0].location
        self._annotate(function, arguments, results, mapping)
        functions = [*(clone(callee, {}) for callee in self._callees(ops)), function]
        module = ModuleOp([*self._meshes_of(functions), *functions])
        module.location = ops[0].location
        return module

    def _meshes_of(self, functions: Sequence[Operation]) -> list[Operation]:
        """The meshes that functions name, the default one, and one of as many devices as the program has."""
        ops = (op for function in functions for op in walk_pre_order(function))
        attributes = (each for op in ops for each in (*op.properties.values(), *op.attributes.values()))
        names = {name for attribute in attributes for name in _mesh_names(attribute)} | self._kept
        return [MeshOp(name, self._meshes[name]) for name in self._meshes if name in names]

    def _annotate(
        self,
        function: FuncOp,
        arguments: Sequence[SSAValue],
        results: Sequence[SSAValue],
        mapping: dict[SSAValue, SSAValue],
    ) -> None:
        for place, values in ((Place.ARGUMENT, arguments), (Place.FUNCTION_RESULT, results)):
            pairs = ((Holder(place, function, i), self.sharding(value)) for i, value in enumerate(values))
            write_all((holder, sharding) for holder, sharding in pairs if sharding is not None)
        shardings = ((holder_of(mapping[value]), self.sharding(value)) for value in results)
        write_all((holder, sharding) for holder, sharding in shardings if holder and sharding is not None)

    def _callees(self, ops: Sequence[Operation]) -> list[Operation]:
        """The functions that the ops refer to, and those that these refer to."""
        found: dict[Operation, None] = {}
        pending = list(ops)
        while pending:
            for name in _references(pending.pop()):
                callee = self._symbols.get(name)
                if isinstance(callee, FuncOp) and callee not in found:
                    found[callee] = None
                    pending.append(callee)
        return list(found)


def _is_of_collective(value: SSAValue) -> bool:
    """True if a collective along axes makes or reads the value."""
    users = [use.operation for use in value.uses]
    ops = [value.op, *users] if isinstance(value, OpResult) else users
    rows = [TABLE[op.name].collective for op in ops]
    return any(row is not None and not row.names_devices for row in rows)


def outside_manual_computations(op: Operation) -> Operation:
    """Returns the outermost manual computation around an op, or the op: its body means what it is in."""
    result, around = op, op.parent_op()
    while around is not None:
        if isinstance(around, ManualComputationOp):
            result = around
        around = around.parent_op()
    return result


def _used(ops: Sequence[Operation]) -> Iterator[SSAValue]:
    return (value for op in ops for inner in walk_pre_order(op) for value in operands_of(inner))


def _constant_ops(value: SSAValue) -> list[Operation]:
    """The ops that make a constant, or a scalar from constants only; [] if the value is neither.

    A partitioner may read constants, as the initial values of reductions.
    """
    if not isinstance(value, OpResult):
        return []
    op = value.op
    if is_constant(op):
        return [op]
    tensor = tensor_type(type_of(value))
    if op.regions or not operands_of(op) or tensor is None or tensor.rank:
        return []
    before = [_constant_ops(operand) for operand in operands_of(op)]
    return [*(inner for made in before for inner in made), op] if all(before) else []


def _is_defined_in(value: SSAValue, inside: set[Operation]) -> bool:
    owner = value.owner
    return (owner.parent_op() if isinstance(owner, Block) else owner) in inside


def _is_used_outside(result: SSAValue, inside: set[Operation]) -> bool:
    users = [use.operation for use in result.uses]
    return not users or any(user not in inside for user in users)


def _references(op: Operation) -> Iterator[str]:
    """The symbols that an op and those in it refer to."""
    for inner in walk_pre_order(op):
        for attribute in (*inner.properties.values(), *inner.attributes.values()):
            yield from _symbols_in(attribute)


def _mesh_names(attribute: Attribute) -> Iterator[str]:
    """The names of meshes in the shardings of an attribute."""
    for each in attribute.data.values() if isinstance(attribute, DictionaryAttr) else _listed(attribute):
        yield from _mesh_names(each)
    if isinstance(attribute, TensorShardingAttr | TensorShardingPerValueAttr):
        data = (attribute.data,) if isinstance(attribute, TensorShardingAttr) else attribute.data
        yield from (sharding.mesh for sharding in data if isinstance(sharding.mesh, str))


def _symbols_in(attribute: Attribute) -> Iterator[str]:
    if isinstance(attribute, SymbolRefAttr):
        yield attribute.root_reference.data
    for inner in _listed(attribute):
        yield from _symbols_in(inner)


def _listed(attribute: Attribute) -> Sequence[Attribute]:
    """The elements of an array; () for other attributes."""
    return cast("ArrayAttr[Attribute]", attribute).data if isinstance(attribute, ArrayAttr) else ()
