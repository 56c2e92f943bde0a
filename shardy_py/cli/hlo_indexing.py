"""`hlo-indexing`: prints which elements each op, or a whole computation, of HLO or MLIR reads.

    hlo-indexing module.hlo --op transpose.3 --direction input-to-output
    hlo-indexing module.hlo --fusion --json

Not here: the maps (`hlo/analysis/`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from shardy_py.base.errors import (
    Position,
    ShardyError,
    WholeFile,
    closest,
    collected_warnings,
    located,
    suggestion,
)
from shardy_py.base.inputs.formats import holds_hlo
from shardy_py.base.json_values import JsonObject
from shardy_py.base.terminal import json_text, lines_text
from shardy_py.cli.arguments import EXIT_CODES, add_input_format, command_parser
from shardy_py.cli.shell import STANDARD, SUCCESS, Files, argument, log, run_command

if TYPE_CHECKING:
    from shardy_py.hlo.analysis import Function, Grid

OUTPUT_TO_INPUT, INPUT_TO_OUTPUT = "output-to-input", "input-to-output"


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_command("hlo-indexing", _parse, _run, arguments)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_parser(
        "hlo-indexing", "Prints the indexing maps of HLO or MLIR text.", EXIT_CODES, "FILE"
    )
    add = parser.add_argument
    add("file", help="HLO or MLIR file; '-': standard input")
    add_input_format(parser)
    add("--op", metavar="NAME", help="only ops of this name or kind; with --fusion: this op or function")
    add("--direction", choices=(OUTPUT_TO_INPUT, INPUT_TO_OUTPUT), default=OUTPUT_TO_INPUT)
    add("--fusion", action="store_true", help="maps from the results of a function to its parameters")
    add("--json", action="store_true", help="print JSON")
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace, files: Files) -> int:
    source = files.read(options.file, options.input_format)
    with collected_warnings() as warnings:
        entries = list(_entries(source.content, source.file, options))
    if warnings:
        from shardy_py.mlir.text.source import render_all

        start = Position(source.file, 1, 1)
        log(render_all([warning.at(start) for warning in warnings], files.texts) + "\n")
    text = json_text(entries, 2) + "\n" if options.json else "".join(map(_as_text, entries))
    files.write(STANDARD, text)
    return SUCCESS


def _entries(content: str | bytes, file: str, options: argparse.Namespace) -> Iterator[JsonObject]:
    from shardy_py.hlo.analysis import function_maps, node_maps

    functions, main = _functions(content, file)
    wanted = (options.op or "").removeprefix("%").removeprefix("@")
    if options.fusion and (not wanted or wanted in functions):
        function = functions[wanted or main]
        grid = function_maps(function, options.direction)
        names = _value_names(function)
        sides = [names[value] for value in function.results], list(function.parameter_names)
        yield _entry(function.name, "", "fusion", grid, options.direction, *sides)
        return
    is_selected = False
    for function in functions.values():
        names = _value_names(function)
        for node, first in zip(function.nodes, function.first_results, strict=True):
            kind = node.record.name
            if wanted and wanted not in (node.name, kind, kind.partition(".")[2]):
                continue
            is_selected = True
            results = names[first : first + len(node.record.results)]
            given = [names[value] for value in node.operands]
            grid = node_maps(node, options.direction)
            yield _entry(function.name, node.name, kind, grid, options.direction, results, given)
    if wanted and not is_selected:
        kinds = "op or function" if options.fusion else "op"
        nodes = [node for function in functions.values() for node in function.nodes]
        names = [node.name for node in nodes]
        others = [part for node in nodes for part in (node.record.name.partition(".")[2], node.record.name)]
        remedy = "" if closest(options.op, names) else suggestion(options.op, (*others, *functions))
        with argument("--op"):
            raise ShardyError.unknown(kinds, options.op, names, remedy=remedy)


def _functions(content: str | bytes, file: str) -> tuple[dict[str, Function], str]:
    """All functions by name, including those nested in ops, and the name of the entry function."""
    if holds_hlo(content):
        from shardy_py.hlo.analysis import hlo_functions
        from shardy_py.xla.hlo_programs import hlo_module

        module = hlo_module(content, file)
        return hlo_functions(module), module.entry
    from shardy_py.hlo.analysis import mlir_functions
    from shardy_py.mlir.programs import parse_program

    with located(WholeFile(file) if isinstance(content, bytes) else Position(file, 1, 1)):
        functions = mlir_functions(parse_program(content, file, verified=True))
    main = "main" if "main" in functions else next(iter(functions))
    by_name: dict[str, Function] = {}
    for function in functions.values():
        waiting = [function]
        while waiting:
            inner = waiting.pop()
            by_name.setdefault(
                inner.name if inner.name not in by_name else f"{inner.name} {len(by_name)}", inner
            )
            bodies = (body.function for node in inner.nodes for body in node.bodies)
            waiting += [f for f in bodies if f.name not in functions]
    return by_name, main


def _value_names(function: Function) -> list[str]:
    names = list(function.parameter_names)
    for node in function.nodes:
        count = len(node.record.results)
        names += [node.name] if count == 1 else [f"{node.name}#{r}" for r in range(count)]
    return names


def _entry(
    function: str, name: str, kind: str, grid: Grid, direction: str, results: list[str], operands: list[str]
) -> JsonObject:
    """Results and operands with the maps between them; pairs without a map are omitted."""
    forward = direction == INPUT_TO_OUTPUT
    pairs: list[JsonObject] = []
    for i, row in enumerate(grid):
        for j, maps in enumerate(row):
            result, operand = (j, i) if forward else (i, j)
            if maps:
                pair: JsonObject = {"result": result, "operand": operand, "result_name": results[result]}
                pairs.append(pair | {"operand_name": operands[operand], "maps": [str(m) for m in maps]})
    return {"function": function, "op": name, "kind": kind, "direction": direction, "pairs": pairs}


def _as_text(entry: Mapping[str, Any]) -> str:
    lines = [f"{entry['function']}: {entry['op']}{' = ' if entry['op'] else ''}{entry['kind']}"]
    for pair in entry["pairs"]:
        result = f"result {pair['result']} ({pair['result_name']})"
        operand = f"operand {pair['operand']} ({pair['operand_name']})"
        ends = (operand, result) if entry["direction"] == INPUT_TO_OUTPUT else (result, operand)
        lines.append(f"  {' -> '.join(ends)}:")
        lines += (f"    {line}" for text in pair["maps"] for line in text.splitlines())
    return f"{lines_text(lines)}\n"
