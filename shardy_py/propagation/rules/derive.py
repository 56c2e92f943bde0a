"""The sharding rule of an op, derived from its indexing maps.

A coordinate that is carried through is a pass-through factor, a folded range variable a reduction factor;
shifts, strides, windows and reversals are permutation factors; dimensions read whole need replication;
reshapes split into factors of mixed radix. Shardy's decisions beyond the maps are the column `policy` of the
op's row.

>>> from shardy_py.ops import OpRecord, TensorType
>>> f = TensorType
>>> numbers = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,)}
>>> product = OpRecord(
...     "stablehlo.dot_general", (f((8, 32)), f((32, 16))), (f((8, 16)),), {"dot_dimension_numbers": numbers}
... )
>>> print(derive_rule(product))
<([i, k], [k, j])->([i, j]) {i=8, j=16, k=32} reduction={k}>
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal

from shardy_py import ops
from shardy_py.base.errors import ShardyError
from shardy_py.base.plugins import call_of_user, is_of_user
from shardy_py.ops.elementwise import pointwise
from shardy_py.propagation.rules.factors import sketch_of
from shardy_py.propagation.rules.radix import RadixFactor, common_factors, keeps_row_major_order
from shardy_py.sharding import DimMapping, Factor, FactorType, ShardingRule


def derive_rule(record: ops.OpRecord, *, conservative_propagation: bool = False) -> ShardingRule | None:
    """Returns the rule that Shardy has for an op, None if it has none.

    A rule that the user wrote on the op is the caller's to look up first.

    conservative_propagation: no propagation through dimensions whose sharding costs communication to keep.
    """
    row = ops.row_of(record)
    if row.rule_source is not ops.RuleSource.MAPS or not record.results:
        return None
    if row.rule is not None:
        return call_of_user("sharding rule", row.rule, record) if is_of_user(row.rule) else row.rule(record)
    if row.maps is None or record.results[0] is None:
        return None
    _check_static(record)
    with ops.matching_attributes(record):
        return derive_from_maps(
            row.maps(record), record, policy=row.policy, conservative_propagation=conservative_propagation
        )


def pointwise_rule(record: ops.OpRecord) -> ShardingRule | None:
    """Returns the rule of an op that computes each element by itself, also where Shardy has none.

    None for any other op, and for quantized types, whose parameters may belong to a dimension.
    """
    row = ops.row_of(record)
    types = (*record.operands, *record.results)
    if row.maps is not pointwise or any(kind is None or "!quant" in kind.element for kind in types):
        return None
    _check_static(record)
    return derive_from_maps(pointwise(record), record)


def unknown_warning(record: ops.OpRecord) -> str | None:
    """Returns Shardy's warning, given once a program, about an op without a rule that it does not know."""
    row = ops.row_of(record)
    if (
        (row.known_since is not None and row.known_since.holds)
        or row.rule_source is ops.RuleSource.NONE
        or (row.rule_source is ops.RuleSource.MAPS and (row.maps or row.rule))
    ):
        return None
    target = ops.call_target(record)
    what = f"op '{record.name}'" if target is None else f"custom call @{target}"
    return f"{what} is unknown to SDY sharding rule registry"


def derive_from_maps(
    groups: tuple[ops.Reads, ...],
    record: ops.OpRecord,
    *,
    policy: ops.Policy = ops.BY_MAPS,
    conservative_propagation: bool = False,
) -> ShardingRule | None:
    """Returns the rule that follows from maps of any op; sound if the maps are and without a policy."""
    if policy.keeps_order:
        if 0 in ops.shape_of(record.results[0]):
            return None  # nothing is worth propagating
        if len(groups) == 1 and keeps_row_major_order(record, groups[0]):
            return _reshape_rule(record, groups[0])
    sketch = sketch_of(record, groups, policy.treat, conservative=conservative_propagation)
    if policy.adjust:
        policy.adjust(sketch, conservative_propagation)
    return _build(sketch, policy.walk(record), policy.carrier_first)


