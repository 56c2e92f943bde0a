"""Explains why a dimension of a value is not sharded along an axis, from the record of the passes.

    for reason in WhyNot(Explainer(record, module)).reasons(value, 1, "x"):
        print(reason.kind, reason.message, reason.remedy)

In this order: what passes did to the value after propagation; the value itself; the nearest tensors that have
the axis, with the step at which it stopped. Not here: kinds of reasons (`explanation.py`), the ways of axes
(`neighbourhood.py`), why a step stops an axis (`propagation/stops.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from xdsl.ir import Operation

from shardy_py.base.errors import ShardyError, warn
from shardy_py.base.patterns import on_use
from shardy_py.mlir.dialects.sdy.interfaces import manual_axes
from shardy_py.mlir.holders import Holder
from shardy_py.mlir.ir import owning_op
from shardy_py.mlir.location_names import location_text
from shardy_py.mlir.movements import Movement, Spot
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.builtin_attributes import unescape
from shardy_py.propagation.graph.run_record import Propagation
from shardy_py.report.explain.crossings import Stopping
from shardy_py.report.explain.explaining import Explainer, Subject, axis_text, final_sharding, spot_of
from shardy_py.report.explain.explanation import Reason, Reasons
from shardy_py.report.explain.neighbourhood import Neighbourhood
from shardy_py.report.explain.states import overlapping
from shardy_py.sharding import AxisRef, Mesh, SubAxis, TensorSharding
from shardy_py.sharding.spelling import string_literal, unknown_axis

_QUESTION = on_use(r'(.+),\s*(\d{1,9})\s*,(\s*"(?:[^"\\]|\\.)+".*|[^,]+)', re.DOTALL | re.ASCII)
_AXIS = on_use(r'(?:"((?:[^"\\]|\\.)+)"|([^":][^:]*))(?::\((\d{1,9})\)(\d{1,9}))?', re.DOTALL | re.ASCII)
_STOPS_SHOWN = 4

_WEAK = frozenset({"no factor", "dead"})
"""Shown only if there is nothing better: the axis is along another factor, or the op is finally erased."""


def _invalid(question: str) -> ShardyError:
    """The error for a question that is not of three parts, or whose dimension is not a number."""
    parts = question.split(",")
    if len(parts) == 3 and parts[0] and not parts[1].strip().isdecimal():
        got = f"'{parts[1].strip()}'"
        return ShardyError.unexpected("dimension", expected="a number from 0", got=got)
    expected = "VALUE,DIMENSION,AXIS such as '%3,0,x'"
    return ShardyError.unexpected("", expected=expected, got=f"'{question}'")


def parse_axis(text: str) -> AxisRef:
    """Returns an axis from its text, with or without quotes.

    Raises:
        ShardyError: the text is not an axis.

    >>> str(parse_axis("x:(1)2")), str(parse_axis('"x"'))
    ('"x":(1)2', '"x"')
    """
    match = _AXIS.fullmatch(text.strip())
    if match is None:
        raise ShardyError.unexpected("", expected="an axis such as 'x' or 'x:(1)2'", got=repr(text))
    literal, bare, pre_size, size = match.groups()
    name = unescape(literal) if literal else bare
    return AxisRef(name, SubAxis(int(pre_size), int(size)) if size else None)


class WhyNot:
    """Answers questions about the final program of an explainer."""

    def __init__(self, explainer: Explainer) -> None:
        self._explainer = explainer
        self._tracer = explainer.tracer
        self._names = explainer.names
        self._meshes = Symbols(explainer.module).meshes()
        self._views: dict[Propagation, tuple[Stopping, Neighbourhood]] = {}

    def named(self, question: str) -> dict[str, Reasons]:
        """Returns the reasons for a question `VALUE,DIMENSION,AXIS`, by the name of each value of that name.

        Raises:
            ShardyError: invalid question, or an unknown value, dimension or axis.
        """
        match = _QUESTION.fullmatch(question)
        if match is None:
            raise _invalid(question)
        name, dimension, axis = match.groups()
        table = self._names.table
        if remark := table.other_meaning(name):
            warn(remark.message, remark.where)
        answers: dict[str, Reasons] = {}
        for entry in table.find_all(name) or (table.find(name),):
            # Values in successive regions may have the same name.
            key = str(entry) if str(entry) not in answers else f"{entry} [{location_text(entry.location)}]"
            answers[key] = self.reasons(entry, int(dimension), axis)
        return answers

    def reasons(self, subject: Subject, dimension: int, axis: str) -> Reasons:
        """Returns why `dimension` of `subject` is not sharded along `axis`, nearest first; never empty.

        axis: spelled as `x`, `x:(1)2`.

        Raises:
            ShardyError: unknown dimension or axis.
        """
        spot, wanted = spot_of(subject), parse_axis(axis)
        self._check(spot, dimension, wanted)
        subject_dimension = f"dimension {dimension} of {self._names.place(spot)}"
        title = f"why is {subject_dimension} not sharded along {axis_text(wanted)}?"
        if sharding_axes := overlapping(final_sharding(spot), dimension, wanted):
            axes = ", ".join(map(str, sharding_axes))
            return Reasons(title, (Reason("sharded", f"{subject_dimension} is sharded along {axes}", ""),))
        return Reasons(title, dict.fromkeys(self._reasons(spot, dimension, wanted)))

    def _check(self, spot: Spot, dimension: int, axis: AxisRef) -> None:
        place = self._names.place(spot)
        entry = self._names.entry(spot)
        rank = getattr(entry.type, "get_num_dims", lambda: 0)() if entry is not None else 0
        if entry is not None and not rank:
            raise ShardyError(f"{place} has no dimensions: its type is {entry.type}")
        if entry is not None and not 0 <= dimension < rank:
            expected = "dimension 0, its only one" if rank == 1 else f"a dimension from 0 to {rank - 1}"
            got = str(dimension)
            raise ShardyError.unexpected(str(place), expected=expected, got=got, subject=got)
        sizes = {a.name: a.size for mesh in self._all_meshes() for a in mesh.axes}
        if axis.name not in sizes:
            remedy = "" if sizes else "add a mesh to the program"
            raise unknown_axis(axis.name, sizes, remedy=remedy)
        part, size = axis.sub_axis, sizes[axis.name]
        fits = part is None or (part.pre_size > 0 and 1 < part.size < size and size % part.next_pre_size == 0)
        if part is not None and not fits:
            expected = f"(M)N where 1 < N < {size} and M * N divides {size}"
            got = f"({part.pre_size}){part.size}"
            raise ShardyError.unexpected(
                f"sub-axis of '{string_literal(axis.name)[1:-1]}'", expected=expected, got=got, subject=got
            )

    def _all_meshes(self) -> Iterator[Mesh]:
        yield from self._meshes.values()
        for _, propagation in self._tracer.propagations:
            yield from propagation.journal.meshes.values()

    def _reasons(self, spot: Spot, dimension: int, axis: AxisRef) -> Iterator[Reason]:
        if all(mesh.sizes.get(axis.name, 1) == 1 for mesh in self._all_meshes()):
            message = f"{axis} has size 1, so it is removed from all shardings"
            yield Reason("size one", message, f"increase the size of {axis} in the mesh")
            return
        time = len(self._tracer.events)
        while (movement := self._tracer.latest(spot, time)) is not None:
            time, event, slot = movement
            if isinstance(event, Propagation):
                yield from self._in_propagation(event, slot, spot, dimension, axis)
                return
            is_in_place = event.source is event.target and event.old is not None
            before = event.old if is_in_place else self._tracer.sharding_at(event.source, time)
            if overlapping(before, dimension, axis):
                yield self._pass_reason(event, before, dimension, axis)
                return
            spot = event.source
        place = self._names.place(spot)
        if not self._tracer.propagations:
            remedy = "run sdy-propagation-pipeline"
            yield Reason("not recorded", "no propagation pass ran", remedy, blame=place)
            return
        op = None if isinstance(spot, Holder) else owning_op(spot)
        holds = isinstance(spot, Holder) or final_sharding(spot) is not None
        kind = "not recorded" if holds or op is None else "not shardable"
        message = f"{place} was not part of propagation: it has no place for a sharding"
        yield Reason(kind, message, "", self._names.op(op) if op is not None else None, blame=place)

    def _pass_reason(
        self, event: Movement, before: TensorSharding | None, dimension: int, axis: AxisRef
    ) -> Reason:
        place = self._names.place(event.target)
        entry = self._names.entry(event.target)
        shape = getattr(entry.type, "get_shape", tuple)() if entry is not None else ()
        size = shape[dimension] if dimension < len(shape) else None
        if "non-divisible" in event.pass_name and before is not None:
            mesh = before.mesh if isinstance(before.mesh, Mesh) else self._mesh_named(before.mesh)
            given = before.dimensions[dimension].axes
            parts = prod(other.size(mesh) for other in given)
            fact = f"propagation sharded dimension {dimension} of {place} along {', '.join(map(str, given))}"
            message = f"{fact}, reduced by {event.pass_name} because {size} is not divisible by {parts}"
            remedy = f"pad the dimension to a multiple of {parts}, or constrain a value inside the function"
            return Reason("non-divisible", message, remedy, blame=place)
        through = self._names.op(event.op) if event.op is not None else None
        why = f" for {through}" if through is not None else ""
        message = f"{event.pass_name} removed {axis} from dimension {dimension} of {place}{why}"
        remedy = "give both sides of the op the same sharding"
        if "sub-axes" in event.pass_name:
            remedy = self._remedy_of_sub_axis(before, size, axis)
            remedy = f"close dimension {dimension} of {place}, or {remedy}"
        return Reason("pass", message, remedy, through, blame=place)

    def _remedy_of_sub_axis(self, before: TensorSharding | None, size: int | None, axis: AxisRef) -> str:
        """Full axes where they divide the size; otherwise another size or axis, with the divisor."""
        whole = 1
        if before is not None:
            mesh = before.mesh if isinstance(before.mesh, Mesh) else self._mesh_named(before.mesh)
            whole = mesh.sizes.get(axis.name, 1)
        if size is None or size % whole == 0:
            return "use full axes"
        fact = f"{size} is not divisible by {whole}, the size of {string_literal(axis.name)}"
        padded = -(-size // whole) * whole
        return f"pad it to {padded} or shard it along an axis whose size divides {size}: {fact}"

    def _mesh_named(self, name: str) -> Mesh:
        for _, propagation in self._tracer.propagations:
            if name in propagation.journal.meshes:
                return propagation.journal.meshes[name]
        return self._meshes.get(name, Mesh())

    def _in_propagation(
        self, propagation: Propagation, slot: int, spot: Spot, dimension: int, axis: AxisRef
    ) -> Iterator[Reason]:
        around = _manual_around(spot, axis.name)
        if around is not None:
            op = self._names.op(around)
            name = string_literal(axis.name)
            message = f"{self._names.place(spot)} is inside {op}, which is manual along {name}: "
            remedy = f"remove {name} from manual_axes, or shard explicitly inside"
            yield Reason("manual", message + "tensors inside are local", remedy, op, blame=op)
            return
        if propagation not in self._views:
            neighbourhood = self._explainer.neighbourhood(propagation)
            self._views[propagation] = Stopping(self._explainer, propagation, neighbourhood), neighbourhood
        stopping, neighbourhood = self._views[propagation]
        left = neighbourhood.region(slot, dimension, axis).stop_count
        stops: dict[int, Reason] = {}
        weak: dict[int, Reason] = {}
        for crossing, distance in neighbourhood.walk(slot, dimension, axis) if left else ():
            if neighbourhood.has(*crossing.before, axis):
                left -= 1
                if crossing.step not in stops:
                    reason = replace(stopping.at_crossing(crossing, axis), distance=distance)
                    (weak if reason.kind in _WEAK else stops)[crossing.step] = reason
                if not left or len(stops) == _STOPS_SHOWN:
                    break
        shown = {(reason.kind, reason.blame) for reason in stops.values()}
        own = stopping.own_reasons(slot, dimension, axis)
        yield from [reason for reason in own if (reason.kind, reason.blame) not in shown]
        yield from stops.values()
        if not stops:
            yield from [*weak.values()][:1]
            yield from stopping.without_source(slot, dimension, axis)


def _manual_around(spot: Spot, name: str) -> Operation | None:
    """Returns the manual computation along axis `name` that a value is inside of."""
    if isinstance(spot, Holder):
        return None
    op = owning_op(spot)
    if op is not None and isinstance(spot.owner, Operation):
        op = op.parent_op()
    while op is not None and name not in manual_axes(op):
        op = op.parent_op()
    return op
