"""Regular expressions that are compiled when they are first used: a command uses a third of those it loads.

    _NUMBER = on_use(r"[0-9]++")
    _NUMBER.match("12")

Not here: those that every program needs, which the modules of `mlir/text/` compile at once.

>>> expression = on_use(r"(a)(b)?")
>>> expression.match("ab").groups(), expression.groups
(('a', 'b'), 2)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from re import compile as on_use
else:

    class on_use:
        """An expression with the methods of a compiled one, as attributes once it is compiled."""

        def __init__(self, pattern: str, flags: int = 0) -> None:
            self._source = pattern, flags

        def __getattr__(self, name: str) -> object:
            if name[:2] == "__":  # `abc` asks for one
                raise AttributeError(name)
            compiled = re.compile(*self._source)
            for each in _ATTRIBUTES:
                setattr(self, each, getattr(compiled, each))
            return getattr(compiled, name)


_ATTRIBUTES = [name for name in dir(re.Pattern) if name[0] != "_"]

__all__ = ["on_use"]
