"""Bills held against the collectives in what XLA compiles, of programs that JAX lowers for 8 devices.

The CPU has no reduce-scatter of its own making: it reduces all, and cuts. So reductions are compared by what
is reduced on each device, everything else by the bytes received per device.
"""

from __future__ import annotations

import re
from collections import Counter
from math import prod
from typing import Any

import pytest

from shardy_py.api import Program, propagate
from tests.eight_devices import run_on_eight_devices

pytestmark = pytest.mark.reference

PROGRAMS = """
import json
from functools import partial
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)

def sharded(*spec):
    return NamedSharding(mesh, P(*spec))

def array(shape, *spec, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharded(*spec))

def product(a, b):
    return a @ b

def mlp(x, w1, w2):
    return jax.nn.relu(x @ w1) @ w2

def loss(w1, w2, x):
    return (mlp(x, w1, w2) ** 2).sum()

def scan(x, ws):
    return lax.scan(lambda c, w: (jnp.tanh(c @ w), None), x, ws)[0]

def manual(x):
    @partial(jax.shard_map, mesh=mesh, in_specs=P("x", "y"), out_specs=P(), check_vma=False)
    def local(a):
        a = lax.all_gather(lax.psum(a, "x"), "y", axis=1, tiled=True)
        a = lax.ppermute(a, "x", [(i, (i + 1) % 4) for i in range(4)])
        return lax.psum_scatter(lax.all_to_all(a, "x", 0, 1, tiled=True), "x", tiled=True)
    return local(x)

def convolved(a, k):
    return lax.conv_general_dilated(a, k, (1, 1), "SAME")

x = array((64, 128), "x", "y")
rows, columns = array((64, 128), "x"), array((64, 128), None, "x")
half = [array((128, 32), "x"), sharded()]
cases = {
    "sum of a product": (product, [columns, half[0]], sharded()),
    "scattered sum": (product, [columns, half[0]], sharded("x")),
    "sum over two axes": (
        product, [array((64, 128), None, ("x", "y")), array((128, 32), ("x", "y"))], sharded()
    ),
    "weights gathered": (product, [rows, half[0]], sharded("x")),
    "rows to columns": (lambda a: a * 2, [rows], sharded(None, "x")),
    "both dimensions gathered": (jnp.tanh, [x], sharded()),
    "axes change places": (lambda a: a + a, [array((64, 128), ("x", "y"))], sharded(("y", "x"))),
    "uneven sum": (lambda a: a.sum(0), [array((64, 30), "x")], sharded()),
    "softmax": (partial(jax.nn.softmax, axis=-1), [array((64, 128), "y", "x")], sharded("y", "x")),
    "two layers": (mlp, [rows, array((128, 256), None, "y"), array((256, 128), "y")], sharded("x")),
    "gradients": (
        jax.grad(loss, (0, 1)),
        [array((128, 256), None, "y"), array((256, 128), "y"), rows],
        (sharded(None, "y"), sharded("y")),
    ),
    "loop": (scan, [x, array((5, 128, 128), None, "y")], sharded("x", "y")),
    "written": (manual, [x], None),
    "halo": (
        convolved, [array((8, 16, 32, 32), "x", None, "y"), array((16, 16, 3, 3))], sharded("x", None, "y")
    ),
    "cumulative": (lambda a: jnp.cumsum(a, 1), [columns], sharded(None, "x")),
    "rows of a table": (
        lambda t, i: t[i], [array((1024, 64), "x"), array((32,), "y", dtype=jnp.int32)], sharded("y")
    ),
    "sorted": (lambda a: jnp.sort(a, 1), [columns], sharded(None, "x")),
}
found = {}
for name, (function, arguments, results) in cases.items():
    jitted = jax.jit(function) if results is None else jax.jit(function, out_shardings=results)
    lowered = jitted.lower(*arguments)
    found[name] = [lowered.as_text(), lowered.compile().as_text()]
print(json.dumps(found))
"""
CASES = re.findall(r'^    "([a-z ]+)": \(', PROGRAMS, re.MULTILINE)

SIZES = {"pred": 1, "s32": 4, "f32": 4}
COLLECTIVE = re.compile(
    r"%?(\S+) = (.*?) (all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter)\((.*?)\)"
)


@pytest.fixture(scope="module")
def compiled() -> dict[str, Any]:
    """By case, the program as JAX lowers it, and as XLA compiles it."""
    return run_on_eight_devices(PROGRAMS)


@pytest.mark.parametrize("case", CASES)
def test_the_report_matches_the_compiled_program(compiled: dict[str, Any], case: str) -> None:
    lowered, module = compiled[case]
    assert sent_by(propagate(Program.parse(lowered))) == sent_in(module) != {}


def sent_by(result: Any) -> Counter[str]:
    """Bytes by kind, as the bill has them; each op once."""
    found: Counter[str] = Counter()
    for use in result.communication().sending:
        if use.kind in ("all_reduce", "reduce_scatter"):
            found["reduced"] += use.held_bytes
        elif use.kind == "halo_exchange" and use.cause.op == "stablehlo.convolution":
            found["collective_permute"] += (
                use.cost.bytes * 2
            )  # one permute a side; devices at a border need one
        elif use.kind == "halo_exchange":
            found["all_gather"] += use.cost.bytes
        else:
            found[use.kind] += use.cost.bytes
    return found


def sent_in(module: str) -> Counter[str]:
    """Bytes by kind, from the shapes in an HLO module."""
    sizes = {name: size_of(type_) for name, type_ in re.findall(r"%?([\w.-]+) = (\(.*?\)|\S+) ", module)}
    found: Counter[str] = Counter()
    for name, type_, kind, text in COLLECTIVE.findall(module):
        operands = re.findall(r"%([\w.-]+)", text)
        held = sum(sizes[operand] for operand in operands)
        match kind:
            case "all-reduce" | "reduce-scatter":
                found["reduced"] += held
            case "all-gather":
                found["all_gather"] += size_of(type_) - held
            case "all-to-all":
                found["all_to_all"] += held - held // len(operands)
            case _:
                assert sizes[name] == held
                found["collective_permute"] += held
    return found


def size_of(type_: str) -> int:
    return sum(
        SIZES.get(element, 0) * prod(int(size) for size in shape.split(",") if size)
        for element, shape in re.findall(r"(\w+)\[([\d,]*)\]", type_)
    )
