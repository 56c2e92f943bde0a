"""The text that `--version` of every command prints. Not here: the version itself (`shardy_py.__version__`).

>>> version_text("sdy-opt").startswith("sdy-opt 0.")
True
"""

from __future__ import annotations

import sys

from shardy_py import __version__

_SHOWN = ("xdsl", "numpy")
"""The packages that decide what is read, verified and computed."""


def version_text(command: str) -> str:
    """Returns the version of a command, with those of Python and of the packages that it depends on most."""
    from importlib.metadata import PackageNotFoundError, version

    parts = [f"Python {sys.version.partition(' ')[0]}"]
    for package in _SHOWN:
        try:
            parts.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            parts.append(f"{package} not installed")
    return f"{command} {__version__} ({', '.join(parts)})"
