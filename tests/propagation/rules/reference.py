"""The reference's sharding rules: C++ Shardy of jaxlib, in this process, and its ops as our records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from shardy_py.ops import OpRecord, TensorType
from tests.differential.reference_server import walk

STRUCTS = {
    "DotDimensionNumbers": (
        "lhs_batching_dimensions",
        "rhs_batching_dimensions",
        "lhs_contracting_dimensions",
        "rhs_contracting_dimensions",
    ),
    "GatherDimensionNumbers": (
        "offset_dims",
        "collapsed_slice_dims",
        "operand_batching_dims",
        "start_indices_batching_dims",
        "start_index_map",
        "index_vector_dim",
    ),
    "ScatterDimensionNumbers": (
        "update_window_dims",
        "inserted_window_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "scattered_dims_to_operand_dims",
        "index_vector_dim",
    ),
    "ConvDimensionNumbers": (
        "input_batch_dimension",
        "input_feature_dimension",
        "input_spatial_dimensions",
        "kernel_input_feature_dimension",
        "kernel_output_feature_dimension",
        "kernel_spatial_dimensions",
        "output_batch_dimension",
        "output_feature_dimension",
        "output_spatial_dimensions",
    ),
}
RENAMED = {"scattered_dims_to_operand_dims": "scatter_dims_to_operand_dims"}


def context() -> Any:
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, mhlo, sdy, stablehlo

    made = ir.Context()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    made.append_dialect_registry(registry)
    for register in (
        chlo.register_chlo_dialect,
        mhlo.register_mhlo_dialect,
        sdy.register_dialect,
        stablehlo.register_dialect,
    ):
        register(made)
    made.load_all_available_dialects()
    made.enable_multithreading(False)
    return made


def with_rules(text: str, *, conservative: bool = False) -> Iterator[tuple[OpRecord, str | None]]:
    """Every op of a module with the rule that the reference gives it, as text."""
    for op, rule in _with_rules(text, conservative=conservative):
        yield record_of(op), rule


def numbered_rules(text: str, *, conservative: bool = False) -> dict[int, str | None]:
    """The rule of each op that carries `test.number`, by that number."""
    found: dict[int, str | None] = {}
    for op, rule in _with_rules(text, conservative=conservative):
        if "test.number" in op.attributes:
            found[op.attributes["test.number"].value] = rule
    return found


def _with_rules(text: str, *, conservative: bool) -> Iterator[tuple[Any, str | None]]:
    from jaxlib.mlir import ir, passmanager

    with context():
        module = ir.Module.parse(text)
        option = "{conservative-propagation=true}" if conservative else ""
        pipeline = f"builtin.module(func.func(sdy-populate-op-sharding-rules{option}))"
        given = {op: "sdy.sharding_rule" in op.attributes for op in walk(module.operation)}
        passmanager.PassManager.parse(pipeline).run(module.operation)
        for op in walk(module.operation):
            if not given.get(op):
                rule = op.attributes.get("sdy.sharding_rule")
                yield op, re.sub(r"^#sdy\.op_sharding_rule", "", str(rule)) if rule else None


def record_of(op: Any) -> OpRecord:
    skipped = ("sdy.sharding_rule", "value")  # the value of a constant has no say in a rule
    attributes = {name: value_of(op.attributes[name]) for name in op.attributes if name not in skipped}
    attributes.update(facts_of(op))
    return OpRecord(
        op.name,
        tuple(type_of(v.type) for v in op.operands),
        tuple(type_of(v.type) for v in op.results),
        attributes,
    )


def type_of(kind: Any) -> TensorType | None:
    from jaxlib.mlir import ir

    if not isinstance(kind, ir.RankedTensorType):
        return None
    sizes = tuple(None if kind.is_dynamic_dim(i) else kind.get_dim_size(i) for i in range(kind.rank))
    return TensorType(sizes, str(kind.element_type))


def value_of(attribute: Any) -> Any:
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    for name, fields in STRUCTS.items():
        struct = getattr(stablehlo, name)
        if struct.isinstance(attribute):
            typed = struct(attribute)
            values = {field: getattr(typed, field) for field in fields}
            return {RENAMED.get(f, f): tuple(v) if isinstance(v, list) else v for f, v in values.items()}
    if isinstance(attribute, ir.DenseI64ArrayAttr | ir.DenseBoolArrayAttr):
        return tuple(attribute)
    if isinstance(attribute, ir.DenseIntElementsAttr):
        shape = ir.RankedTensorType(attribute.type).shape
        flat = tuple(attribute)
        return (
            flat if len(shape) < 2 else tuple(flat[i : i + shape[1]] for i in range(0, len(flat), shape[1]))
        )
    if isinstance(attribute, ir.BoolAttr | ir.IntegerAttr | ir.StringAttr | ir.FlatSymbolRefAttr):
        return attribute.value
    text = str(attribute)
    keyword = re.fullmatch(r"#stablehlo<\w+ (\w+)>", text)
    return keyword.group(1) if keyword else text


def facts_of(op: Any) -> dict[str, Any]:
    """What rules take from the surroundings of an op, see docs/design/rules.md."""
    from jaxlib.mlir import ir

    def defined_by(value: Any) -> Any:
        return None if isinstance(value, ir.BlockArgument) else value.owner

    if op.name == "stablehlo.concatenate":
        slices = [defined_by(v) for v in op.operands]
        slices = [s if s and s.name == "stablehlo.slice" else None for s in slices]
        sources = [s.operands[0] if s else v for s, v in zip(slices, op.operands, strict=True)]
        same = all(s == sources[0] for s in sources)
        return {"context.concatenates_slices": all(slices) or (same and any(slices))}
    if op.name == "stablehlo.dynamic_update_slice":
        makers = [defined_by(v) for v in list(op.operands)[2:]]
        names = ("stablehlo.constant", "sdy.constant")
        return {"context.constant_indices": all(m and m.name in names for m in makers)}
    if op.name == "stablehlo.custom_call":
        users = [use.owner.name for result in op.results for use in result.uses]
        return {"context.feeds_rng_bit_generator": "stablehlo.rng_bit_generator" in users}
    return {"context.combiner": combiner_of(op)} if op.name == "stablehlo.scatter" else {}


def combiner_of(op: Any) -> str | None:
    """The op with which a scatter folds its updates, if it is one of those Shardy knows."""
    from jaxlib.mlir import ir

    block = op.regions[0].blocks[0]
    count = (len(op.operands) - 1) // 2
    returned = list(block.operations)[-1].operands
    names = set[str]()
    for index, value in enumerate(returned):
        if isinstance(value, ir.BlockArgument) or len(value.owner.operands) != 2:
            return None
        inner = value.owner
        arguments = {v.arg_number for v in inner.operands if isinstance(v, ir.BlockArgument)}
        if arguments != {index, index + count}:
            return None
        names.add(inner.name)
    (name,) = names if len(names) == 1 else ("",)
    logical = name in ("stablehlo.and", "stablehlo.or") and type_of(returned[0].type) == TensorType((), "i1")
    known = ("stablehlo.add", "stablehlo.multiply", "stablehlo.maximum", "stablehlo.minimum")
    return name if name in known or logical else None
