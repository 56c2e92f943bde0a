"""What a refusal is called, said in words, and what to write to change it: a function a kind of stop.

Not here: what was refused where (`crossings.py`), kinds of reasons (`reasons.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardy_py.propagation.stops import Stop, StopKind
from shardy_py.report.explain.explanation import Annotation, Place
from shardy_py.report.explain.reasons import constrained
from shardy_py.sharding.axis_lists import Axes

if TYPE_CHECKING:
    from shardy_py.report.explain.crossings import Stopping

Words = tuple[str, str, str]
"""The kind of a reason, its message and the remedy."""


def _text(axes: Axes) -> str:
    return ", ".join(map(str, axes))


def _by(annotation: Annotation | None) -> str:
    return "" if annotation is None else f", by the {annotation.kind} of {annotation.place}"


def _used(stopping: Stopping, found: Stop, slot: int, place: Place) -> Words:
    root = stopping.root(slot, found.dimension, found.axis)
    annotation = stopping.annotation(root)
    message = f"dimension {found.dimension} of {place} has {_text(found.others)} already{_by(annotation)}"
    stage = stopping.came(slot, found.dimension, found.axis)
    where = place if annotation is None else annotation.place
    remedy = f"take {found.axis} from {where}, or constrain {place} to have it on the other dimension"
    return "used", message + _round(stage), remedy


def _conflict(stopping: Stopping, found: Stop, slot: int, place: Place) -> Words:
    axis = found.others[0] if found.others else None
    root = None if axis is None else stopping.root(slot, found.dimension, axis)
    annotation = stopping.annotation(root)
    message = f"dimension {found.dimension} of {place} has {_text(found.others)} there{_by(annotation)}"
    stage = "" if axis is None else stopping.came(slot, found.dimension, axis)
    sender = None if annotation is None else stopping.later_sender(found.axis, annotation)
    if annotation is not None and sender is not None:
        late, early = f"priority {sender.priority}", f"priority {annotation.priority or 0}"
        message += f" with {early}; {found.axis} is from {sender.place} with {late}"
        remedy = f"give {annotation.place} a priority above {sender.priority}, that is less urgent"
        return "priority", message + _round(stage), remedy
    where = place if annotation is None else annotation.place
    remedy = f"change the sharding of {where}, or {constrained(found.axis, stopping.target)}"
    return "conflict", message + _round(stage), remedy


def _replicated(stopping: Stopping, found: Stop, slot: int, place: Place) -> Words:
    annotation = stopping.origin(slot)
    message = f"{place} is explicitly replicated along {_text(found.others)}{_by(annotation)}"
    where = place if annotation is None else annotation.place
    remedy = f"take {found.axis} out of replicated={{...}} of {where}"
    if annotation is not None and stopping.is_manual(slot, found.axis):
        remedy = f"put {found.axis} on dimension {found.dimension} in the {annotation.kind} of {where}"
    return "replicated", message, remedy


def _unreduced(stopping: Stopping, found: Stop, slot: int, place: Place) -> Words:
    annotation = stopping.origin(slot)
    message = f"{place} is unreduced along {_text(found.others)}{_by(annotation)}"
    where = place if annotation is None else annotation.place
    return "unreduced", message, f"take {found.axis} out of unreduced={{...}} of {where}"


def _closed(stopping: Stopping, found: Stop, slot: int, place: Place) -> Words:
    annotation = stopping.origin(slot)
    message = f"dimension {found.dimension} of {place} is closed{_by(annotation)}"
    where = place if annotation is None else annotation.place
    axes = _text(stopping.written(slot, found.dimension))
    opened = f"{{{f'{axes}, ' if axes else ''}?}} instead of {{{axes}}}"
    return "closed", message, f"open dimension {found.dimension} of {where}: {opened}"


def _overflow(stopping: Stopping, found: Stop, slot: int, place: Place) -> Words:
    root = stopping.root(slot, found.dimension, found.others[0])
    by = _by(stopping.annotation(root))
    message = f"{_text(found.others)} on dimension {found.dimension} of {place} cuts across its factors{by}"
    return "non-divisible", message, f"shard that dimension by axes that divide {stopping.sizes(found)}"


def _non_divisible(stopping: Stopping, found: Stop, slot: int, place: Place) -> Words:
    message = (
        f"{found.axis} and the axes before it do not divide {stopping.sizes(found)}, "
        f"in dimension {found.dimension} of {place}"
    )
    return "non-divisible", message, "make the size a multiple of theirs, or shard by a smaller axis"


def _stride(stopping: Stopping, found: Stop, slot: int, place: Place) -> Words:
    message = f"a more major factor of the dimension of {place} is not fully sharded, so {found.axis} would "
    return "stride", message + "cut it with a stride", f"add a sharding_constraint on {place}"


def _elsewhere(stopping: Stopping, found: Stop, slot: int, place: Place) -> Words:
    message = f"there {found.axis} is along another factor of the dimension, which does not lead here"
    return "no factor", message, constrained(found.axis, stopping.target)


def _not_taken(stopping: Stopping, found: Stop, slot: int, place: Place) -> Words:
    message = (
        f"{place} would have taken {found.axis}, but propagation does not come back to that op when the axis "
        "comes so late (C++ Shardy neither)"
    )
    return "not taken", message, constrained(found.axis, place)


def _mesh(stopping: Stopping, found: Stop, slot: int, place: Place) -> Words:
    message = f"the tensors of the op are on different meshes: {stopping.meshes()}"
    return "mesh", message, "annotate them all on one mesh"


def unknown(stopping: Stopping, found: Stop, slot: int, place: Place) -> Words:
    """What is said of a stop of a kind without words of its own."""
    message = f"{place} did not take {found.axis}, for no reason that is known"
    return "unknown", message, constrained(found.axis, place)


def _round(stage: str) -> str:
    return f" (it came in the round {stage})" if stage else ""


WORDS = {
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
"""By kind of stop."""
