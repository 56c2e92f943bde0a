"""Single ops with shardings, as functions for XLA and as plans."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.tiling import Tiling
from tests.xla.spmd.compiled import Case, sharding_text

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Op:
    """An op on float tensors.

    operands, result: the shapes. text: of the op, with `%a`, `%b`, ... as operands, and `{attributes}`, in
    which its sharding is. plan: of the result, from the operands and the tiling of the result. integers:
    the operand that is of integers. whole: operands and dimensions of them that are not sharded.
    """

    operands: tuple[Shape, ...]
    result: Shape
    text: str
    plan: Callable[[Sequence[HeldTensor], Tiling], HeldTensor]
    integers: int | None = None
    whole: tuple[tuple[int, int], ...] = ()

    def element(self, operand: int) -> str:
        """The element type of an operand: integers for one of them, if any."""
        return "i32" if operand == self.integers else "f32"


@dataclass(frozen=True)
class Sharded:
    """An op with the shardings of its operands and its result."""

    mesh: Mesh
    op: Op
    operands: tuple[TensorSharding, ...]
    result: TensorSharding

    @property
    def planned(self) -> HeldTensor:
        """The result with what the planner sends."""
        pairs = enumerate(zip(self.op.operands, self.operands, strict=True))
        values = [
            HeldTensor.of(shape, Tiling.of_sharding(sharding, self.mesh), self.op.element(i))
            for i, (shape, sharding) in pairs
        ]
        return self.op.plan(values, Tiling.of_sharding(self.result, self.mesh))

    @property
    def case(self) -> Case:
        """The op as a function, with shardings of XLA, which go around Shardy."""
        text = self.op.text
        arguments: list[str] = []
        for i, (shape, sharding) in enumerate(zip(self.op.operands, self.operands, strict=True)):
            text = re.sub(rf"%{'abc'[i]}\b", f"%{i}", text)
            type_ = tensor(shape, self.op.element(i))
            arguments.append(f"{type_} {{{_attribute(sharding, self.mesh)}}}")
        attribute = _attribute(self.result, self.mesh)
        op, *constants = text.replace("ATTRIBUTES", attribute).split("\n%constant ")
        lines = [*(f"%{line}" for line in constants), f"%result = {op}"]
        return Case(tuple(arguments), "\n".join(lines), f"{tensor(self.op.result)} {{{attribute}}}")

    def __str__(self) -> str:
        sizes = {axis.name: axis.size for axis in self.mesh.axes}
        operands = ", ".join(map(str, self.operands))
        return f"{sizes} {self.op.operands} {self.op.text}: {operands} -> {self.result}"


def tensor(shape: Shape, element: str = "f32") -> str:
    """The type."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def _attribute(sharding: TensorSharding, mesh: Mesh) -> str:
    """The sharding of XLA."""
    return f'mhlo.sharding = "{sharding_text(sharding, mesh)}"'
