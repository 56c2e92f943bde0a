"""Two ops on one value, as planned and as XLA partitions them: the reshards that one op leaves to the other.

`python -m tests.xla.spmd.pairs --sample 200 [--uneven] [--seed 1] [--kind slice]` prints the share of pairs
with equal bytes by kind of collective, and the pairs that differ.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from random import Random
from typing import TypeVar

from shardy_py.base import releases
from shardy_py.sharding import Mesh
from shardy_py.xla.spmd.model import CollectivePlan
from shardy_py.xla.spmd.rotations import rotated
from tests.xla.spmd.compiled import Case, installed, sharding_text
from tests.xla.spmd.more_ops import differing
from tests.xla.spmd.moves import (
    KINDS,
    SIZES,
    UNEVEN_SIZES,
    Part,
    random_parts,
    random_window,
    slice_of,
    windows_of,
)
from tests.xla.spmd.ops import Op, Shape, Sharded, tensor
from tests.xla.spmd.reshards import MESHES, random_sharding

MOVING = tuple(kind for kind in KINDS if kind not in ("gather", "scatter", "broadcast"))
"""Kinds whose first operand has the shape that is asked for."""
ALIKE = ("alike",) * 6
"""Pairs of ops that agree along some dimensions."""
T = TypeVar("T")


def roll_of(shape: Shape, dimension: int, amount: int) -> Op:
    """A rotation: the last elements along a dimension move to its front."""
    ends = slice_of(shape, _cut(shape, dimension, shape[dimension] - amount, shape[dimension]))
    front = slice_of(shape, _cut(shape, dimension, 0, shape[dimension] - amount))
    types = f"{tensor(ends.result)}, {tensor(front.result)}"
    text = (
        f"stablehlo.concatenate %end, %front, dim = {dimension} {{ATTRIBUTES}} : ({types}) -> {tensor(shape)}"
    )
    text += f"\n%constant end = {ends.text}\n%constant front = {front.text}"
    return Op((shape,), shape, text, lambda v, t: rotated(v[0], dimension, amount, t))


def _cut(shape: Shape, dimension: int, start: int, limit: int) -> list[Part]:
    return [(start, limit, 1) if i == dimension else (0, size, 1) for i, size in enumerate(shape)]


def _alike(random: Random, shape: Shape) -> tuple[Op, Op]:
    """Two ops that agree along some dimensions: slices, windows or rotations."""

    def mixed(one: Sequence[T], other: Sequence[T]) -> list[T]:
        return [a if random.random() < 0.6 else b for a, b in zip(one, other, strict=True)]

    kind = random.choice(["slice", "window", "roll"])
    if kind == "slice":
        parts = [random_parts(random, shape) for _ in range(2)]
        return slice_of(shape, parts[0]), slice_of(shape, mixed(*parts))
    if kind == "window":
        windows = [random_window(random, shape) for _ in range(2)]
        return windows_of(shape, windows[0]), windows_of(shape, mixed(*windows))
    dimension = random.randrange(len(shape))
    amounts = [random.randrange(1, shape[dimension]) for _ in range(2)]
    return roll_of(shape, dimension, amounts[0]), roll_of(
        shape, dimension, mixed(amounts[:1], amounts[1:])[0]
    )


def pair_case(first: Sharded, second: Sharded) -> Case:
    """A function of two ops with the same first operand, whose results are behind one barrier."""
    ops = first.case, second.case
    count = len(ops[0].arguments)
    arguments = (*ops[0].arguments, *ops[1].arguments[1:])
    bodies: list[str] = []
    for number, case in enumerate(ops):

        def name(found: re.Match[str], number: int = number) -> str:
            text = found[1]
            if text.isdigit():
                at = int(text)
                return f"%{at if not number or not at else count + at - 1}"
            return f"%{'pq'[number]}{text}"

        bodies.append(re.sub(r"%(\w+)", name, case.body))
    types = [tensor(op.op.result) for op in (first, second)]
    shardings = [sharding_text(op.result, op.mesh) for op in (first, second)]
    barrier = "%both:2 = stablehlo.optimization_barrier "
    barrier += f'{{mhlo.sharding = "{{{", ".join(shardings)}}}"}} %presult, %qresult : {", ".join(types)}\n'
    barrier += f'%result = stablehlo.negate %both#0 {{mhlo.sharding = "{shardings[0]}"}} : {types[0]}'
    return Case(arguments, "\n".join([*bodies, barrier]), ops[0].result)


def random_cases(
    seed: int, count: int, kinds: Sequence[str] = (), *, uneven: bool = False
) -> dict[Mesh, list[Case]]:
    """Pairs by mesh: the same op twice, the same kind with other parameters, or another kind."""
    random = Random(f"{seed} pairs {kinds}")
    found: dict[Mesh, list[Case]] = {mesh: [] for mesh in MESHES}
    while sum(map(len, found.values())) < count:
        mesh = random.choice(MESHES)
        shape = tuple(random.choice(UNEVEN_SIZES if uneven else SIZES) for _ in range(random.randint(1, 3)))
        kind = random.choice(kinds or (*MOVING, *ALIKE))
        if kind in ALIKE:
            pair = _sharded(random, mesh, *_alike(random, shape))
            assert pair is not None
            found[mesh].append(pair_case(*pair))
            continue
        one = KINDS[kind](random, shape)
        how = random.random()
        other = (
            one if how < 0.35 else KINDS[kind if how < 0.7 else random.choice(kinds or MOVING)](random, shape)
        )
        pair = _sharded(random, mesh, one, other)
        if pair is not None:
            found[mesh].append(pair_case(*pair))
    return found


def _sharded(random: Random, mesh: Mesh, one: Op, other: Op) -> tuple[Sharded, Sharded] | None:
    if one.operands[0] != other.operands[0]:
        return None
    source = random_sharding(random, mesh, len(one.operands[0]), 3)
    made: list[Sharded] = []
    for op in (one, other):
        rest = [random_sharding(random, mesh, len(shape), 3) for shape in op.operands[1:]]
        target = source if random.random() < 0.6 else random_sharding(random, mesh, len(op.result), 3)
        if len(target.dimensions) != len(op.result):
            target = random_sharding(random, mesh, len(op.result), 3)
        made.append(Sharded(mesh, op, (source, *rest), target))
    if random.random() < 0.3 and len(one.result) == len(other.result):
        made[1] = Sharded(mesh, other, made[1].operands, made[0].result)
    return made[0], made[1]


@releases.of(installed())
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=4)
    parser.add_argument("--kind", choices=(*KINDS, "alike"), action="append", default=[])
    parser.add_argument("--uneven", action="store_true")
    options = parser.parse_args()
    count, wrong = differing(random_cases(options.seed, options.sample, options.kind, uneven=options.uneven))
    for case, ours, theirs in wrong[: options.show]:
        print("\n".join(case.arguments), case.body, sep="\n")
        print(f"  planned: {_sent(ours)}\n  XLA: {_sent(theirs)}")
    print(f"{count - len(wrong)} of {count} pairs have equal bytes by kind")


def _sent(plan: CollectivePlan) -> str:
    return ", ".join(f"{each.kind} {each.group_size} {each.held_shape}" for each in plan.collectives)


if __name__ == "__main__":
    main()
