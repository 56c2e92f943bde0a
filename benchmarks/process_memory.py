"""Memory of a process that serves for long: `python benchmarks/process_memory.py [CASE ...] [--scale 1.0]`.

Each case repeats one kind of work in a process of its own. Shown are the peaks of resident memory and of the
entries in the session's tables, in the first and in the second half of the runs. Bound: 2 % more memory, and
no more than the session's limit of entries.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from programs import EXAMPLE, corpus_program

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from shardy_py import P, Program, Result, ShardyError, propagate
from shardy_py.api.pipeline import decide_shardings
from shardy_py.base.session import SESSION
from tests.differential.meshes import Width
from tests.differential.programs import wide_program

BOUND = 0.02
SAMPLES = 40
Step = Callable[[int], object]

SMALL = """
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %w: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>})
    -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %1 = stablehlo.constant dense<0.5> : tensor<32x16xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<32x16xf32>
  return %2 : tensor<32x16xf32>
}
"""


def same_text() -> Step:
    """Reads, propagates and prints one small text."""
    return lambda _: decide_shardings(SMALL)


def same_program() -> Step:
    """Propagates one `Program`."""
    program = Program.parse(SMALL)
    return lambda _: propagate(program)


def layers() -> Step:
    """Propagates a training step of 12 layers, with all reports."""
    found = corpus_program("transformer_train_12")
    text = found.text if found else EXAMPLE.read_text()
    program = Program.parse(text)
    return lambda _: reports(propagate(program))


def reports(result: Result) -> None:
    """Asks for all reports of a result."""
    str(result.communication())
    str(result.memory("tpu"))
    result.summary()
    value = result.values[-1]
    str(result.explain(value))
    result.text()


def random_programs() -> Step:
    """Reads, propagates and prints different programs, with names, shapes, meshes and ops of their own."""

    def step(number: int) -> None:
        with suppress(ShardyError):  # some random programs are refused, as C++ refuses them
            decide_shardings(wide_program(random.Random(number), Width()))

    return step


def random_reports() -> Step:
    """Puts different programs through all reports, the check, the partitioner and a what-if."""
    edits = (None, P("x"))

    def step(number: int) -> None:
        text = wide_program(random.Random(number), Width())
        for as_compiled in (True, False):
            with suppress(ShardyError):
                result = propagate(Program.parse(text, as_compiled=as_compiled), progress=False)
                for report in all_reports(result, edits[number % len(edits)]):
                    with suppress(ShardyError):
                        report()

    return step


def all_reports(result: Result, edit: P | None) -> tuple[Callable[[], object], ...]:
    """The reports on a result, each as text."""
    value = result.values[len(result.values) // 2]
    return (
        lambda: reports(result),
        lambda: str(result.communication(partitioner="shardy")),
        lambda: str(result.communication(target="h100")),
        lambda: str(result.memory()),
        lambda: str(result.memory("h100")),
        lambda: str(result.time("tpu-v5p")),
        lambda: str(result.time("h100", target="h100")),
        lambda: str(result.why_not(value, 0, "x")),
        lambda: str(result.what_if({result.values[0].name: edit})),
        lambda: str(result.check()),
        lambda: str(result.partition()),
        lambda: result.explorer(),
    )


def errors() -> Step:
    """Reads texts with a mistake each: tokens of the small text are dropped."""
    words = SMALL.split(" ")

    def step(number: int) -> None:
        dropped = number % len(words)
        with suppress(ShardyError):
            decide_shardings(" ".join([*words[:dropped], f"%error{number}", *words[dropped + 1 :]]))

    return step


def from_jax() -> Step:
    """Traces, lowers and propagates a function of JAX; a new function each time."""
    import jax
    import jax.numpy as jnp

    mesh = jax.sharding.AbstractMesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)

    def step(number: int) -> None:
        function = jax.jit(lambda x, w: jnp.tanh(x @ w) * 0.5)
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data", None))
        x = jax.ShapeDtypeStruct((32, 64), jnp.float32, sharding=sharding)
        propagate(Program.from_jax(function, x, jnp.zeros((64, 16))))
        if number % 10 == 0:
            jax.clear_caches()

    return step


def what_if() -> Step:
    """Asks one result for comparisons."""
    result = propagate(Program.parse(SMALL))
    specs = [None, P("data"), P(None, "model"), P("model", "data")]
    return lambda number: str(result.what_if({"%arg1": specs[number % len(specs)]}))


def same_reports() -> Step:
    """Asks new results of one program for all reports."""
    program = Program.parse(EXAMPLE.read_text())
    return lambda _: reports(propagate(program))


def explanations() -> Step:
    """Asks one result for all reports and for explanations of all values."""
    result = propagate(Program.parse(EXAMPLE.read_text()))

    def step(number: int) -> None:
        value = result.values[number % len(result.values)]
        reports(result)
        str(result.explain(value))
        if value.shape:
            str(result.why_not(value, 0, "tensor"))

    return step


def large_attributes() -> Step:
    """Reads and prints programs with a large constant and a long string, different ones each time."""

    def step(number: int) -> None:
        data = random.Random(number).randbytes(200_000).hex()
        decide_shardings(f"""
