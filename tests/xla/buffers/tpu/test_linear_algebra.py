"""Linear algebra: what XLA:TPU allocates for batches of matrices, on v5p but for 64 bytes of tuples."""

from __future__ import annotations

from shardy_py import Program, propagate

_MESH = 'sdy.mesh @mesh = <["x"=4, "y"=2]>\n'
_BATCH = '{sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}, {}]>}'
_MATRICES = "tensor<16x64x64xf32>"
_ADDRESS = 32 << 10


def _temporaries(text: str) -> int:
    result = propagate(Program.parse(_MESH + text, as_compiled=True), progress=False)
    return result.memory("tpu-v5p").estimate.temporaries


def test_a_triangular_solve_is_a_product_with_an_inverse() -> None:
    """The inverse and what is copied into VMEM; nothing is gathered."""
    found = _temporaries(f"""
    func.func @main(%a: {_MATRICES} {_BATCH}, %b: {_MATRICES} {_BATCH}) -> ({_MATRICES} {_BATCH}) {{
      %0 = "stablehlo.triangular_solve"(%a, %b) <{{left_side = true, lower = true,
        transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}}>
        : ({_MATRICES}, {_MATRICES}) -> {_MATRICES}
      return %0 : {_MATRICES}
    }}""")
    assert abs(found - 98272) <= 64


def test_factors_are_made_whole() -> None:
    """Each device gathers 16 matrices of 32 KiB, and keeps its two of the factors.

    XLA:TPU allocates 1,171,360 bytes.
    """
    numbers = "tensor<16x64xi32>"
    found = _temporaries(f"""
    func.func @main(%a: {_MATRICES} {_BATCH}) -> ({_MATRICES} {_BATCH}, {numbers}) {{
      %0:3 = stablehlo.custom_call @LuDecomposition(%a) : ({_MATRICES}) -> ({_MATRICES}, {numbers}, {numbers})
      %1 = stablehlo.tanh %0#0 : {_MATRICES}
      return %1, %0#2 : {_MATRICES}, {numbers}
    }}""")
    assert abs(found - 1171360) <= 96


def test_kernels_leave_their_results_in_vmem() -> None:
    """On v6e, XLA:TPU allocates nothing for them in HBM."""
    text = f"""
    func.func @main(%a: {_MATRICES} {_BATCH}) -> ({_MATRICES} {_BATCH}) {{
      %0 = stablehlo.cholesky %a, lower = true : {_MATRICES}
      %1 = "stablehlo.triangular_solve"(%0, %a) <{{left_side = true, lower = true,
        transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}}>
        : ({_MATRICES}, {_MATRICES}) -> {_MATRICES}
      return %1 : {_MATRICES}
    }}"""
    estimate = (
        propagate(Program.parse(_MESH + text, as_compiled=True), progress=False).memory("tpu-v6e").estimate
    )
    assert (estimate.temporaries, estimate.in_vmem) == (0, 0)
