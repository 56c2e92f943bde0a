"""Messages and remedies for tensors that do not accept an axis: a function a kind of stop.

Not here: which tensor refused which axis (`crossings.py`), kinds of reasons (`reasons.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shardy_py.propagation.stops import Stop, StopKind
from shardy_py.report.explain.explanation import Annotation, NamedPlace
from shardy_py.report.explain.neighbourhood import Crossing
from shardy_py.report.explain.propagation_view import PropagationView
from shardy_py.report.explain.reasons import constrained
from shardy_py.sharding.axis_lists import Axes
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

    @property
    def place(self) -> NamedPlace:
        """The tensor."""
        return self.view.place(self.slot)

    @property
    def dimension(self) -> str:
        """The dimension of the tensor: `dimension 0 of %1`."""
        return f"dimension {self.stop.dimension} of {self.place}"

    @property
    def target(self) -> NamedPlace | None:
        """The tensor that the axis would have propagated to."""
        return None if self.crossing is None else self.view.place(self.crossing.slot)

    def blocking_annotation(self) -> Annotation | None:
        """Returns the annotation that the first of the axes in the way comes from."""
        others = self.stop.others
        return self.view.annotation(self.slot, self.stop.dimension, others[0]) if others else None

    def annotated(self, annotation: Annotation | None) -> NamedPlace:
        """Returns the value to change: the annotated one, else the tensor itself."""
        return self.place if annotation is None else annotation.place

    def later_sender(self, than: Annotation) -> Annotation | None:
        """Returns the annotation that the axis comes from, if its user priority is lower than another's."""
        at = self.crossing
        if at is None:
            return None
        sender = self.view.annotation(at.source_slot, at.source_dimension, self.stop.axis)
        return sender if sender is not None and (sender.priority or 0) > (than.priority or 0) else None

    def factor_sizes(self) -> str:
        """Returns the sizes of the factors of the dimension: `i=2, j=4`."""
        rule = None if self.crossing is None else self.view.rule(self.crossing.step)
        assert rule is not None
        factors = rule.tensors[self.stop.position][self.stop.dimension]
        return ", ".join(f"{factor_symbol(f)}={rule.factor_sizes[f]}" for f in factors)

    def words(self) -> Words:
        """Returns the kind, message and remedy."""
        return _WORDS.get(self.stop.kind, _unknown)(self)


def _text(axes: Axes) -> str:
    return ", ".join(map(str, axes)) or "other axes"


def _set_by(annotation: Annotation | None) -> str:
    return "" if annotation is None else f", set by {annotation}"


def _round(stage: str) -> str:
    return f" (in round {stage})" if stage else ""


def _used(refusal: Refusal) -> Words:
    stop = refusal.stop
    annotation = refusal.view.annotation(refusal.slot, stop.dimension, stop.axis)
    stage = refusal.view.arrival_stage(refusal.slot, stop.dimension, stop.axis)
    message = f"{refusal.dimension} is already sharded along {_text(stop.others)}{_set_by(annotation)}"
    remedy = f"remove {stop.axis} from {refusal.annotated(annotation)}, or constrain {refusal.place} to "
    return "used", message + _round(stage), remedy + "use it on the other dimension"


def _conflict(refusal: Refusal) -> Words:
    stop, annotation = refusal.stop, refusal.blocking_annotation()
    axis, others = stop.axis, stop.others
    stage = refusal.view.arrival_stage(refusal.slot, stop.dimension, others[0]) if others else ""
    message = f"{refusal.dimension} is already sharded along {_text(others)}{_set_by(annotation)}"
    sender = None if annotation is None else refusal.later_sender(annotation)
    if annotation is not None and sender is not None:
        early, late = f"priority {annotation.priority or 0}", f"priority {sender.priority}"
        message += f" with {early}; {axis} comes from {sender.place} with {late}"
        remedy = f"give {annotation.place} a priority value above {sender.priority}, to propagate it later"
        return "priority", message + _round(stage), remedy
    place = refusal.annotated(annotation)
    remedy = f"change the sharding of {place}, or {constrained(axis, refusal.target)}"
    return "conflict", message + _round(stage), remedy


