"""Why C++ crashes on a program, refuses it, or gives another result.

A cause is proved, not guessed: the program without it does not crash, is not refused, or gives the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from unittest import mock

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.localize.facet import LOCAL, Form
from shardy_py.localize.padding_masks import scalar_data
from shardy_py.mlir.dialects import parse_module, print_module, sdy
from shardy_py.mlir.dialects.stablehlo import ConvolutionOp
from shardy_py.mlir.ir import place_before, walk_pre_order
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.stablehlo_builder import element_of, shape_of
from shardy_py.mlir.text.dense import make_dense
from shardy_py.mlir.value_shardings import ShardingReader, set_sharding
from shardy_py.ops import Identity
from shardy_py.propagation.graph.liveness import dead_ops

SEVERAL, UNKNOWN = "several of these", "unknown"
_MESH = re.compile(r'"(\w+)"=(\d+)')
_DIMENSION = re.compile(r"\{([^{}=]*)\}p\d+")
_PRIORITY = re.compile(r"priority=[1-9]")
_PER_VALUE = re.compile(r"#sdy\.sharding_per_value<\[(?:[^\n]*?>, )+[^\n]*?>\]>")
_UNREDUCED = re.compile(r", unreduced=\{[^}]*\}")


@dataclass(frozen=True)
class CrashCause:
    """What C++ does not survive; `without` takes it out of a program."""

    name: str
    without: Callable[[str], str]


def _without_priorities_of_the_dead(text: str) -> str:
    module = parse_module(text)
    dead = list(_dead(module).values())
    # Imports copy constant expressions for each use, so that those for dead ops are dead.
    shared = [value.owner for op in dead for value in op.operands if isinstance(value.owner, Operation)]
    for op in [
        op for op in dict.fromkeys((*dead, *shared)) if _PRIORITY.search(str(op.attributes | op.properties))
    ]:
        if "sharding" in op.properties:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.detach()
            op.erase()
        else:
            op.attributes.pop("sdy.sharding", None)
    return print_module(module)


def _without_second_mesh(text: str) -> str:
    return text.replace("<@turned, ", "<@mesh, ")


def _with_agreeing_results(text: str) -> str:
    return _PER_VALUE.sub(lambda match: _UNREDUCED.sub("", match[0]), text)


def _without_priorities_of_nothing(text: str) -> str:
    sizes = {name: int(size) for name, size in _MESH.findall(text)}

    def replaced(match: re.Match[str]) -> str:
        axes = [name for name in re.findall(r'"(\w+)"', match[1]) if sizes.get(name, 0) > 1]
        return match[0] if axes else "{" + match[1] + "}"

    return _DIMENSION.sub(replaced, text)


def _without_ops(is_meant: Callable[[Operation], bool]) -> Callable[[str], str]:
    """Puts zeros in the place of results of the ops that are meant; what only they used goes with them."""

    def without(text: str) -> str:
        module = parse_module(text)
        reader = ShardingReader()
        dead = _dead(module)
        for op in [op for op in walk_pre_order(module) if op.results and is_meant(op)]:
            for result in op.results:
                type_, sharding = result.type, reader.of(result)
                zero = scalar_data(Identity.ZERO, element_of(result)) if tensor_type(type_) else None
                if zero is None:
                    break
                constant = sdy.ConstantOp(make_dense(type_, zero))
                if sharding is not None:
                    set_sharding(constant.output, sharding)
                place_before(constant, op)
                result.replace_all_uses_with(constant.output)
            else:
                op.detach()
                op.erase()
        for key, op in _dead(module).items():
            if key not in dead:
                op.detach()
                op.erase()
        return print_module(module)

    return without


def _dead(module: ModuleOp) -> dict[int, Operation]:
    return dead_ops([op for op in walk_pre_order(module) if op.results])


def _named(*beginnings: str) -> Callable[[Operation], bool]:
    return lambda op: op.name.startswith(beginnings)


def _is_plain_convolution(op: Operation) -> bool:
    return isinstance(op, ConvolutionOp) and len(shape_of(op.results[0])) == 2


CRASH_CAUSES: tuple[CrashCause, ...] = (
    CrashCause("dead op with a priority", _without_priorities_of_the_dead),
    CrashCause("unreduced axes over different meshes", _without_second_mesh),
    CrashCause("results that disagree in unreduced axes", _with_agreeing_results),
    CrashCause("priority of a dimension whose axes have size one", _without_priorities_of_nothing),
    CrashCause("padding of a convolution without spatial dimensions", _without_ops(_is_plain_convolution)),
)


CHECKS = {
    "Unreduced axes mismatch between results": "results that disagree in unreduced axes",
    "unreduced axes that does not appear in the other": "two shardings, each unreduced over other axes",
    "different meshes": "unreduced axes over different meshes",
    "incompatible sharding along reduction factors": "a result is unreduced, operands are not sharded alike",
    "inShardings[0] == outShardings[0]": "a pad or slice resharded without halo exchange",
    "isFullyReplicated(inSharding) == isFullyReplicated(outSharding)": "a reshape of which only "
    "operand or result is sharded, which explicit reshards left",
    "Padding value must be zero for sharded contracting": "a contraction of a tensor that the program pads",
    "isCommunicationFreeSliceDim": "padding of a slice whose elements are of other devices",
}
"""What a check says that is meant to end C++ for good, and what it is about."""


def crash_cause(text: str, last_words: str, crash: Callable[[str], str]) -> str:
    """The cause whose absence saves C++; `SEVERAL` if it takes the absence of all, else `UNKNOWN`.

    Unless what C++ says at last tells. crash: its last words on another program; empty if it survives.
    """
    if found := _told(last_words):
        return found
    for cause in CRASH_CAUSES:
        saved = cause.without(text)
        if saved != text and not crash(saved):
            return cause.name
    for cause in CRASH_CAUSES:
        text = cause.without(text)
    words = crash(text)
    return SEVERAL if not words or _told(words) else UNKNOWN


def _told(last_words: str) -> str:
    return next((cause for words, cause in CHECKS.items() if words in last_words), "")


@dataclass(frozen=True)
class RefusalCause:
    """Why C++ refuses a program of its own making.

    words: what it says then, as an expression; `without` takes the cause out of a program.
    """

    name: str
    words: str
    without: Callable[[str], str]


_CASTS = "found unrealized_conversion_cast after pad-for-div"
_TYPES = (
    r"(inferred|output) (shape|type\(s\)) [^\n]* (is|are) incompatible with return type"
    r"|requires compatible types|rhs group dimension is expected"
    r"|Expects that for each dim in operand_batching_dims|contracting dimension sizes must match"
)
REFUSAL_CAUSES = (
    RefusalCause(
        "its partitioner has no barriers",
        "failed to legalize operation 'sdy.propagation_barrier'",
        _without_ops(_named("sdy.propagation_barrier")),
    ),
    RefusalCause(
        "its padding has no ops of CHLO, custom calls, einsums and barriers",
        _CASTS,
        _without_ops(
            _named(
                "chlo.",
                "stablehlo.custom_call",
                "stablehlo.einsum",
                "stablehlo.broadcast",
                "sdy.propagation_barrier",
            )
        ),
    ),
    RefusalCause(
        "its scatters may not be sharded along dimensions that updates lack and no index addresses",
        "that is not indexed but in inserted window dimension is not supported",
        _without_ops(_named("stablehlo.scatter")),
    ),
    RefusalCause(
        "its partitioner does not make a convolution local whose windows are sharded",
        "failed to legalize operation 'stablehlo.convolution'",
        _without_ops(_named("stablehlo.convolution")),
    ),
    RefusalCause(
        "its partitioner leaves sizes in the attributes or operands of an op as they are",
        _TYPES,
        _without_ops(
            _named(
                "stablehlo.rng",
                "stablehlo.dynamic_iota",
                "stablehlo.dynamic_broadcast_in_dim",
                "stablehlo.scatter",
                "stablehlo.dynamic_slice",
                "stablehlo.broadcast",
                "stablehlo.slice",
                "chlo.",
                "stablehlo.gather",
            )
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
        "its optimized collectives have sub-axes that are to be merged",
        lambda message: "'sdy.all_to_all' op two consecutive sub-axes can be merged" in message,
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


_SIZE = re.compile(r"stablehlo\.get_dimension_size [^\n]*-> (tensor<i32>)")
DIFFERENCE_CAUSES: tuple[CrashCause, ...] = (
    CrashCause(
        "it takes the size of a dimension from the part of a device",
        lambda text: _SIZE.sub(r"stablehlo.constant dense<1> : \1", text),
    ),
    CrashCause(
        "it drops updates that lie in the parts of two devices",
        _without_ops(_named("stablehlo.dynamic_update_slice")),
    ),
)
"""What C++ computes wrongly; `without` takes it out of a program."""


@dataclass(frozen=True)
class Imitation:
    """A fault of C++; within `imitated` our passes have it, so that both results are the same."""

    name: str
    imitated: Callable[[], AbstractContextManager[object]]


def _with_forms(forms: dict[str, Form | None]) -> Callable[[], AbstractContextManager[object]]:
    """Gives ops other local forms: None leaves all but types as it is."""
    rows = {name: replace(LOCAL.of(name), form=form) for name, form in forms.items()}
    return lambda: mock.patch.dict(LOCAL.rows, rows)


IMITATIONS = (
    Imitation(
        "its reshard-to-collectives ends after two rounds, though axes are not where they are to be",
        lambda: mock.patch("shardy_py.reshard.collectives._Sequence._start_over", return_value=()),
    ),
    Imitation(
        "it leaves shapes in operands, and iotas of such a shape, as those of the whole",
        _with_forms(
            {
                "stablehlo.rng": None,
                "stablehlo.dynamic_iota": None,
                "stablehlo.dynamic_broadcast_in_dim": None,
                "stablehlo.dynamic_reshape": None,
            }
        ),
    ),
    Imitation(
        "it leaves partition_id and channels of the program as they are among replicas",
        _with_forms(
            {
                "stablehlo.partition_id": None,
                "stablehlo.all_to_all": None,
                "stablehlo.collective_broadcast": None,
                "stablehlo.collective_permute": None,
            }
        ),
    ),
    Imitation(
        "its scatters offset indices into dimensions that they update whole",
        lambda: mock.patch(
            "shardy_py.localize.local_indexed._is_shifted", lambda dim, _o, _u, to: dim in to.index_map
        ),
    ),
)


@contextmanager
def _all_imitated() -> Generator[None]:
    with ExitStack() as stack:
        for fault in IMITATIONS:
            stack.enter_context(fault.imitated())
        yield


NEEDS_OTHERS = "needs elements of other devices is unsupported"
"""What is an error here, though C++ has a result, for which each device pads its own part."""


def difference_cause(text: str, refusal: str, is_same: Callable[[str], bool]) -> str:
    """The cause without which both give the same, or the fault with which ours gives it, else `UNKNOWN`.

    refusal: what is said here of the program; empty if it has a result.
    """
    if NEEDS_OTHERS in refusal:
        return "it pads each part by itself, though parts need elements of others"
    for cause in DIFFERENCE_CAUSES:
        without = cause.without(text)
        if without != text and is_same(without):
            return cause.name
    for fault in IMITATIONS:
        with fault.imitated():
            if is_same(text):
                return fault.name
    with _all_imitated():
        return SEVERAL if is_same(text) else UNKNOWN


def refusal_cause(text: str, message: str, refusal: Callable[[str], str]) -> str:
    """Why C++ refuses what has a valid result here: the cause whose absence ends this refusal.

    refusal: what C++ says of another program; empty if it has a result.
    """
    for name, is_meant in INVALID:
        if is_meant(message):
            return name
    for cause in REFUSAL_CAUSES:
        if re.search(cause.words, message):
            saved = cause.without(text)
            if saved != text and not re.search(cause.words, refusal(saved)):
                return cause.name
    return UNKNOWN
