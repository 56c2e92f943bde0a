"""The compiler in another interpreter: requests, answers, errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.hardware import as_placement
from shardy_py.xla.compilers import VARIABLE, OutOfMemoryError, compile_ahead
from tests.xla.compilers.fake import ANSWER, OUT_OF_MEMORY, interpreter


@pytest.mark.parametrize(
    ("target", "mesh", "platform", "topology"),
    [
        ("h100", (8,), "cuda", "1x1x8"),
        ("b200", (4, 4), "cuda", "1x2x8"),
        ("tpu-v5e", (4, 2), "tpu", "v5e:2x4"),
        ("tpu-v5p", (4,), "tpu", "v5p:2x2x1"),
        ("tpu-v6e,topology=4x2", (8,), "tpu", "v6e:4x2"),
        ("tpu7x", (8,), "tpu", "tpu7x:2x2x1"),
    ],
)
def test_the_topology_holds_the_mesh(
    tmp_path: Path, target: str, mesh: tuple[int, ...], platform: str, topology: str
) -> None:
    python = interpreter(tmp_path, ANSWER, request=tmp_path / "request.json")
    compile_ahead(f"module {{}} // {tmp_path}", as_placement(target), mesh, python)
    request = json.loads((tmp_path / "request.json").read_text())
    described = request["topology"].get("topology") or request["topology"]["topology_name"]
    assert (request["platform"], described, request["mesh"]) == (platform, topology, [*mesh])


def test_the_environment_names_the_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, interpreter(tmp_path, ANSWER))
    assert compile_ahead("module {}", as_placement("h100"), (8,)).memory.total_bytes == 15_729_168


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            {"missing": "jax", "message": "No module"},
            "JAX is not installed in 'PYTHON'; install shardy_py[targets-gpu]",
        ),
        (
            {"missing": "compiler", "message": "x"},
            "the compiler for h100 is not installed in 'PYTHON'; install",
        ),
        (
            {"missing": "release", "message": "x"},
            "this release of JAX does not compile ahead of time as expected in",
        ),
        ({"error": "INTERNAL: tiles"}, "the compiler for h100 rejects the program: INTERNAL: tiles"),
        (None, "compile with 'PYTHON': expected an answer, got no such plugin"),
    ],
)
def test_errors(tmp_path: Path, answer: object, message: str) -> None:
    python = interpreter(tmp_path, answer)
    with pytest.raises(ShardyError) as caught:
        compile_ahead("module {}", as_placement("h100"), (8,), python)
    assert caught.value.first.message.startswith(message.replace("PYTHON", python))


def test_memory_is_exhausted_at_a_line(tmp_path: Path) -> None:
    python = interpreter(tmp_path, {"error": OUT_OF_MEMORY})
    with pytest.raises(OutOfMemoryError) as caught:
        compile_ahead("module {}", as_placement("tpu-v5e"), (8,), python)
    error = caught.value.first
    assert "the compiler for tpu-v5e runs out of memory: RESOURCE_EXHAUSTED" in error.message
    assert str(error.where) == "/models/model.py:7:1"
    assert str(error.notes[0]) == "/models/model.py:7:1: note: 1. Size: 8.00G"


def test_no_interpreter() -> None:
    with pytest.raises(ShardyError, match="the compiler's Python: expected an interpreter, got '/none'"):
        compile_ahead("module {}", as_placement("h100"), (8,), "/none")


def test_devices_without_a_compiler_ahead_of_time() -> None:
    with pytest.raises(ShardyError, match=r"compile: expected one of h100, .*, got mi300x"):
        compile_ahead("module {}", as_placement("mi300x"), (8,), "/none")
