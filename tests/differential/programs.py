"""Wide random programs: those of `tests/propagation/random_programs.py` on any mesh, with more kinds of ops.

`wide_program(random)` takes all its chances from a `random.Random`, so a seed gives the same program always,
and Hypothesis, which brings a `Random` of its own, shrinks it. What a program computes means nothing.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.propagation.random_programs import (
    MAX_RANK,
    OPS,
    REGIONS,
    Axis,
    Shape,
    Value,
    _Maker,
    _Scope,
    tensor,
)

COMPARE = """({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %less = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  })"""


@dataclass(frozen=True)
class Width:
    """What a program may have.

    unreduced: how often a sharding has an unreduced axis. groups, calls, named: whether there are sharding
    groups, calls, named computations.
    """

    unreduced: float = 0.0
    groups: bool = True
    calls: bool = True
    named: bool = False


def wide_program(rng: random.Random, width: Width) -> str:
    """A module of functions that call each other, where nothing is dead."""
    return _WideMaker(rng, width).module(keeps_all=True)


class _WideMaker(_Maker):
    def __init__(self, rng: random.Random, width: Width) -> None:
        self.width = width
        self.functions: list[tuple[str, Shape]] = []
        super().__init__(rng)
        self.mesh = tuple((name, rng.choice((1, 2, 2, 2, 3, 4, 8))) for name in "abcd"[: rng.randint(1, 4)])
        self.groups: dict[Shape, int] = {}

    def module(self, *, keeps_all: bool) -> str:
        texts = [self.function(f"f{n}") for n in range(self.rng.randint(0, 2) if self.width.calls else 0)]
        self.lines = []
        return super().module(keeps_all=keeps_all) + "".join(texts)

    def function(self, name: str) -> str:
        """A private function from one tensor to one of the same shape."""
        shape = self.shape()
        self.lines = []
        scope = _Scope([(f"%x_{name}", shape)], self.mesh)
        for _ in range(self.rng.randint(1, 5)):
            self.add_any(scope)
        result = next(value for value, s in reversed(scope.values) if s == shape)
        self.functions.append((name, shape))
        head = f"func.func private @{name}(%x_{name}: {tensor(shape)}{self.place(shape, 0.3)})"
        gives = f"({tensor(shape)}{self.place(shape, 0.3)})"
        return "\n".join([f"{head} -> {gives} {{", *self.lines, f"  return {result} : {tensor(shape)}\n}}\n"])

    def sharding(self, rank: int, axes: tuple[Axis, ...]) -> str:
        text = super().sharding(rank, axes)
        free = [name for name, _ in axes if f'"{name}"' not in text]
        if free and self.chance(self.width.unreduced):
            return f'{text[:-1]}, unreduced={{"{self.rng.choice(free)}"}}>'
        return text

    def add_any(self, scope: _Scope) -> None:
        value = self.pick(scope)
        if value is None:
            return
        at_top = scope.indent == "  "
        table = OPS | MORE
        if at_top and self.has_regions:
            table = table | REGIONS
        if at_top and self.functions:
            table = table | {_WideMaker.call: 8}
        if at_top and self.width.groups:
            table = table | {_WideMaker.group: 4}
        if at_top and self.width.named:
            table = table | {_WideMaker.named: 5}
        self.rng.choices(list(table), list(table.values()))[0](self, scope, *value)

    def call(self, scope: _Scope, name: str, shape: Shape) -> None:
        function, taken = self.rng.choice(self.functions)
        value = self.pick(scope, taken.__eq__)
        if value is not None:
            type_ = f"({tensor(taken)}) -> {tensor(taken)}"
            self.add(scope, taken, f"func.call @{function}({value[0]})", type_)

    def named(self, scope: _Scope, name: str, shape: Shape) -> None:
        made, pad = self.name(), scope.indent
        argument = f"%n{self.count}"
        head = f'{made} = sdy.named_computation<"part{self.count}">({name}) ({argument}: {tensor(shape)})'
        self.lines.append(f"{pad}{head} {{")
        last = self.body([(argument, shape)], scope.axes, shape)
        self.lines.append(f"{pad}  sdy.return {last} : {tensor(shape)}")
        self.lines.append(f"{pad}}} : ({tensor(shape)}) -> {tensor(shape)}")
        scope.values.append((made, shape))

    def group(self, scope: _Scope, name: str, shape: Shape) -> None:
        number = self.groups.setdefault(shape, len(self.groups))
        self.lines.append(f"{scope.indent}sdy.sharding_group {name} group_id={number} : {tensor(shape)}")

    def concatenate(self, scope: _Scope, name: str, shape: Shape) -> None:
        other = self.pick(scope, shape.__eq__)
        assert other is not None
        at = self.rng.randrange(len(shape))
        to = (*shape[:at], 2 * shape[at], *shape[at + 1 :])
        types = f"({tensor(shape)}, {tensor(shape)}) -> {tensor(to)}"
        self.add(scope, to, f"stablehlo.concatenate {name}, {other[0]}, dim = {at}", types)

    def reverse(self, scope: _Scope, name: str, shape: Shape) -> None:
        at = self.rng.randrange(len(shape))
        self.add(scope, shape, f"stablehlo.reverse {name}, dims = [{at}]", tensor(shape))

    def sort(self, scope: _Scope, name: str, shape: Shape) -> None:
        at = self.rng.randrange(len(shape))
        made = self.name()
        op = f'"stablehlo.sort"({name}) <{{dimension = {at} : i64, is_stable = true}}> {COMPARE}'
        self.lines.append(f"{scope.indent}{made} = {op} : ({tensor(shape)}) -> {tensor(shape)}")
        scope.values.append((made, shape))

    def pad(self, scope: _Scope, name: str, shape: Shape) -> None:
        zero = self.name()
        self.lines.append(f"{scope.indent}{zero} = stablehlo.constant dense<0.0> : tensor<f32>")
        none, two = [0] * len(shape), [2] * len(shape)
        to = tuple(size + 2 for size in shape)
        op = f"stablehlo.pad {name}, {zero}, low = {none}, high = {two}, interior = {none}"
        self.add(scope, to, op, f"({tensor(shape)}, tensor<f32>) -> {tensor(to)}")

    def iota(self, scope: _Scope, name: str, shape: Shape) -> None:
        at = self.rng.randrange(len(shape))
        self.add(scope, shape, f"stablehlo.iota dim = {at}", tensor(shape))

    def constant(self, scope: _Scope, name: str, shape: Shape) -> None:
        self.add(scope, shape, "stablehlo.constant dense<1.0>", tensor(shape), has_attribute=False)

    def batched_dot(self, scope: _Scope, name: str, shape: Shape) -> None:
        def fits(other: Shape) -> bool:
            return len(other) == len(shape) and other[0] == shape[0] and other[1] == shape[-1]

        other = self.pick(scope, fits) if 1 < len(shape) < MAX_RANK else None
        if other is None:
            return
        last = len(shape) - 1
        to = (*shape[:-1], *other[1][2:])
        op = f"stablehlo.dot_general {name}, {other[0]}, batching_dims = [0] x [0], "
        op += f"contracting_dims = [{last}] x [1]"
        if last > 1 and len(to) <= MAX_RANK:
            self.add(scope, to, op, f"({tensor(shape)}, {tensor(other[1])}) -> {tensor(to)}")


MORE = {
    _WideMaker.concatenate: 5,
    _WideMaker.reverse: 2,
    _WideMaker.sort: 2,
    _WideMaker.pad: 3,
    _WideMaker.iota: 3,
    _WideMaker.constant: 3,
    _WideMaker.batched_dot: 4,
}
"""What is added besides, by weight."""

__all__ = ["Value", "Width", "wide_program"]
