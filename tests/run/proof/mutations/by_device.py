"""Changes that need the number of devices: device numbers, results, replicas."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness
from xdsl.ir import SSAValue

from shardy_py.mlir.ir import (
    operands_of,
    terminator_of,
    type_of,
)
from shardy_py.mlir.stablehlo_builder import StablehloBuilder
from shardy_py.mlir.symbols import functions_of
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.run.proof.case import main_of
from tests.run.proof.mutations.edits import (
    Make,
    Site,
    after,
    at_operand,
    is_integer,
    is_number,
    ops,
    plus,
    shape,
    splat,
    tensor,
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
            "in another order of axes": lambda build, value: _transposed(build, value, devices),
            "from the end": lambda build, value: build.binary(
                "subtract", splat(build, value, devices - 1), value
            ),
        }
        for what, make in makers.items():
            yield Site(op, what, partial(after, result, make))


def _transposed(build: StablehloBuilder, value: SSAValue, devices: int) -> SSAValue:
    """The number of a device in a mesh whose two axes are swapped."""
    minor = next((n for n in range(2, devices) if devices % n == 0), 1)
    major = devices // minor
    row = build.binary("divide", value, splat(build, value, minor))
    column = build.binary("remainder", value, splat(build, value, minor))
    return build.binary("add", build.binary("multiply", column, splat(build, value, major)), row)


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


BY_DEVICE = {
    "partition id": partition_ids,
    "result sharding": result_orders,
    "replica": replicas,
}
