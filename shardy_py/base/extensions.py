"""Methods of programs and results that rooms above `api` provide: their modules, loaded on use.

    extension("check").check(result)

`api` asks for an extension by name and imports nothing above it; the package registers the modules. Not here:
plugins of users.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from shardy_py.base.errors import InternalError

_MODULES: dict[str, str] = {}


def register(modules: dict[str, str]) -> None:
    """Adds the modules of extensions, by the names that `extension` takes."""
    _MODULES.update(modules)


def extension(name: str) -> Any:
    """Returns the module of an extension; untyped, as its types are above those who ask.

    Raises:
        InternalError: no module is registered under the name.
    """
    if name not in _MODULES:
        raise InternalError(f"no extension {name!r} is registered")
    return import_module(_MODULES[name])
