"""Measures the steps of `steps.py` on the GPU at hand, and prints JSON; `measured/` has what was measured.

    python -m tests.hardware.measure_steps --output h100.json [--seconds 400] [--threads 8] [NAME ...]

Needs JAX only. Programs are compiled first, in threads, which tune kernels one after another; those of
`varied_steps.py` first.

`wall_us` is the time of one run when many are enqueued, the median of `runs[0]` blocks of `runs[1]` runs;
`kernel_us` is the time of its kernels, from the profiler, `longest` those that take most (name, runs, us).
Runs reuse their operands, so that those of less than 50 MB are in the L2 cache. `memory` has the bytes of
XLA's `memory_analysis()`, with autotuned kernels. Forecasts beside the figures: `compared_steps.py`.
"""

from __future__ import annotations

import argparse
import glob
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from tests.hardware.steps import STEPS, Step
from tests.hardware.varied_steps import VARIED

PROGRAMS: Mapping[str, Step] = {**VARIED, **STEPS}
BLOCKS, BLOCK_SECONDS, MOST_RUNS, PROFILED = 24, 0.01, 200, 4
FIELDS = ("argument", "output", "alias", "temp")
QUERY = "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit,temperature.gpu"


def drawn(arguments: Any) -> Any:
    """Random values for abstract arguments; second moments are 0."""

    def values(path: Any, leaf: Any, key: Any) -> Any:
        if any(getattr(part, "key", None) == "nu" for part in path):
            return jnp.zeros(leaf.shape, leaf.dtype)
        if jnp.issubdtype(leaf.dtype, jnp.integer):
            return jax.random.randint(key, leaf.shape, 0, 30000 if leaf.ndim else 1000, leaf.dtype)
        wide = jnp.bfloat16 if leaf.dtype.itemsize < 2 else leaf.dtype
        return (jax.random.normal(key, leaf.shape, wide) * 0.05).astype(leaf.dtype)

    @jax.jit
    def all_values() -> Any:
        leaves, tree = jax.tree_util.tree_flatten_with_path(arguments)
        keys = jax.random.split(jax.random.key(1, impl="rbg"), len(leaves))
        return tree.unflatten(
            [values(path, leaf, key) for (path, leaf), key in zip(leaves, keys, strict=True)]
        )

    return all_values()


class Runner:
    """A compiled step with its operands; donated ones are replaced by the results of the run before."""

    def __init__(self, step: Step, compiled: Any, *, tiny: bool) -> None:
        self.donated, self.compiled = step.donated, compiled
        self.operands = jax.block_until_ready(drawn(step.program(tiny=tiny)[1]))

    def run(self, times: int) -> Any:
        result = None
        for _ in range(times):
            result = self.compiled(*self.operands)
            if self.donated:
                first = (result,) if not isinstance(result, tuple) else result[: self.donated]
                self.operands = (*first, *self.operands[self.donated :])
        return result

    def seconds(self, times: int) -> float:
        start = time.perf_counter()
        jax.block_until_ready(self.run(times))
        return (time.perf_counter() - start) / times


def compiled(step: Step, *, tiny: bool) -> tuple[Any, float]:
    """A step as compiled, and the seconds that it took."""
    function, arguments = step.program(tiny=tiny)
    jitted = jax.jit(function, donate_argnums=tuple(range(step.donated)))
    start = time.perf_counter()
    return jitted.lower(*arguments).compile(), time.perf_counter() - start