def _replicated(refusal: Refusal) -> Words:
    stop, annotation = refusal.stop, refusal.view.origin(refusal.slot)
    place = refusal.annotated(annotation)
    message = f"{refusal.place} is explicitly replicated along {_text(stop.others)}{_set_by(annotation)}"
    if annotation is not None and refusal.view.is_manual(refusal.slot, stop.axis):
        remedy = f"add {stop.axis} to dimension {stop.dimension} in the {annotation.kind} of {place}"
    else:
        remedy = f"remove {stop.axis} from replicated={{...}} of {place}"
    return "replicated", message, remedy


def _unreduced(refusal: Refusal) -> Words:
    stop, annotation = refusal.stop, refusal.view.origin(refusal.slot)
    message = f"{refusal.place} is unreduced along {_text(stop.others)}{_set_by(annotation)}"
    remedy = f"remove {stop.axis} from unreduced={{...}} of {refusal.annotated(annotation)}"
    return "unreduced", message, remedy


def _closed(refusal: Refusal) -> Words:
    number, annotation = refusal.stop.dimension, refusal.view.origin(refusal.slot)
    axes = ", ".join(map(str, refusal.view.written_axes(refusal.slot, number)))
    opened = f"{{{f'{axes}, ' if axes else ''}?}} instead of {{{axes}}}"
    message = f"{refusal.dimension} is closed{_set_by(annotation)}"
    return "closed", message, f"open dimension {number} of {refusal.annotated(annotation)}: {opened}"


def _overflow(refusal: Refusal) -> Words:
    by = _set_by(refusal.blocking_annotation())
    message = f"{_text(refusal.stop.others)} on {refusal.dimension} does not align with its factors{by}"
    return "non-divisible", message, f"shard it along axes that divide {refusal.factor_sizes()}"


def _non_divisible(refusal: Refusal) -> Words:
    axis = refusal.stop.axis
    message = f"{axis} and the axes before it do not divide {refusal.factor_sizes()} in {refusal.dimension}"
    return "non-divisible", message, "make the size a multiple of their product, or use a smaller axis"


def _stride(refusal: Refusal) -> Words:
    message = f"a more major factor of the dimension of {refusal.place} is not fully sharded, so "
    message += f"{refusal.stop.axis} would shard it with a stride"
    return "stride", message, f"add a sharding_constraint on {refusal.place}"


def _elsewhere(refusal: Refusal) -> Words:
    axis = refusal.stop.axis
    message = f"{axis} shards another factor of that dimension, which does not map to this one"
    return "no factor", message, constrained(axis, refusal.target)


def _not_taken(refusal: Refusal) -> Words:
    axis, place = refusal.stop.axis, refusal.place
    message = f"{place} could accept {axis}, but propagation does not revisit the op after {axis} arrives "
    return "not taken", message + "(as in C++ Shardy)", constrained(axis, place)


def _mesh(refusal: Refusal) -> Words:
    assert refusal.crossing is not None
    meshes = refusal.view.meshes(refusal.crossing.step)
    return "mesh", f"the tensors of the op are on different meshes: {meshes}", "annotate them all on one mesh"


def _unknown(refusal: Refusal) -> Words:
    message = f"{refusal.place} does not accept {refusal.stop.axis}, for an unknown reason"
    return "unknown", message, constrained(refusal.stop.axis, refusal.place)


_WORDS: dict[StopKind, Callable[[Refusal], Words]] = {
    StopKind.USED: _used,
    StopKind.CONFLICT: _conflict,
    StopKind.REPLICATED: _replicated,
    StopKind.UNREDUCED: _unreduced,
    StopKind.CLOSED: _closed,
    StopKind.OVERFLOW: _overflow,
    StopKind.NON_DIVISIBLE: _non_divisible,
    StopKind.STRIDE: _stride,
    StopKind.MESH: _mesh,
    StopKind.ELSEWHERE: _elsewhere,
    StopKind.NOT_TAKEN: _not_taken,
}
