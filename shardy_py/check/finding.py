"""Findings of lint rules: a code, a place, the fact, and a remedy; as text and JSON.

Not here: the rules (`rules.py`), SARIF (`sarif.py`).
"""

from __future__ import annotations

from dataclasses import field
from dataclasses import fields as all_fields
from typing import Literal

from shardy_py.base.digests import sha256
from shardy_py.base.errors import Position
from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass
from shardy_py.base.terminal import painted, utf8, without_controls
from shardy_py.report.verdict import SuggestedSharding, TriedChange, change_json

Level = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = ("note", "warning", "error")
"""From the least to the most serious."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    code: of the rule, SDY001 and so on; stable.
    subject: the value or axis, as the propagated program names it.
    function: the function around it; "" if there is none.
    position: in the source, None if unknown. location: the same as text, with the name in the source.
    bytes: the size concerned, 0 if none.
    anchor: stands for the subject in the fingerprint, because numbers of values change with edits; "": the
        subject itself.
    scope: the names of the scopes around it, as JAX writes them; "" if unknown.
    kind, axes, times: of a collective, the axes of the mesh, and how often it runs; "" of other findings.
    change: the best change that was tried, with what it saves; None if none is known.
    annotations: the remedy as annotations of a program of MLIR; () if it is none, or that of the change.
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
    scope: str = ""
    kind: str = ""
    axes: tuple[str, ...] = ()
    times: int = 1
    change: TriedChange | None = field(default=None, compare=False, repr=False)
    annotations: tuple[SuggestedSharding, ...] = field(default=(), compare=False, repr=False)

    @property
    def fingerprint(self) -> str:
        """A hash of code, function, subject and message, which does not depend on line numbers."""
        text = "\0".join((self.code, self.function, self.anchor or self.subject, self.message))
        return sha256(utf8(text)).hexdigest()[:16]

    def to_json(self) -> JsonObject:
        """Returns the finding for JSON; docs/check.md describes the schema."""
        left_out = ("position", "anchor", "change", "annotations")
        fields = {each.name: getattr(self, each.name) for each in all_fields(self)}
        fields = {name: value for name, value in fields.items() if name not in left_out}
        fields["fingerprint"] = self.fingerprint
        fields["savings"] = None if self.change is None else change_json(self.change)
        fields["axes"] = [*self.axes]
        return {**fields, **{key: getattr(self.position, key, None) for key in ("file", "line", "column")}}

    def __str__(self) -> str:
        return self.text()

    def text(self, *, color: bool = False) -> str:
        """Returns the finding as a compiler diagnostic, and its remedy on a further line."""
        place = f"{self.position}: " if self.position else ""
        where = f"@{self.function}, {self.subject}" if self.function else self.subject
        parts = (
            *((place, "strong"), (f"{self.level}:", self.level), (f" {where}: {self.message} ", "")),
            (f"[{self.code}]", "faint"),
        )
        shown = (
            painted(without_controls(part, lines=False), style if color and part else "")
            for part, style in parts
        )
        return f"{''.join(shown)}\n    {without_controls(self.remedy, lines=False)}"
