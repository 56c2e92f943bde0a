"""The regions of an op with many results are searched once, not for each step that it becomes."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.xla.targets import equal_steps

LOCAL = "tensor<4xf32>"


def manual(count: int) -> str:
    """A manual computation of as many operands and results."""
    types = ", ".join(["tensor<8xf32>"] * count)
    shardings = ", ".join(['<@mesh, [{"x"}]>'] * count)
    inner = ", ".join(f"%x{i}: {LOCAL}" for i in range(count))
    body = "".join(f"    %t{i} = stablehlo.tanh %x{i} : {LOCAL}\n" for i in range(count))
    return f"""sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {{
  %0:{count} = sdy.manual_computation({", ".join(["%a"] * count)}) in_shardings=[{shardings}]
      out_shardings=[{shardings}] manual_axes={{"x"}} ({inner}) {{
{body}    sdy.return {", ".join(f"%t{i}" for i in range(count))} : {", ".join([LOCAL] * count)}
  }} : ({types}) -> ({types})
  return %0#0 : tensor<8xf32>
}}
"""


def test_regions_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[object] = []
    is_dead = equal_steps.is_dead_when_unused

    def counted(op: object) -> bool:
        searched.append(op)
        return is_dead(op)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(equal_steps, "is_dead_when_unused", counted)
    for count in (8, 32):
        searched.clear()
        result = propagate(Program.parse(manual(count)), progress=False)
        assert result.memory("h100", partitioner="xla").memory_bytes
        assert len(searched) < 8
