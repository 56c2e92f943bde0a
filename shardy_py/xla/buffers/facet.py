"""How XLA's backends store the results of each op: what is fused with what, copied before, written over.

    STORED.of("stablehlo.transpose").is_fused

An op without a row has a buffer of its own, and nothing is fused into it. Where results lie, and how XLA
counts computing an op again, are columns of its row in `ops/` (`storage`, `memory`, `repeat`).
Source: openxla/xla, xla/service/instruction_fusion.cc, xla/service/cpu/cpu_instruction_fusion.cc.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, auto

from shardy_py.base.records import dataclass
from shardy_py.ops import Facet, Family


class Tiled(Enum):
    """The dimensions that TPUs have in tiles of what an op reads and makes.

    ANY: those with the least padding. ROWS: the last two, if it reads or writes whole rows. IMAGES: batch and
    features. SORTED: the one that is sorted in rows, if not in lanes.
    POOLED: those along which windows have one element.
    """

    ANY = auto()
    ROWS = auto()
    IMAGES = auto()
    SORTED = auto()
    POOLED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRow:
    """How XLA's backends treat an op.

    is_rewritten: whether copies are added to it before it runs (`canonical.py`).
    is_product: whether the host computes it in f32.
    keeps_layout_of: the operand whose layout XLA first infers for the result; each for its own of several.
    has_halo: whether slices of neighbours are put together with the operand; joins_halo: in memory of their
        own, on chips.

    On chips (`fusion.py`):
    is_fused: whether it is fused into others, and others into it. is_always_fused: into any.
    takes_plain: whether elementwise ops are fused into it, although it is not fused itself.
    takes_turned: whether only transposes are, on TPUs.
    is_free: whether the result is the operand under another name.
    holds_back: whether what reads a result runs after all operands are made.
    is_alone_on_tpu: whether nothing takes it in there, nor it others, as it has an emitter of its own.
    tiled: what TPUs have in tiles.
    is_constant: whether it is stored beside what the program computes.
    is_table: whether TPUs fetch it into VMEM in any case.
    counts_places: whether its elements are their places, which a device counts from an offset on.
    is_over_operands: whether TPUs make each result over its operand, unless that is a copy in VMEM.
    sums_shifted: whether TPUs store what it reads with the sums of its results (`shifted.py`).
    divides: whether it takes TPUs as long as a division does (`fusion_costs.py`).

    On the host (`host_fusion.py`):
    is_pointwise: whether it counts as elementwise for all types. is_movable: whether it is fused although it
        moves, repeats or reduces elements.
    is_conditional: whether its code has branches or loops: it is in a fusion only once.
    is_in_library: whether a reduction of the library computes it; None: if it is elementwise.
    is_wide: whether it runs in f32 instead of bf16. stays_narrow: whether it does so only in older releases.
    repeats_others: whether it reads elements of other operands than the first repeatedly.
    stays_in_loops: whether it is moved out of a loop only with an op that reads it (`host_invariants.py`).
    """

    is_rewritten: bool = False
    is_product: bool = False
    keeps_layout_of: int | None = None
    has_halo: bool = False
    joins_halo: bool = False
    is_fused: bool = False
    is_always_fused: bool = False
    takes_plain: bool = False
    takes_turned: bool = False
    is_free: bool = False
    holds_back: bool = False
    is_alone_on_tpu: bool = False
    tiled: Tiled = Tiled.ANY
    is_constant: bool = False
    is_table: bool = False
    counts_places: bool = False
    is_over_operands: bool = False
    sums_shifted: bool = False
    divides: bool = False
    is_pointwise: bool = False
    is_movable: bool = False
    is_conditional: bool = False
    is_in_library: bool | None = None
    is_wide: bool = False
    stays_narrow: bool = False
    repeats_others: bool = False
    stays_in_loops: bool = False


_STORED = StoredRow()
_ELEMENTWISE = StoredRow(is_fused=True, is_pointwise=True, keeps_layout_of=0)
_ORDERED = replace(_ELEMENTWISE, stays_narrow=True)
_NOT_IN_LIBRARY = StoredRow(is_fused=True, is_pointwise=True, is_in_library=False, keeps_layout_of=0)
_CHOSEN = replace(_NOT_IN_LIBRARY, keeps_layout_of=1, stays_narrow=True)
_MOVED = StoredRow(is_fused=True, is_movable=True)
_IN_LIBRARY = StoredRow(is_fused=True, is_movable=True, is_in_library=True, stays_in_loops=True)
_PRODUCT = StoredRow(is_rewritten=True, is_product=True)
_WINDOWED = StoredRow(has_halo=True, joins_halo=True, is_wide=True)

STORED = Facet(
    "storage of",
    _STORED,
    {Family.ELEMENTWISE: _ELEMENTWISE, Family.MOVEMENT: _MOVED, Family.WINDOW: _WINDOWED},
    {
        "stablehlo.constant": StoredRow(is_fused=True, is_always_fused=True, stays_in_loops=True),
        "sdy.constant": StoredRow(is_constant=True),
        "hlo.table": StoredRow(is_constant=True, is_table=True),
        "stablehlo.iota": replace(_IN_LIBRARY, counts_places=True),
        **dict.fromkeys(
            (
                *("stablehlo.and", "stablehlo.compare", "stablehlo.not", "stablehlo.or"),
                *("stablehlo.remainder", "stablehlo.xor"),
            ),
            _NOT_IN_LIBRARY,
        ),
        **dict.fromkeys(
            (
                *("stablehlo.abs", "stablehlo.maximum", "stablehlo.minimum", "stablehlo.negate"),
                "stablehlo.sign",
            ),
            _ORDERED,
        ),
        "stablehlo.exponential": replace(_ELEMENTWISE, sums_shifted=True),
        **dict.fromkeys(
            ("chlo.erf", "chlo.erfc", "stablehlo.divide", "stablehlo.logistic"),
            replace(_ELEMENTWISE, divides=True),
        ),
        "stablehlo.complex": replace(_ELEMENTWISE, is_alone_on_tpu=True),
        **dict.fromkeys(("stablehlo.imag", "stablehlo.real"), replace(_NOT_IN_LIBRARY, is_alone_on_tpu=True)),
        "stablehlo.clamp": _CHOSEN,
        "stablehlo.select": _CHOSEN,
        "stablehlo.bitcast_convert": _ELEMENTWISE,
        "stablehlo.broadcast": replace(_STORED, stays_in_loops=True),
        "stablehlo.set_dimension_size": _STORED,
        "hlo.copy": StoredRow(is_movable=True),
        "stablehlo.optimization_barrier": StoredRow(holds_back=True, keeps_layout_of=0),
        "hlo.opt-barrier": StoredRow(holds_back=True, keeps_layout_of=0),
        "stablehlo.transpose": _IN_LIBRARY,
        "stablehlo.broadcast_in_dim": _IN_LIBRARY,
        "stablehlo.reshape": replace(_IN_LIBRARY, is_free=True, is_alone_on_tpu=True),
        "stablehlo.slice": StoredRow(is_fused=True, is_movable=True, has_halo=True, stays_in_loops=True),
        "stablehlo.reverse": StoredRow(
            is_fused=True, is_movable=True, has_halo=True, keeps_layout_of=0, stays_in_loops=True
        ),
        "stablehlo.concatenate": StoredRow(
            is_fused=True, is_movable=True, has_halo=True, is_conditional=True
        ),
        "stablehlo.pad": StoredRow(
            is_fused=True,
            is_movable=True,
            has_halo=True,
            is_conditional=True,
            is_in_library=True,
            repeats_others=True,
        ),
        "stablehlo.dynamic_slice": StoredRow(
            is_fused=True, is_movable=True, is_wide=True, stays_narrow=True, repeats_others=True
        ),
        "stablehlo.dynamic_update_slice": StoredRow(is_movable=True, is_conditional=True),
        "stablehlo.gather": StoredRow(
            is_fused=True, is_movable=True, repeats_others=True, is_alone_on_tpu=True, tiled=Tiled.ROWS
        ),
        "stablehlo.scatter": StoredRow(is_wide=True, stays_narrow=True, tiled=Tiled.ROWS),
        "stablehlo.sort": StoredRow(
            is_wide=True, stays_narrow=True, is_over_operands=True, tiled=Tiled.SORTED
        ),
        "stablehlo.reduce": StoredRow(
            takes_plain=True, is_movable=True, is_conditional=True, repeats_others=True
        ),
        "stablehlo.dot_general": _PRODUCT,
        "stablehlo.convolution": StoredRow(
            is_rewritten=True, is_product=True, has_halo=True, joins_halo=True, tiled=Tiled.IMAGES
        ),
        "stablehlo.reduce_window": StoredRow(
            has_halo=True, joins_halo=True, is_wide=True, is_conditional=True, takes_turned=True
        ),
        "stablehlo.select_and_scatter": StoredRow(
            is_rewritten=True,
            has_halo=True,
            joins_halo=True,
            is_wide=True,
            stays_narrow=True,
            tiled=Tiled.POOLED,
        ),
    },
)


def host_row(kind: str) -> StoredRow:
    """Returns the row of an op as HLO names it, without its dialect."""
    return STORED.of("hlo.copy" if kind == "copy" else f"stablehlo.{kind}")
