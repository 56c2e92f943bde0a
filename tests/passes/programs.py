"""Random programs of calls, regions, constants, constraints and groups, for comparing passes.

All tensors are 8x8 or scalars; what a program computes means nothing. A seed gives the same program always.
"""

from __future__ import annotations

import random

MATRIX = "tensor<8x8xf32>"
SCALAR = "tensor<f32>"
MESHES = """
sdy.mesh @mesh = <["x"=2, "y"=2, "one"=1, "m"=2]>
sdy.mesh @twin = <["x"=2, "y"=2, "one"=1, "m"=2]>
"""


class ProgramWriter:
    """Writes one random program."""

    def __init__(self, seed: int) -> None:
        """Everything random comes from `seed`."""
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.counter = 0
        self.groups = 0

    def program(self) -> str:
        """The text of a module: functions that call the ones before them, and main."""
        arities: dict[str, int] = {}
        texts: list[str] = []
        for number in range(self.random.randint(0, 4)):
            arity = self.random.randint(0, 2)
            texts.append(self.function(f"f{number}", arity, arities))
            arities[f"f{number}"] = arity
        main = self.function("main", 2, arities)
        texts.insert(self.random.randint(0, len(texts)), main)
        return MESHES + "\n".join(texts)

    def function(self, name: str, arity: int, callees: dict[str, int]) -> str:
        """A function of `arity` matrices, and a scalar, that returns a matrix."""
        self.lines = []
        arguments = [f"%a{index}" for index in range(arity)]
        declared = [f"{a}: {MATRIX}{self.argument_attributes()}" for a in arguments] + [f"%s: {SCALAR}"]
        result = self.body([*arguments], ["%s"], callees, depth=0)
        visibility = "" if name == "main" else "private "
        returned = f"{MATRIX}{self.argument_attributes()}"
        head = f"func.func {visibility}@{name}({', '.join(declared)}) -> ({returned}) {{"
        return "\n".join([head, *self.lines, f"  return {result} : {MATRIX}", "}"])

    def body(self, matrices: list[str], scalars: list[str], callees: dict[str, int], depth: int) -> str:
        """Random ops over given values; the name of a matrix that they end with."""
        if not matrices:
            matrices.append(self.emit(f"stablehlo.iota dim = 0 : {MATRIX}"))
        for _ in range(self.random.randint(2, 7)):
            step = self.random.choice(self.steps if depth < 2 else self.flat_steps)
            step(self, matrices, scalars, callees, depth)
        return self.random.choice(matrices[-3:])

    def emit(self, text: str) -> str:
        """Write an op with one result; its name."""
        self.counter += 1
        self.lines.append(f"  %v{self.counter} = {text}")
        return f"%v{self.counter}"

    def sharding(self, *, closed: bool | None = None) -> str:
        """A random sharding of a matrix."""
        axes = ["x", "y", "one"]
        self.random.shuffle(axes)
        taken = [axes[:1], axes[1:2]]
        is_closed = self.random.random() < 0.6 if closed is None else closed
        parts = [
            "{"
            + ", ".join([f'"{a}"' for a in dims if self.random.random() < 0.5] + ([] if is_closed else ["?"]))
            + "}"
            for dims in taken
        ]
        return f"<@{self.random.choice(['mesh', 'mesh', 'twin'])}, [{', '.join(parts)}]>"

    def argument_attributes(self) -> str:
        """A sharding for an argument or result, or nothing."""
        return f" {{sdy.sharding = #sdy.sharding{self.sharding()}}}" if self.random.random() < 0.3 else ""

    def attributes(self) -> str:
        """A sharding for a single result, or nothing."""
        if self.random.random() < 0.8:
            return ""
        return f" {{sdy.sharding = #sdy.sharding_per_value<[{self.sharding()}]>}}"

    # ------------------------------------------------------------------ steps

    def constant(self, matrices: list[str], scalars: list[str], callees: dict[str, int], depth: int) -> None:
        """A constant, scalar or not."""
        if self.random.random() < 0.5:
            scalars.append(self.emit(f"stablehlo.constant dense<{self.random.randint(1, 3)}.0> : {SCALAR}"))
        else:
            matrices.append(self.emit(f"stablehlo.constant dense<{self.random.randint(1, 3)}.0> : {MATRIX}"))

    def broadcast(self, matrices: list[str], scalars: list[str], callees: dict[str, int], depth: int) -> None:
        """The broadcast of a scalar."""
        source = self.random.choice(scalars)
        matrices.append(self.emit(f"stablehlo.broadcast_in_dim {source}, dims = [] : ({SCALAR}) -> {MATRIX}"))

    def elementwise(
        self, matrices: list[str], scalars: list[str], callees: dict[str, int], depth: int
    ) -> None:
        """A sum."""
        left, right = self.random.choice(matrices), self.random.choice(matrices)
        matrices.append(self.emit(f"stablehlo.add {left}, {right}{self.attributes()} : {MATRIX}"))

    def transpose(self, matrices: list[str], scalars: list[str], callees: dict[str, int], depth: int) -> None:
        """An op that preserves no constants."""
        source = self.random.choice(matrices)
        matrices.append(self.emit(f"stablehlo.transpose {source}, dims = [1, 0] : ({MATRIX}) -> {MATRIX}"))

    def constraint(
        self, matrices: list[str], scalars: list[str], callees: dict[str, int], depth: int
    ) -> None:
        """A sharding constraint."""
        source = self.random.choice(matrices[-2:])
        matrices.append(self.emit(f"sdy.sharding_constraint {source} {self.sharding()} : {MATRIX}"))

    def group(self, matrices: list[str], scalars: list[str], callees: dict[str, int], depth: int) -> None:
        """A member of a sharding group; groups stay within one function and out of regions."""
        if depth == 0:
            source = self.random.choice(matrices)
            number = self.random.randint(0, 4)
            self.lines.append(f"  sdy.sharding_group {source} group_id={number} : {MATRIX}")

    def call(self, matrices: list[str], scalars: list[str], callees: dict[str, int], depth: int) -> None:
        """A call."""
        if callees:
            name = self.random.choice(list(callees))
            operands = [self.random.choice(matrices) for _ in range(callees[name])]
            operands.append(self.random.choice(scalars))
            types = ", ".join([MATRIX] * callees[name] + [SCALAR])
            text = f"func.call @{name}({', '.join(operands)}){self.attributes()} : ({types}) -> {MATRIX}"
            matrices.append(self.emit(text))

    def loop(self, matrices: list[str], scalars: list[str], callees: dict[str, int], depth: int) -> None:
        """A while."""
        start, scalar = self.random.choice(matrices), self.random.choice(scalars)
        self.counter += 1
        name, number = f"%w{self.counter}", self.counter
        self.lines.append(
            f"  {name}:2 = stablehlo.while(%x{number} = {start}, %y{number} = {scalar}) : {MATRIX}, {SCALAR}"
        )
        self.lines.append("  cond {")
        test = self.emit(f"stablehlo.compare LT, %y{number}, {scalar} : ({SCALAR}, {SCALAR}) -> tensor<i1>")
        self.lines.append(f"  stablehlo.return {test} : tensor<i1>\n  }} do {{")
        result = self.body([*matrices, f"%x{number}"], [*scalars, f"%y{number}"], callees, depth + 1)
        self.lines.append(f"  stablehlo.return {result}, %y{number} : {MATRIX}, {SCALAR}\n  }}")
        matrices.append(f"{name}#0")

    def branch(self, matrices: list[str], scalars: list[str], callees: dict[str, int], depth: int) -> None:
        """A case of two branches and two results."""
        index = self.emit("stablehlo.constant dense<0> : tensor<i32>")
        self.counter += 1
        name = f"%b{self.counter}"
        self.lines.append(f'  {name}:2 = "stablehlo.case"({index}) ({{')
        for separator in ("}, {", "})"):
            first = self.body([*matrices], [*scalars], callees, depth + 1)
            second = self.random.choice(matrices)
            self.lines.append(f"  stablehlo.return {first}, {second} : {MATRIX}, {MATRIX}\n  {separator}")
        self.lines[-1] += f" : (tensor<i32>) -> ({MATRIX}, {MATRIX})"
        matrices += [f"{name}#0", f"{name}#1"]

    def barrier(self, matrices: list[str], scalars: list[str], callees: dict[str, int], depth: int) -> None:
        """An optimization barrier."""
        source = self.random.choice(matrices)
        matrices.append(self.emit(f"stablehlo.optimization_barrier {source} : {MATRIX}"))

    def manual(self, matrices: list[str], scalars: list[str], callees: dict[str, int], depth: int) -> None:
        """A manual computation with an axis that shards nothing."""
        if depth:
            return
        source = self.random.choice(matrices)
        self.counter += 1
        name, number = f"%m{self.counter}", self.counter
        sharding = '<@mesh, [{"x"}, {}]>' if self.random.random() < 0.5 else "<@mesh, [{}, {?}]>"
        self.lines.append(
            f"  {name} = sdy.manual_computation({source}) in_shardings=[{sharding}]"
            f' out_shardings=[<@mesh, [{{}}, {{}}]>] manual_axes={{"m"}} (%p{number}: {MATRIX}) {{'
        )
        zero = self.emit(f"stablehlo.constant dense<0.0> : {SCALAR}")
        result = self.body([f"%p{number}"], [zero], {}, depth + 1)
        self.lines.append(f"  sdy.return {result} : {MATRIX}\n  }} : ({MATRIX}) -> {MATRIX}")
        matrices.append(name)

    flat_steps = (constant, broadcast, elementwise, elementwise, transpose, constraint, group, call, barrier)
    steps = (*flat_steps, *flat_steps, loop, branch, manual)
