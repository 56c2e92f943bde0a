"""Random programs with shardings, for comparison with the reference: `random_program(seed)`.

Shapes are small, so that axes often do not fit; values are reused often, so that steps compete.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

Shape = tuple[int, ...]
Value = tuple[str, Shape]
Axis = tuple[str, int]

MESHES: tuple[tuple[Axis, ...], ...] = (
    (("a", 2), ("b", 2)),
    (("a", 2), ("b", 4)),
    (("a", 4), ("b", 2), ("c", 3)),
    (("a", 8), ("b", 2), ("c", 2)),
)
SIZES = ((4, 8), (8, 16), (4, 6, 8), (3, 8, 12), (2, 4, 24))
MAX_RANK = 4


def random_program(seed: int, *, keeps_all: bool = False) -> str:
    """A module with one function; `keeps_all`: it returns what nothing else uses, so that nothing is dead."""
    return _Maker(random.Random(seed)).module(keeps_all=keeps_all)


def tensor(shape: Shape) -> str:
    return "tensor<" + "".join(f"{size}x" for size in shape) + "f32>"


@dataclass
class _Scope:
    """Where ops are added: the values in reach, the axes that may be used, the indentation."""

    values: list[Value]
    axes: tuple[Axis, ...]
    indent: str = "  "


@dataclass
class _Maker:
    rng: random.Random
    lines: list[str] = field(default_factory=list[str])
    uses: set[str] = field(default_factory=set[str])
    count: int = 0

    def __post_init__(self) -> None:
        self.mesh = self.rng.choice(MESHES)
        self.sizes = self.rng.choice(SIZES)
        self.has_priorities = self.chance(0.4)
        self.has_regions = self.chance(0.5)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def module(self, *, keeps_all: bool) -> str:
        arguments = [(f"%arg{i}", self.shape()) for i in range(self.rng.randint(1, 4))]
        scope = _Scope(list(arguments), self.mesh)
        for _ in range(self.rng.randint(4, 30)):
            self.add_any(scope)
        results = [self.rng.choice(scope.values[-8:]) for _ in range(self.rng.randint(1, 3))]
        if keeps_all:
            results += [v for v in scope.values if v[0] not in self.uses and v not in results]
        takes = ", ".join(f"{n}: {tensor(s)}{self.place(s, 0.6)}" for n, s in arguments)
        gives = ", ".join(tensor(s) + self.place(s, 0.3) for _, s in results)
        mesh = ", ".join(f'"{name}"={size}' for name, size in self.mesh)
        body = "\n".join(self.lines)
        names, types = ", ".join(n for n, _ in results), ", ".join(tensor(s) for _, s in results)
        head = f"sdy.mesh @mesh = <[{mesh}]>\nfunc.func @main({takes}) -> ({gives}) {{"
        return f"{head}\n{body}\n  return {names} : {types}\n}}\n"

    def shape(self) -> Shape:
        return tuple(self.rng.choice(self.sizes) for _ in range(self.rng.randint(1, 3)))

    def place(self, shape: Shape, probability: float) -> str:
        if not self.chance(probability):
            return ""
        return f" {{sdy.sharding = #sdy.sharding{self.sharding(len(shape), self.mesh)}}}"

    def sharding(self, rank: int, axes: tuple[Axis, ...]) -> str:
        """A sharding by some of `axes`, some of them in part."""
        parts = [part for axis in self.rng.sample(axes, len(axes)) for part in self.parts(axis)]
        dimensions: list[list[str]] = [[] for _ in range(rank)]
        for part in parts if rank else ():
            dimension = self.rng.choice(dimensions)
            follows = dimension and dimension[-1].split(":")[0] == part.split(":")[0]
            if self.chance(0.45) and not follows:
                dimension.append(part)
        used = {part.split(":")[0] for dimension in dimensions for part in dimension}
        free = [f'"{name}"' for name, _ in axes if f'"{name}"' not in used]
        replicated = f", replicated={{{self.rng.choice(free)}}}" if free and self.chance(0.25) else ""
        return f"<@mesh, [{', '.join(map(self.dimension, dimensions))}]{replicated}>"

    def parts(self, axis: Axis) -> list[str]:
        name, size = axis
        if size in (4, 8) and self.chance(0.3):
            return [f'"{name}":(1)2', f'"{name}":(2){size // 2}'][: self.rng.randint(1, 2)]
        return [f'"{name}"']

    def dimension(self, axes: list[str]) -> str:
        is_open = self.chance(0.7)
        priority = f"p{self.rng.randrange(3)}" if self.has_priorities and self.chance(0.4) else ""
        if not axes and not is_open:
            priority = ""
        return "{" + ", ".join([*axes, "?"] if is_open else axes) + "}" + priority

    def pick(self, scope: _Scope, wanted: Callable[[Shape], bool] = bool) -> Value | None:
        """A value, more often a late one; None if none is as wanted."""
        found = [value for value in scope.values if wanted(value[1])]
        if not found:
            return None
        value = self.rng.choice(found[-6:] if self.chance(0.7) else found)
        self.uses.add(value[0])
        return value

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def add(self, scope: _Scope, shape: Shape, op: str, type_: str, *, has_attribute: bool = True) -> None:
        name = self.name()
        attribute = ""
        if has_attribute and self.chance(0.15):
            sharding = self.sharding(len(shape), scope.axes)
            attribute = f" {{sdy.sharding = #sdy.sharding_per_value<[{sharding}]>}}"
        self.lines.append(f"{scope.indent}{name} = {op}{attribute} : {type_}")
        scope.values.append((name, shape))

    def add_any(self, scope: _Scope) -> None:
        value = self.pick(scope)
        if value is None:
            return
        regions = REGIONS if self.has_regions and scope.indent == "  " else {}
        table = OPS | regions
        self.rng.choices(list(table), list(table.values()))[0](self, scope, *value)

    def elementwise(self, scope: _Scope, name: str, shape: Shape) -> None:
        if self.chance(0.4):
            op = self.rng.choice(("tanh", "negate", "exponential"))
            self.add(scope, shape, f"stablehlo.{op} {name}", tensor(shape))
            return
        other = self.pick(scope, shape.__eq__)
        assert other is not None
        op = self.rng.choice(("add", "multiply"))
        self.add(scope, shape, f"stablehlo.{op} {name}, {other[0]}", tensor(shape))

    def transpose(self, scope: _Scope, name: str, shape: Shape) -> None:
        order = self.rng.sample(range(len(shape)), len(shape))
        to = tuple(shape[i] for i in order)
        self.add(
            scope, to, f"stablehlo.transpose {name}, dims = {order}", f"({tensor(shape)}) -> {tensor(to)}"
        )

    def reshape(self, scope: _Scope, name: str, shape: Shape) -> None:
        at = self.rng.randrange(len(shape))
        divisors = [d for d in (2, 3, 4) if shape[at] % d == 0 and shape[at] > d]
        if at + 1 < len(shape) and self.chance(0.5):
            to = (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :])
        elif divisors and len(shape) < MAX_RANK:
            d = self.rng.choice(divisors)
            pair = self.rng.sample((d, shape[at] // d), 2)
            to = (*shape[:at], *pair, *shape[at + 1 :])
        else:
            return
        self.add(scope, to, f"stablehlo.reshape {name}", f"({tensor(shape)}) -> {tensor(to)}")

    def dot(self, scope: _Scope, name: str, shape: Shape) -> None:
        other = self.pick(scope, lambda s: s[:1] == shape[-1:] and len(shape) + len(s) - 2 <= MAX_RANK)
        if other is None:
            return
        to = shape[:-1] + other[1][1:]
        op = f"stablehlo.dot_general {name}, {other[0]}, contracting_dims = [{len(shape) - 1}] x [0]"
        self.add(scope, to, op, f"({tensor(shape)}, {tensor(other[1])}) -> {tensor(to)}")

    def broadcast(self, scope: _Scope, name: str, shape: Shape) -> None:
        if len(shape) == MAX_RANK:
            return
        at = self.rng.randint(0, len(shape))
        to = (*shape[:at], self.rng.choice(self.sizes), *shape[at:])
        dims = [i for i in range(len(to)) if i != at]
        op = f"stablehlo.broadcast_in_dim {name}, dims = {dims}"
        self.add(scope, to, op, f"({tensor(shape)}) -> {tensor(to)}")

    def reduce(self, scope: _Scope, name: str, shape: Shape) -> None:
        at = self.rng.randrange(len(shape))
        zero = self.name()
        self.lines.append(f"{scope.indent}{zero} = stablehlo.constant dense<0.0> : tensor<f32>")
        to = shape[:at] + shape[at + 1 :]
        op = f"stablehlo.reduce({name} init: {zero}) applies stablehlo.add across dimensions = [{at}]"
        self.add(scope, to, op, f"({tensor(shape)}, tensor<f32>) -> {tensor(to)}")

    def slice(self, scope: _Scope, name: str, shape: Shape) -> None:
        at = self.rng.randrange(len(shape))
        to = (*shape[:at], max(1, shape[at] // 2), *shape[at + 1 :])
        if self.chance(0.6):
            limits = ", ".join(f"0:{size}" for size in to)
            self.add(scope, to, f"stablehlo.slice {name} [{limits}]", f"({tensor(shape)}) -> {tensor(to)}")
            return
        zero = self.zero(scope)
        places = ", ".join([zero] * len(shape))
        types = ", ".join([tensor(shape), *["tensor<i32>"] * len(shape)])
        op = f"stablehlo.dynamic_slice {name}, {places}, sizes = {list(to)}"
        self.add(scope, to, op, f"({types}) -> {tensor(to)}")

    def zero(self, scope: _Scope) -> str:
        name = self.name()
        self.lines.append(f"{scope.indent}{name} = stablehlo.constant dense<0> : tensor<i32>")
        return name

    def constraint(self, scope: _Scope, name: str, shape: Shape) -> None:
        op = f"sdy.sharding_constraint {name} {self.sharding(len(shape), scope.axes)}"
        self.add(scope, shape, op, tensor(shape), has_attribute=False)

    def barrier(self, scope: _Scope, name: str, shape: Shape) -> None:
        direction = self.rng.choice(("NONE", "FORWARD", "BACKWARD"))
        op = f"sdy.propagation_barrier {name} allowed_direction={direction}"
        self.add(scope, shape, op, tensor(shape), has_attribute=False)

    def opt_barrier(self, scope: _Scope, name: str, shape: Shape) -> None:
        other = self.pick(scope)
        assert other is not None
        made = self.name()
        types = f"{tensor(shape)}, {tensor(other[1])}"
        self.lines.append(
            f"{scope.indent}{made}:2 = stablehlo.optimization_barrier {name}, {other[0]} : {types}"
        )
        scope.values += [(f"{made}#0", shape), (f"{made}#1", other[1])]

    def loop(self, scope: _Scope, name: str, shape: Shape) -> None:
        zero, made = self.zero(scope), self.name()
        x, i, p = (f"%{letter}{self.count}" for letter in "xip")
        pad, type_ = scope.indent, tensor(shape)
        self.lines += [
            f"{pad}{made}:2 = stablehlo.while({x} = {name}, {i} = {zero}) : {type_}, tensor<i32> cond {{",
            f"{pad}  {p} = stablehlo.compare LT, {i}, {zero} : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            f"{pad}  stablehlo.return {p} : tensor<i1>\n{pad}}} do {{",
        ]
        last = self.body([*scope.values, *[(x, shape)] * 3], scope.axes, shape)
        self.lines.append(f"{pad}  stablehlo.return {last}, {i} : {type_}, tensor<i32>\n{pad}}}")
        scope.values.append((f"{made}#0", shape))

    def branches(self, scope: _Scope, name: str, shape: Shape) -> None:
        zero, made, pad = self.zero(scope), self.name(), scope.indent
        self.lines.append(f'{pad}{made} = "stablehlo.case"({zero}) ({{')
        for end in ("}, {", "}) : (tensor<i32>) -> " + tensor(shape)):
            last = self.body([*scope.values, *[(name, shape)] * 3], scope.axes, shape)
            self.lines.append(f"{pad}  stablehlo.return {last} : {tensor(shape)}\n{pad}{end}")
        scope.values.append((made, shape))

    def manual(self, scope: _Scope, name: str, shape: Shape) -> None:
        axes = [axis for axis in scope.axes if self.chance(0.5)][:2]
        at, parts = self.rng.randrange(len(shape)), prod(size for _, size in axes)
        if not axes or shape[at] % parts:
            return
        rest = tuple(axis for axis in scope.axes if axis not in axes)
        inner = (*shape[:at], shape[at] // parts, *shape[at + 1 :])
        made, pad = self.name(), scope.indent
        argument, names = f"%b{self.count}", [f'"{n}"' for n, _ in axes]

        def border() -> str:
            free = [f'"{n}"' for n, _ in rest if self.chance(0.3)]
            dimensions = [[*names, *free] if d == at else list[str]() for d in range(len(shape))]
            texts = ("{" + ", ".join([*d, *["?"] * self.chance(0.7)]) + "}" for d in dimensions)
            return f"[<@mesh, [{', '.join(texts)}]>]"

        self.lines.append(
            f"{pad}{made} = sdy.manual_computation({name}) in_shardings={border()} out_shardings={border()} "
            f"manual_axes={{{', '.join(names)}}} ({argument}: {tensor(inner)}) {{"
        )
        last = self.body([(argument, inner)], rest, inner)
        self.lines.append(f"{pad}  sdy.return {last} : {tensor(inner)}")
        self.lines.append(f"{pad}}} : ({tensor(shape)}) -> {tensor(shape)}")
        scope.values.append((made, shape))

    def body(self, values: list[Value], axes: tuple[Axis, ...], shape: Shape) -> str:
        """Ops in a region; the last value of the shape that is to be returned."""
        inner = _Scope(values, axes, "    ")
        for _ in range(self.rng.randint(1, 4) if axes else 0):
            self.add_any(inner)
        return next(name for name, s in reversed(inner.values) if s == shape)


OPS = {
    _Maker.elementwise: 32,
    _Maker.transpose: 8,
    _Maker.reshape: 10,
    _Maker.dot: 12,
    _Maker.broadcast: 8,
    _Maker.reduce: 6,
    _Maker.slice: 6,
    _Maker.constraint: 8,
    _Maker.barrier: 3,
}
"""What is added, by weight."""

REGIONS = {_Maker.opt_barrier: 5, _Maker.loop: 8, _Maker.branches: 5, _Maker.manual: 14}
"""What is added outside of regions, in programs that have any."""
