"""What ops do to memory: one row an op that is more than operands in, new results out.

Regions of ops without a row say how elements are combined and hold no arrays. Not here: the walk over the IR
(`collect.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Operation

from shardy_py.report.memory.program import Nested, Runs, Step

if TYPE_CHECKING:
    from shardy_py.report.memory.collect import Collector

Handler = Callable[["Collector", Operation], Step]


def plain_step(collector: Collector, op: Operation) -> Step:
    """Operands in, new results out."""
    return Step(collector.reads(op), collector.makes(op))


def _forward(collector: Collector, op: Operation) -> Step:
    """Results are operands under another name, as far as devices hold the same parts of both."""
    reads = collector.reads(op)
    makes = collector.makes(op)
    kept: list[int] = []
    for operand, result, value in zip(reads, makes, op.results, strict=True):
        if collector.tensors.is_same_array(operand, result):
            collector.tensors.numbers[id(value)] = operand
        else:
            kept.append(result)
    return Step(reads, tuple(kept))


def _element(collector: Collector, op: Operation) -> Step:
    """An element of a tuple keeps the whole tuple alive."""
    reads = collector.reads(op)
    collector.tensors.numbers[id(op.results[0])] = reads[0]
    return Step(reads, ())


def _update(collector: Collector, op: Operation) -> Step:
    """Each result takes the place of the operand of the same number, if nobody reads that later."""
    reads, makes = collector.reads(op), collector.makes(op)
    return Step(reads, makes, tuple(zip(reads, makes, strict=False)))


def _loop(collector: Collector, op: Operation) -> Step:
    """Operands become what turns pass on, in place where they can; in the end it is the results."""
    reads, makes = collector.reads(op), collector.makes(op)
    condition, body = map(collector.body, op.regions)
    arrays = collector.settled(body, makes, collector.tensors.copy, passes_on=True)
    nested = (
        Nested(collector.finish(condition, condition.returned), makes, "never"),
        Nested(collector.finish(body, arrays), makes, "always"),
    )
    outer = dict.fromkeys((*condition.taken_from_outside, *body.taken_from_outside))
    updates = tuple(zip(reads, makes, strict=True))
    return Step((*reads, *outer), makes, updates, Runs(nested, is_loop=True))


def _branches(collector: Collector, op: Operation) -> Step:
    """One region runs; what it returns becomes the results, copied where it is not free to be that."""
    reads, makes = collector.reads(op), collector.makes(op)
    bodies = [collector.body(region) for region in op.regions]
    nested = tuple(
        Nested(collector.finish(body, collector.settled(body, makes, collector.tensors.copy)))
        for body in bodies
    )
    outer = dict.fromkeys(value for body in bodies for value in body.taken_from_outside)
    return Step((*reads, *outer), makes, (), Runs(nested))


def _enclosed(collector: Collector, op: Operation) -> Step:
    """The region is part of the program around it: operands are its arguments, results what it returns."""
    body = collector.body(op.regions[0])
    index = collector.finish(body, body.returned)
    return _run(collector, op, index, body.taken_from_outside)


def _call(collector: Collector, op: Operation) -> Step:
    """As if the function stood in the place of the call."""
    symbol = cast(Any, op.properties["callee" if op.name == "func.call" else "decomposition"])
    index = collector.callee(symbol.root_reference.data, op)
    return plain_step(collector, op) if index is None else _run(collector, op, index, ())


def _run(collector: Collector, op: Operation, index: int, outer: Sequence[int]) -> Step:
    tensors, computation = collector.tensors, collector.computations[index]
    reads = collector.reads(op)
    pairs = zip(reads, computation.arguments, strict=True)
    arguments = tuple(value if tensors.have_same_size(value, inner) else None for value, inner in pairs)
    same = dict(zip(computation.arguments, arguments, strict=True)) | {value: value for value in outer}
    makes: list[int] = []
    is_one_to_one = len(computation.returns) == len(op.results)
    returns = computation.returns if is_one_to_one else range(-len(op.results), 0)
    for value, returned in zip(op.results, returns, strict=True):
        array = same.get(returned)
        number = tensors.define(value)
        if array is not None and tensors.have_same_size(array, number):
            tensors.numbers[id(value)] = array
        else:
            makes.append(number)
            same[returned] = number
    return Step((*reads, *outer), tuple(makes), (), Runs((Nested(index, arguments),)))


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(
        (
            "sdy.data_flow_edge",
            "sdy.func_data_flow_edge",
            "sdy.propagation_barrier",
            "sdy.reshard",
            "sdy.sharding_constraint",
            "stablehlo.optimization_barrier",
        ),
        _forward,
    ),
    "stablehlo.get_tuple_element": _element,
    "stablehlo.dynamic_update_slice": _update,
    "stablehlo.scatter": _update,
    "stablehlo.while": _loop,
    "stablehlo.case": _branches,
    "stablehlo.if": _branches,
    "sdy.manual_computation": _enclosed,
    "sdy.named_computation": _enclosed,
    "stablehlo.async_start": _enclosed,
    "func.call": _call,
    "stablehlo.composite": _call,
}
