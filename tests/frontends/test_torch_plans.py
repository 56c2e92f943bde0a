"""Plans of parallelize_module and fully_shard: placements, collectives, shards as torch makes them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
distributed = pytest.importorskip("torch.distributed")
fake = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
tensors = pytest.importorskip("torch.distributed.tensor")
parallel = pytest.importorskip("torch.distributed.tensor.parallel")
fsdp = pytest.importorskip("torch.distributed.fsdp")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import Mesh, Options, P, Program, ShardyError, propagate
from shardy_py.frontends.torch import (
    FullyShard,
    TensorParallel,
    from_exported,
    launches,
    placements_of,
    under_plan,
)
from shardy_py.search.advice.torch_words import code_of, words_of_values
from shardy_py.sharding import AxisRef, DimensionSharding, TensorSharding
from tests.frontends import dtensor_collectives
from tests.frontends.planned_models import MODELS, ON_SEQUENCES, Decoder, column, prepare, row, sequence
from tests.frontends.torch_models import MLP, exported

pytestmark = pytest.mark.torch

Shard, Replicate, Strided = tensors.Shard, tensors.Replicate, tensors.placement_types._StridedShard
MESH = Mesh.of(dp=2, tp=4)
MEGATRON = {"up": column(), "down": row()}
ALONG_TP = TensorParallel("tp", MEGATRON)


@pytest.fixture(scope="module")
def device_mesh() -> Iterator[Any]:
    with dtensor_collectives.device_mesh() as mesh:
        yield mesh


LONG = (
    "decoder, vocabulary",
    "decoder, groups of heads",
    "decoder, FSDP",
    "decoder, HSDP",
    "decoder, sequences",
)
"""Those whose rules the other models have, too: plans of both kinds together, and HSDP of a step."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in MODELS]
)
def test_collectives_are_those_of_dtensor(device_mesh: Any, name: str) -> None:
    torch.manual_seed(0)
    expected = dtensor_collectives.theirs(MODELS[name], device_mesh)
    assert dtensor_collectives.ours(MODELS[name], device_mesh) == expected
    assert expected


@functools.cache
def exported_decoder() -> Any:
    return exported(Decoder(), (torch.randint(0, 32, (8, 8)),))


def decoder(plan: Any, **shardings: Any) -> Program:
    return from_exported(exported_decoder(), MESH, shardings, plan=plan)


def test_parameters_lie_as_parallelize_module_and_fully_shard_place_them(device_mesh: Any) -> None:
    model = Decoder()
    parallel.parallelize_module(model, device_mesh["tp"], dict(ON_SEQUENCES))
    for layer in model.layers.values():
        fsdp.fully_shard(layer, mesh=device_mesh["dp"])
    fsdp.fully_shard(model, mesh=device_mesh["dp"])
    ours = placements_of(
        propagate(decoder([TensorParallel("tp", ON_SEQUENCES), FullyShard("dp", ("layers.*", ""))]))
    )
    theirs = {name: parameter.placements for name, parameter in model.named_parameters()}
    assert {name: ours[name] for name in theirs} == theirs
    assert ours["layers.0.attention.wq.weight"] == (Strided(0, split_factor=4), Shard(0))


@pytest.mark.parametrize("rows", [3, 8, 10, 16, 17])
def test_uneven_shards_of_fsdp_are_as_torch_pads_them(rows: int) -> None:
    result = propagate(
        from_exported(
            exported(torch.nn.Linear(4, rows, bias=False), (torch.randn(2, 4),)),
            Mesh.of(dp=8),
            plan=FullyShard("dp"),
        ),
        Options(update_non_divisible_input_output_shardings=False),
    )
    weight = result["weight"]
    assert weight.sharding is not None
    sizes = weight.sharding.device_slices((rows, 4)).sizes[:, 0]
    x = torch.zeros(rows, 4)
    chunks = [len(chunk) for chunk in x.chunk(8)]
    assert sizes.tolist() == chunks + [0] * (8 - len(chunks))
    theirs = [Shard(0)._split_tensor(x, 8, with_padding=with_padding)[0] for with_padding in (False, True)]
    assert sizes.tolist() == [len(shard) for shard in theirs[0]]
    assert {weight.local_shape} == {tuple(shard.shape) for shard in theirs[1]}


def test_a_parameter_that_cannot_be_sharded_evenly_is_a_warning_with_the_reason() -> None:
    model = exported(torch.nn.Linear(4, 6), (torch.randn(2, 4),))
    plan = TensorParallel("tp", {"": column()}, uneven=True)
    warnings = propagate(from_exported(model, MESH, plan=plan)).warnings
    weight, bias = (str(warning).partition("; choose")[0] for warning in warnings)
    reason = "is not kept: dimension 0 of size 6 is not divisible by 4"
    assert weight == f'warning: weight: the annotation <@mesh, [{{"tp"}}, {{}}]> {reason}'
    assert bias == f'warning: bias: the annotation <@mesh, [{{"tp"}}]> {reason}'


