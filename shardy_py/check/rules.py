"""The lint rules: one row a rule, with a function from a propagated program to findings.

| code | finds |
|---|---|
| SDY001 | large tensors that ended up replicated though nobody asked for it |
| SDY002 | dimensions that their axes do not divide, so that shards are padded |
| SDY003 | reshards that nobody wrote |
| SDY004 | axes of a mesh that shard nothing |
| SDY005 | custom calls without a sharding rule |
| SDY006 | arguments and results whose dimensions are left open |
| SDY007 | reductions over axes with slow links |

Codes keep their meaning for good. Not here: propagation (`api/`), levels and baselines (`checking.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.ir import BlockArgument

from shardy_py.api import Result, Value
from shardy_py.check.finding import Finding, Level
from shardy_py.graph.holders import manual_axes
from shardy_py.graph.record import record_of
from shardy_py.graph.value_table import ValueEntry
from shardy_py.graph.walk import find_ops
from shardy_py.partition.cost import CostModel
from shardy_py.report.communication import Use
from shardy_py.report.tables import bytes_text
from shardy_py.rules import derive_rule
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.axis_lists import Axes
from shardy_py.text.attribute_writer import attribute_text
from shardy_py.text.source import position_of

EXPLAINED = 3
"""For so many findings of a rule the reason is looked up in the record of propagation."""
CONSTANTS = frozenset({"stablehlo.constant", "sdy.constant"})
MANUAL = "sdy.manual_computation"
REDUCTIONS = frozenset({"all_reduce", "reduce_scatter"})


@dataclass(frozen=True, slots=True)
class Limits:
    """From which size on a rule speaks, in bytes of the whole tensor or bytes moved; and what links cost."""

    replicated_bytes: int = 64 << 20
    reshard_bytes: int = 1 << 20
    model: CostModel | None = None


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule: its code, its name for tools, what it says in a phrase, its level."""

    code: str
    name: str
    summary: str
    level: Level
    find: Callable[[Result, Limits], Iterator[Finding]]


def find_replicated(result: Result, limits: Limits) -> Iterator[Finding]:
    """SDY001."""
    explained = 0
    for value in result.values:
        sharding, size = value.sharding, _bytes(value)
        if size < limits.replicated_bytes or value.entry.op.name in CONSTANTS or _is_wanted(result, value):
            continue
        place = _best_place(value)
        if (sharding is not None and not sharding.is_fully_replicated) or place is None:
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
        sharding = value.sharding
        for number, (size, dimension) in enumerate(
            zip(value.shape or (), () if sharding is None else sharding.dimensions, strict=False)
        ):
            assert sharding is not None
            parts = prod(axis.size(sharding.mesh) for axis in dimension.axes)
            if size is None or size % parts == 0 or _is_passed_on(value):
                continue
            message = (
                f"dimension {number} of size {size} is cut into {parts} parts by {_names(dimension.axes)}: "
                f"{parts * -(-size // parts) - size} of {parts * -(-size // parts)} are padding"
            )
            remedy = (
                f"make it a multiple of {parts}, as {-(-size // parts) * parts}, or shard it by fewer devices"
            )
            yield _finding("SDY002", value, message, remedy, _bytes(value))


def find_implicit_reshards(result: Result, limits: Limits) -> Iterator[Finding]:
    """SDY003."""
    for use in _bill(result, limits):
        if use.kind in REDUCTIONS or use.cause.is_explicit or use.cost.bytes < limits.reshard_bytes:
            continue
        message = f"{_a(use.kind)} over {_axes(use)} of {bytes_text(use.cost.bytes)}: {use.cause.reason}"
        remedy = (
            f"let {_told(use.source)} and {_told(use.target)} agree, or write the reshard as a constraint"
        )
        yield _use_finding("SDY003", result, use, message, remedy)


def find_unused_axes(result: Result, limits: Limits) -> Iterator[Finding]:
    """SDY004."""
    used: set[tuple[str, str]] = set()
    for value in result.values:
        found = value.sharding
        if found is not None:
            lists = [found.unreduced_axes, *(dimension.axes for dimension in found.dimensions)]
            used.update((str(found.value.mesh), axis.name) for axes in lists for axis in axes)
    for op in find_ops(result.program.module, "sdy.manual_computation"):
        used.update((name, axis) for name in result.program.meshes for axis in manual_axes(op))
    for name, mesh in result.program.meshes.items():
        for axis in mesh.axes:
            if axis.size > 1 and (name, axis.name) not in used:
                message = f'axis "{axis.name}" of @{name} shards nothing: {axis.size} times the work is done'
                remedy = "shard something over it, or leave it out of the mesh"
                yield Finding("SDY004", "warning", message, remedy, f"@{name}")


