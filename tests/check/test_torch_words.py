"""Findings and remedies of programs of torch: modules, placements and styles, and code to paste."""

from __future__ import annotations

import pytest

from shardy_py import Program, Result, propagate
from shardy_py.check import check
from shardy_py.check.grouping import grouped
from shardy_py.check.rule import Limits
from shardy_py.search.advice import code_of_edits, words_of
from shardy_py.search.advice.kinds.modules import between_modules
from shardy_py.search.advice.torch_layers import model_of
from shardy_py.search.advice.torch_plans import plan_of
from shardy_py.search.advice.torch_words import code_of, styles_of, words_of_values
from shardy_py.search.edited_sources import Sources
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
    assert code_of([value.entry], both, MESH, {}) == (
        'shardings |= {"layers.0.up.weight": [_StridedShard(0, split_factor=4), Shard(0)]}'
    )


def test_changes_are_tried_and_are_calls_of_torch() -> None:
    rows = {f"layers.{n}.down.weight": '[{}, {"tp"}]' for n in range(LAYERS)}
    found = result(tokens='[{"dp"}]', **{**COLUMNS, **rows, "layers.1.up.weight": '[{}, {"tp"}]'})
    verdict = found.verdict()
    assert [(change.words, change.code) for change in verdict.changes] == [
        # Labels are subtracted, so no style of modules alone says it.
        ("redistribute the result of layers.1.down/linear: [Shard(0), Shard(1)]", ""),
        (
            '"layers.1.up": ColwiseParallel() along tp',
            'parallelize_module(model, mesh["tp"], '
            '{"layers.1.up": ColwiseParallel(), "layers.1.down": RowwiseParallel()})',
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


T, WIDE = "16x2048x512", "16x2048x2048"
DOT = "contracting_dims = [2] x [1] : (tensor<{x}xf32>, tensor<{w}xf32>) -> tensor<{y}xf32>"
NORM = """%{w} = stablehlo.broadcast_in_dim %{weight}, dims = [2]
  : (tensor<512xf32>) -> tensor<{T}xf32> loc("{name}/mul")
%{y} = stablehlo.multiply %{x}, %{w} : tensor<{T}xf32> loc("{name}/mul")
"""
PARTS = {
    "emb.weight": "64x512",
    "tokens": "16x2048",
    "layers.0.norm.weight": "512",
    "layers.0.mlp.gate.weight": "2048x512",
    "layers.0.mlp.up.weight": "2048x512",
    "layers.0.mlp.down.weight": "512x2048",
    "norm.weight": "512",
    "output.weight": "64x512",
}
ALONG_TP = {
    "tokens": '[{"dp"}, {}]',
    "layers.0.mlp.gate.weight": '[{"tp"}, {}]',
    "layers.0.mlp.up.weight": '[{"tp"}, {}]',
    "layers.0.mlp.down.weight": '[{}, {"tp"}]',
}


def gated_layer(addend: str = "%emb") -> str:
    """A layer between an embedding and a head, without styles for these; addend: of the product of rows."""
    arguments = ", ".join(
        f"%arg{number}: tensor<{size}x{'i32' if name == 'tokens' else 'f32'}> "
        + (f"{{sdy.sharding = #sdy.sharding<@mesh, {ALONG_TP[name]}>}}" if name in ALONG_TP else "")
        + f' loc("{name}")'
        for number, (name, size) in enumerate(PARTS.items())
    )
    down = DOT.format(x=WIDE, w="512x2048", y=T)
    wide, out = DOT.format(x=T, w="2048x512", y=WIDE), DOT.format(x=T, w="64x512", y="16x2048x64")
    return f"""sdy.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @main({arguments}, %pos: tensor<{T}xf32> loc("pos")) -> tensor<16x2048x64xf32> {{
  %emb = "stablehlo.gather"(%arg0, %arg1) <{{
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0],
    start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false,
    slice_sizes = array<i64: 1, 512>}}> : (tensor<64x512xf32>, tensor<16x2048xi32>) -> tensor<{T}xf32>
    loc("emb/embedding")
  {NORM.format(w="b0", y="n0", x="emb", weight="arg2", name="layers.0.norm", T=T)}
  %g = stablehlo.dot_general %n0, %arg3, {wide} loc("layers.0.mlp.gate/linear")
  %u = stablehlo.dot_general %n0, %arg4, {wide} loc("layers.0.mlp.up/linear")
  %a = stablehlo.multiply %g, %u : tensor<{WIDE}xf32> loc("layers.0.mlp/mul")
  %d = stablehlo.dot_general %a, %arg5, {down} loc("layers.0.mlp.down/linear")
  %x1 = stablehlo.add {addend}, %d : tensor<{T}xf32> loc("layers.0/add")
  {NORM.format(w="b1", y="n1", x="x1", weight="arg6", name="norm", T=T)}
  %o = stablehlo.dot_general %n1, %arg7, {out} loc("output/linear")
  return %o : tensor<16x2048x64xf32>
}}"""


def test_constraints_between_products_are_styles_of_all_modules_on_the_way() -> None:
    """As torchtitan writes sequence parallelism; modules without a style take and return whole tensors."""
    found = propagate(Program.parse(gated_layer()))
    uses, sources = found.communication(partitioner="shardy").collectives, Sources.of_result(found)
    assert sources is not None
    proposal = next(between_modules(sources.advised, uses))
    after = sources.after(proposal, record=False).communication(partitioner="shardy")
    assert [use.kind for use in uses] == ["all_reduce"]
    assert sorted(use.kind for use in after.sending) == ["all_gather", "all_gather", "reduce_scatter"]
    whole = "input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)"
    assert code_of_edits(proposal, sources.advised.torch_layers) == (
        'parallelize_module(model, mesh["tp"], {'
        '"emb": PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Shard(1)), '
        '"layers.*.norm": SequenceParallel(), '
        f'"layers.*.mlp": PrepareModuleInput({whole}), '
        '"layers.*.mlp.gate": ColwiseParallel(), '
        '"layers.*.mlp.up": ColwiseParallel(), '
        '"layers.*.mlp.down": RowwiseParallel(output_layouts=Shard(1)), '
        '"norm": SequenceParallel(), '
        f'"output": PrepareModuleInput({whole}, use_local_output=True)}})',
    )
    words = words_of(proposal, "torch")
    assert '"layers.*.norm", "norm": SequenceParallel()' in words
    assert words.endswith(" along tp")


def test_features_are_followed_through_constraints() -> None:
    """As a plan has them; also where a value is met, or repeated."""
    plain = gated_layer()
    gates = '%g = sdy.sharding_constraint %g0 <@mesh, [{}, {}, {"tp"}]>'
    text = plain.replace("%g = stablehlo.dot_general", "%g0 = stablehlo.dot_general", 1).replace(
        "  %u = ", f"  {gates} : tensor<{WIDE}xf32>\n  %u = ", 1
    )
    layers, expected = (
        model_of(next(op for op in Program.parse(each).module.body.ops if op.regions)).layers
        for each in (text, plain)
    )
    assert layers == expected
    gate = layers["layers.0.mlp.gate"]
    assert (gate.readers, gate.partners) == (("layers.0.mlp.down",), ("layers.0.mlp.up",))


def test_styles_do_not_say_what_is_added_to_a_whole_tensor() -> None:
    program = Program.parse(gated_layer("%pos"))
    (down,) = (each for each in program.values.of_op("dot_general") if "down" in each.location)
    value, split = down.entry.value, sharded(3, 1, "tp")
    assert value is not None
    assert plan_of(value, split).styles == {}
    (same,) = (e for e in Program.parse(gated_layer()).values.of_op("dot_general") if "down" in e.location)
    assert same.entry.value is not None
    assert str(plan_of(same.entry.value, split).styles["layers.0.mlp.down"]) == (
        "RowwiseParallel(output_layouts=Shard(1))"
    )
    # Norms need whole rows.
    assert plan_of(same.entry.value, sharded(3, 2, "tp")).styles == {}


def plan_of_down(text: str) -> dict[str, str]:
    """The styles that shard the product of rows along the sequence."""
    (down,) = (e for e in Program.parse(text).values.of_op("dot_general") if "down" in e.location)
    assert down.entry.value is not None
    return plan_of(down.entry.value, sharded(3, 1, "tp")).entries


def test_styles_are_those_beside_fully_shard() -> None:
    """Weights are sharded along two axes, one of which is gathered where they are used."""
    text = gated_layer()
    gather = """%w5 = sdy.sharding_constraint %arg5 <@mesh, [{?}, {?}], replicated={"dp"}>
      : tensor<512x2048xf32> loc("layers.0/fully_shard")
    %d = stablehlo.dot_general %a, %w5,"""
    fully = text.replace('[{}, {"tp"}]> } loc', "", 1).replace(
        '<@mesh, [{}, {"tp"}]>', '<@mesh, [{"dp"}, {"tp"}]>', 1
    )
    fully = fully.replace("%d = stablehlo.dot_general %a, %arg5,", gather, 1)
    assert fully != text
    assert plan_of_down(fully) == plan_of_down(text)
    assert plan_of_down(fully)["layers.*.mlp.down"] == "RowwiseParallel(output_layouts=Shard(1))"


def test_layers_without_partners_take_and_return_whole_tensors() -> None:
    """A head whose words nothing keeps apart; what a module takes besides has a layout that is not known."""
    text = gated_layer().replace(
        'loc("output.weight")', f'{{sdy.sharding = #sdy.sharding<@mesh, {ROWS}>}} loc("output.weight")'
    )
    assert (
        plan_of_down(text)["output"] == "ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())"
    )
    more = text.replace(
        "%a = stablehlo.multiply %g, %u",
        f'%p = stablehlo.add %g, %wide : tensor<{WIDE}xf32> loc("layers.0.mlp/add")\n'
        "%a = stablehlo.multiply %p, %u",
    )
    found = plan_of_down(more.replace("%pos:", "%wide: tensor<16x2048x2048xf32>, %pos:"))
    assert "layers.*.mlp" not in found
    assert found["layers.*.mlp.up"].startswith("ColwiseParallel(input_layouts=Shard(1)")


def test_changes_that_styles_say_in_part_have_no_code() -> None:
    """Code that is one module with several products, as attention of torch, reads what would be a part."""
    text = gated_layer().replace(
        "%x1 = stablehlo.add %emb, %d",
        f"""%s = stablehlo.dot_general %d, %own, {DOT.format(x=T, w="512x512", y=T)}
    loc("layers.0.attention/matmul")
  %x1 = stablehlo.add %s, %d""",
    )
    text = text.replace("%pos:", '%own: tensor<512x512xf32> loc("layers.0.attention.in_proj_weight"), %pos:')
    assert plan_of_down(gated_layer())
    assert not plan_of_down(text)


ROWS = '[{"tp"}, {}]'
