"""Findings and remedies of programs of torch: modules, placements and styles, and code to paste."""

from __future__ import annotations

import pytest

from shardy_py import Program, Result, propagate
from shardy_py.check import check
from shardy_py.check.grouping import grouped
from shardy_py.check.rule import Limits
from shardy_py.search.advice.torch_words import code_of, styles_of, words_of_values
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, TensorSharding

MESH = Mesh.of(dp=2, tp=4)
LAYERS = 2


EMBEDDING = """%x0 = "stablehlo.gather"(%arg0, %arg1) <{
  dimension_numbers = #stablehlo.gather<offset_dims = [1],
  collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false,
  slice_sizes = array<i64: 1, 32>}> : (tensor<64x32xf32>, tensor<16xi32>) -> tensor<16x32xf32>
  loc("emb/embedding")
"""
LAYER = """%u{n} = stablehlo.dot_general %x{n}, {up}, contracting_dims = [1] x [1]
  : (tensor<16x32xf32>, tensor<64x32xf32>) -> tensor<16x64xf32> loc("layers.{n}.up/linear")
%w{n} = stablehlo.broadcast_in_dim {bias}, dims = [1] : (tensor<64xf32>) -> tensor<16x64xf32>
%a{n} = stablehlo.add %u{n}, %w{n} : tensor<16x64xf32> loc("layers.{n}.up/linear")
%x{next} = stablehlo.dot_general %a{n}, {down}, contracting_dims = [1] x [1]
  : (tensor<16x64xf32>, tensor<32x64xf32>) -> tensor<16x32xf32> loc("layers.{n}.down/linear")
"""
STATE, TABLE, UP, DOWN = "exp_avg of layers.0.up.weight", "64x32xf32", "64x32xf32", "32x64xf32"


def step(**given: str) -> str:
    """Two layers with a state of a weight, as torch's adaptor writes a training step; sharded as given."""
    types = {"emb.weight": TABLE, "tokens": "16xi32", "labels": "16x32xf32", "pos": "8x32xf32"}
    for n in range(LAYERS):
        types |= {
            f"layers.{n}.up.weight": UP,
            f"layers.{n}.up.bias": "64xf32",
            f"layers.{n}.down.weight": DOWN,
        }
    types[STATE] = UP
    arguments: list[str] = []
    for number, (name, type_) in enumerate(types.items()):
        sharding = f"{{sdy.sharding = #sdy.sharding<@mesh, {given[name]}>}}" if name in given else ""
        arguments.append(f'%arg{number}: tensor<{type_}> {sharding} loc("{name}")')
    body = EMBEDDING
    for n in range(LAYERS):
        up, bias, down = (f"%arg{4 + 3 * n + part}" for part in range(3))
        body += LAYER.format(n=n, next=n + 1, up=up, bias=bias, down=down)
    return f"""sdy.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @main({", ".join(arguments)})
    -> (tensor<16x32xf32>, tensor<{UP}> {{jax.result_info = "{STATE} after"}}) {{
  sdy.sharding_group %arg4 group_id=0 : tensor<{UP}>
  sdy.sharding_group %arg10 group_id=0 : tensor<{UP}>
  {body}
  %s = stablehlo.subtract %x{LAYERS}, %arg2 : tensor<16x32xf32> loc("loss/sub")
  %n = stablehlo.add %arg10, %arg4 : tensor<{UP}> loc("optimizer/add")
  sdy.sharding_group %n group_id=0 : tensor<{UP}>
  return %s, %n : tensor<16x32xf32>, tensor<{UP}>
}}"""


COLUMNS = {f"layers.{n}.up.weight": '[{"tp"}, {}]' for n in range(LAYERS)}


def result(**given: str) -> Result:
    return propagate(Program.parse(step(**given)))


