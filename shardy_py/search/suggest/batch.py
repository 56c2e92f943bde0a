"""The batch among the classes of dimensions of a program: that of most products, or that of a training step.

    dw = dot_general(x, dy)     sums over the batch, and has the dimensions of the weight that it changes

In a training step of few layers a hidden dimension is in as many products as the batch; but weights and
states of the optimizer have it, which the step returns.

Not here: classes and other roles (`roles.py`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from shardy_py.base.records import dataclass

Classes = tuple[int, ...]
"""The class of each dimension of a tensor."""


@dataclass(frozen=True, slots=True)
class ProductClasses:
    """The classes of the dimensions of a product: of each operand and result."""

    operands: tuple[frozenset[int], ...]
    results: tuple[frozenset[int], ...]

    @property
    def made(self) -> frozenset[int]:
        """The classes of its results."""
        return frozenset[int]().union(*self.results)

    @property
    def classes(self) -> frozenset[int]:
        """The classes of its operands."""
        return frozenset[int]().union(*self.operands)

    @property
    def summed(self) -> frozenset[int]:
        """The classes that it sums over."""
        first, *others = self.operands
        return first.intersection(*others) - self.made


@dataclass(frozen=True, slots=True)
class Typed:
    """An argument or result: its type, and the classes of its dimensions."""

    type: object
    classes: Classes


def states_of(arguments: Sequence[Typed], results: Sequence[Typed]) -> frozenset[int]:
    """Returns the numbers of the arguments that have as many results of equal types and classes."""
    old, new = defaultdict[Typed, list[int]](list), Counter(each for each in results if each.classes)
    for number, each in enumerate(arguments):
        if each.classes:
            old[each].append(number)
    return frozenset(n for each, numbers in old.items() if new[each] == len(numbers) for n in numbers)


def batch_of(
    classes: Sequence[Classes],
    products: Sequence[ProductClasses],
    parameters: Collection[int],
    states: Collection[int],
) -> int | None:
    """Returns the class of samples; None if there is none.

    classes: of each argument. parameters: the classes of what is named as a parameter of a model of torch, of
    which none is the batch. states: the numbers of arguments whose next values are results.

    That is the class in most results of products and fewest arguments; a leading dimension wins a tie.
    Dimensions before it in the data that are in as many results come first: labels that are flattened have
    the batch, but not the positions, which are in fewer arguments then.
    """
    leading = {own[0] for own in classes if own}
    made = [own for product in products for own in product.results]
    counts = Counter(each for own in made for each in own)
    held = Counter(each for own in classes for each in {*own})
    for each in parameters:
        held.pop(each, None)
    of_training = _of_training(classes, products, states) & held.keys()
    if of_training:
        held = Counter({each: count for each, count in held.items() if each in of_training})
    if not made or not held:
        return None

    def merit(each: int) -> tuple[float, bool, int]:
        return counts[each] / len(made) - held[each] / len(classes), each in leading, -each

    best = max(held, key=merit)
    before = (each for own in classes if best in own for each in own[: own.index(best)])
    best = next((each for each in before if counts[each] >= counts[best]), best)
    return best if counts[best] or of_training else None


def _of_training(
    classes: Sequence[Classes], products: Sequence[ProductClasses], states: Collection[int]
) -> set[int]:
    """The classes of data that gradients sum over, and that all products have but those of states alone.

    Gradients have the dimensions of states without the class. The last dimension of data is none: what a
    recurrence or a cache sums over are its features.
    """
    data = [own for number, own in enumerate(classes) if number not in states]
    last = {own[-1] for own in data if len(own) > 1}
    found = set[int]()
    having = [(product.classes, product.made) for product in products]
    summing: dict[int, list[int]] = defaultdict(list)
    for place, product in enumerate(products):
        for each in product.summed if product.made else ():
            summing[each].append(place)
    for each in ({each for own in data for each in own} - last).intersection(summing):
        held = {c for number in states if each not in classes[number] for c in classes[number]}
        gradients = (having[place] for place in summing[each])
        is_summed = any(made <= held and not own <= held for own, made in gradients)
        if is_summed and all(each in own or own <= held for own, _ in having):
            found.add(each)
    return found
