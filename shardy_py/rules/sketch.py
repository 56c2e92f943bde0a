"""Factors in the making: a sketch of the rule, which policy may still change before it is built.

An *atom* is a piece of an iteration: a digit of a variable, or the private index of one operand dimension.
Atoms that index the same tensor dimension belong to one factor; a `Slot` is a tensor dimension, its atoms
stand major to minor. Not here: what makes the sketch (`factors.py`), last changes by op (`finish.py`), the
order of factors (`build.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from shardy_py.ops import OpRecord
from shardy_py.rules.access import Digit
from shardy_py.sharding import FactorType


class Slot(NamedTuple):
    """A tensor dimension: of which side, of which operand or result, which one."""

    side: Literal["operand", "result"]
    tensor: int
    dimension: int


class Atom(NamedTuple):
    """A piece of an iteration.

    group: of which group of results; -1: of none.
    source: a digit of a variable; a slot, for what is private to it; a size and a result dimension, for what
        operands alike have apart from it.
    """

    group: int
    source: Digit | Slot | tuple[int, int]


@dataclass
class Sketch:
    """Factors in the making.

    slots: the atoms of each tensor dimension, major to minor.
    apart: operand dimensions with factors of their own, by the result dimension they belong to.
    anchor: that result dimension, by the operand dimension.
    folded: the atoms of folded range variables, in order.
    joins: how often two factors have become one.
    """

    record: OpRecord
    slots: dict[Slot, list[Atom]] = field(default_factory=dict[Slot, list[Atom]])
    apart: dict[Slot, list[Slot]] = field(default_factory=dict[Slot, list[Slot]])
    anchor: dict[Slot, Slot] = field(default_factory=dict[Slot, Slot])
    folded: list[Atom] = field(default_factory=list[Atom])
    joins: int = 0
    _parent: dict[Atom, Atom] = field(default_factory=dict[Atom, Atom])
    _sizes: dict[Atom, int] = field(default_factory=dict[Atom, int])
    _given_sizes: dict[Atom, int] = field(default_factory=dict[Atom, int])
    _types: dict[Atom, FactorType] = field(default_factory=dict[Atom, FactorType])
    _blocked: set[Atom] = field(default_factory=set[Atom])

    def add(self, atom: Atom, size: int) -> Atom:
        """The atom, known to the sketch."""
        if atom not in self._parent:
            self._parent[atom] = atom
            self._sizes[atom] = size
        return atom

    def find(self, atom: Atom) -> Atom:
        """The atom that stands for the factor."""
        while (parent := self._parent[atom]) != atom:
            self._parent[atom] = self._parent[parent]
            atom = parent
        return atom

    def join(self, left: Atom, right: Atom) -> None:
        """Makes one factor of two, of the more expensive type."""
        left, right = self.find(left), self.find(right)
        if left == right:
            return
        self.joins += 1
        kind = max(self.type_of(left), self.type_of(right))
        self._parent[right] = left
        self.set_type(left, kind)
        if right in self._given_sizes:
            self.give_size(left, self._given_sizes[right])
        if right in self._blocked:
            self._blocked.add(left)

    def may_join(self, left: Atom, right: Atom) -> bool:
        """Whether no tensor would have the joined factor in two dimensions."""
        left, right = self.find(left), self.find(right)
        if left == right:
            return True
        found: dict[tuple[str, int], set[Atom]] = {}
        for slot, atoms in self.slots.items():
            roots = {left, right}.intersection(map(self.find, atoms))
            if roots:
                found.setdefault((slot.side, slot.tensor), set()).update(roots)
        return all(len(roots) < 2 for roots in found.values())

    def type_of(self, atom: Atom) -> FactorType:
        """The type of the atom's factor."""
        return self._types.get(self.find(atom), FactorType.PASS_THROUGH)

    def set_type(self, atom: Atom, kind: FactorType) -> None:
        """Sets the type of the atom's factor."""
        self._types[self.find(atom)] = kind

    def raise_type(self, atom: Atom, kind: FactorType) -> None:
        """Sets the type of the atom's factor unless it has a more expensive one."""
        self.set_type(atom, max(kind, self.type_of(atom)))

    def size_of(self, atom: Atom) -> int:
        """The size of the atom's factor."""
        root = self.find(atom)
        return self._given_sizes.get(root, self._sizes[root])

    def give_size(self, atom: Atom, size: int) -> None:
        """Sets the size of the atom's factor; of several, the largest counts."""
        root = self.find(atom)
        self._given_sizes[root] = max(size, self._given_sizes.get(root, size))

    def resize(self, atom: Atom, size: int) -> None:
        """Sets the size of the atom's factor, whatever was given before."""
        self._given_sizes[self.find(atom)] = size

    def is_blocked(self, atom: Atom) -> bool:
        """Whether propagation along the atom's factor is blocked."""
        return self.find(atom) in self._blocked

    def block(self, atom: Atom, *, is_blocked: bool = True) -> None:
        """Blocks propagation along the atom's factor, or lets it."""
        if is_blocked:
            self._blocked.add(self.find(atom))
        else:
            self._blocked.discard(self.find(atom))

    def put_apart(self, slot: Slot, anchor: Slot, size: int) -> None:
        """Gives an operand dimension a factor of its own, beside that of a result dimension."""
        self.slots[slot] = [self.add(Atom(-1, slot), size)]
        if slot not in self.anchor:
            self.apart.setdefault(anchor, []).append(slot)
            self.anchor[slot] = anchor

    def drop(self, atom: Atom) -> None:
        """Takes the atom's factor out of every dimension."""
        root = self.find(atom)
        for slot, atoms in self.slots.items():
            if any(self.find(a) == root for a in atoms):
                self.slots[slot] = [a for a in atoms if self.find(a) != root]

    def atom_at(self, slot: Slot) -> Atom:
        """The major-most atom of a dimension."""
        return self.slots[slot][0]
