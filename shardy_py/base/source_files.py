"""Source files that locations of programs name: the only place where such a file is opened.

A program may come from anybody, and what is read may be shown in a page that is handed on. So only regular
`.py` files of a bounded size are read, below folders that the user gave; links are resolved first.

>>> SourceFiles(("/nowhere",)).lines("/dev/zero")
()

Not here: what is shown of them (`viewer/explorer/source_lines.py`, `search/advice/sites.py`); files that
the user names (`cli/shell.py`).
"""

from __future__ import annotations

import linecache
import os
import re
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from errno import EINVAL
from io import BufferedReader

from shardy_py.base.records import dataclass

EVERYWHERE = (os.path.abspath(os.sep),)
"""Roots for programs that this process traced: their locations are its own."""
_SUFFIX = ".py"
_LARGEST = 2_000_000
"""Bytes of a file that is read."""
_MOST_FILES = 50
"""Files of a program that are looked for."""
_FRAMEWORK = re.compile(
    r"[/\\](?:site|dist)-packages[/\\]"
    r"(?:chex|einops|equinox|flax|haiku|jax|jaxlib|keras|numpyro|optax|penzai|praxis)[/\\]"
)
"""Files of packages that build models: users look for lines of their own model."""
_FLAGS = sum(getattr(os, f"O_{name}", 0) for name in ("NOFOLLOW", "NONBLOCK", "NOCTTY", "CLOEXEC", "BINARY"))
_HAS_FOLDERS = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")


def is_framework(file: str) -> bool:
    """Returns whether a file is of a package that builds models."""
    return _FRAMEWORK.search(file) is not None


def default_roots(program: str = "") -> tuple[str, ...]:
    """Returns the folders below which source files are read unless the user gives others.

    program: the file of the program; its folder is one, that of the working directory is another. The root of
    the file system is none of them: it has to be given.
    """
    try:
        working = os.getcwd()
        folders = (os.path.dirname(os.path.abspath(program)), working) if program else (working,)
    except OSError:  # the working directory is gone
        return ()
    return tuple(dict.fromkeys(folder for folder in folders if os.path.dirname(folder) != folder))


@dataclass(frozen=True)
class SourceFiles:
    """The source files of one program: those below `roots`, each read once.

    roots: folders; names that are not absolute are looked up in each.
    """

    roots: tuple[str, ...]
    _known: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def lines(self, name: str) -> tuple[str, ...]:
        """Returns the lines of a file as a location names it; none if it may not or cannot be read."""
        found = self._known.get(name)
        if found is None:
            if len(self._known) >= _MOST_FILES:
                return ()
            found = self._known[name] = _cell(name) or self._read(name)
        return found

    def path_of(self, name: str) -> str:
        """Returns the path of a file that `lines` may read, without links; "" if there is none."""
        for root, names in self._found(name):
            path = os.path.join(root, *names)
            if os.path.isfile(path):
                return path
        return ""

    def _found(self, name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The places of a file below the roots, as `_below` has them."""
        for root in self.roots if name.endswith(_SUFFIX) else ():
            with suppress(OSError, ValueError):
                if (path := _below(root, name)) is not None:
                    yield path

    def _read(self, name: str) -> tuple[str, ...]:
        for path in self._found(name):
            with suppress(OSError, ValueError):
                return tuple(_content(*path).decode("utf-8").splitlines())
        return ()


def _cell(name: str) -> tuple[str, ...]:
    """The lines of a notebook's cell, which is in memory only."""
    entry = linecache.cache.get(name)
    if entry is None or len(entry) < 4 or entry[1] is not None:
        return ()
    return tuple(line.rstrip("\n") for line in entry[2])


def _below(root: str, name: str) -> tuple[str, tuple[str, ...]] | None:
    """The root of a file without links, and the names that lead from there to the file; None outside of it.

    A name that is spelled outside of the root is not looked up: that may have effects, as on a network.
    """
    spelled, real = os.path.abspath(root), os.path.realpath(root)
    path = os.path.abspath(os.path.join(spelled, name))
    if not any(_is_below(path, folder) for folder in (spelled, real)):
        return None
    resolved = os.path.realpath(path)
    if not _is_below(resolved, real) or not resolved.endswith(_SUFFIX):
        return None
    return real, tuple(os.path.relpath(resolved, real).split(os.sep))


def _is_below(path: str, folder: str) -> bool:
    try:
        return os.path.commonpath((path, folder)) == folder != path
    except ValueError:  # on another drive
        return False


def _content(root: str, names: tuple[str, ...]) -> bytes:
    """The bytes of a regular file. Raises OSError for another kind, ValueError for one that is too large.

    Folders are opened one after the other, none through a link: what was resolved cannot change meanwhile.
    """
    with _opened(root, names) as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ValueError(f"more than {_LARGEST} bytes")
    return data


@contextmanager
def _opened(root: str, names: tuple[str, ...]) -> Generator[BufferedReader]:
    """Opens a regular file: never a device or a pipe, for opening one can have effects, or wait for ever."""
    folders: list[int] = []
    try:
        if _HAS_FOLDERS:
            flags = os.O_RDONLY | os.O_DIRECTORY | _FLAGS
            folders.append(os.open(root, flags))
            for name in names[:-1]:
                folders.append(os.open(name, flags, dir_fd=folders[-1]))
            handle = _open_regular(names[-1], folders[-1])
        else:
            handle = _open_regular(os.path.join(root, *names), None)
        with open(handle, "rb") as file:
            yield file
    finally:
        for folder in folders:
            os.close(folder)


def _open_regular(name: str, folder: int | None) -> int:
    """Returns the handle of a regular file; looked at before it is opened, and after."""
    before = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISREG(before.st_mode):
        raise OSError(EINVAL, os.strerror(EINVAL), name)
    handle = os.open(name, os.O_RDONLY | _FLAGS, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(EINVAL, os.strerror(EINVAL), name)
    return handle
