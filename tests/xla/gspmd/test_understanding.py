"""Programs with shardings of other systems: every report imports them and says so, or refuses them."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

from shardy_py import Program, ShardyError, Study, propagate
from shardy_py.cli.opt import main
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.xla.gspmd.understanding import foreign_shardings, understand

DOT = """module {attributes} {{
  {before}
  func.func public @main(%x: tensor<32x64xf32>{x}, %w: tensor<64x16xf32>{w}) -> (tensor<32x16xf32>{result}) {{
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
    return %0 : tensor<32x16xf32>
  }}
}}
"""


def dot(x: str = "", w: str = "", result: str = "", attributes: str = "", before: str = "") -> str:
    """A product whose contracted dimension is sharded along all eight devices."""
    given = {"x": x, "w": w, "result": result}
    return DOT.format(
        before=before,
        attributes=f"attributes {{{attributes}}}" if attributes else "",
        **{name: f" {{{text}}}" if text else "" for name, text in given.items()},
    )


def gspmd(x: str, w: str, result: str = "{replicated}") -> str:
    return dot(*(f'mhlo.sharding = "{text}"' for text in (x, w, result)))


FRONTEND = dot(
    r'mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@m, [{}, {\22a\22}]>"}',
    r'mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@m, [{\\\22a\\\22}, {}]>"}',
    attributes=r'mhlo.frontend_attributes = {xla.sdy.meshes = "{m = #sdy.mesh<[\22a\22=8]>}"}',
)
SHARD = """
shard.grid @grid(shape = 8)
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %s = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %t = shard.sharding @grid split_axes = [[0], []] : !shard.sharding
  %0 = shard.shard %x to %s annotate_for_users : tensor<32x64xf32>
  %1 = shard.shard %w to %t annotate_for_users : tensor<64x16xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0]
      : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %2 : tensor<32x16xf32>
}
"""
CALLS = """
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[1,8]<=[8]}"}
      : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %1 = stablehlo.custom_call @Sharding(%w) {mhlo.sharding = "{devices=[8,1]<=[8]}"}
      : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0]
      : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %2 : tensor<32x16xf32>
}
"""
OPS = """
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0:2 = stablehlo.optimization_barrier
      {mhlo.sharding = "{{devices=[1,8]<=[8]}, {devices=[8,1]<=[8]}}"} %x, %w
      : tensor<32x64xf32>, tensor<64x16xf32>
  %1 = stablehlo.dot_general %0#0, %0#1, contracting_dims = [1] x [0]
      {mhlo.sharding = "{replicated}"} : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %1 : tensor<32x16xf32>
}
"""
DEVICES = ",".join(map(str, range(8)))
PROGRAMS = {
    "iota": gspmd("{devices=[1,8]<=[8]}", "{devices=[8,1]<=[8]}"),
    "list": gspmd(f"{{devices=[1,8]{DEVICES}}}", f"{{devices=[8,1]{DEVICES}}}"),
    "replicas": gspmd(
        "{devices=[1,8,1]<=[8] last_tile_dim_replicate}", "{devices=[8,1,1]<=[8] last_tile_dims={replicated}}"
    ),
    "named": gspmd("{mesh['x'=8], [{}, {'x'}]}", "{mesh['x'=8], [{'x'}, {}]}", "{mesh['x'=8], [{}, {}]}"),
    "encoded": FRONTEND,
    "shard dialect": SHARD,
    "calls": CALLS,
    "ops": OPS,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_in_python_are_imported(name: str, caplog: pytest.LogCaptureFixture) -> None:
    program = Program.parse(PROGRAMS[name], f"{name}.mlir")
    report = propagate(program).communication()
    assert report.counts == {"all_reduce": 1}
    assert report.total.bytes == 3584
    remarks = [record.getMessage() for record in caplog.records if "imported as by" in record.getMessage()]
    assert len(remarks) == 1
    assert remarks[0].startswith(f"{name}.mlir: remark: shardings ")
    raw = Program.parse(PROGRAMS[name], imported=False)
    for refused in (lambda: propagate(raw), lambda: raw.suggest(progress=False), lambda: Study(raw)):
        with pytest.raises(ShardyError, match=r"has shardings .*, which reports do not read; run .* first"):
            refused()


COMMANDS: dict[str, tuple[str, ...]] = {
    "": ("--sdy-propagation-pipeline", "--communication-report"),
    "check": (),
    "view": ("--program",),
    "suggest": ("--tries", "2", "--no-progress"),
    "explorer": ("-o", "page.html"),
    "interpret": ("--random", "0"),
    "diff": ("program.mlir", "--propagate"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_import_and_say_so(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.mlir").write_text(PROGRAMS["iota"])
    command = import_module(f"shardy_py.cli.{name}" if name else "shardy_py.cli.opt")
    assert command.main([*COMMANDS[name], "program.mlir"]) == 0
    err = capsys.readouterr().err
    remark = "program.mlir: remark: shardings of GSPMD (mhlo.sharding), imported as by "
    assert err.count(remark) == (2 if name == "diff" else 1)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    main([*arguments])
    out, err = capsys.readouterr()
    return out, err


def test_printed_programs_are_not_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, printed = tmp_path / "a.mlir", tmp_path / "b.mlir"
    path.write_text(PROGRAMS["iota"])
    out, err = run(capsys, str(path), "--sdy-propagation-pipeline")
    assert "sdy." not in out
    unread = (
        "remark: shardings of GSPMD (mhlo.sharding) take no part in propagation; --xla-sdy-stablehlo-import"
    )
    assert unread in err
    out, err = run(
        capsys,
        str(path),
        "--sdy-propagation-pipeline",
        "--communication-report",
        "--json",
        "-o",
        str(printed),
    )
    assert json.loads(out)["communication"]["collectives"]
    assert "sdy." not in printed.read_text()


def test_an_import_on_the_command_line_is_the_only_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.mlir"
    path.write_text(PROGRAMS["iota"])
    steps = "--xla-sdy-stablehlo-import-pipeline=mesh-axes=data=8", "--sdy-propagation-pipeline"
    out, err = run(capsys, str(path), *steps, "--communication-report")
    assert "data=8" in out
    assert "imported as by" not in err
    export = "--xla-sdy-stablehlo-export-pipeline"
    out, err = run(capsys, str(path), *steps, export, "--communication-report")
    assert out == ""
    assert "has shardings of GSPMD (mhlo.sharding), which reports do not read" in err


SHARD_MAP = """
func.func public @main(%a: tensor<8x16xf32> {mhlo.sharding = "{devices=[1,2]<=[2]}"}) -> tensor<8x16xf32> {
  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[1,2]<=[2]}"}
      : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"}
      : (tensor<8x16xf32>) -> tensor<8x8xf32>
  %2 = call @shmap_body(%1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{manual}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[1,2]<=[2]}"}
      : (tensor<8x8xf32>) -> tensor<8x16xf32>
  return %4 : tensor<8x16xf32>
}
func.func private @shmap_body(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.negate %a : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        (SHARD_MAP, ()),
        (SHARD_MAP, ("--xla-sdy-stablehlo-import-pipeline",)),
        (SHARD, ("--convert-shard-to-sdy",)),
        (FRONTEND, ("--xla-sdy-round-trip-import-pipeline",)),
    ],
)
def test_proofs_are_of_the_imported_program(
    text: str, imports: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.mlir"
    path.write_text(text)
    steps = *imports, "--sdy-propagation-pipeline", "--sdy-partitioner-pipeline"
    out, err = run(capsys, str(path), *steps, "--prove", "--json")
    assert "error" not in err
    assert json.loads(out)["proof"]["is_equal"]


def _import(text: str) -> object:
    return understand(parse_module(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            gspmd("{devices=[1,8,1]<=[8]}", "{replicated}"),
            r"'func.func' op arg 0 - {devices=\[1,8,1\]<=\[8\]}: expected rank 2 of the tensor, got rank 3",
        ),
        (dot('mhlo.sharding = "{devices=[2,4]}"'), "mhlo.sharding|devices"),
        (
            dot(r'mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@m, [{}, {\22a\22}]>"}'),
            "unknown mesh",
        ),
        (dot("mhlo.sharding = 3 : i32"), "mhlo.sharding: expected a string"),
        ("shard.grid @grid(shape = ?x2)", "has a dimension of unknown size"),
    ],
)
def test_what_cannot_be_imported_is_an_error(text: str, message: str) -> None:
    for read in (Program.parse, _import):
        with pytest.raises(ShardyError, match=message):
            read(text)


