"""Images, in `strangers_models.py`: patches, texts beside images, diffusion of patches, shifted windows."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs
from tests.xla.spmd.strangers_language import optimized, optimizer_state


def programs() -> Programs:
    """The programs by name."""
    yield from _patches()
    yield from _pairs()
    yield from _windows()


def layer_norm(x: Any, scale: Any = None, bias: Any = None) -> Any:
    import jax
    import jax.numpy as jnp

    y = x.astype(jnp.float32)
    y = (y - y.mean(-1, keepdims=True)) * jax.lax.rsqrt(y.var(-1, keepdims=True) + 1e-6)
    if scale is not None:
        y = y * scale + bias
    return y.astype(x.dtype)


def attend(w: Any, x: Any, heads: int) -> Any:
    import jax
    import jax.numpy as jnp

    qkv = x @ w["qkv"].astype(x.dtype) + w["qkv_bias"].astype(x.dtype)
    q, k, v = (each.reshape(*x.shape[:-1], heads, -1) for each in jnp.split(qkv, 3, axis=-1))
    mixed = jax.nn.dot_product_attention(q, k, v).reshape(x.shape)
    return mixed @ w["out"].astype(x.dtype) + w["out_bias"].astype(x.dtype)


def mlp(w: Any, x: Any) -> Any:
    import jax

    h = jax.nn.gelu(x @ w["up"].astype(x.dtype) + w["up_bias"].astype(x.dtype))
    return h @ w["down"].astype(x.dtype) + w["down_bias"].astype(x.dtype)


def encoder_shapes(width: int, layers: int | None = None) -> dict[str, Any]:
    """The shapes of a layer of an encoder, or of a stack of them."""
    import jax
    import jax.numpy as jnp

    shapes = {
        "scale_1": (width,),
        "bias_1": (width,),
        "qkv": (width, 3 * width),
        "qkv_bias": (3 * width,),
        "out": (width, width),
        "out_bias": (width,),
        "scale_2": (width,),
        "bias_2": (width,),
        "up": (width, 4 * width),
        "up_bias": (4 * width,),
        "down": (4 * width, width),
        "down_bias": (width,),
    }
    first = () if layers is None else (layers,)
    return {name: jax.ShapeDtypeStruct((*first, *shape), jnp.float32) for name, shape in shapes.items()}


def encode(w: Any, x: Any, heads: int) -> Any:
    x = x + attend(w, layer_norm(x, w["scale_1"], w["bias_1"]), heads)
    return x + mlp(w, layer_norm(x, w["scale_2"], w["bias_2"]))


def _shape(*shape: int) -> Any:
    import jax

    return jax.ShapeDtypeStruct(shape, "float32")


def _patches() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax

    line = Placed("8")
    width, layers = 1024, 8

    def vit_loss(params: Any, images: Any, labels: Any, key: Any) -> Any:
        x = jax.lax.conv_general_dilated(
            images.astype(jnp.bfloat16),
            params["patch"].astype(jnp.bfloat16),
            (16, 16),
            "VALID",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        x = x.reshape(x.shape[0], -1, width) + params["places"].astype(x.dtype)

        def layer(x: Any, each: Any) -> Any:
            w, key, rate = each
            kept = jax.random.bernoulli(key, 1 - rate, (x.shape[0], 1, 1))
            return x + jnp.where(kept, (encode(w, x, 16) - x) / (1 - rate).astype(x.dtype), 0), None

        rates = jnp.linspace(0.0, 0.2, layers)
        x, _ = jax.lax.scan(layer, x, (params["layers"], jax.random.split(key, layers), rates))
        x = layer_norm(x.astype(jnp.float32), params["scale"], params["bias"]).mean(1)
        targets = optax.smooth_labels(jax.nn.one_hot(labels, 1000), 0.1)
        return optax.softmax_cross_entropy(x @ params["head"], targets).mean()

    adam = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.adamw(optax.cosine_decay_schedule(1e-3, 90_000), weight_decay=0.05),
    )
    shapes = {
        "patch": _shape(16, 16, 3, width),
        "places": _shape(1, 256, width),
        "layers": encoder_shapes(width, layers),
        "scale": _shape(width),
        "bias": _shape(width),
        "head": _shape(width, 1000),
    }
    params = line.tree(shapes, "data")
    images, labels = line.array((256, 256, 256, 3), "x"), line.array((256,), "x", dtype="int32")
    arguments = [params, optimizer_state(line, adam, params), images, labels]
    yield (
        "vit_large_step",
        (optimized(vit_loss, adam), [*arguments, line.array((2,), dtype="uint32")], None),
    )

    wide, depth = 1024, 6

    def dit(params: Any, x: Any, time: Any, labels: Any) -> Any:
        """The velocity of noisy latents, in patches of 2 by 2; layers are modulated by time and class."""
        b, h, _, c = x.shape
        x = x.reshape(b, h // 2, 2, h // 2, 2, c).transpose(0, 1, 3, 2, 4, 5).reshape(b, -1, 4 * c)
        x = (x @ params["patch"] + params["places"]).astype(jnp.bfloat16)
        frequencies = jnp.exp(-jnp.arange(128) * (jnp.log(10000.0) / 128))
        angles = 1000 * time[:, None] * frequencies
        t = jnp.concatenate([jnp.cos(angles), jnp.sin(angles)], axis=-1)
        t = jax.nn.silu(t @ params["time_1"]) @ params["time_2"] + params["classes"][labels]
        t = jax.nn.silu(t)

        @jax.checkpoint
        def layer(x: Any, w: Any) -> Any:
            modulation = (t @ w["modulation"]).astype(x.dtype)[:, None]
            shift_1, scale_1, gate_1, shift_2, scale_2, gate_2 = jnp.split(modulation, 6, axis=-1)
            x = x + gate_1 * attend(w, layer_norm(x) * (1 + scale_1) + shift_1, 16)
            return x + gate_2 * mlp(w, layer_norm(x) * (1 + scale_2) + shift_2), None

        x, _ = jax.lax.scan(layer, x, params["layers"])
        x = (layer_norm(x).astype(jnp.float32) @ params["head"]).reshape(b, h // 2, h // 2, 2, 2, c)
        return x.transpose(0, 1, 3, 2, 4, 5).reshape(b, h, h, c)

    def flow_loss(params: Any, latents: Any, labels: Any, key: Any) -> Any:
        of_time, of_noise, of_drop = jax.random.split(key, 3)
        time = jax.nn.sigmoid(jax.random.normal(of_time, (latents.shape[0],)))
        noise = jax.random.normal(of_noise, latents.shape)
        labels = jnp.where(jax.random.bernoulli(of_drop, 0.1, labels.shape), 1000, labels)
        at = time[:, None, None, None]
        return jnp.mean(
            jnp.square(dit(params, (1 - at) * latents + at * noise, time, labels) - noise + latents)
        )

    plain = optax.adam(1e-4)

    @partial(jax.jit, donate_argnums=(0,))
    def dit_step(state: Any, latents: Any, labels: Any, key: Any) -> Any:
        key = jax.random.fold_in(key, state["step"])
        loss, grads = jax.value_and_grad(flow_loss)(state["params"], latents, labels, key)
        updates, optimizer = plain.update(grads, state["optimizer"])
        params = optax.apply_updates(state["params"], updates)
        average = optax.incremental_update(params, state["average"], 1e-4)
        step = state["step"] + 1
        return {"params": params, "average": average, "optimizer": optimizer, "step": step}, loss

    shapes = {
        "patch": _shape(16, wide),
        "places": _shape(1, 1024, wide),
        "time_1": _shape(256, wide),
        "time_2": _shape(wide, wide),
        "classes": _shape(1008, wide),
        "layers": encoder_shapes(wide, depth) | {"modulation": _shape(depth, wide, 6 * wide)},
        "head": _shape(wide, 16),
    }
    params = line.tree(shapes, "fsdp")
    state = {"params": params, "average": params, "optimizer": optimizer_state(line, plain, params)}
    state["step"] = line.array((), dtype="int32")
    latents, labels = line.array((64, 64, 64, 4), "x"), line.array((64,), "x", dtype="int32")
    arguments = [state, latents, labels, line.array((2,), dtype="uint32")]
    yield "dit_flow_step", (dit_step, arguments, None)


def _pairs() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax
    from jax.sharding import PartitionSpec as P

    line = Placed("8")

    def tower(params: Any, x: Any, heads: int) -> Any:
        for w in params["layers"]:
            x = encode(w, x, heads)
        x = layer_norm(x.mean(1).astype(jnp.float32), params["scale"], params["bias"]) @ params["project"]
        return x / jnp.linalg.norm(x, axis=-1, keepdims=True)

    def clip_loss(params: Any, images: Any, tokens: Any) -> Any:
        """Each device compares its own images and texts with those of all devices."""
        b, side, _, _ = images.shape
        patches = images.reshape(b, side // 32, 32, side // 32, 32, 3).transpose(0, 1, 3, 2, 4, 5)
        x = patches.reshape(b, -1, 32 * 32 * 3).astype(jnp.bfloat16) @ params["patch"].astype(jnp.bfloat16)
        image = tower(params["image"], x + params["image_places"].astype(x.dtype), 12)
        x = params["embed"].astype(jnp.bfloat16)[tokens] + params["text_places"].astype(jnp.bfloat16)
        text = tower(params["text"], x, 8)
        images_, texts = (jax.lax.all_gather(each, "x", tiled=True) for each in (image, text))
        scale = jnp.exp(params["temperature"])
        own = jax.lax.axis_index("x") * b + jnp.arange(b)
        losses = [
            optax.softmax_cross_entropy_with_integer_labels(scale * one @ other.T, own).mean()
            for one, other in ((image, texts), (text, images_))
        ]
        return jax.lax.pmean(sum(losses) / 2, "x")

    loss = jax.shard_map(clip_loss, mesh=line.mesh, in_specs=(P(), P("x"), P("x")), out_specs=P())
    adam = optax.adamw(5e-4, b2=0.98, eps=1e-6, weight_decay=0.2)

    def tower_shapes(width: int, layers: int) -> dict[str, Any]:
        own = {"layers": [encoder_shapes(width) for _ in range(layers)]}
        return own | {"scale": _shape(width), "bias": _shape(width), "project": _shape(width, 512)}

    shapes = {
        "patch": _shape(32 * 32 * 3, 768),
        "image_places": _shape(1, 64, 768),
        "image": tower_shapes(768, 4),
        "embed": _shape(49408, 512),
        "text_places": _shape(1, 64, 512),
        "text": tower_shapes(512, 4),
        "temperature": _shape(),
    }
    params = line.tree(shapes, "data")
    images, tokens = line.array((1024, 256, 256, 3), "x"), line.array((1024, 64), "x", dtype="int32")
    arguments = [params, optimizer_state(line, adam, params), images, tokens]
    yield "clip_gathered_step", (optimized(loss, adam), arguments, None)


def _windows() -> Programs:
    import jax
    import jax.numpy as jnp
    import numpy as np

    grid = Placed("2x4")
    size = 7

    def windows(w: Any, x: Any, heads: int, shift: int) -> Any:
        """Attention in windows of 7 by 7, every other time of a rolled image."""
        b, side, _, c = x.shape
        n = side // size
        h = layer_norm(x, w["scale_1"], w["bias_1"])
        mask = np.zeros((n * n, size * size, size * size), np.float32)
        if shift:
            h = jnp.roll(h, (-shift, -shift), axis=(1, 2))
            part = np.digitize(np.arange(side), [side - size, side - shift])
            region = (part[:, None] * 3 + part).reshape(n, size, n, size).transpose(0, 2, 1, 3)
            region = region.reshape(n * n, size * size)
            mask = np.where(region[:, :, None] == region[:, None], 0.0, -100.0).astype(np.float32)
        h = h.reshape(b, n, size, n, size, c).transpose(0, 1, 3, 2, 4, 5).reshape(b, n * n, size * size, c)
        q, k, v = jnp.split((h @ w["qkv"] + w["qkv_bias"]).reshape(*h.shape[:3], 3 * heads, -1), 3, axis=3)
        scores = jnp.einsum("bwqhd,bwkhd->bwhqk", q, k) * (c // heads) ** -0.5
        at = np.stack(np.meshgrid(np.arange(size), np.arange(size), indexing="ij"), -1).reshape(-1, 2)
        apart = at[:, None] - at + size - 1
        bias = w["relative"][apart[..., 0] * (2 * size - 1) + apart[..., 1]].transpose(2, 0, 1)
        chance = jax.nn.softmax(scores + bias + mask[:, None], axis=-1)
        h = jnp.einsum("bwhqk,bwkhd->bwqhd", chance, v).reshape(b, n, n, size, size, c)
        h = h.transpose(0, 1, 3, 2, 4, 5).reshape(x.shape) @ w["out"] + w["out_bias"]
        if shift:
            h = jnp.roll(h, (shift, shift), axis=(1, 2))
        x = x + h
        return x + mlp(w, layer_norm(x, w["scale_2"], w["bias_2"]))

    def loss(params: Any, images: Any, labels: Any) -> Any:
        b, side, _, _ = images.shape
        x = images.reshape(b, side // 4, 4, side // 4, 4, 3).transpose(0, 1, 3, 2, 4, 5)
        x = x.reshape(b, side // 4, side // 4, 48) @ params["patch"]
        for stage in params["stages"]:
            if "merge" in stage:
                side = x.shape[1] // 2
                x = x.reshape(b, side, 2, side, 2, -1).transpose(0, 1, 3, 2, 4, 5).reshape(b, side, side, -1)
                x = x @ stage["merge"]
            for i, w in enumerate(stage["layers"]):
                x = windows(w, x, x.shape[-1] // 32, (i % 2) * (size // 2))
        logits = layer_norm(x).mean((1, 2)) @ params["head"]
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=-1).mean()

    @partial(jax.jit, donate_argnums=(0, 1))
    def swin_step(params: Any, momentum: Any, images: Any, labels: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, images, labels)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
        return jax.tree.map(lambda p, m: p - 0.01 * m, params, momentum), momentum, value

    stages: list[Any] = []
    for i, width in enumerate((96, 192, 384)):
        layer = encoder_shapes(width) | {"relative": _shape((2 * size - 1) ** 2, width // 32)}
        stages.append({"layers": [layer, layer]} | ({"merge": _shape(2 * width, width)} if i else {}))
    shapes = {"patch": _shape(48, 96), "stages": stages, "head": _shape(384, 1000)}
    params = grid.tree(shapes, "data")
    both = ("x", "y")
    images, labels = grid.array((64, 224, 224, 3), both), grid.array((64,), both, dtype="int32")
    yield "swin_step", (swin_step, [params, params, images, labels], None)
