"""The lint rules: a function a rule, from a propagated program to findings. Codes are stable, never reused.

Not here: propagation (`api/`), levels and baselines (`checking.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.dialects.func import FuncOp

from shardy_py.api import Result, Value
from shardy_py.check import tensors
from shardy_py.check.finding import Finding, Level
from shardy_py.dialects.sdy.interfaces import manual_axes
from shardy_py.dialects.traits import is_constant
from shardy_py.graph.holders import RULE
from shardy_py.graph.record import record_of
from shardy_py.graph.symbols import Symbols
from shardy_py.ops import call_target
from shardy_py.partition.cost import DEFAULT, CostModel
from shardy_py.report.communication import HALO_EXCHANGE, CollectiveUse, Partitioner
from shardy_py.report.tables import bytes_text
from shardy_py.rules import derive_rule
from shardy_py.sharding.spelling import string_literal
from shardy_py.text.attribute_writer import attribute_text
from shardy_py.text.source import position_of

_EXPLAINED = 3
"""The number of findings of a rule whose reason is looked up in the record of propagation."""
_GSPMD = frozenset({"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"})
"""Targets of custom calls that only annotate."""
_REDUCTIONS = frozenset({"all_reduce", "reduce_scatter"})
_REQUIRED = _REDUCTIONS | {HALO_EXCHANGE}
"""The kinds that an op requires however its operands are sharded."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Minimum bytes for findings, of the global tensor or received per device; the costs of links.

    partitioner: whose collectives, as for `Result.communication`.
    """

    replicated_bytes: int = 64 << 20
    reshard_bytes: int = 1 << 20
    model: CostModel | None = None
    partitioner: Partitioner | None = None


_Find = Callable[[Result, Limits], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule.

    name: for tools. summary: the finding in a phrase. level: the default.
    find: returns the findings, whose code and level are set afterwards.
    why: the reason why it matters. help: the remedy.
    """

    code: str
    name: str
    summary: str
    level: Level
    find: _Find
    why: str
    help: str


_ROWS: list[RuleRow] = []


def _rule(
    code: str, name: str, summary: str, *, why: str, help: str, level: Level = "warning"
) -> Callable[[_Find], _Find]:
    """Adds the decorated function to the rules."""

    def add(find: _Find) -> _Find:
        _ROWS.append(RuleRow(code, name, summary, level, find, why, help))
        return find

    return add


@_rule(
    *("SDY001", "replicated-tensor", "A large tensor is replicated"),
    why="Every device holds the whole tensor.",
    help="Shard it as the finding suggests, or close its dimensions if it is intended.",
)
def _find_replicated(result: Result, limits: Limits) -> Iterator[Finding]:
    explained = 0
    for value in result.values:
        size = tensors.global_bytes(value)
        if size < limits.replicated_bytes or is_constant(value.entry.op) or tensors.is_forwarded(value):
            continue
        place = None if tensors.is_partitioned(value) else tensors.best_place(value)
        if place is None or tensors.is_intended(result, value):
            continue
        dimension, axis = place
        remedy = f"shard it, for example dimension {dimension} along {string_literal(axis)}"
        explained += 1
        if result.record is not None and explained <= _EXPLAINED:
            reason = result.why_not(value, dimension, axis)[0]
            remedy = f"{reason.message}; {reason.remedy}" if reason.remedy else reason.message
        yield _finding(value, f"{bytes_text(size)} are replicated on every device", remedy)


@_rule(
    *("SDY002", "non-divisible-dimension", "Shards are padded"),
    why="Each device allocates and computes ⌈n / p⌉ elements; the last shards are padded.",
    help="Make the size a multiple of the number of shards, or use fewer devices.",
)
def _find_padded(result: Result, limits: Limits) -> Iterator[Finding]:
    for value in result.values:
        if not tensors.is_forwarded(value):
            yield from _uneven(value, "is sharded", "{} of {} elements are padding")
    for value in result.source.values if result.source is not result.program else ():
        if value.role != "intermediate":
            consequence = "arguments and results are sharded along fewer axes instead"
            yield from _uneven(value, "does not divide", consequence)


@_rule(
    *("SDY003", "implicit-reshard", "Implicit communication"),
    why="Two annotations conflict, and the partitioner inserts communication.",
    help="Make the annotations agree, or write the reshard as a constraint if it is intended.",
)
def _find_implicit_reshards(result: Result, limits: Limits) -> Iterator[Finding]:
    for use in _collectives(result, limits):
        if use.kind in _REQUIRED or use.cause.is_explicit:
            continue
        axes = _listed(dict.fromkeys(f'"{name}"' for name, _ in use.axes)) or "no axis"
        size = bytes_text(use.cost.bytes)
        message = f"implicit {use.kind} of {size} along {axes}: {use.cause.reason}"
        sides = () if result.record is None else result.sides(use)
        change = f"make {use.source or 'no sharding'} and {use.target or 'no sharding'} agree"
        if len(sides) > 1:
            change = f"{'; '.join(map(str, sides))}: change one"
        yield _use_finding(use, message, f"{change}, or write the reshard as a constraint")


@_rule(
    *("SDY004", "unused-mesh-axis", "A mesh axis is unused"),
    why="Devices along an unused axis do the same work.",
    help="Shard something along it, or remove it from the mesh.",
)
def _find_unused_axes(result: Result, limits: Limits) -> Iterator[Finding]:
    used: dict[str, set[str]] = {}
    for value in result.values:
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


