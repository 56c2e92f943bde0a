"""Random reshards, as planned and as XLA partitions them: `python -m tests.xla.spmd.reshards --sample 300`.

Prints the share of equal bytes by kind, and the reshards that differ.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from shardy_py.base import releases
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, TensorSharding
from shardy_py.xla.spmd.model import CollectivePlan
from shardy_py.xla.spmd.movement import elementwise
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.reshard import replicated, reshard
from shardy_py.xla.spmd.tiling import Tiling
from tests.xla.spmd.compiled import Case, collectives_of, installed, sent_by_kind

MESHES = (Mesh.of(x=4, y=2), Mesh.of(x=2, y=2, z=2), Mesh.of(x=2, y=4))


@dataclass(frozen=True)
class Pair:
    """A reshard of a tensor from a sharding to another."""

    mesh: Mesh
    shape: tuple[int, ...]
    source: TensorSharding
    target: TensorSharding

    @property
    def plan(self) -> CollectivePlan:
        """What the planner sends."""
        moved = elementwise([self.moved], "f32", self.moved.tiling)  # a constraint is an op
        return CollectivePlan((moved if self.is_even else replicated(moved)).collectives)

    @property
    def moved(self) -> HeldTensor:
        """The tensor after the reshard."""
        value = HeldTensor.of(self.shape, Tiling.of_sharding(self.source, self.mesh), "f32")
        return reshard(value, Tiling.of_sharding(self.target, self.mesh))

    @property
    def is_even(self) -> bool:
        """Returns whether all tiles are equally large; only then arguments and results can be sharded."""
        tilings = (Tiling.of_sharding(sharding, self.mesh) for sharding in (self.source, self.target))
        return all(tiling.is_even(self.shape) for tiling in tilings)

    @property
    def case(self) -> Case:
        """The reshard as a function; where it is uneven, from and to whole tensors."""
        tensor = f"tensor<{'x'.join(map(str, self.shape))}xf32>"
        body = f"%result = sdy.sharding_constraint %0 {self.target} : {tensor}"
        ends = (self.source, self.target)
        if not self.is_even:
            body = f"%source = sdy.sharding_constraint %0 {self.source} : {tensor}\n"
            body += f"%result = sdy.sharding_constraint %source {self.target} : {tensor}"
            ends = (TensorSharding("mesh", (DimensionSharding((), is_closed=True),) * len(self.shape)),) * 2
        argument, result = (f"{tensor} {{sdy.sharding = #sdy.sharding{sharding}}}" for sharding in ends)
        return Case((argument,), body, result)

    def __str__(self) -> str:
        sizes = {axis.name: axis.size for axis in self.mesh.axes}
        return f"{sizes} {self.shape} {self.source} -> {self.target}"


def random_pairs(seed: int, count: int, *, uneven: bool = False, axes: int = 2) -> list[Pair]:
    """Reshards of tensors of rank 1 to 4 between different shardings along at most `axes` axes each."""
    random = Random(seed)
    pairs: list[Pair] = []
    while len(pairs) < count:
        mesh = random.choice(MESHES)
        rank = random.randint(1, 4)
        sizes = (3, 5, 6, 9, 12, 14, 24, 30) if uneven else (16, 32, 64)
        shape = tuple(random.choice(sizes) for _ in range(rank))
        source, target = (random_sharding(random, mesh, rank, axes) for _ in range(2))
        if source != target:
            pairs.append(Pair(mesh, shape, source, target))
    return pairs


def random_sharding(random: Random, mesh: Mesh, rank: int, most: int) -> TensorSharding:
    """A closed sharding along at most `most` axes."""
    names = random.sample([axis.name for axis in mesh.axes], k=min(len(mesh.axes), random.randint(1, most)))
    dimensions: list[list[AxisRef]] = [[] for _ in range(rank)]
    for name in names:
        random.choice(dimensions).append(AxisRef(name))
    return TensorSharding(
        "mesh", tuple(DimensionSharding(tuple(axes), is_closed=True) for axes in dimensions)
    )


def mesh_text(mesh: Mesh) -> str:
    """The mesh as an op."""
    return f"sdy.mesh @mesh = {mesh}"


def differing(pairs: Sequence[Pair]) -> list[str]:
    """A line for each reshard whose bytes by kind are not those of XLA."""
    found: list[str] = []
    for mesh in MESHES:
        group = [pair for pair in pairs if pair.mesh == mesh]
        if not group:
            continue
        compiled = collectives_of(mesh_text(mesh), [pair.case for pair in group], mesh.device_count)
        for pair, real in zip(group, compiled, strict=True):
            assert real is not None, pair
            planned, sent = sent_by_kind(pair.plan.collectives), sent_by_kind(real)
            if +planned != +sent:
                found.append(f"{pair}: planned {dict(planned)}, sent {dict(sent)}")
    return found


@releases.of(installed())
def main() -> None:
    """Compares a sample and prints it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--axes", type=int, default=2)
    parser.add_argument("--uneven", action="store_true")
    options = parser.parse_args()
    pairs = random_pairs(options.seed, options.sample, uneven=options.uneven, axes=options.axes)
    found = differing(pairs)
    print("\n".join(found))
    print(f"{len(pairs) - len(found)} of {len(pairs)} reshards have equal bytes by kind")


if __name__ == "__main__":
    main()
