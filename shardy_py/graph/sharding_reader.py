"""Shardings of many values, each at the cost of a look-up or two; whether any sharding has a property.

Not here: writing them (`value_shardings.py`), changing all of them (`sharding_walk.py`).

    reader = ShardingReader()
    reader.of(value)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from shardy_py.dialects.sdy.attributes import TensorShardingAttr, TensorShardingPerValueAttr
from shardy_py.graph.data_flow import DATA_FLOW
from shardy_py.graph.holders import PROPERTY_OF, SHARDING, attribute_list_shardings
from shardy_py.graph.sharding_walk import sharding_properties
from shardy_py.graph.value_shardings import sharding_of
from shardy_py.ir import operands_of, walk_pre_order
from shardy_py.sharding import TensorSharding

BARRIER = "sdy.propagation_barrier"


class ShardingReader:
    """Reads shardings; what it has read of a function's arguments it keeps until the attribute changes."""

    def __init__(self) -> None:
        """Start with nothing read."""
        # Ops that do not keep the shardings of their results in an attribute.
        self._elsewhere = frozenset((*PROPERTY_OF, *DATA_FLOW))
        self._arguments: dict[int, tuple[Attribute, tuple[TensorSharding | None, ...]]] = {}

    def of(self, value: SSAValue) -> TensorSharding | None:
        """The sharding of `value`."""
        if isinstance(value, OpResult):
            op = value.op
            if op.name not in self._elsewhere:
                given = op.attributes.get(SHARDING)
                return given.data[value.index] if isinstance(given, TensorShardingPerValueAttr) else None
        elif isinstance(value, BlockArgument):
            function = value.owner.parent_op()
            if function is not None and function.name == "func.func":
                return self._argument(function, value.index)
        return sharding_of(value)

    def through_barriers(self, value: SSAValue) -> TensorSharding | None:
        """The sharding of what flows into `value` through propagation barriers."""
        while isinstance(value, OpResult) and value.op.name == BARRIER:
            value = operands_of(value.op)[0]
        return self.of(value)

    def _argument(self, function: Operation, index: int) -> TensorSharding | None:
        attributes = function.properties.get("arg_attrs")
        if attributes is None:
            return None
        known = self._arguments.get(id(function))
        if known is None or known[0] is not attributes:
            known = self._arguments[id(function)] = (attributes, attribute_list_shardings(attributes))
        return known[1][index]


@dataclass(frozen=True, slots=True)
class Survey:
    """What one walk over a program finds.

    attributes: the attributes that hold shardings, each once.
    ops: the operations asked for, in program order, each before what its regions hold.
    """

    attributes: tuple[Attribute, ...]
    ops: tuple[Operation, ...]

    def any_sharding(self, test: Callable[[TensorSharding], bool]) -> bool:
        """Whether `test` holds for a sharding of the program."""
        return any(_holds(attribute, test) for attribute in self.attributes)


def survey(root: Operation, *names: str) -> Survey:
    """All attributes with shardings in `root`, and the ops of these names."""
    wanted = frozenset(names)
    holding = sharding_properties()
    looked_at = wanted | holding.keys()
    attributes: dict[int, Attribute] = {}
    ops: list[Operation] = []
    for op in walk_pre_order(root):
        if (given := op.attributes.get(SHARDING)) is not None:
            attributes[id(given)] = given
        if op.name in looked_at:
            if op.name in wanted:
                ops.append(op)
            for name in holding.get(op.name, ()):
                if (given := op.properties.get(name) or op.attributes.get(name)) is not None:
                    attributes[id(given)] = given
    return Survey(tuple(attributes.values()), tuple(ops))


def _holds(attribute: Attribute, test: Callable[[TensorSharding], bool]) -> bool:
    if isinstance(attribute, TensorShardingAttr):
        return test(attribute.data)
    if isinstance(attribute, TensorShardingPerValueAttr):
        return any(map(test, attribute.data))
    if isinstance(attribute, ArrayAttr):
        shardings = attribute_list_shardings(cast("ArrayAttr[DictionaryAttr]", attribute))
        return any(sharding is not None and test(sharding) for sharding in shardings)
    return False
