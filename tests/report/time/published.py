"""Published step times beside the interval: `python -m tests.report.time.published [NAME...]`.

The models are those of MaxText's tables for TPU v5e and v5p (`MaxText/configs/v5e/README.md` and that of
`v5p`, with the scripts there): decoders of the shapes of `global_parameter_scale`, a train step with Adam, as
programs of our own in JAX. Attention is a kernel that keeps no scores in memory, of which half is masked. The
tables have FLOP/s of the model, which MaxText counts without recomputation and mask; the step time follows.
Prints Markdown; with `--as-compiled` of the chip as the target.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shardy_py.api import propagate
from shardy_py.ops import TABLE, OpRecord, OpSpec, Work, register
from shardy_py.report.tables import seconds_text
from shardy_py.report.time import TimeReport

LENGTH, VOCABULARY, HEAD = 2048, 32_000, 128


@dataclass(frozen=True)
class Model:
    """The sizes of a decoder with a gated feed-forward network."""

    embedding: int
    heads: int
    hidden: int
    layers: int

    @property
    def parameters(self) -> int:
        """Of the matrices, without the embedding of tokens."""
        attention = 4 * self.embedding * self.heads * HEAD
        feed_forward = 3 * self.embedding * self.hidden
        return self.layers * (attention + feed_forward) + self.embedding * VOCABULARY

    def flops(self, sequences: int) -> int:
        """Of a train step, as MaxText counts: six a parameter and token, and attention without its mask."""
        attention = 12 * sequences * LENGTH**2 * self.heads * HEAD * self.layers
        return 6 * self.parameters * sequences * LENGTH + attention


@dataclass(frozen=True)
class Row:
    """A row of a table: batch of each device, remat policy, and its TFLOP/s of each device."""

    name: str
    model: Model
    hardware: str
    fsdp: int
    tensor: int
    batch: int
    remat: str
    teraflops: float

    @property
    def seconds(self) -> float:
        """The published time of a step."""
        return self.model.flops(self.batch) / (self.teraflops * 1e12)


B16, B32 = Model(4096, 64, 28672, 32), Model(8192, 64, 28672, 32)
B64, B128 = Model(8192, 64, 28672, 64), Model(8192, 128, 57344, 64)
ROWS = (
    Row("16B on v5e-256", B16, "tpu-v5e,topology=16x16", 256, 1, 6, "full", 120),
    Row("32B on v5e-256", B32, "tpu-v5e,topology=16x16", 256, 1, 4, "full", 132),
    Row("64B on v5e-256", B64, "tpu-v5e,topology=16x16", 256, 1, 2, "full", 118),
    Row("32B on v5p-128", B32, "tpu-v5p,topology=4x4x4", 16, 4, 7, "minimal", 328),
    Row("128B on v5p-256", B128, "tpu-v5p,topology=4x4x8", 16, 8, 1, "minimal", 315),
)


def _attention(products: int) -> OpSpec:
    """A kernel of so many products of queries with keys, half of which is masked."""

    def work(record: OpRecord) -> Work:
        query = record.operands[0]
        assert query is not None
        batch, heads, length, head = (size or 0 for size in query.shape)
        return Work(products * batch * heads * length**2 * head, is_product=True)

    kernels = {2: "flash_attention", 5: "flash_attention_backward"}
    return OpSpec(f"stablehlo.custom_call@{kernels[products]}", work=work)


def reported(row: Row, *, as_compiled: bool = False) -> TimeReport:
    """The time of a train step. as_compiled: with the chip as the target."""
    kernels = [_attention(products) for products in (2, 5)]
    for kernel in kernels:
        register(kernel)
    try:
        target = row.hardware.partition(",")[0] if as_compiled else None
        report = propagate(_program(row)).time(row.hardware, partitioner="xla", target=target)
        _ = report.counted
    finally:
        for kernel in kernels:
            del TABLE[kernel.name]
    return report


def _program(row: Row) -> Any:
    import jax
    import jax.numpy as jnp
    from jax.sharding import AbstractMesh, AxisType, NamedSharding
    from jax.sharding import PartitionSpec as P

    from shardy_py.frontends.jax import lower

    model = row.model
    mesh = AbstractMesh((row.fsdp, row.tensor), ("fsdp", "tensor"), axis_types=(AxisType.Auto,) * 2)
    heads = P("fsdp", None, "tensor", None)

    def kernel(name: str, *shapes: Any) -> Any:
        return jax.ffi.ffi_call(name, shapes if shapes[1:] else next(iter(shapes)))

    def like(x: Any) -> Any:
        return jax.ShapeDtypeStruct(x.shape, x.dtype)

    def turned(x: Any) -> Any:
        return x.transpose(0, 2, 1, 3)

    @jax.custom_vjp
    def attend(q: Any, k: Any, v: Any) -> Any:
        return forward(q, k, v)[0]

    def forward(q: Any, k: Any, v: Any) -> Any:
        def local(*parts: Any) -> Any:
            q, k, v = map(turned, parts)
            return turned(kernel("flash_attention", like(q))(q, k, v))

        out = jax.shard_map(local, mesh=mesh, in_specs=(heads,) * 3, out_specs=heads, check_vma=False)(
            q, k, v
        )
        return out, (q, k, v, out)

    def backward(saved: Any, gradient: Any) -> Any:
        def local(*parts: Any) -> Any:
            given = [*map(turned, parts)]
            shapes = [like(part) for part in given[:3]]
            return tuple(map(turned, kernel("flash_attention_backward", *shapes)(*given)))

        specs = (heads,) * 5
        mapped = jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=(heads,) * 3, check_vma=False)
        return mapped(*saved, gradient)

    attend.defvjp(forward, backward)

    def placed(x: Any, *spec: Any) -> Any:
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))

    def norm(x: Any, scale: Any) -> Any:
        x = x.astype(jnp.float32)
        return (x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale).astype(jnp.bfloat16)

    def layer(x: Any, weights: Any) -> Any:
        matrices = {name: w.astype(jnp.bfloat16) for name, w in weights.items()}
        h = norm(x, weights["norm1"])
        q, k, v = (
            placed(jnp.einsum("bte,ehd->bthd", h, matrices[name]), *heads)
            for name in ("query", "key", "value")
        )
        x = placed(x + jnp.einsum("bthd,hde->bte", attend(q, k, v), matrices["out"]), "fsdp", None, "tensor")
        h = norm(x, weights["norm2"])
        gate, up = (jnp.einsum("bte,ef->btf", h, matrices[name]) for name in ("gate", "up"))
        h = placed(jax.nn.silu(gate) * up, "fsdp", None, "tensor")
        return placed(x + jnp.einsum("btf,fe->bte", h, matrices["down"]), "fsdp", None, "tensor"), None

    policies = jax.checkpoint_policies
    policy = policies.nothing_saveable if row.remat == "full" else policies.dots_with_no_batch_dims_saveable

    def loss(parameters: Any, tokens: Any) -> Any:
        x = parameters["embedding"].astype(jnp.bfloat16)[tokens]
        x = placed(x, "fsdp", None, "tensor")
        x, _ = jax.lax.scan(jax.checkpoint(layer, policy=policy), x, parameters["layers"])
        x = norm(x, parameters["norm"])
        logits = jnp.einsum("bte,ev->btv", x, parameters["logits"].astype(jnp.bfloat16))
        logits = placed(logits, "fsdp", None, "tensor").astype(jnp.float32)
        one_hot = jax.nn.one_hot(tokens, VOCABULARY, dtype=jnp.float32)
        return jnp.mean(jax.nn.logsumexp(logits, -1) - (logits * one_hot).sum(-1))

    def step(parameters: Any, first: Any, second: Any, tokens: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(parameters, tokens)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, second, gradients)
        parameters = jax.tree.map(
            lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), parameters, first, second
        )
        return parameters, first, second, value

    def array(shape: tuple[int, ...], *spec: Any, kind: Any = jnp.float32) -> Any:
        return jax.ShapeDtypeStruct(shape, kind, sharding=NamedSharding(mesh, P(*spec)))

    layers, e, f, h = model.layers, model.embedding, model.hidden, model.heads
    inward = array((layers, e, h, HEAD), None, "fsdp", "tensor")
    weights = {
        **dict.fromkeys(("query", "key", "value"), inward),
        "out": array((layers, h, HEAD, e), None, "tensor", None, "fsdp"),
        **dict.fromkeys(("gate", "up"), array((layers, e, f), None, "fsdp", "tensor")),
        "down": array((layers, f, e), None, "tensor", "fsdp"),
        **dict.fromkeys(("norm1", "norm2"), array((layers, e), None, None)),
    }
    parameters = {
        "embedding": array((VOCABULARY, e), "tensor", "fsdp"),
        "logits": array((e, VOCABULARY), "fsdp", "tensor"),
        "norm": array((e,), None),
        "layers": weights,
    }
    batch = row.batch * row.fsdp * row.tensor
    tokens = array((batch, LENGTH), "fsdp", None, kind=jnp.int32)
    places = jax.tree.map(lambda a: a.sharding, parameters)
    jitted = jax.jit(step, out_shardings=(places, places, places, None), donate_argnums=(0, 1, 2))
    return lower(jitted, parameters, parameters, parameters, tokens)


def table(rows: Sequence[Row], *, as_compiled: bool = False) -> str:
    """The rows as Markdown."""
    lines = [
        "| model | published | perfect overlap | no overlap | bound by | published / no overlap |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        report = reported(row, as_compiled=as_compiled)
        low, high = report.seconds
        ratio = f"{row.seconds / high:.2f}"
        times = (seconds_text(seconds) for seconds in (row.seconds, low, high))
        lines.append(f"| {row.name} | {' | '.join(times)} | {report.bound} | {ratio} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--as-compiled", action="store_true", help="with the chip as the target")
    given = parser.parse_args()
    rows = [row for row in ROWS if not given.names or row.name in given.names]
    print(table(rows, as_compiled=given.as_compiled))


if __name__ == "__main__":
    main()
