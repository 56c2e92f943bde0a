"""Programs of 1 to 500 MB a device, some of which fits into the vector memory of a TPU and some not.

No rule was made for them: what is forecast for TPU v5e and v6e is compared with what XLA:TPU allocates by
`python -m tests.xla.buffers.on_targets --target v5e v6e --set resident`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs


def programs() -> Programs:
    """The programs by name; a function that is jitted already donates arguments."""
    yield from _trained()
    yield from _inference()
    yield from _sequences()
    yield from _numerics()


def _trained() -> Programs:
    """Steps of training."""
    import jax
    import jax.numpy as jnp

    line, grid = Placed("8"), Placed("4x2")

    def swiglu(params: Any, x: Any) -> Any:
        for gate, up, down in params:
            x = x + (jax.nn.silu(x @ gate) * (x @ up)) @ down
        return (x.astype(jnp.float32) ** 2).mean()

    def descent(params: Any, x: Any) -> Any:
        loss, grads = jax.value_and_grad(swiglu)(params, x)
        return jax.tree.map(lambda p, g: p - (0.01 * g).astype(p.dtype), params, grads), loss

    def layers(count: int, wide: int, inner: int, placed: Placed, rows: Any, columns: Any) -> Any:
        def one() -> Any:
            up = placed.array((wide, inner), rows, columns, dtype="bfloat16")
            return up, up, placed.array((inner, wide), columns, rows, dtype="bfloat16")

        return [one() for _ in range(count)]

    tokens = line.array((16, 512, 512), "x", dtype="bfloat16")
    yield (
        "swiglu_data",
        (jax.jit(descent, donate_argnums=0), [layers(2, 512, 2048, line, None, None), tokens], None),
    )
    tokens = grid.array((16, 1024, 1024), "x", dtype="bfloat16")
    yield "swiglu_both", (descent, [layers(4, 1024, 4096, grid, "x", "y"), tokens], None)

    def autoencoder(ws: Any, x: Any) -> Any:
        y = x
        for w in ws:
            y = jnp.tanh(y @ w)
        return jnp.abs(y - x).sum()

    sizes = [2048, 1024, 256, 1024, 2048]
    ws = [line.array(pair, None, None) for pair in pairwise(sizes)]
    yield "autoencoder", (jax.grad(autoencoder), [ws, line.array((8192, 2048), "x")], None)

    def momentum(p: Any, m: Any, v: Any, g: Any) -> Any:
        norm = jnp.sqrt(sum((a * a).sum() for a in g))
        g = [a / jnp.maximum(norm, 1) for a in g]
        m = [0.9 * a + 0.1 * b for a, b in zip(m, g, strict=True)]
        v = [0.99 * a + 0.01 * b * b for a, b in zip(v, g, strict=True)]
        return [a - b / (jnp.sqrt(c) + 1e-6) for a, b, c in zip(p, m, v, strict=True)], m, v

    state = [line.array((4096, 1024), "x"), line.array((1024, 4096), "x"), line.array((4096,), None)]
    yield "clipped_adam", (jax.jit(momentum, donate_argnums=(0, 1, 2)), [state] * 4, None)

    def contrast(image: Any, text: Any, a: Any, b: Any) -> Any:
        x, y = image @ a, text @ b
        x, y = (z / jnp.linalg.norm(z, axis=-1, keepdims=True) for z in (x, y))
        logits = 20 * x @ y.T
        return -jax.nn.log_softmax(logits).diagonal().mean()

    rows = line.array((4096, 768), "x")
    weights = line.array((768, 512))
    yield "contrastive", (jax.grad(contrast, (2, 3)), [rows, rows, weights, weights], None)

    def resnet(ws: Any, x: Any) -> Any:
        def convolved(x: Any, w: Any) -> Any:
            return jax.lax.conv_general_dilated(
                x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )

        for w in ws:
            x = x + jax.nn.relu(convolved(x, w))
        return x.mean()

    kernels = [line.array((3, 3, 128, 128), dtype="bfloat16")] * 3
    yield (
        "residual_convolutions",
        (jax.grad(resnet), [kernels, line.array((64, 32, 32, 128), "x", dtype="bfloat16")], None),
    )


def _inference() -> Programs:
    """Models that are only run."""
    import jax
    import jax.numpy as jnp

    line, grid = Placed("8"), Placed("4x2")

    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 11.3
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores.astype(jnp.float32)).astype(q.dtype), v)

    heads = grid.array((8, 2048, 16, 128), "x", None, "y", dtype="bfloat16")
    yield "attention_heads", (attention, [heads] * 3, None)
    heads = line.array((16, 512, 8, 128), "x", dtype="bfloat16")
    yield "attention_short", (attention, [heads] * 3, None)

    def cached(q: Any, keys: Any, values: Any, new: Any, at: Any) -> Any:
        keys = jax.lax.dynamic_update_slice(keys, new, (0, at, 0, 0))
        values = jax.lax.dynamic_update_slice(values, new, (0, at, 0, 0))
        scores = jnp.einsum("bhd,bkhd->bhk", q, keys)
        return jnp.einsum("bhk,bkhd->bhd", jax.nn.softmax(scores), values), keys, values

    cache = grid.array((16, 4096, 8, 128), "x", None, "y", dtype="bfloat16")
    new = grid.array((16, 1, 8, 128), "x", None, "y", dtype="bfloat16")
    q = grid.array((16, 8, 128), "x", "y", dtype="bfloat16")
    yield (
        "cached_attention",
        (
            jax.jit(cached, donate_argnums=(1, 2)),
            [q, cache, cache, new, jax.ShapeDtypeStruct((), "int32")],
            None,
        ),
    )

    def experts(x: Any, route: Any, up: Any, down: Any) -> Any:
        gates = jax.nn.softmax(x @ route)
        hidden = jax.nn.gelu(jnp.einsum("td,edf->tef", x, up))
        return jnp.einsum("tef,efd,te->td", hidden, down, gates)

    yield (
        "dense_experts",
        (
            experts,
            [
                line.array((2048, 512), dtype="bfloat16"),
                line.array((512, 8), dtype="bfloat16"),
                line.array((8, 512, 1024), "x", dtype="bfloat16"),
                line.array((8, 1024, 512), "x", dtype="bfloat16"),
            ],
            None,
        ),
    )

    def tables(ids: Any, table: Any, w: Any) -> Any:
        return jax.nn.sigmoid(table[ids].reshape(ids.shape[0], -1) @ w)

    yield (
        "click_model",
        (
            tables,
            [
                line.array((4096, 16), "x", dtype="int32"),
                line.array((65536, 64), "x"),
                line.array((1024, 256)),
            ],
            None,
        ),
    )

    def quantized(x: Any, w: Any, scale: Any) -> Any:
        for i in range(3):
            x = jax.nn.relu(x @ (w[i].astype(jnp.bfloat16) * scale[i]))
        return x

    yield (
        "int8_weights",
        (
            quantized,
            [
                grid.array((512, 2048), "x", dtype="bfloat16"),
                grid.array((3, 2048, 2048), None, None, "y", dtype="int8"),
                grid.array((3, 2048), None, "y", dtype="bfloat16"),
            ],
            None,
        ),
    )


def _sequences() -> Programs:
    """Loops over layers and time."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("4x2")

    def stack(ws: Any, x: Any) -> Any:
        def body(x: Any, w: Any) -> Any:
            return x + jnp.tanh(x @ w), None

        return (lax.scan(body, x, ws)[0] ** 2).sum()

    ws = grid.array((6, 1024, 1024), None, "x", "y")
    yield "scanned_layers", (jax.grad(stack), [ws, grid.array((2048, 1024), "x")], None)

    def kept(ws: Any, x: Any) -> Any:
        body = jax.checkpoint(lambda x, w: (x + jax.nn.gelu(x @ w), None))
        return (lax.scan(body, x, ws)[0] ** 2).sum()

    ws = line.array((8, 512, 512), None, "x")
    yield "scanned_checkpoints", (jax.value_and_grad(kept), [ws, line.array((16384, 512), "x")], None)

    def gru(xs: Any, h: Any, w: Any, u: Any) -> Any:
        def body(h: Any, x: Any) -> Any:
            z, r, n = jnp.split(x @ w, 3, -1)
            zh, rh, nh = jnp.split(h @ u, 3, -1)
            z, r = jax.nn.sigmoid(z + zh), jax.nn.sigmoid(r + rh)
            h = (1 - z) * jnp.tanh(n + r * nh) + z * h
            return h, h

        return lax.scan(body, h, xs)[1]

    yield (
        "gated_recurrence",
        (
            gru,
            [
                line.array((64, 256, 256), None, "x"),
                line.array((256, 512), "x"),
                line.array((256, 1536)),
                line.array((512, 1536)),
            ],
            None,
        ),
    )

    def accumulated(w: Any, batches: Any) -> Any:
        def body(total: Any, x: Any) -> Any:
            return total + jax.grad(lambda w: (jnp.sin(x @ w) ** 2).sum())(w), None

        return lax.scan(body, jnp.zeros_like(w), batches)[0]

    yield (
        "accumulated_gradients",
        (accumulated, [line.array((2048, 1024)), line.array((4, 2048, 2048), None, "x")], None),
    )

    def selective(x: Any, a: Any, b: Any) -> Any:
        decay = jnp.exp(-jax.nn.softplus(x @ a))
        gain = x @ b
        return lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (decay, gain), axis=1)[1]

    yield (
        "selective_scan",
        (selective, [line.array((32, 512, 256), "x"), line.array((256, 256)), line.array((256, 256))], None),
    )


