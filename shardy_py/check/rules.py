"""What the lint rules find: a function each, from a propagated program to findings.

Not here: propagation (`api/`), the table of rules (`catalogue.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.ir import Operation

from shardy_py.api import Result, Value
from shardy_py.check.finding import Finding
from shardy_py.check.tensors import (
    MANUAL,
    best_place,
    global_bytes,
    is_cut,
    is_passed_on,
    is_wanted,
    relates_dimensions,
)
from shardy_py.errors import Position
from shardy_py.graph.holders import manual_axes
from shardy_py.graph.record import record_of
from shardy_py.ir import find_ops
from shardy_py.partition.cost import CostModel
from shardy_py.report.communication import HALO_EXCHANGE, CollectiveUse
from shardy_py.report.tables import bytes_text
from shardy_py.rules import derive_rule
from shardy_py.sharding import TensorSharding
from shardy_py.text.attribute_writer import attribute_text
from shardy_py.text.source import position_of

EXPLAINED = 3
"""For so many findings of a rule the reason is looked up in the record of propagation."""
CONSTANTS = frozenset({"stablehlo.constant", "sdy.constant"})
GSPMD = frozenset({"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"})
"""Custom calls that only annotate."""
REDUCTIONS = frozenset({"all_reduce", "reduce_scatter"})
UNAVOIDABLE = REDUCTIONS | {HALO_EXCHANGE}
"""What an op needs by itself, however its operands are sharded: no reshard."""


@dataclass(frozen=True, slots=True)
class Limits:
    """From which size on a rule speaks, in bytes of the whole tensor or bytes moved; and what links cost."""

    replicated_bytes: int = 64 << 20
    reshard_bytes: int = 1 << 20
    model: CostModel | None = None


def find_replicated(result: Result, limits: Limits) -> Iterator[Finding]:
    """SDY001."""
    explained = 0
    for value in result.values:
        size = global_bytes(value)
        if size < limits.replicated_bytes or value.entry.op.name in CONSTANTS or is_passed_on(value):
            continue
        place = None if is_cut(value) else best_place(value)
        if place is None or is_wanted(result, value):
            continue
        dimension, axis = place
        remedy = f'give it a sharding, as {value}: dimension {dimension} over "{axis}"'
        explained += 1
        if result.record is not None and explained <= EXPLAINED:
            reason = result.why_not(value, dimension, axis)[0]
            remedy = f"{reason.message}; {reason.remedy}" if reason.remedy else reason.message
        message = f"{bytes_text(size)} are replicated on every device"
        yield _finding("SDY001", value, message, remedy, size)


def find_padded(result: Result, limits: Limits) -> Iterator[Finding]:
    """SDY002."""
    for value in result.values:
        if is_passed_on(value):
            continue
        for number, size, parts, axes in _uneven(value):
            whole = parts * -(-size // parts)
            message = (
                f"dimension {number} of size {size} is cut into {parts} parts by {axes}: {whole - size} of "
                f"{whole} are padding"
            )
            yield _finding("SDY002", value, message, _even_remedy(size, parts), global_bytes(value))
    for value in result.source.values if result.source is not result.program else ():
        if value.role != "intermediate":
            for number, size, parts, axes in _uneven(value):
                message = (
                    f"dimension {number} of size {size} does not divide into {parts} parts by {axes}, as "
                    "asked for: arguments and results are cut evenly, by fewer axes"
                )
                yield _finding("SDY002", value, message, _even_remedy(size, parts), global_bytes(value))


def find_implicit_reshards(result: Result, limits: Limits) -> Iterator[Finding]:
    """SDY003."""
    for use in _bill(result, limits):
        if use.kind in UNAVOIDABLE or use.cause.is_explicit or use.cost.bytes < limits.reshard_bytes:
            continue
        message = f"{_a(use.kind)} over {_axes(use)} of {bytes_text(use.cost.bytes)}: {use.cause.reason}"
        met = () if result.record is None else result.sides(use)
        agree = f"let {_told(use.source)} and {_told(use.target)} agree"
        change = f"{'; '.join(map(str, met))}: change one" if len(met) > 1 else agree
        remedy = f"{change}, or write the reshard as a constraint"
        yield _use_finding("SDY003", result, use, message, remedy)


def find_unused_axes(result: Result, limits: Limits) -> Iterator[Finding]:
    """SDY004."""
    used: dict[str, set[str]] = {}
    for value in result.values:
        found = value.sharding
        if found is None or found.mesh.is_maximal:
            continue
        axes = used.setdefault(str(found.value.mesh), set())
        lists = [found.unreduced_axes, *(dimension.axes for dimension in found.dimensions)]
        axes.update(axis.name for some in lists for axis in some)
        if value.entry.op.name == MANUAL:
            axes.update(manual_axes(value.entry.op))
    for name, mesh in result.program.meshes.items():
        if used and name not in used:
            continue  # the program works on another mesh: no device idles for this one
        for axis in mesh.axes:
            if axis.size > 1 and axis.name not in used.get(name, ()):
                message = f'axis "{axis.name}" of @{name} shards nothing: {axis.size} times the work is done'
                remedy = "shard something over it, or leave it out of the mesh"
                position = _mesh_position(result, name)
                yield Finding("SDY004", "warning", message, remedy, f"@{name}", position=position)


def find_calls_without_rule(result: Result, limits: Limits) -> Iterator[Finding]:
    """SDY005."""
    for value in result.values.of_op("stablehlo.custom_call"):
        op = value.entry.op
        if value.entry.index or "sdy.sharding_rule" in op.attributes or not relates_dimensions(value):
            continue
        if derive_rule(record_of(op)) is not None:
            continue
        target: Any = op.properties["call_target_name"]
        message = f"custom call @{target.data} has no sharding rule: what it takes and gives stays apart"
        remedy = 'give it one: `einsum_rule("i j -> i j", ...)` as its sdy.sharding_rule (docs/extending.md)'
        if target.data in GSPMD:
            message = f"custom call @{target.data} is an annotation of GSPMD: nobody reads it"
            remedy = "read it first: sdy-opt --xla-sdy-stablehlo-import-pipeline (docs/hlo_sharding.md)"
        yield _finding("SDY005", value, message, remedy, global_bytes(value))


def find_open_boundaries(result: Result, limits: Limits) -> Iterator[Finding]:
    """SDY006."""
    for value in result.source.values if result.program.meshes else ():
        if value.role == "intermediate" or _is_private(value.entry.op):
            continue
        sharding, shape = value.sharding, value.shape
        if not shape:
            continue
        open_dimensions = [
            number
            for number in range(len(shape))
            if sharding is None or not sharding.dimensions or not sharding.dimensions[number].is_closed
        ]
        if not open_dimensions or (sharding is not None and sharding.mesh.is_maximal):
            continue
        what = "has no sharding" if sharding is None else f"has open dimensions {_listed(open_dimensions)}"
        message = f"{value.role} {what}: propagation decides how it is laid out"
        remedy = "close its dimensions: {} instead of {?}, or a sharding where there is none"
        yield _finding("SDY006", value, message, remedy, global_bytes(value))


def find_slow_reductions(result: Result, limits: Limits) -> Iterator[Finding]:
    """SDY007."""
    model = limits.model
    for use in _bill(result, limits) if model is not None and model.by_axis else ():
        assert model is not None
        slow = [
            name for name, _ in use.axes if model.link_of(name).bytes_per_second < model.link.bytes_per_second
        ]
        if use.kind not in REDUCTIONS or not slow or use.cost.bytes < limits.reshard_bytes:
            continue
        names = _listed(dict.fromkeys(f'"{name}"' for name in slow))
        message = (
            f"{_a(use.kind)} of {bytes_text(use.cost.bytes)} goes over the slow {names}: {use.cause.reason}"
        )
        remedy = f"shard the summed dimension over another axis than {names}"
        yield _use_finding("SDY007", result, use, message, remedy)


def _finding(code: str, value: Value, message: str, remedy: str, size: int) -> Finding:
    return Finding(
        code=code,
        level="warning",
        message=message,
        remedy=remedy,
        subject=value.label or value.name,
        function=value.function,
        position=position_of(value.entry.location),
        location=value.location,
        bytes=size,
        anchor=_anchor(value),
    )


def _anchor(value: Value) -> str:
    """What a value goes by whatever stands before it: its label, or its op, type and name in the source."""
    if value.label or value.role != "intermediate":
        return value.label or value.name
    name = value.location.partition(" ")[2]
    return f"{value.op_name} {attribute_text(value.entry.type)} {name}"


def _use_finding(code: str, result: Result, use: CollectiveUse, message: str, remedy: str) -> Finding:
    return Finding(
        code=code,
        level="warning",
        message=message,
        remedy=remedy,
        subject=use.cause.op,
        function=use.function,
        position=use.cause.position,
        location=use.cause.location,
        bytes=use.cost.bytes,
    )


def _bill(result: Result, limits: Limits) -> tuple[CollectiveUse, ...]:
    bill = result.communication() if limits.model is None else result.communication(limits.model)
    return bill.sending


def _uneven(value: Value) -> Iterator[tuple[int, int, int, str]]:
    """The dimensions that their axes do not divide: number, size, parts, axes."""
    sharding = value.sharding
    if sharding is None:
        return
    for number, (size, dimension) in enumerate(zip(value.shape or (), sharding.dimensions, strict=False)):
        parts = prod(axis.size(sharding.mesh) for axis in dimension.axes)
        if size is not None and size % parts:
            yield number, size, parts, _listed(dimension.axes)


def _even_remedy(size: int, parts: int) -> str:
    return f"make it a multiple of {parts}, as {-(-size // parts) * parts}, or shard it by fewer devices"


def _is_private(function: Operation) -> bool:
    visibility: Any = function.properties.get("sym_visibility")
    return visibility is not None and visibility.data == "private"


def _mesh_position(result: Result, name: str) -> Position | None:
    meshes: Any = find_ops(result.program.module, "sdy.mesh")
    found = next((op for op in meshes if op.properties["sym_name"].data == name), None)
    return None if found is None else position_of(found.location)


def _a(kind: str) -> str:
    """The kind of a collective with its article."""
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _axes(use: CollectiveUse) -> str:
    return _listed(dict.fromkeys(f'"{name}"' for name, _ in use.axes)) or "no axis"


def _listed(words: Any) -> str:
    return ", ".join(map(str, words))


def _told(sharding: TensorSharding | None) -> str:
    return "no sharding" if sharding is None else str(sharding)
