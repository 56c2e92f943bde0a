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
from shardy_py.mlir.dialects.stablehlo import ReshapeOp, TransposeOp
from shardy_py.mlir.dialects.traits import is_dead_when_unused
from shardy_py.mlir.holders import SHARDING
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.plain import plain
from shardy_py.mlir.stablehlo_builder import resized
from shardy_py.ops import TABLE
from shardy_py.xla.prepare import folding
from shardy_py.xla.prepare.folds import RESHAPE, TRANSPOSE
from shardy_py.xla.prepare.revisits import Changes
from shardy_py.xla.prepare.spread_forms import OtherForm

_FORMS = (RESHAPE, TRANSPOSE)
_FORM_CLASSES = frozenset((ReshapeOp, TransposeOp))


class SunkForms:
    """Puts reshapes and transpositions after the elementwise ops that read them.

    sink(ops) is quick where little changed since the last time.
    """

    def __init__(self, changes: Changes, splats: folding.Splats) -> None:
        self._changes, self._splats = changes, splats
        self._reading: set[int] = set()
        """The ops that read all in one form, by identity."""

    def sink(self, ops: Iterable[Operation]) -> bool:
        """Puts the forms that these ops read after them; returns whether any was."""
        splats = self._splats
        for op in self._changes.sinks.taken(ops):
            if _form_of_operands(op, splats) is not None:
                self._reading.add(id(op))
            else:
                self._reading.discard(id(op))
        pending, is_changed = [op for op in ops if id(op) in self._reading], False
        while sunk := [self._sunk(op) for op in _without_rest(pending)]:
            users = (use.operation for form in sunk for use in form.results[0].uses)
            each = {id(user): user for user in users}.values()
            pending, is_changed = [op for op in each if _form_of_operands(op, splats) is not None], True
        return is_changed

    def _sunk(self, op: Operation) -> Operation:
        """Replaces an op by one on values before their form, and that form of the result; returns it."""
        form = _form_of_operands(op, self._splats)
        assert form is not None
        before = OtherForm.of(form, self._splats, is_inverse=True)
        operands = [
            operands_of(maker)[0]
            if _is_form(value) and (maker := ir.owning_op(value)) is not None
            else before.made_of(value, op)
            for value in operands_of(op)
        ]
        type_ = resized(op.results[0], before.made)
        made = folding.resized_elementwise(op, operands, type_, op)
        properties: dict[str, Attribute] = dict(form.properties)
        new = folding.make(op, form.name.removeprefix("stablehlo."), [made], properties)
        self._changes.replace(op, (new,))
        maker = ir.owning_op(new)
        assert maker is not None
        return maker


def _without_rest(ops: Iterable[Operation]) -> list[Operation]:
    """The ops, which read all in one form, such that no such form stays behind."""
    found = {id(op): op for op in ops}
    while True:
        forms = {id(v): v for op in found.values() for v in operands_of(op) if _is_form(v)}
        users = [[id(use.operation) for use in value.uses] for value in forms.values()]
        left = {user for own in users if not all(each in found for each in own) for user in own}
        if left.isdisjoint(found):
            return [*found.values()]
        found = {key: op for key, op in found.items() if key not in left}


def _is_form(value: SSAValue) -> bool:
    """True for a reshape or transposition: those that can be computed in another form are folded before."""
    op = value.op if isinstance(value, OpResult) else None
    if op is None or op.name not in _FORMS or SHARDING in op.attributes:
        return False
    return folding.is_static(value, *operands_of(op))


def _form_of_operands(op: Operation, splats: folding.Splats) -> Operation | None:
    """The form in which an elementwise op reads all that has a shape of its own; None: not in one form."""
    operands = operands_of(op)
    for value in operands:
        if type(value) is OpResult and value.op.__class__ in _FORM_CLASSES:
            break
    else:
        return None  # as for nearly all
    if len(op.results) != 1 or op.regions or SHARDING in op.attributes:
        return None
    if not TABLE[op.name].is_elementwise or not is_dead_when_unused(op) or not folding.is_static(*op.results):
        return None
    forms = [maker for value in operands if _is_form(value) and (maker := ir.owning_op(value)) is not None]
    sizes = folding.sizes_of(op.results[0])
    if not forms or any(folding.sizes_of(form.results[0]) != sizes for form in forms):
        return None
    first = forms[0]
    if not all(_is_alike(first, form) for form in forms[1:]):
        return None
    before = OtherForm.of(first, splats, is_inverse=True)
    return first if all(_is_form(value) or before.is_free(value) for value in operands) else None


def _is_alike(form: Operation, other: Operation) -> bool:
    """True if both make the same of values of one shape."""
    shapes = [folding.sizes_of(operands_of(each)[0]) for each in (form, other)]
    if form.name != other.name or shapes[0] != shapes[1]:
        return False
    orders = [plain(each.properties["permutation"]) for each in (form, other) if each.name == TRANSPOSE]
    return not orders or orders[0] == orders[1]
