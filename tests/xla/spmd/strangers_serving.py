"""Serving, in `strangers_models.py`: prompts, samples, latent caches, drafts, products of float8."""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs
from tests.xla.spmd.strangers_language import Sizes, decoder, qkv, rms_norm, swiglu


def programs() -> Programs:
    """The programs by name."""
    yield from _prompts()
    yield from _latents()
    yield from _drafts()
    yield from _narrow()


def _attend_cache(w: Any, x: Any, keys: Any, values: Any, start: Any) -> tuple[Any, Any, Any]:
    """Attention of new tokens (batch, new, width) to a cache (batch, length, groups, head), which they join.

    start: the place of the first new token, one for all rows.
    """
    import jax
    import jax.numpy as jnp

    batch, new, _ = x.shape
    positions = start + jnp.arange(new)
    q, k, v = qkv(w, x, positions.astype(jnp.float32))
    keys = jax.lax.dynamic_update_slice(keys, k.astype(keys.dtype), (0, start, 0, 0))
    values = jax.lax.dynamic_update_slice(values, v.astype(values.dtype), (0, start, 0, 0))
    groups = keys.shape[2]
    q = q.reshape(batch, new, groups, -1, q.shape[-1])
    scores = jnp.einsum("btgrd,bsgd->bgrts", q, keys, preferred_element_type=jnp.float32)
    scores = scores / q.shape[-1] ** 0.5
    visible = jnp.arange(keys.shape[1])[None, :] <= positions[:, None]
    scores = jnp.where(visible, scores, -1e30)
    chance = jax.nn.softmax(scores, axis=-1).astype(x.dtype)
    mixed = jnp.einsum("bgrts,bsgd->btgrd", chance, values).reshape(batch, new, -1)
    x = x + mixed @ w["wo"]
    return x + swiglu(w, x), keys, values


def _forward(params: Any, tokens: Any, cache: Any, start: Any, *, last: bool = False) -> tuple[Any, Any]:
    """Logits of new tokens, or of the last one, and the cache."""
    import jax
    import jax.numpy as jnp

    def layer(x: Any, each: Any) -> Any:
        w, keys, values = each
        x, keys, values = _attend_cache(w, x, keys, values, start)
        return x, (keys, values)

    x = params["embed"][tokens]
    x, (keys, values) = jax.lax.scan(layer, x, (params["layers"], cache["k"], cache["v"]))
    if last:
        x = x[:, -1:]
    logits = (rms_norm(x, params["norm"]) @ params["head"]).astype(jnp.float32)
    return logits, {"k": keys, "v": values}


def _cache(grid: Any, sizes: Sizes, batch: int, length: int) -> dict[str, Any]:
    shape = (sizes.layers, batch, length, sizes.groups, 128)
    kept = grid.array(shape, None, "x", None, "y", dtype="bfloat16")
    return {"k": kept, "v": kept}


def _prompts() -> Programs:
    import jax
    import jax.numpy as jnp

    grid = Placed("2x4")
    sizes = Sizes(width=4096, inner=14336, heads=32, groups=8, layers=8, vocabulary=128256)

    def prefill(params: Any, cache: Any, tokens: Any) -> Any:
        logits, cache = _forward(params, tokens, cache, 0, last=True)
        return jnp.argmax(logits[:, -1], axis=-1).astype(jnp.int32), cache

    params = decoder(grid, sizes, None, "y", dtype="bfloat16")
    params["embed"] = grid.array((sizes.vocabulary, sizes.width), None, "y", dtype="bfloat16")
    arguments = [params, _cache(grid, sizes, 4, 6144), grid.array((4, 4096), "x", dtype="int32")]
    yield "prefill_grouped", (jax.jit(prefill, donate_argnums=(1,)), arguments, None)

    def sample(logits: Any, key: Any) -> Any:
        """One of the 64 likeliest tokens, of those that make up nine tenths."""
        values, indices = jax.lax.top_k(logits / 0.7, 64)
        probabilities = jax.nn.softmax(values, axis=-1)
        before = jnp.cumsum(probabilities, axis=-1) - probabilities
        values = jnp.where(before < 0.9, values, -jnp.inf)
        chosen = jax.random.categorical(key, values, axis=-1)
        return jnp.take_along_axis(indices, chosen[:, None], axis=-1)[:, 0].astype(jnp.int32)

    def generate(params: Any, cache: Any, first: Any, start: Any, key: Any) -> Any:
        """Up to 128 tokens, until each row has met the end."""
        batch = first.shape[0]

        def unfinished(carry: Any) -> Any:
            step, _, _, done, _, _ = carry
            return (step < 128) & ~jnp.all(done)

        def step(carry: Any) -> Any:
            i, token, out, done, cache, key = carry
            logits, cache = _forward(params, token[:, None], cache, start + i)
            key, own = jax.random.split(key)
            token = jnp.where(done, 2, sample(logits[:, 0], own))
            out = out.at[:, i].set(token)
            return i + 1, token, out, done | (token == 2), cache, key

        out = jnp.zeros((batch, 128), jnp.int32)
        carry = (jnp.int32(0), first, out, jnp.zeros((batch,), bool), cache, key)
        count, _, out, _, cache, _ = jax.lax.while_loop(unfinished, step, carry)
        return out, count, cache

    sizes = Sizes(width=4096, inner=11008, heads=32, groups=8, layers=4, vocabulary=32000)
    params = decoder(grid, sizes, None, "y", dtype="bfloat16")
    arguments = [params, _cache(grid, sizes, 32, 4096), grid.array((32,), "x", dtype="int32")]
    arguments += [grid.array((), dtype="int32"), grid.array((2,), dtype="uint32")]
    yield "generate_sampled", (jax.jit(generate, donate_argnums=(1,)), arguments, None)


