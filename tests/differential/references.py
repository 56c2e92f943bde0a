"""The releases whose reference is on this machine, each in a Python that has its jaxlib: `found()`.

The running interpreter comes first, then those that `SHARDY_REFERENCE_PYTHON` names, separated as `PATH` is;
without it, the Pythons on `PATH` and those of pyenv.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from shardy_py.base.errors import ShardyError
from shardy_py.base.releases import RELEASES, Release, named

VARIABLE = "SHARDY_REFERENCE_PYTHON"
PYTHONS = tuple(f"python3.{minor}" for minor in range(11, 16))
SECONDS = 10
"""What an interpreter may take to tell its version of jaxlib."""
_ASK = "from importlib.metadata import version; print(version('jaxlib'))"


@lru_cache(maxsize=1)
def found() -> dict[Release, str]:
    """The interpreter that has the jaxlib of a release, for each release that one is found for."""
    pythons: dict[Release, str] = {}
    for python in (sys.executable, *_others()):
        release = _release(_jaxlib(python)) if len(pythons) < len(RELEASES) else None
        if release is not None:
            pythons.setdefault(release, python)
    return pythons


def installed() -> Release | None:
    """The release of the running interpreter's jaxlib; None without one that is known."""
    return _release(_jaxlib(sys.executable))


def missing(release: Release) -> str:
    """Why there is no reference of a release, as the reason of a skipped test."""
    return f"no Python with the jaxlib of {release} is found; name one in {VARIABLE}"


def _others() -> list[str]:
    if given := os.environ.get(VARIABLE):
        return [path for path in given.split(os.pathsep) if path]
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    on_path = [path for name in PYTHONS if (path := shutil.which(name))]
    return [*on_path, *map(str, sorted(root.glob("versions/*/bin/python")))]


def _jaxlib(python: str) -> str:
    """The version of an interpreter's jaxlib; empty without one."""
    if python == sys.executable:
        try:
            return version("jaxlib")
        except PackageNotFoundError:
            return ""
    try:
        asked = subprocess.run(
            [python, "-I", "-c", _ASK], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip()


def _release(jaxlib: str) -> Release | None:
    try:
        return named(jaxlib) if jaxlib else None
    except ShardyError:
        return None
