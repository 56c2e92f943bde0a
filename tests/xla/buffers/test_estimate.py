"""The estimate of what XLA allocates: what is not stored, what shares memory, and XLA's own figures."""

from __future__ import annotations

import json

import pytest

from shardy_py.api import Program, propagate
from shardy_py.base.errors import ShardyError
from shardy_py.report.memory import memory_json
from shardy_py.xla.buffers.chips import CHIPS
from shardy_py.xla.buffers.estimate import MemoryEstimate
from tests.report.memory.allocated import CLOSE, allocated, estimated


def estimate(body: str, arguments: str = "%a: tensor<64xf32>", result: str = "64xf32") -> MemoryEstimate:
    text = f"func.func @main({arguments}) -> tensor<{result}> {{\n{body}\nreturn %r : tensor<{result}>\n}}"
    return propagate(Program.parse(text)).memory().estimate


def test_chains_of_elementwise_ops_are_not_stored() -> None:
    body = "\n".join(
        f"%{name} = stablehlo.add %{given}, %a : tensor<64xf32>"
        for name, given in (("0", "a"), ("1", "0"), ("2", "1"), ("r", "2"))
    )
    assert estimate(body) == MemoryEstimate(256, 256, 0, 0)


def test_operands_of_products_are_stored() -> None:
    body = """
      %0 = stablehlo.tanh %a : tensor<8x8xf32>
      %r = stablehlo.dot_general %0, %a, contracting_dims = [1] x [0]
        : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    """
    assert estimate(body, "%a: tensor<8x8xf32>", "8x8xf32").temporaries == 256


def test_a_result_takes_the_memory_of_a_donated_argument() -> None:
    found = estimate(
        "%r = stablehlo.negate %a : tensor<64xf32>", "%a: tensor<64xf32> {jax.buffer_donor = true}"
    )
    assert (found.aliased, found.total_bytes) == (256, 256)


def test_a_program_fits_a_chip() -> None:
    text = """func.func @main(%a: tensor<3000000000xf32>) -> tensor<3000000000xf32> {
      %0 = stablehlo.negate %a : tensor<3000000000xf32>
      return %0 : tensor<3000000000xf32>
    }"""
    result = propagate(Program.parse(text))
    assert result.memory("tpu-v5p").fits
    assert not result.memory("tpu-v5e").fits
    assert "The estimate does not fit in the 17.18 GB of tpu-v5e." in str(result.memory("tpu-v5e"))
    assert (
        "is what XLA allocates, as estimated, and does not fit in the 17.18 GB of tpu-v5e: "
        in (result.memory("tpu-v5e").headline[0])
    )
    with pytest.raises(ShardyError, match="linear"):
        _ = result.memory().fits


@pytest.mark.parametrize(
    ("models", "names"),
    [
        ("jax", ("mlp_train_data_4096", "mlp_data_4096", "newton", "argmax", "rolled")),
        ("equinox", ("images_data",)),
        ("varied", ("power_iteration", "correlation", "iqr_scaled", "zero1_mapped")),
    ],
)
def test_xla_allocates_about_as_much(models: str, names: tuple[str, ...]) -> None:
    found = allocated(names, models)
    assert len(found) == len(names)
    for name, xla in found.items():
        assert CLOSE[0] <= estimated(xla.text) / xla.size_bytes <= CLOSE[1], name


@pytest.mark.parametrize(("jax", "temporaries"), [("0.10", 24576), ("0.12", 10240)])
def test_a_sum_of_a_product_is_not_one_of_a_slice_of_its_operand(jax: str, temporaries: int) -> None:
    """The host makes the product in f32, which is larger than what is planned to be summed, of bf16.

    temporaries: those of XLA, of which the estimate for 0.12 has more.
    """
    text = """
    sdy.mesh @mesh = <["x"=4]>
    func.func @main(%a: tensor<16x8x32xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
        %b: tensor<64x8x32xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>})
        -> tensor<16x64xbf16> {
      %0 = stablehlo.tanh %a : tensor<16x8x32xbf16>
      %1 = stablehlo.dot_general %0, %b, contracting_dims = [1, 2] x [1, 2]
        : (tensor<16x8x32xbf16>, tensor<64x8x32xbf16>) -> tensor<16x64xbf16>
      %2 = stablehlo.tanh %1 : tensor<16x64xbf16>
      return %2 : tensor<16x64xbf16>
    }"""
    result = propagate(Program.parse(text, as_compiled=True).with_release(jax))
    found = result.memory(partitioner="xla").estimate.temporaries
    assert found == temporaries if jax == "0.10" else found >= temporaries


