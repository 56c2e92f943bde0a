"""The rows of HLO opcodes: the op of each in the op table, and the conversion of its attributes.

Elementwise opcodes follow from the op table (`arity`).

>>> OPCODES["exponential"].name, OPCODES["copy"].name
('stablehlo.exponential', 'hlo.copy')
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shardy_py.hlo.conventions import Convert, all_to_all, bitcast, convolution, renamed, window
from shardy_py.ops import TABLE, Control, OpSpec, names

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
    _row("scan", op="chlo.scan"),
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
