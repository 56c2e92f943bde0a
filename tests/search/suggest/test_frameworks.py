"""Code of plans for flax and PyTorch: what it does is what the plan says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shardy_py import Program, ShardyError
from shardy_py.cli.suggest import main
from shardy_py.search.advice.torch_layers import TorchLayer, TorchModel
from shardy_py.search.advice.torch_styled import styled
from shardy_py.search.suggest import Code, Row
from shardy_py.search.suggest.frameworks import flax_lines
from shardy_py.search.suggest.torch_code import TorchInput, blocks_of, torch_lines
from shardy_py.search.suggest_code import NUMBER
from shardy_py.sharding import Mesh
from tests.search.suggest.test_suggest import TEXT


def row(label: str, *spec: tuple[str, ...]) -> Row:
    return Row("%x", NUMBER.sub("*", label), label, "8x8xf32", spec)


def test_rules_of_flax_match_paths() -> None:
    jax = pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")
    rows = [row(f"params['layers_{n}']['up']['kernel']", (), ("d",)) for n in range(12)]
    rows += [row("params['out']['kernel']", ("d",), ()), row("params['scales'][0]", ("d",))]
    rows += [row("params['scales'][1]", ())]
    given: dict[str, Any] = {}
    text = "\n".join(flax_lines(Code(Mesh.of(d=1), tuple(rows), ())))
    exec(text, given)
    assert text.count("layers_") == 1
    layers = {f"layers_{n}": {"up": {"kernel": 1}} for n in range(12)}
    tree = {**layers, "out": {"kernel": 1, "bias": 1}, "scales": [1, 1]}
    (specs,) = given["partition_specs"](given["rules"], params=tree)
    P = jax.sharding.PartitionSpec
    assert specs["layers_11"]["up"]["kernel"] == P(None, "d")
    assert specs["out"] == {"kernel": P("d"), "bias": P()}
    assert specs["scales"] == [P("d"), P()]


TORCH = (
    row("emb.weight", (), ("model",)),
    *(row(f"layers.{n}.up.weight", ("model",), ("data",)) for n in range(2)),
    *(row(f"layers.{n}.down.weight", ("data",), ("model",)) for n in range(2)),
    row("layers.0.up.bias", ()),
)


WHOLE = "ColwiseParallel(output_layouts=Replicate())", "RowwiseParallel(input_layouts=Replicate())"
LAYERS = {
    layer.path: layer
    for layer in (
        TorchLayer("emb", 0, ends="layers.0/add"),
        *(TorchLayer(f"layers.{n}.up", 1, (f"layers.{n}.down",), parts=16) for n in range(2)),
        *(TorchLayer(f"layers.{n}.down", 1, ends="nothing reads it") for n in range(2)),
    )
}
MESH = Mesh.of(data=2, model=4)


def code_of(data: tuple[str, ...], *rows: Row) -> str:
    given = [TorchInput("x", 0, (data, ()))]
    return "\n".join(torch_lines(Code(MESH, (*TORCH, *rows), ()), given, TorchModel(LAYERS)))


def test_calls_of_torch() -> None:
    text = code_of(("data",))
    assert "**{f'layers.{i}.up': ColwiseParallel() for i in range(2)}" in text
    assert "**{f'layers.{i}.down': RowwiseParallel() for i in range(2)}" in text
    assert "'emb': ColwiseParallel(output_layouts=Replicate())," in text
    assert "# 4 weights are gathered along data where they are used\n" in text
    by_block = """for index in range(2):
    fully_shard(model.get_submodule(f"layers.{index}"), mesh=mesh["data"])
