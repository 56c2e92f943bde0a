"""Moves of axes: derived from the projections before and after a step.

    add: [{"a"}], [{?}] -> [{?}]     "a" = operand-0 -> [operand-1, result-0]

Also their form in `#sdy.propagation_edges`: by step, by axis and source, the targets. Not here: IR,
tracking origins along moves (`passes/propagate/debug_trail.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from shardy_py.base.records import dataclass
from shardy_py.sharding import (
    AxisEdge,
    AxisRef,
    EdgeValueRef,
    Mesh,
    Projection,
    PropagationStep,
    ShardingRule,
)
from shardy_py.sharding.axis_lists import Axes, Prefix, prefix_status

Edges = tuple[PropagationStep, ...]
"""By step, in order, the moves."""


@dataclass(frozen=True, slots=True)
class Move:
    """An axis that propagated from the tensor at `source` to the one at `target`.

    source, target: positions among operands, then results.
    """

    axis: AxisRef
    source: int
    target: int


def moves_of(rule: ShardingRule, before: Projection, after: Projection, mesh: Mesh) -> tuple[Move, ...]:
    """All moves of a step, by target."""
    return tuple(
        Move(axis, source, target)
        for target in range(len(rule.tensors))
        for axis, source in _arrivals(rule, before, after, target, mesh).items()
    )


def _arrivals(
    rule: ShardingRule, before: Projection, after: Projection, target: int, mesh: Mesh
) -> dict[AxisRef, int]:
    """The new axes of one tensor with their sources; sub-axes that merge across factors count as one axis."""
    arrived: dict[AxisRef, int] = {}
    old, new = before.tensors[target].factors, after.tensors[target].factors
    for dimension in rule.tensors[target]:
        previous: AxisRef | None = None
        for factor in dimension:
            mine, its = old[factor], new[factor]
            if mine is None or its is None or mine.axes == its.axes:
                continue
            last = its.axes[-1]
            if previous is not None and previous.can_merge(last):
                arrived.pop(previous, None)
                last = previous.merge(last, mesh)
            previous = its.axes[-1]
            source = _source(before, factor, its.axes)
            if source is not None:
                for axis in new_axes(mine.axes, (*its.axes[:-1], last)):
                    arrived.setdefault(axis, source)
    return arrived


def _source(before: Projection, factor: int, axes: Axes) -> int | None:
    """The first tensor that was sharded on `axes`, and possibly more, along `factor`."""
    for position, tensor in enumerate(before.tensors):
        along = tensor.factors[factor]
        if along is not None and prefix_status(axes, along.axes) is not Prefix.NONE:
            return position
    return None


def new_axes(old: Axes, new: Axes) -> Iterator[AxisRef]:
    """The axes of `new` that are not in `old`, including the last axis of `old` if it grew."""
    if old and old[-1] != new[len(old) - 1]:
        yield new[len(old) - 1]
    yield from new[len(old) :]


def edges_of(moves: Iterable[tuple[int, Move]], operand_count: int) -> Edges:
    """The moves of an op, each with the index of its step, in the form of `#sdy.propagation_edges`.

    Equal moves count once, at their first step.
    """
    first: dict[Move, int] = {}
    for step, move in moves:
        first[move] = min(step, first.get(move, step))
    steps: dict[int, dict[tuple[AxisRef, int], list[int]]] = {}
    for move, step in first.items():
        steps.setdefault(step, {}).setdefault((move.axis, move.source), []).append(move.target)
    return tuple(PropagationStep(step, _grouped(steps[step], operand_count)) for step in sorted(steps))


def _grouped(targets: dict[tuple[AxisRef, int], list[int]], operand_count: int) -> tuple[AxisEdge, ...]:
    def node(position: int) -> EdgeValueRef:
        if position < operand_count:
            return EdgeValueRef("operand", position)
        return EdgeValueRef("result", position - operand_count)

    return tuple(
        AxisEdge(axis, node(source), tuple(map(node, sorted(targets[axis, source]))))
        for axis, source in sorted(targets, key=lambda key: (key[0].order, key[1]))
    )


class Origins:
    """By value, its axes and the names of the shardings that they come from."""

    def __init__(self) -> None:
        self._names: dict[int, dict[AxisRef, str]] = {}

    def __iter__(self) -> Iterator[int]:
        return iter(self._names)

    def of(self, value: int) -> Mapping[AxisRef, str]:
        """The axes of `value` with their origins."""
        return self._names.get(value, {})

    def add(self, value: int, axes: Iterable[AxisRef], name: str) -> None:
        """Add the origin of axes of a value; existing origins are kept."""
        for axis in axes:
            self._names.setdefault(value, {}).setdefault(axis, name)

    def move(self, source: int, target: int, axis: AxisRef) -> None:
        """Propagate the origin of `axis` from `source`, which may have it split or merged, to `target`."""
        names = self.of(source)
        related = (names[other] for other in names if other.contains(axis) or axis.contains(other))
        name = names.get(axis) or next(related, None)
        if name is not None:
            self.add(target, (axis,), name)

    def copy(self, source: int, target: int) -> None:
        """Propagate the origins of all axes of `source` to `target`."""
        for axis, name in self.of(source).items():
            self.add(target, (axis,), name)
