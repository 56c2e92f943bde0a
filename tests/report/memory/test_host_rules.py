"""Rules of XLA's backend for the host: donated arguments, bf16 arithmetic, gathers of activations."""

from __future__ import annotations

from typing import Any

import pytest

from shardy_py.api import Program, propagate
from shardy_py.xla.buffers.carried import copied, with_copies, with_copies_at_end
from shardy_py.xla.buffers.schedule import Event, breadth_first_combined
from shardy_py.xla.spmd.program import Name
from shardy_py.xla.targets.simplified import simplified
from tests.eight_devices import run_on_eight_devices
from tests.report.memory.allocated import CLOSE, estimate


@pytest.mark.parametrize(
    ("reads", "in_place", "copies"),
    [
        (("w", "g"), True, []),  # the update needs all that reads the weight
        (("w", "g"), False, ["w"]),  # the update cannot be written over it
        (("w", "x"), True, ["w"]),  # the gradient may be computed after the update
    ],
)
def test_a_donated_argument_is_copied_if_something_may_read_it_after_the_update(
    reads: tuple[str, ...], in_place: bool, copies: list[str]
) -> None:
    update = Event("update", reads, ("n",), over=reads if in_place else ())
    events = [Event("gradient", ("w", "x"), ("g",)), update]
    assert copied(events, {"w": "n"}) == (copies, [])
    (first, *others) = with_copies(events, {"w": 64}, copies)
    assert (first.reads == ("w",)) == bool(copies)
    assert all(("w" in event.reads) != bool(copies) for event in others)


class _Loop:
    blocks = ("condition", "body")


@pytest.mark.parametrize(
    ("reads", "over", "last"),
    [
        (("zeros", "w"), ("zeros",), ["w"]),  # a scan over the rows of w
        (("w", "x"), ("w",), []),  # a loop that replaces w itself
        (("zeros", "x"), ("zeros",), []),
    ],
)
def test_what_a_loop_makes_of_a_donated_argument_is_copied_into_it_at_the_end(
    reads: tuple[str, ...], over: tuple[str, ...], last: list[str]
) -> None:
    loop = Event(_Loop(), reads, ("n",), over=over, is_update=True)
    assert copied([loop], {"w": "n"}) == ([], last)
    sizes: dict[Name, int] = {"n": 64}
    events, results = with_copies_at_end([loop], sizes, last, ["n", "m"], ["w"])
    assert results == [("copy", "n") if last else "n", "m"]
    assert [event.reads for event in events[1:]] == [("n",)] * len(last)


def test_an_argument_that_may_be_read_after_the_loop_is_copied_before_it() -> None:
    loop = Event(_Loop(), ("zeros", "w"), ("n",), over=("zeros",), is_update=True)
    assert copied([loop, Event("sum", ("w",), ("s",))], {"w": "n"}) == (["w"], [])


def test_temporaries_are_not_in_the_memory_of_a_donated_argument_before_its_last_use() -> None:
    text = """
    func.func @main(%w: tensor<64xf32> {jax.buffer_donor = true}, %x: tensor<64xf32>) -> tensor<64xf32> {
      %0 = stablehlo.tanh %x : tensor<64xf32>
      %1 = "stablehlo.sort"(%0) <{dimension = 0 : i64}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
      }) : (tensor<64xf32>) -> tensor<64xf32>
      %2 = stablehlo.add %w, %1 : tensor<64xf32>
      return %2 : tensor<64xf32>
    }"""
    donated, kept = estimate(text), estimate(text.replace("{jax.buffer_donor = true}", ""))
    assert (kept.temporaries, donated.temporaries) == (0, 256)  # the sort is in place


def test_a_result_takes_the_memory_of_the_argument_that_jax_names() -> None:
    text = """
    func.func @main(%a: tensor<64xf32> {{tf.aliasing_output = {first} : i32}},
                    %b: tensor<64xf32> {{tf.aliasing_output = {second} : i32}})
        -> (tensor<64xf32>, tensor<64xf32>) {{
      %0 = stablehlo.negate %a : tensor<64xf32>
      %1 = stablehlo.tanh %b : tensor<64xf32>
      return %0, %1 : tensor<64xf32>, tensor<64xf32>
    }}"""
    assert estimate(text.format(first=0, second=1)).temporaries == 0
    # %0 is to be in the memory of %b, and %1 in that of %a: one of them is made elsewhere first.
    assert estimate(text.format(first=1, second=0)).temporaries == 256


WIDE = 64 * 64 * 4


def product(users: str, result: str, release: str) -> int:
    """The temporaries of a product of bf16 and what reads it."""
    text = f"""
    func.func @main(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>, %c: tensor<64x1024xbf16>)
        -> tensor<64x64xbf16> {{
      %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
      {users}
      return {result} : tensor<64x64xbf16>
    }}"""
    return propagate(Program.parse(text, as_compiled=True, jax=release)).memory().estimate.temporaries


