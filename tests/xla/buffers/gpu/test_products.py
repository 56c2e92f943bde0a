"""Products on a GPU: programs for which what XLA:GPU of jax 0.10.2 allocates is known, and their kernels."""

from __future__ import annotations

import pytest

from shardy_py.api import Program, propagate
from shardy_py.ops import TensorType
from shardy_py.xla.targets.gpu.graph import ARGUMENT, DOT, GpuGraph
from shardy_py.xla.targets.gpu.kernels import KernelFusion
from shardy_py.xla.targets.gpu.products import with_products
from shardy_py.xla.targets.gpu.siblings import KernelGroups

MIB = 2**20


def temporaries(text: str) -> int:
    """The bytes of temporaries on an H100."""
    return propagate(Program.parse(text)).memory("h100").estimate.temporaries


@pytest.mark.parametrize(("contracted", "size"), [(2, 32 * MIB), (4, 0)])
def test_small_products_of_16_bits_have_a_workspace(contracted: int, size: int) -> None:
    # 2 (8 + 32) elements are too few for a kernel of their own, but not once 2 is padded to 8.
    text = f"""func.func @main(%a: tensor<8x{contracted}xbf16>, %b: tensor<{contracted}x32xbf16>)
        -> tensor<8x32xbf16> {{
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<8x{contracted}xbf16>, tensor<{contracted}x32xbf16>) -> tensor<8x32xbf16>
      return %0 : tensor<8x32xbf16>
    }}"""
    assert temporaries(text) == size


def test_products_with_vectors_need_no_copies() -> None:
    text = """func.func @main(%q: tensor<4x8x64xf32>, %k: tensor<4x512x8x64xf32>) -> tensor<4x8x512xf32> {
      %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3]
        : (tensor<4x8x64xf32>, tensor<4x512x8x64xf32>) -> tensor<4x8x512xf32>
      return %0 : tensor<4x8x512xf32>
    }"""
    assert temporaries(text) == 0


HEADS = """func.func @main(%q: tensor<4x64x8x64xf32>, %k: tensor<4x64x8x64xf32>)
    -> (tensor<4x8x64x64xf32>, tensor<4x8x64x64xf32>) {{
  {made}
  %0 = stablehlo.dot_general %q, {k}, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]
    : (tensor<4x64x8x64xf32>, tensor<4x64x8x64xf32>) -> tensor<4x8x64x64xf32>
  %1 = stablehlo.dot_general %0, {k}, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1]
    : (tensor<4x8x64x64xf32>, tensor<4x64x8x64xf32>) -> tensor<4x8x64x64xf32>
  return %0, %1 : tensor<4x8x64x64xf32>, tensor<4x8x64x64xf32>
}}"""
MADE = "%m = stablehlo.tanh %k : tensor<4x64x8x64xf32>"


@pytest.mark.parametrize(("made", "k"), [("", "%k"), (MADE, "%m")])
def test_heads_are_copied_for_products(made: str, k: str) -> None:
    # Queries and keys are; one of the copies is in the memory of a result.
    assert temporaries(HEADS.format(made=made, k=k)) == MIB // 2


def test_products_that_are_one_have_partial_sums() -> None:
    text = """func.func @main(%x: tensor<512x128xf32>, %a: tensor<512x128xf32>, %b: tensor<512x128xf32>)
        -> (tensor<128x128xf32>, tensor<128x128xf32>) {
      %0 = stablehlo.dot_general %x, %a, contracting_dims = [0] x [0]
        : (tensor<512x128xf32>, tensor<512x128xf32>) -> tensor<128x128xf32>
      %1 = stablehlo.dot_general %x, %b, contracting_dims = [0] x [0]
        : (tensor<512x128xf32>, tensor<512x128xf32>) -> tensor<128x128xf32>
      return %0, %1 : tensor<128x128xf32>, tensor<128x128xf32>
    }"""
    assert temporaries(text) == MIB


def test_sorts_of_places_keep_the_values() -> None:
    text = """func.func @main(%a: tensor<128x64xf32>) -> tensor<128x64xi32> {
      %0 = stablehlo.iota dim = 1 : tensor<128x64xi32>
      %1:2 = "stablehlo.sort"(%a, %0) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
        %2 = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      }) : (tensor<128x64xf32>, tensor<128x64xi32>) -> (tensor<128x64xf32>, tensor<128x64xi32>)
      return %1#1 : tensor<128x64xi32>
    }"""
    assert temporaries(text) == 128 * 64 * 4


