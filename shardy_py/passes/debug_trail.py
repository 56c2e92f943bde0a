"""The debug options of propagation: writes origins of axes, and edges along which they propagated.

    trail = DebugTrail(module, origins=True, edges=True)       before shardings change
    trail.follow(op, values, rule, before, after, mesh)         for each step with changes
    trail.write()                                               at the end

Not here: the attributes (`passes/debug_notes.py`), the moves of a step (`propagation/provenance.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from shardy_py.dialects.sdy.attributes import OpShardingRuleAttr, PropagationEdgesAttr
from shardy_py.graph.holders import RULE
from shardy_py.graph.slots import Program
from shardy_py.graph.symbols import Symbols
from shardy_py.graph.value_shardings import shardable_value, sharding_of
from shardy_py.ir import owning_op, walk_pre_order
from shardy_py.passes.debug_notes import (
    EDGES,
    call_own_origins_self,
    set_value_note,
    user_origins,
    write_origins,
)
from shardy_py.propagation.journal import FUNCTION_RESULT, Journal
from shardy_py.propagation.provenance import Move, Origins, edges_of, moves_of
from shardy_py.propagation.step import common_mesh
from shardy_py.sharding import Mesh, Projection, ShardingRule, TensorSharding

SetInput = Callable[[Operation, SSAValue, TensorSharding], None]
"""Sets the sharding of the input of a constraint."""


class DebugTrail:
    """Follows propagation through one module, step by step."""

    def __init__(self, module: ModuleOp, *, origins: bool, edges: bool) -> None:
        """Start from the current shardings; numbers of steps continue those in the module."""
        self._module = module
        self._meshes: Mapping[str, Mesh] = Symbols(module).meshes()
        self._origins = Origins() if origins else None
        self._values: dict[int, SSAValue] = {}
        self._moves: dict[int, tuple[Operation, int, list[tuple[int, Move]]]] | None = {} if edges else None
        self._step = 1 + max(_noted_steps(module), default=-1)
        for value, sharding, name in user_origins(module) if origins else ():
            self._give(value, sharding, name)

    def _give(self, value: SSAValue, sharding: TensorSharding, name: str) -> None:
        assert self._origins is not None
        number = self._number(shardable_value(value))
        if number is not None:
            axes = (axis for dimension in sharding.dimensions for axis in dimension.axes)
            self._origins.add(number, axes, name)

    def _number(self, value: SSAValue | None) -> int | None:
        if value is not None:
            self._values[id(value)] = value
        return None if value is None else id(value)

    def follow(
        self,
        op: Operation,
        values: Sequence[SSAValue | None],
        rule: ShardingRule,
        before: Projection,
        after: Projection,
        mesh: Mesh,
    ) -> None:
        """Follow one step with changes; `op` is the function if the step is about its results."""
        moves = moves_of(rule, before, after, mesh)
        step, self._step = self._step, self._step + 1
        if self._moves is not None:
            noted = self._moves.setdefault(id(op), (op, len(rule.operands), []))[2]
            noted.extend((step, move) for move in moves)
        if self._origins is not None:
            for move in moves:
                source, target = (self._number(values[position]) for position in (move.source, move.target))
                if source is not None and target is not None:
                    self._origins.move(source, target, move.axis)

    def replay(self, journal: Journal, program: Program) -> None:
        """Follows all steps of a propagation through `program`."""
        function = Symbols(self._module).main()
        flat = program.flat
        for number, numbers, step, _ in journal.entries:
            passage = step.passage(tuple(journal.values[n] for n in numbers), program.meshes)
            assert passage is not None
            if number <= FUNCTION_RESULT:
                op, slots = function, (flat.returned[FUNCTION_RESULT - number].slot,) * 2
            else:
                op, slots = program.step_ops[number], flat.step_slots[number]
            values = [program.slots.values[slot] for slot in slots]
            self.follow(op, values, step.rule, passage.before, passage.after, passage.mesh)
            if self._origins is not None:
                for slot in slots:
                    for member in flat.groups.get(slot, ()):
                        self._copy(program.slots.values[slot], program.slots.values[member.slot])

    def _copy(self, source: SSAValue | None, target: SSAValue | None) -> None:
        """Propagate origins between members of a sharding group, which no step does."""
        assert self._origins is not None
        numbers = self._number(source), self._number(target)
        if numbers[0] is not None and numbers[1] is not None:
            self._origins.copy(numbers[0], numbers[1])

    def set_input(
        self, set_input: SetInput, constraint: Operation, value: SSAValue, sharding: TensorSharding
    ) -> None:
        """Calls `set_input` for a constraint and its input, which is recorded as a step of propagation."""
        attribute = constraint.attributes.get(RULE)
        before = _around(constraint)
        set_input(constraint, value, sharding)
        after = _around(constraint)
        found = common_mesh(after, self._meshes)
        if attribute is None or found is None:
            return
        rule, mesh = cast(OpShardingRuleAttr, attribute).data, found[1]
        projections = Projection.build(rule, before, mesh), Projection.build(rule, after, mesh)
        if projections[0] != projections[1]:
            values = [shardable_value(v) for v in (value, constraint.results[0])]
            self.follow(constraint, values, rule, *projections, mesh)

    def write(self) -> None:
        """Writes the attributes."""
        if self._origins is not None:
            for number in self._origins:
                names = {str(axis).replace('"', ""): name for axis, name in self._origins.of(number).items()}
                if owning_op(self._values[number]) is not None:
                    write_origins(self._values[number], names)
            call_own_origins_self(self._module)
        for op, operand_count, moves in (self._moves or {}).values():
            edges = edges_of(moves, operand_count)
            if not edges:
                continue
            if op.name == FuncOp.name:
                # As in C++, each returned value counts as the only one.
                set_value_note(op, "res_attrs", 0, EDGES, PropagationEdgesAttr(edges))
            else:
                op.attributes[EDGES] = PropagationEdgesAttr(edges)


def _around(constraint: Operation) -> tuple[TensorSharding | None, ...]:
    return tuple(sharding_of(value) for value in (*constraint.operands, *constraint.results))


def _noted_steps(module: ModuleOp) -> Iterable[int]:
    for op in walk_pre_order(module):
        note = op.attributes.get(EDGES)
        if isinstance(note, PropagationEdgesAttr):
            yield from (step.index for step in note.data)
