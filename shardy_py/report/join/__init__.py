"""Joins what a compiled program sends with what was forecast for it, as plain values.

Not here: where the values come from, and reports (`report/compiled/`).
"""

from shardy_py.report.join.joining import joined
from shardy_py.report.join.model import Join, JoinEvidence, Line, Match, SentItem, frame_of, line_of, sizes_of

__all__ = ["Join", "JoinEvidence", "Line", "Match", "SentItem", "frame_of", "joined", "line_of", "sizes_of"]
