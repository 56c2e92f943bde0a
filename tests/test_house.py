"""Types and words of the package: what `tools/measure_house.py` counts only goes down."""

import ast

import pytest

from tools import measure_house

FILES = measure_house.sources()


@pytest.mark.parametrize(
    ("pattern", "most"),
    [
        (measure_house.ANY, 585),
        (measure_house.CAST, 108),
    ],
)
def test_lines_without_types(pattern: str, most: int) -> None:
    """Types are found, or named once (`base/arrays.py`, `base/narrowing.py`), instead of one line more."""
    lines = [line for text in FILES.values() for line in text.splitlines()]
    assert measure_house.count_lines(lines, pattern) <= most


def test_class_names_are_used_once() -> None:
    trees = {path: ast.parse(text) for path, text in FILES.items()}
    assert [name for name in measure_house.repeated_classes(trees) if not name.startswith("_")] == []
