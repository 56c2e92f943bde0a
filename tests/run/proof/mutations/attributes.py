"""Attributes with another value: dimensions, windows, flags, kinds of comparisons and transforms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from shardy_py.mlir.dialects.stablehlo import OPS
from shardy_py.mlir.ir import walk_pre_order
from tests.run.proof.mutations.edits import Site, changed, short, value_of

ELSEWHERE = (
    "all_gather_dim",
    "channel_handle",
    "comparison_direction",
    "concat_dimension",
    "iota_dimension",
    "replica_groups",
    "scatter_dimension",
    "source_target_pairs",
    "split_dimension",
    "value",
)
"""Attributes that other kinds of changes are about."""
MEANINGLESS = ("indices_are_sorted", "is_stable", "precision_config", "result_accuracy", "unique_indices")
"""Attributes that say how an op may be computed, or what is true of its operands."""
WORDS = {
    "SIGNED": "UNSIGNED",
    "UNSIGNED": "SIGNED",
    "FLOAT": "TOTALORDER",
    "TOTALORDER": "FLOAT",
    "TRANSPOSE": "NO_TRANSPOSE",
    "NO_TRANSPOSE": "TRANSPOSE",
    "FFT": "IFFT",
    "IFFT": "FFT",
    "THREE_FRY": "PHILOX",
}


def attributes(module: ModuleOp) -> Iterator[Site]:
    """One number, flag or word of an attribute is another one, or two numbers are swapped."""
    for op in walk_pre_order(module):
        row = OPS.rows.get(short(op)) if op.name.startswith("stablehlo.") else None
        for slot in () if row is None else row.attributes:
            if slot.name in op.properties and slot.name not in (*ELSEWHERE, *MEANINGLESS):
                for what, other in _others(value_of(op, slot.name)):
                    yield changed(op, f"{slot.name}{what}", **{slot.name: other})


def _others(value: Any) -> Iterator[tuple[str, Any]]:
    match value:
        case bool():
            yield f" {not value}", not value
        case int():
            for by in (-1, 1):
                yield f" {by:+d}", value + by
        case str() if value in WORDS:
            yield f" {WORDS[value]}", WORDS[value]
        case tuple():
            for at, each in enumerate(value):
                for what, other in _others(each):
                    yield f"[{at}]{what}", (*value[:at], other, *value[at + 1 :])
                if isinstance(each, tuple) and len(each) == 2:
                    low, high = each
                    for by in (-1, 1):
                        moved = (low + by, high - by)
                        yield f"[{at}] moved by {by:+d}", (*value[:at], moved, *value[at + 1 :])
                if at and each != value[at - 1]:
                    what = f" {at - 1}, {at} swapped"
                    yield what, (*value[: at - 1], each, value[at - 1], *value[at + 1 :])
        case dict():
            for name, each in value.items():
                for what, other in _others(each):
                    yield f".{name}{what}", {**value, name: other}
        case _:
            pass


ATTRIBUTES = {"attribute": attributes}
