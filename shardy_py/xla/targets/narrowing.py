"""Gathers, exchanges and permutes beside a conversion of their elements: they send the narrower type.

Source: openxla/xla, xla/hlo/transforms/collectives/collective_quantizer.cc. Not here: scaled conversions.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from shardy_py.indexing.layout import element_type
from shardy_py.xla.targets.facet import NodeForm
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole, PassChange

_KINDS = ("all_gather", "all_to_all", "collective_permute", "collective_broadcast")
_FORMS = (NodeForm.RESHAPE, NodeForm.SLICE, NodeForm.COPY)


def narrowed(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The body with narrower types on the wire.

    convert(all_gather(x))  ->  all_gather(convert(x))     if the result is narrower
    all_gather(convert(x))  ->  convert(all_gather(x))     if x is narrower
    """
    new: dict[int, DeviceNode] = {}
    for number in body.sent:
        node = body.nodes[number]
        transfer = node.transfer
        if transfer is None or transfer.kind not in _KINDS:
            continue
        sent = transfer.collective.element_type
        before, after = _before(body, node), _after(body, number)
        if before is not None and _bytes(before) < _bytes(sent):
            element, reason = before, f"sent as {before}, before it is converted to {sent}"
        elif after is not None and _bytes(after) < _bytes(sent):
            element, reason = after, f"converted to {after} before it is sent"
        else:
            continue
        collective = replace(transfer.collective, element_type=element, key=None)
        made = transfer.changed(PassChange("collective-quantizer", reason), collective)
        new[number] = replace(node, transfer=made)
    return body.edited(new, {})


def widened(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The body with f32 instead of bf16, and sums of f32 instead of fewer bits, as XLA:CPU has them."""
    new: dict[int, DeviceNode] = {}
    for number in body.sent:
        node = body.nodes[number]
        transfer = node.transfer
        if transfer is None:
            continue
        sent = transfer.collective.element_type
        is_sum = transfer.kind in ("all_reduce", "reduce_scatter")
        if sent == "bf16" or (sent == "f16" and is_sum):
            change = (
                PassChange("all-reduce-promotion", f"added up in f32 instead of {sent}")
                if is_sum
                else PassChange("float-normalization-bf16", "the host has no bf16: it is converted to f32")
            )
            collective = replace(transfer.collective, element_type="f32", key=None)
            new[number] = replace(node, transfer=transfer.changed(change, collective))
    return body.edited(new, {})


def _before(body: DeviceBody, node: DeviceNode) -> str | None:
    """The type from which what is sent was converted."""
    at = node.inputs[0]
    while body.form(at) in _FORMS:
        at = body.nodes[at].inputs[0]
    return _read(body.nodes[at]) if body.form(at) is NodeForm.CONVERT else None


def _read(node: DeviceNode) -> str | None:
    type_ = None if node.step is None else node.step.record.operands[0]
    return None if type_ is None else type_.element


def _after(body: DeviceBody, number: int) -> str | None:
    """The type to which what is received is converted, by all that reads it."""
    while True:
        user = body.only_user(number)
        node = None if user is None else body.nodes.get(user)
        if node is None or user is None or node.role is not NodeRole.OP:
            return None
        form = body.form(user)
        if form is NodeForm.CONVERT:
            return None if node.type is None else node.type.element
        if form not in _FORMS:
            return None
        number = user


def _bytes(element: str) -> int:
    return -(-element_type(element).bits // 8)
