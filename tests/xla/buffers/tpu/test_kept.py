"""How long values stay in VMEM: programs with the temporaries that XLA:TPU allocates on v5p."""

from __future__ import annotations

from itertools import pairwise

import pytest

from shardy_py import Program, propagate
from shardy_py.xla.buffers.vmem import MovedMeanwhile, VectorMemory

_MIB = 1 << 20
_EXACT, _ROUNDED, _SQUARE = "tensor<1024x2048xf32>", "tensor<1024x2048xbf16>", "tensor<2048x2048xbf16>"


def _product(made: str, read: str) -> str:
    """A product whose operations take as long as 49.4 MiB are copied."""
    types = f"({_ROUNDED}, {_SQUARE}) -> {_ROUNDED}"
    return f"%{made} = stablehlo.dot_general %{read}, %w, contracting_dims = [1] x [0] : {types}"


def _program(lines: str, last: str) -> str:
    """A value that is made at first, and read again behind other lines."""
    return f"""
    sdy.mesh @mesh = <["x"=8]>
    func.func @main(%x: {_EXACT} {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{}}]>}},
        %w: {_SQUARE} {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{}}]>}}) -> {_EXACT} {{
      %0 = stablehlo.exponential %x : {_EXACT}
      %1 = stablehlo.sine %x : {_EXACT}
      %2 = stablehlo.multiply %0, %1 : {_EXACT}
      %3 = stablehlo.add %2, %x : {_EXACT}
      %a = stablehlo.optimization_barrier %3 : {_EXACT}
      %b = stablehlo.convert %a : ({_EXACT}) -> {_ROUNDED}
      {_product("y", "b")}
      {lines}
      %4 = stablehlo.convert %{last} : ({_ROUNDED}) -> {_EXACT}
      %5 = stablehlo.add %a, %a : {_EXACT}
      %6 = stablehlo.add %4, %5 : {_EXACT}
      return %6 : {_EXACT}
    }}"""


def _chain(count: int) -> str:
    """Products between."""
    names = ["y", *(f"y{number}" for number in range(count))]
    lines = [_product(made, read) for read, made in pairwise(names)]
    return _program("\n".join(lines), names[-1])


def _loop(iterations: int, products: int) -> str:
    """A loop between, each of whose iterations has some products."""
    names = ["z", *(f"z{number}" for number in range(products))]
    lines = "\n".join(_product(made, read) for read, made in pairwise(names))
    types = f"tensor<i32>, {_ROUNDED}"
    return _program(
        f"""
        %none = stablehlo.constant dense<0> : tensor<i32>
        %left:2 = stablehlo.while(%i = %none, %z = %y) : {types}
        cond {{
          %end = stablehlo.constant dense<{iterations}> : tensor<i32>
          %7 = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %7 : tensor<i1>
        }} do {{
          {lines}
          %one = stablehlo.constant dense<1> : tensor<i32>
          %next = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %next, %{names[-1]} : {types}
        }}
        """,
        "left#1",
    )


def _temporaries(text: str) -> float:
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    return result.memory("tpu-v5p").estimate.temporaries / _MIB


PROGRAMS = {
    "chain_8": _chain(8),
    "chain_10": _chain(10),
    "loop_2_1": _loop(2, 1),
    "loop_20_1": _loop(20, 1),
    "loop_2_2": _loop(2, 2),
    "loop_20_2": _loop(20, 2),
}


@pytest.mark.parametrize(
    ("name", "allocated"),
    [("chain_8", 4), ("chain_10", 8), ("loop_2_1", 4), ("loop_20_1", 4), ("loop_2_2", 8), ("loop_20_2", 8)],
)
def test_values_leave_vmem_where_much_is_moved(name: str, allocated: int) -> None:
    """Not for seven products between, but for nine; a loop counts as five iterations, whatever it has."""
    assert _temporaries(PROGRAMS[name]) == pytest.approx(allocated, abs=0.25)


def test_a_value_takes_room_if_it_stays() -> None:
    """From one use to the next; what does not stay takes no room from others."""
    memory = VectorMemory(9, 4, MovedMeanwhile([1, 4, 4, 1], 4))
    assert not memory.take(0, 4, 8, [0, 3])
    assert memory.take(0, 4, 8, [0, 2, 3])
    assert not memory.take(1, 2, 8, [1])
