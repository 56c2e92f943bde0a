"""Random programs whose values have random shardings, for comparing what is inserted between them.

What a program computes means nothing; dimensions are powers of two or close to them. A seed gives the same
program always.
"""

from __future__ import annotations

import random
from math import prod

Shape = tuple[int, ...]

AXES = ("x", "y", "z")
MESHES = """sdy.mesh @mesh = <["x"=4, "y"=2, "z"=2]>
sdy.mesh @turned = <["x"=4, "y"=2, "z"=2], device_ids=[15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]>
"""
COMPARE = """({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %q = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  })"""


def type_of(shape: Shape) -> str:
    return f"tensor<{'x'.join([*map(str, shape), 'f32'])}>"


class ShardedProgram:
    """One random program.

    unreduced: how often a sharding has an unreduced axis; all shardings are on one mesh then.
    """

    def __init__(self, seed: int, unreduced: float = 0.0) -> None:
        """Everything random comes from `seed`."""
        self.random = random.Random(seed)
        self.unreduced = unreduced
        self.lines = ["%zero = stablehlo.constant dense<0.0> : tensor<f32>"]
        self.values: list[tuple[str, Shape]] = []

    def text(self) -> str:
        """The module."""
        arguments: list[str] = []
        for number in range(4):
            shape = self.random.choice([(8, 8), (16, 8), (8, 4, 2), (8,)])
            self.values.append((f"%arg{number}", shape))
            arguments.append(f"%arg{number}: {type_of(shape)}{self.value_attributes(shape)}")
        for _ in range(self.random.randint(2, 8)):
            self.add_op()
        returned = self.values[-3:]
        results = [type_of(shape) + self.value_attributes(shape) for _, shape in returned]
        types = ", ".join(type_of(shape) for _, shape in returned)
        body = "\n  ".join([*self.lines, f"return {', '.join(name for name, _ in returned)} : {types}"])
        return f"{MESHES}func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{\n  {body}\n}}\n"

    def sharding(self, shape: Shape) -> str:
        """A sharding that uses each axis at most once, whole or half of it."""
        free = list(AXES)
        self.random.shuffle(free)
        dimensions: list[str] = []
        for _ in shape:
            axes: list[str] = []
            while free and self.random.random() < 0.45:
                name = free.pop()
                half = name == "x" and self.random.random() < 0.3
                axes.append(f'"{name}"' + (self.random.choice([":(1)2", ":(2)2"]) if half else ""))
            dimensions.append(f"{{{', '.join(axes)}}}")
        mesh = "turned" if not self.unreduced and self.random.random() < 0.07 else "mesh"
        rest = ""
        if free and self.random.random() < self.unreduced:
            rest = f', unreduced={{"{free[0]}"}}'
        return f"<@{mesh}, [{', '.join(dimensions)}]{rest}>"

    def value_attributes(self, shape: Shape) -> str:
        if self.random.random() < 0.2:
            return ""
        return f" {{sdy.sharding = #sdy.sharding{self.sharding(shape)}}}"

    def op_attributes(self, shape: Shape) -> str:
        if self.random.random() < 0.15:
            return ""
        return f" {{sdy.sharding = #sdy.sharding_per_value<[{self.sharding(shape)}]>}}"

    def add_op(self) -> None:
        value, shape = self.random.choice(self.values)
        kinds = [self.add, self.negate, self.transpose, self.reduce, self.reshape, self.dot]
        kinds += [self.concatenate, self.slice, self.broadcast, self.sort, self.pad]
        self.random.choice(kinds)(value, shape)

    def emit(self, words: str, shape: Shape, types: str) -> None:
        """A line `%v = stablehlo.WORDS {sharding} : types`."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {words}{self.op_attributes(shape)} : {types}")
        self.values.append((name, shape))

    def other_of(self, shape: Shape) -> str:
        return self.random.choice([name for name, other in self.values if other == shape])

    def add(self, value: str, shape: Shape) -> None:
        self.emit(f"stablehlo.add {value}, {self.other_of(shape)}", shape, type_of(shape))

    def negate(self, value: str, shape: Shape) -> None:
        self.emit(f"stablehlo.negate {value}", shape, type_of(shape))

    def transpose(self, value: str, shape: Shape) -> None:
        order = list(range(len(shape)))
        self.random.shuffle(order)
        result = tuple(shape[d] for d in order)
        types = f"({type_of(shape)}) -> {type_of(result)}"
        self.emit(f"stablehlo.transpose {value}, dims = {order}", result, types)

    def reduce(self, value: str, shape: Shape) -> None:
        gone = sorted(self.random.sample(range(len(shape)), self.random.randint(0, len(shape) - 1)))
        result = tuple(size for d, size in enumerate(shape) if d not in gone)
        words = f"stablehlo.reduce({value} init: %zero) applies stablehlo.add across dimensions = {gone}"
        self.emit(words, result, f"({type_of(shape)}, tensor<f32>) -> {type_of(result)}")

    def reshape(self, value: str, shape: Shape) -> None:
        count = prod(shape)
        shapes = [(count,), (8, count // 8), (count // 8, 8), (4, 2, count // 8), (2, count // 2)]
        result = self.random.choice([s for s in shapes if prod(s) == count])
        self.emit(f"stablehlo.reshape {value}", result, f"({type_of(shape)}) -> {type_of(result)}")

    def dot(self, value: str, shape: Shape) -> None:
        fitting = [(n, s) for n, s in self.values if len(s) == 2 and len(shape) == 2 and s[0] == shape[1]]
        if not fitting:
            self.negate(value, shape)
            return
        other, other_shape = self.random.choice(fitting)
        result = (shape[0], other_shape[1])
        types = f"({type_of(shape)}, {type_of(other_shape)}) -> {type_of(result)}"
        self.emit(f"stablehlo.dot {value}, {other}", result, types)

    def concatenate(self, value: str, shape: Shape) -> None:
        along = self.random.randrange(len(shape))
        result = tuple(size * 2 if d == along else size for d, size in enumerate(shape))
        words = f"stablehlo.concatenate {value}, {self.other_of(shape)}, dim = {along}"
        self.emit(words, result, f"({type_of(shape)}, {type_of(shape)}) -> {type_of(result)}")

    def slice(self, value: str, shape: Shape) -> None:
        result = tuple(max(1, size // 2) for size in shape)
        ranges = ", ".join(f"0:{size}" for size in result)
        types = f"({type_of(shape)}) -> {type_of(result)}"
        self.emit(f"stablehlo.slice {value} [{ranges}]", result, types)

    def broadcast(self, value: str, shape: Shape) -> None:
        result = (4, *shape)
        dims = [d + 1 for d in range(len(shape))]
        types = f"({type_of(shape)}) -> {type_of(result)}"
        self.emit(f"stablehlo.broadcast_in_dim {value}, dims = {dims}", result, types)

    def sort(self, value: str, shape: Shape) -> None:
        along = self.random.randrange(len(shape))
        words = f'"stablehlo.sort"({value}) <{{dimension = {along} : i64, is_stable = true}}> {COMPARE}'
        self.emit(words, shape, f"({type_of(shape)}) -> {type_of(shape)}")

    def pad(self, value: str, shape: Shape) -> None:
        zeros, twos = [0] * len(shape), [2] * len(shape)
        result = tuple(size + 2 for size in shape)
        words = f"stablehlo.pad {value}, %zero, low = {zeros}, high = {twos}, interior = {zeros}"
        self.emit(words, result, f"({type_of(shape)}, tensor<f32>) -> {type_of(result)}")
