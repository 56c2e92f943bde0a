"""Files that are written in one step, so that they are never seen half written.

    write_whole("out.mlir", text)

Not here: files of a command line, standard streams and error messages (`cli/shell.py`).
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from errno import EISDIR, ELOOP


def write_whole(name: str, content: str | bytes, *, follows_links: bool = True) -> None:
    """Writes a file whole or not at all; as `staged`."""
    with staged(name, content, follows_links=follows_links):
        pass


@contextmanager
def staged(name: str, content: str | bytes, *, follows_links: bool = True) -> Generator[None]:
    """Writes a file when the block ends, or not at all if that raises; faults of the file are found before.

    follows_links: for a name that the user gave: a link keeps its name, devices and pipes are written to.
        Otherwise, for a name that somebody could foresee, the file replaces whatever has the name.

    Raises:
        OSError, ValueError: it cannot be written, or the name is invalid.
    """
    from pathlib import Path
    from tempfile import mkstemp

    data = content.encode("utf-8") if isinstance(content, str) else content
    path = Path(os.path.realpath(name) if follows_links else name)  # the target may be on another file system
    if follows_links and path.is_symlink():
        raise OSError(ELOOP, os.strerror(ELOOP), name)
    if follows_links and path.exists() and not path.is_file():
        yield
        path.write_bytes(data)
        return
    is_kept = path.is_file() and not path.is_symlink()
    handle, temporary = mkstemp(dir=path.parent, prefix=".sdy-")
    try:
        with open(handle, "wb") as file:
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, path.stat().st_mode & 0o777 if is_kept else 0o666 & ~mask)
        if path.is_dir():
            raise OSError(EISDIR, os.strerror(EISDIR), name)
        yield
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
