"""One op of real size each, with what is usually around it: sorts, scatters, windows, convolutions, products.

What a compiler adds to an op (copies, padding, scratch) shows here, where larger programs hide it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs


def programs() -> Programs:
    """The programs by name."""
    yield from _sorted()
    yield from _cumulated()
    yield from _indexed()
    yield from _scattered()
    yield from _random()
    yield from _convolved()
    yield from _convolution_gradients()
    yield from _dense()
    yield from _moved()


def _gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients of the mean of squares by all operands."""
    import jax
    import jax.numpy as jnp

    def loss(*operands: Any) -> Any:
        return jnp.square(function(*operands).astype("float32")).mean()

    return lambda *operands: jax.grad(loss, tuple(range(len(operands))))(*operands)


def _sorted() -> Programs:
    import jax.numpy as jnp
    from jax import lax

    array = Placed("8").array
    rows, columns = array((4096, 2048), "x"), array((2048, 4096), None, "x")
    for name, size in (
        ("short", (64, 50257)),
        ("odd", (960, 1000)),
        ("narrow", (400000, 7)),
        ("few", (128, 64)),
    ):
        yield f"sort_{name}", (lambda a: jnp.sort(a, -1), [array(size, "x")], None)
    yield "sort_rows", (lambda a: jnp.sort(a, -1), [rows], None)
    yield "sort_bf16", (lambda a: jnp.sort(a, -1), [array((4096, 2048), "x", dtype="bfloat16")], None)
    yield "sort_columns", (lambda a: jnp.sort(a, 0), [columns], None)
    yield "sort_between", (lambda a: jnp.sort(a, 1), [array((32, 100, 300), "x")], None)
    yield "sort_inside", (lambda a: jnp.sort(a * 2 + 1, -1) * 3, [rows], None)
    yield "argsort_rows", (lambda a: jnp.argsort(a, -1), [rows], None)
    yield "argsort_line", (jnp.argsort, [array((1 << 20,))], None)
    tokens = array((256, 32000), "x")
    yield "taken_in_order", (lambda a: jnp.take_along_axis(a, jnp.argsort(-a, -1), -1), [tokens], None)
    yield "cumulated_in_order", (lambda a: jnp.cumsum(jnp.sort(a, -1), -1), [tokens], None)
    yield "top_50", (lambda a: lax.top_k(a, 50), [tokens], None)
    yield "top_gradient", (_gradient(lambda a: lax.top_k(a, 8)[0]), [array((4096, 256), "x")], None)
    yield "median", (lambda a: jnp.median(a, 0), [columns], None)
    yield "quantiles", (lambda a: jnp.quantile(a, jnp.array([0.1, 0.5, 0.9]), axis=0), [columns], None)
    yield "unique", (lambda a: jnp.unique(a, size=1024), [array((1 << 18,), dtype="int32")], None)


def _cumulated() -> Programs:
    import jax.numpy as jnp
    from jax import lax

    array = Placed("8").array
    rows = array((2048, 4096), "x")
    yield "cumsum_rows", (lambda a: jnp.cumsum(a, -1), [rows], None)
    yield "cumsum_columns", (lambda a: jnp.cumsum(a, 0), [array((2048, 4096), None, "x")], None)
    yield "cumsum_words", (lambda a: jnp.cumsum(a, -1), [array((256, 32000), "x")], None)
    yield "cumsum_line", (jnp.cumsum, [array((1 << 20,))], None)
    yield "cumsum_between", (lambda a: jnp.cumsum(a, 1), [array((64, 512, 256), "x")], None)
    yield "cummax", (lambda a: lax.cummax(a, 1), [rows], None)

    def recurrence(a: Any, b: Any) -> Any:
        return lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b), axis=1)[1]

    both = [array((16, 1024, 256), "x")] * 2
    yield "recurrence", (recurrence, both, None)
    yield "recurrence_gradient", (_gradient(recurrence), both, None)