def test_styles_without_an_axis_are_along_the_only_axis() -> None:
    graph = exported(MLP(), (torch.randn(8, 16),))
    only = from_exported(graph, Mesh.of(model=4), plan=MEGATRON)
    named = from_exported(graph, Mesh.of(model=4), plan=[TensorParallel("model", MEGATRON)])
    assert only.text() == named.text()
    assert placements_of(only)["down.weight"] == (Shard(1),)
    assert placements_of(only)["down.bias"] == (Replicate(),)
    nested = decoder(TensorParallel("tp", {"layers": {"*": {"feed_forward": {"w1": column()}}}}))
    assert placements_of(nested)["layers.1.feed_forward.w1.weight"] == (Replicate(), Shard(0))


def test_parameters_belong_to_the_innermost_module_of_several_plans(device_mesh: Any) -> None:
    model = Decoder()
    for layer in model.layers.values():
        fsdp.fully_shard(layer.feed_forward, mesh=device_mesh["tp"])
    fsdp.fully_shard(model, mesh=device_mesh["dp"])
    ours = placements_of(decoder([FullyShard("tp", "layers.*.feed_forward"), FullyShard("dp")]))
    for name, parameter in model.named_parameters():
        (axis,), (placement,) = parameter.device_mesh.mesh_dim_names, parameter.placements
        assert ours[name][("dp", "tp").index(axis)] == placement
        assert ours[name].count(Replicate()) == 1


def test_parameters_may_be_fully_sharded_along_two_axes() -> None:
    program = decoder(FullyShard(("dp", "tp"), ("layers.*", "")), tokens=P(("dp", "tp")))
    assert placements_of(program)["layers.0.attention.wq.weight"] == (Shard(0), Shard(0))
    report = propagate(program).communication(partitioner="shardy")
    assert {use.axis_names for use in report.collectives} == {("dp", "tp")}


