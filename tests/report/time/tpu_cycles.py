"""Products and convolutions beside the cycles that XLA:TPU estimates for them.

    python -m tests.report.time.tpu_cycles [--target tpu-v6e ...]
    python -m tests.report.time.tpu_cycles --compile v5e > cycles.json

The first prints forecast / XLA for each program of `tpu_cycles.json`, from 2,048 on in each dimension, and
how many are within 15 %. The second wants an environment with `jax[tpu]`, and no device. Cycles are those of
the op itself: without copies into the order of dimensions of a result.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import geometric_mean

CYCLES = Path(__file__).with_suffix(".json")
CLOCKS = {"v5e": 1.5e9, "v5p": 1.75e9, "v6e": 1.75e9}
"""Cycles a second: the peak rate over the operations of matrix units in a cycle."""
TOPOLOGIES = {"v5e": "v5e:2x4", "v5p": "v5p:2x2x2", "v6e": "v6e:2x4"}
CLOSE = 0.15
PRODUCTS = (
    *((size,) * 3 for size in (2048, 3072, 4096, 6144, 8192, 4000)),
    *((2048, 4096, 2048), (2048, 8192, 2048), (8192, 2048, 8192), (4096, 2048, 4096), (4096, 8192, 4096)),
    *((8192, 4096, 2048), (2048, 2048, 8192), (8192, 2048, 2048), (16384, 2048, 2048), (4096, 14336, 4096)),
    *((4096, 4096, 14336), (2048, 5120, 5120), (3000, 5000, 2500)),
)
"""Rows, contracted size, columns."""
CONVOLUTIONS = (
    *((32, 64, 256, 256, 3), (32, 32, 256, 256, 3), (64, 28, 512, 512, 3), (32, 64, 512, 512, 3)),
    *((32, 64, 256, 256, 5), (256, 14, 1024, 1024, 3), (32, 64, 256, 512, 3), (32, 64, 512, 256, 3)),
)
"""Images, their rows and columns, features, features made, rows and columns of the kernel."""
LATER = (
    *(
        (5120, 10240, 5120),
        (7168, 7168, 7168),
        (12288, 4096, 12288),
        (9216, 9216, 9216),
        (12288, 12288, 4096),
    ),
    *((3584, 18944, 3584), (2560, 6912, 2560), (2304, 9216, 2304), (16384, 4096, 4096), (32768, 2048, 2048)),
    *((5000, 3000, 7000), (10240, 10240, 10240), (16, 32, 384, 384, 3), (128, 16, 512, 1024, 3)),
)
"""Products and convolutions that were compiled after the first rules were made."""
LATER_STILL = (
    *("product 8192 4096 14336", "product 8192 14336 4096", "product 4096 4096 6144"),  # Llama 3 8B
    *("product 2048 4096 128256", "product 4096 8192 28672", "product 4096 28672 8192"),  # and 70B
    *("product 4096 3584 14336", "product 8192 2048 16384", "batches 8 2048 4096 14336"),  # Gemma, Mixtral
    *("product 2049 2300 4111", "product 5003 2999 2311", "product 6000 2200 10000"),  # odd sizes
    *("left 4096 8192 4096", "left 2048 6144 8192", "right 4096 4096 11008", "right 3000 8192 3000"),
    *("batches 32 2048 128 2048", "batches 32 2048 2048 128", "batches 16 4096 256 4096"),  # attention
    *("convolution 16 56 256 256 3", "convolution 8 128 128 256 3", "convolution 32 56 256 512 1"),
)
"""Programs that were compiled after the costs of windows were known: a left or right operand is transposed,
or products are batched. Four rules were made or corrected by them: all numbers of windows are tried, an
operand that is fetched before is there once, of all convolutions the kernel is fetched, and weights of all
positions of a kernel take tiles together."""
HELD_OUT = (
    *("product 4096 4096 11008", "product 4096 11008 4096", "product 8192 8192 29568"),  # Llama 2, Qwen 2
    *("product 4096 4608 36864", "product 16384 4096 6144", "product 2048 12288 49152"),  # Gemma 2, Mistral
    *("product 4096 2304 256000", "product 4096 7168 18432", "product 3456 2944 5504"),
    *("product 2500 3100 4200", "product 7001 2048 4096"),  # odd sizes
    *("left 8192 4096 14336", "left 3584 8192 3584", "right 8192 14336 4096", "right 2304 4096 9216"),
    *("batches 8 4096 2048 8192", "batches 64 2048 64 2048", "batches 24 2048 2048 128"),
    *("batches 4 3072 3072 3072", "convolution 64 56 128 128 3", "convolution 32 28 768 768 3"),
    *("convolution 128 14 512 2048 1", "convolution 16 64 384 512 5"),
)
"""Programs that were compiled once all rules were final."""
EXPERIMENTS = (
    *("product 256 256 256 f32", "product 256 256 256 f32 read", "product 512 512 512 f32 read"),
    *("product 2048 4096 1024 bf16", "product 2048 4096 2048 bf16"),
)
"""Programs whose cycles show the costs of windows (`window_costs.py`); read: no operand is fetched before."""
TYPES = ("bf16", "f32")
NOT_FETCHED = ("xla_msa_max_cross_program_prefetches", "xla_max_cross_program_prefetches")
"""Options for how many operands of a program are fetched before it starts."""


def programs() -> Iterator[tuple[str, str]]:
    """The programs as text, by name."""
    later = [_named(sizes) for sizes in LATER]
    products = [_named(sizes) for sizes in (*PRODUCTS, *CONVOLUTIONS)]
    for name, element in product((*products, *later, *LATER_STILL, *HELD_OUT), TYPES):
        yield f"{name} {element}", program(f"{name} {element}")


def _named(sizes: tuple[int, ...]) -> str:
    """The name of a program without its element type."""
    kind = "product" if len(sizes) == 3 else "convolution"
    return " ".join((kind, *map(str, sizes)))


def program(name: str) -> str:
    """The text of a program."""
    kind, *rest = name.removesuffix(" read").split()
    *numbers, element = rest
    sizes = [*map(int, numbers)]
    return _convolution(sizes, element) if kind == "convolution" else _product(kind, sizes, element)


def _product(kind: str, sizes: Sequence[int], element: str) -> str:
    *batches, rows, depth, columns = sizes
    left, right = [[*batches, rows, depth], [*batches, depth, columns]]
    first = len(batches)
    contracted = [first + 1, first]
    if kind in ("left", "right"):
        turned = kind == "right"
        (left, right)[turned].reverse()
        contracted[turned] = 1 - contracted[turned]
    batching = "batching_dims = [0] x [0], " if batches else ""
    op = f"stablehlo.dot_general %a, %b, {batching}contracting_dims = [{contracted[0]}] x [{contracted[1]}]"
    return _program(op, *(_type(shape, element) for shape in (left, right, [*batches, rows, columns])))


def _convolution(sizes: Sequence[int], element: str) -> str:
    images, size, features, made, kernel = sizes
    pad = kernel // 2
    op = (
        "stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
        f"window = {{pad = [[{pad}, {pad}], [{pad}, {pad}]]}} "
        "{batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
    )
    shapes = [images, size, size, features], [kernel, kernel, features, made], [images, size, size, made]
    return _program(op, *(_type(shape, element) for shape in shapes))


def _type(shape: Sequence[int], element: str) -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def _program(op: str, left: str, right: str, made: str) -> str:
    return (
        f"func.func public @main(%a: {left}, %b: {right}) -> {made} {{\n"
        f"  %0 = {op} : ({left}, {right}) -> {made}\n  return %0 : {made}\n}}\n"
    )


def compile_all(target: str, names: Iterable[str]) -> dict[str, int]:
    """The cycles of each program as XLA:TPU estimates them."""
    os.environ |= {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "TPU_WORKER_HOSTNAMES": "localhost"}
    import jax
    import numpy as np
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]
    from jax._src.lib.mlir import ir  # pyright: ignore[reportPrivateImportUsage]
    from jax.experimental import topologies

    devices = topologies.get_topology_desc(platform="tpu", topology_name=TOPOLOGIES[target]).devices[:1]
    found: dict[str, int] = {}
    for name in names:
        options = compiler.get_compile_options(1, 1, np.array([[0]]))
        if name.endswith(" read"):
            options.env_option_overrides = [(each, "0") for each in NOT_FETCHED]
        with mlir.make_ir_context():
            made = devices[0].client.compile(
                ir.Module.parse(program(name)),
                executable_devices=xla_client.DeviceList(tuple(devices)),
                compile_options=options,
            )
        hlo = made.hlo_modules()[0].to_string()
        cycles = re.findall(r'"estimated_cycles":"(\d+)"[^}]*COST_MODEL_TYPE_CLASSIC', hlo)
        found[name] = sum(map(int, cycles))
        print(name, found[name], jax.__version__, file=sys.stderr, flush=True)
    return found


def ratios(target: str) -> dict[str, float]:
    """By program the forecast over XLA's estimate. target: tpu-v5e, ..."""
    from shardy_py import Program, propagate

    known = json.loads(CYCLES.read_text())[target.removeprefix("tpu-")]
    found: dict[str, float] = {}
    for name, text in programs():
        if name in known:
            report = propagate(Program.parse(text, as_compiled=False), progress=False).time(
                target, target=target
            )
            found[name] = report.serial * CLOCKS[target.removeprefix("tpu-")] / known[name]
    return found


