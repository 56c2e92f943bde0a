"""Reshapes and transpositions of what XLA:TPU can compute in their form: from broadcasts and iotas.

    reshape(compare(broadcast(x), iota))      ->  compare(broadcast(reshape(x)), iota)
    reshape(subtract(reshape(x), broadcast))  ->  subtract(x, broadcast), if the reshapes are inverse

One-hot matrices, masks and positions are of the first kind, normalizations by group of the second: a mean of
each group of channels is spread over the channels of its group, reshaped, and broadcast along all else. They
are computed again if others read them in another form.
From dumps of its pass tpu-broadcast-rewriter, which is not public, of 12 programs. Not here: forms of other
values, which go after elementwise ops (`sunk_forms.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from math import prod

from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects import stablehlo
from shardy_py.mlir.dialects.traits import is_dead_when_unused
from shardy_py.mlir.holders import SHARDING
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.plain import plain
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, resized
from shardy_py.ops import TABLE
from shardy_py.xla.prepare import folding
from shardy_py.xla.prepare.folds import BROADCAST, RESHAPE

_IOTA = stablehlo.IotaOp.name
_MOST = 16
"""The ops that are computed again in another form, at most."""


def fold_form_of_spread(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """Values computed from broadcasts and iotas only are computed in the form in which they are read."""
    (value,) = operands_of(op)
    if not folding.is_static(value, op.results[0]):
        return None
    form = OtherForm.of(op, splats)
    if not form.is_free(value) or (form.keeps_reshapes and not form.drops_reshapes):
        return None
    return form.made_of(value, op)


def fold_broadcast_of_iota(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A broadcast of an iota along the dimension of its numbers is an iota."""
    iota = folding.producer(operands_of(op)[0], _IOTA)
    if iota is None or not folding.is_static(*op.results):
        return None
    dimension: int = plain(op.properties["broadcast_dimensions"])[plain(iota.properties["iota_dimension"])]
    (value,) = operands_of(op)
    sizes = folding.sizes_of(op.results[0])
    if sizes[dimension] != folding.sizes_of(value)[plain(iota.properties["iota_dimension"])]:
        return None
    return StablehloBuilder(before=op).iota(sizes, dimension, element_of(value))


