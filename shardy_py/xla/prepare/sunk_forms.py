"""Reshapes and transpositions after elementwise ops instead of before them, as XLA:TPU puts them.

    add(reshape(a), reshape(b))                  ->  reshape(add(a, b))
    multiply(transpose(a), broadcast of scalar)  ->  transpose(multiply(a, broadcast of scalar))

Only if no reshape stays behind: all users of each are such ops. Source: openxla/xla,
xla/hlo/transforms/simplifiers/reshape_mover.cc.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.mlir import ir
from shardy_py.mlir.dialects.traits import is_dead_when_unused
from shardy_py.mlir.holders import SHARDING
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.plain import plain
from shardy_py.mlir.stablehlo_builder import resized
from shardy_py.ops import TABLE
from shardy_py.xla.prepare import folding
from shardy_py.xla.prepare.folds import BROADCAST, RESHAPE, TRANSPOSE

_FORMS = (RESHAPE, TRANSPOSE)


def sink_forms(ops: Iterable[Operation], splats: folding.Splats) -> list[Operation]:
    """Puts reshapes and transpositions after the elementwise ops that read them; returns the new ones."""
    candidates = {id(op): op for op in ops if _form_of_operands(op, splats) is not None}
    while True:
        forms = {id(v): v for op in candidates.values() for v in operands_of(op) if _is_form(v, splats)}
        users = [[id(use.operation) for use in value.uses] for value in forms.values()]
        left = {user for own in users if not all(each in candidates for each in own) for user in own}
        if left.isdisjoint(candidates):
            break
        candidates = {key: op for key, op in candidates.items() if key not in left}
    return [_sunk(op, splats) for op in candidates.values()]


def _is_form(value: SSAValue, splats: folding.Splats) -> bool:
    """True for a reshape or transposition of what cannot be made in any form."""
    op = value.op if isinstance(value, OpResult) else None
    return (
        op is not None
        and op.name in _FORMS
        and SHARDING not in op.attributes
        and folding.is_static(value, *operands_of(op))
        and splats.of(value) is None
        and not _is_spread(operands_of(op)[0], splats)
    )


def _is_spread(value: SSAValue, splats: folding.Splats) -> bool:
    """True for values whose elements are all the same, which can be made in any shape."""
    if splats.of(value) is not None:
        return True
    spread = folding.producer(value, BROADCAST)
    return spread is not None and not folding.sizes_of(operands_of(spread)[0])


def _form_of_operands(op: Operation, splats: folding.Splats) -> Operation | None:
    """The form in which an elementwise op reads all that has a shape of its own; None: not in one form."""
    if len(op.results) != 1 or op.regions or SHARDING in op.attributes:
        return None
    if not TABLE[op.name].is_elementwise or not is_dead_when_unused(op) or not folding.is_static(*op.results):
        return None
    found: Operation | None = None
    sizes = folding.sizes_of(op.results[0])
    for value in operands_of(op):
        if folding.sizes_of(value) != sizes:
            if folding.sizes_of(value):
                return None
        elif _is_form(value, splats):
            form = ir.owning_op(value)
            if found is not None and form is not None and not _is_alike(found, form):
                return None
            found = form
        elif not _is_spread(value, splats):
            return None
    return found


def _is_alike(form: Operation, other: Operation) -> bool:
    """True if both make the same of values of one shape."""
    shapes = [folding.sizes_of(operands_of(each)[0]) for each in (form, other)]
    if form.name != other.name or shapes[0] != shapes[1]:
        return False
    return form.name == RESHAPE or plain(form.properties["permutation"]) == plain(
        other.properties["permutation"]
    )


def _sunk(op: Operation, splats: folding.Splats) -> Operation:
    """Replaces an op by one on values before their form, and that form of its result, which it returns."""
    form = _form_of_operands(op, splats)
    assert form is not None
    (before,), sizes = operands_of(form), folding.sizes_of(op.results[0])
    shape = folding.sizes_of(before)
    operands = [
        value
        if folding.sizes_of(value) != sizes
        else operands_of(maker)[0]
        if _is_form(value, splats) and (maker := ir.owning_op(value)) is not None
        else _respread(op, value, shape, splats)
        for value in operands_of(op)
    ]
    type_ = resized(op.results[0], shape)
    made = folding.make(op, op.name.removeprefix("stablehlo."), operands, dict(op.properties), type_)
    properties: dict[str, Attribute] = dict(form.properties)
    new = folding.make(op, form.name.removeprefix("stablehlo."), [made], properties)
    ir.replace_uses(op.results[0], new)
    ir.erase(op)
    maker = ir.owning_op(new)
    assert maker is not None
    return maker


def _respread(op: Operation, value: SSAValue, shape: tuple[int, ...], splats: folding.Splats) -> SSAValue:
    """A value whose elements are all the same in another shape."""
    type_ = resized(value, shape)
    element = splats.of(value)
    if element is not None:
        return folding.constant_before(op, type_, element)
    spread = folding.producer(value, BROADCAST)
    assert spread is not None
    return folding.make(op, "broadcast_in_dim", operands_of(spread), dict(spread.properties), type_)
