"""Memory on a GPU: kinds of programs for which what XLA:GPU of jax 0.10.2 allocates is known."""

from __future__ import annotations

import pytest

from shardy_py.api import Program, propagate
from shardy_py.base import releases
from shardy_py.ops import TensorType
from shardy_py.xla.buffers.gpu.joined import joined, written_apart
from shardy_py.xla.buffers.memory_order import in_least_memory
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.program import Name
from shardy_py.xla.targets.gpu import computation
from shardy_py.xla.targets.gpu.graph import ARGUMENT, TRANSPOSE, GpuGraph
from shardy_py.xla.targets.gpu.kernel import Kernel
from shardy_py.xla.targets.gpu.kernel_reads import read_otherwise
from shardy_py.xla.targets.gpu.kernels import KernelFusion

MIB = 2**20


def temporaries(text: str) -> int:
    """The bytes of temporaries on an H100."""
    return propagate(Program.parse(text)).memory("h100").estimate.temporaries


def test_products_of_few_tiles_have_partial_sums() -> None:
    text = """func.func @main(%a: tensor<512x512xbf16>, %b: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
      return %0 : tensor<512x512xbf16>
    }"""
    assert temporaries(text) == 4 * MIB


def test_scores_of_attention_are_stored_once() -> None:
    # The maximum of each row, its exponentials and their sum are computed from the product.
    text = """func.func @main(%q: tensor<8x1024x64xbf16>, %k: tensor<8x1024x64xbf16>)
        -> tensor<8x1024x1024xbf16> {
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2]
        : (tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>) -> tensor<8x1024x1024xbf16>
      %1 = stablehlo.convert %0 : (tensor<8x1024x1024xbf16>) -> tensor<8x1024x1024xf32>
      %2 = stablehlo.reduce(%1 init: %low) applies stablehlo.maximum across dimensions = [2]
        : (tensor<8x1024x1024xf32>, tensor<f32>) -> tensor<8x1024xf32>
      %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<8x1024xf32>) -> tensor<8x1024x1024xf32>
      %4 = stablehlo.subtract %1, %3 : tensor<8x1024x1024xf32>
      %5 = stablehlo.exponential %4 : tensor<8x1024x1024xf32>
      %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [2]
        : (tensor<8x1024x1024xf32>, tensor<f32>) -> tensor<8x1024xf32>
      %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<8x1024xf32>) -> tensor<8x1024x1024xf32>
      %8 = stablehlo.divide %5, %7 : tensor<8x1024x1024xf32>
      %9 = stablehlo.convert %8 : (tensor<8x1024x1024xf32>) -> tensor<8x1024x1024xbf16>
      return %9 : tensor<8x1024x1024xbf16>
    }"""
    assert 16 * MIB <= temporaries(text) < 17 * MIB


def test_what_several_ops_write_over_is_made_once_for_each() -> None:
    events = [
        Event("zero", (), ("z",)),
        Event("scatter", ("z", "u"), (1,), over=("z",)),
        Event("scatter", ("z", "v"), (2,), over=("z",)),
    ]
    sizes: dict[Name, int] = {"z": 4}
    found = written_apart(events, {1: "z", 2: "z"}, sizes)
    copy = ("copy", "z", 0)
    assert [event.makes for event in found] == [("z", copy), (1,), (2,)]
    assert [event.reads for event in found] == [(), ("z", "u"), (copy, "v")]
    assert sizes[copy] == 4


def test_devices_that_add_their_updates_to_all_rows_fill_all_of_them_at_once() -> None:
    scatter = """
      %{made} = "stablehlo.scatter"(%z, %i, %{given}) <{{scatter_dimension_numbers = #stablehlo.scatter<
          update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
          index_vector_dim = 1>}}> ({{
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %s : tensor<f32>
      }}) : (tensor<4096x128xf32>, tensor<32768x1xi32>, tensor<32768x128xf32>) -> tensor<4096x128xf32>
      %part_{made} = sdy.sharding_constraint %{made} <@mesh, [{{"x"}}, {{}}]> : tensor<4096x128xf32>"""
    rows = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
    text = f"""sdy.mesh @mesh = <["x"=8]>
    func.func @main(%i: tensor<32768x1xi32> {rows}, %u: tensor<32768x128xf32> {rows})
        -> (tensor<4096x128xf32> {rows}, tensor<4096x128xf32> {rows}) {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %z = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4096x128xf32>
      {scatter.format(made="0", given="u")}
      %t = stablehlo.reduce(%part_0 init: %zero) applies stablehlo.add across dimensions = [0, 1]
        : (tensor<4096x128xf32>, tensor<f32>) -> tensor<f32>
      %w = stablehlo.broadcast_in_dim %t, dims = [] : (tensor<f32>) -> tensor<32768x128xf32>
      %v = stablehlo.multiply %u, %w : tensor<32768x128xf32>
      {scatter.format(made="1", given="v")}
      return %part_0, %part_1 : tensor<4096x128xf32>, tensor<4096x128xf32>
    }}"""
    result = propagate(Program.parse(text, as_compiled=True))
    # One kernel makes two fills of 2 MiB, each of which a scatter is written over.
    assert result.memory("h100").estimate.temporaries == 4 * MIB


