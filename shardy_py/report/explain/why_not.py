"""`why_not`: what kept an axis from a dimension of a value, from the record.

    for reason in why_not(record, module, value, 1, "x"):
        print(reason.kind, reason.message, reason.remedy)

First what passes did to the value after propagation; then the value itself; then the nearest tensors that
have the axis, and at which step on the way from there it stopped. Not here: the words for kinds
(`reasons.py`), the way (`neighbourhood.py`), why a step stops an axis (`propagation/stops.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.errors import ShardyError
from shardy_py.graph.holders import Holder, manual_axes
from shardy_py.graph.movements import Movement, Spot
from shardy_py.graph.run_record import Propagation, Record
from shardy_py.graph.symbols import Symbols
from shardy_py.graph.value_table import location_text
from shardy_py.ir import owning_op
from shardy_py.report.explain.crossings import Stopping
from shardy_py.report.explain.explaining import Explainer, Subject, axis_text, final_sharding, spot_of
from shardy_py.report.explain.neighbourhood import Crossing, Neighbourhood
from shardy_py.report.explain.reasons import Reason, Reasons
from shardy_py.report.explain.tracing import overlapping
from shardy_py.sharding import AxisRef, Mesh, SubAxis, TensorSharding

_AXIS = re.compile(r'"?([^":]+)"?(?::\((\d+)\)(\d+))?')
_MOST = 4
"""So many stops are told, the nearest first."""

_WEAK = frozenset({"no factor", "dead"})
"""Told only if there is nothing better: the axis is along another factor, or the op is gone in the end."""


def why_not(record: Record, module: ModuleOp, subject: Subject, dimension: int, axis: str) -> Reasons:
    """Why `dimension` of `subject`, a value of the final `module`, is not sharded by `axis`; nearest first.

    axis: as in `x`, `x:(1)2`. Raises `ShardyError` for a dimension or an axis that there is not.
    """
    return WhyNot(Explainer(record, module), module).reasons(subject, dimension, axis)


def parse_axis(text: str) -> AxisRef:
    """An axis from its text, with or without quotes. Raises `ShardyError` for anything else.

    >>> str(parse_axis("x:(1)2"))
    '"x":(1)2'
    """
    found = _AXIS.fullmatch(text.strip())
    if found is None:
        raise ShardyError(f"expected an axis such as 'x' or 'x:(1)2'; got: {text!r}")
    name, pre_size, size = found.groups()
    return AxisRef(name, SubAxis(int(pre_size), int(size)) if size else None)


def why_not_named(record: Record, module: ModuleOp, text: str) -> dict[str, Reasons]:
    """The reasons for a question `VALUE,DIMENSION,AXIS`, by the name of each value that VALUE names.

    Raises `ShardyError` for a question that cannot be read, and for what there is not.
    """
    name, dimension, axis = ("", "", *text.rsplit(",", 2))[-3:]
    if not (name and dimension.strip().isdecimal() and axis):
        raise ShardyError(f"expected VALUE,DIMENSION,AXIS such as '%3,0,x'; got: '{text}'")
    explainer = Explainer(record, module)
    table = explainer.names.table
    answers = WhyNot(explainer, module)
    found: dict[str, Reasons] = {}
    for entry in table.find_all(name) or (table.find(name),):
        # Values in regions one after the other may have the same name.
        key = str(entry) if str(entry) not in found else f"{entry} [{location_text(entry.location)}]"
        found[key] = answers.reasons(entry, int(dimension), axis)
    return found


class WhyNot:
    """Answers about one final program."""

    def __init__(self, explainer: Explainer, module: ModuleOp) -> None:
        """`module` is that of the explainer."""
        self._tracer = explainer.tracer
        self._names = explainer.names
        self._explainer = explainer
        self._meshes = Symbols(module).meshes()

    def reasons(self, subject: Subject, dimension: int, axis: str) -> Reasons:
        """What kept the axis away, the nearest first; never empty."""
        spot, wanted = spot_of(subject), parse_axis(axis)
        self._check(spot, dimension, wanted)
        found = overlapping(final_sharding(spot), dimension, wanted)
        place = self._names.place(spot)
        if found:
            axes = ", ".join(map(str, found))
            reasons = (Reason("sharded", f"dimension {dimension} of {place} is sharded by {axes}", ""),)
        else:
            reasons = tuple(dict.fromkeys(self._reasons(spot, dimension, wanted)))
        return Reasons(
            f"why is dimension {dimension} of {place} not sharded by {axis_text(wanted)}?", reasons
        )

    def _check(self, spot: Spot, dimension: int, axis: AxisRef) -> None:
        place = self._names.place(spot)
        entry = self._names.entry(spot)
        rank = getattr(entry.type, "get_num_dims", lambda: 0)() if entry is not None else 0
        if entry is not None and not rank:
            raise ShardyError(f"{place} has no dimensions: it is a {entry.type}")
        if entry is not None and not 0 <= dimension < rank:
            raise ShardyError(f"{place}: expected a dimension below {rank}, its rank; got: {dimension}")
        sizes = {a.name: a.size for mesh in self._all_meshes() for a in mesh.axes}
        if axis.name not in sizes:
            names = ", ".join(sizes) or "none, for there is no mesh"
            raise ShardyError(f"no mesh has an axis {axis.name!r}; expected one of: {names}")
        part, size = axis.sub_axis, sizes[axis.name]
        if part is not None and not (
            part.pre_size > 0 and 1 < part.size < size and size % part.next_pre_size == 0
        ):
            raise ShardyError(
                f"{axis} is no part of {axis.name!r}: of (M)N, N is at least 2 and less than {size}, "
                f"and M times N divides {size}"
            )

    def _all_meshes(self) -> Iterator[Mesh]:
        yield from self._meshes.values()
        for _, propagation in self._tracer.propagations:
            yield from propagation.journal.meshes.values()

    def _reasons(self, spot: Spot, dimension: int, axis: AxisRef) -> Iterator[Reason]:
        if all(mesh.sizes.get(axis.name, 1) == 1 for mesh in self._all_meshes()):
            message = f"{axis} has size 1: it cuts nothing and is dropped from all shardings"
            yield Reason("size one", message, f"make the mesh larger along {axis}")
            return
        time = len(self._tracer.events)
        while (found := self._tracer.latest(spot, time)) is not None:
            time, event, slot = found
            if isinstance(event, Propagation):
                yield from self._in_propagation(event, slot, spot, dimension, axis)
                return
            before = self._before(event, time)
            if overlapping(before, dimension, axis):
                yield self._pass_reason(event, before, dimension, axis)
                return
            spot = event.source
        place = self._names.place(spot)
        if not self._tracer.propagations:
            message = "nothing was propagated: none of the passes that ran does that"
            yield Reason("not recorded", message, "run sdy-propagation-pipeline", blame=place)
            return
        op = owning_op(spot) if not isinstance(spot, Holder) else None
        holds = isinstance(spot, Holder) or final_sharding(spot) is not None
        yield Reason(
            "not recorded" if holds or op is None else "not shardable",
            f"{place} took no part in propagation: no sharding is kept for it",
            "",
            self._names.op(op) if op is not None else None,
            blame=place,
        )

    def _before(self, event: Movement, time: int) -> TensorSharding | None:
        if event.source is event.target and event.old is not None:
            return event.old
        return self._tracer.sharding_at(event.source, time)

    def _pass_reason(
        self, event: Movement, before: TensorSharding | None, dimension: int, axis: AxisRef
    ) -> Reason:
        place = self._names.place(event.target)
        entry = self._names.entry(event.target)
        shape = getattr(entry.type, "get_shape", tuple)() if entry is not None else ()
        size = shape[dimension] if dimension < len(shape) else None
        if "non-divisible" in event.pass_name and before is not None:
            parts = 1
            mesh = before.mesh if isinstance(before.mesh, Mesh) else self._mesh_named(before.mesh)
            for other in before.dimensions[dimension].axes:
                parts *= other.size(mesh)
            axes = ", ".join(map(str, before.dimensions[dimension].axes))
            message = (
                f"propagation gave dimension {dimension} of {place} {axes}, cut by {event.pass_name} because "
                f"{size} is not divisible by {parts}"
            )
            remedy = f"pad the dimension to a multiple of {parts}, or constrain a value inside the function"
            return Reason("non-divisible", message, remedy, blame=place)
        through = self._names.op(event.op) if event.op is not None else None
        why = f" for the sake of {through}" if through is not None else ""
        message = f"{event.pass_name} took {axis} from dimension {dimension} of {place}{why}"
        if "sub-axes" in event.pass_name:
            remedy = f"close dimension {dimension} of {place}, or use whole axes"
        else:
            remedy = "give both sides of the op the same sharding"
        return Reason("pass", message, remedy, through, blame=place)

    def _mesh_named(self, name: str) -> Mesh:
        for _, propagation in self._tracer.propagations:
            if name in propagation.journal.meshes:
                return propagation.journal.meshes[name]
        return self._meshes.get(name, Mesh())

    def _in_propagation(
        self, propagation: Propagation, slot: int, spot: Spot, dimension: int, axis: AxisRef
    ) -> Iterator[Reason]:
        around = manual_around(spot, axis.name)
        place = self._names.place(spot)
        if around is not None:
            op = self._names.op(around)
            yield Reason(
                "manual",
                f'{place} is inside of {op}, which is manual over "{axis.name}": there every tensor is local',
                f'take "{axis.name}" out of manual_axes, or shard by hand inside',
                op,
                blame=op,
            )
            return
        stopping = Stopping(self._explainer, propagation)
        neighbourhood = Neighbourhood(propagation)
        stops: dict[int, Reason] = {}
        weak: dict[int, Reason] = {}
        crossings: list[Crossing] = []
        for crossing in neighbourhood.walk(slot, dimension, axis):
            crossings.append(crossing)
            is_stop = neighbourhood.has(crossing.source_slot, crossing.source_dimension, axis)
            if is_stop and crossing.step not in stops:
                reason = stopping.at_crossing(crossing, axis)
                (weak if reason.kind in _WEAK else stops)[crossing.step] = reason
                if len(stops) == _MOST:
                    break
        said = {(reason.kind, reason.blame) for reason in stops.values()}
        own = [r for r in stopping.own_reasons(slot, dimension, axis) if (r.kind, r.blame) not in said]
        yield from own
        yield from stops.values()
        if not stops:
            yield from [*weak.values()][:1]
            yield from stopping.nothing(slot, dimension, axis, crossings)


def manual_around(spot: Spot, name: str) -> Operation | None:
    """The manual computation over axis `name` that a value is inside of."""
    op = None if isinstance(spot, Holder) else owning_op(spot)
    if op is not None and not isinstance(spot, Holder) and isinstance(spot.owner, Operation):
        op = op.parent_op()
    while op is not None:
        if name in manual_axes(op):
            return op
        op = op.parent_op()
    return None