fully_shard(model, mesh=mesh["data"])"""
    assert by_block in text
    assert "# x = part_of_batch(x)" in text
    assert "use_local_output" not in text


def test_calls_of_torch_name_modules_by_number() -> None:
    rows = (row("0.weight", ("model",), ()), row("2.weight", (), ("model",)))
    layers = {"0": TorchLayer("0", 1, ("2",), parts=16), "2": TorchLayer("2", 1, ends="nothing reads it")}
    text = "\n".join(torch_lines(Code(MESH, rows, ()), [], TorchModel(layers)))
    assert "'0': ColwiseParallel(),  # 8x8xf32" in text
    assert "'2': RowwiseParallel(),  # 8x8xf32" in text


@pytest.mark.parametrize(
    ("paths", "blocks"),
    [
        (["h.0.up", "h.2.up", "h.1"], {"h.*": (0, 2)}),
        (["0", "2", "head.0", "head.1"], {}),
        (["only.0.up"], {}),
        (["0.up", "1.up"], {"*": (0, 1)}),
        (["h.0.experts.0.up", "h.0.experts.1.up", "h.1.norm"], {"h.*": (0, 1)}),
        (
            ["h.0.mlp.up", "h.1.mlp.up", "uncalled.0.mlp.up", "uncalled.1.mlp.up"],
            {"h.*": (0, 1), "uncalled.*.mlp": (0, 1)},
        ),
        (["h.0.0.up", "h.0.1.up", "h.1.0.up", "h.1.1.up"], {"h.0.*": (0, 1), "h.1.*": (0, 1)}),
    ],
)
def test_blocks_are_outermost_modules_that_repeat(
    paths: list[str], blocks: dict[str, tuple[int, ...]]
) -> None:
    assert blocks_of(paths, {"uncalled.0", "uncalled.1"}) == blocks


def test_calls_of_torch_say_what_they_do_not_shard() -> None:
    text = code_of((), row("convolution.weight", ("data",), ()), row("x", (), ("data",)))
    assert "#   convolution.weight: P('data') of 8x8xf32" in text
    assert "fully_shard" not in text
    assert "part_of_batch" not in text


def test_axes_of_the_batch_are_those_of_hsdp() -> None:
    """Weights are replicated along the axes that none of them has, and sharded along the others."""
    rows = tuple(row(f"{name}.weight", ("fsdp", "cp"), ()) for name in ("up", "down"))
    given = [TorchInput("x", 0, (("dp", "fsdp", "cp"), ()))]
    axes = {"dp": 2, "tp": 4, "fsdp": 2, "cp": 2}
    code = Code(Mesh.of(**axes), rows, ())
    text = "\n".join(torch_lines(code, given, TorchModel()))
    assert "init_device_mesh(device, (2, 4, 4), mesh_dim_names=('dp', 'fsdp_cp', 'tp'))" in text
    assert 'fully_shard(model, mesh=mesh["dp", "fsdp_cp"])' in text
    whole = replace(code, arguments=(row("up.weight", (), ()),))
    text = "\n".join(torch_lines(whole, given, TorchModel()))
    assert "(8, 1, 4), mesh_dim_names=('dp_fsdp_cp', 'whole', 'tp')" in text
    assert 'fully_shard(model, mesh=mesh["dp_fsdp_cp", "whole"])' in text


def test_layers_of_other_classes_have_no_style() -> None:
    refused = {"layers.0.up": "model.Affine", "layers.1.up": "model.Affine"}
    layers = {path: layer for path, layer in LAYERS.items() if path not in refused}
    given = [TorchInput("x", 0, (("data",), ()))]
    text = "\n".join(torch_lines(Code(MESH, TORCH, ()), given, TorchModel(layers, refused)))
    assert "layers.{i}.up'" not in text
    assert (
        "#   layers.*.up.weight: P('model', 'data') of 8x8xf32, of Affine, which is not an nn.Linear" in text
    )


@pytest.mark.parametrize(
    ("changes", "up", "down"),
    [
        ({}, "ColwiseParallel()", "RowwiseParallel()"),
        (
            {"parts": 6},
            "ColwiseParallel(output_layouts=Replicate())",
            "RowwiseParallel(input_layouts=Replicate())",
        ),
        (
            {"ends": "norm"},
            "ColwiseParallel(output_layouts=Replicate())",
            "RowwiseParallel(input_layouts=Replicate())",
        ),
        ({"is_viewed": True}, "ColwiseParallel(use_local_output=False)", "RowwiseParallel()"),
        (
            {"partners": ("gate",)},
            "ColwiseParallel(output_layouts=Replicate())",
            "RowwiseParallel(input_layouts=Replicate())",
        ),
    ],
)
def test_layers_keep_features_apart_where_all_that_read_them_do(
    changes: dict[str, Any], up: str, down: str
) -> None:
    first = replace(TorchLayer("up", 1, ("down",), parts=8), **changes)
    layers = {"up": first, "down": TorchLayer("down", 1), "gate": TorchLayer("gate", 1, ("down",))}
    if "partners" not in changes:
        del layers["gate"]
    found = styled(["up"], ["down"], layers, 4)
    assert (found.text("up"), found.text("down")) == (up, down)


@pytest.mark.torch
def test_calls_of_torch_shard_a_module_so() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch (extra: torch) is not installed")
    from torch.distributed.tensor import Shard
    from torch.testing._internal.distributed.fake_pg import FakeStore

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8, bias=False)

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.emb, self.layers = torch.nn.Embedding(32, 8), torch.nn.ModuleList([Layer(), Layer()])

    torch.distributed.init_process_group("fake", rank=0, world_size=8, store=FakeStore())
    try:
        model = Model()
        exec(code_of(("data",)), {"model": model})
        placed = {name: p.placements for name, p in model.named_parameters()}
    finally:
        torch.distributed.destroy_process_group()
    assert placed["emb.weight"][-1] == Shard(1)
    assert {placed[f"layers.{n}.up.weight"][-1] for n in range(2)} == {Shard(0)}
    assert {placed[f"layers.{n}.down.weight"][-1] for n in range(2)} == {Shard(1)}
    assert all(len(each) == 2 for each in placed.values())


def test_the_command_writes_them(tmp_path: Path) -> None:
    source, code = tmp_path / "in.mlir", tmp_path / "rules.py"
    source.write_text(TEXT)
    assert main([str(source), "--tries", "4", "--code", str(code), "--framework", "flax"]) == 0
    assert "\nrules = (\n" in code.read_text()


MODULES = """
func.func public @main(
    %x: tensor<8x16xf32> loc("x"), %w: tensor<4x16xf32> loc("layers.0.weight")) -> tensor<8x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1]
    : (tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
"""


def test_models_of_pytorch_have_code_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suggestion = Program.parse(MODULES).suggest([Mesh.of(dp=2)], tries=4, progress=False)
    assert suggestion.best.code() == suggestion.best.code("torch") != suggestion.best.code("jax")
    assert suggestion.best.code() in str(suggestion)
    assert suggestion.to_json()["plans"][0]["code"] == suggestion.best.code()
    assert suggestion.best.code("jax") in suggestion.text("jax")
    source = tmp_path / "in.mlir"
    source.write_text(MODULES)
    for flags, found in (([], "fully_shard("), (["--framework", "jax"], "import jax")):
        assert main([str(source), "--mesh", "dp=2", "--tries", "4", "--no-progress", *flags]) == 0
        assert found in capsys.readouterr().out
    assert main([str(source), "--mesh", "dp=2", "--tries", "4", "--output-dir", str(tmp_path / "plans")]) == 0
    assert "fully_shard(" in (tmp_path / "plans" / "plan-1.py").read_text()


STEP = """
module {
  sdy.mesh @mesh = <["dp"=2]>
  func.func public @main(
      %x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}, {}]>} loc("x"),
      %w: tensor<4x16xf32> loc("layers.0.weight"), %m: tensor<4x16xf32> loc("exp_avg of layers.0.weight"),
      %n: tensor<f32> loc("step")) -> (tensor<8x4xf32>, tensor<4x16xf32>, tensor<f32>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1]
      : (tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.add %w, %m : tensor<4x16xf32>
    return %0, %1, %n : tensor<8x4xf32>, tensor<4x16xf32>, tensor<f32>
  }
}
"""


def test_changes_leave_out_states_that_follow_their_parameter() -> None:
    suggestion = Program.parse(STEP).suggest(tries=4, progress=False)
    replicated = next(plan for plan in suggestion.schemes if plan.name == "replicated")
    assert suggestion.changes(replicated) == "x: P('dp') -> P(); layers.*.weight: P()"
    difference = suggestion.diff(replicated)
    assert "-fully_shard(model" in difference
    assert "exp_avg" not in difference


def test_frameworks_that_do_not_fit() -> None:
    plan = Program.parse(TEXT).suggest(tries=1, progress=False).best
    wrong: Any = "keras"
    with pytest.raises(ShardyError, match="unknown framework 'keras'"):
        plan.code(wrong)
    with pytest.raises(ShardyError, match="expected arguments with the names of weights"):
        plan.code("torch")
