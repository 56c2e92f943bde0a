"""Merges constants again that were split before propagation."""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from shardy_py.mlir import ir
from shardy_py.mlir.dialects.traits import is_constant
from shardy_py.mlir.movements import replace_by_values
from shardy_py.passes.import_.constants import Broadcast, is_scalar


def constant_or_scalar_merger(module: ModuleOp) -> None:
    """`sdy-constant-or-scalar-merger`: merges equal constants and broadcast scalars of a region.

    The reverse of `sdy-constant-or-scalar-splitter` for copies that got equal shardings. Other common
    subexpressions are not merged.

    before  %0 = sdy.constant dense<1.0>   %1 = sdy.constant dense<1.0>   "use"(%0)   "use"(%1)
    after   %0 = sdy.constant dense<1.0>   "use"(%0)   "use"(%0)
    """
    by_identity: dict[Hashable, Operation] = {}
    by_value: dict[Hashable, Operation] = {}
    numbers = _Numbers()
    for op in ir.find_ops_where(module, lambda op: op.__class__ is Broadcast or is_constant(op)):
        block, operands, properties, attributes = op.parent, ir.operands_of(op), op.properties, op.attributes
        if operands and not is_scalar(operands[0]):
            continue
        (result,) = op.results
        key = (
            op.__class__,
            id(block and block.parent),
            *properties,
            *map(id, properties.values()),
            *attributes,
            *map(id, attributes.values()),
            *map(id, operands),
            id(result.type),
        )
        earlier = by_identity.get(key)
        if earlier is None:
            entries = {**properties, **attributes}
            value = (
                op.__class__ is Broadcast,
                id(block and block.parent),
                tuple(sorted((name, numbers.of(entry)) for name, entry in entries.items())),
                *map(id, operands),
                numbers.of(result.type),
            )
            earlier = by_identity[key] = by_value.setdefault(value, op)
            if earlier is op:
                continue
        replace_by_values(op, earlier.results)


class _Numbers:
    """Numbers attributes so that equal ones have equal numbers; hashes each object once."""

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[int, Attribute]] = {}
        self._by_value: dict[Attribute, int] = {}

    def of(self, attribute: Attribute) -> int:
        known = self._by_identity.get(id(attribute))
        if known is None:
            number = self._by_value.setdefault(attribute, len(self._by_value))
            known = self._by_identity[id(attribute)] = (number, attribute)
        return known[0]
