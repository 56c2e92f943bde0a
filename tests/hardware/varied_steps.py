"""More programs whose time on one device is measured, of kinds and sizes other than those of `steps.py`.

`VARIED` by name, in the order of worth: a measurement that must end early leaves out the last ones. Not
here: their models (`varied_models.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tests.hardware import step_models
from tests.hardware import varied_models as models
from tests.hardware.steps import BF16, F32, S32, Made, Step, array, convolution, elementwise, product

Function = Callable[..., Any]


def applied(function: Function, operands: tuple[tuple[tuple[int, ...], str], ...]) -> Made:
    """A function of arrays of different shapes and types."""
    return function, tuple(array(shape, jnp.dtype(name)) for shape, name in operands)


def _step(kind: str, function: Function, *operands: tuple[tuple[int, ...], Any]) -> Step:
    named = tuple((shape, jnp.dtype(dtype).name) for shape, dtype in operands)
    return Step(kind, applied, {"function": function, "operands": named})


def _unary(kind: str, function: Function, shape: tuple[int, ...], dtype: Any = F32) -> Step:
    sizes = {"function": function, "shape": shape, "dtype": dtype, "operands": 1}
    return Step(kind, elementwise, sizes)


def _chain(x: Any) -> Any:
    for n in range(8):
        x = jnp.tanh(x) * 1.5 + jnp.sin(x * n)
    return x


def _cross_entropy(x: Any, labels: Any) -> Any:
    wide = x.astype(F32)
    picked = jnp.take_along_axis(wide, labels[:, None], -1, mode="clip")[:, 0]
    return (jax.nn.logsumexp(wide, -1) - picked).mean()


def _batch_norm(x: Any, scale: Any) -> Any:
    wide = x.astype(F32)
    mean, square = wide.mean((0, 1, 2)), (wide * wide).mean((0, 1, 2))
    return ((wide - mean) * lax.rsqrt(square - mean * mean + 1e-5) * scale).astype(x.dtype)


def _dropout(x: Any, seed: Any) -> Any:
    return jnp.where(jax.random.bernoulli(jax.random.key(seed), 0.9, x.shape), x / 0.9, 0)


def _pooled(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def _permuted(x: Any, seed: Any) -> Any:
    return x.at[jax.random.permutation(jax.random.key(seed), x.shape[0])].get(mode="clip")


def _embedding_gradient(table: Any, ids: Any, cotangent: Any) -> Any:
    return jax.vjp(lambda t: t.at[ids].get(mode="clip"), table)[1](cotangent)[0]


def _models() -> dict[str, Step]:
    layer = {"batch": 2, "length": 2048, "heads": 32, "groups": 8, "width": 128, "hidden": 14336}
    small = {"layers": 4, "batch": 8, "length": 1024, "heads": 16, "groups": 4, "width": 64}
    small |= {"hidden": 2816, "vocab": 32000}
    large = {"layers": 4, "batch": 2, "length": 2048, "heads": 32, "groups": 8, "width": 128}
    large |= {"hidden": 11008, "vocab": 32000}
    scanned = {"is_scanned": True, "is_rematerialized": True}
    decode = {"layers": 16, "heads": 32, "groups": 8, "width": 64, "hidden": 8192, "vocab": 128256}
    images = {"batch": 64, "size": 224, "width": 64, "blocks": (2, 2, 2, 2), "classes": 1000}
    experts = {"tokens": 8192, "width": 2048, "hidden": 4096, "experts": 16, "chosen": 2}
    state = {"batch": 8, "length": 2048, "width": 1024}
    cells = {"batch": 64, "length": 128, "width": 1024}
    matrices = {"count": 8, "rows": 4096, "columns": 8192}
    back = {"is_backward": True}
    return {
        "llama_scan_remat": Step("remat training", models.llama_step, large | scanned, 2),
        "llama_small": Step("training", models.llama_step, small | {"is_scanned": True}, 2),
        "llama_layer": Step("block", models.llama_layer_step, layer),
        "llama_layer_grad": Step("block", models.llama_layer_step, layer | back),
        "llama_decode_8": Step("decode", models.llama_decode_step, decode | {"batch": 8, "length": 4096}, 1),
        "llama_decode_128": Step(
            "decode", models.llama_decode_step, decode | {"batch": 128, "length": 2048}, 1
        ),
        "adamw": Step("optimizer", models.adamw_step, matrices, 2),
        "adamw_clipped": Step("optimizer", models.adamw_step, matrices | {"is_clipped": True}, 2),
        "adafactor": Step("optimizer", models.factored_step, matrices, 3),
        "muon": Step("optimizer", models.muon_step, {"count": 4, "rows": 2048, "columns": 8192}, 2),
        "moe_ragged": Step("block", models.ragged_experts_step, experts),
        "state_space": Step("recurrence", models.state_space_step, state),
        "state_space_grad": Step("recurrence", models.state_space_step, state | back),
        "lstm": Step("recurrence", models.lstm_step, cells),
        "resnet": Step("convnet", models.resnet_step, images, 2),
        "attention_16384": Step(
            "attention", step_models.attention_step, {"batch": 1, "length": 16384, "heads": 8, "width": 128}
        ),
        "llama_accumulated": Step(
            "remat training", models.llama_step, small | scanned | {"parts": 4, "batch": 32}, 2
        ),
        "llama_bf16": Step("training", models.llama_step, small | {"is_scanned": True, "is_bf16": True}, 2),
    }


def _sorts_and_sums() -> dict[str, Step]:
    wide = (8192, 4096)
    return {
        "cumsum_major": _unary("cumulative sum", lambda x: x.cumsum(0), wide),
        "cumsum_line": _unary("cumulative sum", jnp.cumsum, (1 << 24,)),
        "cumsum_short": _unary("cumulative sum", lambda x: x.cumsum(1), (65536, 128)),
        "cumsum_counts": _unary("cumulative sum", lambda x: x.cumsum(0), (16384, 64), S32),
        "cummax": _unary("cumulative sum", lambda x: lax.cummax(x, 1), wide),
        "argsort_rows": _unary("sort", lambda x: jnp.argsort(x, 1), (2048, 8192)),
        "sort_pairs": _step("sort", lambda k, v: lax.sort((k, v)), ((1 << 20,), S32), ((1 << 20,), F32)),
        "sort_bf16": _unary("sort", lambda x: jnp.sort(x, 1), (16384, 512), BF16),
        "sort_short": _unary("sort", jnp.sort, (1 << 14,)),
        "top_k_vocabulary": _unary("sort", lambda x: lax.top_k(x, 50), (128, 128256)),
    }


def _elements() -> dict[str, Step]:
    wide, narrow = (8192, 4096), (32768, 2048)
    return {
        "add_small": Step(
            "small elementwise",
            elementwise,
            {"function": jnp.add, "shape": (512, 512), "dtype": F32, "operands": 2},
        ),
        "chain_f32": _unary("elementwise", _chain, wide),
        "power_f32": _step("elementwise", jnp.power, (wide, F32), (wide, F32)),
        "erf_bf16": _unary("elementwise", lax.erf, narrow, BF16),
        "log1p_f32": _unary("elementwise", jnp.log1p, wide),
        "divide_s32": _step("elementwise", jnp.floor_divide, (wide, S32), (wide, S32)),
        "bias_bf16": _step("elementwise", jnp.add, (narrow, BF16), ((2048,), BF16)),
        "dropout_bf16": _step("random", _dropout, (narrow, BF16), ((), S32)),
        "sum_middle": _unary("reduction", lambda x: x.sum(1), (128, 512, 1024)),
        "variance": _unary("normalization", lambda x: jnp.var(x, 1), wide),
        "softmax_vocabulary": _unary("normalization", jax.nn.softmax, (2048, 128256), BF16),
        "cross_entropy": _step("normalization", _cross_entropy, ((8192, 32000), BF16), ((8192,), S32)),
        "cross_entropy_grad": _step(
            "normalization", jax.grad(_cross_entropy), ((8192, 32000), BF16), ((8192,), S32)
        ),
        "batch_norm": _step("normalization", _batch_norm, ((64, 56, 56, 256), BF16), ((256,), F32)),
        "softmax_heads": _unary("normalization", jax.nn.softmax, (64, 1024, 1024)),
    }


def _products() -> dict[str, Step]:
    def step(kind: str = "product", **sizes: Any) -> Step:
        return Step(kind, product, sizes)

    return {
        "product_llama_up": step(m=8192, k=4096, n=14336),
        "product_tokens_256": step(m=256, k=4096, n=14336),
        "product_tokens_16": step("matvec", m=16, k=4096, n=14336),
        "product_odd": step(m=3000, k=5000, n=7000),
        "product_unaligned": step(m=2047, k=2047, n=2047),
        "product_1536": step(m=1536, k=1536, n=1536),
        "product_3072": step(m=3072, k=3072, n=3072),
        "product_f32_wide": step(m=2048, k=8192, n=2048, dtype=F32),
        "product_small_batches": step("short product", m=64, k=64, n=64, batch=4096),
        "product_transposed": _step(
            "product", lambda x, w: x.T @ w, ((8192, 4096), BF16), ((8192, 4096), BF16)
        ),
        "product_with_gelu": _step(
            "product", lambda x, w: jax.nn.gelu(x @ w), ((8192, 4096), BF16), ((4096, 4096), BF16)
        ),
        "product_s8": _step(
            "product",
            lambda x, w: lax.dot(x, w, preferred_element_type=S32),
            ((4096, 4096), jnp.int8),
            ((4096, 4096), jnp.int8),
        ),
        "vector_product": _step(
            "matvec", lambda x, y: (x * y).sum(-1), ((4096, 8192), F32), ((4096, 8192), F32)
        ),
    }


def _moves() -> dict[str, Step]:
    ids, counted = ((32768,), S32), ((1 << 22,), S32)
    table = ((32000, 4096), F32)
    return {
        "embedding_narrow": _step(
            "gather and scatter",
            lambda t, i: t.at[i].get(mode="clip"),
            ((32768, 128), F32),
            ((1 << 18,), S32),
        ),
        "embedding_wide": _step("gather and scatter", lambda t, i: t.at[i].get(mode="clip"), table, ids),
        "embedding_gradient": _step(
            "gather and scatter", _embedding_gradient, table, ids, ((32768, 4096), F32)
        ),
        "elements_taken": _step(
            "gather and scatter",
            lambda x, i: jnp.take_along_axis(x, i, 1, mode="clip"),
            ((1024, 32768), F32),
            ((1024, 32768), S32),
        ),
        "histogram": _step(
            "gather and scatter", lambda i: jnp.zeros(32768, F32).at[i].add(1.0, mode="drop"), counted
        ),
        "rows_permuted": _step("gather and scatter", _permuted, ((65536, 512), F32), ((), S32)),
        "one_hot_bf16": _unary("movement", lambda i: jax.nn.one_hot(i, 32000, dtype=BF16), (4096,), S32),
        "transpose_bf16": _unary("movement", jnp.transpose, (8192, 8192), BF16),
        "padded": _unary("movement", lambda x: jnp.pad(x, ((1, 1), (3, 5))), (8192, 4096)),
        "rolled": _unary("movement", lambda x: jnp.roll(x, 1, 1), (8192, 4096)),
        "reversed": _unary("movement", lambda x: x[::-1, ::-1], (8192, 4096)),
        "strided": _unary("movement", lambda x: x[:, ::2] + x[:, 1::2], (8192, 8192)),
        "categorical": _step(
            "random",
            lambda x, seed: jax.random.categorical(jax.random.key(seed), x),
            ((512, 128256), F32),
            ((), S32),
        ),
    }


def _images() -> dict[str, Step]:
    def step(shape: tuple[int, int, int, int], window: int, features: int, **other: int) -> Step:
        return Step(
            "convolution", convolution, {"shape": shape, "window": window, "features": features} | other
        )

    def causal(x: Any, w: Any) -> Any:
        numbers, groups = ("NWC", "WIO", "NWC"), x.shape[-1]
        padding = [(w.shape[0] - 1, 0)]
        return lax.conv_general_dilated(
            x, w, (1,), padding, dimension_numbers=numbers, feature_group_count=groups
        )

    def volume(x: Any, w: Any) -> Any:
        numbers = ("NDHWC", "DHWIO", "NDHWC")
        return lax.conv_general_dilated(x, w, (1,) * 3, "SAME", dimension_numbers=numbers)

    def factor(x: Any) -> Any:
        return jnp.linalg.cholesky(x @ x.T + jnp.eye(x.shape[0]))

    return {
        "conv_14": step((128, 14, 14, 512), 3, 512),
        "conv_1x1_wide": step((64, 28, 28, 512), 1, 512),
        "conv_patches": step((128, 224, 224, 3), 16, 768, stride=16),
        "conv_causal": _step("convolution", causal, ((8, 4096, 2048), BF16), ((4, 1, 2048), BF16)),
        "conv_3d": _step("convolution", volume, ((4, 32, 32, 32, 64), BF16), ((3, 3, 3, 64, 64), BF16)),
        "max_pool": _unary("window", _pooled, (64, 112, 112, 64), BF16),
        "fft": _unary("transform", lambda x: jnp.abs(jnp.fft.fft(x)), (4096, 4096)),
        "cholesky": _unary("transform", factor, (2048, 2048)),
    }


VARIED: Mapping[str, Step] = _models() | _sorts_and_sums() | _elements() | _products() | _moves() | _images()
"""The steps by name."""