def _numerics() -> Programs:
    """Simulations and data analysis."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("4x2")

    def heat(u: Any) -> Any:
        def body(_: Any, u: Any) -> Any:
            around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
            return u + 0.1 * (around - 4 * u)

        return lax.fori_loop(0, 10, body, u)

    yield "heat", (heat, [grid.array((4096, 4096), "x", "y")], None)

    def power(a: Any, v: Any) -> Any:
        for _ in range(5):
            v = a @ v
            v = v / jnp.linalg.norm(v, axis=0)
        return v, jnp.einsum("ik,ij,jk->k", v, a, v)

    yield "power_iteration", (power, [grid.array((4096, 4096), "x", "y"), grid.array((4096, 32), "y")], None)

    def clusters(x: Any, centres: Any) -> Any:
        apart = ((x[:, None] - centres[None]) ** 2).sum(-1)
        own = jax.nn.one_hot(apart.argmin(-1), centres.shape[0])
        return (own.T @ x) / (own.sum(0)[:, None] + 1e-6)

    yield "clusters", (clusters, [line.array((65536, 64), "x"), line.array((128, 64))], None)

    def whitened(x: Any) -> Any:
        x = x - x.mean(0)
        covariance = x.T @ x / x.shape[0]
        return x @ jnp.linalg.inv(covariance + jnp.eye(x.shape[1]))

    yield "whitening", (whitened, [line.array((16384, 256), "x")], None)

    def ranked(x: Any) -> Any:
        order = jnp.argsort(x, axis=-1)
        return jnp.take_along_axis(x, order[:, ::-1], -1)[:, :64]

    yield "ranked_rows", (ranked, [line.array((2048, 4096), "x")], None)

    def spectrum(x: Any) -> Any:
        return jnp.abs(jnp.fft.rfft(x * jnp.hanning(x.shape[-1]), axis=-1)) ** 2

    yield "spectrum", (spectrum, [line.array((1024, 4096), "x")], None)

    def kernel(x: Any, y: Any, alpha: Any) -> Any:
        square = (x**2).sum(1)[:, None] + (y**2).sum(1)[None] - 2 * x @ y.T
        return jnp.exp(-square) @ alpha

    yield (
        "kernel_regression",
        (kernel, [line.array((16384, 32), "x"), line.array((4096, 32)), line.array((4096, 8))], None),
    )
