"""Programs of JAX as users parallelize by hand: experts, rings, pipelines, scans, decoding, solvers."""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs, trained


def programs() -> Programs:
    """The programs by name."""
    yield from _mixtures()
    yield from _by_shard_map()
    yield from _scans()
    yield from _decoding()
    yield from _others()


def _mixtures() -> Programs:
    import jax
    import jax.numpy as jnp

    experts, width, hidden, capacity = 8, 32, 64, 16

    def einsum(params: Any, x: Any) -> Any:
        gates = jax.nn.softmax(x @ params["router"])
        weights, chosen = jax.lax.top_k(gates, 2)
        one_hot = jax.nn.one_hot(chosen, experts)
        position = jnp.cumsum(one_hot.reshape(-1, experts), 0).reshape(one_hot.shape) * one_hot - 1
        slot = jax.nn.one_hot(position.max(-1).astype(int), capacity)
        dispatch = jnp.einsum("tke,tkc->tec", one_hot, slot)
        combine = jnp.einsum("tke,tkc,tk->tec", one_hot, slot, weights)
        h = jnp.einsum("tec,td->ecd", dispatch, x)
        h = jax.nn.silu(jnp.einsum("ecd,edf->ecf", h, params["up"]))
        return jnp.einsum("tec,ecd->td", combine, jnp.einsum("ecf,efd->ecd", h, params["down"]))

    def ordered(params: Any, x: Any) -> Any:
        gates = jax.nn.softmax(x @ params["router"])
        weight, chosen = gates.max(-1), gates.argmax(-1)
        order = jnp.argsort(chosen)
        sizes = jnp.bincount(chosen, length=experts)
        h = jax.lax.ragged_dot(x[order], params["up"], sizes)
        h = jax.lax.ragged_dot(jax.nn.silu(h), params["down"], sizes)
        return jnp.zeros_like(x).at[order].set(h) * weight[:, None]

    sizes = {"router": (width, experts), "up": (experts, width, hidden), "down": (experts, hidden, width)}
    for mesh, spec, tokens in (
        ("8", ("x",), ("x",)),
        ("2x4", ("y",), ("x",)),
        ("2x4", ("y", None, "x"), ("x",)),
    ):
        placed = Placed(mesh)
        params = {
            name: placed.array(size, *(spec if name != "router" else ())) for name, size in sizes.items()
        }
        x = placed.array((256, width), *tokens)
        name = f"{mesh}_{len(spec)}"
        yield f"moe_einsum_{name}", (einsum, [params, x], None)
        yield f"moe_train_{name}", (trained(lambda p, x: (einsum(p, x) ** 2).mean()), [params, x], None)
        yield f"moe_sorted_{name}", (ordered, [params, x], None)


