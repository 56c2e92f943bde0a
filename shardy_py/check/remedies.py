"""Remedies of findings: annotations that have been tried with propagation and the planner of XLA.

Not here: what is tried (`shardy_py.search.advice`), the findings (`rules.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from shardy_py.api import P, Result, Value
from shardy_py.base.errors import ShardyError
from shardy_py.check import tensors
from shardy_py.check.indivisible import indivisible
from shardy_py.check.rule import Limits
from shardy_py.mlir.location_names import name_stack
from shardy_py.report.communication import CollectiveUse
from shardy_py.report.explain import Side
from shardy_py.report.tables import bytes_text
from shardy_py.report.verdict import TriedChange
from shardy_py.search.advice import MOST_TRIES, MOST_VALUES
from shardy_py.search.advice.torch_words import words_of_values
from shardy_py.search.advising import ResultAdvice
from shardy_py.search.verdicts import ResultVerdicts
from shardy_py.sharding.meshes import mesh_of

_EXPLAINED = 3
_VALUES_TRIED = 60_000
"""The values of all programs that are propagated to find remedies of replicated tensors."""


def explained_count(result: Result) -> int:
    """Returns for how many replicated tensors the reason is looked up and remedies are tried."""
    return max(_EXPLAINED, _VALUES_TRIED // (MOST_TRIES * max(1, len(result.values))))


def tried_change(result: Result, use: CollectiveUse) -> TriedChange | None:
    """Returns the best change for a collective of those that the verdict tried; None if none helps."""
    return None if result.record is None else result.kept(ResultVerdicts).change_for(use)


def remedy_of_reshard(result: Result, use: CollectiveUse, change: TriedChange | None) -> str:
    """Returns what to change so that less is sent than by an implicit collective.

    change: the best one as tried; without it, the annotations that conflict.
    """
    is_torch = result.source.is_by_torch
    meant = "or write the reshard as a constraint if it is meant"
    if is_torch:
        meant = "or redistribute the module's input or output in its style if it is meant"
    if change is not None:
        return f"{change.saving}, {meant}"
    sides = () if result.record is None else result.sides(use, most_chains=1)
    conflict = f"make {use.source or 'no sharding'} and {use.target or 'no sharding'} agree"
    if len(sides) > 1:
        texts = [_side_of_torch(result, side) if is_torch else str(side) for side in sides]
        conflict = f"{'; '.join(dict.fromkeys(texts))}: change one"
    if words := indivisible(result, use):
        conflict = words
    op = use.cause.made_for
    if is_torch and op is not None and (module := name_stack(op.location).rpartition("/")[0]):
        conflict = f"in {module}: {conflict}"
    if result.record is not None and result.kept(ResultVerdicts).is_tried(use):
        conflict = f"no change that was tried helps; {conflict}"
    return f"{conflict}, {meant}"


def _side_of_torch(result: Result, side: Side) -> str:
    """An annotation that an axis comes from, as a user of torch gives it; of others, as it is."""
    label, table = side.annotation.place.label, result.source.values.table
    named = (e for e in table.entries if label and e.role == "argument" and e.label == label)
    entry = next(named, None)
    if entry is None or entry.sharding is None:
        return str(side)
    mesh = mesh_of(entry.sharding, result.source.meshes)
    return f"{side.axis} is from {words_of_values([entry], entry.sharding, mesh)}"


def remedy_of_replicated(result: Result, value: Value, dimension: int, axis: str, change: str) -> str:
    """Returns the best annotation after which a replicated value is sharded along an axis, as tried.

    Of programs of JAX, on `dimension` if possible, else on any. Of others, `change`, if a constraint on the
    value pays. "" if none helps that sends no more than is no longer held; `change` if that cannot be tried.
    """
    if result.record is None or len(result.values) > MOST_VALUES:  # propagating it again takes seconds
        return change
    if not result.source.is_by_jax:
        return change if _pays(result, value, dimension, axis) else ""
    for dimensions in ((dimension,), None):
        found = result.placements(value, axis, dimensions)
        good = next((each for each in found.remedies if each.pays), None)
        if good is not None:
            return str(good)
    return ""


def _pays(result: Result, value: Value, dimension: int, axis: str) -> bool:
    """True if a value that is sharded along an axis, too, sends no more than it saves; True if unknown."""
    sources = result.kept(ResultAdvice).sources
    entry = None if sources is None else sources.entry(value)
    if entry is None:
        return True
    spec: list[tuple[str, ...]] = [() for _ in value.shape or ()]
    spec[dimension] = (axis,)
    try:
        before, after = result.what_if({Value(entry, result.source.meshes): P(*spec)}).figures
    except ShardyError:
        return False
    size = tensors.global_bytes(value)
    saved = size - size // next(mesh.sizes[axis] for mesh in value.meshes.values() if axis in mesh.sizes)
    return after.bytes - before.bytes <= saved and after.memory_bytes <= before.memory_bytes


def effect_of(result: Result, value: SSAValue, spec: Sequence[tuple[str, ...]], limits: Limits) -> str:
    """Returns how much less a program sends with a value sharded like this; "" if no less, or it is large."""
    sources = result.kept(ResultAdvice).sources
    entry = None if sources is None else sources.of(value)
    if entry is None or len(result.values) > MOST_VALUES:
        return ""
    edits = {Value(entry, result.source.meshes): P(*spec)}
    try:
        before, after = result.what_if(edits, partitioner=limits.partitioner).figures
    except ShardyError:
        return ""
    if after.bytes >= before.bytes:
        return ""
    return f"the program sends {bytes_text(before.bytes)} -> {bytes_text(after.bytes)}"
