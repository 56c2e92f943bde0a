"""The roles of arguments and of their dimensions, from the sharding rules of the ops that use them.

Dimensions that the rules of ops map to the same factor, from value to value, are one class: the batch is one
class, the features of the residual stream are another. Names of arguments are not looked at.

Not here: what to shard (`schemes.py`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from math import prod

from networkx.utils import UnionFind

from shardy_py.base.records import dataclass
from shardy_py.mlir.module_paths import is_parameter
from shardy_py.propagation.flat import FlatProgram
from shardy_py.search.suggest.batch import ProductClasses, Typed, batch_of, states_of
from shardy_py.sharding import ShardingRule
from shardy_py.sharding.rule import FactorType

Dimension = tuple[int, int]
"""A value, by its slot, and one of its dimensions."""
_LEAST_SHARE = 0.25
"""The least share of the products with the batch that have a dimension of the data that may be sharded."""


@dataclass(frozen=True, slots=True)
class AnnotatedTensor:
    """A tensor that may be annotated: an argument, or results or values inside that share a sharding.

    name: of the argument. label: its name in JAX, "" if there is none. path: that with numbers of layers
    replaced by *. slot: of the first value. bytes: of one value. values: the names and locations of results
    or values inside; () for an argument. is_result: whether they are results of @main. own: what the program
    itself constrains them to, None: it does not; written: the names and locations of these constraints.
    is_donated: whether the memory of an argument may be reused.
    """

    name: str
    label: str
    path: str
    slot: int
    shape: tuple[int, ...]
    element: str
    bytes: int
    values: tuple[tuple[str, str], ...] = ()
    is_result: bool = False
    own: tuple[tuple[str, ...], ...] | None = None
    written: tuple[tuple[str, str], ...] = ()
    is_donated: bool = False

    @property
    def is_point(self) -> bool:
        """True if these are values inside, which are annotated by sharding constraints."""
        return bool(self.values) and not self.is_result


@dataclass(frozen=True, slots=True)
class Returned:
    """A result of @main, its slot, and the number of the tensor whose sharding it gets.

    of: the argument whose next value it is, or the tensor of the results that it is one of; None:
    propagation decides.
    """

    name: str
    path: str
    label: str
    slot: int
    shape: tuple[int, ...]
    element: str
    of: int | None = None


@dataclass(frozen=True, slots=True)
class DimensionLink:
    """An op that links dimensions: its rule, and the slots of its operands, then of its results."""

    rule: ShardingRule
    slots: tuple[int, ...]

    @property
    def operands(self) -> tuple[int, ...]:
        """The slots of the operands."""
        return self.slots[: len(self.rule.operands)]

    @property
    def is_product(self) -> bool:
        """Returns whether it sums products: tensors that share a reduced factor."""
        summed = {i for i, factor in enumerate(self.rule.factors) if factor.type is FactorType.REDUCTION}
        having = sum(any(summed & {*factors} for factors in mapping) for mapping in self.rule.operands)
        return having >= 2


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of arguments, of values inside, and of dimensions.

    classes: by tensor, the class of each dimension. batch: the class of samples; sequence: that of positions;
    features: that of the residual stream; None: there is none. experts: classes along which weights are
    batched in products with data. inner: classes of weights of which each weight has at most one. returned:
    the results of @main.
    """

    tensors: tuple[AnnotatedTensor, ...]
    classes: tuple[tuple[int, ...], ...]
    batch: int | None
    sequence: int | None
    features: int | None
    experts: frozenset[int]
    inner: frozenset[int]
    returned: tuple[Returned, ...] = ()

    @property
    def arguments(self) -> int:
        """The number of tensors that are arguments: they come first."""
        return sum(not tensor.values for tensor in self.tensors)

    def is_data(self, index: int) -> bool:
        """Returns whether a tensor is data: it has the batch dimension."""
        return self.batch is not None and self.batch in self.classes[index]

    def kind(self, each: int) -> str:
        """Returns what a class of dimensions is for, as one word."""
        named = {self.batch: "batch", self.sequence: "sequence", self.features: "features"}
        return named.get(each) or (
            "expert" if each in self.experts else "inner" if each in self.inner else "other"
        )

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Returns the tensors that share one choice: of the same path, type and kinds of dimensions."""
        found: dict[tuple[object, ...], list[int]] = defaultdict(list)
        for index, tensor in enumerate(self.tensors[: self.arguments]):
            found[
                tensor.path, tensor.shape, tensor.element, tuple(map(self.kind, self.classes[index]))
            ].append(index)
        return tuple(map(tuple, found.values()))


def links_of(flat: FlatProgram) -> tuple[DimensionLink, ...]:
    """Returns the ops of a program that have a rule."""
    rules = (
        (flat.kinds[kind].rule, slots) for kind, slots in zip(flat.step_kinds, flat.step_slots, strict=True)
    )
    returned = (DimensionLink(each.rule, (each.slot, each.result_slot)) for each in flat.returned)
    return (*(DimensionLink(rule, slots) for rule, slots in rules if rule is not None), *returned)


class DimensionClasses:
    """The class of each dimension of each value: dimensions that rules map to the same factor share one."""

    def __init__(self, links: Sequence[DimensionLink]) -> None:
        self._joined: UnionFind[Dimension] = UnionFind()
        for link in links:
            along: dict[int, list[Dimension]] = defaultdict(list)
            for dimension, factor in _major_factors(link):
                along[factor].append(dimension)
            for dimensions in along.values():
                self._joined.union(*dimensions)
        self._numbers: dict[Dimension, int] = {}

    def __call__(self, dimension: Dimension) -> int:
        """Returns the number of the class of a dimension."""
        return self._numbers.setdefault(self._joined[dimension], len(self._numbers))

    def of(self, slot: int, rank: int) -> tuple[int, ...]:
        """Returns the classes of the dimensions of a value."""
        return tuple(self((slot, dimension)) for dimension in range(rank))


def roles_of(
    tensors: Sequence[AnnotatedTensor],
    links: Sequence[DimensionLink],
    number: DimensionClasses | None = None,
    results: Sequence[AnnotatedTensor] = (),
) -> Roles:
    """Returns the roles of the arguments of a program.

    number: the classes of the links, if known. results: of the program.
    """
    number = DimensionClasses(links) if number is None else number
    classes = tuple(number.of(t.slot, len(t.shape)) for t in tensors)
    products = [link for link in links if link.is_product]
    of_products = [_product_classes(link, number) for link in products]
    made = [own for each in of_products for own in each.results]
    named = {each for t, own in zip(tensors, classes, strict=True) if is_parameter(t.label) for each in own}
    given, returned = ([_typed(t, number) for t in each] for each in (tensors, results))
    batch = batch_of(classes, of_products, named, states_of(given, returned))
    weights = [i for i, own in enumerate(classes) if batch not in own and len(own) > 1]
    data = [own for own in classes if batch in own]
    # The state of an optimizer has the classes of its weights, which count once.
    distinct = dict.fromkeys(classes[i] for i in weights)
    features = _features([{*own} for own in distinct], {each for own in data for each in own})
    sequence = _sequence(data, made, {batch, features, *_multiplied(products, batch, number)}, batch)
    from_data = _depending({t.slot for t, own in zip(tensors, classes, strict=True) if batch in own}, links)
    experts = _experts(products, from_data, batch, number) & {own for i in weights for own in classes[i]} - {
        batch,
        features,
    }
    inner = _inner(
        [(prod(tensors[i].shape), classes[i]) for i in weights], {batch, sequence, features, *experts}
    )
    return Roles(tuple(tensors), classes, batch, sequence, features, frozenset(experts), inner)


def _product_classes(link: DimensionLink, number: DimensionClasses) -> ProductClasses:
    count = len(link.operands)
    ranks = {slot: len(tensor) for slot, tensor in zip(link.slots, link.rule.tensors, strict=False)}
    each = [frozenset(number((slot, d)) for d in range(ranks[slot])) for slot in link.slots]
    return ProductClasses(tuple(each[:count]), tuple(each[count:]))


def _typed(tensor: AnnotatedTensor, number: DimensionClasses) -> Typed:
    classes = number.of(tensor.slot, len(tensor.shape)) if tensor.slot else ()
    return Typed((tensor.shape, tensor.element), classes)


def _major_factors(link: DimensionLink) -> Iterator[tuple[Dimension, int]]:
    for slot, mapping in zip(link.slots, link.rule.tensors, strict=False):
        for dimension, factors in enumerate(mapping):
            if slot and factors and not _is_whole(link.rule, factors[0]):
                yield (slot, dimension), factors[0]


def _is_whole(rule: ShardingRule, factor: int) -> bool:
    return rule.factors[factor].size == 1 or rule.factors[factor].type is FactorType.NEED_REPLICATION


def _multiplied(
    products: Sequence[DimensionLink], batch: int | None, number: Callable[[Dimension], int]
) -> Iterator[int]:
    """The classes of what is multiplied and does not have the batch: weights."""
    for link in products:
        classes: dict[int, list[int]] = defaultdict(list)
        for (slot, dimension), _ in _major_factors(link):
            classes[slot].append(number((slot, dimension)))
        for slot in link.operands:
            if batch not in classes[slot]:
                yield from classes[slot]


def _sequence(
    data: Sequence[tuple[int, ...]],
    made: Sequence[frozenset[int]],
    excluded: set[int | None],
    batch: int | None,
) -> int | None:
    """The class next to the batch in data that many products have beside it, and no weight that they have."""
    having = [own for own in made if batch in own]
    counts = Counter(chain.from_iterable(having))
    for own in data:
        for each in own[1:2]:
            share = counts[each] / max(1, len(having))
            if each not in excluded and own[0] == batch and share >= _LEAST_SHARE:
                return each
    return None


def _features(weights: Sequence[set[int]], data: set[int]) -> int | None:
    """The class in most weights; data counts as one of them, and wins a tie."""
    counts = Counter(each for own in weights for each in own)
    for each in counts.keys() & data:
        counts[each] += 1
    return max(counts, key=lambda each: (counts[each], each in data, -each), default=None)


def _depending(slots: set[int], links: Sequence[DimensionLink]) -> set[int]:
    """The values that depend on these; links are in program order."""
    found = set(slots)
    for link in links:
        if not found.isdisjoint(link.operands):
            found.update(link.slots[len(link.operands) :])
    return found


def _experts(
    products: Sequence[DimensionLink],
    from_data: set[int],
    batch: int | None,
    number: Callable[[Dimension], int],
) -> set[int]:
    """Classes of the dimensions that data and weights share in the results of products.

    What has the batch dimension is data, too, where it depends on data by ops without a rule only.
    """
    found: set[int] = set()
    for link in products:
        operands = link.rule.operands
        if len(operands) != 2:
            continue
        of_batch = {slot for (slot, d), _ in _major_factors(link) if number((slot, d)) == batch}
        if sum(slot in from_data or slot in of_batch for slot in link.operands) != 1:
            continue
        shared = {f for d in operands[0] for f in d[:1]} & {f for d in operands[1] for f in d[:1]}
        kept = {f for mapping in link.rule.results for d in mapping for f in d[:1]}
        for dimension, factor in _major_factors(link):
            if factor in shared & kept:
                found.add(number(dimension))
    return found


def _inner(weights: Sequence[tuple[int, tuple[int, ...]]], excluded: set[int | None]) -> frozenset[int]:
    """Classes of which each weight has at most one; those of more elements first."""
    sizes: Counter[int] = Counter()
    beside: dict[int, list[tuple[int, ...]]] = {}
    for size, own in weights:
        for each in {*own} - excluded:
            sizes[each] += size
            beside.setdefault(each, []).append(own)
    chosen: set[int] = set()
    refused: set[int] = set()
    for each, _ in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        if each not in refused:
            chosen.add(each)
            refused.update(chain.from_iterable(beside[each]))
    return frozenset(chosen)
