"""Dimensions that their axes do not divide, by what makes them so; the lint rule on padding.

Values that pass a size on to each other, with the axes along which it is sharded, have one cause: one
finding, at a constraint of the program if there is one, else where the size begins. Causes on one line are
one finding, too. Sizes of slices follow from other sizes, as those in `jnp.roll` and `lax.associative_scan`:
these are not reported, unless the program constrains them.

Not here: what else tensors waste (`rules.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod

from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.api import Result, Value
from shardy_py.base.records import dataclass
from shardy_py.check import tensors
from shardy_py.check.finding import Finding
from shardy_py.check.rule import Limits, finding_of, listed, rule
from shardy_py.mlir.dialects.sdy import ReshardOp, ShardingConstraintOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.text.source import position_of
from shardy_py.propagation.rules import derive_rule
from shardy_py.report.tables import bytes_text
from shardy_py.sharding import AxisRef

_WRITTEN = (ReshardOp, ShardingConstraintOp)
_DEEPEST = 100


@dataclass(frozen=True, slots=True)
class Uneven:
    """A dimension that its axes do not divide; whole: its size with padding."""

    value: Value
    dimension: int
    size: int
    axes: tuple[AxisRef, ...]
    parts: int

    @property
    def whole(self) -> int:
        """The size that the parts divide."""
        return self.parts * -(-self.size // self.parts)

    @property
    def padding_bytes(self) -> int:
        """The bytes that each device holds beyond its share."""
        sharding = self.value.sharding
        assert sharding is not None
        parts = prod(axis.size(sharding.mesh) for each in sharding.dimensions for axis in each.axes)
        return -(-tensors.global_bytes(self.value) * (self.whole - self.size) // (self.size * parts))

    @property
    def line(self) -> object:
        """A key that dimensions of one line of Python share."""
        place = position_of(self.value.entry.location)
        line = (place.file, place.line) if place is not None and place.file.endswith(".py") else id(self)
        return line, self.size, self.axes, self.value.function


@rule(
    *("SDY002", "non-divisible-dimension", "Shards are padded"),
    why="Each device allocates and computes ⌈n / p⌉ elements; the last shards are padded.",
    help="Make the size a multiple of the number of shards.",
)
def _find_padded(result: Result, limits: Limits) -> Iterator[Finding]:
    for first, group in _by_cause(result):
        worst = max(group, key=lambda each: each.padding_bytes)
        if worst.padding_bytes >= limits.padding_bytes:
            message = f"{_fact(first, 'is sharded')}: {first.whole - first.size} of {first.whole} elements "
            finding = finding_of(first.value, f"{message}are padding", _remedy(first, worst, len(group)))
            yield replace(finding, bytes=worst.padding_bytes)
    for value in result.source.values.boundaries if result.source is not result.program else ():
        for each in _uneven(value):
            more = _held(result, value) - tensors.global_bytes(value) // each.parts
            if more >= limits.padding_bytes:
                message = f"{_fact(each, 'does not divide')}: arguments and results are sharded along "
                finding = finding_of(value, f"{message}fewer axes instead", _remedy(each, each, 1))
                yield replace(finding, bytes=more)


def _fact(each: Uneven, verb: str) -> str:
    return (
        f"dimension {each.dimension} of size {each.size} {verb} into {each.parts} parts along "
        f"{listed(each.axes)}"
    )


def _remedy(each: Uneven, worst: Uneven, count: int) -> str:
    values = f"; up to {bytes_text(worst.padding_bytes)} of padding on each device in {count} values"
    return f"make it a multiple of {each.parts}, such as {each.whole}{values if count > 1 else ''}"


def _held(result: Result, value: Value) -> int:
    """The bytes on each device of an argument or result, as it is sharded in the end."""
    found = result.values.counterpart(value)
    sharding = None if found is None else found.sharding
    axes = () if sharding is None else tuple(axis for each in sharding.dimensions for axis in each.axes)
    parts = prod(axis.size(sharding.mesh) for axis in axes) if sharding is not None else 1
    return tensors.global_bytes(value) // parts


def _uneven(value: Value) -> Iterator[Uneven]:
    sharding = value.sharding
    if sharding is None or sharding.is_fully_replicated:
        return
    for number, (size, dimension) in enumerate(zip(value.shape or (), sharding.dimensions, strict=False)):
        parts = prod(axis.size(sharding.mesh) for axis in dimension.axes)
        if size is not None and size > 1 and size % parts:
            yield Uneven(value, number, size, tuple(dimension.axes), parts)


def _by_cause(result: Result) -> Iterator[tuple[Uneven, list[Uneven]]]:
    """The uneven dimensions of each cause, after the one that stands for it."""
    uneven = result.values.where(lambda value: value.entry.value is not None and any(_uneven(value)))
    found = [each for value in uneven for each in _uneven(value)]
    slices = _Slices()
    lines: dict[object, tuple[Uneven, list[Uneven]]] = {}
    for group in _connected(found):
        shown = [each for each in group if not tensors.is_forwarded(each.value)]
        first = next((each for each in shown if isinstance(each.value.entry.op, _WRITTEN)), None)
        if first is None and not any(slices.has(each) for each in shown):
            first = next(iter(shown), None)
        if first is not None:
            lines.setdefault(first.line, (first, []))[1].extend(shown)
    yield from lines.values()


_Key = tuple[SSAValue, int, tuple[AxisRef, ...]]


def _key(each: Uneven) -> _Key:
    ssa = each.value.entry.value
    assert ssa is not None, "results of functions are left out"
    return ssa, each.size, each.axes


def _connected(found: Sequence[Uneven]) -> Iterable[list[Uneven]]:
    """Groups of dimensions of one size and axes, of values that ops, loops and branches connect."""
    group_of: dict[_Key, list[Uneven]] = {}
    for each in found:
        group_of.setdefault(_key(each), []).append(each)
    for ssa, size, axes in [*group_of]:
        for other in _sources(ssa):
            one, two = group_of[ssa, size, axes], group_of.get((other, size, axes))
            if two is not None and one is not two:
                large, small = (one, two) if len(one) >= len(two) else (two, one)
                large.extend(small)
                group_of.update((_key(each), large) for each in small)
    groups = {id(group): group for group in group_of.values()}.values()
    places = {id(each): number for number, each in enumerate(found)}
    return (sorted(group, key=lambda each: places[id(each)]) for group in groups)


def _sources(value: SSAValue) -> Iterator[SSAValue]:
    """The values that a value is made of: operands, and those that regions get and give back."""
    owner = value.owner
    op = owner if isinstance(owner, Operation) else owner.parent_op()
    if op is None:
        return
    yield from op.operands
    for region in op.regions:
        for block in region.blocks:
            yield from () if block.last_op is None else block.last_op.operands


class _Slices:
    """Tells whether a size follows from that of a slice."""

    def __init__(self) -> None:
        self._known: dict[tuple[SSAValue, int], bool] = {}

    def has(self, each: Uneven) -> bool:
        ssa = each.value.entry.value
        return ssa is not None and self._is_sliced(ssa, each.dimension)

    def _is_sliced(self, value: SSAValue, dimension: int, depth: int = 0) -> bool:
        key = value, dimension
        if not isinstance(value, OpResult) or depth > _DEEPEST:
            return False
        if key not in self._known:
            self._known[key] = any(
                size > own or self._is_sliced(operand, number, depth + 1)
                for operand, number, size, own in _related(value, dimension)
            )
        return self._known[key]


def _related(value: OpResult, dimension: int) -> Iterator[tuple[SSAValue, int, int, int]]:
    """The dimensions of operands that a rule maps to one of a result, their sizes, and that of the result."""
    own, derived = tensor_type(value.type), derive_rule(record_of(value.op))
    if derived is None or own is None or value.index >= len(derived.results):
        return
    factors = {*derived.results[value.index][dimension]}
    for operand, mapping in zip(operands_of(value.op), derived.operands, strict=False):
        type_ = tensor_type(operand.type)
        for number, each in enumerate(mapping):
            if type_ is not None and factors & {*each}:
                yield operand, number, type_.shape[number] or 0, own.shape[dimension] or 0
