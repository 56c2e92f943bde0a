"""Programs by `shard_map` for TPUs: experts, sequences and pipelines, with the collectives of users."""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs, trained


def by_hand() -> Programs:
    """The programs by name."""
    yield from _exchanged()
    yield from _in_turns()


def _exchanged() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax.sharding import PartitionSpec as P

    line = Placed("8")
    mapped = {"mesh": line.mesh, "check_vma": False}

    def experts(w: Any, x: Any) -> Any:
        def local(up: Any, down: Any, x: Any) -> Any:
            h = lax.all_to_all(x.reshape(8, -1, x.shape[-1]), "x", 0, 1, tiled=True)
            h = jax.nn.gelu(h[0] @ up[0]) @ down[0]
            return lax.all_to_all(h[None], "x", 1, 0, tiled=True).reshape(x.shape)

        return jax.shard_map(local, in_specs=(P("x"), P("x"), P("x")), out_specs=P("x"), **mapped)(*w, x)

    w = line.array((8, 256, 512), "x"), line.array((8, 512, 256), "x")
    tokens = line.array((2048, 256), "x")
    yield "experts_exchanged", (trained(lambda w, x: (experts(w, x) ** 2).mean()), [w, tokens], None)

    def heads(q: Any, k: Any, v: Any) -> Any:
        """Sequences in parts become heads in parts, and back."""

        def local(*given: Any) -> Any:
            q, k, v = (lax.all_to_all(each, "x", 2, 1, tiled=True) for each in given)
            s = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8)
            return lax.all_to_all(jnp.einsum("bhqk,bkhd->bqhd", s, v), "x", 1, 2, tiled=True)

        spec = P(None, "x")
        return jax.shard_map(local, in_specs=(spec,) * 3, out_specs=spec, **mapped)(q, k, v)

    q = line.array((2, 1024, 8, 64), None, "x", dtype="bfloat16")
    yield "heads_exchanged", (heads, [q, q, q], None)
    total = lambda q, k, v: heads(q, k, v).astype(jnp.float32).sum()  # noqa: E731
    yield "heads_exchanged_grad", (jax.grad(total, (0, 1, 2)), [q, q, q], None)

    def scattered(w: Any, x: Any) -> Any:
        """Weights in parts are gathered, gradients scattered, by hand."""

        def local(w: Any, x: Any) -> Any:
            def loss(parts: Any) -> Any:
                h = x
                for each in parts:
                    h = jax.nn.relu(h @ lax.all_gather(each, "x", tiled=True))
                return (h**2).mean()

            value, grads = jax.value_and_grad(loss)(w)
            return [p - 0.1 * g for p, g in zip(w, grads, strict=True)], lax.pmean(value, "x")

        specs = [P("x")] * len(w)
        return jax.shard_map(local, in_specs=(specs, P("x")), out_specs=(specs, P()), **mapped)(w, x)

    yield (
        "gathered_by_hand",
        (scattered, [[line.array((512, 512), "x")] * 4, line.array((1024, 512), "x")], None),
    )


def _in_turns() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax.sharding import PartitionSpec as P

    line, grid = Placed("8"), Placed("2x4")
    turn = [(i, (i + 1) % 8) for i in range(8)]

    def ring(q: Any, k: Any, v: Any) -> Any:
        """Causal attention with keys and values that go around."""

        def local(q: Any, k: Any, v: Any) -> Any:
            own, length = lax.axis_index("x"), q.shape[1]
            at = own * length + jnp.arange(length)
            best = jnp.full((q.shape[0], q.shape[2], length), -1e9)
            total, out = jnp.zeros_like(best), jnp.zeros((*best.shape, q.shape[3]))
            for i in range(8):
                from_ = ((own - i) % 8) * length + jnp.arange(length)
                s = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32)
                s = jnp.where(at[:, None] >= from_[None], s, -1e9)
                new = jnp.maximum(best, s.max(-1))
                p, scale = jnp.exp(s - new[..., None]), jnp.exp(best - new)
                total = total * scale + p.sum(-1)
                out = out * scale[..., None] + jnp.einsum("bhqk,bkhd->bhqd", p, v.astype(jnp.float32))
                best = new
                if i < 7:
                    k, v = lax.ppermute((k, v), "x", turn)
            return (out / total[..., None]).transpose(0, 2, 1, 3).astype(q.dtype)

        spec = P(None, "x")
        return jax.shard_map(local, mesh=line.mesh, in_specs=spec, out_specs=spec, check_vma=False)(q, k, v)

    q = line.array((1, 2048, 4, 64), None, "x", dtype="bfloat16")
    yield "causal_ring_unrolled", (ring, [q, q, q], None)

    def stages(w: Any, x: Any) -> Any:
        """Microbatches through stages along x, each of them a product in parts along y."""

        def local(w: Any, x: Any) -> Any:
            stage = lax.axis_index("x")
            held, out = jnp.zeros_like(x[0]), []
            for i in range(x.shape[0] + 1):
                fed = jnp.where(stage == 0, x[min(i, x.shape[0] - 1)], held)
                done = lax.psum(jax.nn.relu(fed @ w["up"][0]) @ w["down"][0], "y")
                held = lax.ppermute(done, "x", [(0, 1), (1, 0)])
                out.append(done)
            return lax.psum(jnp.where(stage == 1, jnp.stack(out[1:]), 0), "x")

        specs = {"up": P("x", None, "y"), "down": P("x", "y")}
        return jax.shard_map(local, mesh=grid.mesh, in_specs=(specs, P()), out_specs=P(), check_vma=False)(
            w, x
        )

    w = {"up": grid.array((2, 256, 1024), "x", None, "y"), "down": grid.array((2, 1024, 256), "x", "y")}
    loss = lambda w, x: (stages(w, x) ** 2).mean()  # noqa: E731
    yield "stages_of_parts", (trained(loss), [w, grid.array((4, 64, 256))], None)

    def borders(u: Any) -> Any:
        """Steps of a stencil with borders that neighbours send."""

        def local(u: Any) -> Any:
            def step(u: Any, _: Any) -> Any:
                above = lax.ppermute(u[-1:], "x", [(i, i + 1) for i in range(7)])
                below = lax.ppermute(u[:1], "x", [(i + 1, i) for i in range(7)])
                wide = jnp.concatenate([above, u, below])
                return 0.5 * u + 0.25 * (wide[:-2] + wide[2:]), lax.pmax(jnp.abs(u).max(), "x")

            return lax.scan(step, u, None, length=6)

        return jax.shard_map(
            local, mesh=line.mesh, in_specs=P("x"), out_specs=(P("x"), P()), check_vma=False
        )(u)

    yield "borders_by_hand", (borders, [line.array((1024, 512), "x")], None)