ONE = "sdy.mesh @one = <[], device_ids=[2]>"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (gspmd("{maximal device=3}", "{devices=[8,1]<=[8]}"), "argument 0"),
        (dot(result="sdy.sharding = #sdy.sharding<@one, []>", before=ONE), "result 0"),
    ],
)
def test_reports_refuse_arguments_and_results_on_one_device(
    text: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = propagate(Program.parse(text, jax="0.10"))
    message = (
        rf"'func.func' op {what} of @main is on a single device \(maximal sharding\); drop that sharding, or"
    )
    for partitioner in ("shardy", "xla"):
        with pytest.raises(ShardyError, match=message):
            result.communication(partitioner=partitioner)
    for report in (result.memory, result.time, result.check, result.program.suggest):
        with pytest.raises(ShardyError, match=message):
            report()
    path = tmp_path / "a.mlir"
    path.write_text(text)
    out, err = run(capsys, str(path), "--jax=0.10", "--sdy-propagation-pipeline", "--memory-report")
    assert out == ""
    assert f"{path}:3:3: error: 'func.func' op {what} of @main is on a single device" in err


def test_arguments_on_one_device_are_refused_by_propagation() -> None:
    """Since JAX 0.12, where there are other meshes: C++ refuses them, too."""
    program = Program.parse(gspmd("{maximal device=3}", "{devices=[8,1]<=[8]}"))
    with pytest.raises(
        ShardyError, match="function argument 0 cannot have a single-device sharding"
    ) as error:
        propagate(program)
    assert error.value.first.where is not None


def test_shardings_of_sdy_stay_as_they_are() -> None:
    beside = dot(
        'mhlo.sharding = "{replicated}", sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>',
        'mhlo.sharding = "{replicated}"',
        before='sdy.mesh @mesh = <["x"=8]>',
    )
    module = parse_module(beside)
    before = print_module(module)
    assert not foreign_shardings(module)
    assert understand(module) == ("mhlo.sharding beside the shardings of sdy is dropped, as XLA does",)
    assert print_module(module) == before
    assert understand(parse_module(dot())) == ()
