"""`sdy-constant-or-scalar-merger`: merges equal constants, and equal broadcasts of a scalar, of one region.

The reverse of `sdy-constant-or-scalar-splitter` for copies that got equal shardings. Other common
subexpressions are not merged.

    before  %0 = sdy.constant dense<1.0>   %1 = sdy.constant dense<1.0>   "use"(%0)   "use"(%1)
    after   %0 = sdy.constant dense<1.0>   "use"(%0)   "use"(%0)
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from shardy_py.dialects.stablehlo import BroadcastInDimOp
from shardy_py.dialects.traits import is_constant
from shardy_py.graph.movements import replace_by_values
from shardy_py.ir import find_ops_where, operands_of
from shardy_py.passes.constant_or_scalar_splitter import is_scalar


def constant_or_scalar_merger(module: ModuleOp) -> None:
    """Merges equal constants and broadcast scalars with the same sharding."""
    merge_constants(module)


BROADCAST = BroadcastInDimOp.name


def merge_constants(root: Operation) -> None:
    """Erases constants and broadcast scalars that equal an earlier one in their region."""
    by_identity: dict[Hashable, Operation] = {}
    by_value: dict[Hashable, Operation] = {}
    numbers = _Numbers()
    for op in find_ops_where(root, lambda op: op.name == BROADCAST or is_constant(op)):
        block, operands, properties, attributes = op.parent, operands_of(op), op.properties, op.attributes
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
            if operands and not is_scalar(operands[0]):
                continue
            value = (
                op.name == BROADCAST,
                id(block and block.parent),
                numbers.of_dictionary({**properties, **attributes}),
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

    def of_dictionary(self, attributes: dict[str, Attribute]) -> Hashable:
        """A key for a dictionary of attributes."""
        return tuple(sorted((name, self.of(value)) for name, value in attributes.items()))

    def of(self, attribute: Attribute) -> int:
        """The number of an attribute."""
        known = self._by_identity.get(id(attribute))
        if known is None:
            number = self._by_value.setdefault(attribute, len(self._by_value))
            known = self._by_identity[id(attribute)] = (number, attribute)
        return known[0]
