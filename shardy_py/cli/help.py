"""The text of `sdy-opt --help`, from the tables of flags, passes and pipelines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from shardy_py.cli.arguments import EXIT_CODES
from shardy_py.cli.flags import GROUPS, Flag, dashed
from shardy_py.cli.shell import MOST_COLUMNS
from shardy_py.passes import known_passes
from shardy_py.passes.options import Option
from shardy_py.passes.pipelines import PIPELINES

_SUMMARY = 34
"""The column at which summaries of flags begin."""
_LONGEST_CHOICES = 60
"""Characters of the choices of an option that are shown as its value."""

_OVERVIEW = """\
OVERVIEW: sdy-opt parses StableHLO with the sdy dialect, runs passes on it, and prints it.

USAGE: sdy-opt [options] <input file>      (- or no file: standard input)

Passes run in the order written. Options of a pass: --sdy-some-pass='option=value other=value'.
Flags take one or two dashes.
"""


def help_text() -> str:
    """Returns the text; loads no pass."""
    return "\n".join((_OVERVIEW, *_help_lines()))


def _help_lines() -> Iterator[str]:
    for title, flags in GROUPS:
        yield f"{title}:"
        for flag in flags:
            yield from _wrapped(f"  {_flag_usage(flag):<{_SUMMARY - 4}}  ", flag.summary, _SUMMARY)
        yield ""
    for title, rows in (("PASSES", known_passes()), ("PIPELINES", PIPELINES)):
        yield f"{title}:"
        for row in rows:
            yield f"  --{row.name}"
            yield from _wrapped(" " * 6, row.summary, 6)
            for option in row.options:
                yield from _wrapped(" " * 8, _option_usage(option), 12)
        yield ""
    yield EXIT_CODES


def _wrapped(start: str, text: str, indent: int) -> Iterator[str]:
    """Lines of at most `MOST_COLUMNS`; the first begins with `start`, or follows it where that is longer."""
    if len(start) > max(indent, 8):
        yield start.rstrip()
        start = " " * indent
    yield from textwrap.wrap(
        text,
        MOST_COLUMNS,
        initial_indent=start,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _flag_usage(flag: Flag) -> str:
    value = f"=<{flag.placeholder}>" if flag.placeholder else ""
    return dashed(flag.name) + (value if flag.value is None else value and f"[{value}]")


def _option_usage(option: Option) -> str:
    types = {bool: "bool", int: "int", str: "text", tuple: "list"}
    choices = "|".join(option.choices)
    kind, listed = choices or types[type(option.default)], ""
    if len(choices) > _LONGEST_CHOICES:
        kind, listed = "name", f": {', '.join(option.choices)}"
    default = option.text(option.default)
    return f"{option.name}=<{kind}>  {option.summary}{listed}" + (f" (default: {default})" if default else "")
