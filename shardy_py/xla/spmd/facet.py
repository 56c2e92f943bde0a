"""How XLA's partitioner treats each op: what it sends, and the patterns that it recognizes.

    sent_row(record).plan(application)

As in XLA, elementwise ops share a handler, and an op without one gets whole operands on every device. Not
here: the handlers (`handlers.py`), the program around the op (`walk.py`).
"""

from __future__ import annotations

from dataclasses import replace

from shardy_py.base.records import dataclass
from shardy_py.ops import Facet, Family, OpRecord, row_name
from shardy_py.ops.custom_calls import CALL, MATRIX
from shardy_py.xla.spmd import handlers as plans
from shardy_py.xla.spmd.application import Application, Handler
from shardy_py.xla.spmd.indexed_handlers import gather, scatter
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.patterns import (
    PatternRole,
    Recognizer,
    rotation_of_slices,
    slice_of_padding,
    wrap_of_slices,
)


@dataclass(frozen=True, slots=True)
class SentRow:
    """How XLA's partitioner treats an op.

    plan: the results in the tilings that are wanted, with all that is sent for them.
    is_product: whether operands lose the order of mesh axes in their tilings, also for later ops; results
        have the tilings that `plan` gives them.
    needs_all: whether each result needs all operands.
    patterns: those that it may end. part: what it may be in one; equal slices are one tensor, which is
        resharded once.
    """

    plan: Handler
    is_product: bool = False
    needs_all: bool = False
    patterns: tuple[Recognizer, ...] = ()
    part: PatternRole | None = None


_WHOLE = SentRow(plans.whole)
_ELEMENTWISE = SentRow(plans.elementwise_op)
_EXPLICIT = SentRow(plans.explicit)
_CONSTANT = SentRow(plans.constant)
_IN_PLACE = SentRow(plans.in_place)
_MATRICES = SentRow(plans.matrices)
_BARRIER = SentRow(plans.copies, needs_all=True)

SENT = Facet(
    "what XLA's partitioner sends for",
    _WHOLE,
    {Family.ELEMENTWISE: _ELEMENTWISE, Family.COLLECTIVE: _EXPLICIT},
    {
        "stablehlo.constant": _CONSTANT,
        "sdy.constant": _CONSTANT,
        "stablehlo.rng": SentRow(plans.rng),
        "stablehlo.dot_general": SentRow(plans.dot_general, is_product=True),
        "stablehlo.dot": SentRow(plans.dot, is_product=True),
        "chlo.ragged_dot": SentRow(plans.ragged_dot),
        "stablehlo.convolution": SentRow(plans.convolution, is_product=True),
        "stablehlo.transpose": SentRow(plans.transpose),
        "stablehlo.reshape": SentRow(plans.reshape),
        "stablehlo.bitcast_convert": SentRow(plans.bitcast_convert),
        "stablehlo.broadcast_in_dim": SentRow(plans.broadcast_in_dim),
        "stablehlo.reduce": SentRow(plans.reduce),
        "stablehlo.slice": SentRow(plans.slice_, patterns=(slice_of_padding,), part=PatternRole.SLICE),
        "stablehlo.pad": SentRow(plans.pad, part=PatternRole.PAD),
        "stablehlo.concatenate": SentRow(plans.concatenate, patterns=(rotation_of_slices, wrap_of_slices)),
        "stablehlo.reverse": SentRow(plans.reverse),
        "stablehlo.dynamic_slice": SentRow(plans.dynamic_slice),
        "stablehlo.dynamic_update_slice": SentRow(plans.dynamic_update_slice),
        "stablehlo.custom_call": SentRow(plans.custom_call),
        "stablehlo.custom_call@TopK": SentRow(plans.top_k),
        **dict.fromkeys((f"{CALL}@{target}" for target in MATRIX), SentRow(plans.matrix_call)),
        "stablehlo.fft": SentRow(plans.fft),
        "stablehlo.sort": SentRow(plans.sort),
        "stablehlo.gather": SentRow(gather),
        "stablehlo.scatter": SentRow(scatter),
        "stablehlo.cholesky": _MATRICES,
        "stablehlo.triangular_solve": _MATRICES,
        "stablehlo.reduce_window": SentRow(plans.reduce_window),
        "stablehlo.select_and_scatter": SentRow(plans.select_and_scatter),
        "sdy.all_gather": _WHOLE,
        "sdy.all_slice": _WHOLE,
        "sdy.all_to_all": _WHOLE,
        "sdy.collective_permute": _WHOLE,
        "sdy.replicated_to_unreduced": _IN_PLACE,
        "sdy.sharded_to_unreduced": _IN_PLACE,
        "sdy.reshard": SentRow(plans.elementwise_op, part=PatternRole.COPY),
        "sdy.sharding_constraint": SentRow(plans.elementwise_op, part=PatternRole.COPY),
        "hlo.copy": SentRow(plans.copies, part=PatternRole.COPY),
        "hlo.opt-barrier": _BARRIER,
        "stablehlo.optimization_barrier": _BARRIER,
    },
)


def sent_row(record: OpRecord) -> SentRow:
    """Returns the row of an op; a custom call's target counts as part of its name."""
    return SENT.of(record.name if record.name != CALL else row_name(record))


def partition(application: Application) -> tuple[HeldTensor, ...]:
    """The results of an op in the tilings that are wanted, with all that was sent for them.

    XLA makes constants of results without elements before.
    """
    row = sent_row(application.record)
    if _is_made_in_place(application, row):
        return tuple(
            HeldTensor.of(application.shape(i), target, application.element(i))
            for i, target in enumerate(application.targets)
        )
    made = row.plan(application)
    if row.is_product:
        return tuple(made)
    pairs = zip(made, application.targets, strict=True)
    return tuple(replace(value, tiling=value.tiling.like(target)) for value, target in pairs)


def _is_made_in_place(application: Application, row: SentRow) -> bool:
    if application.operands:
        types = application.record.results
        return bool(types) and all(type_ is not None and 0 in type_.shape for type_ in types)
    return row is _WHOLE
