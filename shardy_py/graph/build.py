"""From a module to its flat form, in one walk in program order; and back, what propagation decided.

    program = build_program(module, rule_of)           slots and steps (see `propagation/flat.py`)
    program.write(shardings by slot)                    to the IR, once, at the end

`rule_of` gives the sharding rule of an op record, so that this folder need not know where rules come from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from shardy_py.dialects.sdy.interfaces import manual_axes
from shardy_py.errors import ShardyError
from shardy_py.graph.calls import Calls
from shardy_py.graph.data_flow import DATA_FLOW, EDGE_NAME, TERMINATORS, source_values
from shardy_py.graph.holders import RULE, Holder, write_all
from shardy_py.graph.kinds import identity_rule, op_info
from shardy_py.graph.liveness import dying_ops, liveness_of
from shardy_py.graph.plain import plain, tensor_type
from shardy_py.graph.record import record_of_signature, signature_of
from shardy_py.graph.shape_check import first_shape_error, shape_message
from shardy_py.graph.slots import Slots
from shardy_py.graph.wakes import Wakes
from shardy_py.ir import next_use, operands_of, owning_op, terminator_of, walk_pre_order
from shardy_py.ops import OpRecord, Role
from shardy_py.propagation.flat import (
    UNSHARDABLE,
    FlatProgram,
    ManualBoundary,
    Notified,
    ReturnedValue,
    StepKind,
)
from shardy_py.sharding import Mesh, ShardingRule, TensorSharding

RuleOf = Callable[[OpRecord], ShardingRule | None]
"""The sharding rule of an op; None: it has none."""

FUNCTION_EDGE = "sdy.func_data_flow_edge"
BARRIER = "sdy.propagation_barrier"

_UNSHARDABLES = repeat(UNSHARDABLE)
_HELD_BY_SHARING = frozenset({Role.PASS_THROUGH, Role.SLICE})
"""The roles for which it matters whether an operand has other uses."""


@dataclass(frozen=True, slots=True)
class Program:
    """The flat form of a module together with the IR behind its numbers.

    flat: slots and steps.
    meshes: by symbol.
    step_ops: by step.
    values: by slot, the value; None for function results.
    holders: by slot, where the sharding is kept.
    slot_of: the slot by the identity of a value.
    function_results: by the identity of a function, the slots of its results.
    doomed: dead ops, in the order in which they can be erased.
    without_rule: for each kind of op that has no rule, the first such op with its record.
    """

    module: ModuleOp
    flat: FlatProgram
    meshes: dict[str, Mesh]
    step_ops: Sequence[Operation]
    values: Sequence[SSAValue | None]
    holders: Sequence[Holder | None]
    slot_of: Mapping[int, int]
    function_results: Mapping[int, tuple[int, ...]]
    doomed: Sequence[Operation]
    without_rule: Sequence[tuple[Operation, OpRecord]]

    def write(
        self,
        shardings: Sequence[TensorSharding | None],
        written: Sequence[TensorSharding | None] | None = None,
    ) -> None:
        """Write the shardings, by slot, that differ from those written before; and erase the dead ops.

        written: what the IR holds; None: the shardings at first.
        """
        old = self.flat.shardings if written is None else written
        write_all(
            (holder, new)
            for holder, new, before in zip(self.holders, shardings, old, strict=True)
            if new is not before and new is not None and holder is not None and new != before
        )
        for op in self.doomed:
            if op.parent is not None:  # else it went with the op around it
                op.detach()
                op.erase()


def build_program(module: ModuleOp, rule_of: RuleOf) -> Program:
    """The flat form of `module`; raises a `ShardyError` for what cannot be propagated through."""
    return _Builder(rule_of).build(module)


class _Alike(NamedTuple):
    """The kind of the steps of alike ops, without and with an operand that has other uses; -1: no step."""

    number: int
    shared_number: int


class _Builder:
    def __init__(self, rule_of: RuleOf) -> None:
        self.flat = FlatProgram()
        self.slots = Slots()
        self.calls = Calls()
        self.meshes: dict[str, Mesh] = {}
        self.step_of: dict[int, int] = {}
        self.step_ops: list[Operation] = []
        self._rule_of = rule_of
        self._alike: dict[tuple[Hashable, ...], _Alike] = {}
        self._groups: dict[int, list[SSAValue]] = {}
        self._edges: list[Operation] = []
        self._function_edges: list[Operation] = []
        self._maybe_dead: list[Operation] = []
        self._shapely: set[int] = set()
        self._without_rule: list[tuple[Operation, OpRecord]] = []

    def build(self, module: ModuleOp) -> Program:
        handlers, add_slots, add_op = _handlers(), self.slots.add, self._add_op
        for op in walk_pre_order(module, include_root=False):
            handler = handlers.get(op.name)
            if handler is None:
                add_op(op)
            else:
                self._check_types(op)
                add_slots(op)
                handler(self, op)
        doomed = self._doom()
        self._add_function_edges()
        slots, flat = self.slots, self.flat
        flat.shardings, flat.ranks, flat.siblings = slots.shardings, slots.ranks, slots.siblings
        self._add_wakes()
        self._add_returned()
        return Program(
            module,
            flat,
            self.meshes,
            self.step_ops,
            slots.values,
            slots.holders,
            slots.of,
            slots.function_results,
            tuple(doomed.values()),
            self._without_rule,
        )

    def skip(self, op: Operation) -> None:
        """Nothing to be done: a terminator."""

    def add_mesh(self, op: Operation) -> None:
        self.meshes[plain(op.properties["sym_name"])] = plain(op.properties["mesh"])

    def add_function_or_call(self, op: Operation) -> None:
        self.calls.add(op)

    def add_group_member(self, op: Operation) -> None:
        self._groups.setdefault(plain(op.properties["group_id"]), []).append(operands_of(op)[0])

    def add_function_edge(self, op: Operation) -> None:
        """Its sources may stand behind it, so the rest comes later."""
        self._function_edges.append(op)
        self._new_step(op, self.flat.kind_number(StepKind(None)), ())

    def _check_types(self, op: Operation) -> None:
        for result in op.results:
            type_ = result.type
            if id(type_) in self._shapely:
                continue
            if shape_message(type_) is not None:
                error = first_shape_error(_root(op))
                assert error is not None
                raise ShardyError(error)
            self._shapely.add(id(type_))

    def _add_op(self, op: Operation) -> None:
        signature = signature_of(op)
        given = op.attributes.get(RULE)
        alike = self._alike.get(signature) if given is None else self._alike.get((signature, id(given)))
        if alike is None:
            self._check_types(op)
            alike = self._first_of(op, signature, given)
        self.slots.add(op)
        for result in op.results:
            if result.first_use is not None:
                break
        else:
            self._maybe_dead.append(op)
        number = alike.number
        if number < 0:
            return
        operands = operands_of(op)
        if alike.shared_number != number:
            for operand in operands:
                use = operand.first_use  # `_is_shared`, written out
                if use is not None and next_use(use) is not None and not self._is_scalar(operand):
                    number = alike.shared_number
                    break
        of = self.slots.of
        reads = map(of.get, map(id, operands), _UNSHARDABLES)
        self._new_step(op, number, (*reads, *map(of.__getitem__, map(id, op.results))))

    def _first_of(self, op: Operation, signature: tuple[Hashable, ...], given: Attribute | None) -> _Alike:
        """What ops of this signature have in common, found from the first of them."""
        record = record_of_signature(op, signature)
        rule = self._rule_of(record) if given is None else cast(ShardingRule, plain(given))
        info = op_info(record, rule)
        if info is None:
            if op.name not in DATA_FLOW:  # for these, their edges do what a rule does
                self._without_rule.append((op, record))
            alike = _Alike(-1, -1)
        else:
            kinds = [
                StepKind(info.rule, info.role, info.is_elementwise, has_shared_operand=shared)
                for shared in (False, info.role in _HELD_BY_SHARING)
            ]
            alike = _Alike(*map(self.flat.kind_number, kinds))
        self._alike[signature if given is None else (signature, id(given))] = alike
        return alike

    def _is_scalar(self, value: SSAValue) -> bool:
        return not self.slots.rank(value.type) and tensor_type(value.type) is not None

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
            direction = ("NONE", "FORWARD", "BACKWARD", "BOTH").index(cast(Any, op).direction)
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
            is_argument = isinstance(owner, BlockArgument)
            outer = DATA_FLOW[parent.name].outer_sharding(parent, owner)
            assert outer is not None
            boundary = ManualBoundary(outer, axes, is_argument)
        shared = _is_shared(owner) and not self._is_scalar(owner)
        kind = StepKind(rule, Role.PASS_THROUGH, has_shared_operand=shared, boundary=boundary, is_edge=True)
        slots = (*map(self.slots.get, sources), self.slots.get(op.results[0]))
        self._edges.append(op)
        self._new_step(op, self.flat.kind_number(kind), slots)

    def _add_function_edges(self) -> None:
        """Edges between callers and functions, whose sources may stand behind them."""
        for op in self._function_edges:
            value = operands_of(op)[0]
            sources = self._function_edge_sources(value)
            rule = identity_rule(op.results[0].type, len(sources)) if sources else None
            shared = _is_shared(value) and not self._is_scalar(value)
            kind = StepKind(rule, Role.PASS_THROUGH, has_shared_operand=shared, is_edge=True)
            step = self.step_of[id(op)]
            self.flat.step_kinds[step] = self.flat.kind_number(kind)
            if rule is not None:
                slots = (*map(self.slots.get, sources), self.slots.get(op.results[0]))
                self.flat.step_slots[step] = slots
                self._edges.append(op)

    def _function_edge_sources(self, value: SSAValue) -> list[SSAValue]:
        owner = owning_op(value)
        if isinstance(value, BlockArgument):
            return [operands_of(call)[value.index] for call in self.calls.of_function(owner)]
        returned = self.calls.returned(owner, cast(Any, value).index) if owner is not None else None
        return [] if returned is None else [returned]

    def _add_wakes(self) -> None:
        wakes = Wakes(self.step_of, self.calls)
        flat, slots = self.flat, self.slots
        flat.notified = wakes.of_all(slots.values)
        unnotified: dict[int, list[int]] = {}
        for op in self._edges:
            step = self.step_of[id(op)]
            for slot in flat.step_slots[step]:
                if step not in flat.notified[slot]:
                    unnotified.setdefault(slot, []).append(step)
        for alias in slots.aliases:
            wakes.add_users(alias, unnotified.setdefault(slots.get(alias), []))
        flat.unnotified = {slot: tuple(steps) for slot, steps in unnotified.items()}
        for members in self._groups.values():
            notified = [(m, Notified(slots.get(m), wakes.of(m))) for m in dict.fromkeys(members)]
            for member in notified:
                slot = slots.get(member[0])
                if slots.values[slot] is member[0]:
                    flat.groups[slot] = tuple(other[1] for other in notified if other is not member)

    def _add_returned(self) -> None:
        main = _main_function(self.calls)
        terminator = terminator_of(main.regions[0]) if main is not None else None
        if main is None or terminator is None:
            return
        returned: list[ReturnedValue] = []
        for value, slot in zip(operands_of(terminator), self.slots.function_results[id(main)], strict=True):
            rule = identity_rule(value.type, 1)
            if rule is not None:
                returned.append(ReturnedValue(self.slots.get(value), slot, rule))
        self.flat.returned = tuple(returned)

    def _doom(self) -> dict[int, Operation]:
        """Find the dead ops; those without a step get one, so that they are erased at their turn."""
        dying = dying_ops(self._maybe_dead)
        if dying:
            missing = [op for op in dying.values() if id(op) not in self.step_of]
            if missing:
                self._renumber(missing)
            self.flat.liveness = liveness_of(dying, self.step_of, self.step_ops)
        return dying

    def _renumber(self, missing: list[Operation]) -> None:
        """Insert steps for ops that have none, in program order."""
        module = _root(missing[0])
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


_HANDLERS: dict[str, Callable[[_Builder, Operation], None]] = {
    "func.func": _Builder.add_function_or_call,
    "func.call": _Builder.add_function_or_call,
    "stablehlo.constant": _Builder.note_unused,
    "sdy.constant": _Builder.note_unused,
    "sdy.mesh": _Builder.add_mesh,
    "sdy.sharding_group": _Builder.add_group_member,
    EDGE_NAME: _Builder.add_edge,
    FUNCTION_EDGE: _Builder.add_function_edge,
    BARRIER: _Builder.add_barrier,
}
"""The ops that are more, or less, than an op with a rule; terminators are skipped as well."""


def _handlers() -> dict[str, Callable[[_Builder, Operation], None]]:
    return dict.fromkeys(TERMINATORS, _Builder.skip) | _HANDLERS


def _main_function(calls: Calls) -> Operation | None:
    """The function whose results take part: the only one, or the one called main."""
    if len(calls.functions) == 1:
        return next(iter(calls.functions.values()))
    return calls.functions.get("main")


def _is_shared(value: SSAValue) -> bool:
    use = value.first_use
    return use is not None and next_use(use) is not None


def _root(op: Operation) -> Operation:
    while (parent := op.parent_op()) is not None:
        op = parent
    return op
