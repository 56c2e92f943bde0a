"""Random convolutions, planned and by XLA: `python -m tests.xla.spmd.convolutions [--sample N] [--seed S]`.

One or two spatial dimensions, strides, dilations, padding, groups, uneven sizes, kernels as large as the
input. Prints the share whose bytes are equal, and the exceptions.
"""

from __future__ import annotations

import argparse
import random

from shardy_py.base import releases
from shardy_py.xla.spmd.model import CollectivePlan
from tests.xla.spmd.compiled import Case, installed
from tests.xla.spmd.hlo_programs import compared

MESH = 'sdy.mesh @mesh = <["x"=4, "y"=2]>'
AXES = ("x", "y")


def random_case(seed: int) -> Case:
    """A convolution with random shardings of operands and result."""
    pick = random.Random(seed)
    rank = pick.choice((1, 2))
    groups = pick.choice((1, 1, 1, 4, 8))
    by_batch = groups > 1 and pick.random() < 0.3
    features, results = pick.choice((8, 16)), pick.choice((8, 16))
    batch = 8
    sizes = [pick.choice((16, 32, 30)) for _ in range(rank)]
    kernel = [pick.choice((1, 3, 3, 5, sizes[i])) for i in range(rank)]
    stride = [pick.choice((1, 1, 2)) for _ in range(rank)]
    pads = [pick.choice(((0, 0), (k // 2, k // 2), (k - 1, k - 1))) for k in kernel]
    dilation = [pick.choice((1, 1, 1, 2)) if k < 5 else 1 for k in kernel]
    turned = [pick.random() < 0.15 for _ in range(rank)]
    spans = [1 + (k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
    counts = [
        (size + low + high - span) // step + 1
        for size, (low, high), span, step in zip(sizes, pads, spans, stride, strict=True)
    ]
    if groups > 1 and by_batch:
        lhs, rhs = [batch, *sizes, features], [*kernel, features, max(groups, results)]
        groups = 8
        result = [batch // groups, *counts, rhs[-1]]
    else:
        lhs, rhs = [batch, *sizes, features], [*kernel, features // groups, results]
        result = [batch, *counts, results]
    spatial = ", ".join(map(str, range(rank)))
    head = f"dim_numbers = [b, {spatial}, f]x[{spatial}, i, o]->[b, {spatial}, f]"
    window = (
        f"{{stride = {stride}, pad = {[list(p) for p in pads]}, rhs_dilate = {dilation}, "
        f"reverse = [{', '.join(str(t).lower() for t in turned)}]}}"
    )
    names = ("batch_group_count", "feature_group_count")
    own = {name: groups if (name == names[0]) == by_batch else 1 for name in names}
    attributes = ", ".join(f"{name} = {count} : i64" for name, count in own.items())
    types = [f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in (lhs, rhs, result)]
    text = f"%result = stablehlo.convolution(%0, %1) {head}, window = {window} {{{attributes}}}"
    text += f" : ({types[0]}, {types[1]}) -> {types[2]}"
    shapes = (lhs, rhs, result)
    typed = [_sharded(t, _sharding(pick, shape)) for t, shape in zip(types, shapes, strict=True)]
    return Case((typed[0], typed[1]), text, typed[2])


def _sharded(type_: str, sharding: str) -> str:
    return f"{type_} {{sdy.sharding = #sdy.sharding<@mesh, {sharding}>}}"


def _sharding(pick: random.Random, shape: list[int]) -> str:
    lists: list[list[str]] = [[] for _ in shape]
    for axis in AXES:
        at = pick.randrange(len(shape) + 1)
        if at < len(shape) and shape[at] >= 8:
            lists[at].append(f'"{axis}"')
    return f"[{', '.join('{' + ', '.join(axes) + '}' for axes in lists)}]"


def differing(cases: list[Case]) -> tuple[int, list[tuple[Case, CollectivePlan, CollectivePlan]]]:
    """The number of cases that XLA partitions, and those of them that the planner disagrees on."""
    pairs = zip(cases, compared(MESH, cases), strict=True)
    found = [(case, *plans) for case, plans in pairs if plans is not None]
    return len(found), [each for each in found if each[1].bytes_by_kind != each[2].bytes_by_kind]


@releases.of(installed())
def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5)
    options = parser.parse_args()
    cases = [random_case(seed) for seed in range(options.seed, options.seed + options.sample)]
    count, wrong = differing(cases)
    print(f"{count} convolutions: bytes by kind equal in {count - len(wrong)}")
    for case, ours, theirs in wrong[: options.show]:
        print("\n".join(case.arguments), case.body, case.result, sep="\n")
        for name, plan in (("planned", ours), ("XLA", theirs)):
            sent = ", ".join(f"{each.kind} {each.group_size} {each.held_shape}" for each in plan.collectives)
            print(f"  {name}: {sent}")


if __name__ == "__main__":
    main()
