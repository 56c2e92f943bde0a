"""The C++ Shardy in a process of its own, for it may end it: `ReferenceProcess().run(text, passes)`.

The process forks a worker that answers; when that dies, the next takes over at the cost of a fork.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]
FAILED, CRASHED = "failed", "crashed"


class ReferenceProcess:
    """Asks a process that is started when first needed."""

    def __init__(self) -> None:
        """No process yet."""
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
        process = self._process
        if process is None:
            process = self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.differential.reference_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                cwd=ROOT,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([text, passes]) + "\n")
        process.stdin.flush()
        status, output = json.loads(process.stdout.readline())
        return status, output


def serve() -> None:
    """Lets one worker after the other answer, and answers for those that die."""
    from tests.conftest import Reference

    reference = Reference()
    words = tempfile.TemporaryFile()  # noqa: SIM115 (it is standard error until the process ends)
    os.dup2(words.fileno(), 2)
    while worker := os.fork():
        status = os.waitpid(worker, 0)[1]
        if not os.WIFSIGNALED(status):
            return
        name = signal.Signals(os.WTERMSIG(status)).name
        words.seek(0)
        last = words.read().decode(errors="replace").strip().splitlines()[-1:]
        words.seek(0)
        words.truncate()
        print(json.dumps((CRASHED, " ".join((name, *last)))), flush=True)
    context = reference.context()
    for line in sys.stdin:
        text, passes = json.loads(line)
        try:
            answer = ("", reference.run(text, passes, context=context))
        except reference.ir.MLIRError as error:
            answer = (FAILED, str(error))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