def _by_shard_map() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax.sharding import PartitionSpec as P

    placed = Placed("8")
    turn = [(i, (i + 1) % 8) for i in range(8)]

    def ring(q: Any, k: Any, v: Any) -> Any:
        def local(q: Any, k: Any, v: Any) -> Any:
            def step(carry: Any, _: Any) -> Any:
                k, v, best, total, out = carry
                scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
                new = jnp.maximum(best, scores.max(-1))
                weights, scale = jnp.exp(scores - new[..., None]), jnp.exp(best - new)
                total = total * scale + weights.sum(-1)
                out = out * scale[..., None] + jnp.einsum("bhqk,bkhd->bhqd", weights, v)
                k, v = lax.ppermute((k, v), "x", turn)
                return (k, v, new, total, out), None

            batch, length, heads, size = q.shape
            start = (jnp.full((batch, heads, length), -1e9), jnp.zeros((batch, heads, length)))
            carry = (k, v, *start, jnp.zeros((batch, heads, length, size)))
            _, _, _, total, out = lax.scan(step, carry, None, length=8)[0]
            return (out / total[..., None]).transpose(0, 2, 1, 3)

        spec = P(None, "x")
        return jax.shard_map(local, mesh=placed.mesh, in_specs=spec, out_specs=spec, check_vma=False)(q, k, v)

    q = placed.array((2, 128, 4, 16), None, "x")
    yield "ring_attention", (ring, [q, q, q], None)
    yield "ring_attention_train", (jax.grad(lambda q, k, v: ring(q, k, v).sum(), (0, 1, 2)), [q, q, q], None)

    def pipeline(w: Any, x: Any) -> Any:
        def local(w: Any, x: Any) -> Any:
            stage = lax.axis_index("x")

            def step(held: Any, i: Any) -> Any:
                held = jnp.where(stage == 0, x[jnp.minimum(i, 3)], held)
                held = jnp.tanh(held @ w[0])
                return lax.ppermute(held, "x", turn), held

            return lax.scan(step, jnp.zeros_like(x[0]), jnp.arange(11))[1][-4:]

        return jax.shard_map(
            local, mesh=placed.mesh, in_specs=(P("x"), P()), out_specs=P("x"), check_vma=False
        )(w, x)[-4:]

    stages, x = placed.array((8, 32, 32), "x"), placed.array((4, 16, 32))
    yield "pipeline", (pipeline, [stages, x], None)
    yield "pipeline_train", (trained(lambda w, x: (pipeline(w, x) ** 2).mean()), [stages, x], None)

    def dispatched(w: Any, x: Any) -> Any:
        def local(w: Any, x: Any) -> Any:
            h = lax.all_to_all(x.reshape(8, -1, x.shape[-1]), "x", 0, 0, tiled=True)
            h = jax.nn.relu(h @ w[0])
            return lax.all_to_all(h, "x", 0, 0, tiled=True).reshape(x.shape)

        return jax.shard_map(local, mesh=placed.mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)(
            w, x
        )

    yield "all_to_all_experts", (dispatched, [stages, placed.array((512, 32), "x")], None)

    def scattered(w: Any, x: Any) -> Any:
        def local(w: Any, x: Any) -> Any:
            whole = lax.all_gather(w, "x", tiled=True)
            return lax.psum_scatter(x.T @ jnp.tanh(x @ whole), "x", tiled=True)

        return jax.shard_map(local, mesh=placed.mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)(
            w, x
        )

    yield "gather_and_scatter", (scattered, [placed.array((64, 64), "x"), placed.array((128, 64), "x")], None)


