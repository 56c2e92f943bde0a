"""Random programs of reshards, each a function from one random sharding to another on one random mesh.

A seed gives the same program always. Sub-axes are parts of a random splitting of their axis, so that all of a
program can stand together.
"""

from __future__ import annotations

import random
import re

MIXED = (2, 2, 3, 4, 4, 6, 8, 12)
POWERS = (2, 2, 4, 8)


class ReshardProgram:
    """One random program.

    sizes: what axis sizes are taken from.
    """

    def __init__(self, seed: int, sizes: tuple[int, ...] = POWERS, functions: int = 12) -> None:
        """Everything random comes from `seed`."""
        self._random = random.Random(seed)
        self._sizes = [self._random.choice(sizes) for _ in range(self._random.randint(1, 4))]
        self._cuts = {name: self._chain(size) for name, size in self._axes}
        self._functions = functions
        # Behind a barrier C++ Shardy reads the sharding of a reshard that is gone; its mesh may be wrong.
        self._has_barriers = self._random.random() < 0.3

    def text(self) -> str:
        """The module."""
        axes = ", ".join(f'"{name}"={size}' for name, size in self._axes)
        count = 1
        for size in self._sizes:
            count *= size
        ids = ", ".join(map(str, reversed(range(count))))
        meshes = f"sdy.mesh @mesh = <[{axes}]>\nsdy.mesh @turned = <[{axes}], device_ids=[{ids}]>\n"
        return meshes + "".join(map(self._function, range(self._functions)))

    @property
    def _axes(self) -> list[tuple[str, int]]:
        return list(zip("wxyz", self._sizes, strict=False))

    def _function(self, number: int) -> str:
        rank = self._random.randint(1, 4)
        shape = [self._random.choice((16, 48, 144, 5, 96)) for _ in range(rank)]
        tensor = f"tensor<{'x'.join(map(str, shape))}xf32>"
        name, source = f"@f{number}", self._sharding(rank)
        argument = f"%arg0: {tensor}"
        if self._random.random() < 0.9:
            argument += f" {{sdy.sharding = #sdy.sharding{source}}}"
        barrier, made = "", "%0"
        if self._has_barriers:
            barrier = f"  %b = sdy.propagation_barrier %0 allowed_direction=NONE : {tensor}\n"
            made = "%b"
        first = f"  %0 = sdy.reshard %arg0 {self._sharding(rank)} : {tensor}\n"
        second = f"  %1 = sdy.reshard {made} {self._sharding(rank)} : {tensor}\n"
        body = f"{first}{barrier}{second}"
        return f"func.func {name}({argument}) -> {tensor} {{\n{body}  return %1 : {tensor}\n}}\n"

    def _sharding(self, rank: int) -> str:
        parts = [part for name, size in self._axes for part in self._split(name, size)]
        self._random.shuffle(parts)
        dimensions: list[list[str]] = [[] for _ in range(rank)]
        for part in parts:
            if self._random.random() < 0.8:
                self._random.choice(dimensions).append(part)
        mesh = "mesh" if self._has_barriers else self._random.choice(("mesh", "mesh", "mesh", "turned"))
        text = ", ".join("{" + ", ".join([*axes, *self._open()]) + "}" for axes in dimensions)
        # The two parts of an axis side by side are spelled as the axis.
        text = re.sub(r'"(.)":\(1\)(\d+), "\1":\(\2\)\d+', r'"\1"', text)
        return f"<@{mesh}, [{text}]>"

    def _open(self) -> list[str]:
        return ["?"] if self._random.random() < 0.1 else []

    def _split(self, name: str, size: int) -> list[str]:
        """The axis whole, or as two sub-axes, or only one of them."""
        if not self._cuts[name] or self._random.random() < 0.6:
            return [f'"{name}"']
        cut = self._random.choice(self._cuts[name])
        parts = [f'"{name}":(1){cut}', f'"{name}":({cut}){size // cut}']
        return parts if self._random.random() < 0.5 else [self._random.choice(parts)]

    def _chain(self, size: int) -> list[int]:
        """Divisors that each divide the next."""
        chain = [1]
        while chain[-1] < size:
            chain.append(
                self._random.choice(
                    [d for d in range(chain[-1] + 1, size + 1) if not (size % d or d % chain[-1])]
                )
            )
        return chain[1:-1]
