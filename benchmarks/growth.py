"""How the cost of a program grows with it: `python benchmarks/growth.py [FAMILY ...] [--scale 1.0]`.

Each family grows one quantity of a program: arguments, rank, uses, results, groups, priorities, ... The table
shows the CPU seconds that reading, verifying, propagating and printing take at two sizes, one four times the
other, and the exponent e of seconds ~ size^e between them, of each step that takes longer than 50 ms.
Bound: 1.2.
"""

from __future__ import annotations

import argparse
import gc
import math
import sys
from collections.abc import Callable, Iterable
from time import process_time

from shardy_py import pipeline

BOUND = 1.2
FACTOR = 4
NOISE = 0.05
"""Seconds below which an exponent says nothing."""

MESH = 'sdy.mesh @mesh = <["x"=2, "y"=2]>\n'
ROW = "tensor<8xf32>"
SHARDED = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}'


def _function(arguments: Iterable[str], body: Iterable[str], result: str, type_: str = ROW) -> str:
    lines = "\n".join(f"  {line}" for line in body)
    signature = ", ".join(arguments)
    return f"{MESH}func.func @main({signature}) -> {type_} {{\n{lines}\n  return {result} : {type_}\n}}\n"


def arguments(n: int) -> str:
    """A function of n arguments, of which one is used."""
    names = [f"%a{i}: {ROW} {SHARDED if i % 3 == 0 else ''}" for i in range(n)]
    return _function(names, [], "%a0")


def rank(n: int) -> str:
    """A chain of element-wise ops on tensors of rank n."""
    type_ = f"tensor<{'2x' * n}f32>"
    dims = ", ".join('{"x"}' if i == 0 else "{?}" for i in range(n))
    body = [
        "%0 = stablehlo.add %a, %a : " + type_,
        *(f"%{i} = stablehlo.tanh %{i - 1} : {type_}" for i in range(1, 5)),
    ]
    return _function([f"%a: {type_} {{sdy.sharding = #sdy.sharding<@mesh, [{dims}]>}}"], body, "%4", type_)


def constant_uses(n: int) -> str:
    """One constant with n uses."""
    body = [f"%c = stablehlo.constant dense<1.0> : {ROW}", f"%0 = stablehlo.add %a, %c : {ROW}"]
    body += (f"%{i} = stablehlo.add %{i - 1}, %c : {ROW}" for i in range(1, n))
    return _function([f"%a: {ROW} {SHARDED}"], body, f"%{n - 1}")


def results(n: int) -> str:
    """An op with n operands and n results."""
    operands = ", ".join(["%a"] * n)
    types = ", ".join([ROW] * n)
    body = [f"%0:{n} = stablehlo.optimization_barrier {operands} : {types}"]
    return _function([f"%a: {ROW} {SHARDED}"], body, "%0#0")


def dead_users(n: int) -> str:
    """A value with n unused users."""
    body = (f"%{i} = stablehlo.tanh %a : {ROW}" for i in range(n))
    return _function([f"%a: {ROW} {SHARDED}"], body, "%a")


def one_group(n: int) -> str:
    """n values in one sharding group."""
    body = [
        line
        for i in range(n)
        for line in (f"%{i} = stablehlo.tanh %a : {ROW}", f"sdy.sharding_group %{i} group_id=0 : {ROW}")
    ]
    return _function([f"%a: {ROW} {SHARDED}"], body, "%0")


def groups(n: int) -> str:
    """n groups of two values."""
    body = [
        line
        for i in range(n)
        for line in (
            f"%{i} = stablehlo.tanh %a : {ROW}",
            f"sdy.sharding_group %{i} group_id={i} : {ROW}",
            f"%b{i} = stablehlo.negate %a : {ROW}",
            f"sdy.sharding_group %b{i} group_id={i} : {ROW}",
        )
    ]
    return _function([f"%a: {ROW} {SHARDED}"], body, "%0")


