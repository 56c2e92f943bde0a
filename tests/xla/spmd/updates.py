"""Random dynamic slices and updates in whole programs, by our whole way and by XLA.

The starts are constants, also behind converts, sums and broadcasts, arguments, or values that a loop carries.
`python -m tests.xla.spmd.updates --sample 100 [--uneven]` prints the share of equal bytes by kind of
collective, and the programs that differ.
"""

from __future__ import annotations

import argparse
from random import Random

from shardy_py.base import releases
from shardy_py.sharding import Mesh
from shardy_py.xla.spmd.model import CollectivePlan
from tests.xla.spmd.compiled import STOP, Hlo, installed, partitioned
from tests.xla.spmd.hlo_programs import reported
from tests.xla.spmd.moves import SIZES, UNEVEN_SIZES
from tests.xla.spmd.ops import Shape, tensor
from tests.xla.spmd.reshards import MESHES, mesh_text, random_sharding


def start(random: Random, name: str, element: str, number: int) -> str:
    """A scalar with the value `number`, or one that is not constant."""
    type_, other = f"tensor<{element}>", "tensor<i16>"
    low = random.randint(0, number)
    return random.choice([
        f"%{name} = stablehlo.constant dense<{number}> : {type_}\n",
        f"%{name} = stablehlo.constant dense<{number}> : {type_}\n",
        f"%{name}_0 = stablehlo.constant dense<{number}> : {other}\n"
        f"%{name} = stablehlo.convert %{name}_0 : ({other}) -> {type_}\n",
        f"%{name}_0 = stablehlo.constant dense<{low}> : {type_}\n"
        f"%{name}_1 = stablehlo.constant dense<{number - low}> : {type_}\n"
        f"%{name} = stablehlo.add %{name}_0, %{name}_1 : {type_}\n",
        f"%{name}_0 = stablehlo.constant dense<{number}> : tensor<1x{element}>\n"
        f"%{name} = stablehlo.reshape %{name}_0 : (tensor<1x{element}>) -> {type_}\n",
        f"%{name}_0 = stablehlo.constant dense<{number}> : {type_}\n"
        f"%{name}_1 = stablehlo.constant dense<0> : {type_}\n"
        f"%{name}_2 = stablehlo.compare LT, %{name}_0, %{name}_1 : ({type_}, {type_}) -> tensor<i1>\n"
        f"%{name} = stablehlo.select %{name}_2, %{name}_1, %{name}_0 : tensor<i1>, {type_}\n",
        f"%{name} = stablehlo.convert %index : (tensor<i32>) -> {type_}\n",
    ])  # fmt: skip


def _sizes_and_starts(random: Random, shape: Shape) -> tuple[Shape, list[int]]:
    sizes = tuple(random.choice([size, 1, max(1, size // 8), random.randint(1, size)]) for size in shape)
    room = [whole - size for whole, size in zip(shape, sizes, strict=True)]
    return sizes, [random.choice([0, more, random.randint(0, more)]) for more in room]


def program(random: Random, mesh: Mesh, shape: Shape) -> str:
    """A program of a slice or an update, in a loop at times."""
    sizes, numbers = _sizes_and_starts(random, shape)
    element = random.choice(["i32", "i32", "i64", "ui32"])
    starts = "".join(start(random, f"s{i}", element, number) for i, number in enumerate(numbers))
    names = ", ".join(f"%s{i}" for i in range(len(shape)))
    types = ", ".join([f"tensor<{element}>"] * len(shape))
    whole, part = tensor(shape), tensor(sizes)
    given = [random_sharding(random, mesh, len(shape), 3) for _ in range(2)]
    result = given[0] if random.random() < 0.7 else random_sharding(random, mesh, len(shape), 3)
    updates = random.random() < 0.7
    made, after = (whole, "tanh") if updates else (part, "exponential")
    if updates:
        op = f"%r = stablehlo.dynamic_update_slice %x, %u, {names} : ({whole}, {part}, {types}) -> {whole}\n"
    else:
        op = f"%r = stablehlo.dynamic_slice %x, {names}, sizes = {list(sizes)} : "
        op += f"({whole}, {types}) -> {part}\n"
    head = f"{mesh_text(mesh)}\nfunc.func @main(%a: {whole} {{sdy.sharding = #sdy.sharding{given[0]}}}, "
    head += f"%u: {part} {{sdy.sharding = #sdy.sharding{given[1]}}}, %index: tensor<i32>) -> "
    head += f"({made} {{sdy.sharding = #sdy.sharding{result}}}, tensor<f32>) {{\n"
    stop = f"%stop = stablehlo.custom_call @{STOP}() : () -> tensor<f32>\n"
    end = f"%out = stablehlo.{after} %r : {made}\nreturn %out, %stop : {made}, tensor<f32>\n}}\n"
    if updates and random.random() < 0.3:
        return head + stop + _loop(random, starts, op, whole) + end
    return head + stop + "%x = stablehlo.negate %a : " + f"{whole}\n" + starts + op + end


def _loop(random: Random, starts: str, op: str, whole: str) -> str:
    """The update in a loop of three iterations, whose starts are made inside or before."""
    before, inside = (starts, "") if random.random() < 0.5 else ("", starts)
    return f"""{before}%i0 = stablehlo.constant dense<0> : tensor<i32>
%one = stablehlo.constant dense<1> : tensor<i32>
%n = stablehlo.constant dense<3> : tensor<i32>
%loop:2 = stablehlo.while(%i = %i0, %x = %a) : tensor<i32>, {whole}
cond {{
  %less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %less : tensor<i1>
}} do {{
  {inside}{op}%next = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %next, %r : tensor<i32>, {whole}
}}
%r = stablehlo.negate %loop#1 : {whole}
"""


def programs(seed: int, count: int, *, uneven: bool = False) -> list[str]:
    """Random programs."""
    random = Random(f"{seed} updates")
    sizes = UNEVEN_SIZES if uneven else SIZES
    return [
        program(
            random, random.choice(MESHES), tuple(random.choice(sizes) for _ in range(random.randint(1, 3)))
        )
        for _ in range(count)
    ]


def differing(texts: list[str]) -> tuple[int, list[tuple[str, dict[str, int], dict[str, int]]]]:
    """The number of programs that XLA partitions; those that differ, with bytes by kind of ours and XLA's."""
    count, wrong = 0, list[tuple[str, dict[str, int], dict[str, int]]]()
    for text, xla in zip(texts, partitioned(texts), strict=True):
        if xla.after:
            count += 1
            ours = {kind: bytes_ for kind, bytes_ in reported(text).items() if bytes_}
            theirs = CollectivePlan(tuple(Hlo(xla.after).collectives())).bytes_by_kind
            if ours != theirs:
                wrong.append((text, ours, theirs))
    return count, wrong


@releases.of(installed())
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=4)
    parser.add_argument("--uneven", action="store_true")
    options = parser.parse_args()
    count, wrong = differing(programs(options.seed, options.sample, uneven=options.uneven))
    for text, ours, theirs in wrong[: options.show]:
        print(text, f"  planned: {ours}", f"  XLA: {theirs}", sep="\n")
    print(f"{count - len(wrong)} of {count} programs have equal bytes by kind")


if __name__ == "__main__":
    main()
