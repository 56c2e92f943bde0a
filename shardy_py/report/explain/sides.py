"""The annotations that meet at an op: those that its tensors' axes come from.

    [up, down] = sides(explainer, dot, {"model"})
    str(up)        '"model" on operand 0 is from the argument sharding of %arg1 (w_up)'

Where a collective is needed, these are the annotations to change. Not here: the whole way of an axis
(`explaining.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.traits import is_terminator
from shardy_py.mlir.ir import operands_of
from shardy_py.report.explain.explaining import MOST_CHAINS, Explainer, Subject, final_sharding, spot_of
from shardy_py.report.explain.explanation import Annotation
from shardy_py.report.notebook import short_repr


@dataclass(frozen=True, slots=True)
class Side:
    """An annotation that an axis of tensors of an op comes from.

    axis: its name. tensors: "operand 0", "result 0" of the op; "result 0 of @f" if the function returns it.
    """

    axis: str
    tensors: tuple[str, ...]
    annotation: Annotation

    def __repr__(self) -> str:
        return short_repr(Side, str(self))

    def __str__(self) -> str:
        *others, last = self.tensors
        tensors = f"{', '.join(others)} and {last} are" if others else f"{last} is"
        place = self.annotation.place
        at = f" [{place.location}]" if place.location not in ("", place.label) else ""
        return f'"{self.axis}" on {tensors} from {self.annotation}{at}'


def sides(
    explainer: Explainer, op: Operation | None, axes: Collection[str], *, most_chains: int = MOST_CHAINS
) -> tuple[Side, ...]:
    """Returns the annotations that `axes` of the operands and results of `op` come from, in that order.

    The nearest of each tensor first, then annotations that other chains to a tensor start from.

    most_chains: as for `Explainer.explain`; 1: the nearest annotation of each axis of each tensor.
    Empty for None and for ops outside the final program of the explainer.
    """
    if op is None or not explainer.module.is_ancestor(op):
        return ()
    found, others = _Origins(), _Origins()
    for tensor, subject in _tensors(explainer, op):
        for axis, (nearest, *more) in _origins(explainer, subject, axes, most_chains):
            found.add(axis, tensor, nearest)
            for annotation in more:
                others.add(axis, tensor, annotation)
    return (*found.sides(), *others.sides(but=found))


class _Origins:
    """The tensors that each annotation shards along an axis, by the axis and the place of the annotation."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, Annotation], tuple[Annotation, dict[str, None]]] = {}

    def add(self, axis: str, tensor: str, annotation: Annotation) -> None:
        """Notes that an axis of a tensor is from an annotation."""
        key = (axis, replace(annotation, dimension=0, priority=None))
        self._found.setdefault(key, (annotation, {}))[1][tensor] = None

    def sides(self, but: _Origins | None = None) -> Iterator[Side]:
        """Returns the sides in order, without those that are also in others."""
        for key, (annotation, tensors) in self._found.items():
            if but is None or key not in but._found:
                yield Side(key[0], tuple(tensors), annotation)


def _tensors(explainer: Explainer, op: Operation) -> Iterator[tuple[str, Subject]]:
    """Returns the tensors of an op by name, with the results that they are returned as."""
    for index, operand in enumerate(operands_of(op)):
        yield f"operand {index}", operand
        yield from _returned(explainer, op, index)
    for index, result in enumerate(op.results):
        yield f"result {index}", result
        for use in result.uses:
            if isinstance(use.operation.parent_op(), FuncOp):
                yield from _returned(explainer, use.operation, use.index)


def _returned(explainer: Explainer, terminator: Operation, index: int) -> Iterator[tuple[str, Subject]]:
    """Returns the result that operand `index` of a terminator becomes."""
    around = terminator.parent_op() if is_terminator(terminator) else None
    if isinstance(around, FuncOp):
        entry = explainer.names.result(around, index)
        if entry is not None:
            yield f"result {index} of @{entry.function}", entry
    elif around is not None and index < len(around.results):
        yield f"result {index} of {around.name}", around.results[index]


def _origins(
    explainer: Explainer, subject: Subject, axes: Collection[str], most_chains: int
) -> Iterator[tuple[str, tuple[Annotation, ...]]]:
    """Returns for each of `axes` that shards a subject the annotations it comes from, nearest first."""
    spot = spot_of(subject)
    sharding = final_sharding(spot)
    for number, dimension in enumerate(sharding.dimensions if sharding is not None else ()):
        for axis in dimension.axes:
            chains = explainer.chains(spot, number, axis, most_chains) if axis.name in axes else ()
            if chains:
                yield axis.name, tuple(chain.annotation for chain in chains)
