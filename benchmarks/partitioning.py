"""What partitioning costs: beside propagation, by the number of layers, by the number of devices.

`partitioning.py [--devices N ...] [--layers N ...] [FAMILY ...]` prints a row for each program. Seconds are
those of the processor; `calls` counts calls of functions, which a loaded machine does not change. `largest
table` is the number of elements of the largest constant or list of devices in the printed program: only pairs
of permutes, which StableHLO lists device by device, may grow with the number of devices.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from time import process_time

from programs import corpus_program

from shardy_py import Program, Result, propagate

RATIO_OF = "transformer_train_48"
MODEL = 8
"""Devices along the axis `model`; the other ones are along `data`."""
_DENSE = re.compile(r"(\w+) = dense<[^:]*?> : tensor<((?:\d+x)*)\w+>")


def _function(data: int, arguments: str, body: Iterator[str], last: str) -> str:
    lines = "\n".join(body)
    axes = f'["data"={data}, "model"={MODEL}]'
    return f"sdy.mesh @mesh = <{axes}>\nfunc.func @main({arguments}) -> {last} {{\n{lines}\n}}\n"


def _sharded(type_: str, *axes: str) -> str:
    dims = ", ".join(f'{{"{axis}"}}' if axis else "{}" for axis in axes)
    return f"{type_} {{sdy.sharding = #sdy.sharding<@mesh, [{dims}]>}}"


def mlp(layers: int, data: int) -> str:
    """Pairs of matrix products, sharded along data and model: an all-reduce a layer."""
    rows, up, down = (f"tensor<{shape}xf32>" for shape in (f"{4 * data}x64", "64x256", "256x64"))
    wide = f"tensor<{4 * data}x256xf32>"
    weights = [
        text
        for layer in range(layers)
        for text in (
            f"%u{layer}: {_sharded(up, '', 'model')}",
            f"%d{layer}: {_sharded(down, 'model', '')}",
        )
    ]

    def body() -> Iterator[str]:
        value = "%x"
        for layer in range(layers):
            yield f"  %a{layer} = stablehlo.dot {value}, %u{layer} : ({rows}, {up}) -> {wide}"
            yield f"  %b{layer} = stablehlo.tanh %a{layer} : {wide}"
            yield f"  %c{layer} = stablehlo.dot %b{layer}, %d{layer} : ({wide}, {down}) -> {rows}"
            yield f"  %r{layer} = stablehlo.add %c{layer}, {value} : {rows}"
            value = f"%r{layer}"
        yield f"  return {value} : {rows}"

    return _function(data, ", ".join([f"%x: {_sharded(rows, 'data', '')}", *weights]), body(), rows)


def convolutions(layers: int, data: int) -> str:
    """Convolutions of images whose rows are sharded: permutes between neighbours."""
    image, kernel = f"tensor<{2 * data}x32x16x8xf32>", "tensor<3x3x8x8xf32>"

    def body() -> Iterator[str]:
        value = "%x"
        for layer in range(layers):
            yield (
                f"  %a{layer} = stablehlo.convolution({value}, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->"
                "[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, "
                f"feature_group_count = 1 : i64}} : ({image}, {kernel}) -> {image}"
            )
            value = f"%a{layer}"
        yield f"  return {value} : {image}"

    arguments = f"%x: {_sharded(image, 'data', 'model', '', '')}, %k: {kernel}"
    return _function(data, arguments, body(), image)


FAMILIES: dict[str, Callable[[int, int], str]] = {"mlp": mlp, "convolutions": convolutions}
"""Programs by the number of layers and the size of the axis `data`."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds and calls of propagation and partitioning; the bytes of the text and its largest table."""

    seconds: tuple[float, float]
    calls: tuple[int, int]
    text_bytes: int
    largest_table: int
    of_permutes: bool

    @staticmethod
    def of(text: str) -> Cost:
        """Measures twice: for seconds, and for calls, which takes longer."""
        results: list[Result] = []
        propagation = _seconds(lambda: results.append(propagate(Program.parse(text), progress=False)))
        partitioning = _seconds(lambda: results[0].partition())
        calls = _calls(lambda: results.append(propagate(Program.parse(text), progress=False)))
        local = []
        more_calls = _calls(lambda: local.append(results[1].partition()))
        printed = local[0].text()
        sizes = [(prod(map(int, m[2].split("x")[:-1])), m[1]) for m in _DENSE.finditer(printed)]
        largest, name = max(sizes, default=(0, ""))
        is_of_permutes = name == "source_target_pairs"
        return Cost((propagation, partitioning), (calls, more_calls), len(printed), largest, is_of_permutes)

    def row(self) -> str:
        """The row of a table."""
        table = f"{self.largest_table}{' (pairs)' if self.of_permutes else ''}"
        return (
            f"{self.seconds[0]:12.3f}{self.seconds[1]:12.3f}{self.seconds[1] / self.seconds[0]:8.2f}"
            f"{self.calls[0]:12}{self.calls[1]:12}{self.text_bytes:13}  {table}"
        )


HEADER = (
    f"{'propagate':>12}{'partition':>12}{'ratio':>8}{'calls':>12}{'calls':>12}{'text bytes':>13}"
    "  largest table"
)


def _seconds(work: Callable[[], object]) -> float:
    gc.collect()
    start = process_time()
    work()
    return process_time() - start


def _calls(work: Callable[[], object]) -> int:
    profile = cProfile.Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("families", nargs="*", default=list(FAMILIES), help=f"of {', '.join(FAMILIES)}")
    parser.add_argument("--devices", nargs="*", type=int, default=[8, 1024, 65_536, 1_048_576])
    parser.add_argument("--layers", nargs="*", type=int, default=[8, 16, 32, 64])
    options = parser.parse_args()
    gc.disable()  # as the commands do
    Cost.of(mlp(2, 1))  # loads what is loaded on use
    found = corpus_program(RATIO_OF)
    print(f"{'':24}{HEADER}")
    if found is not None:
        print(f"{RATIO_OF:24}{Cost.of(found.text).row()}", flush=True)
    for name in options.families:
        for layers in options.layers:
            print(f"{f'{name}, {layers} layers':24}{Cost.of(FAMILIES[name](layers, 4)).row()}", flush=True)
        for devices in options.devices:
            text = FAMILIES[name](8, max(1, devices // MODEL))
            print(f"{f'{name}, {devices} devices':24}{Cost.of(text).row()}", flush=True)


if __name__ == "__main__":
    main()
