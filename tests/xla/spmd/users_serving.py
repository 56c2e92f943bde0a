"""Serving, in `users_models.py`: caches of int8, of pages, and of rings; samples, beams, drafts, adapters."""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs


def programs() -> Programs:
    """The programs by name."""
    yield from _cached()
    yield from _chosen()
    yield from _recurrent()


def _cached() -> Programs:
    import jax
    import jax.numpy as jnp

    grid, line, cube = Placed("2x4"), Placed("8"), Placed("2x2x2")
    layers, batch, length, groups, head, width = 4, 32, 4096, 8, 128, 4096

    def rounded(x: Any) -> Any:
        scale = jnp.max(jnp.abs(x), -1, keepdims=True) / 127 + 1e-8
        return jnp.round(x / scale).astype(jnp.int8), scale.astype(jnp.bfloat16)

    def decode_int8(w: Any, cache: Any, x: Any, places: Any) -> Any:
        """One token by a cache of int8 with scales, each row of the batch at its own place."""
        rows = jnp.arange(batch)

        def layer(x: Any, each: Any) -> Any:
            w, keys, key_scales, values, value_scales = each
            h = x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-6)
            q = (h @ w["q"]).reshape(batch, groups, -1, head)
            k, ks = rounded((h @ w["k"]).reshape(batch, groups, head))
            v, vs = rounded((h @ w["v"]).reshape(batch, groups, head))
            keys, key_scales = keys.at[rows, places].set(k), key_scales.at[rows, places].set(ks)
            values, value_scales = values.at[rows, places].set(v), value_scales.at[rows, places].set(vs)
            scores = jnp.einsum("bgrd,btgd->bgrt", q, keys.astype(jnp.bfloat16) * key_scales)
            seen = jnp.arange(length) <= places[:, None]
            scores = jnp.where(seen[:, None, None], scores.astype(jnp.float32) / head**0.5, -1e9)
            chance = jax.nn.softmax(scores).astype(jnp.bfloat16)
            mixed = jnp.einsum("bgrt,btgd->bgrd", chance, values.astype(jnp.bfloat16) * value_scales)
            return x + mixed.reshape(batch, -1) @ w["o"], (keys, key_scales, values, value_scales)

        x, cache = jax.lax.scan(layer, x, (w, *cache))
        return x, cache

    w = {
        "q": grid.array((layers, width, width), None, None, "y", dtype="bfloat16"),
        "k": grid.array((layers, width, groups * head), None, None, "y", dtype="bfloat16"),
        "v": grid.array((layers, width, groups * head), None, None, "y", dtype="bfloat16"),
        "o": grid.array((layers, width, width), None, "y", dtype="bfloat16"),
    }
    kept = grid.array((layers, batch, length, groups, head), None, "x", None, "y", dtype="int8")
    scales = grid.array((layers, batch, length, groups, 1), None, "x", None, "y", dtype="bfloat16")
    x = grid.array((batch, width), "x", dtype="bfloat16")
    step = jax.jit(decode_int8, donate_argnums=(1,))
    arguments = [w, (kept, scales, kept, scales), x, grid.array((batch,), "x", dtype="int32")]
    yield "decode_int8_cache", (step, arguments, None)

    def paged(w: Any, pages: Any, x: Any, table: Any, lengths: Any) -> Any:
        """Attention to pages that a table lists; the new key and value go into the last one."""
        rows = jnp.arange(batch)
        q = (x @ w["q"]).reshape(batch, 8, 4, head)
        new = (x @ w["kv"]).reshape(batch, 2, 8, head)
        page = table[rows, lengths // 64]
        pages = pages.at[page, lengths % 64].set(new)
        seen = pages[table].reshape(batch, -1, 2, 8, head)
        scores = jnp.einsum("bgrd,btgd->bgrt", q, seen[:, :, 0]).astype(jnp.float32) / head**0.5
        valid = jnp.arange(scores.shape[-1]) <= lengths[:, None]
        chance = jax.nn.softmax(jnp.where(valid[:, None, None], scores, -1e9)).astype(x.dtype)
        mixed = jnp.einsum("bgrt,btgd->bgrd", chance, seen[:, :, 1])
        return mixed.reshape(batch, -1) @ w["o"], pages

    w = {
        "q": line.array((width, width), None, "x", dtype="bfloat16"),
        "kv": line.array((width, 2 * 8 * head), dtype="bfloat16"),
        "o": line.array((width, width), "x", dtype="bfloat16"),
    }
    pages = line.array((2048, 64, 2, 8, head), None, None, None, "x", dtype="bfloat16")
    table = line.array((batch, 64), dtype="int32")
    arguments = [
        w,
        pages,
        line.array((batch, width), dtype="bfloat16"),
        table,
        line.array((batch,), dtype="int32"),
    ]
    yield "paged_attention", (jax.jit(paged, donate_argnums=(1,)), arguments, None)

    window, small = 256, 512

    def ring(w: Any, cache: Any, start: Any, place: Any) -> Any:
        """Sixteen tokens by a cache that is a ring: the oldest one is overwritten."""

        def step(carry: Any, _: Any) -> Any:
            (keys, values), token, place = carry
            x = w["table"][token]
            q, k, v = (jnp.einsum("bd,dhe->bhe", x, w[name]) for name in ("q", "k", "v"))
            slot = place % window
            keys = jax.lax.dynamic_update_slice(keys, k[:, :, None], (0, 0, slot, 0))
            values = jax.lax.dynamic_update_slice(values, v[:, :, None], (0, 0, slot, 0))
            scores = jnp.einsum("bhe,bhte->bht", q, keys) / 8.0
            age = (slot - jnp.arange(window)) % window
            scores = jnp.where(age <= place, scores - 0.01 * age, -jnp.inf)
            x = x + jnp.einsum("bht,bhte,hed->bd", jax.nn.softmax(scores), values, w["o"])
            token = jnp.argmax(x @ w["table"].T, -1).astype(jnp.int32)
            return ((keys, values), token, place + 1), token

        (cache, _, place), tokens = jax.lax.scan(step, (cache, start, place), None, length=16)
        return cache, tokens.T, place

    w = dict.fromkeys(("q", "k", "v"), cube.array((small, 8, 64), None, ("y", "z")))
    w |= {"o": cube.array((8, 64, small), ("y", "z")), "table": cube.array((8192, small), ("y", "z"))}
    kept = cube.array((16, 8, window, 64), "x", ("y", "z"))
    arguments = [w, (kept, kept), cube.array((16,), "x", dtype="int32"), cube.array((), dtype="int32")]
    yield "ring_cache", (jax.jit(ring, donate_argnums=(1,)), arguments, None)


def _chosen() -> Programs:
    import jax
    import jax.numpy as jnp

    grid, line = Placed("2x4"), Placed("8")
    vocabulary = 32768

    def top_p(head: Any, h: Any, counts: Any, key: Any) -> Any:
        """A token of the likeliest ones whose chances add up to p, seldom ones first."""
        logits = (h @ head).astype(jnp.float32)
        logits = jnp.where(counts > 0, jnp.where(logits > 0, logits / 1.2, logits * 1.2), logits) / 0.8
        order = jnp.argsort(-logits, -1)
        ranked = jnp.take_along_axis(logits, order, -1)
        chances = jax.nn.softmax(ranked)
        before = jnp.cumsum(chances, -1) - chances
        ranked = jnp.where(before < 0.9, ranked, -jnp.inf)
        noise = jax.random.gumbel(key, ranked.shape)
        picked = jnp.argmax(ranked + noise, -1)
        token = jnp.take_along_axis(order, picked[:, None], -1)[:, 0]
        return token, counts.at[jnp.arange(token.shape[0]), token].add(1)

    arguments = [
        grid.array((1024, vocabulary), None, "y", dtype="bfloat16"),
        grid.array((64, 1024), "x", dtype="bfloat16"),
        grid.array((64, vocabulary), "x", dtype="int32"),
        grid.array((2,), dtype="uint32"),
    ]
    yield "top_p_penalized", (top_p, arguments, None)

    beams, length, steps = 4, 32, 31

    def beam(w: Any, start: Any) -> Any:
        """Beams with states that follow those that are kept, until all have ended."""
        batch = start.shape[0]

        def go_on(carry: Any) -> Any:
            i, _, _, _, ended = carry
            return (i < steps) & ~jnp.all(ended)

        def step(carry: Any) -> Any:
            i, tokens, scores, state, ended = carry
            last = jax.lax.dynamic_index_in_dim(tokens, i, 2, keepdims=False)
            x = w["table"][last]
            gate = jax.nn.sigmoid(x @ w["gate"] + state @ w["kept"])
            state = gate * state + (1 - gate) * jnp.tanh(x @ w["new"])
            chances = jax.nn.log_softmax(state @ w["table"].T)
            stay = jnp.where(jnp.arange(chances.shape[-1]) == 0, 0.0, -1e9)
            chances = jnp.where(ended[..., None], stay, chances)
            total = (scores[..., None] + chances).reshape(batch, -1)
            scores, chosen = jax.lax.top_k(total, beams)
            source, token = chosen // chances.shape[-1], chosen % chances.shape[-1]
            tokens = jnp.take_along_axis(tokens, source[..., None], 1)
            state = jnp.take_along_axis(state, source[..., None], 1)
            ended = jnp.take_along_axis(ended, source, 1) | (token == 0)
            tokens = jax.lax.dynamic_update_index_in_dim(tokens, token, i + 1, 2)
            return i + 1, tokens, scores, state, ended

        tokens = jnp.zeros((batch, beams, length), jnp.int32).at[:, :, 0].set(start[:, None])
        scores = jnp.where(jnp.arange(beams) == 0, 0.0, -1e9) * jnp.ones((batch, 1))
        carry = 0, tokens, scores, jnp.zeros((batch, beams, 256)), jnp.zeros((batch, beams), bool)
        _, tokens, scores, _, _ = jax.lax.while_loop(go_on, step, carry)
        return tokens, scores

    w = {
        **dict.fromkeys(("gate", "kept", "new"), line.array((256, 256))),
        "table": line.array((4096, 256)),
    }
    yield "beams_with_states", (beam, [w, line.array((32,), "x", dtype="int32")], None)

    def verified(target: Any, draft: Any, tokens: Any, key: Any) -> Any:
        """Drafted tokens kept until the first that is refused, and one of what is left over."""
        p, q = jax.nn.softmax(target), jax.nn.softmax(draft)
        first, second = jax.random.split(key)
        own = jnp.take_along_axis(p[:, :-1], tokens[..., None], -1)[..., 0]
        other = jnp.take_along_axis(q, tokens[..., None], -1)[..., 0]
        kept = jax.random.uniform(first, own.shape) < own / other
        count = jnp.cumprod(kept, -1).sum(-1)
        q = jnp.concatenate([q, jnp.zeros_like(q[:, :1])], 1)
        rest = jnp.maximum(p - q, 0)
        rest = jnp.take_along_axis(rest, count[:, None, None], 1)[:, 0]
        extra = jax.random.categorical(second, jnp.log(rest + 1e-20))
        padded = jnp.pad(tokens, ((0, 0), (0, 1)))
        return jnp.where(jnp.arange(5) == count[:, None], extra[:, None], padded), count

    arguments = [
        grid.array((64, 5, vocabulary), "x", None, "y"),
        grid.array((64, 4, vocabulary), "x", None, "y"),
        grid.array((64, 4), "x", dtype="int32"),
        grid.array((2,), dtype="uint32"),
    ]
    yield "drafts_verified", (verified, arguments, None)

    def int8_mlp(w: Any, x: Any) -> Any:
        """Products of int8 by int8: weights by column, activations by row."""

        def product(x: Any, w: Any, scale: Any) -> Any:
            own = jnp.max(jnp.abs(x), -1, keepdims=True) / 127
            small = jnp.clip(jnp.round(x / own), -127, 127).astype(jnp.int8)
            whole = jax.lax.dot_general(small, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
            return whole.astype(jnp.float32) * own * scale

        for each in w:
            x = x + product(jax.nn.gelu(product(x, each["up"], each["ups"])), each["down"], each["downs"])
        return x

    layer = {
        "up": grid.array((1024, 4096), None, "y", dtype="int8"),
        "ups": grid.array((4096,), "y"),
        "down": grid.array((4096, 1024), "y", dtype="int8"),
        "downs": grid.array((1024,)),
    }
    yield "products_of_int8", (int8_mlp, [[layer] * 3, grid.array((4096, 1024), "x")], None)


def _recurrent() -> Programs:
    import jax
    import jax.numpy as jnp

    grid, line = Placed("2x4"), Placed("8")
    heads, head, states, chunk = 8, 64, 64, 128

    def segments(a: Any) -> Any:
        """Sums of a from one place to another."""
        total = jnp.cumsum(a, -1)
        apart = total[..., :, None] - total[..., None, :]
        size = a.shape[-1]
        return jnp.where(jnp.tril(jnp.ones((size, size), bool)), apart, -jnp.inf)

    def ssd(w: Any, u: Any) -> Any:
        """Mamba 2: products within chunks, a scan of states between them."""
        b, t, _ = u.shape
        both = u @ w["in"]
        x, z = jnp.split(both, 2, -1)
        x = jax.nn.silu(sum(jnp.pad(x, ((0, 0), (i, 0), (0, 0)))[:, :t] * w["conv"][i] for i in range(4)))
        x = x.reshape(b, t // chunk, chunk, heads, head)
        dt = jax.nn.softplus(u @ w["dt"]).reshape(b, t // chunk, chunk, heads)
        into, out = (jnp.reshape(u @ w[name], (b, t // chunk, chunk, states)) for name in ("b", "c"))
        a = (-jnp.exp(w["a"]) * dt).transpose(0, 3, 1, 2)
        x = x * dt[..., None]
        total = jnp.cumsum(a, -1)
        near = jnp.einsum("bcln,bcsn,bhcls,bcshp->bclhp", out, into, jnp.exp(segments(a)), x)
        fade = jnp.exp(total[..., -1:] - total)
        made = jnp.einsum("bcln,bhcl,bclhp->bchpn", into, fade, x)

        def step(state: Any, each: Any) -> Any:
            new, keep = each
            return state * keep[..., None, None] + new, state

        last = jnp.exp(total[..., -1]).transpose(2, 0, 1)
        start = jnp.zeros((b, heads, head, states), u.dtype)
        _, before = jax.lax.scan(step, start, (made.transpose(1, 0, 2, 3, 4), last))
        far = jnp.einsum("bcln,cbhpn,bhcl->bclhp", out, before, jnp.exp(total))
        y = (near + far).reshape(b, t, -1) * jax.nn.silu(z)
        return u + y @ w["out"]

    def ssd_loss(w: Any, u: Any) -> Any:
        return jnp.square(ssd(w, u)).mean()

    inner = heads * head
    w = {
        "in": grid.array((256, 2 * inner), None, "y"),
        "conv": grid.array((4, inner), None, "y"),
        "dt": grid.array((256, heads), None, "y"),
        "b": grid.array((256, states)),
        "c": grid.array((256, states)),
        "a": grid.array((heads,), "y"),
        "out": grid.array((inner, 256), "y"),
    }
    yield "state_space_dual_grad", (jax.grad(ssd_loss), [w, grid.array((8, 1024, 256), "x")], None)

    def receptance(w: Any, x: Any) -> Any:
        """RWKV 6: decay of states by the tokens, in chunks that are computed again."""
        b, t, d = x.shape
        before = jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1]
        r, k, v, g, s = ((x + (before - x) * w["mix"][i]) @ w["rkvgs"][i] for i in range(5))
        decay = jnp.exp(-jnp.exp(s - 2.0))
        r, k, v, decay = (
            each.reshape(b, t // 64, 64, heads, -1).transpose(1, 2, 0, 3, 4) for each in (r, k, v, decay)
        )

        @jax.checkpoint
        def chunked(state: Any, each: Any) -> Any:
            def token(state: Any, one: Any) -> Any:
                r, k, v, decay = one
                outer = k[..., None] * v[..., None, :]
                y = jnp.einsum("bhk,bhkv->bhv", r, state + w["bonus"][..., None] * outer)
                return decay[..., None] * state + outer, y

            return jax.lax.scan(token, state, each)

        start = jnp.zeros((b, heads, d // heads, d // heads))
        _, y = jax.lax.scan(chunked, start, (r, k, v, decay))
        y = y.transpose(2, 0, 1, 3, 4).reshape(b, t, heads, -1)
        y = (y - y.mean(-1, keepdims=True)) * jax.lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
        return jnp.abs(x + (y.reshape(b, t, d) * jax.nn.silu(g)) @ w["out"]).mean()

    w = {
        "mix": line.array((5, 256)),
        "rkvgs": line.array((5, 256, 256), None, "x"),
        "bonus": line.array((heads, 32)),
        "out": line.array((256, 256), "x"),
    }
    yield "receptance_chunks_grad", (jax.grad(receptance), [w, line.array((16, 256, 256), "x")], None)

    def windowed(w: Any, x: Any, key: Any) -> Any:
        """Attention of blocks to themselves and the block before, with dropout."""
        b, t, d = x.shape
        size = 64

        def blocks(name: str) -> Any:
            return (x @ w[name]).reshape(b, t // size, size, heads, -1)

        def wider(each: Any) -> Any:
            return jnp.concatenate([jnp.roll(each, 1, 1).at[:, 0].set(0), each], 2)

        q, k, v = blocks("q"), wider(blocks("k")), wider(blocks("v"))
        scores = jnp.einsum("bnqhe,bnkhe->bnhqk", q, k) / 8.0
        apart = jnp.arange(size)[:, None] + size - jnp.arange(2 * size)
        valid = (apart >= 0) & (apart < size)
        first = (jnp.arange(t // size) > 0)[:, None, None] | (jnp.arange(2 * size) >= size)
        scores = jnp.where(valid & first[:, None], scores, -1e9)
        chance = jax.nn.softmax(scores)
        chance = jnp.where(jax.random.bernoulli(key, 0.9, chance.shape), chance / 0.9, 0.0)
        y = jnp.einsum("bnhqk,bnkhe->bnqhe", chance, v).reshape(b, t, d)
        return jnp.square(x + y @ w["o"]).mean()

    w = dict.fromkeys(("q", "k", "v"), grid.array((512, 512), None, "y")) | {"o": grid.array((512, 512), "y")}
    arguments = [w, grid.array((8, 1024, 512), "x"), grid.array((2,), dtype="uint32")]
    yield "windows_with_dropout_grad", (jax.grad(windowed), arguments, None)
