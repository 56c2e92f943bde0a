"""Which release of JAX is followed: named by the caller, by bytecode, by the jaxlib that is installed."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from shardy_py import Program, Result, ShardyError, propagate
from shardy_py.base import releases
from shardy_py.base.behaviours import Behaviour
from shardy_py.base.bytecode import release_of
from shardy_py.base.releases import RELEASES, Release, installed, written_by
from shardy_py.check import findings_json, findings_sarif
from shardy_py.cli.check import main as sdy_check
from shardy_py.cli.opt import main as sdy_opt
from shardy_py.report.communication import communication_json
from shardy_py.report.difference import Figures, difference, difference_json
from shardy_py.report.memory import memory_json
from shardy_py.report.time import time_json
from shardy_py.search.studies import Study

UPDATE = """module @jit_f {
  sdy.mesh @mesh = <["a"=4, "b"=2]>
  func.func @main(
      %x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>},
      %u: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
      %i: tensor<i32>) -> (tensor<16x8xf32>, tensor<4x8xf32>, tensor<16x16xf32>) {
    %0 = stablehlo.dynamic_update_slice %x, %u, %i, %i
      : (tensor<16x8xf32>, tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<16x8xf32>
    %1 = stablehlo.custom_call @unknown(%0) : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %2 = stablehlo.add %1, %0 : tensor<16x8xf32>
    %p = stablehlo.concatenate %1, %0, dim = 1 : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x16xf32>
    %q = stablehlo.negate %p : tensor<16x16xf32>
    %3 = stablehlo.dot_general %2, %x, contracting_dims = [0] x [0]
      : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %4 = stablehlo.reshape %2 : (tensor<16x8xf32>) -> tensor<128xf32>
    %5 = stablehlo.dot_general %2, %3, contracting_dims = [1] x [0]
      : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
    %6 = chlo.asin %5 : tensor<16x8xf32> -> tensor<16x8xf32>
    return %6, %u, %q : tensor<16x8xf32>, tensor<4x8xf32>, tensor<16x16xf32>
  }
}
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Release]:
    """The releases for which behaviours were asked for."""
    found: list[Release] = []
    holds: Any = Behaviour.holds

    def recorded(self: Behaviour) -> bool:
        found.append(releases.current())
        return holds.fget(self)

    monkeypatch.setattr(Behaviour, "holds", property(recorded))
    return found


def reports(result: Result, folder: Path) -> list[str]:
    """Everything that is computed from a result when it is asked for."""
    inner = result.program.values.arguments()
    path = folder / "result"
    result.save(path)
    local = result.partition()
    return [
        str(report)
        for report in (
            result.text(),
            result.communication(partitioner="xla"),
            result.communication(partitioner="shardy"),
            result.memory("tpu-v5p").estimate,
            result.memory(),
            result.time(),
            *(result.explain(value) for value in result.values),
            result.why_not(inner[1], 0, "a"),
            result.check(),
            result.what_if({"%arg1": '<@mesh, [{"b"}, {}]>'}),
            result.compared_with(result),
            local,
            local.communication(),
            result.explorer().html,
            Result.load(path).text(),
            pickle.loads(pickle.dumps(result)).text(),
            Study(result.source).score({"%arg1": '<@mesh, [{"b"}, {}]>'}).figures,
            result.source.suggest(tries=2, time_limit=5, progress=False).explain(),
        )
    ]


@pytest.mark.parametrize("release", ["0.10", "0.12"])
def test_reports_follow_the_release_of_their_program(
    release: str, asked: list[Release], tmp_path: Path
) -> None:
    program = Program.parse(UPDATE, jax=release)
    made = reports(propagate(program), tmp_path)
    assert {each.name for each in asked} == {release}
    with releases.of(release):
        assert made == reports(propagate(Program.parse(UPDATE)), tmp_path)


def test_releases_differ() -> None:
    older, newer = (propagate(Program.parse(UPDATE, jax=name)) for name in ("0.10", "0.12"))
    assert older.text() != newer.text()
    assert (older.release.name, newer.release.name) == ("0.10", "0.12")
    assert propagate(newer.source.with_release("0.10")).text() == older.text()
    assert propagate(Program.from_module(older.source.module, jax="0.12")).text() == newer.text()
    assert propagate(Program.parse(UPDATE)).release is releases.NEWEST


def test_programs_made_from_others_follow_their_release() -> None:
    program = Program.parse(UPDATE, jax="0.10")
    made = (
        program.copy(),
        program.annotate({"%arg1": '<@mesh, [{"b"}, {}]>'}),
        program.with_source_roots(),
        program.run("symbol-dce"),
        pickle.loads(pickle.dumps(program)),
        propagate(program).partition().program,
    )
    assert {each.release.name for each in made} == {"0.10"}


def test_commands_take_a_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "x.mlir"
    source.write_text(UPDATE)
    printed: dict[str, str] = {}
    for release in ("0.10", "0.12"):
        assert sdy_opt([str(source), f"--jax={release}", "--sdy-propagation-pipeline"]) == 0
        printed[release] = capsys.readouterr().out
        assert printed[release] == propagate(Program.parse(UPDATE, jax=release, as_compiled=False)).text()
        capsys.readouterr()
        sdy_check([str(source), "--jax", release])
        assert f"taken as JAX {release} compiles it" in capsys.readouterr().err
    assert printed["0.10"] != printed["0.12"]


@pytest.mark.parametrize("command", [sdy_opt, sdy_check])
def test_an_unknown_release_is_an_error(command: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["--jax=0.9", "x.mlir"]) > 0
    assert "unknown release of JAX '0.9': expected one of '0.10', '0.11', '0.12'" in capsys.readouterr().err