class Positioned(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.positions = torch.nn.Embedding(8, 16)

    def forward(self, x: Any) -> Any:
        return x + self.positions(torch.arange(x.shape[1]))


def test_modules_may_take_constants() -> None:
    plan = TensorParallel("tp", {"positions": row(input_layouts=Replicate())})
    graph = exported(Positioned(), (torch.randn(4, 8, 16),))
    result = propagate(from_exported(graph, MESH, plan=plan))
    assert launches(result.communication(partitioner="shardy"), plan) == {"all_reduce": 1}


def test_shardings_go_before_the_plan() -> None:
    graph = exported(MLP(), (torch.randn(8, 16),))
    program = from_exported(graph, MESH, {"up.bias": P("dp")}, plan=ALONG_TP)
    assert str(program["up.bias"].sharding) == '<@mesh, [{"dp"}]>'
    assert str(program["up.weight"].sharding) == '<@mesh, [{"tp"}, {}]>'
    assert str(program["x"].sharding) == '<@mesh, [{?}, {?}], replicated={"tp"}>'


def test_remedies_leave_parameters_out_of_fully_shard() -> None:
    plan = [TensorParallel("tp", MEGATRON), FullyShard("dp")]
    result = propagate(from_exported(exported(MLP(), (torch.randn(8, 16),)), MESH, plan=plan))
    (entry,) = (each for each in result.values.table.entries if each.label == "up.weight")
    columns = DimensionSharding((AxisRef("tp"),), is_closed=True)
    new = TensorSharding("mesh", (columns, DimensionSharding((), is_closed=True)))
    assert words_of_values([entry], new, MESH) == 'leave "up.weight" out of fully_shard along dp'
    placed = 'shardings |= {"up.weight": [Replicate(), Shard(0)]}'
    assert code_of([entry], new, MESH, {}) == f"{placed}  # fully_shard(..., ignored_params={{these}})"


@pytest.mark.parametrize(
    ("mesh", "plan", "message"),
    [
        (
            MESH,
            TensorParallel("tp", {"upp": column()}),
            "plan for 'upp': expected a module with ops or parameters, such as up",
        ),
        (MESH, TensorParallel("tp", {"layers.*": column()}), r"plan for 'layers\.\*': expected a module"),
        (MESH, TensorParallel("pp", MEGATRON), "unknown axis of the plan 'pp'"),
        (MESH, FullyShard("dp", replicate="pp"), "unknown axis of the plan 'pp'"),
        (
            MESH,
            TensorParallel("tp", {"": column()}),
            r"ColwiseParallel of '': expected a module nn.Linear or nn.Embedding, .*MLP",
        ),
        (
            MESH,
            TensorParallel("tp", {"up": "columns"}),
            "style str of 'up'.*unsupported; use one of ColwiseParallel",
        ),
        (
            MESH,
            TensorParallel("tp", {"up": parallel.ColwiseParallel}),
            r"style of 'up': expected an object, such as ColwiseParallel\(\), got the class ColwiseParallel",
        ),
        (MESH, 3, r"expected a plan: styles by module, TensorParallel\(axis, styles\)"),
        (MESH, dict.fromkeys, "or a list, got the function fromkeys; pass what it returns"),
        (
            Mesh.of(a=2, b=2),
            MEGATRON,
            r'plan of styles on a mesh of several axes.* TensorParallel\("b", plan\)',
        ),
        (
            MESH,
            MEGATRON,
            r'plan of styles on a mesh of several axes: .*; pass TensorParallel\("tp", plan\)',
        ),
        (
            MESH,
            [ALONG_TP, FullyShard("tp")],
            "up.weight: ColwiseParallel and FullyShard are both along 'tp'; .*: give one of them another",
        ),
        (
            MESH,
            [TensorParallel("dp", {"": sequence()}), FullyShard("tp"), ALONG_TP],
            "up.weight: ColwiseParallel and FullyShard are both along 'tp'",
        ),
        (
            MESH,
            [ALONG_TP, FullyShard("dp", replicate="tp")],
            "up.weight: ColwiseParallel and FullyShard are both along 'tp'",
        ),
        (
            MESH,
            [ALONG_TP, TensorParallel("tp", {"*": row()})],
            "module 'up' has two styles along 'tp': ColwiseParallel and RowwiseParallel; give each",
        ),
        (MESH, [FullyShard("dp"), FullyShard("tp")], "the whole model is fully sharded twice; name each"),
        (
            MESH,
            [FullyShard("dp", "up"), FullyShard("tp", ("*",))],
            "module 'up' is fully sharded twice; name each",
        ),
        (
            Mesh.of(tp=3),
            MEGATRON,
            "up.weight: ColwiseParallel along 'tp': expected a dimension that 3 devices divide, got "
            "dimension 0 of size 64; pad it to 66, leave the module out of the plan, or pass "
            r"TensorParallel\(axis, styles, uneven=True\)",
        ),
        (None, MEGATRON, "a plan without a mesh; pass one"),
        (
            MESH,
            FullyShard("dp", dimensions={"up.bias": 1}),
            "up.bias: the plan shards dimension 1 of a tensor",
        ),
        (
            MESH,
            TensorParallel(
                "tp",
                {
                    "up": prepare(
                        input_layouts=(Shard(0), Shard(0)), desired_input_layouts=(Shard(0), Shard(0))
                    )
                },
            ),
            "plan for 'up': expected a module that uses at least 2 tensors from outside, got 1",
        ),
        (
            MESH,
            TensorParallel("tp", {"up": column(output_layouts=Shard(5))}),
            r"plan for 'up': expected Replicate\(\) or Shard\(dim\)",
        ),
    ],
)
def test_invalid_plans(mesh: Any, plan: Any, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        from_exported(exported(MLP(), (torch.randn(8, 16),)), mesh, plan=plan)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: FullyShard("dp", replicate="dp"),
            "along another axis .*, got 'dp' for both; HSDP takes two",
        ),
        (
            lambda: FullyShard("dp", (torch.nn.Linear(2, 2),)),
            "modules of FullyShard: expected paths of modules",
        ),
        (lambda: FullyShard(3), "axis of FullyShard: expected names of axes, got 3"),
        (lambda: TensorParallel(["tp"], {}), r"axis of TensorParallel: expected the name of an axis"),
        (lambda: TensorParallel("tp", [column()]), "styles of TensorParallel: expected styles by the path"),
        (
            lambda: from_exported(
                exported(MLP(), (torch.randn(8, 16),)), MESH, plan=TensorParallel("tp", {0: column()})
            ),
            "key of a plan: expected the path of a module",
        ),
    ],
)
def test_invalid_parts_of_plans(make: Any, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        make()


STEP = """
sdy.mesh @mesh = <["dp"=2]>
func.func @main(%w: tensor<8x8xf32> loc("up.weight"), %x: tensor<8x8xf32> loc("x"))
    -> (tensor<8x8xf32> {jax.result_info = "up.weight after"}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1]
    : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("up/linear")
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0]
    : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("up/mm backward")
  %2 = stablehlo.dot_general %1, %x, contracting_dims = [0] x [0]
    : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("up/mm backward")
  %3 = stablehlo.subtract %w, %2 : tensor<8x8xf32> loc("optimizer/sub")
  return %3 : tensor<8x8xf32>
}
"""


@pytest.mark.parametrize(
    ("modules", "again", "gathers"),
    [
        (("up", ""), None, 2),
        (("",), None, 1),
        (("",), True, 2),
        (("up", ""), False, 1),
        (("up",), None, 1),  # the outermost module of the plan is one, too
        (("up",), True, 2),
    ],
)
def test_a_training_step_gathers_for_both_passes_and_reduces_once(
    modules: Any, again: bool | None, gathers: int
) -> None:
    model = torch.nn.ModuleDict({"up": torch.nn.Linear(8, 8, bias=False)})
    plan = FullyShard("dp", modules, reshard_after_forward=again)
    program = under_plan(Program.parse(STEP), model, Mesh.of(dp=2), plan).annotate({"x": P("dp", None)})
    report = propagate(program).communication(partitioner="shardy")
    assert launches(report, plan) == {"all_gather": gathers, "reduce_scatter": 1}
    assert str(program["up.weight after"].sharding) == '<@mesh, [{"dp"}p1, {}]>'
    assert report.by_line[0].key.startswith(f"{modules[0]}/fully_shard" if modules[0] else "fully_shard")


def test_programs_under_a_plan_compute_what_they_computed() -> None:
    graph = exported(MLP(), (torch.randn(8, 16),))
    plan = [TensorParallel("tp", MEGATRON), FullyShard("dp")]
    plain, planned = from_exported(graph), from_exported(graph, MESH, plan=plan)
    shapes = [tuple(size or 0 for size in value.shape or ()) for value in plain.values.arguments()]
    given = [np.random.default_rng(0).normal(size=shape).astype(np.float32) for shape in shapes]
    assert np.array_equal(plain.run(given)["output"], planned.run(given)["output"])


def test_modules_are_found_by_path_in_results() -> None:
    result = propagate(decoder(TensorParallel("tp", ON_SEQUENCES)))
    sharding = result["layers.1.feed_forward.w1"].sharding
    assert str(sharding) == '<@mesh, [{}, {}, {"tp"}]>'
    assert str(result["layers.1.feed_forward"].sharding) == '<@mesh, [{}, {"tp"}, {}]>'
    assert "layers.0.attention" in result.values
    moved = result.what_if({"layers.0.norm1": [Shard(0), Replicate()]})
    assert moved.after["layers.0.norm1"].sharding is not None


def test_reports_name_the_modules_of_a_plan_with_their_lines() -> None:
    report = propagate(decoder(TensorParallel("tp", ON_SEQUENCES))).communication(partitioner="shardy")
    gathers = [use.cause.location for use in report.collectives if use.kind == "all_gather"]
    assert len(gathers) == 6
    assert all("planned_models.py:" in place for place in gathers)
    assert gathers[0].endswith("layers.0.attention/input_layouts")


def test_warnings_of_a_step_name_parameters_with_the_reason() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(10, 6), torch.nn.Linear(6, 3))
    program = Program.from_torch_training(
        model, lambda y: y.square().mean(), None, (torch.randn(8, 10),), mesh=MESH, plan=FullyShard("dp")
    )
    result = propagate(program)
    found = {str(warning).partition("; choose")[0] for warning in result.warnings}
    reason = "is not kept: dimension 0 of size 3 is not divisible by 2"
    own = {"1.weight": '[{"dp"}p1, {}]', "1.bias": '[{"dp"}p1]'}
    shardings = {**own, **{f"{name} gradient": text for name, text in own.items()}}
    assert found == {f"warning: {n}: the annotation <@mesh, {s}> {reason}" for n, s in shardings.items()}
    assert placements_of(result)["1.weight"] == (Replicate(), Replicate())
    assert placements_of(result)["0.weight"] == (Shard(0), Replicate())


