"""Programs through XLA's HLO and back: the same shardings, the same numbers; text and protocol buffer alike.

Without jaxlib or the corpus: skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from shardy_py import Program, propagate
from shardy_py.hlo.proto import read_proto
from shardy_py.hlo.text import HloModule, read_module
from shardy_py.hlo.text.frontend import entries
from shardy_py.hlo.to_stablehlo import stablehlo_module
from shardy_py.mlir.dialects import print_module
from shardy_py.xla.hlo_sharding.proto import hlo_sharding_from_proto
from tests.hlo.to_stablehlo.test_kinds import KINDS

Corpus = Callable[[str], str]
NAMES = ("calls", "constraints", "decode_kv_cache", "moe", "priorities", "shard_map_collectives", "mlp_train")
RUN = """module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x8xf32>, %arg1: tensor<3xi32>)
      -> (tensor<3x8xf32>, tensor<i32>, tensor<6x8xf32>) {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{
      dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
        start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}>
      : (tensor<6x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.while(%i = %c, %x = %arg0) : tensor<i32>, tensor<6x8xf32>
    cond {
      %n = stablehlo.constant dense<4> : tensor<i32>
      %l = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %l : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %y = stablehlo.tanh %x : tensor<6x8xf32>
      stablehlo.return %j, %y : tensor<i32>, tensor<6x8xf32>
    }
    %2 = stablehlo.reverse %1#1, dims = [1] : tensor<6x8xf32>
    return %0, %1#0, %2 : tensor<3x8xf32>, tensor<i32>, tensor<6x8xf32>
  }
}
"""


@pytest.fixture(scope="session")
def jaxlib() -> Any:
    return pytest.importorskip("jaxlib._jax", reason="jaxlib (extra: reference) is not installed")


def of_xla(jaxlib: Any, text: str) -> tuple[str, bytes]:
    """The program as XLA's HLO: text with all literals, and the protocol buffer."""
    hlo = pytest.importorskip("jaxlib._hlo")
    made = jaxlib.mlir.mlir_module_to_xla_computation(text, use_tuple_args=False, return_tuple=False)
    options = hlo.HloPrintOptions()
    options.print_large_constants = options.print_metadata = True
    return made.get_hlo_module().to_string(options), made.as_serialized_hlo_module_proto()


def shardings(program: Program) -> list[str]:
    """The shardings of the arguments and results after propagation."""
    found = propagate(program).program.values
    return [str(value.sharding) for value in (*found.arguments("main"), *found.results("main"))]


def metadata(module: HloModule) -> object:
    """What the locations of instructions are made of."""
    instructions = (i for computation in module.computations for i in computation.instructions)
    found = {i.name: entries(str(i.attributes.get("metadata", ""))) for i in instructions}
    kept = ("op_name", "stack_frame_id", "source_file", "source_line")
    return {name: {key: each.get(key) for key in kept} for name, each in found.items()}


def text_of_sharding(data: bytes) -> str:
    return str(hlo_sharding_from_proto(data))


@pytest.mark.parametrize("name", NAMES)
def test_shardings_of_the_corpus(jaxlib: Any, corpus: Corpus, name: str) -> None:
    text = corpus(name)
    hlo, proto = of_xla(jaxlib, text)
    assert shardings(Program.parse(hlo, name)) == shardings(Program.parse(text, name))
    of_text, of_proto = read_module(hlo), read_proto(proto, "-", text_of_sharding)
    assert print_module(stablehlo_module(of_proto)) == print_module(stablehlo_module(of_text))
    assert metadata(of_proto) == metadata(of_text)


def test_numbers(jaxlib: Any) -> None:
    x, rows = np.random.default_rng(0).standard_normal((6, 8)).astype("f4"), np.array([0, 5, 2], "i4")
    expected = Program.parse(RUN).run([x, rows])
    for found in of_xla(jaxlib, RUN):
        results = Program.parse(found).run([x, rows])
        for one, other in zip(results.values(), expected.values(), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)


def test_protocol_buffers_have_what_text_has(jaxlib: Any) -> None:
    """All kinds of instructions and literals, as XLA's parser and printer write them."""
    hlo = pytest.importorskip("jaxlib._hlo")
    for path in (KINDS, *(KINDS.parents[3] / "filecheck" / "hlo").glob("*.hlo")):
        text = path.read_text().replace("constant({...})", "constant({" + ", ".join(["0.25"] * 1000) + "})")
        module = hlo.hlo_module_from_text(text)
        proto = hlo.XlaComputation(module.as_serialized_hlo_module_proto()).as_serialized_hlo_module_proto()
        read = read_module(hlo.HloModule.to_string(module, options(hlo)))
        again = read_proto(proto, "-", text_of_sharding)
        assert print_module(stablehlo_module(again)) == print_module(stablehlo_module(read)).replace(
            "mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32, ", ""
        )


def options(hlo: Any) -> Any:
    made = hlo.HloPrintOptions()
    made.print_large_constants = made.print_metadata = True
    return made
