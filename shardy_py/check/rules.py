"""The lint rules: a function a rule, from a propagated program to findings. Codes are stable, never reused.

Not here: propagation (`api/`), levels and baselines (`checking.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.func import FuncOp

from shardy_py.api import Result, Value
from shardy_py.check import communication_rules as communication_rules  # adds its rules
from shardy_py.check import compiler_faults as compiler_faults  # adds its rule
from shardy_py.check import custom_rules as custom_rules  # adds its rules
from shardy_py.check import meshes as meshes  # adds its rule
from shardy_py.check import padding as padding  # adds its rule
from shardy_py.check import remedies, tensors
from shardy_py.check.boundaries import CheckedBoundaries
from shardy_py.check.finding import Finding
from shardy_py.check.rule import Limits, finding_of, listed, rows, rule
from shardy_py.mlir.dialects.sdy.interfaces import manual_axes
from shardy_py.mlir.dialects.traits import is_constant
from shardy_py.mlir.holders import RULE
from shardy_py.mlir.record import record_of
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.source import position_of
from shardy_py.ops import call_target
from shardy_py.ops.custom_calls import CALL
from shardy_py.propagation.rules import derive_rule
from shardy_py.report.tables import bytes_text
from shardy_py.search.advice import is_expressible, suggested
from shardy_py.sharding.spelling import string_literal

_GSPMD = frozenset({"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"})
"""Targets of custom calls that only annotate."""


@rule(
    *("SDY001", "replicated-tensor", "A large tensor is replicated"),
    why="Every device holds the whole tensor.",
    help="Shard it as the finding suggests, or close its dimensions if it is intended.",
)
def _find_replicated(result: Result, limits: Limits) -> Iterator[Finding]:
    explained = 0

    def is_replicated(value: Value) -> bool:
        if tensors.global_bytes(value) < limits.replicated_bytes or is_constant(value.entry.op):
            return False
        return not (tensors.is_forwarded(value) or tensors.is_partitioned(value))

    for value in result.values.where(is_replicated):
        place, size = tensors.best_place(value), tensors.global_bytes(value)
        if place is None or tensors.is_intended(result, value):
            continue
        dimension, axis = place
        remedy = f"shard it, for example dimension {dimension} along {string_literal(axis)}"
        explained += 1
        if result.record is not None and explained <= remedies.explained_count(result):
            reason = result.why_not(value, dimension, axis)[0]
            change = remedies.remedy_of_replicated(result, value, dimension, axis, reason.remedy)
            remedy = f"{reason.message}; {change}" if change else reason.message
        yield finding_of(value, f"{bytes_text(size)} are replicated on every device", remedy)


@rule(
    *("SDY004", "unused-mesh-axis", "A mesh axis is unused"),
    why="Devices along an unused axis do the same work.",
    help="Shard something along it, or remove it from the mesh.",
)
def _find_unused_axes(result: Result, limits: Limits) -> Iterator[Finding]:
    used: dict[str, set[str]] = {}
    for value in result.values.samples:
        sharding = value.sharding
        if sharding is not None and not sharding.mesh.is_maximal:
            axes = used.setdefault(str(sharding.value.mesh), set())
            axes.update(axis.name for axis in tensors.used_axes(sharding))
            axes.update(manual_axes(value.entry.op))
    for name, mesh in result.program.meshes.items():
        if used and name not in used:
            continue  # the program uses another mesh: no device is idle because of this one
        for axis in mesh.axes:
            if axis.size > 1 and axis.name not in used.get(name, ()):
                fact = f"axis {string_literal(axis.name)} of @{name} shards nothing"
                message = f"{fact}: {axis.size} devices along it do the same work"
                remedy = "shard something along it, or remove it from the mesh"
                op: Any = Symbols(result.program.module).get(name)
                yield Finding("", "warning", message, remedy, f"@{name}", position=position_of(op.location))


@rule(
    *("SDY005", "no-sharding-rule", "A custom call has no sharding rule"),
    why="Without a rule, shardings do not propagate through the op; operands and results are decided "
    "separately and may need reshards.",
    help="Add a sharding rule.",
)
def _find_calls_withoutrule(result: Result, limits: Limits) -> Iterator[Finding]:
    def is_call(value: Value) -> bool:
        entry = value.entry
        is_first = not entry.index and entry.role == "intermediate"
        return entry.op.name == CALL and is_first and not tensors.is_forwarded(value)

    for value in result.values.where(is_call):
        op = value.entry.op
        if (target := call_target(record_of(op))) is None or RULE in op.attributes:
            continue
        if not tensors.relates_dimensions(value) or derive_rule(record_of(op)) is not None:
            continue
        message = f"custom call @{target} has no sharding rule: shardings do not propagate through it"
        remedy = 'add one: `einsum_rule("i j -> i j", ...)` as its sdy.sharding_rule (docs/extending.md)'
        if target in _GSPMD:
            message = f"custom call @{target} is a GSPMD annotation that has not been imported"
            remedy = "import it: sdy-opt --xla-sdy-stablehlo-import-pipeline (docs/hlo_sharding.md)"
        yield finding_of(value, message, remedy)


@rule(
    *("SDY006", "open-boundary", "An argument or result is open"),
    why="The layout of the argument or result depends on the whole program and may change with it.",
    help="Add the sharding that was propagated, with closed dimensions.",
    level="note",
)
def _find_open_boundaries(result: Result, limits: Limits) -> Iterator[Finding]:
    is_jax = result.source.is_by_jax
    boundaries = CheckedBoundaries(result)
    for value in result.source.values.boundaries if result.program.meshes else ():
        function = value.entry.op
        if not value.shape or not isinstance(function, FuncOp):
            continue
        sharding = value.sharding
        if value.entry in boundaries.following:
            continue
        is_private = function.sym_visibility is not None and function.sym_visibility.data == "private"
        if is_private or (sharding is not None and sharding.mesh.is_maximal):
            continue
        is_open = [
            n for n in range(len(value.shape)) if sharding is None or not sharding.dimensions[n].is_closed
        ]
        propagated = boundaries.propagated(value)
        if propagated is None or not any(propagated.dimensions[n].axes for n in is_open):
            continue  # closing it changes nothing, now or later: there is nothing to keep
        if boundaries.has_style_of_weight(value, propagated):
            continue
        if is_jax and not is_expressible(propagated):
            continue
        what = "has no sharding" if sharding is None else f"has open dimensions {listed(is_open)}"
        message = f"{value.role} {what}: propagation decides its layout"
        remedy = boundaries.remedy(value, propagated)
        yield finding_of(value, message, remedy, suggested(value.entry, propagated))


RULES = rows()
