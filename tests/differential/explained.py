"""Why C++ crashes on a program. A cause is proved, not guessed: the program without it does not crash."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation

from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.ir import walk_pre_order
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
    dead = list(dead_ops([op for op in walk_pre_order(module) if op.results]).values())
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


CRASH_CAUSES: tuple[CrashCause, ...] = (
    CrashCause("dead op with a priority", _without_priorities_of_the_dead),
    CrashCause("unreduced axes over different meshes", _without_second_mesh),
    CrashCause("results that disagree in unreduced axes", _with_agreeing_results),
    CrashCause("priority of a dimension whose axes have size one", _without_priorities_of_nothing),
)


CHECKS = {
    "Unreduced axes mismatch between results": "results that disagree in unreduced axes",
    "unreduced axes that does not appear in the other": "two shardings, each unreduced over other axes",
    "different meshes": "unreduced axes over different meshes",
    "incompatible sharding along reduction factors": "a result is unreduced, operands are not sharded alike",
    "inShardings[0] == outShardings[0]": "a pad or slice resharded without halo exchange",
    "isCommunicationFreeSliceDim": "padding of a slice whose elements are of other devices",
}
"""What a check says that is meant to end C++ for good, and what it is about."""


def crash_cause(text: str, last_words: str, crashes: Callable[[str], bool]) -> str:
    """The cause whose absence saves C++; `SEVERAL` if it takes the absence of all, else `UNKNOWN`.

    Unless what C++ says at last tells.
    """
    for words, cause in CHECKS.items():
        if words in last_words:
            return cause
    for cause in CRASH_CAUSES:
        saved = cause.without(text)
        if saved != text and not crashes(saved):
            return cause.name
    for cause in CRASH_CAUSES:
        text = cause.without(text)
    return UNKNOWN if crashes(text) else SEVERAL


REFUSALS = {
    "'sdy.collective_permute' op sharded size of result doesn't match": "its reshard-to-collectives makes a "
    "collective_permute that does not verify",
    r"(duplicate axis ref|sub-ax[ei]s)[^\n]*\n[^\n]*see current operation: (?s:.)*unreduced=": "its full "
    "explicit reshards leave a result unreduced along axes that come to shard it",
    "found unrealized_conversion_cast after pad-for-div": "its pad-for-divisibility leaves casts behind",
    "failed to legalize operation 'sdy.propagation_barrier'": "its partitioner has no barriers",
    r"inferred type\(s\)|requires compatible types|group dimension is expected": "its partitioner makes an "
    "op of types that do not fit",
    "to legalize operation": "its partitioner does not make an op local",
}
"""What C++ says when it refuses a program of its own making, as an expression, and why it does."""


_SIZE = re.compile(r"stablehlo\.get_dimension_size [^\n]*-> (tensor<i32>)")
DIFFERENCE_CAUSES: tuple[CrashCause, ...] = (
    CrashCause(
        "it takes the size of a dimension from the part of a device",
        lambda text: _SIZE.sub(r"stablehlo.constant dense<1> : \1", text),
    ),
)
"""What C++ computes wrongly; `without` takes it out of a program."""


def difference_cause(text: str, is_same: Callable[[str], bool]) -> str:
    """The cause without which both give the same, else `UNKNOWN`."""
    for cause in DIFFERENCE_CAUSES:
        without = cause.without(text)
        if without != text and is_same(without):
            return cause.name
    return UNKNOWN


def refusal_cause(message: str) -> str:
    """Why C++ refuses what has a valid result here."""
    return next((cause for words, cause in REFUSALS.items() if re.search(words, message)), UNKNOWN)
