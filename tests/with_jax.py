"""Runs Python with JAX in a process of its own: XLA's flags are settled when JAX's backend starts.

Each is forked from one process that has imported JAX and this package, and has started no backend: most of
what is run takes less time than those imports do.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
INPUT, OUTPUT, ERRORS = STREAMS = ("input", "output", "errors")


def run_with_jax(
    arguments: Sequence[str], given: bytes = b"", environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs `python *arguments`, which are `-m MODULE ...` or `-c CODE ...`, in the root of the checkout.

    given: what it reads from standard input. environment: what is set besides the variables of this process.
    """
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
    if not hasattr(os, "fork"):  # Windows
        command = [sys.executable, *arguments]
        return subprocess.run(command, input=given, cwd=ROOT, env=variables, capture_output=True, check=False)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / INPUT).write_bytes(given)
        requests, answers = _forking().stdin, _forking().stdout
        assert requests is not None
        assert answers is not None
        requests.write(json.dumps([folder, [*arguments], variables]) + "\n")
        requests.flush()
        code = int(answers.readline())
        output, errors = ((Path(folder) / name).read_bytes() for name in (OUTPUT, ERRORS))
    return subprocess.CompletedProcess([*arguments], code, output, errors)


@cache
def _forking() -> subprocess.Popen[str]:
    """The process that forks; it ends when its standard input does."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.with_jax"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"},  # which JAX reads when imported
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(process.communicate)
    return process


def _serve() -> None:
    import jax.numpy
    import numpy
    import pytest

    import shardy_py.frontends.jax

    assert all((jax.numpy, numpy, pytest, shardy_py.frontends.jax))
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    gc.collect()
    gc.freeze()  # pages of what is imported stay shared with the forks
    for line in requests:
        child = os.fork()
        if not child:
            os._exit(_run(*json.loads(line)))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def _run(folder: str, arguments: Sequence[str], variables: Mapping[str, str]) -> int:
    """The exit code of what is run here, with the files of a folder as its standard streams."""
    for number, name in enumerate(STREAMS):
        flags = os.O_CREAT | os.O_WRONLY if number else os.O_RDONLY
        os.dup2(os.open(os.path.join(folder, name), flags), number)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, "w" if number else "r") for number in range(3))
    os.environ.clear()
    os.environ.update(variables)
    kind, name, *given = arguments
    sys.argv = [name, *given]
    try:
        if kind == "-m":
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        else:
            exec(compile(name, "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        return _code(end.code)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _code(given: Any) -> int:
    if given is None or isinstance(given, int):
        return given or 0
    print(given, file=sys.stderr)
    return 1


if __name__ == "__main__":
    _serve()
