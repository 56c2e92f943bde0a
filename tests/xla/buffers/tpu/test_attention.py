"""Attention that XLA:TPU computes by kernels, with the bytes that it allocates for it on v5p."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_BATCH, _WIDTH = 16, 64


def _softmax(scores: str, element: str, shape: str, rows: str) -> str:
    """The lines of a softmax of `scores` along keys: %p."""
    whole, row = f"tensor<{shape}x{element}>", f"tensor<{rows}x{element}>"
    return f"""
      %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.reduce({scores} init: %least) applies stablehlo.maximum across dimensions = [2]
        : ({whole}, tensor<f32>) -> {row}
      %ms = stablehlo.broadcast_in_dim %m, dims = [0, 1] : ({row}) -> {whole}
      %d = stablehlo.subtract {scores}, %ms : {whole}
      %e = stablehlo.exponential %d : {whole}
      %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2]
        : ({whole}, tensor<f32>) -> {row}
      %zs = stablehlo.broadcast_in_dim %z, dims = [0, 1] : ({row}) -> {whole}
      %p = stablehlo.divide %e, %zs : {whole}"""


def _attention(
    queries: int, keys: int, *, batch: int = _BATCH, width: int = _WIDTH, middle: str = "", scores: str = "%s"
) -> str:
    """Attention in f32. middle: lines behind the product of queries and keys, %s; scores: what they make."""
    shape, rows = f"{batch}x{queries}x{keys}", f"{batch}x{queries}"
    q, k, s = (f"tensor<{each}xf32>" for each in (f"{rows}x{width}", f"{batch}x{keys}x{width}", shape))
    return f"""
    func.func @main(%q: {q}, %k: {k}, %v: {k}) -> {q} {{
      %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2]
        : ({q}, {k}) -> {s}
      {middle.replace("SCORES", s)}
      {_softmax(scores, "f32", shape, rows)}
      %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1]
        : ({s}, {k}) -> {q}
      return %o : {q}
    }}"""


_SCALED = """%c = stablehlo.constant dense<0.125> : SCORES
      %t = stablehlo.multiply %s, %c : SCORES"""
_CAPPED = """%c = stablehlo.constant dense<50.0> : SCORES
      %a = stablehlo.divide %s, %c : SCORES
      %b = stablehlo.tanh %a : SCORES
      %t = stablehlo.multiply %b, %c : SCORES"""


@pytest.mark.parametrize(
    ("text", "allocated"),
    [
        (_attention(512, 512), 12_681_120),
        (_attention(2048, 2048), 50_429_856),
        (_attention(512, 512, middle=_SCALED, scores="%t"), 21_069_728),
        (_attention(512, 512, batch=8, middle=_CAPPED, scores="%t"), 6_389_664),
        # Numbers of queries or keys that are no multiple of 128.
        (_attention(192, 192, batch=8), 1_695_648),
        (_attention(512, 32, batch=8), 638_880),
        (_attention(512, 128, batch=8), 5_341_088),
    ],
    ids=["kernel", "long", "scaled", "capped", "queries", "keys", "few keys"],
)
def test_what_a_kernel_computes_is_not_stored(text: str, allocated: int) -> None:
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    assert result.memory("tpu-v5p").estimate.temporaries == pytest.approx(allocated, rel=0.03)


def test_kernels_read_what_is_in_rows_as_it_is() -> None:
    """Rows of 128 need no copies; other accelerators store the scores."""
    result = propagate(Program.parse(_attention(512, 512, batch=8, width=128)), progress=False)
    assert result.memory("tpu-v5p").estimate.temporaries == 0
    assert result.memory("h100").estimate.temporaries > 8 * 512 * 512 * 4


@pytest.mark.parametrize(("heads", "allocated"), [("16x4", 3_244_000), ("8x8", 8_552_288)])
def test_a_batch_of_one_element_on_a_device_is_in_no_kernel(heads: str, allocated: int) -> None:
    """As XLA:TPU reshapes it: two of sixteen elements on each device are in one, one of eight is not."""
    size = 512 if heads.startswith("8") else 256
    shape, rows = f"{heads}x{size}x{size}", f"{heads}x{size}"
    q, s, r = (f"tensor<{each}xf32>" for each in (f"{rows}x{_WIDTH}", shape, rows))
    text = f"""
    sdy.mesh @mesh = <["d"=8]>
    func.func @main(%q: {q} {{sdy.sharding = #sdy.sharding<@mesh, [{{"d"}}, {{}}, {{}}, {{}}]>}},
        %k: {q} {{sdy.sharding = #sdy.sharding<@mesh, [{{"d"}}, {{}}, {{}}, {{}}]>}},
        %v: {q} {{sdy.sharding = #sdy.sharding<@mesh, [{{"d"}}, {{}}, {{}}, {{}}]>}}) -> {q} {{
      %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3]
        : ({q}, {q}) -> {s}
      %m = stablehlo.reduce(%s init: %least) applies stablehlo.maximum across dimensions = [3]
        : ({s}, tensor<f32>) -> {r}
      %ms = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2] : ({r}) -> {s}
      %d = stablehlo.subtract %s, %ms : {s}
      %e = stablehlo.exponential %d : {s}
      %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3]
        : ({s}, tensor<f32>) -> {r}
      %zs = stablehlo.broadcast_in_dim %z, dims = [0, 1, 2] : ({r}) -> {s}
      %p = stablehlo.divide %e, %zs : {s}
      %o = stablehlo.dot_general %p, %v, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2]
        : ({s}, {q}) -> {q}
      return %o : {q}
    }}"""
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    assert result.memory("tpu-v5p").estimate.temporaries == pytest.approx(allocated, rel=0.03)
