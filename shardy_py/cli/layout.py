"""`python -m shardy_py.layout`: layouts drawn, counted and indexed.

    python -m shardy_py.layout draw 'f32[3,5]{1,0:T(2,2)}' --svg layout.svg
    python -m shardy_py.layout bytes 'bf16[3,5]' --target tpu
    python -m shardy_py.layout index 'f32[3,5]{1,0:T(2,2)}' 2,3
    python -m shardy_py.layout steps 'f32[3,5]{1,0:T(2,2)}'

This file reads the command line and writes text; what it shows is of `layout/`.
"""

from __future__ import annotations

import argparse
import os
import sys

from shardy_py.cli.arguments import ArgumentParser
from shardy_py.cli.shell import STANDARD, SUCCESS, Files, UsageError, run_command
from shardy_py.errors import Position, ShardyError
from shardy_py.layout import (
    TARGETS,
    ArrayShape,
    default_layout,
    padded_bytes,
    padding_share,
    parse_array,
    parse_shape,
    relayout_steps,
    unpadded_bytes,
)

_NAME = "python -m shardy_py.layout"
_GIVEN = "<shape>"
"""The name of the shape on the command line in diagnostics."""


def _parser() -> ArgumentParser:
    parser = ArgumentParser(_NAME, description="Memory layouts of XLA.", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shape = ArgumentParser(add_help=False, allow_abbrev=False)
    shape.add_argument("shape", help="XLA's text: 'f32[3,5]{1,0:T(2,2)}'")
    shape.add_argument(
        "--target", choices=TARGETS, help="the layout that the array gets there, whatever the text says"
    )
    draw = commands.add_parser("draw", parents=[shape], help="where each element lies, as a picture")
    draw.add_argument("--svg", metavar="FILE", help="write the picture as SVG instead; '-': standard output")
    draw.add_argument("--rows", type=_count, default=16, help="rows of a panel at most (16)")
    draw.add_argument("--columns", type=_count, default=16, help="columns of a panel at most (16)")
    draw.add_argument("--panels", type=_count, default=8, help="panels of arrays of rank 3 and more (8)")
    draw.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    commands.add_parser("bytes", parents=[shape], help="bytes with padding and without; tuples too")
    index = commands.add_parser("index", parents=[shape], help="the offset of an element, or the reverse")
    index.add_argument("element", nargs="?", help="coordinates: 2,3; '' for a scalar")
    index.add_argument("--offset", type=int, help="the element that lies at this offset")
    commands.add_parser("steps", parents=[shape], help="the layout as pad, reshape and transpose")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """The command: runs the command line, returns the exit code."""
    return run_command(_NAME, lambda files: _run(_parser().parse_args(arguments), files))


def _run(options: argparse.Namespace, files: Files) -> int:
    files.texts[_GIVEN] = options.shape
    try:
        text = _COMMANDS[options.command](options, files)
    except ShardyError as error:
        start = Position(_GIVEN, 1, 1)
        raise ShardyError(*(diagnostic.at(start) for diagnostic in error.diagnostics)) from None
    if text:
        files.write(STANDARD, text + "\n")
    return SUCCESS


def _array(options: argparse.Namespace) -> ArrayShape:
    """The array of the command line, with the layout of `--target` if that is given."""
    array = parse_array(options.shape, _GIVEN)
    if options.target:
        return default_layout(array, options.target)
    return array if array.layout else default_layout(array, "linear")


def _draw(options: argparse.Namespace, files: Files) -> str:
    from shardy_py.layout.draw import draw, to_ascii
    from shardy_py.layout.draw_svg import draw_svg
    from shardy_py.layout.picture import Limits, picture

    shown = picture(_array(options), Limits(options.rows, options.columns, options.panels))
    if options.svg:
        files.write(options.svg, draw_svg(shown))
        return ""
    automatic = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    text = draw(shown, color=automatic if options.color == "auto" else options.color == "always")
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return to_ascii(text)
    return text


def _bytes(options: argparse.Namespace, _: Files) -> str:
    shape = parse_shape(options.shape, _GIVEN)
    if isinstance(shape, ArrayShape):
        shape = _array(options)
    elif options.target:
        raise UsageError("--target is for one array")
    padded, unpadded = padded_bytes(shape), unpadded_bytes(shape)
    share = f"{padding_share(shape):.1%}"
    return f"{shape}\nunpadded {unpadded}\npadded   {padded}\npadding  {padded - unpadded} ({share})"


def _index(options: argparse.Namespace, _: Files) -> str:
    place = _array(options).placement
    if (options.element is None) == (options.offset is None):
        raise UsageError("index: expected either the coordinates of an element or --offset")
    if options.offset is not None:
        element = place.element(options.offset)
        return "padding" if element is None else ",".join(map(str, element))
    words = [word.strip() for word in options.element.split(",")] if options.element.strip() else []
    if not all(word.removeprefix("-").isdecimal() and len(word) <= 20 for word in words):
        raise UsageError(f"index: expected coordinates like 2,3, got '{options.element[:40]}'")
    return str(place.offset(tuple(map(int, words))))


def _steps(options: argparse.Namespace, _: Files) -> str:
    array = _array(options)
    steps = relayout_steps(array.dimensions, array.layout) if array.layout else ()
    return "\n".join(map(str, steps)) or "nothing moves"


_COMMANDS = {"draw": _draw, "bytes": _bytes, "index": _index, "steps": _steps}


def _count(text: str) -> int:
    if not (text.isdecimal() and int(text[:9]) > 0 and len(text) < 6):
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 99999, got '{text[:40]}'")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
