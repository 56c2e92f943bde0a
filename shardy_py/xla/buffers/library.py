"""The products and convolutions that a library (YNNPACK) computes on the host, by types and dimensions.

Of bf16 it computes some as they are; others are of f32. A sum of the library takes in what it sums. Source:
openxla/xla, xla/backends/cpu/ynn_support.cc. Not here: reductions (`host_compute.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.session import SESSION
from shardy_py.mlir.dialects.stablehlo import ConvolutionOp, DotGeneralOp
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.dimensions import ConvolutionDimensions, DotDimensions, windows_of
from shardy_py.xla.spmd.program import PlannedOp
from shardy_py.xla.spmd.walk import Sent

_LEAST_FEATURES = 17
"""Convolutions of fewer features are not computed by the library."""


def copied_order(
    rank: int, batch: Sequence[int], contracting: Sequence[int], *, is_lhs: bool
) -> tuple[int, ...] | None:
    """The order in which an operand is copied for a product; None if it is used as it is.

    >>> copied_order(2, (), (0,), is_lhs=True), copied_order(3, (), (0, 1), is_lhs=True)
    (None, (2, 0, 1))
    """
    free = [i for i in range(rank) if i not in batch and i not in contracting]
    wanted = (*batch, *free, *contracting) if is_lhs else (*batch, *contracting, *free)
    in_order = wanted == tuple(range(rank))
    return None if in_order or is_canonical(rank, batch, contracting) else wanted


def is_canonical(rank: int, batch: Sequence[int], contracting: Sequence[int]) -> bool:
    """True for an operand with its batch first, one contracted dimension, and at most one other.

    Source: openxla/xla, xla/hlo/transforms/expanders/dot_decomposer.cc.
    """
    return [*batch] == [*range(len(batch))] and rank - len(batch) <= 2 and len(contracting) <= 1


def stays_narrow(step: PlannedOp, held: Sequence[TensorType | None] = ()) -> bool:
    """True if the host computes a product or convolution of fewer bits as it is. held: see `is_in_library`.

    The library does, and so does what XLA finds with its first operand transposed for the library, as with
    any operand that is not canonical, before it reads that operand in its own order again.
    """
    return is_in_library(step, held) or _is_product_of(step, held, is_rewritten=True)


def is_in_library(step: PlannedOp, held: Sequence[TensorType | None] = ()) -> bool:
    """True if the library computes a product or convolution as it is.

    held: the types of its operands and result on a device, for which XLA decides; (): whole ones.
    """
    record = step.record
    if record.name == DotGeneralOp.name:
        return _is_product_of(step, held)
    if held:
        *operands, made = held
        record = replace(record, operands=tuple(operands), results=(made,))
    return record.name == ConvolutionOp.name and _is_convolution(record)


def _is_product_of(step: PlannedOp, held: Sequence[TensorType | None], *, is_rewritten: bool = False) -> bool:
    """True if the library would compute a product. is_rewritten: whether as XLA rewrites it at first."""
    record = step.record
    lhs, rhs, made = held or (*record.operands, *record.results)
    if record.name != DotGeneralOp.name or lhs is None or rhs is None or made is None:
        return False
    numbers = DotDimensions.of(record.attributes)
    is_plain = is_canonical(lhs.rank, numbers.batching[0], numbers.contracting[0])
    is_turned = not is_canonical(rhs.rank, numbers.batching[1], numbers.contracting[1])
    if is_plain and not is_turned and not step.reads_in_order:  # else XLA rewrites it, of operands in order
        return False
    is_turned = is_turned and is_rewritten
    stays_bf16 = Behaviour.PRODUCTS_STAY_NARROW.holds
    return _is_product(lhs, rhs, made, numbers, stays_bf16=stays_bf16, is_turned=is_turned)


def held_types(
    record: OpRecord,
    operands: Iterable[TensorType | None],
    made: TensorType | None,
    moved: Iterable[Sent] = (),
) -> tuple[TensorType | None, ...]:
    """The types of what a product reads and makes on a device, of the elements that the program has.

    operands, made: what is stored. moved: what is sent of operands before.
    """
    shapes = [None if each is None else each.shape for each in operands]
    for each in moved:
        shape = each.collective.made_shape
        own = shapes[each.operand] if 0 <= each.operand < len(shapes) else None
        if own is not None and len(shape) == len(own):
            shapes[each.operand] = shape
    pairs = [*zip(record.operands, shapes, strict=False)]
    pairs.append((record.results[0], None if made is None else made.shape))
    return tuple([None if old is None or own is None else TensorType(own, old.element) for old, own in pairs])


@SESSION.cache(4096)
def _is_product(
    lhs: TensorType,
    rhs: TensorType,
    made: TensorType,
    numbers: DotDimensions,
    *,
    stays_bf16: bool,
    is_turned: bool,
) -> bool:
    """True for matrices, not vectors or few elements, nor where rows of the first operand are contracted.

    Nor of what a transpose made (`inferred_layouts.py`), which the step says. stays_bf16: whether the release
    computes bf16 as it is. is_turned: whether the first operand is transposed where its rows are contracted.
    """
    if lhs.element != rhs.element:
        return False
    by_library = {"f32": {"f32"}, "f64": {"f64"}, "bf16": {"f32", "bf16"} if stays_bf16 else {"f32"}}
    if made.element not in by_library.get(lhs.element, ()):
        return False
    batch, contracting = numbers.batching[0], numbers.contracting[0]
    is_copied = copied_order(lhs.rank, batch, contracting, is_lhs=True) is not None
    if not (is_copied or is_turned) and tuple(contracting) != (lhs.rank - 1,):
        return False
    shared = prod(lhs.shape[d] or 0 for d in contracting)
    rows, columns = (
        prod(size or 0 for d, size in enumerate(type_.shape) if d not in (*outer, *inner))
        for type_, outer, inner in zip((lhs, rhs), numbers.batching, numbers.contracting, strict=True)
    )
    longest = max(rows, columns)
    return min(rows, columns) > 1 and min(shared, longest) >= 4 and max(shared, longest) >= 8


def _is_convolution(record: OpRecord) -> bool:
    """True for f32 in two dimensions, with enough features, no result or kernel larger than the image."""
    image, kernel = record.operands[:2]
    made = record.results[0]
    if image is None or kernel is None or made is None or image.element != "f32" or image.rank != 4:
        return False
    numbers = ConvolutionDimensions.of(record.attributes)
    sizes = [size or 0 for size in image.shape]
    made_sizes, kernel_sizes = [size or 0 for size in made.shape], [size or 0 for size in kernel.shape]
    windows = windows_of(record.attributes, numbers.window(kernel_sizes))
    return (
        numbers.batch_groups == 1
        and max(sizes[numbers.feature], made_sizes[numbers.result_feature]) >= _LEAST_FEATURES
        and all(window.base_dilation == 1 and not window.is_reversed for window in windows)
        and all(max(kernel_sizes[k], made_sizes[r]) <= sizes[i] for i, k, r in numbers.spatials)
    )
