"""From a sketch to a rule: orders the factors and completes the dimensions without factors.

Factors are numbered in the order of a walk over tensor dimensions (by default, results first), then folded
range variables, then the remaining dimensions, operands before results. A dimension without a factor gets one
of size one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shardy_py.ops import Atom, Sketch, TensorDim, shape_of
from shardy_py.sharding import DimMapping, Factor, ShardingRule, TensorMapping


def slots_of(sketch: Sketch, side: str) -> Iterator[TensorDim]:
    """The dimensions of all operands, or of all results."""
    tensors = sketch.record.operands if side == "operand" else sketch.record.results
    for tensor, kind in enumerate(tensors):
        for dimension in range(len(shape_of(kind))):
            yield TensorDim("operand" if side == "operand" else "result", tensor, dimension)


def build(sketch: Sketch, walk: Sequence[TensorDim], *, carrier_first: bool = False) -> ShardingRule:
    """The rule of a sketch.

    walk: the dimensions whose factors come first.
    carrier_first: whether a result dimension comes before its operand dimensions with separate factors.
    """
    return _Builder(sketch).build(_ordered(sketch, walk, carrier_first))


def _ordered(sketch: Sketch, walk: Sequence[TensorDim], carrier_first: bool) -> Iterator[Atom]:
    for slot in walk:
        anchor = sketch.anchor.get(slot, slot)
        separate = sketch.separate.get(anchor, [])
        group = [anchor, *separate] if carrier_first else [*separate, anchor]
        for member in group if slot in group else [slot]:
            yield from sketch.atoms.get(member, ())
    yield from sketch.folded
    for side in ("operand", "result"):
        for slot in slots_of(sketch, side):
            yield from sketch.atoms.get(slot, ())


class _Builder:
    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self.factors: list[Factor] = []
        self.numbers: dict[Atom, int] = {}
        self.present = {sketch.find(atom) for atoms in sketch.atoms.values() for atom in atoms}

    def build(self, atoms: Iterator[Atom]) -> ShardingRule:
        for atom in atoms:
            root = self.sketch.find(atom)
            if root not in self.numbers and root in self.present:
                self.numbers[root] = len(self.factors)
                size, kind = self.sketch.size_of(root), self.sketch.type_of(root)
                self.factors.append(Factor(size, kind, self.sketch.is_blocked(root)))
        record = self.sketch.record
        operands = tuple(self.tensor("operand", i, shape_of(t)) for i, t in enumerate(record.operands))
        results = tuple(self.tensor("result", i, shape_of(t)) for i, t in enumerate(record.results))
        return ShardingRule(tuple(self.factors), operands, results)

    def tensor(self, side: str, number: int, shape: tuple[int, ...]) -> TensorMapping:
        return tuple(
            self.dimension(TensorDim("operand" if side == "operand" else "result", number, d))
            for d in range(len(shape))
        )

    def dimension(self, slot: TensorDim) -> DimMapping:
        mapped: list[int] = []
        for atom in self.sketch.atoms.get(slot, ()):
            number = self.numbers[self.sketch.find(atom)]
            if not mapped or self.factors[number].size != 1:
                mapped.append(number)
        if not mapped:
            mapped.append(len(self.factors))
            self.factors.append(Factor(1))
        return tuple(mapped)