def profiled(runner: Runner, most: int) -> dict[str, Any]:
    """The time of the kernels of a run, the number of them, and the longest."""
    options = jax.profiler.ProfileOptions()
    options.host_tracer_level = options.python_tracer_level = 0
    with tempfile.TemporaryDirectory() as folder:
        jax.profiler.start_trace(folder, profiler_options=options)
        runner.seconds(PROFILED)
        jax.profiler.stop_trace()
        found = glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)
        data = jax.profiler.ProfileData.from_file(found[0])
        events = [
            (event.name, event.start_ns, event.duration_ns)
            for plane in data.planes
            if plane.name.startswith("/device:GPU")
            for line in plane.lines
            if line.name.startswith("Stream")
            for event in line.events
        ]
    by_name: dict[str, list[float]] = {}
    for name, _, duration in events:
        by_name.setdefault(name[:60], []).append(duration)
    longest = sorted(by_name.items(), key=lambda item: -sum(item[1]))[:most]
    span = max(s + d for _, s, d in events) - min(s for _, s, _ in events)
    return {
        "kernel_us": round(sum(d for *_, d in events) / PROFILED / 1e3, 2),
        "span_us": round(span / PROFILED / 1e3, 2),
        "kernels": round(len(events) / PROFILED, 1),
        "longest": [[n, len(d) // PROFILED, round(sum(d) / PROFILED / 1e3, 2)] for n, d in longest],
    }


def measured(
    step: Step,
    *,
    tiny: bool,
    hlo: Path | None = None,
    made: tuple[Any, float] | None = None,
    kernels: int = 5,
) -> dict[str, Any]:
    """The figures of one step; made: as compiled, if it is; hlo: its file; kernels: the most listed."""
    executable, compile_seconds = made or compiled(step, tiny=tiny)
    runner = Runner(step, executable, tiny=tiny)
    if hlo is not None:
        hlo.write_text(runner.compiled.as_text())
    runner.seconds(2)
    once = runner.seconds(3)
    times = max(1, min(MOST_RUNS, int(BLOCK_SECONDS / once)))
    runner.seconds(times)
    blocks = [runner.seconds(times) * 1e6 for _ in range(BLOCKS)]
    waited = runner.run(2 * times)
    clock = sm_clock()
    jax.block_until_ready(waited)
    memory, cost = runner.compiled.memory_analysis(), runner.compiled.cost_analysis() or {}
    cost = cost[0] if isinstance(cost, list) else cost
    sizes = {name: getattr(memory, f"{name}_size_in_bytes") for name in FIELDS}
    peak = getattr(memory, "peak_memory_in_bytes", 0)
    figures: dict[str, Any] = {
        "wall_us": round(statistics.median(blocks), 2),
        "wall_min_us": round(min(blocks), 2),
        "runs": [BLOCKS, times],
        "sm_mhz": clock,
        "memory": sizes | ({"peak": peak} if peak else {}),
        "flops": cost.get("flops", 0.0),
        "bytes": cost.get("bytes accessed", 0.0),
        "compile_seconds": round(compile_seconds, 2),
    }
    try:
        figures |= profiled(runner, kernels)
    except Exception as error:
        figures["not_profiled"] = repr(error)[:200]
    return figures


def all_compiled(
    names: Sequence[str], until: float, arguments: argparse.Namespace
) -> dict[str, Future[tuple[Any, float]]]:
    """The steps as compiled, in their order; none is begun after a time, and those are cancelled."""
    with ThreadPoolExecutor(arguments.threads) as pool:
        made = {name: pool.submit(compiled, PROGRAMS[name], tiny=arguments.tiny) for name in names}
        while any(not each.done() for each in made.values()) and time.perf_counter() < until:
            time.sleep(0.1)
        for each in made.values():
            each.cancel()
    count = sum(not each.cancelled() for each in made.values())
    print(f"{count} of {len(made)} steps are compiled", file=sys.stderr, flush=True)
    return made


def sm_clock() -> int:
    """The clock of the multiprocessors in MHz, read while they run; 0 without NVIDIA's library."""
    try:
        import pynvml

        pynvml.nvmlInit()
        return pynvml.nvmlDeviceGetClockInfo(pynvml.nvmlDeviceGetHandleByIndex(0), pynvml.NVML_CLOCK_SM)
    except Exception:
        return 0


def clocks() -> str:
    """What nvidia-smi says of the device; empty without it."""
    command = ["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip()
    except OSError:
        return ""


def as_text(found: dict[str, Any]) -> str:
    """JSON with a line for each step."""
    lines = [f"  {json.dumps(name)}: {json.dumps(figures)}" for name, figures in found["steps"].items()]
    head = json.dumps({name: value for name, value in found.items() if name != "steps"}, indent=1)
    return head.removesuffix("\n}") + ',\n "steps": {\n' + ",\n".join(lines) + "\n }\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="steps, or `varied`: those of that table; all if none is given",
    )
    parser.add_argument("--output", default="", help="the file; standard output if none is given")
    parser.add_argument("--hlo", default="", help="a folder for the compiled programs")
    parser.add_argument("--seconds", type=float, default=1e9, help="start no step after so many seconds")
    parser.add_argument("--threads", type=int, default=8, help="programs that are compiled at a time")
    parser.add_argument("--kernels", type=int, default=5, help="the longest kernels that are listed")
    parser.add_argument("--tiny", action="store_true", help="small dimensions, on any device")
    arguments = parser.parse_args()
    start = time.perf_counter()
    device = jax.devices()[0]
    if device.platform != "gpu" and not arguments.tiny:
        sys.exit("no GPU: nothing is measured; --tiny tries the steps on any device")
    found: dict[str, Any] = {
        "device": device.device_kind,
        "jax": jax.__version__,
        "query": QUERY,
        "clocks": {"before": clocks()},
        "steps": {},
    }
    names = [
        name for given in arguments.names or PROGRAMS for name in (VARIED if given == "varied" else (given,))
    ]
    made = all_compiled(names, start + arguments.seconds / 2, arguments)
    for name, future in made.items():
        if time.perf_counter() - start > arguments.seconds or future.cancelled():
            print(f"left out: {name}", file=sys.stderr)
            continue
        step = PROGRAMS[name]
        try:
            hlo = Path(arguments.hlo) / f"{name}.txt" if arguments.hlo else None
            given = future.result()
            figures = measured(step, tiny=arguments.tiny, hlo=hlo, made=given, kernels=arguments.kernels)
        except Exception as error:
            figures = {"error": f"{type(error).__name__}: {error}"[:300]}
        found["steps"][name] = {"sizes": step.described} | figures
        shown = {
            key: figures.get(key)
            for key in ("wall_us", "kernel_us", "kernels", "sm_mhz", "compile_seconds", "error")
        }
        print(f"{time.perf_counter() - start:6.1f} {name:28} {shown}", file=sys.stderr, flush=True)
        if arguments.output:  # also what there is if the time runs out
            Path(arguments.output).write_text(as_text(found))
    found["clocks"]["after"] = clocks()
    if arguments.output:
        Path(arguments.output).write_text(as_text(found))
    else:
        print(as_text(found), end="")


if __name__ == "__main__":
    main()
