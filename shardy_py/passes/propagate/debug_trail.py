"""Debug information of propagation: the origins of axes, and the edges along which they propagated.

    sdy.sharding_origins      {a = "input: 0", b = "self"}; on most ops a list with one dictionary per result
    sdy.propagation_edges     #sdy.propagation_edges<[{step-0 = [{"a" = operand-0 -> [result-0]}]}]>
    sdy.sharding_origin_name  the name of a constraint or manual computation: "constraint_0", "mc_0"

    trail = DebugTrail(module, origins=True, edges=True)       before shardings change
    trail.follow(op, values, rule, before, after, mesh)         for each step with changes
    trail.write()                                               at the end

Data-flow edges hold the notes of their targets, until `sink_notes` moves them to the owners. Not here: the
moves of a step (`propagation/provenance.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from shardy_py.base.behaviours import Behaviour
from shardy_py.mlir.calls import is_defined_function
from shardy_py.mlir.data_flow import EDGE_NAME, argument_owners, edge_of_target
from shardy_py.mlir.dialects.sdy import ManualComputationOp, ShardingConstraintOp, TensorShardingPerValueAttr
from shardy_py.mlir.dialects.sdy.attributes import OpShardingRuleAttr, PropagationEdgesAttr
from shardy_py.mlir.holders import RULE, Holder, Place, read
from shardy_py.mlir.ir import next_use, operands_of, owning_op, terminator_of, walk_post_order, walk_pre_order
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.typed import dictionaries_in, function_type_of, index_of, of_kind, property_of
from shardy_py.mlir.value_shardings import shardable_value, sharding_of
from shardy_py.passes.options import DebugInfoOptions
from shardy_py.propagation.graph.slots import FlatModule
from shardy_py.propagation.journal import FUNCTION_RESULT, Journal
from shardy_py.propagation.provenance import Move, Origins, edges_of, moves_of
from shardy_py.propagation.step import common_mesh
from shardy_py.sharding import Mesh, Projection, ShardingRule, TensorSharding

ORIGINS = "sdy.sharding_origins"
EDGES = "sdy.propagation_edges"
ORIGIN_NAME = "sdy.sharding_origin_name"
ARGUMENT_PREFIX, RESULT_PREFIX = "block_arg_", "result_"

_NO_NOTE: Mapping[str, Attribute] = {ORIGINS: DictionaryAttr({}), EDGES: PropagationEdgesAttr(())}
NOTES = tuple(
    name.replace(".", f".{prefix}")
    for prefix in ("", ARGUMENT_PREFIX, RESULT_PREFIX)
    for name in (EDGES, ORIGINS)
)
"""The attributes, except the names of origins."""

SELF = "self"
CONSTRAINT, MANUAL = ShardingConstraintOp.name, ManualComputationOp.name

Origin = tuple[SSAValue, TensorSharding, str]
"""A value, its sharding by the user, and the name of that as an origin."""


def user_origins(module: ModuleOp) -> Iterator[Origin]:
    """The shardings of the user, in order of precedence; names constraints and manual computations.

    They are also the origins of shardings of the input of a constraint and operands of a manual computation.
    """
    found: dict[str, list[Operation]] = {CONSTRAINT: [], MANUAL: []}
    for op in walk_post_order(module):
        if op.name in found:
            found[op.name].append(op)
    for index, op in enumerate(found[CONSTRAINT]):
        name = _name_op(op, f"constraint_{index}")
        yield from _existing((op.results[0], operands_of(op)[0]), name)
    for index, op in enumerate(found[MANUAL]):
        yield from _border_origins(op, _name_op(op, f"mc_{index}"))
    for op in module.body.block.ops:
        if is_defined_function(op):
            yield from _function_origins(op)


def _name_op(op: Operation, name: str) -> str:
    op.attributes[ORIGIN_NAME] = StringAttr(name)
    return name


def _existing(values: Iterable[SSAValue], name: str) -> Iterator[Origin]:
    for value in values:
        sharding = sharding_of(value)
        if sharding is not None:
            yield value, sharding, name


def _border_origins(computation: Operation, name: str) -> Iterator[Origin]:
    given = property_of(computation, "in_shardings", TensorShardingPerValueAttr).data
    for index, argument in enumerate(argument_owners(computation)):
        yield argument, given[index], border_name(name, argument)
        yield from _existing((operands_of(computation)[index],), border_name(name, argument))
    given = property_of(computation, "out_shardings", TensorShardingPerValueAttr).data
    for result, sharding in zip(computation.results, given, strict=True):
        yield result, sharding, border_name(name, result)


def border_name(name: str, owner: SSAValue) -> str:
    """The name of an in- or out-sharding of the manual computation `name`."""
    side = "input" if isinstance(owner, BlockArgument) else "output"
    return f"{name}_{side}: {index_of(owner)}"


def _function_origins(function: Operation) -> Iterator[Origin]:
    for argument in function.regions[0].blocks[0].args:
        yield from _existing((argument,), f"input: {argument.index}")
    terminator = terminator_of(function.regions[0])
    for index, value in enumerate(operands_of(terminator) if terminator is not None else ()):
        sharding = read(Holder(Place.FUNCTION_RESULT, function, index))
        if sharding is not None:
            yield value, sharding, f"output: {index}"


# ---------------------------------------------------------------------- writing


def write_origins(value: SSAValue, names: Mapping[str, str]) -> None:
    """Write the origins of a value, by the text of its axes; also to the function result that returns it."""
    op = owning_op(value)
    function = op if op is None else _function_around(op)
    if op is None or function is None:
        return
    note = DictionaryAttr({axis: StringAttr(name) for axis, name in sorted(names.items())})
    index = _returned_as(value, function)
    if index is not None:
        set_value_note(function, "res_attrs", index, ORIGINS, note)
    if op is function:
        set_value_note(function, "arg_attrs", index_of(value), ORIGINS, note)
    elif op.name in (CONSTRAINT, EDGE_NAME):
        op.attributes[ORIGINS] = note
    elif isinstance(value, OpResult):
        old = cast("ArrayAttr[Attribute] | None", op.attributes.get(ORIGINS))
        notes = list(old.data) if old is not None else [DictionaryAttr({})] * len(op.results)
        notes[value.index] = note
        op.attributes[ORIGINS] = ArrayAttr(notes)


def call_own_origins_self(module: ModuleOp) -> None:
    """Replace an origin by "self" where it is the sharding beside the attribute."""
    for op in walk_pre_order(module):
        if op.name == CONSTRAINT:
            _rename(op, op.attributes.get(ORIGIN_NAME))
        elif op.name == MANUAL:
            name = of_kind(op.attributes[ORIGIN_NAME], StringAttr).data
            for owner in (*argument_owners(op), *op.results):
                edge = edge_of_target(owner)
                if edge is not None:
                    _rename(edge, StringAttr(border_name(name, owner)))
        elif op.name == FuncOp.name:
            for place, kind in (("arg_attrs", "input"), ("res_attrs", "output")):
                for index, entries in enumerate(_value_attributes(op, place)):
                    if ORIGINS in entries.data:
                        note = _with_self(entries.data[ORIGINS], StringAttr(f"{kind}: {index}"))
                        set_value_note(op, place, index, ORIGINS, note)


def sink_notes(op: Operation, *names: str) -> None:
    """Move the notes `names` of its edges to an op.

    Edges without a note are left out; since JAX 0.12 they have an empty one.
    """
    for prefix, owners in ((ARGUMENT_PREFIX, argument_owners(op)), (RESULT_PREFIX, op.results)):
        edges = [edge for edge in map(edge_of_target, owners) if edge is not None]
        for name in names:
            missing = _NO_NOTE[name] if Behaviour.RESULTS_HAVE_ORIGINS.holds else None
            given = (edge.attributes.get(name, missing) for edge in edges)
            notes = [note for note in given if note is not None]
            op.attributes[name.replace(".", f".{prefix}")] = ArrayAttr(notes)


def set_value_note(function: Operation, place: str, index: int, name: str, note: Attribute) -> None:
    """Sets an attribute of an argument (`arg_attrs`) or result (`res_attrs`) of a function."""
    entries = list(_value_attributes(function, place))
    entries[index] = DictionaryAttr(dict(sorted({**entries[index].data, name: note}.items())))
    function.properties[place] = ArrayAttr(entries)


def _value_attributes(function: Operation, place: str) -> tuple[DictionaryAttr, ...]:
    given = function.properties.get(place)
    if given is not None:
        return dictionaries_in(given)
    type_ = function_type_of(function)
    return (DictionaryAttr({}),) * len(type_.inputs if place == "arg_attrs" else type_.outputs)


def _rename(op: Operation, own: Attribute | None) -> None:
    if ORIGINS in op.attributes:
        op.attributes[ORIGINS] = _with_self(op.attributes[ORIGINS], own)


def _with_self(note: Attribute, own: Attribute | None) -> DictionaryAttr:
    entries = of_kind(note, DictionaryAttr).data
    return DictionaryAttr({axis: StringAttr(SELF) if name == own else name for axis, name in entries.items()})


def _function_around(op: Operation) -> Operation | None:
    around: Operation | None = op
    while around is not None and around.name != FuncOp.name:
        around = around.parent_op()
    return around


def _returned_as(value: SSAValue, function: Operation) -> int | None:
    """The index of the function result that returns `value`, the newest use if there are several."""
    terminator = terminator_of(function.regions[0])
    use = value.first_use
    while use is not None:
        if use.operation is terminator:
            return use.index
        use = next_use(use)
    return None


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

    @staticmethod
    def asked_for(module: ModuleOp, options: DebugInfoOptions) -> DebugTrail | None:
        """The trail that the options of a pass ask for; None if they ask for none."""
        origins, edges = options.debug_sharding_origins, options.debug_propagation_edge_sharding
        return DebugTrail(module, origins=origins, edges=edges) if origins or edges else None

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

    def replay(self, journal: Journal, program: FlatModule) -> None:
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
                    for member in flat.other_members(slot):
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
        rule, mesh = of_kind(attribute, OpShardingRuleAttr).data, found[1]
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
