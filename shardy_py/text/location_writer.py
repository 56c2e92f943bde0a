"""Locations in printed modules: each is an alias `#loc7`, defined at the end of the text.

Not here: the text of one location (`location_syntax.py`).
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import CallSiteLoc, FusedLoc, NameLoc, NoneAttr
from xdsl.ir import Operation

from shardy_py.text.location_syntax import location_body


class LocationAliases:
    """Hands out aliases of the locations under an op."""

    def __init__(self, root: Operation) -> None:
        self._aliases: dict[str, str] = {}
        self._definitions: list[str] = []
        self._root = root

    def reference(self, location: Any) -> str:
        """`loc(#locN)`; unknown locations print as they are."""
        return f"loc({self._alias(location)})"

    def surround(self, text: str) -> str:
        """The module's text with the definitions of all aliases behind it."""
        return text + "".join(self._definitions)

    def _alias(self, location: Any) -> str:
        body = self._body(location)
        if body == "unknown":
            return body
        alias = self._aliases.get(body)
        if alias is None:
            number = len(self._aliases)
            alias = self._aliases[body] = f"#loc{number or ''}"
            self._definitions.append(f"{alias} = loc({body})\n")
        return alias

    def _body(self, location: Any) -> str:
        if isinstance(location, NameLoc) and not isinstance(location.location, NoneAttr):
            return location_body(NameLoc(location.desc, NoneAttr())) + f"({self._alias(location.location)})"
        if isinstance(location, CallSiteLoc):
            return f"callsite({self._alias(location.callee)} at {self._alias(location.caller)})"
        if isinstance(location, FusedLoc):
            parts: Any = location.locations
            return f"fused[{', '.join(self._alias(part) for part in parts.data)}]"
        return location_body(location)
