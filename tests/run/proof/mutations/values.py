"""Other values: device numbers, constants, divisors, operands, ops, roundings, replicas, initial values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness
from xdsl.dialects.builtin import bf16 as bf16_type
from xdsl.dialects.builtin import f16 as f16_type
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.mlir.ir import find_ops_where, operands_of, replace_operand, terminator_of, type_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of
from shardy_py.mlir.symbols import functions_of
from shardy_py.mlir.text.dense import make_dense
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.run.interpret.constants import constant_array
from shardy_py.run.interpret.inputs import dtype_of
from shardy_py.run.proof.case import main_of
from tests.run.proof.mutations.edits import (
    Make,
    Site,
    after,
    at_operand,
    instead,
    is_float,
    is_integer,
    is_number,
    ops,
    plus,
    renamed,
    shape,
    splat,
    swapped,
    tensor,
)

ORDERED = (
    "atan2",
    "compare",
    "divide",
    "dot",
    "power",
    "remainder",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "subtract",
)
"""Ops with two operands of one type, whose order counts."""

OTHERS = {
    "add": ("subtract", "maximum"),
    "subtract": ("add",),
    "multiply": ("add", "divide"),
    "divide": ("multiply", "remainder"),
    "maximum": ("minimum", "add"),
    "minimum": ("maximum",),
    "and": ("or",),
    "or": ("and",),
    "xor": ("or",),
    "remainder": ("divide",),
    "tanh": ("logistic", "negate"),
    "logistic": ("tanh",),
    "exponential": ("exponential_minus_one", "abs"),
    "rsqrt": ("sqrt",),
    "negate": ("abs",),
    "abs": ("negate",),
}
"""Ops with the operands and types of another one."""

ROUNDED = (
    "add",
    "all_gather",
    "all_reduce",
    "broadcast_in_dim",
    "collective_permute",
    "convolution",
    "dot",
    "dot_general",
    "dynamic_slice",
    "exponential",
    "gather",
    "multiply",
    "pad",
    "reduce",
    "select",
    "slice",
    "tanh",
)


_UI32 = ranked_tensor((), IntegerType(32, Signedness.UNSIGNED))


def partition_ids(module: ModuleOp, devices: int) -> Iterator[Site]:
    """A device takes itself for another one."""
    for op in ops(module, "partition_id"):
        (result,) = op.results
        makers: dict[str, Make] = {
            "0": lambda build, value: splat(build, value, 0),
            f"{devices - 1}": lambda build, value: splat(build, value, devices - 1),
            "the next one": lambda build, value: build.binary(
                "remainder", plus(1)(build, value), splat(build, value, devices)
            ),
            "from the end": lambda build, value: build.binary(
                "subtract", splat(build, value, devices - 1), value
            ),
        }
        for what, make in makers.items():
            yield Site(op, what, partial(after, result, make))


def divisors(module: ModuleOp) -> Iterator[Site]:
    """A divisor is one more, or twice as large."""
    for op in ops(module, "divide", "remainder"):
        if is_number(operands_of(op)[1]):
            yield Site(op, "divisor +1", partial(at_operand, op, 1, plus(1)))
            yield Site(op, "divisor doubled", partial(at_operand, op, 1, _doubled))


def _doubled(build: StablehloBuilder, value: SSAValue) -> SSAValue:
    return build.binary("add", value, value)


def operands(module: ModuleOp) -> Iterator[Site]:
    """Operands of ops whose order counts are swapped."""
    for op in ops(module, *ORDERED):
        lhs, rhs = operands_of(op)
        if lhs is not rhs and type_of(lhs) == type_of(rhs):
            yield Site(op, "operands swapped", partial(swapped, op, 0, 1))
    for op in ops(module, "select"):
        if operands_of(op)[1] is not operands_of(op)[2]:
            yield Site(op, "values swapped", partial(swapped, op, 1, 2))


def constants(module: ModuleOp) -> Iterator[Site]:
    """One element of a constant is another number."""
    for op in ops(module, "constant"):
        size = int(np.prod(shape(op.results[0])))
        for at in sorted({0, size // 2, size - 1} if size else ()):
            yield Site(op, f"element {at}", partial(_set_element, op, at))


def _set_element(op: Operation, at: int) -> None:
    (result,) = op.results
    dtype = dtype_of(tensor(result))
    array = np.broadcast_to(constant_array(op)[0], shape(result)).copy().reshape(-1)
    value = array[at]
    if dtype == np.bool_:
        array[at] = not value
    elif np.isfinite(np.asarray(value).astype(np.complex128)):
        with np.errstate(over="ignore"):
            array[at] = (np.asarray(value) + np.asarray(1, dtype)).astype(dtype)
    else:
        array[at] = np.asarray(0, dtype)
    op.properties["value"] = make_dense(type_of(result), array.tobytes())


def operations(module: ModuleOp) -> Iterator[Site]:
    """Another op of the same operands."""
    for name, others in OTHERS.items():
        for op in ops(module, name):
            for other in others:
                is_boolean = tensor(op.results[0]).element == "i1"
                if is_boolean <= (other in ("and", "or", "xor")):
                    yield Site(op, f"becomes {other}", partial(renamed, op, other))


def roundings(module: ModuleOp) -> Iterator[Site]:
    """A value is rounded to a narrower type and back."""
    for op in ops(module, *ROUNDED):
        (result, *_) = op.results
        element = tensor(result).element
        narrow = {"bf16": bf16_type, "f16": f16_type} if element in ("f32", "f64") else {}
        for name, type_ in narrow.items():
            yield Site(op, f"rounded to {name}", partial(after, result, partial(_rounded, type_)))


def _rounded(type_: Attribute, build: StablehloBuilder, value: SSAValue) -> SSAValue:
    return build.convert(build.convert(value, type_), element_of(value))


def result_orders(module: ModuleOp, devices: int) -> Iterator[Site]:
    """Devices return the results of others."""
    end = terminator_of(main_of(module).body)
    assert end is not None
    swaps = [[(i, (i + 1) % devices) for i in range(devices)]]
    swaps.append([(0, devices - 1), (devices - 1, 0), *((i, i) for i in range(1, devices - 1))])
    for index in range(len(operands_of(end))):
        for what, pairs in zip(("rotated", "first and last swapped"), swaps, strict=True):
            yield Site(
                end, f"result {index}: devices {what}", partial(at_operand, end, index, _permuted(pairs))
            )


def _permuted(pairs: list[tuple[int, int]]) -> Make:
    def make(build: StablehloBuilder, value: SSAValue) -> SSAValue:
        handle = {"handle": 99, "type": 1}
        return build.one(
            "collective_permute",
            (value,),
            type_of(value),
            source_target_pairs=pairs,
            channel_handle=handle,
        )

    return make


def replicas(module: ModuleOp, devices: int) -> Iterator[Site]:
    """One device has another value: of a result, of what a collective makes, of an argument."""
    end = terminator_of(main_of(module).body)
    assert end is not None
    for index, value in enumerate(operands_of(end)):
        if is_number(value):
            for device in sorted({0, devices - 1}):
                what = f"result {index} of device {device} + 1000"
                yield Site(end, what, partial(at_operand, end, index, _other(device)))
    for op in ops(module, "all_reduce", "all_gather", "collective_permute", "dynamic_slice"):
        if is_number(op.results[0]):
            what = f"+ 1000 on device {devices - 1}"
            yield Site(op, what, partial(after, op.results[0], _other(devices - 1)))
    for function in functions_of(module):
        for index, value in enumerate(function.args if function is main_of(module) else ()):
            if is_number(value):
                what = f"argument {index} of device 1 + 1000"
                yield Site(function, what, partial(after, value, _other(1)))


def _other(device: int) -> Make:
    def make(build: StablehloBuilder, value: SSAValue) -> SSAValue:
        number = build.one("partition_id", (), _UI32)
        at = build.compare("EQ", number, splat(build, number, device))
        more = plus(1000 if not is_integer(value) or tensor(value).element[-1] != "8" else 3)(build, value)
        return build.select(build.broadcast(at, shape(value)), more, value)

    return make


def initial_values(module: ModuleOp) -> Iterator[Site]:
    """A reduction begins with another number."""
    for op in ops(module, "reduce", "reduce_window", "select_and_scatter"):
        count = len(operands_of(op))
        first = 2 if op.name.endswith("select_and_scatter") else count // 2
        for index in range(first, count):
            value = operands_of(op)[index]
            for number in (1, -2) if is_number(value) else ():
                what = f"initial value {number}"
                yield Site(op, what, partial(at_operand, op, index, _number(number)))


def _number(number: float) -> Make:
    return lambda build, value: splat(build, value, number)


def results(module: ModuleOp) -> Iterator[Site]:
    """Two results of one type are swapped, or a float is negated."""
    end = terminator_of(main_of(module).body)
    assert end is not None
    given = operands_of(end)
    for index, value in enumerate(given):
        for other in range(index + 1, len(given)):
            if type_of(value) == type_of(given[other]) and value is not given[other]:
                yield Site(end, f"results {index}, {other} swapped", partial(swapped, end, index, other))
        if is_float(value):
            yield Site(end, f"result {index} negated", partial(at_operand, end, index, _negated))


def _negated(build: StablehloBuilder, value: SSAValue) -> SSAValue:
    return build.unary("negate", value)


def omitted(module: ModuleOp) -> Iterator[Site]:
    """An op that keeps the type of its first operand is left out."""
    for op in ops(module, "convert", "negate", "tanh", "add", "multiply", "subtract", "divide"):
        if type_of(operands_of(op)[0]) == type_of(op.results[0]):
            yield Site(op, "left out", partial(instead, op, operands_of(op)[0]))


def wrong_operands(module: ModuleOp) -> Iterator[Site]:
    """An op reads the last value before its operand that has the same type."""
    for op in find_ops_where(module, lambda op: op.parent is not None and op.parent_op() is not module):
        for index, value in enumerate(operands_of(op)):
            found = (
                _before(value) if isinstance(value, OpResult) and op.name != "stablehlo.constant" else None
            )
            if found is not None:
                yield Site(op, f"another operand {index}", partial(replace_operand, op, index, found))


def _before(value: OpResult) -> SSAValue | None:
    op = value.op.prev_op
    while op is not None:
        for result in op.results:
            if type_of(result) == type_of(value):
                return result
        op = op.prev_op
    block = value.op.parent
    return next((a for a in block.args if type_of(a) == type_of(value)), None) if block else None


VALUES = {
    "divisor": divisors,
    "operands": operands,
    "constant": constants,
    "operation": operations,
    "rounding": roundings,
    "initial value": initial_values,
    "results": results,
    "op left out": omitted,
    "wrong operand": wrong_operands,
}
BY_DEVICE = {
    "partition id": partition_ids,
    "result sharding": result_orders,
    "replica": replicas,
}
"""Kinds of changes that need the number of devices."""
