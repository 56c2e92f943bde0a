"""`stablehlo-interpret`: runs programs, on one device or many, and prints results.

    stablehlo-interpret program.mlir --random 0
    stablehlo-interpret program.mlir --inputs x.npz --devices 8 --output y.npz --probe model.py:12

With `--interpret` it prints as `stablehlo-translate --interpret`, for StableHLO's and Shardy's test files.

Not here: inputs and results (`api/execution.py`), the interpreter (`run/interpret/`).
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Attribute, Operation

from shardy_py.base.errors import ShardyError, located
from shardy_py.base.progress import can_show, progress
from shardy_py.cli.arguments import add_input_format, add_plugins, command_parser
from shardy_py.cli.as_compiled import add_flags
from shardy_py.cli.chunks import SPLIT_MARKER, Chunk, split_chunks
from shardy_py.cli.shell import STANDARD, SUCCESS, Files, argument, log, run_command, usage_error
from shardy_py.cli.understood import understood

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from shardy_py.api import Program
    from shardy_py.api.execution import Observer, RunOptions
    from shardy_py.api.run_results import RunResults

_CODES = "Exit codes: 0; 1: invalid input, or an op that fails, such as check.expect_eq; 2: internal error."
_WHOLE = 256
"""Elements of a result that are printed at most; of more, a summary."""


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_command("stablehlo-interpret", _parse, _run, arguments, loads_plugins=True)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = command_parser("stablehlo-interpret", "Runs StableHLO programs with numpy.", _CODES, "[PROGRAM]")
    parser.headings = dict.fromkeys(("--devices", "--seed"), "inputs and limits")
    add = parser.add_argument
    add("program", nargs="?", default=STANDARD, help="MLIR file; '-' or none: standard input")
    add("--function", metavar="NAME", help="function to run (default: @main, or the only one)")
    add(
        "--inputs",
        metavar="FILE",
        help="arrays by argument name, label or position: a .npz file, or the only one: .npy",
    )
    add("--random", type=_natural, metavar="SEED", help="random inputs for arguments that --inputs lacks")
    add("--args", metavar="ATTRS", help="inputs as MLIR attributes: [dense<1> : tensor<2xi32>, ...]")
    devices = "number of devices, or REPLICASxPARTITIONS (default: 1)"
    add("--devices", type=_grid, default=1, metavar="N", help=devices)
    add("--output", "-o", metavar="FILE", help="write results and probed values to this .npz file")
    probe = "also return this value: %%5 or @f:%%5 as printed by sdy-opt, a label, or file.py:12; repeatable"
    add("--probe", action="append", default=[], metavar="VALUE", help=probe)
    add("--trace", action="store_true", help="print min, max and NaN count of each value as it is computed")
    add("--seed", type=_natural, default=0, help="seed of stablehlo.rng (default: 0)")
    add("--max-elements", type=_natural, metavar="N", help="largest number of elements of a tensor")
    add("--max-steps", type=_natural, metavar="N", help="largest number of executed ops")
    add("--probe-output-dir", default="", metavar="DIR", help="folder for files of interpreter.probe")
    split = "run each program between lines that start with // -----"
    add("--split-input-file", "-split-input-file", action="store_true", help=split)
    translate = "print results as stablehlo-translate --interpret does"
    add("--interpret", "-interpret", action="store_true", help=translate)
    dense = "print results as dense attributes"
    add("--interpreter-print-dense", action="store_true", help=dense)
    add_plugins(parser)
    add_input_format(parser)
    add_flags(parser)
    add("--no-progress", action="store_true", help="show no progress bar on a terminal")
    options = parser.parse_args(arguments)
    if options.args is not None and (options.inputs is not None or options.random is not None):
        raise usage_error("--args takes the place of --inputs and --random")
    if options.split_input_file and (options.output is not None or options.inputs is not None):
        raise usage_error("--inputs and --output take a single program")
    return options


def _natural(text: str) -> int:
    if re.fullmatch(r"\d{1,18}", text, re.ASCII) is None:
        expected = "a number from 0 with at most 18 digits"
        raise argparse.ArgumentTypeError(f"expected {expected}, got '{text[:60]}'")
    return int(text)


def _grid(text: str) -> int | tuple[int, int]:
    found = re.fullmatch(r"([1-9]\d{0,5})(?:x([1-9]\d{0,5}))?", text)
    if found is None:
        raise ShardyError.unexpected("", expected="a number of devices such as 8 or 2x4", got=f"'{text}'")
    return int(found[1]) if found[2] is None else (int(found[1]), int(found[2]))


def _run(options: argparse.Namespace, files: Files) -> int:
    source = files.read(options.program, options.input_format)
    with ExitStack() as opened:
        given = _given(options, opened)
        chunks = list(split_chunks(source.content, SPLIT_MARKER if options.split_input_file else None))
        for chunk in chunks:
            _run_chunk(chunk, source.file, given, options, files)
    return SUCCESS


def _run_chunk(chunk: Chunk, file: str, given: Any, options: argparse.Namespace, files: Files) -> None:
    from shardy_py.api import Program
    from shardy_py.api.execution import arrays_of, random_inputs, run_arrays
    from shardy_py.mlir.programs import parse_program
    from shardy_py.xla.prepare.taken import how_taken, run_steps

    with located(chunk.place(file)):
        module = parse_program(chunk.content, file, first_line=chunk.first_line, verified=True)
        taken = how_taken(module, options.as_compiled)
        understood(module, file)
        run_steps(module, taken)
    program = Program(module, taken=taken)
    if not program.functions and options.interpret:
        return
    inputs, settings = given, _options(options, files)
    with argument("--function") if options.function is not None else located(chunk.place(file)):
        arguments = program.values.arguments(options.function)
    with argument("--probe", *options.probe):
        for key in options.probe:
            program.values[key]
    if options.random is not None:  # never with --args, so the inputs have names
        with argument("--random"):
            missing = random_inputs(program.values, options.function, options.random, settings.max_elements)
        named = {name for value in arguments for name in _names(value, given)}
        inputs = {**{name: array for name, array in missing.items() if name not in named}, **given}
    with argument():  # faults of inputs are faults of the command line
        count = settings.grid(program.values).size
        arrays = arrays_of(arguments, inputs, count, settings.max_elements)
    with _observer(program, options) as observer:
        results = run_arrays(program.values, arrays, options.function, settings, observer)
    if options.output is not None:
        files.write_bytes(options.output, _npz(results))
    files.write(STANDARD, _text(program, results, options))


def _names(value: Any, given: Any) -> list[str]:
    """The name of an argument that has an input already."""
    written = value.file_name
    keys = (value.name, written, value.label, str(value.entry.index))
    keys += (value.name.removeprefix("%"), written.removeprefix("%"))
    return [value.name] if any(key and key in given for key in keys) else []


def _options(options: argparse.Namespace, files: Files) -> RunOptions:
    from shardy_py.api.execution import run_options

    limits = {"max_elements": options.max_elements, "max_steps": options.max_steps}
    return run_options(
        {
            "devices": options.devices,
            "probe": options.probe,
            "seed": options.seed,
            "write": files.show,
            "probe_folder": options.probe_output_dir,
            **{name: limit for name, limit in limits.items() if limit is not None},
        }
    )


def _given(options: argparse.Namespace, opened: ExitStack) -> dict[str, object] | list[object]:
    """The inputs of the command line; those of a file are read when they fit."""
    if options.args is not None:
        with argument("--args"):
            return _arguments(options.args)
    if options.inputs is None:
        return {}
    from shardy_py.run.interpret.array_files import array_file

    with argument("--inputs"):
        return dict(opened.enter_context(array_file(options.inputs)))


_USAGE = "i.e. --args=[dense<1> : tensor<2xi32>, ...]"


def _arguments(text: str) -> list[object]:
    from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr

    from shardy_py.mlir.text import syntax_table
    from shardy_py.mlir.text.cursor import Cursor
    from shardy_py.mlir.text.source import Source
    from shardy_py.run.interpret.constants import array_of

    try:
        attribute = Cursor(Source(text, "--args"), syntax_table()).attribute()
    except ShardyError:
        attribute = None
    if not isinstance(attribute, ArrayAttr):
        raise ShardyError(f"expected array attribute string for args, {_USAGE}")
    given = cast("ArrayAttr[Attribute]", attribute).data
    elements: list[Any] = [each for each in given if isinstance(each, DenseIntOrFPElementsAttr)]
    if len(elements) < len(given):
        raise ShardyError(f"expected dense elements attribute for args elements, {_USAGE}")
    return [array_of(element) for element in elements]


@contextmanager
def _observer(program: Program, options: argparse.Namespace) -> Generator[Observer | None]:
    """Traces values, or moves the progress bar with the ops of the function that runs."""
    from shardy_py.api.execution import Observer, arguments_owner
    from shardy_py.mlir.dialects.traits import is_terminator
    from shardy_py.mlir.symbols import function_name, functions_of

    if options.trace:
        yield Observer(lambda op: bool(op.results), _tracer(program))
        return
    if options.no_progress or not can_show():
        yield None
        return
    name = arguments_owner(program.values, options.function)
    functions = [f for f in functions_of(program.module) if function_name(f) == name]
    ops = {op for f in functions for op in f.body.ops if not is_terminator(op)}
    with progress(len(ops)) as begin:
        yield Observer(ops.__contains__, lambda op, devices, results: begin(op.name))


def _tracer(program: Program) -> Callable[..., None]:
    """Prints a line a value: its name, op, line, type, minimum, maximum, number of NaN."""
    from shardy_py.mlir.op_errors import place_of
    from shardy_py.run.interpret.values import is_array

    table = program.values.table

    def trace(op: Operation, devices: object, results: Sequence[object]) -> None:
        where = place_of(op)
        for result, value in zip(op.results, results, strict=False):
            if is_array(value):
                entry = table.by_value.get(id(result))
                name = "" if entry is None else str(entry)
                log(f"{name} {op.name} {where or ''}: {_figures(value)}\n")

    return trace


def _figures(array: Any) -> str:
    """The shape, least and greatest element, and number of NaN of an array."""
    import numpy as np

    shape = "x".join(map(str, (*array.shape[1:], array.dtype)))
    lanes = f"{len(array)} x " if len(array) > 1 else ""
    if not array.size:
        return f"{lanes}{shape}, no elements"
    if array.dtype.kind == "c":
        array = np.abs(array)
    wide = array if array.dtype.kind in "iub" else array.astype(np.float64)
    nans = 0 if wide.dtype.kind != "f" else int(np.isnan(wide).sum())
    finite = wide[~np.isnan(wide)] if nans else wide
    ends = f"min {finite.min():g}, max {finite.max():g}" if finite.size else "all NaN"
    return f"{lanes}{shape}, {ends}, {nans} NaN"


def _npz(results: RunResults) -> bytes:
    """The results and probed values as a file of numpy."""
    import io

    import numpy as np

    arrays: dict[str, Any] = {key: array for key, array in results.items() if hasattr(array, "dtype")}
    for key, values in results.probes.items():
        arrays |= {key if len(values) == 1 else f"{key}#{n}": value for n, value in enumerate(values, 1)}
    data = io.BytesIO()
    np.savez(data, **arrays)
    return data.getvalue()


def _text(program: Program, results: RunResults, options: argparse.Namespace) -> str:
    """The results and probed values as text."""
    pairs = list(zip(results.outputs, results.arrays, strict=True))
    if options.interpret or options.interpreter_print_dense:
        show = _dense_text if options.interpreter_print_dense else _whole_text
        return "".join(f"{show(value.entry.type, array)}\n" for value, array in pairs)
    devices = options.devices if isinstance(options.devices, int) else options.devices[0] * options.devices[1]
    lines: list[str] = []
    for value, array in pairs:
        name = f"{value.name} ({value.label})" if value.label else value.name
        lines += _lines(name, value.entry.type, array, devices)
    for key, found in results.probes.items():
        if not found:
            lines.append(f"{key} was not computed")
        for number, array in enumerate(found, 1):
            name = f"{key} ({number} of {len(found)})" if len(found) > 1 else key
            lines += _lines(name, program.values[key].entry.type, array, devices)
    return "".join(f"{line}\n" for line in lines)


def _lines(name: str, type_: Any, array: Any, devices: int) -> Iterator[str]:
    """A value with its name: once if it is the same on all devices."""
    if devices == 1 or len(getattr(array, "shape", ())) == 0 or len(array) != devices:
        yield f"{name} = {_short_text(type_, array)}"
    elif _is_same(array):
        yield f"{name} on all {devices} devices = {_short_text(type_, array[0])}"
    else:
        for device, part in enumerate(array):
            yield f"{name} on device {device} = {_short_text(type_, part)}"


def _is_same(array: Any) -> bool:
    """Returns whether all devices have the same bytes, as they do if the array repeats those of one."""
    first = array[0].tobytes()
    return array.strides[0] == 0 or all(part.tobytes() == first for part in array)


def _short_text(type_: Any, array: Any) -> str:
    """The elements, or a summary if there are many."""
    size = getattr(array, "size", 0)
    return _whole_text(type_, array) if size <= _WHOLE else f"{_figures(array[None])}"


def _whole_text(type_: Any, array: Any) -> str:
    from shardy_py.run.interpret.printing import array_text
    from shardy_py.run.interpret.values import is_array

    if is_array(array):
        return array_text(array, type_)
    if not isinstance(array, tuple):
        return str(array)
    parts = zip(type_.types.data, cast("tuple[Any, ...]", array), strict=True)
    return f"({', '.join(_whole_text(part, value) for part, value in parts)})"


def _dense_text(type_: Any, array: Any) -> str:
    import numpy as np
    from xdsl.dialects.builtin import TensorType

    from shardy_py.mlir.text.attribute_writer import attribute_text
    from shardy_py.mlir.text.dense import make_dense
    from shardy_py.run.interpret.printing import stored_type

    if not hasattr(array, "dtype"):  # tokens, tuples
        return _whole_text(type_, array)
    flat = np.ascontiguousarray(array).reshape(-1)
    one = flat[:1].tobytes()
    data = one if one * flat.size == flat.tobytes() else flat.tobytes()
    return attribute_text(make_dense(TensorType(stored_type(type_.element_type, array), array.shape), data))
