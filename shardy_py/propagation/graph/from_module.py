"""From a module to its op graph, in two walks: all nodes in program order, then the uses of every value.

    graph = op_graph(module, rule_of)       see `propagation/op_graph.py`

The edges from a node are in MLIR's order of uses, newest first, in which propagation revisits users. Not
here: the flat program of the fast engine (`build.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import networkx
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from shardy_py.base.errors import located
from shardy_py.base.terminal import without_controls
from shardy_py.mlir.calls import Calls
from shardy_py.mlir.data_flow import (
    argument_owners,
    edge_of_source,
    edge_of_target,
    edge_sources,
    edge_targets,
    result_owners,
)
from shardy_py.mlir.dialects.sdy import (
    DataFlowEdgeOp,
    FuncDataFlowEdgeOp,
    MeshOp,
    PropagationBarrierOp,
    ShardingGroupOp,
)
from shardy_py.mlir.dialects.sdy.interfaces import Source, manual_axes
from shardy_py.mlir.dialects.traits import is_dead_when_unused, is_terminator, required_data_flow
from shardy_py.mlir.holders import RULE
from shardy_py.mlir.ir import blocks_of, find_ops, operands_of, owning_op, walk_pre_order, written_name
from shardy_py.mlir.op_errors import place_of
from shardy_py.mlir.plain import plain, tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.symbols import MAIN, Symbols, callee_name, function_name
from shardy_py.mlir.typed import of_kind
from shardy_py.mlir.value_table import ValueEntry, ValueTable, location_text
from shardy_py.ops import TABLE, Control, OpRecord, Role, row_of
from shardy_py.propagation.flat import Direction, ManualBoundary, StepKind
from shardy_py.propagation.graph.build import RuleOf, identity_rule
from shardy_py.propagation.op_graph import (
    GraphValue,
    OpGraph,
    OpNode,
    ValueKey,
    add_node,
    nodes_of,
    note_reads,
)

WorkOf = Callable[[Operation], Mapping[str, float]]
"""Returns the work of an op, as attributes of its node."""
_IDENTITIES = (DataFlowEdgeOp, FuncDataFlowEdgeOp)


def op_graph(
    module: ModuleOp,
    rule_of: RuleOf,
    *,
    target: str = "linear",
    values: ValueTable | None = None,
    work_of: WorkOf | None = None,
) -> OpGraph:
    """Returns the op graph of a module, with the shardings that it has.

    rule_of: the rule of an op that has none as an attribute. target: whose layouts the values get. values:
    those of the module, if they are collected already. work_of: more attributes of the node of an op.
    """
    return _Builder(module, rule_of, target, values or ValueTable(module), work_of).build()


class _Builder:
    def __init__(
        self, module: ModuleOp, rule_of: RuleOf, target: str, table: ValueTable, work_of: WorkOf | None
    ) -> None:
        self.module, self.table, self.target = module, table, target
        self.meshes = Symbols(module).meshes()
        self.graph: OpGraph = networkx.MultiDiGraph(meshes=self.meshes)
        self.keys: dict[int, ValueKey] = {}
        """By identity of a value, the value."""
        self.nodes: dict[int, str] = {}
        """By identity of an op, its node."""
        self.results: dict[tuple[str, int], str] = {}
        """By function and number, the nodes of the results of functions."""
        self.holders: dict[ValueKey, ValueKey | None] = {}
        """The value that has the sharding of a value, itself or another; None: it cannot have one."""
        self.owners: dict[int, SSAValue] = {}
        """By identity of an argument of a region, the value that owns its edge, or would."""
        self._rule_of, self._work_of = rule_of, work_of
        self._used = Counter[str]()
        self._calls = Calls()
        for op in find_ops(module, FuncOp.name, CallOp.name):
            self._calls.add(op)

    def build(self) -> OpGraph:
        entries: dict[int, list[ValueEntry]] = {}
        for entry in self.table.entries:
            entries.setdefault(id(entry.op), []).append(entry)
        function: FuncOp | None = None
        for op in walk_pre_order(self.module, include_root=False):
            self.owners.update((id(argument), owner) for argument, owner in _owners(op))
            own = entries.get(id(op), [])
            if isinstance(op, FuncOp):
                self._add_values(function, entries, is_result=True)
                function = op
            elif not (isinstance(op, ModuleOp | MeshOp) or is_terminator(op)):
                results = [entry for entry in own if not isinstance(entry.value, BlockArgument)]
                self._add_op(op, results, "" if function is None else function_name(function))
            self._add_values(op, entries, is_result=False)
        self._add_values(function, entries, is_result=True)
        self._add_holders()
        flows = self._flows()
        for entry in self.table.entries:
            if entry.value is not None:
                self._add_uses(entry.value, flows)
        note_reads(self.graph)
        return self.graph

    def _key(self, name: str) -> str:
        """A name that no node has yet: values of different regions may share one."""
        name = without_controls(name, lines=False)
        self._used[name] += 1
        return name if self._used[name] == 1 else f"{name} ({self._used[name]})"

    def _add_values(
        self, op: Operation | None, entries: Mapping[int, Sequence[ValueEntry]], *, is_result: bool
    ) -> None:
        """Adds the arguments of an op's regions, or the results of a function."""
        for entry in entries.get(id(op), ()):
            if entry.value is None if is_result else isinstance(entry.value, BlockArgument):
                self._add_value(entry.op, entry)

    def _add_op(self, op: Operation, results: list[ValueEntry], function: str) -> None:
        op = cast(Any, op)
        name = written_name(op)
        key = self._key(str(results[0]).partition("#")[0] if results else name)
        self.nodes[id(op)] = key
        for number, entry in enumerate(results):
            self.keys[id(entry.value)] = (key, number)
        parent, region = self._around(op)
        record = record_of(op)
        is_group = isinstance(op, ShardingGroupOp)
        node = OpNode(
            *(name, "op", tuple(map(self._value, results)), function, parent, region),
            location_text(op.location),
            record=record,
            step=self._step(op, record),
            group=plain(op.properties["group_id"]) if is_group else None,
            is_removable=is_dead_when_unused(op),
        )
        add_node(self.graph, key, node)
        if self._work_of is not None:
            self.graph.add_node(key, **self._work_of(op))

    def _add_value(self, op: Operation, entry: ValueEntry) -> None:
        """Adds an argument, or a result of a function."""
        key = self._key(str(entry))
        parent, region = "", 0
        if entry.value is None:
            self.results[entry.function, entry.index] = key
        else:
            self.keys[id(entry.value)] = (key, 0)
            if not isinstance(op, FuncOp):
                parent = self.nodes[id(op)]
                region = op.regions.index(cast(Any, entry.value.owner).parent)
        kind = "result" if entry.value is None else "argument"
        values, location = (self._value(entry),), location_text(entry.location)
        node = OpNode(op.name, kind, values, entry.function, parent, region, location, entry.label)
        functions = self._calls.functions
        main = functions.get(MAIN) if len(functions) > 1 else op
        if kind == "result" and op is main and (rule := identity_rule(entry.type, 1)) is not None:
            node = replace(node, step=StepKind(rule, is_edge=True))
        add_node(self.graph, key, node)

    def _value(self, entry: ValueEntry) -> GraphValue:
        type_ = tensor_type(entry.type)
        shape, element = (None, "") if type_ is None else (type_.shape, type_.element)
        value = GraphValue(str(entry), shape, element, self.target)
        return value.sharded(entry.sharding, self.meshes)

    def _around(self, op: Operation) -> tuple[str, int]:
        """The node of the op around and the number of its region."""
        outer = op.parent_op()
        if outer is None or id(outer) not in self.nodes:
            return "", 0
        return self.nodes[id(outer)], outer.regions.index(of_kind(op.parent_region(), Region))

    def _step(self, op: Operation, record: OpRecord) -> StepKind | None:
        """How shardings propagate through an op, but for the users of its operands."""
        if isinstance(op, _IDENTITIES):
            sources = self._sources(op)
            rule = identity_rule(op.results[0].type, len(sources)) if sources else None
            boundary = _boundary(op) if isinstance(op, DataFlowEdgeOp) else None
            return rule and StepKind(rule, Role.PASS_THROUGH, boundary=boundary, is_edge=True)
        if isinstance(op, PropagationBarrierOp):
            rule = identity_rule(op.results[0].type, 1)
            direction = Direction[op.direction]
            return rule and StepKind(rule, Role.BARRIER, True, barrier_direction=direction)
        given = op.attributes.get(RULE)
        if given is None and not record.is_static:
            return None
        with located(place_of(op)):
            rule = self._rule_of(record) if given is None else plain(given)
        if rule is None:
            return None
        row = row_of(record)
        elementwise = row.elementwise(record)
        return StepKind(rule, Role.PASS_THROUGH if elementwise else row.role, elementwise)

    def _sources(self, edge: Operation) -> list[Source]:
        """The uses that flow into a data-flow edge."""
        owner = operands_of(edge)[0]
        if isinstance(edge, DataFlowEdgeOp):
            return [*edge_sources(owner)]
        around = owning_op(owner)
        if isinstance(owner, BlockArgument):
            return [(call, owner.index) for call in self._calls.of_function(around)]
        function = None if around is None else self._calls.functions.get(callee_name(around))
        block = None if function is None else function.regions[0].first_block
        last = None if block is None else block.last_op
        return [] if last is None else [(last, cast(Any, owner).index)]

    def _flows(self) -> dict[tuple[int, int], list[tuple[str, int, str, bool]]]:
        """By user and operand: the nodes that the value flows to."""
        flows: dict[tuple[int, int], list[tuple[str, int, str, bool]]] = {}
        for op in walk_pre_order(self.module, include_root=False):
            if isinstance(op, _IDENTITIES):
                for number, (user, index) in enumerate(self._sources(op)):
                    is_woken = not isinstance(op, DataFlowEdgeOp) or edge_of_source(user, index) is op
                    flow = (self.nodes[id(op)], number, "flow", is_woken)
                    flows.setdefault((id(user), index), []).append(flow)
            for argument, index in _entered(op):
                flows.setdefault((id(op), index), []).append((self.keys[id(argument)][0], 0, "enter", False))
        return flows

    def _add_holders(self) -> None:
        """Notes which values share a sharding: the targets of an edge that of the edge."""
        for entry in self.table.entries:
            if entry.value is None:
                key = self.results[entry.function, entry.index], 0
                self.holders[key] = key
                continue
            key = self.keys[id(entry.value)]
            edge, around = edge_of_target(entry.value), owning_op(entry.value)
            self.holders[key] = key
            if edge is not None:
                holder = self.holders[key] = self.keys[id(edge.results[0])]
                if entry.value is not operands_of(edge)[0]:
                    self.graph.add_edge(holder[0], key[0], kind="flow", result=0, operand=0, use=-1)
            elif isinstance(entry.value, BlockArgument) and not isinstance(around, FuncOp):
                self.holders[key] = self._holder_of_argument(entry.value, around)
        for key, node in nodes_of(self.graph).items():
            held = (replace(v, holder=self.holders[key, number]) for number, v in enumerate(node.values))
            self.graph.add_node(key, node=replace(node, values=tuple(held)))
        for maker, _, data in self.graph.edges(data=True):  # to targets
            data |= self.graph.nodes[maker]["node"].values[0].attributes

    def _holder_of_argument(self, value: BlockArgument, around: Operation | None) -> ValueKey | None:
        """That of an argument of a region without an edge."""
        if around is not None and TABLE[around.name].control is Control.ASYNC:
            outer = operands_of(around)[value.index]
            return self.holders[self.keys[id(outer)]]
        owner = self.owners.get(id(value))
        return None if owner is None else self.keys[id(owner)]

    def _add_uses(
        self, value: SSAValue, flows: dict[tuple[int, int], list[tuple[str, int, str, bool]]]
    ) -> None:
        maker, result = self.keys[id(value)]
        shown = self.graph.nodes[maker]["node"].values[result].attributes
        for number, use in enumerate(value.uses):
            user, index = use.operation, use.index
            ends = [(*self._user(user, index), True), *flows.get((id(user), index), ())]
            for node, operand, kind, is_woken in ends:
                place = number if is_woken else -1
                self.graph.add_edge(
                    maker, node, kind=kind, operand=operand, result=result, use=place, **shown
                )

    def _user(self, user: Operation, index: int) -> tuple[str, int, str]:
        """The node of a use, the operand there, and the kind of the edge."""
        if not is_terminator(user):
            return self.nodes[id(user)], index, "operand"
        around = of_kind(user.parent_op(), Operation)
        if isinstance(around, FuncOp):
            return self.results[function_name(around), index], 0, "yield"
        return self.nodes[id(around)], index, "yield"


def _boundary(edge: Operation) -> ManualBoundary | None:
    owner = operands_of(edge)[0]
    around = owning_op(owner)
    if around is None or not (axes := manual_axes(around)):
        return None
    outer = required_data_flow(around).outer_sharding(around, owner)
    assert outer is not None
    return ManualBoundary(outer, axes, isinstance(owner, BlockArgument))


def _entered(op: Operation) -> Iterator[tuple[BlockArgument, int]]:
    """The arguments of regions that have the value of an operand when they are entered, with its number."""
    if TABLE[op.name].control is Control.ASYNC:
        yield from ((argument, argument.index) for block in blocks_of(op) for argument in block.args)
    for argument, owner in _owners(op):
        for user, index in edge_sources(owner):
            if user is op:
                yield argument, index


def _owners(op: Operation) -> Iterable[tuple[BlockArgument, SSAValue]]:
    """The arguments of regions that are targets of data flow, each with the owner of its edge."""
    for owner in (*argument_owners(op), *result_owners(op)):
        for target in edge_targets(owner):
            if isinstance(target, BlockArgument):
                yield target, owner
