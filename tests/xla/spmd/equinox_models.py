"""Models of equinox as users write them (layers of one sample under `vmap`), trained by optax."""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs, trained


def programs() -> Programs:
    """The programs by name."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import optax

    class Encoder(eqx.Module):
        embed: Any
        attention: Any
        norm: Any
        mlp: Any
        out: Any

        def __init__(self, key: Any) -> None:
            a, b, c, d = jax.random.split(key, 4)
            self.embed = eqx.nn.Embedding(128, 64, key=a)
            self.attention = eqx.nn.MultiheadAttention(4, 64, key=b)
            self.norm = eqx.nn.LayerNorm(64)
            self.mlp = eqx.nn.MLP(64, 64, 256, 1, activation=jax.nn.gelu, key=c)
            self.out = eqx.nn.Linear(64, 128, key=d)

        def __call__(self, tokens: Any) -> Any:
            x = jax.vmap(self.embed)(tokens)
            mask = jnp.tril(jnp.ones((len(tokens), len(tokens)), bool))
            h = jax.vmap(self.norm)(x)
            x = x + self.attention(h, h, h, mask=mask)
            return jax.vmap(self.out)(x + jax.vmap(self.mlp)(jax.vmap(self.norm)(x)))

    class Images(eqx.Module):
        layers: Any
        out: Any

        def __init__(self, key: Any) -> None:
            a, b, c = jax.random.split(key, 3)
            self.layers = [
                eqx.nn.Conv2d(4, 16, 3, padding=1, key=a),
                eqx.nn.GroupNorm(4, 16),
                eqx.nn.MaxPool2d(2, 2),
                eqx.nn.Conv2d(16, 32, 3, stride=2, padding=1, key=b),
            ]
            self.out = eqx.nn.Linear(32, 8, key=c)

        def __call__(self, x: Any) -> Any:
            for layer in self.layers:
                x = jax.nn.relu(layer(x))
            return self.out(x.mean((1, 2)))

    class Recurrent(eqx.Module):
        cell: Any
        out: Any

        def __init__(self, key: Any) -> None:
            a, b = jax.random.split(key)
            self.cell = eqx.nn.GRUCell(16, 64, key=a)
            self.out = eqx.nn.Linear(64, 8, key=b)

        def __call__(self, x: Any) -> Any:
            return self.out(jax.lax.scan(lambda h, x: (self.cell(x, h), None), jnp.zeros(64), x)[0])

    class Stacked(eqx.Module):
        """Layers stacked by `filter_vmap`, run by a scan."""

        layers: Any

        def __init__(self, key: Any) -> None:
            make = eqx.filter_vmap(lambda key: eqx.nn.MLP(64, 64, 128, 1, key=key))
            self.layers = make(jax.random.split(key, 3))

        def __call__(self, x: Any) -> Any:
            arrays, static = eqx.partition(self.layers, eqx.is_inexact_array)
            step = jax.checkpoint(lambda x, layer: (x + eqx.combine(layer, static)(x), None))
            return jax.lax.scan(step, x, arrays)[0]

    inputs: dict[str, tuple[Any, tuple[int, ...], Any]] = {
        "encoder": (Encoder, (16, 32), jnp.int32),
        "images": (Images, (16, 4, 16, 16), jnp.float32),
        "recurrent": (Recurrent, (16, 10, 16), jnp.float32),
        "stacked": (Stacked, (32, 64), jnp.float32),
    }
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    for name, (kind, shape, dtype) in inputs.items():
        model = eqx.filter_eval_shape(kind, jax.random.key(0))
        arrays, static = eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

        def loss(params: Any, x: Any, static: Any = static) -> Any:
            half = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
            out = jax.vmap(eqx.combine(half, static))(x.astype(jnp.bfloat16) if x.dtype != jnp.int32 else x)
            return (out.astype(jnp.float32) ** 2).mean()

        def single(params: Any, x: Any, static: Any = static) -> Any:
            return (jax.vmap(eqx.combine(params, static))(x) ** 2).mean()

        state = jax.eval_shape(optimizer.init, arrays)
        for mesh, style in (("8", "fsdp"), ("8", "data"), ("2x4", "tensor"), ("4x2", "both")):
            placed = Placed(mesh)
            x = placed.array(shape, "x", dtype=dtype)
            params = placed.tree(arrays, style)
            yield f"{name}_{style}", (trained(single), [params, x], None)
            if style in ("fsdp", "both"):
                arguments = [params, placed.tree(state, style), x]
                yield (
                    f"{name}_{style}_bfloat16_adamw",
                    (trained(loss if name != "recurrent" else single, optimizer), arguments, None),
                )
