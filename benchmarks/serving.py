"""A process that serves for long: `python benchmarks/serving.py [--programs 10000] [--threads 4]`.

Small programs, all different in ops, shapes, meshes and names, go through all reports in one process. Shown
is its resident memory after some of them, which is to be as much after 10,000 as after 2,000. With threads,
the texts of all reports are compared with those of one thread.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import process_time

from process_memory import resident_bytes

from shardy_py import P, Program, Result, ShardyError, propagate
from shardy_py.base.session import SESSION

MARKS = (100, 1_000, 2_000, 5_000, 10_000)
BOUND = 1.05
"""The most growth from the second thousand of programs to the last."""
UNARY = ("tanh", "negate", "abs", "exponential", "cosine", "logistic", "sqrt", "floor")
BINARY = ("add", "multiply", "subtract", "maximum", "minimum", "divide")
TARGETS = ("h100", "tpu-v5e", "tpu-v5p")


def small_program(number: int) -> str:
    """The text of a program of a few ops, another one for each number."""
    draw = random.Random(number)
    sizes = [draw.choice((2, 3, 4, 8)) for _ in range(draw.randint(1, 3))]
    axes = [f"{draw.choice('abcxyz')}{number}_{i}" for i in range(len(sizes))]
    rows, columns, inner = (draw.choice((2, 3, 4, 6, 8)) * draw.randint(1, 400) for _ in range(3))
    mesh = ", ".join(f'"{axis}"={size}' for axis, size in zip(axes, sizes, strict=True))
    type_, weight = f"tensor<{rows}x{columns}xf32>", f"tensor<{columns}x{inner}xf32>"
    result = f"tensor<{rows}x{inner}xf32>"
    lines: list[str] = []
    for i in range(draw.randint(1, 4)):
        value = f"%{i - 1}" if i else "%a"
        op = draw.choice((*UNARY, *BINARY))
        operands = value if op in UNARY else f"{value}, %a"
        lines.append(f"%{i} = stablehlo.{op} {operands} : {type_}")
    last = f"%{len(lines) - 1}"
    if draw.random() < 0.5:
        lines.append(f'{last}c = sdy.sharding_constraint {last} <@mesh, [{{}}, {{"{axes[-1]}"}}]> : {type_}')
        last += "c"
    lines.append(
        f"%p = stablehlo.dot_general {last}, %w, contracting_dims = [1] x [0]"
        f" : ({type_}, {weight}) -> {result}"
    )
    body = "\n  ".join(lines)
    return f"""sdy.mesh @mesh = <[{mesh}]>
func.func @main(%a: {type_} {{sdy.sharding = #sdy.sharding<@mesh, [{{"{axes[0]}"}}, {{?}}]>}},
                %w: {weight}) -> {result} {{
  {body}
  return %p : {result}
}}
"""


def reports(result: Result, number: int) -> Iterator[Callable[[], str]]:
    """All reports of a result, as text; of the targets one after the other."""
    value, target = result.values[-1], TARGETS[number % len(TARGETS)]
    yield result.text
    yield lambda: str(result.communication())
    yield lambda: str(result.communication(partitioner="shardy"))
    yield lambda: str(result.memory("tpu"))
    yield lambda: str(result.memory(target))
    yield lambda: str(result.time(target))
    yield lambda: str(result.explain(value))
    yield lambda: str(result.why_not(value, 0, next(iter(result.program.meshes["mesh"].sizes))))
    yield lambda: str(result.what_if({result.values[0].name: P()}).changes)
    yield lambda: str(result.check())
    yield lambda: result.partition().text()
    yield lambda: str(result.summary())
    yield lambda: str(len(result.explorer().html))


def served(number: int) -> str:
    """A key of the texts of all reports on a program."""
    found = hashlib.sha1(usedforsecurity=False)
    try:
        result = propagate(Program.parse(small_program(number)), progress=False)
        for report in reports(result, number):
            try:
                found.update(report().encode())
            except ShardyError as error:
                found.update(str(error).encode())
    except ShardyError as error:
        found.update(str(error).encode())
    return found.hexdigest()


def _kinds() -> Counter[str]:
    gc.collect()
    return Counter(type(each).__qualname__ for each in gc.get_objects())


def memory_of(programs: int, *, with_types: bool) -> int:
    """Prints the resident memory after programs; returns 1 if it grows."""
    marks = [mark for mark in (*MARKS, programs) if mark <= programs]
    sizes: dict[int, float] = {}
    counts: Counter[str] | None = None
    start = process_time()
    for number in range(programs):
        served(number)
        if number + 1 in marks and number + 1 not in sizes:
            gc.collect()
            sizes[number + 1] = resident_bytes() / 1e6
            entries = sum(SESSION.sizes.values())
            took = (process_time() - start) / (number + 1)
            print(
                f"{number + 1:8,}{sizes[number + 1]:10.1f} MB{entries:10,} entries{took:8.3f} s", flush=True
            )
            if with_types:
                now = _kinds()
                grown = now - counts if counts is not None else now
                print("   ", ", ".join(f"{name} {count:,}" for name, count in grown.most_common(12)))
                counts = now
    base = sizes.get(2_000, min(sizes.values()))
    return int(sizes[programs] > BOUND * base)


def equal_in_threads(programs: int, threads: int) -> int:
    """Prints how many programs have other reports in threads than alone; returns 1 if any has."""
    with ThreadPoolExecutor(threads) as pool:
        together = [*pool.map(served, range(programs))]
    alone = [*map(served, range(programs))]
    different = [
        number for number, pair in enumerate(zip(together, alone, strict=True)) if pair[0] != pair[1]
    ]
    print(f"{programs:,} programs in {threads} threads: {len(different)} differ {different[:10]}")
    return int(bool(different))


def main() -> int:
    """Prints the table; returns 1 if memory grows, or threads change a report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--programs", type=int, default=MARKS[-1])
    parser.add_argument("--threads", type=int, default=0, help="compare with one thread instead")
    parser.add_argument("--types", action="store_true", help="print the types of which there are more")
    options = parser.parse_args()
    if options.threads:
        return equal_in_threads(options.programs, options.threads)
    return memory_of(options.programs, with_types=options.types)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    sys.exit(main())
