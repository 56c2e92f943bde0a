"""The dimensions of operands and results that are whole whatever the sharding rule says.

Not here: making them whole (`whole_tensors.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from xdsl.ir import Operation

from shardy_py.localize.window_exchange import is_zero_constant
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.record import combiner_of, record_of
from shardy_py.ops.combiners import MULTIPLY
from shardy_py.ops.dimensions import ScatterDimensions
from shardy_py.passes.export.communication_ops import sizes_of

WholeDimensions = Callable[[Operation], Sequence[Collection[int]]]
"""The dimensions of each operand, then of each result."""


def unit_dimensions(op: Operation) -> list[Collection[int]]:
    """The dimensions of one element, on all but one device padding, which the op would mix with data."""
    values = (*operands_of(op), *op.results)
    return [[dim for dim, size in enumerate(sizes_of(value)) if size == 1] for value in values]


def partly_updated(op: Operation) -> list[Collection[int]]:
    """The dimensions of an update that are smaller than those of the operand."""
    operand, update, *starts = operands_of(op)
    pairs = enumerate(zip(sizes_of(operand), sizes_of(update), strict=True))
    return [(), [dim for dim, (size, part) in pairs if part != size], *(() for _ in starts), ()]


def indexed_windows(op: Operation) -> list[Collection[int]]:
    """The dimensions along which windows of updates begin at an index: they may reach out of any part.

    Windows of whole dimensions at constant indices of zero stay within their parts.
    """
    count = len(op.results)
    shape, updated = sizes_of(operands_of(op)[0]), sizes_of(operands_of(op)[count + 1])
    begins_at_zero = is_zero_constant(operands_of(op)[count])
    numbers = ScatterDimensions.of(record_of(op).attributes)
    indexed = [
        (own, its)
        for own, its in numbers.windowed(len(shape))
        if own in numbers.index_map and not (begins_at_zero and shape[own] == updated[its])
    ]
    inputs, updates = [dim for dim, _ in indexed], [dim for _, dim in indexed]
    return [*[inputs] * count, (), *[updates] * count, *[inputs] * count]


def multiplied_updates(op: Operation) -> range:
    """The operands of a scatter that are whole if it multiplies: indices and updates."""
    is_product = combiner_of(op) == MULTIPLY.op
    return range(len(op.results), len(operands_of(op))) if is_product else range(0)
