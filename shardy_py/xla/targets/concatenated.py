"""Reductions of sums that were put one after another, as sums of two each: `reassociated` moves them behind.

    reduce(concatenate(all_reduce(x), all_reduce(y)))  ->  add(all_reduce(x), all_reduce(y))

So are all gradients found to be finite, say. Source: openxla/xla,
xla/hlo/transforms/simplifiers/algebraic_simplifier.cc. Not here: what sums of sums become (`sums.py`).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from math import prod

from shardy_py.mlir.dialects.stablehlo import ConcatenateOp
from shardy_py.mlir.record import combiners_of
from shardy_py.ops import OpRecord, TensorType
from shardy_py.xla.spmd.from_program import source_op
from shardy_py.xla.spmd.program import PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole
from shardy_py.xla.targets.sums import is_sum


def taken_apart(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The body with ops of two values instead of reductions of concatenated all-reduces of equal size."""
    new: dict[int, DeviceNode] = {}
    instead: dict[int, int] = {}
    for number in body.order:
        node = body.nodes[number]
        step, type_ = node.step, node.type
        if node.role is not NodeRole.OP or step is None or type_ is None or len(step.results) != 1:
            continue
        if COMPILED.of(node.name).form is not NodeForm.REDUCE or len(node.inputs) != 2:
            continue
        parts = _parts(body, node.inputs[0], type_)
        if parts and (reduction := _reduction(body, step, parts)):
            instead[number] = _paired(parts, node, step, reduction, numbers, new)
    return body.edited(new, instead)


def _parts(body: DeviceBody, number: int, made: TensorType) -> list[int]:
    """The values that are concatenated, if each has as many elements as the result of their reduction."""
    node = body.nodes.get(number)
    if node is None or node.name != ConcatenateOp.name or body.only_user(number) is None:
        return []
    types = [body.nodes[each].type if each in body.nodes else None for each in node.inputs]
    sizes = {-1 if type_ is None else prod(size or 0 for size in type_.shape) for type_ in types}
    return [*node.inputs] if sizes == {prod(size or 0 for size in made.shape)} else []


def _reduction(body: DeviceBody, step: PlannedOp, parts: list[int]) -> str:
    """The op of a reduction, if all that it reduces is all-reduced by it; "": it is not."""
    op = source_op(step)
    found = combiners_of(op) if op is not None and len(op.regions) == 1 else None
    reduction = found[0] if found else None
    for each in parts if reduction else ():
        while body.form(each) is NodeForm.RESHAPE:
            (each, *_) = body.nodes[each].inputs
        transfer = body.transfer(each) if is_sum(body, each) else None
        if transfer is None or transfer.reduction != reduction:
            return ""
    return reduction or ""


def _paired(
    parts: list[int],
    node: DeviceNode,
    step: PlannedOp,
    reduction: str,
    numbers: count[int],
    new: dict[int, DeviceNode],
) -> int:
    """The node of the ops of two values, in as few levels as possible."""
    type_ = node.type
    record = OpRecord(reduction, (type_, type_), (type_,))
    one = replace(step, record=record, blocks=())
    while len(parts) > 1:
        made = [next(numbers) for _ in range(len(parts) // 2)]
        new |= {
            number: DeviceNode(NodeRole.OP, (left, right), type_, one)
            for number, left, right in zip(made, parts[::2], parts[1::2], strict=False)
        }
        parts = made + parts[2 * len(made) :]
    return parts[0]
