"""Images, in `users_models.py`: diffusion, patches, pairs with texts, mobile nets, segments, adversaries."""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs


def programs() -> Programs:
    """The programs by name."""
    yield from _diffusion()
    yield from _classified()
    yield from _dense()


def _conv(x: Any, w: Any, stride: int = 1, groups: int = 1) -> Any:
    import jax

    names = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(
        x, w, (stride, stride), "SAME", dimension_numbers=names, feature_group_count=groups
    )


def _group_norm(x: Any, scale: Any, groups: int = 8) -> Any:
    import jax

    b, h, w, c = x.shape
    y = x.reshape(b, h, w, groups, c // groups)
    mean, var = y.mean((1, 2, 4), keepdims=True), y.var((1, 2, 4), keepdims=True)
    return ((y - mean) * jax.lax.rsqrt(var + 1e-5)).reshape(x.shape) * scale


def _diffusion() -> Programs:
    import jax
    import jax.numpy as jnp

    line = Placed("8")
    base = 128

    def residual(w: Any, x: Any, t: Any) -> Any:
        h = _conv(jax.nn.silu(_group_norm(x, w["first"])), w["a"])
        h = h + (t @ w["time"])[:, None, None]
        h = _conv(jax.nn.silu(_group_norm(h, w["second"])), w["b"])
        return h + (_conv(x, w["skip"]) if "skip" in w else x)

    def attended(w: Any, x: Any) -> Any:
        b, h, wide, c = x.shape
        q, k, v = jnp.split(_group_norm(x, w["norm"]).reshape(b, h * wide, c) @ w["qkv"], 3, -1)
        chance = jax.nn.softmax(jnp.einsum("bqc,bkc->bqk", q, k) / c**0.5)
        return x + ((chance @ v) @ w["o"]).reshape(x.shape)

    def unet(w: Any, x: Any, time: Any) -> Any:
        speed = jnp.exp(-jnp.arange(64) * (jnp.log(10000.0) / 64))
        t = jnp.concatenate([jnp.sin(time[:, None] * speed), jnp.cos(time[:, None] * speed)], -1)
        t = jax.nn.silu(jax.nn.silu(t @ w["time_a"]) @ w["time_b"])
        x, kept = _conv(x, w["stem"]), []
        for each in w["down"]:
            x = residual(each["block"], x, t)
            kept.append(x)
            x = _conv(x, each["half"], 2)
        x = residual(w["middle"], attended(w["attention"], residual(w["entry"], x, t)), t)
        for each, skip in zip(w["up"], reversed(kept), strict=True):
            b, h, wide, c = x.shape
            x = jax.image.resize(x, (b, 2 * h, 2 * wide, c), "nearest")
            x = residual(each, jnp.concatenate([x, skip], -1), t)
        return _conv(jax.nn.silu(_group_norm(x, w["last"])), w["head"])

    def loss(w: Any, x: Any, key: Any) -> Any:
        first, second = jax.random.split(key)
        time = jax.random.randint(first, (x.shape[0],), 0, 1000).astype(jnp.float32)
        noise = jax.random.normal(second, x.shape)
        kept = jnp.cos(time / 1000 * jnp.pi / 2)[:, None, None, None]
        noisy = kept * x + jnp.sqrt(1 - kept**2) * noise
        return jnp.square(unet(w, noisy, time) - noise).mean()

    def step(w: Any, m: Any, v: Any, average: Any, x: Any, key: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(w, x, key)
        m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, grads)
        v = jax.tree.map(lambda a, g: 0.999 * a + 0.001 * g * g, v, grads)
        w = jax.tree.map(lambda p, a, b: p - 1e-4 * a / (jnp.sqrt(b) + 1e-8), w, m, v)
        average = jax.tree.map(lambda a, p: 0.9999 * a + 0.0001 * p, average, w)
        return w, m, v, average, value

    def block(inside: int, outside: int) -> dict[str, Any]:
        own = {
            "first": line.array((inside,)),
            "a": line.array((3, 3, inside, outside)),
            "time": line.array((512, outside)),
            "second": line.array((outside,)),
            "b": line.array((3, 3, outside, outside)),
        }
        return own if inside == outside else own | {"skip": line.array((1, 1, inside, outside))}

    widths = (base, 2 * base, 4 * base)
    before = (base, *widths[:-1])
    w = {
        "stem": line.array((3, 3, 3, base)),
        "time_a": line.array((128, 512)),
        "time_b": line.array((512, 512)),
        "down": [
            {"block": block(a, b), "half": line.array((3, 3, b, b))}
            for a, b in zip(before, widths, strict=True)
        ],
        "entry": block(widths[-1], widths[-1]),
        "attention": {
            "norm": line.array((512,)),
            "qkv": line.array((512, 1536)),
            "o": line.array((512, 512)),
        },
        "middle": block(widths[-1], widths[-1]),
        "up": [block(512 + 512, 256), block(256 + 256, 128), block(128 + 128, 128)],
        "last": line.array((base,)),
        "head": line.array((3, 3, base, 3)),
    }
    arguments = [w, w, w, w, line.array((64, 64, 64, 3), "x"), line.array((2,), dtype="uint32")]
    yield "diffusion_step", (jax.jit(step, donate_argnums=(0, 1, 2, 3)), arguments, None)


def _classified() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax.sharding import PartitionSpec as P

    grid, line, cube = Placed("4x2"), Placed("8"), Placed("2x2x2")

    def patches(w: Any, x: Any, y: Any, key: Any) -> Any:
        """A vision transformer with dropout, layer scales, and whole paths dropped."""
        b = x.shape[0]
        x = x.reshape(b, 8, 8, 8, 8, 3).transpose(0, 1, 3, 2, 4, 5).reshape(b, 64, 192) @ w["patch"]
        x = jnp.concatenate([jnp.broadcast_to(w["class"], (b, 1, 384)), x], 1) + w["places"]

        def dropped(x: Any, key: Any, rate: float, shape: Any) -> Any:
            return jnp.where(jax.random.bernoulli(key, 1 - rate, shape), x / (1 - rate), 0)

        for each in w["layers"]:
            key, a, c, d = jax.random.split(key, 4)
            h = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)
            q, k, v = jnp.split((h @ each["qkv"]).reshape(b, 65, 6, 192), 3, -1)
            chance = jax.nn.softmax(jnp.einsum("bqhe,bkhe->bhqk", q, k) / 8.0)
            h = jnp.einsum("bhqk,bkhe->bqhe", chance, v).reshape(b, 65, 384) @ each["o"]
            x = x + dropped(h * each["scale"], a, 0.1, (b, 1, 1))
            h = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)
            h = jax.nn.gelu(h @ each["up"])
            h = dropped(h, c, 0.1, h.shape) @ each["down"]
            x = x + dropped(h * each["scale"], d, 0.1, (b, 1, 1))
        logits = x[:, 0] @ w["head"]
        smooth = 0.9 * jax.nn.one_hot(y, 1000) + 0.1 / 1000
        return -(smooth * jax.nn.log_softmax(logits)).sum(-1).mean()

    layer = {
        "qkv": grid.array((384, 1152), "x", "y"),
        "o": grid.array((384, 384), "y", "x"),
        "up": grid.array((384, 1536), "x", "y"),
        "down": grid.array((1536, 384), "y", "x"),
        "scale": grid.array((384,)),
    }
    w = {
        "patch": grid.array((192, 384), None, "x"),
        "class": grid.array((384,)),
        "places": grid.array((65, 384)),
        "layers": [layer] * 3,
        "head": grid.array((384, 1000), "x", "y"),
    }
    arguments = [w, grid.array((64, 64, 64, 3), "x"), grid.array((64,), "x", dtype="int32")]
    yield (
        "patches_with_dropout_grad",
        (jax.grad(patches), [*arguments, grid.array((2,), dtype="uint32")], None),
    )

    def pairs(w: Any, images: Any, texts: Any) -> Any:
        """Contrastive loss: each device gathers the features of all others."""
        x = jax.nn.gelu(images @ w["image_a"]) @ w["image_b"]
        h = w["table"][texts]
        h = jax.nn.gelu(h @ w["text_a"])
        h = (h * (texts > 0)[..., None]).sum(1) / (texts > 0).sum(1, keepdims=True).clip(1)
        t = h @ w["text_b"]
        x, t = (each / jnp.linalg.norm(each, axis=-1, keepdims=True) for each in (x, t))
        all_x, all_t = (jax.lax.all_gather(each, "x", tiled=True) for each in (x, t))
        scale = jnp.exp(jnp.minimum(w["temperature"], 4.6))
        own = jax.lax.axis_index("x") * x.shape[0] + jnp.arange(x.shape[0])
        first, second = scale * x @ all_t.T, scale * t @ all_x.T
        hit = [jnp.take_along_axis(jax.nn.log_softmax(s), own[:, None], -1) for s in (first, second)]
        return -jax.lax.pmean((hit[0] + hit[1]).mean() / 2, "x")

    w = {
        "image_a": line.array((768, 2048)),
        "image_b": line.array((2048, 512)),
        "table": line.array((8192, 256)),
        "text_a": line.array((256, 1024)),
        "text_b": line.array((1024, 512)),
        "temperature": line.array(()),
    }
    mapped = jax.shard_map(pairs, mesh=line.mesh, in_specs=(P(), P("x"), P("x")), out_specs=P())
    arguments = [w, line.array((2048, 768), "x"), line.array((2048, 32), "x", dtype="int32")]
    yield "pairs_gathered_grad", (jax.value_and_grad(mapped), arguments, None)

    def mobile(w: Any, stats: Any, x: Any, y: Any) -> Any:
        """Depthwise convolutions with batch norms that keep running figures."""
        kept = []

        def norm(x: Any, each: Any, own: Any) -> Any:
            mean, square = x.mean((0, 1, 2)), jnp.square(x).mean((0, 1, 2))
            var = square - mean**2
            kept.append((0.9 * own[0] + 0.1 * mean, 0.9 * own[1] + 0.1 * var))
            return jax.nn.relu6((x - mean) * jax.lax.rsqrt(var + 1e-3) * each["scale"] + each["shift"])

        x = _conv(x, w["stem"], 2)
        for each, own in zip(w["blocks"], stats, strict=True):
            h = norm(_conv(x, each["wide"]), each["a"], own[0])
            h = norm(_conv(h, each["deep"], groups=h.shape[-1]), each["b"], own[1])
            squeeze = jax.nn.sigmoid(jax.nn.relu(h.mean((1, 2)) @ each["in"]) @ each["out"])
            x = x + _conv(h * squeeze[:, None, None], each["narrow"])
        logits = x.mean((1, 2)) @ w["head"]
        loss = -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], -1).mean()
        return loss, kept

    def mobile_step(w: Any, stats: Any, x: Any, y: Any) -> Any:
        (value, kept), grads = jax.value_and_grad(mobile, has_aux=True)(w, stats, x, y)
        return jax.tree.map(lambda p, g: p - 0.05 * (g + 4e-5 * p), w, grads), kept, value

    wide = 192
    both = {"scale": cube.array((wide,)), "shift": cube.array((wide,))}
    each = {
        "wide": cube.array((1, 1, 32, wide)),
        "a": both,
        "deep": cube.array((3, 3, 1, wide)),
        "b": both,
        "in": cube.array((wide, 48)),
        "out": cube.array((48, wide)),
        "narrow": cube.array((1, 1, wide, 32)),
    }
    w = {"stem": cube.array((3, 3, 3, 32)), "blocks": [each] * 2, "head": cube.array((32, 100))}
    figures = cube.array((wide,)), cube.array((wide,))
    arguments = [w, [(figures, figures)] * 2, cube.array((64, 64, 64, 3), ("x", "y", "z"))]
    yield (
        "mobile_net_step",
        (mobile_step, [*arguments, cube.array((64,), ("x", "y", "z"), dtype="int32")], None),
    )


