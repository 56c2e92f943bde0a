"""Nouns and numbers of things, in the singular or plural.

Not here: amounts of bytes and seconds (`report/tables.py`).

>>> plural(1, "change"), plural(0, "more value")
('change', 'more values')
>>> counted(1, "change"), counted(2000, "value")
('1 change', '2,000 values')
"""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """Returns a noun whose plural ends in s, as it is behind a number."""
    return noun if count == 1 else f"{noun}s"


def counted(count: int, noun: str) -> str:
    """Returns a number of things, with commas between thousands."""
    return f"{count:,} {plural(count, noun)}"
