"""Places of keys and values in TOML: the text at the place of a value reads as that value."""

from __future__ import annotations

import tomllib

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.base.toml import toml_places, toml_values

DOCUMENTS = (
    'a.b = 1 # c\n[tool."x.y"] # [no]\n'
    'list = ["#", # first ]\n  \'b\' , """x\n"y\\""""",]\nt = {p = "}", "q.r"= [2, [3]]}\n',
    "[[a]]\nx = 1\n[[a]]\nx = 2\n[a.b]\ny = 1979-05-27 07:32:00\n",
    "e = ''\nf = '''''it's'''''\r\n\tg\t=\ttrue\r\n",
    'a = { b = { c = [ { d = 1.5e3 } ] } }\n"\\u00e9" = inf\n',
)


@pytest.mark.parametrize("text", DOCUMENTS)
def test_places_are_those_of_the_values(text: str) -> None:
    values = tomllib.loads(text)
    places = toml_places(text)
    checked: list[object] = []
    for path, place in places.items():
        found: object = values
        for key in path:
            found = found[key]  # type: ignore[index]
        if not (isinstance(found, dict) and text[place.start] == "["):  # a table by its header
            assert tomllib.loads(f"x = {text[place.start : place.end]}") == {"x": found}, path
            checked += [] if isinstance(found, dict | list) else [found]
    assert len(checked) == len(_leaves(values))


def _leaves(value: object) -> list[object]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return [value] if parts is None else [leaf for part in parts for leaf in _leaves(part)]


@pytest.mark.parametrize(
    "text", ["[", "x =", "= 1", "[a]]", "x = [1", "x = {a = ", '"', "a.", "\x00", "[[a]\nb"]
)
def test_what_is_not_toml_is_an_error_at_its_place(text: str) -> None:
    toml_places(text)  # ends
    with pytest.raises(ShardyError, match=r"^f\.toml:\d+:\d+: error: TOML: got "):
        toml_values(text, "f.toml")