def test_checkpointed_layers_need_less_on_a_chip() -> None:
    def program(again: str) -> str:
        body, last = "", "a"
        for n in range(6):
            body += f"""
      %u{n} = stablehlo.dot_general %{last}, %w, contracting_dims = [1] x [0]
        : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %t{n} = stablehlo.tanh %u{n} : tensor<64x64xf32>"""
            last = f"t{n}"
        for n in reversed(range(6)):
            source = f"%u{n}"
            if again:
                body += f"""
      %b{n}:2 = stablehlo.optimization_barrier %a, %{last} : tensor<64x64xf32>, tensor<64x64xf32>
      %v{n} = stablehlo.dot_general %b{n}#0, %w, contracting_dims = [1] x [0]
        : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>"""
                source = f"%v{n}"
            body += f"""
      %g{n} = stablehlo.dot_general %{last}, {source}, contracting_dims = [1] x [0]
        : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>"""
            last = f"g{n}"
        head = "func.func @main(%a: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {"
        return f"{head}{body}\nreturn %{last} : tensor<64x64xf32>\n}}"

    plain, checkpointed = (
        propagate(Program.parse(program(again))).memory("h100").estimate for again in ("", "again")
    )
    assert checkpointed.temporaries < plain.temporaries


def test_what_reads_a_barrier_waits_for_all_its_operands() -> None:
    def program(source: str) -> str:
        body, last = "", "a"
        for n in range(6):
            body += f"""
      %b{n}:2 = stablehlo.optimization_barrier %a, %{last} : tensor<64x64xf32>, tensor<64x64xf32>
      %x{n} = stablehlo.dot_general %{source.format(n)}, %w, contracting_dims = [1] x [0]
        : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %y{n} = stablehlo.dot_general %x{n}, %v, contracting_dims = [1] x [0]
        : (tensor<64x64xf32>, tensor<64x1024xf32>) -> tensor<64x1024xf32>
      %z{n} = stablehlo.dot_general %y{n}, %v, contracting_dims = [1] x [1]
        : (tensor<64x1024xf32>, tensor<64x1024xf32>) -> tensor<64x64xf32>
      %g{n} = stablehlo.dot_general %z{n}, %{last}, contracting_dims = [1] x [0]
        : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>"""
            last = f"g{n}"
        types = "%a: tensor<64x64xf32>, %w: tensor<64x64xf32>, %v: tensor<64x1024xf32>"
        return (
            f"func.func @main({types}) -> tensor<64x64xf32> {{{body}\nreturn %{last} : tensor<64x64xf32>\n}}"
        )

    early, late = (
        propagate(Program.parse(program(source))).memory("trn2").estimate.temporaries
        for source in ("a", "b{}#0")
    )
    matrix = 64 * 64 * 4
    assert late == (1 + 16 + 1) * matrix  # x, y and what the barrier holds back for
    assert early == late + 4 * matrix  # further x are made before the first y


def on_chip(body: str, arguments: str, result: str, target: str = "h100") -> int:
    """The temporaries of a program on a mesh of eight devices, as XLA compiles it for a chip."""
    type_ = result.partition(" {")[0].removeprefix("(")
    text = f"""sdy.mesh @mesh = <["x"=8]>
    func.func @main({arguments}) -> {result} {{
      {body}
      return %r : {type_}
    }}"""
    return propagate(Program.parse(text, as_compiled=True)).memory(target).estimate.temporaries


ROWS = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
COLUMNS = '{sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}'
WHOLE = "{sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}"


