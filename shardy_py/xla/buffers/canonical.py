"""Ops that XLA adds before a program runs: copies with dimensions in a fixed order, indices of selections.

A product of XLA has batch dimensions first, at most one dimension that is contracted, and at most one other
in each operand. Any other product is made such by transposes and reshapes; a transpose is a copy, fused with
what makes the operand. On the host products are of f32, but for those of bf16 by a library: operands of fewer
bits are converted before, results after it. Convolutions have features last. Source: openxla/xla,
xla/hlo/transforms/expanders/dot_decomposer.cc, xla/service/cpu/conv_canonicalization.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.indexing.layout import element_type
from shardy_py.mlir.dialects.stablehlo import (
    ConvertOp,
    ConvolutionOp,
    DotGeneralOp,
    IotaOp,
    ReduceWindowOp,
    SelectAndScatterOp,
    TransposeOp,
)
from shardy_py.ops import TABLE, OpRecord, TensorType
from shardy_py.ops.dimensions import ConvolutionDimensions, DotDimensions
from shardy_py.xla.buffers.facet import STORED, StoredRow
from shardy_py.xla.buffers.library import copied_order, stays_narrow
from shardy_py.xla.spmd.program import Name, PlannedOp

_NARROW = frozenset(("bf16", "f16"))


def is_widened(step: PlannedOp, held: Sequence[TensorType | None] = ()) -> bool:
    """True if the host computes a product in f32 instead of fewer bits.

    held: the types of its operands and result on a device; (): whole ones.
    """
    type_ = step.record.operands[0] if STORED.of(step.record.name).is_product else None
    return type_ is not None and type_.element in _NARROW and not stays_narrow(step, held)


def is_narrowed_after(step: PlannedOp, held: Sequence[TensorType | None] = ()) -> bool:
    """True if the result of such a product is converted back to fewer bits."""
    type_ = step.record.results[0] if is_widened(step, held) else None
    return type_ is not None and type_.element in _NARROW


def keeps_narrow(row: StoredRow) -> bool:
    """True if the host computes an op of bf16 as it is; of others by what they do (`StoredRow`)."""
    return row.stays_narrow and Behaviour.ORDERED_STAYS_NARROW.holds


def is_narrowed(step: PlannedOp) -> bool:
    """True if the host computes an elementwise op in f32, and converts the result to bf16.

    Source: openxla/xla, xla/service/cpu/cpu_float_support.cc.
    """
    record = step.record
    made = record.results[0] if record.results else None
    if made is None or made.element != "bf16" or keeps_narrow(STORED.of(record.name)):
        return False
    given = (type_ is not None and type_.element in ("bf16", "f32") for type_ in record.operands)
    # Selections have a predicate, and stay bf16.
    return all(given) and TABLE[record.name].elementwise(record)


@dataclass(frozen=True, slots=True)
class Added:
    """A step that XLA adds; its result has `scale` times the bytes of the value `like`."""

    step: PlannedOp
    like: Name
    scale: float = 1

    def type_of(self, like: TensorType, size: int) -> TensorType:
        """Returns the type of its results on a device. like: of that value; size: bytes of a result."""
        record = self.step.record
        element = record.results[0].element if record.results and record.results[0] else "i32"
        if not record.results:  # indices, together with values
            return TensorType((size * 8 // element_type(element).bits,), element)
        order: Sequence[int] = record.attributes.get("permutation") or ()
        is_known = len(order) == like.rank  # of another rank is what it was reshaped from
        return TensorType(tuple([like.shape[i] for i in order]) if is_known else like.shape, element)


@dataclass(frozen=True, slots=True)
class Canonical:
    """A step as the host runs it, with what is added before and after it."""

    before: tuple[Added, ...]
    step: PlannedOp
    after: tuple[Added, ...] = ()


def note_added(
    added: Iterable[Added],
    types: dict[Name, TensorType],
    sizes: dict[Name, int],
    stored_name: Callable[[Name], Name],
) -> None:
    """Notes the types and bytes of what added ops make, by those of what they are like."""
    for each in added:
        name = each.like if each.like in sizes else stored_name(each.like)
        size = int(sizes.get(name, 0) * each.scale)
        sizes |= dict.fromkeys(each.step.results, size)
        if (like := types.get(each.like) or types.get(name)) is not None:
            types |= dict.fromkeys(each.step.results, each.type_of(like, size))


def canonical(
    step: PlannedOp,
    sent: Sequence[int],
    held: Sequence[TensorType | None] = (),
    *,
    on_host: bool,
    is_entry: bool,
) -> Canonical:
    """The step with the steps that XLA adds to it.

    sent: the indices of operands that are sent, so that a copy of them is made anyway. held: the types of the
    operands and the result of a product on a device. is_entry: whether it is in the entry computation.
    """
    if on_host and step.record.name == SelectAndScatterOp.name:
        return _expanded(step)
    orders: list[tuple[int, ...] | None] = []
    if step.record.name == DotGeneralOp.name:
        orders = _orders_of_product(step.record)
    elif step.record.name == ConvolutionOp.name and on_host and is_entry:
        orders = _orders_of_convolution(step.record)
    operands, results = list(step.operands), list(step.results)
    before: list[Added] = []
    after: list[Added] = []
    for index, (order, type_) in enumerate(zip(orders, step.record.operands, strict=False)):
        if type_ is not None and order is not None and index not in sent:
            operands[index] = (step.results[0], "copy", index)
            copy = _copy(type_, step.operands[index], operands[index], order)
            before.append(Added(copy, step.operands[index]))
    for index, name in enumerate(operands if on_host and is_widened(step, held) else ()):
        type_ = step.record.operands[index]
        if type_ is not None and index not in sent:
            operands[index] = (step.results[0], "wide", index)
            before.append(Added(_converted(type_, name, operands[index], to="f32"), name, 2))
    type_ = step.record.results[0] if step.record.results else None
    order = orders[-1] if len(orders) > len(operands) else None
    if type_ is not None and on_host and is_narrowed_after(step, held):
        results[0] = (step.results[0], "wide")
        wide = replace(type_, element="f32")
        after.append(Added(_converted(wide, results[0], step.results[0], to=type_.element), step.results[0]))
    elif type_ is not None and order is not None:
        results[0] = (step.results[0], "canonical")
        after.append(Added(_copy(type_, results[0], step.results[0], order), step.results[0]))
    if operands != [*step.operands] or after:
        step = replace(step, operands=tuple(operands), results=tuple(results))
    return Canonical(tuple(before), step, tuple(after))


def _orders_of_product(record: OpRecord) -> list[tuple[int, ...] | None]:
    """The orders in which the operands are copied."""
    numbers = DotDimensions.of(record.attributes)
    found: list[tuple[int, ...] | None] = []
    for side, type_ in enumerate(record.operands[:2]):
        rank = 0 if type_ is None else type_.rank
        batch, contracting = numbers.batching[side], numbers.contracting[side]
        found.append(copied_order(rank, batch, contracting, is_lhs=side == 0))
    return found


def _orders_of_convolution(record: OpRecord) -> list[tuple[int, ...] | None]:
    """The orders in which image, kernel and result are copied: features last, batch or spatial ones first."""
    numbers = ConvolutionDimensions.of(record.attributes)
    orders = (
        numbers.image,
        (*numbers.kernel_spatial, numbers.in_feature, numbers.out_feature),
        numbers.result,
    )
    return [None if order == tuple(range(len(order))) else order for order in orders]


def _expanded(step: PlannedOp) -> Canonical:
    """A selection of windows with the indices of all elements, then a scatter into a new tensor.

    Source: xla/hlo/transforms/expanders/select_and_scatter_expander.cc.
    """
    operand, source = step.operands[:2]
    type_ = step.record.operands[0]
    rank = 0 if type_ is None else type_.rank
    integer = 32 / (32 if type_ is None else element_type(type_.element).bits)
    bare = OpRecord(ReduceWindowOp.name, (), ())
    numbers = tuple((step.results[0], "index", i) for i in range(rank))
    chosen, places, start = ((step.results[0], name) for name in ("chosen", "places", "start"))
    indices = (
        Added(PlannedOp(OpRecord(IotaOp.name, (), ()), (), (name,), (None,)), operand, integer)
        for name in numbers
    )
    before = (
        *indices,
        Added(PlannedOp(bare, (operand, *numbers), (chosen,), (None,)), source, 1 + rank * integer),
        Added(PlannedOp(bare, (chosen,), (places,), (None,)), source, rank * integer),
        Added(PlannedOp(bare, (), (start,), (None,)), operand),
    )
    return Canonical(before, replace(step, operands=(start, places, source)))


def _converted(type_: TensorType, source: Name, made: Name, *, to: str) -> PlannedOp:
    return PlannedOp(_conversion(type_, to), (source,), (made,), (None,))


def _copy(type_: TensorType, source: Name, made: Name, order: tuple[int, ...]) -> PlannedOp:
    return PlannedOp(_transpose(type_, order), (source,), (made,), (None,))


@SESSION.cache(1024)
def _conversion(type_: TensorType, to: str) -> OpRecord:
    """The same record for equal conversions, so that what follows from it is found once."""
    return OpRecord(ConvertOp.name, (type_,), (replace(type_, element=to),))


@SESSION.cache(1024)
def _transpose(type_: TensorType, order: tuple[int, ...]) -> OpRecord:
    """The same record for equal copies."""
    result = replace(type_, shape=tuple([type_.shape[i] for i in order]))
    return OpRecord(TransposeOp.name, (type_,), (result,), {"permutation": order})
