"""Models of flax (linen and nnx) as users write them, trained by optax, over meshes of 8 devices."""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs, trained


def programs() -> Programs:
    """The programs by name."""
    yield from _linen()
    yield from _nnx()


def _linen() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax
    from flax import linen as nn

    class Block(nn.Module):
        heads: int = 4

        @nn.compact
        def __call__(self, x: Any) -> Any:
            h = nn.LayerNorm()(x)
            mask = nn.make_causal_mask(x[..., 0])
            x = x + nn.MultiHeadDotProductAttention(self.heads)(h, h, mask=mask)
            h = nn.Dense(4 * x.shape[-1])(nn.LayerNorm()(x))
            return x + nn.Dense(x.shape[-1])(nn.gelu(h))

    class Language(nn.Module):
        vocabulary: int = 512

        @nn.compact
        def __call__(self, tokens: Any) -> Any:
            embed = nn.Embed(self.vocabulary, 64)
            x = embed(tokens)
            for _ in range(2):
                x = Block()(x)
            return embed.attend(nn.RMSNorm()(x))

    class Vision(nn.Module):
        @nn.compact
        def __call__(self, image: Any) -> Any:
            x = nn.Conv(64, (4, 4), strides=(4, 4))(image)
            x = x.reshape(x.shape[0], -1, 64)
            x = x + self.param("position", nn.initializers.normal(), (1, x.shape[1], 64))
            for _ in range(2):
                x = Block()(x)
            return nn.Dense(16)(nn.LayerNorm()(x).mean(1))

    class ResNet(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = nn.relu(nn.BatchNorm(use_running_average=False)(nn.Conv(16, (7, 7), strides=2)(x)))
            x = nn.max_pool(x, (3, 3), (2, 2), padding="SAME")
            for features, stride in ((16, 1), (32, 2)):
                h = nn.Conv(features, (3, 3), strides=stride)(x)
                h = nn.relu(nn.BatchNorm(use_running_average=False)(h))
                h = nn.BatchNorm(use_running_average=False)(nn.Conv(features, (3, 3))(h))
                x = nn.relu(h + nn.Conv(features, (1, 1), strides=stride)(x))
            return nn.Dense(16)(x.mean((1, 2)))

    class UNet(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            a = nn.silu(nn.GroupNorm(4)(nn.Conv(16, (3, 3))(x)))
            b = nn.silu(nn.GroupNorm(4)(nn.Conv(32, (3, 3))(nn.avg_pool(a, (2, 2), (2, 2)))))
            up = nn.ConvTranspose(16, (2, 2), strides=(2, 2))(b)
            return nn.Conv(4, (3, 3))(jnp.concatenate([a, up], -1))

    class Recurrent(nn.Module):
        gated: bool = False

        @nn.compact
        def __call__(self, x: Any) -> Any:
            return nn.Dense(8)(nn.RNN(nn.GRUCell(32) if self.gated else nn.LSTMCell(32))(x)[:, -1])

    def cross_entropy(model: Any) -> Any:
        def loss(params: Any, tokens: Any) -> Any:
            logits = model.apply(params, tokens)[:, :-1]
            return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

        return loss

    def squares(model: Any) -> Any:
        def loss(params: Any, x: Any) -> Any:
            out = model.apply(params, x, mutable=["batch_stats"])[0]
            return (out.astype(jnp.float32) ** 2).mean()

        return loss

    key = jax.random.key(0)

    def shapes(model: Any, x: Any) -> Any:
        return jax.eval_shape(model.init, key, x)

    optimizers = {
        "adamw": optax.adamw(1e-3),
        "lion": optax.lion(1e-3),
        "adafactor": optax.adafactor(1e-3, min_dim_size_to_factor=16),
        "clip": optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3)),
        "finite": optax.apply_if_finite(optax.sgd(1e-3, momentum=0.9), 3),
        "lamb": optax.lamb(1e-3),
        "multi": optax.MultiSteps(optax.adam(1e-3), 2),
    }
    for mesh, style, which in (
        *(("8", "fsdp", name) for name in optimizers),
        *(("2x4", "tensor", name) for name in ("adamw", "adafactor", "clip")),
        *(("4x2", "both", name) for name in ("adamw", "lamb")),
        ("2x2x2", "both", "clip"),
    ):
        placed, model = Placed(mesh), Language()
        tokens = placed.array((16, 32), "x", dtype=jnp.int32)
        params = shapes(model, tokens)
        state = jax.eval_shape(optimizers[which].init, params)
        arguments = [placed.tree(params, style), placed.tree(state, style), tokens]
        yield (
            f"language_{which}_{style}_{mesh}",
            (trained(cross_entropy(model), optimizers[which]), arguments, None),
        )
    placed, model = Placed("8"), Language(50257)
    tokens = placed.array((8, 16), "x", dtype=jnp.int32)
    yield (
        "language_uneven",
        (trained(cross_entropy(model)), [placed.tree(shapes(model, tokens), "fsdp"), tokens], None),
    )
    placed = Placed("4x2")
    # a batch of 6 over 4 is not one that jit takes as an argument: it is constrained inside
    whole = placed.array((6, 16), dtype=jnp.int32)
    model = Language()

    def constrained(params: Any, tokens: Any) -> Any:
        return cross_entropy(model)(params, jax.lax.with_sharding_constraint(tokens, placed.at("x")))

    yield (
        "language_batch_6",
        (trained(constrained), [placed.tree(shapes(model, whole), "tensor"), whole], None),
    )

    images = {"vision": Vision(), "resnet": ResNet(), "unet": UNet()}
    for name, model in images.items():
        for mesh, style, spec in (
            ("8", "data", ("x",)),
            ("8", "fsdp", ("x",)),
            ("4x2", "both", ("x",)),
            ("2x4", "data", ("x", "y")),
        ):
            placed = Placed(mesh)
            x = placed.array((16, 32, 32, 4), *spec)
            params = placed.tree(shapes(model, x), style)
            yield f"{name}_{style}_{len(spec)}_{mesh}", (trained(squares(model)), [params, x], None)
    for gated in (False, True):
        for mesh, style in (("8", "fsdp"), ("2x4", "tensor")):
            placed, model = Placed(mesh), Recurrent(gated)
            x = placed.array((16, 12, 24), "x")
            params = placed.tree(shapes(model, x), style)
            yield f"rnn_{'gru' if gated else 'lstm'}_{style}", (trained(squares(model)), [params, x], None)


