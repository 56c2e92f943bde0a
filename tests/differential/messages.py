"""Causes by the message with which C++ crashes or refuses, each with the part of a program that it names.

A message alone proves nothing: another fault may give it too. So the ops, shardings or meshes that a row is
about are removed, and without them C++ must not give it again. Not here: crashes without a message
(`explained.py`), errors with known ops (`refusals.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from shardy_py.localize.facet import local_row
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.dialects.stablehlo import PadOp, ReshapeOp, SliceOp
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.mlir.nesting import free_values
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.sharding import TensorSharding
from tests.differential.programs import is_valid
from tests.differential.removal import named, through_ops, without_ops

Without = Callable[[str], str]
_UNREDUCED = re.compile(r", unreduced=\w*\{[^}]*\}")
_PER_VALUE = re.compile(r"#sdy\.sharding_per_value<\[(?:[^\n]*?>, )+[^\n]*?>\]>")
_REDUCING = (
    "sdy.all_reduce",
    "sdy.reduce_scatter",
    "sdy.sharded_to_unreduced",
    "sdy.replicated_to_unreduced",
)
_GATHERING = ("sdy.all_gather", "sdy.all_to_all", "sdy.all_slice", "sdy.collective_permute")


@dataclass(frozen=True)
class MessageCause:
    """The cause that a message of C++ names.

    words: an expression that matches the message. without: removes from a program what the message is about.
    """

    name: str
    words: str
    without: Without


def without_groups(text: str) -> str:
    """The program without sharding groups."""
    module = parse_module(text)
    for op in [op for op in walk_pre_order(module) if op.name == "sdy.sharding_group"]:
        op.detach()
        op.erase()
    return print_module(module)


def message_cause(facts: Iterable[MessageCause], text: str, words: str, again: Callable[[str], str]) -> str:
    """The cause that a message names, if C++ does not give it without what it is about; else "".

    again: what C++ says of another program; empty if it has a result.
    """
    for fact in facts:
        if re.search(fact.words, words):
            saved = fact.without(text)
            if saved != text and is_valid(saved) and not re.search(fact.words, again(saved)):
                return fact.name
    return ""


def without_second_mesh(text: str) -> str:
    """The program on one mesh."""
    return text.replace("<@turned, ", "<@mesh, ")


def with_agreeing_results(text: str) -> str:
    """The program whose ops with several results have no unreduced ones."""
    printed = print_module(parse_module(text))  # the shardings of an op are in one line
    return _PER_VALUE.sub(lambda match: _UNREDUCED.sub("", match[0]), printed)


def without_unreduced(text: str) -> str:
    """The program without unreduced axes, and what reduces or makes them."""
    return _UNREDUCED.sub("", through_ops(named(*_REDUCING))(text) if "unreduced=" in text else text)


def _sharding(value: SSAValue) -> TensorSharding | None:
    return ShardingReader().of(value)


def _axes(value: SSAValue) -> tuple[object, ...]:
    """The axes of all dimensions, in order."""
    sharding = _sharding(value)
    return () if sharding is None else tuple(axis for each in sharding.dimensions for axis in each.axes)


def _has_axes(value: SSAValue) -> bool:
    return bool(_axes(value))


def _has_sharding(value: SSAValue) -> bool:
    return _sharding(value) is not None


def _is_sharded(op: Operation) -> bool:
    return any(map(_axes, (*op.operands, *op.results)))


def _is_sharded_window(op: Operation) -> bool:
    return isinstance(op, (PadOp, SliceOp)) and _is_sharded(op)


def is_half_sharded_window(op: Operation) -> bool:
    """Whether one side of a pad or slice has a sharding, and not the other."""
    return isinstance(op, (PadOp, SliceOp)) and _has_sharding(op.operands[0]) != _has_sharding(op.results[0])


def _is_half_sharded_reshape(op: Operation) -> bool:
    """Whether one side of a reshape is sharded, or has a sharding, and not the other."""
    if not isinstance(op, ReshapeOp):
        return False
    sides = op.operands[0], op.results[0]
    return any(found(sides[0]) != found(sides[1]) for found in (_has_axes, _has_sharding))


def _is_turned_reshape(op: Operation) -> bool:
    """Whether operand and result of a reshape are sharded along other axes."""
    return isinstance(op, ReshapeOp) and _axes(op.operands[0]) != _axes(op.results[0])


def _moves_nothing(op: Operation) -> bool:
    return op.name == "sdy.collective_permute" and _sharding(op.operands[0]) == _sharding(op.results[0])


def _sums(op: Operation) -> bool:
    """Whether operands are sharded along axes that no result has, as those are that an op sums along."""
    given = {axis for value in op.operands for axis in _axes(value)}
    made = {axis for value in op.results for axis in _axes(value)}
    return op.name.startswith("stablehlo.") and bool(op.results) and bool(given - made)


def _exchanges(op: Operation) -> bool:
    row = local_row(op)
    return (row.exchange is not None or row.windows is not None) and _is_sharded(op)


def _has_captured_values(op: Operation) -> bool:
    return bool(op.regions) and not isinstance(op, ModuleOp) and bool(list(free_values(op)))


CHECKS = (
    MessageCause(
        "results that disagree in unreduced axes",
        "Unreduced axes mismatch between results",
        with_agreeing_results,
    ),
    MessageCause(
        "two shardings, each unreduced over other axes",
        "unreduced axes that does not appear in the other",
        without_unreduced,
    ),
    MessageCause("unreduced axes over different meshes", "different meshes", without_second_mesh),
    MessageCause(
        "a result is unreduced, operands are not sharded alike",
        "incompatible sharding along reduction factors",
        without_unreduced,
    ),
    MessageCause(
        "a pad or slice resharded without halo exchange",
        r"inShardings\[0\] == outShardings\[0\]",
        without_ops(_is_sharded_window),
    ),
    MessageCause(
        "a reshape of which only operand or result is sharded, which explicit reshards left",
        r"isFullyReplicated\(inSharding\) == isFullyReplicated\(outSharding\)"
        r"|\(inSharding != nullptr\) == \(outSharding != nullptr\)",
        without_ops(_is_half_sharded_reshape),
    ),
    MessageCause(
        "a pad of which only the result has a sharding, which explicit reshards left",
        r"Check failed: isFullyReplicated\(outSharding\)",
        without_ops(is_half_sharded_window),
    ),
    MessageCause(
        "a reshape whose operand and result are sharded along other axes, which explicit reshards left",
        r"getOrderedNormalizedAxes\(inSharding\) == getOrderedNormalizedAxes\(outSharding\)",
        without_ops(_is_turned_reshape),
    ),
    MessageCause(
        "a sum along sharded dimensions whose all-reduce does not follow it",
        r"the user is an sdy\.all_reduce",
        without_ops(_sums),
    ),
    MessageCause(
        "a sum along sharded dimensions whose all-reduce has other axes",
        r"allReduceOp\.getReductionAxesAttr\(\)",
        without_ops(_sums),
    ),
    MessageCause(
        "a sum along sharded dimensions that is not marked as partial",
        "result to have unreduced axes sharding",
        without_ops(_sums),
    ),
    MessageCause(
        "a sum along several axes that is unreduced along some of them",
        "must either contain all or none of the sharded reduction dimensions",
        without_ops(_sums),
    ),
    MessageCause(
        "a product or gather that is unreduced along other axes than it sums along",
        r"resSharding\.getUnreducedAxes\(\) == expectedAxes",
        without_ops(_sums),
    ),
    MessageCause(
        "a collective_permute that moves nothing, which only the canonicalizer removes",
        "should have removed no-op collective-permute",
        through_ops(_moves_nothing),
    ),
    MessageCause(
        "a contraction of a tensor that the program pads",
        "Padding value must be zero for sharded contracting",
        without_ops(lambda op: isinstance(op, PadOp)),
    ),
    MessageCause(
        "padding of a slice whose elements are of other devices",
        "isCommunicationFreeSliceDim",
        without_ops(lambda op: isinstance(op, SliceOp) and _is_sharded(op)),
    ),
    MessageCause(
        "its padding takes its own slice after a collective for another one",
        "isCommunicationFreeSliceDim",
        through_ops(named(*_GATHERING, *_REDUCING)),
    ),
)
"""Checks that end C++ for good."""

INVALID = (
    MessageCause(
        "its reshard-to-collectives makes a collective_permute that does not verify",
        "'sdy.collective_permute' op sharded size of result doesn't match",
        through_ops(named("sdy.reshard", *_GATHERING)),
    ),
    MessageCause(
        "its padding slices what a collective takes, without a sharding",
        "op collective on operand without sharding|op operand and result shardings are not equivalent",
        through_ops(named(*_GATHERING, *_REDUCING)),
    ),
    MessageCause(
        "its exchange of parts makes a manual computation that does not verify",
        "'sdy.manual_computation' op result shape, corresponding sharding",
        without_ops(_exchanges),
    ),
    MessageCause(
        "its sharding groups give a manual computation a manual axis that does not divide its result",
        "'sdy.manual_computation' op result dimension size .* is not divisible by the manual axes size",
        without_groups,
    ),
    MessageCause(
        "its calls have other parts than the results of their callees",
        "'func.call' op result type mismatch",
        without_ops(named("func.call")),
    ),
    MessageCause(
        "its partitioner gives operands of loops other parts than their arguments have",
        "expect operands to be compatible with condition block arguments",
        without_ops(named("stablehlo.while")),
    ),
    MessageCause(
        "its per-instruction partitioning parts calls from their callees",
        "does not reference a valid function",
        without_ops(named("func.call")),
    ),
    MessageCause(
        "its per-instruction partitioning leaves values outside that regions use",
        "op using value defined outside the region",
        without_ops(_has_captured_values),
    ),
    MessageCause(
        "its optimized collectives have sub-axes that are to be merged",
        "'sdy.all_to_all' op two consecutive sub-axes can be merged",
        through_ops(named(*_GATHERING)),
    ),
    MessageCause(
        "its optimized collectives move two dimensions to one",
        "overlapping source/target dimensions in all-to-all params",
        through_ops(named(*_GATHERING)),
    ),
    MessageCause(
        "its reshard-to-collectives slices a value of a mesh with another order of devices",
        "'sdy.all_slice' op result mesh does not match operand mesh",
        without_second_mesh,
    ),
    MessageCause(
        "its per-instruction partitioning leaves the sharding of an unreduced result within the computation",
        r"operates on axis \"\w+\" which is already bound by a parent sdy.manual_computation op",
        without_unreduced,
    ),
    MessageCause(
        "its full explicit reshards leave a result unreduced along axes that come to shard it",
        r"(duplicate axis ref|sub-ax[ei]s)[^\n]*\n[^\n]*see current operation: ",
        without_unreduced,
    ),
)
"""Errors of what no program may have and C++ made."""