def test_the_style_of_the_model_may_be_listed_last() -> None:
    whole = {"": prepare(input_layouts=Shard(0), desired_input_layouts=Replicate())}
    model = exported(MLP(), (torch.zeros(8, 16),))
    texts = [
        from_exported(model, MESH, plan=TensorParallel("tp", styles)).text(debuginfo=False)
        for styles in ({**whole, **MEGATRON}, {**MEGATRON, **whole})
    ]
    assert texts[0] == texts[1]


def test_gathers_of_fully_shard_are_not_redistributed() -> None:
    """It gathers a parameter whole, or is not applied to it: no other layout can be asked of it."""

    class Words(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = torch.nn.Embedding(32000, 512), torch.nn.Linear(512, 32000, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, tokens: Any) -> Any:
            return self.head(self.embed(tokens))

    with torch.device("meta"):
        model = Words()
    tokens = torch.zeros((16, 256), dtype=torch.int64)
    mesh, inputs = Mesh.of(dp=4, tp=2), {"tokens": [Shard(0), Replicate()]}
    program = Program.from_torch(model, mesh, inputs, plan=FullyShard("dp", ("",)), args=(tokens,))
    words = [change.words for change in propagate(program, progress=False).verdict().changes]
    assert words
    assert not any("result of fully_shard" in each for each in words), words
