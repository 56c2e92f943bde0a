"""Ops that look at values while a program runs: prints, probes, expectations.

Messages of expectations are those of StableHLO's interpreter. Not here: the dialects
(`mlir/dialects/check.py`, `mlir/dialects/interpreter.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerType
from xdsl.ir import Operation

from shardy_py.base.errors import ShardyError
from shardy_py.base.files import write_whole
from shardy_py.base.rows import csv_text
from shardy_py.mlir.ir import operands_of, type_of
from shardy_py.mlir.typed import element_type_of, integer_of, text_of
from shardy_py.ops.compute import Array
from shardy_py.run.interpret.build import Builder, NestedRegion
from shardy_py.run.interpret.constants import array_of
from shardy_py.run.interpret.machine import Devices, Run
from shardy_py.run.interpret.printing import Element, array_text, element_text, stored_type
from shardy_py.run.interpret.values import Value, expanded


def _parts(left: Array, right: Array) -> list[tuple[Array, Array]]:
    """The real and the imaginary parts of two arrays."""
    return [(np.real(left), np.real(right)), (np.imag(left), np.imag(right))]


def differs_by_more(left: Array, right: Array, tolerance: float) -> Array:
    """Returns whether elements are further apart than the tolerance, in each part of a complex number.

    Infinities of one sign, and two NaN, are equal.
    """
    if left.dtype.kind == "c":
        real, imag = (differs_by_more(*part, tolerance) for part in _parts(left, right))
        return real | imag
    wide = [array.astype(np.float64) for array in (left, right)]
    same = (wide[0] == wide[1]) | (np.isnan(wide[0]) & np.isnan(wide[1]))
    return ~(same | (np.abs(wide[0] - wide[1]) <= tolerance))


def ulp_difference(left: Array, right: Array) -> Array:
    """Returns how many floats lie between elements; of a finite and another number, the largest integer."""
    if left.dtype.kind == "c":
        return np.maximum(*(ulp_difference(*part) for part in _parts(left, right)))
    bits = np.dtype(f"u{left.dtype.itemsize}")
    wide = [np.ascontiguousarray(array) for array in (left, right)]
    raw = [array.view(bits).astype(np.uint64) for array in wide]
    sign = np.uint64(1 << (8 * left.dtype.itemsize - 1))
    size = [value & ~sign for value in raw]
    opposite = ((raw[0] ^ raw[1]) & sign) != 0
    apart = np.where(opposite, size[0] + size[1], np.maximum(*size) - np.minimum(*size))
    floats = [array.astype(np.float64) for array in wide]
    finite = np.isfinite(floats[0]) & np.isfinite(floats[1])
    same = (raw[0] == raw[1]) | (np.isnan(floats[0]) & np.isnan(floats[1]))
    return np.where(same, np.uint64(0), np.where(finite, apart, np.uint64(2**64 - 1)))


# ---------------------------------------------------------------------- expectations


def _expected(op: Operation) -> Array | None:
    """The constant that the operand is compared with; None if it is the second operand."""
    value = op.properties.get("value")
    return None if value is None else array_of(value)[None]


def _pair(op: Operation, operands: list[Value]) -> tuple[Array, Array]:
    constant = _expected(op)
    left, right = np.broadcast_arrays(operands[0], operands[1] if constant is None else constant)
    return left, right


def _shown(op: Operation, array: Array) -> Callable[[Element], str]:
    """Returns what prints elements of the first operand, as MLIR does."""
    return element_text(stored_type(element_type_of(type_of(operands_of(op)[0])), array))


def _fail(op: Operation, what: str, left: Array, right: Array, bad: Array) -> None:
    """Raises `ShardyError` that names the first bad element."""
    show = _shown(op, left)
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
    place = f"[{', '.join(map(str, index[1:]))}]"
    device = f" of device {index[0]}" if len(bad) > 1 else ""
    found, wanted = show(left[index]), show(right[index])
    raise ShardyError(f"{what}: {found} (actual) vs {wanted} (expected) at index {place}{device}")


def check_eq(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """The custom call `check.eq`: integers are equal, other numbers almost; the result is true."""
    element = getattr(type_of(operands_of(op)[1]), "element_type", None)
    compare = (expect_eq if isinstance(element, IntegerType) else expect_almost_eq)(builder, op, regions)
    results = [np.ones((1,), np.bool_)] * len(op.results)

    def run(devices: Devices, operands: list[Value]) -> list[Value]:
        compare(devices, operands)
        return results

    return run


def expect_eq(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Elements are equal."""

    def run(devices: Devices, operands: list[Value]) -> tuple[()]:
        left, right = _pair(op, operands)
        if (bad := left != right).any():
            _fail(op, "Element values don't match", left, right, bad)
        return ()

    return run


