"""Products by the planner and by XLA: `python -m tests.xla.spmd.dots [--sample N] [--seed S] [--all]`.

All pairs of shardings of the operands along two axes, in several shapes and meshes; the result is sharded as
Shardy propagates. Prints the share of products whose bytes are equal, and the exceptions by kind.
`--all` adds dimensions sharded along both axes; `--results` shards the result in all these ways too.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from shardy_py.base import releases
from shardy_py.xla.spmd.dots import Product, ProductDimensions, dot
from shardy_py.xla.spmd.model import CollectivePlan
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.reshard import reshard
from shardy_py.xla.spmd.tiling import Tiling
from tests.xla.spmd.compiled import Case, Hlo, installed, module_of, partitioned, tilings_of

MESHES = ((4, 2), (2, 4), (1, 8))
SHAPES = (
    (64, 128, 32),
    (2048, 64, 64),
    (64, 2048, 64),
    (64, 64, 2048),
    (1024, 1024, 16),
    (16, 1024, 1024),
    (30, 64, 50),
    (8, 8, 8),
)
FEW = (
    "[{}, {}]",
    '[{"x"}, {}]',
    '[{}, {"x"}]',
    '[{"y"}, {}]',
    '[{}, {"y"}]',
    '[{"x"}, {"y"}]',
    '[{"y"}, {"x"}]',
)
BOTH = ('[{"x", "y"}, {}]', '[{"y", "x"}, {}]', '[{}, {"x", "y"}]', '[{}, {"y", "x"}]')
OPEN = "[{?}, {?}]"


@dataclass(frozen=True)
class Matmul:
    """One product: sizes of the mesh, sizes of the dimensions m, k, n, and shardings."""

    mesh: tuple[int, int]
    shape: tuple[int, int, int]
    lhs: str
    rhs: str
    result: str = OPEN

    @property
    def case(self) -> Case:
        m, k, n = self.shape
        types = [f"tensor<{m}x{k}xf32>", f"tensor<{k}x{n}xf32>", f"tensor<{m}x{n}xf32>"]
        dot_general = f"%result = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : ({types[0]}, {types[1]}) -> {types[2]}"  # noqa: E501
        lhs, rhs, result = (
            f"{type_} {{sdy.sharding = #sdy.sharding<@mesh, {sharding}>}}"
            for type_, sharding in zip(types, (self.lhs, self.rhs, self.result), strict=True)
        )
        return Case((lhs, rhs), dot_general, result)


def planned(case: Matmul, tilings: Sequence[Tiling]) -> CollectivePlan:
    """The plan for operands, product and result of these tilings; products forget axes."""
    *tilings, result = *(tiling.by(None) for tiling in tilings[:3]), tilings[3]
    m, k, n = case.shape
    matmul = ProductDimensions.of_dot(2, 2, contracting=((1,), (0,)))
    lhs, rhs = (HeldTensor.of(s, t, "f32") for s, t in zip(((m, k), (k, n)), tilings[:2], strict=True))
    found = dot(Product(matmul, lhs, rhs, (m, n), tilings[2], "f32"))
    return CollectivePlan(reshard(found, result).collectives)


def compared(
    cases: Sequence[Matmul], per_module: int = 100
) -> list[tuple[Matmul, CollectivePlan, CollectivePlan]]:
    """Each case with its plan and what XLA emits."""
    found: list[tuple[Matmul, CollectivePlan, CollectivePlan]] = []
    by_mesh: dict[tuple[int, int], list[Matmul]] = {}
    for case in cases:
        by_mesh.setdefault(case.mesh, []).append(case)
    for (x, y), alike in by_mesh.items():
        mesh = f'sdy.mesh @mesh = <["x"={x}, "y"={y}]>'
        chunks = [alike[start : start + per_module] for start in range(0, len(alike), per_module)]
        modules = partitioned([module_of(mesh, [case.case for case in chunk]) for chunk in chunks], x * y)
        for chunk, module in zip(chunks, modules, strict=True):
            assert module.after, module.log
            before, after = Hlo(module.before), Hlo(module.after)
            for number, case in enumerate(chunk):
                plan = planned(case, tilings_of(before, number, x * y))
                found.append((case, plan, CollectivePlan(tuple(after.collectives(after.results[number])))))
    return found


def all_cases(*, both: bool = False, results: bool = False) -> list[Matmul]:
    shardings = FEW + BOTH if both else FEW
    wanted = shardings if results else (OPEN,)
    return [Matmul(*each) for each in product(MESHES, SHAPES, shardings, shardings, wanted)]


@releases.of(installed())
def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--results", action="store_true")
    parser.add_argument("--show", type=int, default=20)
    options = parser.parse_args()
    cases = all_cases(both=options.all, results=options.results)
    if options.sample:
        cases = random.Random(options.seed).sample(cases, options.sample)
    found = compared(cases)
    wrong = [(case, ours, theirs) for case, ours, theirs in found if ours.bytes != theirs.bytes]
    kinds = sum(ours.bytes_by_kind == theirs.bytes_by_kind for _, ours, theirs in found)
    print(f"{len(found)} products: bytes equal in {len(found) - len(wrong)}, by kind in {kinds}")
    groups = Counter((_kinds(ours), _kinds(theirs)) for _, ours, theirs in wrong)
    for (ours, theirs), count in groups.most_common():
        print(f"{count:5} planned {ours or '-'}; XLA {theirs or '-'}")
    for case, ours, theirs in wrong[: options.show]:
        print(case, _text(ours), "XLA:", _text(theirs), sep="\n  ")


def _kinds(plan: CollectivePlan) -> str:
    return ", ".join(each.kind for each in plan.collectives)


def _text(plan: CollectivePlan) -> str:
    return ", ".join(f"{each.kind} {each.group_size} {each.held_shape}" for each in plan.collectives)


if __name__ == "__main__":
    main()