func.func @main(%a: tensor<50000xf32>) -> tensor<50000xf32> {{
  %0 = stablehlo.constant dense<"0x{data}"> : tensor<50000xf32>
  %1 = stablehlo.add %a, %0 {{note = "{data}"}} : tensor<50000xf32>
  return %1 : tensor<50000xf32>
}}
""")

    return step


CASES: dict[str, tuple[Callable[[], Step], int]] = {
    "same text": (same_text, 9_000),
    "same program": (same_program, 6_000),
    "12 layers, reports": (layers, 200),
    "random programs": (random_programs, 3_000),
    "random programs, reports": (random_reports, 2_000),
    "errors": (errors, 5_000),
    "from_jax": (from_jax, 300),
    "what_if": (what_if, 1_000),
    "results, reports": (same_reports, 300),
    "explanations": (explanations, 1_000),
    "large attributes": (large_attributes, 500),
}
"""What is repeated, and how often."""


def resident_bytes() -> int:
    """Returns the resident memory of the process (Linux), in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def serve(name: str, count: int) -> list[tuple[int, int]]:
    """Runs a case, and returns resident bytes and entries of the tables after each fortieth of the runs."""
    step = CASES[name][0]()
    samples: list[tuple[int, int]] = []
    for number in range(count):
        step(number)
        if len(samples) < (number + 1) * SAMPLES // count:
            gc.collect()
            samples.append((resident_bytes(), sum(SESSION.sizes.values())))
    return samples


def main() -> int:
    """Prints the table; returns 1 if a case is above the bound."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}; default: all")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the numbers of runs")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.cases or [*CASES]
    if options.here:
        print(json.dumps(serve(names[0], round(CASES[names[0]][1] * options.scale))))
        return 0
    above = 0
    print(
        f"{'case':20}{'runs':>6}{'peak MB, 1st half':>20}{'2nd half':>10}{'growth':>9}{'entries':>10}{'':>8}"
    )
    for name in names:
        command = [sys.executable, __file__, name, "--here", "--scale", str(options.scale)]
        samples = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        halves = samples[: len(samples) // 2], samples[len(samples) // 2 :]
        (first, before), (second, after) = (tuple(map(max, zip(*half, strict=True))) for half in halves)
        growth = second / first - 1
        above += growth > BOUND or after > SESSION.limit
        print(
            f"{name:20}{round(CASES[name][1] * options.scale):6}{first / 1e6:12.1f}{second / 1e6:12.1f}"
            f"{growth:12.1%}{before:12}{after:12}",
            flush=True,
        )
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
