"""The facts of an op record that decide how its results are stored, read from its rows once.

    StoringKinds().of(step.record).is_cheap

Not here: the rows (`facet.py`, `ops/`), what follows for a step (`stored.py`, `fusion.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Final, cast

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo import DynamicSliceOp, TransposeOp
from shardy_py.ops import TABLE, Control, Memory, OpRecord, Repeat, Role, Storage, row_of
from shardy_py.ops.dimensions import ScatterDimensions
from shardy_py.ops.reads import integers
from shardy_py.xla.buffers.facet import STORED, StoredRow
from shardy_py.xla.buffers.local_sizes import TILED, least_padded
from shardy_py.xla.buffers.needed_orders import selects_of_computed
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm

PADDED: Final = 4
"""The most values that XLA:TPU puts together by padding them."""
_INLINED: Final = (Control.MANUAL, Control.REGION, Control.ASYNC)


@dataclass(slots=True, eq=False)  # not frozen, which would triple the time to make it
class StoringKind:
    """The facts of one record; never changed.

    row: of the facet. is_inlined: whether its region always runs once. is_alias: whether results are operands
    under other names wherever they have the same size; is_renaming: whether it is listed even so.
    is_to_host: whether it moves a value to memory of the host. is_transpose: whether it has another layout.
    is_cheap: whether XLA fuses it with others. is_elementwise, is_broadcast: what it is. is_expensive:
    whether it is computed once; is_repeatable: whether it does not matter how often. is_in_place: whether a
    result is its operand, changed. is_sent: whether it is a collective itself. is_conversion: of elements.
    is_alone_on_tpu: whether nothing takes it in there, nor it others.
    is_table: whether it is a constant of different elements, which TPUs fetch into VMEM in any case.
    joins_parts: whether it puts values beside others, or beside padding. is_slice: whether it is a slice.
    is_padded_join: whether it puts a few values together, which TPUs do as the maximum of padded values where
    it is read.
    """

    record: OpRecord
    row: StoredRow
    is_inlined: bool
    is_alias: bool
    is_renaming: bool
    is_to_host: bool
    is_transpose: bool
    is_cheap: bool
    is_elementwise: bool
    is_broadcast: bool
    is_expensive: bool
    is_repeatable: bool
    is_in_place: bool
    is_sent: bool
    is_conversion: bool
    is_alone_on_tpu: bool
    is_table: bool
    joins_parts: bool
    is_slice: bool
    is_padded_join: bool

    @property
    def is_cut_or_padded(self) -> bool:
        """True for a slice, or what pads: a product that reads it does that itself on TPUs."""
        is_cut = self.is_slice or self.record.name == DynamicSliceOp.name
        return is_cut or self.is_padded_join or COMPILED.of(self.record.name).form is NodeForm.PAD

    @staticmethod
    def of(record: OpRecord) -> StoringKind:
        """Reads the rows of a record."""
        row, stored = TABLE[record.name], STORED.of(record.name)
        if selects_of_computed(record):
            stored = replace(stored, takes_plain=True)
        is_named = row.storage is Storage.ALIAS
        is_elementwise = row.elementwise(record)
        return StoringKind(
            record,
            stored,
            row.control in _INLINED,
            row.is_wire or is_named,
            is_named and not row.is_wire,
            _is_to_host(record),
            record.name == TransposeOp.name,
            stored.is_fused or is_elementwise,
            is_elementwise,
            row.role is Role.BROADCAST,
            row.repeat is Repeat.EXPENSIVE,
            row.repeat is Repeat.FREE,
            row.storage is Storage.IN_PLACE,
            row.collective is not None,
            COMPILED.of(record.name).form is NodeForm.CONVERT,
            stored.is_alone_on_tpu or _moves_within_tiles(record),
            stored.is_table or (stored.is_constant and has_several(record.attributes.get("value"))),
            COMPILED.of(record.name).form in (NodeForm.PAD, NodeForm.JOIN),
            COMPILED.of(record.name).form is NodeForm.SLICE,
            COMPILED.of(record.name).form is NodeForm.JOIN and len(record.operands) <= PADDED,
        )


def has_several(value: object) -> bool:
    """Returns whether the elements of a constant differ, as far as its record has them.

    >>> has_several(((1, 2), (1, 2))), has_several((3, 3)), has_several(None)
    (True, False, False)
    """
    return len({*map(str, _flat(value))}) > 1


def starts_with(step: PlannedOp, name: Name) -> bool:
    """Returns True for a scatter of rows into a value, without batch dimensions."""
    if COMPILED.of(step.record.name).form is not NodeForm.SCATTER or step.operands[0] != name:
        return False
    numbers = ScatterDimensions.of(step.record.attributes)
    return bool(numbers.offsets) and not numbers.batching


def makes_one_element(step: PlannedOp) -> bool:
    """Returns True if the result is one element.

    If it were computed in all its readers, a long chain before it would be, too.
    """
    type_ = step.record.results[0]
    return type_ is not None and all(size == 1 for size in type_.shape)


def _flat(value: object) -> Iterator[object]:
    if isinstance(value, tuple):
        for each in cast("tuple[object, ...]", value):
            yield from _flat(each)
    else:
        yield value


def _moves_within_tiles(record: OpRecord) -> bool:
    """True for a slice that skips elements of tiles on a TPU, and a pad that puts elements between others.

    Of 533 such ops that XLA:TPU compiled, it fused only those that skip whole tiles.
    """
    form, type_ = COMPILED.of(record.name).form, record.results[0] if record.results else None
    if type_ is None:
        return False
    if form is NodeForm.PAD:
        return any(integers(record.attributes, "interior_padding"))
    if form is not NodeForm.SLICE:
        return False
    tiled = least_padded(type_)[-TILED:]
    return any(step > 1 and d in tiled for d, step in enumerate(integers(record.attributes, "strides")))


def _is_to_host(record: OpRecord) -> bool:
    """True if an op moves a value to memory of the host, as `jax.device_put` does in a jitted function."""
    if row_of(record).memory not in (Memory.HOST, Memory.STATED):
        return False
    given: Mapping[str, object] = record.attributes.get("mhlo.frontend_attributes") or {}
    return "host" in str(given.get("_xla_buffer_placement", "pinned_host"))


@dataclass
class StoringKinds:
    """The kinds of the records of a program, each read once."""

    _known: dict[int, StoringKind] = field(default_factory=dict[int, StoringKind])
    """By the identity of the record, which the kind keeps."""

    def of(self, record: OpRecord) -> StoringKind:
        """Returns the kind of a record."""
        known = self._known.get(id(record))
        if known is None:
            known = self._known[id(record)] = StoringKind.of(record)
        return known
