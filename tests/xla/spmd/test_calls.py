"""Custom calls whose names XLA knows, with operands that it does not expect."""

from __future__ import annotations

from shardy_py import Program, propagate

_SHARDED = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}'


def test_a_call_without_its_operand_is_any_call() -> None:
    """The result of a placement is its operand; without one, each device makes its own."""
    program = Program.parse(f"""
    sdy.mesh @mesh = <["x"=4]>
    func.func @main(%x: tensor<8xf32> {_SHARDED}) -> tensor<8xf32> {{
      %0 = stablehlo.custom_call @annotate_device_placement() : () -> tensor<8xf32>
      %1 = stablehlo.add %x, %0 : tensor<8xf32>
      return %1 : tensor<8xf32>
    }}""")
    assert [each.kind for each in propagate(program, progress=False).communication().collectives] == []
