"""SHA-256 without OpenSSL, which `hashlib` loads: that takes longer than all else of a small page.

>>> sha256(b"shardy").hexdigest()[:8]
'2bd9de1e'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256
else:

    def sha256(data: bytes) -> object:
        """Returns the SHA-256 of bytes, by the interpreter's own module or else by `hashlib`."""
        for name in ("_sha2", "_sha256", "hashlib"):  # of 3.12 and later, before, and everywhere
            try:
                return import_module(name).sha256(data)
            except ImportError:
                continue
        raise ImportError("hashlib")


__all__ = ["sha256"]