def test_an_unknown_release_of_an_argument_is_an_error() -> None:
    with pytest.raises(ShardyError, match=r"unknown release of JAX '1\.0'"):
        Program.parse(UPDATE, jax="1.0")
    with pytest.raises(ShardyError, match="expected a release of JAX"):
        Program.parse(UPDATE, jax=0.12)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("version", "release", "remark"),
    [
        ("0.10.2", "0.10", ""),
        ("0.12.0.1", "0.12", ""),
        ("0.12.1.dev20261101", "0.12", ""),
        ("0.11.2", "0.11", ""),
        ("0.9.1", "0.10", "between or before"),
        ("0.13.0", "0.12", "newer than the newest release known, 0.12"),
        ("1.0", "0.12", "newer"),
    ],
)
def test_the_release_of_an_installed_jaxlib(version: str, release: str, remark: str) -> None:
    found, said = installed(version)
    assert found.name == release
    assert remark in said if remark else said == ""


def test_the_tree_of_shardy_is_followed_where_it_is_named_only(tmp_path: Path) -> None:
    tree = releases.SHARDY_2026_08_22
    assert tree not in releases.RELEASES
    older, newer = (propagate(Program.parse(UPDATE, jax=name)).text() for name in ("0.10", "0.12"))
    result = propagate(Program.parse(UPDATE, jax=tree.name))
    assert (result.release, str(result.release)) == (tree, "Shardy 2026-08-22")
    assert result.text() == older != newer
    result.save(tmp_path / "x")
    assert Result.load(tmp_path / "x").release is tree


@pytest.mark.parametrize(
    ("producer", "release"),
    [
        ("MLIR23.0.0git", "JAX 0.10"),
        ("MLIR24.0.0git", "JAX 0.12"),
        ("StableHLO_v1.15.0", "JAX 0.10"),
        ("StableHLO_v1.18.3", "JAX 0.12"),
        ("StableHLO_v1.1.0", "None"),
        ("StableHLO_v1.180.0", "None"),
        ("MLIR240", "None"),
        ("", "None"),
    ],
)
def test_the_release_that_wrote_bytecode(producer: str, release: str) -> None:
    assert str(written_by(producer)) == release
    assert str(release_of(b"ML\xefR\x0d" + producer.encode() + b"\0\x01")) == release


@pytest.mark.reference
def test_bytecode_is_taken_to_the_release_that_wrote_it(
    reference: Any, release_of_jaxlib: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.mlirbc"
    with reference.context(), path.open("wb") as file:
        reference.ir.Module.parse(UPDATE).operation.write_bytecode(file)
    other = next(each for each in releases.RELEASES if each is not release_of_jaxlib)
    with releases.of(other):
        assert Program.load(path).release is release_of_jaxlib
        assert Program.parse(path.read_bytes()).release is release_of_jaxlib
        assert Program.load(path, jax=other.name).release is other
        output = tmp_path / "out.mlir"
        assert sdy_opt([str(path), "--sdy-propagation-pipeline", "-o", str(output)]) == 0
    with releases.of(release_of_jaxlib):
        expected = propagate(Program.parse(UPDATE, as_compiled=False)).text()
    assert output.read_text() == expected


def test_a_file_saved_before_releases_were_known_is_of_the_oldest(tmp_path: Path) -> None:
    import gzip
    import json

    path = tmp_path / "result"
    propagate(Program.parse(UPDATE, jax="0.10")).save(path)
    document = json.loads(gzip.decompress(path.read_bytes()))
    assert document.pop("jax") == "0.10"
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    assert Result.load(path).release.name == "0.10"
    path.write_bytes(gzip.compress(json.dumps({**document, "jax": "0.7"}).encode()))
    with pytest.raises(ShardyError, match=r"unknown release of JAX '0\.7'"):
        Result.load(path)


def test_json_names_the_release_once() -> None:
    program = Program.parse(UPDATE, jax="0.10")
    result = propagate(program)
    reports = result.communication(partitioner="shardy"), result.memory(), result.time()
    documents = [
        write(each)
        for report, write in zip(reports, (communication_json, memory_json, time_json), strict=True)
        for each in (report, pickle.loads(pickle.dumps(report)))
    ]
    documents.append(findings_json(result.check(), release=result.release))
    documents.append(findings_sarif(result.check(), release=result.release)["runs"][0]["properties"])
    assert [document["jax"] for document in documents] == ["0.10"] * 8


def test_sides_of_a_difference_have_their_releases() -> None:
    program = Program.parse(UPDATE)
    old, new = (propagate(program.with_release(release.name)) for release in (RELEASES[0], RELEASES[-1]))
    sides = [Figures.of(r.communication(partitioner="shardy"), r.memory()) for r in (old, new)]
    found = difference_json(difference(old.values.table, new.values.table), *sides)
    assert [found[side]["jax"] for side in ("before", "after")] == ["0.10", "0.12"]
    assert Figures.of(old.communication(partitioner="shardy"), old.memory()) == sides[0]


def test_reports_of_a_command_share_the_release(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "update.mlir"
    file.write_text(UPDATE)
    wanted = ("--memory-report", "--communication-report", "--explain=%arg0", "--json")
    flags = ("--sdy-propagation-pipeline", *wanted, "--jax=0.10")
    assert sdy_opt([str(file), *flags]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document.pop("jax") == "0.10"
    assert document.keys() == {"memory", "communication", "explanations"}
    assert not [report for report in document.values() if "jax" in report]
