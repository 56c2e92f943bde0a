"""How XLA:TPU spreads the images of a convolution with a small batch over the rows of a tile.

A batch of fewer images than a tile has rows takes eight parts of the last spatial dimension, each with the
elements of the next one that its windows reach. The parts are made of a padded value:

    bf16[2,32,32,4] -> padded [2,40,32,4] -> borders [2,14,32,4] -> parts [2,56,32,4] -> copied to [16,7,32,4]

What another convolution has spread is put together again instead of padded. Source: openxla/xla,
xla/service/space_to_batch_converter.cc, and 22 programs that XLA:TPU compiled for v5p.

Not here: orders of dimensions in memory (`tile_orders.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from shardy_py.indexing.layout.formats import SUBLANES
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.dimensions import ConvolutionDimensions, windows_of
from shardy_py.xla.buffers.local_sizes import tiled_bytes


class SpreadStep(Enum):
    """How a value becomes the next one: fused with others, or in memory of its own."""

    FUSED = auto()
    ALONE = auto()


class Spread(NamedTuple):
    """The parts of images: of dimension `split`, `part` elements each, and `border` of the next one.

    made, made_part: the dimension of the result, and its elements in each part.
    """

    split: int
    part: int
    border: int
    made: int
    made_part: int


class Spreading(NamedTuple):
    """A value on the way: its type, and its dimensions in memory, minor to major."""

    step: SpreadStep
    type: TensorType
    minor_to_major: tuple[int, ...]


def spread_of(
    record: OpRecord, images: tuple[int, ...], kernel: tuple[int, ...], made: tuple[int, ...], whole: int = 0
) -> Spread | None:
    """Returns how a convolution spreads its images; None if it does not.

    images, kernel, made: the shapes on a device. whole: of all parts, if others have spread them.
    """
    numbers = ConvolutionDimensions.of(record.attributes)
    if not numbers.spatial or images[numbers.batch] >= SUBLANES:
        return None
    split = numbers.spatial[-1]
    place = numbers.spatial.index(split)
    window = windows_of(record.attributes, numbers.window(kernel))[place]
    result = numbers.result_spatial[place]
    if images[split] < SUBLANES or window.base_dilation != 1:
        return None
    part = -(-made[result] // SUBLANES) * window.stride
    while part * SUBLANES < (images[split] if whole else window.padded(images[split])):
        part += window.stride
    if part * SUBLANES < whole and not (whole // SUBLANES) % window.stride:
        part = whole // SUBLANES
    border = window.dilated_size - 1
    if not 0 < border <= part:
        return None
    return Spread(split, part, border, result, part // window.stride)


def spread_steps(record: OpRecord, type_: TensorType, spread: Spread, whole: int = 0) -> Iterator[Spreading]:
    """Yields the values on the way from images to what a convolution reads. whole: as of `spread_of`."""
    numbers = ConvolutionDimensions.of(record.attributes)
    sizes = [size or 0 for size in type_.shape]
    split, (part, border) = spread.split, spread[1:3]
    order = _least(type_, "bf16", split, SUBLANES * part, (numbers.batch, numbers.feature, numbers.spatial))
    minor = order.minor_to_major

    def along(step: SpreadStep, size: int, minor: tuple[int, ...]) -> Spreading:
        shape = (*sizes[:split], size, *sizes[split + 1 :])
        return Spreading(step, TensorType(shape, "bf16"), minor)

    has_features_in_lanes = minor[0] == numbers.feature
    if not (has_features_in_lanes and whole == SUBLANES * part):
        if whole:
            yield along(SpreadStep.ALONE, whole, minor)
        elif not has_features_in_lanes:
            yield along(SpreadStep.FUSED, sizes[split], minor)
        if (whole or sizes[split]) != SUBLANES * part:
            yield along(SpreadStep.ALONE, SUBLANES * part, minor)
        yield along(SpreadStep.ALONE, border * (SUBLANES - 1), minor)
    yield along(SpreadStep.FUSED, SUBLANES * (part + border), minor)
    yield along(SpreadStep.FUSED, SUBLANES * (part + border), minor)
    if not has_features_in_lanes:
        shape = list(sizes)
        shape[numbers.batch] *= SUBLANES
        shape[split] = part + border
        rest = tuple(reversed([d for d in range(len(sizes)) if d not in (numbers.feature, numbers.batch)]))
        made = TensorType(tuple(shape), "bf16")
        ends = (numbers.feature, numbers.batch), (numbers.batch, numbers.feature)
        yield min((Spreading(SpreadStep.ALONE, made, (*end, *rest)) for end in ends), key=_bytes)


def together(record: OpRecord, made: TensorType, spread: Spread) -> Spreading:
    """Returns the result of a convolution with its parts one behind the other."""
    numbers = ConvolutionDimensions.of(record.attributes)
    roles = numbers.result_batch, numbers.result_feature, numbers.result_spatial
    return _least(made, made.element, spread.made, spread.made_part * SUBLANES, roles)


def _least(
    type_: TensorType, element: str, split: int, size: int, roles: tuple[int, int, tuple[int, ...]]
) -> Spreading:
    """A value with a dimension of another size in memory of its own, with features and another one in tiles.

    roles: the dimensions of batches, of features, and in space.
    """
    batch, feature, spatial = roles
    sizes = [each or 0 for each in type_.shape]
    others = [d for d in spatial if d != split]
    other = max(others, key=lambda d: (sizes[d], -d)) if others else batch
    rest = tuple(reversed([d for d in range(len(sizes)) if d not in (feature, other)]))
    made = TensorType((*sizes[:split], size, *sizes[split + 1 :]), element)
    pairs = (feature, other), (other, feature)
    return min((Spreading(SpreadStep.ALONE, made, (*pair, *rest)) for pair in pairs), key=_bytes)


def _bytes(value: Spreading) -> int:
    shape = value.type.shape
    return tiled_bytes(value.type.element, tuple(shape[d] or 0 for d in reversed(value.minor_to_major)))
