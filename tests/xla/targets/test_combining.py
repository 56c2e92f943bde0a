"""Sets of collectives against one search through all that is left for each set, as XLA's combiners do it."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from shardy_py import Program, propagate
from shardy_py.hardware import hardware_of
from shardy_py.ops import TensorType
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.targets.combining import CombinerLimits, combined, read_ops
from shardy_py.xla.targets.compiled import compiler_of
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole, Transfer
from tests.report.executed_lines import executed_lines

KINDS = ("all_reduce", "all_gather")
LIMITS = [CombinerLimits(KINDS, 64, 3), CombinerLimits(KINDS, 64, 3, passes_dependent=True)]


def body(random: Random) -> DeviceBody:
    """A graph of sums and gathers of a few sizes and groups, and of other ops."""
    nodes = {0: DeviceNode(NodeRole.ARGUMENT)}
    for number in range(1, 40):
        inputs = tuple(random.sample(range(number), min(number, random.choice((1, 1, 2)))))
        transfer = None
        if random.random() < 0.7:
            size, group = random.choice((1, 2, 8, 32)), random.choice(((0, 1), (0, 2)))
            kind = random.choice(KINDS)
            transfer = Transfer(PlannedCollective(kind, 2, "f32", (size,), made_shape=(size,), group=group))
        role = NodeRole.OP if transfer is None else NodeRole.SENT
        nodes[number] = DeviceNode(role, inputs, TensorType((1,), "f32"), transfer=transfer)
    return DeviceBody(nodes, (0,), tuple(range(30, 40)))


def expected(given: DeviceBody, limits: CombinerLimits) -> set[tuple[int, ...]]:
    """The nodes of each set: the graph is walked again once a set has become one op in the place of each."""
    reads = {number: [*given.nodes[number].inputs] for number in given.order}
    ends: list[int] = [*given.results]
    found = set[tuple[int, ...]]((number,) for number in given.sent)
    for kind in KINDS:
        left = {
            n
            for n in given.sent
            if moved(given, n).kind == kind and moved(given, n).result_bytes <= limits.bytes
        }
        while left:
            order = [number for number in walked(reads, ends) if number in left]
            first, members, size = moved(given, order[0]).collective.group, list[int](), 0
            for number in order:
                if moved(given, number).collective.group != first:
                    continue
                is_dependent = bool(needed(reads, number) & {*members})
                if is_dependent and limits.passes_dependent:
                    continue
                size += moved(given, number).result_bytes
                if size > limits.bytes or is_dependent:
                    break
                members.append(number)
                if len(members) == limits.count:
                    break
            left -= {*members}
            found -= {(number,) for number in members}
            found.add(tuple(members))
            one: dict[int, int] = dict.fromkeys(members, members[0])
            reads[members[0]] = [each for number in members for each in reads[number]]
            reads = {number: [one.get(each, each) for each in own] for number, own in reads.items()}
            ends = [one.get(each, each) for each in ends]
    return found


def walked(reads: Mapping[int, list[int]], ends: list[int]) -> list[int]:
    """All that ends need, each after what it reads, from left to right."""
    found: dict[int, None] = {}

    def walk(number: int) -> None:
        if number not in found:
            for each in reads[number]:
                walk(each)
            found[number] = None

    for number in ends:
        walk(number)
    return [*found]


def moved(given: DeviceBody, number: int) -> Transfer:
    transfer = given.nodes[number].transfer
    assert transfer is not None
    return transfer


def needed(reads: Mapping[int, list[int]], number: int) -> set[int]:
    found, left = set[int](), [*reads[number]]
    while left:
        each = left.pop()
        if each not in found:
            found.add(each)
            left += reads[each]
    return found


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("seed", range(40))
def test_sets_are_those_of_a_search_through_all(seed: int, limits: CombinerLimits) -> None:
    given = body(Random(seed))
    sets = {each.nodes for each in combined(given, read_ops(given), limits)}
    own = expected(given, limits)
    assert own <= sets
    assert sorted(number for each in sets for number in each) == sorted(given.sent)


@pytest.mark.parametrize("limits", LIMITS)
def test_collectives_of_more_layers_cost_as_much_more(limits: CombinerLimits) -> None:
    """Each layer gathers two tensors, and its gradients, which are added to one another, are reduced."""

    def of_layers(count: int) -> int:
        nodes, type_, number = {0: DeviceNode(NodeRole.ARGUMENT)}, TensorType((1,), "f32"), 0
        norm, results = 0, list[int]()
        for _ in range(count):
            for kind in ("all_gather", "all_gather", "all_reduce", "all_reduce"):
                sent = PlannedCollective(kind, 2, "f32", (8,), made_shape=(8,), group=(0, 1))
                nodes[number + 1] = DeviceNode(NodeRole.SENT, (number,), type_, transfer=Transfer(sent))
                number += 1
                if kind == "all_reduce":
                    nodes[number + 1] = DeviceNode(NodeRole.OP, (norm, number), type_)
                    norm = number + 1
                    results.append(number)
                    number += 1
        given = DeviceBody(nodes, (0,), (*results, norm))
        ops = read_ops(given)
        return executed_lines(lambda: combined(given, ops, limits), "combining")

    assert of_layers(80) < 2.3 * of_layers(40)


@pytest.mark.parametrize(
    ("chip", "element", "size", "number", "devices", "expected_sizes"),
    [
        ("tpu-v5p", "f32", 512, 8, 4, [1, 7]),
        ("tpu-v5p", "f32", 640, 6, 4, [2, 4]),
        ("tpu-v5p", "f32", 384, 16, 4, [4, 12]),
        ("tpu-v5p", "f32", 1024, 3, 4, [1, 1, 1]),
        ("tpu-v5p", "f32", 256, 40, 2, [2, 19, 19]),
        ("tpu-v5p", "bf16", 256, 60, 4, [3, 57]),
        ("tpu-v5e", "f32", 256, 60, 4, [4, 28, 28]),
        ("tpu-v6e", "f32", 256, 60, 4, [2, 58]),
        ("tpu-v6e", "f32", 256, 80, 2, [2, 39, 39]),
    ],
)
def test_scattered_sums_are_combined_as_far_as_their_parts_fit_on_the_chip(
    chip: str, element: str, size: int, number: int, devices: int, expected_sizes: list[int]
) -> None:
    """As XLA:TPU combines gradients of square weights, of jax 0.10.2."""
    compiler = compiler_of(hardware_of(chip))
    assert compiler is not None
    sums = PlannedCollective(
        "reduce_scatter", devices, element, (size, size), made_shape=(size // devices, size)
    )
    type_ = TensorType((size // devices, size), element)
    nodes = {0: DeviceNode(NodeRole.ARGUMENT)} | {
        i: DeviceNode(NodeRole.SENT, (0,), type_, transfer=Transfer(sums)) for i in range(1, number + 1)
    }
    body_ = DeviceBody(nodes, (0,), tuple(range(1, number + 1)))
    sets = combined(body_, read_ops(body_), compiler.limits)
    assert sorted(len(each.parts) for each in sets) == expected_sizes


def _gathered(number: int, *, has_barriers: bool) -> str:
    """Products by weights that are gathered, each behind a barrier with what the one before it makes."""
    rows, weight = "tensor<64x256xbf16>", "tensor<256x256xbf16>"
    sharding = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
    given = "".join(f", %w{i}: {weight} {sharding}" for i in range(number))
    lines: list[str] = []
    for i in range(number):
        held = (f"%b{i}#0", f"%b{i}#1") if has_barriers else (f"%x{i}", f"%w{i}")
        if has_barriers:
            lines.append(f"  %b{i}:2 = stablehlo.optimization_barrier %x{i}, %w{i} : {rows}, {weight}")
        lines.append(
            f"  %d{i} = stablehlo.dot_general {', '.join(held)}, contracting_dims = [1] x [0] : "
            f"({rows}, {weight}) -> {rows}\n  %x{i + 1} = stablehlo.tanh %d{i} : {rows}"
        )
    body_ = "\n".join(lines)
    return f"""sdy.mesh @mesh = <["x"=8]>
func.func @main(%x0: {rows} {sharding}{given}) -> ({rows} {sharding}) {{
{body_}
  return %x{number} : {rows}
}}"""


@pytest.mark.parametrize(("has_barriers", "runs"), [(False, 1), (True, 3)])
def test_gathers_behind_barriers_are_not_combined_with_those_before(has_barriers: bool, runs: int) -> None:
    """XLA:GPU combines collectives before it removes barriers: layers that are computed again are apart."""
    text = _gathered(3, has_barriers=has_barriers)
    report = propagate(Program.parse(text, as_compiled=True), progress=False).communication(target="h100")
    assert report.counts["all_gather"] == runs
