"""What C++ does in `sdy-pad-for-divisibility` before JAX 0.12 where an op takes no padding: `cutting()`.

Its patterns are those of StableHLO and of most collectives, but for `sdy.all_to_all` in JAX 0.10. Other
ops, as constants of sdy, those of CHLO, barriers and returns, keep their types: their operands are sliced and
their results are padded in JAX 0.11, and both are casts in JAX 0.10. What remains of uneven dimensions ends
the next pass at a check.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import cast
from unittest import mock

from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from shardy_py.base.behaviours import Behaviour
from shardy_py.localize import pad_for_divisibility
from shardy_py.localize.padding_masks import scalar
from shardy_py.mlir import ir
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.ir import operands_of, place_before, walk_pre_order
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, resized, shape_of
from shardy_py.ops import Identity

_PADDED = (
    sdy.AllGatherOp,
    sdy.AllReduceOp,
    sdy.AllSliceOp,
    sdy.ReduceScatterOp,
    sdy.ReplicatedToUnreducedOp,
    sdy.ShardedToUnreducedOp,
)
_Padding = pad_for_divisibility._Padding  # pyright: ignore[reportPrivateUsage]


def _takes_no_padding(op: Operation) -> bool:
    if isinstance(op, sdy.AllToAllOp):
        return not Behaviour.EXPORT_OPTIMIZES.holds
    return not op.name.startswith("stablehlo.") and not isinstance(op, (FuncOp, *_PADDED))


class _Cutting(_Padding):
    """Leaves the results of what takes no padding, pads them for other ops, and slices padded operands."""

    def run(self, functions: Iterable[FuncOp], *, masks_all: bool) -> None:
        functions = list(functions)
        left = [op for function in functions for op in walk_pre_order(function) if _takes_no_padding(op)]
        for value in [result for op in left for result in op.results]:
            self._pad_for_users(value)
        super().run(functions, masks_all=masks_all)
        cut: dict[SSAValue, SSAValue] = {}
        for op in left:
            for index, value in enumerate(operands_of(op)):
                if value in self.true_shapes:
                    if value not in cut:
                        cut[value] = _resized(value, resized(value, self.true_shapes[value]))
                    ir.replace_operand(op, index, cut[value])

    def _pad(self, value: SSAValue) -> None:
        if not isinstance(value.owner, Operation) or not _takes_no_padding(value.owner):
            super()._pad(value)

    def _pad_for_users(self, value: SSAValue) -> None:
        type_ = self.padded(value.type, self.reader.of(value))
        users = [use for use in value.uses if not _takes_no_padding(use.operation)]
        if type_ is value.type or not users:
            return
        new = _resized(value, type_)
        for use in users:
            ir.replace_operand(use.operation, use.index, new)
        self.true_shapes[new] = shape_of(value)


def _resized(value: SSAValue, type_: Attribute) -> SSAValue:
    """The value with another size, made next to it."""
    maker = value.owner
    after = maker.first_op if isinstance(maker, Block) else maker.next_op
    assert after is not None
    if not Behaviour.EXPORT_OPTIMIZES.holds:
        cast_ = UnrealizedConversionCastOp.get((value,), (type_,))
        cast_.location = after.location
        place_before(cast_, after)
        return cast_.results[0]
    build = StablehloBuilder(after, None)
    old, new = shape_of(value), cast("tuple[int, ...]", type_.get_shape())  # pyright: ignore
    low = (0,) * len(old)
    if new < old:
        return build.slice(value, low, new)
    high = [large - small for large, small in zip(new, old, strict=True)]
    return build.pad(value, scalar(build, Identity.ZERO, element_of(value)), low, high)


@contextmanager
def cutting() -> Generator[None]:
    """Follows C++ there."""
    with mock.patch.object(pad_for_divisibility, "_Padding", _Cutting):
        yield
