"""Runs a page of docs/: what it shows is what happens.

| block | what is done with it |
|---|---|
| `python` | run, all of a page with the same names; with `>>>`, as a doctest |
| `text` | compared with what the block before it has printed |
| `mlir`, `json`, ... that begin with a comment `// name.mlir` | written to a file of that name |
| `python` that begins with a comment `# name.py` | the same |
| `console` | after `$` a command, then what it prints |

A line `...` in what is shown stands for any number of lines. Other blocks are left alone. What pages show is
rewritten, to be read and committed, by

    python -m tests.pages docs/tutorial.md ...
"""

from __future__ import annotations

import contextlib
import doctest
import gc
import io
import logging
import re
import shlex
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
"""What README.md speaks of as `examples`."""
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_FILE = re.compile(r"(?:// ([\w.]+)|# (\w+\.py))\n")
COMMANDS = {
    "sdy-opt": "shardy_py.cli.opt",
    "sdy-check": "shardy_py.cli.check",
    "sdy-compare": "shardy_py.cli.compare",
    "sdy-diff": "shardy_py.cli.diff",
    "sdy-suggest": "shardy_py.cli.suggest",
    "shardy-explorer": "shardy_py.cli.explorer",
    "shardy-lsp": "shardy_py.cli.lsp",
    "shardy-serve": "shardy_py.cli.serving",
    "shardy-view": "shardy_py.cli.view",
    "hlo-indexing": "shardy_py.cli.hlo_indexing",
    "hlo-layout": "shardy_py.cli.layout",
    "stablehlo-interpret": "shardy_py.cli.interpret",
}


@dataclass
class Page:
    """A page that is run in the current folder; `checked` counts what was compared."""

    path: Path
    names: dict[str, object] = field(default_factory=dict)
    printed: str = ""
    checked: int = 0

    def run(self) -> None:
        """Everything, from top to bottom; raises `AssertionError` where it shows what does not happen."""
        for language, text in _BLOCK.findall(self.path.read_text()):
            found = self._found(language, text)
            assert found == text, f"{self.path.name} shows\n{text}\nnot\n{found}"

    def rewritten(self) -> str:
        """The page with what happens."""
        return _BLOCK.sub(lambda m: f"```{m[1]}\n{self._found(m[1], m[2])}```", self.path.read_text())

    def _found(self, language: str, text: str) -> str:
        """What a block ought to show."""
        match language:
            case "python" if _FILE.match(text):
                _write_file(text)
            case "python" if text.startswith(">>>"):
                return self._doctest(text)
            case "python":
                code = compile(text, f"{self.path.stem}.py", "exec", dont_inherit=True)
                self.printed = _printed_by(lambda: exec(code, self.names))
            case "text":
                return self._shown(text, self.printed)
            case "console":
                return _COMMAND.sub(self._command, text)
            case _:
                _write_file(text)
        return text

    def _doctest(self, code: str) -> str:
        example = doctest.DocTestParser().get_doctest(code, self.names, self.path.name, self.path.name, 0)
        runner = _Transcript()
        runner.run(example, out=lambda text: None, clear_globs=False)
        self.names |= example.globs
        self.checked += len(example.examples)
        return "".join(runner.shown)

    def _command(self, match: re.Match[str]) -> str:
        expected = match[2]
        ending = "\n" if expected.endswith("\n\n") else ""
        printed = _printed_by(lambda: run_command(match[1]))
        return f"$ {match[1]}\n{self._shown(expected.rstrip() + chr(10), printed)}{ending}"

    def _shown(self, expected: str, printed: str) -> str:
        """What is expected if it says what was printed, else what was printed."""
        self.checked += 1
        lines = [".*" if line == "..." else re.escape(line) for line in expected.rstrip().split("\n")]
        found = "\n".join(line.rstrip() for line in printed.strip("\n").split("\n"))
        return expected if re.fullmatch("\n".join(lines), found, re.DOTALL) else found + "\n"


class _Transcript(doctest.DocTestRunner):
    """Keeps a session as it went: its examples with what they gave."""

    def __init__(self) -> None:
        super().__init__(verbose=False)
        self.shown: list[str] = []

    def _add(self, example: doctest.Example, got: str) -> None:
        lines = example.source.rstrip("\n").split("\n")
        prompts = [">>> " if number == 0 else "... " for number in range(len(lines))]
        self.shown += [f"{p}{line}".rstrip() + "\n" for p, line in zip(prompts, lines, strict=True)]
        self.shown.append(got)

    def report_success(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self._add(example, example.want)

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self._add(example, got)

    def report_unexpected_exception(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any
    ) -> None:
        error = "".join(traceback.format_exception_only(exc_info[1]))
        self._add(example, f"Traceback (most recent call last):\n    ...\n{error}")


def run_command(command: str) -> int:
    """Run a line of a shell in this process; returns the exit code."""
    name = next(name for name in COMMANDS if command.startswith(f"{name} "))
    try:
        return import_module(COMMANDS[name]).main(shlex.split(command.removeprefix(name)))
    finally:
        gc.enable()


def _write_file(text: str) -> None:
    name = _FILE.match(text)
    if name:
        Path(name[1] or name[2]).write_text(text)


def _printed_by(work: Callable[[], object]) -> str:
    """The output of both streams, with what is logged, as Python shows it without a handler of tests."""
    output = io.StringIO()
    logger, handler = logging.getLogger("shardy_py"), logging.StreamHandler(output)
    handler.setLevel(logging.WARNING)
    logger.addHandler(handler)
    logger.propagate = False
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            work()
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
    return output.getvalue()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Page(Path(name).resolve())
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            Path("examples").symlink_to(EXAMPLES)
            page.path.write_text(page.rewritten())