def main() -> None:
    """Prints the ratios, and how many are close; or compiles."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--target", nargs="*", default=[f"tpu-{name}" for name in CLOCKS])
    parser.add_argument("--compile", choices=CLOCKS)
    given = parser.parse_args()
    if given.compile:
        names = dict.fromkeys((*EXPERIMENTS, *(name for name, _ in programs())))
        print(json.dumps(compile_all(given.compile, names), indent=1))
        return
    for target in given.target:
        found = ratios(target)
        for name, ratio in found.items():
            print(f"{target} {name:44} {ratio:.2f}")
        later = {_named(sizes) for sizes in LATER}
        others = {"later still": LATER_STILL, "last": HELD_OUT}
        for kind, element in product(("product", "convolution"), TYPES):
            own = [name for name in found if name.startswith(kind) and name.endswith(element)]
            own = [name for name in own if _untyped(name) not in (*later, *LATER_STILL, *HELD_OUT)]
            _say(f"{target}, {kind}s of {element}", [found[name] for name in own])
        _say(f"{target}, compiled later", [found[name] for name in found if _untyped(name) in later])
        for when, element in product(others, TYPES):
            own = [name for name in found if name.endswith(element) and _untyped(name) in others[when]]
            _say(f"{target}, compiled {when}, of {element}", [found[name] for name in own])


def _untyped(name: str) -> str:
    """The name of a program without its element type."""
    return name.rpartition(" ")[0]


def _say(what: str, own: list[float]) -> None:
    if not own:
        return
    close = sum(abs(ratio - 1) <= CLOSE for ratio in own)
    print(
        f"{what}: {close} of {len(own)} within 15 %, "
        f"{min(own):.2f} to {max(own):.2f}, mean {geometric_mean(own):.2f}"
    )


if __name__ == "__main__":
    main()
