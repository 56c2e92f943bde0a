"""Parses options of passes, `keep-sharding-rules=true filter='a b'`, into values by field name.

Which options are valid: `passes/options.py`. Messages are those of MLIR's options parser.

>>> parse_options("size=3", (Option("size", 1, "how many"),))
{'size': 3}
"""

from __future__ import annotations

import re
from collections.abc import Callable

from shardy_py.errors import ShardyError
from shardy_py.passes.options import Option, OptionValue

_CLOSING = {"{": "}", "[": "]", "(": ")"}
_BOOLEANS = {"true": True, "1": True, "": True, "false": False, "0": False}


def parse_options(text: str, options: tuple[Option, ...]) -> dict[str, OptionValue]:
    """The values given in `text`, by field name.

    Raises:
        ShardyError: an option is unknown, or its value invalid.
    """
    rows = {option.name: option for option in options}
    values: dict[str, OptionValue] = {}
    for word in split_words(_unwrapped(text)):
        name, _, value = word.partition("=")
        option = rows.get(name)
        if option is None:
            known = ", ".join(rows) or "none"
            raise ShardyError(f"<Pass-Options-Parser>: no such option {name}\nnote: its options: {known}")
        values[option.field_name] = parse_value(option, _unwrapped(value))
    return values


def parse_value(option: Option, text: str) -> OptionValue:
    """The value of one option, of the type of its default."""
    return _READERS[type(option.default)](option, text)


def split_words(text: str, separator: str = " ") -> list[str]:
    """The words of `text` between separators outside of quotes and brackets."""
    words, word, closing = [""], 0, list[str]()
    for character in text:
        if closing:
            if character == closing[-1]:
                closing.pop()
            elif character in _CLOSING and closing[-1] not in "'\"":
                closing.append(_CLOSING[character])
        elif character in "'\"":
            closing.append(character)
        elif character in _CLOSING:
            closing.append(_CLOSING[character])
        elif character == separator:
            words.append("")
            word += 1
            continue
        words[word] += character
    return [word for word in words if word]


def _unwrapped(text: str) -> str:
    wrapped = re.fullmatch(r"""\s*(?:\{(.*)\}|"(.*)"|'(.*)')\s*""", text, re.DOTALL)
    return next(part for part in wrapped.groups() if part is not None) if wrapped else text.strip()


def _read_boolean(option: Option, text: str) -> OptionValue:
    if text.lower() not in _BOOLEANS:
        raise _invalid(option, f"'{text}' is invalid value for boolean argument! Try 0 or 1")
    return _BOOLEANS[text.lower()]


def _read_integer(option: Option, text: str) -> OptionValue:
    if not re.fullmatch(r"-?[0-9]+", text):
        raise _invalid(option, f"'{text}' value invalid for integer argument!")
    return int(text)


def _read_text(option: Option, text: str) -> OptionValue:
    if option.choices and text not in option.choices:
        raise _invalid(
            option, f"Cannot find option named '{text}'!\nnote: its values: {', '.join(option.choices)}"
        )
    return text


def _read_list(option: Option, text: str) -> OptionValue:
    return tuple(split_words(text, ","))


def _invalid(option: Option, fact: str) -> ShardyError:
    return ShardyError(f"for the --{option.name} option: {fact}")


_READERS: dict[type, Callable[[Option, str], OptionValue]] = {
    bool: _read_boolean,
    int: _read_integer,
    str: _read_text,
    tuple: _read_list,
}
