"""The dimension numbers of convolutions: `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.

A letter is the role of a dimension: `b` batch, `f` feature, `i` and `o` the kernel's input and output
feature; a number is a spatial dimension's.

>>> numbers = ConvDimensionNumbers(0, 2, (1,), 1, 2, (0,), 0, 2, (1,))
>>> conv_text(numbers)
'[b, 0, f]x[0, i, o]->[b, 0, f]'

Not here: the window of a convolution (`elements.py`).
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from shardy_py.dialects.attribute_classes import ValueText, fields_text, read_fields
from shardy_py.dialects.stablehlo.structs import ConvDimensionNumbers
from shardy_py.text.cursor import Cursor

_PARTS = {"input": ("", "bf"), "kernel": ("x", "io"), "output": ("->", "bf")}
"""The text before each part, and its letters."""
_MOST_NAMED = 10


def conv_text(numbers: ConvDimensionNumbers) -> str | None:
    """The short text; None if the numbers do not number the dimensions."""
    texts: list[str] = []
    for name, dimensions in numbers.sides().items():
        before, letters = _PARTS[name]
        roles = dict(zip(dimensions, (*letters, *map(str, range(len(dimensions) - 2))), strict=True))
        if sorted(roles) != list(range(len(dimensions))):
            return None
        texts.append(f"{before}[{', '.join(roles[dimension] for dimension in range(len(dimensions)))}]")
    return "".join(texts)


def read_conv(cursor: Cursor) -> ConvDimensionNumbers:
    """Reads the short text."""
    values: list[Any] = []
    for before, letters in _PARTS.values():
        if before:
            cursor.expect(before)
        values += _read_part(cursor, letters)
    return ConvDimensionNumbers(*values)


def _read_part(cursor: Cursor, letters: str) -> tuple[int, int, tuple[int, ...]]:
    """`[b, 0, 1, f]`: the positions of the two letters, and those of the numbers."""
    missing = sorted(letters, key="bfio".index)
    named: dict[str, int] = {}
    spatial: dict[int, int] = {}
    cursor.expect("[")
    index = 0
    while True:
        if cursor.is_integer():
            _read_spatial(cursor, spatial, index)
        else:
            named[_read_letter(cursor, missing)] = index
        index += 1
        if not cursor.accept(","):
            break
    if missing:
        cursor.form_error(f"Expected dimensions {', '.join(missing)} not specified")
    cursor.expect("]")
    absent = (str(number) for number in range(max(spatial, default=-1) + 1) if number not in spatial)
    if listed := list(islice(absent, _MOST_NAMED)):
        cursor.form_error(f"Expected spatial dimensions {', '.join(listed)} not specified")
    return named[letters[0]], named[letters[1]], tuple(spatial[number] for number in range(len(spatial)))


def _read_spatial(cursor: Cursor, spatial: dict[int, int], index: int) -> None:
    start = cursor.offset
    number = cursor.integer()
    if number < 0:
        cursor.form_error(f"Unexpected dimension {number}", start)
    if number in spatial:
        cursor.form_error(f"Duplicate entries for spatial dimension {number}", start)
    spatial[number] = index


def _read_letter(cursor: Cursor, missing: list[str]) -> str:
    start = cursor.offset
    letter = cursor.keyword()
    if len(letter) != 1 or not missing:
        cursor.form_error(f"Unexpected keyword {letter}", start)
    if letter not in missing:
        cursor.form_error(f"Unexpected dimension {letter}, expecting {', '.join(missing)}", start)
    missing.remove(letter)
    return letter


def _read(cursor: Cursor) -> ConvDimensionNumbers:
    cursor.expect("<")
    if cursor.accept("raw"):
        return read_fields(cursor, ConvDimensionNumbers)
    numbers = read_conv(cursor)
    cursor.expect(">")
    return numbers


CONV_TEXT = ValueText(_read, lambda value: f"<{conv_text(value) or 'raw ' + fields_text(value)}>")
"""`<[b, 0, f]x[0, i, o]->[b, 0, f]>`, or `<raw ...>` with all fields."""
