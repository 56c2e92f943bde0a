"""Exported models: names, places, numbers, and placements in and out."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
import pytest

from shardy_py import Mesh, P, Program, Sharding, ShardyError, propagate
from shardy_py.frontends.builder import ops
from shardy_py.frontends.torch import from_exported, placements_of, register_aten, unregister_aten
from tests.frontends import torch_models
from tests.frontends.run_stablehlo import interpreted, run
from tests.frontends.test_aten import as_array, tensors_in
from tests.frontends.torch_models import MLP, ResNet, Transformer, exported, models, torch

types = pytest.importorskip("torch.distributed.tensor.placement_types")
pytestmark = pytest.mark.torch
Shard, Replicate, Partial, Strided = types.Shard, types.Replicate, types.Partial, types._StridedShard

MESH = Mesh.of(dp=2, tp=4)
COLUMN, ROW, WHOLE, BATCH = (
    (Replicate(), Shard(0)),
    (Replicate(), Shard(1)),
    (Replicate(), Replicate()),
    (Shard(0), Replicate()),
)


LONG = ("vision", "unet", "unrolled", "windows", "encoder", "decoder", "recurrent", "rotary", "attention")
"""Models whose ops and structures the others have, too."""


def made(names: Iterable[str]) -> dict[str, tuple[Program, Any, Any]]:
    return {
        name: (from_exported(exported(model, arguments)), model, arguments)
        for name, (model, arguments) in models().items()
        if name in names
    }


@pytest.fixture(scope="module")
def programs() -> dict[str, tuple[Program, Any, Any]]:
    return made(models().keys() - LONG)


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for part in tree.values() for leaf in leaves(part)]
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, list | tuple) else [tree]


@pytest.mark.slow
def test_long_models_compute_what_torch_computes() -> None:
    long = made(LONG)
    assert_equal(long, interpreted)
    assert_equal(long, run)


@pytest.mark.parametrize(
    "compute", [interpreted, pytest.param(run, marks=pytest.mark.slow)], ids=["interpreted", "compiled"]
)
def test_exported_models_compute_what_torch_computes(programs: Any, compute: Any) -> None:
    assert_equal(programs, compute)


def assert_equal(programs: Any, compute: Any) -> None:
    for name, (program, model, arguments) in programs.items():
        tensors = chain(model.named_parameters(remove_duplicate=False), model.named_buffers())
        state = {n: t.detach().clone() for n, t in tensors}
        inputs = iter([leaf for leaf in leaves(arguments) if isinstance(leaf, torch.Tensor)])
        labels = [value.label for value in program.values.arguments()]
        given = [as_array(state[label] if label in state else next(inputs)) for label in labels]
        with torch.no_grad():
            expected = [leaf for leaf in leaves(model(*arguments)) if isinstance(leaf, torch.Tensor)]
        found = compute(program, given)[-len(expected) :]
        for array, tensor in zip(found, expected, strict=True):
            tolerance = 2e-2 if name in ("bfloat16", "autocast", "masked") else 2e-6
            assert np.allclose(array, as_array(tensor), rtol=tolerance, atol=tolerance), name


def test_arguments_have_full_names_and_results_have_paths(programs: Any) -> None:
    transformer, model, _ = programs["transformer"]
    names = [value.label for value in transformer.values.arguments()]
    assert set(names) == {*dict(model.named_parameters()), "tokens"}
    assert transformer["layers.1.mlp.up.weight"].shape == (64, 16)
    assert transformer["output"].shape == (4, 6, 32)
    resnet = programs["resnet"][0]
    assert resnet["norm1.running_var"].shape == (8,)
    counter = programs["counter"][0]
    assert [value.label for value in counter.values.results()] == [
        "calls after",
        "output['sum']",
        "output['rest'][0]",
    ]


def test_products_stay_whole_and_nothing_unused_is_left(programs: Any) -> None:
    program = programs["transformer"][0]
    assert len(program.values.of_op("dot_general")) == 2 * (4 + 2 + 2) + 1
    assert not [value for value in program.values if value.entry.value and not list(value.entry.value.uses)]


def test_ops_know_the_line_of_the_model(programs: Any) -> None:
    program = programs["transformer"][0]
    mlp, start = inspect.getsourcelines(MLP.forward)
    line = start + next(i for i, text in enumerate(mlp) if "self.down" in text)
    products = [value.location for value in program.values.of_op("dot_general")]
    assert f"{torch_models.__file__}:{line}:1 layers.0.mlp.up/linear" in products
    assert all("torch_models.py" in value.location for value in program.values.of_op("stablehlo.add"))


def test_an_mlp_as_megatron_shards_it() -> None:
    model, arguments = models()["mlp"]
    program = from_exported(exported(model, arguments), MESH, {"up.weight": COLUMN, "x": BATCH})
    result = propagate(program)
    assert dict(placements_of(result)) == {
        "up.weight": COLUMN,
        "up.bias": COLUMN,
        "down.weight": ROW,
        "down.bias": WHOLE,
        "x": BATCH,
        "output": BATCH,
    }
    assert result["down.weight"].local_shape == (16, 16)
    (use,) = result.communication().collectives
    assert (use.kind, dict(use.axes)) == ("all_reduce", {"tp": 4})


def test_a_transformer_as_megatron_shards_it() -> None:
    model, arguments = models()["transformer"]
    shardings = {
        "layers.*.weight": None,
        **{f"layers.*.{name}.weight": COLUMN for name in ("q", "k", "v", "up")},
        "tokens": BATCH,
    }
    result = propagate(from_exported(exported(model, arguments), MESH, shardings))
    placements = placements_of(result)
    for layer in ("layers.0", "layers.1"):
        assert placements[f"{layer}.attention.o.weight"] == ROW
        assert placements[f"{layer}.attention.q.bias"] == COLUMN
        assert placements[f"{layer}.mlp.down.weight"] == ROW
        assert placements[f"{layer}.norm1.weight"] == WHOLE
    assert placements["output"] == BATCH
    reduced = [use for use in result.communication().collectives if use.kind == "all_reduce"]
    assert [dict(use.axes) for use in reduced] == [{"tp": 4}] * 4


def test_fully_sharded_and_tensor_parallel_weights_come_back_as_they_went_in() -> None:
    both = (Strided(0, split_factor=4), Shard(0))
    program = from_exported(exported(*models()["mlp"]), MESH, {"up.weight": both})
    assert str(program["up.weight"].sharding) == '<@mesh, [{"tp", "dp"}, {}]>'
    assert placements_of(propagate(program))["up.weight"] == both


def test_channels_and_batches_of_convolutions() -> None:
    shardings = {"image": BATCH, "conv1.weight": COLUMN}
    result = propagate(from_exported(exported(*models()["resnet"]), MESH, shardings))
    placements = placements_of(result)
    assert placements["norm1.running_mean"] == COLUMN
    assert placements["conv2.weight"] == ROW
    assert placements["norm2.weight"] == WHOLE
    assert placements["output"] == BATCH
    assert placements["norm0.num_batches_tracked"] == WHOLE


def test_decomposed_programs_compute_and_shard_too() -> None:
    model, arguments = Transformer(layers=1), models()["transformer"][1]
    program = from_exported(exported(model, arguments).run_decompositions(), MESH, {"tokens": BATCH})
    assert placements_of(propagate(program))["output"] == BATCH
    state = model.state_dict()
    given = [
        as_array(state.get(value.label, tensors_in(arguments)[0])) for value in program.values.arguments()
    ]
    with torch.no_grad():
        expected = model(*arguments).numpy()
    assert np.allclose(run(program, given)[0], expected, rtol=2e-6, atol=2e-6)


def test_shardings_of_every_spelling() -> None:
    program = exported(*models()["mlp"])
    spellings = (COLUMN, list(COLUMN), P("tp"), Sharding(MESH, P("tp")), '<@mesh, [{"tp"}, {}]>')
    texts = {str(from_exported(program, MESH, {"up.weight": s})["up.weight"].sharding) for s in spellings}
    assert texts == {'<@mesh, [{"tp"}, {}]>'}
    partial = from_exported(program, MESH, {"output": (Partial(), Replicate())})
    assert placements_of(partial)["output"] == (Partial(), Replicate())


def test_names_go_before_patterns_and_later_patterns_before_earlier_ones() -> None:
    shardings = {"up.bias": P("dp"), "*.bias": P("tp"), "down.*": P(None), "u?.weight": P("dp")}
    program = from_exported(exported(*models()["mlp"]), MESH, shardings)
    found = {value.label: value.sharding for value in program.values.arguments()}
    assert found.pop("x") is None
    assert {name: sharding.spec for name, sharding in found.items() if sharding} == {
        "up.weight": P("dp", None),
        "up.bias": P("dp"),
        "down.weight": P(None, None),
        "down.bias": P(None),
    }


@pytest.mark.parametrize(
    ("mesh", "shardings", "message"),
    [
        (MESH, {"up.weigth": P()}, "output 'up.weigth'; the model has up.weight"),
        (MESH, {"layers.*": P()}, r"output 'layers\.\*'; the model has up.weight, up.bias"),
        (MESH, {"up.weight": Shard(0)}, r"up.weight: expected a list of placements, .* got Shard\(dim=0\)"),
        (MESH, {"up.weight": [Shard(0)]}, "up.weight: placements: expected one for each of the 2 dimensions"),
        (MESH, {"up.bias": [Replicate(), Shard(1)]}, "up.bias: .* a tensor of rank 1"),
        (None, {"up.bias": [Replicate()]}, "up.bias: placements without a mesh; pass one: from_exported"),
        (MESH, {"up.weight": P("pp")}, "error: up.weight: .* unknown axis name"),
        (MESH, [P()], "expected shardings by name, .* got "),
        (MESH, {3: P()}, "expected shardings by name, .* got {3: P"),
        (
            (2, 4),
            {},
            r"expected a Mesh such as Mesh.of\(dp=2, tp=4\), or a DeviceMesh of torch, got \(2, 4\)",
        ),
    ],
)
def test_invalid_shardings(mesh: Any, shardings: Any, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        from_exported(exported(*models()["mlp"]), mesh, shardings)


def test_placements_that_dtensor_cannot_express() -> None:
    program = exported(*models()["mlp"])
    placements = placements_of(from_exported(program, MESH, {"x": P("tp:(1)2")}))
    assert len(placements) == 6
    assert placements["up.weight"] == WHOLE
    with pytest.raises(ShardyError, match=r"x: dimension 0 of .* uses a sub-axis of 'tp'"):
        placements["x"]
    with pytest.raises(ShardyError, match="x has no placements: the program has no mesh"):
        placements_of(from_exported(program))["x"]
    with pytest.raises(KeyError, match=r"output 'up.weigth'; the model has up.weight"):
        placements["up.weigth"]
    with pytest.raises(ShardyError, match=r"expected the result of propagate.*, got ExportedProgram"):
        placements_of(program)


class Odd(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.logcumsumexp(x, 0)


def test_rows_of_users() -> None:
    register_aten("aten.logcumsumexp", lambda out, self, dim: ops.tanh(self))
    try:
        program = from_exported(exported(Odd(), (torch.randn(3, 4),)))
        assert len(program.values.of_op("tanh")) == 1
        register_aten("aten.logcumsumexp", lambda out, self, dim: ops.reshape(self, (12,)))
        with pytest.raises(ShardyError, match="its row: expected tensor<3x4xf32>, got tensor<12xf32>"):
            from_exported(exported(Odd(), (torch.randn(3, 4),)))
        register_aten("aten.logcumsumexp", lambda out, self: self)
        with pytest.raises(
            ShardyError, match=r"its row cannot be called with these arguments: .* positional"
        ):
            from_exported(exported(Odd(), (torch.randn(3, 4),)))
    finally:
        unregister_aten("aten.logcumsumexp")


def test_what_is_no_exported_program() -> None:
    with pytest.raises(ShardyError, match=r"expected the result of torch\.export\.export.*, got MLP"):
        from_exported(MLP())


def test_results_that_rows_leave_out() -> None:
    class Seeds(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.ops.aten._scaled_dot_product_efficient_attention(x, x, x, None, False)[2]

    program = torch.export.export(Seeds(), (torch.randn(1, 2, 8, 16, device="meta"),))
    with pytest.raises(ShardyError, match=r"efficient_attention.*: result 2 is unsupported"):
        from_exported(program)


def test_training_gives_the_new_statistics() -> None:
    model = ResNet().train()
    program = from_exported(torch.export.export(model, (torch.randn(4, 3, 32, 32),)), MESH, {"image": BATCH})
    names = [value.label for value in program.values.results()]
    assert names[-1] == "output"
    assert "norm1.running_mean after" in names


def test_large_models_need_no_memory() -> None:
    with torch.device("meta"):
        model = Transformer(layers=2, size=65536, heads=512).bfloat16()
        tokens = torch.zeros(64, 8192, dtype=torch.int64)
    shardings = {f"layers.*.{name}.weight": COLUMN for name in ("q", "k", "v", "up")}
    result = propagate(from_exported(exported(model, (tokens,)), MESH, shardings | {"tokens": BATCH}))
    assert len(result.values.of_op("dot_general")) == 2 * 8 + 1
    assert placements_of(result)["layers.1.mlp.down.weight"] == ROW
    assert result["layers.1.mlp.down.weight"].local_shape == (65536, 65536)


class Mask(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mask = torch.ones(4, 4).tril()

    def forward(self, x: Any) -> Any:
        return x * self.mask


def test_constants_without_numbers_are_arguments() -> None:
    with torch.device("meta"):
        program = from_exported(exported(Mask(), (torch.zeros(4, 4),)))
    assert [value.label for value in program.values.arguments()] == ["mask", "x"]
    assert len(from_exported(exported(Mask(), (torch.zeros(4, 4),))).values.arguments()) == 1


class Namesakes(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.x = torch.nn.Parameter(torch.ones(4))

    def forward(self, x: Any, output: Any) -> Any:
        return self.x * x + output


def test_inputs_with_names_of_parameters_or_outputs_are_distinguished() -> None:
    model = exported(Namesakes(), (torch.ones(4), torch.ones(4)))
    program = from_exported(model, MESH, {"x": P("dp"), "x (input)": P("tp")})
    found = {value.label: value.sharding for value in program.values.arguments()}
    assert {name: sharding and sharding.spec for name, sharding in found.items()} == {
        "x": P("dp"),
        "x (input)": P("tp"),
        "output (input)": None,
    }


class Tied(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(32, 16), torch.nn.Linear(16, 32, bias=False)
        self.other = torch.nn.Linear(16, 32, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens: Any) -> Any:
        x = self.embed(tokens)
        return self.head(x), self.other(x)


def test_tied_weights_get_one_sharding() -> None:
    program = from_exported(exported(Tied(), (torch.tensor([[1, 2]]),)), MESH, {"head.weight": COLUMN})
    placements = placements_of(propagate(program))
    assert placements["embed.weight"] == COLUMN
    assert placements["other.weight"] == WHOLE


def test_registered_ops() -> None:
    @torch.library.custom_op("shardy_py_test::scaled", mutates_args=())
    def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
        return x * factor

    scaled.register_fake(lambda x, factor: torch.empty_like(x))

    class Scaled(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            with torch.no_grad():
                y = torch.ops.shardy_py_test.scaled(x, 3.0)
            return x + y

    name = "shardy_py_test.scaled"
    with pytest.raises(ShardyError, match=rf'register_aten\("{name}", row\)'):
        from_exported(exported(Scaled(), (torch.randn(3),)))
    try:

        @register_aten(name)
        def row(out: Any, x: Any, factor: float) -> Any:
            return x * factor

        program = from_exported(exported(Scaled(), (torch.randn(3),)))
    finally:
        unregister_aten(name)
    (found,) = run(program, [np.array([1, 2, 3], np.float32)])
    assert found.tolist() == [4, 8, 12]


def test_a_program_from_torch() -> None:
    exported = torch.export.export(torch.nn.Linear(4, 2), (torch.zeros(3, 4),))
    mesh = Mesh.of(x=2)
    program = Program.from_torch(exported, mesh, {"weight": P("x")})
    assert program.text() == from_exported(exported, mesh, {"weight": P("x")}).text()
