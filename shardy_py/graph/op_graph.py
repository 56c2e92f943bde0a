"""The op graph of a module: which op gives values to which, for reports and explanations.

Nodes are operations, numbered in program order; among them functions (they give their arguments) and
data-flow edges (they give to every user of their targets). Edges are uses of values.

    func @main(%arg0) { %0 = stablehlo.add %arg0, %arg0; return %0 }
    nodes  0: func.func   1: stablehlo.add   2: func.return
    edges  0 -> 1 (operand 0)   0 -> 1 (operand 1)   1 -> 2 (operand 0)

Node attributes: `op`, `name`, `function` (the symbol of the function around it), `is_edge`. Edge attributes:
`value`, `result` (its index at the source), `operand` (its index at the user). Two nodes can have several
edges, so the graph is a multigraph. The flat form that propagation works on comes from here too (`program`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardy_py.graph.build import Program, RuleOf, build_program
from shardy_py.graph.calls import function_name
from shardy_py.graph.data_flow import EDGE_NAME, edge_of_target, source_values
from shardy_py.ir import operands_of, owning_op, walk_pre_order

if TYPE_CHECKING:
    import networkx as nx


class OpGraph:
    """The graph of one module, made on demand and kept; the module must not change in between."""

    def __init__(self, module: ModuleOp) -> None:
        """Take note of the module; nothing is computed yet."""
        self.module = module

    @cached_property
    def ops(self) -> tuple[Operation, ...]:
        """The operation of each node."""
        return tuple(walk_pre_order(self.module, include_root=False))

    @cached_property
    def functions(self) -> dict[str, Operation]:
        """The functions by symbol, in program order."""
        return {function_name(op): op for op in self.ops if op.name == "func.func"}

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The node of each operation, by identity."""
        return {id(op): number for number, op in enumerate(self.ops)}

    @cached_property
    def digraph(self) -> nx.MultiDiGraph[int]:
        """The graph itself, as networkx has it."""
        import networkx as nx

        graph: Any = cast(Any, nx).MultiDiGraph()
        function = ""
        for number, op in enumerate(self.ops):
            if op.name == "func.func":
                function = function_name(op)
            graph.add_node(number, op=op, name=op.name, function=function, is_edge=op.name == EDGE_NAME)
        for number, op in enumerate(self.ops):
            for operand, value in self._reads(op):
                source = self.numbers[id(self.maker(value))]
                graph.add_edge(source, number, value=value, result=_index(value), operand=operand)
        return graph

    def node(self, op: Operation) -> int:
        """The node of `op`."""
        return self.numbers[id(op)]

    def maker(self, value: SSAValue) -> Operation:
        """What gives `value`: the data-flow edge of which it is a target, or the op that defines it."""
        maker = edge_of_target(value) or owning_op(value)
        assert maker is not None
        return maker

    def program(self, rule_of: RuleOf) -> Program:
        """The flat form for propagation."""
        return build_program(self.module, rule_of)

    def _reads(self, op: Operation) -> Iterator[tuple[int, SSAValue]]:
        """What `op` reads: a data-flow edge its sources, any other op its operands."""
        values = source_values(operands_of(op)[0]) if op.name == EDGE_NAME else operands_of(op)
        return enumerate(values)


def _index(value: SSAValue) -> int:
    assert isinstance(value, OpResult | BlockArgument)
    return value.index
