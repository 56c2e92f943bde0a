"""Equal constants of a region made one: those of the same attributes, shardings among them.

Not here: other common subexpressions.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import Attribute, Operation

from shardy_py.graph.constant_splitting import is_scalar
from shardy_py.graph.rewiring import erase, replace_uses
from shardy_py.graph.walk import find_ops

CONSTANTS = ("sdy.constant", "stablehlo.constant", "chlo.constant", "arith.constant")
BROADCAST = "stablehlo.broadcast_in_dim"


def merge_constants(root: Operation) -> None:
    """Erase each constant, and each broadcast scalar, that equals an earlier one of its region."""
    first: dict[Hashable, Operation] = {}
    classes = _Classes()
    for op in find_ops(root, BROADCAST, *CONSTANTS):
        operands = op._operands
        block = op.parent
        assert block is not None
        if operands and not is_scalar(operands[0]):
            continue
        key = (
            op.name == BROADCAST,
            id(block.parent),
            classes.of(op.properties),
            classes.of(op.attributes),
            *[id(value) for value in operands],
            *[classes.of_one(result._type) for result in op.results],
        )
        earlier = first.setdefault(key, op)
        if earlier is not op:
            replace_uses(op.results[0], earlier.results[0])
            erase(op)


class _Classes:
    """Numbers for attributes, equal ones the same; each object is hashed once."""

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[int, Attribute]] = {}
        self._by_value: dict[Attribute, int] = {}

    def of(self, attributes: dict[str, Attribute]) -> Hashable:
        """A key for a dictionary of attributes."""
        if len(attributes) == 1:
            [(name, value)] = attributes.items()
            return name, self.of_one(value)
        return tuple(sorted((name, self.of_one(value)) for name, value in attributes.items()))

    def of_one(self, attribute: Attribute) -> int:
        """The number of an attribute."""
        known = self._by_identity.get(id(attribute))
        if known is None:
            number = self._by_value.setdefault(attribute, len(self._by_value))
            known = self._by_identity[id(attribute)] = (number, attribute)
        return known[0]
