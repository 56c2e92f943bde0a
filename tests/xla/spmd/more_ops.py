"""Random ops in programs of their own, by the planner and by XLA, for kinds that `moves.py` has not.

`python -m tests.xla.spmd.more_ops [--sample 150] [--kind fft] [--uneven]` prints the share of equal bytes
by kind of collective, and the ops that differ. XLA's shardings go around Shardy: the planner alone is
compared.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from shardy_py.base import releases
from shardy_py.sharding import Mesh
from shardy_py.xla.hlo_sharding.axes import to_hlo_sharding
from shardy_py.xla.spmd.model import CollectivePlan
from tests.xla.spmd.compiled import Case, installed, sharding_text
from tests.xla.spmd.hlo_programs import compared
from tests.xla.spmd.ops import tensor
from tests.xla.spmd.reshards import MESHES, random_sharding

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Text:
    """An op without shardings.

    operands, results: types. op: its text, with `%0`, `%1`, ... as operands and ATTRIBUTES for its sharding.
    before: ops before it. may_shard: whether results can be sharded along each dimension. by_tiles: whether
    shardings are by tiles in any release: XLA's own propagation to ops before it knows no others.
    """

    operands: tuple[str, ...]
    results: tuple[str, ...]
    op: str
    before: str = ""
    by_tiles: bool = False

    def case(self, random: Random, mesh: Mesh) -> Case:
        """The op with random shardings; the case has one of its results."""

        def sharding(type_: str) -> str:
            rank = _rank(type_)
            if not rank:
                return "{replicated}"
            drawn = random_sharding(random, mesh, rank, 3)
            return str(to_hlo_sharding(drawn, mesh)) if self.by_tiles else sharding_text(drawn, mesh)

        operands = [f'{type_} {{mhlo.sharding = "{sharding(type_)}"}}' for type_ in self.operands]
        one = sharding(self.results[0])
        alike = random.random() < 0.7 and len({_rank(type_) for type_ in self.results}) == 1
        shardings = [one if alike else sharding(type_) for type_ in self.results]
        if alike and random.random() < 0.4 and _rank(self.operands[0]) == _rank(self.results[-1]):
            given = operands[0].partition(" ")[2][1:-1].partition(" = ")[2].strip('"')
            shardings = [given] * len(self.results)
        text = shardings[0] if len(shardings) == 1 else f"{{{', '.join(shardings)}}}"
        chosen = random.randrange(len(self.results))
        op = self.op.replace("ATTRIBUTES", f'mhlo.sharding = "{text}"')
        body = f"{self.before}%result = {op}"
        if len(self.results) > 1:
            body = f"{self.before}%op:{len(self.results)} = {op}\n%result = stablehlo.negate %op#{chosen} "
            body += f'{{mhlo.sharding = "{shardings[chosen]}"}} : {self.results[chosen]}'
        return Case(
            tuple(operands), body, f'{self.results[chosen]} {{mhlo.sharding = "{shardings[chosen]}"}}'
        )


def _rank(type_: str) -> int:
    return type_.replace("complex", "").count("x")


def _reducer(names: Sequence[str], elements: Sequence[str]) -> str:
    """The region of a reduction: each value by its own op."""
    left = [f"%x{i}: tensor<{e}>" for i, e in enumerate(elements)]
    right = [f"%y{i}: tensor<{e}>" for i, e in enumerate(elements)]
    lines = [
        f"%r{i} = stablehlo.{name} %x{i}, %y{i} : tensor<{e}>"
        for i, (name, e) in enumerate(zip(names, elements, strict=True))
    ]
    values = ", ".join(f"%r{i}" for i in range(len(elements)))
    types = ", ".join(f"tensor<{e}>" for e in elements)
    return (
        f"^bb0({', '.join([*left, *right])}):\n"
        + "\n".join(lines)
        + f"\nstablehlo.return {values} : {types}\n"
    )


def _kept(shape: Shape, dimensions: Sequence[int]) -> Shape:
    return tuple(size for i, size in enumerate(shape) if i not in dimensions)


def _reduce_of(random: Random, shape: Shape, elements: Sequence[str], names: Sequence[str]) -> Text:
    dimensions = sorted(random.sample(range(len(shape)), k=random.randint(1, max(1, len(shape) - 1))))
    result = _kept(shape, dimensions)
    operands = tuple(tensor(shape, e) for e in elements)
    results = tuple(tensor(result, e) for e in elements)
    before = "".join(
        f"%c{i} = stablehlo.constant dense<0{'' if e[0] == 'i' else '.0'}> : tensor<{e}>\n"
        for i, e in enumerate(elements)
    )
    given = ", ".join([*(f"%{i}" for i in range(len(elements))), *(f"%c{i}" for i in range(len(elements)))])
    scalars = [f"tensor<{e}>" for e in elements]
    op = f'"stablehlo.reduce"({given}) ({{\n{_reducer(names, elements)}}}) '
    op += f"{{dimensions = array<i64: {', '.join(map(str, dimensions))}>, ATTRIBUTES}} : "
    op += f"({', '.join([*operands, *scalars])}) -> ({', '.join(results)})"
    return Text(operands, results, op, before)


def _reduce(random: Random, shape: Shape) -> Text:
    name, element = random.choice([("add", "f32"), ("maximum", "f32"), ("add", "bf16"), ("or", "i32")])
    return _reduce_of(random, shape, [element], [name])


def _reduce_pairs(random: Random, shape: Shape) -> Text:
    return _reduce_of(random, shape, ["f32", "i32"], ["maximum", "minimum"])


def _fft(random: Random, shape: Shape) -> Text:
    kind = random.choice(["FFT", "IFFT", "RFFT", "IRFFT"])
    count = random.randint(1, len(shape))
    lengths = shape[-count:]
    half = (*shape[:-1], shape[-1] // 2 + 1)
    if kind == "IRFFT":
        lengths = (*lengths[:-1], 2 * (shape[-1] // 2))
        half, shape = (*shape[:-1], shape[-1] // 2 + 1), (*shape[:-1], 2 * (shape[-1] // 2))
    complex_, half_, real = tensor(shape, "complex<f32>"), tensor(half, "complex<f32>"), tensor(shape)
    types = {
        "FFT": (complex_, complex_),
        "IFFT": (complex_, complex_),
        "RFFT": (real, half_),
        "IRFFT": (half_, real),
    }
    operand, result = types[kind]
    op = f"stablehlo.fft %0, type = {kind}, length = [{', '.join(map(str, lengths))}] {{ATTRIBUTES}} : "
    return Text((operand,), (result,), op + f"({operand}) -> {result}")


def _sort_pairs(random: Random, shape: Shape) -> Text:
    dimension = random.randrange(len(shape))
    types = (tensor(shape), tensor(shape, "i32"))
    op = '"stablehlo.sort"(%0, %1) ({\n'
    op += "^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<i32>, %w: tensor<i32>):\n"
    op += "%less = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    op += f"stablehlo.return %less : tensor<i1>\n}}) {{dimension = {dimension} : i64, ATTRIBUTES}} : "
    return Text(types, types, op + f"({', '.join(types)}) -> ({', '.join(types)})")


def _top_k(random: Random, shape: Shape) -> Text:
    k = random.choice([1, 2, 4, shape[-1]])
    result = (*shape[:-1], min(k, shape[-1]))
    types = (tensor(result), tensor(result, "i32"))
    op = f"chlo.top_k(%0, k = {result[-1]}) {{ATTRIBUTES}} : {tensor(shape)} -> ({', '.join(types)})"
    return Text((tensor(shape),), types, op)


def _top_k_call(random: Random, shape: Shape) -> Text:
    shape = (8, *shape[-1:])
    k = random.choice([1, 2, 4])
    types = (tensor((8, k)), tensor((8, k), "i32"))
    op = "stablehlo.custom_call @TopK(%0) {called_computations = [], ATTRIBUTES} : "
    return Text((tensor(shape),), types, op + f"({tensor(shape)}) -> ({', '.join(types)})")


def _square(random: Random, shape: Shape) -> Shape:
    size = shape[-1]
    return (*shape[:-1], size, size)[-3:]


def _cholesky(random: Random, shape: Shape) -> Text:
    type_ = tensor(_square(random, shape))
    return Text((type_,), (type_,), f"stablehlo.cholesky %0 {{lower = true, ATTRIBUTES}} : {type_}")


def _triangular_solve(random: Random, shape: Shape) -> Text:
    square = _square(random, shape)
    left = random.random() < 0.5
    other = (*square[:-2], square[-1], 16) if left else (*square[:-2], 16, square[-1])
    types = tensor(square), tensor(other)
    op = f'"stablehlo.triangular_solve"(%0, %1) {{left_side = {str(left).lower()}, lower = true, '
    op += "unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, ATTRIBUTES} : "
    return Text(types, (types[1],), op + f"({', '.join(types)}) -> {types[1]}")


def _rng(random: Random, shape: Shape) -> Text:
    before = "%lo = stablehlo.constant dense<0.0> : tensor<f32>\n"
    before += "%hi = stablehlo.constant dense<1.0> : tensor<f32>\n"
    before += (
        f"%shape = stablehlo.constant dense<[{', '.join(map(str, shape))}]> : tensor<{len(shape)}xi64>\n"
    )
    op = '"stablehlo.rng"(%lo, %hi, %shape) {rng_distribution = #stablehlo<rng_distribution UNIFORM>, '
    op += f"ATTRIBUTES}} : (tensor<f32>, tensor<f32>, tensor<{len(shape)}xi64>) -> {tensor(shape)}"
    return Text((tensor((8,)),), (tensor(shape),), op, before)


def _rng_bits(random: Random, shape: Shape) -> Text:
    name = random.choice(["THREE_FRY", "PHILOX", "DEFAULT"])
    types = ("tensor<2xui64>", tensor(shape, "ui32"))
    op = f"stablehlo.rng_bit_generator %0, algorithm = {name} {{ATTRIBUTES}} : "
    return Text(types[:1], types, op + f"({types[0]}) -> ({', '.join(types)})")


def _select(random: Random, shape: Shape) -> Text:
    predicate = "tensor<i1>" if random.random() < 0.3 else tensor(shape, "i1")
    types = (tensor(shape), predicate, tensor(shape))
    return Text(types, types[:1], f"stablehlo.select %1, %0, %2 {{ATTRIBUTES}} : {predicate}, {types[0]}")


def _clamp(random: Random, shape: Shape) -> Text:
    types = (tensor(shape), "tensor<f32>", "tensor<f32>")
    op = f"stablehlo.clamp %1, %0, %2 {{ATTRIBUTES}} : ({types[1]}, {types[0]}, {types[2]}) -> {types[0]}"
    return Text(types, types[:1], op)


def _iota(random: Random, shape: Shape) -> Text:
    dimension = random.randrange(len(shape))
    return Text(
        ("tensor<8xf32>",),
        (tensor(shape),),
        f"stablehlo.iota dim = {dimension} {{ATTRIBUTES}} : {tensor(shape)}",
    )


def _bitcast(random: Random, shape: Shape) -> Text:
    """To elements of another size, along a new last dimension."""
    wide, narrow = tensor(shape, "i32"), tensor((*shape, 2), "i16")
    operand, result = random.choice([(wide, narrow), (narrow, wide), (tensor(shape), wide)])
    return Text(
        (operand,), (result,), f"stablehlo.bitcast_convert %0 {{ATTRIBUTES}} : ({operand}) -> {result}"
    )


def _reduce_precision(random: Random, shape: Shape) -> Text:
    type_ = tensor(shape)
    return Text((type_,), (type_,), f"stablehlo.reduce_precision %0, format = e5m10 {{ATTRIBUTES}} : {type_}")


def _cumulated(random: Random, shape: Shape) -> Text:
    """A sum over all windows behind an element, as XLA has `cumsum`."""
    at, rank = random.randrange(len(shape)), len(shape)
    sizes = [shape[at] if i == at else 1 for i in range(rank)]
    padding = [[shape[at] - 1 if i == at else 0, 0] for i in range(rank)]
    type_ = tensor(shape)
    op = f'"stablehlo.reduce_window"(%0, %c0) ({{\n{_reducer(["add"], ["f32"])}}}) '
    op += f"{{window_dimensions = array<i64: {', '.join(map(str, sizes))}>, "
    op += (
        f"padding = dense<{padding}> : tensor<{rank}x2xi64>, ATTRIBUTES}} : ({type_}, tensor<f32>) -> {type_}"
    )
    return Text((type_,), (type_,), op, "%c0 = stablehlo.constant dense<0.0> : tensor<f32>\n")


def _counted_gather(random: Random, shape: Shape) -> Text:
    """`x[arange(n), i]`: an iota among the indices."""
    shape = (shape * 2)[:2]
    count = shape[0]
    operand, index = tensor(shape), tensor((count, 1), "i32")
    before = f"%iota = stablehlo.iota dim = 0 : {index}\n"
    pair = tensor((count, 2), "i32")
    before += f"%both = stablehlo.concatenate %iota, %1, dim = 1 : ({index}, {index}) -> {pair}\n"
    op = '"stablehlo.gather"(%0, %both) {dimension_numbers = #stablehlo.gather<offset_dims = [], '
    op += "collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, "
    op += "slice_sizes = array<i64: 1, 1>, ATTRIBUTES} : "
    return Text(
        (operand, index),
        (tensor((count,)),),
        op + f"({operand}, {tensor((count, 2), 'i32')}) -> {tensor((count,))}",
        before,
        by_tiles=True,
    )


KINDS: dict[str, Callable[[Random, Shape], Text]] = {
    "bitcast": _bitcast,
    "cholesky": _cholesky,
    "clamp": _clamp,
    "counted_gather": _counted_gather,
    "cumulated": _cumulated,
    "fft": _fft,
    "iota": _iota,
    "reduce": _reduce,
    "reduce_pairs": _reduce_pairs,
    "reduce_precision": _reduce_precision,
    "rng": _rng,
    "rng_bits": _rng_bits,
    "select": _select,
    "sort_pairs": _sort_pairs,
    "top_k": _top_k,
    "top_k_call": _top_k_call,
    "triangular_solve": _triangular_solve,
}


def random_cases(seed: int, count: int, kind: str, *, uneven: bool = False) -> dict[Mesh, list[Case]]:
    """Ops of one kind with random shardings, by mesh."""
    random = Random(f"{seed} {kind}")
    found: dict[Mesh, list[Case]] = {mesh: [] for mesh in MESHES}
    sizes = (3, 5, 6, 9, 12, 14, 24) if uneven else (8, 16, 32)
    for _ in range(count):
        mesh = random.choice(MESHES)
        shape = tuple(random.choice(sizes) for _ in range(random.randint(1, 3)))
        found[mesh].append(KINDS[kind](random, shape).case(random, mesh))
    return found


def differing(cases: dict[Mesh, list[Case]]) -> tuple[int, list[tuple[Case, CollectivePlan, CollectivePlan]]]:
    """The number of ops that XLA partitions, and those of them that the planner disagrees on."""
    pairs = [
        (case, plans)
        for mesh, group in cases.items()
        for case, plans in zip(group, compared("", group, mesh.device_count), strict=True)
    ]
    known = [(case, *plans) for case, plans in pairs if plans is not None]
    return len(known), [each for each in known if each[1].bytes_by_kind != each[2].bytes_by_kind]


@releases.of(installed())
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=4)
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--uneven", action="store_true")
    options = parser.parse_args()
    for kind in options.kind or KINDS:
        count, wrong = differing(random_cases(options.seed, options.sample, kind, uneven=options.uneven))
        for case, ours, theirs in wrong[: options.show]:
            print("\n".join(case.arguments), case.body, sep="\n")
            for name, plan in (("planned", ours), ("XLA", theirs)):
                sent = ", ".join(f"{c.kind} {c.group_size} {c.held_shape}" for c in plan.collectives)
                print(f"  {name}: {sent}")
        print(f"{kind}: {count - len(wrong)} of {count} have equal bytes by kind", flush=True)


if __name__ == "__main__":
    main()
