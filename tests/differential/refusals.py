"""Why C++ refuses a program that has a result here. A cause is proved as those of `explained.py` are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation

from shardy_py.ops import TABLE
from tests.differential.explained import UNKNOWN
from tests.differential.messages import INVALID, message_cause
from tests.differential.removal import named, through_ops, without_ops


@dataclass(frozen=True)
class RefusalCause:
    """Why C++ refuses a program of its own making.

    words: what it says then, as an expression. ops: those of which each has been seen to be the cause.
    without: takes ops out of a program; they give zeros, unless it says otherwise.
    """

    name: str
    words: str
    ops: tuple[str, ...]
    without: Callable[[Callable[[Operation], bool]], Callable[[str], str]] = without_ops

    def ops_in(self, text: str) -> tuple[str, ...]:
        """Those of its ops that a program has."""
        return tuple(name for name in self.ops if name in text)


_CHLO = tuple(name for name in TABLE if name.startswith("chlo."))
_TYPES = (
    r"(inferred|output) (shape|type\(s\)) [^\n]* (is|are) incompatible with return type"
    r"|requires compatible types|rhs group dimension is expected"
    r"|Expects that for each dim in operand_batching_dims|contracting dimension sizes must match"
    r"|size of operand dimension \d+ \(\d+\) is not compatible with"
    r"|has negative size index to dynamic slice|has slice size \d+ greater than dimension size"
    r"|op operand and body argument \d+ are incompatible"
)
_CASTS = "found unrealized_conversion_cast after pad-for-div"
REFUSAL_CAUSES = (
    RefusalCause(
        "its partitioner has no barriers",
        "failed to legalize operation 'sdy.propagation_barrier'",
        ("sdy.propagation_barrier",),
    ),
    RefusalCause(
        "its explicit reshards look through barriers, whose results then have other parts than their users",
        f"{_TYPES}|batching dimension sizes must match|expected both lhs/rhs ranks|{_CASTS}"
        "|operand and result shapes must match except",
        ("sdy.propagation_barrier",),
        through_ops,
    ),
    RefusalCause(
        "its partitioner has no ops of CHLO",
        r"failed to legalize operation 'chlo\.",
        _CHLO,
    ),
    RefusalCause(
        "its padding leaves casts",
        _CASTS,
        (
            *_CHLO,
            "stablehlo.cross-replica-sum",
            "stablehlo.custom_call",
            "stablehlo.einsum",
            "stablehlo.broadcast",
            "sdy.propagation_barrier",
            "stablehlo.set_dimension_size",
        ),
    ),
    RefusalCause(
        "it has no sharding rule for it, so that its operands are not resharded",
        "requires the same shape for all operands and results",
        ("stablehlo.map",),
    ),
    RefusalCause(
        "its per-instruction partitioning inserts no reshards",
        f"{_TYPES}|number of output elements \\(\\d+\\) doesn't match expected number",
        (
            *("stablehlo.batch_norm_grad", "stablehlo.batch_norm_training", "stablehlo.dot_general"),
            "stablehlo.reshape",
        ),
    ),
    RefusalCause(
        "its per-instruction partitioning pads operands that broadcast by the sharding of each",
        "incompatible shapes for broadcasting",
        _CHLO,
    ),
    RefusalCause(
        "its per-instruction partitioning reshards no concatenation of uneven parts",
        "is sharded but the concatenation is on this dimension|is sharded on concatenation dimension",
        ("stablehlo.concatenate",),
    ),
    RefusalCause(
        "its scatters may not be sharded along dimensions that updates lack and no index addresses",
        "that is not indexed but in inserted window dimension is not supported",
        ("stablehlo.scatter",),
    ),
    RefusalCause(
        "its partitioner does not make it local where windows are sharded",
        "failed to legalize operation 'stablehlo.convolution'",
        ("stablehlo.convolution",),
    ),
    RefusalCause(
        "its partitioner leaves sizes in attributes or operands as they are",
        _TYPES,
        (
            *(
                "chlo.constant",
                "chlo.ragged_dot",
                "chlo.scan",
                "stablehlo.broadcast",
                "stablehlo.dynamic_iota",
            ),
            *("stablehlo.dynamic_broadcast_in_dim", "stablehlo.dynamic_reshape", "stablehlo.dynamic_slice"),
            "stablehlo.convolution",
            "stablehlo.gather",
            *("stablehlo.rng", "stablehlo.scatter", "stablehlo.set_dimension_size", "stablehlo.slice"),
        ),
    ),
)
"""Refusals of the partitioner."""
_PLACE = re.compile(r'^"[^"]*":\d+:\d+: ')


def first_fact(message: str) -> str:
    """The first error in a message, without its place; empty without one."""
    said = [line.partition("error: ")[2] for line in message.splitlines() if "error: " in line]
    return _PLACE.sub("", said[0]) if said else ""


def refusal_cause(text: str, message: str, refusal: Callable[[str], str]) -> str:
    """Why C++ refuses what has a valid result here: the cause and the op whose absence ends this refusal.

    If it takes the absence of several ops, these are named. There may be another refusal after it.
    refusal: what C++ says of another program; empty if it has a result.
    """
    if found := message_cause(INVALID, text, message, refusal):
        return found
    fact = first_fact(message)
    for cause in REFUSAL_CAUSES:
        if re.search(cause.words, message):
            ops = cause.ops_in(text)
            for names in (*((name,) for name in ops), *([ops] if len(ops) > 1 else [])):
                saved = cause.without(named(*names))(text)
                if saved != text and first_fact(refusal(saved)) != fact:
                    return f"{cause.name}: {', '.join(names)}"
    return UNKNOWN
