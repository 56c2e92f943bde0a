"""Ops that send because of how they are written: the rewrite is tried before it is proposed."""

from __future__ import annotations

import pytest

from shardy_py.api import Program, propagate
from shardy_py.search.advice.rewrites import _tiled  # pyright: ignore[reportPrivateUsage]
from shardy_py.search.advising import ResultAdvice

PARTS = ", ".join(["tensor<16x64xf32>"] * 8)
EXPERTS = f"""
sdy.mesh @mesh = <["ep"=8]>
func.func @main(%h: tensor<16x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{}}]>}},
    %w: tensor<8x64x32xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"ep"}}, {{}}, {{}}]>}})
    -> tensor<8x16x32xf32> {{
  %0 = stablehlo.concatenate OPERANDS, dim = 0 : ({PARTS}) -> tensor<128x64xf32> loc("model.py":3:5)
  %1 = stablehlo.reshape %0 : (tensor<128x64xf32>) -> tensor<8x16x64xf32>
  %2 = stablehlo.dot_general %1, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<8x16x64xf32>, tensor<8x64x32xf32>) -> tensor<8x16x32xf32>
  return %2 : tensor<8x16x32xf32>
}}
"""
COMPOSITE = """
sdy.mesh @mesh = <["tp"=2]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}]>})
    -> tensor<8x16xf32> {
  %0 = stablehlo.composite "acme.act" %x {decomposition = @impl} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = stablehlo.add %0, %0 : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
func.func private @impl(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = stablehlo.tanh %a : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
"""
TOP_K = """
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%x: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<64x2xf32>, tensor<64x2xi32>) {
  %values, %indices = chlo.top_k(%x, k = 2) : tensor<64x32xf32> -> (tensor<64x2xf32>, tensor<64x2xi32>)
  return %values, %indices : tensor<64x2xf32>, tensor<64x2xi32>
}
"""
GROUPED = """
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%x: tensor<4x16x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>},
    %w: tensor<16x2x3x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}, {}]>})
    -> tensor<4x16x6x6xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
    window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 8 : i64}
    : (tensor<4x16x8x8xf32>, tensor<16x2x3x3xf32>) -> tensor<4x16x6x6xf32>
  return %0 : tensor<4x16x6x6xf32>
}
"""
BATCHES = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<4x16x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}, {}]>},
    %w: tensor<16x16x3x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}, {}]>})
    -> (tensor<2x16x6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}, {}]>}) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
    window = {stride = [1, 1]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64}
    : (tensor<4x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<2x16x6x6xf32>
  return %0 : tensor<2x16x6x6xf32>
}
"""


def remedies(text: str) -> list[str]:
    result = propagate(Program.parse(text))
    sending = result.communication(partitioner="xla").sending
    return [line for use in sending for line in result.advice(use).lines]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            EXPERTS.replace("OPERANDS", ", ".join(["%h"] * 8)),
            "repeat by broadcast_in_dim and reshape instead of the concatenate at model.py:3:5",
        ),
        (COMPOSITE, "call @impl in place of the composite at <program>:5:8"),
        (
            TOP_K,
            "jax.shard_map around chlo.top_k at <program>:5:23: "
            'in_specs=P("x", None), out_specs=P("x", None)',
        ),
        (
            GROUPED,
            "jax.shard_map around stablehlo.convolution at <program>:6:8: "
            'in_specs=(P(None, "x", None, None), P("x", None, None, None)), '
            'out_specs=P(None, "x", None, None), with feature_group_count // 4',
        ),
    ],
)
def test_rewrites_that_send_nothing(text: str, words: str) -> None:
    assert any(line.startswith(words) and line.endswith("-> 0 B)") for line in remedies(text))


def test_groups_of_the_batch_are_not_divided() -> None:
    assert not any("shard_map" in line for line in remedies(BATCHES))


def test_another_concatenate_is_not_rewritten() -> None:
    text = EXPERTS.replace("OPERANDS", ", ".join(["%h"] * 7 + ["%g"]))
    text = text.replace("%w:", "%g: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %w:")
    assert not any("repeat" in line for line in remedies(text))


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("lax.top_k(a, 2)", 'jax.shard_map(lambda x: lax.top_k(x, 2), in_specs=P("x", None), '),
        ("top_k(k=2)", ""),
        ("a +", ""),
    ],
)
def test_code_to_paste(call: str, code: str) -> None:
    result = propagate(Program.parse(TOP_K))
    (use,) = result.communication(partitioner="xla").sending
    rewrite = next(e.rewrite for r in result.remedies(use) for e in r.edits if e.rewrite is not None)
    assert rewrite.code(call).startswith(code)
    assert bool(rewrite.code(call)) == bool(code)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("jnp.concatenate([h] * 8)", "jnp.tile(h, (1, 8))"),
        ("np.concatenate((f(x), f(x)), axis=1)", "np.tile(f(x), (1, 8))"),
        ("jnp.concatenate([h, g])", ""),
        ("concatenate([h] * 8)", ""),
        ("jnp.repeat(h, 8)", ""),
        ("not python (", ""),
    ],
)
def test_the_code_of_a_repeat(text: str, code: str) -> None:
    assert _tiled(text, (1, 8)) == code


HEADS = """
module @jit_f attributes {mhlo.num_partitions = 8 : i32} {
sdy.mesh @mesh = <["data"=2, "model"=4]>
func.func public @main(
    %x: tensor<32x1024x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {}]>} loc("x"),
    %w: tensor<128x96xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>} loc("w['q']"),
    %o: tensor<96x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>} loc("w['o']"))
    -> (RESULT {jax.result_info = "result"}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0]
    : (tensor<32x1024x128xf32>, tensor<128x96xf32>) -> tensor<32x1024x96xf32>
  %1 = stablehlo.reshape %0 : (tensor<32x1024x96xf32>) -> tensor<32x1024x6x16xf32> loc("model.py":3:5)
  %2 = stablehlo.dot_general %1, %1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]
    : (tensor<32x1024x6x16xf32>, tensor<32x1024x6x16xf32>) -> tensor<32x6x1024x1024xf32>
  %s = OP
  %3 = stablehlo.dot_general %s, %1, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1]
    : (tensor<32x6x1024x1024xf32>, tensor<32x1024x6x16xf32>) -> tensor<32x6x1024x16xf32>
  %4 = stablehlo.transpose %3, dims = [0, 2, 1, 3] : (tensor<32x6x1024x16xf32>) -> tensor<32x1024x6x16xf32>
  %5 = stablehlo.reshape %4 : (tensor<32x1024x6x16xf32>) -> tensor<32x1024x96xf32>
  %6 = stablehlo.dot_general %5, %o, contracting_dims = [2] x [0]
    : (tensor<32x1024x96xf32>, tensor<96x128xf32>) -> tensor<32x1024x128xf32>
  return %RETURNED : RESULT
}
}
"""
TANH = "stablehlo.tanh %2 : tensor<32x6x1024x1024xf32>"
OVER_HEADS = """stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%2 init: %s_0) applies stablehlo.maximum across dimensions = [1, 2, 3]
    : (tensor<32x6x1024x1024xf32>, tensor<f32>) -> tensor<32xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<32xf32>) -> tensor<32x6x1024x1024xf32>
  %s = stablehlo.subtract %2, %b : tensor<32x6x1024x1024xf32>"""


def padded(op: str, returned: str = "6", result: str = "tensor<32x1024x128xf32>") -> list[str]:
    """What is said of rewrites that pad and help."""
    text = HEADS.replace("OP", op).replace("RESULT", result).replace("RETURNED", returned)
    propagated = propagate(
        Program.parse(text.replace("%s = stablehlo.constant", "%s_0 = stablehlo.constant"))
    )
    report = propagated.communication(partitioner="xla")
    adviser = propagated.kept(ResultAdvice).adviser(report)
    assert adviser is not None
    for use in report.sending:
        adviser.explore(use, 8)
    return [
        edit.words("jax")
        for proposal, _ in adviser.helpful()
        for edit in proposal
        if "pad" in edit.words("jax")
    ]


def test_heads_that_axes_do_not_divide_are_padded() -> None:
    assert padded(TANH) == [
        'pad 6 to 8, which "model" of size 4 divides at model.py:3:5: '
        "w['q'] 128x96 -> 128x128, w['o'] 96x128 -> 128x128 (with 0 in what is added)"
    ]


def test_heads_are_not_padded_where_that_changes_what_is_computed() -> None:
    assert padded(OVER_HEADS) == []
    assert padded(TANH, "s", "tensor<32x6x1024x1024xf32>") == []
