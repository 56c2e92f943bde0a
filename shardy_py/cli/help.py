"""The text of `sdy-opt --help`, from the tables of flags, passes and pipelines; loads no pass."""

from __future__ import annotations

from collections.abc import Iterator

from shardy_py.cli.flags import FLAGS, Flag
from shardy_py.passes import PASSES
from shardy_py.passes.options import Option
from shardy_py.passes.pipelines import PIPELINES

_OVERVIEW = """\
OVERVIEW: sdy-opt parses StableHLO with the sdy dialect, runs passes on it, and prints it.

USAGE: sdy-opt [options] <input file>      (- or no file: standard input)

Passes run in the order written. Options of a pass: --sdy-some-pass='option=value other=value'.
Flags take one or two dashes.
"""


def help_text() -> str:
    """The whole text."""
    return "\n".join((_OVERVIEW, *_sections()))


def _sections() -> Iterator[str]:
    yield "OPTIONS:"
    width = max(len(_flag_usage(flag)) for flag in FLAGS) + 2
    yield from (f"  {_flag_usage(flag):<{width}}{flag.summary}" for flag in FLAGS)
    for title, rows in (("PASSES:", PASSES), ("PIPELINES:", PIPELINES)):
        yield f"\n{title}"
        for row in rows:
            yield f"  --{row.name}\n      {row.summary}"
            yield from (f"        {_option_usage(option)}" for option in row.options)


def _flag_usage(flag: Flag) -> str:
    dashes = "-" if len(flag.name) == 1 else "--"
    value = f"=<{flag.placeholder}>" if flag.placeholder else ""
    return f"{dashes}{flag.name}{value if flag.value is None else value and f'[{value}]'}"


def _option_usage(option: Option) -> str:
    kind = (
        "|".join(option.choices)
        or {bool: "bool", int: "int", str: "text", tuple: "list"}[type(option.default)]
    )
    default = option.text(option.default)
    return f"{option.name}=<{kind}>  {option.summary}" + (f" (default: {default})" if default else "")