def expect_almost_eq(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Elements are at most `tolerance` apart."""
    given = op.properties.get("tolerance")
    default = 1e-3 if "call_target_name" in op.properties else 1e-4
    tolerance = given.value.data if isinstance(given, FloatAttr) else default

    def run(devices: Devices, operands: list[Value]) -> tuple[()]:
        left, right = _pair(op, operands)
        if (bad := differs_by_more(left, right, tolerance)).any():
            _fail(op, f"Element values don't match with tolerance {tolerance:f}", left, right, bad)
        return ()

    return run


def expect_close(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """The number of floats between elements is within bounds."""
    highest = 3 if "call_target_name" in op.properties else 1
    low, high = (
        integer_of(op, name) if name in op.properties else default
        for name, default in (("min_ulp_difference", 0), ("max_ulp_difference", highest))
    )

    def run(devices: Devices, operands: list[Value]) -> tuple[()]:
        left, right = np.broadcast_arrays(*operands[:2])
        apart = ulp_difference(left, right)
        bad = (apart > np.uint64(high)) | (apart < np.uint64(low))
        if bad.any():
            raise ShardyError(_ulp_message(_shown(op, left), left, right, apart, bad, high))
        return ()

    return run


_COUNTED, _LISTED = 5, 20


def _ulp_message(
    show: Callable[[Element], str], left: Array, right: Array, apart: Array, bad: Array, high: int
) -> str:
    text = f"Elements values don't match with respect to maximal ULP difference={high} limit:"
    for row in np.argwhere(bad)[:_LISTED]:
        index = tuple(row.tolist())
        text += (
            f" index=[{', '.join(map(str, index[1:]))}], actual={show(left[index])}, "
            f"expected={show(right[index])}, "
            f"ULP difference={apart[index]};"
        )
    counts = np.bincount(np.minimum(apart, _COUNTED - 1).astype(np.intp).ravel(), minlength=_COUNTED)
    words = [f"{'>=' if n == _COUNTED - 1 else '=='} {n} count is {c}" for n, c in enumerate(counts)]
    return text + "".join(f" ULP difference {word};" for word in words)


def expect_serialized_eq(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """The value equals what a probe has written."""
    probe = text_of(op, "probe_id")
    iteration = integer_of(op, "iteration") if "iteration" in op.properties else 0

    def run(devices: Devices, operands: list[Value]) -> tuple[()]:
        found = [name for id_, name in devices.machine.probes if id_ == probe]
        if not 0 <= iteration < len(found):
            raise ShardyError(f"Failed to find serialized data for probe {probe}.")
        saved: Array = np.load(found[iteration])
        (value,) = operands
        if saved.shape != value.shape[1:] or saved.itemsize != value.itemsize:
            raise ShardyError(f"Failed to verify serialized tensor {probe}.")
        left, right = np.broadcast_arrays(value, saved.view(value.dtype)[None])
        if (bad := left != right).any():
            _fail(op, "Element values don't match", left, right, bad)
        return ()

    return run


# ---------------------------------------------------------------------- prints and probes


def print_(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Prints the operand of each device as StableHLO's interpreter does."""
    (operand,) = operands_of(op)
    name = builder.name_of(operand)
    type_ = type_of(operand)

    def run(devices: Devices, operands: list[Value]) -> tuple[()]:
        for lane in expanded(operands[0], devices.count):
            devices.machine.write(f"{name} = {array_text(lane, type_)}")
        return ()

    return run


def probe(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Passes the operand on; writes it to a file of numpy for each device if there is a folder for probes."""
    identifier = text_of(op, "probe_id")
    type_text = str(type_of(operands_of(op)[0]))

    def run(devices: Devices, operands: list[Value]) -> list[Value]:
        machine = devices.machine
        if machine.probe_folder:
            for lane in expanded(operands[0], devices.count):
                path = Path(machine.probe_folder) / f"probe{len(machine.probes) + 1}.npy"
                write_probe(path, lane, identifier, type_text)
                machine.probes.append((identifier, str(path)))
        return operands

    return run


def write_probe(path: Path, array: Array, identifier: str, type_text: str) -> None:
    """Writes an array, and a line about it in `index.csv` beside it.

    Raises:
        ShardyError: a file cannot be written.
    """
    try:
        data = BytesIO()
        np.save(data, array if array.dtype.isbuiltin == 1 else array.view(f"V{array.itemsize}"))
        write_whole(str(path), data.getvalue())
        with (path.parent / "index.csv").open("a") as index:
            index.write(f"{_index_cell(identifier)},{type_text},{path}\n")
    except OSError as error:
        raise ShardyError(f"cannot write {path}: {error.strerror or error}") from None


def _index_cell(text: str) -> str:
    """Returns a name of the program as a cell of CSV, as StableHLO's interpreter writes it if it is plain."""
    return csv_text([{"": text}]).splitlines()[1]
