"""`hlo-layout`: draws XLA's memory layouts, counts their bytes, converts indices to offsets.

    hlo-layout draw 'f32[3,5]{1,0:T(2,2)}' --svg layout.svg
    hlo-layout bytes 'bf16[3,5]' --target tpu
    hlo-layout index 'f32[3,5]{1,0:T(2,2)}' 2,3
    hlo-layout steps 'f32[3,5]{1,0:T(2,2)}'

Not here: the layouts (`indexing/layout/`).
"""

from __future__ import annotations

import argparse
import sys

from shardy_py.base.errors import Position, ShardyError, located
from shardy_py.base.terminal import has_colors
from shardy_py.cli.arguments import EXIT_CODES, ArgumentParser, command_parser
from shardy_py.cli.shell import SUCCESS, Files, run_command, usage_error
from shardy_py.indexing import layout

_GIVEN = "<shape>"
"""The name of the shape on the command line in diagnostics."""


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_command("hlo-layout", _parse, _run, arguments)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_parser("hlo-layout", "Shows XLA's memory layouts.", EXIT_CODES)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shape = ArgumentParser(add_help=False)
    shape.add_argument("shape", help="XLA syntax: 'f32[3,5]{1,0:T(2,2)}'")
    shape.add_argument(
        "--target", choices=layout.TARGETS, help="use the default layout of this target instead"
    )
    draw = commands.add_parser("draw", parents=[shape], help="draw the position of each element in memory")
    draw.add_argument("--svg", metavar="FILE", help="write SVG instead of text; '-': standard output")
    draw.add_argument("--rows", type=_count, default=16, help="maximum rows of a panel (default: 16)")
    draw.add_argument("--columns", type=_count, default=16, help="maximum columns of a panel (default: 16)")
    draw.add_argument("--panels", type=_count, default=8, help="maximum panels, from rank 3 on (default: 8)")
    draw.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    sizes = "print the size with and without padding, also of tuples"
    commands.add_parser("bytes", parents=[shape], help=sizes)
    index = commands.add_parser("index", parents=[shape], help="convert coordinates to an offset or back")
    index.add_argument("element", nargs="?", help="coordinates: 2,3; '' for a scalar")
    index.add_argument("--offset", type=int, help="print the coordinates at this offset instead")
    commands.add_parser("steps", parents=[shape], help="print the layout as pad, reshape and transpose")
    options = parser.parse_args(arguments)
    if options.command == "index" and (options.element is None) == (options.offset is None):
        raise usage_error("index: expected either the coordinates of an element or --offset")
    return options


def _run(options: argparse.Namespace, files: Files) -> int:
    files.texts[_GIVEN] = options.shape
    with located(Position(_GIVEN, 1, 1)):
        text = _COMMANDS[options.command](options, files)
    return files.show(text) if text else SUCCESS


def _array(options: argparse.Namespace) -> layout.ArrayShape:
    """The array of the command line, with the default layout of `--target` if that is given."""
    array = layout.parse_array(options.shape, _GIVEN)
    if options.target:
        return layout.default_layout(array, options.target)
    return array if array.layout else layout.default_layout(array, "linear")


def _draw(options: argparse.Namespace, files: Files) -> str:
    from shardy_py.indexing.layout.draw import draw, draw_svg
    from shardy_py.indexing.layout.picture import PictureLimits, picture

    shown = picture(_array(options), PictureLimits(options.rows, options.columns, options.panels))
    if options.svg:
        files.write(options.svg, draw_svg(shown))
        return ""
    color = has_colors(sys.stdout, options.color)
    files.show(draw(shown, color=color), styled=color)
    return ""


def _bytes(options: argparse.Namespace, _: Files) -> str:
    shape = layout.parse_shape(options.shape, _GIVEN)
    if isinstance(shape, layout.ArrayShape):
        shape = _array(options)
    elif options.target:
        raise usage_error("--target requires a single array, not a tuple")
    padded, unpadded = layout.padded_bytes(shape), layout.unpadded_bytes(shape)
    share = f"{layout.padding_share(shape):.1%}"
    return f"{shape}\nunpadded {unpadded}\npadded   {padded}\npadding  {padded - unpadded} ({share})"


def _index(options: argparse.Namespace, _: Files) -> str:
    place = _array(options).placement
    if options.offset is not None:
        element = place.element(options.offset)
        return "padding" if element is None else ",".join(map(str, element))
    words = [word.strip() for word in options.element.split(",")] if options.element.strip() else []
    if not all(word.removeprefix("-").isdecimal() and len(word) <= 20 for word in words):
        raise usage_error(f"index: expected coordinates like 2,3, got '{options.element[:40]}'")
    return str(place.offset(tuple(map(int, words))))


def _steps(options: argparse.Namespace, _: Files) -> str:
    array = _array(options)
    steps = layout.relayout_steps(array.dimensions, array.layout) if array.layout else ()
    return "\n".join(map(str, steps)) or "nothing moves"


_COMMANDS = {"draw": _draw, "bytes": _bytes, "index": _index, "steps": _steps}


def _count(text: str) -> int:
    if not (text.isdecimal() and int(text[:9]) > 0 and len(text) < 6):
        raise ShardyError.unexpected("", expected="a number from 1 to 99999", got=f"'{text[:40]}'")
    return int(text)
