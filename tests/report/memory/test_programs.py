"""Programs worked out by hand: a `tensor<8xf32>` takes 32 bytes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.indexing.layout.formats import Target
from shardy_py.mlir.dialects import parse_module
from shardy_py.report.memory import EntryMemory, MemoryReport, memory_report

MESH = 'sdy.mesh @mesh = <["x"=2, "y"=4]>\n'


def report(text: str, target: Target = "linear") -> MemoryReport:
    return memory_report(parse_module(MESH + text, "p.mlir"), target)


def entry(text: str) -> EntryMemory:
    (only,) = report(text).entries
    return only


def alive(text: str) -> tuple[int, set[str]]:
    """The bytes at the peak on each device, and what is alive then."""
    found = report(text)
    peak = found.entries[0]
    return peak.peak.bytes.padded_bytes, {found.row(number).name for number in peak.alive}


def test_shardings_divide_bytes() -> None:
    found = report("""
    func.func @main(%arg0: tensor<10x100xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x":(1)2}]>})
        -> (tensor<10x100xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y", "x"}]>}) {
      %0 = stablehlo.convert %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y", "x"}]>]>}
        : (tensor<10x100xbf16>) -> tensor<10x100xf32>
      return %0 : tensor<10x100xf32>
    }""", "tpu")  # fmt: skip
    argument, result = found.row(0), found.row(1)
    assert (argument.local_shape, result.local_shape) == ((3, 50), (10, 13))
    assert (argument.bytes.global_bytes, argument.bytes.local_bytes) == (2000, 300)
    assert argument.bytes.padded_bytes == 4 * 128 * 2  # T(4,128)(2,1)
    assert result.bytes.padded_bytes == 16 * 128 * 4  # T(8,128)
    peak = found.entries[0].peak
    assert (peak.bytes.global_bytes, peak.bytes.local_bytes) == (6000, 300 + 520)
    assert (peak.bytes.padded_bytes, peak.bytes.waste) == (1024 + 8192, pytest.approx(1 - 820 / 9216))


def test_largest_first_with_names_and_places() -> None:
    found = report("""
    func.func @main(%arg0: tensor<4xf32> loc("w"), %arg1: tensor<8xf32>) -> tensor<16xf32> {
      %0 = stablehlo.concatenate %arg1, %arg1, dim = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
      %1:2 = stablehlo.optimization_barrier %0, %arg0 : tensor<16xf32>, tensor<4xf32>
      %2 = stablehlo.add %1#0, %1#0 : tensor<16xf32> loc("jit(f)/add"("m.py":3:4))
      return %2 : tensor<16xf32>
    }""")
    rows = found.largest()
    assert [(r.name, r.op, r.location) for r in rows] == [
        ("%0", "stablehlo.concatenate", "p.mlir:4:12"),
        ("%2", "stablehlo.add", "m.py:3:4 jit(f)/add"),
        ("%arg1", "func.func", "p.mlir:3:52"),
        ("%arg0", "func.func", "w"),
    ]
    assert found.largest(1) == rows[:1]


@pytest.mark.parametrize(
    ("donation", "size"),
    [("", 16 + 32 + 8), ("tf.aliasing_output = 0 : i32", 16 + 32), ("jax.buffer_donor = true", 16 + 32)],
)
def test_donated_arguments(donation: str, size: int) -> None:
    text = f"""
    func.func @main(%arg0: tensor<4xf32> {{{donation}}}) -> tensor<4xf32> {{
      %0 = stablehlo.concatenate %arg0, %arg0, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
      %1 = stablehlo.slice %0 [0:2] : (tensor<8xf32>) -> tensor<2xf32>
      %2 = stablehlo.concatenate %1, %1, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
      return %2 : tensor<4xf32>
    }}"""
    assert alive(text)[0] == size


def test_shared_arrays_are_copied_for_results() -> None:
    text = """
    func.func @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
      %0 = stablehlo.abs %arg0 : tensor<4xf32>
      return %0, %0, %arg0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    }"""
    assert alive(text) == (64, {"%arg0", "%0", "result 1", "result 2"})
    assert entry(text).results.bytes.padded_bytes == 48


def test_a_result_of_another_sharding_is_an_array_of_its_own() -> None:
    text = """
    func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
        -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
      %0 = stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32>
      return %0 : tensor<8xf32>
    }"""
    assert alive(text) == (16 + 16 + 8, {"%arg0", "%0", "result 0"})


def test_other_names_take_nothing() -> None:
    """A barrier without a sharding has that of its operand; no sharding and a replicated one are the same."""
    text = """
    func.func @main(
        %arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32>) {
      %0:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<8xf32>, tensor<8xf32>
      %1 = sdy.reshard %0#1 <@mesh, [{}]> : tensor<8xf32>
      return
    }"""
    assert alive(text) == (16 + 32, {"%arg0", "%arg1"})


def test_reshards_and_constraints_that_move_nothing_take_nothing() -> None:
    text = """
    func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
      %0 = sdy.reshard %arg0 <@mesh, [{"x", ?}]> : tensor<8xf32>
      %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<8xf32>
      %2 = sdy.reshard %1 <@mesh, [{"y"}]> : tensor<8xf32>
      %3 = stablehlo.slice %2 [0:4] : (tensor<8xf32>) -> tensor<4xf32>
      return %3 : tensor<4xf32>
    }"""
    assert alive(text) == (16 + 8 + 16, {"%arg0", "%2", "%3"})


LOOP = """
    func.func @main(%arg0: tensor<4x8xf32>, %arg1: tensor<8xf32>) -> tensor<4x8xf32> {{
      %c = stablehlo.constant dense<0> : tensor<i32>
      %0 = stablehlo.abs %arg0 : tensor<4x8xf32>
      %1:3 = stablehlo.while(%iterArg = {carried}, %iterArg_0 = %c, %iterArg_1 = %arg1)
          : tensor<4x8xf32>, tensor<i32>, tensor<8xf32>
      cond {{
        %2 = stablehlo.compare LT, %iterArg_0, %iterArg_0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      }} do {{
        %3 = stablehlo.reshape %iterArg_1 : (tensor<8xf32>) -> tensor<1x8xf32>
        %4 = stablehlo.dynamic_update_slice %iterArg, %3, %iterArg_0, %iterArg_0
          : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
        stablehlo.return %4, %iterArg_0, %iterArg_1 : tensor<4x8xf32>, tensor<i32>, tensor<8xf32>
      }}
      return %1#0 : tensor<4x8xf32>
    }}"""


def test_loops_carry_in_place() -> None:
    """%0 and the constant become what the loop carries; %arg1, an argument, is copied."""
    size, names = alive(LOOP.format(carried="%0"))
    assert names == {"%arg0", "%arg1", "%1#0", "%1#1", "%1#2", "%2"}
    assert size == 128 + 32 + 128 + 4 + 32 + 32


def test_what_a_loop_may_not_overwrite_is_copied() -> None:
    size, names = alive(LOOP.format(carried="%arg0"))
    assert names == {"%arg0", "%arg1", "%1#0", "%1#1", "%1#2", "%2"}
    assert size == 128 + 32 + 128 + 4 + 32 + 32


def test_a_loop_that_swaps_needs_copies() -> None:
    text = """
    func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
      %0:2 = stablehlo.while(%a = %arg0, %b = %arg1) : tensor<8xf32>, tensor<8xf32>
      cond {
        %c = stablehlo.constant dense<true> : tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        stablehlo.return %b, %a : tensor<8xf32>, tensor<8xf32>
      }
      return %0#0 : tensor<8xf32>
    }"""
    assert alive(text)[0] == 32 * 6
    assert {"copy to %0#0", "copy to %0#1"} < alive(text)[1]


def test_what_a_loop_carries_is_alive_in_its_condition() -> None:
    """Also what the condition does not read, and what only the body takes from outside."""
    text = """
    func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.abs %arg0 : tensor<8xf32>
      %1 = stablehlo.slice %arg0 [0:4] : (tensor<8xf32>) -> tensor<4xf32>
      %2 = stablehlo.while(%a = %0) : tensor<8xf32>
      cond {
        %3 = stablehlo.constant dense<true> : tensor<16xi1>
        %4 = stablehlo.slice %3 [0:1] : (tensor<16xi1>) -> tensor<1xi1>
        %5 = stablehlo.reshape %4 : (tensor<1xi1>) -> tensor<i1>
        stablehlo.return %5 : tensor<i1>
      } do {
        %3 = stablehlo.concatenate %1, %1, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
        stablehlo.return %3 : tensor<8xf32>
      }
      return %2 : tensor<8xf32>
    }"""
    assert alive(text) == (32 + 16 + 32 + 16 + 1, {"%arg0", "%1", "%2", "%c", "%3"})


def test_what_a_branch_takes_from_outside_lives_to_its_end() -> None:
    """The second branch returns what is not its own: a copy."""
    text = """
    func.func @main(%arg0: tensor<i32>) -> tensor<8xf32> {
      %0 = stablehlo.constant dense<1.0> : tensor<8xf32>
      %1 = "stablehlo.case"(%arg0) ({
        %2 = stablehlo.slice %0 [0:1] : (tensor<8xf32>) -> tensor<1xf32>
        %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<1xf32>) -> tensor<8xf32>
        stablehlo.return %3 : tensor<8xf32>
      }, {
        stablehlo.return %0 : tensor<8xf32>
      }) : (tensor<i32>) -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }"""
    assert alive(text) == (4 + 32 + 4 + 32, {"%arg0", "%cst", "%1", "%2"})
    assert "copy to %0" in {row.name for row in report(text).largest()}


def test_the_largest_branch_counts() -> None:
    text = """
    func.func @main(%arg0: tensor<i32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
      %0 = "stablehlo.case"(%arg0) ({
        %1 = stablehlo.abs %arg1 : tensor<8xf32>
        stablehlo.return %1 : tensor<8xf32>
      }, {
        %2 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
        %3 = stablehlo.slice %2 [0:8, 0:1] : (tensor<8x4xf32>) -> tensor<8x1xf32>
        %4 = stablehlo.reshape %3 : (tensor<8x1xf32>) -> tensor<8xf32>
        stablehlo.return %4 : tensor<8xf32>
      }, {
        stablehlo.return %arg1 : tensor<8xf32>
      }) : (tensor<i32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }"""
    assert alive(text)[0] == 4 + 32 + 128 + 32
    places = [(place.op, place.name) for place in entry(text).place]
    assert places == [("stablehlo.case", "%0"), ("stablehlo.slice", "%2")]


MANUAL = """
    func.func @main(%arg0: tensor<16x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{{outer}}}, {{}}]>}})
        -> (tensor<16x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{"y"}}]>}}) {{
      %0 = sdy.manual_computation(%arg0)
          in_shardings=[<@mesh, [{{"x"}}, {{}}]>] out_shardings=[<@mesh, [{{"x"}}, {{"y"}}]>]
          manual_axes={{"x"}} (%arg1: tensor<8x8xf32>) {{
        %1 = stablehlo.abs %arg1
          {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{}}, {{"y"}}]>]>}} : tensor<8x8xf32>
        %2 = stablehlo.negate %1
          {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{}}, {{"y"}}]>]>}} : tensor<8x8xf32>
        sdy.return %2 : tensor<8x8xf32>
      }} : (tensor<16x8xf32>) -> tensor<16x8xf32>
      return %0 : tensor<16x8xf32>
    }}"""


def test_inside_manual_computations_types_are_local_along_manual_axes() -> None:
    """%arg0 is sharded along "x" into 2; %1 and %2 along "y" into 4 more."""
    text = MANUAL.format(outer='"x"')
    assert alive(text) == (256 + 64 + 64, {"%arg0", "%1", "%2"})
    assert report(text).row(0).bytes.global_bytes == 512


def test_operands_of_another_sharding_are_resharded_on_the_way_in() -> None:
    assert alive(MANUAL.format(outer="")) == (512 + 256 + 64, {"%arg0", "%arg1", "%1"})


CALLS = """
    func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
      %0 = call @f(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
      %1 = call @f(%0) : (tensor<8xf32>) -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    func.func private @f(%arg0: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<8xf32>) -> tensor<8x2xf32>
      %1 = stablehlo.slice %0 [0:8, 0:1] : (tensor<8x2xf32>) -> tensor<8x1xf32>
      %2 = stablehlo.reshape %1 : (tensor<8x1xf32>) -> tensor<8xf32>
      return %2 : tensor<8xf32>
    }"""


def test_what_a_callee_makes_counts_at_the_call() -> None:
    size, names = alive(CALLS)
    assert (size, names) == (32 + 64 + 32, {"%arg0", "%0", "%1"})
    found = report(CALLS)
    assert [(row.function, row.name) for row in found.largest(3)] == [
        ("f", "%0"),
        ("main", "%arg0"),
        ("f", "%1"),
    ]
    places = [(place.function, place.op) for place in found.entries[0].place]
    assert places == [("main", "func.call"), ("f", "stablehlo.slice")]


def test_a_callee_that_returns_its_argument_takes_nothing() -> None:
    text = """
    func.func @main(%arg0: tensor<8xf32>) -> tensor<4xf32> {
      %0:2 = call @f(%arg0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
      %1 = stablehlo.slice %0#1 [0:4] : (tensor<8xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    func.func private @f(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      return %arg0, %arg0 : tensor<8xf32>, tensor<8xf32>
    }"""
    assert alive(text) == (48, {"%arg0", "%1"})


def test_named_computations_are_part_of_the_program_around() -> None:
    text = """
    func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
      %0 = sdy.named_computation<"f">(%arg0) (%arg1: tensor<8xf32>) {
        %1 = stablehlo.abs %arg1 : tensor<8xf32>
        %2 = stablehlo.abs %1 : tensor<8xf32>
        sdy.return %2 : tensor<8xf32>
      } : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }"""
    assert alive(text) == (96, {"%arg0", "%1", "%2"})


def test_constants_and_reducers() -> None:
    text = """
    func.func @main(%arg0: tensor<8xf32>) -> tensor<f32> {
      %cst = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%arg0 init: %cst) across dimensions = [0]
        : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
       reducer(%a: tensor<f32>, %b: tensor<f32>) {
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }
      return %0 : tensor<f32>
    }"""
    assert alive(text) == (40, {"%arg0", "%cst", "%0"})
    constants = entry(text).constants
    assert (constants.count, constants.bytes.padded_bytes) == (1, 4)


def test_constants_of_callees_count_once() -> None:
    text = """
    func.func @main() {
      call @f() : () -> ()
      call @f() : () -> ()
      return
    }
    func.func private @f() {
      %0 = stablehlo.constant dense<1.0> : tensor<8xf32>
      return
    }
    func.func private @g() {
      %0 = stablehlo.constant dense<1.0> : tensor<8xf32>
      return
    }"""
    assert entry(text).constants.bytes.padded_bytes == 32


def test_dynamic_sizes_count_as_their_bounds_or_not_at_all() -> None:
    found = report("""
    func.func @main(
        %arg0: tensor<?x4xf32, #stablehlo.bounds<6, ?>>, %arg1: tensor<?x4xf32>, %arg2: !stablehlo.token) {
      return
    }""")
    assert found.entries[0].arguments.bytes.global_bytes == 6 * 4 * 4
    assert [(row.name, row.shape, row.not_counted) for row in found.not_counted] == [
        ("%arg1", (None, 4), "a dynamic dimension without a bound")
    ]
    assert found.row(0).shape == (6, 4)


def test_tuples_are_the_sum_of_their_elements() -> None:
    text = """
    func.func @main(%arg0: tensor<8xf32>) -> tensor<4xf32> {
      %0 = stablehlo.custom_call @f(%arg0) : (tensor<8xf32>) -> tuple<tensor<4xf32>, tensor<2xf32>>
      %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<4xf32>, tensor<2xf32>>) -> tensor<4xf32>
      %2 = stablehlo.abs %1 : tensor<4xf32>
      return %2 : tensor<4xf32>
    }"""
    assert alive(text) == (32 + 24 + 16, {"%arg0", "%0", "%2"})


def test_a_terminator_may_return_more_than_the_function() -> None:
    """As in `"stablehlo.return"(%0)`, which no verifier holds against the type of a function."""
    text = """
    func.func @main(%arg0: tensor<8xf32>) {
      %0 = stablehlo.abs %arg0 : tensor<8xf32>
      "stablehlo.return"(%0) : (tensor<8xf32>) -> ()
    }"""
    assert entry(text).results.count == 0
    assert alive(text)[0] == 64


def test_without_main_all_uncalled_functions_are_entries() -> None:
    text = CALLS.replace("@main", "@g") + "func.func @h() {\n  return\n}\n"
    assert [found.function for found in report(text).entries] == ["g", "h"]
    assert report("").entries == ()


def test_long_chains_of_calls() -> None:
    chain = ["func.func @main() {\n  call @f0() : () -> ()\n  return\n}"]
    depth = 1000
    for number in range(depth):
        body = (
            f"call @f{number + 1}() : () -> ()"
            if number + 1 < depth
            else "%0 = stablehlo.constant dense<1> : tensor<i32>"
        )
        chain.append(f"func.func private @f{number}() {{\n  {body}\n  return\n}}")
    found = entry("\n".join(chain))
    assert (len(found.place), found.peak.bytes.padded_bytes) == (depth + 1, 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "func.func @main() {\n  call @main() : () -> ()\n  return\n}",
            r"p.mlir:3:3: error: @main calls itself",
        ),
        (
            'func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {\n  return\n}',
            r"p.mlir:2:17: error: unknown mesh '@m'",
        ),
        (
            "func.func @main(%a: tensor<4xf32>) {\n"
            '  %0 = sdy.reshard %a <@mesh, [{"z"}]> : tensor<4xf32>\n  return\n}',
            r"p.mlir:3:8: error: dimension 0: unknown axis 'z': expected one of 'x', 'y'",
        ),
    ],
)
def test_mistakes_have_a_place(text: str, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        _ = report(text).entries


@pytest.mark.parametrize("target", ["tpu", "linear"])
def test_real_programs(corpus: Callable[[str], str], corpus_program: str, target: Target) -> None:
    module = parse_module(corpus(f"{corpus_program}.propagated"), "-")
    found = memory_report(module, target)
    (main,) = found.entries
    sizes = [found.row(number).bytes.padded_bytes for number in main.alive]
    assert sum(sizes) == main.peak.bytes.padded_bytes
    assert sizes == sorted(sizes, reverse=True)
    assert main.peak.bytes.padded_bytes >= main.arguments.bytes.padded_bytes
    assert main.peak.bytes.local_bytes <= main.peak.bytes.padded_bytes
    assert found.not_counted == ()
    if target == "linear":
        assert main.peak.bytes.waste == 0
