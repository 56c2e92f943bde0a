"""Rows go to the devices of their experts: the function to paste computes what `ragged_dot` does."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.search.advice.replacing import SuggestedRewrite
from tests.with_jax import run_with_jax

NUMBERS = (
    "#chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], "
    "lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>"
)
EXPERTS = f"""
module @jit_f attributes {{mhlo.num_partitions = 8 : i32}} {{
sdy.mesh @mesh = <["y"=2, "x"=4]>
func.func public @main(%x: tensor<8192x256xf32> {{sdy.sharding = #sdy.sharding<@mesh, [ROWS, {{}}]>}},
    %w: tensor<8x256x512xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}, {{}}]>}},
    %s: tensor<8xi32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}]>}})
    -> (tensor<8192x512xf32> {{jax.result_info = "result"}}) {{
  %0 = "chlo.ragged_dot"(%x, %w, %s) <{{ragged_dot_dimension_numbers = {NUMBERS}}}>
    : (tensor<8192x256xf32>, tensor<8x256x512xf32>, tensor<8xi32>) -> tensor<8192x512xf32>
  return %0 : tensor<8192x512xf32>
}}
}}
"""
CALL = "lax.ragged_dot(x, w, sizes)"


def rewrite_of(rows: str) -> SuggestedRewrite:
    result = propagate(Program.parse(EXPERTS.replace("ROWS", rows)))
    sending = result.communication(partitioner="xla").sending
    found = (e.rewrite for use in sending for r in result.remedies(use) for e in r.edits if e.rewrite)
    return next(iter(found))


@pytest.mark.parametrize(
    ("rows", "axes"), [('{"x"}', '"x"'), ('{"y", "x"}', '("y", "x")'), ('{"y"}', '("y", "x")')]
)
def test_each_device_sends_rows_to_the_devices_of_their_experts(rows: str, axes: str) -> None:
    code = rewrite_of(rows).code(CALL)
    ins = f'P({axes}, None), P("x", None, None), P(None)'
    specs = f"in_specs=({ins}), out_specs=P({axes}, None)"
    assert code == f"jax.shard_map(to_experts, {specs})(x, w, sizes)"


@pytest.mark.parametrize(
    "call", ["lax.ragged_dot(x, w)", "lax.ragged_dot(x, w, s, precision=p)", "(", "x @ w"]
)
def test_no_code_for_other_expressions(call: str) -> None:
    assert rewrite_of('{"x"}').pasted(call) == ""


def test_a_sharded_contraction_is_summed() -> None:
    text = EXPERTS.replace("[ROWS, {}]", '[{}, {"x"}]')
    report = propagate(Program.parse(text)).communication(partitioner="xla")
    found = sorted((use.kind, use.held_bytes, use.cause.operand) for use in report.sending)
    assert found == [("all_reduce", 4 * 8192 * 512, -1), ("all_to_all", 4 * 2 * 256 * 512, 1)]


def test_the_function_computes_the_product() -> None:
    """With a ragged exchange by a gather of all rows, as XLA has none on the host."""
    pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")
    rewrite = rewrite_of('{"y", "x"}')  # with blocks of rows, the harder case
    code = f"""
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax, numpy as np
from jax import lax
from jax.sharding import AxisType, PartitionSpec as P

def exchanged(data, buffer, here, sent, there, received, *, axis_name):
    me = lax.axis_index(axis_name)
    rows, starts, counts, places = (lax.all_gather(v, axis_name) for v in (data, here, sent, there))
    at = jax.numpy.arange(buffer.shape[0])
    for device in range(lax.axis_size(axis_name)):
        place, count = places[device, me], counts[device, me]
        ours = (at >= place) & (at < place + count)
        taken = rows[device][jax.numpy.clip(at - place + starts[device, me], 0, data.shape[0] - 1)]
        buffer = jax.numpy.where(ours[:, None], taken, buffer)
    return buffer

jax.lax.ragged_all_to_all = exchanged
{rewrite.definition}
mesh = jax.make_mesh((2, 4), ("y", "x"), axis_types=(AxisType.Auto,) * 2)
draw = np.random.default_rng(0)
with jax.set_mesh(mesh):
    f = jax.jit(lambda x, w, sizes: {rewrite.code(CALL)})
    for rows in (64, 50):
        x, w = draw.normal(size=(64, 16)).astype("f"), draw.normal(size=(8, 16, 32)).astype("f")
        sizes = draw.multinomial(rows, draw.dirichlet(np.full(8, 0.4))).astype("i")
        np.testing.assert_allclose(f(x, w, sizes), lax.ragged_dot(x, w, sizes), rtol=1e-5, atol=1e-5)
"""
    run = run_with_jax(["-c", code])
    assert run.returncode == 0, run.stderr.decode()