def test_loops_that_start_with_one_value_have_a_copy_each() -> None:
    events = [
        Event("zero", (), ("z",)),
        Event("while", ("z", "n", "z"), (1, 2), over=("z", "n"), is_update=True),
        Event("while", ("z", "m"), (3, 4), over=("z", "m"), is_update=True),
    ]
    found = written_apart(events, {1: "z", 3: "z"}, {"z": 4})
    copy = ("copy", "z", 0)
    assert [event.over for event in found[1:]] == [("z", "n"), (copy, "m")]
    assert [event.reads for event in found[1:]] == [("z", "n", "z"), ("m", copy)]


def test_copies_are_made_with_the_first_of_several_results() -> None:
    made = Event("both", ("x",), ("y", "z"), over_each=(("x",), ()))
    users = [Event("scatter", ("z", n), (n,), over=("z",)) for n in (1, 2)]
    first, *_ = written_apart([made, *users], {1: "z", 2: "z"}, {"y": 4, "z": 4})
    assert [first.over_at(n) for n in range(len(first.makes))] == [("x",), (), ()]


def test_sums_of_one_op_are_put_together() -> None:
    sums = [Event(name, (name,), (f"sum of {name}",), over=(name,)) for name in ("a", "b")]
    sizes: dict[Name, int] = {"sum of a": 8, "sum of b": 4}
    found = joined(sums, [sums], sizes)
    assert [len(event.reads) for event in found] == [2, 1, 1, 1]
    assert sizes[found[0].makes[0]] == 12
    assert found[1].over == found[0].makes


def test_sums_that_need_each_other_stay_apart() -> None:
    first, second = Event("a", ("x",), ("y",), over=("x",)), Event("b", ("y",), ("z",), over=("y",))
    assert joined([first, second], [[first, second]], {"y": 8, "z": 8}) == [first, second]


def test_sums_are_one_op_up_to_the_first_that_needs_another() -> None:
    sums = [Event("sum", (f"{name}0",), (name,), over=(f"{name}0",)) for name in "abcd"]
    gathers = [Event("gather", ("g0",), ("g",)), Event("gather", ("b",), ("h",))]
    use = Event("use", ("g",), ("c0",))
    found = joined([*sums[:2], *gathers, use, *sums[2:]], [gathers, sums], dict.fromkeys("abcdgh", 4))
    assert [len(event.reads) for event in found if str(event.step) == "sum" and event.over] == [1, 1]
    assert sum(event.step == "gather" for event in found) == 1


def test_what_frees_memory_runs_before_what_needs_more() -> None:
    events = [
        Event("other", (), ("b",)),
        Event("large", (), ("a",)),
        Event("use", ("a",), ("u",)),
        Event("end", ("u", "b"), ("r",)),
    ]
    order = in_least_memory(events, {"a": 64, "u": 16, "b": 32, "r": 16}, ("r",), lambda event: False)
    assert [event.step for event in order] == ["large", "use", "other", "end"]


def test_operands_with_batches_apart_are_copied_for_products() -> None:
    text = """func.func @main(%q: tensor<4x512x8x64xf32>, %k: tensor<4x512x8x64xf32>)
        -> tensor<4x8x512x512xf32> {
      %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]
        : (tensor<4x512x8x64xf32>, tensor<4x512x8x64xf32>) -> tensor<4x8x512x512xf32>
      return %0 : tensor<4x8x512x512xf32>
    }"""
    assert temporaries(text) == 8 * MIB


@pytest.mark.parametrize("chip", ["tpu-v5e", "tpu-v6e"])
@pytest.mark.parametrize(("size", "is_known"), [(2048, True), (8192, False)])
def test_temporaries_may_be_in_vmem(chip: str, size: int, *, is_known: bool) -> None:
    type_ = f"tensor<{size}x{size}xf32>"
    text = f"""func.func @main(%a: {type_}, %b: {type_}) -> {type_} {{
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({type_}, {type_}) -> {type_}
      %1 = stablehlo.dot_general %0, %a, contracting_dims = [1] x [0] : ({type_}, {type_}) -> {type_}
      %2 = stablehlo.dot_general %1, %0, contracting_dims = [1] x [0] : ({type_}, {type_}) -> {type_}
      return %2 : {type_}
    }}"""
    report = propagate(Program.parse(text)).memory(chip)
    estimate = report.estimate
    assert (estimate.in_vmem == 0) is is_known
    if is_known:  # all fits there
        assert estimate.temporaries == 0
    else:
        assert estimate.in_vmem == estimate.total_bytes - estimate.least_bytes > 0
        assert "may be in VMEM" in report.headline[0]


