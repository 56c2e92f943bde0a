"""`shardy-view`: describes and draws one sharding, or lists the local shapes of all values of a program.

    shardy-view '<@mesh, [{"x"}, {"y"}]>' --mesh '<["x"=2, "y"=4]>' --shape 8x16
    shardy-view '[{"x"}, {}]' --mesh '["x"=2]' --shape 8x16 --device 1 --svg picture.svg
    shardy-view --program propagated.mlir --device 3

Not here: descriptions and drawings (`report/`).
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from shardy_py.cli.arguments import command_parser, reader
from shardy_py.cli.case_text import read_case, read_shape
from shardy_py.cli.shell import STANDARD, SUCCESS, Files, run_command, usage_error
from shardy_py.errors import ShardyError
from shardy_py.sharding.spelling import string_literal
from shardy_py.terminal import json_text

if TYPE_CHECKING:
    from shardy_py.report.view_words import Shape
    from shardy_py.sharding import Mesh, TensorSharding


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_command("shardy-view", _parse, _run, arguments)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_parser("shardy-view", "Describes and draws shardings: what each device holds.")
    add = parser.add_argument
    add("sharding", nargs="?", help='sdy syntax: <@mesh, [{"x"}, {?}]>, or only its dimensions')
    add("--mesh", help='mesh of the sharding: <["x"=2, "y"=4]>')
    add("--shape", type=reader(read_shape), help="shape of the tensor: 8x16; for a scalar: scalar")
    add("--device", type=int, metavar="ID", help="also show what this device holds")
    add("--svg", metavar="FILE", help="also write an SVG picture; '-': only that, to standard output")
    add("--program", metavar="FILE", help="show all values of an MLIR file; '-': standard input")
    add("--value", metavar="NAME", help="show one value of the program: %%3, %%arg0, result 0, ...")
    add("--json", action="store_true", help="print the values of the program as JSON")
    options = parser.parse_args(arguments)
    if options.program is not None:
        if any(given is not None for given in (options.sharding, options.mesh, options.shape)):
            raise usage_error("--program cannot be combined with a sharding, --mesh or --shape")
        if options.svg is not None and options.value is None and not options.json:
            raise usage_error("--svg draws a single sharding; add --value")
        return options
    if options.value is not None or options.json:
        raise usage_error("--value and --json require --program")
    missing = [name for name in ("sharding", "shape") if getattr(options, name) is None]
    if missing:
        expected = "expected a sharding and its --shape, or a --program"
        raise usage_error(f"{' and '.join(missing)} missing: {expected}")
    return options


def _run(options: argparse.Namespace, files: Files) -> int:
    if options.program is not None:
        return _show_program(options, files)
    return _show((*read_case(options.sharding, options.mesh, files), options.shape), options, files)


def _show(
    case: tuple[TensorSharding, Mesh, Shape], options: argparse.Namespace, files: Files, heading: str = ""
) -> int:
    from shardy_py.report import view

    parts = [heading + view.describe(*case), view.draw(*case)]
    if options.device is not None:
        parts.append(view.describe_device(*case, options.device))
    if options.svg is not None:
        files.write(options.svg, view.to_svg(*case))
        if options.svg == STANDARD:
            return SUCCESS
    return files.show("\n\n".join(parts))


def _show_program(options: argparse.Namespace, files: Files) -> int:
    from shardy_py.dialects import parse_module
    from shardy_py.dialects.verification import verify_module
    from shardy_py.graph.value_table import ValueTable
    from shardy_py.report import local_shapes_data, local_shapes_text, local_values
    from shardy_py.sharding import TensorSharding

    source = files.read(options.program)
    module = parse_module(source.text, source.file)
    verify_module(module)
    table = ValueTable(module)
    values = local_values(module, table)
    if options.value is not None:
        entry = table.find(options.value)
        values = tuple(value for value in values if value.entry is entry)
        if not values:
            what, expected = f"'{options.value}'", "a ranked tensor of the program"
            raise ShardyError.unexpected(what, expected=expected, got=f"type {entry.type}")
    if options.json:
        return files.show(json_text(local_shapes_data(values), 2))
    if options.value is None:
        return files.show(local_shapes_text(values, options.device))
    value = values[0]
    sharding = value.sharding or TensorSharding.fully_open(value.mesh, value.type.rank)
    axes = ", ".join(string_literal(axis) for axis in value.manual_axes)
    heading = f"{value.name} is manual along {axes}; the following describes its local tensor\n"
    return _show((sharding, value.mesh, value.type.shape), options, files, heading if axes else "")