def _reshape_rule(record: ops.OpRecord, reads: ops.Reads) -> ShardingRule:
    """The common factors of two shapes."""
    operand = next(o for o, m in enumerate(reads.operands) if m)
    shape, result = ops.shape_of(record.operands[operand]), ops.shape_of(record.results[0])
    left: list[tuple[int, ...]] = [()] * len(shape)
    right: list[tuple[int, ...]] = [()] * len(result)
    factors: list[Factor] = []
    for factor in common_factors(shape, result):
        for mapping, dimension in ((left, factor.operand), (right, factor.result)):
            if dimension is not None:
                mapping[dimension] = (*mapping[dimension], len(factors))
        factors.append(Factor(factor.size, _type_of(factor)))
    operands = tuple(tuple(left) if o == operand else () for o in range(len(record.operands)))
    return ShardingRule(tuple(factors), operands, (tuple(right),))


def _type_of(factor: RadixFactor) -> FactorType:
    if factor.is_common:
        return FactorType.PASS_THROUGH
    return FactorType.NEED_REPLICATION if None in (factor.operand, factor.result) else FactorType.PERMUTATION


def _check_static(record: ops.OpRecord) -> None:
    for side, types in (("operand", record.operands), ("result", record.results)):
        for number, kind in enumerate(types):
            if kind is not None and None in kind.shape:
                raise ShardyError(
                    f"'{record.name}' op {side} {number} - expected a ranked tensor with a static shape. "
                    f"type: '{_type_text(kind)}'"
                )


def _type_text(kind: ops.TensorType) -> str:
    sizes = "".join(f"{'?' if size is None else size}x" for size in kind.shape)
    return f"tensor<{sizes}{kind.element}>"


def _build(sketch: ops.Sketch, walk: Sequence[ops.TensorDim], carrier_first: bool) -> ShardingRule:
    """The rule of a sketch: numbers its factors; a dimension without a factor gets one of size one."""
    present = {sketch.find(atom) for atoms in sketch.atoms.values() for atom in atoms}
    record = sketch.record
    tensors = _dimensions("operand", record.operands) + _dimensions("result", record.results)
    factors: list[Factor] = []
    numbers: dict[ops.Atom, int] = {}
    for root in map(sketch.find, _ordered(sketch, walk, tensors, carrier_first)):
        if root not in numbers and root in present:
            numbers[root] = len(factors)
            factors.append(Factor(sketch.size_of(root), sketch.type_of(root), sketch.is_blocked(root)))

    def dimension(slot: ops.TensorDim) -> DimMapping:
        mapped: list[int] = []
        for atom in sketch.atoms.get(slot, ()):
            number = numbers[sketch.find(atom)]
            if not mapped or factors[number].size != 1:
                mapped.append(number)
        if not mapped:
            mapped.append(len(factors))
            factors.append(Factor(1))
        return tuple(mapped)

    mapped = tuple(tuple(map(dimension, tensor)) for tensor in tensors)
    count = len(record.operands)
    return ShardingRule(tuple(factors), mapped[:count], mapped[count:])


def _dimensions(
    side: Literal["operand", "result"], kinds: Sequence[ops.TensorType | None]
) -> list[list[ops.TensorDim]]:
    """The dimensions of each operand, or of each result."""
    ranks = (len(ops.shape_of(kind)) for kind in kinds)
    return [[ops.TensorDim(side, number, d) for d in range(rank)] for number, rank in enumerate(ranks)]


def _ordered(
    sketch: ops.Sketch,
    walk: Sequence[ops.TensorDim],
    tensors: Sequence[Sequence[ops.TensorDim]],
    carrier_first: bool,
) -> Iterator[ops.Atom]:
    """The atoms of the dimensions in `walk`, then folded range variables, then the remaining dimensions.

    carrier_first: whether a result dimension comes before its operand dimensions with separate factors.
    """
    for slot in walk:
        anchor = sketch.anchor.get(slot, slot)
        separate = sketch.separate.get(anchor, [])
        group = [anchor, *separate] if carrier_first else [*separate, anchor]
        for member in group if slot in group else [slot]:
            yield from sketch.atoms.get(member, ())
        yield from sketch.following.get(slot, ())
    yield from sketch.folded
    for slot in chain.from_iterable(tensors):
        yield from sketch.atoms.get(slot, ())
