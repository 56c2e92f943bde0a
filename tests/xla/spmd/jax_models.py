"""Small JAX programs with shardings over 8 devices, lowered to StableHLO: name to text, as JSON.

`python -m tests.xla.spmd.jax_models` prints them; each has a last result from an unknown custom call, at
which XLA stops before code generation.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container, Iterator
from typing import Any

STOP = "stop_before_code_generation"
Program = tuple[Callable[..., Any], list[Any], Any]
"""A function, its arguments as shapes with shardings, and the shardings of its results (None: any)."""


def programs() -> Iterator[tuple[str, Program]]:
    """The programs by name."""
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax.sharding import AxisType, NamedSharding
    from jax.sharding import PartitionSpec as P

    mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)

    def at(*spec: Any) -> Any:
        return NamedSharding(mesh, P(*spec))

    def array(shape: tuple[int, ...], *spec: Any, dtype: Any = jnp.float32) -> Any:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=at(*spec))

    def ints(shape: tuple[int, ...], *spec: Any) -> Any:
        return array(shape, *spec, dtype=jnp.int32)

    def trained(loss: Callable[..., Any]) -> Callable[..., Any]:
        def step(params: Any, *rest: Any) -> Any:
            value, grads = jax.value_and_grad(loss)(params, *rest)
            return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

        return step

    # products of layers, in the usual ways to shard them

    def mlp(params: Any, x: Any) -> Any:
        for w in params[:-1]:
            x = jax.nn.relu(x @ w)
        return x @ params[-1]

    def mlp_loss(params: Any, x: Any) -> Any:
        return (mlp(params, x) ** 2).mean()

    layers = {
        "data": [((128, 256), ()), ((256, 256), ()), ((256, 64), ())],
        "tensor": [((128, 256), (None, "y")), ((256, 256), ("y", None)), ((256, 64), (None, "y"))],
        "fsdp": [((128, 256), ("x",)), ((256, 256), ("x",)), ((256, 64), ("x",))],
        "fsdp_tensor": [((128, 256), ("x", "y")), ((256, 256), ("y", "x")), ((256, 64), ("x", "y"))],
        "columns": [((128, 256), (None, ("x", "y"))), ((256, 256), (("x", "y"),)), ((256, 64), (None, "y"))],
    }
    for style, shapes in layers.items():
        params = [array(shape, *spec) for shape, spec in shapes]
        for batch in (32, 4096):
            x = array((batch, 128), "x")
            yield f"mlp_{style}_{batch}", (mlp, [params, x], None)
            yield f"mlp_train_{style}_{batch}", (trained(mlp_loss), [params, x], None)

    # attention

    def attention(params: Any, x: Any, heads: int = 8) -> Any:
        batch, length, width = x.shape
        q, k, v = (
            (x @ w).reshape(batch, length, heads, width // heads) for w in jnp.split(params["qkv"], 3, axis=1)
        )
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8.0
        mask = jnp.tril(jnp.ones((length, length), bool))
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, width)
        return mixed @ params["out"]

    def norm(x: Any, scale: Any) -> Any:
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-6) * scale

    def block(params: Any, x: Any) -> Any:
        x = x + attention(params, norm(x, params["scale"]))
        return x + jax.nn.gelu(norm(x, params["scale"]) @ params["up"]) @ params["down"]

    def block_loss(params: Any, x: Any) -> Any:
        return (block(params, x) ** 2).mean()

    def stacked_loss(params: Any, x: Any) -> Any:
        step = jax.checkpoint(lambda x, layer: (block(layer, x), None))
        return (lax.scan(step, x, params)[0] ** 2).mean()

    blocks = {
        "data": {"qkv": (), "out": (), "up": (), "down": (), "scale": ()},
        "tensor": {"qkv": (None, "y"), "out": ("y",), "up": (None, "y"), "down": ("y",), "scale": ()},
        "fsdp": {"qkv": ("x",), "out": ("x",), "up": ("x",), "down": ("x",), "scale": ("x",)},
        "both": {"qkv": ("x", "y"), "out": ("y", "x"), "up": ("x", "y"), "down": ("y", "x"), "scale": ()},
    }
    sizes = {"qkv": (128, 384), "out": (128, 128), "up": (128, 512), "down": (512, 128), "scale": (128,)}
    for style, specs in blocks.items():
        params = {name: array(sizes[name], *spec) for name, spec in specs.items()}
        stacked = {name: array((3, *sizes[name]), None, *spec) for name, spec in specs.items()}
        x = array((16, 64, 128), "x")
        yield f"block_{style}", (block, [params, x], None)
        yield f"block_train_{style}", (trained(block_loss), [params, x], None)
        yield f"block_scan_{style}", (trained(stacked_loss), [stacked, x], None)
    params = {name: array(sizes[name], *spec) for name, spec in blocks["tensor"].items()}
    yield "block_sequence", (block, [params, array((16, 64, 128), "x", "y")], at("x", "y"))

    # convolutions

    def conv(x: Any, k: Any, stride: int = 1, padding: Any = "SAME", groups: int = 1) -> Any:
        numbers = ("NHWC", "HWIO", "NHWC")
        strides = (stride, stride)
        return lax.conv_general_dilated(
            x, k, strides, padding, dimension_numbers=numbers, feature_group_count=groups
        )

    def cnn(params: Any, x: Any) -> Any:
        x = jax.nn.relu(conv(x, params["a"]))
        x = jax.nn.relu(conv(x, params["b"], 2))
        x = x + conv(jax.nn.relu(x), params["c"])
        return x.mean((1, 2)) @ params["d"]

    def cnn_loss(params: Any, x: Any) -> Any:
        return (cnn(params, x) ** 2).mean()

    kernels = {"a": (3, 3, 4, 16), "b": (3, 3, 16, 32), "c": (3, 3, 32, 32), "d": (32, 8)}
    for style, spec in {"batch": ("x",), "rows": (None, "x"), "both": ("y", "x")}.items():
        params = {name: array(shape) for name, shape in kernels.items()}
        x = array((8, 32, 32, 4), *spec)
        yield f"cnn_{style}", (cnn, [params, x], None)
        yield f"cnn_train_{style}", (trained(cnn_loss), [params, x], None)
    features = {"a": (None, None, None, "y"), "b": (None, None, "y"), "c": (None,) * 3 + ("y",), "d": ("y",)}
    params = {name: array(kernels[name], *spec) for name, spec in features.items()}
    yield "cnn_features", (cnn, [params, array((8, 32, 32, 4), "x")], None)
    yield "cnn_train_features", (trained(cnn_loss), [params, array((8, 32, 32, 4), "x")], None)
    depthwise = [array((8, 16, 16, 32), "x", None, None, "y"), array((3, 3, 1, 32), None, None, None, "y")]
    yield "depthwise", (lambda x, k: conv(x, k, groups=32), depthwise, None)
    yield (
        "pooled",
        (
            lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
            [array((8, 32, 32, 4), "y", "x")],
            None,
        ),
    )

    # what else models do

    def adam(p: Any, g: Any, m: Any, v: Any) -> Any:
        m, v = (
            jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g),
            jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g),
        )
        return jax.tree.map(lambda p, m, v: p - m / (jnp.sqrt(v) + 1e-8), p, m, v), m, v

    tree = {"a": array((128, 64), "x"), "b": array((64, 32), None, "y"), "c": array((32,))}
    state = {"a": array((128, 64), "x"), "b": array((64, 32), "x", "y"), "c": array((32,), "x")}
    yield "adam_zero", (adam, [tree, tree, state, state], None)

    def clipped(g: Any) -> Any:
        total = jnp.sqrt(sum((leaf**2).sum() for leaf in jax.tree.leaves(g)))
        return jax.tree.map(lambda leaf: leaf * jnp.minimum(1.0, 1.0 / total), g)

    yield "clip_by_global_norm", (clipped, [state], None)

    def cross_entropy(logits: Any, labels: Any) -> Any:
        log = jax.nn.log_softmax(logits)
        return -(jax.nn.one_hot(labels, logits.shape[-1]) * log).sum(-1).mean()

    yield "cross_entropy", (cross_entropy, [array((64, 1024), "x", "y"), ints((64,), "x")], None)
    yield "embedding", (lambda t, i: t[i], [array((1024, 64), None, "y"), ints((64, 16), "x")], None)
    yield "embedding_rows", (lambda t, i: t[i], [array((1024, 64), "y"), ints((64, 16), "x")], None)
    yield (
        "embedding_gradient",
        (
            jax.grad(lambda t, i: (t[i] ** 2).sum()),
            [array((1024, 64), "y"), ints((64, 16), "x")],
            None,
        ),
    )
    graph = [array((512, 32), "x"), ints((2048,), "x"), ints((2048,), "x")]
    yield "graph", (lambda n, s, r: jax.ops.segment_sum(n[s], r, 512), graph, None)

    def lstm(w: Any, xs: Any) -> Any:
        def cell(carry: Any, x: Any) -> Any:
            h, c = carry
            i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ w, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        start = jnp.zeros((xs.shape[1], 64))
        return lax.scan(cell, (start, start), xs)[0][0]

    yield "lstm", (lstm, [array((128, 256), None, "y"), array((7, 16, 64), None, "x")], None)

    def decode(cache: Any, new: Any, q: Any, i: Any) -> Any:
        cache = lax.dynamic_update_slice(cache, new, (0, i, 0, 0))
        return cache, jax.nn.softmax(jnp.einsum("bhd,bkhd->bhk", q, cache))

    cached = [array((8, 256, 4, 32), "x", None, "y"), array((8, 1, 4, 32), "x", None, "y")]
    yield "decode", (decode, [*cached, array((8, 4, 32), "x", "y"), ints(())], None)

    def experts(x: Any, gate: Any, up: Any, down: Any) -> Any:
        weights = jax.nn.softmax(x @ gate)
        return jnp.einsum("te,efd,tef->td", weights, down, jnp.einsum("td,edf->tef", x, up))

    moe = [array((128, 64), "x"), array((64, 8)), array((8, 64, 128), "y"), array((8, 128, 64), "y")]
    yield "experts", (experts, moe, None)

    def rotary(x: Any) -> Any:
        a, b = jnp.split(x, 2, axis=-1)
        angles = jnp.arange(x.shape[1])[:, None] / 100.0 ** jnp.arange(a.shape[-1])
        return jnp.concatenate([a * jnp.cos(angles) - b * jnp.sin(angles), b * jnp.cos(angles) + a], -1)

    yield "rotary", (rotary, [array((8, 64, 32), "x", "y")], None)
    yield "rotary_last", (rotary, [array((8, 64, 32), "x", None, "y")], None)
    yield (
        "batch_norm",
        (
            lambda x: (x - x.mean((0, 1, 2))) / jnp.sqrt(x.var((0, 1, 2)) + 1e-5),
            [array((16, 8, 8, 32), "x", None, None, "y")],
            None,
        ),
    )
    matrix = array((64, 128), "x", "y")
    yield "argmax", (lambda a: jnp.argmax(a, -1), [matrix], None)
    yield "sorted", (lambda a: jnp.sort(a, -1), [matrix], None)
    yield "order", (lambda a: jnp.argsort(a, -1), [matrix], None)
    yield "cholesky", (jnp.linalg.cholesky, [array((8, 16, 16), "x", "y")], None)
    yield "cumulative", (lambda a: jnp.cumsum(a, 0), [matrix], None)
    yield "rolled", (lambda a: jnp.roll(a, 3, 1), [matrix], None)
    yield "rolled_far", (lambda a: jnp.roll(a, 20, 0), [matrix], None)
    yield "padded", (lambda a: jnp.pad(a, 2), [matrix], at())
    yield "transposed", (lambda a: a.T, [matrix], at("x", "y"))
    yield "first_row", (lambda a: a[0], [matrix], None)
    yield "last_column", (lambda a: a[:, -1], [matrix], None)
    yield "strided", (lambda a: a[::2, 1::2], [matrix], None)
    yield "reversed", (lambda a: a[::-1], [matrix], None)
    yield "outer", (lambda a: jnp.outer(a, a), [array((64,), "x")], at("x", "y"))
    yield "merged", (lambda a: a.reshape(-1), [matrix], None)
    yield "split", (lambda a: a.reshape(8, 8, 16, 8), [matrix], None)
    yield (
        "power",
        (
            lambda a: lax.fori_loop(0, 5, lambda _, b: b @ a, a),
            [array((64, 64), "x", "y")],
            at("x", "y"),
        ),
    )
    yield (
        "newton",
        (
            lambda a: lax.while_loop(lambda b: jnp.abs(b).max() > 1e-3, lambda b: b * 0.5 + b.mean(), a),
            [matrix],
            None,
        ),
    )
    yield (
        "branches",
        (
            lambda a, p: lax.cond(p, lambda a: a @ a.T, lambda a: a[:, :64] * 2, a),
            [matrix, array((), dtype=jnp.bool_)],
            None,
        ),
    )
    bf16 = [array((256, 512), "x", "y", dtype=jnp.bfloat16), array((512, 128), "y", "x", dtype=jnp.bfloat16)]
    yield "bfloat16", (lambda a, b: a @ b, bf16, at("x"))

    def ring(a: Any, b: Any) -> Any:
        def local(a: Any, b: Any) -> Any:
            total = jnp.zeros((a.shape[0], b.shape[1]))
            for _ in range(4):
                total = total + a[:, : b.shape[0]] @ b
                b = lax.ppermute(b, "x", [(i, (i + 1) % 4) for i in range(4)])
            return lax.psum(total, "y")

        specs = (P("x"), P("x", None))
        return jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=P("x"), check_vma=False)(a, b)

    yield "ring", (ring, [array((64, 128), "x"), array((128, 32), "y")], None)


def main(
    names: Container[str] = (), programs: Callable[[], Iterator[tuple[str, Program]]] = programs
) -> None:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
    import jax
    import jax.numpy as jnp

    def stopping(function: Callable[..., Any]) -> Callable[..., Any]:
        stop = jax.ffi.ffi_call(STOP, jax.ShapeDtypeStruct((), jnp.float32))
        return lambda *arguments: (function(*arguments), stop())

    texts: dict[str, str] = {}
    for name, (function, arguments, results) in programs():
        if names and name not in names:
            continue
        stopped = stopping(function)
        jitted = jax.jit(stopped) if results is None else jax.jit(stopped, out_shardings=(results, None))
        texts[name] = jitted.lower(*arguments).as_text()
    print(json.dumps(texts))


if __name__ == "__main__":
    main()
