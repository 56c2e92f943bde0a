"""The lint rules on custom sharding rules: operands that do not follow them, factors of two sizes.

Not here: calls without a rule (`rules.py`), communication (`communication_rules.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from xdsl.ir import Operation

from shardy_py.api import Result
from shardy_py.check.finding import Finding
from shardy_py.check.rule import Limits, listed, rule
from shardy_py.mlir.holders import RULE
from shardy_py.mlir.ir import operands_of, written_name
from shardy_py.mlir.location_names import location_text, name_stack
from shardy_py.mlir.movements import DroppedRules
from shardy_py.mlir.plain import plain, tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.ops import call_target
from shardy_py.sharding import ShardingRule, TensorSharding
from shardy_py.sharding.meshes import mesh_of
from shardy_py.sharding.rule import factor_symbol


@rule(
    *("SDY011", "unaligned-custom-rule", "An operand is not sharded as a custom rule says"),
    why="The op gets an operand that is sharded otherwise than its rule relates it to the others.",
    help="Annotate the operand as the finding says, or reshard it before the op.",
)
def _find_unaligned_operands(result: Result, limits: Limits) -> Iterator[Finding]:
    reader, meshes = ShardingReader(), Symbols(result.program.module).meshes()
    for op, custom in result.kept(_CustomRules):
        values = (*operands_of(op), *op.results)
        known = [reader.of(value) for value in values]
        for index, factor, own, other in _unaligned(custom, known):
            kind = "operand" if index < len(operands_of(op)) else "result"
            number = index if kind == "operand" else index - len(operands_of(op))
            message = f"{kind} {number} of {_called(op)} is sharded along {own} in factor {factor} of its "
            message += "custom rule, "
            message += f"another tensor along {other}"
            remedy = (
                f"annotate {kind} {number} so that the dimension of factor {factor} is sharded along {other}"
            )
            mesh = next((mesh_of(s, meshes) for s in known if s is not None), None)
            if mesh is not None and mesh.device_count > 1:
                yield _finding(op, message, remedy)


@rule(
    *("SDY014", "factor-of-two-sizes", "A factor of a custom rule has two sizes"),
    why="Shards of dimensions of different sizes hold different parts, but the rule relates them one to one.",
    help="Give the dimensions different factors, or one that both have and another for what is left.",
)
def _find_factors_of_two_sizes(result: Result, limits: Limits) -> Iterator[Finding]:
    reader = ShardingReader()
    for op, custom in result.kept(_CustomRules):
        values = (*operands_of(op), *op.results)
        shardings = [reader.of(value) for value in values]
        for factor, (place, size), (other, wrong) in _two_sizes(op, custom, shardings):
            message = f"factor {factor} of the custom rule of {_called(op)} has size {size} in {place}, "
            message += f"{wrong} in {other}: shards of one are not parts of the other"
            remedy = 'give them factors of their own: "i -> j" for "i -> i" in sharding_rule= of JAX'
            yield _finding(op, message, remedy)


SizedPlace = tuple[str, int]
"""A dimension in words, and its size."""


def _two_sizes(
    op: Operation, custom: ShardingRule, shardings: list[TensorSharding | None]
) -> Iterator[tuple[str, SizedPlace, SizedPlace]]:
    """The factors, by symbol, that are whole dimensions of different sizes, one of which is sharded."""
    first: dict[int, SizedPlace] = {}
    sharded: set[int] = set()
    different: dict[int, SizedPlace] = {}
    count = len(operands_of(op))
    tensors = (*(value.type for value in operands_of(op)), *(value.type for value in op.results))
    for index, (mapping, type_) in enumerate(zip((*custom.operands, *custom.results), tensors, strict=False)):
        tensor, sharding = tensor_type(type_), shardings[index]
        named = f"operand {index}" if index < count else f"result {index - count}"
        for dimension, factors in enumerate(mapping if tensor is not None else ()):
            size = None if tensor is None else tensor.shape[dimension]
            if len(factors) != 1 or size is None:
                continue
            place = f"dimension {dimension} of {named}", size
            known = first.setdefault(factors[0], place)
            if known[1] != size:
                different.setdefault(factors[0], place)
            if sharding is not None and sharding.dimensions[dimension].axes:
                sharded.add(factors[0])
    for factor, place in different.items():
        if factor in sharded:
            yield factor_symbol(factor), first[factor], place


def _finding(op: Operation, message: str, remedy: str) -> Finding:
    location: Any = op.location
    place = position_of(location), location_text(location)
    scope = name_stack(location)
    return Finding("", "warning", message, remedy, written_name(op), "", *place, scope=scope)


def _called(op: Operation) -> str:
    target = call_target(record_of(op))
    return written_name(op) + (f" @{target}" if target else "")


class _CustomRules(list[tuple[Operation, ShardingRule]]):
    """The ops of a result with rules that users wrote, also where the passes have removed them."""

    def __init__(self, result: Result) -> None:
        super().__init__(_custom_rules(result))


def _custom_rules(result: Result) -> Iterator[tuple[Operation, ShardingRule]]:
    given: dict[Operation, Any] = {}
    for op in result.values.table.ops:
        if RULE in op.attributes:
            given[op] = op.attributes[RULE]
    for event in () if result.record is None else result.record.events:
        if isinstance(event, DroppedRules):
            given |= event.attributes
    for op, attribute in given.items():
        found: ShardingRule = plain(attribute)
        if found.is_custom and op.results:
            yield op, found


def _unaligned(
    custom: ShardingRule, shardings: list[TensorSharding | None]
) -> Iterator[tuple[int, str, str, str]]:
    """Tensors by index whose axes in a factor are not those of the first tensor that shards it."""
    mappings = (*custom.operands, *custom.results)
    first: Mapping[int, tuple[Any, ...]] = {}
    for index, (mapping, sharding) in enumerate(zip(mappings, shardings, strict=False)):
        for dimension, factors in enumerate(mapping):
            if len(factors) != 1:
                continue
            (factor,) = factors
            axes = () if sharding is None else tuple(sharding.dimensions[dimension].axes)
            if factor not in first:
                first = {**first, factor: axes}
            elif axes != first[factor]:
                name = factor_symbol(factor)
                yield (
                    index,
                    name,
                    listed(map(str, axes)) or "no axis",
                    listed(map(str, first[factor])) or "no axis",
                )