def test_what_a_transposition_made_may_be_taken_in_another_form() -> None:
    text = """func.func @main(%a: tensor<2x4x16xf32>) -> tensor<8x16xf32> {
      %0 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x4x16xf32>) -> tensor<16x2x4xf32>
      %1 = stablehlo.reshape %0 : (tensor<16x2x4xf32>) -> tensor<16x8xf32>
      %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
      return %2 : tensor<8x16xf32>
    }"""
    assert temporaries(text) == 0


@pytest.mark.parametrize(("row", "size"), [(512, 2 * 64 * 512 * 4), (2048, 0)])
def test_selections_sort_short_rows(row: int, size: int) -> None:
    text = f"""func.func @main(%a: tensor<64x{row}xf32>) -> (tensor<64x4xf32>, tensor<64x4xi32>) {{
      %0, %1 = chlo.top_k(%a, k = 4) : tensor<64x{row}xf32> -> (tensor<64x4xf32>, tensor<64x4xi32>)
      return %0, %1 : tensor<64x4xf32>, tensor<64x4xi32>
    }}"""
    assert temporaries(text) == size


def test_bitcasts_do_not_hold_fusions_back() -> None:
    # The second product reads its operand in parts, and the last sum computes it again from partial sums.
    text = """func.func @main(%a: tensor<128x128xf32>, %b: tensor<128x128xf32>) -> tensor<128x128xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
      %1 = stablehlo.add %0, %a : tensor<128x128xf32>
      %2 = stablehlo.dot_general %1, %1, contracting_dims = [1] x [0]
        : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
      %3 = stablehlo.add %1, %2 : tensor<128x128xf32>
      return %3 : tensor<128x128xf32>
    }"""
    assert temporaries(text) >= MIB


def test_what_two_sums_of_columns_read_is_made_once() -> None:
    # Few blocks add up columns: they would take long to compute what they add up.
    text = """func.func @main(%a: tensor<128x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.tanh %a : tensor<128x64xf32>
      %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
        : (tensor<128x64xf32>, tensor<f32>) -> tensor<64xf32>
      %2 = stablehlo.reduce(%0 init: %zero) applies stablehlo.maximum across dimensions = [0]
        : (tensor<128x64xf32>, tensor<f32>) -> tensor<64xf32>
      return %1, %2 : tensor<64xf32>, tensor<64xf32>
    }"""
    assert temporaries(text) == 128 * 64 * 4


def test_a_sort_between_exchanges_has_the_memory_of_the_result() -> None:
    """XLA:GPU has one more array beside the result: what is received, places, and what is sent, in turn."""
    text = """sdy.mesh @m = <["x"=4, "y"=2]>
    func.func @main(%a: tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
        -> (tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) {
      %0 = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %c = stablehlo.compare LT, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }) : (tensor<256x64xf32>) -> tensor<256x64xf32>
      return %0 : tensor<256x64xf32>
    }"""
    program = propagate(Program.parse(text, as_compiled=True))
    assert program.memory("h100").estimate.temporaries == 8192


def test_sums_that_loops_accumulate_start_with_nothing() -> None:
    # The all-reduce behind the loop writes over what it accumulates: nothing is added to that. There are
    # partial sums of the product in four parts, one slice, and the counter.
    text = """
    sdy.mesh @mesh = <["x"=8]>
    func.func @main(%x: tensor<4x2048x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>})
        -> tensor<256x256xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %start = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %first = stablehlo.constant dense<0> : tensor<i32>
      %1:2 = stablehlo.while(%i = %first, %sum = %start) : tensor<i32>, tensor<256x256xf32>
      cond {
        %last = stablehlo.constant dense<4> : tensor<i32>
        %2 = stablehlo.compare LT, %i, %last : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      } do {
        %0 = stablehlo.constant dense<0> : tensor<i32>
        %2 = stablehlo.dynamic_slice %x, %i, %0, %0, sizes = [1, 2048, 256]
          : (tensor<4x2048x256xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2048x256xf32>
        %3 = stablehlo.reshape %2 : (tensor<1x2048x256xf32>) -> tensor<2048x256xf32>
        %4 = stablehlo.dot_general %3, %3, contracting_dims = [0] x [0]
          : (tensor<2048x256xf32>, tensor<2048x256xf32>) -> tensor<256x256xf32>
        %5 = stablehlo.add %sum, %4 : tensor<256x256xf32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %6 = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %6, %5 : tensor<i32>, tensor<256x256xf32>
      }
      return %1#1 : tensor<256x256xf32>
    }"""
    assert temporaries(text) == MIB + MIB // 4 + 256


