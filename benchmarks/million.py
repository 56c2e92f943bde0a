"""Programs of up to a million ops, layers repeated: `python benchmarks/million.py [--ops 1000000]`.

A transformer's forward pass, a quarter of the size and the whole, each in a process of its own: CPU
microseconds an op of the propagation pipeline, and the growth of resident memory, the text and the parsed
module included. Bounds: 35 us and 1,900 bytes an op, at both sizes.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
from time import process_time

BOUNDS = {"passes, us": 35, "memory, bytes": 1900}
WIDTH, INNER, BATCH = 1024, 4096, 512
HEAD = f"""sdy.mesh @mesh = <["data"=8, "model"=4]>
func.func @main(%x: tensor<{BATCH}x{WIDTH}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"data"}}, {{}}]>}},
    %up: tensor<{WIDTH}x{INNER}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"model"}}]>}},
    %gate: tensor<{WIDTH}x{INNER}xf32>, %down: tensor<{INNER}x{WIDTH}xf32>,
    %query: tensor<{WIDTH}x{WIDTH}xf32>, %key: tensor<{WIDTH}x{WIDTH}xf32>) -> tensor<{BATCH}x{WIDTH}xf32> {{
"""
ROWS, SQUARE, WIDE = f"tensor<{BATCH}xf32>", f"tensor<{BATCH}x{BATCH}xf32>", f"tensor<{BATCH}x{INNER}xf32>"
FULL = f"tensor<{BATCH}x{WIDTH}xf32>"


def _dot(left: str, right: str, dimensions: str, types: str) -> str:
    return f"stablehlo.dot_general {left}, {right}, contracting_dims = {dimensions} : {types}"


def _over_rows(op: str, value: str, initial: str, type_: str) -> str:
    across = f"applies stablehlo.{op} across dimensions = [1]"
    return f"stablehlo.reduce({value} init: {initial}) {across} : ({type_}, tensor<f32>) -> {ROWS}"


def _broadcast(value: str, type_: str) -> str:
    return f"stablehlo.broadcast_in_dim {value}, dims = [0] : ({ROWS}) -> {type_}"


_WEIGHT, _UP = f"tensor<{WIDTH}x{WIDTH}xf32>", f"tensor<{WIDTH}x{INNER}xf32>"
_DOWN = f"tensor<{INNER}x{WIDTH}xf32>"
_SPLAT = f"stablehlo.constant dense<2.0> : {FULL}"
LAYER = [
    "stablehlo.constant dense<0.0> : tensor<f32>",
    f"stablehlo.multiply $x, $x : {FULL}",
    _over_rows("add", "$1", "$0", FULL),
    f"stablehlo.rsqrt $2 : {ROWS}",
    _broadcast("$3", FULL),
    f"stablehlo.multiply $x, $4 : {FULL}",
    _dot("$5", "%query", "[1] x [0]", f"({FULL}, {_WEIGHT}) -> {FULL}"),
    _dot("$5", "%key", "[1] x [0]", f"({FULL}, {_WEIGHT}) -> {FULL}"),
    _dot("$6", "$7", "[1] x [1]", f"({FULL}, {FULL}) -> {SQUARE}"),
    _over_rows("maximum", "$8", "$0", SQUARE),
    _broadcast("$9", SQUARE),
    f"stablehlo.subtract $8, $10 : {SQUARE}",
    f"stablehlo.exponential $11 : {SQUARE}",
    _over_rows("add", "$12", "$0", SQUARE),
    _broadcast("$13", SQUARE),
    f"stablehlo.divide $12, $14 : {SQUARE}",
    _dot("$15", "$5", "[1] x [0]", f"({SQUARE}, {FULL}) -> {FULL}"),
    f"stablehlo.add $x, $16 : {FULL}",
    _dot("$17", "%up", "[1] x [0]", f"({FULL}, {_UP}) -> {WIDE}"),
    _dot("$17", "%gate", "[1] x [0]", f"({FULL}, {_UP}) -> {WIDE}"),
    f"stablehlo.logistic $19 : {WIDE}",
    f"stablehlo.multiply $18, $20 : {WIDE}",
    _dot("$21", "%down", "[1] x [0]", f"({WIDE}, {_DOWN}) -> {FULL}"),
    _SPLAT,
    f"stablehlo.multiply $22, $23 : {FULL}",
    f"stablehlo.add $17, $24 : {FULL}",
]
"""The ops of a layer; $x is its input, $n the result of its op n, the last one its output."""


def program(ops: int) -> str:
    """The text of a program of about that many ops."""
    lines: list[str] = []
    before = "%x"
    for layer in range(ops // (len(LAYER) + 6)):  # a reduce has an op and a terminator inside
        first = layer * len(LAYER)
        for number, line in enumerate(LAYER):
            words = line.replace("$x", before).split("$")
            text = words[0] + "".join(_named(word, first) for word in words[1:])
            lines.append(f"  %{first + number} = {text}")
        before = f"%{first + len(LAYER) - 1}"
    return HEAD + "\n".join(lines) + f"\n  return {before} : {FULL}\n}}\n"


def _named(word: str, first: int) -> str:
    digits = len(word) - len(word.lstrip("0123456789"))
    return f"%{first + int(word[:digits])}{word[digits:]}"


def figures(ops: int) -> dict[str, float]:
    """The figures of one program, in this process; without garbage collection, as in `sdy-opt`."""
    gc.disable()
    from shardy_py.mlir.dialects import parse_module
    from shardy_py.mlir.ir import walk_pre_order
    from shardy_py.passes.pipelines import propagation_passes
    from shardy_py.passes.runner import run_passes

    run_passes(parse_module(program(100)), propagation_passes())  # loads all that is needed
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = process_time()
    module = parse_module(program(ops))
    parsed = process_time()
    count = sum(1 for _ in walk_pre_order(module))
    again = process_time()
    run_passes(module, propagation_passes())
    seconds = process_time() - again
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    sharded = sum("sdy.sharding" in op.attributes for op in walk_pre_order(module))
    return {
        "ops": count,
        "sharded": sharded,
        "parse, us": 1e6 * (parsed - started) / count,
        "passes, us": 1e6 * seconds / count,
        "memory, bytes": grown / count,
    }


def main() -> None:
    """Prints a table of both sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ops", type=int, default=1_000_000)
    parser.add_argument("--figures", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.figures:
        print(json.dumps(figures(options.ops)))
        return
    for ops in (options.ops // 4, options.ops):
        command = [sys.executable, __file__, "--ops", str(ops), "--figures"]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(f"{found.pop('ops'):,} ops, {found.pop('sharded'):,} of them with a sharding")
        for name, value in found.items():
            bound = f"   bound {BOUNDS[name]:,}" if name in BOUNDS else ""
            print(f"  {name:16}{value:10,.1f}{bound}", flush=True)


if __name__ == "__main__":
    main()