def test_kernels_that_read_one_value_are_one_op_unless_one_needs_another() -> None:
    graph, type_ = GpuGraph(), TensorType((64, 64), "f32")
    value = graph.add(ARGUMENT, (), type_)
    roots: list[int] = []
    for first, last in (("exponential", "tanh"), ("sine", "sqrt"), ("cosine", "log")):
        inner = graph.add(f"stablehlo.{first}", (value,), type_)
        roots.append(graph.add(f"stablehlo.{last}", (inner,), type_))
    graph.results = (*roots,)
    kernels = {kernel.root: kernel for kernel in KernelFusion(graph).groups()}
    assert KernelGroups(graph, kernels).groups() == [roots]
    # The last one needs the second one: by an op that is not a kernel.
    sent = graph.add("all_reduce", (roots[1],), type_)
    added = graph.add("stablehlo.add", (value, sent), type_)
    last = graph.add("stablehlo.negate", (added,), type_)
    graph.results = (*roots, last)
    kernels = {kernel.root: kernel for kernel in KernelFusion(graph).groups()}
    assert sorted(map(sorted, KernelGroups(graph, kernels).groups())) == [roots, [last]]


@pytest.mark.parametrize(
    ("last", "reads"), [("add", ARGUMENT), ("tanh", ""), ("maximum", ARGUMENT), ("add", "all_reduce")]
)
def test_kernels_of_products_end_with_elementwise_ops(last: str, reads: str) -> None:
    graph, type_ = GpuGraph(), TensorType((4096, 4096), "f32")
    left, right, other = (graph.add(ARGUMENT, (), type_) for _ in range(3))
    if reads == "all_reduce":
        other = graph.add(reads, (other,), type_)
    product = graph.add(DOT, (left, right), type_)
    made = graph.add(f"stablehlo.{last}", (product, other) if reads else (product,), type_)
    graph.arguments, graph.results = (left, right), (made,)
    found = with_products(graph)
    (result,) = found.results
    is_one = reads != "all_reduce"  # not a value from before the kernels
    assert (found.kinds[result] == DOT) == is_one
    assert found.over.get(result, ()) == ((other,) if is_one and reads else ())


def test_products_read_what_kernels_of_products_make() -> None:
    # The kernel of the first product ends with tanh, which that of the second does not compute again.
    graph, type_ = GpuGraph(), TensorType((4096, 4096), "f32")
    left, right = (graph.add(ARGUMENT, (), type_) for _ in range(2))
    first = graph.add("stablehlo.tanh", (graph.add(DOT, (left, right), type_),), type_)
    graph.results = (first, graph.add(DOT, (first, right), type_))
    graph.arguments = left, right
    found = with_products(graph)
    assert found.reads[found.results[1]] == (found.results[0], right)


@pytest.mark.parametrize(("order", "is_free"), [("2, 0, 1", True), ("1, 0, 2", False)])
def test_products_are_in_the_order_of_what_reads_them(order: str, *, is_free: bool) -> None:
    # Columns before rows are an order in memory, rows of rows are not: the transpose is a kernel.
    sizes = [512, 8, 1024]
    made = "x".join(str(sizes[int(d)]) for d in order.split(","))
    text = f"""func.func @main(%a: tensor<512x8x64xf32>, %b: tensor<64x1024xf32>) -> tensor<{made}xf32> {{
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [2] x [0]
        : (tensor<512x8x64xf32>, tensor<64x1024xf32>) -> tensor<512x8x1024xf32>
      %1 = stablehlo.transpose %0, dims = [{order}] : (tensor<512x8x1024xf32>) -> tensor<{made}xf32>
      return %1 : tensor<{made}xf32>
    }}"""
    assert temporaries(text) == (0 if is_free else 16 * MIB)


@pytest.mark.parametrize(("contracted", "size"), [(512, 0), (516, 544 * (128 + 256) * 4)])
def test_operands_of_split_products_are_padded(contracted: int, size: int) -> None:
    # Eight parts of 64, or of 68 numbers, which are a multiple of 16 bytes.
    text = f"""func.func @main(%a: tensor<{contracted}x128xf32>, %b: tensor<{contracted}x256xf32>)
        -> tensor<128x256xf32> {{
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0]
        : (tensor<{contracted}x128xf32>, tensor<{contracted}x256xf32>) -> tensor<128x256xf32>
      return %0 : tensor<128x256xf32>
    }}"""
    assert temporaries(text) == size + MIB
