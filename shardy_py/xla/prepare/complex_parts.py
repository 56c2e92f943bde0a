"""The real and imaginary parts of complex values, computed from parts: XLA:TPU has no complex values.

    parts(complex(a, b))   a, b           parts(convert(x)) of a real x        x, 0
    parts(x + y), parts(-x), parts(reshape(x)), ...    the same of each part
    parts(x * y)           re re - im im, re im + im re

Others are taken apart by `real` and `imag`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ComplexType, f32
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.mlir import ir
from shardy_py.mlir.dialects.sdy import ShardingConstraintOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, shape_of
from shardy_py.mlir.text.type_reader import ranked_tensor

Parts = tuple[SSAValue, SSAValue]


def is_complex(value: SSAValue) -> bool:
    """Returns whether a tensor has complex elements of two f32."""
    return element_of(value) == ComplexType(f32)


def parts_of(build: StablehloBuilder, value: SSAValue) -> Parts:
    """Returns the real and the imaginary part of a tensor of f32, or of complex elements of these."""
    if not is_complex(value):
        return value, zeros(build, value)
    op = value.op if isinstance(value, OpResult) else None
    way = None if op is None else _WAYS.get(op.name)
    if op is not None and way is not None and (found := way(build, op)) is not None:
        return found
    real, imaginary = (
        build.one(name, (value,), ranked_tensor(shape_of(value), f32)) for name in ("real", "imag")
    )
    return real, imaginary


def zeros(build: StablehloBuilder, value: SSAValue) -> SSAValue:
    """Returns zeros of f32 in the shape of a value."""
    return build.broadcast(build.zero(f32), shape_of(value))


def _joined(build: StablehloBuilder, op: Operation) -> Parts:
    real, imaginary = operands_of(op)
    return real, imaginary


def _converted(build: StablehloBuilder, op: Operation) -> Parts | None:
    (source,) = operands_of(op)
    return (source, zeros(build, source)) if element_of(source) == f32 else None


def _each(build: StablehloBuilder, op: Operation) -> Parts:
    operands = [parts_of(build, value) for value in operands_of(op)]
    made: list[SSAValue] = []
    for own in zip(*operands, strict=True):
        type_ = ranked_tensor(shape_of(op.results[0]), f32)
        new = ir.build_operation(
            type(op), own, [type_], dict(op.properties), dict(op.attributes), op.location
        )
        ir.place_before(new, build.anchor)
        made.append(new.results[0])
    return made[0], made[1]


def _multiplied(build: StablehloBuilder, op: Operation) -> Parts:
    (a, b), (c, d) = (parts_of(build, value) for value in operands_of(op))

    def both(pairs: Sequence[Parts], name: str) -> SSAValue:
        return build.binary(name, *(build.binary("multiply", *pair) for pair in pairs))

    return both(((a, c), (b, d)), "subtract"), both(((a, d), (b, c)), "add")


_WAYS: dict[str, Callable[[StablehloBuilder, Operation], Parts | None]] = {
    f"stablehlo.{name}": way
    for name, way in {
        "add": _each,
        "complex": _joined,
        "convert": _converted,
        "multiply": _multiplied,
        "negate": _each,
        "reshape": _each,
        "reverse": _each,
        "slice": _each,
        "subtract": _each,
        "transpose": _each,
    }.items()
} | {ShardingConstraintOp.name: _each}
"""By op the way in which its parts are made of those of its operands."""
