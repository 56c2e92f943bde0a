"""The rows of HLO opcodes: the op of each in the op table, and the conversion of its attributes.

Elementwise opcodes follow from the op table (`arity`).

>>> OPCODES["exponential"].name, OPCODES["copy"].name
('stablehlo.exponential', 'hlo.copy')
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from shardy_py.hlo import conventions as c
from shardy_py.hlo.values import Instruction, Shape
from shardy_py.ops import TABLE, Control

Form = Literal["op", "wires", "call", "branches", "loop"]
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
    convert: Callable[[Instruction, tuple[Shape, ...]], dict[str, Any]] = c.nothing
    needs: tuple[str, ...] = ()
    operands: tuple[int, int] = (0, ANY)

    @property
    def form(self) -> Form:
        """ "op" computes, "wires" passes values of its operands on, the others run other computations."""
        row = TABLE[self.name]
        return "wires" if row.is_wire else _FORMS.get(row.control, "op")


def _row(
    opcode: str,
    convert: Callable[[Instruction, tuple[Shape, ...]], dict[str, Any]] = c.nothing,
    needs: str = "",
    operands: tuple[int, int] = (0, ANY),
    name: str = "",
) -> Opcode:
    op = name or "stablehlo." + opcode.replace("-", "_")
    return Opcode(opcode, op, convert, tuple(needs.split()), operands)


_RANKED = (1, 1)
_PAIR = (2, 2)

_ROWS: tuple[Opcode, ...] = (
    *(
        _row(row.name.partition(".")[2].replace("_", "-"), operands=(row.arity, row.arity), name=row.name)
        for row in TABLE.values()
        if row.arity
    ),
    # no operands, or values of the device
    _row("constant", operands=(0, 0)),
    _row("parameter", operands=(0, 0), name="hlo.parameter"),
    _row("partition-id", operands=(0, 0)),
    _row("replica-id", operands=(0, 0)),
    _row("iota"),
    _row("rng"),
    _row("rng-bit-generator", operands=_RANKED),
    _row("rng-get-and-update-state", name="hlo.rng-get-and-update-state"),
    # movement
    _row("bitcast", c.bitcast, operands=_RANKED, name="hlo.bitcast"),
    _row("bitcast-convert", operands=_RANKED),
    _row("broadcast", c.broadcast, operands=_RANKED, name="stablehlo.broadcast_in_dim"),
    _row("concatenate", c.one_dimension("dimension"), "dimensions", (1, ANY)),
    _row("dynamic-reshape", operands=(1, ANY)),
    _row("reshape", operands=_RANKED),
    _row("reverse", c.dimensions, "dimensions", _RANKED),
    _row("pad", c.pad, "padding", _PAIR),
    _row("slice", c.slice_, "slice", _RANKED),
    _row("transpose", c.transpose, "dimensions", _RANKED),
    _row("get-dimension-size", c.one_dimension("dimension"), "dimensions", _RANKED),
    _row("set-dimension-size", c.one_dimension("dimension"), "dimensions", _PAIR),
    # indexed
    _row("dynamic-slice", c.kept("dynamic_slice_sizes"), "", (1, ANY)),
    _row("dynamic-update-slice", operands=(2, ANY)),
    _row("gather", c.gather, "start_index_map index_vector_dim slice_sizes", _PAIR),
    _row("scatter", c.scatter, "scatter_dims_to_operand_dims index_vector_dim to_apply", (3, ANY)),
    # reductions and products
    _row("dot", c.dot, operands=(2, ANY), name="stablehlo.dot_general"),
    _row("ragged-dot", operands=(3, ANY), name="chlo.ragged_dot"),
    _row("scaled-dot", operands=(2, ANY), name="hlo.scaled-dot"),
    _row("convolution", c.convolution, "dim_labels", _PAIR),
    _row("reduce", c.dimensions, "to_apply", (2, ANY)),
    _row("reduce-window", c.window, "to_apply", (2, ANY)),
    _row("select-and-scatter", c.window, "", (3, 3)),
    _row("map", operands=(1, ANY)),
    _row("sort", c.one_dimension("dimension"), "", (1, ANY)),
    _row("topk", c.kept("k"), "", _RANKED, name="chlo.top_k"),
    _row("scan", name="chlo.scan"),
    _row("cholesky", operands=_RANKED),
    _row("fft", c.kept("fft_type", "fft_length"), "fft_length", _RANKED),
    _row("triangular-solve", c.triangular_solve, "", _PAIR),
    _row("batch-norm-grad", c.kept("feature_index"), "feature_index", (5, 5)),
    _row("batch-norm-inference", c.kept("feature_index"), "feature_index", (5, 5)),
    _row("batch-norm-training", c.kept("feature_index"), "feature_index", (3, 3)),
    # communication
    _row("all-gather", c.one_dimension("all_gather_dim"), "dimensions", (1, ANY)),
    _row("all-reduce", operands=(0, ANY)),
    _row("all-to-all", c.all_to_all, "", (1, ANY)),
    _row("ragged-all-to-all", operands=(1, ANY), name="hlo.ragged-all-to-all"),
    _row("collective-broadcast", operands=(1, ANY)),
    _row("collective-permute", operands=(1, ANY)),
    _row("reduce-scatter", c.one_dimension("scatter_dimension"), "dimensions", (1, ANY)),
    _row("infeed"),
    _row("outfeed"),
    _row("send"),
    _row("send-done", name="hlo.send-done"),
    _row("recv"),
    _row("recv-done", name="hlo.recv-done"),
    _row("custom-call", c.custom_call, "custom_call_target"),
    # wires
    _row("tuple"),
    _row("get-tuple-element", c.kept("index"), "index", _RANKED),
    _row("opt-barrier", name="hlo.opt-barrier"),
    _row("add-dependency", operands=_PAIR, name="hlo.add-dependency"),
    _row("after-all"),
    # calls
    _row("call", needs="to_apply", name="func.call"),
    _row("fusion", needs="calls", name="hlo.fusion"),
    _row("async", name="hlo.async"),
    _row("conditional", operands=(2, ANY), name="stablehlo.case"),
    _row("while", needs="condition body", operands=_RANKED),
)
OPCODES: dict[str, Opcode] = {row.opcode: row for row in _ROWS}
"""All opcodes; `X-start`, `X-update` and `X-done` are those of X."""
