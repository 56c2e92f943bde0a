"""The C++ Shardy in a process of its own, for it may end it: `ReferenceProcess().run(text, passes)`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]
FAILED, CRASHED = "failed", "crashed"


class ReferenceProcess:
    """Asks one process after the other; a new one when the last has died."""

    def __init__(self) -> None:
        """No process yet."""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> ReferenceProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def run(self, text: str, passes: str) -> tuple[str, str]:
        """The program after the passes, as ("", text); or (FAILED, message), or (CRASHED, "")."""
        process = self._process
        if process is None or process.poll() is not None:
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
        try:
            process.stdin.write(json.dumps([text, passes]) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            process.communicate()
            return CRASHED, ""
        status, output = json.loads(answer)
        return status, output


def serve() -> None:
    """Answers one line of input after the other."""
    from tests.conftest import Reference

    reference = Reference()
    for line in sys.stdin:
        text, passes = json.loads(line)
        try:
            answer = ("", reference.run(text, passes))
        except reference.ir.MLIRError as error:
            answer = (FAILED, str(error))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
