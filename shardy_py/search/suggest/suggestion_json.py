"""Suggestions for JSON: the plans, the named schemes, and what the program has.

Not here: the same as text (`suggestion.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardy_py.base.json_values import JsonObject

if TYPE_CHECKING:
    from shardy_py.search.study import StepCost
    from shardy_py.search.suggest.suggestion import Plan, Suggestion
    from shardy_py.sharding import Mesh

SCHEMA = 1


def suggestion_json(suggestion: Suggestion) -> JsonObject:
    """Returns a suggestion for JSON; docs/schemas/suggest.json describes it. Times are in seconds."""
    current, verdicts = suggestion.current, suggestion.verdicts
    return {
        "schema": SCHEMA,
        "hardware": suggestion.hardware,
        "stage": suggestion.stage,
        "note": suggestion.note,
        "tried": suggestion.tried,
        "stopped": suggestion.stopped,
        "memory_limit_bytes": suggestion.memory_limit,
        "fits": suggestion.fits,
        "current": None if current is None else _cost(current),
        "plans": [
            {
                **_plan(plan),
                "changes": suggestion.changes(plan),
                "specs": {name: [list(axes) for axes in spec] for name, spec in plan.specs.items()},
                "code": plan.code(),
                "diff": suggestion.diff(plan),
                "compiled": verdicts[number].to_json() if verdicts else None,
            }
            for number, plan in enumerate(suggestion.plans)
        ],
        "schemes": [_plan(plan) for plan in suggestion.schemes],
        "absent": [{"scheme": name, "reason": reason} for name, reason in suggestion.absent.items()],
    }


def _plan(plan: Plan) -> JsonObject:
    return {"name": plan.name, "mesh": _mesh(plan.mesh), "cost": _cost(plan.cost)}


def _mesh(mesh: Mesh) -> list[JsonObject]:
    return [{"axis": axis.name, "size": axis.size} for axis in mesh.axes]


def _cost(cost: StepCost) -> JsonObject:
    return {
        "seconds": cost.serial,
        "overlapped_seconds": cost.overlapped,
        "memory_bytes": cost.memory_bytes,
        "received_bytes": cost.received_bytes,
    }
