"""Published times of training steps beside the forecast of such a step: an interval for each row.

    python benchmarks/published_steps.py [ROW ...]

The programs are decoders of their shapes written here (grouped attention, gated layers, scanned and
rematerialized, AdamW), sharded as the recipes say, lowered by JAX for as many devices of a host. Sources:
AI-Hypercomputer/tpu-recipes, maxtext's tiering page, NGC's and NeMo's pages of results. The recipes compute
attention by a kernel: the interval has one, from full rates with perfect overlap of collectives to half of
the rates without, which is what kernels reach on a GPU (`kernel_costs.py`), an assumption for TPUs. Beside it
is the time of the program as written, whose scores are in memory.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEVICES = 512
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count={DEVICES}")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

from shardy_py import Program, propagate  # noqa: E402
from shardy_py.report.time import TimeReport  # noqa: E402
from shardy_py.report.time.kernel_costs import REACHED  # noqa: E402


@dataclass(frozen=True, slots=True)
class Decoder:
    """Sizes of a model; experts: of each layer, of which `active` are used; 0: none."""

    layers: int
    width: int
    heads: int
    groups: int
    hidden: int
    vocabulary: int
    experts: int = 0
    active: int = 0


@dataclass(frozen=True, slots=True)
class PublishedStep:
    """A published step: devices as JAX counts them, sequences of a step, and its time.

    mesh: sizes of the axes fsdp and tensor. hardware: with the places of axes.
    """

    name: str
    model: Decoder
    hardware: str
    mesh: tuple[int, int]
    batch: int
    length: int
    seconds: float


LLAMA_8B = Decoder(32, 4096, 32, 8, 14336, 128256)
LLAMA_70B = Decoder(80, 8192, 64, 8, 28672, 128256)
LLAMA_2_70B = Decoder(80, 8192, 64, 8, 28672, 32000)
LLAMA_405B = Decoder(126, 16384, 128, 8, 53248, 128256)
ROWS = (
    PublishedStep("ironwood-70b-64", LLAMA_70B, "tpu7x", (128, 1), 256, 8192, 12.20),
    PublishedStep("ironwood-70b-256", LLAMA_70B, "tpu7x", (512, 1), 1024, 8192, 12.27),
    PublishedStep("ironwood-405b-256", LLAMA_405B, "tpu7x", (512, 1), 1536, 8192, 98.34),
    PublishedStep("trillium-70b-64", LLAMA_70B, "tpu-v6e", (64, 1), 128, 8192, 18.688),
    PublishedStep("trillium-8b-16", LLAMA_8B, "tpu-v6e", (16, 1), 48, 8192, 3.393),
    PublishedStep("v5p-llama2-70b-512", LLAMA_2_70B, "tpu-v5p", (512, 1), 2048, 4096, 4 * 4096 / 692),
    PublishedStep("h100-70b-128", LLAMA_70B, "h100", (128, 1), 256, 8192, 15.570),
    PublishedStep("h100-70b-64-tp2", LLAMA_70B, "h100", (32, 2), 128, 8192, 18.90),
)


def step(row: PublishedStep) -> tuple[Callable[..., Any], list[Any]]:
    """The function of a training step, and its arguments."""
    model, (fsdp, tensor) = row.model, row.mesh
    mesh = Mesh([*map(list, _grid(jax.devices()[: fsdp * tensor], tensor))], ("fsdp", "tensor"))
    depth = model.width // model.heads
    weights = {
        "q": ((model.width, model.heads, depth), P("fsdp", "tensor")),
        "k": ((model.width, model.groups, depth), P("fsdp", "tensor")),
        "v": ((model.width, model.groups, depth), P("fsdp", "tensor")),
        "o": ((model.heads, depth, model.width), P("tensor", None, "fsdp")),
        "gate": ((model.width, model.hidden), P("fsdp", "tensor")),
        "up": ((model.width, model.hidden), P("fsdp", "tensor")),
        "down": ((model.hidden, model.width), P("tensor", "fsdp")),
    }

    def put(shape: tuple[int, ...], spec: P, dtype: Any) -> Any:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))

    params = {
        name: put((model.layers, *shape), P(None, *spec), jnp.float32)
        for name, (shape, spec) in weights.items()
    }
    params["embed"] = put((model.vocabulary, model.width), P("tensor", "fsdp"), jnp.float32)
    params["head"] = put((model.width, model.vocabulary), P("fsdp", "tensor"), jnp.float32)
    tokens = put((row.batch, row.length), P("fsdp"), jnp.int32)

    def rows(x: Any) -> Any:
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P("fsdp")))

    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("blgre,bmge->bgrlm", q, k).astype(jnp.float32) * depth**-0.5
        mask = jnp.tril(jnp.ones((row.length, row.length), bool))
        shares = jax.nn.softmax(jnp.where(mask, scores, -1e9)).astype(jnp.bfloat16)
        return jnp.einsum("bgrlm,bmge->blgre", shares, v)

    def layer(x: Any, own: dict[str, Any]) -> tuple[Any, None]:
        own = {name: each.astype(jnp.bfloat16) for name, each in own.items()}
        h = _normalized(x)
        q, k, v = (jnp.einsum("bld,dhe->blhe", h, own[name]) for name in "qkv")
        mixed = attention(q.reshape(*q.shape[:2], model.groups, -1, depth), k, v).reshape(q.shape)
        x = rows(x + jnp.einsum("blhe,hed->bld", mixed, own["o"]))
        h = _normalized(x)
        hidden = jax.nn.silu(h @ own["gate"]) * (h @ own["up"])
        return rows(x + hidden @ own["down"]), None

    def loss(params: dict[str, Any], tokens: Any) -> Any:
        x = rows(params["embed"].astype(jnp.bfloat16)[tokens])
        stacked = {name: params[name] for name in weights}
        x = jax.lax.scan(jax.checkpoint(layer), x, stacked)[0]
        logits = (_normalized(x) @ params["head"].astype(jnp.bfloat16)).astype(jnp.float32)
        picked = jnp.take_along_axis(logits, tokens[..., None], -1)[..., 0]
        return (jax.nn.logsumexp(logits, -1) - picked).mean()

    def trained(params: Any, first: Any, second: Any, tokens: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, tokens)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
        second = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, second, grads)
        moved = jax.tree.map(lambda p, m, v: p - 3e-5 * (m / (jnp.sqrt(v) + 1e-8)), params, first, second)
        return value, moved, first, second

    return trained, [params, params, params, tokens]


def _normalized(x: Any) -> Any:
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-5)).astype(jnp.bfloat16)


def _grid(devices: list[Any], columns: int) -> list[list[Any]]:
    return [devices[i : i + columns] for i in range(0, len(devices), columns)]


def saved_by_a_kernel(report: TimeReport, lines: range) -> float:
    """The seconds that attention takes less as one kernel, which computes its products alone.

    Its scores stay on the chip then, and half of each product, behind the mask, is not computed.
    """
    saved = 0.0
    for node, runs in report.nodes():
        place = re.search(r"published_steps\.py:(\d+)", node.location)
        if place is not None and int(place[1]) in lines and not node.axes:
            products = node.work.product_flops / 2 / report.hardware.peak_flops
            saved += max(node.seconds - products, 0.0) * runs
    return saved


def main() -> None:
    """Prints a line for each row: published, the interval, what bounds it, and whether it holds."""
    source = Path(__file__).read_text().splitlines()
    first = next(i for i, line in enumerate(source, 1) if "def attention(" in line)
    held = 0
    rows = [row for row in ROWS if not sys.argv[1:] or row.name in sys.argv[1:]]
    for row in rows:
        function, arguments = step(row)
        lowered = jax.jit(function, donate_argnums=(0, 1, 2)).trace(*arguments).lower()
        result = propagate(Program.from_jax(lowered), progress=False)
        report = result.time(row.hardware, target=row.hardware)
        saved = saved_by_a_kernel(report, range(first, first + 5))
        low, full = (seconds - saved for seconds in report.seconds)
        high = (report.compute + report.memory_bound - saved) / REACHED + report.communication
        held += low <= row.seconds <= high
        parts = f"{low:.2f} to {high:.2f} s with a kernel for attention, {report.serial:.2f} s without"
        ratio = f"published / {full:.2f} s = {row.seconds / full:.2f}"
        print(f"{row.name:20} published {row.seconds:6.2f} s; {parts}; {ratio}", flush=True)
    print(
        f"{held} of {len(rows)} are between full rates with perfect overlap and {REACHED:.0%} of them without"
    )


if __name__ == "__main__":
    main()
