"""XLA's own figures for arguments and results, of programs that JAX compiles for 8 devices on the host."""

from __future__ import annotations

from typing import Any

import pytest

from shardy_py.api import pipeline
from shardy_py.report.memory import memory_report
from tests.eight_devices import run_on_eight_devices

pytestmark = pytest.mark.reference

POINTER_BYTES = 8
"""On the host a tuple of results is counted with the pointers to its elements."""

PROGRAMS = """
import json
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "tensor"), axis_types=(AxisType.Auto,) * 2)

def array(shape, dtype, *spec):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(*spec)))

def mlp(x, w1, w2):
    h = jnp.tanh(x @ w1)
    return h @ w2, h.sum(0)

def step(weights, x):
    gradients = jax.grad(lambda w: jnp.mean(mlp(x, *w)[0] ** 2))(weights)
    return [w - 0.1 * g for w, g in zip(weights, gradients)]

def scan(x, ws):
    def body(carry, w):
        carry = jnp.tanh(carry @ w)
        return carry, carry
    return jax.lax.scan(body, x, ws)

def manual(x):
    local = lambda block: (block * 2, jax.lax.psum(block, "data"))
    return jax.shard_map(local, mesh=mesh, in_specs=P("data"), out_specs=(P("data"), P()))(x)

def kinds(x):
    return x > 0, x.astype(jnp.int8), x.astype(jnp.bfloat16), jnp.fft.rfft(x)

def branch(i, x):
    return jax.lax.switch(i, [lambda x: x + 1, lambda x: jnp.outer(x, x).sum(0), lambda x: x], x)

f32, bf16 = jnp.float32, jnp.bfloat16
weights = [array((32, 48), f32, None, "tensor"), array((48, 16), f32, "tensor")]
cases = {
    "mlp": (mlp, [array((64, 32), f32, "data"), weights[0], array((48, 16), bf16)], ()),
    "step": (step, [weights, array((64, 32), f32, "data")], ()),
    "donated": (step, [weights, array((64, 32), f32, "data")], (0,)),
    "scan": (scan, [array((64, 32), f32, "data"), array((5, 32, 32), f32, None, None, "tensor")], ()),
    "manual": (manual, [array((64, 32), f32, ("data", "tensor"))], ()),
    "kinds": (kinds, [array((32, 6), f32, "data", "tensor")], ()),
    "branch": (branch, [array((), jnp.int32), array((64,), f32, "data")], ()),
}
found = {}
for name, (function, arguments, donated) in cases.items():
    lowered = jax.jit(function, donate_argnums=donated).lower(*arguments)
    analysis = lowered.compile().memory_analysis()
    sizes = [analysis.argument_size_in_bytes, analysis.output_size_in_bytes]
    found[name] = [lowered.as_text(), *sizes]
print(json.dumps(found))
"""

CASES = ("mlp", "step", "donated", "scan", "manual", "kinds", "branch")


@pytest.fixture(scope="module")
def compiled() -> dict[str, Any]:
    """By case, the program as text, and the bytes of its arguments and results on a device."""
    return run_on_eight_devices(PROGRAMS)


@pytest.mark.parametrize("case", CASES)
def test_arguments_and_results_have_the_bytes_that_xla_counts(compiled: dict[str, Any], case: str) -> None:
    text, arguments, results = compiled[case]
    module = pipeline.finish(pipeline.propagate(pipeline.prepare(pipeline.read(text))))
    (main,) = memory_report(module, "linear").entries
    assert main.arguments.bytes.padded_bytes == arguments
    pointers = main.results.count * POINTER_BYTES if main.results.count > 1 else 0
    assert main.results.bytes.padded_bytes + pointers == results
