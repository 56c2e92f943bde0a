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


def test_an_operand_too_many_is_not_read() -> None:
    """Shardy's own reshards look for borders of neighbours in the operands that the op has."""
    program = Program.parse("""
    sdy.mesh @mesh = <["a"=2, "b"=2]>
    func.func @main(%x: tensor<4x24x2xf32>, %y: tensor<24x2x4xf32>, %z: tensor<4x2xf32>)
        -> (tensor<4x24x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}, {}]>}) {
      %0 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%x, %y, %z)
        : (tensor<4x24x2xf32>, tensor<24x2x4xf32>, tensor<4x2xf32>) -> tensor<4x24x2xf32>
      return %0 : tensor<4x24x2xf32>
    }""")
    report = propagate(program, progress=False).communication(partitioner="shardy")
    kinds = [each.kind for each in report.collectives]
    assert kinds == ["all_gather"] * 3 + ["all_slice"]
