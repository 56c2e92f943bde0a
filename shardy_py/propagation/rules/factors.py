"""From `Reads` to factors: each access to a dimension of an operand gets the factor of its dimension.

An expression of an indexing map is classified by its use of the variables:

| expression | relation |
|---|---|
| `d0`, `d0 * 8 + d1`, `d0 floordiv 8`: digits of variables that fill the dimension | CARRIED |
| `d0 + 2`, `-d0 + 9`, `d0 * 2`, `(d0 - 1) floordiv 2` | MOVED |
| `d0 * 2 + s0` | WINDOW |
| `d0 + rt0`, `rt0` | RUNTIME |
| `s0`, read whole and not folded | WHOLE |
| `3` | CONSTANT |
| anything else | OPAQUE |

Digits of the same coordinate are one factor in all tensors; a treatment decides whether any other access
shares the factor of its result dimension. Not here: treatments (`ops/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from math import gcd

from shardy_py.base.records import dataclass
from shardy_py.indexing import Division, Expr, IndexMap, Interval, Variable, dim, extent, simplify_expr
from shardy_py.ops import (
    Atom,
    Digit,
    DimensionRead,
    OpRecord,
    Reads,
    Relation,
    Sketch,
    TensorDim,
    Treat,
    Treatment,
    shape_of,
)
from shardy_py.sharding import FactorType


@dataclass(frozen=True, slots=True)
class Access:
    """The access to one operand dimension.

    relation: see the table of the module.
    digits: for CARRIED, the digits that fill the dimension, major to minor.
    variable: for WHOLE, the range variable.
    result_dim: the result dimension whose coordinate occurs, or that `beside` names; None: none or several.
    """

    relation: Relation
    digits: tuple[Digit, ...] = ()
    variable: Variable | None = None
    result_dim: int | None = None


def classify(reads: Reads, shape: tuple[int, ...], operand: int, position: int, size: int) -> Access:
    """The access of results of `shape` to dimension `position`, of `size` elements, of an operand."""
    index_map = reads.operands[operand]
    assert index_map is not None
    expression = index_map.results[position]
    beside = reads.beside.get((operand, position))
    if isinstance(expression, Variable):
        if expression.kind == "s" and expression.index in reads.whole:
            return Access(Relation.WHOLE, variable=expression, result_dim=beside)
        if access := _lone(index_map, shape, expression, size, beside):
            return access
    return _compound(index_map, shape, expression, size, beside)


def _lone(
    index_map: IndexMap, shape: tuple[int, ...], variable: Variable, size: int, beside: int | None
) -> Access | None:
    index, digits = variable.index, (Digit(variable, 1, size),)
    if variable.kind == "s" and index_map.ranges[index] == extent(size):
        return Access(Relation.CARRIED, digits, result_dim=beside)
    if variable.kind == "d" and index_map.dims[index] == extent(size) and shape[index] == size:
        return Access(Relation.CARRIED, digits, result_dim=index)
    return None


def _compound(
    index_map: IndexMap, shape: tuple[int, ...], expression: Expr, size: int, beside: int | None
) -> Access:
    bounds = index_map.bounds
    if not isinstance(expression, Variable):
        fixed = {v for v in expression.variables if v.kind != "d" and bounds[v].size == 1}
        expression = expression.replace(lambda v: simplify_expr(v, bounds) if v in fixed else v)
    variables = expression.variables
    coordinates = [v for v in variables if v.kind == "d"]
    anchor = coordinates[0].index if len(coordinates) == 1 else None if coordinates else beside
    if any(v.kind == "rt" for v in variables):
        return Access(Relation.RUNTIME if len(coordinates) < 2 else Relation.OPAQUE, result_dim=anchor)
    if not variables:
        return Access(Relation.CONSTANT, result_dim=anchor)
    is_narrowed = any(bounds[v] != extent(shape[v.index]) for v in coordinates)
    digits = None if is_narrowed else _digits(expression, bounds, size)
    if digits == ():
        return Access(Relation.CONSTANT, result_dim=anchor)
    if digits is not None:
        return Access(Relation.CARRIED, digits, result_dim=anchor)
    if len(coordinates) != 1:
        return Access(Relation.OPAQUE, result_dim=anchor)
    alone = len(variables) == 1
    return Access(Relation.MOVED if alone else Relation.WINDOW, result_dim=anchor)


def _digits(expression: Expr, bounds: Mapping[Variable, Interval], size: int) -> tuple[Digit, ...] | None:
    """The digits, major to minor, of a mixed-radix number with `size` values; None if it is not one.

    sum of c_i * x_i, x_i in [0, n_i - 1], is one if the c_i are the products of the n_j of the lower digits.
    """
    if expression.constant:
        return None
    terms = [(factor, _digit(atom, bounds)) for atom, factor in expression.terms]
    digits: list[Digit] = []
    product = 1
    for factor, digit in sorted(terms, key=lambda term: (term[0], term[1].size if term[1] else 0)):
        if digit is None or factor != product:
            return None
        digits.append(digit)
        product *= digit.size
    # A digit of size one above all others of its variable is always zero.
    return tuple(d for d in reversed(digits) if d.size != 1 or d.step == 1) if product == size else None


def _digit(atom: Expr, bounds: Mapping[Variable, Interval]) -> Digit | None:
    if isinstance(atom, Variable):
        interval = bounds[atom]
        return None if interval.low else Digit(atom, 1, interval.size)
    if not isinstance(atom, Division) or atom.op == "ceildiv":
        return None
    inner = _digit(atom.dividend, bounds)
    if inner is None or gcd(inner.size, atom.divisor) != atom.divisor:
        return None
    if atom.op == "mod":
        return Digit(inner.variable, inner.step, atom.divisor)
    return Digit(inner.variable, inner.step * atom.divisor, inner.size // atom.divisor)


def sketch_of(record: OpRecord, groups: tuple[Reads, ...], treat: Treat, *, conservative: bool) -> Sketch:
    """Returns the factors that follow from `Reads`."""
    sketch = Sketch(record)
    for number, reads in enumerate(groups):
        _Group(sketch, number, reads, treat, conservative).fill()
    return sketch


class _Group:
    """One group of results, whose accesses are added to the sketch."""

    def __init__(self, sketch: Sketch, number: int, reads: Reads, treat: Treat, conservative: bool) -> None:
        self.sketch = sketch
        self.number = number
        self.reads = reads
        self.treat = treat
        self.conservative = conservative
        self.shape = shape_of(sketch.record.results[reads.results[0]])
        self.accesses: dict[TensorDim, tuple[Access, int]] = {}
        for operand, index_map in enumerate(reads.operands):
            if index_map is None:
                continue
            shape = shape_of(sketch.record.operands[operand])
            for position, size in enumerate(shape[: len(index_map.results)]):
                slot = TensorDim("operand", operand, position)
                self.accesses[slot] = classify(reads, self.shape, operand, position, size), size
        self.steps = self._split()
        compounds = (access.digits for access, _ in self.accesses.values() if len(access.digits) > 1)
        variables = {digit.variable for digits in compounds for digit in digits}
        self.compounded = {variable.index for variable in variables if variable.kind == "d"}
        # `_taken`: factors of the dimensions before `_seen` of the tensor and number of joins in `_roots_of`.
        self._roots_of: tuple[str, int, int] | None = None
        self._taken: set[Atom] = set()
        self._seen = 0

    def _split(self) -> dict[Variable, tuple[int, ...]]:
        """The steps at which each variable is split into digits: a chain of divisors, 1 first.

        Accesses whose steps are not in the chain become opaque.
        """
        wanted: dict[Variable, set[int]] = {}
        for access, _ in self.accesses.values():
            for digit in access.digits:
                wanted.setdefault(digit.variable, set()).update((digit.step, digit.step * digit.size))
        steps: dict[Variable, tuple[int, ...]] = {}
        for variable, ends in wanted.items():
            chain = tuple(sorted(ends | {1, *self._extent(variable)}))
            if len(chain) > 2 and any(not low or high % low for low, high in pairwise(chain)):
                chain = tuple(sorted({1, *self._extent(variable)}))
                self._make_opaque(variable)
            steps[variable] = chain
        return steps

    def _extent(self, variable: Variable) -> tuple[int, ...]:
        if variable.kind == "d":
            return (self.shape[variable.index],) if variable.index < len(self.shape) else ()
        first = next(m for m in self.reads.operands if m)
        return (first.ranges[variable.index].size,)

    def _make_opaque(self, variable: Variable) -> None:
        whole = self._extent(variable)
        for slot, (access, size) in self.accesses.items():
            if any(d.variable == variable and (d.step, d.size) != (1, *whole) for d in access.digits):
                self.accesses[slot] = Access(Relation.OPAQUE), size

    def atoms_of(self, digit: Digit) -> list[Atom]:
        """The atoms of a digit, major to minor."""
        chain = self.steps.get(digit.variable, (1, digit.size))
        inside = [c for c in chain if digit.step <= c <= digit.step * digit.size]
        if len(inside) < 2:  # one element
            return [self._atom(Digit(digit.variable, 1, digit.size))]
        return [self._atom(Digit(digit.variable, low, high // low)) for low, high in pairwise(inside)][::-1]

    def _atom(self, digit: Digit) -> Atom:
        return self.sketch.add(Atom(self.number, digit), digit.size)

    def coordinate(self, position: int) -> list[Atom]:
        """The atoms of a result coordinate."""
        return self.atoms_of(Digit(dim(position), 1, self.shape[position]))

    def fill(self) -> None:
        """Adds results, then operands to the sketch."""
        for result in self.reads.results:
            rank = len(shape_of(self.sketch.record.results[result]))
            for position in range(rank):
                atoms = self.coordinate(position) if position < len(self.shape) else []
                self.put(TensorDim("result", result, position), list(atoms))
        for position in self.reads.opaque:
            self.raise_all(self.coordinate(position), FactorType.NEED_REPLICATION)
        for slot, (access, size) in self.accesses.items():
            if access.relation is Relation.CARRIED:
                self.carry(slot, access)
            else:
                self.place(slot, access, size)
        folded = {d for a, _ in self.accesses.values() for d in a.digits if d.variable.kind == "s"}
        for digit in sorted(folded, key=lambda d: (d.variable.index, -d.step)):
            self.sketch.folded.extend(self.atoms_of(digit))

    def put(self, slot: TensorDim, atoms: list[Atom]) -> None:
        """Sets the atoms of a dimension; joined with those that other groups gave it."""
        known = self.sketch.atoms.setdefault(slot, atoms)
        if known is atoms:
            return
        if list(map(self.sketch.size_of, known)) != list(map(self.sketch.size_of, atoms)):
            self.raise_all(known, FactorType.NEED_REPLICATION)
            return
        for left, right in zip(known, atoms, strict=True):
            if self.sketch.may_join(left, right):
                self.sketch.join(left, right)
            else:
                self.sketch.raise_type(left, FactorType.NEED_REPLICATION)

    def raise_all(self, atoms: Iterable[Atom], kind: FactorType) -> None:
        """Raises the type of several atoms."""
        for atom in atoms:
            self.sketch.raise_type(atom, kind)

    def carry(self, slot: TensorDim, access: Access) -> None:
        """Adds a dimension that is filled by digits."""
        atoms = [atom for digit in access.digits for atom in self.atoms_of(digit)]
        for digit in access.digits:
            if digit.variable.kind == "s":
                whole = digit.variable.index in self.reads.whole
                kind = FactorType.NEED_REPLICATION if whole else FactorType.REDUCTION
                self.raise_all(self.atoms_of(digit), kind)
        if len(set(map(self.sketch.find, atoms))) < len(atoms) or self._repeats(slot, atoms):
            # A diagonal: a factor maps to at most one dimension of a tensor.
            atoms = [self._private(slot)]
            self.raise_all(atoms, FactorType.NEED_REPLICATION)
        self.put(slot, atoms)

    def _repeats(self, slot: TensorDim, atoms: list[Atom]) -> bool:
        """Returns whether another dimension of the tensor already has one of the factors."""
        state = (slot.side, slot.tensor, self.sketch.joins)
        if self._roots_of != state:
            self._roots_of = state
            self._taken, self._seen = set(), 0
        for dimension in range(self._seen, slot.dimension):
            others = self.sketch.atoms.get(TensorDim(slot.side, slot.tensor, dimension), ())
            self._taken.update(map(self.sketch.find, others))
        self._seen = slot.dimension
        return not self._taken.isdisjoint(map(self.sketch.find, atoms))

    def place(self, slot: TensorDim, access: Access, size: int) -> None:
        """Adds a dimension that is not carried, as the treatment decides."""
        anchor = access.result_dim
        coordinate = self.coordinate(anchor) if anchor is not None else []
        own_size = self.shape[anchor] if anchor is not None else None
        at = slot.tensor, slot.dimension, size, own_size, anchor
        read = DimensionRead(self.sketch.record, access.relation, *at, self.conservative)
        treatment = self.treat(read)
        is_free = len(coordinate) == 1 and not self._repeats(slot, coordinate)
        if treatment.size not in (None, own_size) and anchor in self.compounded:
            is_free = False  # another size would shift the digits above it
        if treatment.shared and is_free and self._may_bind(access, coordinate[0]):
            self._share(slot, access, coordinate[0], treatment)
        else:
            self._set_apart(slot, access, size, coordinate, treatment)

    def _bound(self, variable: Variable) -> list[Atom]:
        """The atoms of all values of a variable."""
        return self.atoms_of(Digit(variable, 1, *self._extent(variable)))

    def _may_bind(self, access: Access, coordinate: Atom) -> bool:
        if not access.variable:
            return True
        bound = self._bound(access.variable)
        return len(bound) == 1 and self.sketch.may_join(coordinate, bound[0])

    def _share(self, slot: TensorDim, access: Access, coordinate: Atom, treatment: Treatment) -> None:
        if access.variable:
            self.sketch.join(coordinate, self._bound(access.variable)[0])
        if treatment.size is not None:
            self.sketch.give_size(coordinate, treatment.size)
        self._finish(coordinate, treatment.type, blocked=treatment.blocked)
        self.put(slot, [coordinate])

    def _set_apart(
        self, slot: TensorDim, access: Access, size: int, coordinate: list[Atom], treatment: Treatment
    ) -> None:
        if access.variable:
            own = self._bound(access.variable)[0]
        elif access.relation in (Relation.RUNTIME, Relation.MOVED) and access.result_dim is not None:
            own = self.sketch.add(Atom(self.number, (size, access.result_dim)), size)
        else:
            own = self._private(slot, size)
        if self._repeats(slot, [own]):
            own = self._private(slot, size)
        self._finish(own, treatment.type, blocked=treatment.blocked)
        for atom in coordinate:
            self._finish(atom, treatment.result_type, blocked=treatment.result_blocked)
        self.put(slot, [own])
        if access.result_dim is not None:
            anchor = TensorDim("result", self.reads.results[0], access.result_dim)
            self.sketch.separate.setdefault(anchor, []).append(slot)
            self.sketch.anchor[slot] = anchor

    def _private(self, slot: TensorDim, size: int | None = None) -> Atom:
        if size is None:
            size = shape_of(self.sketch.record.operands[slot.tensor])[slot.dimension]
        return self.sketch.add(Atom(self.number, slot), size)

    def _finish(self, atom: Atom, kind: FactorType, *, blocked: bool) -> None:
        self.sketch.raise_type(atom, kind)
        if blocked:
            self.sketch.block(atom)
