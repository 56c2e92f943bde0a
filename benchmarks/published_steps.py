"""Published times of training steps beside the forecast of such a step: an interval for each row.

    python benchmarks/published_steps.py [ROW ...]

The programs are decoders of their shapes (`published_decoders.py`), sharded as the recipes say, lowered by
JAX for the platform. Sources: AI-Hypercomputer/tpu-recipes, maxtext's tiering page and configurations of
benchmarks, NGC's and NeMo's pages of results; model cards for the shapes. The recipes compute
attention by a kernel: the interval has one, from full rates with perfect overlap of collectives to half of
the rates without, which is what kernels reach on a GPU (`kernel_costs.py`), an assumption for TPUs. Beside it
is the time of the program as written, whose scores are in memory.
"""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import jax
from published_decoders import Decoder, Latents, Layout, attention, step

from shardy_py import Program, propagate
from shardy_py.report.time import TimeReport
from shardy_py.report.time.kernel_costs import REACHED


@dataclass(frozen=True, slots=True)
class PublishedStep:
    """A published step: devices as JAX counts them, sequences of a step, and its time.

    hardware: with the places of axes.
    """

    name: str
    model: Decoder
    hardware: str
    layout: Layout
    batch: int
    length: int
    seconds: float


LLAMA_8B = Decoder(32, 4096, 32, 8, 14336, 128256)
LLAMA_70B = Decoder(80, 8192, 64, 8, 28672, 128256)
LLAMA_2_70B = Decoder(80, 8192, 64, 8, 28672, 32000)
LLAMA_405B = Decoder(126, 16384, 128, 8, 53248, 128256)
MIXTRAL = Decoder(32, 4096, 32, 8, 14336, 32000, experts=8, active=2)
QWEN3_235B = Decoder(94, 4096, 64, 4, 1536, 151936, experts=128, active=8, head=128, normed=True)
DEEPSEEK_V3 = Decoder(
    *(61, 7168, 128, 128, 2048, 129280, 256, 8),
    dense=3,
    dense_hidden=18432,
    shared=2048,
    latents=Latents(1536, 512, 128, 64, 128),
)
ROWS = (
    PublishedStep("ironwood-70b-64", LLAMA_70B, "tpu7x", Layout(128), 256, 8192, 12.20),
    PublishedStep("ironwood-70b-256", LLAMA_70B, "tpu7x", Layout(512), 1024, 8192, 12.27),
    PublishedStep("ironwood-405b-256", LLAMA_405B, "tpu7x", Layout(512), 1536, 8192, 98.34),
    PublishedStep("ironwood-qwen3-256", QWEN3_235B, "tpu7x", Layout(512), 8192, 4096, 30.87),
    PublishedStep("ironwood-deepseek-128", DEEPSEEK_V3, "tpu7x", Layout(128, transpose=2), 2048, 4096, 27.02),
    PublishedStep("ironwood-deepseek-256", DEEPSEEK_V3, "tpu7x", Layout(256, transpose=2), 4096, 4096, 26.79),
    PublishedStep("trillium-70b-64", LLAMA_70B, "tpu-v6e", Layout(64), 128, 8192, 18.688),
    PublishedStep("trillium-70b-256", LLAMA_70B, "tpu-v6e", Layout(256), 1024, 8192, 4 * 8192 / 960),
    PublishedStep("trillium-8b-16", LLAMA_8B, "tpu-v6e", Layout(16), 48, 8192, 3.393),
    PublishedStep("trillium-8b-256", LLAMA_8B, "tpu-v6e", Layout(256), 1024, 8192, 4 * 8192 / 7207),
    PublishedStep("trillium-405b-256", LLAMA_405B, "tpu-v6e", Layout(64, 4), 256, 8192, 8192 / 123),
    PublishedStep("trillium-mixtral-256", MIXTRAL, "tpu-v6e", Layout(256), 3072, 4096, 12 * 4096 / 3899),
    PublishedStep("v5p-llama2-70b-512", LLAMA_2_70B, "tpu-v5p", Layout(512), 2048, 4096, 4 * 4096 / 692),
    PublishedStep("v5p-mixtral-256", MIXTRAL, "tpu-v5p", Layout(256), 9216, 4096, 36 * 4096 / 2909),
    PublishedStep("h100-70b-128", LLAMA_70B, "h100", Layout(128), 256, 8192, 15.570),
    PublishedStep("h100-70b-64-tp2", LLAMA_70B, "h100", Layout(32, 2), 128, 8192, 18.90),
)


def saved_by_a_kernel(report: TimeReport) -> float:
    """The seconds that attention takes less as one kernel, which computes its products alone.

    Its scores stay on the chip then, and half of each product, behind the mask, is not computed.
    """
    source, first = inspect.getsourcelines(attention)
    lines, saved = range(first, first + len(source)), 0.0
    for node, runs in report.nodes():
        place = re.search(rf"{Path(inspect.getfile(attention)).name}:(\d+)", node.location)
        if place is not None and int(place[1]) in lines and not node.axes:
            products = node.work.product_flops / 2 / report.hardware.peak_flops
            saved += max(node.seconds - products, 0.0) * runs
    return saved


def main() -> None:
    """Prints a line for each row: published, the interval, what bounds it, and whether it holds."""
    held = 0
    rows = [row for row in ROWS if not sys.argv[1:] or row.name in sys.argv[1:]]
    for row in rows:
        function, arguments = step(row.model, row.layout, row.batch, row.length)
        traced = jax.jit(function, donate_argnums=(0, 1, 2)).trace(*arguments)
        lowered = traced.lower(lowering_platforms=("tpu" if row.hardware.startswith("tpu") else "cuda",))
        result = propagate(Program.from_jax(lowered), progress=False)
        report = result.time(row.hardware, target=row.hardware)
        saved = saved_by_a_kernel(report)
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
