"""The argument that XLA:TPU copies into VMEM before a program starts, and again for its next run.

That is the largest that is not an activation: which only products read, and look-ups of its rows. What is
computed of it elementwise, also in a product, makes it one. Of several as large it is the one of which ops
make most elements, then the one that is read last first. Of 429 programs that XLA:TPU compiled for v5p it is
the same one, or none, for 395. Source: openxla/xla, `LooksLikeAnActivation` and `FindCrossProgramPrefetches`
in xla/service/memory_space_assignment/algorithm.cc. XLA:TPU turns products round, so that here their operands
are alike; a convolution only if its kernel is the larger one: else its image is an activation.

Not here: which values are copied while a program runs (`copying.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from shardy_py.ops import OpRecord
from shardy_py.ops.dimensions import ConvolutionDimensions
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock

_MOVED = frozenset((NodeForm.BROADCAST, NodeForm.COPY, NodeForm.RESHAPE, NodeForm.TRANSPOSE))
"""The forms of ops that compute no elements."""


def copied_before(block: StoredBlock, events: Sequence[Event], room: int) -> list[Name]:
    """Returns the argument that is copied before the program starts, if any. room: the bytes of VMEM."""
    if not block.is_entry:
        return []
    arguments = (value.name for value in block.block.arguments)
    uses: dict[Name, list[int]] = {
        name: [] for name in arguments if block.sizes.get(name, 0) <= room and name not in block.results
    }
    for number, event in enumerate(events):
        for name in dict.fromkeys(event.reads):
            if name in uses and _reads_weight(block, event, name):
                uses[name].append(number)
            else:
                uses.pop(name, None)
    readers = _Readers(block)
    left = [name for name, numbers in uses.items() if numbers and not readers.have_activation(name)]

    def key(name: Name) -> tuple[int, int, int]:
        made = sum(_elements(block, each) for number in uses[name] for each in events[number].makes)
        return -block.sizes.get(name, 0), -made, uses[name][-1]

    return [min(left, key=key)] if left else []


def _reads_weight(block: StoredBlock, event: Event, name: Name) -> bool:
    """True for an op that a product is computed in, and for a look-up of rows of this value."""
    step = event.step
    if step is None or event.sent is not None:
        return False
    is_looked_up = COMPILED.of(step.record.name).form is NodeForm.GATHER
    is_looked_up = is_looked_up and block.stored_name(step.operands[0]) == name
    return is_looked_up or id(step) in block.in_vmem.products


def _elements(block: StoredBlock, name: Name) -> int:
    type_ = block.types.get(name)
    return 0 if type_ is None else prod(size or 0 for size in type_.shape)


class _Readers:
    """The steps that read values of a block, also those that are computed in others."""

    def __init__(self, block: StoredBlock) -> None:
        """Notes what reads each value."""
        self._stored_name = block.stored_name
        self._steps: dict[Name, list[PlannedOp]] = {}
        for step in block.steps:
            for name in dict.fromkeys(map(block.stored_name, step.operands)):
                self._steps.setdefault(name, []).append(step)

    def have_activation(self, name: Name) -> bool:
        """Returns whether other ops than products and look-ups compute with a value, or it is an image."""
        return any(self._is_activation(step, name) for step in self._steps.get(name, ()))

    def _is_activation(self, step: PlannedOp, name: Name) -> bool:
        form = COMPILED.of(step.record.name).form
        if form in _MOVED:
            return any(self.have_activation(made) for made in step.results)
        if form is NodeForm.CONVOLUTION:
            return self._stored_name(step.operands[int(_is_turned(step.record))]) == name
        return not STORED.of(step.record.name).is_product and form is not NodeForm.GATHER


def _is_turned(record: OpRecord) -> bool:
    """True for a convolution whose kernel has more positions than its image, so that XLA exchanges both.

    Source: openxla/xla, `SwapConvOperands` in xla/hlo/transforms/simplifiers/algebraic_simplifier.cc.
    """
    numbers, (image, kernel, *_) = ConvolutionDimensions.of(record.attributes), record.operands
    if image is None or kernel is None:
        return False
    positions = prod(image.shape[d] or 0 for d in numbers.spatial)
    return prod(kernel.shape[d] or 0 for d in numbers.kernel_spatial) > positions
