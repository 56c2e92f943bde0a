"""One row an HLO opcode: its op in StableHLO's terms, and how its attributes become that op's.

>>> OPCODES["exponential"].name, OPCODES["copy"].name
('stablehlo.exponential', 'hlo.copy')
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from shardy_py.hlo import conventions as c
from shardy_py.hlo.values import Instruction, Shape

Form = Literal["op", "wires", "call", "branches", "loop"]
ANY = 1 << 30


@dataclass(frozen=True)
class Opcode:
    """One row.

    opcode: as in HLO text.
    name: of the op whose maps are its maps; "hlo." and the opcode if StableHLO has none.
    convert: its attributes under StableHLO's names.
    needs: attributes without which the instruction means nothing.
    operands: the least and greatest number of operands.
    form: "op" computes; "wires" hands on values of its operands (tuples and the like); "call", "branches"
        and "loop" run other computations.
    """

    opcode: str
    name: str
    convert: Callable[[Instruction, tuple[Shape, ...]], dict[str, Any]] = c.nothing
    needs: tuple[str, ...] = ()
    operands: tuple[int, int] = (0, ANY)
    form: Form = "op"


def _plain(text: str, operands: int, renamed: dict[str, str] | None = None) -> tuple[Opcode, ...]:
    """Rows of ops without attributes that matter; `-` becomes `_`."""
    given = renamed or {}
    return tuple(
        Opcode(word, given.get(word, "stablehlo." + word.replace("-", "_")), operands=(operands, operands))
        for word in text.split()
    )


def _row(
    opcode: str,
    convert: Callable[[Instruction, tuple[Shape, ...]], dict[str, Any]] = c.nothing,
    needs: str = "",
    operands: tuple[int, int] = (0, ANY),
    name: str = "",
    form: Form = "op",
) -> Opcode:
    op = name or "stablehlo." + opcode.replace("-", "_")
    return Opcode(opcode, op, convert, tuple(needs.split()), operands, form)


_UNARY = """abs acos acosh asin asinh atanh cbrt ceil convert copy cosh count-leading-zeros cosine erf
    exponential exponential-minus-one floor imag is-finite log log-plus-one logistic negate not popcnt real
    reduce-precision round-nearest-afz round-nearest-even rsqrt sign sine sinh sqrt tan tanh domain"""
_UNARY_NAMES = {
    "acos": "chlo.acos",
    "acosh": "chlo.acosh",
    "asin": "chlo.asin",
    "asinh": "chlo.asinh",
    "atanh": "chlo.atanh",
    "cosh": "chlo.cosh",
    "sinh": "chlo.sinh",
    "erf": "chlo.erf",
    "copy": "hlo.copy",
    "domain": "hlo.domain",
}
_BINARY = """add and atan2 complex compare divide maximum minimum mulhi multiply or power remainder shift-left
    shift-right-arithmetic shift-right-logical subtract xor stochastic-convert"""
_BINARY_NAMES = {"mulhi": "chlo.mulhi", "stochastic-convert": "hlo.stochastic-convert"}
_RANKED = (1, 1)
_PAIR = (2, 2)

_ROWS: tuple[Opcode, ...] = (
    *_plain(_UNARY, 1, _UNARY_NAMES),
    *_plain(_BINARY, 2, _BINARY_NAMES),
    *_plain("clamp select", 3),
    # nothing to read, or a value of the machine
    *_plain("constant parameter partition-id replica-id", 0, {"parameter": "hlo.parameter"}),
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
    # folds and products
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
    # between devices
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
    # values handed on
    _row("tuple", form="wires"),
    _row("get-tuple-element", c.kept("index"), "index", _RANKED, form="wires"),
    _row("opt-barrier", name="hlo.opt-barrier", form="wires"),
    _row("add-dependency", operands=_PAIR, name="hlo.add-dependency", form="wires"),
    _row("after-all"),
    # other computations
    _row("call", needs="to_apply", form="call", name="func.call"),
    _row("fusion", needs="calls", form="call", name="hlo.fusion"),
    _row("async", form="call", name="hlo.async"),
    _row("conditional", operands=(2, ANY), name="stablehlo.case", form="branches"),
    _row("while", needs="condition body", operands=_RANKED, form="loop"),
)
OPCODES: dict[str, Opcode] = {row.opcode: row for row in _ROWS}
"""All opcodes; `X-start`, `X-update` and `X-done` follow from X."""
