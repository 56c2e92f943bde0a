"""Conversions to a wider type behind slices, transpositions and reshapes, as XLA:GPU puts them.

    slice(convert(x))  ->  convert(slice(x))      if nothing else reads what is converted

So the logits of all tokens but the last are kept in bf16, and converted where they are read. Source:
openxla/xla, xla/hlo/transforms/simplifiers/convert_mover.cc, after the partitioner; XLA:TPU does it before
(`xla/prepare/moved_converts.py`).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from shardy_py.indexing.layout import element_type
from shardy_py.ops import OpRecord
from shardy_py.xla.spmd.program import PlannedOp, edited
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole

_MOVES = (NodeForm.SLICE, NodeForm.TRANSPOSE, NodeForm.RESHAPE)


def with_moved_converts(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The body with conversions to a wider type behind what moves their results."""
    new: dict[int, DeviceNode] = {}
    converted: dict[int, int] = {}
    """The nodes that are conversions now, and what they convert."""
    records: dict[tuple[int, str], OpRecord] = {}
    for number in body.order:
        node = body.nodes[number]
        if node.role is not NodeRole.OP or node.step is None or COMPILED.of(node.name).form not in _MOVES:
            continue
        source = node.inputs[0]
        given = new.get(source, body.nodes.get(source))
        if given is None or given.step is None or body.only_user(source) != number:
            continue
        if source not in converted and body.form(source) is not NodeForm.CONVERT:
            continue
        narrow = given.step.record.operands[0]
        if narrow is None or node.type is None:
            continue
        if not element_type(narrow.element).is_narrower_than(element_type(node.type.element)):
            continue
        key = id(node.step.record), narrow.element
        if key not in records:
            records[key] = _of_type(node.step.record, narrow.element)
        moved = next(numbers)
        name = node.step.results[0], "narrow"
        step = edited(node.step, records[key], operands=given.step.operands, results=(name,))
        new[moved] = replace(
            node, inputs=given.inputs, type=replace(node.type, element=narrow.element), step=step
        )
        new[number] = replace(node, inputs=(moved,), step=_converted(given.step, step, node.step))
        converted[number] = moved
    return body.edited(new, {})


def _of_type(record: OpRecord, element: str) -> OpRecord:
    """The record with elements of another type."""
    given, made = (
        tuple(None if type_ is None else replace(type_, element=element) for type_ in types)
        for types in (record.operands, record.results)
    )
    return OpRecord(record.name, given, made, record.attributes)


def _converted(convert: PlannedOp, moved: PlannedOp, before: PlannedOp) -> PlannedOp:
    """The step that converts what was moved to what the step before it made."""
    record = OpRecord(
        convert.record.name, moved.record.results, before.record.results, convert.record.attributes
    )
    return edited(convert, record, operands=moved.results, results=before.results, targets=before.targets)
