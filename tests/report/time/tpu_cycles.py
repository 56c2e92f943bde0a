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
from collections.abc import Iterator
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
"""Products and convolutions that were compiled after the rules were made."""
WINDOWS = {"v5e": (1024, 1024, 384), "v5p": (1024, 1024, 384), "v6e": (2048, 1024, 512)}
"""The rows, columns and summed elements of the windows of two products of f32, by XLA's `window_config`."""
TYPES = ("bf16", "f32")


def programs() -> Iterator[tuple[str, str]]:
    """The programs as text, by name."""
    later = [sizes for sizes in LATER if len(sizes) == 3]
    for (rows, depth, columns), element in product((*PRODUCTS, *later), TYPES):
        left, right = f"tensor<{rows}x{depth}x{element}>", f"tensor<{depth}x{columns}x{element}>"
        op = "stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]"
        name = f"product {rows} {depth} {columns} {element}"
        yield name, _program(op, left, right, f"tensor<{rows}x{columns}x{element}>")
    others = [sizes for sizes in LATER if len(sizes) == 5]
    for (images, size, features, made, kernel), element in product((*CONVOLUTIONS, *others), TYPES):
        image = f"tensor<{images}x{size}x{size}x{features}x{element}>"
        pad = kernel // 2
        op = (
            "stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
            f"window = {{pad = [[{pad}, {pad}], [{pad}, {pad}]]}} "
            "{batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
        )
        name = f"convolution {images} {size} {features} {made} {kernel} {element}"
        right = f"tensor<{kernel}x{kernel}x{features}x{made}x{element}>"
        yield name, _program(op, image, right, f"tensor<{images}x{size}x{size}x{made}x{element}>")


def _program(op: str, left: str, right: str, made: str) -> str:
    return (
        f"func.func public @main(%a: {left}, %b: {right}) -> {made} {{\n"
        f"  %0 = {op} : ({left}, {right}) -> {made}\n  return %0 : {made}\n}}\n"
    )


def compile_all(target: str) -> dict[str, int]:
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
    options = compiler.get_compile_options(1, 1, np.array([[0]]))
    found: dict[str, int] = {}
    for name, text in programs():
        with mlir.make_ir_context():
            made = devices[0].client.compile(
                ir.Module.parse(text),
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


def window_rate(chip: str) -> float:
    """The bytes a second at which XLA:TPU takes both operands of a product to be read in windows.

    It divides the bytes of two windows by the cycles that a window more adds to each part of the result.
    """
    rows, columns, depth = WINDOWS[chip]
    known, parts = json.loads(CYCLES.read_text())[chip], list[tuple[float, int]]()
    for height, summed, width in ((8192, 8192, 8192), (4096, 14336, 4096)):
        cycles = known[f"product {height} {summed} {width} f32"]
        parts.append((cycles / (height // rows * (width // columns)), -(-summed // depth)))
    (first, few), (second, many) = parts
    return 4 * depth * (rows + columns) * CLOCKS[chip] * (many - few) / (second - first)


def main() -> None:
    """Prints the ratios, and how many are close; or compiles."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--target", nargs="*", default=[f"tpu-{name}" for name in CLOCKS])
    parser.add_argument("--compile", choices=CLOCKS)
    given = parser.parse_args()
    if given.compile:
        print(json.dumps(compile_all(given.compile), indent=1))
        return
    for target in given.target:
        found = ratios(target)
        for name, ratio in found.items():
            print(f"{target} {name:44} {ratio:.2f}")
        later = {name for name in found if tuple(map(int, name.split()[1:-1])) in LATER}
        for kind, element in product(("product", "convolution"), TYPES):
            own = [name for name in found if name.startswith(kind) and name.endswith(element)]
            _say(f"{target}, {kind}s of {element}", [found[name] for name in own if name not in later])
        _say(f"{target}, compiled later", [found[name] for name in later])


def _say(what: str, own: list[float]) -> None:
    close = sum(abs(ratio - 1) <= CLOSE for ratio in own)
    print(
        f"{what}: {close} of {len(own)} within 15 %, "
        f"{min(own):.2f} to {max(own):.2f}, mean {geometric_mean(own):.2f}"
    )


if __name__ == "__main__":
    main()
