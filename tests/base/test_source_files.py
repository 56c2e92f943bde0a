"""Which source files that a program names are read."""

from __future__ import annotations

import json
import linecache
import os
import re
import threading
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from shardy_py import Program, propagate
from shardy_py.base.source_files import SourceFiles, default_roots
from shardy_py.cli.check import main as check
from shardy_py.cli.explorer import main as explorer

PROGRAM = """sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<2048x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %w: tensor<128x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
    -> tensor<2048x512xf32> {
  %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
      : (tensor<2048x128xf32>, tensor<128x512xf32>) -> tensor<2048x512xf32> loc("NAME":1:0 to :27)
  return %0 : tensor<2048x512xf32>
}
"""


def _sources(html: str) -> Any:
    """The lines of source files in a page of the explorer."""
    found = re.search(r'id="data">([^<]*)</script>', html)
    assert found is not None
    return json.loads(zlib.decompress(b64decode(found[1])))["sources"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a file, beside a folder outside of it."""
    for folder in ("root/inner", "outside"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "x.py").write_text(f"in = {folder.split('/')[0]!r}\n")
    return tmp_path / "root"


def test_files_below_a_root_are_read(root: Path) -> None:
    files = SourceFiles((str(root),))
    for name in ("inner/x.py", "inner/../inner/x.py", "./inner//x.py", str(root / "inner" / "x.py")):
        assert files.lines(name) == ("in = 'root'",), name
    assert SourceFiles((str(root / "inner"), str(root))).lines("x.py") == ("in = 'root'",)


def test_other_files_are_not(root: Path) -> None:
    files = SourceFiles((str(root),))
    (root / "secret.txt").write_text("secret")
    (root / "large.py").write_bytes(b"#" * 2_000_001)
    (root / "bytes.py").write_bytes(b"\xff")
    (root / "folder.py").mkdir()
    outside = str(root.parent / "outside" / "x.py")
    for name in (
        "../outside/x.py",
        outside,
        "inner/../../outside/x.py",
        "secret.txt",
        "large.py",
        "bytes.py",
    ):
        assert files.lines(name) == (), name
    for name in (
        "folder.py",
        "none.py",
        "",
        "a\0.py",
        "\ud800.py",
        "x" * 5000 + ".py",
        "/dev/zero",
        str(root),
    ):
        assert files.lines(name) == (), name
    assert SourceFiles(()).lines(str(root / "inner" / "x.py")) == ()


def test_paths_are_those_of_files_that_may_be_read(tmp_path: Path) -> None:
    inside, beside = tmp_path / "model" / "a.py", tmp_path / "model2" / "a.py"
    for file in (inside, beside):
        file.parent.mkdir()
        file.write_text("x")
    files = SourceFiles((str(tmp_path / "model"),))
    assert files.path_of("a.py") == files.path_of(str(inside)) == os.path.realpath(inside)
    assert [files.path_of(name) for name in ("../model2/a.py", str(beside), "b.py", "a.txt")] == [""] * 4


def test_links_are_resolved_first(root: Path) -> None:
    (root / "link.py").symlink_to(root.parent / "outside" / "x.py")
    (root / "folder").symlink_to(root.parent / "outside")
    (root / "text.py").symlink_to(root / "secret.txt")
    (root / "secret.txt").write_text("secret")
    (root / "zero.py").symlink_to("/dev/zero")
    (root / "loop.py").symlink_to(root / "loop.py")
    (root / "within.py").symlink_to(root / "inner" / "x.py")
    files = SourceFiles((str(root),))
    for name in ("link.py", "folder/x.py", "text.py", "zero.py", "loop.py"):
        assert files.lines(name) == (), name
    assert files.lines("within.py") == ("in = 'root'",)
    (root.parent / "alias").symlink_to(root)  # the root itself may be a link
    assert SourceFiles((str(root.parent / "alias"),)).lines(str(root / "inner" / "x.py"))


def test_pipes_are_not_opened(root: Path) -> None:
    os.mkfifo(root / "pipe.py")
    opened: list[str] = []
    writer = threading.Thread(target=lambda: opened.append(str(os.open(root / "pipe.py", os.O_WRONLY))))
    writer.daemon = True
    writer.start()
    assert SourceFiles((str(root),)).lines("pipe.py") == ()
    writer.join(0.1)
    assert not opened
    os.close(os.open(root / "pipe.py", os.O_RDONLY | os.O_NONBLOCK))  # lets the writer go


def test_a_file_that_becomes_a_link_is_not_followed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = os.path.realpath

    def swapped(path: str, *, strict: bool = False) -> str:
        found = resolve(path, strict=strict)
        if found.endswith("x.py") and (root / "inner").is_dir() and not (root / "inner").is_symlink():
            (root / "inner").rename(root / "moved")
            (root / "inner").symlink_to(root.parent / "outside")
        return found

    monkeypatch.setattr(os.path, "realpath", swapped)
    assert SourceFiles((str(root),)).lines("inner/x.py") == ()


def test_the_root_of_the_file_system_has_to_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert default_roots() == ()
    assert default_roots("/work.mlir") == ()
    assert default_roots("some/work.mlir") == ("/some",)


def test_cells_of_notebooks_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(linecache.cache, "<cell 1>", (6, None, ["y = x\n"], "<cell 1>"))
    assert SourceFiles(()).lines("<cell 1>") == ("y = x",)


def test_few_files_of_a_program_are_looked_for(root: Path) -> None:
    files = SourceFiles((str(root),))
    for number in range(60):
        files.lines(f"{number}.py")
    assert files.lines("inner/x.py") == ()


@pytest.mark.parametrize("name", ["/dev/zero", "pipe.py", "link.py", "../outside/x.py"])
def test_commands_open_no_other_files(
    name: str, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    os.mkfifo("pipe.py")
    Path("link.py").symlink_to("../outside/x.py")
    Path("a.mlir").write_text(PROGRAM.replace("NAME", name))
    assert check(["a.mlir", "--reshard-bytes", "1", "--partitioner=xla"]) == 1
    assert explorer(["a.mlir", "-o", "-"]) == 0
    assert _sources(capsys.readouterr().out) == []


def test_roots_are_given_on_the_command_line(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    Path("a.mlir").write_text(PROGRAM.replace("NAME", "x.py"))
    roots = ([], ["--source-root", "inner"], ["--source-root", "../outside", "--source-root", "inner"])
    shown: list[Any] = []
    for flags in roots:
        explorer(["a.mlir", "-o", "-", *flags])
        shown.append(_sources(capsys.readouterr().out))
    assert shown == [[], [["x.py", [[1, "in = 'root'"]]]], [["x.py", [[1, "in = 'outside'"]]]]]


def test_roots_of_a_program_are_those_of_what_is_made_of_it(root: Path) -> None:
    (root / "a.mlir").write_text(PROGRAM.replace("NAME", "inner/x.py"))
    program = Program.load(root / "a.mlir")
    assert str(root) in program.sources.roots
    given = program.with_source_roots(root / "inner")
    for made in (
        given.copy(),
        given.annotate({"%arg1": None}),
        propagate(given).program,
        propagate(given).source,
    ):
        assert made.sources.roots == (str(root / "inner"),)
    assert _sources(propagate(program).explorer().html) == [["inner/x.py", [[1, "in = 'root'"]]]]
    assert _sources(propagate(program.with_source_roots()).explorer().html) == []
