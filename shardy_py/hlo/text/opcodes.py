"""The rows of HLO opcodes: the op of each in the op table, and how its attributes become StableHLO's.

Elementwise opcodes follow from the op table (`arity`). A conversion takes an instruction and the shapes of
its operands.

>>> OPCODES["exponential"].name, OPCODES["copy"].name
('stablehlo.exponential', 'hlo.copy')
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Iterator
from typing import Any, Literal

from shardy_py.base.records import dataclass
from shardy_py.hlo.text.values import Instruction, Shape
from shardy_py.ops import TABLE, Control, OpSpec, names

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


def _value(instruction: Instruction, entry: re.Match[str]) -> object:
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


Form = Literal["op", "wires", "call", "branches", "loop"]
Counts = tuple[int, int]
ANY = 1 << 30
_FORMS: dict[Control, Form] = {Control.CALL: "call", Control.BRANCHES: "branches", Control.LOOP: "loop"}


@dataclass(frozen=True)
class Opcode:
    """One row.

    opcode: as in HLO text.
    name: of its row in the op table; "hlo." and the opcode if StableHLO has no such op.
    convert: returns its attributes under StableHLO's names.
    needs: required attributes.
    operands: the least and greatest number of operands.
    """

    opcode: str
    name: str
    convert: Convert
    needs: tuple[str, ...] = ()
    operands: Counts = (0, ANY)

    @property
    def form(self) -> Form:
        """ "op" computes, "wires" passes values of its operands on, the others run other computations."""
        row = TABLE[self.name]
        return "wires" if row.is_wire else _FORMS.get(row.control, "op")

    def faults(self, instruction: Instruction) -> Iterator[str]:
        """The faults that conversions do not expect: missing attributes, another number of operands."""
        for name in self.needs:
            if name not in instruction.attributes:
                yield f"'{instruction.opcode}' requires the attribute '{name}'"
        least, most = self.operands
        if not least <= len(instruction.operands) <= most:
            count = f"{least}" if least == most else f"at least {least}"
            yield f"'{instruction.opcode}': expected {count} operands, got {len(instruction.operands)}"


def _row(
    opcode: str, convert: Convert | str = "", needs: str = "", operands: Counts = (0, ANY), op: str = ""
) -> Opcode:
    name = op or "stablehlo." + opcode.replace("-", "_")
    return Opcode(
        opcode, name, renamed(convert) if isinstance(convert, str) else convert, names(needs), operands
    )


def _plain(opcodes: str, operands: Counts = (0, ANY), dialect: str = "") -> tuple[Opcode, ...]:
    """Rows without attributes; with a dialect, the ops have the opcode's name in it."""
    return tuple(
        _row(opcode, operands=operands, op=f"{dialect}.{opcode}" if dialect else "")
        for opcode in opcodes.split()
    )


def elementwise_opcode(row: OpSpec) -> Opcode:
    """Returns the row of the opcode of an elementwise op, one whose row states its arity."""
    return _row(row.name.partition(".")[2].replace("_", "-"), operands=(row.arity, row.arity), op=row.name)


_ONE, _PAIR, _SOME = (1, 1), (2, 2), (1, ANY)

