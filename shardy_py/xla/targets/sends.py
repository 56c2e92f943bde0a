"""Planned collectives as the graph of a device's program reads them: what they are of, which are equal.

Not here: the graph (`build.py`), the plan (`xla/spmd/walk.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from math import prod

from shardy_py.mlir.record import combiners_of
from shardy_py.ops import TensorType
from shardy_py.xla.spmd.from_program import source_op
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.program import PlannedOp
from shardy_py.xla.spmd.walk import Sent
from shardy_py.xla.targets.model import ADD, Transfer
from shardy_py.xla.targets.parts import shape_of


def is_of(sent: Sent, step: PlannedOp | None, index: int) -> bool:
    """True if a collective is for result `index` of a body of the step."""
    if step is None:
        return sent.operand in (index, -1)
    return not any(root in step.operands for root in sent.roots)


def fits(sent: Sent, type_: TensorType) -> bool:
    """True if what is sent may be what devices make of a result: of its rank, or an exchange of its elements.

    type_: of what a device holds.
    """
    collective = sent.collective
    if collective.kind == "all_to_all" and prod(collective.held_shape) == prod(shape_of(type_)):
        return True
    return len(collective.held_shape) == type_.rank


def _is_of_type(sent: Sent, type_: TensorType) -> bool:
    """True if what is sent may be what devices make of a result, by its elements, too."""
    return sent.collective.element_type == type_.element and fits(sent, type_)


def sent_of_results(
    after: Sequence[Sent], types: Sequence[TensorType | None], held: Sequence[TensorType | None]
) -> list[Sequence[Sent]]:
    """Returns what is sent of each result of a step: equal shares of what fits those of one element type.

    after: what is sent behind the step. types: of the results; held: of what a device has of each.
    """
    left = Counter(type_.element for type_ in types if type_ is not None)
    found: list[Sequence[Sent]] = []
    for type_, part in zip(types, held, strict=True):
        own = [each for each in after if _is_of_type(each, part)] if after and part is not None else []
        if own and part is not None:
            own = own[: -(-len(own) // max(left[part.element], 1))]
            after = [each for each in after if each not in own]
        if type_ is not None:
            left[type_.element] -= 1
        found.append(own)
    return found


def is_halo(sent: Sent) -> bool:
    """True for a permute of a part of a value."""
    return is_permute(sent) and not sent.collective.made_shape


def is_permute(sent: Sent) -> bool:
    """True for a permute."""
    return sent.collective.kind == "collective_permute"


def what_is_sent(collective: PlannedCollective) -> tuple[Hashable, ...]:
    """The facts that equal collectives share."""
    shapes = collective.held_shape, collective.made_shape, collective.element_type
    return "sent", collective.kind, collective.group, collective.group_size, *shapes


def reduction_of(sent: Sent) -> str:
    """The op that combines the values of devices."""
    op = source_op(sent.step)
    if sent.collective.kind not in ("all_reduce", "reduce_scatter") or op is None or len(op.regions) != 1:
        return ADD
    found = combiners_of(op)
    return found[0] if found and found[0] is not None else ADD


def transposed_around(transfer: Transfer) -> tuple[bool, bool]:
    """Returns if what is sent is transposed before, and what arrives after: not of dimension 0."""
    held, made = transfer.collective.held_shape, transfer.result_shape
    grown, cut = _is_inner(held, _grown(held, made)), _is_inner(held, _grown(made, held))
    if transfer.kind == "all_to_all":
        return cut, grown
    if transfer.kind == "all_gather":
        return grown, grown
    return (cut, cut) if transfer.kind == "reduce_scatter" else (False, False)


def _grown(old: Sequence[int], new: Sequence[int]) -> list[bool]:
    return [after > before for before, after in zip(old, new, strict=False)]


def _is_inner(shape: Sequence[int], flags: Sequence[bool]) -> bool:
    """True if there are elements before the first dimension of these."""
    return True in flags and prod(shape[: flags.index(True)]) > 1
