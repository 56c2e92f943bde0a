"""Custom calls, and opcodes that become some: StableHLO has no such op.

Not here: other opcodes with ops of their own (`unlike.py`).
"""

from __future__ import annotations

import re

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, IndexType
from xdsl.ir import Attribute

from shardy_py.base.errors import ShardyError
from shardy_py.hlo.text import Instruction, Shape
from shardy_py.hlo.text.frontend import unescaped
from shardy_py.hlo.text.values import read_shape
from shardy_py.hlo.to_stablehlo.body import ComputationOps, Handler, entries_of
from shardy_py.hlo.to_stablehlo.rows import groups
from shardy_py.hlo.to_stablehlo.special import spelled
from shardy_py.hlo.to_stablehlo.types import Tree, leaf_types, tree_of
from shardy_py.indexing.layout import HloCursor
from shardy_py.mlir.dialects.encoding import table
from shardy_py.mlir.dialects.stablehlo.attributes import OutputOperandAliasAttr
from shardy_py.mlir.dialects.stablehlo.structs import OutputOperandAlias
from shardy_py.mlir.text.dense import make_dense
from shardy_py.mlir.text.type_reader import ranked_tensor

_ALIAS = re.compile(r"\{([\d, ]*)\}\s*:\s*\((\d{1,9})\s*,\s*\{([\d, ]*)\}")


def layouts(body: ComputationOps, instruction: Instruction) -> dict[str, object]:
    """The layouts of operands and results, if they are constrained."""
    text = instruction.attributes.get("operand_layout_constraints")
    if text is None:
        return {}
    operands = HloCursor(str(text))
    given = operands.items(lambda: read_shape(operands), "{", "}")
    results = instruction.shape.leaves()
    leaves = (leaf for shape in given for leaf in shape.leaves())
    return {
        "operand_layouts": ArrayAttr([_layout(leaf) for leaf in leaves]),
        "result_layouts": ArrayAttr([_layout(leaf) for leaf in results]),
    }


def _layout(shape: Shape) -> Attribute:
    order = np.array(shape.minor_to_major, np.int64)
    return make_dense(ranked_tensor((len(order),), IndexType()), order.tobytes())


def aliases(text: str) -> list[OutputOperandAliasAttr]:
    """Which operands results share memory with: `{{0}: (1, {}, must-alias)}`.

    >>> aliases("{{0}: (1, {})}")[0].data
    OutputOperandAlias(output_tuple_indices=(0,), operand_index=1, operand_tuple_indices=())
    """
    return [
        OutputOperandAliasAttr(OutputOperandAlias(_indices(output), int(operand), _indices(within)))
        for output, operand, within in _ALIAS.findall(text)
    ]


def _indices(text: str) -> tuple[int, ...]:
    return tuple(int(word[:9]) for word in re.findall(r"\d+", text))


_API_VERSIONS = {
    "API_VERSION_UNSPECIFIED": 0,
    "API_VERSION_ORIGINAL": 1,
    "API_VERSION_STATUS_RETURNING": 2,
    "API_VERSION_STATUS_RETURNING_UNIFIED": 3,
    "API_VERSION_TYPED_FFI": 4,
}


def custom_call(body: ComputationOps, instruction: Instruction) -> Tree:
    """`custom_call` of all leaves."""
    attributes = instruction.attributes
    version = str(attributes.get("api_version", "API_VERSION_ORIGINAL"))
    if version not in _API_VERSIONS:
        raise ShardyError.unknown("api_version", version, _API_VERSIONS)
    number = _API_VERSIONS[version] or 1
    shared = aliases(str(attributes.get("output_to_operand_aliasing", "")))
    config, text = None, str(attributes.get("backend_config", ""))
    if text:
        text = unescaped(text[1:-1]) if text[0] == '"' else text
        config = spelled(text) if number == 4 and text.startswith("{") else text
    called = attributes.get("called_computations", ()) or attributes.get("calls", ())
    if "to_apply" in attributes:
        called = (attributes["to_apply"],)
    made: dict[str, object] = {
        "call_target_name": unescaped(attributes["custom_call_target"]),
        "backend_config": config,
        "api_version": number if number != 1 else None,
        "has_side_effect": attributes.get("custom_call_has_side_effect") or None,
        **layouts(body, instruction),
        "output_operand_aliases": ArrayAttr(shared) if shared else None,
        "called_computations": [body.program.function(name) for name in called] or None,
    }
    results = body.emitter.emit(
        "stablehlo.custom_call",
        body.leaves(instruction),
        leaf_types(instruction.shape),
        made,
        entries=entries_of(instruction),
    )
    return tree_of(instruction.shape, iter(results))


def foreign(body: ComputationOps, instruction: Instruction) -> Tree:
    """A custom call named as the opcode in HLO: StableHLO has no such op."""
    attributes = {
        "call_target_name": f"hlo.{instruction.opcode}",
        "has_side_effect": instruction.opcode in _WITH_EFFECTS or None,
    }
    operands, types = body.leaves(instruction), leaf_types(instruction.shape)
    results = body.emitter.emit(
        "stablehlo.custom_call", operands, types, attributes, entries=entries_of(instruction)
    )
    return tree_of(instruction.shape, iter(results))


_WITH_EFFECTS = frozenset({"rng-get-and-update-state"})


def ragged_all_to_all(body: ComputationOps, instruction: Instruction) -> Tree:
    """The custom call that JAX writes for it."""
    found = instruction.attributes
    entries: dict[str, object] = {"replica_groups": table(groups(instruction, ())["replica_groups"], 1)}
    if "channel_id" in found:
        entries["channel_id"] = found["channel_id"]
    results = body.emitter.emit(
        "stablehlo.custom_call",
        body.leaves(instruction),
        leaf_types(instruction.shape),
        {"call_target_name": "ragged_all_to_all", "api_version": 4, "backend_config": entries},
        entries=entries_of(instruction),
    )
    return tree_of(instruction.shape, iter(results))


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("rng-get-and-update-state", "stochastic-convert", "scaled-dot"), foreign),
    "custom-call": custom_call,
    "ragged-all-to-all": ragged_all_to_all,
}
"""The functions of opcodes."""
