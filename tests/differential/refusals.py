"""Why C++ refuses a program that has a result here. A cause is proved as those of `explained.py` are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation

from shardy_py.ops import TABLE
from tests.differential.explained import UNKNOWN
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
        ("stablehlo.batch_norm_grad", "stablehlo.batch_norm_training", "stablehlo.reshape"),
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
            "stablehlo.gather",
            *("stablehlo.rng", "stablehlo.scatter", "stablehlo.set_dimension_size", "stablehlo.slice"),
        ),
    ),
)
"""Refusals of the partitioner."""
INVALID_COLLECTIVE = "'sdy.collective_permute' op sharded size of result doesn't match"
_TWICE = re.compile(r"(duplicate axis ref|sub-ax[ei]s)[^\n]*\n[^\n]*see current operation: ")
_BOUND = re.compile(
    r'operates on axis "(\w+)" which is already bound by a parent sdy.manual_computation op\n'
    r"[^\n]*see current operation: [^\n]*, unreduced=\w*\{([^}]*)\}"
)
_BOTH = re.compile(r"<@\w+, (\[[^\]]*\])[^<>]*, unreduced=\w*\{([^}]*)\}")


def _is_unreduced_and_sharded(message: str) -> bool:
    """Whether an op that C++ made has a result unreduced along an axis that shards it."""
    found = _TWICE.search(message)
    shardings = _BOTH.findall(message[found.end() :]) if found else ()
    return any(not _names(sharding).isdisjoint(_names(unreduced)) for sharding, unreduced in shardings)


def _is_unreduced_inside(message: str) -> bool:
    """Whether an op that C++ made in a manual computation has a result unreduced along its manual axes."""
    found = _BOUND.search(message)
    return found is not None and found[1] in _names(found[2])


def _names(axes: str) -> set[str]:
    return set(re.findall(r'"(\w+)"', axes))


INVALID: tuple[tuple[str, Callable[[str], bool]], ...] = (
    (
        "its reshard-to-collectives makes a collective_permute that does not verify",
        lambda message: INVALID_COLLECTIVE in message,
    ),
    (
        "its padding slices what a collective takes, without a sharding",
        lambda message: "op collective on operand without sharding" in message,
    ),
    (
        "its exchange of parts makes a manual computation that does not verify",
        lambda message: "'sdy.manual_computation' op result shape, corresponding sharding" in message,
    ),
    (
        "its calls have other parts than the results of their callees",
        lambda message: "'func.call' op result type mismatch" in message,
    ),
    (
        "its partitioner gives operands of loops other parts than their arguments have",
        lambda message: "expect operands to be compatible with condition block arguments" in message,
    ),
    (
        "its per-instruction partitioning parts calls from their callees",
        lambda message: "does not reference a valid function" in message,
    ),
    (
        "its per-instruction partitioning leaves values outside that regions use",
        lambda message: "op using value defined outside the region" in message,
    ),
    (
        "its optimized collectives have sub-axes that are to be merged",
        lambda message: "'sdy.all_to_all' op two consecutive sub-axes can be merged" in message,
    ),
    (
        "its optimized collectives move two dimensions to one",
        lambda message: "overlapping source/target dimensions in all-to-all params" in message,
    ),
    (
        "its reshard-to-collectives slices a value of a mesh with another order of devices",
        lambda message: "'sdy.all_slice' op result mesh does not match operand mesh" in message,
    ),
    (
        "its per-instruction partitioning leaves the sharding of an unreduced result within the computation",
        _is_unreduced_inside,
    ),
    (
        "its full explicit reshards leave a result unreduced along axes that come to shard it",
        _is_unreduced_and_sharded,
    ),
)
"""What no program may have and C++ made, as its message says."""


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
    for name, is_meant in INVALID:
        if is_meant(message):
            return name
    fact = first_fact(message)
    for cause in REFUSAL_CAUSES:
        if re.search(cause.words, message):
            ops = cause.ops_in(text)
            for names in (*((name,) for name in ops), *([ops] if len(ops) > 1 else [])):
                saved = cause.without(named(*names))(text)
                if saved != text and first_fact(refusal(saved)) != fact:
                    return f"{cause.name}: {', '.join(names)}"
    return UNKNOWN
