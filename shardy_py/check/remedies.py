"""Remedies of findings: annotations that have been tried with propagation and the planner of XLA.

Not here: what is tried (`shardy_py.search.advice`), the findings (`rules.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from shardy_py.api import P, Result, Value
from shardy_py.base.errors import ShardyError
from shardy_py.check import tensors
from shardy_py.check.indivisible import indivisible
from shardy_py.check.rule import Limits
from shardy_py.report.communication import CollectiveUse
from shardy_py.report.tables import bytes_text
from shardy_py.report.verdict import TriedChange
from shardy_py.search.advice import MOST_TRIES, MOST_VALUES, spec_text
from shardy_py.search.advising import ResultAdvice
from shardy_py.search.verdicts import ResultVerdicts
from shardy_py.sharding import TensorSharding

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
    meant = "or write the reshard as a constraint if it is meant"
    if change is not None:
        return f"{change.saving}, {meant}"
    sides = () if result.record is None else result.sides(use, most_chains=1)
    conflict = f"make {use.source or 'no sharding'} and {use.target or 'no sharding'} agree"
    if len(sides) > 1:
        conflict = f"{'; '.join(map(str, sides))}: change one"
    if words := indivisible(result, use):
        conflict = words
    if result.record is not None and result.kept(ResultVerdicts).is_tried(use):
        conflict = f"no change that was tried helps; {conflict}"
    return f"{conflict}, {meant}"


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


def propagated_boundary(result: Result, value: Value) -> TensorSharding | None:
    """Returns the closed sharding that an argument or result of the source was propagated to; None: none."""
    found = next(iter(result.values.named(f"@{value.function}:{value.name}")), None)
    sharding = None if found is None else found.sharding
    if sharding is None or sharding.mesh.is_maximal:
        return None
    closed = tuple(replace(each, is_closed=True, priority=None) for each in sharding.value.dimensions)
    return replace(sharding.value, dimensions=closed)


def remedy_of_boundary(value: Value, propagated: TensorSharding, *, is_jax: bool) -> str:
    """Returns how to keep the sharding that an argument or result was propagated to."""
    if not is_jax:
        return f"add the sharding that was propagated to keep it: {propagated}"
    keyword = "out_shardings" if value.role == "result" else "in_shardings"
    spec, name = spec_text(propagated), value.label or value.name
    return f"pass the sharding that was propagated to jax.jit to keep it: {keyword}= of {name}: {spec}"
