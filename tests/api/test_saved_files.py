"""Files of results that anybody may have made."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from shardy_py import Program, Result, propagate
from shardy_py.api.saved import restored, saved
from shardy_py.base.errors import ShardyError

PROGRAM = """sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = stablehlo.tanh %a : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
"""
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 10**30, float("nan"), "", "x", "a" * 10_000, "\ud800", "\0"),
    *([], [1], ["a"], {}, {"a": 1}, [[]]),
)
ABSENT = object()


def document() -> dict[str, Any]:
    result = propagate(Program.parse(PROGRAM), progress=False)
    return json.loads(gzip.decompress(saved(result)))


def loaded(content: dict[str, Any]) -> Result:
    return restored(gzip.compress(json.dumps(content).encode()), "a.sdy")


def test_no_file_is_written_where_a_file_says(tmp_path: Path) -> None:
    content = document()
    content["options"]["dump_directory"] = str(tmp_path / "dumps")
    result = loaded(content)
    assert result.options is not None
    assert result.options.dump_directory == ""  # pyright: ignore[reportAttributeAccessIssue]
    result.what_if({"%arg0": None})
    assert result.again(result.source).options.dump_directory == ""  # pyright: ignore
    assert list(tmp_path.iterdir()) == []


def test_copied_ops_stay_bounded() -> None:
    content = document()
    content["options"]["max_copied_ops"] = 10**12
    assert loaded(content).options.max_copied_ops == 1_000_000  # pyright: ignore


@pytest.mark.parametrize("name", ["format", "version", "source", "propagated", "options", "is_recorded"])
def test_fields_that_are_missing(name: str) -> None:
    content = document()
    del content[name]
    got = {"format": "other JSON", "version": "version None"}.get(name, f"no field '{name}'")
    with pytest.raises(ShardyError, match=f"'a.sdy': expected a result of version 1 .*, got {got}"):
        loaded(content)


def test_any_field_may_be_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    content = document()
    for name in content:
        for value in VALUES:
            _is_read_or_refused({**content, name: value})
    for name in [*content["options"], "other"]:
        options = {key: value for key, value in content["options"].items() if key != name}
        _is_read_or_refused({**content, "options": options})
        for value in VALUES[:9:2] + VALUES[-3:]:
            _is_read_or_refused({**content, "options": {**options, name: value}})
    assert list(tmp_path.iterdir()) == []


def _is_read_or_refused(content: dict[str, Any]) -> None:
    try:
        str(loaded(content))
    except ShardyError as error:
        assert str(error)  # noqa: PT017


@pytest.mark.parametrize(
    "text", ["[" * 100_000, f'{{"version": {"9" * 5000}}}', "", "\xff", "[]", '"x"', "null", "9" * 5000]
)
def test_other_files_are_errors(text: str) -> None:
    data = text.encode("latin-1")
    for content in (data, gzip.compress(data), gzip.compress(data)[:-4]):
        with pytest.raises(ShardyError, match=r"'a.sdy': expected a result of version 1"):
            restored(content, "a.sdy")
