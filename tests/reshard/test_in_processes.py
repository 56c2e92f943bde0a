"""Local programs run by several processes of JAX, as on several hosts."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import pytest

from tests.reshard.in_processes import DEVICES

PROCESSES = 2
SECONDS = 300


def test_two_processes_run_one_local_program() -> None:
    """Each gets the whole results, with devices in any order; all fail if one has no device to run on."""
    pytest.importorskip("jaxlib", reason="JAX is not installed")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.reshard.in_processes", str(port), str(PROCESSES)]
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    started = [
        subprocess.Popen(
            [*command, str(index)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for index in range(PROCESSES)
    ]
    try:
        outputs = [process.communicate(timeout=SECONDS) for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0] * PROCESSES, outputs[0][1][-2000:]
    for output, _ in outputs:
        found = json.loads(output.strip().splitlines()[-1])
        assert found["devices"] == PROCESSES * DEVICES
        assert max(found["errors"]) < 1e-5
        assert "expected some in each process of JAX, got none in process 1 of 2" in found["few"]
        assert (
            "expected 8 different devices of JAX, as in jax.devices(), got 8, 1 of them different"
            in found["twice"]
        )
