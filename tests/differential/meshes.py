"""Random meshes and shardings as text: sub-axes, priorities, open and closed dimensions, replicated and
unreduced axes, orders of devices, a second and a maximal mesh."""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import prod

Axis = tuple[str, int]
MeshText = tuple[Axis, ...]
MOST_DEVICES = 16
"""Of programs that run."""


@dataclass(frozen=True)
class Width:
    """What a program may have, and how often.

    unreduced, replicated: how often a sharding has such an axis. annotated: how often an op has a sharding.
    closed: how often a dimension is closed. groups, calls, named, meshes: whether there are sharding groups,
    calls, named computations, and meshes besides the first. ops: the most that main has. runs: whether the
    program can run, on 16 devices at most: no unknown custom calls, loops that iterate and branches that are
    taken. empty: whether some dimensions have size 0, for which many ops are invalid.
    """

    unreduced: float = 0.0
    annotated: float = 0.15
    closed: float = 0.3
    replicated: float = 0.25
    groups: bool = True
    calls: bool = True
    named: bool = False
    meshes: bool = True
    regions: bool = True
    runs: bool = False
    ops: int = 30
    empty: bool = False


class ShardingWriter:
    """The meshes of a program and shardings on them."""

    def __init__(self, rng: random.Random, width: Width) -> None:
        """Chooses the meshes."""
        self.rng, self.width = rng, width
        self.mesh: MeshText = tuple(
            (n, rng.choice((1, 2, 2, 2, 3, 4, 8))) for n in "abcd"[: rng.randint(1, 4)]
        )
        while width.runs and prod(size for _, size in self.mesh) > MOST_DEVICES:
            self.mesh = self.mesh[:-1]
        self.has_priorities = self.chance(0.4)
        self.has_device_ids = self.chance(0.25)
        self.second = width.meshes and self.chance(0.2)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def declarations(self) -> str:
        """The mesh ops: `@mesh`, and by chance `@turned`, of the same axes, and `@maximal`."""
        axes = ", ".join(f'"{name}"={size}' for name, size in self.mesh)
        turned = list(reversed(range(prod(size for _, size in self.mesh))))
        ids = f", device_ids={turned}" if len(turned) > 1 else ""
        texts = [f"sdy.mesh @mesh = <[{axes}]{ids if self.has_device_ids else ''}>"]
        if self.second:
            texts.append(f"sdy.mesh @turned = <[{axes}]{'' if self.has_device_ids else ids}>")
            texts.append("sdy.mesh @maximal = <[], device_ids=[0]>")
        return "\n".join(texts)

    def text(
        self, rank: int, axes: MeshText, *, may_be_unreduced: bool = True, has_priorities: bool = True
    ) -> str:
        """A sharding by some of `axes`, some of them in part: `<@mesh, [{"a"}, {?}]>`."""
        mesh = "mesh"
        if self.second and axes == self.mesh and self.chance(0.07):
            mesh = "turned"
        parts = [part for axis in self.rng.sample(axes, len(axes)) for part in self.parts(axis)]
        dimensions: list[list[str]] = [[] for _ in range(rank)]
        for part in parts if rank else ():
            dimension = self.rng.choice(dimensions)
            follows = dimension and dimension[-1].split(":")[0] == part.split(":")[0]
            if self.chance(0.45) and not follows:
                dimension.append(part)
        used = {part.split(":")[0] for dimension in dimensions for part in dimension}
        free = [f'"{name}"' for name, _ in axes if f'"{name}"' not in used]
        rest = ""
        if free and self.chance(self.width.replicated):
            rest += f", replicated={{{free.pop(self.rng.randrange(len(free)))}}}"
        if free and may_be_unreduced and self.width.unreduced and self.chance(self.width.unreduced):
            rest += f", unreduced={{{self.rng.choice(free)}}}"
        return f"<@{mesh}, [{', '.join(self.dimension(d, has_priorities) for d in dimensions)}]{rest}>"

    def parts(self, axis: Axis) -> list[str]:
        name, size = axis
        if size in (4, 8) and self.chance(0.3):
            return [f'"{name}":(1)2', f'"{name}":(2){size // 2}'][: self.rng.randint(1, 2)]
        return [f'"{name}"']

    def dimension(self, axes: list[str], has_priorities: bool) -> str:
        is_open = not self.chance(self.width.closed)
        priority = (
            f"p{self.rng.randrange(3)}" if has_priorities and self.has_priorities and self.chance(0.4) else ""
        )
        if not axes and not is_open:
            priority = ""
        return "{" + ", ".join([*axes, "?"] if is_open else axes) + "}" + priority