@pytest.mark.parametrize(
    ("wanted", "temporaries"),
    [
        (WHOLE, 0),  # in the memory of the result
        (ROWS, 64 * 64 * 4),  # of which each device keeps a part
    ],
)
def test_sums_are_written_over_what_is_added_up(wanted: str, temporaries: int) -> None:
    body = """
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<64x512xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
      %r = stablehlo.optimization_barrier %0 : tensor<64x64xf32>
    """
    arguments = f"%a: tensor<64x512xf32> {COLUMNS}, %b: tensor<512x64xf32> {ROWS}"
    assert on_chip(body, arguments, f"(tensor<64x64xf32> {wanted})") == temporaries


@pytest.mark.parametrize(("given", "temporaries"), [(ROWS, 0), (COLUMNS, 4096 * 64 * 4)])
def test_what_is_gathered_along_a_minor_dimension_is_transposed(given: str, temporaries: int) -> None:
    body = """
      %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<4096x64xf32>
      %r = stablehlo.sine %0 : tensor<4096x64xf32>
    """
    arguments = f"%a: tensor<4096x64xf32> {given}"
    assert on_chip(body, arguments, f"(tensor<4096x64xf32> {WHOLE})") == temporaries


@pytest.mark.parametrize(
    ("share", "answer"), [(0.5, "fits"), (0.95, "may fit"), (1.2, "may fit"), (1.5, "does not fit")]
)
def test_an_answer_has_a_margin_for_the_error_of_the_estimate(share: float, answer: str) -> None:
    rows = int((share * CHIPS["h100"].memory_bytes / 4) ** 0.5)
    rows -= rows % 512  # which products in parts need not pad
    given, square = f"tensor<{rows}x16xf32>", f"tensor<{rows}x{rows}xf32>"
    text = f"""func.func @main(%a: {given}) -> {given} {{
      %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : ({given}, {given}) -> {square}
      %1 = stablehlo.dot_general %0, %a, contracting_dims = [1] x [0] : ({square}, {given}) -> {given}
      return %1 : {given}
    }}"""
    report = propagate(Program.parse(text)).memory("h100")
    assert (report.fits, report.may_fit) == (answer == "fits", answer != "does not fit")
    assert f"The estimate {answer} in the" in str(report)
    assert ("XLA computes values again" in str(report)) is (share > 0.8)


def test_values_that_are_computed_again_need_less() -> None:
    """Two temporaries, of which XLA:GPU may compute one again; one alone it may not (above)."""
    rows = int((0.75 * CHIPS["h100"].memory_bytes / 4) ** 0.5)
    given, square = f"tensor<{rows}x16xf32>", f"tensor<{rows}x{rows}xf32>"
    text = f"""func.func @main(%a: {given}) -> {given} {{
      %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : ({given}, {given}) -> {square}
      %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0] : ({square}, {square}) -> {square}
      %2 = stablehlo.dot_general %1, %a, contracting_dims = [1] x [0] : ({square}, {given}) -> {given}
      return %2 : {given}
    }}"""
    result = propagate(Program.parse(text))
    assert result.memory("h100").estimate.total_bytes > 1.49 * CHIPS["h100"].memory_bytes
    assert (result.memory("h100").fits, result.memory("h100").may_fit) == (False, True)


def test_memory_of_the_host_is_apart() -> None:
    found = estimate(
        "%r = stablehlo.negate %b : tensor<64xf32>",
        '%a: tensor<64xf32> {mhlo.memory_kind = "pinned_host"}, %b: tensor<64xf32>',
    )
    assert (found.arguments, found.host) == (256, 256)


def test_small_last_dimensions_are_not_padded_on_a_tpu() -> None:
    text = """func.func @main(%a: tensor<4096x8xf32>) -> tensor<4096x8xf32> {
      %0 = stablehlo.negate %a : tensor<4096x8xf32>
      return %0 : tensor<4096x8xf32>
    }"""
    report = propagate(Program.parse(text)).memory("tpu-v5p")
    assert report.estimate.arguments == 4096 * 8 * 4
    assert "layouts with the least padding" in str(report)


