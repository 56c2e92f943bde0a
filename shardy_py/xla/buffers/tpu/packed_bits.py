"""The comparisons of a block whose bits XLA:TPU packs into words before it stores them.

    y = convolution(x, w); y > 0     of [32, 16, 16, 64]  ->  its bits along a dimension of 16 in ui16

What is compared with one number is made of a product by elementwise ops, and not spread over rows of tiles.
The bits of the longest dimension of at most 32 elements that is not in tiles are in one word, which the
fusion of the product makes; readers take their bits from it. Source: the pass `pred_packing` in dumps of
XLA:TPU for 30 small networks. Not here: which fusion makes the words (`several_results.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from shardy_py.indexing.layout.formats import SUBLANES
from shardy_py.mlir.dialects.stablehlo import BroadcastInDimOp, ConvertOp, ReduceOp, SelectOp
from shardy_py.ops import TABLE, OpRecord, TensorType
from shardy_py.ops.dimensions import ConvolutionDimensions
from shardy_py.xla.buffers.facet import STORED, Tiled
from shardy_py.xla.buffers.local_sizes import least_padded
from shardy_py.xla.buffers.tpu.records import Records, elements_of, step_of
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm

_WORDS = (8, 16, 32)
"""The bits of the words that there are."""
_PACKING = "packs"
"""The attribute of a reduction that packs bits."""
_IN_TILES = 2
"""The dimensions that are in tiles."""


def with_packed_bits(
    steps: Sequence[PlannedOp], records: Records, is_fixed: Callable[[PlannedOp], bool]
) -> list[PlannedOp]:
    """Returns steps with words of the bits of comparisons, where XLA packs them.

    is_fixed: whether something else knows a step, which stays as it is.
    """
    found: list[PlannedOp] = []
    products: dict[Name, PlannedOp] = {}
    """By what is made of a product by elementwise ops that product."""
    numbers: set[Name] = set()
    for step in steps:
        if _is_one_number(step):
            numbers.update(step.results)
        product = next((products[name] for name in step.operands if name in products), None)
        type_ = step.record.results[0] if len(step.results) == 1 else None
        if type_ is None or step.blocks:
            found.append(step)
            continue
        if STORED.of(step.record.name).is_product:
            products[step.results[0]] = step
        elif product is not None and _is_elementwise(step) and type_.shape == _shape_of(product):
            dimension = _packed_dimension(product, type_) if type_.element == "i1" else None
            is_plain = sum(name not in numbers for name in step.operands) == 1
            if dimension is not None and is_plain and not is_fixed(step):
                found += _packed(step, type_, dimension, records)
                continue
            products[step.results[0]] = product
        found.append(step)
    return found


def packs_bits(record: OpRecord) -> bool:
    """Returns whether a reduction packs bits into words."""
    return _PACKING in record.attributes


def _is_one_number(step: PlannedOp) -> bool:
    """True for a constant, and for a broadcast of one element."""
    if COMPILED.of(step.record.name).form is NodeForm.BROADCAST:
        return elements_of(step.record.operands[0]) == 1
    return STORED.of(step.record.name).is_constant


def _is_elementwise(step: PlannedOp) -> bool:
    return TABLE[step.record.name].elementwise(step.record) and step.record.name != SelectOp.name


def _shape_of(product: PlannedOp) -> tuple[int | None, ...]:
    made = product.record.results[0]
    return () if made is None else made.shape


def _packed_dimension(product: PlannedOp, type_: TensorType) -> int | None:
    """The dimension whose bits are in one word. product: what makes the values that are compared."""
    record = product.record
    sizes = [size or 0 for size in type_.shape]
    if STORED.of(record.name).tiled is Tiled.IMAGES:
        numbers = ConvolutionDimensions.of(record.attributes)
        others = numbers.result_spatial if sizes[numbers.result_batch] >= SUBLANES else ()
    elif COMPILED.of(record.name).form is NodeForm.PRODUCT:
        others = least_padded(type_)[:-_IN_TILES]
    else:
        return None
    fitting = [d for d in others if 1 < sizes[d] <= _WORDS[-1]]
    return max(fitting, key=lambda d: sizes[d], default=None)


def _packed(step: PlannedOp, bits: TensorType, dimension: int, records: Records) -> Iterator[PlannedOp]:
    """The steps that compare, pack bits along a dimension, and take them from words again."""
    size = bits.shape[dimension] or 0
    element = f"ui{next(width for width in _WORDS if width >= size)}"
    words = TensorType(bits.shape, element)
    packed = TensorType((*bits.shape[:dimension], *bits.shape[dimension + 1 :]), element)
    kept = tuple(d for d in range(bits.rank) if d != dimension)
    (name,) = step.results
    compared, shifted, word, spread = ((each, name) for each in ("compared", "shifted", "word", "spread"))
    yield replace(step, results=(compared,))
    convert = records.of(ConvertOp.name, (bits,), (words,))
    yield step_of(convert, (compared,), (shifted,), step.source)
    reduce = records.of(ReduceOp.name, (words, None), (packed,), dimensions=(dimension,), **{_PACKING: True})
    yield step_of(reduce, (shifted,), (word,), step.source)
    broadcast = records.of(BroadcastInDimOp.name, (packed,), (words,), broadcast_dimensions=kept)
    yield step_of(broadcast, (word,), (spread,), step.source)
    yield step_of(records.of(ConvertOp.name, (words,), (bits,)), (spread,), (name,), step.source)
