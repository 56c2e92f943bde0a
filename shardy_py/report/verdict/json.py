"""A verdict for JSON; docs/communication.md describes the fields. Not here: its text (`text.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from shardy_py.base.errors import Position
from shardy_py.base.json_values import JsonObject
from shardy_py.report.difference import Figures
from shardy_py.report.verdict.effects import CollectiveEffect, CollectivePlace
from shardy_py.report.verdict.model import CostCause, TriedChange, Verdict


def verdict_json(verdict: Verdict) -> JsonObject:
    """Returns the verdict by name."""
    figures = verdict.figures
    return {
        **_figures(figures),
        "collectives": sum(figures.collectives.values()),
        "partitioner": figures.partitioner,
        "stage": figures.stage,
        "model": verdict.model,
        "changes": [*map(change_json, verdict.changes)],
        "tried": verdict.tried,
        "not_tried": verdict.not_tried,
        "causes": [*map(_cause, verdict.causes)],
        "other_causes": verdict.others,
        "notes": [*verdict.notes],
    }


def change_json(change: TriedChange) -> JsonObject:
    """Returns a change with its costs before and after."""
    return {
        "words": change.words,
        "code": change.code,
        "before": {**_figures(change.before), "kept_bytes": change.kept[0]},
        "after": {**_figures(change.after), "kept_bytes": change.kept[1]},
        "fixes": [
            {"file": f.start.file, "start": _place(f.start), "end": _place(f.end), "new": f.new}
            for f in change.fixes
        ],
        "purpose": "memory" if change.is_for_memory else "communication",
        "effects": [*_effects(change.effects)],
    }


def _effects(effects: Iterable[CollectiveEffect]) -> Iterator[JsonObject]:
    """The effects of a change in their order, those that differ in scopes only together."""
    found: dict[CollectivePlace, tuple[int, int, int]] = {}
    for effect in effects:
        place = replace(effect.place, scope="")
        count, before, after = found.get(place, (0, 0, 0))
        found[place] = count + 1, before + effect.before, after + effect.after
    for place, (count, before, after) in found.items():
        yield {
            "kind": place.kind,
            "axes": [*place.axes],
            "op": place.op,
            "operand": place.operand,
            "location": place.location,
            "count": count,
            "before_bytes": before,
            "after_bytes": after,
        }


def _figures(figures: Figures) -> JsonObject:
    return {"bytes": figures.bytes, "seconds": figures.seconds, "memory_bytes": figures.memory_bytes}


def _cause(cause: CostCause) -> JsonObject:
    place = cause.position
    return {
        "location": cause.location,
        **{key: getattr(place, key, None) for key in ("file", "line", "column")},
        "code": cause.code,
        "ops": [*cause.ops],
        "kinds": dict(cause.kinds),
        "count": cause.count,
        "layers": cause.layers,
        "phases": dict(cause.phases),
        "bytes": cause.cost.bytes,
        "seconds": cause.cost.seconds,
        "share": round(cause.share, 4),
        "reason": cause.reason,
        "origins": [*cause.origins],
        "step": cause.step,
        "best": None if cause.best is None else change_json(cause.best),
    }


def _place(place: Position) -> list[int]:
    return [place.line, place.column]
