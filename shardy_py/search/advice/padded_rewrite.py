"""A dimension made larger wherever it occurs, so that its axes divide it: 8 heads instead of 6 on 4 devices.

    pad 6 to 8, which "model" of size 4 divides: w['q'] 384x384 -> 384x512, w['o'] 384x384 -> 512x384

The dimension becomes larger in all values that ops relate to it, arguments included. What is added
contributes nothing where it is 0 in the weights that sum over it; hence only products may sum over it. Not
here: whether that helps (`adviser.py` tries it), which sizes follow (`run/proof/resizing.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.dialects.traits import constant_of, data_flow, is_terminator
from shardy_py.mlir.ir import operands_of, terminator_of, walk_pre_order
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.symbols import module_of
from shardy_py.mlir.text.builtin_attributes import is_dense
from shardy_py.mlir.text.dense import is_splat
from shardy_py.mlir.value_table import ValueEntry
from shardy_py.ops import TABLE, Control, Family
from shardy_py.propagation.rules import rule_of
from shardy_py.report.verdict import family_name
from shardy_py.search.advice.program import AdvisedProgram, family_tail, named_alike
from shardy_py.search.advice.replacing import SuggestedRewrite, at
from shardy_py.sharding import AxisRef, FactorType, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import total_size
from shardy_py.sharding.spelling import string_literal

if TYPE_CHECKING:
    from shardy_py.run.proof.resizing import Resizing

_Shapes = Mapping[SSAValue, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class IndivisibleSplit:
    """A major factor of a dimension whose axes do not divide it.

    tensor: the operand or result that is sharded, operands first. place: the operand or result that has the
    factor as a dimension, and that dimension. size: of the factor. parts: of the axes.
    """

    tensor: int
    place: tuple[int, int]
    size: int
    parts: int
    axes: tuple[AxisRef, ...]

    @property
    def padded(self) -> int:
        """The next size that the axes divide."""
        return self.parts * -(-self.size // self.parts)


def indivisible_splits(
    op: Operation, shardings: Sequence[TensorSharding | None], mesh: Mesh
) -> Iterator[IndivisibleSplit]:
    """Yields the dimensions that a reshape splits or merges, if their axes do not divide the major part.

    shardings: of the operands and results.
    """
    rule = rule_of(record_of(op)) if TABLE[op.name].kind is Family.MOVEMENT else None
    if rule is None:
        return
    places = {
        factors[0]: (tensor, dimension)
        for tensor, mapping in enumerate(rule.tensors)
        for dimension, factors in enumerate(mapping)
        if len(factors) == 1
    }
    for tensor, (mapping, sharding) in enumerate(zip(rule.tensors, shardings, strict=True)):
        for factors, given in zip(mapping, () if sharding is None else sharding.dimensions, strict=False):
            if len(factors) < 2 or not given.axes or factors[0] not in places:
                continue
            size, parts = rule.factors[factors[0]].size, total_size(given.axes, mesh)
            if size % parts and parts % size:
                yield IndivisibleSplit(tensor, places[factors[0]], size, parts, given.axes)


def padded_rewrite(
    program: AdvisedProgram, op: Operation, split: IndivisibleSplit
) -> SuggestedRewrite | None:
    """Returns the rewrite that makes a dimension larger; None if that changes what is computed.

    op: of the source program.
    """
    module = module_of(op)
    value, dimension = _place(op, split)
    shapes = _resizing(module).following(value, dimension, split.padded)
    if shapes is None or not all(_may_grow(each, shapes) for each in walk_pre_order(module)):
        return None
    changed = [(entry, new) for entry in program.boundary if (new := _grown(entry, shapes)) is not None]
    given = [entry for entry, _ in changed if entry.role == "argument"]
    if not given or not all(_replaces(entry, given) for entry, _ in changed if entry.role == "result"):
        return None
    listed = ", ".join(string_literal(axis.name) for axis in split.axes)
    sizes = [(e, _sizes(_shape(e.type)), _sizes(new)) for e, new in changed if e.role == "argument"]
    texts = [f"{_name(entry)} {old} -> {new}" for entry, old, new in sizes]
    words = f"pad {split.size} to {split.padded}, which {listed} of size {split.parts} divides{at(op)}"
    words += f": {', '.join(dict.fromkeys(texts))} (with 0 in what is added)"
    apply = partial(_apply, split=split)
    return SuggestedRewrite(f"pad {split.size} to {split.padded} in {split.place}", lambda _: words, apply)


def _apply(op: Operation, split: IndivisibleSplit) -> None:
    """Raises `ShardyError` if an op does not allow the new sizes."""
    module, mapping = module_of(op), dict[SSAValue, SSAValue]()
    before = clone(module, mapping)
    value, dimension = _place(op, split)
    into = {new: old for old, new in mapping.items()}
    if not _resizing(before).apply(mapping[value], dimension, split.padded, module, into):
        raise ShardyError(f"dimension {dimension} of size {split.size} cannot be {split.padded}")


def _place(op: Operation, split: IndivisibleSplit) -> tuple[SSAValue, int]:
    tensor, dimension = split.place
    return (*operands_of(op), *op.results)[tensor], dimension


def _resizing(module: ModuleOp) -> Resizing:
    """Relates the sizes of a program; loads proofs, which most programs need nothing of."""
    from shardy_py.run.proof.resizing import Resizing

    return Resizing(module, {})


def _may_grow(op: Operation, shapes: _Shapes) -> bool:
    """Returns whether an op computes the same for what was there: it has each dimension, or is a product."""
    values = [*operands_of(op), *op.results]
    if not any(_shape(value.type) != shapes[value] for value in values if value in shapes):
        return True
    row = TABLE[op.name]
    if row.control is not Control.NONE or is_terminator(op) or data_flow(op) is not None:
        return True  # the ops inside decide
    if not operands_of(op):
        value = op.properties.get("value")
        return constant_of(op.results[0]) is None or (is_dense(value) and is_splat(value))
    rule = rule_of(record_of(op))
    if rule is None:
        return False
    kept = (FactorType.PASS_THROUGH, *((FactorType.REDUCTION,) if row.kind is Family.PRODUCT else ()))
    for value, mapping in zip(values, rule.tensors, strict=True):
        sizes = zip(_shape(value.type), shapes[value], mapping, strict=True)
        if any(
            rule.factors[f].type not in kept for old, new, factors in sizes if old != new for f in factors
        ):
            return False
    return True


def _shape(type_: Attribute) -> tuple[int, ...]:
    tensor = tensor_type(type_)
    return () if tensor is None else tuple(size or 0 for size in tensor.shape)


def _grown(entry: ValueEntry, shapes: _Shapes) -> tuple[int, ...] | None:
    """The new shape of an argument or result; None if it has its old one."""
    end = terminator_of(entry.op.regions[0])
    value = entry.value if entry.value is not None or end is None else operands_of(end)[entry.index]
    new = None if value is None else shapes.get(value)
    return None if new == _shape(entry.type) else new


def _replaces(result: ValueEntry, arguments: Sequence[ValueEntry]) -> bool:
    """Returns whether a result is the new value of one of the arguments, or its gradient."""
    return any(
        entry.type == result.type and named_alike(family_tail(entry), family_tail(result))
        for entry in arguments
    )


def _name(entry: ValueEntry) -> str:
    return family_name(entry.label) if entry.label else entry.name


def _sizes(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))