@dataclass(slots=True)
class OtherForm:
    """A transposition by `order`, or a reshape, from one shape to another.

    keeps_order: whether what is broadcast must not be transposed for it, and no other value either.
    drops_reshapes: whether a value was found that an inverse reshape gave.
    keeps_reshapes: whether one was found that has to be reshaped in whole.
    """

    held: tuple[int, ...]
    made: tuple[int, ...]
    order: tuple[int, ...] | None
    splats: folding.Splats
    keeps_order: bool = False
    known: dict[int, bool] = field(default_factory=dict[int, bool])
    count: int = 0
    drops_reshapes: bool = False
    keeps_reshapes: bool = False

    @staticmethod
    def of(op: Operation, splats: folding.Splats, *, is_inverse: bool = False) -> OtherForm:
        """Returns the form that a reshape or transposition gives, or the one that it had before."""
        (value,), (result,) = operands_of(op), op.results
        held, made = folding.sizes_of(value), folding.sizes_of(result)
        order: tuple[int, ...] | None = None
        if "permutation" in op.properties:
            order = plain(op.properties["permutation"])
        if not is_inverse:
            return OtherForm(held, made, order, splats)
        back = None if order is None else tuple(order.index(i) for i in range(len(order)))
        return OtherForm(made, held, back, splats, keeps_order=True)

    def is_free(self, value: SSAValue) -> bool:
        """Returns whether a value can be computed in that form from what is broadcast."""
        found = self.known.get(id(value))
        if found is None:
            found = self.known[id(value)] = self._is_free(value)
        return found

    def _is_free(self, value: SSAValue) -> bool:
        if folding.sizes_of(value) != self.held or 0 in self.held:
            return folding.is_static(value) and not folding.sizes_of(value)
        if self.splats.of(value) is not None:
            return True
        maker = value.op if isinstance(value, OpResult) else None
        if maker is None or len(maker.results) != 1 or maker.regions or SHARDING in maker.attributes:
            return False
        self.count += 1
        if maker.name == BROADCAST:
            return self._takes_broadcast(_kept(maker))
        if maker.name == RESHAPE:
            is_inverse = self.order is None and folding.sizes_of(operands_of(maker)[0]) == self.made
            self.drops_reshapes |= is_inverse
            return is_inverse
        if self.keeps_order and self.order is not None:
            return False
        if maker.name == _IOTA:
            return self._places((plain(maker.properties["iota_dimension"]),), is_whole=True) is not None
        if not TABLE[maker.name].is_elementwise or not is_dead_when_unused(maker) or self.count > _MOST:
            return False
        return all(self.is_free(each) for each in operands_of(maker))

    def made_of(self, value: SSAValue, before: Operation) -> SSAValue:
        """Returns a value for which `is_free` holds in that form, computed before an op."""
        if folding.sizes_of(value) != self.held:
            return value
        build, element = StablehloBuilder(before=before), self.splats.of(value)
        type_ = resized(value, self.made)
        if element is not None:
            return build.dense(type_, element)
        assert isinstance(value, OpResult)
        maker = value.op
        if maker.name == _IOTA:
            places = self._places((plain(maker.properties["iota_dimension"]),), is_whole=True)
            assert places is not None
            return build.iota(self.made, places[0], element_of(value))
        if maker.name == BROADCAST:
            return self._broadcast(build, maker)
        if maker.name == RESHAPE:
            return operands_of(maker)[0]
        operands = [self.made_of(each, before) for each in operands_of(maker)]
        return folding.resized_elementwise(maker, operands, type_, before)

    def _takes_broadcast(self, kept: tuple[int, ...]) -> bool:
        if self.order is not None:
            places = [self.order.index(i) for i in kept]
            return not self.keeps_order or places == sorted(places)
        self.keeps_reshapes |= self._spread(kept)[0] == (*range(len(self.held)),)
        return True

    def _spread(self, kept: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The dimensions that a value of these needs to be reshaped, and those of the form that it has then.

        Both are of whole segments: those of which the value has any dimension.
        """
        own = [each for each in _segments(self.held, self.made) if any(i in kept for i in each[0])]
        return tuple(i for before, _ in own for i in before), tuple(j for _, after in own for j in after)

    def _broadcast(self, build: StablehloBuilder, maker: Operation) -> SSAValue:
        (source,) = operands_of(maker)
        kept = _kept(maker)
        if self.order is None:
            needed, places = self._spread(kept)
            source = _shaped(build, source, [self.held[i] for i in kept])
            if any(self.held[i] != 1 for i in needed if i not in kept):
                at = [needed.index(i) for i in kept]
                source = build.broadcast(source, [self.held[i] for i in needed], at)
            return build.broadcast(_shaped(build, source, [self.made[i] for i in places]), self.made, places)
        places = self._places(kept)
        assert places is not None
        source = _shaped(build, source, [self.held[i] for i in kept])
        order = sorted(range(len(places)), key=places.__getitem__)
        source = source if order == sorted(order) else build.transpose(source, order)
        return build.broadcast(source, self.made, sorted(places))

    def _places(self, dimensions: Sequence[int], *, is_whole: bool = False) -> tuple[int, ...] | None:
        """The dimensions of the form that those of the value become; None if they are mixed with others.

        is_whole: whether each must stay one dimension.
        """
        if self.order is not None:
            return tuple(self.order.index(i) for i in dimensions)
        found: list[int] = []
        for before, after in _segments(self.held, self.made):
            own = [i for i in before if i in dimensions]
            if not own:
                continue
            if any(self.held[i] != 1 for i in before if i not in own):
                return None
            kept = [i for i in after if self.made[i] != 1] if is_whole else after
            if is_whole and len(kept) != 1:
                return None
            found += kept
        return tuple(found)


def _shaped(build: StablehloBuilder, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    return value if folding.sizes_of(value) == tuple(shape) else build.reshape(value, shape)


def _kept(broadcast: Operation) -> tuple[int, ...]:
    """The dimensions of a broadcast that its operand has with as many elements."""
    sizes, made = (folding.sizes_of(value) for value in (*operands_of(broadcast), *broadcast.results))
    dimensions: tuple[int, ...] = plain(broadcast.properties["broadcast_dimensions"])
    return tuple(i for i, size in zip(dimensions, sizes, strict=True) if size == made[i])


def _segments(held: Sequence[int], made: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """The dimensions of both sides of a reshape that have the same elements, in the smallest groups."""
    i = j = 0
    while i < len(held) or j < len(made):
        before, after = [i] if i < len(held) else [], [j] if j < len(made) else []
        while (left := prod(held[k] for k in before)) != (right := prod(made[k] for k in after)):
            if left < right:
                before.append(before[-1] + 1 if before else i)
            else:
                after.append(after[-1] + 1 if after else j)
        yield before, after
        i, j = i + len(before), j + len(after)
