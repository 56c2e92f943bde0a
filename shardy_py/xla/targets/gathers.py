"""Gathers of gathers along other axes, which XLA:TPU sends as one.

    all_gather(all_gather(x) over a) over b  ->  all_gather(x) over a, b

Seen in what it compiles (a matrix that is sharded along both dimensions and needed whole: one gather of 33.5
MB for two of 50.3 MB in all, on v5e and v5p); its pass is not public. Not here: sums of sums (`sums.py`).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from shardy_py.xla.targets.facet import NodeForm
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, PassChange
from shardy_py.xla.targets.sums import product_of_groups

_GATHER = "all_gather"
_CHANGE = PassChange("XLA:TPU", "the gather of a gather over other devices is one over all of them")


def gathered(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The body with one gather for one that only another one reads."""
    new: dict[int, DeviceNode] = {}
    for number in body.sent:
        node = body.nodes[number]
        source = _behind(body, number)
        inner_node = new.get(source) or body.nodes.get(source)
        outer, inner = node.transfer, None if inner_node is None else inner_node.transfer
        if outer is None or inner is None or inner_node is None or not outer.kind == inner.kind == _GATHER:
            continue
        group = product_of_groups(inner.collective.group, outer.collective.group)
        if group is None or inner.collective.element_type != outer.collective.element_type:
            continue
        shape = outer.collective.made_shape
        collective = replace(inner.collective, group=group, group_size=len(group), made_shape=shape, key=None)
        made = replace(inner.changed(_CHANGE, collective), members=(*inner.members, *outer.members))
        new[number] = replace(node, inputs=inner_node.inputs, transfer=made)
    return body.edited(new, {})


def _behind(body: DeviceBody, number: int) -> int:
    """The node that a gather reads behind copies, which XLA removes; -1 if others read it."""
    while True:
        (source, *_) = body.nodes[number].inputs or (-1,)
        if source not in body.nodes or body.only_user(source) != number:
            return -1
        if body.form(source) is not NodeForm.COPY:
            return source
        number = source
