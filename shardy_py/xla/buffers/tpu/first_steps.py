"""Steps of a device that are ops of the program as they are: of equal ones the first is made.

    plain = FirstSteps(expanded, body)
    plain.like(key, number, node)

Not here: the steps that are added to others (`expanded.py`, `images.py`), the first ones (`local_block.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from shardy_py.ops import CALL, TABLE, TensorType
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.tpu.expanded import Expanded
from shardy_py.xla.buffers.tpu.node_facts import has_images
from shardy_py.xla.buffers.tpu.records import step_like
from shardy_py.xla.spmd.program import PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.model import DeviceBody, DeviceNode

Key = tuple[int, ...]
"""All that a step depends on but names, by identities; () of a step that has no equal."""
_CHANGED = (NodeForm.CONVOLUTION, NodeForm.GATHER, NodeForm.SCATTER, NodeForm.SORT, NodeForm.TRANSPOSE)
"""The forms of ops to which other steps may be added."""


_NONE = (None, False)


class FirstSteps:
    """The first of equal steps. body: of the program; expanded: knows what it has transposed."""

    def __init__(self, expanded: Expanded, body: DeviceBody) -> None:
        self._expanded = expanded
        self._has_images = has_images(body)
        self._known: dict[Key, tuple[PlannedOp, bool]] = {}
        """The first steps, and whether they are of elementwise ops."""

    def key(self, node: DeviceNode, types: Mapping[int, TensorType | None]) -> Key:
        """Returns the key of a node with one result. types: of nodes, which are kept as long as keys."""
        step = node.step
        if self._has_images or step is None or len(step.results) != 1 or node.bodies or -1 in node.inputs:
            return ()
        return step.times, id(step.record), id(node.type), *[id(types.get(each)) for each in node.inputs]

    def like(self, key: Key, number: int, node: DeviceNode) -> PlannedOp | None:
        """Returns the step of a node, if it is one of which an equal one is known."""
        known, is_elementwise = self._known.get(key, _NONE)
        if known is None or node.step is None:
            return None
        if is_elementwise and self._expanded.has_transposed(node.inputs):
            return None
        return step_like(known, node.inputs, (number,), node.step.source)

    def note(self, key: Key, step: PlannedOp) -> None:
        """Notes a step, if nothing is added to those that are equal."""
        name = step.record.name
        row, stored = COMPILED.of(name), STORED.of(name)
        is_special = row.is_kernel or stored.is_constant or stored.counts_places or name == CALL
        if key and not is_special and row.form not in _CHANGED:
            self._known[key] = step, TABLE[name].elementwise(step.record)