def loop_values(n: int) -> str:
    """A loop that carries n values."""
    types = ", ".join(["tensor<i32>", *[ROW] * n])
    starts = ", ".join(["%i = %c", *(f"%v{i} = %a" for i in range(n))])
    body = [
        "%c = stablehlo.constant dense<0> : tensor<i32>",
        f"%r:{n + 1} = stablehlo.while({starts}) : {types}",
        "cond {",
        "  %p = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "  stablehlo.return %p : tensor<i1>",
        "} do {",
        *(f"  %w{i} = stablehlo.tanh %v{i} : {ROW}" for i in range(n)),
        f"  stablehlo.return {', '.join(['%i', *(f'%w{i}' for i in range(n))])} : {types}",
        "}",
    ]
    return _function([f"%a: {ROW} {SHARDED}"], body, "%r#1")


def priorities(n: int) -> str:
    """n arguments, each sharded with a priority of its own, and an op each."""
    names = [f'%a{i}: {ROW} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}p{i}]>}}' for i in range(n)]
    body = (f"%{i} = stablehlo.tanh %a{i} : {ROW}" for i in range(n))
    return _function(names, body, "%0")


def chain(n: int) -> str:
    """n ops, each used by the next."""
    body = [
        f"%0 = stablehlo.tanh %a : {ROW}",
        *(f"%{i} = stablehlo.tanh %{i - 1} : {ROW}" for i in range(1, n)),
    ]
    return _function([f"%a: {ROW} {SHARDED}"], body, f"%{n - 1}")


def calls(n: int) -> str:
    """n functions, each of which calls the next one."""
    functions = "".join(
        f"func.func private @f{i}(%x: {ROW}) -> {ROW} {{\n"
        + (
            f"  %0 = call @f{i + 1}(%x) : ({ROW}) -> {ROW}\n  return %0 : {ROW}\n}}\n"
            if i < n - 1
            else f"  return %x : {ROW}\n}}\n"
        )
        for i in range(n)
    )
    return _function([f"%a: {ROW} {SHARDED}"], [f"%0 = call @f0(%a) : ({ROW}) -> {ROW}"], "%0") + functions


FAMILIES: dict[str, tuple[Callable[[int], str], int]] = {
    "arguments": (arguments, 12_500),
    "rank": (rank, 250),
    "constant uses": (constant_uses, 6_000),
    "results": (results, 10_000),
    "dead users": (dead_users, 10_000),
    "one group": (one_group, 5_000),
    "groups": (groups, 2_500),
    "loop values": (loop_values, 5_000),
    "priorities": (priorities, 1_000),
    "chain": (chain, 6_000),
    "calls": (calls, 250),
}
"""The programs, and the smaller of the two sizes."""


def seconds(text: str) -> dict[str, float]:
    """Returns the CPU seconds of each step."""
    gc.collect()
    times = [process_time()]
    module = pipeline.read(text, "program.mlir")
    times.append(process_time())
    module = pipeline.finish(pipeline.propagate(pipeline.prepare(module)))
    times.append(process_time())
    pipeline.write(module)
    times.append(process_time())
    return {
        step: end - start
        for step, start, end in zip(("read", "propagate", "print"), times, times[1:], strict=False)
    }


def main() -> int:
    """Prints the table; returns 1 if an exponent is above the bound."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("families", nargs="*", help=f"of {', '.join(FAMILIES)}; default: all")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies all sizes")
    options = parser.parse_args()
    gc.disable()  # as the commands do
    seconds(chain(10))  # loads the dialects
    above = 0
    print(
        f"{'family':16}{'n':>8}"
        + "".join(f"{step:>22}" for step in ("read", "propagate", "print"))
        + "   CPU s, exponent"
    )
    for name, (program, small) in FAMILIES.items():
        if options.families and name not in options.families:
            continue
        sizes = [max(1, round(small * options.scale)), max(1, round(small * options.scale)) * FACTOR]
        first, second = (seconds(program(size)) for size in sizes)
        cells = []
        for step, after in second.items():
            exponent = math.log(after / max(first[step], 1e-4)) / math.log(FACTOR)
            says = after > NOISE
            above += says and exponent > BOUND
            cells.append(f"{first[step]:7.2f} {after:7.2f} {f'{exponent:5.2f}' if says else '    -'} ")
        print(f"{name:16}{sizes[1]:8}" + "".join(cells), flush=True)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
