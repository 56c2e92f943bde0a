"""Programs without some of their ops: `without_ops(named("stablehlo.gather"))(text)`.

For causes of what C++ does (`explained.py`, `refusals.py`): what they are is gone, the rest stays.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.localize.padding_masks import scalar_data
from shardy_py.mlir.dialects import parse_module, print_module, sdy
from shardy_py.mlir.ir import place_before, walk_pre_order
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.stablehlo_builder import element_of
from shardy_py.mlir.text.dense import make_dense
from shardy_py.mlir.value_shardings import ShardingReader, set_sharding
from shardy_py.ops import Identity
from shardy_py.propagation.graph.liveness import dead_ops


def without_ops(is_meant: Callable[[Operation], bool]) -> Callable[[str], str]:
    """Puts zeros in the place of results of the ops that are meant; what only they used goes with them."""

    def without(text: str) -> str:
        module = parse_module(text)
        reader = ShardingReader()
        dead = dead_in(module)
        for op in [op for op in walk_pre_order(module) if op.results and is_meant(op)]:
            for result in op.results:
                type_, sharding = result.type, reader.of(result)
                zero = scalar_data(Identity.ZERO, element_of(result)) if tensor_type(type_) else None
                if zero is None:
                    break
                constant = sdy.ConstantOp(make_dense(type_, zero))
                if sharding is not None:
                    set_sharding(constant.output, sharding)
                place_before(constant, op)
                result.replace_all_uses_with(constant.output)
            else:
                op.detach()
                op.erase()
        for key, op in dead_in(module).items():
            # Else it went with the op around it, or what was dead before uses it.
            if key not in dead and op.parent is not None and not any(r.first_use for r in op.results):
                op.detach()
                op.erase()
        return print_module(module)

    return without


def through_ops(is_meant: Callable[[Operation], bool]) -> Callable[[str], str]:
    """Puts their operands in the place of the results of the ops that are meant."""

    def without(text: str) -> str:
        module = parse_module(text)
        for op in [op for op in walk_pre_order(module) if is_meant(op)]:
            for result, operand in zip(op.results, op.operands, strict=True):
                result.replace_all_uses_with(operand)
            op.detach()
            op.erase()
        return print_module(module)

    return without


def dead_in(module: ModuleOp) -> dict[int, Operation]:
    return dead_ops([op for op in walk_pre_order(module) if op.results])


def named(*names: str) -> Callable[[Operation], bool]:
    return lambda op: op.name in names
