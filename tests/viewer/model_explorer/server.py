"""The real Model Explorer: its server on a free port, and its HTTP API as the page calls it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
EXTENSION = "shardy_py.viewer.model_explorer"
_SECONDS = 60.0


@dataclass(frozen=True)
class Server:
    """A running server; `address` without a slash at its end."""

    address: str

    def get(self, path: str) -> Any:
        """The JSON at a path."""
        return json.loads(self.text(path))

    def text(self, path: str) -> str:
        """The text at a path."""
        with urllib.request.urlopen(f"{self.address}{path}", timeout=_SECONDS) as answer:
            return answer.read().decode()

    def command(self, **fields: Any) -> Any:
        """The answer of an extension."""
        body = json.dumps(fields).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}/apipost/v1/send_command", body, headers)
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            return json.loads(answer.read())

    def convert(self, path: Path, adapter: str = "shardy_py") -> Any:
        """The graphs of a file, as the page asks for them."""
        settings = {"const_element_count_limit": 16}
        fields = {"modelPath": str(path), "settings": settings, "deleteAfterConversion": False}
        return self.command(cmdId="convert", extensionId=adapter, **fields)


@contextmanager
def server(*arguments: str, module: Sequence[str] = ("model_explorer",)) -> Generator[Server]:
    """Starts the server as its command does, and stops it."""
    port = _free_port()
    options = ["--no_open_in_browser", "--host=127.0.0.1", f"--port={port}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_PROXY": "127.0.0.1"}
    command = [sys.executable, "-m", *module, *arguments, *options]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=quiet, stderr=quiet)
    try:
        started = Server(f"http://127.0.0.1:{port}")
        _wait(started, process)
        yield started
    finally:
        process.kill()
        process.wait(_SECONDS)


def _wait(started: Server, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, "the server has ended"
        try:
            if started.text("/check_health") == "model_explorer_ok":
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]
