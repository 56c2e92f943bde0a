"""Plans of ops, made once for ops that are equal in all that a plan depends on.

A plan depends on the op record, on how its operands are held (also on what they were resharded from), on the
tilings of its results, and on the release of XLA: not on names. So repeated layers, and the same program
with another annotation, cost one look-up an op. Reshards are known by the positions of operands, to which a
walk gives the names of its values. Not here: programs (`walk.py`), handlers (`handlers.py`).

>>> from shardy_py.sharding import Mesh
>>> from shardy_py.xla.spmd.reshard import reshard
>>> rows, whole = Tiling.of(Mesh.of(x=4), [("x",)]), Tiling.replicated(1, 4)
>>> held = tensor_held(HeldTensor.of((8,), rows, "f32"))
>>> (made,) = planned(("sum", id(whole)), [held, held], [0, 0], lambda values: [reshard(values[0], whole)])
>>> [(each.collective.kind, each.origin) for each in made.needed]
[('all_gather', 0)]
>>> made.held is planned(("sum", id(whole)), [held, held], [0, 0], lambda values: [])[0].held
True
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from itertools import count
from typing import cast

from shardy_py.base import releases
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.xla.spmd.by_axes import ByAxes
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.partitioned import HeldTensor, Rematerialization
from shardy_py.xla.spmd.tiling import Tiling

_VALUE = object()
"""Begins the chain of reshards of a value; behind it the position of the operand, and of an earlier form."""

_HELD: dict[Hashable, HeldTensor] = SESSION.table("tensors as devices hold them")
_PLANS: dict[Hashable, tuple[object, tuple[Planned, ...]]] = SESSION.table("plans of ops")
_CHAINS: dict[Hashable, int] = SESSION.table("chains of reshards")
_NEW_CHAIN = count()
_TILINGS: dict[tuple[Tiling, ByAxes | None], Tiling] = SESSION.table("tilings")


Roots = tuple[int | tuple[int, int], ...]
"""The positions of operands that a chain starts from; for an earlier form of an operand its number too."""


@dataclass(frozen=True, slots=True)
class Needed:
    """A collective that an op needs.

    chain: equal for equal chains of reshards from any values; None if it has no equal. roots: what the chain
    starts from. origin: the first of these operands, -1 if there is none.
    """

    collective: PlannedCollective
    chain: int | None = None
    roots: Roots = ()

    @property
    def origin(self) -> int:
        """The position of the operand that is sent; -1 if it is none."""
        root = self.roots[0] if self.roots else -1
        return root if isinstance(root, int) else root[0]


@dataclass(frozen=True, slots=True)
class Planned:
    """A result of a planned op, as devices hold it, and what is sent for it.

    before: what is sent until the last of the forms that it had before, which is all of it if the program
    does not use the result; None if it had none. made: the chain of reshards that the result itself is, and
    its roots, as of `Needed`; None: it is a tensor of its own.
    """

    held: HeldTensor
    needed: tuple[Needed, ...]
    rematerialized: tuple[Rematerialization, ...]
    before: tuple[tuple[Needed, ...], tuple[Rematerialization, ...]] | None = None
    made: tuple[int, Roots] | None = None


def the_tiling(tiling: Tiling) -> Tiling:
    """The one tiling that stands for all equal ones with equal axes."""
    return _TILINGS.setdefault((tiling, tiling.axes), tiling)


def tensor_held(value: HeldTensor) -> HeldTensor:
    """The one value that stands for all that are held alike, with nothing sent for it yet.

    What was resharded inside a group of devices is another tensor: XLA does not keep it for this one.
    """
    same = [each for each in value.earlier if each.shape == value.shape]
    forms = tuple(map(_form, same))
    key = value.shape, *_form(value), value.number, forms
    known = _HELD.get(key)
    if known is None:
        earlier = tuple(map(_bare, same))
        known = _HELD.setdefault(key, replace(_bare(value), earlier=earlier))
    return known


def _form(value: HeldTensor) -> tuple[Hashable, ...]:
    return value.local, value.tiling, value.tiling.axes, value.element, value.is_splat


_DIFFERENT = tuple(tuple(range(length)) for length in range(9))


def positions_of(names: Sequence[Hashable]) -> tuple[int, ...]:
    """For each operand the position of the first one of the same name.

    >>> positions_of("aba")
    (0, 1, 0)
    """
    length = len(names)
    if length < len(_DIFFERENT) and len(set(names)) == length:
        return _DIFFERENT[length]
    first: dict[Hashable, int] = {}
    return tuple([first.setdefault(name, i) for i, name in enumerate(names)])


def known_plan(
    step: Hashable, used: Hashable, operands: Sequence[HeldTensor], names: Sequence[Hashable]
) -> tuple[Planned, ...] | None:
    """The plan that `planned` made for the key of a step, if it has; names: of the operands."""
    known = _PLANS.get(((step, used), tuple(map(id, operands)), positions_of(names), releases.current()))
    return None if known is None else known[1]


def planned(
    key: Hashable,
    operands: Sequence[HeldTensor],
    positions: Sequence[int],
    plan: Callable[[Sequence[HeldTensor]], Sequence[HeldTensor]],
    holds: object = None,
) -> tuple[Planned, ...]:
    """The results of `plan` for the operands, which are `tensor_held`; made once for each key.

    key: all that the plan depends on beside the operands; None: it is made each time.
    positions: of each operand the first position of the same value.
    holds: what the key is an identity of.
    """
    full = key, tuple(map(id, operands)), tuple(positions), releases.current()
    known = None if key is None else _PLANS.get(full)
    if known is None:
        named = [_at(value, position) for value, position in zip(operands, positions, strict=True)]
        known = holds, tuple(map(_result, plan(named)))
        if key is not None:
            known = _PLANS.setdefault(full, known)
            SESSION.charge(8 * sum(len(each.needed) for each in known[1]))
    return known[1]


def _result(value: HeldTensor) -> Planned:
    before = value.earlier[-1] if value.earlier else None
    return Planned(
        tensor_held(value),
        _needed(value),
        value.rematerialized,
        None if before is None else (_needed(before), before.rematerialized),
        None if value.chain is None else _numbered(value.chain),
    )


def _needed(value: HeldTensor) -> tuple[Needed, ...]:
    return tuple(map(_chained, value.collectives))


def _chained(collective: PlannedCollective) -> Needed:
    bare = replace(collective, key=None)
    if collective.key is None:
        return Needed(bare)
    return Needed(bare, *_numbered(collective.key))


def _numbered(chain: Hashable) -> tuple[int, Roots]:
    """The number of a chain without what it starts from, and this."""
    roots: list[int | tuple[int, int]] = []
    return _CHAINS.setdefault(_unrooted(chain, roots), next(_NEW_CHAIN)), tuple(roots)


def _unrooted(key: Hashable, roots: list[int | tuple[int, int]]) -> Hashable:
    """The key without the positions that it starts from, which are added to `roots`."""
    if not isinstance(key, tuple):
        return key
    parts = cast("tuple[Hashable, ...]", key)
    if parts and parts[0] is _VALUE:
        roots.append(cast("int | tuple[int, int]", parts[1]))
        return ()
    return tuple(_unrooted(part, roots) for part in parts)


def _bare(value: HeldTensor) -> HeldTensor:
    return replace(value, collectives=(), rematerialized=(), chain=None, earlier=())


def _at(value: HeldTensor, position: int) -> HeldTensor:
    """The operand at a position, so that its reshards are known by it."""
    earlier = (replace(each, chain=(_VALUE, (position, i))) for i, each in enumerate(value.earlier))
    return replace(value, chain=(_VALUE, position), earlier=tuple(earlier))
