"""The forms that the passes of XLA's compilers for devices see in each op.

    COMPILED.of("stablehlo.reshape").form is NodeForm.RESHAPE

An op without a row is computed, and no pass looks through it. Not here: the passes.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from shardy_py.base.records import dataclass
from shardy_py.ops import Facet, Family, OpRecord
from shardy_py.ops.dimensions import DotDimensions, ScatterDimensions
from shardy_py.xla.spmd.tiling import Shape

Wanted = Callable[[OpRecord, int, Shape, Shape], Shape]
"""The part of an operand that a device needs: of a record and the operand's index, from the shape of its
result and that of the operand as it is held, both on the device."""


class NodeForm(Enum):
    """How an op only changes the form of its first operand: what passes look through.

    REDUCE: where it reduces dimensions of one element. UPDATE: of the second, in place of a part of the
    first. SCATTER: of the last, added to parts of the first. BARRIER: of none.
    LARGEST: the largest elements, and their places. GATHER, PRODUCT, CONVOLUTION, WINDOW, SORT, JOIN: of
    none.
    """

    NONE = auto()
    RESHAPE = auto()
    TRANSPOSE = auto()
    SLICE = auto()
    PAD = auto()
    CONVERT = auto()
    BROADCAST = auto()
    COPY = auto()
    REDUCE = auto()
    UPDATE = auto()
    SCATTER = auto()
    GATHER = auto()
    BARRIER = auto()
    LARGEST = auto()
    PRODUCT = auto()
    CONVOLUTION = auto()
    WINDOW = auto()
    SORT = auto()
    JOIN = auto()


def _all(record: OpRecord, operand: int, made: Shape, held: Shape) -> Shape:
    return held


def _same(record: OpRecord, operand: int, made: Shape, held: Shape) -> Shape:
    return made if len(held) == len(made) else held


def _transposed(record: OpRecord, operand: int, made: Shape, held: Shape) -> Shape:
    order: tuple[int, ...] = tuple(record.attributes.get("permutation") or ())
    if len(order) != len(held):
        return held
    found = [*held]
    for size, at in zip(made, order, strict=True):
        found[at] = size
    return tuple(found)


def _broadcast(record: OpRecord, operand: int, made: Shape, held: Shape) -> Shape:
    dimensions: tuple[int, ...] = tuple(record.attributes.get("broadcast_dimensions") or ())
    if len(dimensions) != len(held):
        return held
    return tuple(min(size, made[at]) for size, at in zip(held, dimensions, strict=True))


def _factors(record: OpRecord, operand: int, made: Shape, held: Shape) -> Shape:
    """The dimensions of a product's operand that its result has, as the result has them."""
    ranks = [0 if type_ is None else type_.rank for type_ in (record.operands[operand], record.results[0])]
    if ranks != [len(held), len(made)]:
        return held  # reshaped for what sends it
    numbers = DotDimensions.of(record.attributes)
    batch, contracting = numbers.batching[operand], numbers.contracting[operand]
    free = [i for i in range(len(held)) if i not in batch and i not in contracting]
    start = len(batch)
    if operand == 1:
        start = len(made) - len(free)
    found = list(held)
    for at, i in enumerate(batch):
        found[i] = min(found[i], made[at])
    for at, i in enumerate(free):
        found[i] = min(found[i], made[start + at])
    return tuple(found)


def _updates(record: OpRecord, operand: int, made: Shape, held: Shape) -> Shape:
    """The dimensions of updates that are whole in the operand of a scatter, as its result has them."""
    updates, whole = record.operands[operand], record.results[0]
    if operand <= len(record.results) or updates is None or whole is None:
        return held
    if [updates.rank, whole.rank] != [len(held), len(made)]:
        return held
    found = list(held)
    for at, i in ScatterDimensions.of(record.attributes).windowed(len(made)):
        if updates.shape[i] == whole.shape[at]:
            found[i] = min(found[i], made[at])
    return tuple(found)


@dataclass(frozen=True, slots=True)
class CompiledRow:
    """The form that passes see in an op.

    form: see `NodeForm`. wanted: which part of an operand a device needs for its part of the result, so that
    a larger one is sliced first; by default all that it holds. chooses: whether elements of the result are
    those of operands, so that it does not matter whether these are rounded before or after it.
    is_kernel: whether it is a kernel on TPUs, which reads its operands as they are.
    """

    form: NodeForm = NodeForm.NONE
    wanted: Wanted = _all
    chooses: bool = False
    is_kernel: bool = False


_CHOSEN = CompiledRow(wanted=_same, chooses=True)
_MOVED = CompiledRow(chooses=True)
COMPILED = Facet(
    "what passes for devices see in",
    CompiledRow(),
    {Family.ELEMENTWISE: CompiledRow(wanted=_same)},
    {
        "stablehlo.dot_general": CompiledRow(NodeForm.PRODUCT, _factors),
        "stablehlo.convolution": CompiledRow(NodeForm.CONVOLUTION),
        "stablehlo.convert": CompiledRow(NodeForm.CONVERT, _same),
        "stablehlo.reshape": CompiledRow(NodeForm.RESHAPE),
        "stablehlo.transpose": CompiledRow(NodeForm.TRANSPOSE, _transposed),
        "stablehlo.slice": CompiledRow(NodeForm.SLICE),
        "stablehlo.pad": CompiledRow(NodeForm.PAD),
        "stablehlo.scatter": CompiledRow(NodeForm.SCATTER, _updates),
        "stablehlo.reduce_window": CompiledRow(NodeForm.WINDOW),
        "stablehlo.reduce": CompiledRow(NodeForm.REDUCE),
        "stablehlo.broadcast_in_dim": CompiledRow(NodeForm.BROADCAST, _broadcast),
        "stablehlo.dynamic_update_slice": CompiledRow(NodeForm.UPDATE),
        "stablehlo.optimization_barrier": CompiledRow(NodeForm.BARRIER),
        "hlo.opt-barrier": CompiledRow(NodeForm.BARRIER),
        "chlo.top_k": CompiledRow(NodeForm.LARGEST),
        "chlo.ragged_dot": CompiledRow(is_kernel=True),
        **dict.fromkeys(
            (
                "stablehlo.abs",
                "stablehlo.clamp",
                "stablehlo.maximum",
                "stablehlo.minimum",
                "stablehlo.select",
            ),
            _CHOSEN,
        ),
        "stablehlo.gather": CompiledRow(NodeForm.GATHER, chooses=True),
        "stablehlo.reverse": _MOVED,
        "stablehlo.concatenate": CompiledRow(NodeForm.JOIN, chooses=True),
        "stablehlo.sort": CompiledRow(NodeForm.SORT, chooses=True),
        "sdy.reshard": CompiledRow(NodeForm.COPY, _same),
        "sdy.sharding_constraint": CompiledRow(NodeForm.COPY, _same),
    },
)
