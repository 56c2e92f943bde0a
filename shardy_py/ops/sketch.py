"""A sharding rule in the making: factors that a policy may still change before the rule is built.

An *atom* is a piece of an iteration: a digit of a variable, or the private index of one operand dimension.
Atoms that index the same tensor dimension belong to one factor. Not here: what makes the sketch
(`propagation/rules/factors.py`), the adjustments of single ops (`policy` of their rows), the order of factors
(`propagation/rules/derive.py`).
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal, NamedTuple

from shardy_py.base.records import dataclass
from shardy_py.indexing import Variable
from shardy_py.ops.record import OpRecord
from shardy_py.sharding import FactorType


class Digit(NamedTuple):
    """A digit of a variable's value: `(variable floordiv step) mod size`."""

    variable: Variable
    step: int
    size: int


class TensorDim(NamedTuple):
    """Dimension number `dimension` of operand or result number `tensor`."""

    side: Literal["operand", "result"]
    tensor: int
    dimension: int


class Atom(NamedTuple):
    """A piece of an iteration.

    group: the number of the group of results; -1: none.
    source: a digit of a variable; a dimension, for its private index; a size and a result dimension, for the
        operands that are read alike along it, with a factor of their own.
    """

    group: int
    source: Digit | TensorDim | tuple[int, int]


@dataclass
class Sketch:
    """Factors in the making.

    atoms: the atoms of each tensor dimension, major to minor.
    separate: operand dimensions with factors of their own, by the result dimension they belong to.
    anchor: that result dimension, by the operand dimension.
    folded: the atoms of folded range variables, in order.
    following: the atoms whose factors are numbered right after those of a dimension that they do not index.
    joins: the number of times that two factors were joined.
    """

    record: OpRecord
    atoms: dict[TensorDim, list[Atom]] = field(default_factory=dict[TensorDim, list[Atom]])
    separate: dict[TensorDim, list[TensorDim]] = field(default_factory=dict[TensorDim, list[TensorDim]])
    anchor: dict[TensorDim, TensorDim] = field(default_factory=dict[TensorDim, TensorDim])
    folded: list[Atom] = field(default_factory=list[Atom])
    following: dict[TensorDim, list[Atom]] = field(default_factory=dict[TensorDim, list[Atom]])
    joins: int = 0
    _parent: dict[Atom, Atom] = field(default_factory=dict[Atom, Atom])
    _sizes: dict[Atom, int] = field(default_factory=dict[Atom, int])
    _given_sizes: dict[Atom, int] = field(default_factory=dict[Atom, int])
    _types: dict[Atom, FactorType] = field(default_factory=dict[Atom, FactorType])
    _blocked: set[Atom] = field(default_factory=set[Atom])

    def add(self, atom: Atom, size: int) -> Atom:
        """Registers the atom unless it is registered, and returns it."""
        if atom not in self._parent:
            self._parent[atom] = atom
            self._sizes[atom] = size
        return atom

    def find(self, atom: Atom) -> Atom:
        """Returns the atom that represents the factor."""
        while (parent := self._parent[atom]) != atom:
            self._parent[atom] = self._parent[parent]
            atom = parent
        return atom

    def join(self, left: Atom, right: Atom) -> None:
        """Joins two factors; the more expensive type wins."""
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
        """Returns whether no tensor would have the joined factor in two dimensions."""
        left, right = self.find(left), self.find(right)
        if left == right:
            return True
        roots_by_tensor: dict[tuple[str, int], set[Atom]] = {}
        for where, atoms in self.atoms.items():
            roots = {left, right}.intersection(map(self.find, atoms))
            if roots:
                roots_by_tensor.setdefault((where.side, where.tensor), set()).update(roots)
        return all(len(roots) < 2 for roots in roots_by_tensor.values())

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
        """Sets the size of the atom's factor; the largest of several wins."""
        root = self.find(atom)
        self._given_sizes[root] = max(size, self._given_sizes.get(root, size))

    def resize(self, atom: Atom, size: int) -> None:
        """Sets the size of the atom's factor, whatever was given before."""
        self._given_sizes[self.find(atom)] = size

    def is_blocked(self, atom: Atom) -> bool:
        """Returns whether propagation along the atom's factor is blocked."""
        return self.find(atom) in self._blocked

    def block(self, atom: Atom, *, is_blocked: bool = True) -> None:
        """Blocks or unblocks propagation along the atom's factor."""
        (self._blocked.add if is_blocked else self._blocked.discard)(self.find(atom))

    def set_apart(self, where: TensorDim, anchor: TensorDim, atom: Atom) -> None:
        """Gives an operand dimension a factor of its own, beside that of a result dimension."""
        self.atoms[where] = [atom]
        if where not in self.anchor:
            self.separate.setdefault(anchor, []).append(where)
            self.anchor[where] = anchor

    def drop(self, atom: Atom) -> None:
        """Removes the atom's factor from every dimension."""
        root = self.find(atom)
        for where, atoms in self.atoms.items():
            if any(self.find(a) == root for a in atoms):
                self.atoms[where] = [a for a in atoms if self.find(a) != root]

    def atom_at(self, where: TensorDim) -> Atom:
        """The major-most atom of a dimension."""
        return self.atoms[where][0]