@pytest.mark.parametrize(("release", "size"), [("0.10", 3 * WIDE), ("0.12", WIDE // 2)])
def test_equal_copies_of_an_operand_are_one(release: str, size: int) -> None:
    """%a and %b in f32, and the product; since 0.12 only the product, in bf16."""
    second = """%q = stablehlo.dot_general %a, %p, contracting_dims = [1] x [0]
        : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>"""
    assert product(second, "%q", release) == size


@pytest.mark.parametrize(
    ("release", "size"), [("0.10", (1 + 16 + 16) * WIDE), ("0.12", (1 + 16) * WIDE // 2)]
)
def test_a_product_that_is_read_repeatedly_is_stored_in_its_own_type(release: str, size: int) -> None:
    users = """
      %0 = stablehlo.tanh %p : tensor<64x64xbf16>
      %1 = stablehlo.dot_general %0, %c, contracting_dims = [1] x [0]
        : (tensor<64x64xbf16>, tensor<64x1024xbf16>) -> tensor<64x1024xbf16>
      %2 = stablehlo.dot_general %1, %c, contracting_dims = [1] x [1]
        : (tensor<64x1024xbf16>, tensor<64x1024xbf16>) -> tensor<64x64xbf16>
      %3 = stablehlo.multiply %p, %2 : tensor<64x64xbf16>"""
    # At the second product: its operands and its result in f32; %p is bf16, in the memory of the result.
    assert product(users, "%3", release) == size


@pytest.mark.parametrize(
    ("release", "shapes", "contracted", "element", "is_wide"),
    [
        ("0.10", ("64x64", "64x64"), (1, 0), "bf16", True),
        ("0.10", ("64x64", "64x64"), (1, 0), "f32", False),
        ("0.12", ("64x64", "64x64"), (1, 0), "bf16", False),
        ("0.12", ("64x64", "64x64"), (1, 1), "bf16", False),
        ("0.12", ("64x64", "64x64"), (0, 0), "bf16", True),
        ("0.12", ("1x64", "64x64"), (1, 0), "bf16", True),
        ("0.12", ("7x4", "4x4"), (1, 0), "bf16", True),
        ("0.12", ("2x4", "4x8"), (1, 0), "bf16", False),
        ("0.12", ("64x3", "3x64"), (1, 0), "bf16", True),
    ],
)
def test_which_products_of_bf16_have_operands_in_f32(
    release: str, shapes: tuple[str, str], contracted: tuple[int, int], element: str, is_wide: bool
) -> None:
    lhs, rhs = (tuple(map(int, shape.split("x"))) for shape in shapes)
    made = f"tensor<{lhs[1 - contracted[0]]}x{rhs[1 - contracted[1]]}x{element}>"
    types = ", ".join(f"tensor<{shape}xbf16>" for shape in shapes)
    text = f"""
    func.func @main(%a: tensor<{shapes[0]}xbf16>, %b: tensor<{shapes[1]}xbf16>) -> {made} {{
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [{contracted[0]}] x [{contracted[1]}]
        : ({types}) -> {made}
      return %0 : {made}
    }}"""
    found = propagate(Program.parse(text, as_compiled=True, jax=release)).memory().estimate.temporaries
    assert (found > 0) == is_wide


TRANSPOSED = "%s = stablehlo.transpose %b, dims = [1, 0] : (tensor<64x64xbf16>) -> tensor<64x64xbf16>\n"


@pytest.mark.parametrize("release", ["0.11", "0.12"])
@pytest.mark.parametrize(
    ("body", "is_wide"),
    [
        ("%t = stablehlo.transpose %b, dims = [0, 1] : (tensor<64x64xbf16>) -> tensor<64x64xbf16>", False),
        (TRANSPOSED + "%t = stablehlo.negate %s : tensor<64x64xbf16>", True),
        (TRANSPOSED + "%t = stablehlo.add %s, %a : tensor<64x64xbf16>", True),
        (TRANSPOSED + "%t = stablehlo.add %a, %s : tensor<64x64xbf16>", False),
        (TRANSPOSED + "%t = stablehlo.clamp %a, %s, %a : tensor<64x64xbf16>", True),
        (TRANSPOSED + "%t = stablehlo.clamp %s, %a, %a : tensor<64x64xbf16>", False),
        (TRANSPOSED + "%t = stablehlo.reverse %s, dims = [0] : tensor<64x64xbf16>", True),
        (TRANSPOSED.replace("%s", "%t"), True),
        (
            TRANSPOSED
            + "%t = stablehlo.transpose %s, dims = [1, 0] : (tensor<64x64xbf16>) -> tensor<64x64xbf16>",
            False,
        ),
    ],
)
def test_the_library_takes_no_operand_that_a_transpose_left_out_of_order(
    body: str, is_wide: bool, release: str
) -> None:
    text = f"""
    func.func @main(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>) -> tensor<64x64xbf16> {{
      {body}
      %p = stablehlo.dot_general %a, %t, contracting_dims = [1] x [0]
        : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
      return %p : tensor<64x64xbf16>
    }}"""
    found = propagate(Program.parse(text, as_compiled=True, jax=release)).memory().estimate.temporaries
    # Both operands in f32, and the product; else at most what is read.
    assert (found >= 3 * WIDE) == is_wide


COMPILED = """
import json
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)

def array(shape, dtype, *spec):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(*spec)))

def step(weights, momentum, x, y):
    def loss(weights):
        h = x
        for w in weights:
            h = jax.nn.relu(h @ w)
        return jnp.mean((h - y) ** 2)
    gradients = jax.grad(loss)(weights)
    momentum = [0.9 * m + g for m, g in zip(momentum, gradients)]
    return [w - 0.1 * m for w, m in zip(weights, momentum)], momentum

def hidden(weights, x):
    def loss(weights):
        h = x
        for a, b in weights:
            z = jax.lax.with_sharding_constraint(h @ a, NamedSharding(mesh, P(None, "data", "model")))
            h = h + jax.nn.silu(z) @ b
        return jnp.mean(h.astype(jnp.float32) ** 2)
    return jax.grad(loss)(weights)

f32, bf16 = jnp.float32, jnp.bfloat16
weights = [array((512, 512), f32, "data", "model")] * 4
blocks = [(array((128, 512), bf16, "data", "model"), array((512, 128), bf16, "model", "data"))] * 3
cases = {
    "donated": (step, [weights, weights, *[array((128, 512), f32, "data")] * 2], (0, 1)),
    "gathered": (hidden, [blocks, array((16, 64, 128), bf16, "data")], ()),
}
found = {}
for name, (function, arguments, donated) in cases.items():
    lowered = jax.jit(function, donate_argnums=donated).lower(*arguments)
    sizes = lowered.compile().memory_analysis()
    held = sizes.argument_size_in_bytes + sizes.temp_size_in_bytes + sizes.output_size_in_bytes
    found[name] = [lowered.as_text(), held - sizes.alias_size_in_bytes]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def compiled() -> dict[str, Any]:
    """By case, the program as text, and all bytes that XLA allocates on a device."""
    return run_on_eight_devices(COMPILED)


@pytest.mark.parametrize("case", ["donated", "gathered"])
def test_xla_allocates_about_as_much_in_all(compiled: dict[str, Any], case: str) -> None:
    text, size = compiled[case]
    low, high = CLOSE
    assert low <= estimate(text).total_bytes / size <= high


@pytest.mark.parametrize(("size", "stored"), [(32, False), (64, True)])
def test_a_large_reduction_reads_an_operand_that_is_stored(size: int, stored: bool) -> None:
    text = f"""
    func.func @main(%a: tensor<8x{size}xf32>) -> tensor<8xf32> {{
      %0 = stablehlo.negate %a : tensor<8x{size}xf32>
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1]
        : (tensor<8x{size}xf32>, tensor<f32>) -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }}"""
    assert (estimate(text).temporaries >= 8 * size * 4) == stored


def sums(chain: bool) -> list[Event]:
    """Two sums of kind "a", "s" and "p", and one of kind "b" after "p"; chain: and one before "s"."""
    first = [Event(None, ("x",), ("p",), kind="a"), Event(None, ("p",), ("q",), kind="b")]
    second = [Event(None, ("y",), ("r",), kind="b"), Event(None, ("r",), ("s",), kind="a")]
    return [*first, *(second if chain else [Event(None, ("y",), ("s",), kind="a")])]


@pytest.mark.parametrize(("chain", "counts"), [(False, [1, 2]), (True, [1, 1, 2])])
def test_sums_of_one_kind_are_combined_unless_they_need_each_other(chain: bool, counts: list[int]) -> None:
    order = breadth_first_combined(sums(chain), ["q", "s"])
    assert sorted(len(event.makes) for event in order) == counts


def test_sums_are_combined_up_to_the_first_that_needs_another() -> None:
    """Each gradient's sum, and that of its square, which needs it: the next gradient is with that one."""
    events = [
        event
        for n in range(3)
        for event in (
            Event(None, (f"x{n}",), (f"g{n}",), kind=1),
            Event(None, (f"g{n}",), (f"s{n}",), kind=1),
        )
    ]
    order = breadth_first_combined(events, ["s0", "s1", "s2"])
    assert [event.makes for event in order] == [("g0",), ("s0", "g1"), ("s1", "g2"), ("s2",)]


@pytest.mark.parametrize(("rows", "temporaries"), [(8, 67_125_248), (16, 0)])
def test_a_library_is_chosen_for_the_rows_of_a_device(rows: int, temporaries: int) -> None:
    """One row on each of 8 devices is a vector, whose weights XLA converts to f32: 67,125,248 bytes of it."""
    text = f"""
    sdy.mesh @mesh = <["x"=8]>
    func.func @main(%x: tensor<{rows}x4096xbf16> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}},
                    %w: tensor<4096x4096xbf16> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{}}]>}})
        -> tensor<{rows}x4096xf32> {{
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
          : (tensor<{rows}x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<{rows}x4096xf32>
      return %0 : tensor<{rows}x4096xf32>
    }}"""
    assert estimate(text).temporaries == temporaries


def test_a_product_whose_result_is_gathered_is_summed_gathered_and_cut() -> None:
    text = """
    sdy.mesh @mesh = <["data"=4, "expert"=4]>
    func.func @main(
        %x: tensor<16x64x16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"expert"}, {}]>},
        %y: tensor<16x16x16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"expert"}, {"data"}, {}, {}]>})
        -> (tensor<16x64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "expert"}, {}, {}]>}) {
      %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [1], contracting_dims = [3, 2] x [2, 0]
          : (tensor<16x64x16x16xf32>, tensor<16x16x16x32xf32>) -> tensor<16x64x32xf32>
      return %0 : tensor<16x64x32xf32>
    }"""
    found = propagate(Program.parse(text)).memory(partitioner="xla").estimate
    # The sum of one device's products and what is gathered of it; XLA: 163,844, with the index of the part.
    assert found.temporaries == 4 * 64 * 32 * 4 + 16 * 64 * 32 * 4


def test_layers_that_a_loop_slices_are_converted_before_it() -> None:
    """The host slices in f32 only: XLA allocates 65,668 bytes for it with jaxlib 0.10.2."""
    text = """
    func.func @main(%w: tensor<4x64x64xbf16>, %x: tensor<64x64xf32>) -> tensor<64x64xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %0:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<64x64xf32>
        cond {
          %n = stablehlo.constant dense<4> : tensor<i32>
          %less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %less : tensor<i1>
        } do {
          %one = stablehlo.constant dense<1> : tensor<i32>
          %first = stablehlo.constant dense<0> : tensor<i32>
          %part = stablehlo.dynamic_slice %w, %i, %first, %first, sizes = [1, 64, 64]
            : (tensor<4x64x64xbf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x64xbf16>
          %s = stablehlo.reshape %part : (tensor<1x64x64xbf16>) -> tensor<64x64xbf16>
          %f = stablehlo.convert %s : (tensor<64x64xbf16>) -> tensor<64x64xf32>
          %t = stablehlo.tanh %c : tensor<64x64xf32>
          %d = stablehlo.add %t, %f : tensor<64x64xf32>
          %next = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %next, %d : tensor<i32>, tensor<64x64xf32>
        }
      return %0#1 : tensor<64x64xf32>
    }"""
    found = propagate(Program.parse(text, as_compiled=True, jax="0.10")).memory().estimate.temporaries
    assert 4 * WIDE <= found < 4 * WIDE + 64


@pytest.mark.parametrize(("direction", "count"), [("LT", 1), ("GT", 2)])
def test_the_least_element_is_found_with_its_place(direction: str, count: int) -> None:
    """XLA keeps the reduction that also finds the place; a maximum beside it is another one."""
    text = f"""
    func.func @main(%x: tensor<512x256xf32>) -> (tensor<512xi32>, tensor<512xf32>) {{
      %inf = stablehlo.constant dense<0x7F800000> : tensor<f32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %i = stablehlo.iota dim = 1 : tensor<512x256xi32>
      %0:2 = stablehlo.reduce(%x init: %inf), (%i init: %zero) across dimensions = [1]
        : (tensor<512x256xf32>, tensor<512x256xi32>, tensor<f32>, tensor<i32>)
        -> (tensor<512xf32>, tensor<512xi32>)
        reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {{
          %1 = stablehlo.compare {direction}, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %2 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<f32>
          %3 = stablehlo.select %1, %c, %d : tensor<i1>, tensor<i32>
          stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
        }}
      %4 = stablehlo.reduce(%x init: %inf) applies stablehlo.minimum across dimensions = [1]
        : (tensor<512x256xf32>, tensor<f32>) -> tensor<512xf32>
      return %0#1, %4 : tensor<512xi32>, tensor<512xf32>
    }}"""
    program = propagate(Program.parse(text, as_compiled=True, jax="0.10")).forecasts.spmd("xla")
    block = simplified(program.block(program.entries[0]))
    assert [step.record.name for step in block.steps].count("stablehlo.reduce") == count
