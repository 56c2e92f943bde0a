"""The facts about an op on the host that decide what it is fused with, found once for all equal ops.

Equal are ops of one kind, that compute one record, of values of the same types: of the many ops of a program
of equal layers a few hundred. Not here: what is fused (`host_fusion.py`).

>>> forms = OpForms()
>>> type_ = TensorType((4,))
>>> first, second = (HostOp("negate", (name,), (name + name,)) for name in "xy")
>>> forms.of(first, (type_,), type_) is forms.of(second, (type_,), type_)
True
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.records import dataclass
from shardy_py.ops import TABLE, Repeat, TensorType
from shardy_py.ops.elementwise import DIVISIONS
from shardy_py.xla.buffers.canonical import is_narrowed
from shardy_py.xla.buffers.facet import StoredRow, host_row
from shardy_py.xla.buffers.host_program import LIBRARY_REDUCTION, HostOp, elements, is_in_place, is_pointwise
from shardy_py.xla.buffers.local_sizes import measured

SAME, OTHER, REPEATED = range(3)
"""In which order an op reads the elements of an operand: its own, another one, or some repeatedly."""
_POLYNOMIALS = ("sine", "cosine", "tan")
"""Functions of reals that the host computes by few operations; of complex numbers they are expensive."""
_MOST_CONCATENATED = 8
"""A concatenation of more operands is not fused."""
_LONG_ROW = 128
"""Rows of that many elements are not put together within a fusion, before JAX 0.12."""
_LONG_ROW_BYTES, _COPIED_BYTES = 64, 2048
"""Since then, rows of that many bytes in a tensor of so many."""


@dataclass(slots=True, eq=False)  # not frozen, which would triple the time to make it
class OpForm:
    """The facts of equal ops; never changed.

    is_pointwise: see `host_program.py`. is_fusible: whether it is fused into what reads it. is_opened:
    whether it takes in others. is_reduction: whether it is one; is_by_library: of the library. is_division:
    whether it is expensive unless elements of the divisor are repeated; is_expensive: for other reasons.
    is_copied: whether it puts together many operands, or long rows: then it is a copy, and not fused.
    is_in_place: whether it writes over its first operand. orders: in which it reads each value. keeps: of
    each, whether it reads that at the places of its own elements.
    """

    row: StoredRow
    is_pointwise: bool
    is_fusible: bool
    is_opened: bool
    is_reduction: bool
    is_by_library: bool
    is_division: bool
    is_expensive: bool
    is_copied: bool
    is_in_place: bool
    is_broadcast: bool
    orders: tuple[int, ...]
    keeps: tuple[bool, ...]


@dataclass
class OpForms:
    """The forms of the ops of a list, by the identities of records and types, which ops and values keep."""

    _known: dict[tuple[Hashable, ...], OpForm] = field(default_factory=dict[tuple[Hashable, ...], OpForm])

    def of(self, op: HostOp, read: Sequence[TensorType | None], made: TensorType | None) -> OpForm:
        """Returns the form of an op. read: the types of the values that it reads, each once."""
        record = None if op.computed is None else op.computed.record
        key = (op.kind, id(record), len(op.reads), len(op.makes), id(made), *map(id, read))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _form(op, read, made)
        return known


def _form(op: HostOp, read: Sequence[TensorType | None], made: TensorType | None) -> OpForm:
    row, same, is_by_library = host_row(op.kind), is_pointwise(op), op.kind == LIBRARY_REDUCTION
    is_fusible = len(op.makes) == 1 and (same or row.is_movable)
    is_turned = op.kind in ("transpose", "copy")
    return OpForm(
        row=row,
        is_pointwise=same,
        is_fusible=is_fusible,
        is_opened=is_fusible or op.kind == "reduce" or is_by_library,
        is_reduction=op.kind == "reduce",
        is_by_library=is_by_library,
        is_division=op.kind in DIVISIONS,
        is_expensive=_is_expensive(op),
        is_copied=_is_copied(op, read, made),
        is_in_place=is_in_place(op),
        is_broadcast=op.kind == "broadcast_in_dim",
        orders=tuple(_order(op.kind, row, n, type_, made, same) for n, type_ in enumerate(read)),
        keeps=tuple(is_turned or _is_of_shape(type_, made) for type_ in read),
    )


def _is_of_shape(given: TensorType | None, made: TensorType | None) -> bool:
    return given is not None and made is not None and given.shape == made.shape


def _order(
    kind: str,
    row: StoredRow,
    position: int,
    given: TensorType | None,
    made: TensorType | None,
    pointwise: bool,
) -> int:
    """In which order an op reads the elements of an operand."""
    if pointwise or kind == "broadcast_in_dim":
        is_whole = given is None or made is None or elements(given) == elements(made)
        return REPEATED if not is_whole else SAME if pointwise else OTHER
    return REPEATED if row.repeats_others and position else OTHER


def _is_expensive(op: HostOp) -> bool:
    """True if an op is expensive whatever it reads; divisions are not."""
    if op.kind in DIVISIONS:
        return False
    has_polynomial = op.kind in _POLYNOMIALS
    is_costly = TABLE[f"stablehlo.{op.kind}"].repeat is Repeat.EXPENSIVE and not has_polynomial
    if op.kind == "erf" or is_costly:
        return True
    record = op.computed.record if op.computed is not None else None
    if record is None or op.computed is None or not record.results or record.results[0] is None:
        return False
    element = record.results[0].element
    if op.kind == "convert":
        return element == "bf16" and record.operands[0] is not None and record.operands[0].element == "f32"
    if has_polynomial:
        return element.startswith("complex")
    return element == "bf16" and is_narrowed(op.computed)


def _is_copied(op: HostOp, read: Sequence[TensorType | None], made: TensorType | None) -> bool:
    if op.kind != "concatenate":
        return False
    if len(op.reads) > _MOST_CONCATENATED:
        return True
    if made is None or made.rank <= 1:
        return False
    given = [type_.shape for type_ in read if type_ is not None]
    has_rows = all(shape[:-1] == made.shape[:-1] and shape != made.shape for shape in given)
    return bool(given) and has_rows and _has_long_rows(made)


def _has_long_rows(made: TensorType) -> bool:
    """True if rows are put together by copies of memory, rather than element by element."""
    if not Behaviour.CONCATENATIONS_ARE_COPIED_BY_BYTES.holds:
        return (made.shape[-1] or 0) >= _LONG_ROW
    row = measured(TensorType(made.shape[-1:], made.element), "linear")
    return row >= _LONG_ROW_BYTES and measured(made, "linear") >= _COPIED_BYTES
