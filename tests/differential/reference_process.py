"""The C++ Shardy of a jaxlib, in a process of its own: `ReferenceProcess().run(text, passes)`.

Its Python may be another one than this, and the process may end: see `reference_server.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.differential.reference_server import CRASHED, FAILED

__all__ = ["CRASHED", "FAILED", "ReferenceError", "ReferenceProcess"]
SERVER = Path(__file__).with_name("reference_server.py")


class ReferenceError(Exception):
    """The reference gives no result; the message is its own."""


class ReferenceProcess:
    """Asks a process that is started when first needed.

    python: the interpreter that has the jaxlib.
    """

    def __init__(self, python: str = sys.executable) -> None:
        """No process yet."""
        self._python = python
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> ReferenceProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.communicate()

    def run(self, text: str, passes: str) -> tuple[str, str]:
        """The program after the passes: ("", text), or (FAILED, message), or (CRASHED, its last words)."""
        return self._ask("run", text, passes)

    def output(self, text: str, passes: str = "", *, generic: bool = False) -> str:
        """The program after the passes.

        Raises:
            ReferenceError: there is none.
        """
        return self._result("generic" if generic else "run", text, passes)

    def stages(self, text: str, passes: Sequence[str]) -> list[str]:
        """The programs after each of the passes."""
        return self._result("stages", text, passes)

    def pipeline(self, passes: str) -> str:
        """A pipeline spelled out."""
        return self._result("pipeline", "", passes)

    def rules(self, text: str, *, conservative: bool = False) -> dict[int, str | None]:
        """The rule of each op with the attribute `test.number`, by that number."""
        options = "{conservative-propagation=true}" if conservative else ""
        return {int(number): rule for number, rule in self._result("rules", text, options).items()}

    def _result(self, kind: str, text: str, passes: str | Sequence[str]) -> Any:
        status, output = self._ask(kind, text, passes)
        if status:
            raise ReferenceError(output)
        return output

    def _ask(self, kind: str, text: str, passes: str | Sequence[str]) -> tuple[str, Any]:
        process = self._process
        if process is None:
            process = self._process = subprocess.Popen(
                [self._python, str(SERVER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
            )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([kind, text, passes]) + "\n")
        process.stdin.flush()
        status, output = json.loads(process.stdout.readline())
        return status, output
