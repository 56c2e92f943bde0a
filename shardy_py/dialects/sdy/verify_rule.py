"""Verifier of the sharding rule on an op: `{sdy.sharding_rule = #sdy.op_sharding_rule<...>}`.

That the lists of special factors are sorted and name factors there are is checked where they are read
(`syntax.py`): the value cannot hold anything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Attribute, Operation

from shardy_py.dialects.sdy.verify_sharding import prefixed, sizes_of
from shardy_py.dialects.verification.faults import Fault, Faults
from shardy_py.sharding import FactorType, ShardingRule, TensorMapping, factor_symbol
from shardy_py.text.attribute_writer import attribute_text


def rule_faults(rule: ShardingRule, op: Operation) -> Faults:
    """A rule, in this order:

    - one mapping an operand and one a result, at least one of each
    - each value is a tensor of static shape, and its mapping has its rank
    - each dimension has a factor; factors exist; none is used twice for a value; size 1 only if alone
    - each factor is used; a reduction factor is in no result
    """
    found = (
        *_side_faults(rule, rule.operands, [value.type for value in op.operands], "operand"),
        *_side_faults(rule, rule.results, [value.type for value in op.results], "result"),
    )
    yield from found
    if found:
        return
    in_results = set(_factors(rule.results))
    used = in_results.union(_factors(rule.operands))
    unused = next((index for index in range(len(rule.factors)) if index not in used), None)
    if unused is not None:
        yield Fault(
            f"has factor {factor_symbol(unused)}={rule.factor_sizes[unused]} that isn't used in operand and "
            "result mappings"
        )
    if any(rule.factors[index].type is FactorType.REDUCTION for index in in_results):
        yield Fault("reduction factor cannot be in result mappings")


def _factors(tensors: Sequence[TensorMapping]) -> Iterator[int]:
    return (factor for tensor in tensors for dimension in tensor for factor in dimension)


def _side_faults(
    rule: ShardingRule, mappings: Sequence[TensorMapping], types: Sequence[Attribute], what: str
) -> Faults:
    if len(types) != len(mappings):
        yield Fault(f"number of {what}s and mappings must match: {len(types)} != {len(mappings)}")
        return
    if not mappings:
        yield Fault(
            f"number of {what}s mappings cannot be 0. Op sharding rules can only be defined on operations "
            "with at least one operand and result."
        )
    for index, (type_, mapping) in enumerate(zip(types, mappings, strict=True)):
        place = f"{what} - " if len(types) == 1 else f"{what} {index} - "
        yield from prefixed(place, map(Fault, _value_messages(rule.factor_sizes, type_, mapping)))


def _value_messages(sizes: Sequence[int], type_: Attribute, mapping: TensorMapping) -> Iterator[str]:
    shape = sizes_of(type_)
    if shape is None or None in shape:
        yield f"expected a ranked tensor with a static shape. type: '{attribute_text(type_)}'"
        return
    if len(mapping) != len(shape):
        yield f"mapping rank must match: {len(mapping)} != {len(shape)}"
        return
    seen: set[int] = set()
    for factors in mapping:
        if not factors:
            yield "dim mapping must have at least one factor"
            return
        for factor in factors:
            if not 0 <= factor < len(sizes):
                yield (
                    f"expecting factor indices to be within 0<=...<num_factors; received: {factor}, "
                    f"num_factors: {len(sizes)}"
                )
                return
            if factor in seen:
                yield "cannot reuse factors for the same tensor value"
                return
            if sizes[factor] == 1 and len(factors) > 1:
                yield "dim mapping can't have a factor of size 1 if there are multiple factors"
                return
            seen.add(factor)
