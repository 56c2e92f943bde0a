"""Programs whose time on one device is measured: `STEPS` by name, in the order in which they are measured.

    function, arguments = STEPS["product_bf16_4096"].program()

A step has a kind (product, elementwise, ...), a function that makes the program, and its sizes. Models are
in `step_models.py`. Needs JAX. Not here: measuring (`measure_steps.py`), forecasts beside what was measured
(`compared_steps.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tests.hardware import step_models as models

Function = Callable[..., Any]
Made = tuple[Function, tuple[Any, ...]]
BF16, F32, F8, S32 = jnp.bfloat16, jnp.float32, jnp.float8_e4m3fn, jnp.int32
_TINY = 64


@dataclass(frozen=True)
class Step:
    """One program. donated: its first arguments, which its first results replace."""

    kind: str
    make: Callable[..., Made]
    sizes: Mapping[str, Any]
    donated: int = 0

    @property
    def described(self) -> dict[str, str]:
        """The sizes as text, to tell whether a measurement is of this program."""
        return {name: getattr(size, "__name__", str(size)) for name, size in self.sizes.items()}

    def program(self, *, tiny: bool = False) -> Made:
        """The function and its abstract arguments; tiny: with small dimensions, to try it on a CPU."""
        sizes = {name: _shrunk(size) if tiny else size for name, size in self.sizes.items()}
        return self.make(**sizes)

    def lowered(self, platform: str, *, tiny: bool = False) -> Any:
        """The `jax.stages.Lowered` for a platform, which need not be there."""
        function, arguments = self.program(tiny=tiny)
        jitted = jax.jit(function, donate_argnums=tuple(range(self.donated)))
        return jitted.trace(*arguments).lower(lowering_platforms=(platform,))


def _shrunk(size: Any) -> Any:
    if isinstance(size, tuple):
        return tuple(map(_shrunk, size))
    return max(16, size // _TINY) if type(size) is int and size > 16 else size


def array(shape: tuple[int, ...], dtype: Any = F32) -> Any:
    """An abstract array."""
    return jax.ShapeDtypeStruct(shape, dtype)


# ---------------------------------------------------------------------- products


def product(m: int, k: int, n: int, dtype: Any = BF16, batch: int = 0, precision: str = "default") -> Made:
    result = BF16 if dtype == F8 else dtype
    front = (batch,) if batch else ()

    def function(x: Any, w: Any) -> Any:
        return jnp.matmul(x, w, precision=precision, preferred_element_type=result)

    return function, (array((*front, m, k), dtype), array((*front, k, n), dtype))


def scaled_product(m: int, k: int, n: int) -> Made:
    """A product of f8 values with a scale each, as in training in f8."""

    def function(x: Any, w: Any, a: Any, b: Any) -> Any:
        return (x.astype(BF16) * a) @ (w.astype(BF16) * b)

    return function, (array((m, k), F8), array((k, n), F8), array((), BF16), array((), BF16))


# ---------------------------------------------------------------------- elementwise ops and reductions


def elementwise(function: Function, shape: tuple[int, ...], dtype: Any = F32, operands: int = 1) -> Made:
    return function, (array(shape, dtype),) * operands


def layer_norm(x: Any) -> Any:
    """Of the last dimension, in f32."""
    wide = x.astype(F32)
    centered = wide - wide.mean(-1, keepdims=True)
    return (centered * lax.rsqrt((centered * centered).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype)


# ---------------------------------------------------------------------- data movement


def embedding(rows: int, width: int, tokens: int, dtype: Any = BF16) -> Made:
    def function(table: Any, ids: Any) -> Any:
        return table.at[ids].get(mode="clip")

    return function, (array((rows, width), dtype), array((tokens,), S32))


def scatter_add(rows: int, width: int, tokens: int, dtype: Any = F32) -> Made:
    def function(table: Any, ids: Any, updates: Any) -> Any:
        return table.at[ids].add(updates, mode="drop")

    return function, (array((rows, width), dtype), array((tokens,), S32), array((tokens, width), dtype))


def cache_update(batch: int, heads: int, length: int, width: int) -> Made:
    def function(cache: Any, new: Any, position: Any) -> Any:
        return lax.dynamic_update_slice_in_dim(cache, new, position, 2)

    return function, (
        array((batch, heads, length, width), BF16),
        array((batch, heads, 1, width), BF16),
        array((), S32),
    )


def random_values(draw: Function, count: int) -> Made:
    def function(seed: Any) -> Any:
        return draw(jax.random.key(seed), (count,))

    return function, (array((), S32),)


def convolution(
    shape: tuple[int, int, int, int], window: int, features: int, stride: int = 1, groups: int = 1
) -> Made:
    """A convolution of bf16 images (NHWC)."""

    def function(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(
            x,
            w,
            (stride, stride),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=groups,
        )

    return function, (array(shape, BF16), array((window, window, shape[3] // groups, features), BF16))


# ---------------------------------------------------------------------- the table


def _square(size: int) -> dict[str, int]:
    return {"m": size, "k": size, "n": size}


def _products() -> dict[str, Step]:
    def step(kind: str = "product", **sizes: Any) -> Step:
        return Step(kind, product, sizes)

    return {
        "product_bf16_512": step("short product", **_square(512)),
        "product_bf16_1024": step("short product", **_square(1024)),
        "product_bf16_2048": step(**_square(2048)),
        "product_bf16_4096": step(**_square(4096)),
        "product_bf16_8192": step(**_square(8192)),
        "product_f32_1024": step("short product", **_square(1024), dtype=F32),
        "product_f32_2048": step(**_square(2048), dtype=F32),
        "product_f32_4096": step(**_square(4096), dtype=F32),
        "product_f32_8192": step(**_square(8192), dtype=F32),
        "product_f32_highest_4096": step(**_square(4096), dtype=F32, precision="highest"),
        "product_f8_4096": step("f8 product", **_square(4096), dtype=F8),
        "product_f8_8192": step("f8 product", **_square(8192), dtype=F8),
        "product_f8_scaled_8192": Step("f8 product", scaled_product, _square(8192)),
        "product_tall": step(m=65536, k=1024, n=1024),
        "product_deep": step(m=512, k=65536, n=512),
        "product_narrow": step(m=16384, k=128, n=16384),
        "product_batched_1024": step(m=1024, k=1024, n=1024, batch=64),
        "product_batched_scores": step(m=2048, k=128, n=2048, batch=128),
        "product_skinny_32": step("matvec", m=32, k=8192, n=8192),
        "matvec_bf16": step("matvec", m=1, k=16384, n=16384),
        "matvec_f32": step("matvec", m=1, k=8192, n=8192, dtype=F32),
    }


def _elementwise() -> dict[str, Step]:
    def step(
        kind: str, function: Function, shape: tuple[int, ...], dtype: Any = F32, operands: int = 1
    ) -> Step:
        sizes = {"function": function, "shape": shape, "dtype": dtype, "operands": operands}
        return Step(kind, elementwise, sizes)

    wide, narrow = (8192, 4096), (32768, 2048)
    return {
        "add_f32": step("elementwise", jnp.add, wide, operands=2),
        "add_bf16": step("elementwise", jnp.add, narrow, BF16, 2),
        "exp_f32": step("elementwise", jnp.exp, wide),
        "tanh_bf16": step("elementwise", jnp.tanh, narrow, BF16),
        "sin_f32": step("elementwise", jnp.sin, wide),
        "gelu_bf16": step("elementwise", jax.nn.gelu, narrow, BF16),
        "cast_f32_bf16": step("elementwise", lambda x: x.astype(BF16), wide),
        "sum_minor": step("reduction", lambda x: x.sum(1), wide),
        "sum_major": step("reduction", lambda x: x.sum(0), wide),
        "sum_all": step("reduction", jnp.sum, wide),
        "sum_minor_bf16": step("reduction", lambda x: x.sum(1), narrow, BF16),
        "argmax_rows": step("reduction", lambda x: x.argmax(1), (1024, 50304)),
        "softmax_f32": step("normalization", jax.nn.softmax, (16384, 2048)),
        "softmax_bf16": step("normalization", jax.nn.softmax, narrow, BF16),
        "layer_norm_bf16": step("normalization", layer_norm, narrow, BF16),
        "transpose_f32": step("movement", jnp.transpose, wide),
        "heads_transposed": step("movement", lambda x: x.transpose(0, 2, 1, 3), (16, 2048, 16, 128), BF16),
        "concatenate": step("movement", lambda x, y: jnp.concatenate([x, y], 1), (4096, 4096), operands=2),
        "cumsum_rows": step("cumulative sum", lambda x: x.cumsum(1), (128, 8192)),
        "cumsum_wide": step("cumulative sum", lambda x: x.cumsum(1), wide),
        "sort_rows": step("sort", lambda x: jnp.sort(x, 1), (4096, 4096)),
        "sort_whole": step("sort", jnp.sort, (1 << 22,)),
        "top_k": step("sort", lambda x: lax.top_k(x, 8), (1024, 32768)),
    }


def _movement() -> dict[str, Step]:
    embedded = {"rows": 50304, "width": 2048, "tokens": 16384}
    scattered = {"rows": 50304, "width": 1024, "tokens": 16384}
    cache = {"batch": 32, "heads": 16, "length": 4096, "width": 128}
    count = 1 << 25
    return {
        "embedding": Step("gather and scatter", embedding, embedded),
        "scatter_add": Step("gather and scatter", scatter_add, scattered),
        "scatter_add_donated": Step("gather and scatter", scatter_add, scattered, donated=1),
        "cache_update": Step("cache update", cache_update, cache),
        "cache_update_donated": Step("cache update", cache_update, cache, donated=1),
        "random_bits": Step("random", random_values, {"draw": jax.random.bits, "count": count}),
        "random_normal": Step("random", random_values, {"draw": jax.random.normal, "count": count}),
    }


def _convolutions() -> dict[str, Step]:
    def step(shape: tuple[int, int, int, int], window: int, features: int, **other: int) -> Step:
        return Step(
            "convolution", convolution, {"shape": shape, "window": window, "features": features} | other
        )

    return {
        "conv_3x3": step((32, 64, 64, 256), 3, 256),
        "conv_1x1": step((32, 64, 64, 256), 1, 1024),
        "conv_3x3_stride": step((64, 56, 56, 128), 3, 256, stride=2),
        "conv_stem": step((64, 224, 224, 3), 7, 64, stride=2),
        "conv_depthwise": step((32, 64, 64, 256), 3, 256, groups=256),
    }


def _blocks() -> dict[str, Step]:
    short = {"batch": 8, "length": 1024, "heads": 8, "width": 128}
    long = {"batch": 2, "length": 4096, "heads": 16, "width": 128}
    layer = {"batch": 4, "length": 2048, "heads": 16, "width": 128, "hidden": 8192}
    mlp = {"tokens": 8192, "width": 2048, "hidden": 8192}
    moe = {"groups": 8, "tokens": 1024, "width": 1024, "hidden": 4096, "experts": 8, "capacity": 320}
    cached = {
        "layers": 8,
        "batch": 16,
        "length": 2048,
        "heads": 16,
        "width": 128,
        "hidden": 8192,
        "vocab": 32000,
    }
    backward = {"is_backward": True}
    return {
        "attention_1024": Step("attention", models.attention_step, short),
        "attention_1024_grad": Step("attention", models.attention_step, short | backward),
        "attention_4096": Step("attention", models.attention_step, long),
        "attention_4096_grad": Step("attention", models.attention_step, long | backward),
        "mlp_grad": Step("block", models.mlp_step, mlp | backward),
        "layer": Step("block", models.layer_step, layer),
        "layer_grad": Step("block", models.layer_step, layer | backward),
        "moe": Step("block", models.moe_step, moe),
        "moe_grad": Step("block", models.moe_step, moe | backward),
        "decode": Step("decode", models.decode_step, cached, donated=1),
    }


def _training() -> dict[str, Step]:
    small = {
        "layers": 4,
        "batch": 8,
        "length": 1024,
        "heads": 16,
        "width": 64,
        "hidden": 4096,
        "vocab": 32000,
    }
    base = {
        "layers": 12,
        "batch": 8,
        "length": 1024,
        "heads": 12,
        "width": 64,
        "hidden": 3072,
        "vocab": 50304,
    }
    images = {"batch": 256, "size": 32, "widths": (64, 128, 256), "blocks": 2, "classes": 16}
    scanned, rematerialized = {"is_scanned": True}, {"is_rematerialized": True}

    def step(sizes: Mapping[str, Any], *flags: Mapping[str, Any]) -> Step:
        merged = {name: value for part in (sizes, *flags) for name, value in part.items()}
        kind = "remat training" if "is_rematerialized" in merged else "training"
        return Step(kind, models.gpt_step, merged, donated=2)

    return {
        "gpt_4": step(small),
        "gpt_4_remat": step(small, rematerialized),
        "gpt_12_scan": step(base, scanned),
        "gpt_12_scan_remat": step(base, scanned, rematerialized),
        "convnet": Step("convnet", models.convnet_step, images, donated=2),
        "gpt_12": step(base),
        "gpt_12_remat": step(base, rematerialized),
    }


STEPS: Mapping[str, Step] = (
    _products() | _elementwise() | _movement() | _convolutions() | _blocks() | _training()
)
"""The steps by name."""
