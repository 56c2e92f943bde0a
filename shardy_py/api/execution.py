"""Running programs: inputs by name or position, results by name.

    results = Program.load("model.mlir").run({"%arg0": x, "%arg1": y}, probe=["%5"])
    results["result 0"], results.probes["%5"]

On several devices, an input has the shape of its argument, or an axis of devices before it; results have that
axis. Not here: the interpreter (`run/interpret/`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from dataclasses import field
from typing import Any, TypedDict, cast

import numpy as np
from numpy.lib.npyio import NpzFile
from xdsl.ir import Operation, OpResult

from shardy_py.api.arguments import expect, expect_integer, shown
from shardy_py.api.run_results import RunResults
from shardy_py.api.values import Value, Values
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.ops import TensorType
from shardy_py.ops.compute import Array
from shardy_py.ops.compute.lanes import TOKEN
from shardy_py.ops.compute.movement import check_elements
from shardy_py.reshard.process_grid import Grid, check_devices
from shardy_py.run.interpret import Executable, RunLimits, Settings
from shardy_py.run.interpret.array_files import StoredArray, arrays_in
from shardy_py.run.interpret.given_values import converted
from shardy_py.run.interpret.inputs import dtype_of, random_array
from shardy_py.run.interpret.machine import Devices
from shardy_py.run.interpret.values import Value as RunValue
from shardy_py.run.interpret.values import expanded, is_array

Inputs = Mapping[str, object] | Mapping[int, object] | Sequence[object]
"""Arrays by the argument's name, label or position; or in order."""
_INPUTS = "arrays in order, or by argument"


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run.

    devices: their number, or (replicas, partitions).
    probe: values to return beside the results: names, labels, source locations.
    max_elements, max_steps: limits of one tensor's elements, and of executed ops.
    seed: of random numbers whose algorithm the program leaves open.
    write: prints what `interpreter.print` prints.
    probe_folder: where `interpreter.probe` writes; "": nowhere.
    """

    devices: int | tuple[int, int] = 1
    probe: Sequence[str] = ()
    max_elements: int = RunLimits().elements
    max_steps: int = RunLimits().steps
    seed: int = 0
    write: Callable[[str], None] = print
    probe_folder: str = ""

    def grid(self, values: Values) -> Grid:
        """Returns the grid of processes: partitions, or replicas if the program says so."""
        given = self.devices
        counts = (1, given) if isinstance(given, int) else tuple(given)
        if len(counts) != 2 or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in counts):  # pyright: ignore[reportUnnecessaryIsInstance]
            expected = "a number of devices, or (replicas, partitions)"
            raise ShardyError.unexpected("devices", expected=expected, got=shown(given))
        check_devices(counts[0] * counts[1])
        replicas: Any = values.table.module.attributes.get("mhlo.num_replicas")
        if isinstance(given, int) and replicas is not None and replicas.value.data == given:
            return Grid(given, 1)
        return Grid(*counts)


class RunKeywords(TypedDict, total=False):
    """The fields of `RunOptions` as keywords."""

    devices: int | tuple[int, int]
    probe: Sequence[str]
    max_elements: int
    max_steps: int
    seed: int
    write: Callable[[str], None]
    probe_folder: str


def run_options(keywords: Mapping[str, Any]) -> RunOptions:
    """Returns the options of these names. Raises `ShardyError` for other names, and for text to probe."""
    names = RunKeywords.__annotations__
    for name in keywords:
        if name not in names:
            raise ShardyError.unknown("option", name, names)
    if isinstance(keywords.get("probe"), str):
        got, remedy = shown(keywords["probe"]), "put it in a list"
        raise ShardyError.unexpected("probe", expected="a list of values", got=got, remedy=remedy)
    for name, least in _LEAST.items():
        expect_integer(name, keywords.get(name, least), least)
    return RunOptions(**keywords)


_LEAST = {"max_elements": 1, "max_steps": 1, "seed": 0}
"""The options that are integers, and the least of each."""


DEFAULT = RunOptions()


@dataclass(frozen=True)
class Observer:
    """Sees the results of some ops."""

    observed: Callable[[Operation], bool]
    observe: Callable[[Operation, Devices, list[RunValue]], object]


def _no_ops() -> dict[Operation, list[tuple[str, int]]]:
    return {}


@dataclass(eq=False)
class ResultCollector:
    """Collects the results of ops while they run."""

    values: dict[Operation, list[tuple[str, int]]] = field(default_factory=_no_ops)
    found: dict[str, list[RunValue]] = field(default_factory=dict[str, "list[RunValue]"])

    def add(self, key: str, value: Value) -> None:
        """Adds a value to collect. Raises `ShardyError` for arguments, which no op computes."""
        if not isinstance(value.entry.value, OpResult):
            raise ShardyError.unexpected(
                f"probe '{key}'", expected="a value that an op computes", got=f"{value.role} {value.name}"
            )
        self.values.setdefault(value.entry.op, []).append((key, value.entry.index))
        self.found[key] = []

    def __call__(self, op: Operation, devices: Devices, results: Sequence[object]) -> None:
        """Keeps the results to collect."""
        for key, index in self.values.get(op, ()):
            value = results[index]
            self.found[key].append(_returned(value, devices.count) if is_array(value) else value)


def _returned(value: object, devices: int) -> object:
    """Returns a value as users get it: without the axis of devices if there is one device."""
    if not is_array(value):
        return value
    return value[0, ...] if devices == 1 else expanded(value, devices)


def run_program(
    values: Values,
    inputs: Inputs,
    function: str | None = None,
    options: RunOptions = DEFAULT,
    observer: Observer | None = None,
) -> RunResults:
    """Runs a function of a program: @main, or the only one, by default.

    observer: sees the results of ops besides the probes.

    Raises:
        ShardyError: missing or invalid inputs, unsupported ops, or an op that fails.
    """
    count = options.grid(values).size
    arrays = arrays_of(values.arguments(function), inputs, count, options.max_elements)
    return run_arrays(values, arrays, function, options, observer)


def run_arrays(
    values: Values,
    arrays: Sequence[object],
    function: str | None,
    options: RunOptions,
    observer: Observer | None = None,
) -> RunResults:
    """Runs a function on what `arrays_of` returns; as `run_program`."""
    grid, results = options.grid(values), values.results(function)
    seen = ResultCollector()
    for key in options.probe:
        seen.add(key, values[key])

    def observe(op: Operation, devices: Devices, results: list[RunValue]) -> None:
        seen(op, devices, results)
        if observer is not None and observer.observed(op):
            observer.observe(op, devices, results)

    settings = Settings(
        grid=grid,
        limits=RunLimits(options.max_elements, options.max_steps),
        observed=lambda op: op in seen.values or (observer is not None and observer.observed(op)),
        observe=observe,
        write=options.write,
        probe_folder=options.probe_folder,
        seed=options.seed,
    )
    name = arguments_owner(values, function)
    computed = Executable(values.table.module, name, settings).run([*arrays])
    shown_arrays = tuple(_returned(value, grid.size) for value in computed)
    return RunResults(shown_arrays, tuple(results), {key: tuple(found) for key, found in seen.found.items()})


def arguments_owner(values: Values, function: str | None) -> str:
    """Returns the name of the function to run."""
    functions = values.table.functions
    if function is not None:
        return function.removeprefix("@")
    return functions[0] if len(functions) == 1 else "main"


def arrays_of(
    arguments: Sequence[Value], inputs: Inputs, devices: int, max_elements: int = RunLimits().elements
) -> list[RunValue]:
    """Returns the inputs in order, with an axis of lanes. Raises `ShardyError` for those that do not fit.

    Arrays in files are read after all inputs were found to fit.
    """
    if isinstance(inputs, NpzFile) and inputs.zip is not None:
        inputs = arrays_in(inputs.zip, str(inputs.zip.filename or "<inputs>"))
    given = _by_argument(arguments, cast("Inputs", inputs))
    found: list[tuple[Value, TensorType | None, Any]] = []
    for position, argument in enumerate(arguments):
        type_ = tensor_type(argument.entry.type)
        if type_ is None:
            _check_token(argument)
            found.append((argument, None, TOKEN))
            continue
        array = _array(argument, type_, given[position])
        _check(argument, type_, array, devices)
        try:
            check_elements(array.shape, max_elements * devices)
        except ShardyError as error:
            raise ShardyError(f"{_name(argument)} {error.first.message}") from None
        found.append((argument, type_, array))
    return [array if type_ is None else _with_lanes(type_, array) for _, type_, array in found]


def _check_token(argument: Value) -> None:
    text = attribute_text(argument.entry.type)
    if text != "!stablehlo.token":
        raise ShardyError.unsupported(f"{_name(argument)}: an input of type {text}")


def _by_argument(arguments: Sequence[Value], inputs: Inputs) -> dict[int, object]:
    tensors = [n for n, argument in enumerate(arguments) if tensor_type(argument.entry.type) is not None]
    expect(inputs, Sized, _INPUTS, what="inputs")
    if isinstance(inputs, (str, bytes, AbstractSet)):
        raise ShardyError.unexpected("inputs", expected=_INPUTS, got=shown(inputs))
    if not isinstance(inputs, Mapping):
        if len(inputs) != len(tensors):
            raise ShardyError.unexpected("", expected=f"{len(tensors)} inputs", got=str(len(inputs)))
        return dict(zip(tensors, inputs, strict=True))
    names: dict[str | int, int] = {}
    for number, argument in enumerate(arguments):
        texts = (str(number), argument.label, argument.name.removeprefix("%"), argument.name)
        names |= dict.fromkeys(filter(None, texts), number)
        names[number] = number
    doubtful: dict[str | int, Value] = {}
    for number, argument in enumerate(arguments):
        written = argument.file_name
        for text in filter(None, (written, written.removeprefix("%"))):
            if names.setdefault(text, number) != number:
                doubtful[text] = argument
    given: dict[int, object] = {}
    for key, value in inputs.items():
        if key in doubtful:
            got = f"a name that the file gives to argument {doubtful[key].entry.index}"
            what, expected = f"argument '{key}'", f"argument {names[key]}, which is printed so"
            raise ShardyError.unexpected(what, expected=expected, got=got, remedy="use positions")
        if key not in names:
            raise ShardyError.unknown(
                *("argument", str(key)),
                [arguments[n].label or _own_name(arguments[n]) for n in tensors],
            )
        if names[key] in given:
            raise ShardyError(f"{_name(arguments[names[key]])} has two inputs")
        given[names[key]] = value
    missing = [arguments[n] for n in tensors if n not in given]
    if missing:
        listed = ", ".join(_name(argument).removeprefix("argument ") for argument in missing[:12])
        raise ShardyError(f"expected an input for each argument, got none for {listed}")
    return given


def _array(argument: Value, type_: TensorType, value: object) -> Array | StoredArray:
    """An input as an array. Raises `ShardyError` if it is none, or if a number would be changed."""
    if isinstance(value, StoredArray):
        return value
    dtype = dtype_of(type_)
    try:
        return np.asarray(value) if hasattr(value, "dtype") else converted(value, dtype)
    except (TypeError, ValueError) as error:
        expected, got = f"numbers of {attribute_text(argument.entry.type)} ({dtype})", shown(value)
        remedy = str(error) if str(error) not in got else ""
        raise ShardyError.unexpected(_name(argument), expected=expected, got=got, remedy=remedy) from None


def _with_lanes(type_: TensorType, array: Array | StoredArray) -> Array:
    """An input that fits, with an axis of lanes."""
    dtype = dtype_of(type_)
    read = array.read() if isinstance(array, StoredArray) else array
    made = read.view(dtype) if read.dtype.kind == "V" else read.astype(dtype, copy=False)
    return made[None] if made.ndim == len(type_.shape) else made


def _check(argument: Value, type_: TensorType, array: Array | StoredArray, devices: int) -> None:
    """Raises `ShardyError` unless an array has the shape and element type of its argument."""
    dtype, found = dtype_of(type_), array.dtype
    # A file of numpy does not name the types of ml_dtypes.
    is_same = found.newbyteorder("=") == dtype or (found.kind == "V" and found.itemsize == dtype.itemsize)
    if is_same and _fits(array.shape, type_.shape):
        return
    if is_same and devices > 1 and array.shape[:1] == (devices,) and _fits(array.shape[1:], type_.shape):
        return
    sizes = "x".join(map(str, (*array.shape, found)))
    given = f"an array {sizes}" if array.ndim else f"a scalar {found}"
    given += f" in '{array.file}'" if isinstance(array, StoredArray) else ""
    axis = f", or {devices} of them along a first axis" if devices > 1 else ""
    expected = f"{attribute_text(argument.entry.type)} ({dtype}){axis}"
    raise ShardyError.unexpected(_name(argument), expected=expected, got=given)


def _name(argument: Value) -> str:
    return f"argument {_own_name(argument)}" + (f" ({argument.label})" if argument.label else "")


def _own_name(argument: Value) -> str:
    """The name that the file gives, else the one that is printed."""
    return argument.file_name or argument.name


def _fits(shape: tuple[int, ...], expected: Sequence[int | None]) -> bool:
    pairs = zip(shape, expected, strict=False)
    return len(shape) == len(expected) and all(wanted in (None, size) for size, wanted in pairs)


def random_inputs(
    values: Values, function: str | None, seed: int, max_elements: int = RunLimits().elements
) -> dict[str, Array]:
    """Returns inputs for all arguments: normal floats, integers from 0 to 9, dynamic sizes 1.

    Raises:
        ShardyError: unknown function, or an argument that is too large.
    """
    rng = np.random.default_rng(seed)
    inputs: dict[str, Array] = {}
    for argument in values.arguments(function):
        type_ = tensor_type(argument.entry.type)
        if type_ is None:
            continue
        try:
            check_elements([size or 1 for size in type_.shape], max_elements)
            inputs[argument.name] = random_array(rng, type_)
        except ShardyError as error:
            raise ShardyError(f"{_name(argument)} {error.first.message}") from None
        except MemoryError:
            raise ShardyError(f"{_name(argument)} needs more memory than there is") from None
    return inputs
