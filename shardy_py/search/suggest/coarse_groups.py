"""The groups of a coarse model and the tensors between them, read from the ops of a program.

Not here: their strategies and what these cost (`coarse_costs.py`), the model (`coarse.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.search.suggest.roles import DimensionClasses, DimensionLink, Roles
from shardy_py.sharding import ShardingRule
from shardy_py.sharding.rule import FactorType

Positions = tuple[int | None, ...]
"""By dimension of a tensor, its position in a group; or by axis of the mesh, the position it has."""


@dataclass(frozen=True, slots=True)
class Variables:
    """The values that may be annotated, the ops that link them, and the classes of dimensions."""

    roles: Roles
    links: tuple[DimensionLink, ...]
    number: DimensionClasses


@dataclass(eq=False)
class ValueGroup:
    """sizes: of its positions. made: positions of the tensor that it stands for. count: how many there are.

    summed: positions that are summed. flops: of one. members: the arguments. read: elements of the results of
    other ops, by the positions of their dimensions.
    """

    sizes: tuple[int, ...]
    made: Positions
    summed: frozenset[int] = frozenset()
    flops: float = 0.0
    members: tuple[int, ...] = ()
    count: int = 0
    read: Counter[Positions] = field(default_factory=Counter[Positions])

    @property
    def elements(self) -> int:
        """The elements of the tensor that it stands for."""
        return prod(self.sizes[p] for p in self.made if p is not None)


Ends = tuple[int, int, tuple[int, ...], Positions, Positions]
"""An edge: two groups, the sizes of the tensor between them, and the positions of its dimensions in both."""


class Reader:
    """Reads groups and edges from the ops in program order."""

    def __init__(self, variables: Variables) -> None:
        self.roles, self.number = variables.roles, variables.number
        self.groups: list[ValueGroup] = []
        self.edges: Counter[Ends] = Counter()
        self.origins: dict[int, tuple[int, Positions]] = {}
        self._products: dict[object, int] = {}
        tensors = self.roles.tensors
        for members in self.roles.groups():
            shape = tensors[members[0]].shape
            made = tuple(range(len(shape)))
            for index in members:
                self.origins[tensors[index].slot] = len(self.groups), made
            self.groups.append(ValueGroup(shape, made, members=members, count=len(members)))
        for link in variables.links:
            if link.is_product and len(link.rule.results) == 1:
                self._product(link)
            else:
                self._other(link)
        for each in self.roles.returned:
            argument = None if each.of is None else self.roles.tensors[each.of]
            if argument is not None and not argument.values and each.slot in self.origins:
                self._edge(self.origins[each.slot], self.origins[argument.slot], each.shape)

    def _product(self, link: DimensionLink) -> None:
        rule, (*operands, result) = link.rule, link.slots
        origins = [self.origins.get(slot) for slot in operands]
        arguments = tuple(o[0] if o and self.groups[o[0]].members else None for o in origins)
        kinds = tuple(self._kinds(slot, m) for slot, m in zip(link.slots, rule.tensors, strict=True))
        key = str(rule), kinds, arguments
        if key not in self._products:
            self._products[key] = len(self.groups)
            self.groups.append(_product_group(rule))
        own = self._products[key]
        group = self.groups[own]
        group.count += 1
        for origin, mapping in zip(origins, rule.operands, strict=True):
            if origin is not None:
                self._edge(origin, (own, _factors(mapping)), _shape(rule, mapping))
        self.origins[result] = own, group.made

    def _kinds(self, slot: int, mapping: Sequence[Sequence[int]]) -> tuple[str, ...]:
        return tuple(map(self.roles.kind, self.number.of(slot, len(mapping))))

    def _other(self, link: DimensionLink) -> None:
        """Results come from the largest operand that has an origin; other large ones must agree with it."""
        rule, operands = link.rule, link.operands
        known = [
            (prod(_shape(rule, m)), n) for n, m in enumerate(rule.operands) if operands[n] in self.origins
        ]
        if not known:
            return
        size, main = max(known, key=lambda each: (each[0], -each[1]))
        where = self._by_factor(rule, operands[main], main)
        group = self.origins[operands[main]][0]
        for slot, mapping in zip(link.slots[len(operands) :], rule.results, strict=True):
            made = tuple(where.get(factors[0]) if factors else None for factors in mapping)
            self.origins[slot] = group, made
            self.groups[group].read[made] += prod(_shape(rule, mapping))
        for elements, other in known:
            if other != main and 2 * elements >= size:
                mapping = rule.operands[other]
                ends = tuple(where.get(factors[0]) if factors else None for factors in mapping)
                self._edge(self.origins[operands[other]], (group, ends), _shape(rule, mapping))

    def _by_factor(self, rule: ShardingRule, slot: int, operand: int) -> dict[int, int | None]:
        positions = self.origins[slot][1]
        pairs = zip(rule.operands[operand], positions, strict=True)
        return {factors[0]: position for factors, position in pairs if factors}

    def _edge(self, one: tuple[int, Positions], other: tuple[int, Positions], shape: tuple[int, ...]) -> None:
        if one != other:
            self.edges[one[0], other[0], shape, one[1], other[1]] += 1


def _product_group(rule: ShardingRule) -> ValueGroup:
    sizes = tuple(factor.size for factor in rule.factors)
    summed = frozenset(n for n, f in enumerate(rule.factors) if f.type is FactorType.REDUCTION)
    return ValueGroup(sizes, _factors(rule.results[0]), summed, 2.0 * prod(sizes))


def _factors(mapping: Sequence[Sequence[int]]) -> Positions:
    return tuple(factors[0] if factors else None for factors in mapping)


def _shape(rule: ShardingRule, mapping: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(prod(rule.factors[f].size for f in factors) for factors in mapping)
