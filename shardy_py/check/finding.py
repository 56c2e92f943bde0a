"""What a lint rule finds: a code, a place, the fact, and what to do about it.

Not here: the rules (`rules.py`), how findings are shown (`text.py`, `sarif.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from shardy_py.errors import Position

Level = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = ("note", "warning", "error")
"""From the least to the most serious."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found.

    code: of the rule, SDY001 and so on; it never changes its meaning.
    subject: the value or axis it is about, as the propagated program names it.
    function: the function around it; "" if there is none.
    position: in the source, None if unknown. location: the same in words, with the name the source gives.
    bytes: what it is about, 0 if nothing of a size.
    anchor: what stands for the subject in the fingerprint; "": itself. Numbers of values change with edits.
    """

    code: str
    level: Level
    message: str
    remedy: str
    subject: str
    function: str = ""
    position: Position | None = None
    location: str = ""
    bytes: int = 0
    anchor: str = ""

    @property
    def fingerprint(self) -> str:
        """What stays the same when lines move: the code, the function, the fact."""
        text = "\0".join((self.code, self.function, self.anchor or self.subject, self.message))
        return sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """The finding for tools."""
        place = self.position
        return {
            "code": self.code,
            "level": self.level,
            "message": self.message,
            "remedy": self.remedy,
            "subject": self.subject,
            "function": self.function,
            "file": None if place is None else place.file,
            "line": None if place is None else place.line,
            "column": None if place is None else place.column,
            "location": self.location,
            "bytes": self.bytes,
            "fingerprint": self.fingerprint,
        }
