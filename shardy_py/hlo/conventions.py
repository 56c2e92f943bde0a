"""Conversions of HLO attributes to the StableHLO attributes that the op table reads.

Each takes an instruction and the shapes of its operands. Not here: which opcode has which (`opcodes.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shardy_py.hlo.values import Instruction, Shape

Shapes = tuple[Shape, ...]
Values = dict[str, Any]


def nothing(instruction: Instruction, operands: Shapes) -> Values:
    """No attributes."""
    return {}


def transpose(instruction: Instruction, operands: Shapes) -> Values:
    """`dimensions` is the permutation."""
    return {"permutation": instruction.attributes["dimensions"]}


def broadcast(instruction: Instruction, operands: Shapes) -> Values:
    """`dimensions` names the result dimension of each operand dimension."""
    return {"broadcast_dimensions": instruction.attributes.get("dimensions", ())}


def dimensions(instruction: Instruction, operands: Shapes) -> Values:
    """`dimensions` unchanged."""
    return {"dimensions": instruction.attributes.get("dimensions", ())}


def slice_(instruction: Instruction, operands: Shapes) -> Values:
    """Starts, limits and strides as separate tuples."""
    triples = instruction.attributes["slice"]
    columns = tuple(zip(*triples, strict=True)) or ((), (), ())
    return dict(zip(("start_indices", "limit_indices", "strides"), columns, strict=True))


def pad(instruction: Instruction, operands: Shapes) -> Values:
    """Low, high and interior padding as separate tuples."""
    columns = tuple(zip(*instruction.attributes["padding"], strict=True)) or ((), (), ())
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    return dict(zip(names, columns, strict=True))


def one_dimension(name: str, source: str = "dimensions") -> Any:
    """Returns a conversion of the only entry of `source` to attribute `name`; 0 if absent."""

    def convert(instruction: Instruction, operands: Shapes) -> Values:
        value = instruction.attributes.get(source, (0,))
        return {name: value[0] if isinstance(value, tuple) else value}

    return convert


def dot(instruction: Instruction, operands: Shapes) -> Values:
    """Batch and contracted dimensions as a structure."""
    given = instruction.attributes
    fields = {
        "lhs_batching_dimensions": "lhs_batch_dims",
        "rhs_batching_dimensions": "rhs_batch_dims",
        "lhs_contracting_dimensions": "lhs_contracting_dims",
        "rhs_contracting_dimensions": "rhs_contracting_dims",
    }
    return {"dot_dimension_numbers": {field: given.get(name, ()) for field, name in fields.items()}}


def _window(instruction: Instruction, names: Mapping[str, str]) -> Values:
    given = instruction.attributes.get("window", {})
    return {to: given[word] for word, to in names.items() if word in given}


_REDUCE_WINDOW = {
    "size": "window_dimensions",
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "base_dilations",
    "rhs_dilate": "window_dilations",
}
_CONVOLUTION = {
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
    "rhs_reversal": "window_reversal",
}


def window(instruction: Instruction, operands: Shapes) -> Values:
    """The window of reduce-window and select-and-scatter; by default, of one element."""
    return {"window_dimensions": (1,) * len(operands[0].sizes)} | _window(instruction, _REDUCE_WINDOW)


def convolution(instruction: Instruction, operands: Shapes) -> Values:
    """The window, the groups, and the labels `b01f_01io->b01f` as numbers of dimensions."""
    given = instruction.attributes
    lhs, _, rest = given["dim_labels"].partition("_")
    rhs, _, out = rest.partition("->")
    spatial = sorted(label for label in lhs if label.isdigit())
    sides = (("input", "batch", "b"), ("input", "feature", "f"), ("output", "batch", "b"))
    sides += (("output", "feature", "f"), ("kernel", "input_feature", "i"), ("kernel", "output_feature", "o"))
    texts = {"input": lhs, "kernel": rhs, "output": out}
    numbers: Values = {f"{side}_{what}_dimension": texts[side].index(mark) for side, what, mark in sides}
    for side, text in texts.items():
        numbers[f"{side}_spatial_dimensions"] = tuple(text.index(mark) for mark in spatial)
    groups = {name: given.get(name, 1) for name in ("feature_group_count", "batch_group_count")}
    return {"dimension_numbers": numbers} | groups | _window(instruction, _CONVOLUTION)


def _numbers(instruction: Instruction, names: str) -> Values:
    return {name: instruction.attributes[name] for name in names.split() if name in instruction.attributes}


def gather(instruction: Instruction, operands: Shapes) -> Values:
    """The dimension numbers as a structure."""
    names = """offset_dims collapsed_slice_dims operand_batching_dims start_indices_batching_dims
        start_index_map index_vector_dim"""
    return {
        "dimension_numbers": _numbers(instruction, names),
        "slice_sizes": instruction.attributes["slice_sizes"],
    }


def scatter(instruction: Instruction, operands: Shapes) -> Values:
    """The dimension numbers as a structure."""
    names = """update_window_dims inserted_window_dims input_batching_dims scatter_indices_batching_dims
        scatter_dims_to_operand_dims index_vector_dim"""
    return {"scatter_dimension_numbers": _numbers(instruction, names)}


def triangular_solve(instruction: Instruction, operands: Shapes) -> Values:
    """The flags, with their defaults."""
    given = instruction.attributes
    flags = {name: given.get(name, False) for name in ("left_side", "lower", "unit_diagonal")}
    return flags | {"transpose_a": given.get("transpose_a", "NO_TRANSPOSE")}


def all_to_all(instruction: Instruction, operands: Shapes) -> Values:
    """One dimension is split and joined; without one, whole operands are exchanged."""
    along = instruction.attributes.get("dimensions")
    return {"split_dimension": along[0], "concat_dimension": along[0]} if along else {}


def bitcast(instruction: Instruction, operands: Shapes) -> Values:
    """Both layouts: a bitcast moves no bytes."""
    return {"operand_layout": operands[0].minor_to_major, "result_layout": instruction.shape.minor_to_major}


def custom_call(instruction: Instruction, operands: Shapes) -> Values:
    """The target."""
    return {"call_target_name": instruction.attributes["custom_call_target"]}


def kept(*names: str) -> Any:
    """Returns a conversion that keeps the names of attributes."""

    def convert(instruction: Instruction, operands: Shapes) -> Values:
        return _numbers(instruction, " ".join(names))

    return convert