def _dense() -> Programs:
    import jax
    import jax.numpy as jnp

    grid, line = Placed("2x4"), Placed("8")

    def segments(w: Any, x: Any, y: Any) -> Any:
        """Rows of pixels on devices; features of three sizes are resized to the first."""
        levels = []
        for kernel in w["encoder"]:
            x = jax.nn.relu(_conv(x, kernel, 2))
            levels.append(x)
        size = levels[0].shape[:3]
        wide = [jax.image.resize(each, (*size, each.shape[-1]), "bilinear") for each in levels]
        h = jax.nn.relu(_conv(jnp.concatenate(wide, -1), w["mixed"]))
        logits = _conv(h, w["head"])
        logits = jax.image.resize(logits, (*y.shape, logits.shape[-1]), "bilinear")
        chances = jax.nn.log_softmax(logits)
        return -(jax.nn.one_hot(y, 19) * chances).sum(-1).mean()

    w = {
        "encoder": [grid.array((3, 3, a, b)) for a, b in ((3, 32), (32, 64), (64, 128))],
        "mixed": grid.array((3, 3, 224, 64)),
        "head": grid.array((1, 1, 64, 19)),
    }
    arguments = [
        w,
        grid.array((4, 256, 256, 3), "x", "y"),
        grid.array((4, 256, 256), "x", "y", dtype="int32"),
    ]
    yield "segments_resized_grad", (jax.grad(segments), arguments, None)

    def generated(w: Any, z: Any) -> Any:
        x = jax.nn.relu(z @ w["first"]).reshape(-1, 4, 4, 256)
        for kernel in w["convs"][:-1]:
            x = jax.lax.conv_transpose(x, kernel, (2, 2), "SAME")
            mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
            x = jax.nn.relu((x - mean) * jax.lax.rsqrt(var + 1e-5))
        return jnp.tanh(jax.lax.conv_transpose(x, w["convs"][-1], (2, 2), "SAME"))

    def judged(w: Any, x: Any) -> Any:
        for kernel in w["convs"]:
            x = jax.nn.leaky_relu(_conv(x, kernel, 2), 0.2)
        return x.reshape(x.shape[0], -1) @ w["last"]

    def adversaries(made: Any, judge: Any, x: Any, key: Any) -> Any:
        z = jax.random.normal(key, (x.shape[0], 128))
        z = jax.lax.with_sharding_constraint(z, line.at("x"))

        def judge_loss(judge: Any) -> Any:
            fake = jax.lax.stop_gradient(generated(made, z))
            return jax.nn.softplus(-judged(judge, x)).mean() + jax.nn.softplus(judged(judge, fake)).mean()

        def made_loss(made: Any) -> Any:
            return jax.nn.softplus(-judged(judge, generated(made, z))).mean()

        first, second = jax.grad(judge_loss)(judge), jax.grad(made_loss)(made)
        judge = jax.tree.map(lambda p, g: p - 2e-4 * g, judge, first)
        return jax.tree.map(lambda p, g: p - 2e-4 * g, made, second), judge

    made = {
        "first": line.array((128, 4096)),
        "convs": [line.array((4, 4, a, b)) for a, b in ((256, 128), (128, 64), (64, 3))],
    }
    judge = {
        "convs": [line.array((4, 4, a, b)) for a, b in ((3, 64), (64, 128), (128, 256))],
        "last": line.array((4096, 1)),
    }
    arguments = [made, judge, line.array((128, 32, 32, 3), "x"), line.array((2,), dtype="uint32")]
    yield "adversaries_transposed", (adversaries, arguments, None)