def _latents() -> Programs:
    import jax
    import jax.numpy as jnp

    tall = Placed("4x2")
    layers, batch, length, width, heads, rank, turned, plain = 4, 64, 8192, 4096, 32, 512, 64, 128

    def rotated(x: Any, places: Any) -> Any:
        """Each row at its own place: x is (batch, heads, turned)."""
        half = turned // 2
        angles = places[:, None, None] * 10000.0 ** (-jnp.arange(half) / half)
        a, b = x[..., :half], x[..., half:]
        parts = [a * jnp.cos(angles) - b * jnp.sin(angles), b * jnp.cos(angles) + a * jnp.sin(angles)]
        return jnp.concatenate(parts, -1).astype(x.dtype)

    def decode(params: Any, cache: Any, x: Any, places: Any) -> Any:
        """DeepSeek's latent attention: the products from the latents to keys and values are absorbed."""
        rows = jnp.arange(batch)
        visible = jnp.arange(length) <= places[:, None]

        def layer(x: Any, each: Any) -> Any:
            w, latents, shared = each
            h = rms_norm(x, w["norm"])
            low = rms_norm(h @ w["q_down"], w["q_norm"])
            q = jnp.einsum("br,rhd->bhd", low, w["q_up"])
            q_plain, q_turned = q[..., :plain], rotated(q[..., plain:], places)
            new = h @ w["kv_down"]
            latents = latents.at[rows, places].set(rms_norm(new[:, :rank], w["kv_norm"]))
            shared = shared.at[rows, places].set(rotated(new[:, None, rank:], places)[:, 0])
            absorbed = jnp.einsum("bhd,rhd->bhr", q_plain, w["k_up"])
            scores = jnp.einsum("bhr,bsr->bhs", absorbed, latents).astype(jnp.float32)
            scores += jnp.einsum("bht,bst->bhs", q_turned, shared).astype(jnp.float32)
            scores = jnp.where(visible[:, None], scores * (plain + turned) ** -0.5, -1e30)
            chance = jax.nn.softmax(scores, axis=-1).astype(x.dtype)
            mixed = jnp.einsum("bhs,bsr->bhr", chance, latents)
            x = x + jnp.einsum("bhr,rhd,hdm->bm", mixed, w["v_up"], w["out"])
            h = rms_norm(x, w["mlp_norm"])
            x = x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]
            return x, (latents, shared)

        x, cache = jax.lax.scan(layer, x, (params["layers"], *cache))
        return rms_norm(x, params["norm"]) @ params["head"], cache

    def stacked(shape: tuple[int, ...], *spec: Any) -> Any:
        return tall.array((layers, *shape), None, *spec, dtype="bfloat16")

    own = {
        "norm": stacked((width,)),
        "q_down": stacked((width, 1536)),
        "q_norm": stacked((1536,)),
        "q_up": stacked((1536, heads, plain + turned), None, "y"),
        "kv_down": stacked((width, rank + turned)),
        "kv_norm": stacked((rank,)),
        "k_up": stacked((rank, heads, plain), None, "y"),
        "v_up": stacked((rank, heads, plain), None, "y"),
        "out": stacked((heads, plain, width), "y"),
        "mlp_norm": stacked((width,)),
        "gate": stacked((width, 12288), None, "y"),
        "up": stacked((width, 12288), None, "y"),
        "down": stacked((12288, width), "y"),
    }
    params = {
        "layers": own,
        "norm": tall.array((width,), dtype="bfloat16"),
        "head": tall.array((width, 65536), None, "y", dtype="bfloat16"),
    }
    cache = (
        tall.array((layers, batch, length, rank), None, "x", dtype="bfloat16"),
        tall.array((layers, batch, length, turned), None, "x", dtype="bfloat16"),
    )
    x = tall.array((batch, width), "x", dtype="bfloat16")
    arguments = [params, cache, x, tall.array((batch,), "x", dtype="int32")]
    yield "latent_decode", (jax.jit(decode, donate_argnums=(1,)), arguments, None)