def test_the_largest_tensors_at_the_peak_have_their_lines() -> None:
    body = """
      %0 = stablehlo.tanh %a : tensor<8x8xf32> loc("model.py":3:1)
      %r = stablehlo.dot_general %0, %a, contracting_dims = [1] x [0]
        : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    """
    largest = estimate(body, "%a: tensor<8x8xf32>", "8x8xf32").largest
    assert ("stablehlo.tanh", "model.py:3:1") in {(each.name, each.location) for each in largest}


def test_a_weight_is_gathered_at_once_on_the_host() -> None:
    text = """
    sdy.mesh @mesh = <["x"=4]>
    func.func @main(%a: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        %w: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x64xf32> {
      %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
        : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
      return %0 : tensor<8x64xf32>
    }"""
    result = propagate(Program.parse(text))
    assert result.memory(partitioner="xla").estimate.temporaries >= 64 * 64 * 4


def test_json_has_the_estimate_with_the_largest_tensors() -> None:
    text = """
    func.func @main(%arg0: tensor<64x64xf32>) -> tensor<64x64xf32> {
      %0 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0]
        : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      return %0 : tensor<64x64xf32>
    }"""
    report = propagate(Program.parse(text)).memory("tpu-v5p")
    estimate = json.loads(json.dumps(memory_json(report)))["estimate"]
    assert [each["bytes"] for each in estimate["largest"]] == [each.bytes for each in report.estimate.largest]
    assert estimate["arguments"] == report.estimate.arguments


def test_the_host_multiplies_floats_of_8_bits_in_f32() -> None:
    """As XLA:CPU compiles it: both operands are converted, 4 MiB each."""
    text = """
func.func @main(%a: tensor<1024x1024xf8E4M3FN>, %b: tensor<1024x1024xf8E4M3FN>) -> tensor<1024x1024xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<1024x1024xf8E4M3FN>, tensor<1024x1024xf8E4M3FN>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}"""
    estimate = propagate(Program.parse(text), progress=False).memory("cpu").estimate
    assert estimate.temporaries == 8 << 20


_TAKEN = """
func.func @main(%x: tensor<1024x1024xf32>, %w: tensor<1024x32768xf32>, %i: tensor<1024x1xi32>)
    -> (tensor<1024xf32>, tensor<1024x32768xf32>) {
  %l = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<1024x1024xf32>, tensor<1024x32768xf32>) -> tensor<1024x32768xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%l init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<1024x32768xf32>, tensor<f32>) -> tensor<1024xf32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<1024x32768xf32>
  %one = stablehlo.constant dense<1.0> : tensor<1024xf32>
  %s = "stablehlo.scatter"(%zeros, %i, %one) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1],
      input_batching_dims = [0], scatter_indices_batching_dims = [0],
      scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}
    : (tensor<1024x32768xf32>, tensor<1024x1xi32>, tensor<1024xf32>) -> tensor<1024x32768xf32>
  %t = stablehlo.reduce(SUMMED init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<1024x32768xf32>, tensor<f32>) -> tensor<1024xf32>
  %r = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<1024xf32>) -> tensor<1024x32768xf32>
  %e = stablehlo.multiply %l, %r : tensor<1024x32768xf32>
  %g = stablehlo.add %s, %e : tensor<1024x32768xf32>
  %d = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0]
    : (tensor<1024x1024xf32>, tensor<1024x32768xf32>) -> tensor<1024x32768xf32>
  return %m, %d : tensor<1024xf32>, tensor<1024x32768xf32>
}"""


@pytest.mark.parametrize(("summed", "buffers"), [("%l", 1), ("%s", 2)])
def test_nothing_else_is_written_over_what_a_scatter_updates(summed: str, buffers: int) -> None:
    """As XLA compiles it for an H100: a scatter into zeros that is only added goes into what is added."""
    text = _TAKEN.replace("SUMMED", summed)
    estimate = propagate(Program.parse(text), progress=False).memory("h100").estimate
    assert estimate.temporaries // (1024 * 32768 * 4) == buffers
