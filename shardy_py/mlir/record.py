"""From xDSL ops to `OpRecord`s: ops with equal types, attributes and context share one record.

The context of an op is a property of its surroundings on which its rule depends: an attribute of the record,
which the row of the op names (`OpSpec.context`).

    context.combiner                  scatter: the op with which its region combines values, if that is
                                      associative and commutative, else None
    context.concatenates_slices       concatenate: whether all operands are slices, or are one value and
                                      slices of it
    context.constant_indices          dynamic_update_slice: whether all start indices are constants
    context.feeds_rng_bit_generator   custom_call: whether a rng_bit_generator uses a result

Not here: rules (`propagation/rules/`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from shardy_py.base.session import SESSION
from shardy_py.mlir.dialects.stablehlo import RngBitGeneratorOp, SliceOp
from shardy_py.mlir.dialects.traits import constant_of
from shardy_py.mlir.ir import operands_of, type_of
from shardy_py.mlir.numbering import data_bytes, number_of
from shardy_py.mlir.plain import plain, tensor_type
from shardy_py.ops import CALL, TABLE, OpRecord, OpSpec, row_of

NOT_OF_THE_OP = frozenset({"sdy.sharding", "sdy.sharding_rule"})
"""Attributes about the sharding of an op."""

_RECORDS: dict[Hashable, OpRecord] = SESSION.table("op records")


def record_of(op: Operation) -> OpRecord:
    """The record of `op`; the same object for ops of equal name, types, attributes and context."""
    signature = signature_of(op, number_of)
    known = _RECORDS.get(signature)
    if known is None:
        context = {TABLE[op.name].context: signature[-1]} if op.name in _CONTEXT else {}
        known = _RECORDS.setdefault(signature, _convert(op, context))
        SESSION.charge(4 * len(signature))  # operands and results, also of the rule
    return known


class RecordsInModule:
    """The records of the ops of one module, found by identities of types and attributes, which it keeps.

    The module must not change while this is in use.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Hashable, ...], OpRecord] = {}

    def of(self, op: Operation) -> OpRecord:
        """Returns `record_of(op)`."""
        signature = signature_of(op)
        known = self._known.get(signature)
        if known is None:
            known = self._known[signature] = record_of(op)
        return known


def row_of_op(op: Operation) -> OpSpec:
    """Returns the row of an op; a custom call's target counts as part of its name."""
    return row_of(record_of(op)) if op.name == CALL else TABLE[op.name]


def signature_of(op: Operation, number: Callable[[Attribute], Hashable] = id) -> tuple[Hashable, ...]:
    """A key that is equal only for ops with equal records.

    number: represents a type or an attribute; its identity by default.
    """
    properties, attributes = op.properties, op.attributes
    operands, results = map(number, map(type_of, operands_of(op))), map(number, map(type_of, op.results))
    key: tuple[Hashable, ...] = (
        (op.__class__, *operands, None, *results)
        if not properties
        else (op.__class__, *properties, *map(number, properties.values()), *operands, None, *results)
    )
    if not attributes.keys() <= NOT_OF_THE_OP:
        for name in attributes:
            if name not in NOT_OF_THE_OP:
                key += (name, number(attributes[name]))
    name = op.name
    return (*key, _CONTEXT[name][1](op)) if name in _CONTEXT else key


def _convert(op: Operation, context: dict[str, Hashable]) -> OpRecord:
    attributes = {n: v for n, v in op.attributes.items() if n not in NOT_OF_THE_OP} | op.properties
    values: dict[str, object] = {name: plain(value) for name, value in attributes.items()}
    SESSION.charge(sum(data_bytes(attributes[name]) for name in values if values[name] is not None))
    operands, results = (
        tuple(map(tensor_type, map(type_of, side))) for side in (operands_of(op), op.results)
    )
    return OpRecord(name_of(op), operands, results, values | context)


def name_of(op: Operation) -> str:
    """The name of `op` in MLIR, also for unregistered ops."""
    if op.name == "builtin.unregistered":
        return plain(op.attributes.get("op_name__") or op.properties["op_name__"])
    return op.name


def combiner_of(op: Operation) -> str | None:
    """The op with which a scatter combines values, the same for all inputs; None if there is none."""
    names = set(combiners_of(op))
    return names.pop() if len(names) == 1 else None


def combiners_of(op: Operation, region: int = 0) -> tuple[str | None, ...]:
    """For each result, the order-free op that alone combines its values in a region; None if there is none.

    () for an op without a region.
    """
    block = op.regions[region].first_block if op.regions else None
    terminator = block.last_op if block is not None else None
    if terminator is None or block is None:
        return ()
    count = len(block.args) // 2

    def name(index: int, value: SSAValue) -> str | None:
        combiner = value.owner
        tensor = tensor_type(value.type)
        element = tensor.element if tensor is not None else ""
        if not isinstance(combiner, Operation) or not TABLE[combiner.name].is_order_free(element):
            return None
        own = (a for a in operands_of(combiner) if isinstance(a, BlockArgument) and a.owner is block)
        return combiner.name if sorted(a.index for a in own) == [index, index + count] else None

    return tuple(name(index, value) for index, value in enumerate(operands_of(terminator)))


def concatenates_slices(op: Operation) -> bool:
    """Returns whether all operands of a concatenate are slices, or are one value and slices of it."""
    makers = [operand.owner for operand in operands_of(op)]
    sliced = [isinstance(m, SliceOp) for m in makers]
    if all(sliced) or not any(sliced):
        return any(sliced)
    pairs = zip(makers, operands_of(op), strict=True)
    return len({id(operands_of(m)[0] if isinstance(m, SliceOp) else operand) for m, operand in pairs}) == 1


def feeds_rng_bit_generator(op: Operation) -> bool:
    """Returns whether a rng_bit_generator uses a result of `op`."""
    users = (use.operation for result in op.results for use in result.uses)
    return any(isinstance(user, RngBitGeneratorOp) for user in users)


_CONTEXTS: dict[str, Callable[[Operation], Hashable]] = {
    "context.combiner": combiner_of,
    "context.concatenates_slices": concatenates_slices,
    "context.constant_indices": lambda op: all(map(constant_of, operands_of(op)[2:])),
    "context.feeds_rng_bit_generator": feeds_rng_bit_generator,
}
_CONTEXT = {row.name: (row.context, _CONTEXTS[row.context]) for row in TABLE.values() if row.context}