def test_a_sum_that_is_converted_first_is_added_up_in_its_place() -> None:
    # Behind the loop 4 MiB are converted and added up; the product reads 2 MiB, which the loop made.
    text = """
    sdy.mesh @mesh = <["x"=8]>
    func.func @main(%x: tensor<4x8192x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>})
        -> tensor<1024xbf16> {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %zero = stablehlo.constant dense<0.0> : tensor<bf16>
      %start = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<bf16>) -> tensor<1024x1024xbf16>
      %1:2 = stablehlo.while(%i = %c, %sum = %start) : tensor<i32>, tensor<1024x1024xbf16>
      cond {
        %four = stablehlo.constant dense<4> : tensor<i32>
        %2 = stablehlo.compare LT, %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      } do {
        %0 = stablehlo.constant dense<0> : tensor<i32>
        %2 = stablehlo.dynamic_slice %x, %i, %0, %0, sizes = [1, 8192, 1024]
        : (tensor<4x8192x1024xbf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8192x1024xbf16>
        %3 = stablehlo.reshape %2 : (tensor<1x8192x1024xbf16>) -> tensor<8192x1024xbf16>
        %4 = stablehlo.dot_general %3, %3, contracting_dims = [0] x [0]
          : (tensor<8192x1024xbf16>, tensor<8192x1024xbf16>) -> tensor<1024x1024xf32>
        %10 = stablehlo.transpose %4, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
        %9 = stablehlo.convert %10 : (tensor<1024x1024xf32>) -> tensor<1024x1024xbf16>
        %5 = stablehlo.add %sum, %9 : tensor<1024x1024xbf16>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %6 = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %6, %5 : tensor<i32>, tensor<1024x1024xbf16>
      }
      %7 = stablehlo.dot_general %1#1, %1#1, contracting_dims = [0] x [0]
        : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
      %8 = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<1024x1024xbf16>, tensor<bf16>) -> tensor<1024xbf16>
      return %8 : tensor<1024xbf16>
    }"""
    with releases.of(releases.JAX_0_10):
        program = propagate(Program.parse(text, as_compiled=True), progress=False)
        assert program.memory("h100", partitioner="xla").estimate.temporaries == 6 * MIB


def test_nothing_is_written_over_what_another_kernel_of_an_op_reads_elsewhere() -> None:
    graph, type_ = GpuGraph(), TensorType((64, 64), "f32")
    value = graph.add(ARGUMENT, (), type_)
    turned = graph.add(TRANSPOSE, (value,), type_)
    plain, other = (graph.add("stablehlo.add", reads, type_) for reads in ((value, value), (value, turned)))
    kernels = [Kernel(plain, {plain}), Kernel(other, {other})]
    assert read_otherwise(graph, kernels[:1]) == set()
    assert read_otherwise(graph, [kernels[0], Kernel(other, {other, turned})]) == {value}


def test_kernels_are_found_once_for_all_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a loop, too, whose body is a computation of its own."""
    text = """
    func.func @main(%a: tensor<64x64xf32>, %n: tensor<i32>) -> tensor<64x64xf32> {
      %r:2 = stablehlo.while(%i = %n, %x = %a) : tensor<i32>, tensor<64x64xf32>
        cond {
          %zero = stablehlo.constant dense<0> : tensor<i32>
          %more = stablehlo.compare GT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %more : tensor<i1>
        } do {
          %one = stablehlo.constant dense<1> : tensor<i32>
          %next = stablehlo.subtract %i, %one : tensor<i32>
          %y = stablehlo.exponential %x : tensor<64x64xf32>
          stablehlo.return %next, %y : tensor<i32>, tensor<64x64xf32>
        }
      return %r#1 : tensor<64x64xf32>
    }"""
    found: list[GpuGraph] = []

    def fusion(graph: GpuGraph) -> KernelFusion:
        found.append(graph)
        return KernelFusion(graph)

    monkeypatch.setattr(computation, "KernelFusion", fusion)
    result = propagate(Program.parse(text, as_compiled=True))
    time = result.time("h100", target="h100").serial
    count = len(found)
    assert result.memory("h100").estimate.temporaries
    assert count == len(found) == 3
    assert propagate(Program.parse(text, as_compiled=True)).time("h100", target="h100").serial == time
