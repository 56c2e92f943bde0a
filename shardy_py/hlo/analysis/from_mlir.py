"""Functions of a StableHLO module as functions of the analysis: the only file of this folder that uses xDSL.

Ops that only pass values on (barriers, data-flow edges, tuples) are not nodes; regions that compute (of
`while`, `case`, `if`, named computations) become bodies, with captured values as further parameters.

>>> from shardy_py.mlir.dialects import parse_module
>>> module = parse_module('''func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
...   %0 = stablehlo.negate %arg0 : tensor<4xf32>
...   return %0 : tensor<4xf32>
... }''')
>>> function = mlir_function(module)
>>> [node.name for node in function.nodes], function.parameter_names
(['0'], ('arg0',))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.hlo.analysis.function import Body, Form, Function, Node, Numbering, element_of
from shardy_py.mlir.dialects import syntax_table
from shardy_py.mlir.ir import find_ops, terminator_of
from shardy_py.mlir.nesting import free_values
from shardy_py.mlir.op_errors import place_of
from shardy_py.mlir.plain import plain, tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.symbols import function_name
from shardy_py.mlir.text.naming import ValueNames
from shardy_py.mlir.text.source import position_of
from shardy_py.ops import TABLE, Control, Storage, TensorType

_MAX_CALL_DEPTH = 100
Values = tuple[int, ...]


def mlir_function(module: ModuleOp, name: str = "") -> Function:
    """The function of that name; by default `@main`, or the first one."""
    functions = mlir_functions(module, (name,) if name else ())
    return functions.get(name or "main") or next(iter(functions.values()))


def mlir_functions(module: ModuleOp, names: Sequence[str] = ()) -> dict[str, Function]:
    """The functions of these names, or all, in program order."""
    symbols = {function_name(op): op for op in find_ops(module, FuncOp.name)}
    if not symbols:
        raise ShardyError(Diagnostic("the module has no function", place_of(module)))
    for name in names:
        if name not in symbols:
            raise ShardyError.unknown("function", f"@{name}", [f"@{symbol}" for symbol in symbols])
    context = _Context(symbols, ValueNames(module, syntax_table()))
    return {name: context.function(name) for name in names or symbols}


class _Context:
    """The functions of a module, each converted once."""

    def __init__(self, symbols: dict[str, Operation], names: ValueNames) -> None:
        self.symbols = symbols
        self.names = names
        self.functions: dict[str, Function] = {}
        self.callers: list[str] = []

    def function(self, name: str) -> Function:
        if name not in self.functions:
            if name in self.callers or len(self.callers) > _MAX_CALL_DEPTH or name not in self.symbols:
                why = "recursion or too deep calls of" if name in self.symbols else "call of unknown"
                raise ShardyError(f"{why} function @{name}")
            self.callers.append(name)
            self.functions[name] = _Region(self, self.symbols[name].regions[0], name, ()).function()
            self.callers.pop()
        return self.functions[name]

    def name_of(self, value: SSAValue) -> str:
        return self.names.of.get(id(value), "").removeprefix("%")


class _Region:
    """A region with one block as a function of its arguments and captured values."""

    def __init__(self, context: _Context, region: Region, name: str, captured: Sequence[SSAValue]) -> None:
        self.context = context
        self.name = name
        self.region = region
        self.block: Block | None = region.first_block
        if self.block is not None and self.block.next_block is not None:
            raise ShardyError.unsupported(f"@{name}: a region with several blocks")
        self.captured = captured
        self.numbering = Numbering()
        self.values: dict[int, Values] = {}

    def function(self) -> Function:
        for value in (*(self.block.args if self.block else ()), *self.captured):
            leaves = self.numbering.parameters(self.context.name_of(value), _leaves(value.type))
            self.values[id(value)] = leaves
        results: Values = ()
        terminator = terminator_of(self.region)
        for op in self.block.ops if self.block else ():
            if op is terminator:
                results = self.leaves_of(op.operands)
            else:
                self.convert(op)
        return self.numbering.function(self.name, results)

    def leaves_of(self, values: Sequence[SSAValue]) -> Values:
        return tuple(number for value in values for number in self.values[id(value)])

    def convert(self, op: Operation) -> None:
        row = TABLE[op.name]
        if row.is_wire:
            given = self.leaves_of(op.operands)
            passed = _element(op, given) if row.storage is Storage.ELEMENT else _each(op, given)
            for result, leaves in zip(op.results, passed, strict=True):
                self.values[id(result)] = leaves
            return
        record = record_of(op)
        operands, results = _flat(op.operands), _flat(op.results)
        if (operands, results) != (record.operands, record.results):
            record = replace(record, operands=operands, results=results)
        form = _FORMS.get(row.control, "op")
        captured = tuple(dict.fromkeys(free_values(op))) if form != "op" and op.regions else ()
        bodies = self.bodies(op, form, captured)
        if captured:
            record = replace(record, operands=(*operands, *_flat(captured)))
        name = self.context.name_of(op.results[0]) if op.results else ""
        flat = self.leaves_of([*op.operands, *captured])
        place = position_of(op.location)
        self.numbering.nodes.append(Node(name.partition("#")[0], record, flat, form, bodies, place))
        for result in op.results:
            self.values[id(result)] = self.numbering.results(_leaves(result.type))

    def bodies(self, op: Operation, form: Form, captured: Sequence[SSAValue]) -> tuple[Body, ...]:
        if form == "op":
            return ()
        if not op.regions:
            callee = op.properties.get("callee") or op.properties["decomposition"]
            function = self.context.function(plain(callee))
            return (Body(function, tuple(range(len(function.parameters)))),)
        own = len(_flat(op.operands))
        last = own + len(_flat(captured))
        inputs = (() if form == "branches" else tuple(range(own))) + tuple(range(own, last))
        functions = (_Region(self.context, region, op.name, captured).function() for region in op.regions)
        return tuple(Body(function, inputs) for function in functions)


def _leaves(attribute: Attribute) -> tuple[TensorType | None, ...]:
    """The tensor types of a type: its own, or those of a tuple's parts."""
    if isinstance(attribute, TupleType):
        return tuple(leaf for part in attribute.types for leaf in _leaves(part))
    return (tensor_type(attribute),)


def _flat(values: Sequence[SSAValue]) -> tuple[TensorType | None, ...]:
    return tuple(leaf for value in values for leaf in _leaves(value.type))


def _each(op: Operation, given: Values) -> Sequence[Values]:
    """The leaves of the results, which are those of the operands in order."""
    leaves: list[Values] = []
    for result in op.results:
        count = len(_leaves(result.type))
        leaves.append(given[:count])
        given = given[count:]
    return leaves


def _element(op: Operation, given: Values) -> Sequence[Values]:
    kind = op.operands[0].type
    assert isinstance(kind, TupleType)
    return [element_of(given, [len(_leaves(part)) for part in kind.types], plain(op.properties["index"]))]


_FORMS: dict[Control, Form] = {
    Control.CALL: "call",
    Control.REGION: "call",
    Control.BRANCHES: "branches",
    Control.LOOP: "loop",
}