def _drafts() -> Programs:
    import jax
    import jax.numpy as jnp

    grid = Placed("2x4")
    ahead, batch, length = 4, 16, 1024

    def speculate(draft: Any, target: Any, small: Any, large: Any, token: Any, start: Any) -> Any:
        """A small model writes four tokens, a large one keeps those that it would have written."""

        def propose(carry: Any, i: Any) -> Any:
            token, cache = carry
            logits, cache = _forward(draft, token[:, None], cache, start + i)
            token = jnp.argmax(logits[:, 0], axis=-1).astype(jnp.int32)
            return (token, cache), token

        (_, small), proposed = jax.lax.scan(propose, (token, small), jnp.arange(ahead))
        proposed = proposed.T
        tokens = jnp.concatenate([token[:, None], proposed], axis=1)
        logits, large = _forward(target, tokens, large, start)
        wanted = jnp.argmax(logits, axis=-1).astype(jnp.int32)
        agreed = jnp.cumprod((wanted[:, :-1] == proposed).astype(jnp.int32), axis=1)
        kept = agreed.sum(axis=1)
        following = jnp.take_along_axis(wanted, kept[:, None], axis=1)[:, 0]
        written = jnp.where(jnp.arange(ahead + 1) <= kept[:, None], wanted, -1)
        return written, following, kept, small, large

    of_draft = Sizes(width=512, inner=1536, heads=4, groups=4, layers=2, vocabulary=16384)
    of_target = Sizes(width=1024, inner=4096, heads=8, groups=4, layers=4, vocabulary=16384)
    draft, target = (
        decoder(grid, sizes, None, "y", dtype="bfloat16", scanned=True) for sizes in (of_draft, of_target)
    )
    caches = [_cache(grid, sizes, batch, length) for sizes in (of_draft, of_target)]
    arguments = [draft, target, *caches, grid.array((batch,), "x", dtype="int32")]
    step = jax.jit(speculate, donate_argnums=(2, 3))
    yield "speculated", (step, [*arguments, grid.array((), dtype="int32")], None)


def _narrow() -> Programs:
    import jax
    import jax.numpy as jnp

    grid = Placed("2x4")
    width, inner, layers = 4096, 14336, 4

    def quantize(x: Any) -> tuple[Any, Any]:
        """Rows in float8 with a scale each."""
        scale = jnp.max(jnp.abs(x), axis=-1, keepdims=True).astype(jnp.float32) / 448.0
        scale = jnp.maximum(scale, 1e-12)
        return jnp.clip(x / scale, -448.0, 448.0).astype(jnp.float8_e4m3fn), scale

    def linear(x: Any, w: Any, scale: Any) -> Any:
        small, own = quantize(x)
        y = jax.lax.dot_general(small, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32)
        return (y * own * scale).astype(jnp.bfloat16)

    def feed_forward(params: Any, x: Any) -> Any:
        for w in params:
            h = rms_norm(x, w["norm"])
            both = linear(h, w["gate_up"], w["gate_up_scale"])
            gate, up = jnp.split(both, 2, axis=-1)
            x = x + linear(jax.nn.silu(gate) * up, w["down"], w["down_scale"])
        return x

    layer = {
        "norm": grid.array((width,), dtype="bfloat16"),
        "gate_up": grid.array((width, 2 * inner), None, "y", dtype="float8_e4m3fn"),
        "gate_up_scale": grid.array((2 * inner,), "y"),
        "down": grid.array((inner, width), "y", dtype="float8_e4m3fn"),
        "down_scale": grid.array((width,)),
    }
    x = grid.array((8192, width), "x", dtype="bfloat16")
    yield "float8_feed_forward", (feed_forward, [[layer] * layers, x], None)
