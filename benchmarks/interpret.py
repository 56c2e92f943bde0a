"""Speed and memory of the interpreter: `python benchmarks/interpret.py`.

1. Programs that JAX lowers, beside jaxlib's reference interpreter (`stablehlo.eval_module`), in one process.
2. 64 devices in lockstep beside one device, with small tensors and with large ones, and beside the numpy
   calls alone.
3. The peak of allocated memory beside the most that is live at once.
"""

from __future__ import annotations

import os
import statistics
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from math import prod
from pathlib import Path
from time import perf_counter
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: threads wait for busy processors

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from shardy_py.indexing.layout.element_types import element_type
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.plain import tensor_type
from shardy_py.reshard.process_grid import Grid
from shardy_py.run.interpret import Executable, Settings
from shardy_py.run.interpret.plan import BlockPlan

Array = np.ndarray[Any, Any]
DEVICES = 64


def seconds(run: Callable[[], object], repeat: int = 7) -> float:
    """Returns the shortest time of several runs; the first one is not counted."""
    run()
    times: list[float] = []
    for _ in range(repeat):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return min(times)


# ---------------------------------------------------------------------- beside the reference


def transformer_step(
    batch: int = 2, length: int = 16, width: int = 32, heads: int = 4
) -> tuple[Any, tuple[Any, ...]]:
    """A train step of one transformer layer: attention, a feed-forward network, gradients, SGD."""
    import jax
    import jax.numpy as jnp

    wide = 4 * width
    shapes = {"qkv": (width, 3 * width), "out": (width, width), "up": (width, wide), "down": (wide, width)}
    rng = np.random.default_rng(0)
    params = {k: rng.standard_normal(s).astype(np.float32) * 0.1 for k, s in shapes.items()}
    x = rng.standard_normal((batch, length, width)).astype(np.float32)

    def norm(x: Any) -> Any:
        x = x - x.mean(-1, keepdims=True)
        return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)

    def loss(params: Any, x: Any) -> Any:
        q, k, v = jnp.split(norm(x) @ params["qkv"], 3, -1)
        q, k, v = (t.reshape(batch, length, heads, -1) for t in (q, k, v))
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k))
        x = x + jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ params["out"]
        x = x + jnp.tanh(norm(x) @ params["up"]) @ params["down"]
        return (x * x).mean()

    def step(params: Any, x: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value

    return step, (params, x)


def jax_programs() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Functions of JAX with arguments."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 64)).astype(np.float32)
    image = rng.standard_normal((2, 12, 12, 4)).astype(np.float32)
    kernel = rng.standard_normal((3, 3, 4, 8)).astype(np.float32)
    rows = rng.integers(0, 64, (40,))
    convolution = partial(jax.lax.conv_general_dilated, window_strides=(1, 1), padding="SAME")
    return {
        "train step of a transformer": transformer_step(),
        "elementwise": (lambda x: jnp.tanh(x) * jnp.exp(x) + jnp.where(x > 0, x, 2 * x), (x,)),
        "product": (lambda x: x @ x, (x,)),
        "convolution": (
            lambda x, k: convolution(x, k, dimension_numbers=("NHWC", "HWIO", "NHWC")),
            (image, kernel),
        ),
        "sum and maximum": (lambda x: (x.sum(0), x.max(1), x.argmax(0)), (x,)),
        "gather": (lambda x, r: x[r], (x, rows)),
        "scatter": (lambda x, r: x.at[r].add(1.0), (x, rows)),
        "sort": (lambda x: jnp.sort(x, 0), (x,)),
        "cumulative sum": (lambda x: jnp.cumsum(x, 0), (x[:32, :32],)),
        "loop": (lambda x: jax.lax.fori_loop(0, 100, lambda i, y: y * 0.9 + x, x[:8, :8] * 0), (x[:8, :8],)),
        "random numbers": (lambda: jax.random.bits(jax.random.key(0), (64,)), ()),
    }


def beside_reference() -> None:
    """Prints the time of both interpreters, and the median of the ratios."""
    import jax
    from jax._src.interpreters import mlir as jax_mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    ratios: list[float] = []
    print(f"{'program':>28} {'reference':>12} {'shardy_py':>12} {'ratio':>8}")
    for name, (function, arguments) in jax_programs().items():
        flat: list[Array] = [np.ascontiguousarray(leaf) for leaf in jax.tree.leaves(arguments)]
        text = jax.jit(function, keep_unused=True).lower(*arguments).as_text()
        flat = [leaf.astype(np.int32) if leaf.dtype == np.int64 else leaf for leaf in flat]
        ours = Executable(parse_module(text))
        time = seconds(lambda ours=ours, flat=flat: ours.run([leaf[None] for leaf in flat]))
        with jax_mlir.make_ir_context():
            module = ir.Module.parse(text)
            given = [ir.DenseElementsAttr.get(leaf) for leaf in flat]
            theirs = seconds(lambda m=module, g=given: stablehlo.eval_module(m, g), 1)
        ratios.append(theirs / time)
        print(f"{name:>28} {theirs * 1e3:>9.2f} ms {time * 1e3:>9.2f} ms {theirs / time:>7.0f}x")
    print(f"{'median':>28} {'':>12} {'':>12} {statistics.median(ratios):>7.0f}x")


# ---------------------------------------------------------------------- lockstep


def local_program(size: int, layers: int) -> str:
    """Returns a program for 64 devices: layers of a product, an all-reduce in groups of 8, and a softmax."""
    square, row = f"tensor<{size}x{size}xf32>", f"tensor<{size}xf32>"
    groups = [[8 * group + member for member in range(8)] for group in range(8)]
    body = "".join(
        f"""
  %d{i} = stablehlo.dot_general %x{i}, %w, contracting_dims = [1] x [0] : ({square}, {square}) -> {square}
  %r{i} = "stablehlo.all_reduce"(%d{i}) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }}) {{replica_groups = dense<{groups}> : tensor<8x8xi64>, use_global_device_ids,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}} : ({square}) -> {square}
  %m{i} = stablehlo.reduce(%r{i} init: %low) applies stablehlo.maximum across dimensions = [1]
    : ({square}, tensor<f32>) -> {row}
  %b{i} = stablehlo.broadcast_in_dim %m{i}, dims = [0] : ({row}) -> {square}
  %u{i} = stablehlo.subtract %r{i}, %b{i} : {square}
  %e{i} = stablehlo.exponential %u{i} : {square}
  %t{i} = stablehlo.transpose %e{i}, dims = [1, 0] : ({square}) -> {square}
  %x{i + 1} = stablehlo.add %t{i}, %x{i} : {square}"""
        for i in range(layers)
    )
    return f"""func.func @main(%x0: {square}, %w: {square}) -> {square} {{
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>{body}
  return %x{layers} : {square}
}}"""


def numpy_alone(x: Array, w: Array, layers: int) -> Array:
    """Does what `local_program` does."""
    devices = len(x)
    for _ in range(layers):
        product = x @ w
        total = product.reshape(8, 8, *x.shape[1:]).sum(1)
        total = np.repeat(total, devices // 8, 0)
        unit = np.exp(total - total.max(2)[:, :, None])
        x = unit.transpose(0, 2, 1) + x
    return x


def lockstep() -> None:
    """Prints the time of 64 devices beside that of one, and beside the numpy calls alone."""
    rng = np.random.default_rng(0)
    heads = f"{'1 device':>12} {'64 devices':>12} {'ratio':>8} {'numpy':>12} {'ratio':>8}"
    print(f"\n{'elements a device':>28} {heads}")
    for size, layers in ((32, 10), (256, 2)):
        module = parse_module(local_program(size, layers))
        run = Executable(module, settings=Settings(grid=Grid(1, DEVICES))).run
        x, w = (rng.standard_normal((DEVICES, size, size)).astype(np.float32) / size for _ in range(2))
        one = seconds(lambda x=x, w=w, run=run: run([x[:1], w[:1]]))
        all_ = seconds(lambda x=x, w=w, run=run: run([x, w]))
        alone = seconds(lambda x=x, w=w, layers=layers: numpy_alone(x, w, layers))
        (result,) = run([x, w])
        assert np.allclose(result, numpy_alone(x, w, layers), rtol=1e-4)
        print(
            f"{size * size:>28} {one * 1e3:>9.2f} ms {all_ * 1e3:>9.2f} ms {all_ / one:>7.1f}x"
            f" {alone * 1e3:>9.2f} ms {all_ / alone:>7.2f}x"
        )


# ---------------------------------------------------------------------- memory


def live_bytes(plan: BlockPlan) -> int:
    """Returns the most bytes that live values take; inputs do not count, they are made outside."""
    live = dict.fromkeys(plan.inputs, 0)
    most = 0
    for step in plan.steps:
        within = max((live_bytes(callee) for callee in getattr(step.run, "callees", ())), default=0)
        for slot, result in zip(step.results, step.op.results, strict=True):
            tensor = tensor_type(result.type)
            assert tensor is not None
            live[slot] = (
                prod(size or 1 for size in tensor.shape) * element_type(tensor.element).dtype.itemsize
            )
        most = max(most, sum(live.values()) + within)
        for slot in (*step.cleared, -1):
            live.pop(slot, None)
    return most


def memory() -> None:
    """Prints the peak of allocations of a larger train step beside liveness."""
    import jax

    step, arguments = transformer_step(batch=8, length=128, width=256, heads=8)
    executable = Executable(parse_module(jax.jit(step).lower(*arguments).as_text()))
    flat = [np.ascontiguousarray(leaf)[None] for leaf in jax.tree.leaves(arguments)]
    live = live_bytes(executable.plan)
    executable.run(flat)
    tracemalloc.start()
    executable.run(flat)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"\n{'memory of a train step':>28} {'live':>12} {'peak':>12} {'ratio':>8}")
    print(f"{'':>28} {live / 1e6:>9.1f} MB {peak / 1e6:>9.1f} MB {peak / live:>7.2f}x\n")


if __name__ == "__main__":
    lockstep()
    memory()
    beside_reference()
