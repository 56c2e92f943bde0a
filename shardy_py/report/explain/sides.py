"""What meets at an op: the annotations that brought axes to its tensors.

    [up, down] = sides(explainer, dot, {"model"})
    str(up)        '"model" on operand 0 is from the argument sharding of %arg1 (w_up)'

Where a collective is needed, these are what to change. Not here: the whole way of an axis (`explaining.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from xdsl.ir import Operation, Use

from shardy_py.graph.data_flow import TERMINATORS
from shardy_py.graph.value_table import ValueEntry
from shardy_py.ir import operands_of
from shardy_py.report.explain.explaining import Explainer, Subject, final_sharding, spot_of
from shardy_py.report.explain.explanation import Annotation

RETURN = "func.return"


@dataclass(frozen=True, slots=True)
class Side:
    """An annotation that brought an axis to tensors of an op.

    axis: its name. tensors: "operand 0", "result 0" of the op; "result 0 of @f" where that returns it.
    """

    axis: str
    tensors: tuple[str, ...]
    annotation: Annotation

    def __str__(self) -> str:
        *others, last = self.tensors
        tensors = f"{', '.join(others)} and {last}" if others else last
        verb = "are" if others else "is"
        place = self.annotation.place
        at = f" [{place.location}]" if place.location not in ("", place.label) else ""
        return f'"{self.axis}" on {tensors} {verb} from {self.annotation}{at}'


def sides(explainer: Explainer, op: Operation | None, axes: Collection[str]) -> tuple[Side, ...]:
    """The annotations that brought some of `axes` to the operands and results of `op`, in that order.

    None for what is no op of the final program that the explainer tells of.
    """
    if op is None or not explainer.module.is_ancestor(op):
        return ()
    found: dict[tuple[str, Annotation], Side] = {}
    for tensor, subject in _tensors(explainer, op):
        for axis, annotation in _origins(explainer, subject, axes):
            key = (axis, replace(annotation, dimension=0, priority=None))
            side = found.get(key, Side(axis, (), annotation))
            if tensor not in side.tensors:
                found[key] = replace(side, tensors=(*side.tensors, tensor))
    return tuple(found.values())


def _tensors(explainer: Explainer, op: Operation) -> Iterator[tuple[str, Subject]]:
    """The tensors of an op by name; results too of a function or an op of regions that it returns to."""
    for index, operand in enumerate(operands_of(op)):
        yield f"operand {index}", operand
    around = op.parent_op()
    if op.name == RETURN and around is not None:
        for index in range(len(operands_of(op))):
            yield from _returned(explainer, around, index)
    elif op.name in TERMINATORS and around is not None:
        for index, result in enumerate(around.results):
            yield f"result {index} of {around.name}", result
    for index, result in enumerate(op.results):
        yield f"result {index}", result
        for use in result.uses:
            yield from _used(explainer, use)


def _used(explainer: Explainer, use: Use) -> Iterator[tuple[str, Subject]]:
    function = use.operation.parent_op()
    if use.operation.name == RETURN and function is not None:
        yield from _returned(explainer, function, use.index)


def _returned(explainer: Explainer, function: Operation, index: int) -> Iterator[tuple[str, ValueEntry]]:
    entry = explainer.names.result(function, index)
    if entry is not None:
        yield f"result {index} of @{entry.function}", entry


def _origins(
    explainer: Explainer, subject: Subject, axes: Collection[str]
) -> Iterator[tuple[str, Annotation]]:
    spot = spot_of(subject)
    sharding = final_sharding(spot)
    for number, dimension in enumerate(sharding.dimensions if sharding is not None else ()):
        for axis in dimension.axes:
            if axis.name in axes:
                for chain in explainer.chains(spot, number, axis, 1):
                    yield axis.name, chain.annotation