def _indexed() -> Programs:
    import jax.numpy as jnp

    array = Placed("8").array
    places = array((8192,), "x", dtype="int32")
    wide, narrow = array((65536, 512)), array((200000, 32))
    yield "rows_taken", (lambda t, i: t[i], [wide, places], None)
    yield "narrow_taken", (lambda t, i: t[i], [narrow, places], None)
    yield "rows_taken_gradient", (lambda t, i: _gradient(lambda t: t[i])(t), [wide, places], None)
    yield "narrow_taken_gradient", (lambda t, i: _gradient(lambda t: t[i])(t), [narrow, places], None)
    both = [array((1 << 18,), "x", dtype="int32")] * 2
    yield "elements_taken", (lambda a, i, j: a[i, j], [array((4096, 4096)), *both], None)
    along = [array((2048, 4096), "x"), array((2048, 128), "x", dtype="int32")]
    yield "taken_along", (lambda a, i: jnp.take_along_axis(a, i, 1), along, None)
    searched = [array((65536,)), array((1 << 18,), "x")]
    yield "searched", (jnp.searchsorted, searched, None)


def _scattered() -> Programs:
    import jax
    import jax.numpy as jnp

    array = Placed("8").array

    def added(count: int, size: int, dtype: str = "float32", **known: bool) -> tuple[Any, ...]:
        operands = [array((count,), dtype=dtype), array((size,), dtype="int32"), array((size,), dtype=dtype)]
        return lambda a, i, u: a.at[i].add(u, **known), operands, None

    yield "added", added(1 << 12, 1 << 17)
    yield "added_to_many", added(1 << 20, 1 << 12)
    yield "added_integers", added(1 << 12, 1 << 16, "int32")
    yield "added_bf16", added(1 << 12, 1 << 16, "bfloat16")
    yield "added_in_order", added(1 << 12, 1 << 16, indices_are_sorted=True)
    line = [array((1 << 12,)), array((1 << 16,), dtype="int32"), array((1 << 16,))]
    yield "set", (lambda a, i, u: a.at[i].set(u), line, None)
    yield "greatest", (lambda a, i, u: a.at[i].max(u), line, None)
    places = array((65536,), "x", dtype="int32")
    for width in (128, 16):
        values = array((65536, width), "x")
        yield f"segments_{width}", (lambda x, i: jax.ops.segment_sum(x, i, 4096), [values, places], None)
    yield (
        "segments_line",
        (lambda x, i: jax.ops.segment_sum(x, i, 4096), [array((65536,), "x"), places], None),
    )
    yield "counted", (lambda i: jnp.bincount(i, length=4096), [array((1 << 20,), dtype="int32")], None)
    yield "histogram", (lambda a: jnp.histogram(a, bins=100)[0], [array((1 << 20,))], None)
    hot = [array((4096,), "x", dtype="int32"), array((8192, 256))]
    yield "one_hot", (lambda i, t: jax.nn.one_hot(i, 8192) @ t, hot, None)


def _random() -> Programs:
    import jax
    import jax.numpy as jnp

    array = Placed("8").array
    key, rows = array((2,), dtype="uint32"), array((2048, 4096), "x")
    kept = lambda k, x: jnp.where(jax.random.bernoulli(k, 0.9, x.shape), x / 0.9, 0)  # noqa: E731
    yield "dropped", (kept, [key, rows], None)
    yield "categorical", (jax.random.categorical, [key, array((512, 32000), "x")], None)
    yield "permuted", (lambda k: jax.random.permutation(k, 1 << 18), [key], None)


def _convolution(x: Any, w: Any, stride: int = 1, padding: Any = "SAME", **more: Any) -> Any:
    from jax import lax

    numbers = {4: ("NHWC", "HWIO", "NHWC"), 3: ("NWC", "WIO", "NWC")}[x.ndim]
    more = {"dimension_numbers": numbers} | more
    return lax.conv_general_dilated(x, w, (stride,) * (x.ndim - 2), padding, **more)


_FEATURES_FIRST = {"dimension_numbers": ("NCHW", "OIHW", "NCHW")}