def _scans() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    def flash(q: Any, k: Any, v: Any, block: int = 16) -> Any:
        batch, length, heads, size = q.shape
        blocks = [a.reshape(batch, length // block, block, heads, size).swapaxes(0, 1) for a in (k, v)]

        def step(carry: Any, kv: Any) -> Any:
            best, total, out = carry
            scores = jnp.einsum("bqhd,bkhd->bhqk", q, kv[0])
            new = jnp.maximum(best, scores.max(-1))
            weights, scale = jnp.exp(scores - new[..., None]), jnp.exp(best - new)
            out = out * scale[..., None] + jnp.einsum("bhqk,bkhd->bhqd", weights, kv[1])
            return (new, total * scale + weights.sum(-1), out), None

        start = (jnp.full((batch, heads, length), -1e9), jnp.zeros((batch, heads, length)))
        _, total, out = lax.scan(step, (*start, jnp.zeros((batch, heads, length, size))), tuple(blocks))[0]
        return (out / total[..., None]).swapaxes(1, 2)

    for mesh, spec in (("8", ("x",)), ("2x4", ("x", None, "y")), ("4x2", ("x", "y"))):
        q = Placed(mesh).array((8, 64, 4, 16), *spec)
        yield f"flash_{len(spec)}", (flash, [q, q, q], None)

    def mamba(params: Any, x: Any) -> Any:
        h = x @ params["in"]
        decay, update = jax.nn.sigmoid(h @ params["decay"]), h
        merge = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])  # noqa: E731
        return lax.associative_scan(merge, (decay, update), axis=1)[1] @ params["out"]

    sizes = {"in": (32, 64), "decay": (64, 64), "out": (64, 32)}
    for mesh, style, spec in (("8", "fsdp", ("x",)), ("2x4", "tensor", ("x",)), ("4x2", "data", ("x", "y"))):
        placed = Placed(mesh)
        params = placed.tree(
            {name: jax.ShapeDtypeStruct(size, jnp.float32) for name, size in sizes.items()}, style
        )
        x = placed.array((8, 32, 32), *spec)
        yield f"mamba_{style}", (mamba, [params, x], None)
        yield f"mamba_train_{style}", (trained(lambda p, x: (mamba(p, x) ** 2).mean()), [params, x], None)

    def accumulated(params: Any, x: Any) -> Any:
        loss = lambda p, x: ((jnp.tanh(x @ p["in"]) @ p["out"]) ** 2).mean()  # noqa: E731
        add = lambda total, x: (jax.tree.map(jnp.add, total, jax.grad(loss)(params, x)), None)  # noqa: E731
        zeros = jax.tree.map(jnp.zeros_like, params)
        return lax.scan(add, zeros, x.reshape(4, -1, 32))[0]

    placed = Placed("8")
    for style in ("data", "fsdp"):
        params = placed.tree(
            {name: jax.ShapeDtypeStruct(sizes[name], jnp.float32) for name in ("in", "out")}, style
        )
        yield f"accumulated_{style}", (accumulated, [params, placed.array((256, 32), "x")], None)


def _decoding() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    def decode(w: Any, cache: Any, x: Any, position: Any) -> Any:
        q, k, v = jnp.split(jnp.einsum("bd,dhe->bhe", x, w), 3, -1)
        cache = [
            lax.dynamic_update_slice(c, n[:, None], (0, position, 0, 0))
            for c, n in zip(cache, (k, v), strict=True)
        ]
        scores = jnp.einsum("bhd,blhd->bhl", q, cache[0])
        scores = jnp.where(jnp.arange(cache[0].shape[1]) <= position, scores, -1e9)
        return jnp.einsum("bhl,blhd->bhd", jax.nn.softmax(scores), cache[1]), cache

    for mesh, spec in (("8", ("x",)), ("2x4", ("x", None, "y")), ("4x2", ("x", "y"))):
        placed = Placed(mesh)
        cache = placed.array((8, 64, 4, 16), *spec)
        heads = (None, spec[2]) if len(spec) == 3 else ()
        arguments = [placed.array((64, 4, 48), *heads), [cache, cache], placed.array((8, 64), "x")]
        yield f"decode_{len(spec)}", (decode, [*arguments, placed.array((), dtype="int32")], None)

    def beam(scores: Any, logits: Any, cache: Any) -> Any:
        batch, beams, vocabulary = logits.shape
        total = scores[..., None] + jax.nn.log_softmax(logits)
        best, chosen = lax.top_k(total.reshape(batch, -1), beams)
        parents, tokens = chosen // vocabulary, chosen % vocabulary
        return best, tokens, jnp.take_along_axis(cache, parents[..., None, None], axis=1)

    def sample(key: Any, logits: Any) -> Any:
        keys = jax.random.wrap_key_data(key, impl="threefry2x32")
        return jax.random.categorical(keys, logits / 0.7)

    def nucleus(logits: Any) -> Any:
        order = jnp.argsort(-logits, axis=-1)
        ordered = jnp.take_along_axis(logits, order, -1)
        kept = jnp.cumsum(jax.nn.softmax(ordered), -1) < 0.9
        return jnp.where(kept, ordered, -1e9)

    placed = Placed("4x2")
    for spec in (("x",), ("x", None, "y")):
        arrays = [
            placed.array((8, 4), "x"),
            placed.array((8, 4, 128), *spec),
            placed.array((8, 4, 32, 16), "x"),
        ]
        yield f"beam_{len(spec)}", (beam, arrays, None)
    for spec in (("x",), ("x", "y")):
        logits = placed.array((16, 256), *spec)
        yield f"sample_{len(spec)}", (sample, [placed.array((2,), dtype="uint32"), logits], None)
        yield f"nucleus_{len(spec)}", (nucleus, [logits], None)


