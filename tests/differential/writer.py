"""Writes the text of random functions op by op: values by type, operands on demand, shardings at random.

All chances come from a `random.Random`, so a seed gives the same program always, and Hypothesis, which brings
a `Random` of its own, shrinks it. Not here: which ops there are (`op_families.py`), programs (`programs.py`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.differential.meshes import MeshText, ShardingWriter, Width

Shape = tuple[int, ...]
MAX_RANK = 4
ZEROS = {"f32": "0.0", "bf16": "0.0", "f64": "0.0", "i1": "false", "complex<f32>": "(0.0, 0.0)"}


class Kind(NamedTuple):
    """A ranked tensor type."""

    shape: Shape
    element: str = "f32"

    def __str__(self) -> str:
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.element}>"

    @property
    def rank(self) -> int:
        return len(self.shape)

    def of(self, element: str) -> Kind:
        """The same shape of other elements."""
        return Kind(self.shape, element)

    def resized(self, at: int, *sizes: int) -> Kind:
        """Dimension `at` replaced by dimensions of these sizes."""
        return Kind((*self.shape[:at], *sizes, *self.shape[at + 1 :]), self.element)


Type = Kind | str
"""A tensor, or the text of another type."""


class Value(NamedTuple):
    """A tensor and its name."""

    name: str
    kind: Kind


SCALAR, INDEX = Kind(()), Kind((), "i32")


@dataclass
class Scope:
    """Where ops are added.

    arguments: to which new ones may be added; None inside of regions. axes: those that shardings may use.
    """

    values: list[Value]
    axes: MeshText
    arguments: list[Value] | None = None
    depth: int = 1

    @property
    def indent(self) -> str:
        return "  " * self.depth


@dataclass
class Writer:
    """What a program is written with.

    functions: those that may be called, with the types they take and give. groups: numbers of sharding
    groups by type. uses: values that something reads.
    """

    rng: random.Random
    width: Width
    lines: list[str] = field(default_factory=list[str])
    uses: set[str] = field(default_factory=set[str])
    functions: list[tuple[str, tuple[Kind, ...], tuple[Kind, ...]]] = field(default_factory=list)
    groups: dict[Kind, int] = field(default_factory=dict[Kind, int])
    count: int = 0

    def __post_init__(self) -> None:
        self.shardings = ShardingWriter(self.rng, self.width)
        self.mesh = self.shardings.mesh
        self.has_regions = self.width.regions and self.chance(0.5)
        sizes = ((4, 8), (8, 16), (4, 6, 8), (3, 8, 12), (2, 4, 24))
        self.sizes = self.rng.choice((*sizes, (5, 7), (3, 10), (1, 6, 8)) if self.width.runs else sizes)
        self.sizes = (0, *self.sizes) if self.width.empty else self.sizes

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def size(self) -> int:
        return self.rng.choice(self.sizes)

    def kind(self, low: int = 1, high: int = 3) -> Kind:
        """A tensor of f32 of some rank between the two."""
        return Kind(tuple(self.size() for _ in range(self.rng.randint(low, high))))

    def dimension(self, kind: Kind) -> int:
        return self.rng.randrange(kind.rank)

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    # ---- operands

    def pick(self, scope: Scope, wanted: Callable[[Kind], bool] = lambda kind: True) -> Value | None:
        """A value, more often a late one; None if none is as wanted."""
        found = [value for value in scope.values if wanted(value.kind)]
        if not found:
            return None
        value = self.rng.choice(found[-6:] if self.chance(0.7) else found)
        self.uses.add(value.name)
        return value

    def tensor(self, scope: Scope, low: int = 0, high: int = MAX_RANK, element: str = "f32") -> Value:
        """A value of that element type and rank that has elements, or a new one."""
        empty = self.width.empty

        def fits(kind: Kind) -> bool:
            return kind.element == element and low <= kind.rank <= high and (empty or 0 not in kind.shape)

        value = self.pick(scope, fits)
        wanted = self.kind(low, min(high, max(low, 3)))
        return value or self.operand(scope, wanted.of(element))

    def operand(self, scope: Scope, kind: Kind) -> Value:
        """A value of that type, or a new one: an argument where there may be one, a constant elsewhere."""
        value = self.pick(scope, kind.__eq__)
        return value if value and self.chance(0.9) else self.fresh(scope, kind)

    def fresh(self, scope: Scope, kind: Kind) -> Value:
        if scope.arguments is not None and self.chance(0.6):
            value = Value(f"%a{self.count}", kind)
            self.count += 1
            scope.arguments.append(value)
            scope.values.append(value)
            self.uses.add(value.name)
            return value
        value = self.constant(scope, kind)
        self.uses.add(value.name)
        return value

    def constant(self, scope: Scope, kind: Kind, number: str = "") -> Value:
        """A constant, `number` everywhere, that is an operand of later ops only if it is not a scalar."""
        name = self.name()
        text = number or ZEROS.get(kind.element, "0")
        self.line(scope, f"{name} = stablehlo.constant dense<{text}> : {kind}")
        value = Value(name, kind)
        if kind.rank:
            scope.values.append(value)
        else:
            self.uses.add(name)
        return value

    def zero(self, scope: Scope, element: str = "f32") -> Value:
        return self.constant(scope, Kind((), element))

    # ---- ops

    def line(self, scope: Scope, text: str) -> None:
        self.lines.append(scope.indent + text)

    def op(
        self,
        scope: Scope,
        name: str,
        operands: Sequence[Value | str],
        results: Sequence[Type],
        properties: str = "",
        *,
        regions: Sequence[str] = (),
        attributes: str = "",
        operand_types: Sequence[Type] = (),
    ) -> list[str]:
        """An op in generic form, sharded by chance; the names of its results.

        operand_types: needed when operands are names alone.
        """
        made = self.name()
        names = [made] if len(results) == 1 else [f"{made}#{i}" for i in range(len(results))]
        taken = [v.name if isinstance(v, Value) else v for v in operands]
        types = [str(v.kind) for v in operands if isinstance(v, Value)] or [str(t) for t in operand_types]
        written = ", ".join(filter(None, (attributes, self.result_shardings(scope, results))))
        text = f"{made}:{len(results)} = " if results else ""
        text += f'"{name}"({", ".join(taken)})'
        text += f" <{{{properties}}}>" if properties else ""
        text += f" ({', '.join(regions)})" if regions else ""
        text += f" {{{written}}}" if written else ""
        self.line(scope, f"{text} : ({', '.join(types)}) -> ({', '.join(map(str, results))})")
        tensors = [(n, kind) for n, kind in zip(names, results, strict=True) if isinstance(kind, Kind)]
        scope.values += [Value(n, kind) for n, kind in tensors]
        return names

    def result_shardings(self, scope: Scope, results: Sequence[Type]) -> str:
        kinds = [kind for kind in results if isinstance(kind, Kind)]
        if not kinds or len(kinds) < len(results) or not self.chance(self.width.annotated):
            return ""
        # C++ crashes on results that disagree in unreduced axes, so those are rare.
        may_be_unreduced = len(kinds) == 1 or self.chance(0.1)
        # And on dead ops with a priority: what is in regions is often dead.
        has_priorities = scope.depth == 1 or self.chance(0.1)
        texts = ", ".join(
            self.shardings.text(
                kind.rank, scope.axes, may_be_unreduced=may_be_unreduced, has_priorities=has_priorities
            )
            for kind in kinds
        )
        return f"sdy.sharding = #sdy.sharding_per_value<[{texts}]>"

    def place(self, kind: Kind, probability: float) -> str:
        """The attributes of an argument or a result."""
        if not self.chance(probability):
            return ""
        return f" {{sdy.sharding = #sdy.sharding{self.shardings.text(kind.rank, self.mesh)}}}"

    # ---- regions

    def combiner(self, elements: Sequence[str], op: str = "stablehlo.add") -> str:
        """A region of scalars that combines argument i with argument n + i."""
        self.count += 1
        mark, count = self.count, len(elements)
        types = [str(Kind((), element)) for element in (*elements, *elements)]
        arguments = ", ".join(f"%l{mark}_{i}: {t}" for i, t in enumerate(types))
        lines = [
            f'%q{mark}_{i} = "{op if elements[i] != "i1" else "stablehlo.and"}"(%l{mark}_{i}, '
            f"%l{mark}_{i + count}) : ({types[i]}, {types[i]}) -> {types[i]}"
            for i in range(count)
        ]
        names = ", ".join(f"%q{mark}_{i}" for i in range(count))
        types_text = ", ".join(types[:count])
        ending = f'"stablehlo.return"({names}) : ({types_text}) -> ()'
        return "{\n" + "\n".join([f"^bb0({arguments}):", *lines, ending]) + "\n}"

    def comparator(self, elements: Sequence[str]) -> str:
        """A region of scalars, two of each element, that compares the first two."""
        self.count += 1
        mark = self.count
        types = [str(Kind((), element)) for element in elements for _ in range(2)]
        arguments = ", ".join(f"%l{mark}_{i}: {t}" for i, t in enumerate(types))
        compare = f"stablehlo.compare LT, %l{mark}_0, %l{mark}_1 : ({types[0]}, {types[0]}) -> tensor<i1>"
        return f"{{\n^bb0({arguments}):\n%q{mark} = {compare}\nstablehlo.return %q{mark} : tensor<i1>\n}}"


def dims(numbers: Sequence[int]) -> str:
    """An array attribute of i64."""
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


def table(rows: Sequence[Sequence[int]]) -> str:
    """A dense attribute of i64 with two dimensions."""
    body = ", ".join(f"[{', '.join(map(str, row))}]" for row in rows)
    return f"dense<[{body}]> : tensor<{len(rows)}x{len(rows[0])}xi64>"
