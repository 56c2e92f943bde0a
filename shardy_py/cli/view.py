"""`shardy-view`: one sharding in words and pictures, or what devices hold of every value of a program.

    shardy-view '<@mesh, [{"x"}, {"y"}]>' --mesh '<["x"=2, "y"=4]>' --shape 8x16
    shardy-view '[{"x"}, {}]' --mesh '["x"=2]' --shape 8x16 --device 1 --svg picture.svg
    shardy-view --program propagated.mlir --device 3

This file reads the command line and writes text; what is shown is of `report/`.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from shardy_py.cli.arguments import ArgumentParser
from shardy_py.cli.case_text import read_case, read_shape
from shardy_py.cli.shell import SUCCESS, Files, UsageError, run_command
from shardy_py.errors import ShardyError

if TYPE_CHECKING:
    from shardy_py.sharding import Mesh, TensorSharding

_PLAIN_BOXES = {ord("│"): "|", ord("─"): "-", **dict.fromkeys(map(ord, "┌┬┐├┼┤└┴┘"), "+")}


def _parser() -> argparse.ArgumentParser:
    parser = ArgumentParser(
        "shardy-view",
        description="Shardings in words and pictures, what each device holds.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "sharding", nargs="?", help='as in sdy: <@mesh, [{"x"}, {?}]>, or its dimensions alone'
    )
    parser.add_argument("--mesh", help='the mesh it is on: <["x"=2, "y"=4]>')
    parser.add_argument("--shape", help="sizes of the tensor: 8x16; a scalar: scalar")
    parser.add_argument("--device", type=int, metavar="ID", help="also say what this device holds")
    parser.add_argument("--svg", metavar="FILE", help="write the picture to a file, too; '-': nothing but it")
    parser.add_argument(
        "--program", metavar="FILE", help="MLIR: every value of a program; '-': standard input"
    )
    parser.add_argument(
        "--value", metavar="NAME", help="one value of the program: %%3, %%arg0, result 0, ..."
    )
    parser.add_argument("--json", action="store_true", help="values of the program as JSON")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_command("shardy-view", lambda files: _run(_parser().parse_args(arguments), files))


def _run(options: argparse.Namespace, files: Files) -> int:
    if options.program is not None:
        if any(given is not None for given in (options.sharding, options.mesh, options.shape)):
            raise UsageError(
                "--program has shardings, meshes and shapes of its own: give nothing of these beside it"
            )
        return _show_program(options, files)
    if options.value is not None or options.json:
        raise UsageError("--value and --json are for values of a --program")
    missing = [name for name in ("sharding", "shape") if getattr(options, name) is None]
    if missing:
        raise UsageError(
            f"{' and '.join(missing)} missing: expected a sharding and its --shape, or a --program"
        )
    sharding, mesh = read_case(options.sharding, options.mesh, files)
    return _show(sharding, mesh, read_shape(options.shape), options, files)


def _show(
    sharding: TensorSharding,
    mesh: Mesh,
    shape: tuple[int | None, ...],
    options: argparse.Namespace,
    files: Files,
    heading: str = "",
) -> int:
    from shardy_py.report import view

    if options.svg is not None:
        files.write(options.svg, view.to_svg(sharding, mesh, shape))
        if options.svg == "-":
            return SUCCESS
    parts = [heading + view.describe(sharding, mesh, shape), view.draw(sharding, mesh, shape)]
    if options.device is not None:
        parts.append(view.describe_device(sharding, mesh, shape, options.device))
    return _write("\n\n".join(parts))


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
            raise ShardyError(
                f"'{options.value}' is of type {entry.type}; expected a ranked tensor of the program"
            )
    if options.json:
        return _write(json.dumps(local_shapes_data(values), indent=2))
    if options.value is None:
        if options.svg is not None:
            raise UsageError("--svg shows one sharding: name a --value")
        return _write(local_shapes_text(values, options.device))
    value = values[0]
    sharding = value.sharding or TensorSharding.fully_open(value.mesh, value.type.rank)
    axes = ", ".join(f'"{axis}"' for axis in value.manual_axes)
    heading = f"{value.name} is local along {axes}; what follows is of the tensor there\n" if axes else ""
    return _show(sharding, value.mesh, value.type.shape, options, files, heading)


def _write(text: str) -> int:
    """Prints text; lines of boxes as `|-+` where the terminal has no others."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plain = text.translate(_PLAIN_BOXES)
        text = plain.encode(encoding, "backslashreplace").decode(encoding)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
    return SUCCESS


if __name__ == "__main__":
    sys.exit(main())