def _others() -> Programs:
    import jax
    import jax.numpy as jnp

    def dlrm(params: Any, dense: Any, ids: Any) -> Any:
        bottom = jax.nn.relu(dense @ params["bottom"])
        found = jax.vmap(lambda table, i: table[i], (0, 1), 1)(params["tables"], ids)
        all_ = jnp.concatenate([bottom[:, None], found], 1)
        pairs = jnp.einsum("bid,bjd->bij", all_, all_).reshape(dense.shape[0], -1)
        return jnp.concatenate([bottom, pairs], 1) @ params["top"]

    for mesh, spec in (("8", ("x",)), ("4x2", (None, "x")), ("4x2", (None, None, "y"))):
        placed = Placed(mesh)
        params = {
            "bottom": placed.array((13, 32)),
            "tables": placed.array((8, 1024, 32), *spec),
            "top": placed.array((113, 1)),
        }
        arguments = [params, placed.array((64, 13), "x"), placed.array((64, 8), "x", dtype="int32")]
        yield f"dlrm_{len(spec)}", (dlrm, arguments, None)
        yield f"dlrm_train_{len(spec)}", (trained(lambda *a: (dlrm(*a) ** 2).mean()), arguments, None)

    def graph(w: Any, nodes: Any, senders: Any, receivers: Any) -> Any:
        messages = jax.nn.relu(nodes[senders] @ w)
        return jax.ops.segment_sum(messages, receivers, nodes.shape[0])

    placed = Placed("8")
    edges = placed.array((1024,), "x", dtype="int32")
    for name, spec in (("whole", ()), ("sharded", ("x",))):
        arguments = [placed.array((32, 32)), placed.array((256, 32), *spec), edges, edges]
        yield f"graph_{name}", (graph, arguments, None)
        yield f"graph_train_{name}", (trained(lambda *a: (graph(*a) ** 2).mean()), arguments, None)
    placed = Placed("4x2")
    matrix = placed.array((64, 64), "x", "y")
    batch = placed.array((8, 32, 32), "x")
    yield "qr", (lambda a: jnp.linalg.qr(a), [matrix], None)
    yield "eigh_batch", (lambda a: jnp.linalg.eigh(a + a.mT), [batch], None)
    yield "solve", (lambda a, b: jnp.linalg.solve(a, b), [matrix, placed.array((64, 16), None, "y")], None)
    yield (
        "cholesky_solve",
        (
            lambda a: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a @ a.mT), True), a),
            [batch],
            None,
        ),
    )
    yield "svd_batch", (lambda a: jnp.linalg.svd(a)[1], [batch], None)
    yield (
        "fft_conv",
        (
            lambda x, k: jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(k)),
            [placed.array((16, 8, 64), "x", "y"), placed.array((8, 64), "y")],
            None,
        ),
    )
    yield (
        "constrained",
        (
            lambda x, w: jax.lax.with_sharding_constraint(jnp.tanh(x @ w), placed.at("y", "x")) @ w,
            [placed.array((64, 64), "x"), placed.array((64, 64), None, "y")],
            placed.at("x", "y"),
        ),
    )
    yield "median", (lambda x: jnp.median(x, axis=0), [placed.array((64, 32), "x", "y")], None)
    yield (
        "unique_counts",
        (
            lambda x: jnp.zeros(64).at[x].add(1.0),
            [placed.array((512,), ("x", "y"), dtype="int32")],
            placed.at("x"),
        ),
    )
