"""The op of a step as the host computes it: in f32 instead of bf16, by a library, with others around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation

from shardy_py.mlir.record import combiners_of
from shardy_py.ops import TABLE, TensorType
from shardy_py.ops.dimensions import DotDimensions, GatherDimensions
from shardy_py.ops.reads import integers
from shardy_py.xla.buffers.canonical import keeps_narrow
from shardy_py.xla.buffers.facet import STORED, host_row
from shardy_py.xla.buffers.host_program import (
    LIBRARY_REDUCTION,
    HostOp,
    HostProgram,
    ProductForm,
    elements,
    is_pointwise,
    kind_of,
)
from shardy_py.xla.buffers.library import held_types, is_in_library
from shardy_py.xla.spmd.arg_reductions import finds_places, is_found_by
from shardy_py.xla.spmd.program import Name, PlannedOp

_WINDOW = 32
"""The elements that the host reduces at once."""
_RUN = 16
"""The elements of a running sum that the host makes at once."""
_LIBRARY_ELEMENTS = 4096
"""The elements from which on the host reduces by a library."""


def compute(
    program: HostProgram,
    step: PlannedOp,
    operands: Sequence[Name],
    others: Sequence[Name],
    makes: Sequence[Name],
) -> None:
    """Adds the op of a step; others: what it reads beside its operands."""
    kind, reads, made = kind_of(step), [*operands], [*makes]
    if _is_constant(program, step, reads, makes):
        program.constants.update(makes)
        program.ops.append(HostOp("constant", (), tuple(makes), step, computed=step if not reads else None))
        return
    if kind == "top_k" and len(makes) > 1:
        _top_k(program, step, reads, makes)
        return
    if kind == "dot_general":
        _product(program, step, reads, makes)
        return
    if kind == "pad" and program.types.get(reads[0]) == program.types[makes[0]]:
        kind = "reshape"  # all that is padded was padded before it was masked
    if kind == "gather" and _slices(program, step, reads[1]) == 1:
        is_known = reads[1] in program.constants
        program.add("slice" if is_known else "dynamic_slice", reads[: 2 - is_known], made, step)
        return
    if kind == "concatenate":
        program.joined[makes[0]] = tuple(reads), int(step.record.attributes["dimension"])
    if kind == "reduce" and reads[0] in program.joined and _by_parts(program, step, reads, makes):
        return
    if kind == "reduce" and _is_found(program, step, reads, makes):
        return
    if kind == "reduce" and len(makes) == 1:
        if _is_reduced_by_library(program, step, reads[0]):
            kind = LIBRARY_REDUCTION
        elif (partial := _windows(program, step, reads[0])) is not None:
            reads[0] = program.made("reduce_window", (reads[0],), partial, step)
    if kind == "reduce_window" and len(makes) == 1 and reads:
        axis = _running_axis(program, step, reads[0])
        if axis >= 0:
            _running(program, step, reads[0], axis, makes[0])
            return
    row = host_row(kind)
    if row.is_wide and not keeps_narrow(row) and any(map(program.is_narrow, reads)):
        reads = [program.widened(name, step) if program.is_narrow(name) else name for name in reads]
        made = [_wide(program, name) for name in makes]
    if not reads and not others and len(makes) == 1 and _is_known(program, step, makes[0]):
        return
    if STORED.of(step.record.name).is_product and _is_by_library(program, step, reads, made[0]):
        program.by_library.update(made)
    program.ops.append(HostOp(kind, (*reads, *others), tuple(made), step, computed=step))
    for source, name in zip(made, makes, strict=True):
        if source != name:
            program.add("convert", (source,), (name,), step)


def _is_constant(program: HostProgram, step: PlannedOp, reads: Sequence[Name], makes: Sequence[Name]) -> bool:
    """True if an op makes one element, which is known."""
    if len(makes) != 1 or makes[0] not in program.types or elements(program.types[makes[0]]) != 1:
        return False
    kind = kind_of(step)
    is_folded = host_row(kind).is_movable or is_pointwise(HostOp(kind, (), tuple(makes), computed=step))
    return kind == "constant" or (bool(reads) and is_folded and program.constants.issuperset(reads))


def _slices(program: HostProgram, step: PlannedOp, indices: Name) -> int:
    """The number of slices of a gather: one is a slice. Source: openxla/xla, gather_expander.cc."""
    numbers = GatherDimensions.of(step.record.attributes)
    return elements(program.types[indices]) // max(len(numbers.index_map), 1)


def _wide(program: HostProgram, name: Name) -> Name:
    """A new value like one of bf16, of f32; another value itself."""
    if not program.is_narrow(name):
        return name
    return program.named(replace(program.types[name], element="f32"))


def _is_known(program: HostProgram, step: PlannedOp, made: Name) -> bool:
    """True if an equal op without operands has made the value: XLA merges them."""
    kind = kind_of(step)
    if not is_merged(kind, step):
        return False
    first = program.known.setdefault((kind, id(step.record), program.types.get(made)), made)
    if first != made:
        program.alias[made] = first
    return first != made


def is_merged(kind: str, step: PlannedOp) -> bool:
    """Returns whether equal ones of an op without operands are merged."""
    return host_row(kind).is_movable or is_pointwise(HostOp(kind, (), step.results, computed=step))


def _product(program: HostProgram, step: PlannedOp, operands: Sequence[Name], makes: Sequence[Name]) -> None:
    """A product of matrices, or of batches of them: operands and a result of other ranks are reshaped.

    Floats of 8 bits are converted first.
    """
    operands = [
        program.widened(name, step) if program.types[name].element.startswith("f8") else name
        for name in operands
    ]
    form = _product_form(program, step, operands, makes[0])
    given = [
        name if flat is None else program.made("reshape", (name,), flat, step)
        for name, flat in zip(operands, form.given, strict=True)
    ]
    made = [*makes] if form.is_plain else [program.named(_flat(program.types[name])) for name in makes]
    if form.is_by_library:
        program.by_library.update(made)
    program.ops.append(HostOp("dot_general", tuple(given), tuple(made), step, computed=step))
    if not form.is_plain:
        program.add("reshape", made, makes, step)


def _product_form(program: HostProgram, step: PlannedOp, operands: Sequence[Name], made: Name) -> ProductForm:
    """How a product is computed, found once for those of one record on operands of the same types."""
    record, types = step.record, [program.types.get(name) for name in (*operands, made)]
    key = id(record), step.reads_in_order, *map(id, types)
    known = program.products.get(key)
    if known is not None:
        return known[0]
    numbers = DotDimensions.of(record.attributes)
    given: list[TensorType | None] = []
    is_plain = True
    for side, name in enumerate(operands):
        type_ = program.types[name]
        batch, contracted = numbers.batching[side], len(numbers.contracting[side])
        free = len(type_.shape) - len(batch) - contracted
        is_one = 1 in [type_.shape[d] for d in batch if d < len(type_.shape)]
        is_plain = is_plain and free <= 1 and not is_one
        given.append(_flat(type_) if free > 1 or contracted > 1 or is_one else None)
    form = ProductForm(tuple(given), is_plain, _is_by_library(program, step, operands, made))
    program.products[key] = form, (record, types)
    return form


def _is_by_library(program: HostProgram, step: PlannedOp, operands: Sequence[Name], made: Name) -> bool:
    types = program.types
    return is_in_library(step, held_types(step.record, map(types.get, operands), types.get(made)))


def _flat(type_: TensorType) -> TensorType:
    return TensorType((elements(type_),), type_.element)


def _by_parts(program: HostProgram, step: PlannedOp, reads: Sequence[Name], makes: Sequence[Name]) -> bool:
    """Reduces equal parts of a concatenation along its dimension one by one; False if it does not.

    Source: openxla/xla, xla/hlo/transforms/simplifiers/algebraic_simplifier.cc (HandleReduce).
    """
    (*parts,), axis = program.joined[reads[0]]
    reduced = integers(step.record.attributes, "dimensions")
    first = program.types[parts[0]]
    if len(makes) > 1 or axis not in reduced or any(program.types[part] != first for part in parts):
        return False
    is_reshape = all(first.shape[d] == 1 for d in reduced)
    type_ = program.types[makes[0]]
    found: list[Name] = []
    for part in parts:
        kind, given = ("reshape", [part]) if is_reshape else ("reduce", [part, *reads[1:]])
        found.append(program.made(kind, given, type_, step))
    for number, part in enumerate(found[1:], 2):
        into = makes[0] if number == len(found) else None
        found[0] = program.made("add", (found[0], part), type_, step, into)
    if len(found) == 1:
        program.add("reshape", found, makes, step)
    return True


def _is_found(program: HostProgram, step: PlannedOp, reads: Sequence[Name], makes: Sequence[Name]) -> bool:
    """True for a reduction that another one makes, too, which finds the place of its element."""
    if finds_places(step):
        program.places[reads[0]] = step, makes[0]
    known = program.places.get(reads[0])
    if known is None or known[0] is step or not is_found_by(step, known[0]):
        return False
    program.add("reshape", known[1:], makes, step)
    return True


def _is_reduced_by_library(program: HostProgram, step: PlannedOp, name: Name) -> bool:
    """True if a library reduces an operand: of floats, to sums, minima or maxima, of some size.

    Source: openxla/xla, xla/backends/cpu/ynn_support.cc.
    """
    type_ = program.types.get(name)
    if type_ is None or type_.element not in ("f32", "bf16", "f64") or elements(type_) < _LIBRARY_ELEMENTS:
        return False
    reducers = combiners_of(step.source) if isinstance(step.source, Operation) else ()
    rows = (TABLE[each or ""].combiner for each in reducers)
    return all(row is not None and row.is_in_library for row in rows)


def _windows(program: HostProgram, step: PlannedOp, name: Name) -> TensorType | None:
    """The rest of an operand whose windows of 32 elements are reduced first; None if they are not.

    Source: openxla/xla, xla/service/tree_reduction_rewriter.cc.
    """
    type_ = program.types.get(name)
    reduced = integers(step.record.attributes, "dimensions")
    if type_ is None or max((type_.shape[d] or 0 for d in reduced if d < type_.rank), default=0) <= _WINDOW:
        return None
    sizes = enumerate(size or 0 for size in type_.shape)
    shape = tuple(-(-size // min(_WINDOW, max(size, 1))) if d in reduced else size for d, size in sizes)
    return replace(type_, shape=shape)


def _running_axis(program: HostProgram, step: PlannedOp, name: Name) -> int:
    """The dimension along which a window of its size makes running sums; -1 if it does not."""
    type_ = program.types.get(name)
    sizes = integers(step.record.attributes, "window_dimensions")
    if type_ is None or len(sizes) != type_.rank or type_ != program.types.get(step.results[0]):
        return -1
    (axis, *others) = [d for d, size in enumerate(sizes) if size > 1] or [-1]
    return axis if not others and axis >= 0 and _RUN < sizes[axis] == type_.shape[axis] else -1


def _running(program: HostProgram, step: PlannedOp, name: Name, axis: int, into: Name) -> None:
    """Running sums of 16 elements each, those of their ends, and both added.

    Source: openxla/xla, xla/service/reduce_window_rewriter.cc.
    """
    if program.is_narrow(name):
        name = program.widened(name, step)
    type_ = program.types[name]
    runs = -(-(type_.shape[axis] or 0) // _RUN)
    others = [size for d, size in enumerate(type_.shape) if d != axis]
    parts = replace(type_, shape=(*others, runs, _RUN))
    given = program.made("reshape" if elements(parts) == elements(type_) else "pad", (name,), parts, step)
    inner = program.made("reduce_window", (given,), parts, step)
    ends = program.made("slice", (inner,), replace(type_, shape=(*others, runs)), step)
    outer = program.made("reduce_window", (ends,), replace(type_, shape=(*others, runs + 1)), step)
    program.add("slice", (inner, outer), (into,), step)


def _top_k(program: HostProgram, step: PlannedOp, operands: Sequence[Name], makes: Sequence[Name]) -> None:
    """The largest elements and their places, by a kernel for f32, else by a sort of both.

    The kernel has whole rows on each device, which keeps its part of the results. Source: openxla/xla,
    xla/service/topk_rewriter.cc.
    """
    given = program.types[operands[0]]
    if given.element != "f32":
        places = program.made("iota", (), replace(given, element="i32"), step)
        ordered = [program.named(program.types[name]) for name in (operands[0], places)]
        program.add("sort", (operands[0], places), ordered, step)
        for source, name in zip(ordered, makes, strict=False):
            program.add("slice", (source,), (name,), step)
        return
    own = [program.types[name] for name in makes]
    wide = [replace(type_, shape=(*given.shape[:-1], *type_.shape[-1:])) for type_ in own]
    made = [*makes] if wide == own else [program.named(type_) for type_ in wide]
    program.add("custom_call", operands, made, step)
    for source, name in zip(made, makes, strict=True):
        if source != name:
            program.add("dynamic_slice", (source,), (name,), step)
