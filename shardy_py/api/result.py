"""What propagation decided, to be asked: shardings, what each device holds, what would be if.

    result = propagate(program)
    result["result 0"].sharding, result["result 0"].local_shape
    result.what_if({"%arg1": P(None, "model")})

Not here: how it was decided (`passes/`), the tables (`report/`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardy_py.api.arguments import expect
from shardy_py.api.comparison import Comparison, compare
from shardy_py.api.program import Edits, Key, Program
from shardy_py.api.values import Value, Values
from shardy_py.collection import without_collection
from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.graph.lineage import Lineage
from shardy_py.graph.run_record import Record
from shardy_py.partition.cost import DEFAULT, CostModel, cost_model
from shardy_py.pipeline import communication
from shardy_py.report import summary_of
from shardy_py.report.communication import CollectiveUse, CommunicationReport
from shardy_py.report.explain import Explainer, Explanation, Reasons, Side, WhyNot, sides
from shardy_py.report.memory import TARGETS, MemoryReport, Target, memory_report
from shardy_py.sharding import DeviceSlices, Mesh

_MOST = 8
"""So many copies of a value are listed."""


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A propagated program beside the one it was made from.

    program: with all shardings. source: as it was. warnings: what the passes had to say.
    again: propagates another program with the same options, and a record.
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
        Raises `ShardyError` when there is none, or when the `copies` of it are sharded in different ways.
        """
        if not isinstance(key, Value) or key in self.program:
            return self.program.find(key)
        copies = self.copies(key)
        if not copies:
            raise ShardyError(
                f"{key!r} is not in the propagated program: nothing needs it, or another reshard does as much"
            )
        if len({copy.sharding for copy in copies}) > 1:
            told = ", ".join(f"{copy} {copy.sharding or 'without sharding'}" for copy in copies[:_MOST])
            more = f" and {len(copies) - _MOST} more" if len(copies) > _MOST else ""
            raise ShardyError(
                f"{key!r} has {len(copies)} copies in the propagated program, not all sharded alike: "
                f"{told}{more}; look one up by its name, or take all: result.copies(value)"
            )
        return copies[0]

    def copies(self, value: Value) -> tuple[Value, ...]:
        """The values of the propagated program that one of the source has become, in program order.

        One as a rule, none if no result needs it. Of a constant, and of what is computed of constants alone,
        every user gets a copy; those sharded alike become one again. So do functions called more than once,
        with all in them. Raises `ShardyError` for a value of another program.
        """
        expect(value, Value, "a Value of the source program", "result.source[...] has them by name")
        if value in self.program:
            return (value,)
        return tuple(self.values[place] for place in sorted(set(self.heirs(value))))

    def heirs(self, value: Value) -> Sequence[int]:
        """Where in `values` the copies of a value of the source are: for each use of it, in a fixed order."""
        return self._lineage.heirs(self.source.find(value).entry)

    @cached_property
    def _lineage(self) -> Lineage:
        """Without a record it is that of a propagation with one, which gives the same values."""
        if self.record is None:
            return self.again(self.source)._lineage
        return Lineage(self.source.values.table, self.values.table, self.program.origin, self.record.events)

    def __repr__(self) -> str:
        return repr(self.program).replace("Program", "Result", 1)

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

    @without_collection()
    def summary(self) -> str:
        """How many values are sharded over what, and what that leaves each device to hold, as a table."""
        return str(summary_of(self.program.module))

    @without_collection()
    def memory(self, target: Target = "linear") -> MemoryReport:
        """What each device has to hold, padded as on the target: totals, the peak, every tensor.

        Raises `ShardyError` for a target that there is not.
        """
        if target not in TARGETS:
            raise ShardyError(f"expected a target among {', '.join(TARGETS)}; got: {target!r}")
        return memory_report(self.program.module, target)

    @without_collection()
    def communication(self, model: CostModel | str = DEFAULT) -> CommunicationReport:
        """What the program sends: its collectives, with axes, bytes, the op and line that caused each.

        model: what links cost, or the text of such a model (`tpu-v5p,data=tpu-dcn`).
        """
        expect(model, (str, CostModel), "a CostModel, or the text of one")
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
    def _bills(self) -> list[CommunicationReport]:
        """Those for other models than the default, as asked for."""
        return []

    @cached_property
    def communicating(self) -> Program:
        """The propagated program with all its communication in it, as collectives."""
        return Program(self._communication[0])

    @cached_property
    def _communication(self) -> tuple[ModuleOp, CommunicationReport]:
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
        expect(dimension, int, "the number of a dimension")
        expect(axis, str, 'an axis such as "x" or "x:(1)2"')
        return WhyNot(self._explainer).reasons(self[key].entry, dimension, axis)

    @without_collection()
    def sides(self, use: CollectiveUse) -> tuple[Side, ...]:
        """Where the axes that meet at a collective of `communication()` come from: what to change.

        For each annotation that brought one of its axes to the op that it is for: to which tensors of that.
        None where the program itself asks for the collective, or nothing leads back from it. Raises
        `ShardyError` when propagation was not recorded.
        """
        return sides(self._explainer, use.cause.made_for, dict(use.axes))

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

        mesh: in place of the program's only one, or of several by name. Raises `ShardyError` for the name of
        a mesh that there is not, and as `Program.annotate` does.
        """
        meshes = self._replaced(mesh) if isinstance(mesh, Mesh) else self._known(mesh or {})
        steps = [partial(Program.with_mesh, mesh=one, name=name) for name, one in meshes.items()]
        edited, origins = self.source, list[Mapping[SSAValue, SSAValue]]()
        for step in (*steps, partial(Program.annotate, shardings=edits or {})):
            edited = step(edited)
            origins.append(edited.origin)
        origin = {first: reduce(lambda value, known: known[value], origins, first) for first in origins[0]}
        return compare(self, self.again(edited), origin)

    def _replaced(self, mesh: Mesh) -> Mapping[str, Mesh]:
        """A mesh by the name of the one it takes the place of; "mesh" if the program has none."""
        names = [name for name, known in self.source.meshes.items() if not known.is_maximal] or ["mesh"]
        if len(names) > 1:
            told = ", ".join(f"@{name}" for name in names)
            raise ShardyError(f"the program has {len(names)} meshes, {told}: give the new one by name")
        return {names[0]: mesh}

    def _known(self, meshes: Mapping[str, Mesh]) -> Mapping[str, Mesh]:
        expect(meshes, Mapping, "a mesh, or meshes by name")
        for name in meshes:
            if name.removeprefix("@") not in self.source.meshes:
                told = ", ".join(f"@{known}" for known in self.source.meshes) or "none"
                raise ShardyError(f"the program has no mesh @{name.removeprefix('@')}; it has {told}")
        return meshes