@_rule(
    *("SDY005", "no-sharding-rule", "A custom call has no sharding rule"),
    why="Without a rule, shardings do not propagate through the op; operands and results are decided "
    "separately and may need reshards.",
    help="Add a sharding rule.",
)
def _find_calls_without_rule(result: Result, limits: Limits) -> Iterator[Finding]:
    for value in result.values:
        op, entry = value.entry.op, value.entry
        if entry.index or entry.role != "intermediate" or tensors.is_forwarded(value):
            continue
        if (target := call_target(record_of(op))) is None or RULE in op.attributes:
            continue
        if not tensors.relates_dimensions(value) or derive_rule(record_of(op)) is not None:
            continue
        message = f"custom call @{target} has no sharding rule: shardings do not propagate through it"
        remedy = 'add one: `einsum_rule("i j -> i j", ...)` as its sdy.sharding_rule (docs/extending.md)'
        if target in _GSPMD:
            message = f"custom call @{target} is a GSPMD annotation that has not been imported"
            remedy = "import it: sdy-opt --xla-sdy-stablehlo-import-pipeline (docs/hlo_sharding.md)"
        yield _finding(value, message, remedy)


@_rule(
    *("SDY006", "open-boundary", "An argument or result is open"),
    why="The layout of the argument or result depends on the whole program and may change with it.",
    help="Close the dimensions, or add a sharding.",
    level="note",
)
def _find_open_boundaries(result: Result, limits: Limits) -> Iterator[Finding]:
    for value in result.source.values if result.program.meshes else ():
        function, sharding = value.entry.op, value.sharding
        if value.role == "intermediate" or not value.shape or not isinstance(function, FuncOp):
            continue
        is_private = function.sym_visibility is not None and function.sym_visibility.data == "private"
        if is_private or (sharding is not None and sharding.mesh.is_maximal):
            continue
        dimensions = () if sharding is None else sharding.dimensions
        given = dict(enumerate(dimensions))
        is_open = [n for n in range(len(value.shape)) if n not in given or not given[n].is_closed]
        if is_open:
            what = "has no sharding" if sharding is None else f"has open dimensions {_listed(is_open)}"
            message = f"{value.role} {what}: propagation decides its layout"
            remedy = "close its dimensions: {} instead of {?}, or add a sharding"
            yield _finding(value, message, remedy)


@_rule(
    *("SDY007", "slow-reduction", "A reduction uses slow links"),
    why="A reduction over slow links is expensive: unlike a gather, it moves the whole tensor.",
    help="Shard the contracted dimension along another axis.",
)
def _find_slow_reductions(result: Result, limits: Limits) -> Iterator[Finding]:
    model = limits.model
    if model is None:
        return
    fast = model.link.bytes_per_second
    for use in _collectives(result, limits) if model.by_axis else ():
        slow = [f'"{name}"' for name, _ in use.axes if model.link_of(name).bytes_per_second < fast]
        if use.kind in _REDUCTIONS and slow:
            names = _listed(dict.fromkeys(slow))
            message = (
                f"{use.kind} of {bytes_text(use.cost.bytes)} over slow links of {names}: {use.cause.reason}"
            )
            yield _use_finding(
                use, message, f"shard the contracted dimension along another axis than {names}"
            )


RULES = tuple(_ROWS)


def _finding(value: Value, message: str, remedy: str) -> Finding:
    # What a value is called whatever comes before it: its label, or its op, type and name in the source.
    anchor = value.label or value.name
    if not value.label and value.role == "intermediate":
        name = value.location.partition(" ")[2]
        anchor = f"{value.op_name} {attribute_text(value.entry.type)} {name}"
    return Finding(
        *("", "warning", message, remedy, value.label or value.name, value.function),
        *(position_of(value.entry.location), value.location, tensors.global_bytes(value), anchor),
    )


def _use_finding(use: CollectiveUse, message: str, remedy: str) -> Finding:
    cause = use.cause
    return Finding(
        *("", "warning", message, remedy, cause.op, use.function),
        *(cause.position, cause.location, use.cost.bytes),
    )


def _collectives(result: Result, limits: Limits) -> Iterator[CollectiveUse]:
    model = DEFAULT if limits.model is None else limits.model
    report = result.communication(model, partitioner=limits.partitioner)
    return (use for use in report.sending if use.cost.bytes >= limits.reshard_bytes)


def _uneven(value: Value, fact: str, consequence: str) -> Iterator[Finding]:
    """Returns a finding for each dimension that its axes do not divide; `{}`: elements of padding, of all."""
    sharding = value.sharding
    if sharding is None or sharding.is_fully_replicated:
        return
    for number, (size, dimension) in enumerate(zip(value.shape or (), sharding.dimensions, strict=False)):
        parts = prod(axis.size(sharding.mesh) for axis in dimension.axes)
        if size is not None and size % parts:
            whole = parts * -(-size // parts)
            message = f"dimension {number} of size {size} {fact} into {parts} parts along "
            message += f"{_listed(dimension.axes)}: {consequence.format(whole - size, whole)}"
            remedy = f"make it a multiple of {parts}, such as {whole}, or use fewer devices"
            yield _finding(value, message, remedy)


def _listed(words: Iterable[object]) -> str:
    return ", ".join(map(str, words))
