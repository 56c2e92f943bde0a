"""Values that XLA:TPU makes with a product, or stores instead of it.

A product is fused with the elementwise ops that are its only readers, as an addition of biases. Their
result is stored instead of the product if it is no larger; an activation of the sum is computed in each of
its readers. From dumps of eight networks and of their gradients. Not here: which steps are computed where
(`fusion.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from shardy_py.xla.buffers.facet import Tiled
from shardy_py.xla.buffers.storing import StoringKind
from shardy_py.xla.spmd.program import Name


class StepAlone(NamedTuple):
    """A step of one result that is not sent.

    reads: the stored names of what it reads. is_alone: whether it is a convolution that XLA does not compute
    with what reads it, if another product can.
    """

    number: int
    kind: StoringKind
    made: Name
    reads: Sequence[Name]
    is_alone: bool = False


def instead_of_product(
    steps: Iterable[StepAlone], users: Mapping[Name, Sequence[int]], sizes: Mapping[Name, int]
) -> set[Name]:
    """Returns the values made of a product that only they need, and which are no larger.

    users: the steps that read each value. sizes: bytes of values.
    """
    found: set[Name] = set()
    read_once: set[Name] = set()
    """The values that are made with a product and read by one step."""
    for step in steps:
        if not step.kind.row.is_product:
            made = [sizes.get(each, 0) for each in step.reads if each in read_once]
            if not (step.kind.is_elementwise and made and sizes.get(step.made, 0) <= min(made)):
                continue
            found.add(step.made)
        if len(users.get(step.made, ())) == 1:
            read_once.add(step.made)
    return found


def behind_products(
    steps: Sequence[StepAlone], users: Mapping[Name, Sequence[int]]
) -> tuple[set[Name], set[Name]]:
    """Returns the values that no product computes, and those that no convolution does which alone reads them.

    users: the steps that read each value.
    """
    of_others = behind_product(steps, users, of_images=False)
    apart = joined_apart(steps, users)
    return behind_product(steps, users) | apart, of_others | apart | made_by_convolutions(steps, users)


def joined_apart(steps: Sequence[StepAlone], users: Mapping[Name, Sequence[int]]) -> set[Name]:
    """Returns the joins of a few values that no product computes.

    That are those that a convolution reads, and of what is neither an argument nor made by a product.
    users: the steps that read each value.
    """
    images = {step.number for step in steps if _is_of_images(step)}
    apart, others = set[Name](), set[Name]()
    for step in steps:
        is_computed = others.isdisjoint(step.reads) and images.isdisjoint(users.get(step.made, ()))
        if step.kind.is_padded_join and not is_computed:
            apart.add(step.made)
        if not step.kind.row.is_product:
            others.add(step.made)
    return apart


def behind_product(
    steps: Iterable[StepAlone], users: Mapping[Name, Sequence[int]], *, of_images: bool = True
) -> set[Name]:
    """Returns the values that are computed with a product of which they are all that others read.

    of_images: whether a convolution is such a product.
    """
    found: set[Name] = set()
    product: dict[Name, int] = {}
    """The product of what is made of one elementwise."""
    left: dict[int, int] = {}
    """The reads of such values that are not behind the product so far."""
    for step in steps:
        if step.kind.row.is_product:
            is_alone = step.is_alone or (_is_of_images(step) and not of_images)
            own = -1 if is_alone else step.number
        elif step.kind.is_elementwise or step.kind.is_transpose:
            own = max((product[each] for each in step.reads if each in product), default=-1)
        else:
            own = -1
        if own < 0:
            continue
        product[step.made] = own
        read = {each for each in step.reads if product.get(each) == own}
        left[own] = left.get(own, 0) - len(read)
        if not left[own]:
            found.add(step.made)
        left[own] += len(users.get(step.made, ()))
    return found


def made_by_convolutions(steps: Sequence[StepAlone], users: Mapping[Name, Sequence[int]]) -> set[Name]:
    """Returns the values that a convolution makes of its result, though another one could.

    That are those of a chain of elementwise ops from the one to the other, each of which alone reads the one
    before it, and else only what is repeated, the first one also what the convolution reads. A chain that
    ends at a value with several readers is made up to that; where an op reads another large value, none is.
    """
    kinds = {step.number: step.kind for step in steps}
    chains: dict[Name, tuple[Name, ...]] = {}
    """By the last value of a chain all of it, but for the result of the convolution."""
    given: dict[Name, Collection[Name]] = {}
    repeated: set[Name] = set()
    for step in steps:
        own = {name for name in step.reads if name not in repeated}
        if step.kind.row.is_constant or step.kind.is_broadcast:
            repeated.add(step.made)
        elif _is_of_images(step) and not step.is_alone:
            chains[step.made], given[step.made] = (), own
        elif step.kind.is_elementwise:
            before = next((name for name in own if name in chains and len(users.get(name, ())) == 1), None)
            if not own:
                repeated.add(step.made)
            elif before is not None and own <= {before, *given.get(before, ())}:
                chains[step.made] = (*chains.pop(before), step.made)
    return {name for last, chain in chains.items() for name in chain if not _goes_on(users, last, kinds)}


def _goes_on(users: Mapping[Name, Sequence[int]], name: Name, kinds: Mapping[int, StoringKind]) -> bool:
    """True for a value that one elementwise op reads."""
    readers = users.get(name, ())
    return len(readers) == 1 and readers[0] in kinds and kinds[readers[0]].is_elementwise


def _is_of_images(step: StepAlone) -> bool:
    return step.kind.row.tiled is Tiled.IMAGES
