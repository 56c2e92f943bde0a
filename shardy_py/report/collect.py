"""The tensors of a module with their shardings, as plain values: the only file here that reads IR.

Arguments and results are those of the public functions; every other function argument and every op result is
an intermediate. What a region merely passes on (block arguments, terminators) is not counted again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from shardy_py.dialects.sdy.attributes import TensorShardingAttr, TensorShardingPerValueAttr
from shardy_py.ir import walk_pre_order
from shardy_py.ops import record
from shardy_py.report.summary import ReportedValue, Role
from shardy_py.sharding import Mesh, TensorSharding

_SHARDING = "sdy.sharding"
_OWN_SHARDINGS = ("sharding", "out_sharding", "out_shardings")


def module_meshes(module: ModuleOp) -> dict[str, Mesh]:
    """The meshes of a module by symbol name."""
    return {
        op.properties["sym_name"].data: op.properties["mesh"].data  # pyright: ignore
        for op in module.body.block.ops
        if op.name == "sdy.mesh"
    }


def collect_values(module: ModuleOp) -> Iterator[ReportedValue]:
    """Every ranked tensor of the module, in program order."""
    for op in walk_pre_order(module):
        if isinstance(op, FuncOp):
            yield from _function_values(op)
        else:
            shardings = result_shardings(op)
            for result, sharding in zip(op.results, shardings, strict=True):
                yield from _value(result.type, sharding, "intermediates")


def result_shardings(op: Operation) -> tuple[TensorSharding | None, ...]:
    """The shardings of an op's results, None where it has none."""
    found = op.attributes.get(_SHARDING)
    for name in _OWN_SHARDINGS if found is None else ():
        found = op.properties.get(name, found)
    match found:
        case TensorShardingPerValueAttr():
            return found.data or (None,) * len(op.results)
        case TensorShardingAttr():
            return (found.data,) * len(op.results)
        case _:
            return (None,) * len(op.results)


def _function_values(function: FuncOp) -> Iterator[ReportedValue]:
    is_public = function.sym_visibility is None or function.sym_visibility.data == "public"
    types = function.function_type
    sides: tuple[tuple[tuple[Attribute, ...], Attribute | None, Role], ...] = (
        (types.inputs.data, function.arg_attrs, "arguments"),
        (types.outputs.data, function.res_attrs, "results"),
    )
    for side_types, attributes, role in sides:
        if not is_public and role == "results":
            continue  # they are results of the ops inside
        for index, type_ in enumerate(side_types):
            yield from _value(
                type_, _function_sharding(attributes, index), role if is_public else "intermediates"
            )


def _function_sharding(attributes: Attribute | None, index: int) -> TensorSharding | None:
    if attributes is None:
        return None
    entry = cast(ArrayAttr[DictionaryAttr], attributes).data[index]
    found = entry.data.get(_SHARDING)
    return found.data if isinstance(found, TensorShardingAttr) else None


def _value(type_: Attribute, sharding: TensorSharding | None, role: Role) -> Iterator[ReportedValue]:
    if isinstance(type_, TensorType):
        type_ = cast("TensorType[Any]", type_)
        shape = tuple(None if size < 0 else size for size in type_.get_shape())
        yield ReportedValue(record.TensorType(shape, str(type_.element_type)), sharding, role)
