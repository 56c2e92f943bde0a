"""From a module to its flat program, in one walk in program order.

    program = build_program(module, rule_of)           slots and steps (see `propagation/flat.py`)
    program.write(shardings)                           by slot, after propagation

`rule_of` returns the sharding rule of an op record, so this folder is independent of where rules come from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import repeat
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp, TupleType, UnrankedTensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from shardy_py.base.errors import Diagnostic, ShardyError, located
from shardy_py.mlir.calls import Calls
from shardy_py.mlir.data_flow import source_values
from shardy_py.mlir.dependents import Dependents
from shardy_py.mlir.dialects.sdy import (
    DataFlowEdgeOp,
    FuncDataFlowEdgeOp,
    MeshOp,
    PropagationBarrierOp,
    ShardingGroupOp,
)
from shardy_py.mlir.dialects.sdy.interfaces import manual_axes
from shardy_py.mlir.dialects.traits import data_flow, is_constant, is_terminator, required_data_flow
from shardy_py.mlir.holders import RULE
from shardy_py.mlir.ir import (
    next_use,
    operands_of,
    ops_in,
    owning_op,
    terminator_of,
    type_of,
    walk_post_order,
    walk_pre_order,
)
from shardy_py.mlir.op_errors import place_of
from shardy_py.mlir.plain import plain, tensor_type
from shardy_py.mlir.record import record_of, signature_of
from shardy_py.mlir.symbols import MAIN, Symbols, module_of
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.typed import index_of, of_kind
from shardy_py.ops import TABLE, OpRecord, Role, RuleSource, row_of
from shardy_py.propagation.flat import (
    UNSHARDABLE,
    FlatProgram,
    GroupMember,
    ManualBoundary,
    ReturnedValue,
    StepKind,
)
from shardy_py.propagation.graph.liveness import dead_ops, liveness_of
from shardy_py.propagation.graph.slots import FlatModule, Slots
from shardy_py.sharding import Mesh, ShardingRule

RuleOf = Callable[[OpRecord], ShardingRule | None]
"""Returns the sharding rule of an op, or None."""


_UNSHARDABLES = repeat(UNSHARDABLE)
_SINGLE_USE_ROLES = frozenset({Role.PASS_THROUGH, Role.SLICE})
"""The roles whose priority depends on whether an operand has other uses."""


def build_program(module: ModuleOp, rule_of: RuleOf) -> FlatModule:
    """Returns the flat program; raises ShardyError if a result is a tuple or lacks a static shape."""
    return _Builder(rule_of).build(module)


class _Kinds(NamedTuple):
    """The kinds of steps of ops with one signature, without and with a shared operand; -1: no step.

    rank: of the only result, see `Slots.rank_of_only_result`.
    """

    number: int
    shared_number: int
    rank: int | None


class _Builder:
    def __init__(self, rule_of: RuleOf) -> None:
        self.flat = FlatProgram()
        self.slots = Slots()
        self.calls = Calls()
        self.meshes: dict[str, Mesh] = {}
        self.step_of: dict[int, int] = {}
        self.step_ops: list[Operation] = []
        self._rule_of = rule_of
        self._kinds: dict[tuple[Hashable, ...], _Kinds] = {}
        self._groups: dict[int, list[SSAValue]] = {}
        self._edges: list[Operation] = []
        self._function_edges: list[Operation] = []
        self._maybe_dead: list[Operation] = []
        self._valid_types: set[int] = set()
        self._without_rule: list[tuple[Operation, OpRecord]] = []

    def build(self, module: ModuleOp) -> FlatModule:
        self.meshes = Symbols(module).meshes()
        self._add_ops(ops_in(module))
        dead_ops = self._add_dead_ops()
        self._add_function_edges()
        slots, flat = self.slots, self.flat
        flat.shardings, flat.ranks, flat.siblings = slots.shardings, slots.ranks, slots.siblings
        self._add_dependents()
        self._add_returned()
        dead = tuple(dead_ops.values())
        return FlatModule(module, flat, self.meshes, self.step_ops, slots, dead, self._without_rule)

    def skip(self, op: Operation) -> None:
        """Add nothing: for terminators and meshes."""

    def add_function_or_call(self, op: Operation) -> None:
        self.calls.add(op)

    def add_group_member(self, op: Operation) -> None:
        self._groups.setdefault(plain(op.properties["group_id"]), []).append(operands_of(op)[0])

    def add_function_edge(self, op: Operation) -> None:
        """Reserve a step; its sources may come later in the program (`_add_function_edges`)."""
        self._function_edges.append(op)
        self._new_step(op, self.flat.kind_number(StepKind(None)), ())

    def _check_types(self, op: Operation) -> None:
        for type_ in map(type_of, op.results):
            if id(type_) in self._valid_types:
                continue
            if _type_fault(type_) is not None:
                raise ShardyError(_first_type_fault(module_of(op)))
            self._valid_types.add(id(type_))

    def _add_ops(self, ops: Iterable[Operation]) -> None:
        """Adds the slots and steps of ops; one loop, as most of the time of a build is spent here."""
        handlers: dict[type[Operation], _Handler | None] = {}
        slots, flat, known = self.slots, self.flat, self._kinds
        of, values, shardings, ranks = slots.of, slots.values, slots.shardings, slots.ranks
        step_of, step_ops, unused = self.step_of, self.step_ops, self._maybe_dead
        slot_of, get_slot = of.__getitem__, of.get
        for op in ops:
            op_class = op.__class__
            if op_class not in handlers:
                handlers[op_class] = _handler_of(op)
            handler = handlers[op_class]
            if handler is not None:
                self._check_types(op)
                slots.add(op)
                handler(self, op)
                continue
            signature, attributes = signature_of(op), op.attributes
            given = attributes.get(RULE) if attributes else None
            kinds = known.get(signature if given is None else (signature, id(given)))
            if kinds is None:
                self._check_types(op)
                kinds = self._first_of(op, signature, given)
            number, shared_number, rank = kinds
            slot = len(values)
            if rank is None:
                slots.add(op)
                self.note_unused(op)
            else:
                # The most frequent case; as `Slots.add` adds it.
                (result,) = op.results
                of[id(result)] = slot
                values.append(result)
                shardings.append(slots.sharding_of_result(op) if attributes else None)
                ranks.append(rank)
                if result.first_use is None:
                    unused.append(op)
            if number < 0:
                continue
            operands = operands_of(op)
            if shared_number != number:
                for operand in operands:
                    use = operand.first_use
                    if use is not None and next_use(use) is not None and not self._is_scalar(operand):
                        number = shared_number
                        break
            reads = map(get_slot, map(id, operands), _UNSHARDABLES)
            written = (slot,) if rank is not None else map(slot_of, map(id, op.results))
            step_of[id(op)] = len(step_ops)
            step_ops.append(op)
            flat.step_kinds.append(number)
            flat.step_slots.append((*reads, *written))

    def _first_of(self, op: Operation, signature: tuple[Hashable, ...], given: Attribute | None) -> _Kinds:
        """The kinds of the steps of all ops with the signature of `op`."""
        record, rank = record_of(op), self.slots.rank_of_only_result(op)
        with located(place_of(op)):
            rule: ShardingRule | None = self._rule_of(record) if given is None else plain(given)
        if rule is None:
            if data_flow(op) is None:  # shardings propagate along the edges of these
                self._without_rule.append((op, record))
            kinds = _Kinds(-1, -1, rank)
        else:
            row = row_of(record)
            elementwise = row.elementwise(record)
            role = Role.PASS_THROUGH if elementwise else row.role
            both = (StepKind(rule, role, elementwise, s) for s in (False, role in _SINGLE_USE_ROLES))
            number, shared_number = map(self.flat.kind_number, both)
            kinds = _Kinds(number, shared_number, rank)
        self._kinds[signature if given is None else (signature, id(given))] = kinds
        return kinds

    def _is_scalar(self, value: SSAValue) -> bool:
        type_ = type_of(value)
        return not self.slots.rank(type_) and tensor_type(type_) is not None

    def _new_step(self, op: Operation, kind: int, slots: tuple[int, ...]) -> None:
        flat = self.flat
        self.step_of[id(op)] = len(self.step_ops)
        self.step_ops.append(op)
        flat.step_kinds.append(kind)
        flat.step_slots.append(slots)

    def note_unused(self, op: Operation) -> None:
        for result in op.results:
            if result.first_use is not None:
                return
        self._maybe_dead.append(op)

    def add_barrier(self, op: Operation) -> None:
        self.note_unused(op)
        rule = identity_rule(op.results[0].type, 1)
        if rule is not None:
            direction = ("NONE", "FORWARD", "BACKWARD", "BOTH").index(
                of_kind(op, PropagationBarrierOp).direction
            )
            kind = StepKind(rule, Role.BARRIER, True, barrier_direction=direction)
            slots = (self.slots.get(operands_of(op)[0]), self.slots.get(op.results[0]))
            self._new_step(op, self.flat.kind_number(kind), slots)

    def add_edge(self, op: Operation) -> None:
        owner = operands_of(op)[0]
        sources = source_values(owner)
        rule = identity_rule(op.results[0].type, len(sources))
        if rule is None:
            return
        parent = owning_op(owner)
        boundary = None
        if parent is not None and (axes := manual_axes(parent)):
            outer = required_data_flow(parent).outer_sharding(parent, owner)
            assert outer is not None
            boundary = ManualBoundary(outer, axes, isinstance(owner, BlockArgument))
        self._edges.append(op)
        self._new_step(op, self._edge_kind(owner, rule, boundary), self._edge_slots(op, sources))

    def _edge_kind(
        self, owner: SSAValue, rule: ShardingRule | None, boundary: ManualBoundary | None = None
    ) -> int:
        use = owner.first_use
        shared = use is not None and next_use(use) is not None and not self._is_scalar(owner)
        kind = StepKind(rule, Role.PASS_THROUGH, has_shared_operand=shared, boundary=boundary, is_edge=True)
        return self.flat.kind_number(kind)

    def _edge_slots(self, op: Operation, sources: Sequence[SSAValue]) -> tuple[int, ...]:
        return (*map(self.slots.get, sources), self.slots.get(op.results[0]))

    def _add_function_edges(self) -> None:
        """Complete the edges between callers and functions."""
        for op in self._function_edges:
            value = operands_of(op)[0]
            sources = self._function_edge_sources(op, value)
            rule = identity_rule(op.results[0].type, len(sources)) if sources else None
            step = self.step_of[id(op)]
            self.flat.step_kinds[step] = self._edge_kind(value, rule)
            if rule is not None:
                self.flat.step_slots[step] = self._edge_slots(op, sources)
                self._edges.append(op)

    def _function_edge_sources(self, edge: Operation, value: SSAValue) -> list[SSAValue]:
        owner = owning_op(value)
        if isinstance(value, BlockArgument):
            return [operands_of(call)[value.index] for call in self.calls.of_function(owner)]
        if not isinstance(owner, CallOp):  # since the call was imported
            what = f"'{edge.name}' op expected operand of {edge.name} to be a result of call op."
            raise ShardyError(Diagnostic(what, position_of(edge.location)))
        returned = self.calls.returned(owner, index_of(value))
        return [] if returned is None else [returned]

    def _add_dependents(self) -> None:
        dependents = Dependents(self.step_of, self.calls)
        flat, slots = self.flat, self.slots
        flat.dependents = [() if value is None else dependents.of(value) for value in slots.values]
        readers: dict[int, list[int]] = {}
        enqueued: dict[int, frozenset[int]] = {}
        for op in self._edges:
            step = self.step_of[id(op)]
            for slot in flat.step_slots[step]:
                if slot not in enqueued:
                    enqueued[slot] = frozenset(flat.dependents[slot])
                if step not in enqueued[slot]:
                    readers.setdefault(slot, []).append(step)
        for alias in slots.aliases:
            dependents.add_users(alias, readers.setdefault(slots.get(alias), []))
        flat.other_readers = {slot: tuple(steps) for slot, steps in readers.items()}
        for values in self._groups.values():
            members = {v: GroupMember(slots.get(v), dependents.of(v)) for v in values}
            group = tuple(members.values())
            for value, member in members.items():
                if slots.values[member.slot] is value:
                    flat.groups[member.slot] = member, group

    def _add_returned(self) -> None:
        functions = self.calls.functions
        # The function whose results propagate: the only one, or else @main.
        main = next(iter(functions.values())) if len(functions) == 1 else functions.get(MAIN)
        terminator = terminator_of(main.regions[0]) if main is not None else None
        if main is None or terminator is None:
            return
        pairs = zip(operands_of(terminator), self.slots.function_results[id(main)], strict=True)
        rules = ((value, slot, identity_rule(value.type, 1)) for value, slot in pairs)
        returned = (
            ReturnedValue(self.slots.get(v), slot, rule) for v, slot, rule in rules if rule is not None
        )
        self.flat.returned = tuple(returned)

    def _add_dead_ops(self) -> dict[int, Operation]:
        """Find the dead ops; those without a step get one, at which propagation erases them."""
        dead = dead_ops(self._maybe_dead)
        if dead:
            missing = [op for op in dead.values() if id(op) not in self.step_of]
            if missing:
                self._renumber(missing)
            self.flat.liveness = liveness_of(dead, self.step_of, self.step_ops)
        return dead

    def _renumber(self, missing: list[Operation]) -> None:
        """Insert steps for ops that have none, in program order."""
        module = module_of(missing[0])
        wanted = {id(op) for op in missing} | self.step_of.keys()
        flat, old = self.flat, dict(self.step_of)
        kinds, slots = flat.step_kinds, flat.step_slots
        nothing = flat.kind_number(StepKind(None))
        flat.step_kinds, flat.step_slots, self.step_ops = [], [], []
        for op in walk_pre_order(module):
            if id(op) in wanted:
                step = old.get(id(op))
                if step is None:
                    self._new_step(op, nothing, ())
                else:
                    self._new_step(op, kinds[step], slots[step])


_Handler = Callable[[_Builder, Operation], None]
_HANDLERS: dict[type[Operation], _Handler] = {
    FuncOp: _Builder.add_function_or_call,
    CallOp: _Builder.add_function_or_call,
    MeshOp: _Builder.skip,
    ShardingGroupOp: _Builder.add_group_member,
    DataFlowEdgeOp: _Builder.add_edge,
    FuncDataFlowEdgeOp: _Builder.add_function_edge,
    PropagationBarrierOp: _Builder.add_barrier,
}
"""The ops that propagation treats by themselves."""


def _handler_of(op: Operation) -> _Handler | None:
    """The method that adds the ops of a class, None for ops with a rule."""
    if is_terminator(op):
        return _Builder.skip
    if is_constant(op) and TABLE[op.name].rule_source is RuleSource.NONE:
        return _Builder.note_unused  # each constant has its own signature
    return _HANDLERS.get(op.__class__)


def _type_fault(type_: Attribute) -> str | None:
    """Why propagation does not support a result of this type, or None."""
    if isinstance(type_, TupleType):
        return f"Shardy propagation doesn't support tuples: '{type_}'"
    tensor = tensor_type(type_)
    if isinstance(type_, UnrankedTensorType) or (tensor is not None and None in tensor.shape):
        return f"Shardy propagation only supports ranked tensors with a static shape. type: '{type_}'"
    return None


def _first_type_fault(root: Operation) -> Diagnostic:
    """The fault of the first result with one, in the order of MLIR's walk, which differs from ours."""
    types = ((op, result.type) for op in walk_post_order(root) for result in op.results)
    faults = ((op, _type_fault(type_)) for op, type_ in types)
    return next(Diagnostic(fault, position_of(op.location)) for op, fault in faults if fault is not None)


def identity_rule(type_: Attribute, operand_count: int) -> ShardingRule | None:
    """The rule of an op with one result, whose tensors all have `type_`; None without a static shape."""
    tensor = tensor_type(type_)
    if tensor is None:
        return None
    shape = tuple(size for size in tensor.shape if size is not None)
    return ShardingRule.identity(shape, operand_count) if len(shape) == tensor.rank else None