def find_calls_without_rule(result: Result, limits: Limits) -> Iterator[Finding]:
    """SDY005."""
    for value in result.values.of_op("stablehlo.custom_call"):
        op = value.entry.op
        if value.entry.index or derive_rule(record_of(op)) is not None:
            continue
        target: Any = op.properties["call_target_name"]
        if "sdy.sharding_rule" in op.attributes or _is_known(result, op):
            continue
        message = f"custom call @{target.data} has no sharding rule: what it takes and gives stays apart"
        remedy = 'give it one: `einsum_rule("i j -> i j", ...)` as its sdy.sharding_rule (docs/extending.md)'
        yield _finding("SDY005", value, message, remedy, _bytes(value))


def find_open_boundaries(result: Result, limits: Limits) -> Iterator[Finding]:
    """SDY006."""
    values = result.source.values
    for value in (*values.arguments(), *values.results()) if values.table.functions else ():
        sharding, shape = value.sharding, value.shape
        if not shape or not result.program.meshes:
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
        yield _finding("SDY006", value, message, remedy, _bytes(value))


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


RULES: tuple[RuleRow, ...] = (
    RuleRow("SDY001", "replicated-tensor", "A large tensor is replicated", "warning", find_replicated),
    RuleRow("SDY002", "non-divisible-dimension", "Shards are padded", "warning", find_padded),
    RuleRow("SDY003", "implicit-reshard", "A reshard that nobody wrote", "warning", find_implicit_reshards),
    RuleRow("SDY004", "unused-mesh-axis", "An axis shards nothing", "warning", find_unused_axes),
    RuleRow("SDY005", "no-sharding-rule", "A custom call has no rule", "warning", find_calls_without_rule),
    RuleRow("SDY006", "open-boundary", "An argument or result is left open", "note", find_open_boundaries),
    RuleRow("SDY007", "slow-reduction", "A reduction over slow links", "warning", find_slow_reductions),
)
"""All rules."""


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


def _use_finding(code: str, result: Result, use: Use, message: str, remedy: str) -> Finding:
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


def _bill(result: Result, limits: Limits) -> tuple[Use, ...]:
    bill = result.communication() if limits.model is None else result.communication(limits.model)
    return bill.sending


def _bytes(value: Value) -> int:
    from shardy_py.layout import layout_bytes

    shape, element = value.shape, value.element_type
    if shape is None or element is None or None in shape:
        return 0
    return layout_bytes(element, tuple(size or 0 for size in shape), "linear").unpadded


def _is_wanted(result: Result, value: Value) -> bool:
    """Whether the program itself says that the value is replicated."""
    if value.role == "intermediate":
        return value.entry.op.name in ("sdy.reshard", "sdy.sharding_constraint")
    given = [
        v for v in result.source.values.named(f"@{value.function}:{value.name}") if v.sharding is not None
    ]
    return any(d.is_closed for v in given if v.sharding is not None for d in v.sharding.dimensions)


def _best_place(value: Value) -> tuple[int, str] | None:
    """The largest dimension, and the largest axis that may shard it; None where there is none."""
    shape = [size or 0 for size in value.shape or ()]
    meshes = [value.sharding.mesh] if value.sharding is not None else list(value.meshes.values())
    taken = _manual_around(value)
    axes = [axis for mesh in meshes for axis in mesh.axes if axis.size > 1 and axis.name not in taken]
    if not shape or not axes:
        return None
    return shape.index(max(shape)), max(axes, key=lambda axis: axis.size).name


def _manual_around(value: Value) -> set[str]:
    """The manual axes of the computations that a value is inside of: along those it is a part already."""
    taken: set[str] = set()
    ssa = value.entry.value
    inside = ssa.owner if isinstance(ssa, BlockArgument) else value.entry.op.parent
    around = None if inside is None or ssa is None else inside.parent_op()
    while around is not None:
        if around.name == MANUAL:
            taken.update(manual_axes(around))
        around = around.parent_op()
    return taken


def _is_passed_on(value: Value) -> bool:
    """Whether the value only stands for another one, which is reported itself."""
    entry: ValueEntry = value.entry
    return entry.role == "intermediate" and entry.value is not None and entry.value not in entry.op.results


def _is_known(result: Result, op: Any) -> bool:
    """Whether the call is one of sharding itself, which has no tensor operands to relate."""
    return not op.operands


def _a(kind: str) -> str:
    """The kind of a collective with its article."""
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _names(axes: Axes) -> str:
    return ", ".join(map(str, axes))


def _axes(use: Use) -> str:
    return _listed(dict.fromkeys(f'"{name}"' for name, _ in use.axes)) or "no axis"


def _listed(words: Any) -> str:
    return ", ".join(map(str, words))


def _told(sharding: TensorSharding | None) -> str:
    return "no sharding" if sharding is None else str(sharding)
