"""Values that XLA:TPU makes with a product, or stores instead of it.

A product is fused with the elementwise ops that are its only readers, as an addition of biases. Their
result is stored instead of the product if it is no larger; an activation of the sum is computed in each of
its readers. From dumps of eight networks and of their gradients. Not here: which steps are computed where
(`fusion.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

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


def behind_product(steps: Iterable[StepAlone], users: Mapping[Name, Sequence[int]]) -> set[Name]:
    """Returns the values that are computed with a product of which they are all that others read."""
    found: set[Name] = set()
    product: dict[Name, int] = {}
    """The product of what is made of one elementwise."""
    left: dict[int, int] = {}
    """The reads of such values that are not behind the product so far."""
    for step in steps:
        if step.kind.row.is_product:
            own = -1 if step.is_alone else step.number
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