def test_states_follow_parameters_and_layers_are_one_pattern() -> None:
    found = result(tokens='[{"dp"}]', **dict.fromkeys(COLUMNS, '[{"tp", ?}, {?}]'))
    open_ = [each for each in check(found) if each.code == "SDY006"]
    assert {each.subject: each.remedy.partition("to keep it: ")[2] for each in open_} == {
        "labels": '"labels": [Shard(0), Replicate()]',
        "result 0": '"result 0": [Shard(0), Replicate()]',
        **dict.fromkeys(COLUMNS, '"layers.*.up": ColwiseParallel() along tp'),
        **{f"layers.{n}.down.weight": '"layers.*.down": RowwiseParallel() along tp' for n in range(LAYERS)},
    }
    groups = [group for group in grouped(open_) if group.count == LAYERS]
    assert [group.first.subject for group in groups] == ["layers.0.down.weight", "layers.0.up.weight"]


def sharded(rank: int, dimension: int, *axes: str) -> TensorSharding:
    dimensions = [DimensionSharding((), True) for _ in range(rank)]
    dimensions[dimension] = DimensionSharding(tuple(map(AxisRef, axes)), True)
    return TensorSharding("mesh", tuple(dimensions))


@pytest.mark.parametrize(
    ("name", "dimension", "words"),
    [
        ("emb.weight", 0, '"emb": RowwiseParallel() along tp'),
        ("emb.weight", 1, '"emb": ColwiseParallel() along tp'),
        ("layers.0.up.weight", 0, '"layers.0.up": ColwiseParallel() along tp'),
        ("layers.0.up.weight", 1, '"layers.0.up": RowwiseParallel() along tp'),
        ("layers.0.up.bias", 0, '"layers.0.up": ColwiseParallel() along tp'),
        ("pos", 1, '"pos": [Replicate(), Shard(1)]'),
        ("tokens", 0, '"tokens": [Replicate(), Shard(0)]'),
    ],
)
def test_styles_are_those_that_shard_a_weight_so(name: str, dimension: int, words: str) -> None:
    value = Program.parse(step())[name]
    sharding = sharded(len(value.shape or ()), dimension, "tp")
    assert words_of_values([value.entry], sharding, MESH) == words
    assert bool(styles_of(value.entry, sharding)) == ("Parallel" in words)


def test_what_styles_cannot_say_is_placements() -> None:
    value = Program.parse(step())["layers.0.up.weight"]
    both = sharded(2, 0, "tp", "dp")
    assert code_of([value.entry], both, MESH) == (
        'shardings |= {"layers.0.up.weight": [_StridedShard(0, split_factor=4), Shard(0)]}'
    )


def test_changes_are_tried_and_are_calls_of_torch() -> None:
    rows = {f"layers.{n}.down.weight": '[{}, {"tp"}]' for n in range(LAYERS)}
    found = result(tokens='[{"dp"}]', **{**COLUMNS, **rows, "layers.1.up.weight": '[{}, {"tp"}]'})
    verdict = found.verdict()
    assert [(change.words, change.code) for change in verdict.changes] == [
        ("redistribute the result of layers.1.down/linear: [Shard(0), Shard(1)]", ""),
        (
            '"layers.1.up": ColwiseParallel() along tp',
            'parallelize_module(model, mesh["tp"], {"layers.1.up": ColwiseParallel()})',
        ),
    ]
    assert verdict.after.bytes < verdict.figures.bytes


def test_annotations_that_conflict_are_styles() -> None:
    rows = {f"layers.{n}.down.weight": '[{"tp"}, {}]' for n in range(LAYERS)}
    found = result(tokens='[{"dp"}]', **COLUMNS, **rows)
    limits = Limits(reshard_bytes=1)
    remedies = [each.remedy for each in check(found, limits=limits) if each.code == "SDY003"]
    assert any(
        'in layers.0.down: tp is from "layers.0.up": ColwiseParallel() along tp; '
        'tp is from "layers.0.down": ColwiseParallel() along tp: change one' in remedy
        for remedy in remedies
    )
