"""`[tool.sdy-check]`: each key is a setting; what is wrong is reported at its place."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.base.releases import JAX_0_11
from shardy_py.check import CheckSettings, SettingsFinder
from shardy_py.check.settings import KEYS, settings_in

WHOLE = """
[project]
name = "model"
[tool.sdy-check]
select = ["SDY001", "SDY003"]
ignore = ["SDY006"]
per-file-ignores = { "tests/*" = ["SDY001"] }
fail-on = "error"
replicated-bytes = 1024
reshard-bytes = "4M"
padding-bytes = "1kB"
model = "tpu-v5p,data=tpu-dcn"
target = "h100"
partitioner = "xla"
propagate = false
as-compiled = true
jax = "0.11"
trip-count = ["100", "model.py:12=8"]
source-root = ["src"]
expect = ["all_gather:fsdp"]
baseline = "known.json"
verdict = false
tries = 7
files = ["models/*.mlir"]
exclude = ["models/old"]
level.SDY002 = "error"
"""


def test_every_key_is_a_setting() -> None:
    settings = settings_in(WHOLE, "/p/pyproject.toml")
    assert settings == CheckSettings(
        select=("SDY001", "SDY003"),
        ignore=("SDY006",),
        levels={"SDY002": "error"},
        per_file_ignores={"tests/*": ("SDY001",)},
        fail_on="error",
        replicated_bytes=1024,
        reshard_bytes=4 << 20,
        padding_bytes=1000,
        model="tpu-v5p,data=tpu-dcn",
        target="h100",
        partitioner="xla",
        propagate=False,
        as_compiled=True,
        release=JAX_0_11,
        trip_counts=("100", "model.py:12=8"),
        source_roots=("/p/src",),
        expect=("all_gather:fsdp",),
        baseline="/p/known.json",
        verdict=False,
        tries=7,
        files=("models/*.mlir",),
        exclude=("models/old",),
        folder="/p",
    )
    assert len(KEYS) == len(fields(CheckSettings)) - 1  # all but the folder
    assert all(f"\n{key}" in WHOLE for key in KEYS)


def test_the_page_has_every_key(root: Path) -> None:
    example = (root / "docs" / "ci.md").read_text().partition("```toml\n")[2].partition("```")[0]
    assert settings_in(example, "/p/pyproject.toml") != CheckSettings(folder="/p")
    assert [key for key in KEYS if f"\n{key} = " not in example] == []


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("selct = []", 1, "[tool.sdy-check]: unknown key 'selct'"),
        ('select = ["SDY001", "SDY1"]', 22, "[tool.sdy-check] select: unknown rule 'SDY1'"),
        ("select = 1", 10, "[tool.sdy-check] select: expected a list of rules, got 1"),
        ('level.SDY1 = "error"', 7, "[tool.sdy-check] level: unknown rule 'SDY1'"),
        ('level = { SDY001 = "eror" }', 21, "level.SDY001: unknown level 'eror': expected one of 'note'"),
        ("level = 3", 9, "[tool.sdy-check] level: expected a table, got 3"),
        ('fail-on = "warn"', 12, "fail-on: unknown level 'warn'"),
        ("fail-on = true", 11, "fail-on: expected a string, got true"),
        ('reshard-bytes = "4X"', 18, "reshard-bytes: expected bytes such as 64M, 64MB or 65536, got '4X'"),
        ("padding-bytes = -1", 17, "padding-bytes: expected bytes such as"),
        ('model = "tpu-v5p,data=tpu-dcm"', 23, "[tool.sdy-check] model: unknown link 'tpu-dcm'"),
        ("model = 1", 9, "[tool.sdy-check] model: expected a string, got 1"),
        ('target = "h10"', 11, "target: unknown hardware 'h10'"),
        ('verdict = "no"', 11, "verdict: expected true or false, got 'no'"),
        ('jax = "0.9"', 8, "jax: unknown release of JAX '0.9'"),
        ('trip-count = ["a=b"]', 16, "trip-count: trip count: expected a number of iterations"),
        ('source-root = [".", "../x"]', 22, "expected a folder below that of pyproject.toml, got '../x'"),
        ('expect = ["all_gather"]', 12, "expect: expected KIND:AXES or KIND:AXES:FILE:LINE"),
        ('per-file-ignores = { "a" = ["b"] }', 30, "per-file-ignores.a: unknown rule 'b'"),
        ("files = [", 10, "TOML: got Invalid value"),
    ],
)
def test_what_is_wrong_is_placed(line: str, column: int, message: str) -> None:
    with pytest.raises(ShardyError) as caught:
        settings_in(f"# sdy-check\n[tool.sdy-check]\n{line}", "pyproject.toml")
    assert str(caught.value).startswith(f"pyproject.toml:3:{column}: error: ")
    assert message in str(caught.value)


def test_the_closest_file_with_a_section_is_used(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.sdy-check]\nverdict = false\n")
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\n")
    (inner / "pyproject.toml").write_text("not TOML")
    finder = SettingsFinder(lambda name: Path(name).read_text())
    found = finder.of_folder(str(inner))
    assert found == CheckSettings(verdict=False, folder=str(tmp_path))
    assert finder.of_folder(str(tmp_path)) is found
    assert SettingsFinder(lambda name: "").of_folder(str(inner)) == CheckSettings()


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("old", ["old/a.mlir", "x/old/b/a.mlir"]),
        ("x/old/", ["x/old/b/a.mlir"]),
        ("*.gen.mlir", ["a.gen.mlir", "x/a.gen.mlir"]),
        ("./x/**/a.mlir", ["x/old/b/a.mlir"]),
        ("a.mlir", ["a.mlir", "old/a.mlir", "x/old/b/a.mlir"]),
    ],
)
def test_patterns_are_relative_to_the_folder_of_the_file(pattern: str, matches: list[str]) -> None:
    settings = CheckSettings(exclude=(pattern,), per_file_ignores={pattern: ("SDY001",)}, folder="/p")
    paths = ["a.mlir", "old/a.mlir", "x/old/b/a.mlir", "a.gen.mlir", "x/a.gen.mlir"]
    assert [path for path in paths if settings.excludes(f"/p/{path}")] == matches
    assert [path for path in paths if settings.choice(f"/p/{path}").ignored] == matches
    assert not replace(settings, exclude=()).excludes(f"/p/{matches[0]}")