_ROWS: tuple[Opcode, ...] = (
    *(elementwise_opcode(row) for row in TABLE.values() if row.arity),
    *_plain("all-reduce iota rng infeed outfeed send recv tuple after-all"),
    *_plain("constant partition-id replica-id", (0, 0)),
    *_plain("rng-bit-generator bitcast-convert reshape", _ONE),
    *_plain("dynamic-reshape map collective-broadcast collective-permute", _SOME),
    *_plain("dynamic-update-slice", (2, ANY)),
    *_plain("rng-get-and-update-state send-done recv-done opt-barrier async", dialect="hlo"),
    *_plain("parameter", (0, 0), "hlo"),
    *_plain("ragged-all-to-all", _SOME, "hlo"),
    *_plain("scaled-dot", (2, ANY), "hlo"),
    *_plain("add-dependency", _PAIR, "hlo"),
    # movement
    _row("bitcast", bitcast, operands=_ONE, op="hlo.bitcast"),
    _row("broadcast", "broadcast_dimensions=dimensions|()", "", _ONE, "stablehlo.broadcast_in_dim"),
    _row("concatenate", "dimension=dimensions[0]", "dimensions", _SOME),
    _row("reverse", "dimensions", "dimensions", _ONE),
    _row(
        "pad",
        "edge_padding_low=padding.0 edge_padding_high=padding.1 interior_padding=padding.2",
        "padding",
        _PAIR,
    ),
    _row("slice", "start_indices=slice.0 limit_indices=slice.1 strides=slice.2", "slice", _ONE),
    _row("transpose", "permutation=dimensions", "dimensions", _ONE),
    _row("get-dimension-size", "dimension=dimensions[0]", "dimensions", _ONE),
    _row("set-dimension-size", "dimension=dimensions[0]", "dimensions", _PAIR),
    # indexed
    _row("dynamic-slice", "dynamic_slice_sizes", "", _SOME),
    _row(
        "gather",
        """dimension_numbers{ offset_dims collapsed_slice_dims operand_batching_dims
        start_indices_batching_dims start_index_map index_vector_dim } slice_sizes""",
        "start_index_map index_vector_dim slice_sizes",
        _PAIR,
    ),
    _row(
        "scatter",
        """scatter_dimension_numbers{ update_window_dims inserted_window_dims input_batching_dims
        scatter_indices_batching_dims scatter_dims_to_operand_dims index_vector_dim }""",
        "scatter_dims_to_operand_dims index_vector_dim to_apply",
        (3, ANY),
    ),
    # reductions and products
    _row(
        "dot",
        """dot_dimension_numbers{ lhs_batching_dimensions=lhs_batch_dims|()
        rhs_batching_dimensions=rhs_batch_dims|() lhs_contracting_dimensions=lhs_contracting_dims|()
        rhs_contracting_dimensions=rhs_contracting_dims|() }""",
        "",
        (2, ANY),
        "stablehlo.dot_general",
    ),
    _row("ragged-dot", operands=(3, ANY), op="chlo.ragged_dot"),
    _row("convolution", convolution, "dim_labels", _PAIR),
    _row("reduce", "dimensions|()", "to_apply", (2, ANY)),
    _row("reduce-window", window, "to_apply", (2, ANY)),
    _row("select-and-scatter", window, "", (3, 3)),
    _row("sort", "dimension=dimensions[0]|0", "", _SOME),
    _row("topk", "k", "", _ONE, "chlo.top_k"),
    _row(
        "scan",
        "dimension=dimensions[0]|0 is_reverse is_associative",
        "to_apply num_carries",
        op="chlo.scan",
    ),
    _row("cholesky", "lower|False", "", _ONE),
    _row("fft", "fft_type fft_length", "fft_length", _ONE),
    _row(
        "triangular-solve",
        "left_side|False lower|False unit_diagonal|False transpose_a|'NO_TRANSPOSE'",
        "",
        _PAIR,
    ),
    _row("batch-norm-grad", "feature_index", "feature_index", (5, 5)),
    _row("batch-norm-inference", "feature_index", "feature_index", (5, 5)),
    _row("batch-norm-training", "feature_index", "feature_index", (3, 3)),
    # communication
    _row("all-gather", "all_gather_dim=dimensions[0]", "dimensions", _SOME),
    _row("all-to-all", all_to_all, "", _SOME),
    _row("reduce-scatter", "scatter_dimension=dimensions[0]", "dimensions", _SOME),
    _row("custom-call", "call_target_name=custom_call_target", "custom_call_target"),
    # tuples and calls
    _row("get-tuple-element", "index", "index", _ONE),
    _row("call", needs="to_apply", op="func.call"),
    _row("fusion", needs="calls", op="hlo.fusion"),
    _row("conditional", operands=(2, ANY), op="stablehlo.case"),
    _row("while", needs="condition body", operands=_ONE),
)
OPCODES: dict[str, Opcode] = {row.opcode: row for row in _ROWS}
"""All opcodes; `X-start`, `X-update` and `X-done` are those of X."""


def is_opcode(text: str) -> bool:
    """Returns whether HLO has that opcode; `X-start`, `X-update` and `X-done` of any opcode X count.

    >>> is_opcode("all-gather-done"), is_opcode("gathered")
    (True, False)
    """
    stem, _, last = text.rpartition("-")
    return text in OPCODES or (last in ("start", "update", "done") and stem in OPCODES)
