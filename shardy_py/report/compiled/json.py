"""The report on a compiled program for JSON; docs/compare.md describes the schema."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from shardy_py.base.json_values import JsonObject
from shardy_py.base.releases import heading
from shardy_py.hardware.cost import AxisSize
from shardy_py.hardware.tensor_bytes import json_fields
from shardy_py.report.communication import CollectiveUse
from shardy_py.report.compiled.text import tensors_text
from shardy_py.report.join import JoinEvidence

if TYPE_CHECKING:
    from shardy_py.report.compiled.report import CompiledReport, JoinedCollective

SCHEMA = 1


def compiled_json(report: CompiledReport) -> JsonObject:
    """Returns the report for JSON."""
    return {
        **heading(SCHEMA, report.release),
        "module": report.module,
        "stage": report.stage,
        "model": json_fields(report.model, "name", "source"),
        "total": json_fields(report.total),
        "exposed": json_fields(report.exposed),
        "joined_bytes": {
            "nothing" if each is None else each.name.lower(): report.bytes_by_evidence.get(each, 0)
            for each in (*JoinEvidence, None)
        },
        "collectives": [_collective(report, each) for each in report.collectives],
        "absent": [_use(use) for use in report.absent],
        "warnings": list(report.warnings),
        "memory": report.memory.to_json(),
    }


def _collective(report: CompiledReport, each: JoinedCollective) -> JsonObject:
    sent = each.sent
    return {
        "name": sent.name,
        "computation": sent.computation,
        "kind": sent.kind,
        "axes": _axes(each.axes),
        "tensors": len(sent.values),
        "largest": tensors_text(each).partition(" ")[0],
        "runs": sent.runs,
        "is_estimate": sent.is_estimate,
        "bytes": each.total.bytes,
        "seconds": each.total.seconds,
        "is_async": sent.overlap.is_async,
        "overlaps": sent.overlap.count if sent.overlap.is_known else None,
        "changes": [{"kind": change.kind, "words": change.words} for change in each.changes],
        "evidence": None if each.evidence is None else each.evidence.name.lower(),
        "is_forecast": each.is_forecast,
        "locations": list(each.locations),
        "before": [_use(use) for use in each.before],
        "annotations": list(report.origins_of(each)),
    }


def _axes(axes: Iterable[AxisSize]) -> list[JsonObject]:
    return [{"name": name, "size": size} for name, size in axes]


def _use(use: CollectiveUse) -> JsonObject:
    return {
        "kind": use.kind,
        "axes": _axes(use.axes),
        "runs": use.times,
        "bytes": use.total.bytes,
        "value": use.value,
        "reason": use.cause.reason,
        "location": use.cause.location,
    }
