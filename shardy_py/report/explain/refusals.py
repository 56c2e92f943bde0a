"""Messages and remedies for tensors that do not accept an axis, by kind of stop.

Not here: which tensor refused which axis (`crossings.py`), kinds of reasons (`explanation.py`).
"""

from __future__ import annotations

from shardy_py.base.records import dataclass
from shardy_py.propagation.stops import Stop, StopKind
from shardy_py.report.explain.explanation import Annotation, NamedPlace, constrained
from shardy_py.report.explain.neighbourhood import Crossing
from shardy_py.report.explain.propagation_view import PropagationView
from shardy_py.sharding import AxisRef
from shardy_py.sharding.rule import factor_symbol

Words = tuple[str, str, str]
"""The kind of a reason, its message and the remedy."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A tensor, in `slot`, that does not accept an axis, at a crossing or by its own sharding (None)."""

    view: PropagationView
    stop: Stop
    slot: int
    crossing: Crossing | None

    def words(self) -> Words:
        """Returns the kind, message and remedy."""
        stop, place = self.stop, self.view.place(self.slot)
        axis, others = stop.axis, ", ".join(map(str, stop.others)) or "other axes"
        dimension = f"dimension {stop.dimension} of {place}"
        target = None if self.crossing is None else self.view.place(self.crossing.slot)
        match stop.kind:
            case StopKind.USED:
                annotation = self.view.annotation(self.slot, stop.dimension, axis)
                message = f"{dimension} is already sharded along {others}{_set_by(annotation)}"
                remedy = f"remove {axis} from {_changed(annotation, place)}, or constrain {place} "
                return "used", message + self._round(axis), remedy + "to use it on the other dimension"
            case StopKind.CONFLICT:
                return self._conflict(f"{dimension} is already sharded along {others}", place, target)
            case StopKind.REPLICATED:
                origin = self.view.origin(self.slot)
                message = f"{place} is explicitly replicated along {others}{_set_by(origin)}"
                return "replicated", message, self._unreplicated(origin, place)
            case StopKind.UNREDUCED:
                origin = self.view.origin(self.slot)
                remedy = f"remove {axis} from unreduced={{...}} of {_changed(origin, place)}"
                return "unreduced", f"{place} is unreduced along {others}{_set_by(origin)}", remedy
            case StopKind.CLOSED:
                origin = self.view.origin(self.slot)
                remedy = f"open dimension {stop.dimension} of {_changed(origin, place)}: {self._opened()}"
                return "closed", f"{dimension} is closed{_set_by(origin)}", remedy
            case StopKind.OVERFLOW:
                message = f"{others} on {dimension} does not align with its factors"
                remedy = f"shard it along axes that divide {self._factor_sizes()}"
                return "non-divisible", message + _set_by(self._blocking()), remedy
            case StopKind.NON_DIVISIBLE:
                message = f"{axis} and the axes before it do not divide {self._factor_sizes()} in {dimension}"
                remedy = "make the size a multiple of their product, or use a smaller axis"
                return "non-divisible", message, remedy
            case StopKind.STRIDE:
                message = f"a more major factor of the dimension of {place} is not fully sharded, "
                remedy = f"add a sharding_constraint on {place}"
                return "stride", f"{message}so {axis} would shard it with a stride", remedy
            case StopKind.MESH:
                message = f"the tensors of the op are on different meshes: {self._meshes()}"
                return "mesh", message, "annotate them all on one mesh"
            case StopKind.ELSEWHERE:
                message = f"{axis} shards another factor of that dimension, which does not map to this one"
                return "no factor", message, constrained(axis, target)
            case StopKind.NOT_TAKEN:
                message = f"{place} could accept {axis}, but propagation does not revisit the op "
                message += f"after {axis} arrives (as in C++ Shardy)"
                return "not taken", message, constrained(axis, place)
            case StopKind.DIRECTION | StopKind.UNKNOWN:
                message = f"{place} does not accept {axis}, for an unknown reason"
                return "unknown", message, constrained(axis, place)

    def _conflict(self, fact: str, place: NamedPlace, target: NamedPlace | None) -> Words:
        axis, others, blocking, at = self.stop.axis, self.stop.others, self._blocking(), self.crossing
        in_round = self._round(others[0]) if others else ""
        sender = None if at is None else self.view.annotation(at.source_slot, at.source_dimension, axis)
        if blocking is not None and sender is not None and (sender.priority or 0) > (blocking.priority or 0):
            fact += f"{_set_by(blocking)} with priority {blocking.priority or 0}"
            message = f"{fact}; {axis} comes from {sender.place} with priority {sender.priority}{in_round}"
            remedy = f"give {blocking.place} a priority value above {sender.priority}, to propagate it later"
            return "priority", message, remedy
        remedy = f"change the sharding of {_changed(blocking, place)}, or {constrained(axis, target)}"
        return "conflict", f"{fact}{_set_by(blocking)}{in_round}", remedy

    def _blocking(self) -> Annotation | None:
        """Returns the annotation that the first of the axes in the way comes from."""
        others = self.stop.others
        return self.view.annotation(self.slot, self.stop.dimension, others[0]) if others else None

    def _round(self, axis: AxisRef) -> str:
        """Returns the round in which an axis arrived, if it was not there before propagation."""
        arrivals, dimension = self.view.propagation.arrivals.at(self.slot), self.stop.dimension
        matching = (a for a in arrivals if a.dimension == dimension and a.axis.overlaps(axis))
        arrival = next(matching, None)
        return "" if arrival is None else f" (in round {self.view.journal.stage_of(arrival.entry)})"

    def _unreplicated(self, origin: Annotation | None, place: NamedPlace) -> str:
        axis, boundary = self.stop.axis, self.view.propagation.boundaries.get(self.slot)
        if origin is not None and boundary is not None and axis.name in boundary.manual_axes:
            return f"add {axis} to dimension {self.stop.dimension} in the {origin.kind} of {origin.place}"
        return f"remove {axis} from replicated={{...}} of {_changed(origin, place)}"

    def _opened(self) -> str:
        boundary = self.view.propagation.boundaries.get(self.slot)
        written = self.view.journal.first_sharding(self.slot) if boundary is None else boundary.outer
        axes = "" if written is None else ", ".join(map(str, written.dimensions[self.stop.dimension].axes))
        return f"{{{f'{axes}, ' if axes else ''}?}} instead of {{{axes}}}"

    def _factor_sizes(self) -> str:
        """Returns the sizes of the factors of the dimension: `i=2, j=4`."""
        rule = None if self.crossing is None else self.view.rule(self.crossing.step)
        assert rule is not None
        factors = rule.tensors[self.stop.position][self.stop.dimension]
        return ", ".join(f"{factor_symbol(f)}={rule.factor_sizes[f]}" for f in factors)

    def _meshes(self) -> str:
        assert self.crossing is not None
        on_mesh: dict[str, NamedPlace] = {}
        for slot in self.view.slots_of(self.crossing.step):
            sharding = self.view.journal.sharding(slot)
            if sharding is not None:
                on_mesh.setdefault(str(sharding.mesh), self.view.place(slot))
        return ", ".join(f"{place} on @{name}" for name, place in on_mesh.items())


def _set_by(annotation: Annotation | None) -> str:
    return "" if annotation is None else f", set by {annotation}"


def _changed(annotation: Annotation | None, place: NamedPlace) -> NamedPlace:
    """Returns the value to change: the annotated one, else the tensor itself."""
    return place if annotation is None else annotation.place
