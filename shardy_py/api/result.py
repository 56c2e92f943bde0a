"""What propagation decided, to be asked: shardings, what each device holds, what would be if.

    result = propagate(program)
    result["result 0"].sharding, result["result 0"].local_shape
    result.what_if({"%arg1": P(None, "model")})

Not here: how it was decided (`passes/`), the tables (`report/`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial, reduce

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardy_py.api.comparison import Comparison, compare
from shardy_py.api.program import Edits, Key, Program
from shardy_py.api.values import Value, Values
from shardy_py.collection import without_collection
from shardy_py.dialects.sdy import ShardingConstraintOp
from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.graph.movements import Movement
from shardy_py.graph.value_table import ValueEntry
from shardy_py.partition.cost import DEFAULT, CostModel, cost_model
from shardy_py.pipeline import communication
from shardy_py.propagation.record import Record
from shardy_py.report import collect_values, summarize, summary_text
from shardy_py.report.communication import Bill
from shardy_py.report.explain import Explainer, Explanation, Reasons, WhyNot
from shardy_py.report.memory import MemoryReport, Target, memory_report
from shardy_py.sharding import DeviceSlices, Mesh

_REPLACING = frozenset(
    {"sdy-import-func-calls", "sdy-export-named-computations", "sdy-sharding-constraint-to-reshard"}
)
"""Passes whose notes say which value they put in the place of which."""


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A propagated program beside the one it was made from.

    program: with all shardings. source: as it was. warnings: what the passes had to say.
    again: propagates another program with the same options.
    record: what the passes did to shardings; None if that was not asked for.
    """

    program: Program
    source: Program
    warnings: tuple[Diagnostic, ...]
    again: Callable[[Program], Result]
    record: Record | None = None

    @property
    def values(self) -> Values:
        """The values of the propagated program."""
        return self.program.values

    def __getitem__(self, key: Key) -> Value:
        """A value of the propagated program.

        A name is looked up as the propagated program prints it; a value of the source program is followed.
        Raises `ShardyError` when there is none, or the value did not outlive the passes (as constants, of
        which each user gets its own).
        """
        if not isinstance(key, Value):
            return self.values[key]
        found = self.followed(key)
        if found is None:
            raise ShardyError(f"{key!r} is not in the propagated program; look its user up by name")
        return found

    def followed(self, value: Value) -> Value | None:
        """The value of the propagated program that a value of the source program has become.

        None if it did not outlive the passes: constants, of which each user gets its own, and what nothing
        uses. Of a function that became several, one for each way its calls are sharded: the first call's.
        Calls and constraints are followed by the record, so only when there is one.
        """
        entry = value.entry
        if entry.value is None:
            found = self.values.named(f"@{entry.function}:{entry.name}")
            return found[0] if found else None
        known = self._entry_of(self.program.origin.get(entry.value, entry.value))
        if known is None and isinstance(entry.op, ShardingConstraintOp):  # it said what its operand has now
            source = self.source.values.table.by_value.get(id(entry.op.input))
            return None if source is None else self.followed(Value(source, self.source.meshes))
        return None if known is None else Value(known, self.values.meshes)

    def _entry_of(self, value: SSAValue) -> ValueEntry | None:
        """The entry of a value, or of what stands for it now."""
        by_value, seen = self.values.table.by_value, set[int]()
        while id(value) not in by_value and id(value) in self._replaced and id(value) not in seen:
            seen.add(id(value))
            value = self._replaced[id(value)]
        return by_value.get(id(value))

    @cached_property
    def _replaced(self) -> dict[int, SSAValue]:
        """By identity: what passes put in the place of values."""
        events = () if self.record is None else self.record.events
        return {
            id(event.source): event.target
            for event in events
            if isinstance(event, Movement)
            and event.pass_name in _REPLACING
            and isinstance(event.source, SSAValue)
            and isinstance(event.target, SSAValue)
        }

    def __repr__(self) -> str:
        return f"<Result of @{', @'.join(self.program.functions)}>"

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """The propagated program as MLIR prints it."""
        return self.program.text()

    def device_slices(self, key: Key) -> DeviceSlices:
        """Where in the whole tensor the part of each device lies.

        Raises `ShardyError` for what is no tensor of known sizes, or has no sharding.
        """
        value = self[key]
        shape, sharding = value.shape, value.sharding
        if shape is None or None in shape:
            raise ShardyError(f"{value} is no tensor of known sizes but {value.entry.type}")
        if sharding is None:
            raise ShardyError(f"{value} has no sharding: every device holds all of it")
        return sharding.device_slices(tuple(size for size in shape if size is not None))

    def summary(self) -> str:
        """How many values are sharded over what, and what that leaves each device to hold, as a table."""
        return summary_text(
            summarize(collect_values(self.program.module), self.program.meshes), self.program.meshes
        )

    def memory(self, target: Target = "linear") -> MemoryReport:
        """What each device has to hold, padded as on the target: totals, the peak, every tensor."""
        return memory_report(self.program.module, target)

    @without_collection()
    def communication(self, model: CostModel | str = DEFAULT) -> Bill:
        """What the program sends: its collectives, with axes, bytes, the op and line that caused each.

        model: what links cost, or the text of such a model (`tpu-v5p,data=tpu-dcn`).
        """
        chosen = cost_model(model) if isinstance(model, str) else model
        if chosen == DEFAULT:
            return self._communication[1]
        for bill in self._bills:
            if bill.model == chosen:
                return bill
        events = () if self.record is None else self.record.events
        self._bills.append(communication(self.program.module, chosen, events)[1])
        return self._bills[-1]

    @cached_property
    def _bills(self) -> list[Bill]:
        """Those for other models than the default, as asked for."""
        return []

    @cached_property
    def communicating(self) -> Program:
        """The propagated program with all its communication in it, as collectives."""
        return Program(self._communication[0])

    @cached_property
    def _communication(self) -> tuple[ModuleOp, Bill]:
        events = () if self.record is None else self.record.events
        return communication(self.program.module, DEFAULT, events)

    @without_collection()
    def explain(self, key: Key) -> Explanation:
        """Why a value is sharded as it is: for each axis the chain from the user's annotation to it.

        `print` shows it as text. Raises `ShardyError` when propagation was not recorded.
        """
        return self._explainer.explain(self[key].entry)

    @without_collection()
    def why_not(self, key: Key, dimension: int, axis: str) -> Reasons:
        """What kept an axis (`x`, `x:(1)2`) from a dimension of a value, the nearest reason first.

        As text (`print`) with remedies. Raises `ShardyError` for a dimension or axis that there is not.
        """
        value = self[key]
        found = WhyNot(self._explainer, self.program.module).reasons(value.entry, dimension, axis)
        return Reasons(f"why is dimension {dimension} of {value} not sharded by {axis}?", found)

    @cached_property
    def _explainer(self) -> Explainer:
        if self.record is None:
            raise ShardyError("propagation was not recorded: propagate(program, options, record=True)")
        return Explainer(self.record, self.program.module, self.values.table)

    @without_collection()
    def what_if(
        self, edits: Edits | None = None, *, mesh: Mesh | Mapping[str, Mesh] | None = None
    ) -> Comparison:
        """Propagate again with these annotations added, changed or (None) removed: what would differ.

        mesh: in place of @mesh, or of several by name. Raises `ShardyError` as `Program.annotate` does.
        """
        steps = [partial(Program.with_mesh, mesh=one, name=name) for name, one in _by_name(mesh).items()]
        edited, origins = self.source, list[Mapping[SSAValue, SSAValue]]()
        for step in (*steps, partial(Program.annotate, shardings=edits or {})):
            edited = step(edited)
            origins.append(edited.origin)
        origin = {first: reduce(lambda value, known: known[value], origins, first) for first in origins[0]}
        return compare(self, self.again(edited), origin)


def _by_name(mesh: Mesh | Mapping[str, Mesh] | None) -> Mapping[str, Mesh]:
    return {"mesh": mesh} if isinstance(mesh, Mesh) else mesh or {}