def _nnx() -> Programs:
    import jax
    import jax.numpy as jnp
    from flax import nnx

    def rotary(x: Any) -> Any:
        length, half = x.shape[1], x.shape[-1] // 2
        angles = jnp.arange(length)[:, None] / 10000 ** (jnp.arange(half) / half)
        cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
        a, b = jnp.split(x, 2, axis=-1)
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)

    class Llama(nnx.Module):
        def __init__(self, rngs: Any, width: int = 64, heads: int = 8, groups: int = 4) -> None:
            self.embed = nnx.Embed(256, width, rngs=rngs)
            self.norm, self.norm2 = nnx.RMSNorm(width, rngs=rngs), nnx.RMSNorm(width, rngs=rngs)
            size = width // heads
            self.q = nnx.LinearGeneral(width, (heads, size), use_bias=False, rngs=rngs)
            self.kv = nnx.LinearGeneral(width, (2, groups, size), use_bias=False, rngs=rngs)
            self.o = nnx.LinearGeneral((heads, size), width, axis=(-2, -1), use_bias=False, rngs=rngs)
            self.gate = nnx.Linear(width, 4 * width, use_bias=False, rngs=rngs)
            self.up = nnx.Linear(width, 4 * width, use_bias=False, rngs=rngs)
            self.down = nnx.Linear(4 * width, width, use_bias=False, rngs=rngs)

        def __call__(self, tokens: Any) -> Any:
            x = self.embed(tokens)
            h = self.norm(x)
            q, kv = rotary(self.q(h)), self.kv(h)
            k, v = rotary(kv[:, :, 0]), kv[:, :, 1]
            h = jax.nn.dot_product_attention(q, k, v, is_causal=True)
            x = x + self.o(h)
            h = self.norm2(x)
            return self.embed.attend(x + self.down(nnx.silu(self.gate(h)) * self.up(h)))

    class Classifier(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.conv = nnx.Conv(4, 16, (3, 3), rngs=rngs)
            self.batch = nnx.BatchNorm(16, rngs=rngs)
            self.out = nnx.Linear(16, 8, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return self.out(nnx.relu(self.batch(self.conv(x))).max((1, 2)))

    def split(kind: Any) -> tuple[Any, Any]:
        return nnx.split(nnx.eval_shape(lambda: kind(nnx.Rngs(0))))

    graph, state = split(Llama)

    def loss(params: Any, tokens: Any) -> Any:
        logits = nnx.merge(graph, params)(tokens)
        logp = jax.nn.log_softmax(logits[:, :-1])
        return -jnp.take_along_axis(logp, tokens[:, 1:, None], -1).mean()

    def one_hot_loss(params: Any, tokens: Any) -> Any:
        logp = jax.nn.log_softmax(nnx.merge(graph, params)(tokens)[:, :-1])
        return -(logp * jax.nn.one_hot(tokens[:, 1:], 256)).sum(-1).mean()

    for mesh, style, spec in (
        ("8", "fsdp", ("x",)),
        ("2x4", "tensor", ("x",)),
        ("4x2", "both", ("x",)),
        ("4x2", "tensor", ("x", "y")),
        ("2x2x2", "both", ("x", "z")),
        ("2x2x2", "fsdp", (("x", "y"), "z")),
    ):
        placed = Placed(mesh)
        tokens = placed.array((16, 32), *spec, dtype=jnp.int32)
        params = placed.tree(state, style)
        name = f"llama_{style}_{len(spec)}_{mesh}"
        yield name, (trained(loss), [params, tokens], None)
        yield f"{name}_one_hot", (trained(one_hot_loss), [params, tokens], None)
        yield f"{name}_checkpoint", (trained(jax.checkpoint(loss)), [params, tokens], None)
    graph2, state2 = split(Classifier)

    def image_loss(params: Any, x: Any) -> Any:
        return (nnx.merge(graph2, params)(x) ** 2).mean()

    for spec in (("x",), (None, "x"), ("x", "y")):
        placed = Placed("4x2")
        x = placed.array((8, 16, 16, 4), *spec)

        def forward(params: Any, x: Any) -> Any:
            return image_loss(params, x)

        yield f"classifier_{'_'.join(map(str, spec))}", (forward, [placed.tree(state2, "data"), x], None)
