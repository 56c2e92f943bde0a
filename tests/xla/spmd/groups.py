"""The devices of each planned collective beside those in XLA's: `python -m tests.xla.spmd.groups [NAME...]`.

A planned collective has the first of its groups; it agrees with one of XLA's of the same kind, operand and
number of runs if that has this group too. For a permute, one of the planned pairs is
among those of XLA, in any direction.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from shardy_py.base import releases
from shardy_py.xla.spmd.model import PlannedCollective
from tests.xla.spmd.compiled import Hlo, installed, partitioned
from tests.xla.spmd.hlo_programs import planned
from tests.xla.spmd.models import DEVICES, lowered


def disagreeing(names: Sequence[str] = ()) -> tuple[int, list[tuple[str, PlannedCollective]]]:
    """The number of planned collectives, and those without a counterpart, by program."""
    texts = lowered(names)
    total, wrong = 0, list[tuple[str, PlannedCollective]]()
    for name, xla in zip(texts, partitioned([*texts.values()], DEVICES), strict=True):
        left = [*Hlo(xla.after).collectives()]
        for each in planned(xla.before, DEVICES).plan.collectives:
            total += 1
            match = next((other for other in left if _agree(each, other)), None)
            if match is None:
                wrong.append((name, each))
            else:
                left.remove(match)
    return total, wrong


def _agree(ours: PlannedCollective, xla: PlannedCollective) -> bool:
    if (ours.kind, ours.held_bytes, ours.times) != (xla.kind, xla.held_bytes, xla.times):
        return False
    if ours.kind == "collective_permute":
        return not _pairs(ours).isdisjoint(_pairs(xla))
    size = ours.group_size
    groups = [set(xla.group[at : at + size]) for at in range(0, len(xla.group), size)]
    return set(ours.group) in groups


def _pairs(permute: PlannedCollective) -> set[frozenset[int]]:
    return {frozenset(pair) for pair in zip(permute.group[::2], permute.group[1::2], strict=True)}


@releases.of(installed())
def main() -> None:
    total, wrong = disagreeing(sys.argv[1:])
    for name, each in wrong:
        print(f"{name}: {each.kind} of {each.held_shape} among {each.group} for {each.reason}")
    print(f"{total - len(wrong)} of {total} collectives have the devices of XLA's")


if __name__ == "__main__":
    main()
