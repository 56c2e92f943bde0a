"""Runs a page of docs/: what it shows is what happens.

| block | what is done with it |
|---|---|
| `python` | run, all of a page with the same names; with `>>>`, as a doctest |
| `text` | compared with what the block before it has printed |
| `mlir`, `json`, ... that begin with a comment `// name.mlir` | written to a file of that name |
| `console` | after `$` a command, then what it prints |

A line `...` in what is shown stands for any number of lines. Other blocks are left alone.
"""

from __future__ import annotations

import contextlib
import doctest
import gc
import io
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_FILE = re.compile(r"// ([\w.]+)\n")
COMMANDS = {
    "sdy-opt": "shardy_py.cli",
    "sdy-check": "shardy_py.cli.check",
    "sdy-diff": "shardy_py.cli.diff",
    "shardy-view": "shardy_py.cli.view",
    "hlo-indexing": "shardy_py.cli.hlo_indexing",
}


@dataclass
class Page:
    """A page that is run in the current folder; `checked` counts what was compared."""

    path: Path
    names: dict[str, object] = field(default_factory=dict)
    printed: str = ""
    checked: int = 0

    def run(self) -> None:
        """Everything, from top to bottom."""
        for language, text in _BLOCK.findall(self.path.read_text()):
            {"python": self._python, "text": self._text, "console": self._console}.get(language, _file)(text)

    def _python(self, code: str) -> None:
        if code.startswith(">>>"):
            self._doctest(code)
            return
        program = compile(code, f"{self.path.stem}.py", "exec", dont_inherit=True)
        self.printed = _printed_by(lambda: exec(program, self.names))

    def _doctest(self, code: str) -> None:
        example = doctest.DocTestParser().get_doctest(code, self.names, self.path.name, self.path.name, 0)
        report = io.StringIO()
        result = doctest.DocTestRunner(verbose=False).run(example, out=report.write, clear_globs=False)
        self.names |= example.globs
        self.checked += result.attempted
        assert not result.failed, report.getvalue()

    def _text(self, expected: str) -> None:
        self._compare(expected, self.printed)

    def _console(self, text: str) -> None:
        for command, expected in _COMMAND.findall(text):
            self._compare(expected, _printed_by(lambda command=command: run_command(command)))

    def _compare(self, expected: str, printed: str) -> None:
        self.checked += 1
        lines = [".*" if line == "..." else re.escape(line.rstrip()) for line in _lines(expected)]
        shown = "\n".join(line.rstrip() for line in _lines(printed))
        assert re.fullmatch("\n".join(lines), shown, re.DOTALL), (
            f"{self.path.name} shows\n{expected}\nnot\n{shown}"
        )


def _lines(text: str) -> list[str]:
    return text.strip("\n").split("\n")


def _file(text: str) -> None:
    name = _FILE.match(text)
    if name:
        Path(name[1]).write_text(text)


def run_command(command: str) -> int:
    """Run a line of a shell in this process; returns the exit code."""
    name, *arguments = shlex.split(command)
    try:
        return import_module(COMMANDS[name]).main(arguments)
    finally:
        gc.unfreeze()
        gc.enable()


def _printed_by(work: Callable[[], object]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        work()
    return output.getvalue()
