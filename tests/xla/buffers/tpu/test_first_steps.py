"""Steps of a device that are equal are made once, however many layers a program has."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.xla.buffers.tpu.local_block import _Computation
from shardy_py.xla.spmd.program import PlannedOp
from shardy_py.xla.targets.model import DeviceNode

TYPE = "tensor<512x512xf32>"


def layers(count: int) -> str:
    """A program of equal layers, of which each transposes what it multiplies."""
    text = f"func.func @main(%x: {TYPE}, %w: {TYPE}) -> {TYPE} {{\n"
    last = "%x"
    for n in range(count):
        text += f"""  %t{n} = stablehlo.transpose {last}, dims = [1, 0] : ({TYPE}) -> {TYPE}
  %d{n} = stablehlo.dot_general %t{n}, %w, contracting_dims = [1] x [0] : ({TYPE}, {TYPE}) -> {TYPE}
  %e{n} = stablehlo.exponential %d{n} : {TYPE}
  %x{n} = stablehlo.add {last}, %e{n} : {TYPE}
"""
        last = f"%x{n}"
    return f"{text}  return {last} : {TYPE}\n}}"


def test_steps_of_equal_layers_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    op, made = _Computation._op, list[str]()

    def noted(self: _Computation, number: int, node: DeviceNode, step: PlannedOp) -> PlannedOp:
        made.append(step.record.name)
        return op(self, number, node, step)

    monkeypatch.setattr(_Computation, "_op", noted)
    for count in (4, 8):
        made.clear()
        assert propagate(Program.parse(layers(count)), progress=False).memory("tpu-v5p").estimate
        plain = [name for name in made if name != "stablehlo.transpose"]
        assert sorted(plain) == ["stablehlo.add", "stablehlo.dot_general", "stablehlo.exponential"]
