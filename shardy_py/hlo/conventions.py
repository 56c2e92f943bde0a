"""Conversions of HLO attributes to the StableHLO attributes that the op table reads.

Each takes an instruction and the shapes of its operands. Not here: which opcode has which (`opcodes.py`).
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable
from typing import Any

from shardy_py.hlo.values import Instruction, Shape

Shapes = tuple[Shape, ...]
Values = dict[str, Any]
Convert = Callable[[Instruction, Shapes], Values]

_ENTRY = re.compile(r"(\w+)(?:=(\w+)(?:\.(\w+))?(\[0\])?)?(?:\|(.+))?")


def renamed(text: str) -> Convert:
    """Returns a conversion that keeps the attributes in a text, some under other names.

    `k`: of the same name; `permutation=dimensions`: of another; `dimension=dimensions[0]`: its only entry.
    `padding=window.pad`, `limit_indices=slice.1`: a part of it, or of its entries. `lower|False`: with a
    default; without one, absent attributes are left out. `dimension_numbers{ ... }`: fields of an attribute.
    """
    entries: list[tuple[str, re.Match[str]]] = []
    structure = ""
    for word in text.split():
        if word == "}" or word.endswith("{"):
            structure = word[:-1]
        elif match := _ENTRY.fullmatch(word):
            entries.append((structure, match))

    def convert(instruction: Instruction, operands: Shapes) -> Values:
        values: Values = {structure: {} for structure, _ in entries if structure}
        for structure, match in entries:
            value = _value(instruction, match)
            if value is not None:
                (values[structure] if structure else values)[match[1]] = value
        return values

    return convert


def _value(instruction: Instruction, entry: re.Match[str]) -> Any:
    name, source, part, only, default = entry.groups()
    value = instruction.attributes.get(source or name)
    if value is not None and part:
        value = tuple(each[int(part)] for each in value) if part.isdigit() else value.get(part)
    if value is None:
        return literal_eval(default) if default else None
    return value[0] if only and isinstance(value, tuple) else value  # pyright: ignore[reportUnknownVariableType]


_WINDOW = renamed("""window_dimensions=window.size window_strides=window.stride padding=window.pad
    base_dilations=window.lhs_dilate window_dilations=window.rhs_dilate""")
_CONVOLUTION = renamed("""window_strides=window.stride padding=window.pad lhs_dilation=window.lhs_dilate
    rhs_dilation=window.rhs_dilate window_reversal=window.rhs_reversal
    feature_group_count|1 batch_group_count|1""")


def window(instruction: Instruction, operands: Shapes) -> Values:
    """The window of reduce-window and select-and-scatter; by default, of one element."""
    return {"window_dimensions": (1,) * len(operands[0].sizes)} | _WINDOW(instruction, operands)


def convolution(instruction: Instruction, operands: Shapes) -> Values:
    """The window, the groups, and the labels `b01f_01io->b01f` as numbers of dimensions."""
    lhs, _, rest = instruction.attributes["dim_labels"].partition("_")
    rhs, _, out = rest.partition("->")
    spatial = sorted(label for label in lhs if label.isdigit())
    sides = (("input", "batch", "b"), ("input", "feature", "f"), ("output", "batch", "b"))
    sides += (("output", "feature", "f"), ("kernel", "input_feature", "i"), ("kernel", "output_feature", "o"))
    texts = {"input": lhs, "kernel": rhs, "output": out}
    numbers: Values = {f"{side}_{what}_dimension": texts[side].index(mark) for side, what, mark in sides}
    for side, text in texts.items():
        numbers[f"{side}_spatial_dimensions"] = tuple(text.index(mark) for mark in spatial)
    return {"dimension_numbers": numbers} | _CONVOLUTION(instruction, operands)


_ALL_TO_ALL = renamed("split_dimension=dimensions[0] concat_dimension=dimensions[0]")


def all_to_all(instruction: Instruction, operands: Shapes) -> Values:
    """The dimension that is split, and over how many devices: its size if the groups are not listed."""
    values = _ALL_TO_ALL(instruction, operands)
    if "split_dimension" not in values:
        return values
    dimension: int = values["split_dimension"]
    count = operands[0].sizes[dimension]
    groups: Any = instruction.attributes.get("replica_groups")
    if groups and not isinstance(groups, str):
        count = len(groups[0])
    return values | {"split_count": count}


def bitcast(instruction: Instruction, operands: Shapes) -> Values:
    """Both layouts: a bitcast moves no bytes."""
    return {"operand_layout": operands[0].minor_to_major, "result_layout": instruction.shape.minor_to_major}
