"""`shardy-view`: describes and draws one sharding, or lists the local shapes of all values of a program.

    shardy-view '<@mesh, [{"x"}, {"y"}]>' --mesh '<["x"=2, "y"=4]>' --shape 8x16
    shardy-view '[{"x"}, {}]' --mesh '["x"=2]' --shape 8x16 --device 1 --svg picture.svg
    shardy-view --program propagated.mlir --device 3

Abbreviations of MLIR's syntax are expanded first: positions in errors refer to the expanded text.

>>> read_shape("8x16"), read_shape("tensor<8x16xf32>"), read_shape("scalar")
((8, 16), (8, 16), ())
>>> print(read_mesh_text('["x"=2]', Files()))
<["x"=2]>

Not here: descriptions and drawings (`report/`), the syntax of sdy (`mlir/dialects/sdy/`).
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from shardy_py.base.errors import Diagnostic, ShardyError, suggestion
from shardy_py.base.terminal import json_text
from shardy_py.cli.arguments import EXIT_CODES, add_input_format, command_parser
from shardy_py.cli.as_compiled import add_flags
from shardy_py.cli.shell import STANDARD, SUCCESS, Files, argument, log, run_command, usage_error
from shardy_py.cli.understood import understood, write_remarks
from shardy_py.sharding.spelling import string_literal

if TYPE_CHECKING:
    from shardy_py.mlir.text.cursor import Cursor
    from shardy_py.report.view_words import Shape
    from shardy_py.sharding import Mesh, TensorSharding

Value = TypeVar("Value")

_MESH_HEAD = re.compile(r"\s*(?:sdy\.mesh\s+@[\w$.-]+\s*=\s*|#sdy\.mesh|mesh)?")
_SHARDING_HEAD = re.compile(r"\s*(?:#sdy\.sharding)?")
_ELEMENT = r"[a-zA-Z]+[0-9]\w*"
_SHAPE = re.compile(
    rf"(?:tensor<)?((?:[0-9]+x)*)([0-9]+|(?:scalar|index|{_ELEMENT}|complex<{_ELEMENT}>)>?)\Z", re.ASCII
)
_SIZES = re.compile(r"[A-Za-z_]\w*\s*=\s*[0-9]+(?:\s*,\s*[A-Za-z_]\w*\s*=\s*[0-9]+)*", re.ASCII)
_MOST = 2**63 - 1


def read_case(sharding_text: str, mesh_text: str | None, files: Files) -> tuple[TensorSharding, Mesh]:
    """A sharding and its mesh: `<@mesh, [{"x"}]>`, `<mesh<["x"=2]>, [{"x"}]>` or `[{"x"}]`; `["x"=2]`.

    Raises:
        ShardyError: invalid text, axes that do not fit the mesh, or no mesh; with the position.
    """
    from shardy_py.mlir.dialects.faults import Fault
    from shardy_py.mlir.dialects.sdy.syntax_sharding import read_sharding
    from shardy_py.mlir.dialects.sdy.verify_sharding import check_priorities_and_axes
    from shardy_py.sharding import Mesh

    text = sharding_text[_SHARDING_HEAD.match(sharding_text).end() :]  # pyright: ignore[reportOptionalMemberAccess]
    if text.startswith("["):
        text = f"<@mesh, {text}>"
    sharding = _read(text, "<sharding>", read_sharding, files)
    if isinstance(sharding.mesh, Mesh):
        if mesh_text is not None:
            raise usage_error("--mesh cannot be combined with a sharding that has an inlined mesh")
        mesh = sharding.mesh
    elif mesh_text is None:
        raise usage_error(f"the sharding refers to mesh @{sharding.mesh}: define it by --mesh")
    else:
        mesh = read_mesh_text(mesh_text, files)
    with argument("sharding", sharding_text):
        try:
            check_priorities_and_axes(sharding, mesh)
        except Fault as fault:
            used = {axis.name for _, axes in sharding.axis_lists for axis in axes}
            lacking = min(used - set(mesh.order), default=None)
            hint = suggestion(lacking, mesh.order) if lacking else ""
            fact = f"sharding {sharding} on mesh {mesh}: {fault}{hint and f'; {hint}'}"
            raise ShardyError(Diagnostic(fact, subject=lacking)) from None
    return sharding, mesh


def read_mesh_text(text: str, files: Files) -> Mesh:
    """A mesh: `<["x"=2]>`, `mesh<["x"=2]>`, `["x"=2]`, `x=2`, or a whole `sdy.mesh @mesh = <["x"=2]>`.

    Raises:
        ShardyError: it is none of these; with its position.
    """
    from shardy_py.mlir.dialects.sdy.syntax_sharding import read_mesh

    if _SIZES.fullmatch(text.strip()):  # x=2,y=4, as for sdy-suggest
        sizes = (part.strip().split("=") for part in text.split(","))
        text = f"[{', '.join(f'{string_literal(name.strip())}={size}' for name, size in sizes)}]"
    text = text[_MESH_HEAD.match(text).end() :]  # pyright: ignore[reportOptionalMemberAccess]
    return _read(f"<{text}>" if text.startswith("[") else text, "<mesh>", read_mesh, files)


def read_shape(text: str) -> tuple[int, ...]:
    """The sizes in `8x16`, `8x16xf32` or `tensor<8x16xf32>`; none in `scalar` or `f32`.

    Raises:
        ShardyError: it is none of these.
    """
    match = _SHAPE.match(text.strip())
    sizes = match[1].split("x")[:-1] if match else []
    if match and match[2].isdigit():
        sizes.append(match[2])
    if match is None or any(len(size) > 19 or int(size) > _MOST for size in sizes):
        raise ShardyError.unexpected("", expected="sizes like 8x16, or scalar", got=f"'{text}'")
    return tuple(map(int, sizes))


def _read(text: str, name: str, read: Callable[[Cursor], Value], files: Files) -> Value:
    from shardy_py.mlir.text.cursor import Cursor
    from shardy_py.mlir.text.deep_stack import deep_stack
    from shardy_py.mlir.text.source import Source

    files.texts[name] = text
    cursor = Cursor(Source(text, name))
    with deep_stack():
        value = read(cursor)
    if cursor.token:
        cursor.error("expected the end of the text")
    return value


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_command("shardy-view", _parse, _run, arguments)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_parser(
        "shardy-view", "Describes and draws shardings: what each device holds.", EXIT_CODES, "[SHARDING]"
    )
    add = parser.add_argument
    add("sharding", nargs="?", help='sdy syntax: <@mesh, [{"x"}, {?}]>, or only its dimensions')
    add("--mesh", help='mesh of the sharding: <["x"=2, "y"=4]>, or x=2,y=4')
    add("--shape", type=read_shape, help="shape of the tensor: 8x16; for a scalar: scalar")
    add("--device", type=int, metavar="ID", help="also show what this device holds")
    add("--svg", metavar="FILE", help="also write an SVG picture; '-': only that, to standard output")
    add("--program", metavar="FILE", help="show all values of an MLIR file; '-': standard input")
    add("--value", metavar="NAME", help="show one value of the program: %%3, %%arg0, result 0, ...")
    add_input_format(parser)
    add_flags(parser)
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
        with argument("--device"):
            parts.append(view.describe_device(*case, options.device))
    if options.svg is not None:
        files.write(options.svg, view.to_svg(*case))
        if options.svg == STANDARD:
            return SUCCESS
    return files.show("\n\n".join(parts))


def _show_program(options: argparse.Namespace, files: Files) -> int:
    from shardy_py.mlir.programs import parse_program
    from shardy_py.mlir.value_table import ValueTable
    from shardy_py.report import local_shapes_data, local_shapes_text, local_values
    from shardy_py.sharding import TensorSharding
    from shardy_py.xla.prepare.taken import how_taken, run_steps

    source = files.read(options.program, options.input_format)
    module = parse_program(source.content, source.file, verified=True)
    taken = how_taken(module, options.as_compiled)
    understood(module, source.file)
    run_steps(module, taken)
    table = ValueTable(module)
    values = local_values(module, table)
    if options.value is not None:
        with argument("--value"):
            entry, other = table.find(options.value), table.other_meaning(options.value)
            write_remarks((other.message,) if other is not None else (), source.file, log)
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
