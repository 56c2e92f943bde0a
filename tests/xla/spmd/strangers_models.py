"""Programs of many kinds as users of JAX write them, half of them of real size. No rule was made for one.

Written, and compiled, before a forecast was looked at, by a writer who did not know the rules.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs
from tests.xla.spmd.strangers_fields import programs as fields
from tests.xla.spmd.strangers_images import layer_norm
from tests.xla.spmd.strangers_images import programs as images
from tests.xla.spmd.strangers_language import optimizer_state
from tests.xla.spmd.strangers_language import programs as language
from tests.xla.spmd.strangers_sequences import programs as sequences
from tests.xla.spmd.strangers_serving import programs as serving


def programs() -> Programs:
    """The programs by name."""
    yield from language()
    yield from _recurrent()
    yield from sequences()
    yield from serving()
    yield from images()
    yield from _subjects()
    yield from _views()
    yield from fields()


def _recurrent() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax

    line = Placed("8")
    width, vocabulary = 1024, 16384

    def cell(w: Any, h: Any, x: Any) -> Any:
        reset, update, new = jnp.split(x, 3, axis=-1)
        of_reset, of_update, of_new = jnp.split(h @ w["hidden"], 3, axis=-1)
        update = jax.nn.sigmoid(update + of_update)
        new = jnp.tanh(new + jax.nn.sigmoid(reset + of_reset) * of_new)
        return (1 - update) * new + update * h

    def loss(params: Any, states: Any, tokens: Any) -> Any:
        x = params["embed"][tokens[:, :-1]].swapaxes(0, 1)
        kept = []
        for w, state in zip(params["layers"], states, strict=True):
            projected = x @ w["inputs"] + w["bias"]

            def step(h: Any, each: Any, w: Any = w) -> Any:
                h = cell(w, h, each)
                return h, h

            state, x = jax.lax.scan(step, state, projected)
            kept.append(state)
        logits = x @ params["embed"].T
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:].T)
        return losses.mean(), jax.lax.stop_gradient(kept)

    sgd = optax.chain(optax.clip_by_global_norm(0.25), optax.sgd(1.0, momentum=0.9))

    @partial(jax.jit, donate_argnums=(0, 1, 2))
    def gru_step(params: Any, state: Any, hidden: Any, tokens: Any) -> Any:
        (value, hidden), grads = jax.value_and_grad(loss, has_aux=True)(params, hidden, tokens)
        updates, state = sgd.update(grads, state, params)
        return optax.apply_updates(params, updates), state, hidden, value

    layer = {
        "inputs": line.array((width, 3 * width)),
        "hidden": line.array((width, 3 * width)),
        "bias": line.array((3 * width,)),
    }
    params = {"embed": line.array((vocabulary, width)), "layers": [layer, layer]}
    hidden = [line.array((128, width), "x")] * 2
    arguments = [params, optimizer_state(line, sgd, params), hidden]
    arguments.append(line.array((128, 65), "x", dtype="int32"))
    yield "gru_language_step", (gru_step, arguments, None)


def _conv(x: Any, w: Any, stride: int = 1) -> Any:
    import jax

    names = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(
        x, w.astype(x.dtype), (stride, stride), "SAME", dimension_numbers=names
    )


def _subjects() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax

    line = Placed("8")
    base, context = 192, 768

    def group_norm(x: Any, w: Any) -> Any:
        y = x.astype(jnp.float32).reshape(*x.shape[:3], 32, -1)
        y = (y - y.mean((1, 2, 4), keepdims=True)) * jax.lax.rsqrt(y.var((1, 2, 4), keepdims=True) + 1e-5)
        return (y.reshape(x.shape) * w["scale"] + w["bias"]).astype(x.dtype)

    def residual(w: Any, x: Any, t: Any) -> Any:
        h = _conv(jax.nn.silu(group_norm(x, w["norm_1"])), w["conv_1"])
        h = h + (t @ w["time"]).astype(x.dtype)[:, None, None]
        h = _conv(jax.nn.silu(group_norm(h, w["norm_2"])), w["conv_2"])
        return h + (x @ w["skip"].astype(x.dtype) if "skip" in w else x)

    def attended(w: Any, x: Any, text: Any) -> Any:
        """Attention of places to themselves, then to the text."""
        b, height, wide, c = x.shape
        x = x.reshape(b, height * wide, c)
        for name in ("own", "text"):
            each, h = w[name], layer_norm(x)
            source = h if name == "own" else text
            q, k, v = (
                (given @ each[part].astype(x.dtype)).reshape(b, given.shape[1], 8, -1)
                for given, part in ((h, "q"), (source, "k"), (source, "v"))
            )
            mixed = jax.nn.dot_product_attention(q, k, v).reshape(x.shape)
            x = x + mixed @ each["o"].astype(x.dtype)
        return x.reshape(b, height, wide, c)

    def unet(params: Any, x: Any, time: Any, text: Any) -> Any:
        frequencies = jnp.exp(-jnp.arange(base // 2) * (jnp.log(10000.0) / (base // 2)))
        angles = time[:, None] * frequencies
        t = jnp.concatenate([jnp.cos(angles), jnp.sin(angles)], axis=-1)
        t = jax.nn.silu(jax.nn.silu(t @ params["time_1"]) @ params["time_2"])
        x = _conv(x.astype(jnp.bfloat16), params["first"])
        skips = []
        for w in params["down"]:
            x = attended(w["attention"], residual(w["residual"], x, t), text)
            skips.append(x)
            x = _conv(x, w["half"], 2)
        x = residual(params["middle"], x, t)
        for w, skip in zip(params["up"], reversed(skips), strict=True):
            x = jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)
            x = residual(w["residual"], jnp.concatenate([x, skip], axis=-1), t)
            x = attended(w["attention"], x, text)
        return _conv(jax.nn.silu(group_norm(x, params["norm"])), params["last"]).astype(jnp.float32)

    def loss(params: Any, batch: Any, key: Any) -> Any:
        """Images of the subject, and of its class, so that this one is not forgotten."""
        latents = jnp.concatenate([batch["instance"], batch["class"]], axis=0)
        text = jnp.concatenate([batch["instance_text"], batch["class_text"]], axis=0)
        of_noise, of_time = jax.random.split(key)
        noise = jax.random.normal(of_noise, latents.shape)
        time = jax.random.randint(of_time, (latents.shape[0],), 0, 1000)
        betas = jnp.linspace(0.00085**0.5, 0.012**0.5, 1000) ** 2
        kept = jnp.cumprod(1 - betas)[time][:, None, None, None]
        noisy = jnp.sqrt(kept) * latents + jnp.sqrt(1 - kept) * noise
        error = jnp.square(unet(params, noisy, time.astype(jnp.float32), text) - noise)
        own, prior = jnp.split(error, 2, axis=0)
        return own.mean() + prior.mean()

    adam = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(5e-6, weight_decay=1e-2))

    @partial(jax.jit, donate_argnums=(0, 1))
    def dreambooth_step(params: Any, state: Any, batch: Any, key: Any) -> Any:
        key, own = jax.random.split(key)
        value, grads = jax.value_and_grad(loss)(params, batch, own)
        updates, state = adam.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value, key

    def of(*shape: int) -> Any:
        return jax.ShapeDtypeStruct(shape, "float32")

    def norm(width: int) -> dict[str, Any]:
        return {"scale": of(width), "bias": of(width)}

    def block(inside: int, width: int) -> dict[str, Any]:
        own = {"norm_1": norm(inside), "conv_1": of(3, 3, inside, width), "time": of(4 * base, width)}
        own |= {"norm_2": norm(width), "conv_2": of(3, 3, width, width)}
        attention = {
            name: {
                "q": of(width, width),
                "k": of(source, width),
                "v": of(source, width),
                "o": of(width, width),
            }
            for name, source in (("own", width), ("text", context))
        }
        return {
            "residual": own | ({"skip": of(inside, width)} if inside != width else {}),
            "attention": attention,
        }

    wide = 2 * base
    shapes = {
        "time_1": of(base, 4 * base),
        "time_2": of(4 * base, 4 * base),
        "first": of(3, 3, 4, base),
        "down": [
            block(base, base) | {"half": of(3, 3, base, base)},
            block(base, wide) | {"half": of(3, 3, wide, wide)},
        ],
        "middle": block(wide, wide)["residual"],
        "up": [block(2 * wide, wide), block(wide + base, base)],
        "norm": norm(base),
        "last": of(3, 3, base, 4),
    }
    params = line.tree(shapes, "fsdp")
    latents = line.array((16, 64, 64, 4), "x")
    text = line.array((16, 77, context), "x", dtype="bfloat16")
    batch = {"instance": latents, "class": latents, "instance_text": text, "class_text": text}
    arguments = [params, optimizer_state(line, adam, params), batch, line.array((2,), dtype="uint32")]
    yield "dreambooth_step", (dreambooth_step, arguments, None)


def _views() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax

    line = Placed("8")

    def batch_norm(x: Any, w: Any, running: Any) -> tuple[Any, Any]:
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        running = {
            "mean": 0.9 * running["mean"] + 0.1 * mean,
            "var": 0.9 * running["var"] + 0.1 * var,
        }
        return (x - mean) * jax.lax.rsqrt(var + 1e-5) * w["scale"] + w["bias"], running

    def resnet(params: Any, running: Any, x: Any) -> tuple[Any, Any]:
        x = _conv(x, params["stem"], 2)
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        kept = []
        for i, (w, own) in enumerate(zip(params["blocks"], running, strict=True)):
            stride = 2 if i and "skip" in w else 1
            h, first = batch_norm(_conv(x, w["conv_1"], stride), w["norm_1"], own[0])
            h, second = batch_norm(_conv(jax.nn.relu(h), w["conv_2"]), w["norm_2"], own[1])
            x = jax.nn.relu(h + (_conv(x, w["skip"], stride) if "skip" in w else x))
            kept.append([first, second])
        x = x.mean((1, 2))
        return jax.nn.relu(x @ params["hidden"]) @ params["project"], kept

    def loss(params: Any, running: Any, images: Any) -> Any:
        """Two views of an image are near, all others of the batch far: NT-Xent."""
        views = images.reshape(-1, *images.shape[2:])
        z, running = resnet(params, running, views)
        z = z / jnp.linalg.norm(z, axis=-1, keepdims=True)
        similar = z @ z.T / 0.1
        n = z.shape[0]
        similar = jnp.where(jnp.eye(n, dtype=bool), -1e9, similar)
        partner = jnp.arange(n) ^ 1
        return optax.softmax_cross_entropy_with_integer_labels(similar, partner).mean(), running

    lars = optax.lars(0.3, weight_decay=1e-6, momentum=0.9)

    @partial(jax.jit, donate_argnums=(0, 1, 2))
    def simclr_step(params: Any, running: Any, state: Any, images: Any) -> Any:
        (value, running), grads = jax.value_and_grad(loss, has_aux=True)(params, running, images)
        updates, state = lars.update(grads, state, params)
        return optax.apply_updates(params, updates), running, state, value

    def norm(width: int) -> dict[str, Any]:
        return {"scale": line.array((width,)), "bias": line.array((width,))}

    blocks: list[Any] = []
    running: list[Any] = []
    inside = 64
    for width in (64, 64, 128, 128, 256, 256):
        own = {"conv_1": line.array((3, 3, inside, width)), "conv_2": line.array((3, 3, width, width))}
        own |= {"norm_1": norm(width), "norm_2": norm(width)}
        if inside != width:
            own["skip"] = line.array((1, 1, inside, width))
        blocks.append(own)
        running.append([{"mean": line.array((width,)), "var": line.array((width,))} for _ in range(2)])
        inside = width
    params = {
        "stem": line.array((7, 7, 3, 64)),
        "blocks": blocks,
        "hidden": line.array((256, 256)),
        "project": line.array((256, 128)),
    }
    images = line.array((256, 2, 128, 128, 3), "x")
    arguments = [params, running, optimizer_state(line, lars, params), images]
    yield "simclr_step", (simclr_step, arguments, None)
