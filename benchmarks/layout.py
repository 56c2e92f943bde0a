"""Times packing and unpacking of tiled layouts, relative to a numpy copy of the same bytes.

    python benchmarks/layout.py

prints one line a layout: milliseconds of the copy, then the speeds of `pack` and `unpack` as shares of its
speed (1.00: as fast). Copy, pack and unpack take turns in one process, so that a busy machine slows all
three; the shares are of the fastest runs, and medians of the shares of each turn.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from statistics import median
from time import perf_counter

import numpy as np

from shardy_py.indexing.layout import Layout, element_type, pack, parse_array, unpack

SHAPES = (
    "f32[4096,4096]{1,0:T(8,128)}",
    "f32[4099,4093]{1,0:T(8,128)}",
    "f32[65536,2,128]{2,1,0:T(2,128)}",
    "f32[4096,4096]{1,0}",
    "f32[4096,4096]{0,1:T(8,128)}",
    "f64[4096,2048]{1,0:T(8,128)}",
    "bf16[4096,8192]{1,0:T(8,128)(2,1)}",
    "s8[8192,8192]{1,0:T(8,128)(4,1)}",
    "s4[8192,8192]{1,0:T(8,128)(8,1)E(4)}",
)
"""Shapes of about 64 MiB each."""
RUNS = 15


def timed(run: Callable[[], object]) -> float:
    start = perf_counter()
    run()
    return perf_counter() - start


def measure(text: str) -> None:
    shape = parse_array(text)
    layout = shape.layout or Layout(())
    dtype = element_type(shape.element_type).dtype
    values = np.random.default_rng(0).integers(0, 8, prod(shape.dimensions), dtype=np.uint8)
    array = values.astype(dtype).reshape(shape.dimensions)
    buffer = pack(array, layout)
    assert unpack(buffer, layout, shape).tobytes() == array.tobytes()
    copies, packs, unpacks = zip(
        *(
            (
                timed(array.copy),
                timed(lambda: pack(array, layout)),
                timed(lambda: unpack(buffer, layout, shape)),
            )
            for _ in range(RUNS)
        ),
        strict=True,
    )
    fastest = [min(copies) / min(times) for times in (packs, unpacks)]
    typical = [median(a / b for a, b in zip(copies, times, strict=True)) for times in (packs, unpacks)]
    shares = [f"{share:5.2f}" for share in (*fastest, *typical)]
    print(f"{text:40} {min(copies) * 1e3:8.1f} ms   {shares[0]} {shares[1]}   {shares[2]} {shares[3]}")


def main() -> None:
    print(f"{'':40} {'copy':>11}    pack unpack (fastest)  pack unpack (median)")
    for text in SHAPES:
        measure(text)


if __name__ == "__main__":
    main()