def _convolved() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    array = Placed("8").array
    images, kernel = array((64, 64, 64, 64), "x"), array((3, 3, 64, 64))
    first, first_kernel = array((64, 64, 56, 56), "x"), array((64, 64, 3, 3))
    relu = jax.nn.relu
    yield "convolution", (_convolution, [images, array((3, 3, 64, 128))], None)
    yield (
        "stem",
        (lambda x, w: _convolution(x, w, 2), [array((64, 224, 224, 3), "x"), array((7, 7, 3, 64))], None),
    )
    yield (
        "by_features",
        (
            lambda x, w: _convolution(x, w, feature_group_count=64),
            [images, array((3, 3, 1, 64))],
            None,
        ),
    )
    yield "transposed", (lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), [images, kernel], None)
    yield "with_bias", (lambda x, w, b: relu(_convolution(x, w) + b), [images, kernel, array((64,))], None)
    residual = lambda x, w, v: relu(x + _convolution(relu(_convolution(x, w)), v))  # noqa: E731
    yield "residual", (residual, [images, kernel, kernel], None)

    def two(x: Any, w: Any, v: Any) -> Any:
        return _convolution(relu(_convolution(x, w, **_FEATURES_FIRST)), v, **_FEATURES_FIRST)

    yield "features_first", (two, [first, first_kernel, first_kernel], None)
    yield "features_first_gradient", (_gradient(two), [first, first_kernel, first_kernel], None)
    window = (1, 2, 2, 1)
    pooled = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")  # noqa: E731
    yield "pooled", (pooled, [images], None)
    yield "pooled_gradient", (_gradient(pooled), [images], None)
    yield "resized", (lambda x: jax.image.resize(x, (64, 128, 128, 64), "bilinear"), [images], None)


def _convolution_gradients() -> Programs:
    import jax

    array = Placed("8").array
    images, kernel = array((64, 64, 64, 64), "x"), array((3, 3, 64, 128))
    relu = jax.nn.relu
    strided = lambda x, w: _convolution(x, w, 2)  # noqa: E731
    for name, function, operands in (
        ("plain", _convolution, [images, kernel]),
        ("strided", strided, [images, kernel]),
        ("odd", strided, [array((64, 63, 63, 64), "x"), kernel]),
        ("one_by_one", _convolution, [images, array((1, 1, 64, 128))]),
        ("stem", strided, [array((64, 224, 224, 3), "x"), array((7, 7, 3, 64))]),
        ("spread", lambda x, w: _convolution(x, w, rhs_dilation=(2, 2)), [images, kernel]),
        (
            "patches",
            lambda x, w: _convolution(x, w, 16, "VALID"),
            [array((64, 224, 224, 3), "x"), array((16, 16, 3, 768))],
        ),
        ("sequence", _convolution, [array((64, 4096, 128), "x"), array((5, 128, 128))]),
        (
            "causal",
            lambda x, w: _convolution(x, w, 1, [(3, 0)], feature_group_count=512),
            [array((64, 1024, 512), "x"), array((4, 1, 512))],
        ),
        ("two", lambda x, w: _convolution(relu(_convolution(x, w)), w), [images, array((3, 3, 64, 64))]),
    ):
        yield f"{name}_gradient", (_gradient(function), operands, None)


def _dense() -> Programs:
    import jax

    array = Placed("8").array
    gelu = lambda x, w, v: jax.nn.gelu(x @ w) @ v  # noqa: E731
    for dtype in ("float32", "bfloat16"):
        for batch, width, hidden in (
            (2048, 1024, 2048),
            (2048, 1024, 4096),
            (1536, 1024, 4096),
            (4096, 512, 2048),
        ):
            operands = [
                array((8 * batch, width), "x", dtype=dtype),
                array((width, hidden), dtype=dtype),
                array((hidden, width), dtype=dtype),
            ]
            yield f"feed_{dtype}_{batch}_{width}_{hidden}", (_gradient(gelu), operands, None)
    heads = [array((16, 1024, 8, 64), "x", dtype="bfloat16")] * 3
    attended = lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True)  # noqa: E731
    yield "attention", (attended, heads, None)
    yield "attention_gradient", (_gradient(attended), heads, None)


def _moved() -> Programs:
    import jax.numpy as jnp

    array = Placed("8").array
    rows, short = array((2048, 4096), "x"), array((2048, 1024), "x")
    yield "rolled", (lambda a: jnp.roll(a, 3, 1), [rows], None)
    yield "padded", (lambda a: jnp.pad(a, ((0, 0), (5, 7))), [rows], None)
    yield "repeated", (lambda a: jnp.repeat(a, 4, 1), [short], None)
    yield "tiled", (lambda a: jnp.tile(a, (1, 4)), [short], None)
    yield "stacked", (lambda a, b: jnp.stack([a, b], -1), [rows, rows], None)
    yield "interleaved", (lambda a: a[:, ::2] + a[:, 1::2], [rows], None)
